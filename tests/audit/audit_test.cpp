// Every mechanism's claim against the worst pair that is known for it, and planted errors that must
// be found. Bounds are at confidence 1 - 1e-6, so a true claim is refuted by chance with
// probability 1e-6 at most, each; a bound falls below the share of its claim that is asserted with
// probability below 1e-6 too: it is five deviations of its estimate above it.
#include "gibbsite/audit/audit.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/ball.hpp"
#include "gibbsite/model/losses.hpp"
#include "gibbsite/run/fit.hpp"
#include "support/repeats.hpp"

namespace gibbsite::testing {
namespace audit_test {

using ::testing::HasSubstr;

constexpr double sure = 1 - 1e-6;

/// How a mechanism is audited here.
struct Trial {
  AuditShape shape{100, 2, 1};
  Budget budget{10, 1e-2};
  PlanOptions plan_options{};
  std::optional<double> prior_precision{};
  std::uint64_t pairs = 20000;
  double reach = 0.9;  ///< of the claim, at least
};

// Reaches below 0.9: the claim is larger than what any pair of its kind gives
// (docs/how-to/audit.md).
const std::map<std::string_view, Trial>& setups() {
  static const std::map<std::string_view, Trial> all{
      // No pair has the whole change of moments and that of gradients: 0.89 of the claim at most.
      {"whitened", {.shape = {60, 10, 1}, .pairs = 800, .reach = 0.6}},
      {"metric-path", {.shape = {60, 2, 1}, .pairs = 1200, .reach = 0.65}},
      // Without a center the slopes of a row and its other label are 1/2 each, not 1.
      {"metric-proximal", {.shape = {20, 2, 1}, .pairs = 600, .reach = 0.15}},
      {"path", {}},
      {"rejection", {.shape = {10, 2, 1}}},
      {"proximal", {.shape = {10, 2, 1}}},
      // The gap is counted in full on either side.
      {"averaged",
       {.shape = {5, 2, 1},
        .budget = {1, 0.45},
        .plan_options = {.tv = 0.1},
        .prior_precision = 50,
        .reach = 0.5}},
      {"dalalyan",
       {.shape = {5, 2, 1},
        .budget = {1, 0.45},
        .plan_options = {.tv = 0.1},
        .prior_precision = 50,
        .pairs = 4000,
        .reach = 0.4}},
      {"output", {}},
      // Only draws right behind the other table's have the whole ratio.
      {"output-pure", {.budget = {2, 1e-5}, .reach = 0.8}},
      // An (epsilon, delta) claim of Gaussian noise: delta is beyond counting.
      {"objective", {.budget = {4, 1e-5}, .reach = 0.3}},
      // And what curvature costs, which this pair has none of.
      {"objective-pure", {.budget = {2, 1e-5}, .reach = 0.7}},
  };
  return all;
}

// Draws from the Gibbs posterior leave unspent what a budget has beyond beta = 1: an audit is to
// see all of the claim, so a colder posterior is asked for.
void spend_all(PlanOptions& plan_options) {
  constexpr std::array of_posterior{"proximal", "metric-proximal", "rejection", "averaged",
                                    "dalalyan"};
  if (std::ranges::count(of_posterior, plan_options.mechanism) > 0) plan_options.beta = 1e9;
}

AuditCase case_of(std::string_view name) {
  const Trial& setup = setups().at(name);
  PlanOptions plan_options = setup.plan_options;
  plan_options.mechanism = name;
  spend_all(plan_options);
  return worst_known_case(setup.shape, setup.budget, plan_options, "", setup.prior_precision);
}
AuditOptions options_of(std::string_view name, std::uint64_t fewer = 1) {
  const std::uint64_t pairs = setups().at(name).pairs / fewer;
  return {.pairs = support::repeats(pairs, std::max<std::uint64_t>(pairs / 40, 20)),
          .pilot = support::repeats(std::max<std::uint64_t>(pairs / 8, 100), std::uint64_t{20}),
          .confidence = sure,
          .seed = 5};
}
AuditResult audited(const AuditCase& at, const AuditOptions& options) {
  return audit(at, *make_backend("cpu"), options);
}

class EveryMechanism : public ::testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Audit, EveryMechanism, ::testing::ValuesIn(mechanism_names()),
                         [](const auto& one) {
                           std::string out(one.param);
                           std::erase(out, '-');
                           return out;
                         });

TEST_P(EveryMechanism, KeepsItsClaimAndIsAuditedNearIt) {
  ASSERT_TRUE(setups().contains(GetParam())) << "no audit of this mechanism";
  const AuditCase at = case_of(GetParam());
  ASSERT_TRUE(at.plan.candidate().feasible) << at.plan.candidate().why;
  const AuditResult r = audited(at, options_of(GetParam()));
  EXPECT_FALSE(r.refuted);
  EXPECT_LE(r.mu_lower, r.mu_claimed);
  if (r.measure == AuditMeasure::epsilon) {
    EXPECT_LE(r.epsilon_lower, r.epsilon_claimed);
  }
  if (!support::sanitized) {
    EXPECT_GE(r.reach(), setups().at(GetParam()).reach);
  }
  EXPECT_EQ(r.of_table.size(), r.pairs);
  EXPECT_EQ(r.of_neighbor.size(), r.pairs);
}

// ---- Losses: their own worst labels, every mechanism that is cheap to run; and what is planted.

AuditCase case_of_loss(std::string_view loss, std::string_view name) {
  const Trial& setup = setups().at(name);
  PlanOptions plan_options = setup.plan_options;
  plan_options.mechanism = name;
  spend_all(plan_options);
  return worst_known_case(setup.shape, setup.budget, plan_options, loss, setup.prior_precision);
}

// All but the logistic losses, which every mechanism is audited with above, and the squared one,
// which has a bound in a ball alone and is audited there.
std::vector<std::string_view> audited_losses() {
  std::vector<std::string_view> out = loss_names();
  std::erase_if(out, [](std::string_view name) {
    return name == losses::logistic::name || name == losses::logistic_capped::name ||
           name == losses::squared::name;
  });
  return out;
}

class EveryLoss : public ::testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Audit, EveryLoss, ::testing::ValuesIn(audited_losses()),
                         [](const auto& one) {
                           std::string out(one.param);
                           std::erase(out, '-');
                           return out;
                         });

TEST_P(EveryLoss, KeepsItsClaimsAndIsAuditedNearThem) {
  for (const char* const name :
       {"path", "rejection", "output", "output-pure", "objective", "objective-pure"}) {
    const AuditCase at = case_of_loss(GetParam(), name);
    ASSERT_TRUE(at.plan.candidate().feasible) << name << ": " << at.plan.candidate().why;
    EXPECT_EQ(at.plan.problem.loss, GetParam());
    const AuditResult r = audited(at, options_of(name));
    EXPECT_FALSE(r.refuted) << name;
    // A two-signed slope can pay twice for what this pair does once, and curvature of 1 is four
    // times that of the logistic loss.
    const double least =
        std::string_view(name).starts_with("objective") ? 0.2 : setups().at(name).reach;
    if (!support::sanitized) {
      EXPECT_GE(r.reach(), least) << name;
    }
  }
}

// In a metric, whose prior is at 0: an amount's labels have all of the slope there.
TEST_P(EveryLoss, KeepsTheClaimOfAMetric) {
  const AuditCase at = case_of_loss(GetParam(), "metric-path");
  ASSERT_TRUE(at.plan.candidate().feasible) << at.plan.candidate().why;
  const AuditResult r = audited(at, options_of("metric-path"));
  EXPECT_FALSE(r.refuted);
  if (!support::sanitized) {
    EXPECT_GE(r.reach(), GetParam() == "poisson" ? 0.2 : 0.6);
  }
}

// Proposals, and chains that keep a gap: of the whole slope, as far from 0.
TEST_P(EveryLoss, KeepsTheClaimsOfDrawsFromThePosterior) {
  for (const char* const name : {"proximal", "metric-proximal", "averaged", "dalalyan"}) {
    const AuditCase at = case_of_loss(GetParam(), name);
    ASSERT_TRUE(at.plan.candidate().feasible) << name << ": " << at.plan.candidate().why;
    EXPECT_EQ(at.plan.problem.loss, GetParam());
    const bool in_metric = std::string_view(name).starts_with("metric");
    const AuditResult r = audited(at, options_of(name, in_metric ? 3 : 4));
    EXPECT_FALSE(r.refuted) << name;
    // Fewer pairs than of the logistic loss; in a metric the slopes are a tenth or less apart.
    if (!support::sanitized) {
      EXPECT_GE(r.reach(), in_metric ? 0 : setups().at(name).reach - 0.1) << name;
    }
  }
}

TEST_P(EveryLoss, PlantedErrorsAreFound) {
  if (support::sanitized) return;
  {
    AuditCase at = case_of_loss(GetParam(), "proximal");
    std::get<Proximal>(at.plan.candidates[at.plan.chosen].mechanism).beta *= 2;
    EXPECT_TRUE(audited(at, options_of("proximal", 4)).refuted);
  }
  {
    AuditCase at = case_of_loss(GetParam(), "averaged");
    std::get<Averaged>(at.plan.candidates[at.plan.chosen].mechanism).beta *= 4;
    EXPECT_TRUE(audited(at, options_of("averaged", 4)).refuted);
  }
  {
    AuditCase at = case_of_loss(GetParam(), "path");
    auto& m = std::get<Path>(at.plan.candidates[at.plan.chosen].mechanism);
    m.step_size /= 4;
    m.beta *= 4;
    m.prior_precision *= 4;
    EXPECT_TRUE(audited(at, options_of("path")).refuted);
  }
  {
    AuditCase at = case_of_loss(GetParam(), "output");
    std::get<OutputPerturbation>(at.plan.candidates[at.plan.chosen].mechanism).noise /= 2;
    EXPECT_TRUE(audited(at, options_of("output")).refuted);
  }
  {
    AuditCase at = case_of_loss(GetParam(), "rejection");
    std::get<Rejection>(at.plan.candidates[at.plan.chosen].mechanism).beta *= 2;
    EXPECT_TRUE(audited(at, options_of("rejection", 4)).refuted);
  }
}

// ---- Three classes: rows of the first one where the second is far ahead. On the reference
// backend, which every other one is held to.

TEST(AuditSoftmax, KeepsItsClaimsAndIsAuditedNearThem) {
  for (const char* const name : {"path", "output", "output-pure", "rejection"}) {
    const AuditCase at = case_of_loss("softmax", name);
    ASSERT_TRUE(at.plan.candidate().feasible) << name << ": " << at.plan.candidate().why;
    EXPECT_EQ(at.plan.problem.loss, "softmax-3");
    const AuditResult r = audited(at, options_of(name, 4));
    EXPECT_FALSE(r.refuted) << name;
    if (!support::sanitized) {
      // Pure noise in six coordinates: fewer draws are right behind the other table's.
      const bool pure = std::string_view(name).ends_with("pure");
      EXPECT_GE(r.reach(), pure ? 0.35 : setups().at(name).reach - 0.05) << name;
    }
  }
  // Without a center a row and its other label differ by half of what they might.
  const AuditCase at = case_of_loss("softmax", "metric-path");
  ASSERT_TRUE(at.plan.candidate().feasible) << at.plan.candidate().why;
  const AuditResult r = audited(at, options_of("metric-path"));
  EXPECT_FALSE(r.refuted);
  if (!support::sanitized) {
    EXPECT_GE(r.reach(), 0.3);
  }
}

// Its pair has no curvature, and one of two corners that the profile adds up.
TEST(AuditSoftmax, KeepsTheClaimsOfNoiseInTheSlope) {
  for (const char* const name : {"objective", "objective-pure"}) {
    const AuditCase at = case_of_loss("softmax", name);
    ASSERT_TRUE(at.plan.candidate().feasible) << at.plan.candidate().why;
    const AuditResult r = audited(at, options_of(name));
    EXPECT_FALSE(r.refuted) << name;
    if (!support::sanitized) {
      EXPECT_GE(r.reach(), 0.2) << name;
    }
  }
}

TEST(AuditSoftmax, KeepsTheClaimsOfDrawsFromThePosterior) {
  for (const char* const name : {"proximal", "metric-proximal", "averaged", "dalalyan"}) {
    const AuditCase at = case_of_loss("softmax", name);
    ASSERT_TRUE(at.plan.candidate().feasible) << name << ": " << at.plan.candidate().why;
    const bool proposes = name == std::string_view("proximal");
    AuditOptions options = options_of(name, 40);
    if (!proposes) options.pairs = options.pilot = 20;  // slow: only that nothing is refuted
    const AuditResult r = audited(at, options);
    EXPECT_FALSE(r.refuted) << name;
    if (proposes && !support::sanitized) {
      EXPECT_GE(r.reach(), 0.4) << name;
    }
  }
}

// ---- In a ball: rows whose slopes differ most at its edge, where the chain starts.

AuditCase case_in_ball(std::string_view loss, double ball, double steps) {
  const Trial& setup = setups().at("path");
  PlanOptions plan_options{.mechanism = "path"};
  plan_options.iterations = steps;
  plan_options.ball = ball;
  return worst_known_case(setup.shape, setup.budget, plan_options, loss);
}

TEST(AuditBall, KeepsItsClaimsAndIsAuditedNearThem) {
  for (const char* const loss : {"logistic", "squared", "huber"}) {
    for (const double ball : {0.5, 5.0}) {
      for (const double steps : {1.0, 4.0}) {
        const AuditCase at = case_in_ball(loss, ball, steps);
        ASSERT_TRUE(at.plan.candidate().feasible) << at.plan.candidate().why;
        EXPECT_EQ(at.plan.problem.loss, loss);
        const AuditResult r = audited(at, options_of("path", 4));
        EXPECT_FALSE(r.refuted) << loss << ' ' << ball << ' ' << steps;
        if (!support::sanitized) {
          EXPECT_GE(r.reach(), 0.8) << loss << ' ' << ball << ' ' << steps;
        }
      }
    }
  }
}

// A claim with labels half as far, and that of a ball of a tenth of the radius.
TEST(AuditBall, ALabelBoundOrARadiusThatIsTooSmallIsFound) {
  if (support::sanitized) return;
  const double true_difference = squared_difference_up(5, 5);
  for (const double claimed : {squared_difference_up(5, 2.5), squared_difference_up(0.5, 5)}) {
    AuditCase at = case_in_ball("squared", 5, 1);
    at.plan.candidates[at.plan.chosen].guarantee.mu *= claimed / true_difference;
    EXPECT_TRUE(audited(at, options_of("path", 4)).refuted) << claimed;
  }
}

TEST(AuditBall, ThereIsNoClaimOfTheSquaredLossWithoutOne) {
  for (const std::string_view name : mechanism_names()) {
    const AuditCase at = case_of_loss("squared", name);
    EXPECT_FALSE(at.plan.candidate().feasible) << name;
    EXPECT_THROW(audited(at, options_of("path")), Infeasible) << name;
  }
}

// All answers of `whitened`, a row with another of three labels: as near as of two classes. With
// half the noise it is found.
TEST(AuditSoftmax, WhitenedKeepsItsClaimAndIsAuditedNearIt) {
  AuditCase at = case_of_loss("softmax", "whitened");
  ASSERT_TRUE(at.plan.candidate().feasible) << at.plan.candidate().why;
  EXPECT_EQ(at.plan.problem.loss, "softmax-3");
  const AuditResult r = audited(at, options_of("whitened"));
  EXPECT_FALSE(r.refuted);
  if (support::sanitized) return;
  EXPECT_GE(r.reach(), 0.5);
  auto& s = std::get<Whitened>(at.plan.candidates[at.plan.chosen].mechanism);
  s.query_mu *= 2;
  const AuditResult half = audited(at, options_of("whitened"));
  EXPECT_TRUE(half.refuted) << half.reach();
}

// The claim of a loss whose residual is 1 long and not sqrt(2).
TEST(AuditSoftmax, ASensitivityWithoutTheRootIsFound) {
  if (support::sanitized) return;
  for (const char* const name : {"path", "output"}) {
    AuditCase at = case_of_loss("softmax", name);
    Guarantee& claim = at.plan.candidates[at.plan.chosen].guarantee;
    claim.mu /= std::sqrt(2.0);
    const AuditResult r = audited(at, options_of(name, 4));
    EXPECT_TRUE(r.refuted) << name << ": " << r.reach();
  }
}

// ---- Planted errors: old claims beside other settings.

template <class M>
M& settings_of(AuditCase& at) {
  return std::get<M>(at.plan.candidates[at.plan.chosen].mechanism);
}
void expect_refuted(const AuditCase& at, std::string_view name, std::uint64_t fewer = 1) {
  if (support::sanitized) return;  // too few runs there
  const AuditResult r = audited(at, options_of(name, fewer));
  EXPECT_TRUE(r.refuted) << name << ": " << r.reach();
  EXPECT_GT(r.reach(), 1) << name;
}

TEST(AuditPlanted, HalfTheNoiseIsFound) {
  {
    AuditCase at = case_of("path");  // a step four times shorter, with four times the drift
    auto& m = settings_of<Path>(at);
    m.step_size /= 4;
    m.beta *= 4;
    m.prior_precision *= 4;
    expect_refuted(at, "path");
  }
  {
    AuditCase at = case_of("output");
    settings_of<OutputPerturbation>(at).noise /= 2;
    expect_refuted(at, "output");
  }
  {
    AuditCase at = case_of("output-pure");
    settings_of<PureOutputPerturbation>(at).noise *= 2;
    expect_refuted(at, "output-pure");
  }
  {
    AuditCase at = case_of("objective-pure");
    settings_of<PureObjectivePerturbation>(at).noise *= 2;
    expect_refuted(at, "objective-pure");
  }
}

TEST(AuditPlanted, TwiceTheTemperatureIsFound) {
  {
    AuditCase at = case_of("rejection");
    settings_of<Rejection>(at).beta *= 2;
    expect_refuted(at, "rejection", 4);
  }
  {
    AuditCase at = case_of("proximal");
    settings_of<Proximal>(at).beta *= 2;
    expect_refuted(at, "proximal", 4);
  }
}

TEST(AuditPlanted, TwiceTheSensitivityIsFound) {
  // Two rows a person, and the claim of one.
  for (const std::string_view name : {"path", "output"}) {
    AuditCase at = case_of(name);
    Trial two = setups().at(name);
    two.budget.rows_per_person = 2;
    PlanOptions plan_options;
    plan_options.mechanism = name;
    const AuditCase wider = worst_known_case(two.shape, two.budget, plan_options);
    // Rows of the pair of two at the center of the pair of one.
    at.table = wider.table;
    at.neighbor = wider.neighbor;
    expect_refuted(at, name);
    // The claim of two is kept by the same rows.
    EXPECT_FALSE(audited(wider, options_of(name)).refuted) << name;
  }
}

TEST(AuditPlanted, AStepUnpaidIsFound) {
  PlanOptions plan_options{.mechanism = "path"};
  plan_options.iterations = 1;
  AuditCase at = worst_known_case({100, 2, 1}, {10, 1e-2}, plan_options);
  EXPECT_FALSE(audited(at, options_of("path")).refuted);
  settings_of<Path>(at).iterations = 2;
  expect_refuted(at, "path");
}

TEST(AuditPlanted, QuestionsAtHalfTheirPriceAreFound) {
  {
    AuditCase at = case_of("whitened");
    settings_of<Whitened>(at).query_mu *= 2;
    expect_refuted(at, "whitened");
  }
  {
    AuditCase at = case_of("metric-path");  // of its chain; the metric stays
    auto& chain = settings_of<MetricPath>(at).chain;
    chain.step_size /= 4;
    chain.beta *= 4;
    chain.prior_precision *= 4;
    expect_refuted(at, "metric-path");
  }
}

// ---- Pairs.

TEST(AuditPair, AddRemoveTakesARowAway) {
  for (const std::string_view name : {"path", "output", "whitened"}) {
    Trial setup = setups().at(name);
    setup.budget.adjacency = Adjacency::add_remove;
    PlanOptions plan_options;
    plan_options.mechanism = name;
    const AuditCase at = worst_known_case(setup.shape, setup.budget, plan_options);
    EXPECT_EQ(at.neighbor.rows() + 1, at.table.rows()) << name;
    const AuditResult r = audited(at, options_of(name, 2));
    EXPECT_FALSE(r.refuted) << name;
    if (!support::sanitized) {
      EXPECT_GT(r.reach(), name == "whitened" ? 0.3 : 0.85) << name;
    }
  }
}

// Whitened takes amounts and counts: the pair comes about as near as of classes.
TEST(AuditPair, WhitenedOfAmountsAndCounts) {
  for (const char* const loss : {"huber", "poisson"}) {
    AuditCase at = case_of_loss(loss, "whitened");
    const AuditResult r = audited(at, options_of("whitened"));
    EXPECT_FALSE(r.refuted) << loss;
    // Labels of 0 and 1 at a mean of a tenth: slopes 1 apart, not 2.
    const bool counts = loss == std::string_view("poisson");
    if (!support::sanitized) {
      EXPECT_GT(r.reach(), counts ? 0.2 : 0.5) << loss;
    }
    if (counts) continue;
    settings_of<Whitened>(at).query_mu *= 2;
    expect_refuted(at, "whitened");
  }
}

TEST(AuditPair, RowsOfZerosChangeNoBit) {
  const AuditCase at = case_of("path");
  ASSERT_TRUE(at.zeros_left_out);
  const std::uint64_t rows = at.plan.problem.rows;
  ASSERT_EQ(at.table.rows(), 2U);  // the row and one of zeros
  Dataset whole = at.table;
  while (whole.rows() < rows) {
    whole.sparse().begin.push_back(whole.sparse().value.size());
    whole.y.push_back(whole.y.size() % 2 == 0 ? 1.0F : -1.0F);
  }
  const auto backend = make_backend("cpu");
  Plan few = at.plan;
  few.candidates[few.chosen].guarantee.who.adjacency = Adjacency::add_remove;
  EXPECT_EQ(fit(at.model, whole, at.plan, *backend, Key::from_seed(3)).model().draws,
            fit(at.model, at.table, few, *backend, Key::from_seed(3)).model().draws);
}

Dataset table_of_rows(const std::vector<std::vector<float>>& rows, bool sparse, bool intercept) {
  Dataset out;
  out.schema.label_name = "y";
  out.schema.label = TwoClasses{.positive = std::string("1")};
  out.schema.row_norm = 1;
  out.schema.intercept = intercept;
  for (std::size_t j = 0; j < rows[0].size(); ++j) {
    out.schema.columns.push_back({.name = fmt::format("x{}", j), .type = ColumnType::number});
  }
  if (sparse) out.storage = SparseTable{};
  for (std::vector<float> x : rows) {
    if (intercept) x.push_back(1);
    for (std::uint32_t j = 0; sparse && j < x.size(); ++j) {
      if (x[j] == 0) continue;
      out.sparse().feature.push_back(j);
      out.sparse().value.push_back(x[j]);
    }
    if (sparse) {
      out.sparse().begin.push_back(out.sparse().value.size());
    } else {
      out.dense().insert(out.dense().end(), x.begin(), x.end());
    }
    out.y.push_back(out.y.size() % 4 < 2 ? 1.0F : -1.0F);
  }
  return out;
}

Dataset small_table(bool sparse, bool intercept) {
  std::vector<std::vector<float>> rows;
  for (int i = 0; i < 50; ++i) {
    // Little in the second.
    rows.push_back({0.5F * static_cast<float>(i % 3), 0.01F * static_cast<float>(i % 5),
                    i % 2 == 0 ? 0.5F : -0.5F});
    clip_row_to_norm(rows.back(), 1);
  }
  return table_of_rows(rows, sparse, intercept);
}

AuditCase case_of_table(const Dataset& data) {
  const Model model = logistic_regression();
  return table_case(
      data, model,
      plan(model.constants(data.schema, data.rows()), {10, 1e-2}, {.mechanism = "output"}));
}

// The audit of a small budget covers all answers, with the lengths and the second question.
TEST(AuditPair, OfASmallBudgetOfWhitened) {
  const Dataset data = small_table(false, true);
  const Model model = logistic_regression();
  // The rule is for rows that no norm scales down, and what it asks for every other one too.
  const Problem problem = model.constants(data.schema, data.rows());
  Problem numbers = problem;
  const double columns = static_cast<double>(problem.features) - 1;
  numbers.typical_row_norm = std::sqrt(1 + columns / 12);
  numbers.row_norm = std::sqrt(columns + 1);
  Plan planned = plan(numbers, {4, 1e-2}, {.mechanism = "whitened"});
  planned.problem = problem;
  AuditCase at = table_case(data, model, planned);
  ASSERT_TRUE(is_small_budget(settings_of<Whitened>(at)));
  const AuditResult r = audited(at, options_of("whitened"));
  EXPECT_FALSE(r.refuted);
  if (!support::sanitized) {
    EXPECT_GT(r.reach(), 0.3);
  }
}

TEST(AuditPair, OfATableReplacesItsFirstRowWhereItHasLeast) {
  for (const bool sparse : {false, true}) {
    for (const bool intercept : {false, true}) {
      const Dataset data = small_table(sparse, intercept);
      const AuditCase at = case_of_table(data);
      EXPECT_FALSE(at.synthetic);
      const Rows was = data.view(), here = at.table.view(), there = at.neighbor.view();
      ASSERT_EQ(here.rows, 50U);
      double squares = 0;
      for (std::size_t j = 0; j < here.cols; ++j) {
        EXPECT_EQ(here(0, j), there(0, j));
        if (j < 3) squares += static_cast<double>(here(0, j)) * here(0, j);
        for (std::size_t i = 1; i < 50; ++i) {
          EXPECT_EQ(here(i, j), was(i, j));
          EXPECT_EQ(there(i, j), was(i, j));
        }
      }
      EXPECT_LE(squares, 1);
      EXPECT_GT(squares, 1 - 1e-6);
      EXPECT_GT(std::fabs(here(0, 1)), 0.99);
      if (intercept) {
        EXPECT_EQ(here(0, 3), 1);
      }
      EXPECT_EQ(at.table.y[0], -at.neighbor.y[0]);
      EXPECT_TRUE(std::equal(at.table.y.begin() + 1, at.table.y.end(), data.y.begin() + 1));
      const AuditResult r = audited(at, {.pairs = 2000, .pilot = 200, .confidence = sure});
      EXPECT_FALSE(r.refuted);
      if (!support::sanitized) {
        EXPECT_GT(r.reach(), 0.1);
      }
    }
  }
}

// By hand: of these rows the second moments are 2.5 along (1, 1, 0), 1/2 along (1, -1, 0), 1 along
// the third axis, and 1.5 along the first two. Every row is as far along (1, 1, 0), so with the
// intercept's row and column there would be a direction in which they have nothing.
TEST(AuditPair, OfATableIsAlongTheLastEigenvectorWhateverInterceptAndOffset) {
  const std::vector<std::vector<float>> rows{{0.75F, 0.25F, 0.5F},
                                             {0.25F, 0.75F, 0.5F},
                                             {0.75F, 0.25F, -0.5F},
                                             {0.25F, 0.75F, -0.5F},
                                             {0.5F, 0.5F, 0}};
  for (const bool sparse : {false, true}) {
    for (const bool intercept : {false, true}) {
      for (const bool offset : {false, true}) {
        Dataset data = table_of_rows(rows, sparse, intercept);
        if (offset) data.offset = {-3, 0, -1, -2, -50};
        const AuditCase at = case_of_table(data);
        const Rows x = at.table.view();
        EXPECT_NEAR(std::fabs(x(0, 0)), std::sqrt(0.5), 1e-6) << sparse << intercept << offset;
        EXPECT_NEAR(x(0, 1), -x(0, 0), 1e-6) << sparse << intercept << offset;
        EXPECT_NEAR(x(0, 2), 0, 1e-6) << sparse << intercept << offset;
        if (intercept) {
          EXPECT_EQ(x(0, 3), 1);
        }
        EXPECT_EQ(at.table.offset, data.offset);
      }
    }
  }
}

// Beyond 500 features an eigenvector is dear.
TEST(AuditPair, OfAWideTableIsAlongTheAxisWithLeast) {
  std::vector<std::vector<float>> rows(3, std::vector<float>(501, 0.04F));
  for (std::vector<float>& row : rows) row[400] = 0.02F;
  for (const bool sparse : {false, true}) {
    for (const bool intercept : {false, true}) {
      const AuditCase at = case_of_table(table_of_rows(rows, sparse, intercept));
      const Rows x = at.table.view();
      for (std::size_t j = 0; j < x.cols; ++j) {
        EXPECT_EQ(x(0, j), j == 400 || j == 501 ? 1 : 0) << j;
      }
    }
  }
}

TEST(AuditPair, IllegalRequestsAreRefused) {
  const PlanOptions path{.mechanism = "path"};
  EXPECT_THROW(worst_known_case({100, 1, 1}, {1, 1e-6}, path), BadInput);
  EXPECT_THROW(worst_known_case({1, 2, 1}, {1, 1e-6}, path), BadInput);
  EXPECT_THROW(worst_known_case({100, 2, 0}, {1, 1e-6}, path), BadInput);
  EXPECT_THROW(worst_known_case({100, 2, 1}, {1, 1e-6, Adjacency::replace_one, 1, 2}, path),
               BadInput);
  EXPECT_THROW(worst_known_case({100, 2, 1}, {-1, 1e-6}, path), BadInput);
  EXPECT_THROW(worst_known_case({100, 2, 1}, {1, 1e-6}, {.mechanism = "auto"}), BadInput);
  const Dataset data = small_table(false, false);
  const Model model = logistic_regression();
  const Plan two = plan(model.constants(data.schema, 50), {10, 1e-2, Adjacency::replace_one, 2, 1},
                        {.mechanism = "output"});
  EXPECT_THROW(table_case(data, model, two), BadInput);
  Dataset unlabeled = data;
  unlabeled.y.clear();
  const Plan one = plan(model.constants(data.schema, 50), {10, 1e-2}, {.mechanism = "output"});
  EXPECT_THROW(table_case(unlabeled, model, one), BadInput);
  Dataset mapped = data;
  mapped.storage = std::make_shared<const Rows>(data.view());
  EXPECT_THROW(table_case(mapped, model, one), BadInput);
}

// ---- Runs.

TEST(AuditRun, RepeatsWithItsSeedAndRunsNoNoiseTwice) {
  const AuditCase at = case_of("output");
  const AuditOptions options{.pairs = 300, .pilot = 300, .confidence = 0.9, .seed = 8};
  const AuditResult a = audited(at, options), b = audited(at, options);
  EXPECT_EQ(a.of_table, b.of_table);
  EXPECT_EQ(a.threshold, b.threshold);
  EXPECT_EQ(a.mu_lower, b.mu_lower);
  AuditOptions other = options;
  other.seed = 9;
  EXPECT_NE(audited(at, other).of_table, a.of_table);
  // More pairs than one run of 2048 draws has: the next has other noise.
  other.pairs = 4096;
  const AuditResult many = audited(at, other);
  std::size_t same = 0;
  for (std::size_t j = 0; j < 2048; ++j) same += many.of_table[j] == many.of_table[2048 + j];
  EXPECT_LT(same, 50U);  // of the release grid; 5 expected
}

TEST(AuditRun, BothRunsOfAPairHaveTheSameNoise) {
  // What linear losses move is the same in every pair, but for the release grid.
  for (const std::string_view name : {"output", "path"}) {
    const AuditResult r = audited(case_of(name), {.pairs = 300, .pilot = 50, .confidence = 0.9});
    const double moved = r.of_neighbor[0] - r.of_table[0];
    EXPECT_GT(moved, 0) << name;
    for (std::size_t j = 0; j < 300; ++j) {
      EXPECT_NEAR(r.of_neighbor[j] - r.of_table[j], moved, 0.02 * moved) << name;
    }
    EXPECT_EQ(r.table_alone, 0U) << name;
  }
}

TEST(AuditRun, CountsAreThoseOfItsSamples) {
  const AuditResult r = audited(case_of("output"), {.pairs = 500, .pilot = 100, .confidence = 0.9});
  std::uint64_t k10 = 0, k01 = 0, above = 0;
  for (std::size_t j = 0; j < 500; ++j) {
    const bool table = r.of_table[j] > r.threshold, neighbor = r.of_neighbor[j] > r.threshold;
    above += table ? 1 : 0;
    k10 += neighbor && !table ? 1 : 0;
    k01 += table && !neighbor ? 1 : 0;
  }
  EXPECT_EQ(r.neighbor_alone, k10);
  EXPECT_EQ(r.table_alone, k01);
  EXPECT_EQ(r.table_above, above);
  EXPECT_EQ(r.mu_lower, coupled_mu_down(k10, k01, 500, 0.9));
}

TEST(AuditRun, ABoundAboveItsClaimRefutesAtOneInAMillion) {
  // A claim a little below the truth: the bound at 50 % is above it, that at 1 - 1e-6 is not.
  AuditCase at = case_of("output");
  AuditOptions options{.pairs = 2000, .pilot = 200, .confidence = 0.5, .seed = 5};
  at.plan.candidates[at.plan.chosen].guarantee.mu *= 0.93;
  const AuditResult chance = audited(at, options);
  EXPECT_GT(chance.reach(), 1);
  EXPECT_FALSE(chance.refuted);
  at.plan.candidates[at.plan.chosen].guarantee.mu *= 0.5;
  EXPECT_TRUE(audited(at, options).refuted);
}

TEST(AuditRun, ShowsProgressAndStops) {
  const AuditCase at = case_of("output");
  std::uint64_t last = 0;
  AuditOptions options{.pairs = 5000, .pilot = 100};
  options.progress = [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GT(done, last);
    EXPECT_EQ(all, 5100U);
    last = done;
  };
  audited(at, options);
  EXPECT_EQ(last, 5100U);
  std::atomic<bool> stop{false};
  options.stop = &stop;
  options.progress = [&](std::uint64_t, std::uint64_t) { stop = true; };
  EXPECT_THROW(audited(at, options), Interrupted);
}

TEST(AuditRun, IllegalOptionsAreRefused) {
  const AuditCase at = case_of("output");
  EXPECT_THROW(audited(at, {.pairs = 0}), BadInput);
  EXPECT_THROW(audited(at, {.pairs = 10, .pilot = 0}), BadInput);
  EXPECT_THROW(audited(at, {.pairs = 10, .pilot = 10, .confidence = 2}), BadInput);
  EXPECT_THROW(audited(at, {.pairs = 10, .pilot = 10, .confidence = 1}), BadInput);
  AuditCase two = at;
  two.plan.budget.draws = 2;
  EXPECT_THROW(audited(two, {.pairs = 10, .pilot = 10}), BadInput);
  const AuditCase far = worst_known_case({1000, 2, 1}, {1, 1e-9}, {.mechanism = "dalalyan"});
  EXPECT_THROW(audited(far, {.pairs = 10, .pilot = 10}), Infeasible);
}

}  // namespace audit_test
}  // namespace gibbsite::testing
