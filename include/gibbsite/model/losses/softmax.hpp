#pragma once
// The softmax loss of K classes, y from 0 to K - 1: f(z, y) = log sum_k e^{z_k} - z_y, z in R^K.
//   grad_z f = p - e_y, p = e^z / sum e^z:   ||p - e_y||^2 = (1 - p_y)^2 + sum_{k != y} p_k^2
//                                            <= 2 (1 - p_y)^2 < 2
//   grad_z^2 f = diag p - p p^T:             v' (diag p - p p') v = Var_p(v) <= (max v - min v)^2/4
//                                            <= ||v||^2/2, reached at p = (1/2, 1/2, 0, ...)
// (docs/theory/losses.md).
#include "gibbsite/core/host_device.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite::losses {

/// The logistic loss of K >= 2 classes. Stable wherever z is finite: exponentials are of z - max z.
/// NaN if y is no class.
class Softmax final : public Loss {
 public:
  static constexpr const char* family = "softmax";
  static constexpr std::size_t most_classes = 1000;

  explicit Softmax(std::size_t classes);

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] LabelKind label() const override { return LabelKind::classes; }
  [[nodiscard]] std::size_t outputs() const override { return classes_; }
  /// The bound sqrt(2) of ||grad_z f||, rounded up.
  [[nodiscard]] double max_abs_derivative() const override;
  [[nodiscard]] double curvature() const override { return 0.5; }
  /// Traces of the Hessian: tr = 1 - sum p_k^2 <= 1 - 1/K. Also diag p - p p' <= (I - 11'/K)/2
  /// (Boehning 1992), of trace (K - 1)/2.
  [[nodiscard]] HessianTraces traces() const override;
  /// The curvature along v changes along u by Cov_p(u, (v - E v)^2), at most
  /// (max u - min u) Var_p(v) <= 2 max |u| Var_p(v): 2 per largest predictor moved.
  [[nodiscard]] double self_concordance() const override { return 2; }
  /// f(0, y) = log K and inf f = 0; rounded up.
  [[nodiscard]] double drop_from_zero(double label_bound) const override;
  [[nodiscard]] std::string_view link_words() const override;
  [[nodiscard]] double value_sum(std::span<const double> z,
                                 std::span<const float> y) const override;
  void derivatives(std::span<const double> z, std::span<const float> y,
                   std::span<double> r) const override;
  /// Throws std::logic_error: a row's curvature is a matrix.
  void curvatures(std::span<const double> z, std::span<const float> y,
                  std::span<double> w) const override;
  void curvature_products(std::span<const double> z, std::span<const float> y,
                          std::span<const double> v, std::span<double> out) const override;

 private:
  std::size_t classes_;
  std::string name_;  // softmax-K
};

/// The place of the class that the label y is: 0 to classes - 1, or `classes` if y is none of
/// these.
GIBBSITE_HD inline std::size_t class_of(float y, std::size_t classes) {
  if (!(y >= 0 && static_cast<double>(y) < static_cast<double>(classes))) return classes;
  const auto at = static_cast<std::size_t>(y);
  return static_cast<float>(at) == y ? at : classes;
}

/// Softmax: p[k] = e^{z_k} / sum_j e^{z_j}, for z and p [K].
void softmax(std::span<const double> z, std::span<double> p);

}  // namespace gibbsite::losses
