// People whose rows lie on several ranks and in several files: places and weights of one process,
// whoever has which rows, and messages that no rank sends.
#include "data/shared_people.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <random>
#include <sstream>
#include <tuple>
#include <vector>

#include "data/shares_pieces.hpp"
#include "gibbsite/data/effective_rows.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/data/shares.hpp"
#include "support.hpp"
#include "support/repeats.hpp"
#include "support/thread_ranks.hpp"

namespace gibbsite {
namespace shared_people_test {

using support::ThreadRanks;
using test::expect_bad_input;
using test::expect_same_rows;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Schema schema_of(const std::string& more = "w = {type = 'ignore'}\n") {
  return parse_schema(
      "label = 'y'\npositive = '1'\nnegative = '0'\ninvalid = 'middle'\n[columns]\nid = {type = "
      "'person'}\nx = {type = 'number', range = [0, 1]}\n" +
          more,
      "s.toml");
}

ReadOptions holding(ReadOptions::Cache cache = ReadOptions::Cache::never) {
  ReadOptions out;
  out.holds_people = true;
  out.threads = 1;
  out.cache = cache;
  return out;
}

/// Ids of so many rows: numbers that are one id however they are written, texts, and nobody's.
std::vector<std::string> ids_of(std::size_t rows, std::size_t people, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t person = random() % people;
    switch (person % 5) {
      case 0:
        out.push_back(fmt::format("{}{}", person, random() % 2 == 0 ? "" : ".0"));
        break;
      case 1:
        out.push_back(fmt::format("\" Ren\xC3\xA9 {}\"", person));
        break;
      case 2:
        out.push_back(fmt::format("{}", 9'007'199'254'740'993ULL + person));
        break;
      case 3:
        out.push_back(fmt::format("123e4567-e89b-12d3-a456-{:012}", person));
        break;
      default:
        out.push_back(random() % 3 == 0 ? "" : "z");
    }
  }
  return out;
}

std::string table_of(const std::vector<std::string>& ids, std::size_t first, std::size_t last) {
  std::string text = "x,id,w,y\n";
  for (std::size_t i = first; i < last; ++i)
    text += fmt::format("0.{},{},{},{}\n", i % 10, ids[i], i % 7, i % 2);
  return text;
}

class SharedPeople : public test::DataTest {
 protected:
  ~SharedPeople() override { set_least_piece_bytes(pieces_); }

  /// What each rank reads and holds of a table that these ends cut for them.
  static std::vector<Dataset> read(const std::string& table, const Schema& schema,
                                   const std::vector<std::uint64_t>& ends, std::uint64_t k,
                                   const ReadOptions& options = holding()) {
    std::vector<Dataset> out(ends.size());
    const std::size_t before = set_most_sent(100);
    ThreadRanks::run(ends.size(), [&](Communicator& ranks) {
      const SharedTable shared(table, schema, options, ranks);
      const std::size_t rank = ranks.rank();
      Dataset mine = shared.read({rank == 0 ? 0 : ends[rank - 1], ends[rank]});
      hold_people(mine, k, ranks);
      out[rank] = std::move(mine);
    });
    set_most_sent(before);
    return out;
  }
  static Dataset joined(std::vector<Dataset> shares) {
    Dataset all = std::move(shares[0]);
    for (std::size_t rank = 1; rank < shares.size(); ++rank)
      append_rows(all, std::move(shares[rank]));
    return all;
  }
  static void expect_same(const Dataset& whole, const std::vector<Dataset>& shares) {
    for (const Dataset& share : shares) {
      EXPECT_EQ(share.people, whole.people);
      EXPECT_EQ(share.counted(), whole.counted());
      EXPECT_EQ(share.rows_of_person, whole.rows_of_person);
      EXPECT_EQ(share.rows_counted, whole.rows());
    }
    const Dataset all = joined(shares);
    expect_same_rows(whole, all);
    EXPECT_EQ(all.weight, whole.weight);
    EXPECT_EQ(all.person, whole.person);
  }

  std::uint64_t pieces_ = set_least_piece_bytes(64);
};

TEST_F(SharedPeople, CountAsInOneProcess) {
  support::Thinned sweep(3);
  for (const char* const type : {"'ignore'", "'weight', range = [0, 5]"}) {
    const Schema schema = schema_of(fmt::format("w = {{type = {}}}\n", type));
    for (const std::size_t people : {1U, 7U, 300U, 100'000U}) {
      const std::size_t n = 900;
      const std::string table = write("t.csv", table_of(ids_of(n, people, 3), 0, n));
      for (const std::uint64_t k : {1U, 3U}) {
        Dataset whole = read_csv(table, schema, holding());
        whole.hold_people(k);
        for (const std::vector<std::uint64_t>& ends : std::vector<std::vector<std::uint64_t>>{
                 {900}, {450, 900}, {0, 0, 900}, {900, 900}, {1, 2, 300, 300, 301, 899, 900}}) {
          if (sweep.skips()) continue;
          SCOPED_TRACE(fmt::format("{} people, k {}, {} ranks", people, k, ends.size()));
          const std::vector<Dataset> shares = read(table, schema, ends, k);
          expect_same(whole, shares);
          // Ranks that count alone see fewer rows of most people.
          if (people != 7 || ends != std::vector<std::uint64_t>{450, 900}) continue;
          ThreadRanks::run(2, [&](Communicator& ranks) {
            const SharedTable shared(table, schema, holding(), ranks);
            Dataset mine = shared.read(ranks.rank() == 0 ? RowRange{0, 450} : RowRange{450, 900});
            mine.hold_people(k);
            EXPECT_NE(mine.weight, shares[ranks.rank()].weight);
            EXPECT_NE(mine.rows_counted, n);
          });
        }
      }
    }
  }
}

TEST_F(SharedPeople, SayWhatTheyTellOfAMean) {
  const Schema schema = schema_of("w = {type = 'weight', range = [0, 5]}\n");
  const std::string table = write("t.csv", table_of(ids_of(900, 40, 5), 0, 900));
  for (const bool known : {true, false}) {
    Dataset whole = read_csv(table, schema, holding());
    whole.hold_people(2);
    std::vector<Dataset> shares = read(table, schema, {300, 300, 900}, 2);
    if (!known) whole.person = shares[0].person = shares[2].person = {};
    const EffectiveRows expected = effective_rows_of(whole);
    EXPECT_EQ(expected.units, known ? whole.counted() : 900);
    ThreadRanks::run(3, [&](Communicator& ranks) {
      const EffectiveRows found = effective_rows_of(shares[ranks.rank()], ranks);
      EXPECT_EQ(found.units, expected.units);
      EXPECT_EQ(found.sum, expected.sum);
      EXPECT_EQ(found.squares, expected.squares);
    });
  }
  // Places need not be dense.
  Dataset few = read_csv(write("g.csv", "x,y\n0.1,0\n0.2,1\n0.3,1\n"),
                         parse_schema("label = 'y'\npositive = '1'\ninvalid = 'middle'\n[columns]\n"
                                      "x = {type = 'number', range = [0, 1]}\n",
                                      "s.toml"));
  few.group(std::vector<std::uint32_t>{2, Dataset::nobody, 2});
  few.hold_people(1);
  EXPECT_EQ(effective_rows_of(few).units, 1);
  EXPECT_EQ(effective_rows_of(few).effective(), 1);
}

// Ranks say in the same words what one process says, and all of them.
TEST_F(SharedPeople, AreRefusedAsInOneProcess) {
  const std::string nobody = write("n.csv", "x,id,w,y\n0.1,,1,0\n0.2,,1,1\n0.3,,1,1\n");
  expect_bad_input([&] { read(nobody, schema_of(), {1, 3}, 1); }, {"nobody has a row"});
  const std::string table = write("t.csv", "x,id,w,y\n0.1,a,1,0\n0.2,a,1,1\n0.3,b,1,1\n");
  expect_bad_input([&] { read(table, schema_of(), {1, 3}, 0); }, {"rank 0", "must be from 1"});
  ReadOptions counting;
  counting.threads = 1;
  expect_bad_input(
      [&] {
        read(table, schema_of(), {1, 3}, 1, counting);
      },
      {"column 'id' says whose a row is, and this counts rows"});
  Schema strict = schema_of();
  strict.invalid = Invalid::refuse;
  expect_bad_input([&] { read(nobody, strict, {1, 3}, 1); }, {"says of nobody"});
  ThreadRanks::run(2, [&](Communicator& ranks) {
    const SharedTable shared(table, schema_of(), holding(), ranks);
    Dataset mine = shared.read(ranks.rank() == 0 ? RowRange{0, 1} : RowRange{1, 3});
    hold_people(mine, 1, ranks);
    expect_bad_input([&] { hold_people(mine, 1, ranks); }, {"rank 0: ", "held already"});
    mine.rows_of_person = 0;
    if (ranks.rank() == 1) mine.person = {};
    expect_bad_input([&] { hold_people(mine, 1, ranks); }, {"rank 1: ", "were not read"});
  });
}

// Files of one table, in one process and on ranks: a person has rows in several.
TEST_F(SharedPeople, HaveRowsInSeveralFiles) {
  const Schema schema = schema_of();
  const std::vector<std::string> ids = ids_of(900, 60, 8);
  Dataset whole = read_csv(write("t.csv", table_of(ids, 0, 900)), schema, holding());
  whole.hold_people(2);
  std::filesystem::create_directories(path("parts"));
  std::ignore = write("parts/a.csv", table_of(ids, 0, 311));
  std::ignore = write("parts/b.csv", table_of(ids, 311, 312));
  std::ignore = write("parts/c.csv", table_of(ids, 312, 900));
  Dataset one = read_table(path("parts"), schema, holding());
  one.hold_people(2);
  expect_same(whole, {one});
  expect_same(whole, read(path("parts"), schema, {200, 500, 500, 900}, 2));
  // Readers of parts that count alone would take a person of two files for two.
  Dataset first = read_csv(path("parts/a.csv"), schema, holding());
  Dataset last = read_csv(path("parts/c.csv"), schema, holding());
  first.hold_people(2), last.hold_people(2);
  EXPECT_GT(first.people + last.people, whole.people);
  // Nor are they joined, weighed or not: places of people read apart are not of the same ones.
  const std::string apart = "people of tables that were read apart";
  expect_bad_input([&] { append_rows(first, Dataset(last)); }, {apart});
  for (const bool held : {false, true}) {
    Dataset a = read_csv(path("parts/a.csv"), schema, holding());
    Dataset b = read_csv(path("parts/c.csv"), schema, holding());
    if (held) b.hold_people(2);
    expect_bad_input([&] { append_rows(a, std::move(b)); }, {apart});
    EXPECT_EQ(a.rows(), 311U);
  }
  // Ids that folders name.
  for (const char* const id : {"5", "5.0", "b"}) {
    std::filesystem::create_directories(path(fmt::format("hive/id={}", id)));
    std::ignore = write(fmt::format("hive/id={}/p.csv", id), "x,y\n0.1,0\n0.2,1\n");
  }
  Dataset hive = read_table(path("hive"), schema, holding());
  EXPECT_THAT(hive.person, ElementsAre(0, 0, 0, 0, 1, 1));
  expect_same((hive.hold_people(1), hive), read(path("hive"), schema, {1, 5, 6}, 1));
}

// Rows on disk: what says whose they are stays in memory, so the ids are read again each time.
TEST_F(SharedPeople, OfRowsInFilesOnDiskAreCountedAnew) {
  const Schema schema = schema_of("w = {type = 'weight', range = [0, 5]}\n");
  const std::vector<std::string> ids = ids_of(900, 60, 9);
  const std::string table = write("t.csv", table_of(ids, 0, 900));
  Dataset whole = read_csv(table, schema, holding());
  whole.hold_people(2);
  for (int time = 0; time < 2; ++time) {
    for (const auto cache : {ReadOptions::Cache::always, ReadOptions::Cache::automatic}) {
      Dataset one = read_table(table, schema, holding(cache));
      EXPECT_TRUE(one.on_disk());
      one.hold_people(2);
      expect_same(whole, {one});
    }
    std::vector<Dataset> shares =
        read(table, schema, {400, 900}, 2, holding(ReadOptions::Cache::always));
    for (std::size_t rank = 0; rank < 2; ++rank) {
      EXPECT_TRUE(shares[rank].on_disk());
      const std::size_t from = rank == 0 ? 0 : 400;
      for (std::size_t i = 0; i < shares[rank].rows(); ++i) {
        ASSERT_EQ(shares[rank].weight[i], whole.weight[from + i]);
        ASSERT_EQ(shares[rank].person[i], whole.person[from + i]);
      }
    }
  }
  // Nothing of whose rows are is in a file: weights are those of the column alone.
  Dataset weights = read_csv(table, schema, holding());
  std::size_t found = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(path("."))) {
    const std::string name = file.path().filename();
    EXPECT_EQ(name.find("person"), std::string::npos);
    if (file.path().parent_path().filename() != "t.csv.gibbsite-cache" || name != "weights.f32")
      continue;
    std::ostringstream bytes;
    bytes << std::ifstream(file.path(), std::ios::binary).rdbuf();
    EXPECT_EQ(bytes.str(), test::bytes_of(weights.weight));
    ++found;
  }
  EXPECT_EQ(found, 1U);
  EXPECT_NE(weights.weight, whole.weight);
}

/// Numbers the ids of the ranks, by hashes of so many bits.
std::vector<std::vector<std::uint32_t>> numbered(
    const std::vector<std::vector<std::string>>& ids, unsigned bits = 128,
    const std::function<std::unique_ptr<Communicator>(Communicator&)>& between = {}) {
  std::vector<std::vector<std::uint32_t>> out(ids.size());
  std::uint64_t rows = 0;
  for (const auto& of : ids) rows += of.size();
  const PersonIds::Key key{1, 2, 3};
  ThreadRanks::run(ids.size(), [&](Communicator& real) {
    const std::unique_ptr<Communicator> other = between ? between(real) : nullptr;
    Communicator& ranks = other ? *other : real;
    PersonIds own(key, bits);
    std::vector<std::uint32_t> person;
    for (const std::string& id : ids[ranks.rank()])
      person.push_back(id.empty() ? Dataset::nobody : own.place(id));
    number_people(person, own, rows, ranks);
    out[ranks.rank()] = std::move(person);
  });
  return out;
}

TEST(SharedPlaces, AreThoseOfTheWholeTable) {
  EXPECT_THAT(numbered({{"a", "b", "a"}, {}, {"c", "", "b"}, {"d", "c", "a"}}),
              ElementsAre(ElementsAre(0, 1, 0), ElementsAre(), ElementsAre(2, Dataset::nobody, 1),
                          ElementsAre(3, 2, 0)));
  EXPECT_THAT(numbered({{}, {""}}), ElementsAre(ElementsAre(), ElementsAre(Dataset::nobody)));
  // Two people of one hash are one, wherever they have rows.
  for (const auto& of : numbered({{"a", "b"}, {"c", "d"}, {"e", "a"}}, 0)) EXPECT_THAT(of, Each(0));
  // More than go at once, and people of one rank alone.
  const std::size_t n = 30'000, before = set_most_sent(1000);
  std::vector<std::vector<std::string>> many(4);
  std::mt19937_64 random(4);
  PersonIds all;
  std::vector<std::uint32_t> expected;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const std::size_t rows = rank == 2 ? 0 : rank == 1 ? n : n / 20;
    for (std::size_t i = 0; i < rows; ++i) {
      many[rank].push_back(fmt::format("{}", rank == 1 ? i : random() % n));
      expected.push_back(all.place(many[rank].back()));
    }
  }
  std::vector<std::uint32_t> found;
  for (const auto& of : numbered(many)) found.insert(found.end(), of.begin(), of.end());
  EXPECT_EQ(found, expected);
  set_most_sent(before);
}

/// Changes one byte of what rank 1 is sent in its m-th message of that kind.
class Garbling final : public Communicator {
 public:
  enum class Kind { gather, exchange };
  Garbling(Communicator& ranks, Kind kind, int message, std::size_t byte, int flip)
      : ranks_(ranks), kind_(kind), left_(message), byte_(byte), flip_(flip) {}
  [[nodiscard]] std::size_t rank() const override { return ranks_.rank(); }
  [[nodiscard]] std::size_t size() const override { return ranks_.size(); }
  [[nodiscard]] std::string_view name() const override { return ranks_.name(); }
  void gather(std::span<const std::byte> mine, std::span<const std::size_t> counts,
              std::span<std::byte> out) override {
    ranks_.gather(mine, counts, out);
    // A matrix of counts: with other numbers the transport itself would be told other sizes.
    if (kind_ == Kind::gather && out.size() == 8 * size() * size()) garble(out);
  }
  void broadcast(std::span<std::byte> bytes, std::size_t root) override {
    ranks_.broadcast(bytes, root);
  }
  void exchange(std::span<const std::byte> mine, std::span<const std::size_t> to,
                std::span<std::byte> received, std::span<const std::size_t> from) override {
    ranks_.exchange(mine, to, received, from);
    if (kind_ == Kind::exchange) garble(received);
  }
  void send(std::span<const std::byte> bytes, std::size_t to) override { ranks_.send(bytes, to); }
  void receive(std::span<std::byte> bytes, std::size_t from) override {
    ranks_.receive(bytes, from);
  }
  [[noreturn]] void abort(const std::string& message, Status status) override {
    throw Error(status, message);
  }

 private:
  void garble(std::span<std::byte> bytes) {
    if (rank() != 1 || left_-- != 0 || bytes.empty()) return;
    bytes[byte_ % bytes.size()] ^= static_cast<std::byte>(flip_);
  }
  Communicator& ranks_;
  Kind kind_;
  int left_;
  std::size_t byte_;
  int flip_;
};

// No message makes a rank write outside of what it has, wait for ever, or take a place that nobody
// gave. What cannot be told from an honest one (another hash of the same rank) ends well.
TEST(SharedPlaces, TakeNoMessageThatNoRankSends) {
  const std::vector<std::vector<std::string>> ids{
      {"a", "b", "c", "d", "e"}, {"a", "f", "g", "b"}, {"g", "h", "i", "a", "j", "k"}};
  using Kind = Garbling::Kind;
  const auto refused = [&](Kind kind, int message, std::size_t byte, int flip) {
    try {
      std::ignore = numbered(ids, 128, [&](Communicator& ranks) {
        return std::make_unique<Garbling>(ranks, kind, message, byte, flip);
      });
      return false;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr("a message between ranks does not fit"));
      return true;
    }
  };
  EXPECT_FALSE(refused(Kind::exchange, 99, 0, 1));
  // Counts (hashes; places given; places asked for): every byte, as none is what it was.
  for (int message = 0; message < 3; ++message)
    for (std::size_t byte = 0; byte < 72; ++byte)
      EXPECT_TRUE(refused(Kind::gather, message, byte, byte % 2 == 0 ? 1 : 128))
          << message << " " << byte;
  // Hashes that belong to another rank, flags, places.
  std::vector<int> found(4);
  for (int message = 0; message < 4; ++message)
    for (std::size_t byte = 0; byte < 24; ++byte)
      for (const int flip : {1, 64})
        found[static_cast<std::size_t>(message)] +=
            refused(Kind::exchange, message, byte, flip) ? 1 : 0;
  for (const int count : found) EXPECT_GT(count, 5);
}

}  // namespace shared_people_test
}  // namespace gibbsite
