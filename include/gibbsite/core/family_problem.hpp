#pragma once
// The public numbers of a conjugate family over one column (docs/theory/conjugate.md).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gibbsite {

/// The distribution of the column's values, and the parameter that is fitted.
enum class Family {
  bernoulli,     ///< one of two levels; the share of each, Beta prior
  categorical,   ///< one of K levels; the share of each, Dirichlet prior
  rate,          ///< Poisson counts from 0 to Y; the mean count, Gamma prior
  waiting,       ///< exponential times in [lo, hi]; the rate 1/mean, Gamma prior
  mean,          ///< normal values in [lo, hi] of known variance; the mean, normal prior
  bounded_mean,  ///< values in [lo, hi] of any law; the mean, Beta prior
  variance,      ///< normal values of known mean; the precision 1/variance, Gamma prior
  laplace,       ///< Laplace values of known center; 1/scale, Gamma prior
};
std::string_view to_string(Family family);
/// The family with this name, or none.
std::optional<Family> family_named(std::string_view name);

/// The largest number of levels of a categorical column, and the largest count of a rate.
inline constexpr std::uint64_t most_family_levels = 1'000;
inline constexpr double most_family_count = 65'536;
/// Distances from a known center count as at least this share of the largest, for variance and
/// laplace: a table without any would tell of one record.
inline constexpr double least_distance = 0.01;

/// What the rows of a public table add to the prior (docs/theory/public-prior.md). Nothing protects
/// people in them.
struct PublicCounts {
  /// In the units of FamilyProblem::prior, already times the weight. mean: precision and mean.
  std::vector<double> counts{};
  double weight = 1;       ///< what a public row counts, in (0, 1]
  std::string file;        ///< the table's name, without folders; "frame" has none
  std::string sha256;      ///< of the file, in hexadecimal digits
  std::uint64_t rows = 0;  ///< that it has
  bool operator==(const PublicCounts&) const = default;
};

/// Everything about the table that a family's mechanisms may know. It is public.
struct FamilyProblem {
  Family family = Family::bernoulli;
  std::uint64_t rows = 0;    ///< n, public
  std::uint64_t levels = 0;  ///< K; 0 for numbers
  double lo = 0, hi = 0;     ///< of numbers: the public range that cells are clamped to
  double variance = 0;       ///< of mean: known, in squared units of the column
  double center = 0;         ///< of variance and laplace: the known mean, within the range
  /// The prior. bernoulli, categorical: pseudo-counts [K]. rate: shape and rate (in rows) of the
  /// Gamma prior of the mean count. waiting, variance, laplace: shape and rate (in units of
  /// `values`) of the Gamma prior of 1/mean, 1/variance, 1/scale. mean: precision m of the normal
  /// prior about the middle of the range. bounded_mean: pseudo-counts of hi and of lo.
  std::vector<double> prior{};
  /// Pseudo-counts beyond the prior, which no scale of the prior touches; none: no public table.
  std::optional<PublicCounts> public_counts{};
  /// Public bounds that the parameter is trimmed to: of 1/mean for waiting, of 1/variance, of
  /// 1/scale. For levels the first
  /// number bounds each share from below, and the second is 0.
  std::optional<std::pair<double, double>> trim{};

  [[nodiscard]] bool has_levels() const {
    return family == Family::bernoulli || family == Family::categorical;
  }
  /// Whether the law of a draw is a Beta or a Dirichlet law.
  [[nodiscard]] bool is_beta() const { return has_levels() || family == Family::bounded_mean; }
  /// Whether a cell counts by its distance from the center.
  [[nodiscard]] bool is_centered() const {
    return family == Family::variance || family == Family::laplace;
  }
  /// Whether a draw is one of `waiting`, of the numbers that cells become.
  [[nodiscard]] bool is_waiting() const { return family == Family::waiting || is_centered(); }
  /// Bounds of the number that a cell becomes: the cell itself; of laplace its distance from the
  /// center, of variance the square of it.
  [[nodiscard]] std::pair<double, double> values() const;
  /// That number, for a cell in [lo, hi]; within `values`.
  [[nodiscard]] double value_of(double cell) const;
  /// How many exponential records one is that `is_waiting`: half a one for variance.
  [[nodiscard]] double records() const { return family == Family::variance ? 0.5 : 1; }
  /// The interval of the released parameter: the trim, else all that the range allows.
  [[nodiscard]] std::pair<double, double> reach() const;
  /// scale times the prior's numbers, and the public counts: as many numbers as `prior`.
  [[nodiscard]] std::vector<double> prior_at(double scale) const;
  /// mean: where the prior of `prior_at` has its center, in units of the column.
  [[nodiscard]] double prior_center(double scale) const;
  /// The default prior: weak, about the middle of the range.
  [[nodiscard]] std::vector<double> default_prior() const;
  /// Throws BadInput naming the field that is out of range, with what to do.
  void validate() const;
};

/// Calls f(first, middle, last) for each split of levels [first, last) into halves [first, middle)
/// and [middle, last), in the order of a depth-first walk. The share of the first half within each
/// split is what is drawn.
template <class F>
void for_each_split(std::uint64_t first, std::uint64_t last, const F& f) {
  if (last - first < 2) return;
  const std::uint64_t middle = first + (last - first) / 2;
  f(first, middle, last);
  for_each_split(first, middle, f);
  for_each_split(middle, last, f);
}

}  // namespace gibbsite
