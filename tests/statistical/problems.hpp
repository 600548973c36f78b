#pragma once
// Small tables, a loss with a Gaussian posterior, and interpolated scores: what the statistical
// tests have in common.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "gibbsite/data/rows.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite::problems {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// f(z, y) = (z - y)^2 / 2. A loss is one struct; this one has a Gaussian posterior.
struct squared {
  static constexpr const char* name = "squared";
  static constexpr double max_abs_derivative = 1e300;  // unbounded: no certificate here
  static constexpr double curvature = 1;
  static constexpr double self_concordance = 0, drop_from_zero = 1e300;
  static double value(double z, double y) { return (z - y) * (z - y) / 2; }
  static double derivative(double z, double y) { return z - y; }
  static double second_derivative(double /*z*/, double /*y*/) { return 1; }
};
inline const LossOf<squared> squared_loss;

struct Table {
  std::size_t n = 0, d = 0;
  std::vector<float> x, y;  // [n x d] row-major, [n]

  [[nodiscard]] Rows rows() const { return {x.data(), n, d}; }
  [[nodiscard]] MatrixXd X() const {
    return Eigen::Map<const Eigen::Matrix<float, -1, -1, Eigen::RowMajor>>(
               x.data(), static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(d))
        .cast<double>();
  }
  [[nodiscard]] VectorXd Y() const {
    return Eigen::Map<const Eigen::VectorXf>(y.data(), static_cast<Eigen::Index>(n)).cast<double>();
  }
};

/// Rows uniform in [-1,1]^d / sqrt(d).
inline Table random_rows(std::size_t n, std::size_t d, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Table table{n, d, std::vector<float>(n * d), std::vector<float>(n)};
  for (float& v : table.x) v = uniform(random) / std::sqrt(static_cast<float>(d));
  for (float& v : table.y) v = uniform(random) + 2;
  return table;
}

/// g(x) on an even grid, by cubic interpolation; beyond the grid, its end.
class Interpolated {
 public:
  Interpolated(double lo, double spacing, VectorXd values)
      : lo_(lo), spacing_(spacing), values_(std::move(values)) {}
  double operator()(double x) const {
    const auto [i, w] = weights(x, lo_, spacing_, values_.size());
    return w.dot(values_.segment<4>(i));
  }
  /// First node and weights of the four nodes around x.
  static std::pair<Eigen::Index, Eigen::Vector4d> weights(double x, double lo, double spacing,
                                                          Eigen::Index size) {
    const double at = std::clamp((x - lo) / spacing, 1.0, static_cast<double>(size) - 2.001);
    const auto i = static_cast<Eigen::Index>(at) - 1;
    const double t = at - static_cast<double>(i + 1);
    return {i,
            {-t * (t - 1) * (t - 2) / 6, (t + 1) * (t - 1) * (t - 2) / 2,
             -(t + 1) * t * (t - 2) / 2, (t + 1) * t * (t - 1) / 6}};
  }

 private:
  double lo_, spacing_;
  VectorXd values_;
};

}  // namespace gibbsite::problems
