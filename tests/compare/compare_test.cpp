// Splits, spreads, and which rows a comparison fits and judges by.
#include "gibbsite/compare/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "gibbsite/core/error.hpp"
#include "gibbsite/data/reshape.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/run/fit.hpp"
#include "support/people.hpp"

namespace gibbsite::testing {
namespace compare_test {

using ::testing::HasSubstr;

/// Two mechanisms of different losses at two budgets.
std::vector<Plan> plans_for(const Schema& schema, std::uint64_t rows) {
  std::vector<Plan> out;
  for (const double epsilon : {1.0, 30.0}) {
    const Budget budget{epsilon, 1e-6, {}, 1, 1};
    out.push_back(plan(glm("logistic").constants(schema, rows), budget, {.mechanism = "output"}));
    out.push_back(plan(glm("logistic-capped").constants(schema, rows), budget,
                       {.mechanism = "path", .iterations = 40}));
  }
  for (const Plan& one : out) EXPECT_TRUE(one.candidate().feasible) << one.candidate().why;
  return out;
}

/// Hands the rows on and keeps a copy of what it was given.
class WatchedBackend : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  [[nodiscard]] std::string description() const override { return inner_->description(); }
  std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y, const Loss& loss) override {
    std::vector<float> first;
    for (std::size_t i = 0; i < x.rows; ++i) first.push_back(x(i, 0));
    firsts.push_back(first);
    labels.emplace_back(y.begin(), y.end());
    return inner_->load(x, y, loss);
  }
  std::vector<std::vector<float>> firsts, labels;  ///< of each load: column 0, y

 private:
  std::unique_ptr<Backend> inner_ = make_backend("reference");
};

/// Row i is known by its first number, (i + 1)/1024.
Dataset numbered(std::size_t n) {
  Dataset data = support::people(n, 2, 7);
  for (std::size_t i = 0; i < n; ++i) data.dense()[3 * i] = static_cast<float>(i + 1) / 1024;
  return data;
}

TEST(Split, IsAPartitionAndRepeatsWithItsSeed) {
  for (const std::uint64_t seed : {0U, 1U, 99U}) {
    const Split split = split_rows(101, 30, seed);
    EXPECT_EQ(split.held_out.size(), 30U);
    std::vector<std::size_t> all = split.training;
    all.insert(all.end(), split.held_out.begin(), split.held_out.end());
    std::ranges::sort(all);
    std::vector<std::size_t> each(101);
    std::iota(each.begin(), each.end(), std::size_t{0});
    EXPECT_EQ(all, each);
    EXPECT_TRUE(std::ranges::is_sorted(split.training));
    EXPECT_EQ(split_rows(101, 30, seed).held_out, split.held_out);
    EXPECT_NE(split_rows(101, 30, seed + 1).held_out, split.held_out);
  }
}

// C(5, 2) = 10 sets with a chance of 1/10 each: over 20,000 seeds a deviation of 42.4, and 5.5 of
// them are missed by chance with a probability below 10 * 3.8e-8.
TEST(Split, EverySetIsAsLikely) {
  std::map<std::vector<std::size_t>, int> counts;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) ++counts[split_rows(5, 2, seed).held_out];
  EXPECT_EQ(counts.size(), 10U);
  for (const auto& [set, count] : counts) EXPECT_NEAR(count, 2000, 5.5 * 42.4);
}

TEST(Split, ShareIsRoundedAndLeavesRowsOnEitherSide) {
  EXPECT_EQ(held_out_rows(10, 0.25), 3U);  // 2.5
  EXPECT_EQ(held_out_rows(2, 0.5), 1U);
  const auto message = [](std::uint64_t rows, double share) -> std::string {
    try {
      held_out_rows(rows, share, "--held-out");
    } catch (const BadInput& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(10, 0.04), HasSubstr("--held-out: 0.04 of 10 rows leaves no row to judge"));
  EXPECT_THAT(message(10, 0.96), HasSubstr("leaves no row to fit"));
  for (const double share : {0.0, 1.0, -1.0, 2.0, std::nan("")})
    EXPECT_THAT(message(10, share), HasSubstr("--held-out: must lie strictly")) << share;
}

TEST(Spread, IsMeanAndDeviationOfTheSample) {
  const Spread s = spread_of(std::vector<double>{1, 2, 6});
  EXPECT_DOUBLE_EQ(s.mean, 3);
  EXPECT_DOUBLE_EQ(s.sd, std::sqrt(7));  // (4 + 1 + 9)/2
  EXPECT_DOUBLE_EQ(spread_of(std::vector<double>{4}).mean, 4);
  EXPECT_TRUE(std::isnan(spread_of(std::vector<double>{4}).sd));
  EXPECT_DOUBLE_EQ(spread_of(std::vector<double>{4, 4}).sd, 0);
  EXPECT_TRUE(
      std::isnan(spread_of(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}).mean));
  EXPECT_TRUE(std::isnan(spread_of({}).mean));

  std::vector<Trial> trials(2);
  trials[0].scores = {10, 0.5, 0.7, 0.75, 0.5};
  trials[1].scores = {10, 0.75, 0.5, 0.25, 0.5};
  trials[0].seconds = 1;
  trials[1].seconds = 4;
  const Scores scores = scores_of(trials);
  EXPECT_DOUBLE_EQ(scores.accuracy.mean, 0.625);
  EXPECT_DOUBLE_EQ(scores.accuracy.sd, 0.125 * std::sqrt(2));
  EXPECT_DOUBLE_EQ(scores.log_loss.mean, 0.6);
  EXPECT_DOUBLE_EQ(scores.auc.mean, 0.5);
  EXPECT_DOUBLE_EQ(scores.seconds.mean, 2.5);
  EXPECT_DOUBLE_EQ(scores.seconds.sd, 1.5 * std::sqrt(2));
}

TEST(Compare, EveryFitSeesItsTrainingRowsAndNoOther) {
  const Dataset data = numbered(50);
  const std::vector<Plan> plans = plans_for(data.schema, 35);
  WatchedBackend backend;
  const Comparison found = compare(data, {}, plans, backend, {.first_seed = 5, .seeds = 3});
  EXPECT_EQ(found.training_rows, 35U);
  EXPECT_EQ(found.held_out_rows, 15U);
  ASSERT_GE(backend.firsts.size(), 3 * plans.size());
  std::set<std::vector<float>> splits;
  for (std::uint64_t seed = 5; seed < 8; ++seed) {
    std::vector<float> first, labels;
    for (const std::size_t i : split_rows(50, 15, seed).training) {
      first.push_back(static_cast<float>(i + 1) / 1024);
      labels.push_back(data.y[i]);
    }
    splits.insert(first);
    for (std::size_t load = 0; load < backend.firsts.size(); ++load) {
      if (backend.firsts[load] == first) {
        EXPECT_EQ(backend.labels[load], labels);
      }
    }
    EXPECT_GE(std::ranges::count(backend.firsts, first), std::ssize(plans));
  }
  for (const auto& first : backend.firsts) EXPECT_TRUE(splits.contains(first));
}

TEST(Compare, FiguresAreThoseOfTheSameFitByHand) {
  const Dataset data = support::people(80, 2, 3);
  const std::vector<Plan> plans = plans_for(data.schema, 60);
  const auto backend = make_backend("reference");
  std::vector<std::uint64_t> done;
  CompareOptions options{.first_seed = 2, .seeds = 2};
  options.progress = [&](std::uint64_t now, std::uint64_t all) {
    EXPECT_LE(now, all);
    EXPECT_GE(now, done.empty() ? 0 : done.back());
    done.push_back(now);
  };
  const Comparison found = compare(data, {.share = 0.25}, plans, *backend, options);
  for (std::size_t k = 0; k < 2; ++k) {
    const Split split = split_rows(80, 20, 2 + k);
    const Dataset training = select_rows(data, split.training),
                  test = select_rows(data, split.held_out);
    for (std::size_t p = 0; p < plans.size(); ++p) {
      const Release release =
          fit(glm(plans[p].problem.loss), training, plans[p], *backend, Key::from_seed(2 + k));
      const Evaluation by_hand =
          evaluate(predict_probabilities(release.model(), test.view()), test.y);
      const Trial& trial = found.of_plans[p][k];
      EXPECT_EQ(trial.seed, 2 + k);
      EXPECT_EQ(trial.scores.rows, 20U);
      EXPECT_EQ(trial.scores.accuracy, by_hand.accuracy);
      EXPECT_EQ(trial.scores.log_loss, by_hand.log_loss);
      EXPECT_GT(trial.seconds, 0);
    }
    const auto ordinary = non_private_fit(training, "logistic");
    ASSERT_TRUE(ordinary);
    EXPECT_EQ(found.non_private[k].scores.log_loss,
              evaluate(predict_probabilities(*ordinary, test.view()), test.y).log_loss);
  }
  // The model with next to no noise scores better than the noisy one on the same rows.
  EXPECT_LT(scores_of(found.of_plans[2]).log_loss.mean, scores_of(found.of_plans[0]).log_loss.mean);
}

TEST(Compare, ATableOfItsOwnJudgesAndAllRowsAreFitted) {
  const Dataset data = numbered(40);
  Dataset test = support::people(12, 2, 9);
  // All test rows are of one class, so a majority of the training rows is right for all of them or
  // for none.
  const auto positives = std::ranges::count(data.y, 1.0F);
  std::ranges::fill(test.y, positives >= 20 ? -1.0F : 1.0F);
  const std::vector<Plan> plans = plans_for(data.schema, 40);
  WatchedBackend backend;
  const Comparison found =
      compare(data, {.table = &test}, std::span(plans).first(1), backend, {.seeds = 2});
  EXPECT_EQ(found.training_rows, 40U);
  EXPECT_EQ(found.held_out_rows, 12U);
  for (const auto& first : backend.firsts) EXPECT_EQ(first.size(), 40U);
  EXPECT_EQ(found.majority[0].scores.accuracy, 0);
  EXPECT_TRUE(std::isnan(found.majority[0].scores.auc));
  EXPECT_EQ(found.non_private[0].scores.log_loss, found.non_private[1].scores.log_loss);
  EXPECT_NE(found.of_plans[0][0].scores.log_loss, found.of_plans[0][1].scores.log_loss);
}

TEST(Compare, RefusesWhatCannotBeCompared) {
  const Dataset data = support::people(40, 2, 3);
  const std::vector<Plan> plans = plans_for(data.schema, 28);
  const auto backend = make_backend("reference");
  EXPECT_THROW(compare(data, {}, plans, *backend, {.seeds = 0}), BadInput);
  Dataset unlabeled = data;
  unlabeled.y.clear();
  EXPECT_THROW(compare(unlabeled, {}, plans, *backend, {}), BadInput);
  EXPECT_THROW(compare(data, {.table = &unlabeled}, plans, *backend, {}), BadInput);
  const Dataset wider = support::people(40, 3, 3);
  EXPECT_THROW(compare(data, {.table = &wider}, plans, *backend, {}), BadInput);
  EXPECT_THROW(compare(data, {.share = 0.5}, plans, *backend, {}), BadInput);  // 20 rows, not 28
  const std::atomic<bool> stop{true};
  EXPECT_THROW(compare(data, {}, plans, *backend, {.stop = &stop}), Interrupted);
}

TEST(Compare, OneInfeasiblePlanTakesNoOtherWithIt) {
  const Dataset data = support::people(40, 2, 3);
  std::vector<Plan> plans = plans_for(data.schema, 28);
  plans[0].candidates[plans[0].chosen].feasible = false;
  const Comparison found = compare(data, {}, plans, *make_backend("reference"), {.seeds = 2});
  EXPECT_TRUE(found.of_plans[0].empty());
  EXPECT_THAT(found.why[0], HasSubstr("output"));
  EXPECT_EQ(found.of_plans[1].size(), 2U);
  EXPECT_EQ(found.why[1], "");
}

}  // namespace compare_test
}  // namespace gibbsite::testing
