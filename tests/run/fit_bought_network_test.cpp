// A schema and a network of one budget: one certificate over both, the law of all of it on
// neighbors, and a release whatever the table holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
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
#include "gibbsite/run/fit_bought.hpp"
#include "support/apart.hpp"
#include "support/bought_table.hpp"
#include "support/repeats.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace fit_bought_network_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct BoughtNetworkCase : support::BoughtTable {
  PlanRequest request;
  std::optional<double> share;

  BoughtNetworkCase(const std::vector<std::string>& names, const std::string& text,
                    PlanRequest wishes = {.epsilon = 2, .delta = 1e-5},
                    const std::optional<double>& of_schema = {})
      : BoughtTable(names, "", TwoClasses{}, text), request(std::move(wishes)), share(of_schema) {
    request.model = network_model;
  }
  [[nodiscard]] BoughtFitPlan plan() const {
    return plan_bought_network(shape, request.rows_cap.value_or(cells.rows), budget_of(request),
                               share);
  }
  [[nodiscard]] NetworkRelease fit(Key&& key = Key::from_os(),
                                   const FitOptions& options = {}) const {
    return fit_bought_network(table(), plan(), request, std::move(key), options);
  }
};

const std::vector<std::string> header{"id", "age", "work", "wage", "alike"};

// Ages, work by age, wages of which half are 0, a column of one text.
BoughtNetworkCase people(int rows = 8000) {
  std::string text = "id,age,work,wage,alike\n";
  for (int i = 0; i < rows; ++i) {
    const int age = 18 + (i * 37) % 60;
    text += std::to_string(i) + "," + std::to_string(age) + "," +
            (age + i % 11 > 45 ? "state" : "private") + "," +
            (i % 2 == 0 ? "0" : std::to_string(500 + i * 7919 % 40'000)) + ",same\n";
  }
  return {header, text};
}

// mu of all questions, by hand: each cell is in one class, is one text and in one bin; each column
// has two levels or more but for those of one.
double composed_mu(const NetworkRelease& made) {
  const NetworkCertificate& c = made.certificate();
  const SchemaQuestions& q = c.bought->questions;
  const auto& s = std::get<NetworkTree>(c.mechanism);
  const auto squared = [](double x) { return x * x; };
  const double k = static_cast<double>(c.claimed.who.rows_per_person);
  const bool added = c.claimed.who.adjacency == Adjacency::add_remove;
  const double moved = added ? 1 : 2;  // counts of a question about a column, by each row
  const double change = moved * k * k * static_cast<double>(c.bought->columns);
  double of_two = 0, pairs = 0;
  for (const std::uint64_t levels : c.problem.levels) {
    pairs += levels > 1 ? of_two : 0;
    of_two += levels > 1 ? 1 : 0;
  }
  const double one_ways = added ? static_cast<double>(c.problem.levels.size()) : of_two;
  const double rows = added ? k * k / squared(q.rows_noise) : 0;
  return std::sqrt(change / squared(q.bins_noise) + change / squared(q.levels_noise) +
                   2 * moved * k * k / squared(q.refine_noise) + rows +
                   moved * k * k * one_ways / squared(s.one_way_noise) +
                   moved * moved * k * k * pairs / squared(s.score_noise) +
                   moved * k * k / squared(s.noise));
}

TEST(FitBoughtNetwork, HasOneCertificateOverBoth) {
  for (const auto& [k, added] : {std::pair(1U, false), std::pair(3U, false), std::pair(3U, true)}) {
    BoughtNetworkCase of = people();
    of.request.rows_per_person = k;
    if (added) of.request.adjacency = "add-remove", of.request.rows_cap = 10'000;
    const NetworkRelease made = of.fit();
    const NetworkCertificate& c = made.certificate();
    EXPECT_EQ(c.epsilon, 2);
    EXPECT_EQ(c.delta, 1e-5);
    ASSERT_TRUE(c.bought.has_value());
    EXPECT_EQ(c.bought->columns, 4U);
    EXPECT_NEAR(c.claimed.mu / composed_mu(made), 1, 2e-3);
    EXPECT_GE(c.claimed.mu, composed_mu(made) * (1 - 1e-12));
    EXPECT_LE(delta_up(c.claimed, c.epsilon), c.delta);
    EXPECT_EQ(made.model().names(), (std::vector<std::string>{"age", "work", "wage", "alike"}));
    EXPECT_EQ(made.model().level_names(3).front(), "same");  // the noise may add (other)
    const json file = to_json(made);
    EXPECT_THAT(file["certificate"]["assumptions"].dump(), HasSubstr("the table was the same"));
    EXPECT_THAT(file["certificate"]["assumptions"].dump(), HasSubstr("the names of the columns"));
    EXPECT_THAT(in_words(c), HasSubstr("this model and schema"));
    const Verification check = verify(file);
    EXPECT_TRUE(check.valid) << ::testing::PrintToString(check.failures);
    EXPECT_EQ(to_json(release_from_json<GraphicalKind>(file, "f.json")), file);
  }
}

// What is published beside the answers and what follows from them does not depend on a row.
TEST(FitBoughtNetwork, ClaimsTheSameOfNeighbors) {
  const auto claims = [](const std::string& last) {
    std::string text = "age,work\n";
    for (int i = 0; i < 3000; ++i)
      text += std::to_string(20 + i % 50) + (i % 3 == 0 ? ",a\n" : ",b\n");
    const NetworkRelease made = BoughtNetworkCase({"age", "work"}, text + last).fit();
    const json c = to_json(made)["certificate"];
    return std::vector<json>{c["guarantee"], c["constants"]["bought_schema"], c["assumptions"]};
  };
  EXPECT_EQ(claims("30,a\n"), claims("1e300,\"" + std::string(2000, 'x') + "\"\n"));
}

std::string failures(json file, const std::string& at, const json& value) {
  file[json::json_pointer(at)] = value;
  file["certificate"]["digest"] = file_digest(file);
  return ::testing::PrintToString(verify(file).failures);
}

TEST(FitBoughtNetwork, VerifySeesWhatWasChanged) {
  const json file = to_json(people().fit());
  const json& terms = file["certificate"]["constants"]["bought_schema"];
  EXPECT_EQ(failures(file, "/model/kind", "network"), "{}");
  EXPECT_THAT(failures(file, "/certificate/constants/bought_schema/levels_noise",
                       .8 * terms["levels_noise"].get<double>()),
              HasSubstr("guarantee.mu"));
  EXPECT_THAT(failures(file, "/certificate/constants/bought_schema/threshold",
                       .8 * terms["threshold"].get<double>()),
              HasSubstr("guarantee.tv"));
  EXPECT_THAT(failures(file, "/model/bought/columns/2/empty", 0.123), HasSubstr("off the grid"));
  EXPECT_THAT(failures(file, "/model/bought/scale/threshold", 1.0), HasSubstr("model.scale"));
  EXPECT_THAT(failures(file, "/model/preprocessing/columns/0/edges/0",
                       file["model"]["preprocessing"]["columns"][0]["edges"][0].get<double>() + .1),
              HasSubstr("follows from the answers"));
  for (const char* const part : {"/model/bought", "/certificate/constants/bought_schema"}) {
    json without = file;
    const json::json_pointer at(part);
    without[at.parent_pointer()].erase(at.back());
    without["certificate"]["digest"] = file_digest(without);
    EXPECT_THAT(::testing::PrintToString(verify(without).failures), HasSubstr("model.bought"));
  }
  // Parts of dates are of models of rows.
  json parts = file;
  const json wanted = json::parse(R"([{"column":"hired","parts":["year","month","weekday"]}])");
  parts["model"]["bought"]["date_parts"] = wanted;
  parts["model"]["bought"]["date_parts"][0]["column"] =
      file["model"]["bought"]["columns"][0]["name"];
  parts["certificate"]["digest"] = file_digest(parts);
  EXPECT_THAT(::testing::PrintToString(verify(parts).failures), HasSubstr("date_parts"));
  // What the network alone costs is not what both do.
  const double mu = file["certificate"]["guarantee"]["mu"];
  const double of_schema = file["certificate"]["constants"]["schema_mu"];
  EXPECT_THAT(
      failures(file, "/certificate/guarantee/mu", std::sqrt(mu * mu - of_schema * of_schema)),
      HasSubstr("guarantee.mu"));
}

TEST(FitBoughtNetwork, IsEnteredOnceAtThePriceOfBoth) {
  const BoughtNetworkCase of = people(3000);
  const testing::TempDir folder;
  const Ledger ledger =
      Ledger::create(folder.path("ledger"), 5, 1e-3, {}, {}, {.memory = folder.path("m")});
  FitOptions options;
  options.ledger = &ledger;
  static_cast<void>(of.fit(Key::from_os(), options));
  const LedgerState state = ledger.read();
  ASSERT_EQ(state.entries.size(), 1U);
  EXPECT_THAT(state.entries[0].command, HasSubstr("network-tree, with its schema"));
  const double mu = of.plan().guarantee.mu;
  EXPECT_GE(static_cast<double>(state.spent().mu_squared.wide()), mu * mu * (1 - 1e-12));
  EXPECT_THAT([&] { static_cast<void>(of.fit(Key::from_seed(1), options)); },
              ThrowsMessage<BadInput>(HasSubstr("seed")));
  // What ends it after noise is paid.
  TableToBuy broken = of.table();
  broken.read = [](const Schema&) -> Dataset { throw 1; };
  EXPECT_ANY_THROW(fit_bought_network(broken, of.plan(), of.request, Key::from_os(), options));
  EXPECT_EQ(ledger.read().entries.size(), 2U);
  EXPECT_TRUE(of.fit(Key::from_seed(1)).certificate().is_void());
}

Key network_key(std::uint32_t number) {
  std::array<std::uint8_t, 32> bytes{97};
  for (std::size_t i = 0; i < 4; ++i) bytes[28 + i] = static_cast<std::uint8_t>(number >> (8 * i));
  return KeyAccess::make(StreamKey(NoiseKind::chacha20, bytes));
}

double count_of(const ColumnCells& cells, const std::string& text) {
  for (const auto& [level, count] : cells.levels)
    if (level == text) return static_cast<double>(count);
  return 0;
}

void add_schema(support::Apart& out, const BoughtSchema& bought, const BoughtNetworkCase& a,
                const BoughtNetworkCase& b) {
  const AnswerScale& scale = bought.scale;
  const double sure = scale.threshold + 9 * scale.levels_noise;  // released in both
  if (scale.rows_noise > 0)
    out.add(static_cast<double>(scale.rows), static_cast<double>(a.cells.rows),
            static_cast<double>(b.cells.rows), scale.rows_noise);
  for (std::size_t k = 0; k < bought.columns.size(); ++k) {
    const ColumnAnswers& column = bought.columns[k];
    const ColumnCells &here = a.cells.columns[k], &there = b.cells.columns[k];
    for (std::size_t i = 0; i < cell_classes; ++i)
      out.add(column.classes[i], static_cast<double>(here.classes[i]),
              static_cast<double>(there.classes[i]), scale.bins_noise);
    for (const LevelAnswer& level : column.levels) {
      const double one = count_of(here, level.text), other = count_of(there, level.text);
      if (one >= sure && other >= sure) out.add(level.rows, one, other, scale.levels_noise);
    }
  }
}

void add_network(support::Apart& out, const NetworkRelease& made, const BoughtNetworkCase& a,
                 const BoughtNetworkCase& b) {
  const TreeRelease& tree = *made.model().tree;
  const NetworkProblem& p = made.certificate().problem;
  const LevelRows here = network_rows(a.read(made.model().schema), made.model().schema),
                  there = network_rows(b.read(made.model().schema), made.model().schema);
  const auto add = [&](const MeasuredTable& table, const auto& cells_of) {
    const std::vector<std::uint64_t> one = cells_of(here), other = cells_of(there);
    for (std::size_t i = 0; i < one.size(); ++i)
      out.add(table.counts[i], static_cast<double>(one[i]), static_cast<double>(other[i]),
              table.deviation);
  };
  for (std::uint32_t k = 0; k < tree.one_ways.size(); ++k)
    add(tree.one_ways[k],
        [&](const LevelRows& rows) { return contingency(rows, std::vector<std::uint32_t>{k}); });
  const LevelGroups groups = group_rare_levels(tree.one_ways, {});
  const auto expected = expected_counts(grouped_counts(tree.one_ways, groups), tree.rows);
  const auto grouped = [&](const LevelRows& rows, const ColumnList& columns) {
    return grouped_cells(contingency(rows, columns), columns, p.levels, groups);
  };
  for (const TableCandidate& one : tree.scores) {
    const auto score = [&](const LevelRows& rows) {
      return pair_score(grouped(rows, one.columns), expected[one.columns[0]],
                        expected[one.columns[1]], tree.rows);
    };
    out.add(one.score, score(here), score(there), tree.score_noise);
  }
  for (const MeasuredTable& table : tree.tables)
    add(table, [&](const LevelRows& rows) { return grouped(rows, table.columns); });
}

// How many rows there are is asked for, and answered near the truth, not at the cap.
TEST(FitBoughtNetwork, UnderAddRemoveRowsAreCountedWithNoise) {
  BoughtNetworkCase of = people();
  of.request.adjacency = "add-remove";
  of.request.rows_cap = 10'000;
  const NetworkRelease made = of.fit();
  const AnswerScale& scale = made.model().bought->scale;
  EXPECT_NEAR(static_cast<double>(scale.rows), 8000, 8 * scale.rows_noise);
  EXPECT_EQ(made.certificate().problem.rows, 10'000U);
  EXPECT_THAT(to_json(made)["certificate"].dump(), ::testing::Not(HasSubstr("8000")));
  of.request.rows_cap = 7999;
  EXPECT_THAT([&] { static_cast<void>(of.fit()); },
              ThrowsMessage<BadInput>(HasSubstr("more than 7999 rows")));
}

// Two columns of which the second follows the first, k rows of one person at the end.
// Without a row under add-remove.
BoughtNetworkCase with_person(std::uint64_t k, const std::string& row, bool added = false) {
  std::string text = "a,b\n";
  for (int i = 0; i < 4000; ++i) text += i % 2 == 0 ? "2,20\n" : "300,3000\n";
  for (std::uint64_t i = 0; i < k && !row.empty(); ++i) text += row + "\n";
  PlanRequest request{.epsilon = 6, .delta = 1e-3, .rows_per_person = k};
  if (added) request.adjacency = "add-remove", request.rows_cap = 4100;
  return {{"a", "b"}, text, request, .5};
}

// A person whose rows break the rule of all others moves every count: the whole release tells them
// apart by at most mu, and its noise is that which is paid for. Of 60 z the mean is within
// 5/sqrt(60) and the mean square within 5.5 deviations but with probability below 1e-6 each.
TEST(FitBoughtNetwork, AllThatIsReleasedIsWithinTheClaimOnNeighbors) {
  for (const auto& [k, added] :
       {std::pair(1U, false), std::pair(20U, false), std::pair(20U, true)}) {
    SCOPED_TRACE(k);
    const BoughtNetworkCase a = with_person(k, added ? "" : "2,20", added),
                            b = with_person(k, "300,20", added);
    const std::uint32_t runs = support::repeats(60U, 6U);
    double sum = 0, squares = 0;
    for (std::uint32_t run = 0; run < runs; ++run) {
      const NetworkRelease made = a.fit(network_key(run));
      support::Apart apart;
      add_schema(apart, *made.model().bought, a, b);
      add_network(apart, made, a, b);
      const double mu = made.certificate().claimed.mu;
      EXPECT_LE(apart.squared, mu * mu);
      EXPECT_GE(apart.squared, .4 * mu * mu);  // half of the columns move
      sum += apart.z();
      squares += apart.z() * apart.z();
    }
    const double n = runs;
    EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
    EXPECT_NEAR(squares / n, 1, 5.5 * std::sqrt(2 / n));
  }
}

// A text of one person's rows alone is not released: of 40 runs one is with probability below
// 40 tv, which is below 1e-4 by the claim and 1e-20 by the noise.
TEST(FitBoughtNetwork, ALevelOfOnePersonStaysUnseen) {
  const BoughtNetworkCase of = with_person(20, "only,20");
  EXPECT_LE(of.plan().guarantee.tv, 1e-6);
  for (std::uint32_t run = 0; run < support::repeats(40U, 6U); ++run) {
    const json file = to_json(of.fit(network_key(1000 + run)));
    EXPECT_THAT(file.dump(), ::testing::Not(HasSubstr("only")));
  }
}

// Whether there is a release does not depend on what the cells are.
TEST(FitBoughtNetwork, ReleasesOfAnyTable) {
  const auto expect_valid = [](const std::vector<std::string>& names, const std::string& text) {
    const BoughtNetworkCase of(names, text);
    for (int run = 0; run < 3; ++run) {
      const NetworkRelease made = of.fit();
      EXPECT_TRUE(verify(made).valid) << ::testing::PrintToString(verify(made).failures);
      EXPECT_GE(made.model().names().size(), 1U);
    }
  };
  const auto table = [](int rows, const std::function<std::string(int)>& row) {
    std::string out = "a,b\n";
    for (int i = 0; i < rows; ++i) out += row(i) + "\n";
    return out;
  };
  const std::vector<std::string> two{"a", "b"};
  expect_valid(two, table(1, [](int) { return "1,x"; }));
  expect_valid(two, table(40, [](int i) { return std::to_string(i) + ",x"; }));
  expect_valid({"a"}, "a\n1\n2\n3\n");
  expect_valid(two, table(3000, [](int) { return ","; }));
  expect_valid(two, table(3000, [](int) { return "5,x"; }));
  expect_valid(two,
               table(3000, [](int i) { return std::to_string(i) + ",n" + std::to_string(i); }));
  expect_valid(two, table(60'000, [](int i) {
                 return "l" + std::to_string(i % 1000) + "," + std::to_string(i % 1000);
               }));
  expect_valid(two, table(60'000, [](int i) {  // far more than a network may have
                 return "l" + std::to_string(i % 11) + "," + std::to_string(1e-5 * (i % 7919));
               }));
  expect_valid(two, table(3000, [](int i) {
                 return "2020-01-" + std::to_string(10 + i % 15) + ",(other)";
               }));
}

TEST(FitBoughtNetwork, RefusesWhatItDoesNotTake) {
  const auto refused = [](PlanRequest request, const char* what) {
    request.model = network_model;
    EXPECT_THAT([&] { static_cast<void>(bought_network_request(request)); },
                ThrowsMessage<BadInput>(HasSubstr(what)));
  };
  refused({.mechanism = "counts"}, "mechanism");
  refused({.structure = "given"}, "structure");
  refused({.rho = .1}, "rho");
  refused({.draws = 2}, "draws");
  refused({.prior = std::vector<double>{1}}, "prior");
  refused({.cells = 100}, "cells");
  refused({.intervals = true}, "intervals");
  EXPECT_THAT([] { schema_shape({"id"}, "", TwoClasses{}, "t.csv"); },
              ThrowsMessage<BadInput>(HasSubstr("no column is left")));
  const BoughtNetworkCase of = people(200);
  BoughtFitPlan plan = of.plan();
  plan.problem.rows += 1;
  EXPECT_THAT(
      [&] { static_cast<void>(fit_bought_network(of.table(), plan, of.request, Key::from_os())); },
      ThrowsMessage<BadInput>(HasSubstr("plan again")));
}

}  // namespace fit_bought_network_test
}  // namespace gibbsite
