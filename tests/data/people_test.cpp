// Whose rows are: the share of each of m rows, people told apart by ids of every kind and not by
// order, rows of nobody, what counts a person's rows, and the readers that refuse them.
#include "support/people.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "data/keyed_digest.hpp"
#include "data/person_ids.hpp"
#include "gibbsite/data/array.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/cell_counts.hpp"
#include "gibbsite/data/group_rows.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"
#include "support/arrow_builder.hpp"

namespace gibbsite {
namespace people_test {

using test::bytes_of;
using test::expect_bad_input;
using test::npy;
using testing::arrow_numbers;
using testing::arrow_text;
using testing::ArrowTable;
using ::testing::Each;
using ::testing::ElementsAre;

Schema with_person(const std::string& keys = "", const std::string& more = "") {
  return parse_schema("label = 'y'\npositive = '1'\nnegative = '0'\n" + keys +
                          "\n[columns]\nid = {type = 'person'}\nx = {type = 'number', range = [0, "
                          "1]}\n" +
                          more,
                      "s.toml");
}

ReadOptions holding() {
  ReadOptions out;
  out.holds_people = true;
  return out;
}

class People : public test::DataTest {
 public:
  [[nodiscard]] Dataset csv(const std::vector<std::string>& ids, const Schema& schema,
                            ReadOptions options = holding()) const {
    std::string text = "x,id,y\n";
    for (std::size_t i = 0; i < ids.size(); ++i)
      text += fmt::format("0.{},{},{}\n", i % 10, ids[i], i % 2);
    return read_csv(write("t.csv", text), schema, options);
  }
};

// Exactly: a float times m is a double of at most 44 bits.
TEST_F(People, CountAsAtMostKHoweverManyRowsTheyHave) {
  for (const std::uint64_t k : {1U, 2U, 3U, 7U, 50U}) {
    double least = 1;
    for (std::uint64_t m = 1; m <= 1'000'000; ++m) {
      const float share = share_of_rows_down(k, m);
      const double all = static_cast<double>(share) * static_cast<double>(m);
      ASSERT_LE(all, static_cast<double>(k)) << m;
      ASSERT_LE(share, 1) << m;
      if (m <= k) {
        ASSERT_EQ(share, 1) << m;
      } else {  // and no less than the next float
        ASSERT_GT(static_cast<double>(std::nextafter(share, 1.0F)) * static_cast<double>(m),
                  static_cast<double>(k))
            << m;
        least = std::min(least, all / static_cast<double>(k));
      }
    }
    EXPECT_GT(least, 1 - 0x1p-23);
  }
  for (const std::uint64_t m : {(1ULL << 40) - 1, (1ULL << 53) - 1, 1ULL << 53, 3ULL << 51}) {
    const float share = share_of_rows_down(3, m);
    EXPECT_LE(std::fma(static_cast<double>(share), static_cast<double>(m), -3.0), 0);
    EXPECT_GT(share, 0);
  }
  for (const float a : {0.0F, 1.0F / 3, 0x1.fffffep-1F, 1.0F})
    for (const float b : {0.0F, 0.1F, 0x1.fffffep-1F, 1.0F})
      EXPECT_LE(static_cast<double>(product_down(a, b)),
                static_cast<double>(a) * static_cast<double>(b));
}

TEST_F(People, AreToldApartByAnyId) {
  const std::string far = "9007199254740993", near = "9007199254740992";  // one double
  const std::string uuid = "123e4567-e89b-12d3-a456-426614174000";
  const Dataset data = csv(
      {far, near, uuid, far, "\xC3\xA9", "e\xCC\x81", "ab", "ab ", "\"a,b\"", uuid}, with_person());
  EXPECT_THAT(data.person, ElementsAre(0, 1, 2, 0, 3, 3, 4, 4, 5, 2));
  // However it is written, a whole number is one id, and blanks are no part of one.
  EXPECT_THAT(csv({"5", "5.0", "\" 5\"", "\"5 \""}, with_person()).person, Each(0));
  Dataset held = data;
  held.hold_people(1);
  EXPECT_EQ(held.people, 6U);
  EXPECT_EQ(held.counted(), 6U);
  // Weights that come behind would take the place of what holds people to k rows.
  expect_bad_input([&] { held.weigh(std::vector<double>(10, 1.0), 1); },
                   {"give the weights as a column"});
  EXPECT_THAT(held.weight, ElementsAre(.5F, 1, .5F, .5F, .5F, .5F, .5F, .5F, 1, .5F));
  EXPECT_EQ(held.person, data.person);
  held = data;
  held.hold_people(2);
  EXPECT_THAT(held.weight, Each(1));
  // The order of rows and other people's rows decide nothing of a row.
  std::vector<std::string> ids(1000);
  std::vector<std::size_t> count(97);
  std::mt19937_64 random(1);
  for (std::string& id : ids) {
    const std::size_t of = std::uniform_int_distribution<std::size_t>(0, 96)(random) % 60;
    id = fmt::format("{}", of);
    ++count[of];
  }
  for (int turn = 0; turn < 3; ++turn) {
    Dataset other = csv(ids, with_person());
    other.hold_people(3);
    for (std::size_t i = 0; i < ids.size(); ++i)
      ASSERT_EQ(other.weight[i], share_of_rows_down(3, count[std::stoul(ids[i])]));
    std::ranges::shuffle(ids, random);
  }
}

// Spellings of ids, of a file that the tests of Python read too: an id, then texts that are it; of
// no id those that are nobody's.
std::vector<std::vector<std::string>> spellings() {
  std::vector<std::vector<std::string>> out;
  std::ifstream file(GIBBSITE_SOURCE_DIR "/tests/data/id_spellings.tsv");
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string>& texts = out.emplace_back();
    for (std::size_t first = 0, last = 0; last != line.npos; first = last + 1)
      texts.push_back(line.substr(first, (last = line.find('\t', first)) - first));
  }
  return out;
}

TEST_F(People, AreOneHoweverTheirIdIsSpelled) {
  const std::vector<std::vector<std::string>> people = spellings();
  ASSERT_GT(people.size(), 20U);
  std::vector<std::string> cells;
  std::vector<std::optional<std::string>> texts;
  std::vector<std::uint32_t> expected;
  for (std::size_t p = 0; p < people.size(); ++p) {
    for (std::size_t k = 1; k < people[p].size(); ++k) {
      EXPECT_EQ(person_id(people[p][k]), people[p][0]) << people[p][k];
      cells.push_back('"' + people[p][k] + '"');
      texts.emplace_back(people[p][k]);
      expected.push_back(people[p][0].empty() ? Dataset::nobody : static_cast<std::uint32_t>(p));
    }
  }
  const Schema schema = with_person("invalid = 'middle'\nmissing = '?'");
  Dataset data = csv(cells, schema);
  EXPECT_EQ(data.person, expected);
  EXPECT_EQ(hold_rows(path("t.csv"), "id", 1).person, expected);
  ArrowTable made(
      {{arrow_text("id", "u", texts),
        arrow_numbers<double>("x", "g", std::vector<std::optional<double>>(texts.size(), .5)),
        arrow_numbers<double>("y", "g", std::vector<std::optional<double>>(texts.size(), 1))}});
  ArrowArrayStream stream = made.stream();
  EXPECT_EQ(read_arrow(stream, schema, holding(), {}).person, expected);
  data.hold_people(1);
  EXPECT_EQ(data.people, people.size() - 1);
  std::vector<double> counts(people.size());
  for (std::size_t i = 0; i < data.rows(); ++i)
    if (expected[i] != Dataset::nobody) counts[expected[i]] += static_cast<double>(data.weight[i]);
  for (const double count : counts) EXPECT_LE(count, 1);
  // Text that is not UTF-8 may be UTF-8 in another file of the table.
  EXPECT_THAT(csv({"b", "\xE9", "\xC3\xA9"}, schema).person, ElementsAre(0, Dataset::nobody, 1));
}

TEST_F(People, AreOneHoweverTheSchemaWritesNumbers) {
  const std::string grouped = "thousands = [\"'\", ' ']";
  EXPECT_THAT(csv({"1234", "1'234", "1 234", "1'234.0", "01234"}, with_person(grouped)).person,
              Each(0));
  const Schema comma = with_person("decimal = ','\ninvalid = 'middle'");  // x has points
  EXPECT_THAT(csv({"\"7,5\"", "7.5", "\"7,50\"", "7.50"}, comma).person, Each(0));
  EXPECT_THAT(csv({"7", "\"7,0\"", "7.0"}, comma).person, Each(0));
  // Where a point groups digits in a file and is the decimal sign in another, it is two numbers.
  const Schema points = with_person("decimal = ','\nthousands = '.'\ninvalid = 'middle'");
  EXPECT_THAT(csv({"1234", "1.234", "1.234.567", "1234567"}, points).person,
              ElementsAre(0, Dataset::nobody, 1, 1));
}

// Parts of one table have columns of ids of several types, as writers of them chose.
TEST_F(People, AreOneInColumnsOfEveryType) {
  const std::string bought =
      "bought = {certificate = \"blake2b-256-jcs:" + std::string(64, 'a') +
      "\", epsilon = 1.0, delta = 1e-6, person = \"id\", rows_per_person = 1}\n";
  constexpr std::int64_t far = 110'101'199'003'074'514;
  for (const std::string& keys : {std::string(), bought}) {
    const Schema schema = with_person(keys + "invalid = 'middle'");
    PersonIds ids;
    ReadOptions options = holding();
    options.people = &ids;
    const auto read = [&](const testing::ArrowColumn& column) {
      const std::vector<std::optional<double>> ones(static_cast<std::size_t>(column.length), 1);
      ArrowTable made(
          {{column, arrow_numbers<double>("x", "g", ones), arrow_numbers<double>("y", "g", ones)}});
      ArrowArrayStream stream = made.stream();
      std::vector<std::uint32_t> places = read_arrow(stream, schema, options, {}).person;
      // What a purchase counts as somebody's is the same.
      const CellSource source = cells_of_arrow("t", [&](const auto&) { return made.stream(); });
      std::size_t i = 0;
      source.read_ids({"id"}, [&](const auto& cells) {
        const std::string id = purchased_id(cells[0]);
        EXPECT_EQ(id.empty() ? Dataset::nobody : ids.place(id), places[i++]) << cells[0];
      });
      return places;
    };
    const auto none = Dataset::nobody;
    EXPECT_THAT(read(arrow_numbers<std::int64_t>("id", "l", {7, 16'777'217, far, 16'777'215})),
                ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(read(arrow_numbers<double>(
                    "id", "g", {7, 16'777'217, static_cast<double>(far), 0.1, 1'234'567.001})),
                ElementsAre(0, 1, none, 4, none));
    const std::vector<std::optional<float>> floats{7.0F,
                                                   16'777'217.0F,
                                                   static_cast<float>(far),
                                                   0.1F,
                                                   1'234'567.001F,
                                                   16'777'215.0F,
                                                   std::numeric_limits<float>::infinity()};
    const auto of_floats = ElementsAre(0, none, none, none, 5, 3, none);
    EXPECT_THAT(read(arrow_numbers<float>("id", "f", floats)), of_floats);
    testing::ArrowColumn coded = arrow_numbers<std::int32_t>("id", "i", {0, 1, 2, 3, 4, 5, 6});
    coded.dictionary =
        std::make_shared<testing::ArrowColumn>(arrow_numbers<float>("", "f", floats));
    EXPECT_THAT(read(coded), of_floats);
    EXPECT_THAT(read(arrow_numbers<std::uint16_t>("id", "e", {0x4700, 0x6801})), Each(none));
    EXPECT_THAT(read(arrow_text("id", "u", {"7.00", "16777217", "1.1010119900307451e+17"})),
                ElementsAre(0, 1, none));
  }
}

TEST_F(People, AreCountedByAllTheirRowsWhateverTheyHold) {
  const Schema schema = with_person("invalid = 'middle'");
  const std::string text = "x,id,y\n0.5,a,1\nabc,a,1\n,a,\n7,a,other\n0.5,b,1\n0.5,,1\n0.5,NA,1\n";
  Dataset data = read_csv(write("u.csv", text), schema, holding());
  data.hold_people(1);
  EXPECT_EQ(data.people, 3U);  // NA is an id unless a mark says that it is none
  EXPECT_THAT(data.weight, ElementsAre(.25F, .25F, .25F, .25F, 1, 0, 1));
  data =
      read_csv(write("u.csv", text), with_person("invalid = 'middle'\nmissing = 'NA'"), holding());
  data.hold_people(1);
  EXPECT_EQ(data.people, 2U);
  EXPECT_THAT(data.weight, ElementsAre(.25F, .25F, .25F, .25F, 1, 0, 0));
  EXPECT_EQ(data.counts.columns[0].invalid, 2U);
  expect_bad_input(
      [&] {
        std::ignore = csv({"a", ""}, with_person());
      },
      {"t.csv:3: column 'id': says of nobody whose the row is"});
  Dataset none = csv({"", ""}, schema);
  expect_bad_input([&] { none.hold_people(1); }, {"nobody has a row"});
}

TEST_F(People, WithWeightsMultiply) {
  const Schema schema = with_person("", "w = {type = 'weight', range = [0, 7]}\n");
  std::string text = "x,id,y,w\n";
  std::mt19937_64 random(5);
  std::vector<std::string> ids;
  for (int i = 0; i < 4000; ++i) {
    ids.push_back(fmt::format("p{}", random() % 300));
    text += fmt::format("0.5,{},1,{}\n", ids.back(), static_cast<double>(random() % 1000) / 110);
  }
  const Dataset read = read_csv(write("w.csv", text), schema, holding());
  for (const std::uint64_t k : {1U, 4U}) {
    Dataset data = read;
    data.hold_people(k);
    std::map<std::string, std::pair<double, std::uint64_t>> all;
    for (const std::string& id : ids) ++all[id].second;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const double exact = static_cast<double>(share_of_rows_down(k, all[ids[i]].second)) *
                           static_cast<double>(read.weight[i]);
      ASSERT_LE(static_cast<double>(data.weight[i]), exact);
      ASSERT_GE(static_cast<double>(data.weight[i]), exact * (1 - 0x1p-22));
      all[ids[i]].first += static_cast<double>(data.weight[i]);
    }
    for (const auto& [id, sum] : all) EXPECT_LE(sum.first, static_cast<double>(k));
  }
}

TEST_F(People, OfArrowTablesAreTheSame) {
  const auto read = [&](testing::ArrowColumn ids, std::size_t n, const std::string& keys = "") {
    ArrowTable::Batch batch{
        std::move(ids), arrow_numbers<double>("x", "g", std::vector<std::optional<double>>(n, .5)),
        arrow_numbers<double>("y", "g", std::vector<std::optional<double>>(n, 1))};
    ArrowTable made({std::move(batch)});
    ArrowArrayStream stream = made.stream();
    return read_arrow(stream, with_person(keys), holding(), {});
  };
  constexpr std::int64_t far = (std::int64_t{1} << 53) + 1;
  EXPECT_THAT(read(arrow_numbers<std::int64_t>("id", "l", {far, far - 1, far, 7, -7}), 5).person,
              ElementsAre(0, 1, 0, 2, 3));
  EXPECT_THAT(read(arrow_text("id", "u", {"u", "v", "u"}), 3).person, ElementsAre(0, 1, 0));
  EXPECT_THAT(read(arrow_numbers<double>("id", "g", {1, 2.5, 1}), 3).person, ElementsAre(0, 1, 0));
  // Such doubles may have been several ids.
  expect_bad_input(
      [&] {
        std::ignore = read(arrow_numbers<double>("id", "g", {1, 0x1p53}), 2);
      },
      {"row 2: column 'id': says of nobody whose the row is"});
  expect_bad_input(
      [&] {
        std::ignore = read(arrow_text("id", "u", {"u", std::nullopt}), 2);
      },
      {"row 2: column 'id': says of nobody"});
  EXPECT_THAT(read(arrow_text("id", "u", {"u", std::nullopt}), 2, "invalid = 'middle'").person,
              ElementsAre(0, Dataset::nobody));
  std::vector<std::optional<std::string>> many;
  for (int i = 0; i < 30'000; ++i) many.emplace_back(fmt::format("{}", i % 7000));
  Dataset data = read(arrow_text("id", "u", many), many.size());
  data.hold_people(1);
  EXPECT_EQ(data.people, 7000U);
  for (std::size_t i = 0; i < many.size(); ++i)
    ASSERT_EQ(data.weight[i], share_of_rows_down(1, i % 7000 < 2000 ? 5 : 4));
}

// A purchase and what follows it must mean the same people, or their guarantees do not add up.
TEST_F(People, OfABoughtSchemaAreThoseOfThePurchaseWhateverItSaysElse) {
  const auto table = [&] {
    constexpr double far = 0x1p53, infinite = std::numeric_limits<double>::infinity();
    ArrowTable::Batch batch{
        arrow_numbers<double>(
            "id", "g", {7, far + 2, infinite, -infinite, std::nan(""), far, 7, std::nullopt}),
        arrow_numbers<double>("x", "g", std::vector<std::optional<double>>(8, .5)),
        arrow_numbers<double>("y", "g", std::vector<std::optional<double>>(8, 1))};
    return ArrowTable({std::move(batch)});
  };
  const std::vector<std::string> ids{"7",   "7.0", " 7,0", "7,00", "NA",
                                     "n/a", "",    "inf",  "1,5",  "1.5"};
  const std::string bought =
      "bought = {certificate = \"blake2b-256-jcs:" + std::string(64, 'a') +
      "\", epsilon = 1.0, delta = 1e-6, person = \"id\", rows_per_person = 1}\n"
      "invalid = \"middle\"\n";
  std::string text = "x;id;y\n";
  for (const std::string& id : ids) text += "1;" + id + ";1\n";
  const std::string path = write("purchased.csv", text);
  const auto purchased = hold_rows(path, "id", 1).person;
  ArrowTable numbers = table();
  const auto of_numbers =
      hold_rows(cells_of_arrow("table", [&](const auto&) { return numbers.stream(); }), "id", 1)
          .person;
  EXPECT_THAT(std::set(of_numbers.begin(), of_numbers.end()).size(), 2U) << "power";
  for (const char* const more :
       {"", "decimal = ','\n", "missing = ['7', '1.5', '-']\n", "missing = ['']\n"}) {
    for (const char* const own : {"", ", missing = ['7', 'inf']"}) {
      const Schema schema = parse_schema("label = 'y'\npositive = '1'\nnegative = '0'\n" + bought +
                                             more + "\n[columns]\nid = {type = 'person'" + own +
                                             "}\nx = {type = 'number', range = [0, 1]}\n",
                                         "s.toml");
      EXPECT_EQ(read_csv(path, schema, holding()).person, purchased) << more << own;
      ArrowTable again = table();
      ArrowArrayStream stream = again.stream();
      EXPECT_EQ(read_arrow(stream, schema, holding(), {}).person, of_numbers) << more << own;
    }
  }
}

// A timestamp tells people apart exactly, in the purchase and in every fit: several of one day are
// several people, and equal ones of different units are one.
TEST_F(People, MayBeToldApartByDatesAndTimestamps) {
  constexpr std::int64_t day = 86'400;
  struct Unit {
    const char* format;
    std::int64_t per_second;
  };
  const std::vector<std::int64_t> seconds{0, 1, 0, -1, day - 1, day, -day, 3661, 253'402'300'800,
                                          1};
  const std::vector<std::string> expected{
      "1970-01-01",          "1970-01-01T00:00:01", "1970-01-01",
      "1969-12-31T23:59:59", "1970-01-01T23:59:59", "1970-01-02",
      "1969-12-31",          "1970-01-01T01:01:01", "2932897",
      "1970-01-01T00:00:01"};
  const std::string bought =
      "bought = {certificate = \"blake2b-256-jcs:" + std::string(64, 'a') +
      "\", epsilon = 1.0, delta = 1e-6, person = \"id\", rows_per_person = 1}\n";
  const auto check = [&](testing::ArrowColumn ids, std::size_t n,
                         const std::vector<std::string>& texts) {
    ArrowTable made({{std::move(ids),
                      arrow_numbers<double>("x", "g", std::vector<std::optional<double>>(n, .5)),
                      arrow_numbers<double>("y", "g", std::vector<std::optional<double>>(n, 1))}});
    const CellSource source = cells_of_arrow("t", [&](const auto&) { return made.stream(); });
    std::vector<std::string> read;
    source.read_ids({"id"}, [&](const auto& cells) { read.push_back(cells[0]); });
    EXPECT_EQ(read, texts);
    const std::vector<std::uint32_t> purchased = hold_rows(source, "id", 1).person;
    EXPECT_EQ(std::set(purchased.begin(), purchased.end()).size(),
              std::set(texts.begin(), texts.end()).size());
    for (const std::string& keys : {std::string(), bought}) {
      ArrowArrayStream stream = made.stream();
      EXPECT_EQ(read_arrow(stream, with_person(keys), holding(), {}).person, purchased) << keys;
    }
  };
  for (const Unit& unit :
       {Unit{"tss:UTC", 1}, Unit{"tsm:", 1000}, Unit{"tsu:", 1'000'000}, Unit{"tdm", 1000}}) {
    std::vector<std::optional<std::int64_t>> ids;
    for (const std::int64_t second : seconds) ids.emplace_back(second * unit.per_second);
    check(arrow_numbers<std::int64_t>("id", unit.format, ids), ids.size(), expected);
  }
  check(
      arrow_numbers<std::int64_t>("id", "tsn:", {1, 2, 1, 1'500'000'000, -1}), 5,
      {"1970-01-01T00:00:00.000000001", "1970-01-01T00:00:00.000000002",
       "1970-01-01T00:00:00.000000001", "1970-01-01T00:00:01.5", "1969-12-31T23:59:59.999999999"});
  check(arrow_numbers<std::int32_t>("id", "tdD", {0, 1, 0, -1}), 4,
        {"1970-01-01", "1970-01-02", "1970-01-01", "1969-12-31"});
  // As a dictionary has them too.
  testing::ArrowColumn coded = arrow_numbers<std::int32_t>("id", "i", {0, 1, 0});
  coded.dictionary =
      std::make_shared<testing::ArrowColumn>(arrow_numbers<std::int64_t>("", "tss:", {5, 6}));
  check(coded, 3, {"1970-01-01T00:00:05", "1970-01-01T00:00:06", "1970-01-01T00:00:05"});
  // What is no id is still a day.
  ArrowTable days({{arrow_numbers<std::int64_t>("id", "tss:", {1, 2})}});
  std::vector<std::string> read;
  cells_of_arrow("t", [&](const auto&) {
    return days.stream();
  }).read({"id"}, [&](const auto& cells) { read.push_back(cells[0]); });
  EXPECT_THAT(read, Each("1970-01-01"));
}

// A model of people predicts for rows that say of nobody whose they are.
TEST_F(People, AreNotReadWhereRowsAreOnlyPredicted) {
  ReadOptions predicting;
  predicting.labels = ReadOptions::Labels::optional;
  for (const bool named : {true, false}) {
    const std::size_t n = 3000;
    ArrowTable::Batch batch{
        arrow_numbers<double>("x", "g", std::vector<std::optional<double>>(n, .5)),
        arrow_numbers<double>("y", "g", std::vector<std::optional<double>>(n, 1))};
    if (named)
      batch.push_back(arrow_text("id", "u", std::vector<std::optional<std::string>>(n, "u")));
    ArrowTable made({std::move(batch)});
    ArrowArrayStream stream = made.stream();
    const Dataset rows = read_arrow(stream, with_person(), predicting, {});
    EXPECT_EQ(rows.rows(), n);
    EXPECT_TRUE(rows.person.empty());
    EXPECT_THAT(rows.dense(), ::testing::Contains(0.5F));
  }
}

TEST_F(People, AreRefusedWhereTheyAreNotCounted) {
  const Schema schema = with_person();
  expect_bad_input(
      [&] {
        std::ignore = csv({"a", "b"}, schema, {});
      },
      {"column 'id' says whose a row is, and this counts rows"});
  const std::string table = write("t.csv", "x,id,y\n0.1,a,0\n0.2,b,1\n");
  ReadOptions automatic = holding();
  automatic.cache = ReadOptions::Cache::automatic;
  EXPECT_FALSE(read_table(table, schema, automatic).on_disk());
  expect_bad_input(
      [&] {
        std::ignore = read_libsvm(write("t.svm", "1 1:1 2:0.5\n0 2:0.5\n"), schema, holding());
      },
      {"an absent entry says of nobody"});
  ReadOptions labeled = holding();
  labeled.label_path = write("y.npy", npy("<f8", "(2,)", bytes_of(std::vector<double>{0, 1})));
  expect_bad_input(
      [&] {
        std::ignore = read_npy(
            write("x.npy", npy("<f8", "(2, 2)", bytes_of(std::vector<double>{1, .5, 2, .5}))),
            schema, labeled);
      },
      {"ids in an array of numbers may be rounded"});
  // Predicting looks at no id, and needs none.
  ReadOptions predicting;
  predicting.labels = ReadOptions::Labels::optional;
  EXPECT_TRUE(read_csv(write("p.csv", "x\n0.1\n"), schema, predicting).person.empty());
  EXPECT_TRUE(read_csv(table, schema, predicting).person.empty());
  EXPECT_EQ(schema.features(), 2U);  // x and the intercept

  Dataset data = csv({"a", "b"}, schema);
  expect_bad_input([&] { std::ignore = data.counted(); }, {"its people are not held"});
  expect_bad_input([&] { data.hold_people(0); }, {"must be from 1"});
  data.hold_people(1);
  expect_bad_input([&] { data.hold_people(1); }, {"held already"});
  expect_bad_input([&] { data.group(std::vector<std::uint32_t>{0, 1}); }, {"leave one out"});
}

TEST_F(People, GroupsAreTheSame) {
  Schema schema = with_person("invalid = 'middle'");
  schema.columns.erase(schema.columns.begin());
  const Dataset plain = read_csv(write("g.csv", "x,y\n0.1,0\n0.2,1\n0.3,1\n"), schema, {});
  Dataset data = plain;
  data.group(std::vector<std::uint32_t>{2, Dataset::nobody, 2});
  data.hold_people(1);
  EXPECT_EQ(data.people, 1U);
  EXPECT_THAT(data.weight, ElementsAre(.5F, 0, .5F));
  EXPECT_NE(data.schema.person(), nullptr);
  data = plain;
  expect_bad_input([&] { data.group(std::vector<std::uint32_t>{0, 1}); }, {"2 people for 3 rows"});
  expect_bad_input([&] { data.group(std::vector<std::uint32_t>{0, 1, 3}); }, {"beyond the rows"});
  // Texts are read as cells of a column are.
  using Ids = std::vector<std::optional<std::string>>;
  const std::vector<std::uint32_t> rows{3, 0, 1};
  group_rows(data, Ids{"5.0", " 5", "unused", "5"}, rows);
  EXPECT_THAT(data.person, Each(0));
  data = plain;
  group_rows(data, Ids{"e\xCC\x81", "", std::nullopt, "\xC3\xA9"}, rows);
  EXPECT_THAT(data.person, ElementsAre(0, 0, Dataset::nobody));
  EXPECT_EQ(data.counts.columns.back().invalid, 1U);
  data = plain;
  expect_bad_input([&] { group_rows(data, Ids{"a", "b", "c"}, rows); }, {"beyond the ids"});
  Schema marked = schema;
  marked.text.has_missing = true;
  marked.text.missing = "NA";
  data = read_csv(write("g.csv", "x,y\n0.1,0\n0.2,1\n0.3,1\n"), marked, {});
  group_rows(data, Ids{"NA", "a", "", "b"}, rows);
  EXPECT_THAT(data.person, ElementsAre(1, Dataset::nobody, 0));
  marked.invalid = Invalid::refuse;
  data.schema = marked;
  data.person = {};
  expect_bad_input([&] { group_rows(data, Ids{"NA", "a", "", "b"}, rows); }, {"a row is nobody's"});
}

TEST_F(People, SchemasSayWho) {
  const Schema schema = with_person("", "w = {type = 'weight', range = [0, 7]}\n");
  EXPECT_EQ(parse_schema(to_toml(schema), "again"), schema);
  const FeatureSpace space = schema;
  EXPECT_TRUE(space.people && space.weighted);
  expect_bad_input([&] { with_person("", "b = {type = 'person'}\n"); }, {"and so does 'id'"});
  Schema bought = schema;
  bought.bought = BoughtApart{"blake2b-256:" + std::string(64, '0'), 1, 1e-6};
  expect_bad_input([&] { bought.validate("s"); }, {"bought by counting rows"});
  expect_bad_input([&] { with_person("", "b = {type = 'person', range = [0, 1]}\n"); },
                   {"unknown key 'range'"});
  expect_bad_input([&] { with_person("", "b = {type = 'person', count = 2}\n"); },
                   {"it is one person's"});
}

// Two people with one hash count together as k, which 128 bits make as good as impossible.
TEST_F(People, AreAsManyAsTheirHashes) {
  PersonIds one(0), few(3), all, again;
  std::set<std::uint32_t> places;
  for (int i = 0; i < 20'000; ++i) {
    const std::string id = fmt::format("{:07}", i);
    ASSERT_EQ(one.place(id), 0U);
    ASSERT_LT(few.place(id), 8U);
    ASSERT_EQ(all.place(id), static_cast<std::uint32_t>(i));
    ASSERT_EQ(again.place(id), static_cast<std::uint32_t>(i));
  }
  EXPECT_EQ(one.size(), 1U);
  EXPECT_EQ(few.size(), 8U);
  for (int i = 0; i < 20'000; ++i)
    ASSERT_EQ(all.place(fmt::format("{:07}", i)), static_cast<std::uint32_t>(i));
  EXPECT_EQ(all.size(), 20'000U);
}

// A run goes on with the same people alone: those of other rows have other weights or another
// digest, by which an interrupted run knows its table.
TEST_F(People, AreOfTheTablesDigest) {
  const std::vector<unsigned char> key(32, 7);
  const auto digest = [&](std::vector<std::uint32_t> places) {
    Dataset data = support::people(places.size(), 1, 3);
    data.group(places);
    data.hold_people(1);
    return keyed_digest(key, "text", data);
  };
  EXPECT_EQ(digest({0, 0, 1, 1}), digest({0, 0, 1, 1}));
  EXPECT_NE(digest({0, 0, 1, 1}), digest({0, 1, 0, 1}));  // the weights of both are 1/2
}

}  // namespace people_test
}  // namespace gibbsite
