#pragma once
// What a mechanism's public settings imply for a problem, and what a user may wish of a mechanism.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/core/problem.hpp"
#include "gibbsite/privacy/budget.hpp"
#include "gibbsite/privacy/calibrate.hpp"
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

struct Candidate;  // mechanism/plan.hpp

/// What a field of a mechanism may hold. `positive_or_absent`: 0 for none, which no file shows.
enum class Legal { positive, positive_or_absent, nonnegative, count, count_or_none };
/// Whether files, fingerprints and tables leave it out.
constexpr bool is_absent(Legal legal, double value) {
  return legal == Legal::positive_or_absent && value == 0;
}

/// Noise that is added to a released vector: Gaussian, or of a density proportional to
/// exp(-rate ||b||), which epsilon alone pays for.
enum class NoiseLaw { gaussian, pure };

/// What computed noise costs beside real-valued Gaussian noise (mechanism/noise_law.hpp).
struct NoiseCost {
  double tv = 0;       ///< finite range and grid of the normals: each table's law is off by this
  double epsilon = 0;  ///< rounding to the release grid of numbers that are themselves rounded
};

/// A number that a certificate shows, and that anybody can recompute.
struct NamedNumber {
  std::string_view name;
  double value = 0;
};

/// Everything that follows from settings: `plan`, `fit` and `verify` take it from one function.
struct Analysis {
  Guarantee guarantee;  ///< of all draws together, computed noise and rounding included
  NoiseCost noise;      ///< the part of it that the computed noise costs, of all draws
  /// Public grid 2^-k that coefficients are rounded to; NaN where rounding errors are not bounded.
  double release_grid = std::numeric_limits<double>::quiet_NaN();
  double tv_gap = 0;                   ///< of all draws: the noise's own share not included
  double map_error = 0;                ///< e: ||computed step - exact step||
  std::vector<NamedNumber> constants;  ///< sensitivity and the like
};

/// Reads of the whole data, of all draws; expected, where it depends on the data.
struct Cost {
  double passes = 0;
  double work = 0;  ///< in gradient passes of one chain: a batch costs more than its read
  /// Questions for second moments among the passes, and what `work` takes them for.
  double moments = 0, moments_work = 0;
  double capped = 0;  ///< gradients of capped scores among the passes, each a pass of `work`
};

/// What a user may fix; the rest is chosen from public numbers.
struct PlanOptions {
  std::string mechanism = "auto";  ///< or the name of one
  Calibration calibration = Calibration::gdp;
  /// gamma, total variation to the Gibbs posterior; default: 1 % of delta's worth. Asking for one
  /// asks for a draw near the posterior, which `path` does not give.
  std::optional<double> tv{};
  /// Largest beta of draws from the Gibbs posterior; default 1, which is the posterior itself.
  /// Asking for one asks for such a draw.
  std::optional<double> beta{};
  std::optional<double> step_size{};   ///< h
  std::optional<double> iterations{};  ///< T
  /// path: B, iterates are kept to ||theta|| <= B (docs/theory/ball.md).
  std::optional<double> ball{};
  /// proximal: the same public number of passes whatever the data.
  bool padded = false;
  /// whitened: a share of the budget asks how sure the coefficients are (docs/theory/intervals.md).
  bool intervals = false;
};

/// Which wishes a mechanism takes, none by default: `plan` and `fit` refuse the others, and
/// `calibration_allows` checks beta where it takes a calibration of the posterior.
struct SupportedOptions {
  bool step_size = false, iterations = false, ball = false, padded = false, tv = false;
  bool posterior_calibration = false;  ///< other than gdp, a bound on beta
  bool objective_calibration = false;  ///< `exact` and `redberg`, which its analysis checks
  bool loss_of_chains = false;         ///< may have a loss of its own: that of chains
  /// It can be asked for the information of its rows, from which intervals follow.
  bool intervals = false;
  /// Its proof is of sums alone, so it holds where weights hold a person's rows together
  /// (docs/theory/row-weights.md, "People").
  bool people = false;
};

}  // namespace gibbsite
