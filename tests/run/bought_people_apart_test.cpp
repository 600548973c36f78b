// A schema of people that is bought alone: every release by it is of the same people, held by the
// same ids, and both are entered in a ledger of people.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "certificate/model_json.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/curves.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/privacy/any_rows.hpp"
#include "gibbsite/run/buy_schema.hpp"
#include "gibbsite/run/fit.hpp"
#include "gibbsite/run/plan_chosen.hpp"
#include "support/resealed.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace bought_people_apart_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// Ids in several spellings, some of nobody: 4,000 people of one to five rows, one of 300.
std::string table_text() {
  std::string out = "patient,household,age,ward,y\n";
  const auto add = [&](const std::string& id, int person, int row) {
    const int age = 18 + (person * 37) % 60;
    out += fmt::format("{},h{},{},{},{}\n", id, person / 3, age,
                       (person + row) % 3 == 0 ? "surgery" : "medicine",
                       age + person % 11 > 45 ? "yes" : "no");
  };
  for (int person = 0; person < 4000; ++person) {
    for (int row = 0; row <= person % 5; ++row) {
      const std::array<std::string, 3> spelled{
          fmt::format("{}", person), fmt::format(" {} ", person), fmt::format("{}.0", person)};
      add(spelled[static_cast<std::size_t>(row) % spelled.size()], person, row);
    }
  }
  for (int row = 0; row < 300; ++row) add("many", 7, row);
  for (const char* const nobody : {"", "NA", " ", "?"}) add(nobody, 5, 0);
  return out;
}

struct Purchase {
  ::gibbsite::testing::TempDir folder;
  std::string path = folder.write("visits.csv", table_text());
  SchemaShape shape =
      schema_shape({"patient", "household", "age", "ward", "y"}, "y", TwoClasses{.positive = "yes"},
                   "visits.csv", {.person = "patient"});
  TableCells cells;
  SchemaPlan plan;
  SchemaRelease made;

  explicit Purchase(std::uint64_t k = 3, const Ledger* ledger = nullptr)
      : cells(count_asked(shape, path, k)),
        plan(plan_schema(problem_of(shape, cells.rows, k),
                         {.epsilon = 4, .delta = 1e-6, .rows_per_person = k}, tv_left(ledger))),
        made(bought(ledger)) {}
  [[nodiscard]] SchemaRelease bought(const Ledger* ledger) const {
    FitOptions options;
    options.ledger = ledger;
    return buy_schema(shape, cells, path, plan, Key::from_os(), options);
  }
  [[nodiscard]] std::string toml() const {
    return bought_toml(made.model(), {.certificate = to_json(made)["certificate"]["digest"],
                                      .epsilon = 4,
                                      .delta = 1e-6,
                                      .person = made.model().counting.person,
                                      .rows_per_person = made.model().rows_per_person});
  }
  [[nodiscard]] Dataset read(const std::string& toml_text, std::uint64_t k) const {
    ReadOptions options;
    options.ignore_extra_columns = options.holds_people = true;
    Dataset out = read_csv(path, parse_schema(toml_text, "s.toml"), options);
    out.hold_people(k);
    return out;
  }
};

std::string edited(std::string toml, const std::string& from, const std::string& to) {
  const std::size_t at = toml.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return toml.replace(at, from.size(), to);
}

TEST(BoughtPeopleApart, AFitByItsSchemaIsOfThePeopleThatItWasBoughtFor) {
  const Purchase of;
  const std::string toml = of.toml();
  EXPECT_THAT(toml, HasSubstr("patient = {type = \"person\"}"));
  EXPECT_THAT(toml, HasSubstr("person = \"patient\", rows_per_person = 3}"));
  EXPECT_THAT(toml, HasSubstr("each person's counted as at most 3"));
  const Schema schema = parse_schema(toml, "s.toml");
  ASSERT_TRUE(schema.bought);
  EXPECT_EQ(schema.bought->person, "patient");
  EXPECT_EQ(schema.bought->rows_per_person, 3);
  EXPECT_EQ(parse_schema(to_toml(schema), "s.toml"), schema);
  EXPECT_EQ(schema_from_json(json::parse(schema_json(schema).dump()), "s").bought, schema.bought);

  // One relation of neighbors: whose a row is, is the same in both, row by row.
  for (const std::uint64_t k : {1U, 2U}) {
    const Dataset rows = of.read(toml, k);
    EXPECT_EQ(rows.person, of.cells.held->person);
    EXPECT_EQ(rows.people, of.cells.rows);
    EXPECT_EQ(rows.people, 4001U);
  }

  // What one counts may differ, as both are for people with any number of rows.
  PlanRequest request{.epsilon = 1, .delta = 1e-6};
  request.rows_per_person = 2;
  const Budget budget = budget_of(request);
  const Schema domain = chosen_curves(request, schema, of.cells.rows, budget);
  const Dataset rows = with_curves(of.read(toml, 2), domain);
  const Plan plan = plan_chosen(request, domain, rows.people, budget);
  const auto backend = make_backend("reference");
  const Release fitted = fit(model_of(request, plan), rows, plan, *backend, Key::from_os());
  const json file = json::parse(to_json(fitted).dump());
  const Verification found = verify(file);
  EXPECT_TRUE(found.valid) << ::testing::PrintToString(found.failures);
  EXPECT_EQ(file["certificate"]["schema_bought"]["person"], "patient");
  EXPECT_EQ(file["certificate"]["schema_bought"]["rows_per_person"], 3);
  EXPECT_EQ(file["certificate"]["constants"]["people"], 4001);
  EXPECT_THAT(
      in_words(fitted.certificate()),
      HasSubstr("for people with any number of rows, told apart by 'patient' and counted as "
                "at most 3"));
}

TEST(BoughtPeopleApart, ASchemaEditedToOtherUnitsIsRefused) {
  const Purchase of(1);
  const std::string toml = of.toml(), line = "patient = {type = \"person\"}";
  const auto refused = [](const std::string& text, const std::string& what) {
    try {
      static_cast<void>(parse_schema(text, "s.toml"));
      ADD_FAILURE() << what;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr(what));
      EXPECT_THAT(error.what(), Not(HasSubstr("\n"))) << "one line";
    }
  };
  const std::string rows = "a fit would protect rows";
  refused(edited(toml, line, ""), rows);
  refused(edited(toml, line, "patient = {type = \"ignore\"}"), rows);
  const std::size_t at = toml.find("household = ");
  ASSERT_NE(at, std::string::npos);
  const std::string household = toml.substr(at, toml.find('\n', at) - at);
  refused(edited(edited(toml, line, "patient = {type = \"ignore\"}"), household,
                 "household = {type = \"person\"}"),
          "another column says whose a row is");
  // Rows that were counted each as one are no people afterwards.
  refused(edited(toml, ", person = \"patient\", rows_per_person = 1", ""), "by counting rows");
  refused(edited(toml, ", rows_per_person = 1", ""), "bought");
  refused(edited(toml, "rows_per_person = 1", "rows_per_person = 0"), "are no people");
  refused(edited(toml, "rows_per_person = 1", "rows_per_person = 1001"), "are no people");
  refused(edited(toml, "rows_per_person = 1", "rows_per_person = 1, adjacency = \"other\""),
          "adjacency is neither");
  // What is public may be edited.
  EXPECT_NO_THROW(static_cast<void>(
      parse_schema(edited(edited(toml, household, "household = {type = \"ignore\"}"), "\"surgery\"",
                          "\"surgery\", \"day care\""),
                   "s.toml")));
}

// Two kinds of neighbors do not add up, and neither do k rows of one person and one of each.
TEST(BoughtPeopleApart, APurchaseOfOtherNeighborsIsNotAddedUp) {
  BoughtApart people{.certificate = {}, .epsilon = 1, .delta = 1e-6, .person = "patient"};
  people.rows_per_person = 2;
  EXPECT_TRUE(people.adds_to("add-remove", 1)) << "files of before do not say which";
  people.adjacency = "replace-one";
  EXPECT_TRUE(people.adds_to("replace-one", 5)) << "of any number of rows";
  EXPECT_FALSE(people.adds_to("add-remove", 2));
  BoughtApart rows{.certificate = {}, .epsilon = 1, .delta = 1e-6};
  rows.rows_per_person = 2, rows.adjacency = "add-remove";
  EXPECT_TRUE(rows.adds_to("add-remove", 2));
  EXPECT_FALSE(rows.adds_to("add-remove", 3));
  EXPECT_FALSE(rows.adds_to("replace-one", 1));

  const Purchase of(1);
  std::string toml = of.toml();
  toml = edited(toml, "rows_per_person = 1", "rows_per_person = 1, adjacency = \"add-remove\"");
  const Schema schema = parse_schema(toml, "s.toml");
  EXPECT_EQ(parse_schema(to_toml(schema), "s.toml"), schema);
  Certificate claims;
  claims.claimed.who = {Adjacency::replace_one, 1};
  claims.schema_bought = schema.bought;
  EXPECT_FALSE(adds_up(claims));
  claims.claimed.who.adjacency = Adjacency::add_remove;
  EXPECT_TRUE(adds_up(claims));
}

TEST(BoughtPeopleApart, NothingElseSaidOfThePurchaseVerifiesEvenResealed) {
  const Purchase of;
  const json file = json::parse(to_json(of.made).dump());
  ASSERT_TRUE(verify(file).valid);
  EXPECT_EQ(file["certificate"]["constants"]["people"], 4001);
  const auto changed = [&](const char* what, const std::function<void(json&)>& edit) {
    EXPECT_FALSE(support::verifies_resealed(file, edit)) << what;
  };
  changed("nobody's rows", [](json& f) { f["model"].erase("person"); });
  changed("another column's", [](json& f) { f["model"]["person"] = "ward"; });
  changed("a person of fewer rows", [](json& f) {
    f["certificate"]["constants"]["rows_of_person"] = 1;
    f["model"]["rows_per_person"] = 1;
    f["certificate"]["guarantee"]["rows_per_person"] = 1;
  });
  changed("fewer people", [](json& f) { f["certificate"]["constants"]["people"] = 10; });
  changed("rows", [](json& f) {
    json& constants = f["certificate"]["constants"];
    constants["rows"] = constants["people"];
    constants.erase("people");
    constants.erase("rows_of_person");
  });
}

TEST(BoughtPeopleApart, ALedgerOfPeopleTakesItAndOneOfRowsDoesNot) {
  const ::gibbsite::testing::TempDir folder;
  const auto ledger = [&](const std::string& name, std::uint64_t k) {
    return Ledger::create(folder.path(name), 20, 1e-4, {Adjacency::replace_one, k}, {},
                          {.memory = folder.path("memory of " + name)});
  };
  const Ledger of_people = ledger("people", any_rows), of_rows = ledger("rows", 3);
  const Purchase of(3, &of_people);
  ASSERT_EQ(of_people.read().entries.size(), 1U);
  EXPECT_EQ(of_people.read().entries.front().digest,
            to_json(of.made)["certificate"]["digest"].get<std::string>());
  EXPECT_THROW(static_cast<void>(of.bought(&of_rows)), BadInput);
  EXPECT_TRUE(of_rows.read().entries.empty()) << "refused before there is noise";
}

// A schema's threshold would be dearer in total variation than a ledger of (8, 1e-4) has for it
// all: planned for the ledger it leaves room for fits. What takes everything is refused before
// noise.
TEST(BoughtPeopleApart, ALedgerIsNotTakenWholeByASchema) {
  const ::gibbsite::testing::TempDir folder;
  const Ledger ledger =
      Ledger::create(folder.path("l"), 8, 1e-4, {Adjacency::replace_one, any_rows}, {},
                     {.memory = folder.path("memory")});
  Purchase of;
  const SchemaProblem problem = problem_of(of.shape, of.cells.rows, 3);
  const Budget budget{.epsilon = 1, .delta = 1e-5, .rows_per_person = 3};
  FitOptions options;
  options.ledger = &ledger;
  const auto buy = [&](const SchemaPlan& plan) {
    return buy_schema(of.shape, of.cells, of.path, plan, Key::from_os(), options);
  };
  EXPECT_THROW(static_cast<void>(buy(plan_schema(problem, budget))), BudgetSpent);
  EXPECT_TRUE(ledger.read().entries.empty()) << "refused before there is noise";
  Budget all = budget;
  all.epsilon = 8;
  all.delta = 1e-4;
  EXPECT_THROW(static_cast<void>(buy(plan_schema(problem, all, tv_left(&ledger)))), BudgetSpent);
  EXPECT_TRUE(ledger.read().entries.empty());
  for (int purchases = 1; purchases <= 3; ++purchases) {
    static_cast<void>(buy(plan_schema(problem, budget, tv_left(&ledger))));
    const LedgerState state = ledger.read();
    EXPECT_EQ(state.entries.size(), static_cast<std::size_t>(purchases));
    EXPECT_FALSE(state.is_whole());
    EXPECT_GT(state.tv_left(), 0);
  }
  EXPECT_EQ(tv_left(nullptr), 1);
}

// Limits of exact sums name what a person gives.
TEST(BoughtPeopleApart, TooManyRowsTogetherNameTheArgument) {
  const auto refused = [](std::uint64_t people, std::uint64_t k) {
    try {
      SchemaProblem{.rows = people, .columns = 2, .rows_of_person = k}.validate();
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  constexpr std::uint64_t most = std::uint64_t{1} << 33;
  EXPECT_EQ(refused(most, 1), "");
  EXPECT_THAT(refused(most + 1, 1), HasSubstr("`rows_cap`:"));
  EXPECT_EQ(refused(most / 1000, 1000), "");
  EXPECT_THAT(refused(most / 1000 + 1, 1000), HasSubstr("`rows_per_person`:"));
}

}  // namespace bought_people_apart_test
}  // namespace gibbsite
