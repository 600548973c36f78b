#pragma once
// Curves of numbers: each is a weighted sum of hat functions between public knots
// (docs/theory/curves.md).
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

inline constexpr std::size_t most_knots = 1'000;
/// The most knots that `curve = "auto"` takes.
inline constexpr std::size_t most_automatic_knots = 12;

/// `count` knots from lo to hi, ascending, lo and hi among them. `log`: at equal widths of
/// log(1 + (v - lo)/s), s = (hi - lo)/1000. `automatic`: log if lo >= 0, hi - lo >= 1000 and
/// hi >= 50 lo, else even. Inner knots are rounded to a thousandth of their distance or finer, so
/// that people can read them. Throws BadInput if count < 2 or the range is not lo < hi.
std::vector<double> placed_knots(double lo, double hi, std::size_t count, KnotScale scale);
/// Likewise over the range of a number; those of dates are whole days, each once.
std::vector<double> placed_knots(const Column& number, std::size_t count);
/// Whether a column is a number that counts as a straight line over a range so wide that knots of a
/// curve would be placed by `log`: its effect may bend. It follows from the public range alone.
bool is_wide_line(const Column& column);

/// Knots lo, then 0 and the numbers +-{1, 2, 5} 10^e between lo and hi that are at least
/// (hi - lo)/1000 from 0 and from both ends, then hi.
std::vector<double> series_knots(double lo, double hi);

/// Where a number is between knots: hat `first` is `value`, the next one `next`, all others 0.
/// Both are multiples of 2^-24 from 0 to 1 whose sum is exactly 1, so the row's part has norm at
/// most 1 in exact arithmetic.
struct Hat {
  std::size_t first = 0;
  float value = 1, next = 0;
};

/// The hat functions of a curve, in the unit that rows have.
class Hats {
 public:
  Hats() = default;
  /// Throws nothing: the column's knots are legal (Schema::validate).
  explicit Hats(const Column& curve);
  /// Throws nothing: knots ascend, 2 of them at least.
  explicit Hats(std::span<const double> knots);
  /// x: the scaled number (v - lo)/(hi - lo) as a float, clamped to [0, 1]; not NaN.
  [[nodiscard]] Hat at(float x) const;
  [[nodiscard]] std::size_t size() const { return knots_.size(); }

 private:
  std::vector<double> knots_;  // from 0 to 1
};

/// A basis of the functions with `knots` hats (and a "(missing)" level) whose m coefficients add up
/// to 0: B = Q L^-T with Q orthonormal contrasts and L L^T = 1 + Q^T D^T D Q, D the second
/// differences over the knots. So B B^T = Q (1 + Q^T D^T D Q)^-1 Q^T: a straight line over the
/// knots keeps its size, and the rougher a direction is, the smaller. ||B|| <= 1.
struct SmoothContrasts {
  std::size_t features = 0;   ///< m
  std::vector<double> basis;  ///< B [m x (m - 1)] row-major
  std::vector<double> plain;  ///< Q [m x (m - 1)]
  double longest = 1;         ///< largest squared norm of a row of B
};
const SmoothContrasts& smooth_contrasts(std::size_t knots, bool missing);

/// A typical squared norm of a curve's features in these coordinates: 2/3 of `longest`, as hats
/// have squares of 2/3 on average. A public guess, no bound.
double typical_square(const Schema& schema, const Column& curve);

/// How many knots each of `curves` automatic curves gets, from public numbers alone: at most
/// most_automatic_knots, and so many that `signal` (n mu: rows times the budget's mu, twice that
/// under add-remove) is at least 5 for each coordinate. `coordinates`: of the schema with straight
/// lines. 2, a straight line, if it would be below 4 (found by measurement on 13 tables).
std::size_t automatic_knots(double signal, double coordinates, std::size_t curves);

/// The schema with every automatic curve placed at `knots` knots; 2 makes straight lines. So does a
/// range that is too narrow for its numbers to tell knots apart, or has no step of a series inside.
Schema with_knots(const Schema& schema, std::size_t knots);

/// Makes the column a straight line, as models without terms read it.
void without_curve(Column& column);

/// Number of columns whose curve is not chosen yet.
std::size_t automatic_curves(const Schema& schema);

/// Throws BadInput that names the first column whose curve is not chosen yet, if there is any.
void require_chosen_curves(const Schema& schema);

}  // namespace gibbsite
