// Buying a schema: the noise of its answers, that it follows from them alone, and what is refused.
#include "gibbsite/run/buy_schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "certificate/model_json.hpp"
#include "core/key_access.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/csv_columns.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/date.hpp"
#include "run/schema_answers.hpp"
#include "support/repeats.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace buy_schema_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Key schema_key(std::uint32_t number) {
  std::array<std::uint8_t, 32> bytes{43};
  for (std::size_t i = 0; i < 4; ++i) bytes[28 + i] = static_cast<std::uint8_t>(number >> (8 * i));
  return KeyAccess::make(StreamKey(NoiseKind::chacha20, bytes));
}

const std::vector<std::string> header{"person_id", "age", "work", "code", "wage", "income"};

// Ages, a few levels, a code of one's own for each row, amounts of which half are 0, a label.
std::string people(int rows, const std::string& last = "") {
  std::string out = "person_id,age,work,code,wage,income\n";
  const char* const works[] = {"private", "state", "none"};
  for (int i = 0; i < rows; ++i) {
    const int wage = i % 2 == 0 ? 0 : 500 + (i * 7919) % 40'000;
    out += std::to_string(i) + "," + std::to_string(18 + (i * 37) % 60) + "," +
           works[i % 7 < 4 ? 0 : i % 3] + ",c" + std::to_string(i) + "," + std::to_string(wage) +
           "," + (i % 4 == 0 ? ">50K" : "<=50K") + "\n";
  }
  return out + last;
}

struct Table {
  testing::TempDir folder;
  std::string path;
  SchemaShape shape = schema_shape(header, "income", TwoClasses{.positive = ">50K"}, "people.csv");
  TableCells cells;
  explicit Table(const std::string& text) : path(folder.write("people.csv", text)) {
    cells = count_cells(path, shape.asked);
  }
  [[nodiscard]] SchemaPlan plan(const Budget& budget = {}) const {
    return plan_schema({.rows = cells.rows, .columns = shape.asked.size()}, budget);
  }
  [[nodiscard]] SchemaRelease buy(Key&& key, const Budget& budget = {}) const {
    return buy_schema(shape, cells, path, plan(budget), std::move(key), {});
  }
};

TEST(BuySchema, FindsWhatIsThere) {
  const Table table(people(20'000));
  EXPECT_EQ(table.shape.asked, (std::vector<std::string>{"age", "work", "code", "wage"}));
  const SchemaRelease made = table.buy(Key::from_os(), {.epsilon = 4});
  const Schema& schema = made.model().schema;
  ASSERT_EQ(schema.columns.size(), 5U);
  EXPECT_EQ(schema.columns[0].type, ColumnType::ignore);
  EXPECT_EQ(schema.columns[1].type, ColumnType::number);
  EXPECT_NEAR(schema.columns[1].lo, 18, 3);
  EXPECT_NEAR(schema.columns[1].hi, 78, 4);
  const std::vector<std::string>& works = schema.columns[2].levels;
  EXPECT_EQ(std::set<std::string>(works.begin(), works.end()),
            (std::set<std::string>{"private", "state", "none"}));
  EXPECT_EQ(schema.columns[3].type, ColumnType::ignore);  // a text of each row's own
  EXPECT_EQ(schema.columns[4].type, ColumnType::number);
  EXPECT_EQ(schema.columns[4].lo, 0);
  EXPECT_NEAR(schema.columns[4].hi, 40'500, 4'000);
  EXPECT_EQ(schema.invalid, Invalid::middle);
  EXPECT_TRUE(verify(made).valid);
  // The file is a schema that a fit reads.
  const BoughtApart with{.certificate = to_json(made)["certificate"]["digest"],
                         .epsilon = made.certificate().epsilon,
                         .delta = made.certificate().delta};
  const Schema back = parse_schema(bought_toml(made.model(), with), "people.toml");
  EXPECT_EQ(back.bought, with);
  EXPECT_EQ(back.columns, schema.columns);
  EXPECT_EQ(back.label_name, "income");
}

// What each answer is off by, in its deviations.
struct Noise {
  std::vector<double> bins, levels, ranges;
};
void add_noise_of(const Table& table, const SchemaPlan& plan, const BoughtSchema& made,
                  Noise& noise) {
  const auto& q = std::get<SchemaQuestions>(plan.mechanism);
  std::size_t next = 0, asked = 0;
  for (const ColumnAnswers& column : made.columns) asked += column.ranges.empty() ? 0U : 1U;
  for (const ColumnAnswers& column : made.columns) {
    if (!column.asked()) continue;
    const ColumnCells& exact = table.cells.columns[next++];
    for (std::size_t i = 0; i < cell_classes; ++i) {
      ASSERT_EQ(std::remainder(column.classes[i], answer_grid(q.bins_noise)), 0);
      noise.bins.push_back((column.classes[i] - static_cast<double>(exact.classes[i])) /
                           q.bins_noise);
    }
    for (const LevelAnswer& level : column.levels) {
      ASSERT_GE(level.rows, q.threshold);
      ASSERT_EQ(std::remainder(level.rows, answer_grid(q.levels_noise)), 0);
      for (const auto& [text, count] : exact.levels)
        if (text == level.text && static_cast<double>(count) > q.threshold + 9 * q.levels_noise)
          noise.levels.push_back((level.rows - static_cast<double>(count)) / q.levels_noise);
    }
    if (column.ranges.empty()) continue;
    const RangeAnswer& range = column.ranges.front();
    const std::vector<RangeOfColumn> question{{column.name, {0, range.lo, range.hi}}};
    const std::vector<double> counts = count_ranges(table.path, question, table.cells.rows).front();
    for (std::size_t b = 0; b < refined_bins; ++b)
      noise.ranges.push_back((range.rows[b] - counts[b]) / refined_deviation_up(q, asked));
  }
}

// The mean square of normals is 1 within 6 of its deviations, but with probability below 1e-8.
void expect_unit(const std::vector<double>& noise, std::size_t least) {
  ASSERT_GE(noise.size(), least);
  double squares = 0, sum = 0;
  for (const double z : noise) squares += z * z, sum += z;
  const auto count = static_cast<double>(noise.size());
  EXPECT_NEAR(squares / count, 1 + 1.0 / 500, 6 * std::sqrt(2 / count) + 1.0 / 500);
  EXPECT_NEAR(sum / count, 0, 6 / std::sqrt(count));
}

// A level that is released without noise, or a share that is not paid for, fails here.
TEST(BuySchema, EveryAnswerHasTheNoiseThatIsPaidFor) {
  const Table table(people(3'000));
  const SchemaPlan plan = table.plan({.epsilon = 6, .delta = 1e-4});
  Noise noise;
  for (std::uint32_t run = 0; run < support::repeats(40U, 12U); ++run) {
    const BoughtSchema made = answered_schema(table.shape.shape, table.cells, table.path,
                                              std::get<SchemaQuestions>(plan.mechanism),
                                              KeyAccess::take(schema_key(run)));
    add_noise_of(table, plan, made, noise);
  }
  expect_unit(noise.bins, 5'000);
  expect_unit(noise.levels, 30);
  expect_unit(noise.ranges, 1'000);
}

// The mean and the mean square of 200 answers are within 6 deviations but with probability below
// 1e-8; that rows are whole adds nothing that is seen.
TEST(BuySchema, TheNumberOfRowsHasNoiseOfItsOwn) {
  const testing::TempDir folder;
  std::string text = "a\n";
  for (int i = 0; i < 500; ++i) text += "x\n";
  const std::string path = folder.write("t.csv", text);
  const SchemaShape shape = schema_shape({"a"}, "", TwoClasses{}, path);
  const TableCells cells = count_cells(path, shape.asked);
  const SchemaQuestions q{
      .bins_noise = 20, .levels_noise = 20, .threshold = 90, .refine_noise = 20, .rows_noise = 20};
  double sum = 0, squares = 0, with_classes = 0;
  constexpr int runs = 200;
  for (std::uint32_t run = 0; run < runs; ++run) {
    const AnswerScale made =
        answered_schema(shape.shape, cells, path, q, KeyAccess::take(schema_key(run))).scale;
    EXPECT_EQ(made.rows_noise, 20);
    const double z = (static_cast<double>(made.rows) - 500) / 20;
    sum += z, squares += z * z;
    const BoughtSchema again =
        answered_schema(shape.shape, cells, path, q, KeyAccess::take(schema_key(run)));
    with_classes += z * again.columns[0].classes[0] / 20;
  }
  EXPECT_NEAR(sum / runs, 0, 6 / std::sqrt(runs));
  EXPECT_NEAR(squares / runs, 1, 6 * std::sqrt(2.0 / runs));
  EXPECT_NEAR(with_classes / runs, 0, 6 / std::sqrt(runs));
}

// Rows of texts, read as often as asked.
CellSource source_of(const std::vector<std::vector<std::string>>& rows) {
  return {"rows", [&rows](const std::vector<std::string>& columns, const CellSource::Row& row) {
            for (const auto& cells : rows) row(std::span(cells).first(columns.size()));
          }};
}

// The square of how far apart all answers of two tables are, in deviations: counts by class, by
// text and, of every column twice, by range, and of rows where they are asked for.
double squared_distance(const std::vector<std::vector<std::string>>& a,
                        const std::vector<std::vector<std::string>>& b, const SchemaQuestions& q) {
  const std::vector<std::string> names{"x", "y", "z"};
  const CellSource here = source_of(a), there = source_of(b);
  const TableCells one = count_cells(here, names), other = count_cells(there, names);
  double out = 0;
  const auto add = [&](double x, double y, double deviation) {
    out += (x - y) * (x - y) / (deviation * deviation);
  };
  std::vector<RangeOfColumn> ranges;
  for (std::size_t k = 0; k < names.size(); ++k) {
    ranges.push_back({names[k], {k, 0, 10}});
    for (std::size_t i = 0; i < cell_classes; ++i)
      add(static_cast<double>(one.columns[k].classes[i]),
          static_cast<double>(other.columns[k].classes[i]), q.bins_noise);
    std::map<std::string, std::pair<double, double>> texts;
    for (const auto& [text, count] : one.columns[k].levels)
      texts[text].first = static_cast<double>(count);
    for (const auto& [text, count] : other.columns[k].levels)
      texts[text].second = static_cast<double>(count);
    for (const auto& [text, counts] : texts) add(counts.first, counts.second, q.levels_noise);
  }
  const auto in_a = count_ranges(here, ranges, one.rows),
             in_b = count_ranges(there, ranges, other.rows);
  for (std::size_t round = 0; round < refinements; ++round)
    for (std::size_t k = 0; k < names.size(); ++k)
      for (std::size_t i = 0; i < refined_bins; ++i)
        add(in_a[k][i], in_b[k][i], refined_deviation_up(q, names.size()));
  if (q.rows_noise > 0)
    add(static_cast<double>(one.rows), static_cast<double>(other.rows), q.rows_noise);
  return out;
}

// A hill climb over a person's rows, and over who else is there, by cells of every kind: no pair of
// neighbors is further apart than is paid for, and the worst is as far.
TEST(BuySchema, NoNeighborIsFurtherThanIsPaidFor) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  const std::vector<std::string> pool{"",  "NA",    "a",   "b",   "1",          "1.5",     "5",
                                      "9", "-1000", "1,5", "1e9", "2020-01-02", "1/2/2020"};
  std::mt19937 random(11);
  const auto pick = [&] { return pool[random() % pool.size()]; };
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::uint64_t k : {1U, 3U}) {
      const bool added = adjacency == Adjacency::add_remove;
      const SchemaPlan plan =
          plan_schema({.rows = 12, .columns = 3},
                      {.epsilon = 2, .delta = 1e-5, .adjacency = adjacency, .rows_per_person = k});
      const auto& q = std::get<SchemaQuestions>(plan.mechanism);
      const double paid = plan.guarantee.mu * plan.guarantee.mu;
      double highest = 0;
      for (int start = 0; start < 6; ++start) {
        std::vector<std::vector<std::string>> before(k), after(k), others(12 - k);
        for (auto* const rows : {&before, &after, &others})
          for (auto& row : *rows) row = {pick(), pick(), pick()};
        double best = 0;
        for (int step = 0; step < 250; ++step) {
          auto tried_before = before, tried_after = after;
          auto& rows = !added && random() % 2 == 0 ? tried_before : tried_after;
          rows[random() % k][random() % 3] = pick();
          auto a = others, b = others;
          if (!added) a.insert(a.end(), tried_before.begin(), tried_before.end());
          b.insert(b.end(), tried_after.begin(), tried_after.end());
          const double found = squared_distance(a, b, q);
          EXPECT_LE(found, paid);
          if (found < best) continue;
          best = found, before = tried_before, after = tried_after;
        }
        highest = std::max(highest, best);
      }
      EXPECT_GT(highest, (k == 1 ? .999 : .9) * paid) << k;  // the bound is met, or nearly
    }
  }
}

// A text that one person has is released as often as its law says, and one that nobody has never
// is. The count of 600 runs is within 6 deviations of its mean.
TEST(BuySchema, RareTextsPassTheThresholdByChanceAlone) {
  const testing::TempDir folder;
  std::string text = "a\n";
  for (int i = 0; i < 30; ++i) text += "often\n";
  text += "rare\nrare\n";
  const std::string path = folder.write("t.csv", text);
  const SchemaShape shape = schema_shape({"a"}, "", TwoClasses{}, path);
  const TableCells cells = count_cells(path, shape.asked);
  const SchemaQuestions q{.bins_noise = 5, .levels_noise = 4, .threshold = 5.25, .refine_noise = 5};
  const double grid = answer_grid(q.levels_noise);
  const double chance = std::erfc((q.threshold - grid / 2 - 2) / 4 / std::sqrt(2.0)) / 2;
  double rare = 0;
  constexpr int runs = 600;
  for (std::uint32_t run = 0; run < runs; ++run) {
    const BoughtSchema made =
        answered_schema(shape.shape, cells, path, q, KeyAccess::take(schema_key(run)));
    for (const LevelAnswer& level : made.columns[0].levels) {
      ASSERT_TRUE(level.text == "rare" || level.text == "often");
      rare += level.text == "rare";
    }
  }
  EXPECT_NEAR(rare, runs * chance, 6 * std::sqrt(runs * chance * (1 - chance)));
}

// Noise of a text is independent of that of its neighbors and of the classes: correlations of 400
// are within 6 deviations but with probability below 1e-8.
TEST(BuySchema, NoNoiseServesTwice) {
  const testing::TempDir folder;
  std::string text = "a\n";
  for (int i = 0; i < 400; ++i)
    for (int j = 0; j < 40; ++j) text += "t" + std::to_string(1000 + i) + "\n";
  const std::string path = folder.write("t.csv", text);
  const SchemaShape shape = schema_shape({"a"}, "", TwoClasses{}, path);
  const TableCells cells = count_cells(path, shape.asked);
  const SchemaQuestions q{.bins_noise = 3, .levels_noise = 3, .threshold = 1, .refine_noise = 3};
  const BoughtSchema made =
      answered_schema(shape.shape, cells, path, q, KeyAccess::take(schema_key(1)));
  std::vector<double> noise;
  for (const auto& [name, count] : cells.columns[0].levels)
    for (const LevelAnswer& level : made.columns[0].levels)
      if (level.text == name) noise.push_back((level.rows - 40) / q.levels_noise);
  ASSERT_EQ(noise.size(), 400U);
  for (const std::size_t lag : {1U, 2U, 3U}) {
    double products = 0;
    for (std::size_t i = lag; i < noise.size(); ++i) products += noise[i] * noise[i - lag];
    EXPECT_NEAR(products / 400, 0, 6 / std::sqrt(400.0));
  }
  double with_classes = 0;
  for (std::size_t i = 0; i < cell_classes; ++i)
    if (cells.columns[0].classes[i] == 0)
      with_classes += noise[i] * made.columns[0].classes[i] / q.bins_noise;
  EXPECT_NEAR(with_classes / cell_classes, 0, 6 / std::sqrt(cell_classes - 1.0));
}

// The schema is a function of what the file holds: types, ranges and questions alike.
TEST(BuySchema, FollowsFromTheReleasedAnswersAlone) {
  const Table table(people(300));
  for (std::uint32_t run = 0; run < 20; ++run) {  // noise hides much of 300 rows
    const SchemaRelease made = table.buy(schema_key(run), {.epsilon = 3, .delta = 1e-3});
    const json file = to_json(made);
    const auto back = release_from_json<SchemaKind>(file, "f.json");
    EXPECT_EQ(back.model().schema, made.model().schema);
    EXPECT_EQ(schema_of(back.model()), made.model().schema);
    EXPECT_TRUE(verify(file).valid) << ::testing::PrintToString(verify(file).failures);
  }
}

std::string failures(json file, const std::string& at, const json& value) {
  file[json::json_pointer(at)] = value;
  file["certificate"]["digest"] = file_digest(file);
  return ::testing::PrintToString(verify(file).failures);
}

TEST(BuySchema, VerifySeesWhatWasChanged) {
  const Table table(people(20'000));
  const json file = to_json(table.buy(Key::from_os(), {.epsilon = 4}));
  EXPECT_EQ(failures(file, "/model/columns/1/empty", file["model"]["columns"][1]["empty"]), "{}");
  EXPECT_THAT(failures(file, "/model/columns/1/empty", 0.123), HasSubstr("off the grid"));
  EXPECT_THAT(failures(file, "/model/columns/2/levels/0/rows", 0),
              HasSubstr("below the threshold"));
  for (const std::string& text :
       {std::string(), std::string("a\nb"), std::string("\x7f"), std::string("\u202e"),
        std::string("NA"), std::string(longest_level + 1, 'a')})
    EXPECT_THAT(failures(file, "/model/columns/2/levels/0/text", text),
                HasSubstr("no run releases"))
        << text;
  EXPECT_THAT(failures(file, "/model/questions", 1), HasSubstr("model.questions"));
  EXPECT_THAT(failures(file, "/certificate/constants/questions", 1), HasSubstr("questions"));
  EXPECT_THAT(failures(file, "/model/columns/1/ranges/0/range", json{18, 78}),
              HasSubstr("follow from the answers"));
  EXPECT_THAT(failures(file, "/model/columns/1/ranges", json::array()),
              HasSubstr("follow from the answers"));
  EXPECT_THAT(failures(file, "/model/preprocessing/columns/1/range", json{18, 77}),
              HasSubstr("preprocessing"));
  EXPECT_THAT(failures(file, "/model/scale/levels_noise", 1), HasSubstr("model.scale"));
  EXPECT_THAT(failures(file, "/model/scale/rows", 19'999), HasSubstr("constants.rows"));
  EXPECT_THAT(failures(file, "/certificate/mechanism/threshold",
                       .9 * file["certificate"]["mechanism"]["threshold"].get<double>()),
              HasSubstr("guarantee.tv"));
  EXPECT_THAT(failures(file, "/certificate/mechanism/levels_noise",
                       .9 * file["certificate"]["mechanism"]["levels_noise"].get<double>()),
              HasSubstr("guarantee.mu"));
  EXPECT_THAT(failures(file, "/certificate/constants/asked_columns", 3),
              HasSubstr("asked_columns"));
  EXPECT_THAT(failures(file, "/certificate/guarantee/adjacency", "add-remove"),
              HasSubstr("rows_noise"));
}

// Files that were written when numbers had one form and dates were none.
TEST(BuySchema, FilesOfTheFirstQuestionsVerify) {
  for (const char* const name : {"schema", "fit"}) {
    json file = json::parse(
        std::ifstream(std::string(GIBBSITE_SOURCE_DIR) + "/tests/golden/bought/" + name + ".json"));
    EXPECT_TRUE(verify(file).valid) << ::testing::PrintToString(verify(file).failures);
    json& columns =
        std::string(name) == "fit" ? file["model"]["bought"]["columns"] : file["model"]["columns"];
    columns[1]["empty"] = 0.123;
    file["certificate"]["digest"] = file_digest(file);
    EXPECT_FALSE(verify(file).valid);
  }
}

// Dates, numbers as people write them and yes and no: what is bought is what a fit reads.
TEST(BuySchema, FindsHowCellsAreWritten) {
  std::string text = "day;price;size;flag;y\n";
  for (int i = 0; i < 20'000; ++i) {
    const int cents = (i * 7919) % 300'000, root = (i * 7'919) % 224, size = root * root;
    const std::string whole = std::to_string(cents / 100);
    const std::string thousands =
        whole.size() > 3 ? whole.substr(0, whole.size() - 3) + "." + whole.substr(whole.size() - 3)
                         : whole;
    const std::string big = std::to_string(size);
    text +=
        date_text(12'000 + (i * 37) % 3'000) + ";" + thousands + "," +
        std::to_string(100 + cents % 100).substr(1) + ";" +
        (big.size() > 3 ? big.substr(0, big.size() - 3) + "'" + big.substr(big.size() - 3) : big) +
        ";" +
        (i % 3 == 0   ? "yes"
         : i % 3 == 1 ? "No"
                      : "TRUE") +
        ";" + std::to_string(i % 2) + "\n";
  }
  const testing::TempDir folder;
  const std::string path = folder.write("t.csv", text);
  const SchemaShape shape =
      schema_shape({"day", "price", "size", "flag", "y"}, "y", TwoClasses{.positive = "1"}, path);
  const TableCells cells = count_cells(path, shape.asked);
  const SchemaRelease made = buy_schema(
      shape, cells, path, plan_schema({.rows = cells.rows, .columns = 4}, {.epsilon = 2}),
      schema_key(1), {});
  EXPECT_TRUE(verify(made).valid) << ::testing::PrintToString(verify(made).failures);
  const Schema& schema = made.model().schema;
  ASSERT_TRUE(schema.columns[0].is_date());
  EXPECT_NEAR(schema.columns[0].lo, 12'000, 200);
  EXPECT_NEAR(schema.columns[0].hi, 15'000, 200);
  ASSERT_TRUE(schema.columns[1].numbers);
  EXPECT_EQ(schema.columns[1].numbers->decimal, ',');
  EXPECT_NEAR(schema.columns[1].hi, 3'000, 300);
  ASSERT_TRUE(schema.columns[2].numbers);
  EXPECT_EQ(schema.columns[2].numbers->decimal, '.');
  EXPECT_NEAR(schema.columns[2].hi, 50'000, 5'000);
  EXPECT_TRUE(schema.columns[3].is_boolean);
  const Schema back = parse_schema(
      bought_toml(
          made.model(),
          {.certificate = "blake2b-256:" + std::string(64, '0'), .epsilon = 2, .delta = 1e-7}),
      "t.toml");
  EXPECT_EQ(back.columns, schema.columns);
  Schema lines = fit_schema_of(made.model());
  for (Column& column : lines.columns) without_curve(column);
  const Dataset data = read_table(path, lines);
  for (const CellCounts& column : data.counts.columns) EXPECT_EQ(column.invalid, 0U);
  EXPECT_LT(data.counts.clamped_cells, 1'000U);
}

TEST(BuySchema, OddTablesHaveASchemaToo) {
  const testing::TempDir folder;
  const auto bought = [&](const std::string& text) {
    const std::string path = folder.write("t.csv", text);
    const SchemaShape shape = schema_shape({"a"}, "", TwoClasses{}, path);
    const TableCells cells = count_cells(path, shape.asked);
    const SchemaRelease made =
        buy_schema(shape, cells, path, plan_schema({cells.rows, 1}, {}), Key::from_os(), {});
    EXPECT_TRUE(verify(made).valid) << ::testing::PrintToString(verify(made).failures);
    return made.model().schema.columns.at(0).type;
  };
  EXPECT_EQ(bought("a\nx\n"), ColumnType::ignore);
  EXPECT_EQ(bought("a\n\"" + std::string((1 << 20) - 10, 'x') + "\"\n"), ColumnType::ignore);
  std::string texts = "a\n";
  for (int i = 0; i < 50'000; ++i) texts += "n" + std::to_string(i) + "\n";
  EXPECT_EQ(bought(texts), ColumnType::ignore);
}

// Which ranges are read follows from noisy answers, so an end while they are read is paid.
TEST(BuySchema, WhatEndsItAfterNoiseIsPaid) {
  const Table table(people(2000));
  const Ledger ledger = Ledger::create(table.folder.path("ledger"), 5, 1e-3, {}, {},
                                       {.memory = table.folder.path("m")});
  FitOptions options;
  options.ledger = &ledger;
  const CellSource gone(table.folder.path("gone.csv"));
  EXPECT_THROW(buy_schema(table.shape, table.cells, gone, table.plan({.epsilon = 2, .delta = 1e-5}),
                          Key::from_os(), options),
               BadInput);
  EXPECT_EQ(ledger.read().entries.size(), 1U);
}

TEST(BuySchema, RefusesOtherTablesAndNames) {
  const Table table(people(100));
  const auto shape = [](const std::vector<std::string>& names, const std::string& label,
                        const char* what) {
    EXPECT_THAT(
        [&] {
          static_cast<void>(schema_shape(names, label, TwoClasses{.positive = "1"}, "t.csv"));
        },
        ThrowsMessage<BadInput>(HasSubstr(what)));
  };
  shape({"a", "b"}, "c", "has no column");
  shape({"a", "user_id"}, "a", "no column is left");
  shape({"a", "b", "b=c"}, "a", "one feature");
  shape({"a", ""}, "a", "is empty");
  shape({"a", "\xff"}, "a", "UTF-8");
  SchemaPlan plan = table.plan({.epsilon = 4});
  plan.problem.rows = 99;
  EXPECT_THAT([&] { buy_schema(table.shape, table.cells, table.path, plan, schema_key(1)); },
              ThrowsMessage<BadInput>(HasSubstr("plan again")));
  plan = table.plan({.epsilon = 4});
  std::get<SchemaQuestions>(plan.mechanism).levels_noise *= .9;  // a claim that it does not keep
  EXPECT_THAT([&] { buy_schema(table.shape, table.cells, table.path, plan, schema_key(1)); },
              ThrowsMessage<BadInput>(HasSubstr("does not verify")));
}

}  // namespace buy_schema_test
}  // namespace gibbsite
