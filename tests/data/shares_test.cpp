// Tables read by several ranks, threads here: every way to cut them gives the whole.
#include "gibbsite/data/shares.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "data/shares_pieces.hpp"
#include "data/support.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace shares_test {

using test::expect_same_rows;

/// Ranks that are threads: what each has to say lies in one place between two barriers.
class Meeting {
 public:
  explicit Meeting(std::size_t size) : barrier_(static_cast<std::ptrdiff_t>(size)), said_(size) {}

  class Rank final : public Communicator {
   public:
    Rank(Meeting& all, std::size_t rank) : all_(all), rank_(rank) {}
    [[nodiscard]] std::size_t rank() const override { return rank_; }
    [[nodiscard]] std::size_t size() const override { return all_.said_.size(); }
    [[nodiscard]] std::string_view name() const override { return "threads"; }
    void gather(std::span<const std::byte> mine, std::span<const std::size_t> counts,
                std::span<std::byte> out) override {
      EXPECT_EQ(mine.size(), counts[rank_]);
      all_.said_[rank_] = {mine.begin(), mine.end()};
      all_.barrier_.arrive_and_wait();
      auto at = out.begin();
      for (const auto& bytes : all_.said_) at = std::ranges::copy(bytes, at).out;
      all_.barrier_.arrive_and_wait();
    }
    void broadcast(std::span<std::byte> bytes, std::size_t root) override {
      if (rank_ == root) all_.said_[root] = {bytes.begin(), bytes.end()};
      all_.barrier_.arrive_and_wait();
      std::ranges::copy(all_.said_[root], bytes.begin());
      all_.barrier_.arrive_and_wait();
    }
    void exchange(std::span<const std::byte>, std::span<const std::size_t>, std::span<std::byte>,
                  std::span<const std::size_t>) override {
      throw std::logic_error("not of this test");
    }
    void send(std::span<const std::byte>, std::size_t) override {
      throw std::logic_error("not of this test");
    }
    void receive(std::span<std::byte>, std::size_t) override {
      throw std::logic_error("not of this test");
    }
    [[noreturn]] void abort(const std::string& message, Status status) override {
      throw Error(status, message);
    }

   private:
    Meeting& all_;
    std::size_t rank_;
  };

 private:
  std::barrier<> barrier_;
  std::vector<std::vector<std::byte>> said_;
};

/// f(communicator) of each rank at once; what they threw.
template <class F>
std::vector<std::string> on_ranks(std::size_t size, const F& f) {
  Meeting meeting(size);
  std::vector<std::string> errors(size);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Meeting::Rank communicator(meeting, rank);
      try {
        f(communicator);
      } catch (const Error& error) {
        errors[rank] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

class SharesTest : public test::DataTest {
 protected:
  SharesTest() {
    schema_.columns = {number("a"), number("b")};
    schema_.label_name = "label";
    schema_.label = TwoClasses{.positive = "1"};
  }
  ~SharesTest() override { set_least_piece_bytes(pieces_); }

  static Column number(const std::string& name) {
    Column c;
    c.name = name;
    c.type = ColumnType::number;
    c.lo = 0;
    c.hi = 10;
    return c;
  }

  /// A table read by ranks that the ends [ranks] cut it for.
  Dataset read(const std::string& table, const std::vector<std::uint64_t>& ends,
               ReadOptions options = {}) const {
    std::vector<Dataset> shares(ends.size());
    options.threads = 1;
    const auto errors = on_ranks(ends.size(), [&](Communicator& ranks) {
      const SharedTable shared(table, schema_, options, ranks);
      const std::size_t rank = ranks.rank();
      EXPECT_EQ(shared.rows(), ends.back());
      shares[rank] = shared.read({rank == 0 ? 0 : ends[rank - 1], ends[rank]});
    });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
    Dataset all = std::move(shares[0]);
    for (std::size_t rank = 1; rank < shares.size(); ++rank)
      append_rows(all, std::move(shares[rank]));
    return all;
  }

  /// Every cut in two, and some in more with empty shares, by pieces of several sizes.
  void expect_every_cut(const std::string& table, const Dataset& whole,
                        const ReadOptions& options = {}) const {
    const std::uint64_t n = whole.rows();
    for (const std::uint64_t piece : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{7},
                                      std::uint64_t{64}, std::uint64_t{1} << 20}) {
      SCOPED_TRACE(fmt::format("pieces of {} bytes", piece));
      set_least_piece_bytes(piece);
      for (std::uint64_t cut = 0; cut <= n; ++cut) {
        SCOPED_TRACE(fmt::format("cut at {}", cut));
        const Dataset both = read(table, {cut, n}, options);
        expect_same_rows(whole, both);
        EXPECT_EQ(whole.y, both.y);
      }
      expect_same_rows(whole, read(table, {n}, options));
      expect_same_rows(whole, read(table, {0, n / 3, n / 3, n / 2, n, n, n}, options));
    }
  }

  Schema schema_;
  std::uint64_t pieces_ = set_least_piece_bytes(1);
};

std::string lines(std::initializer_list<const char*> all, const std::string& end,
                  bool ends_last = true) {
  std::string out;
  for (const char* line : all) out += line + end;
  if (!ends_last) out.resize(out.size() - end.size());
  return out;
}

TEST_F(SharesTest, CsvOfEveryLineEnd) {
  support::Thinned sweep(5);
  for (const std::string end : {"\n", "\r\n", "\r", "\n\n", "\r\n \r\n", " \n\t\n"}) {
    for (const bool ends_last : {true, false}) {
      if (sweep.skips()) continue;
      SCOPED_TRACE(::testing::PrintToString(end));
      const std::string table = write(
          "t.csv", lines({"a,b,label", "1,2,1", "3,4,-1", "\"5\",6,1", "7,\"8\",1", " 9 , 10 ,-1"},
                         end, ends_last));
      const Dataset whole = read_csv(table, schema_);
      ASSERT_EQ(whole.rows(), 5U);
      expect_every_cut(table, whole);
    }
  }
}

TEST_F(SharesTest, CsvOfQuotedLineEnds) {
  Column c;
  c.name = "c";
  c.type = ColumnType::category;
  c.levels = {"x\ny", "\"\r\n\"", "z,\n"};
  schema_.columns.push_back(c);
  const std::string table =
      write("t.csv",
            "a,b,\"c\",label\n1,2,\"x\ny\",1\n\n3,4,\"\"\"\r\n\"\"\",-1\r\n5,6,\"z,\n\",1\n"
            "\"7\",\"8\",\"x\ny\",-1\n9,1,\"z,\n\",1");
  const Dataset whole = read_csv(table, schema_);
  ASSERT_EQ(whole.rows(), 5U);
  expect_every_cut(table, whole);
}

TEST_F(SharesTest, CsvWithTabsByteOrderMarkAndBlankLinesBeforeTheHeader) {
  const std::string table =
      write("t.csv", "\xef\xbb\xbf\n \na\tb\tlabel\n1\t2\t1\n\n\t\t1\n3\t4\t-1\n");
  schema_.text.missing = "";
  schema_.text.has_missing = true;
  const Dataset whole = read_csv(table, schema_);
  ASSERT_EQ(whole.rows(), 3U);
  expect_every_cut(table, whole);
}

// In which a blank line is a row.
TEST_F(SharesTest, CsvOfOneColumn) {
  schema_.columns.pop_back();
  schema_.text.missing = "";
  schema_.text.has_missing = true;
  const ReadOptions unlabeled{.labels = ReadOptions::Labels::optional};
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    for (const std::string head : {"", "\xef\xbb\xbf \n\r", "\r\n\n \r"}) {
      SCOPED_TRACE(::testing::PrintToString(head + end));
      const std::string table =
          write("t.csv", head + lines({"a", "", "1", " ", "", "\"\"", "\"2\"", " 3 ", ""}, end));
      const Dataset whole = read_csv(table, schema_, unlabeled);
      ASSERT_EQ(whole.rows(), 8U);
      expect_every_cut(table, whole, unlabeled);
    }
  }
  std::filesystem::create_directory(path("parts"));
  static_cast<void>(write("parts/1.csv", "a\r\n\r\n1\r\n"));
  static_cast<void>(write("parts/2.csv", "\na\n\n"));
  static_cast<void>(write("parts/3.csv", "a\r4\r\r"));
  const Dataset whole = read_csv(write("t.csv", "a\n\n1\n\n4\n\n"), schema_, unlabeled);
  ASSERT_EQ(whole.rows(), 5U);
  expect_every_cut(path("parts"), whole, unlabeled);
}

TEST_F(SharesTest, OneRow) {
  const std::string table = write("t.csv", "a,b,label\n1,2,1");
  expect_every_cut(table, read_csv(table, schema_));
}

TEST_F(SharesTest, Libsvm) {
  schema_.columns[0].name = "1";
  schema_.columns[1].name = "2";
  schema_.invalid = Invalid::middle;
  for (const char* const text :
       {"1 1:2 2:3\n-1 2:4\n1\n  -1 1:5 # more\n1 1:1 2:9\r\n", "\xef\xbb\xbf \n1\n#\n1 1:1\n\n",
        "#1 1:2\r\n\r\n1\r\n# no comment\r\n\t\r\n", "\n\n\n\n\n"}) {
    const std::string table = write("t.svm", text);
    const Dataset whole = read_libsvm(table, schema_);
    ASSERT_EQ(whole.rows(), 5U);
    expect_every_cut(table, whole);
  }
}

TEST_F(SharesTest, Npy) {
  std::vector<double> x, y;
  for (int i = 0; i < 7; ++i) {
    x.push_back(i);
    x.push_back(11 - i);
    y.push_back(i % 3 == 0 ? 1 : -1);
  }
  const std::string table = write("x.npy", test::npy("<f8", "(7, 2)", test::bytes_of(x)));
  ReadOptions options;
  options.label_path = write("y.npy", test::npy("<f8", "(7,)", test::bytes_of(y)));
  expect_every_cut(table, read_npy(table, schema_, options), options);
}

// Rows that make all of a table sparse or dense, whatever those of a share would.
TEST_F(SharesTest, LayoutIsOfTheTable) {
  schema_.intercept = false;
  schema_.columns.clear();
  for (int j = 0; j < 10; ++j) schema_.columns.push_back(number(fmt::format("x{}", j)));
  for (const bool sparse_first : {true, false}) {
    std::string text;
    for (const auto& c : schema_.columns) text += c.name + ",";
    text += "label\n";
    for (int i = 0; i < 2100; ++i) {
      for (int j = 0; j < 10; ++j)
        text += (i < 1024) == sparse_first && j > 0 ? "0," : fmt::format("{},", 1 + i % 9);
      text += i % 2 == 0 ? "1\n" : "-1\n";
    }
    const std::string table = write("t.csv", text);
    const Dataset whole = read_csv(table, schema_);
    EXPECT_EQ(whole.view().is_sparse(), sparse_first);
    set_least_piece_bytes(1000);
    expect_same_rows(whole, read(table, {1024, 2048, 2100}));
    expect_same_rows(whole, read(table, {0, 2048, 2048, 2100}));
  }
}

TEST_F(SharesTest, PartsAreOneTable) {
  const std::string whole = write("whole.csv", "a,b,label\n1,2,1\n3,4,-1\n5,6,1\n7,8,-1\n");
  std::filesystem::create_directory(path("parts"));
  static_cast<void>(write("parts/b.csv", "a,b,label\n5,6,1\n7,8,-1"));
  static_cast<void>(write("parts/a-2.csv", "label,b,a\n"));
  static_cast<void>(write("parts/a-1.csv", "b,label,a\n2,1,1\n4,-1,3\n"));
  static_cast<void>(write("parts/_SUCCESS", ""));
  static_cast<void>(write("parts/.hidden", "?"));
  const Dataset one = read_csv(whole, schema_);
  expect_same_rows(one, read_table(path("parts"), schema_));
  expect_every_cut(path("parts"), one);
  expect_every_cut(path("parts/[ab]*.csv"), one);
  test::expect_bad_input([&] { static_cast<void>(read_table(path("parts/c*.csv"), schema_)); },
                         {"c*.csv", "no file is of this pattern"});
  static_cast<void>(write("parts/c.svm", "1 1:2"));
  test::expect_bad_input([&] { static_cast<void>(read_table(path("parts"), schema_)); },
                         {"c.svm", "is no part of a table of .csv files"});
}

TEST_F(SharesTest, CopiesAreNoParts) {
  std::filesystem::create_directory(path("parts"));
  const std::string rows = "a,b,label\n1,2,1\n3,4,-1\n";
  static_cast<void>(write("parts/a.csv", rows));
  for (const std::string name : {"a.csv~", "a.csv.bak", "#a.csv#"}) {
    static_cast<void>(write("parts/" + name, rows));
    test::expect_bad_input([&] { static_cast<void>(parts_of(path("parts"))); },
                           {name, "is no part of a table of .csv files; move it away"});
    test::expect_bad_input([&] { static_cast<void>(parts_of(path("parts/*a.csv*"))); },
                           {"is no part of a table of"});
    std::filesystem::remove(path("parts/" + name));
  }
  std::filesystem::create_symlink("a.csv", path("parts/b.csv"));
  for (const char* const table : {"parts", "parts/*.csv"})
    test::expect_bad_input([&] { static_cast<void>(parts_of(path(table))); },
                           {"b.csv: is the same file as", "a.csv"});
}

TEST_F(SharesTest, WhatWouldBeAPart) {
  std::filesystem::create_directory(path("parts"));
  static_cast<void>(write("parts/a.csv", "a,b,label\n1,2,1\n"));
  EXPECT_TRUE(would_be_part(path("parts/a.csv"), path("parts")));
  EXPECT_TRUE(would_be_part(path("parts/new.json"), path("parts")));
  EXPECT_TRUE(would_be_part(path("parts/new.csv"), path("parts/*.csv")));
  EXPECT_FALSE(would_be_part(path("parts/new.json"), path("parts/*.csv")));
  EXPECT_FALSE(would_be_part(path("new.csv"), path("parts")));
  // A file elsewhere that a part is a link to.
  static_cast<void>(write("kept.csv", "a,b,label\n3,4,-1\n"));
  EXPECT_FALSE(would_be_part(path("kept.csv"), path("parts")));
  std::filesystem::create_symlink(path("kept.csv"), path("parts/b.csv"));
  EXPECT_TRUE(would_be_part(path("kept.csv"), path("parts")));
  EXPECT_TRUE(would_be_part(path("kept.csv"), path("parts/*.csv")));
}

// Dense and sparse, of one file and of parts, made and used again: the rows that memory holds.
TEST_F(SharesTest, SharesInFiles) {
  using Times = std::map<std::string, std::filesystem::file_time_type>;
  set_least_piece_bytes(40);
  std::filesystem::create_directory(path("parts"));
  std::filesystem::create_directory(path("dense"));
  std::mt19937 random(3);
  for (const int rows : {120, 130}) {
    std::string part = "a,b,label\n";
    for (int i = 0; i < rows; ++i)
      part += fmt::format("{},{},{}\n", random() % 12, random() % 10, random() % 2);
    static_cast<void>(write(fmt::format("dense/{}.csv", rows), part));
  }
  std::string csv = "a,b,label\n";
  for (int i = 0; i < 300; ++i)
    csv += fmt::format("{},{},{}\n", random() % 12, random() % 10, random() % 2);
  for (int part = 0; part < 3; ++part) {
    std::string svm;
    for (int i = 0; i < 90; ++i)
      svm += i % 3 == 0
                 ? "1\n"
                 : fmt::format("{} {}:{}\n", random() % 2, 1 + random() % 20, 1 + random() % 9);
    static_cast<void>(write(fmt::format("parts/{}.svm", part), svm));
  }
  Schema of_parts = schema_;
  of_parts.columns.clear();
  for (int j = 0; j < 20; ++j) of_parts.columns.push_back(number(fmt::format("x{}", j)));
  struct Table {
    std::string path;
    Schema schema;
    std::uint64_t rows;
    bool sparse;
  };
  for (const Table& table :
       {Table{write("t.csv", csv), schema_, 300, false}, Table{path("dense/"), schema_, 250, false},
        Table{path("parts/*.svm"), of_parts, 270, true}}) {
    SCOPED_TRACE(table.path);
    const std::uint64_t n = table.rows;
    using Ends = std::vector<std::uint64_t>;
    for (const Ends& ends : {Ends{n}, Ends{100, n}, Ends{0, 95, 95, 200, n}}) {
      Times written;
      for (int time = 0; time < 2; ++time) {
        const auto errors = on_ranks(ends.size(), [&](Communicator& ranks) {
          const std::size_t rank = ranks.rank();
          const RowRange mine{rank == 0 ? 0 : ends[rank - 1], ends[rank]};
          const auto shared = [&](ReadOptions::Cache cache) {
            return SharedTable(table.path, table.schema, {.cache = cache, .threads = 1}, ranks)
                .read(mine);
          };
          const Dataset memory = shared(ReadOptions::Cache::never),
                        files = shared(ReadOptions::Cache::always);
          EXPECT_EQ(files.on_disk(), mine.rows() > 0);
          if (mine.rows() == 0) return;
          expect_same_rows(memory, files);
          EXPECT_EQ(files.view().is_sparse(), table.sparse);
        });
        for (const std::string& error : errors) EXPECT_EQ(error, "");
        Times now;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(path(".")))
          if (entry.path().filename() == "cache.json")
            now[entry.path()] = std::filesystem::last_write_time(entry.path());
        EXPECT_FALSE(now.empty());
        if (time == 1) {
          EXPECT_EQ(now, written);
        }
        written = now;
      }
      EXPECT_TRUE(remove_cache(table.path));
      EXPECT_FALSE(remove_cache(table.path));
      for (const auto& entry : std::filesystem::directory_iterator(path(".")))
        EXPECT_EQ(entry.path().string().find("gibbsite-cache"), std::string::npos);
    }
  }
}

// It could hold other rows with digests to match: `auto` does without, `always` says so.
TEST_F(SharesTest, AnotherUsersShareIsNotRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  std::string csv = "a,b,label\n";
  for (int i = 0; i < 30; ++i) csv += fmt::format("{},{},1\n", i % 9, i % 7);
  const std::string table = write("t.csv", csv);
  std::array<bool, 2> mapped{};
  const auto errors = [&](ReadOptions::Cache cache) {
    return on_ranks(2, [&](Communicator& ranks) {
      const std::uint64_t first = ranks.rank() * 15;
      const Dataset share = SharedTable(table, schema_, {.cache = cache, .threads = 1}, ranks)
                                .read({first, first + 15});
      EXPECT_EQ(share.rows(), 15U);
      mapped[ranks.rank()] = share.on_disk();
    });
  };
  const std::vector<std::string> none(2);
  EXPECT_EQ(errors(ReadOptions::Cache::always), none);
  EXPECT_EQ(errors(ReadOptions::Cache::automatic), none);
  EXPECT_EQ(mapped, (std::array{true, true}));  // what is there is used
  const std::string first = table + ".gibbsite-cache.1-of-2";
  ASSERT_EQ(::chown(first.c_str(), 65534, 65534), 0);
  EXPECT_EQ(errors(ReadOptions::Cache::automatic), none);
  EXPECT_EQ(mapped, (std::array{false, false}));
  for (const std::string& error : errors(ReadOptions::Cache::always))
    EXPECT_THAT(error, ::testing::HasSubstr("1-of-2: belongs to another user"));
}

TEST_F(SharesTest, APartWithoutAHeaderShowsNoCell) {
  std::filesystem::create_directory(path("parts"));
  static_cast<void>(write("parts/a.csv", "a,b,label\n1,2,1\n"));
  static_cast<void>(write("parts/b.csv", "8.424,7,1\n3,4,-1\n"));
  try {
    static_cast<void>(read_table(path("parts"), schema_));
    ADD_FAILURE();
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("b.csv: its first line does not name"));
    EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("8.424")));
  }
}

// What one process reads, ranks read, and what it refuses they refuse.
TEST_F(SharesTest, RandomTextIsCutAsTheReaderCutsIt) {
  std::mt19937 random(7);
  const auto one_of = [&random](const std::vector<std::string>& all) -> const std::string& {
    return all[random() % all.size()];
  };
  // Texts of few letters, most of which no reader takes, and rows of odd cells and ends.
  const auto letters = [&] {
    std::string text = "a,label\n";
    for (int j = 0; j < 14; ++j) text += std::string("1,\"\n\r \t")[random() % 7];
    return text;
  };
  const auto rows = [&] {
    const std::vector<std::string> cells{"1",    "\"2\"",   " 3 ",    "",
                                         "\"\"", "\"4\n\"", "\"\r\"", "\"\"\"\""},
        labels{"1", "-1", "\"1\"", " -1", "\"-1\" "}, ends{"\n", "\r\n", "\r", "\n\n", "\n \r", ""};
    const std::string end = one_of(ends);
    std::string text = one_of({"", "\xef\xbb\xbf", "\n", " \r\n"});
    text += one_of({"a,label", "\"a\",\"label\"", "label,a"}) + (end.empty() ? "\n" : end);
    const bool turned = text.find("label,a") != std::string::npos;
    for (auto k = random() % 5; k > 0; --k) {
      const std::string cell = one_of(cells), label = one_of(labels);
      text += turned ? label + "," + cell : cell + "," + label;
      if (k > 1 || random() % 2 == 0) text += random() % 8 == 0 ? one_of(ends) : end;
    }
    return text;
  };
  // A column alone, in which blank lines are rows, and LIBSVM, in which they are too.
  const auto one_column = [&] {
    std::string text =
        one_of({"", "\xef\xbb\xbf", "\n", " \r\n"}) + one_of({"a\n", "a\r", "\"a\"\r\n"});
    for (int j = 0; j < 14; ++j) text += one_of({"1", "\"\"", "\n", "\r", "\r\n", " ", "\t"});
    return text + one_of({"\n", "\r", "\r\n", "\n", ""});
  };
  const auto libsvm = [&] {
    std::string text = one_of({"", "\xef\xbb\xbf", "# a table\n", "#\n\n# a b\r\n"});
    for (int j = 0; j < 14; ++j) text += one_of({"1", " 1:2", "\n", "\r\n", " ", "#", "# b"});
    return text + one_of({"\n", "\r\n", ""});
  };
  std::size_t taken[3] = {}, refused[3] = {};  // of a table, of one column, of LIBSVM
  schema_.columns.pop_back();
  schema_.text.missing = "";
  schema_.text.has_missing = true;
  schema_.invalid = Invalid::middle;
  for (std::uint64_t k = 0; k < support::repeats(400U, 120U); ++k) {
    const std::size_t kind = k % 4 < 2 ? 0 : k % 4 - 1;
    const std::string text = kind == 1    ? one_column()
                             : kind == 2  ? libsvm()
                             : k % 4 == 0 ? rows()
                                          : letters();
    const std::string table = write(kind == 2 ? "t.svm" : "t.csv", text);
    ReadOptions options;
    options.threads = 1;
    if (kind == 1) options.labels = ReadOptions::Labels::optional;
    SCOPED_TRACE(::testing::PrintToString(text));
    set_least_piece_bytes(1 + k % 5);
    std::optional<Dataset> whole;
    try {
      whole = read_table(table, schema_, options);
    } catch (const BadInput&) {
    }
    std::vector<Dataset> shares(3);
    const auto errors = on_ranks(3, [&](Communicator& ranks) {
      const SharedTable shared(table, schema_, options, ranks);
      const std::uint64_t n = shared.rows(), ends[] = {0, n / 2, n / 2, n};
      shares[ranks.rank()] = shared.read({ends[ranks.rank()], ends[ranks.rank() + 1]});
    });
    EXPECT_EQ(errors[0].empty(), whole.has_value()) << errors[0];
    EXPECT_EQ(errors[0], errors[2]);
    ++(whole ? taken : refused)[kind];
    if (!whole || !errors[0].empty()) continue;
    Dataset all = std::move(shares[0]);
    append_rows(all, std::move(shares[1]));
    append_rows(all, std::move(shares[2]));
    expect_same_rows(*whole, all);
    EXPECT_EQ(whole->y, all.y);
  }
  for (std::size_t kind = 0; kind < 3; ++kind) {
    EXPECT_GT(taken[kind], support::repeats(kind == 0 ? 30U : 15U, kind == 0 ? 8U : 5U));
    EXPECT_GT(refused[kind], support::repeats(kind == 0 ? 30U : 15U, kind == 0 ? 8U : 5U));
  }
}

TEST_F(SharesTest, ErrorsNameTheRankAndTheLine) {
  set_least_piece_bytes(4);
  const std::string table =
      write("t.csv", "a,b,label\n1,2,1\n\n3,4,-1\n5,6,1\n7,eight,-1\n9,ten,1\n");
  const auto errors = on_ranks(
      3, [&](Communicator& ranks) { const SharedTable shared(table, schema_, {}, ranks); });
  // Rows that choose the layout are read by all.
  for (const std::string& error : errors) EXPECT_EQ(error, errors[0]);
  EXPECT_THAT(errors[0], ::testing::HasSubstr("rank 0: "));
  EXPECT_THAT(errors[0], ::testing::HasSubstr("t.csv:6: column 'b': 'eight'"));

  std::string rows = "a,b,label\n";
  for (int i = 0; i < 1500; ++i) rows += i == 1300 ? "1,x,1\n" : "1,2,1\n";
  const std::string longer = write("l.csv", rows);
  for (const std::string& error : on_ranks(2, [&](Communicator& ranks) {
         const SharedTable shared(longer, schema_, {}, ranks);
         static_cast<void>(
             shared.read(ranks.rank() == 0 ? RowRange{0, 1024} : RowRange{1024, 1500}));
       })) {
    EXPECT_THAT(error, ::testing::HasSubstr("rank 1: "));
    EXPECT_THAT(error, ::testing::HasSubstr("l.csv:1302: column 'b'"));
  }
}

TEST_F(SharesTest, RowsThatAreReadTwiceOrNever) {
  const std::string table = write("t.csv", "a,b,label\n1,2,1\n3,4,-1\n5,6,1\n");
  const auto errors_of = [&](RowRange first, RowRange second) {
    return on_ranks(2, [&](Communicator& ranks) {
      const SharedTable shared(table, schema_, {}, ranks);
      static_cast<void>(shared.read(ranks.rank() == 0 ? first : second));
    });
  };
  for (const std::string& error : errors_of({0, 2}, {1, 3}))
    EXPECT_THAT(error, ::testing::HasSubstr("rank 1 read from row 2 on where 3 is the next"));
  for (const std::string& error : errors_of({0, 1}, {2, 3}))
    EXPECT_THAT(error, ::testing::HasSubstr("rank 1 read from row 3 on where 2 is the next"));
  for (const std::string& error : errors_of({0, 1}, {1, 2}))
    EXPECT_THAT(error, ::testing::HasSubstr("rows 3 to 3 were read by no rank"));
}

TEST_F(SharesTest, FilesThatDiffer) {
  // By name, by size, and by a byte in the second rank's copy alone.
  const std::string text = "a,b,label\n1,2,1\n3,4,-1\n5,6,1\n7,8,1\n";
  static_cast<void>(write("t.csv", text));
  for (const std::string& error : on_ranks(2, [&](Communicator& ranks) {
         const SharedTable shared(path(ranks.rank() == 0 ? "t.csv" : "gone.csv"), schema_, {},
                                  ranks);
       })) {
    EXPECT_THAT(error, ::testing::HasSubstr("rank 1: "));
    EXPECT_THAT(error, ::testing::HasSubstr("gone.csv: there is no such file"));
  }
  static_cast<void>(write("u.csv", text + "1,1,1\n"));
  for (const std::string& error : on_ranks(2, [&](Communicator& ranks) {
         const SharedTable shared(path(ranks.rank() == 0 ? "t.csv" : "u.csv"), schema_, {}, ranks);
       })) {
    EXPECT_THAT(error, ::testing::HasSubstr("is not the table of rank 0"));
  }
  // A copy that changes between the scan and the reading.
  const auto errors = on_ranks(2, [&](Communicator& ranks) {
    const SharedTable shared(path("t.csv"), schema_, {}, ranks);
    ranks.together([&] {
      if (ranks.rank() != 0) return;
      std::string other = text;
      other[other.size() - 2] = '0';
      other[other.size() - 4] = '9';
      std::ofstream(path("t.csv"), std::ios::in | std::ios::out) << other;
    });
    static_cast<void>(shared.read(ranks.rank() == 0 ? RowRange{0, 2} : RowRange{2, 4}));
  });
  for (const std::string& error : errors) EXPECT_THAT(error, ::testing::HasSubstr("rank 1: "));
}

}  // namespace shares_test
}  // namespace gibbsite
