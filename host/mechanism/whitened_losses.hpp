#pragma once
// Losses that `whitened` asks gradients of (docs/theory/whitened.md, "Amounts and counts").
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/score_coordinates.hpp"
#include "gibbsite/core/problem.hpp"
#include "gibbsite/mechanism/whitened.hpp"

namespace gibbsite {

/// Whether it is the logistic loss of two classes, weighted or not.
inline bool is_two_class_logistic(std::string_view loss) {
  return unweighted_name(loss) == "logistic";
}

/// Whether the rule was found for that loss.
inline bool whitened_takes(const Problem& problem) {
  const std::string_view loss = unweighted_name(problem.loss);
  return loss.starts_with("softmax-") || is_two_class_logistic(loss) || loss == "huber" ||
         loss == "pseudo-huber" || loss == "poisson";
}

/// Whether it is of amounts, whose slopes are held at their caps, or of counts, which are weighted
/// and then held: of either what scores vary does not follow from the information.
inline bool has_capped_derivatives(const Problem& problem) {
  return problem.loss == "huber" || problem.loss == "pseudo-huber" || problem.loss == "poisson";
}

/// Whether its classes have weights.
inline bool weighs_classes(const Problem& problem) {
  return problem.loss != unweighted_name(problem.loss);
}
/// Whether what its scores vary does not follow from the information at all: where slopes are held,
/// or rows or classes count by weights. Then intervals ask for the scores' second moments in every
/// file.
inline bool needs_scores(const Problem& problem) {
  return has_capped_derivatives(problem) || problem.weighted || weighs_classes(problem);
}
/// Whether its intervals ask for second moments of scores. Of two classes they follow from the
/// information where the model holds, and not where an effect bends (docs/theory/intervals.md);
/// former files of two classes have none.
inline bool takes_scores(const Problem& problem) {
  return needs_scores(problem) || is_two_class_logistic(problem.loss);
}

/// ScoreLimits::information of the problem's block: `information_limit` as its loss has it,
/// whatever else is asked.
inline double block_limit(Whitened settings, const Problem& problem) {
  if (!has_capped_derivatives(problem)) settings.score_share = 0;
  return information_limit(settings);
}
/// What holds the norm of a score whose second moments are asked, where a row's is held to `clip`:
/// k clip where it is the sum of a person's.
inline double score_clip(const Problem& problem, double clip) {
  return problem.of_people() ? static_cast<double>(problem.rows_of_person) * clip : clip;
}
/// Those who change sums of what `score_clip` holds: a person has one such score.
inline Neighbors score_neighbors(const Problem& problem, Neighbors who) {
  if (problem.of_people()) who.rows_per_person = 1;
  return who;
}

/// N/d below which the rule is that of small budgets.
inline constexpr double rows_of_small_budgets = 25;

/// Whether what small budgets ask is derived for the problem, and can pay: a row's constant is what
/// fills the first moments.
inline bool takes_small_budget(const Problem& problem) {
  return whitened_takes(problem) && problem.intercept && problem.row_features() > 1;
}

/// Whether all columns are numbers without curves: a typical row is as long as one of numbers, and
/// rows may be as long as one with a column for each feature, which the levels of a category are
/// not.
inline bool is_of_numbers(const Problem& problem) {
  const double columns = static_cast<double>(problem.row_features()) - 1;
  const double typical = problem.typical_row_norm * problem.typical_row_norm;
  return std::fabs(typical - (1 + columns / 12)) < 1e-6 * typical &&
         problem.row_norm * problem.row_norm > (1 - 1e-6) * columns;
}

/// Whether the rule of small budgets was ahead where it was measured. With levels or curves among
/// the columns it was not, nor for counts (docs/theory/whitened.md, "Small budgets"). If rows have
/// weights, how many lengths were added up is not known.
inline bool gains_by_small_budget(const Problem& problem) {
  return takes_small_budget(problem) && !problem.weighted && problem.loss != "poisson" &&
         is_of_numbers(problem);
}

/// Numbers of the symmetric matrix of scores' second moments.
inline double score_numbers(const Problem& problem) {
  const auto m = static_cast<double>(score_coordinates(problem.outputs, problem.row_features()));
  return m * (m + 1) / 2;
}

/// Pairs of classes, each of which has one block of the information: 1 of two classes.
inline double information_blocks(const Problem& problem) {
  const auto K = static_cast<double>(problem.outputs);
  return K > 1 ? K * (K - 1) / 2 : 1;
}

/// Columns times one less than the number of classes above which no intervals are offered: their
/// estimates take memory and time of the square and the cube of it. Of two classes the number of
/// columns is bounded elsewhere.
inline constexpr double most_contrasts = 600;
/// The number of classes above which no intervals are offered.
inline constexpr std::uint64_t most_interval_classes = 20;

/// Why no intervals can be had of it, for people; empty where they can.
Message information_obstacle(const Problem& problem);

/// sup of the trace of a row's grad_z^2 f, from which its curvature is asked: phi of one output.
inline double largest_trace(const Problem& problem) {
  return problem.curvature * problem.traces.most;
}

/// The mean curvature of a row over the directions that move what it predicts: at most this, and
/// this at 0. f'' of one output; of K classes the trace over K - 1, at most 1/K.
inline double largest_mean_curvature(const Problem& problem) {
  const auto K = static_cast<double>(problem.outputs);
  return K > 1 ? largest_trace(problem) / (K - 1) : largest_trace(problem);
}

}  // namespace gibbsite
