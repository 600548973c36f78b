// A column's schema and draws of a family of one budget: one certificate over both, the law of both
// on neighbors, and what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <variant>
#include <vector>

#include "certificate/model_json.hpp"
#include "core/key_access.hpp"
#include "gibbsite/certificate/rdp.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/model/bought_family.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/run/fit_bought.hpp"
#include "mechanism/conjugate_profile.hpp"
#include "support/bought_table.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace fit_bought_family_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct BoughtDrawsCase : support::BoughtTable {
  PlanRequest request{.epsilon = 2, .delta = 1e-5};

  // Ages from 18 to 77, counts from 0 to 4, times above 0, three works, yes and no.
  static std::string people(int rows) {
    std::string text = "age,visits,hours,work,smokes,name\n";
    for (int i = 0; i < rows; ++i) {
      text += std::to_string(18 + (i * 37) % 60) + "," + std::to_string((i * 7) % 5) + "," +
              std::to_string(1 + (i * 7919) % 400) + ".5," +
              (i % 10 < 6   ? "private"
               : i % 10 < 9 ? "state"
                            : "none") +
              "," + (i % 4 == 0 ? "no" : "yes") + ",n" + std::to_string(i) + "\n";
    }
    return text;
  }
  BoughtDrawsCase(const std::string& column, const std::string& model, int rows = 8000)
      : BoughtTable({"age", "visits", "hours", "work", "smokes", "name"}, column, people(rows)) {
    request.model = model;
    if (model == "variance" || model == "laplace") request.center = 45;
  }
  [[nodiscard]] BoughtFitPlan plan() const { return plan_bought_family(request, cells.rows); }
  [[nodiscard]] FamilyRelease fit(Key&& key = Key::from_os(),
                                  const FitOptions& options = {}) const {
    return fit_bought_family(table(), plan(), request, std::move(key), options);
  }
};

const std::vector<std::pair<std::string, std::string>> families{
    {"bernoulli", "smokes"},   {"categorical", "work"}, {"rate", "visits"},  {"waiting", "hours"},
    {"mean", "age"},           {"bounded-mean", "age"}, {"variance", "age"}, {"laplace", "age"},
    {"categorical", "visits"}, {"mean", "visits"}};

// mu of the questions by hand: one column.
double schema_mu(const SchemaQuestions& q) {
  return std::sqrt(2 / (q.bins_noise * q.bins_noise) + 2 / (q.levels_noise * q.levels_noise) +
                   4 / (q.refine_noise * q.refine_noise));
}

TEST(FitBoughtFamily, HasOneCertificateOverBoth) {
  for (const auto& [model, column] : families) {
    SCOPED_TRACE(model + " of " + column);
    const BoughtDrawsCase of(column, model);
    const FamilyRelease made = of.fit();
    const FamilyCertificate& c = made.certificate();
    ASSERT_TRUE(c.bought.has_value());
    EXPECT_EQ(c.bought->columns, 1U);
    EXPECT_EQ(c.epsilon, 2);
    EXPECT_EQ(c.delta, 1e-5);
    const Guarantee own = analyze(c.mechanism, c.problem, c.claimed.who, 1).guarantee;
    const double of_schema = schema_mu(c.bought->questions);
    EXPECT_GE(c.claimed.mu, std::hypot(of_schema, own.mu) * (1 - 1e-12));
    // A mean's plain posterior may cost less than its part.
    if (own.mu == 0) {
      EXPECT_NEAR(c.claimed.mu / of_schema, 1, 1e-3);
    }
    EXPECT_EQ(own.mu > 0, model == "mean");
    EXPECT_GE(c.claimed.epsilon0, own.epsilon0);
    EXPECT_GE(c.claimed.delta0, own.delta0);
    EXPECT_LE(delta_up(c.claimed, c.epsilon), c.delta);
    // In other currencies both count too: draws alone would say less.
    EXPECT_GE(renyi_up(c, 4), renyi_up(Guarantee{.mu = of_schema}, 4));
    EXPECT_EQ(renyi_up(c, 4), renyi_up(c.claimed, 4));
    EXPECT_FALSE(is_renyi_exact(c));
    const json file = to_json(made);
    const Verification check = verify(file);
    EXPECT_TRUE(check.valid) << ::testing::PrintToString(check.failures);
    EXPECT_EQ(to_json(release_from_json<ConjugateKind>(file, "f.json")), file);
    EXPECT_THAT(file["certificate"]["assumptions"].dump(), HasSubstr("the name of the column"));
    EXPECT_THAT(in_words(c), HasSubstr("this model and schema"));
  }
}

// Estimates lie where the rows are: the noise of both is far smaller at epsilon 2.
TEST(FitBoughtFamily, FindsWhatIsThere) {
  const auto draw = [](const char* column, const char* model) {
    BoughtDrawsCase of(column, model, 20'000);
    of.request.epsilon = 4;
    return of.fit().model();
  };
  const FamilyModel smokes = draw("smokes", "bernoulli");
  EXPECT_EQ(smokes.levels(), (std::vector<std::string>{"yes", "(other)"}));
  EXPECT_NEAR(smokes.draws[0][0], .75, .03);
  const FamilyModel work = draw("work", "categorical");
  std::map<std::string, double> shares;
  for (std::size_t l = 0; l < work.levels().size(); ++l)
    shares[work.levels()[l]] = work.draws[0][l];
  EXPECT_NEAR(shares["private"], .6, .05);
  EXPECT_NEAR(shares["state"], .3, .05);
  const FamilyModel visits = draw("visits", "rate");
  EXPECT_EQ(visits.schema.columns[0].lo, 0);
  EXPECT_EQ(visits.schema.columns[0].hi, 4);
  EXPECT_NEAR(visits.draws[0][0], 2, .15);
  // Draws spread by 0.7: a chance below 1e-8.
  EXPECT_NEAR(draw("age", "mean").draws[0][0], 47.5, 4.2);
  EXPECT_NEAR(draw("age", "bounded-mean").draws[0][0], 47.5, 4.2);
}

// A range holds nearly all numbers of a skewed column, whatever the noise: the bin 50 to 100 has
// 20 % of them, 18 deviations of noise, and one bin more is within. What further answers narrow it
// to lacks a tenth.
TEST(FitBoughtFamily, ARangeHoldsTheTail) {
  constexpr int rows = 6000;
  std::string text = "wait\n";
  for (int i = 0; i < rows; ++i)
    text += fmt::format("{:.3f}\n", -40 * std::log1p(-(i + .5) / rows));
  const support::BoughtTable table({"wait"}, "wait", text);
  PlanRequest request{.epsilon = 1, .delta = 1e-6};
  request.model = "waiting";
  const FamilyRelease made = fit_bought_family(
      table.table(), plan_bought_family(request, table.cells.rows), request, Key::from_os(), {});
  const Column& column = made.model().schema.columns[0];
  EXPECT_GE(column.hi, 200);
  EXPECT_LE(column.lo, 5);
  EXPECT_LE(column.hi, 1000);
}

// The exact profile of both together on the worst neighbors of each part: of all z ~ N(0, 1) of the
// Gaussian part, the draws' profile where its log ratio leaves off. It keeps to the claim, which is
// not idle, and a claim of one part alone is broken.
TEST(FitBoughtFamily, BothTogetherKeepTheClaim) {
  for (const double epsilon : {.5, 2.0}) {
    BoughtDrawsCase at("smokes", "bernoulli", 3000);
    at.request.epsilon = epsilon;
    at.request.delta = 1e-3;
    const FamilyRelease made = at.fit();
    const FamilyCertificate& c = made.certificate();
    const auto& settings = std::get<ConjugateDraw>(c.mechanism);
    const auto of_draws = [&](double e) {
      const double up =
          conjugate_delta_up(settings, c.problem, c.claimed.who, std::fabs(e), Digits::few);
      return e >= 0 ? up : 1 - std::exp(e) + std::exp(e) * up;
    };
    const double mu = schema_mu(c.bought->questions);
    constexpr int points = 400;
    const auto exact = [&](double e) {
      double sum = 0;
      for (int i = 0; i < points; ++i) {
        const double z = -8 + 16 * (i + .5) / points;
        const double weight = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi) * 16 / points;
        sum += weight * of_draws(e - (mu * z + mu * mu / 2));
      }
      return sum;
    };
    for (const double e : {.8 * epsilon, epsilon, 1.2 * epsilon})
      EXPECT_LE(exact(e), delta_up(c.claimed, e) * (1 + 1e-6)) << e;
    EXPECT_LE(exact(epsilon), c.delta);
    const Guarantee draws_alone = analyze(c.mechanism, c.problem, c.claimed.who, 1).guarantee;
    EXPECT_GT(exact(draws_alone.epsilon0), 1.01 * delta_up(draws_alone, draws_alone.epsilon0));
    Guarantee schema_alone{.mu = mu, .who = c.claimed.who};
    EXPECT_GT(exact(.5 * epsilon), 1.5 * delta_up(schema_alone, .5 * epsilon));
  }
}

// What is published beside answers, levels and draws does not depend on a row.
TEST(FitBoughtFamily, ClaimsTheSameOfNeighbors) {
  const auto claims = [](const std::string& last) {
    std::string text = "a\n";
    for (int i = 0; i < 3000; ++i) text += i % 3 == 0 ? "x\n" : "y\n";
    const support::BoughtTable of({"a"}, "a", text + last);
    const PlanRequest request{.model = "categorical", .epsilon = 2, .delta = 1e-5};
    const FamilyRelease made = fit_bought_family(
        of.table(), plan_bought_family(request, of.cells.rows), request, Key::from_os(), {});
    const json c = to_json(made)["certificate"];
    return std::vector<json>{c["guarantee"], c["constants"]["bought_schema"], c["assumptions"]};
  };
  EXPECT_EQ(claims("x\n"), claims("\"" + std::string(2000, 'z') + "\"\n"));
}

TEST(FitBoughtFamily, VerifySeesWhatWasChanged) {
  const json file = to_json(BoughtDrawsCase("work", "categorical").fit());
  const auto failed = [&](const std::string& at, const json& value) {
    json changed = file;
    changed[json::json_pointer(at)] = value;
    changed["certificate"]["digest"] = file_digest(changed);
    return ::testing::PrintToString(verify(changed).failures);
  };
  const json& terms = file["certificate"]["constants"]["bought_schema"];
  EXPECT_EQ(failed("/model/kind", "categorical"), "{}");
  EXPECT_THAT(failed("/certificate/constants/bought_schema/levels_noise",
                     .8 * terms["levels_noise"].get<double>()),
              HasSubstr("guarantee.mu"));
  EXPECT_THAT(failed("/model/bought/columns/0/empty", 0.123), HasSubstr("off the grid"));
  EXPECT_THAT(failed("/model/preprocessing/columns/0/levels/0", "others"),
              HasSubstr("follows from the answers"));
  for (const char* const part : {"/model/bought", "/certificate/constants/bought_schema"}) {
    json without = file;
    const json::json_pointer at(part);
    without[at.parent_pointer()].erase(at.back());
    without["certificate"]["digest"] = file_digest(without);
    EXPECT_THAT(::testing::PrintToString(verify(without).failures), HasSubstr("model.bought"));
  }
  // What the draws alone cost is not what both do.
  EXPECT_THAT(failed("/certificate/guarantee/mu", 0), HasSubstr("guarantee.mu"));
}

TEST(FitBoughtFamily, IsEnteredOnceAndPaidWhereItIsRefused) {
  const testing::TempDir folder;
  const Ledger ledger =
      Ledger::create(folder.path("ledger"), 5, 1e-3, {}, {}, {.memory = folder.path("m")});
  FitOptions options;
  options.ledger = &ledger;
  const BoughtDrawsCase of("age", "mean");
  static_cast<void>(of.fit(Key::from_os(), options));
  ASSERT_EQ(ledger.read().entries.size(), 1U);
  EXPECT_THAT(ledger.read().entries[0].command, HasSubstr("conjugate, with its schema"));
  // What is refused once it is known is paid.
  std::string days = "day\n";
  for (int i = 0; i < 3000; ++i)
    days += std::to_string(1990 + i % 30) + "-0" + std::to_string(1 + i % 9) + "-17\n";
  const support::BoughtTable dates({"day"}, "day", days);
  const auto paid = [&] {
    static_cast<void>(fit_bought_family(dates.table(),
                                        plan_bought_family(of.request, dates.cells.rows),
                                        of.request, Key::from_os(), options));
  };
  EXPECT_THAT(paid, ThrowsMessage<BadInput>(HasSubstr("the budget is spent")));
  EXPECT_EQ(ledger.read().entries.size(), 2U);
  // The cover of a pair takes more than is left, which is seen before any noise.
  const BoughtDrawsCase names("name", "categorical");
  EXPECT_THROW(static_cast<void>(names.fit(Key::from_os(), options)), BudgetSpent);
  EXPECT_EQ(ledger.read().entries.size(), 2U);
  // No name is seen through the noise.
  EXPECT_THAT([&] { static_cast<void>(names.fit()); },
              ThrowsMessage<BadInput>(
                  ::testing::AllOf(HasSubstr("no text of 'name'"), HasSubstr("budget is spent"))));
  EXPECT_TRUE(of.fit(Key::from_seed(1)).certificate().is_void());
}

// Any answers lead to a range that the family takes.
TEST(FitBoughtFamily, AnyColumnOfNumbersIsDrawn) {
  const std::vector<std::string> tables{"5\n", "-3\n", "0\n1\n", "x\n", "\n"};
  for (const std::string& cell : tables) {
    std::string text = "a\n";
    for (int i = 0; i < 2000; ++i) text += cell;
    const support::BoughtTable of({"a"}, "a", text);
    for (const char* const model :
         {"rate", "waiting", "mean", "bounded-mean", "variance", "laplace"}) {
      SCOPED_TRACE(std::string(model) + " of " + cell);
      PlanRequest request{.model = model, .epsilon = 2, .delta = 1e-5};
      if (request.model == "variance" || request.model == "laplace") request.center = 2;
      const FamilyRelease made = fit_bought_family(
          of.table(), plan_bought_family(request, of.cells.rows), request, Key::from_os(), {});
      EXPECT_TRUE(verify(made).valid) << ::testing::PrintToString(verify(made).failures);
    }
  }
}

TEST(FitBoughtFamily, RefusesWhatItDoesNotTake) {
  const auto refused = [](PlanRequest request, const char* what) {
    if (request.model == "auto") request.model = "mean";
    EXPECT_THAT([&] { static_cast<void>(bought_family_request(request)); },
                ThrowsMessage<BadInput>(HasSubstr(what)));
  };
  refused({.adjacency = "add-remove", .rows_cap = 5}, "adjacency");
  refused({.prior = std::vector<double>{1}}, "prior");
  refused({.trim = std::vector<double>{1, 2}}, "trim");
  refused({.model = "rate", .calibration = "geumlek-rdp"}, "calibration");
  refused({.model = "variance"}, "is missing; give the known mean");
  refused({.intervals = true}, "intervals");
  refused({.model = "variance", .center = 1e300}, "center");
  EXPECT_THAT([] { static_cast<void>(family_shape({"age"}, "aged", "t.csv")); },
              ThrowsMessage<BadInput>(HasSubstr("no column")));
  BoughtDrawsCase several("work", "categorical");
  several.request.rows_per_person = 3;  // its theorem is for one row
  EXPECT_THAT([&] { static_cast<void>(several.fit()); },
              ThrowsMessage<BadInput>(::testing::AllOf(HasSubstr("rows_per_person"),
                                                       HasSubstr("buy the schema apart"))));
}

}  // namespace fit_bought_family_test
}  // namespace gibbsite
