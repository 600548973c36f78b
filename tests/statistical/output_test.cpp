// Output perturbation: how far minima of neighboring tables are apart, and the law of what is
// released.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "gibbsite/chains/potential.hpp"
#include "gibbsite/gibbsite.hpp"

namespace gibbsite {
namespace {

struct Table {
  std::vector<float> x, y;
};

std::vector<double> minimum(const Table& table, std::size_t d, double ridge) {
  const auto backend = make_backend("reference");
  const Potential u{
      backend->load(Rows(table.x.data(), table.y.size(), d), table.y, loss_named("logistic")), 1.0,
      ridge};
  const Minimum found = minimize(u, 1e-11 * ridge);
  EXPECT_LE(found.gradient_norm, 1e-8 * ridge);
  return found.theta;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(sum);
}

// Rows of norm 1, from where they hurt most to where they hardly matter: one class, duplicates of
// one row, random ones; the person's k rows are replaced, or taken away.
TEST(OutputLaw, MinimaOfNeighborsAreWithinTheSensitivity) {
  std::mt19937_64 random(11);
  std::normal_distribution<float> normal;
  double closest = 0;
  int pairs = 0;
  for (const std::size_t d : {1U, 2U, 5U}) {
    for (const std::size_t n : {1U, 2U, 7U, 40U}) {
      for (const std::size_t k : {1U, 2U}) {
        for (const double ridge : {0.01, 1.0, 100.0}) {
          for (int kind = 0; kind < 6; ++kind) {
            if (k > n || (kind >= 3 && k == n)) continue;  // no empty table
            const bool replaces = kind < 3;
            const auto row = [&](bool same) {
              std::vector<float> x(d, 0.0F);
              x[0] = 1;
              if (same) return x;
              double norm = 0;
              for (float& v : x) v = normal(random), norm += static_cast<double>(v * v);
              for (float& v : x) v = static_cast<float>(v / std::sqrt(norm) * (1 - 1e-6));
              return x;
            };
            const auto add = [](Table& table, const std::vector<float>& x, float y) {
              table.x.insert(table.x.end(), x.begin(), x.end());
              table.y.push_back(y);
            };
            Table common, one, other;
            for (std::size_t i = k; i < n; ++i) {
              add(common, row(kind % 3 == 0), kind % 3 == 1 || normal(random) > 0 ? 1.0F : -1.0F);
            }
            one = other = common;
            for (std::size_t i = 0; i < k; ++i) {
              const auto x = row(kind % 3 != 2);
              add(one, x, 1);
              if (replaces) add(other, x, -1);
            }
            const double sensitivity = (replaces ? 2.0 : 1.0) * static_cast<double>(k) / ridge;
            const double apart = distance(minimum(one, d, ridge), minimum(other, d, ridge));
            EXPECT_LE(apart, sensitivity * (1 + 1e-6) + 1e-8)
                << d << ' ' << n << ' ' << k << ' ' << ridge << ' ' << kind;
            closest = std::max(closest, apart / sensitivity);
            ++pairs;
          }
        }
      }
    }
  }
  EXPECT_GT(pairs, 200);
  EXPECT_GT(closest, 0.45) << "the bound is loose beyond what the logistic loss explains";
}

// 20,000 draws of one fit: Gaussian around the minimizer with the certificate's deviation, each
// coordinate by the empirical distribution function (Dvoretzky, Kiefer, Wolfowitz with Massart's
// constant: above sqrt(log(2e7)/(2N)) with probability 1e-7 each, 3e-7 in all). A deviation that is
// 7 % off is seen.
TEST(OutputLaw, IsTheCertificatesGaussianAroundTheMinimizer) {
  constexpr std::size_t d = 3, n = 50;
  constexpr std::uint64_t draws = 20000;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<float> uniform(-0.5F, 0.5F);
  Dataset data;
  data.schema.label = "label";
  data.schema.positive = "positive";
  for (const char* name : {"a", "b", "c"}) {
    data.schema.columns.push_back({name, ColumnType::number, 0, 1, {}, false});
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < d; ++j) data.x.push_back(uniform(random));
    data.y.push_back(data.x[i * d] + uniform(random) > 0 ? 1.0F : -1.0F);
  }
  const Model model = logistic_regression({.prior_precision = 3.0, .center = {}});
  const Plan made = plan(model.constants(data.schema, n),
                         {.epsilon = 8, .delta = 1e-3, .draws = draws}, {.mechanism = "output"});
  const auto backend = make_backend("cpu");
  const Release release = fit(model, data, made, *backend, Key::from_seed(3));
  const auto& settings = std::get<OutputPerturbation>(release.certificate().mechanism);
  ASSERT_EQ(settings.ridge, 3.0);
  const auto center = minimum({{data.x.begin(), data.x.end()}, data.y}, d, settings.ridge);
  const double allowed = std::sqrt(std::log(2e7) / (2.0 * draws));
  for (std::size_t j = 0; j < d; ++j) {
    std::vector<double> z;
    for (const auto& draw : release.model().draws) {
      z.push_back((draw[j] - center[j]) / settings.noise_scale);
    }
    std::ranges::sort(z);
    double worst = 0;
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double law = 0.5 * std::erfc(-z[i] / std::sqrt(2.0));
      worst = std::max({worst, std::fabs(law - static_cast<double>(i) / draws),
                        std::fabs(law - static_cast<double>(i + 1) / draws)});
    }
    EXPECT_LE(worst, allowed) << "coordinate " << j;
  }
}

}  // namespace
}  // namespace gibbsite
