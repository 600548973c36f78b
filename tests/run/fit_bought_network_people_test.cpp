// A schema and a network of one budget where a column says whose a row is: the law of all that is
// released on neighbors of any number of rows, and one certificate over both.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "certificate/model_json.hpp"
#include "core/key_access.hpp"
#include "engine/contingency.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/table_choice.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/network_tree.hpp"
#include "gibbsite/model/bought_network.hpp"
#include "gibbsite/model/tree_model.hpp"
#include "gibbsite/model/tree_release.hpp"
#include "gibbsite/privacy/any_rows.hpp"
#include "gibbsite/run/fit_bought.hpp"
#include "support/apart.hpp"
#include "support/repeats.hpp"
#include "support/resealed.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace fit_bought_network_people_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

struct Visits {
  ::gibbsite::testing::TempDir folder;
  std::string path;
  PlanRequest request;
  SchemaShape shape;
  TableCells cells;

  Visits(const std::string& text, PlanRequest wishes, CountingColumns counting)
      : path(folder.write("t.csv", text)),
        request(std::move(wishes)),
        shape(schema_shape({"who", "a", "b", "w"}, "", TwoClasses{}, "t.csv", counting)),
        cells(count_asked(shape, path, request.rows_per_person.value_or(1))) {
    request.model = network_model;
  }
  [[nodiscard]] Dataset read(const Schema& schema) const {
    ReadOptions options;
    options.labels = ReadOptions::Labels::optional;
    options.ignore_extra_columns = options.holds_people = true;
    return read_csv(path, schema, options);
  }
  [[nodiscard]] BoughtFitPlan plan() const {
    return plan_bought_network(shape, request.rows_cap.value_or(cells.rows), budget_of(request),
                               .5);
  }
  [[nodiscard]] NetworkRelease fit(Key&& key = Key::from_os(),
                                   const FitOptions& options = {}) const {
    const TableToBuy table{
        .shape = shape, .cells = cells, .source = path, .read = [this](const Schema& schema) {
          return read(schema);
        }};
    return fit_bought_network(table, plan(), request, std::move(key), options);
  }
  /// Rows of the network as the run counts them.
  [[nodiscard]] LevelRows rows_by(const Schema& schema) const {
    Dataset data = read(schema);
    if (cells.held) {
      data.person = cells.held->person;
      data.hold_people(request.rows_per_person.value_or(1));
    }
    return network_rows(data, schema);
  }
};

// 2,000 people of one to three rows, of which a says much about b, and one with other rows.
std::string text_of(std::uint64_t rows, const std::string& row) {
  std::string out = "who,a,b,w\n";
  for (int person = 0; person < 2000; ++person)
    for (int visit = 0; visit <= person % 3; ++visit)
      out += fmt::format("p{},{},{}\n", person, (person + visit) % 2 == 0 ? "2,20" : "300,3000",
                         1 + person % 4);
  for (std::uint64_t i = 0; i < rows; ++i) out += "me," + row + ",4\n";
  return out;
}

Visits visits(std::uint64_t k, bool added, std::uint64_t rows, const std::string& row,
              const CountingColumns& counting = {.person = "who"}) {
  PlanRequest request{.epsilon = 6, .delta = 1e-3, .rows_per_person = k};
  if (added) request.adjacency = "add-remove", request.rows_cap = 2100;
  return {text_of(rows, row), request, counting};
}

Key key_of(std::uint32_t number) {
  std::array<std::uint8_t, 32> bytes{53};
  for (std::size_t i = 0; i < 4; ++i) bytes[28 + i] = static_cast<std::uint8_t>(number >> (8 * i));
  return KeyAccess::make(StreamKey(NoiseKind::chacha20, bytes));
}

double count_of(const TableCells& cells, std::size_t column, const std::string& text) {
  for (const auto& [level, count] : cells.columns[column].levels)
    if (level == text) return cells.in_rows(count);
  return 0;
}

void add_schema(support::Apart& out, const BoughtSchema& bought, const TableCells& a,
                const TableCells& b) {
  const AnswerScale& scale = bought.scale;
  const double sure = scale.threshold + 9 * scale.levels_noise;  // released in both
  out.add(static_cast<double>(scale.rows), a.sum(), b.sum(), scale.rows_noise);
  std::size_t k = 0;
  for (const ColumnAnswers& column : bought.columns) {
    if (!column.asked()) continue;
    for (std::size_t i = 0; i < cell_classes; ++i)
      out.add(column.classes[i], a.in_rows(a.columns[k].classes[i]),
              b.in_rows(b.columns[k].classes[i]), scale.bins_noise);
    for (const LevelAnswer& level : column.levels) {
      const double one = count_of(a, k, level.text), other = count_of(b, k, level.text);
      if (one >= sure && other >= sure) out.add(level.rows, one, other, scale.levels_noise);
    }
    ++k;
  }
}

void add_network(support::Apart& out, const NetworkRelease& made, const LevelRows& here,
                 const LevelRows& there) {
  const TreeRelease& tree = *made.model().tree;
  const NetworkProblem& p = made.certificate().problem;
  const LevelGroups groups = group_rare_levels(tree.one_ways, {});
  const auto expected = expected_counts(grouped_counts(tree.one_ways, groups), tree.rows);
  const auto add = [&](const MeasuredTable& table, const auto& cells_of) {
    const auto one = counts_in_rows(here, cells_of(here)),
               other = counts_in_rows(there, cells_of(there));
    for (std::size_t i = 0; i < one.size(); ++i)
      out.add(table.counts[i], one[i], other[i], table.deviation);
  };
  const auto grouped = [&](const LevelRows& rows, const ColumnList& columns) {
    return grouped_cells(contingency(rows, columns), columns, p.levels, groups);
  };
  for (std::uint32_t k = 0; k < tree.one_ways.size(); ++k)
    add(tree.one_ways[k],
        [&](const LevelRows& rows) { return contingency(rows, std::vector<std::uint32_t>{k}); });
  for (const TableCandidate& one : tree.scores) {
    const auto score = [&](const LevelRows& rows) {
      return pair_score(grouped(rows, one.columns), expected[one.columns[0]],
                        expected[one.columns[1]], tree.rows, rows.bits());
    };
    out.add(one.score, score(here), score(there), tree.score_noise);
  }
  for (const MeasuredTable& table : tree.tables)
    add(table, [&](const LevelRows& rows) { return grouped(rows, table.columns); });
}

// Somebody's rows break the rule of all others, and are none, one, k, k + 1 or 400: whatever they
// are, the whole release tells the two apart by at most mu. With as many as count most its noise is
// that which is paid for: of 12 z the mean is within 5/sqrt(12) and the mean square within 5.5
// deviations but with probability below 1e-6 each.
TEST(FitBoughtNetworkPeople, AllThatIsReleasedIsWithinTheClaimOnNeighbors) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  for (const auto& [k, added] : {std::pair(1U, false), std::pair(3U, false), std::pair(3U, true)}) {
    std::vector<std::uint64_t> sizes{1, k + 1, 400};
    if (k > 1) sizes.push_back(k);
    for (const std::uint64_t before :
         added ? std::vector<std::uint64_t>{0} : std::vector<std::uint64_t>{k + 1, 400}) {
      for (const std::uint64_t after : sizes) {
        SCOPED_TRACE(fmt::format("k {}, {} rows, then {}", k, before, after));
        const Visits a = visits(k, added, before, "2,20"), b = visits(k, added, after, "300,20");
        const bool most = (added || before == 400) && after == 400;
        const std::uint32_t runs = most ? 12U : 1;
        double sum = 0, squares = 0;
        for (std::uint32_t run = 0; run < runs; ++run) {
          const NetworkRelease made = a.fit(key_of(run));
          support::Apart apart;
          add_schema(apart, *made.model().bought, a.cells, b.cells);
          const Schema& schema = made.model().schema;
          add_network(apart, made, a.rows_by(schema), b.rows_by(schema));
          const double mu = made.certificate().claimed.mu;
          ASSERT_LE(apart.squared, mu * mu);
          EXPECT_GE(apart.squared, most ? .3 * mu * mu : 0);
          sum += apart.z();
          squares += apart.z() * apart.z();
        }
        if (!most) continue;
        const double n = runs;
        EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
        EXPECT_NEAR(squares / n, 1, 5.5 * std::sqrt(2 / n));
      }
    }
  }
}

TEST(FitBoughtNetworkPeople, HasOneCertificateOverBothOfPeople) {
  for (const bool added : {false, true}) {
    const Visits of =
        visits(2, added, 5, "300,20", {.person = "who", .weight = "w", .weight_hi = 4});
    const NetworkRelease made = of.fit();
    const json file = json::parse(to_json(made).dump());
    const Verification check = verify(file);
    EXPECT_TRUE(check.valid) << ::testing::PrintToString(check.failures);
    EXPECT_EQ(to_json(release_from_json<GraphicalKind>(file, "f.json")), file);
    const json& constants = file["certificate"]["constants"];
    EXPECT_EQ(constants["people"], added ? 2100 : 2001);
    EXPECT_EQ(constants["rows_of_person"], 2);
    EXPECT_GT(constants["bought_schema"]["rows_noise"], 0);
    EXPECT_EQ(made.model().names(), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(made.model().schema.person()->name, "who");
    EXPECT_EQ(made.model().schema.weight()->hi, 4);
    EXPECT_LE(delta_up(made.certificate().claimed, 6), 1e-3);
    EXPECT_THAT(in_words(made.certificate()), HasSubstr("any number of rows per person"));
    EXPECT_THAT(file["certificate"]["assumptions"].dump(), HasSubstr("which of them is of people"));
    EXPECT_THAT(file.dump(), Not(HasSubstr("p17"))) << "no id leaves";
    const auto changed = [&](const char* what, const std::function<void(json&)>& edit) {
      EXPECT_FALSE(support::verifies_resealed(file, edit)) << what;
    };
    changed("nobody's rows", [](json& f) { f["model"]["bought"].erase("person"); });
    changed("another column's", [](json& f) { f["model"]["bought"]["person"] = "a"; });
    changed("no weights", [](json& f) { f["model"]["bought"].erase("weight"); });
    changed("fewer rows of a person",
            [](json& f) { f["certificate"]["constants"]["rows_of_person"] = 1; });
    changed("fewer people", [](json& f) { f["certificate"]["constants"]["people"] = 10; });
  }
}

TEST(FitBoughtNetworkPeople, WeightsAloneAreOfTheNetwork) {
  const Visits of = visits(1, false, 1, "2,20", {.weight = "w", .weight_hi = 4});
  const NetworkRelease made = of.fit();
  const json file = json::parse(to_json(made).dump());
  EXPECT_TRUE(verify(file).valid) << ::testing::PrintToString(verify(file).failures);
  EXPECT_EQ(file["certificate"]["constants"]["weighted"], true);
  EXPECT_EQ(file["certificate"]["constants"]["rows"], of.cells.rows);
  EXPECT_FALSE(file["certificate"]["constants"]["bought_schema"].contains("rows_noise"));
}

TEST(FitBoughtNetworkPeople, ALedgerOfPeopleTakesIt) {
  const Visits of = visits(2, false, 5, "300,20");
  const auto ledger = [&](const std::string& name, std::uint64_t k) {
    return Ledger::create(of.folder.path(name), 20, 1e-2, {Adjacency::replace_one, k}, {},
                          {.memory = of.folder.path("memory of " + name)});
  };
  const Ledger of_people = ledger("people", any_rows), of_rows = ledger("rows", 2);
  FitOptions options;
  options.ledger = &of_people;
  static_cast<void>(of.fit(Key::from_os(), options));
  EXPECT_EQ(of_people.read().entries.size(), 1U);
  options.ledger = &of_rows;
  EXPECT_THROW(static_cast<void>(of.fit(Key::from_os(), options)), BadInput);
  EXPECT_TRUE(of_rows.read().entries.empty());
}

// Answers that put the column of people among the others' do not make it a node, nor take one's
// place.
TEST(FitBoughtNetworkPeople, PeopleAndWeightsAreNoNodes) {
  const Visits of = visits(1, false, 1, "2,20", {.person = "who", .weight = "w", .weight_hi = 4});
  const Schema schema = of.fit().model().schema;
  ASSERT_EQ(schema.columns.size(), 4U);
  EXPECT_EQ(schema.columns[2].type, ColumnType::person);
  EXPECT_EQ(schema.columns[3].type, ColumnType::weight);
}

}  // namespace fit_bought_network_people_test
}  // namespace gibbsite
