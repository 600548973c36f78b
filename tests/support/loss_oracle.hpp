#pragma once
// Losses in 64 bits, in other forms than the program's, and labels that each can have.
#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/model/loss.hpp"

namespace gibbsite::support {

/// Labels that a schema of that kind can make, the most extreme among them.
inline std::vector<float> labels_of(const Loss& loss, double bound = 1e6) {
  switch (loss.label()) {
    case LabelKind::two_classes:
      return {-1, 1};
    case LabelKind::amount: {
      std::vector<float> y{0, 1e-30F, 0.3F, 1, 4.7F, 123.4F, 1e6F};
      for (std::size_t i = 0, n = y.size(); i < n; ++i) y.push_back(-y[i]);
      std::erase_if(y, [&](float v) { return std::fabs(static_cast<double>(v)) > bound; });
      return y;
    }
    case LabelKind::classes: {
      std::vector<float> y(loss.outputs());
      for (std::size_t k = 0; k < y.size(); ++k) y[k] = static_cast<float>(k);
      return y;
    }
    case LabelKind::count:
      break;
  }
  return {0, 0x1p-24F, 1e-3F, 0.1F, 1.0F / 3, 0.5F, 1 - 0x1p-24F, 1};
}

/// One of them for each of n rows.
inline std::vector<float> random_labels(const Loss& loss, std::size_t n, double bound,
                                        unsigned seed) {
  const std::vector<float> labels = labels_of(loss, bound);
  std::mt19937 bits(seed);
  std::vector<float> out(n);
  for (float& y : out) y = labels[bits() % labels.size()];
  return out;
}

struct ExactLoss {
  long double value, derivative, curvature;
};

/// At an f'' that jumps the side that has one.
inline ExactLoss exact_loss(std::string_view name, long double z, long double y) {
  if (name.find('(') != std::string_view::npos) {
    const Loss& loss = loss_named(name);
    const long double w = class_weight(loss.class_weights(), static_cast<float>(y));
    const ExactLoss f = exact_loss(loss.unweighted().name(), z, y);
    return {w * f.value, w * f.derivative, w * f.curvature};
  }
  if (name == "huber") {
    const long double r = z - y, held = std::min(std::max(r, -1.0L), 1.0L);
    return {held * (r - held / 2), held, std::fabs(r) <= 1 ? 1.0L : 0.0L};
  }
  if (name == "squared") return {(z - y) * (z - y) / 2, z - y, 1};
  if (name == "pseudo-huber") {
    const long double r = z - y, root = std::hypot(1.0L, r);
    return {r / (1 + root) * r, r / root, 1 / (root * root * root)};
  }
  if (name == "smoothed-hinge") {
    const long double room = 1 - y * z, held = std::min(std::max(room, 0.0L), 1.0L);
    return {held * (room - held / 2), -y * held, y * z >= 0 && y * z <= 1 ? 1.0L : 0.0L};
  }
  if (name == "poisson") {
    constexpr double shift = 2.302585092994045684;  // log 10, as the double it is defined with
    const long double u = z - static_cast<long double>(shift), mean = std::exp(std::min(u, 0.0L));
    return {mean - y * std::min(u, 0.0L) + (1 - y) * std::max(u, 0.0L), mean - y,
            u <= 0 ? mean : 0.0L};
  }
  const long double t = y * z, e = std::exp(-std::fabs(t));
  const long double losing = (t >= 0 ? e : 1) / (1 + e);
  if (name == "logistic-capped" && t < 0) return {std::log(2.0L) - t / 2, -y / 2, 0};
  if (!name.starts_with("logistic")) throw std::invalid_argument(std::string(name));
  return {std::max(-t, 0.0L) + std::log1p(e), -y * losing, e / ((1 + e) * (1 + e))};
}

/// A loss at K predictors z: its value f, slope = grad_z f [K] and curvature = grad_z^2 f [K x K].
struct ExactOutputs {
  long double value;
  std::vector<long double> derivative, curvature;
};

/// Softmax by differences of predictors: p_k = 1/sum_j e^{z_j - z_k}.
inline ExactOutputs exact_outputs(const Loss& loss, const std::vector<long double>& z, float y) {
  const std::size_t K = z.size();
  if (loss.outputs() > 1 && !loss.class_weights().empty()) {
    ExactOutputs f = exact_outputs(loss.unweighted(), z, y);
    const long double w = class_weight(loss.class_weights(), y);
    f.value *= w;
    for (long double& v : f.derivative) v *= w;
    for (long double& v : f.curvature) v *= w;
    return f;
  }
  if (loss.outputs() == 1) {
    const ExactLoss f = exact_loss(loss.name(), z[0], static_cast<long double>(y));
    return {f.value, {f.derivative}, {f.curvature}};
  }
  if (!loss.name().starts_with("softmax-")) throw std::invalid_argument(std::string(loss.name()));
  const auto label = static_cast<std::size_t>(y);
  std::vector<long double> p(K), rest(K, 0);  // rest_k = 1 - p_k
  for (std::size_t k = 0; k < K; ++k) {
    long double sum = 1;
    for (std::size_t j = 0; j < K; ++j) sum += j == k ? 0 : std::exp(z[j] - z[k]);
    p[k] = 1 / sum;
  }
  for (std::size_t k = 0; k < K; ++k) {
    for (std::size_t j = 0; j < K; ++j) rest[k] += j == k ? 0 : p[j];
  }
  ExactOutputs f{0, p, std::vector<long double>(K * K)};
  f.derivative[label] = -rest[label];
  for (std::size_t k = 0; k < K; ++k) {
    for (std::size_t j = 0; j < K; ++j) f.curvature[k * K + j] = p[k] * (j == k ? rest[k] : -p[j]);
  }
  const auto most = static_cast<std::size_t>(std::max_element(z.begin(), z.end()) - z.begin());
  long double others = 0;
  for (std::size_t j = 0; j < K; ++j) others += j == most ? 0 : std::exp(z[j] - z[most]);
  f.value = std::log1p(others) + (z[most] - z[label]);
  return f;
}

}  // namespace gibbsite::support
