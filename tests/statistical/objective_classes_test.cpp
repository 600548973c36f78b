// Objective perturbation of three classes as it is run: the law of what is released, and tables
// that are hard to minimize on.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/gibbsite.hpp"
#include "statistical/distance.hpp"

namespace gibbsite {
namespace objective_classes_test {

constexpr std::size_t classes = 3;

Dataset table(std::size_t rows, std::size_t features, const std::string& kind) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<float> uniform(-0.5F, 0.5F);
  Dataset data;
  data.schema.label_name = "label";
  data.schema.label = Classes{.names = {"a", "b", "c"}};
  for (std::size_t j = 0; j < features; ++j) {
    data.schema.columns.push_back(
        {std::string(1, static_cast<char>('a' + j)), ColumnType::number, 0, 1, {}, false});
  }
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < features; ++j) {
      data.dense().push_back(kind == "duplicates" ? 0.4F
                             : kind == "zeros"    ? 0.0F
                                                  : uniform(random));
    }
    data.y.push_back(kind == "one class" ? 0.0F : static_cast<float>(random() % classes));
  }
  return data;
}

Release fitted(const Dataset& data, const Budget& budget, std::optional<double> ridge,
               const char* mechanism) {
  const Model model = glm("softmax-3", {.prior_precision = ridge, .center = {}});
  Plan made = plan(model.constants(data.schema, data.rows()), {budget.epsilon, budget.delta},
                   {.mechanism = mechanism});
  made.budget.draws = budget.draws;
  const auto backend = make_backend("cpu");
  return fit(model, data, made, *backend, Key::from_seed(3));
}

// -grad J(theta) [K x d], in units of sigma or 1/gamma: the noise that a minimizer stands for.
std::vector<double> noise_of(const Release& release, const Dataset& data,
                             const std::vector<double>& theta) {
  const Mechanism& mechanism = release.certificate().mechanism;
  const double ridge = *setting(mechanism, "ridge");
  const std::size_t d = theta.size() / classes;
  std::vector<double> out(theta.size());
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = -ridge * theta[j];
  for (std::size_t i = 0; i < data.rows(); ++i) {
    std::vector<double> z(classes), slope(classes);
    for (std::size_t j = 0; j < theta.size(); ++j)
      z[j / d] += static_cast<double>(data.dense()[i * d + j % d]) * theta[j];
    loss_named("softmax-3").derivatives(z, {&data.y[i], 1}, slope);
    for (std::size_t j = 0; j < theta.size(); ++j)
      out[j] -= slope[j / d] * static_cast<double>(data.dense()[i * d + j % d]);
  }
  const auto rate = setting(mechanism, "noise_rate");
  const double unit = rate ? 1 / *rate : *setting(mechanism, "noise_scale");
  for (double& v : out) v /= unit;
  return out;
}

// 8,000 draws: the noise in each of the six coordinates is normal, and so are differences of two
// classes'. Nine looks have error probability 9e-7 together; noise that is 20 % off is seen.
TEST(ObjectiveClassesLaw, TheReleasedMinimizersStandForNormalNoise) {
  const Dataset data = table(40, 2, "noisy");
  const Release release =
      fitted(data, {.epsilon = 600, .delta = 1e-3, .draws = 8000}, 3.0, "objective");
  std::vector<double> looks[9];
  for (const auto& draw : release.model().draws) {
    const auto b = noise_of(release, data, draw);
    for (std::size_t j = 0; j < 6; ++j) looks[j].push_back(b[j]);
    for (std::size_t j = 0; j < 3; ++j) {
      looks[6 + j].push_back((b[j] - b[j + 2]) / std::sqrt(2.0));
    }
  }
  for (const auto& look : looks) {
    EXPECT_LE(distance_to_law(look, normal_below), chance_distance(look.size()));
  }
  std::vector<double> twice = looks[0];
  for (double& v : twice) v *= 1.2;
  EXPECT_TRUE(distance_to_law(twice, normal_below) > chance_distance(twice.size()));
}

// Tables on which a search could go astray: it ends, and the noise is that of the run's key.
TEST(ObjectiveClassesLaw, HardTablesAreFitted) {
  for (const char* const kind : {"noisy", "one class", "duplicates", "zeros"}) {
    for (const std::size_t rows : {1U, 200U}) {
      for (const std::size_t features : {1U, 4U}) {
        const Dataset data = table(rows, features, kind);
        for (const char* const mechanism : {"objective", "objective-pure"}) {
          const Release release =
              fitted(data, {.epsilon = 1, .delta = 1e-6, .draws = 1}, {}, mechanism);
          double square = 0;
          for (const double v : noise_of(release, data, release.model().draws[0])) square += v * v;
          EXPECT_GT(square, 0);
          EXPECT_LT(std::sqrt(square), 60) << kind << rows << features << mechanism;
        }
      }
    }
  }
}

}  // namespace objective_classes_test
}  // namespace gibbsite
