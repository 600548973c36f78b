#pragma once
// Priors of a regression's parameters as people write them: by the names of columns or features.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/chains/prior.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// One line of what was asked for. `name` is a feature ("age", "gender=Female", "(intercept)"), a
/// coefficient of several classes ("red: age"), a column or an interaction with all its features
/// ("gender", "age × sex"), or "*": every parameter that no other line names.
struct NamedPrior {
  std::string name, law;
};

/// "NAME = LAW", divided at the last "=" since names of levels have one; "LAW" alone is of "*".
NamedPrior named_prior(std::string_view line);

/// "normal(center, scale)" or "student_t(degrees, center, scale)", in Stan's order. Throws BadInput
/// on another text, a scale or degrees that are not above 0, a number that is not finite, or a
/// scale whose square has no reciprocal in double.
Prior prior_from_text(std::string_view text);
/// Its text, as above, in shortest numbers.
std::string to_text(const Prior& prior);

/// The prior of each coefficient of `coefficient_names` [d] on the encoder's scale. The more
/// special name wins (coefficient, feature, column, "*"); what none names has N(0, 1/precision).
/// Throws BadInput on a name that is none or given twice, a law as above, or if some parameter is
/// left over and there is no precision.
std::vector<Prior> priors_of(const Schema& schema, const std::vector<NamedPrior>& given,
                             std::optional<double> precision);

}  // namespace gibbsite
