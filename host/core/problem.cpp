#include "gibbsite/core/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {
namespace {

// sup ||x||^2, exact in 50 digits.
Wide full_row_norm_squared(const Problem& c) {
  const Wide r = c.row_norm;
  return c.intercept ? Wide(r * r + 1) : Wide(r * r);
}

}  // namespace

std::string_view to_string(LabelKind kind) {
  switch (kind) {
    case LabelKind::two_classes:
      return "two classes";
    case LabelKind::amount:
      return "an amount";
    case LabelKind::count:
      return "a count";
    case LabelKind::classes:
      break;
  }
  return "several classes";
}

std::string_view unweighted_name(std::string_view loss) { return loss.substr(0, loss.find('(')); }

double Problem::full_row_norm_up() const {
  return intercept ? round_up(sqrt(full_row_norm_squared(*this))) : row_norm;
}

bool Problem::bounded() const { return std::isfinite(max_abs_derivative); }

double Problem::max_abs_derivative_up(double ball) const {
  if (bounded()) return max_abs_derivative;
  if (!(ball > 0)) {
    throw BadInput(format_message("{} {}", Field{"model"}, loss),
                   "its slope grows with the error without bound, so one row could do anything",
                   format_message("keep chains in a {} ({} path), or take another loss",
                                  Field{"ball"}, Field{"mechanism"}));
  }
  return round_up(Wide(derivative_at_zero) +
                  Wide(curvature) * sqrt(full_row_norm_squared(*this)) * Wide(ball));
}

namespace {

// n, of people k n: exact in 50 digits.
Wide most_weight(const Problem& p) {
  return Wide(p.rows) * Wide(std::max<std::uint64_t>(p.rows_of_person, 1));
}

}  // namespace

double Problem::most_weight_up() const {
  constexpr std::uint64_t exact = std::uint64_t{1} << 53;
  const std::uint64_t k = std::max<std::uint64_t>(rows_of_person, 1);
  return rows <= exact / k ? static_cast<double>(k * rows) : round_up(most_weight(*this));
}

double Problem::lipschitz_up(double ball) const {
  const double derivative = max_abs_derivative_up(ball);
  if (!intercept && derivative == 1.0) return row_norm;
  return round_up(Wide(derivative) * sqrt(full_row_norm_squared(*this)));
}

double Problem::sensitivity_up(double beta, Adjacency adjacency,
                               std::uint64_t rows_per_person) const {
  const int gradients = adjacency == Adjacency::replace_one ? 2 : 1;
  return round_up(Wide(rows_per_person) * gradients * Wide(beta) * Wide(lipschitz_up()));
}

double Problem::smoothness_up(double beta, double strong_convexity) const {
  return round_up(Wide(beta) * most_weight(*this) * Wide(curvature) * full_row_norm_squared(*this) +
                  Wide(strong_convexity));
}

double Problem::minimizer_distance_up(double beta, double strong_convexity) const {
  const Wide weight = Wide(beta) * most_weight(*this) / Wide(strong_convexity);
  if (!std::isfinite(drop_from_zero)) return round_up(weight * Wide(lipschitz_up()));
  const Wide center = center_norm;
  const Wide by_value = sqrt(2 * weight * Wide(drop_from_zero) + center * center);
  if (!bounded()) return round_up(by_value);
  return round_up(std::min(Wide(weight * Wide(lipschitz_up())), by_value));
}

void Problem::validate() const {
  if (rows < 1) throw BadInput("rows: must be at least 1, got 0; give the public number of rows");
  if (of_people() && !weighted)
    throw BadInput("weighted: people are held to their rows by weights; give true");
  if (features < 1)
    throw BadInput("features: must be at least 1, got 0; give the number of features");
  if (outputs < 1 || features % outputs != 0)
    throw BadInput("outputs: must divide the number of features; give the loss's own");
  require_finite_positive(row_norm, "row_norm");
  require_finite_positive(label_bound, "label_bound");
  require_finite_positive(derivative_at_zero, "residual_at_zero");
  if (max_abs_derivative != std::numeric_limits<double>::infinity()) {
    require_finite_positive(max_abs_derivative, "max_abs_residual");
  }
  require_finite_nonnegative(offset_bound, "offset_bound");
  require_finite_positive(curvature, "curvature");
  require_finite_positive(traces.most, "traces.most");
  require_finite_positive(traces.majorant, "traces.majorant");
  require_finite_nonnegative(center_norm, "center_norm");
  if (prior_precision) require_finite_nonnegative(*prior_precision, Field{"prior_precision"});
}

}  // namespace gibbsite
