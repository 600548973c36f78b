#pragma once
// A model as its user states it: a loss and a Gaussian prior. Public: knows no data.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gibbsite/core/problem.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {

/// A loss and a Gaussian prior N(theta0, I/m). It is public and knows no data.
struct Model {
  const Loss* loss = nullptr;
  std::optional<double> prior_precision;  ///< m >= 0; absent: the schedule chooses it
  std::vector<double> center;             ///< theta0 [d]; empty means 0

  /// The public constants of this model on `rows` rows of a feature space (a Schema converts to
  /// one). Throws BadInput if m is negative or not finite, or the center has the wrong length.
  [[nodiscard]] Problem constants(const FeatureSpace& space, std::uint64_t rows) const;
};

struct GlmOptions {
  std::optional<double> prior_precision{};
  std::vector<double> center{};
};

/// Logistic regression, labels -1 and +1.
Model logistic_regression(const GlmOptions& options = {});
/// A GLM with the loss of this name. Throws BadInput if the name is unknown, and on "probit" with
/// the reason: its loss is not Lipschitz.
Model glm(std::string_view loss, const GlmOptions& options = {});

}  // namespace gibbsite
