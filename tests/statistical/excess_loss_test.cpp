// What noise and ridge cost the mean loss: the bound against draws of the four mechanisms that it
// is of.
#include "gibbsite/mechanism/excess_loss.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/gibbsite.hpp"

namespace gibbsite {
namespace excess_loss_test {

constexpr std::size_t features = 4;

// Rows of norm 1 along the axes, or anywhere in the ball.
Dataset table(const std::string& loss, std::size_t rows) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  Dataset data;
  data.schema.label_name = "label";
  if (loss == "logistic") data.schema.label = TwoClasses{.positive = "1"};
  if (loss == "huber") data.schema.label = Amount{{.lo = 0, .hi = 10}, 1};
  if (loss == "softmax-3") data.schema.label = Classes{.names = {"a", "b", "c"}};
  for (std::size_t j = 0; j < features; ++j) {
    data.schema.columns.push_back(
        {std::string(1, static_cast<char>('a' + j)), ColumnType::number, 0, 1, {}, false});
  }
  for (std::size_t i = 0; i < rows; ++i) {
    float z = 0;
    for (std::size_t j = 0; j < features; ++j) {
      const float x = loss == "huber" ? (i % features == j ? 1.0F : 0.0F)
                                      : std::clamp(0.3F * normal(random), -0.5F, 0.5F);
      data.dense().push_back(x);
      if (j < 2) z += (j == 0 ? 6.0F : -3.0F) * x;
    }
    const float y = z + normal(random) > 0 ? 1 : -1;
    if (loss == "huber") data.y.push_back(0);
    if (loss == "logistic") data.y.push_back(y);
    if (loss == "softmax-3") data.y.push_back(z > 1 ? 2.0F : y > 0 ? 1.0F : 0.0F);
  }
  return data;
}

double mean_loss(const Dataset& data, const std::string& loss, const std::vector<double>& theta) {
  const std::size_t K = theta.size() / features;
  double sum = 0;
  for (std::size_t i = 0; i < data.rows(); ++i) {
    std::vector<double> z(K);
    for (std::size_t j = 0; j < theta.size(); ++j) {
      z[j / features] += static_cast<double>(data.dense()[i * features + j % features]) * theta[j];
    }
    sum += loss_named(loss).value_sum(z, {&data.y[i], 1});
  }
  return sum / static_cast<double>(data.rows());
}

struct Measured {
  ExcessLoss bound;
  double mean = 0, error = 0;  // of the mean loss of draws, and its standard error
};
Measured measured(const Dataset& data, const std::string& loss, const char* mechanism,
                  std::optional<double> ridge, std::uint64_t draws = 400) {
  const Model model = glm(loss, {.prior_precision = ridge, .center = {}});
  const Problem problem = model.constants(data.schema, data.rows());
  Plan made = plan(problem, {.epsilon = 1, .delta = 1e-6}, {.mechanism = mechanism});
  made.budget.draws = draws;
  const auto backend = make_backend("cpu");
  const Release release = fit(model, data, made, *backend, Key::from_seed(3));
  Measured out;
  out.bound = *excess_loss_up(made.candidate().mechanism, problem, made.budget.neighbors());
  double squares = 0;
  for (const auto& draw : release.model().draws) {
    const double value = mean_loss(data, loss, draw);
    out.mean += value / static_cast<double>(draws);
    squares += value * value / static_cast<double>(draws);
  }
  out.error = std::sqrt((squares - out.mean * out.mean) / static_cast<double>(draws));
  return out;
}

const char* const mechanisms[] = {"output", "output-pure", "objective", "objective-pure"};

// No label is off the middle, so theta* = 0 has no loss, and Huber's curvature is all there is:
// noise that is added last costs what the bound says where it is short, noise in the slope half of
// it at a ridge of n/d. Six standard errors of 400 draws: 1e-8 in all. A coordinate that is not
// counted, or half of the noise, is seen.
TEST(ExcessLoss, IsReachedByAddedNoiseAndNearByNoiseInTheSlope) {
  const Dataset data = table("huber", 200);
  for (const char* const mechanism : mechanisms) {
    const Measured found = measured(data, "huber", mechanism, 200.0 / features);
    EXPECT_LE(found.mean, found.bound.noise + 6 * found.error) << mechanism;
    const bool added = std::string_view(mechanism).starts_with("output");
    EXPECT_GE(found.mean, (added ? 0.85 : 0.4) * found.bound.noise) << mechanism;
    EXPECT_GT(found.mean - 6 * found.error, 0.3 * found.bound.noise) << mechanism;
  }
}

// Two tables, several coefficients to compare with, near and far.
TEST(ExcessLoss, IsAboveWhatDrawsOfTwoTablesHave) {
  for (const char* const loss : {"logistic", "softmax-3"}) {
    const Dataset data = table(loss, 200);
    const std::size_t K = loss_named(loss).outputs();
    for (const char* const mechanism : mechanisms) {
      for (const std::optional<double> ridge : {std::optional<double>{}, {100.0}}) {
        const Measured found = measured(data, loss, mechanism, ridge, 100);
        for (const double far : {0.0, 1.0, 3.0, 6.0, 12.0}) {
          std::vector<double> other(K * features);
          for (std::size_t k = 0; k < K; ++k) {
            other[k * features] = far * (K == 1 ? 1 : static_cast<double>(k) - 1);
            other[k * features + 1] = -other[k * features] / 2;
          }
          double square = 0;
          for (const double v : other) square += v * v;
          const double bound = found.bound.noise + found.bound.ridge * square;
          EXPECT_LE(found.mean - mean_loss(data, loss, other), bound + 6 * found.error)
              << loss << ' ' << mechanism << ' ' << far;
        }
      }
    }
  }
}

TEST(ExcessLoss, IsOfPublicNumbersOfRowsAlone) {
  Problem problem;
  problem.rows = 1000;
  problem.features = 4;
  const Mechanism output = plan(problem, {1, 1e-6}, {.mechanism = "output"}).candidate().mechanism;
  EXPECT_TRUE(excess_loss_up(output, problem, {}));
  EXPECT_FALSE(excess_loss_up(output, problem, {Adjacency::add_remove, 1}));
  const Mechanism path = plan(problem, {1, 1e-6}, {.mechanism = "path"}).candidate().mechanism;
  EXPECT_FALSE(excess_loss_up(path, problem, {}));
  problem.weighted = true;
  EXPECT_FALSE(excess_loss_up(output, problem, {}));
}

}  // namespace excess_loss_test
}  // namespace gibbsite
