// Rows in files beside the table: the same rows as in memory, made anew when anything has changed,
// nothing left of a build that did not end.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "core/digest.hpp"
#include "data/support.hpp"
#include "gibbsite/data/schema_file.hpp"

namespace gibbsite {
namespace cache_test {

namespace fs = std::filesystem;
using test::expect_same_rows;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Cache = ReadOptions::Cache;
using Labels = ReadOptions::Labels;

std::string dense_schema(const std::string& more = "") {
  return "label = \"y\"\npositive = \"1\"\nintercept = true\nrow_norm = 1.25\n[columns]\n"
         "x = {type = \"number\", range = [0, 8], count = 3}\n" +
         more;
}
std::string wide_schema() {
  return "label = \"y\"\npositive = \"1\"\n[columns]\n"
         "x = {type = \"number\", range = [0, 8], count = 200}\n";
}

class CacheTest : public test::DataTest {
 protected:
  struct Result {
    Dataset data;
    std::string notes;
    std::uint64_t bytes = 0;  // of the last call to progress: in all
  };

  Result read(const std::string& table, const std::string& schema, Cache cache,
              ReadOptions options = {}) {
    Result out;
    options.cache = cache;
    options.note = [&](const Message& note) {
      const std::string line = note.text();
      EXPECT_EQ(line.find('\n'), std::string::npos) << line;
      out.notes += line + "\n";
    };
    options.progress = [&](std::uint64_t, std::uint64_t total) {
      out.bytes = total;
      return true;
    };
    out.data = read_table(table, parse_schema(schema, "s.toml"), options);
    return out;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(path("")))
      out.push_back(entry.path().filename());
    std::ranges::sort(out);
    return out;
  }
  static void change_byte(const std::string& file, std::uint64_t at) {
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekg(static_cast<std::streamoff>(at));
    const int byte = stream.get();
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(static_cast<char>(byte ^ 1));
    ASSERT_TRUE(stream.good()) << file;
  }
  static std::string text_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }

  std::string csv(int rows, bool labels = true) const {
    std::string text = labels ? "x1,x2,x3,y\n" : "x1,x2,x3\n";
    for (int i = 0; i < rows; ++i)
      text += std::to_string(i % 8) + "," + std::to_string(i % 5) + ".5," + std::to_string(i % 11) +
              (labels ? i % 2 == 0 ? ",1\n" : ",0\n" : "\n");
    return write("t.csv", text);
  }
  std::string libsvm(int rows) const {
    std::string text;
    for (int i = 0; i < rows; ++i) {
      text += i % 3 == 0 ? "1" : "-1";
      if (i % 4 != 0)  // some rows have no entries
        for (const auto& part :
             {std::to_string(1 + i % 90) + ":2", std::to_string(101 + i % 100) + ":9"})
          text.append(" ").append(part);
      text += "\n";
    }
    return write("t.svm", text);
  }
  static std::uint64_t size(const std::string& file) { return fs::file_size(file); }
};

TEST_F(CacheTest, HoldsTheRowsThatMemoryWould) {
  std::vector<float> x(3 * 5000), y(5000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 31) / 3;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 2);
  const std::string labels = write("y.npy", test::npy("<f4", "(5000,)", test::bytes_of(y)));
  struct Case {
    std::string table, schema;
    ReadOptions options;
    bool sparse;
  };
  // 5000 rows: more than choose the layout. 400: fewer. 700000: more than one buffer of 16 MiB.
  for (const Case& c :
       std::vector<Case>{{write("short.csv", text_of(csv(400))), dense_schema(), {}, false},
                         {write("long.csv", text_of(csv(5000))), dense_schema(), {}, false},
                         {write("unlabeled.csv", text_of(csv(400, false))),
                          dense_schema(),
                          {.labels = Labels::optional},
                          false},
                         {libsvm(400), wide_schema(), {}, true},
                         {write("long.svm", text_of(libsvm(700000))), wide_schema(), {}, true},
                         {write("x.npy", test::npy("<f4", "(5000, 3)", test::bytes_of(x))),
                          dense_schema(),
                          {.label_path = labels},
                          false}}) {
    SCOPED_TRACE(c.table);
    const Result memory = read(c.table, c.schema, Cache::never, c.options);
    ASSERT_EQ(memory.data.view().is_sparse(), c.sparse);
    EXPECT_TRUE(memory.data.view().in_memory);
    for (const char* what : {"holds the rows", "agrees with the table"}) {  // made, then used
      const Result cached = read(c.table, c.schema, Cache::always, c.options);
      EXPECT_THAT(cached.notes, HasSubstr(what));
      EXPECT_THAT(cached.notes, HasSubstr("private"));
      EXPECT_TRUE(cached.data.on_disk());
      EXPECT_FALSE(cached.data.view().in_memory);
      cached.data.view().validate();
      expect_same_rows(cached.data, memory.data);
    }
  }
}

// Digests run over the table and every file of rows, text once over the table.
TEST_F(CacheTest, IsUsedWithoutReadingText) {
  const std::string table = csv(5000);
  EXPECT_EQ(read(table, dense_schema(), Cache::always).bytes, size(table));
  const std::string cache = table + ".gibbsite-cache/";
  const Result again = read(table, dense_schema(), Cache::automatic);
  EXPECT_EQ(again.bytes, size(table) + size(cache + "x.f32") + size(cache + "labels.f32"));
  EXPECT_FALSE(again.data.view().in_memory);
  // Not asked for, it is not looked at.
  const Result without = read(table, dense_schema(), Cache::never);
  EXPECT_TRUE(without.data.view().in_memory);
  EXPECT_EQ(without.notes, "");
}

TEST_F(CacheTest, AutomaticLeavesAloneWhatFitsInMemory) {
  const std::string table = csv(5000);
  const Result result = read(table, dense_schema(), Cache::automatic);
  EXPECT_TRUE(result.data.view().in_memory);
  EXPECT_EQ(result.notes, "");
  EXPECT_THAT(names(), ElementsAre("t.csv"));
}

TEST_F(CacheTest, IsForItsOwnerOnly) {
  const mode_t before = ::umask(0);
  const std::string table = csv(300);
  read(table, dense_schema(), Cache::always);
  ::umask(before);
  const auto mode = [](const std::string& file) {
    struct stat info {};
    EXPECT_EQ(::stat(file.c_str(), &info), 0) << file;
    return info.st_mode & 0777;
  };
  EXPECT_EQ(mode(table + ".gibbsite-cache"), 0700U);
  for (const char* file : {"cache.json", "x.f32", "labels.f32"})
    EXPECT_EQ(mode(table + ".gibbsite-cache/" + file), 0600U) << file;
  EXPECT_THAT(names(), ElementsAre("t.csv", "t.csv.gibbsite-cache"));
}

TEST_F(CacheTest, IsMadeAnewWhenAnythingHasChanged) {
  const std::string table = libsvm(3000), cache = table + ".gibbsite-cache/";
  const auto edit = [&](const std::string& from, const std::string& to) {
    std::string text = text_of(cache + "cache.json");
    ASSERT_NE(text.find(from), std::string::npos);
    text.replace(text.find(from), from.size(), to);
    std::ofstream(cache + "cache.json") << text;
  };
  struct Change {
    std::function<void()> make;
    std::string why;
    std::string schema = wide_schema();
    ReadOptions options = {};
  };
  for (const Change& change : std::vector<Change>{
           {[&] { change_byte(table, size(table) - 2); }, "the table has changed"},
           {[&] { std::ofstream(table, std::ios::app) << "1 1:1\n"; }, "the table has changed"},
           {[] {}, "the schema or",
            dense_schema("z = {type = \"number\", range = [0, 1], count = "
                         "197}\n")},
           {[] {}, "the schema or", wide_schema(), {.labels = Labels::optional}},
           {[] {}, "the schema or", "invalid = \"middle\"\n" + wide_schema()},
           {[&] { change_byte(cache + "value.f32", 4000); }, "value.f32 is damaged"},
           {[&] { change_byte(cache + "feature.u32", 0); }, "feature.u32 is damaged"},
           {[&] { change_byte(cache + "begin.u64", 808); }, "begin.u64 is damaged"},
           {[&] { change_byte(cache + "begin.u64", 0); }, "begin.u64 is damaged"},
           {[&] { change_byte(cache + "labels.f32", 9); }, "labels.f32 is damaged"},
           {[&] { fs::resize_file(cache + "value.f32", size(cache + "value.f32") - 4); },
            "value.f32 has"},
           {[&] { fs::resize_file(cache + "labels.f32", 4); }, "labels.f32 is damaged"},
           {[&] { fs::remove(cache + "feature.u32"); }, "feature.u32 is not there"},
           {[&] { fs::remove(cache + "cache.json"); }, "cache.json is not there"},
           {[&] { fs::permissions(cache, fs::perms::group_read, fs::perm_options::add); },
            "others than its owner may open it"},
           {[&] { fs::resize_file(cache + "cache.json", 100); }, "cache.json is damaged"},
           {[&] { std::ofstream(cache + "cache.json") << "[]"; }, "cache.json is damaged"},
           {[&] { edit("\"clamped_cells\": ", "\"clamped_cells\": 1"); }, "cache.json is damaged"},
           {[&] { edit("\"software\": \"", "\"software\": \"9."); }, "another version"},
           {[&] { edit("gibbsite-cache/3", "gibbsite-cache/2"); }, "another version"}}) {
    SCOPED_TRACE(change.why);
    read(table, wide_schema(), Cache::always);
    change.make();
    const Result anew = read(table, change.schema, Cache::automatic, change.options);
    EXPECT_THAT(anew.notes, HasSubstr(change.why));
    EXPECT_THAT(anew.notes, HasSubstr("it is made anew\nprivate: "));
    expect_same_rows(anew.data, read(table, change.schema, Cache::never, change.options).data);
    const Result used = read(table, change.schema, Cache::automatic, change.options);
    EXPECT_THAT(used.notes, HasSubstr("agrees with the table"));
    expect_same_rows(used.data, anew.data);
  }
}

TEST_F(CacheTest, IsOfTheLabelsToo) {
  std::vector<float> x(3 * 50, 2), y(50);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 2);
  const std::string table = write("x.npy", test::npy("<f4", "(50, 3)", test::bytes_of(x)));
  const std::string first = write("y.npy", test::npy("<f4", "(50,)", test::bytes_of(y)));
  y[7] = 0;
  const std::string second = write("z.npy", test::npy("<f4", "(50,)", test::bytes_of(y)));
  read(table, dense_schema(), Cache::always, {.label_path = first});
  const Result other = read(table, dense_schema(), Cache::always, {.label_path = second});
  EXPECT_THAT(other.notes, HasSubstr("the table has changed"));
  EXPECT_EQ(other.data.y[7], -1.0F);
}

TEST_F(CacheTest, OfARunThatDidNotEndNothingIsLeft) {
  const std::string table = csv(5000);
  const std::string bad = write("bad.csv", text_of(table) + "1,2,abc,1\n");
  const std::string no_label = write("one.csv", "x1,x2,x3,y\n1,2,3,1\n1,2,4,\n");
  for (const std::string& file : {bad, no_label})
    EXPECT_THROW(read(file, dense_schema(), Cache::always), BadInput);
  ReadOptions stopped{.cache = Cache::always,
                      .progress = [](std::uint64_t done, std::uint64_t) { return done == 0; }};
  EXPECT_THROW(read_table(table, parse_schema(dense_schema(), "s"), stopped), Interrupted);
  EXPECT_THAT(names(), ElementsAre("bad.csv", "one.csv", "t.csv"));
  // Nor of one that stops while it is checked: what is there stays.
  read(table, dense_schema(), Cache::always);
  EXPECT_THROW(read_table(table, parse_schema(dense_schema(), "s"), stopped), Interrupted);
  EXPECT_THAT(read(table, dense_schema(), Cache::always).notes, HasSubstr("agrees"));
}

TEST_F(CacheTest, AFullDiskIsOneLineAndLeavesNothing) {
  const std::string table = csv(5000);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{50000, 50000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      read(table, dense_schema(), Cache::always);
    } catch (const BadInput& error) {
      ::_exit(std::string(error.what()).find("x.f32: cannot write: ") != std::string::npos ? 0 : 1);
    }
    ::_exit(2);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(names(), ElementsAre("t.csv"));
}

TEST_F(CacheTest, IsRemovedWithWhatKilledRunsLeft) {
  const std::string table = csv(300);
  EXPECT_FALSE(remove_cache(table));
  read(table, dense_schema(), Cache::always);
  fs::create_directory(table + ".gibbsite-cache.tmp-1-0");
  std::ofstream(table + ".gibbsite-cache.tmp-1-0/x.f32") << "rows";
  EXPECT_TRUE(remove_cache(table));
  EXPECT_THAT(names(), ElementsAre("t.csv"));
  // The next build sweeps as well, but not the folder of a run that is at work and holds its lock.
  fs::create_directory(table + ".gibbsite-cache.tmp-1-0");
  read(table, dense_schema(), Cache::always);
  EXPECT_THAT(names(), ElementsAre("t.csv", "t.csv.gibbsite-cache"));
}

// Right digests over sizes and counts that no table has: found by tests/fuzz/cache.cpp.
TEST_F(CacheTest, ForgedSizesAreMadeAnew) {
  using nlohmann::json;
  const std::string table = csv(20), cache = table + ".gibbsite-cache/";
  const std::string sparse = libsvm(20), sparse_cache = sparse + ".gibbsite-cache/";
  const Dataset rows = read(table, dense_schema(), Cache::never).data;
  const Dataset sparse_rows = read(sparse, wide_schema(), Cache::never).data;
  const auto forge = [](const std::string& folder, const json& patch,
                        const std::map<std::string, std::string>& arrays) {
    json description = json::parse(text_of(folder + "cache.json"));
    description.merge_patch(patch);
    for (const auto& [name, bytes] : arrays) {
      std::ofstream(folder + name, std::ios::binary) << bytes;
      description["arrays"][name] = digest_of(bytes);
    }
    description.erase("digest");
    description["digest"] = digest_of(description.dump());
    std::ofstream(folder + "cache.json") << description.dump();
  };
  const std::map<std::string, std::string> empty{{"x.f32", ""}, {"labels.f32", ""}};
  for (const auto& [patch, arrays] :
       std::vector<std::pair<std::string, std::map<std::string, std::string>>>{
           {R"({"rows": 4611686018427387904})", empty},  // 2^62 rows of 4 floats: 0 bytes
           {R"({"rows": -1})", empty},
           {R"({"rows": 1e300})", empty},
           {R"({"counts": {"clipped_rows": -1}})", {}},
           {R"({"counts": {"missing_cells": 1e300}})", {}}}) {
    read(table, dense_schema(), Cache::always);
    forge(cache, json::parse(patch), arrays);
    const Result made = read(table, dense_schema(), Cache::automatic);
    EXPECT_THAT(made.notes, HasSubstr("cache.json is damaged; it is made anew")) << patch;
    expect_same_rows(made.data, rows);
  }
  // Damaged sparse caches: a row that ends beyond all entries, and a number of rows that overflows
  // the size of `begin`.
  read(sparse, wide_schema(), Cache::always);
  std::string begin = text_of(sparse_cache + "begin.u64");
  begin[8 + 7] = 1;
  forge(sparse_cache, json::object(), {{"begin.u64", begin}});
  Result made = read(sparse, wide_schema(), Cache::automatic);
  EXPECT_THAT(made.notes, HasSubstr("begin.u64 is damaged; it is made anew"));
  expect_same_rows(made.data, sparse_rows);
  forge(sparse_cache, json::parse(R"({"rows": 18446744073709551615})"),
        {{"begin.u64", ""}, {"labels.f32", ""}});
  made = read(sparse, wide_schema(), Cache::automatic);
  EXPECT_THAT(made.notes, HasSubstr("cache.json is damaged; it is made anew"));
  expect_same_rows(made.data, sparse_rows);
}

TEST_F(CacheTest, ErrorsSayWhatToDo) {
  const Schema schema = parse_schema(dense_schema(), "s");
  const ReadOptions always{.cache = Cache::always};
  const std::string table = csv(300);
  std::ofstream(table + ".gibbsite-cache") << "a file";
  test::expect_bad_input([&] { read_table(table, schema, always); },
                         {"t.csv.gibbsite-cache", "in the place of", "move it"});
  fs::remove(table + ".gibbsite-cache");

  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    std::ofstream(path("pipe")) << text_of(table);
    ::_exit(0);
  }
  test::expect_bad_input([&] { read_table(path("pipe"), schema, always); },
                         {"pipe", "cannot be cached", "`cache` never"});
  ::waitpid(writer, nullptr, 0);

  if (::geteuid() == 0) {  // as somebody else: root may write anywhere
    ASSERT_EQ(::chown(path("").c_str(), 0, 0), 0);
    fs::permissions(path(""), fs::perms(0755));
    const pid_t child = ::fork();
    if (child == 0) {
      if (::seteuid(65534) != 0) ::_exit(3);
      try {
        read_table(table, schema, always);
      } catch (const BadInput& error) {
        const std::string what = error.what();
        ::_exit(what.find("make the folder of the table writable") != std::string::npos ? 0 : 1);
      }
      ::_exit(2);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  } else {
    fs::permissions(path(""), fs::perms(0500));
    test::expect_bad_input([&] { read_table(table, schema, always); },
                           {"t.csv.gibbsite-cache", "make the folder of the table writable"});
    fs::permissions(path(""), fs::perms(0700));
  }
}

#ifdef GIBBSITE_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

// What a row costs in memory is its label.
TEST_F(CacheTest, RowsAreNotHeldInMemory) {
  if (sanitized) GTEST_SKIP() << "resident memory means nothing under a sanitizer";
  const std::string file = path("long.csv");
  constexpr int rows = 300000;
  {
    std::ofstream out(file);
    out << "y";
    for (int j = 1; j <= 100; ++j) out << ",x" << j;
    std::string cells;
    for (int j = 1; j <= 100; ++j) cells += ",5";
    for (int i = 0; i < rows; ++i) out << (i % 2 ? "\n1" : "\n0") << cells;
    out << "\n";
  }
  const Schema schema = parse_schema(
      "label = \"y\"\npositive = \"1\"\n[columns]\nx = {type = \"number\", range = [0, 8], count = "
      "100}\n",
      "s");
  // 120 MB of rows: 16 MiB of buffer, 1.2 MB of labels, 8 MiB for the rest.
  const pid_t child = ::fork();
  if (child == 0) {
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    const Dataset data = read_csv(file, schema, {.cache = Cache::always});
    ::getrusage(RUSAGE_SELF, &after);
    const long grown_kib = after.ru_maxrss - before.ru_maxrss;
    ::_exit(data.rows() == rows && grown_kib < (16 + 2 + 8) * 1024 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "120 MB of rows took more than 26 MiB of memory on their way to files";
}

}  // namespace cache_test
}  // namespace gibbsite
