#pragma once
// What a user says about the model, and the plan that follows: what every face of the library asks.
#include <cstdint>
#include <optional>
#include <string>

#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/model.hpp"

namespace gibbsite {

/// A loss and what of it may be left to the plan.
struct ModelRequest {
  std::string model = "auto";  ///< a loss's name, or "auto": what the schema's label asks for
  std::optional<double> prior_precision{};  ///< m; absent: chosen from public numbers
  /// Cap of the logistic loss: 0.5 holds its slope at 1/2, 1 does not; absent: what is best for
  /// each mechanism, 0.5 for path and metric-path (docs/theory/metric.md), 1 for others.
  std::optional<double> loss_cap{};
  std::optional<std::uint64_t> rows_cap{};  ///< under add-remove: public bound on the rows
};

/// The full name of the loss: of "auto" what such a label is fitted by, of softmax softmax-K.
std::string loss_of(const ModelRequest& request, const FeatureSpace& space);
/// The name of the loss that chains take. Throws BadInput on an unknown model and a cap that it
/// does not have.
std::string loss_of_chains(const ModelRequest& request, const FeatureSpace& space);
/// Public constants: the table's rows under replace-one, the cap under add-remove. Throws as above
/// and BadInput where the table has more rows than the cap.
Problem constants(const ModelRequest& request, const FeatureSpace& space, std::uint64_t rows);
/// For that table. Throws as `constants`, as `plan`, and where a cap is missing or has no meaning
/// under the budget's adjacency.
Plan plan(const ModelRequest& request, const FeatureSpace& space, std::uint64_t rows,
          const Budget& budget, const Wishes& wishes = {});
/// The model that such a plan is of.
Model model_of(const ModelRequest& request, const Plan& plan);
/// Throws BadInput where rows_cap is missing under add-remove, or given without it.
void require_cap(const ModelRequest& request, Adjacency adjacency);

}  // namespace gibbsite
