#pragma once
// A loss of classes, each row's multiplied by the public weight of its class: f_w(z, y) = w(y) f(z,
// y). Weights are divided by the largest one, so 0 < w <= 1: every constant of f bounds f_w's
// (docs/theory/losses.md, "Weighted classes").
#include <string>
#include <vector>

#include "gibbsite/model/loss.hpp"

namespace gibbsite::losses {

/// The smallest allowed weight, if the largest is 1.
inline constexpr float least_class_weight = 1e-9F;

class Weighted final : public Loss {
 public:
  /// Weights a loss of classes, which has no weights itself and must live longer. Throws BadInput
  /// unless each class has a weight in [least_class_weight, 1] and the largest is 1.
  Weighted(const Loss& loss, std::vector<float> weights);

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] const Loss& unweighted() const override { return loss_; }
  [[nodiscard]] std::span<const float> class_weights() const override { return weights_; }
  [[nodiscard]] LabelKind label() const override { return loss_.label(); }
  [[nodiscard]] std::size_t outputs() const override { return loss_.outputs(); }
  [[nodiscard]] double max_abs_derivative() const override { return loss_.max_abs_derivative(); }
  [[nodiscard]] double curvature() const override { return loss_.curvature(); }
  [[nodiscard]] HessianTraces traces() const override { return loss_.traces(); }
  /// A factor changes no ratio of the third derivative to the second.
  [[nodiscard]] double self_concordance() const override { return loss_.self_concordance(); }
  [[nodiscard]] double drop_from_zero(double label_bound) const override {
    return loss_.drop_from_zero(label_bound);
  }
  [[nodiscard]] bool one_signed() const override { return loss_.one_signed(); }
  /// The probability in a population where each class is as frequent as its weight makes it.
  [[nodiscard]] double probability(double z) const override { return loss_.probability(z); }
  [[nodiscard]] std::string_view link_words() const override { return loss_.link_words(); }
  [[nodiscard]] double value_sum(std::span<const double> z,
                                 std::span<const float> y) const override;
  void derivatives(std::span<const double> z, std::span<const float> y,
                   std::span<double> r) const override;
  void curvatures(std::span<const double> z, std::span<const float> y,
                  std::span<double> w) const override;
  void curvature_products(std::span<const double> z, std::span<const float> y,
                          std::span<const double> v, std::span<double> out) const override;

 private:
  void multiply(std::span<const float> y, std::span<double> rows) const;

  const Loss& loss_;
  std::vector<float> weights_;
  std::string name_;
};

/// The name of a weighted loss: "NAME(w,w,..)".
std::string weighted_name(std::string_view name, std::span<const float> weights);
/// Class weights divided by the largest; empty if all are equal. Throws BadInput if a weight is not
/// finite and positive, or too small beside the largest.
std::vector<float> scaled_class_weights(std::span<const double> weights);

}  // namespace gibbsite::losses
