#include "gibbsite/model/label.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/overloaded.hpp"
#include "gibbsite/model/losses/weighted.hpp"

namespace gibbsite {

LabelKind kind_of(const Label& label) {
  return std::visit([](const auto& of) { return of.kind; }, label);
}

const NumberLabel* number_of(const Label& label) {
  if (const Amount* const amount = std::get_if<Amount>(&label)) return amount;
  return std::get_if<Count>(&label);
}

std::vector<std::string> class_names(const Label& label) {
  using Names = std::vector<std::string>;
  return std::visit(Overloaded{[](const TwoClasses& two) {
                                 return Names{two.negative_name(), two.positive};
                               },
                               [](const Classes& several) { return several.names; },
                               [](const NumberLabel&) { return Names{}; }},
                    label);
}

double decision_threshold(std::optional<double> given, const Label& label,
                          std::string_view source) {
  if (!given) return 0.5;
  if (!is<TwoClasses>(label)) {
    throw BadInput(
        Field{"threshold"},
        is<Classes>(label)
            ? fmt::format("{} is of several classes, and the likeliest is predicted", source)
            : fmt::format("{} predicts {} and no class", source, to_string(kind_of(label))),
        "leave it out");
  }
  if (!(*given >= 0 && *given <= 1))
    throw BadInput(Field{"threshold"}, fmt::format("must be from 0 to 1, got {}", *given),
                   "give a probability, or leave it out for one half");
  return *given + 0.0;  // no -0
}

std::span<const double> class_weights(const Label& label) {
  using Weights = std::span<const double>;
  return std::visit(Overloaded{[](const TwoClasses& two) { return Weights(two.weights); },
                               [](const Classes& several) { return Weights(several.weights); },
                               [](const NumberLabel&) { return Weights{}; }},
                    label);
}

std::vector<float> scaled_class_weights(const Label& label) {
  return losses::scaled_class_weights(class_weights(label));
}

double label_middle(const Label& label) {
  const Amount* const amount = std::get_if<Amount>(&label);
  return amount == nullptr ? 0 : amount->middle();
}

double label_unit(const Label& label) {
  return std::visit(
      Overloaded{[](const Amount& amount) { return amount.tolerance; },
                 [](const Count& count) { return count.hi; }, [](const auto&) { return 1.0; }},
      label);
}

double coefficient_unit(const Label& label) { return is<Amount>(label) ? label_unit(label) : 1; }

float label_bound(const Label& label) {
  const Amount* const amount = std::get_if<Amount>(&label);
  if (amount == nullptr) return 1;
  const double middle = amount->middle();
  const double bound = std::max(amount->hi - middle, middle - amount->lo) / amount->tolerance;
  // Two roundings in double, far below a float's last place.
  return std::nextafter(static_cast<float>(bound), std::numeric_limits<float>::infinity());
}

float scaled_label(const Label& label, double value) {
  const NumberLabel* const number = number_of(label);
  if (number == nullptr) return 0;
  return static_cast<float>((std::clamp(value, number->lo, number->hi) - label_middle(label)) /
                            label_unit(label));
}

}  // namespace gibbsite
