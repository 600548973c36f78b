// What every front end asks and says before a private run: room in a ledger, and warnings.
#include "gibbsite/run/room.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/run/look.hpp"
#include "gibbsite/run/purchase.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace room_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Schema ten_columns() {
  Schema out;
  out.label_name = "y";
  out.label = TwoClasses{"yes", "no"};
  out.intercept = true;
  for (int k = 0; k < 10; ++k) {
    Column& column = out.columns.emplace_back();
    column.name = "x" + std::to_string(k);
    column.type = ColumnType::number;
    column.hi = 1;
  }
  out.row_norm = out.auto_row_norm();
  return out;
}

PlannedFit planned(double epsilon, std::uint64_t rows = 20'000) {
  const PlanRequest request{.epsilon = epsilon, .delta = 1e-7};
  return planned_fit(request, ten_columns(), ten_columns(), rows, budget_of(request));
}

class Room : public ::testing::Test {
 protected:
  [[nodiscard]] Ledger made(double epsilon) const {
    return Ledger::create(folder.path("people.ledger"), epsilon, 1e-6, {}, {},
                          {.memory = folder.path("memory")});
  }
  Note keep = [this](const Message& line) { lines.push_back(line.plain()); };
  std::vector<std::string> lines;
  testing::TempDir folder;
};

// The epsilon of a kept error, "... epsilon 1.6 at this delta would fit".
double epsilon_said(const auto& call) {
  try {
    call();
  } catch (const BudgetSpent& error) {
    const std::string text = error.message().plain();
    std::smatch found;
    if (std::regex_search(text, found, std::regex("; epsilon (\\S+) at this delta would fit$")))
      return std::stod(found[1]);
    ADD_FAILURE() << text;
    return 0;
  }
  ADD_FAILURE() << "it fits";
  return 0;
}

TEST_F(Room, WhatIsSaidToFitFitsAndHardlyMoreDoes) {
  const Ledger ledger = made(2);
  const double fits = epsilon_said([&] { require_room(ledger, planned(9), keep); });
  EXPECT_GT(fits, 1);
  require_room(ledger, planned(fits), keep);
  EXPECT_THROW(require_room(ledger, planned(1.1 * fits), keep), BudgetSpent);
}

TEST_F(Room, OfNetworksAndFamiliesToo) {
  const Ledger ledger = made(2);
  const PlanRequest network{.model = network_model, .epsilon = 9, .delta = 1e-7};
  const NetworkProblem tables{.rows = 5000, .levels = {2, 3, 4}, .limits = tree_limits(3)};
  const auto of_network = [&](double epsilon) {
    PlanRequest request = network;
    request.epsilon = epsilon;
    look_at(request, plan(request, tables, budget_of(request)), &ledger, keep);
  };
  of_network(epsilon_said([&] { of_network(9); }));
  const FamilyProblem shares{.family = Family::bernoulli, .rows = 5000, .levels = 2};
  const auto of_family = [&](double epsilon) {
    const PlanRequest request{.model = "bernoulli", .epsilon = epsilon, .delta = 1e-7};
    look_at(request, plan(request, complete(request, shares), budget_of(request)), &ledger, keep);
  };
  of_family(epsilon_said([&] { of_family(9); }));
}

TEST_F(Room, WarnsOfALedgerOfWhichNothingIsLeft) {
  const Ledger ledger =
      Ledger::create(folder.path("l"), 1, 1e-7, {}, {}, {.memory = folder.path("memory")});
  require_room(ledger, planned(1), keep);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("ledger: this release takes all of "));
  EXPECT_THAT(lines[0], HasSubstr("a smaller epsilon or delta leaves some"));
}

TEST_F(Room, AFitIsWarnedOfByPublicNumbers) {
  warn_of_fit(planned(1), keep);
  EXPECT_THAT(lines, IsEmpty());
  warn_of_fit(planned(20, 40), keep);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("epsilon: ε = 20 by itself lets whoever knows")));
  lines.clear();
  warn_of_fit(planned(0.1, 500), keep);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("500 rows are few for 11 features at ε = 0.1")));
  lines.clear();
  PlanRequest request{.epsilon = 1, .delta = 1e-3, .mechanism = "path"};
  request.rows_per_person = 3;
  warn_of_budget(budget_of(request), 2000, keep);
  warn_of_uncounted_rows(budget_of(request), PeopleBy::schema, keep);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("delta: δ = 0.001 is not below 1/rows"),
                                 HasSubstr("rows_per_person: nothing enforces it")));
  lines.clear();
  request = {.epsilon = 1, .delta = 1e-7, .mechanism = "output"};
  warn_of_fit(planned_fit(request, ten_columns(), ten_columns(), 100'000, budget_of(request)),
              keep);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("mechanism output: how long this run takes")));
}

// Whatever is fitted: families, and schemas that are bought, said nothing.
TEST_F(Room, RowsOfAPersonThatNobodyCountsAreWarnedOf) {
  const auto expect_said = [&](const std::string& how) {
    ASSERT_EQ(lines.size(), 1U) << how;
    EXPECT_THAT(lines[0], HasSubstr("rows_per_person: nothing enforces it"));
    EXPECT_THAT(lines[0], HasSubstr(how));
    lines.clear();
  };
  PlanRequest request{.epsilon = 1, .delta = 1e-7, .rows_per_person = 2};
  const auto fit = planned_fit(request, ten_columns(), ten_columns(), 20'000, budget_of(request));
  look_at(fit, nullptr, keep);
  expect_said("give the column of ids {type = \"person\"} in the schema, and");
  look_at(fit, nullptr, keep, std::nullopt);
  EXPECT_THAT(lines, IsEmpty());
  request.model = "bernoulli";
  const FamilyProblem shares{.family = Family::bernoulli, .rows = 5000, .levels = 2};
  look_at(request, plan(request, complete(request, shares), budget_of(request)), nullptr, keep);
  expect_said("make sure that nobody has more");
  request.model = network_model;
  NetworkProblem tables{.rows = 5000, .levels = {2, 3, 4}, .limits = tree_limits(3)};
  look_at(request, plan(request, tables, budget_of(request)), nullptr, keep);
  expect_said("in the schema");
  tables.rows_of_person = 2;
  tables.weighted = true;
  look_at(request, plan(request, tables, budget_of(request)), nullptr, keep);
  EXPECT_THAT(lines, IsEmpty());
}

// Rows of two columns and a label, as cells.
CellSource cells(std::size_t rows) {
  return {"table", [rows](const std::vector<std::string>& columns, const CellSource::Row& row) {
            for (std::size_t i = 0; i < rows; ++i) {
              std::vector<std::string> out;
              for (const std::string& name : columns)
                out.push_back(name == "age" ? std::to_string(20 + i % 50) : i % 3 ? "f" : "m");
              row(out);
            }
          }};
}

TEST_F(Room, APurchaseCountsPlansWarnsAndAsksTheLedger) {
  const std::vector<std::string> header{"age", "sex", "y"};
  BoughtRequest asked{
      .request = bought_request({.epsilon = 1, .delta = 1e-7}, TwoClasses{"yes", "no"}),
      .shape = schema_shape(header, "y", TwoClasses{"yes", "no"}, "table")};
  const auto found = purchase(asked, cells(20'000), nullptr, keep);
  EXPECT_EQ(found.cells.rows, 20'000U);
  EXPECT_EQ(found.plan.problem.rows, 20'000U);
  EXPECT_FALSE(found.warned);
  EXPECT_THAT(lines, IsEmpty());
  EXPECT_TRUE(purchase(asked, cells(3'000), nullptr, keep).warned);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("go into (other)")));
  EXPECT_THROW(purchase(asked, cells(0), nullptr, keep), BadInput);
  lines.clear();
  asked.request.rows_per_person = 2;
  static_cast<void>(purchase(asked, cells(200'000), nullptr, keep));
  EXPECT_THAT(lines, ElementsAre(HasSubstr("give person the column of ids, and all rows")));
  asked.people_said = true;
  static_cast<void>(purchase(asked, cells(200'000), nullptr, keep));
  EXPECT_EQ(lines.size(), 1U);
  asked.request.rows_per_person = 1;
  asked.request.epsilon = 0.1;
  try {
    static_cast<void>(purchase(asked, cells(9'000), nullptr, keep));
    ADD_FAILURE() << "not refused";
  } catch (const Infeasible& error) {
    EXPECT_THAT(error.message().plain(), HasSubstr("give epsilon 0.2 or more"));
  }
  asked.request.epsilon = 1;
  const Ledger ledger = made(0.5);
  const double fits = epsilon_said([&] { purchase(asked, cells(20'000), &ledger, keep); });
  asked.request.epsilon = fits;
  EXPECT_EQ(purchase(asked, cells(20'000), &ledger, keep).plan.budget.epsilon, fits);
}

TEST_F(Room, AnIdThatIsIgnoredIsNoted) {
  const SchemaShape shape = schema_shape({"id", "age", "y"}, "y", TwoClasses{"yes", "no"}, "table");
  note_ids(shape, 2, keep);
  EXPECT_THAT(lines, IsEmpty());
  note_ids(shape, 1, keep);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("give person 'id'")));
}

}  // namespace room_test
}  // namespace gibbsite
