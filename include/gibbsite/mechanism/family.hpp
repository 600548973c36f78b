#pragma once
// Draws from the posterior of a conjugate family over one column: public settings, what they cost,
// and how they are chosen (docs/theory/conjugate.md, docs/theory/trimmed.md).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "gibbsite/core/family_problem.hpp"
#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// Draws of theta from the posterior of prior_scale times the prior's numbers and `weight` times
/// every record's. One draw is (epsilon, delta)-private for a delta that follows; that of a mean is
/// Gaussian.
struct ConjugateDraw {
  static constexpr std::string_view name = "conjugate";
  static constexpr std::string_view theorem = "docs/conjugate.md";

  Calibration calibration = Calibration::exact;  ///< or geumlek-rdp
  double weight = 1;       ///< r in (0, 1]: below 1 diffused (Geumlek et al. Algorithm 2)
  double prior_scale = 1;  ///< 1/m': other than 1 concentrated (their Algorithm 3)
  double epsilon = 0;  ///< where delta is taken: of one draw, by geumlek-rdp of all; 0 for a mean

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("calibration", self.calibration);
    visit("weight", self.weight, Legal::positive);
    visit("prior_scale", self.prior_scale, Legal::positive);
    visit("epsilon", self.epsilon, Legal::nonnegative);
  }
};

/// Draws of theta from the posterior cut to public bounds, records weighted: what one record does
/// is an interval of known length, and its slope is bounded.
struct TrimmedDraw {
  static constexpr std::string_view name = "trimmed";
  static constexpr std::string_view theorem = "docs/trimmed.md";

  double weight = 1;  ///< r in (0, 1]
  /// If not 0, one draw is (epsilon, delta)-private for a delta that follows, often 0, and `draws`
  /// add up. If 0, draws are Gaussian, and mu grows as a root.
  double epsilon = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("weight", self.weight, Legal::positive);
    visit("epsilon", self.epsilon, Legal::positive_or_absent);
  }
};

using FamilyMechanism = std::variant<ConjugateDraw, TrimmedDraw>;

struct FamilyWishes {
  /// Exact, or geumlek-rdp, the papers' form; none: the better of both, exact for one draw.
  std::optional<Calibration> calibration{};
  /// Scale the prior up and take every record whole, instead of the records down.
  bool concentrated = true;
};

/// What the budget buys.
struct FamilyPlan {
  FamilyProblem problem;
  Budget budget;
  FamilyMechanism mechanism;
  Guarantee guarantee;   ///< of all draws
  double deviation = 0;  ///< expected, of the estimate from one draw, at the middle of the range
  double sample_deviation = 0;  ///< the part of it that the sample has without privacy
  /// What a trim cuts off the prior: its part of the posterior is known to nobody but the curator.
  double cut_mass = 0;
};

/// Trimmed where the problem has bounds. Throws BadInput on an illegal request and Infeasible where
/// no weight and no prior keep the budget.
FamilyPlan plan_family(const FamilyProblem& problem, const Budget& budget,
                       const FamilyWishes& plan_options = {});

std::string_view name_of(const FamilyMechanism& mechanism);
std::string_view theorem_of(const FamilyMechanism& mechanism);
double weight_of(const FamilyMechanism& mechanism);
double prior_scale_of(const FamilyMechanism& mechanism);

/// What the settings imply, for `draws` draws: `plan_family` and `verify` call the same. Throws
/// BadInput when a setting is out of range or the theorem does not hold.
Analysis analyze(const FamilyMechanism& mechanism, const FamilyProblem& problem,
                 const Neighbors& who, std::uint64_t draws);
/// As that of a guarantee; sharper for conjugate draws, whose neighbors' total variation is known:
/// (epsilon, delta) alone says little about it.
double best_guess_percent(const FamilyMechanism& mechanism, const FamilyProblem& problem,
                          const Guarantee& guarantee, std::uint64_t draws);
/// Where the guarantee comes from, a half sentence for people.
std::string basis_of(const FamilyMechanism& mechanism, const FamilyProblem& problem);

/// eta: the length of the interval in which the log likelihoods of one record and of another
/// differ, over all parameters within the trim, rounded up (docs/theory/trimmed.md).
double record_range_up(const FamilyProblem& problem);
/// The mu of one trimmed draw by the curvature of its log density, k = `rows_per_person` records
/// replaced (docs/theory/trimmed.md, Theorem 2); infinite for more than two levels. Throws BadInput
/// without a trim.
double curvature_mu_up(const FamilyProblem& problem, double weight, std::uint64_t rows_per_person);
/// How far apart the logarithm of one level's share can be within the trim, of the widest level,
/// rounded up. Throws BadInput on a family without levels.
double level_range_up(const FamilyProblem& problem);
/// The bounds of a split's share where every level has at least `least`, [low, high].
std::pair<double, double> split_trim(double least, std::uint64_t first, std::uint64_t middle,
                                     std::uint64_t last);
/// The split's bounds within the problem's trim.
std::pair<double, double> split_trim(const FamilyProblem& problem, std::uint64_t first,
                                     std::uint64_t middle, std::uint64_t last);
/// Spacing of what is drawn: shares of splits or the parameter itself, on multiples of a power of
/// two; at most 2^34 of them.
double family_grid(const FamilyProblem& problem);

/// 2 sqrt(log(2 responses/failure)/(2 draws)): how much worse than the best for the posterior the
/// response is that is best on average over the draws, of utilities in [0, 1], but with probability
/// `failure` (Dimitrakakis et al. 2017, Lemma 11, for all responses at once).
double regret_of_draws(std::uint64_t responses, std::uint64_t draws, double failure);

}  // namespace gibbsite
