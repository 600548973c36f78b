// A bought schema of a table in which a column says whose a row is: neighbors of any number of rows
// are as near as is paid for, rare texts of one person stay unsaid, and one release covers both.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "certificate/model_json.hpp"
#include "core/key_access.hpp"
#include "core/special.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/privacy/any_rows.hpp"
#include "gibbsite/run/buy_schema.hpp"
#include "gibbsite/run/fit_bought.hpp"
#include "run/schema_answers.hpp"
#include "support/repeats.hpp"
#include "support/resealed.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace bought_people_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Rows = std::vector<std::vector<std::string>>;  // who, x, y, z
const std::vector<std::string> names{"who", "x", "y", "z"}, asked{"x", "y", "z"};

CellSource source_of(const Rows& rows) {
  return {"rows", [&rows](const std::vector<std::string>& columns, const CellSource::Row& row) {
            std::vector<std::size_t> places;
            for (const std::string& column : columns)
              places.push_back(
                  static_cast<std::size_t>(std::ranges::find(names, column) - names.begin()));
            std::vector<std::string> cells(columns.size());
            for (const auto& all : rows) {
              for (std::size_t k = 0; k < places.size(); ++k) cells[k] = all[places[k]];
              row(cells);
            }
          }};
}

Key key_of(std::uint8_t number) {
  std::array<std::uint8_t, 32> bytes{7};
  bytes[31] = number;
  return KeyAccess::make(StreamKey(NoiseKind::chacha20, bytes));
}

TableCells counted(const Rows& rows, std::uint64_t k) {
  const CellSource source = source_of(rows);
  return count_cells(source, asked, hold_rows(source, "who", k));
}

using TextCounts = std::map<std::string, std::pair<double, double>>;

// Counts of each text in both tables.
TextCounts texts_of(const TableCells& one, const TableCells& other, std::size_t column) {
  TextCounts out;
  for (const auto& [text, count] : one.columns[column].levels) out[text].first = one.in_rows(count);
  for (const auto& [text, count] : other.columns[column].levels)
    out[text].second = other.in_rows(count);
  return out;
}

// The square of how far apart all answers of two tables are, in deviations.
double squared_distance(const Rows& a, const Rows& b, const SchemaQuestions& q, std::uint64_t k) {
  const TableCells one = counted(a, k), other = counted(b, k);
  double out = 0;
  const auto add = [&](double x, double y, double deviation) {
    out += (x - y) * (x - y) / (deviation * deviation);
  };
  std::vector<RangeOfColumn> ranges;
  for (std::size_t c = 0; c < asked.size(); ++c) {
    ranges.push_back({asked[c], {c, 0, 10}});
    for (std::size_t i = 0; i < cell_classes; ++i)
      add(one.in_rows(one.columns[c].classes[i]), other.in_rows(other.columns[c].classes[i]),
          q.bins_noise);
    for (const auto& [text, counts] : texts_of(one, other, c))
      add(counts.first, counts.second, q.levels_noise);
  }
  const CellSource here = source_of(a), there = source_of(b);
  const auto in_a = count_ranges(here, ranges, one), in_b = count_ranges(there, ranges, other);
  for (std::size_t round = 0; round < refinements; ++round)
    for (std::size_t c = 0; c < asked.size(); ++c)
      for (std::size_t i = 0; i < refined_bins; ++i)
        add(in_a[c][i], in_b[c][i], refined_deviation_up(q, asked.size()));
  add(one.sum(), other.sum(), q.rows_noise);
  return out;
}

SchemaPlan plan_of(Adjacency adjacency, std::uint64_t k, std::uint64_t people = 12) {
  return plan_schema({.rows = people, .columns = asked.size(), .rows_of_person = k},
                     {.epsilon = 2, .delta = 1e-5, .adjacency = adjacency, .rows_per_person = k});
}

class Cells {
 public:
  explicit Cells(unsigned seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::string cell() {
    static const std::vector<std::string> pool{
        "", "NA", "a", "b", "1", "1.5", "5", "9", "-1000", "1,5", "1e9", "2020-01-02", "1/2/2020"};
    return pool[below(pool.size())];
  }
  std::vector<std::string> row_of(const std::string& who) { return {who, cell(), cell(), cell()}; }

 private:
  std::mt19937 random_;
};

// A hill climb over one person's cells, of 1, k, k + 1 and 40 rows before and after, beside others
// with 1 to 5: no pair of neighbors is further apart than is paid for, and the worst is as far.
TEST(BoughtPeople, NoNeighborIsFurtherThanIsPaidFor) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  Cells cells(5);
  Rows others;
  for (int person = 0; person < 11; ++person)
    for (int row = 0; row <= person % 5; ++row)
      others.push_back(cells.row_of(std::to_string(person)));
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::uint64_t k : {1U, 3U}) {
      const bool added = adjacency == Adjacency::add_remove;
      const SchemaPlan plan = plan_of(adjacency, k);
      const auto& q = std::get<SchemaQuestions>(plan.mechanism);
      const double paid = plan.guarantee.mu * plan.guarantee.mu;
      double highest = 0;
      const std::vector<std::uint64_t> sizes{1, k, k + 1, 40};
      for (const std::uint64_t before : sizes) {
        for (const std::uint64_t after : sizes) {
          Rows was(added ? 0 : before), is(after);
          // One row's cells of the person, in all of their rows, are where the climb begins.
          const auto first = cells.row_of("me"), second = cells.row_of("me");
          for (auto& row : was) row = first;
          for (auto& row : is) row = second;
          double best = 0;
          for (int step = 0; step < 60; ++step) {
            Rows tried_was = was, tried_is = is;
            Rows& rows = !added && cells.below(2) == 0 ? tried_was : tried_is;
            const std::size_t column = 1 + cells.below(3);
            const std::string cell = cells.cell();
            if (cells.below(3) == 0)  // of one row, else of all
              rows[cells.below(rows.size())][column] = cell;
            else
              for (auto& row : rows) row[column] = cell;
            Rows a = others, b = others;
            a.insert(a.end(), tried_was.begin(), tried_was.end());
            b.insert(b.end(), tried_is.begin(), tried_is.end());
            const double distance = squared_distance(a, b, q, k);
            ASSERT_LE(distance, paid * (1 + 1e-9)) << before << " rows, then " << after;
            if (distance < best) continue;
            best = distance, was = std::move(tried_was), is = std::move(tried_is);
          }
          highest = std::max(highest, best);
        }
      }
      // Rows are paid for beside the rest: under replace-one no pair moves both by all they can.
      EXPECT_GE(highest, (added ? 1 - 1e-6 : .94) * paid) << "k = " << k;
    }
  }
}

// The texts that a run answers are those that a threshold below all noise lets out.
std::vector<std::string> answered(const Rows& rows, std::size_t column, std::uint64_t k) {
  const CellSource source = source_of(rows);
  SchemaQuestions q = std::get<SchemaQuestions>(plan_of(Adjacency::replace_one, k).mechanism);
  q.threshold = -1e100;
  SchemaShape shape = schema_shape(names, "", TwoClasses{}, "rows", {.person = "who"});
  shape.shape.rows_per_person = k;
  const BoughtSchema made =
      answered_schema(shape.shape, counted(rows, k), source, q, KeyAccess::take(key_of(1)));
  std::vector<std::string> out;
  for (const LevelAnswer& level : made.columns[1 + column].levels) out.push_back(level.text);
  std::ranges::sort(out);
  return out;
}

// What differs from the Gaussian mechanism that answers for every text of one of two neighbors is
// the probability that a text answered in the other alone reaches the threshold: its exact sum is
// within guarantee.tv, of a person with any number of texts. Others hold each near k, where one row
// of the person more lifts it over.
TEST(BoughtPeople, RareTextsOfOnePersonStayBelowTheThreshold) {
  for (const std::uint64_t k : {1U, 3U}) {
    constexpr std::uint64_t people = 60;
    const SchemaPlan plan = plan_of(Adjacency::add_remove, k, people);
    const auto& q = std::get<SchemaQuestions>(plan.mechanism);
    for (const std::size_t rows_of_me : {std::size_t{1}, std::size_t{40}, std::size_t{20'000}}) {
      Rows without;
      for (std::uint64_t person = 1; person < people; ++person) {
        // Twenty rows each, of twenty texts: k/20 to each, of all people nearly k or more.
        for (std::uint64_t row = 0; row < 20; ++row)
          without.push_back(
              {std::to_string(person), fmt::format("t{}", person % 3 * 20 + row), "1", "1"});
      }
      Rows with = without;
      for (std::size_t row = 0; row < rows_of_me; ++row)
        with.push_back({"me", fmt::format("t{}", row), "1", "1"});
      const TableCells one = counted(without, k), other = counted(with, k);
      const auto here = answered(without, 0, k), there = answered(with, 0, k);
      EXPECT_LE(here.size(), people);
      EXPECT_LE(there.size(), people) << rows_of_me;
      double missed = 0;
      for (const auto& [text, counts] : texts_of(one, other, 0)) {
        const bool in_one = std::ranges::binary_search(here, text);
        if (in_one || !std::ranges::binary_search(there, text)) continue;
        missed += static_cast<double>(
            normal_cdf(-(Wide(q.threshold) - Wide(counts.first)) / Wide(q.levels_noise)));
      }
      EXPECT_LE(missed, plan.guarantee.tv) << rows_of_me;
    }
  }
}

TEST(BoughtPeople, RowsAreHeldByAllThatAPersonHas) {
  Rows rows{{"a", "1", "", ""},   {" a ", "", "", ""}, {"a", "NA", "", ""}, {"7", "1", "", ""},
            {"7.0", "1", "", ""}, {"", "1", "", ""},   {"NA", "1", "", ""}};
  const CellSource source = source_of(rows);
  const PeopleRows once = hold_rows(source, "who", 1), twice = hold_rows(source, "who", 2);
  constexpr std::uint32_t whole = 1U << 20, none = PeopleRows::nobody;
  EXPECT_EQ(once.person, (std::vector<std::uint32_t>{0, 0, 0, 1, 1, none, none}));
  EXPECT_EQ(once.units, (std::vector<std::uint32_t>{whole / 3, whole / 2}));
  EXPECT_EQ(twice.units, (std::vector<std::uint32_t>{2 * whole / 3, whole}));
  EXPECT_EQ(once.units_of(0), whole / 3);
  EXPECT_EQ(once.units_of(5), 0U);
  rows.pop_back();
  EXPECT_THROW(static_cast<void>(count_cells(source, asked, once)), BadInput) << "a row less";
  rows.assign(3, {"", "1", "1", "1"});
  EXPECT_THROW(static_cast<void>(hold_rows(source, "who", 1)), BadInput) << "nobody's rows";
}

TEST(BoughtPeople, PlansKeepTheBudgetAndPayForEachSetting) {
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::uint64_t k : {1U, 7U}) {
      const SchemaProblem problem{.rows = 30'000, .columns = 14, .rows_of_person = k};
      const Budget budget{.adjacency = adjacency, .rows_per_person = k};
      const SchemaPlan plan = plan_schema(problem, budget);
      const auto q = std::get<SchemaQuestions>(plan.mechanism);
      EXPECT_LE(delta_up(plan.guarantee, budget.epsilon), budget.delta);
      // At most n texts of a column are answered, each of which counts k.
      const double height = (q.threshold - static_cast<double>(k)) / q.levels_noise;
      EXPECT_GE(plan.guarantee.tv, 14 * 30'000 * .5 * std::erfc(height / std::sqrt(2)));
      for (double SchemaQuestions::*const field :
           {&SchemaQuestions::bins_noise, &SchemaQuestions::levels_noise,
            &SchemaQuestions::threshold, &SchemaQuestions::refine_noise,
            &SchemaQuestions::rows_noise}) {
        SchemaQuestions less = q;
        less.*field *= .9;
        EXPECT_GT(delta_up(analyze(less, problem, budget.neighbors(), 1).guarantee, budget.epsilon),
                  budget.delta);
      }
      SchemaQuestions bare = q;
      bare.rows_noise = 0;
      EXPECT_THROW(static_cast<void>(analyze(bare, problem, budget.neighbors(), 1)), BadInput);
      EXPECT_THROW(static_cast<void>(analyze(q, problem, {adjacency, k + 1}, 1)), BadInput);
    }
  }
}

// Visits of patients: one to five each; the id's name is like none.
std::string visits(int patients) {
  std::string text = "patient,age,ward,cost,survey,y\n";
  for (int i = 0; i < patients; ++i) {
    const int age = 18 + (i * 37) % 60;
    for (int visit = 0; visit <= i % 5; ++visit)
      text +=
          fmt::format("p{},{},{},{},{},{}\n", i, age, (i + visit) % 3 == 0 ? "surgery" : "medicine",
                      (i * 7919 + visit * 31) % 4000, 1 + i % 4, age + i % 11 > 45 ? "yes" : "no");
  }
  return text;
}

struct Visits {
  testing::TempDir folder;
  std::string path;
  CountingColumns counting;
  PlanRequest request{.epsilon = 4, .delta = 1e-6};
  SchemaShape shape;
  TableCells cells;
  std::unique_ptr<Backend> backend = make_backend("reference");

  explicit Visits(CountingColumns columns = {.person = "patient"}, std::uint64_t k = 2,
                  const std::string& adjacency = "replace-one", int patients = 4000)
      : path(folder.write("visits.csv", visits(patients))), counting(std::move(columns)) {
    request.rows_per_person = k;
    request.adjacency = adjacency;
    if (adjacency != "replace-one") request.rows_cap = 5000;
    shape = schema_shape({"patient", "age", "ward", "cost", "survey", "y"}, "y",
                         TwoClasses{.positive = "yes"}, "visits.csv", counting);
    cells = count_asked(shape, path, k);
  }
  [[nodiscard]] TableToBuy table() const {
    return {.shape = shape, .cells = cells, .source = path, .read = [this](const Schema& schema) {
              ReadOptions options;
              options.holds_people = true;
              return read_csv(path, schema, options);
            }};
  }
  [[nodiscard]] BoughtFitPlan plan() const {
    return plan_bought_fit(shape, request.rows_cap.value_or(cells.rows), budget_of(request), {},
                           request.intervals);
  }
  [[nodiscard]] Release fit(const FitOptions& options = {}) const {
    return fit_bought(table(), plan(), request, *backend, Key::from_os(), options);
  }
};

TEST(BoughtPeople, OneCertificateOverTheSchemaAndTheFitIsOfPeople) {
  for (const char* const adjacency : {"replace-one", "add-remove"}) {
    for (const bool intervals : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", adjacency, intervals));
      Visits of({.person = "patient"}, 2, adjacency);
      of.request.intervals = intervals;
      const Release made = of.fit();
      const json file = json::parse(to_json(made).dump());
      const Verification found = verify(file);
      EXPECT_TRUE(found.valid) << ::testing::PrintToString(found.failures);
      const json& constants = file["certificate"]["constants"];
      EXPECT_EQ(constants["people"], of.request.rows_cap.value_or(4000));
      EXPECT_EQ(constants["rows_of_person"], 2);
      EXPECT_FALSE(constants.contains("rows"));
      EXPECT_GT(constants["bought_schema"]["rows_noise"], 0);
      EXPECT_EQ(constants["bought_schema"]["columns"], 4) << "not the label, not the patient";
      EXPECT_THAT(file["certificate"]["assumptions"].dump(), HasSubstr("every person has one id"));
      EXPECT_THAT(in_words(made.certificate()), HasSubstr("any number of rows per person"));
      EXPECT_EQ(made.model().schema.person()->name, "patient");
      EXPECT_THAT(file.dump(), ::testing::Not(HasSubstr("p17"))) << "no id leaves";
      EXPECT_LE(delta_up(made.certificate().claimed, 4), 1e-6);
      EXPECT_EQ(to_json(release_from_json(file, "f.json")), file);
    }
  }
}

TEST(BoughtPeople, NothingElseSaidOfThemVerifiesEvenResealed) {
  const Visits of;
  const json file = to_json(of.fit());
  ASSERT_TRUE(verify(file).valid);
  const auto changed = [&](const char* what, const std::function<void(json&)>& edit) {
    EXPECT_FALSE(support::verifies_resealed(file, edit)) << what;
  };
  changed("nobody's rows", [](json& f) { f["model"]["bought"].erase("person"); });
  changed("another column's", [](json& f) { f["model"]["bought"]["person"] = "ward"; });
  changed("a person of fewer rows",
          [](json& f) { f["certificate"]["constants"]["rows_of_person"] = 1; });
  changed("fewer people", [](json& f) { f["certificate"]["constants"]["people"] = 10; });
  changed("no noise of what rows count",
          [](json& f) { f["certificate"]["constants"]["bought_schema"].erase("rows_noise"); });
  changed("more than all count", [](json& f) { f["model"]["bought"]["scale"]["rows"] = 1e7; });
}

TEST(BoughtPeople, ASchemaAloneIsOfPeopleToo) {
  for (const char* const adjacency : {"replace-one", "add-remove"}) {
    const Visits of({.person = "patient", .weight = "survey", .weight_hi = 4}, 1, adjacency);
    const Budget budget = budget_of(of.request);
    const SchemaPlan plan =
        plan_schema(problem_of(of.shape, of.request.rows_cap.value_or(of.cells.rows), 1), budget);
    const SchemaRelease made =
        buy_schema(of.shape, of.cells, of.path, plan, Key::from_os(), FitOptions{});
    const json file = json::parse(to_json(made).dump());
    const Verification found = verify(file);
    EXPECT_TRUE(found.valid) << ::testing::PrintToString(found.failures);
    EXPECT_THAT(in_words(made.certificate()), HasSubstr("count as at most 1 together"));
    EXPECT_THAT(in_words(made.certificate()), HasSubstr("number of people"));
    EXPECT_EQ(file["certificate"]["constants"]["people"], of.request.rows_cap.value_or(4000));
    // About 1 of each patient, whatever their visits.
    EXPECT_NEAR(static_cast<double>(made.model().scale.rows), 4000,
                6 * std::get<SchemaQuestions>(plan.mechanism).rows_noise);
    EXPECT_EQ(made.model().schema.person()->name, "patient");
    EXPECT_EQ(made.model().schema.weight()->hi, 4);
    EXPECT_EQ(made.model().schema.column_named("ward")->type, ColumnType::category);
  }
}

TEST(BoughtPeople, ALedgerOfPeopleTakesThem) {
  const Visits of;
  const auto ledger = [&](const std::string& name, std::uint64_t k) {
    return Ledger::create(of.folder.path(name), 20, 1e-4, {Adjacency::replace_one, k}, {},
                          {.memory = of.folder.path("memory of " + name)});
  };
  const Ledger of_people = ledger("people", any_rows), of_rows = ledger("rows", 2);
  FitOptions options;
  options.ledger = &of_people;
  static_cast<void>(of.fit(options));
  EXPECT_EQ(of_people.read().entries.size(), 1U);
  options.ledger = &of_rows;
  EXPECT_THROW(static_cast<void>(of.fit(options)), BadInput);
  EXPECT_TRUE(of_rows.read().entries.empty());
}

// Weights are the fit's alone: a purchase of the same key has the same answers.
TEST(BoughtPeople, WeightsAreOfTheFit) {
  const Visits weighed({.weight = "survey", .weight_hi = 4}, 1);
  const Release made = weighed.fit();
  const json file = to_json(made);
  EXPECT_TRUE(verify(file).valid);
  EXPECT_EQ(file["certificate"]["constants"]["weighted"], true);
  EXPECT_EQ(file["certificate"]["constants"]["rows"], weighed.cells.rows);
  EXPECT_EQ(file["model"]["bought"]["weight"]["range"], json({0, 4}));
  EXPECT_EQ(file["certificate"]["constants"]["bought_schema"]["columns"], 4);
  json other = file;
  other["model"]["bought"]["weight"]["range"][1] = 2;
  other["certificate"]["digest"] = file_digest(other);
  EXPECT_FALSE(verify(other).valid);
}

TEST(BoughtPeople, ColumnsThatSayHowRowsCountAreOthersThanTheLabel) {
  const auto shape = [](CountingColumns columns) {
    return schema_shape({"a", "b", "y"}, "y", Count{}, "t.csv", std::move(columns));
  };
  for (const CountingColumns& wrong :
       {CountingColumns{.person = "c"}, CountingColumns{.person = "y"},
        CountingColumns{.weight = "y"}, CountingColumns{.person = "a", .weight = "a"},
        CountingColumns{.person = "a", .weight = "b"}, CountingColumns{.exposure = "y"},
        CountingColumns{.weight = "a", .exposure = "a"}})
    EXPECT_THROW(static_cast<void>(shape(wrong)), BadInput);
  EXPECT_EQ(shape({.person = "a"}).asked, (std::vector<std::string>{"b"}));
  EXPECT_EQ(shape({.exposure = "a"}).asked, (std::vector<std::string>{"b"}));
  EXPECT_THROW(static_cast<void>(schema_shape({"a", "b", "y"}, "y", TwoClasses{.positive = "1"},
                                              "t.csv", {.exposure = "a"})),
               BadInput);
}

}  // namespace bought_people_test
}  // namespace gibbsite
