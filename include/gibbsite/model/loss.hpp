#pragma once
// The GLM interface: a loss l(theta; x, y) = f(x^T theta, y) through f alone. A loss of K outputs
// has K predictors z_k = x^T theta_k, theta [K x d]: f is a function of all of them.
//
// To add a loss, add one file include/gibbsite/model/losses/NAME.hpp that defines
// `struct gibbsite::losses::NAME` with the members of losses/logistic.hpp; the build finds it and
// every backend can run it. Its constants are what the certificate rests on: cite or prove them.
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/core/problem.hpp"

namespace gibbsite {

/// A loss over blocks of logits. Implementations are stateless.
class Loss {
 public:
  virtual ~Loss() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// This loss before its classes are weighted.
  [[nodiscard]] virtual const Loss& unweighted() const { return *this; }
  /// Weights w(y) in (0, 1] of the rows of each class, in the order of y (two classes: -1, then
  /// +1). The largest is 1. Empty if all are 1.
  [[nodiscard]] virtual std::span<const float> class_weights() const { return {}; }
  /// The kind of label that the loss predicts.
  [[nodiscard]] virtual LabelKind label() const { return LabelKind::two_classes; }
  /// K, the number of predictors of a row.
  [[nodiscard]] virtual std::size_t outputs() const { return 1; }
  /// The Lipschitz constant of f: sup |f'(z, y)| over all z and legal y; for K > 1 outputs sup
  /// ||grad_z f||. Infinite if only bounded predictors bound it: then |f'| <= derivative_at_zero +
  /// phi |z|.
  [[nodiscard]] virtual double max_abs_derivative() const = 0;
  /// Upper bound of |f'(0, y)| over |y| <= label_bound.
  [[nodiscard]] virtual double derivative_at_zero(double /*label_bound*/) const {
    return max_abs_derivative();
  }
  /// The smoothness constant phi = sup f''(z, y); for K > 1 outputs the largest eigenvalue of
  /// grad_z^2 f.
  [[nodiscard]] virtual double curvature() const = 0;
  /// Traces of the Hessian grad_z^2 f; both are 1 for one output.
  [[nodiscard]] virtual HessianTraces traces() const { return {}; }
  /// The generalized self-concordance c, with |f'''(z, y)| <= c f''(z, y): how fast curvature can
  /// change. Infinite if it jumps.
  [[nodiscard]] virtual double self_concordance() const = 0;
  /// The y that is predicted at z, for amounts and counts. Rises with z.
  [[nodiscard]] virtual double predicted(double z) const { return z; }
  /// The probability of y = +1 for which z minimizes the expected loss, for two classes. Used by
  /// predict. Rises with z.
  [[nodiscard]] virtual double probability(double z) const {
    const double e = std::exp(-std::fabs(z));
    return (z >= 0 ? 1.0 : e) / (1.0 + e);
  }
  /// Words that tell another program how to compute a prediction from z; empty if z is the
  /// log-odds.
  [[nodiscard]] virtual std::string_view link_words() const { return ""; }
  /// Bound on f(0, y) - inf f over |y| <= label_bound.
  [[nodiscard]] virtual double drop_from_zero(double label_bound) const = 0;
  /// Whether f'(., y) has one sign for each legal y.
  [[nodiscard]] virtual bool one_signed() const { return false; }
  // With K outputs z, r, v and out are [K x n]: an output's numbers of all rows, then the next
  // one's.
  /// The sum of f(z[i], y[i]) over rows.
  [[nodiscard]] virtual double value_sum(std::span<const double> z,
                                         std::span<const float> y) const = 0;
  /// Writes the derivatives r[i] = f'(z[i], y[i]).
  virtual void derivatives(std::span<const double> z, std::span<const float> y,
                           std::span<double> r) const = 0;
  /// Writes the second derivatives w[i] = f''(z[i], y[i]) of a loss of one output, for Newton's
  /// method and tests.
  virtual void curvatures(std::span<const double> z, std::span<const float> y,
                          std::span<double> w) const = 0;
  /// Writes Hessian products out[., i] = grad_z^2 f(z[., i], y[i]) v[., i], for any number of
  /// outputs; out may be v.
  virtual void curvature_products(std::span<const double> z, std::span<const float> y,
                                  std::span<const double> v, std::span<double> out) const = 0;
};

/// Makes a Loss of a struct with three scalar functions and its constants, inlined for each block.
template <class F>
class LossOf final : public Loss {
 public:
  [[nodiscard]] std::string_view name() const override { return F::name; }
  [[nodiscard]] double max_abs_derivative() const override { return F::max_abs_derivative; }
  [[nodiscard]] double derivative_at_zero(double label_bound) const override {
    if constexpr (requires { F::derivative_at_zero(label_bound); }) {
      return F::derivative_at_zero(label_bound);
    } else {
      return Loss::derivative_at_zero(label_bound);
    }
  }
  [[nodiscard]] double curvature() const override { return F::curvature; }
  [[nodiscard]] double self_concordance() const override { return F::self_concordance; }
  [[nodiscard]] double drop_from_zero(double label_bound) const override {
    if constexpr (requires { F::drop_from_zero(label_bound); }) {
      return F::drop_from_zero(label_bound);
    } else {
      return F::drop_from_zero;
    }
  }
  [[nodiscard]] LabelKind label() const override {
    if constexpr (requires { F::label; }) {
      return F::label;
    } else {
      return Loss::label();
    }
  }
  [[nodiscard]] double predicted(double z) const override {
    if constexpr (requires { F::predicted(z); }) {
      return F::predicted(z);
    } else {
      return Loss::predicted(z);
    }
  }
  [[nodiscard]] bool one_signed() const override {
    if constexpr (requires { F::one_signed; }) {
      return F::one_signed;
    } else {
      return Loss::one_signed();
    }
  }
  [[nodiscard]] double probability(double z) const override {
    if constexpr (requires { F::probability(z); }) {
      return F::probability(z);
    } else {
      return Loss::probability(z);
    }
  }
  [[nodiscard]] std::string_view link_words() const override {
    if constexpr (requires { F::link_words; }) {
      return F::link_words;
    } else {
      return Loss::link_words();
    }
  }
  [[nodiscard]] double value_sum(std::span<const double> z,
                                 std::span<const float> y) const override {
    double sum = 0;
    for (std::size_t i = 0; i < z.size(); ++i) sum += F::value(z[i], static_cast<double>(y[i]));
    return sum;
  }
  void derivatives(std::span<const double> z, std::span<const float> y,
                   std::span<double> r) const override {
    for (std::size_t i = 0; i < z.size(); ++i)
      r[i] = F::derivative(z[i], static_cast<double>(y[i]));
  }
  void curvatures(std::span<const double> z, std::span<const float> y,
                  std::span<double> w) const override {
    for (std::size_t i = 0; i < z.size(); ++i)
      w[i] = F::second_derivative(z[i], static_cast<double>(y[i]));
  }
  void curvature_products(std::span<const double> z, std::span<const float> y,
                          std::span<const double> v, std::span<double> out) const override {
    for (std::size_t i = 0; i < z.size(); ++i) {
      out[i] = F::second_derivative(z[i], static_cast<double>(y[i])) * v[i];
    }
  }
};

/// The loss with this name. The loss of K classes is called softmax-K. A loss with class weights is
/// NAME(w,w,..) with the shortest digits of its weights: logistic(0.4,1). The loss lives as long as
/// the program. Throws BadInput that lists the known names.
const Loss& loss_named(std::string_view name);
/// The loss's name with the weights of its classes (Loss::class_weights), NAME(w,w,..), if it has
/// any.
std::string full_loss_name(std::string_view name, const FeatureSpace& space);
/// The weight w(y) of class y: 1 if there are no weights, NaN if y is no class.
float class_weight(std::span<const float> weights, float y);
/// Names of every loss of one output that was compiled in.
std::vector<std::string_view> loss_names();
/// Name of the default loss for a kind of label: logistic, huber, poisson or softmax.
std::string_view default_loss(LabelKind label);
/// Names of the losses that predict this kind of label, as a person writes them: "softmax" stands
/// for any number of classes.
std::vector<std::string_view> loss_names(LabelKind label);
/// The full name of a loss for a label of `classes` classes: softmax-K for softmax, else the name
/// itself.
std::string full_loss_name(std::string_view name, std::uint64_t classes);
/// Sets the loss's name and constants in a problem, which has its label_bound already.
void set_loss(Problem& problem, const Loss& loss);

}  // namespace gibbsite
