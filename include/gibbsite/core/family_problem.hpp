#pragma once
// The public numbers of a conjugate family over one column (docs/theory/conjugate.md).
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gibbsite {

/// The distribution of the column's values, and the parameter that is fitted.
enum class Family {
  bernoulli,    ///< one of two levels; the share of each, Beta prior
  categorical,  ///< one of K levels; the share of each, Dirichlet prior
  rate,         ///< Poisson counts from 0 to Y; the mean count, Gamma prior
  waiting,      ///< exponential times in [lo, hi]; the rate 1/mean, Gamma prior
  mean,         ///< normal values in [lo, hi] of known variance; the mean, normal prior
};
std::string_view to_string(Family family);
/// The family with this name, or none.
std::optional<Family> family_named(std::string_view name);

/// The largest number of levels of a categorical column, and the largest count of a rate.
inline constexpr std::uint64_t most_family_levels = 1'000;
inline constexpr double most_family_count = 65'536;

/// Everything about the table that a family's mechanisms may know. It is public.
struct FamilyProblem {
  Family family = Family::bernoulli;
  std::uint64_t rows = 0;    ///< n, public
  std::uint64_t levels = 0;  ///< K; 0 for numbers
  double lo = 0, hi = 0;     ///< of numbers: the public range that cells are clamped to
  double variance = 0;       ///< of mean: known, in squared units of the column
  /// The prior. bernoulli, categorical: pseudo-counts [K]. rate: shape and rate (in rows) of the
  /// Gamma prior of the mean count. waiting: shape and rate (in units of the column) of the Gamma
  /// prior of 1/mean. mean: precision m of the normal prior about the middle of the range.
  std::vector<double> prior{};
  /// Public bounds that the parameter is trimmed to: of 1/mean for waiting. For levels the first
  /// number bounds each share from below, and the second is 0.
  std::optional<std::pair<double, double>> trim{};

  [[nodiscard]] bool has_levels() const {
    return family == Family::bernoulli || family == Family::categorical;
  }
  /// The interval of the released parameter: the trim, else all that the range allows.
  [[nodiscard]] std::pair<double, double> reach() const;
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
