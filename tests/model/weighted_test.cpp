// Weighted classes: names and weights, the schema's keys, and that a row's part in a sum is never
// more than without weights.
#include "gibbsite/model/losses/weighted.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {
namespace weighted_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Schema schema_of_two() {
  Schema s;
  s.label_name = "y";
  s.label = TwoClasses{.positive = "yes", .negative = "no"};
  s.columns = {{.name = "x", .type = ColumnType::number}};
  return s;
}

TEST(WeightedLoss, NamesAreCanonicalAndFindOneObject) {
  for (const char* name : {"logistic(0.4,1)", "logistic-capped(1,1e-06)", "smoothed-hinge(1,0.1)",
                           "softmax-3(0.25,1,0.5)", "softmax-2(1,0.1)"}) {
    const Loss& loss = loss_named(name);
    EXPECT_EQ(loss.name(), name);
    EXPECT_EQ(&loss, &loss_named(std::string(name)));
    EXPECT_EQ(unweighted_name(name), loss.unweighted().name());
    EXPECT_EQ(loss.max_abs_derivative(), loss.unweighted().max_abs_derivative());
    EXPECT_EQ(loss.curvature(), loss.unweighted().curvature());
    EXPECT_EQ(loss.outputs(), loss.unweighted().outputs());
  }
  EXPECT_TRUE(loss_named("logistic").class_weights().empty());
  for (const char* name : {"logistic(1,1)",     "logistic(0.4)",    "logistic(0.4,1,1)",
                           "logistic(0.40,1)",  "logistic(.4,1)",   "logistic(0.4,0.5)",
                           "logistic(0.4, 1)",  "logistic(2,1)",    "logistic(0,1)",
                           "logistic(-1,1)",    "logistic(nan,1)",  "logistic(inf,1)",
                           "logistic(1e-10,1)", "logistic()",       "logistic(",
                           "logistic(0.4,1",    "logistic(0.4,1)x", "logistic(0.4,1)(0.4,1)",
                           "poisson(0.4,1)",    "huber(1,0.5)",     "softmax-3(0.4,1)",
                           "softmax(0.4,1)",    "(0.4,1)"}) {
    EXPECT_THROW(loss_named(name), BadInput) << name;
  }
}

TEST(WeightedLoss, WeightsOfASchemaAreDividedByTheLargest) {
  Schema s = schema_of_two();
  std::get<TwoClasses>(s.label).weights = {1, 2.5};
  EXPECT_THAT(scaled_class_weights(s.label), ElementsAre(0.4F, 1.0F));
  EXPECT_EQ(full_loss_name("logistic", FeatureSpace(s)), "logistic(0.4,1)");
  EXPECT_EQ(full_loss_name("logistic(0.4,1)", FeatureSpace(s)), "logistic(0.4,1)");
  for (const double same : {1.0, 0.3, 1e300}) {  // is none: the same bits as without
    std::get<TwoClasses>(s.label).weights = {same, same};
    EXPECT_TRUE(scaled_class_weights(s.label).empty());
    EXPECT_EQ(full_loss_name("logistic", FeatureSpace(s)), "logistic");
  }
  std::get<TwoClasses>(s.label).weights = {1e-6, 1};
  EXPECT_THAT(scaled_class_weights(s.label), ElementsAre(1e-6F, 1.0F));
  for (const std::vector<double>& bad :
       {std::vector{0.0, 1.0}, {-1.0, 1.0}, {1e-10, 1.0}, {INFINITY, 1.0}, {NAN, 1.0}}) {
    std::get<TwoClasses>(s.label).weights = bad;
    EXPECT_THROW(s.validate("s"), BadInput) << bad[0];
  }
  for (const std::vector<double>& bad : {std::vector{1.0}, {1.0, 2.0, 3.0}}) {
    std::get<TwoClasses>(s.label).weights = bad;
    EXPECT_THROW(s.validate("s"), BadInput) << bad.size();
  }
}

TEST(WeightedLoss, AModelHasTheWeightsOfItsSchema) {
  Schema s = schema_of_two();
  std::get<TwoClasses>(s.label).weights = {1, 2.5};
  const Problem problem = glm("logistic(0.4,1)").constants(s, 100);
  EXPECT_EQ(problem.loss, "logistic(0.4,1)");
  EXPECT_EQ(problem.max_abs_derivative, 1);
  EXPECT_EQ(problem.curvature, 0.25);
  for (const char* other : {"logistic", "logistic(0.5,1)", "logistic(1,0.4)"}) {
    try {
      static_cast<void>(glm(other).constants(s, 100));
      FAIL() << other;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr("take logistic(0.4,1)"));
    }
  }
  EXPECT_THROW(static_cast<void>(glm("logistic(0.4,1)").constants(schema_of_two(), 100)), BadInput);
}

// What one row adds to a sum of gradients is no longer than without weights, and its own part is
// the weight's share of it: replacing one moves the sum by 2R sup|f'| at most.
TEST(WeightedLoss, OneRowCanDoNoMoreThanWithoutWeights) {
  std::mt19937_64 bits(1);
  std::normal_distribution<double> normal(0, 20);
  for (const char* name : {"logistic(0.4,1)", "smoothed-hinge(1,0.1)", "softmax-3(0.25,1,0.7)"}) {
    const Loss& loss = loss_named(name);
    const std::size_t K = loss.outputs();
    const bool two = loss.label() == LabelKind::two_classes;
    std::vector<std::vector<double>> derivatives;
    double largest = 0;
    for (int i = 0; i < 2000; ++i) {
      std::vector<double> z(K), r(K), plain(K);
      for (double& v : z) v = normal(bits);
      const std::size_t at = bits() % (two ? 2 : K);
      const float y = two ? (at == 0 ? -1.0F : 1.0F) : static_cast<float>(at);
      loss.derivatives(z, {&y, 1}, r);
      loss.unweighted().derivatives(z, {&y, 1}, plain);
      const auto w = static_cast<double>(loss.class_weights()[at]);
      for (std::size_t k = 0; k < K; ++k) {
        EXPECT_EQ(r[k], w * plain[k]);
        EXPECT_LE(std::fabs(r[k]), std::fabs(plain[k]));
      }
      derivatives.push_back(r);
    }
    for (std::size_t i = 0; i < derivatives.size(); ++i) {
      for (std::size_t j = 0; j < i; j += 7) {
        double squares = 0;
        for (std::size_t k = 0; k < K; ++k) {
          squares +=
              (derivatives[i][k] - derivatives[j][k]) * (derivatives[i][k] - derivatives[j][k]);
        }
        largest = std::max(largest, std::sqrt(squares));
      }
    }
    EXPECT_LE(largest, 2 * loss.max_abs_derivative()) << name;
    EXPECT_GT(largest, 1) << name;
  }
}

TEST(WeightedLoss, ALabelThatIsNoClassMakesNoNumber) {
  const Loss& loss = loss_named("softmax-3(0.25,1,0.7)");
  for (const float y : {-1.0F, 3.0F, 0.5F}) {
    std::vector<double> z{1, 2, 3}, r(3);
    loss.derivatives(z, {&y, 1}, r);
    EXPECT_TRUE(std::isnan(r[0]) && std::isnan(r[1]) && std::isnan(r[2])) << y;
    EXPECT_TRUE(std::isnan(loss.value_sum(z, {&y, 1}))) << y;
  }
}

Schema schema_of_counts() {
  Schema s;
  s.label_name = "claims";
  s.label = Count{{.lo = 0, .hi = 20}};
  s.columns = {{.name = "x", .type = ColumnType::number},
               {.name = "years", .type = ColumnType::exposure, .lo = 0.1, .hi = 10}};
  return s;
}

TEST(Exposure, IsNoFeatureAndItsLogIsBounded) {
  const Schema s = schema_of_counts();
  s.validate("s");
  EXPECT_EQ(s.features(), 1U);
  EXPECT_EQ(s.max_unclipped_norm(), 1);
  const float bound = s.offset_bound();
  EXPECT_NEAR(static_cast<double>(bound), std::log(100.0), 1e-6);
  EXPECT_EQ(s.scaled_exposure(10), 0.0F);
  EXPECT_EQ(s.scaled_exposure(1e300), 0.0F);
  EXPECT_EQ(s.scaled_exposure(0.1), s.scaled_exposure(-5));
  std::mt19937_64 bits(2);
  for (int i = 0; i < 20000; ++i) {
    // Ranges of every size, exposures in and around them.
    const double lo = std::exp(std::normal_distribution<double>(0, 50)(bits));
    const double hi = lo * std::exp(std::uniform_real_distribution<double>(1e-9, 13)(bits));
    const double e = lo * std::exp(std::uniform_real_distribution<double>(-1, 14)(bits));
    Schema of = s;
    of.columns[1].lo = lo, of.columns[1].hi = hi;
    const float o = of.scaled_exposure(e);
    ASSERT_TRUE(o <= 0 && o >= -of.offset_bound()) << lo << ' ' << hi << ' ' << e;
    if (e >= lo && e <= hi) {
      ASSERT_NEAR(static_cast<double>(o), std::log(e / hi), 1e-6);
    }
  }
}

// f(o, y) - inf f over every legal offset, as the minimizer's distance takes it.
TEST(Exposure, TheDropFromZeroCountsTheOffset) {
  const Schema s = schema_of_counts();
  const Problem problem = glm("poisson").constants(s, 100);
  const Problem without = [&] {
    Schema other = s;
    other.columns.pop_back();
    return glm("poisson").constants(other, 100);
  }();
  EXPECT_EQ(problem.offset_bound, static_cast<double>(s.offset_bound()));
  EXPECT_EQ(without.offset_bound, 0);
  const Loss& loss = loss_named("poisson");
  EXPECT_EQ(without.drop_from_zero, loss.drop_from_zero(1));
  double largest = 0;
  for (const float y : {0.0F, 0.1F, 0.5F, 1.0F}) {
    double least = INFINITY;
    for (double z = -40; z < 10; z += 1e-3)
      least = std::min(least, loss.value_sum({&z, 1}, {&y, 1}));
    for (double o = -problem.offset_bound; o <= 0; o += 0.01) {
      largest = std::max(largest, loss.value_sum({&o, 1}, {&y, 1}) - least);
    }
  }
  EXPECT_LE(largest, problem.drop_from_zero);
  EXPECT_GT(largest, 0.95 * problem.drop_from_zero);
  EXPECT_GT(largest, without.drop_from_zero);  // so the plain bound would be wrong
  EXPECT_GT(problem.minimizer_distance_up(1, 1e-9), without.minimizer_distance_up(1, 1e-9));
}

TEST(Exposure, IsRefusedWhereItMeansNothing) {
  const auto refused = [](Schema s, const char* words) {
    try {
      s.validate("s");
      ADD_FAILURE() << words;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr(words));
    }
  };
  Schema s = schema_of_counts();
  s.columns.push_back({.name = "people", .type = ColumnType::exposure, .lo = 1, .hi = 2});
  refused(s, "a count is over one");
  s = schema_of_counts();
  s.label = Amount{{.lo = 0, .hi = 20}, 1};
  refused(s, "an exposure is what a count is over, and the label is an amount");
  for (const auto& [lo, hi] : {std::pair{0.0, 1.0},
                               {-1.0, 1.0},
                               {1.0, 1.0},
                               {2.0, 1.0},
                               {1.0, 2e6},
                               {1.0, INFINITY},
                               {NAN, 1.0}}) {
    s = schema_of_counts();
    s.columns[1].lo = lo, s.columns[1].hi = hi;
    refused(s, "of an exposure must be two numbers above 0");
  }
}

}  // namespace weighted_test
}  // namespace gibbsite
