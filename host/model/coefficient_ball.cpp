#include "gibbsite/model/coefficient_ball.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "model/people_advice.hpp"

namespace gibbsite {
namespace {

// What draws lose (docs/theory/select.md). F is the sum of n convex losses, each R-Lipschitz, and
// all expectations are of F less its least value over ‖θ‖ ≤ B.
//
// - Of c points, by P ∝ e^{−βF}: P minimizes E F + KL(P ‖ flat)/β, and KL is log c at the best
//   point alone. So the loss is at most (log c)/β, β = ε/(2BR).
// - Of a convex set, by a density ∝ e^{−U} with U convex, w its minimizer there: d − E⟨∇U, θ−w⟩ is
//   the flux of (θ−w)e^{−U} through the boundary over ∫e^{−U}, and not negative, as w is inside. So
//   E U − U(w) ≤ E⟨∇U, θ−w⟩ ≤ d. With U = βF: d/β. With U = βF + (m/2)‖θ‖² everywhere: βE F ≤
//   βF(θ) + mB²/2 + d; β = μ√m/(2R), and m = 2d/B² is the best.
// - Output perturbation, ridge λ: F at θ̂ + b is at most F(θ̂) + nR‖b‖, b of deviation 2R/(λμ) a
//   coordinate: 2nR²√d/(λμ) + λB²/2, at its best λ.

constexpr std::uint64_t most_squares = std::uint64_t{1} << 40;
// Below it 1 ulp of log 2 is more than 1e-9 of the range; above, exp(-B R) is 0 many times over.
constexpr double least_reach = 1e-6, most_reach = 1e6;

std::uint64_t floor_root(std::uint64_t q) {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(q)));
  while (root * root > q) --root;
  while ((root + 1) * (root + 1) <= q) ++root;
  return root;
}

// How many z of d whole numbers have ||z||^2 <= q; most + 1 stands for all that are more.
std::uint64_t lattice_points(std::size_t d, std::uint64_t q, std::uint64_t most) {
  const std::uint64_t root = floor_root(q);
  if (d == 1) return std::min(2 * root + 1, most + 1);
  std::uint64_t found = lattice_points(d - 1, q, most);
  for (std::uint64_t z = 1; z <= root && found <= most; ++z)
    found += 2 * lattice_points(d - 1, q - z * z, most);
  return std::min(found, most + 1);
}

// The points whose first coordinates are those of `z`, and the others' squares at most `left`.
void add_points(std::vector<std::int64_t>& z, std::size_t place, std::uint64_t left,
                std::vector<std::vector<std::int64_t>>& out) {
  if (place == z.size()) return out.push_back(z);
  const auto root = static_cast<std::int64_t>(floor_root(left));
  for (z[place] = -root; z[place] <= root; ++z[place])
    add_points(z, place + 1, left - static_cast<std::uint64_t>(z[place] * z[place]), out);
  z[place] = 0;
}

std::uint64_t largest_square(const std::vector<std::vector<std::int64_t>>& lattice) {
  std::uint64_t out = 0;
  for (const auto& z : lattice) {
    std::uint64_t sum = 0;
    for (const std::int64_t v : z) sum += static_cast<std::uint64_t>(v * v);
    out = std::max(out, sum);
  }
  return out;
}

// B R: |x.theta| of a row in the ball. Rows are never longer than their columns allow.
double reach_of(const CoefficientBall& ball) {
  const double norm = std::min(ball.schema.row_norm, ball.schema.max_unclipped_norm());
  return ball.radius * (ball.schema.intercept ? std::hypot(norm, 1.0) : norm);
}

void require_ball_schema(const Schema& schema) {
  const auto* const label = std::get_if<TwoClasses>(&schema.label);
  if (label == nullptr)
    throw BadInput(Field{"ball"}, "a draw in a ball is of two classes", "give a label of two");
  if (!label->weights.empty() || schema.weight() != nullptr || schema.person() != nullptr) {
    throw BadInput(Field{"ball"},
                   "a draw in a ball counts rows alike, and the schema has class_weights, weights "
                   "or people",
                   schema.was_bought_for_people() ? rows_instead(schema) : "leave them out");
  }
  for (const Column& column : schema.columns) {
    if (!column.automatic_curve) continue;
    throw BadInput(Field{"ball"}, fmt::format("the knots of {} are not chosen", shown(column.name)),
                   "list its knots in the schema");
  }
}

}  // namespace

void CoefficientBall::validate() const {
  if (!(radius >= smallest_ball && radius <= largest_ball)) {
    throw BadInput(
        Field{"ball"},
        fmt::format("must be a radius from {} to {}, got {}", smallest_ball, largest_ball, radius),
        "give one, such as 5");
  }
  require_ball_schema(schema);
  const std::size_t d = schema.features();
  if (d < 1 || d > most_ball_features) {
    throw BadInput(
        Field{"ball"},
        fmt::format("a lattice is of 1 to {} features, and rows have {}", most_ball_features, d),
        "leave some out");
  }
  const double reach = reach_of(*this);
  if (!(reach >= least_reach && reach <= most_reach)) {
    throw BadInput(Field{"ball"},
                   fmt::format("times the norm of a row it must be from {} to {}, got {}",
                               least_reach, most_reach, reach),
                   "give another radius");
  }
  if (squares < 1 || squares > most_squares)
    throw BadInput("squares: is of no lattice; use the file as it was written");
}

std::uint64_t CoefficientBall::points(std::uint64_t most) const {
  return lattice_points(schema.features(), squares, most);
}

std::vector<std::vector<std::int64_t>> CoefficientBall::lattice() const {
  std::vector<std::vector<std::int64_t>> out;
  std::vector<std::int64_t> z(schema.features());
  add_points(z, 0, squares, out);
  return out;
}

std::vector<double> CoefficientBall::coefficients(const std::vector<std::int64_t>& z) const {
  const double step = radius / std::sqrt(static_cast<double>(squares));
  std::vector<double> out;
  for (const std::int64_t v : z) out.push_back(step * static_cast<double>(v));
  return out;
}

std::string CoefficientBall::name_of(const std::vector<std::int64_t>& z) {
  return fmt::format("{}", fmt::join(z, " "));
}

// log(1 + e^r) = r + log(1 + e^-r), so that nothing overflows.
std::pair<double, double> CoefficientBall::log_likelihoods() const {
  const double reach = reach_of(*this), best = std::log1p(std::exp(-reach));
  return {-(reach + best), -best};
}

CoefficientBall coefficient_ball(const Schema& schema, double radius, std::uint64_t most) {
  CoefficientBall out{schema, radius, 1};
  out.validate();
  const auto fits = [&](std::uint64_t q) {
    return lattice_points(schema.features(), q, most) <= most;
  };
  if (!fits(1)) throw BadInput(fmt::format("most: no lattice has as few as {} points", most));
  std::uint64_t above = 2;
  while (above < most_squares && fits(above)) above *= 2;
  for (std::uint64_t step = above / 2; step > 0; step /= 2)
    if (out.squares + step < above && fits(out.squares + step)) out.squares += step;
  out.squares = largest_square(out.lattice());
  return out;
}

}  // namespace gibbsite
