#include "gibbsite/model/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {

Problem Model::constants(const FeatureSpace& space, std::uint64_t rows) const {
  if (prior_precision) require_finite_nonnegative(*prior_precision, "prior_precision");
  // One stream gives 2^32 words of noise at one step (core/random.cpp).
  if (loss->outputs() > 1 && space.features > (std::uint64_t{1} << 32) / loss->outputs()) {
    throw BadInput(fmt::format(
        "features: {} for each of {} classes are more than 2^32 coefficients; leave some out",
        space.features, loss->outputs()));
  }
  const std::uint64_t coordinates = space.features * loss->outputs();
  if (!center.empty() && center.size() != coordinates) {
    throw BadInput(
        fmt::format("center: has {} coordinates, the model has {}; give one per "
                    "feature",
                    center.size(), coordinates));
  }
  if (!std::all_of(center.begin(), center.end(), [](double c) { return std::isfinite(c); })) {
    throw BadInput("center: has a coordinate that is not finite; give finite numbers");
  }
  if (loss->label() != space.label) {
    throw BadInput(Field{"model"},
                   fmt::format("{} predicts {}, and the schema's label is {}", loss->name(),
                               to_string(loss->label()), to_string(space.label)),
                   format_message("take {}, or describe the label anew ({})",
                                  fmt::join(loss_names(space.label), " or "),
                                  loss->label() == LabelKind::two_classes ? Word{"positive"}
                                  : loss->label() == LabelKind::amount    ? Word{"range"}
                                  : loss->label() == LabelKind::count
                                      ? format_message("{} and counts = true", Word{"range"})
                                      : Word{"classes"}));
  }
  if (space.label == LabelKind::classes && loss->outputs() != space.classes) {
    throw BadInput(
        Field{"model"},
        fmt::format("{} is of {} classes, and the schema lists {}", loss->name(), loss->outputs(),
                    space.classes),
        fmt::format("take {}", full_loss_name(default_loss(space.label), space.classes)));
  }
  if (!std::ranges::equal(loss->class_weights(), space.class_weights)) {
    throw BadInput(Field{"model"},
                   fmt::format("{} has not the class_weights of the schema", loss->name()),
                   fmt::format("take {}", full_loss_name(loss->unweighted().name(), space)));
  }
  if (space.offset_bound > 0 && loss->label() != LabelKind::count) {
    throw BadInput(Field{"model"},
                   fmt::format("an exposure is a count's, and {} predicts {}", loss->name(),
                               to_string(loss->label())),
                   "leave it out");
  }
  Problem constants;
  constants.label_bound = space.label_bound;
  constants.largest_count = space.largest_count;
  constants.offset_bound = space.offset_bound;
  constants.weighted = space.weighted || space.people;
  constants.rows_of_person = space.people ? 1 : 0;  // until a budget says how many
  constants.rows = rows;
  constants.features = coordinates;
  constants.row_norm = space.row_norm;
  constants.intercept = space.intercept;
  constants.typical_row_norm = space.typical_row_norm;
  set_loss(constants, *loss);
  constants.prior_precision = prior_precision;
  Wide center_squared = 0;
  for (const double c : center) center_squared += Wide(c) * Wide(c);
  constants.center_norm = round_up(sqrt(center_squared));
  constants.validate();
  return constants;
}

Model logistic_regression(const GlmOptions& options) { return glm("logistic", options); }

Model glm(std::string_view loss, const GlmOptions& options) {
  if (loss == "probit") {
    throw BadInput(
        Field{"model"},
        "probit is refused: its gradient is not bounded (the likelihood is not Lipschitz), so no "
        "budget buys a guarantee",
        "use logistic");
  }
  struct Refusal {
    std::string_view name, why;
  };
  static constexpr Refusal refusals[] = {
      {"hinge",
       "hinge is refused: its slope jumps, so no chain's guarantee is known; use smoothed-hinge"}};
  for (const Refusal& refusal : refusals) {
    if (loss == refusal.name)
      throw BadInput(format_message("{}: ", Field{"model"}) + std::string(refusal.why));
  }
  return {&loss_named(loss), options.prior_precision, options.center};
}

}  // namespace gibbsite
