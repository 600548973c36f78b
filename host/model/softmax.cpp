#include "gibbsite/model/losses/softmax.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace gibbsite::losses {
namespace {

double up(double v) { return std::nextafter(v, std::numeric_limits<double>::infinity()); }

using Scores = std::array<double, Softmax::most_classes>;  // of a row: no call allocates

// f(row i, its class or K, z of the row [K]) for each row of z [K x n].
template <class F>
void for_each_row(std::size_t classes, std::span<const double> z, std::span<const float> y, F f) {
  const std::size_t n = y.size();
  Scores scores;
  const std::span<double> row(scores.data(), classes);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < classes; ++k) row[k] = z[k * n + i];
    f(i, class_of(y[i], classes), row);
  }
}

// What a label that is no class makes of row i of out [K x n].
void fill_row(std::size_t i, std::size_t n, std::span<double> out) {
  for (; i < out.size(); i += n) out[i] = std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

// Rounding of residuals (docs/theory/map-error.md, "Several outputs"):
// z ↦ p − e_y is ½-Lipschitz. Its evaluation, t_k = z_k − max z: an exponential is
// off by u|t_k|e^{t_k} (the difference) and 8u e^{t_k}, and with S = Σe^{t_k} ≥ 1
// Σ|t_k|e^{t_k}/S = (entropy of p) − log S ≤ log K. So Σ|ê_k − e_k|/S ≤ u(log K + 8), S and its
// K − 1 additions are off by u(log K + 8 + K − 1) of itself, a quotient by 2u (or a reciprocal
// and a product): Σ|p̂_k − p_k| ≤ u(2 log K + K + 17), its Euclidean norm no more; the label's
// own entry, a sum of the others, by γ_{K−2} more. Together at most √2 u(2 log K + 2K + 15) ≤
// γ_{16+4K} sup|f'|, sup|f'| = √2 (derivative_roundings_of). What underflows is below 10⁻³⁰⁰.
void softmax(std::span<const double> z, std::span<double> p) {
  const double most = std::ranges::max(z);
  double sum = 0;
  for (std::size_t k = 0; k < z.size(); ++k) sum += p[k] = std::exp(z[k] - most);
  for (double& v : p) v /= sum;
}

Softmax::Softmax(std::size_t classes)
    : classes_(classes), name_(std::string(family) + '-' + std::to_string(classes)) {
  if (classes > most_classes)
    throw std::logic_error("softmax: more classes than there is room for");
}

double Softmax::max_abs_derivative() const { return up(std::numbers::sqrt2); }
HessianTraces Softmax::traces() const {
  const auto K = static_cast<double>(classes_);
  return {classes_ == 2 ? 1 : up(up(2 - 2 / K)), K - 1};
}
double Softmax::drop_from_zero(double /*label_bound*/) const {
  return up(up(std::log(static_cast<double>(classes_))));
}
std::string_view Softmax::link_words() const {
  return "z_k = x . coefficients of class k and the encoded row x; P(class k) = exp(z_k) / sum_j "
         "exp(z_j)";
}

double Softmax::value_sum(std::span<const double> z, std::span<const float> y) const {
  double total = 0;
  for_each_row(classes_, z, y, [&](std::size_t, std::size_t label, const auto& row) {
    if (label == classes_) {
      total = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    const auto most = std::ranges::max_element(row);  // its own term is 1: left to log1p
    double others = 0;
    for (auto v = row.begin(); v != row.end(); ++v) {
      if (v != most) others += std::exp(*v - *most);
    }
    total += std::log1p(others) + (*most - row[label]);
  });
  return total;
}

void Softmax::derivatives(std::span<const double> z, std::span<const float> y,
                          std::span<double> r) const {
  const std::size_t n = y.size();
  Scores scores;
  const std::span<double> p(scores.data(), classes_);
  for_each_row(classes_, z, y, [&](std::size_t i, std::size_t label, const auto& row) {
    if (label == classes_) return fill_row(i, n, r);
    softmax(row, p);
    double others = 0;  // 1 - p_y without the cancellation
    for (std::size_t k = 0; k < classes_; ++k) others += k == label ? 0 : p[k];
    for (std::size_t k = 0; k < classes_; ++k) r[k * n + i] = k == label ? -others : p[k];
  });
}

void Softmax::curvatures(std::span<const double> /*z*/, std::span<const float> /*y*/,
                         std::span<double> /*w*/) const {
  throw std::logic_error("softmax: a row's curvature is a matrix; ask for products with it");
}

void Softmax::curvature_products(std::span<const double> z, std::span<const float> y,
                                 std::span<const double> v, std::span<double> out) const {
  const std::size_t n = y.size();
  Scores scores;
  const std::span<double> p(scores.data(), classes_);
  for_each_row(classes_, z, y, [&](std::size_t i, std::size_t label, const auto& row) {
    if (label == classes_) return fill_row(i, n, out);
    softmax(row, p);
    double mean = 0;
    for (std::size_t k = 0; k < classes_; ++k) mean += p[k] * v[k * n + i];
    for (std::size_t k = 0; k < classes_; ++k) out[k * n + i] = p[k] * (v[k * n + i] - mean);
  });
}

}  // namespace gibbsite::losses
