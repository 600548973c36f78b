#pragma once
// Engines that ask another one; what a test changes, it overrides.
#include <memory>
#include <utility>

#include "gibbsite/engine/engine.hpp"

namespace gibbsite::support {

/// `Asked` is RowSums or Engine.
template <class Asked>
class Forwarding : public Asked {
 public:
  /// Without an inner one, whatever is called must be overridden.
  explicit Forwarding(std::shared_ptr<Asked> inner = nullptr) : inner_(std::move(inner)) {}
  [[nodiscard]] std::size_t rows() const override { return inner_->rows(); }
  [[nodiscard]] std::size_t features() const override { return inner_->features(); }
  [[nodiscard]] const Loss& loss() const override { return inner_->loss(); }
  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override {
    inner_->loss_gradients(theta, out);
  }
  void loss_values(MatrixView<const double> theta, std::span<double> out) override {
    inner_->loss_values(theta, out);
  }
  void second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) override {
    inner_->second_moments(P, clip, out);
  }
  [[nodiscard]] double log_lengths(const RowLengths& lengths) override {
    return inner_->log_lengths(lengths);
  }
  void clipped_rows(MatrixView<const double> P, double clip, MatrixView<float> out) override {
    inner_->clipped_rows(P, clip, out);
  }
  [[nodiscard]] std::unique_ptr<CappedLoss> capped_loss(MatrixView<const double> P,
                                                        const ScoreLimits& limits) override {
    return inner_->capped_loss(P, limits);
  }
  void weighted_loss_gradients(MatrixView<const double> theta, std::span<const double> weights,
                               MatrixView<double> out) override {
    inner_->weighted_loss_gradients(theta, weights, out);
  }
  [[nodiscard]] double plain_value(std::span<const double> theta) const override {
    return inner_->plain_value(theta);
  }
  void plain_gradient(std::span<const double> theta, std::span<double> out) const override {
    inner_->plain_gradient(theta, out);
  }
  [[nodiscard]] std::unique_ptr<LossHessian> hessian(std::span<const double> theta,
                                                     double scale) const override {
    return inner_->hessian(theta, scale);
  }
  [[nodiscard]] double largest_logit(std::span<const double> theta) const override {
    return inner_->largest_logit(theta);
  }
  [[nodiscard]] std::array<double, 4> exact_difference(MatrixView<const double> terms,
                                                       std::span<const double> w) const override {
    return inner_->exact_difference(terms, w);
  }
  [[nodiscard]] RowNorms row_norms() const override { return inner_->row_norms(); }
  [[nodiscard]] double largest_offset() const override { return inner_->largest_offset(); }
  [[nodiscard]] std::optional<RowFault> first_fault(const RowLimits& limits) const override {
    return inner_->first_fault(limits);
  }

 protected:
  [[nodiscard]] Asked& inner() const { return *inner_; }

 private:
  std::shared_ptr<Asked> inner_;
};

class ForwardingSums : public Forwarding<RowSums> {
 public:
  using Forwarding::Forwarding;
};

class ForwardingEngine : public Forwarding<Engine>, public ChainStepper {
 public:
  using Forwarding::Forwarding;
  [[nodiscard]] ChainStepper* stepper() override { return this; }
  void advance(Ensemble& ensemble, std::uint64_t steps) override {
    inner().advance(ensemble, steps);
  }
  void step(Ensemble& ensemble, MatrixView<const double> gradients) override {
    inner().stepper()->step(ensemble, gradients);
  }
};

}  // namespace gibbsite::support
