#pragma once
// Whitened gradients (docs/theory/whitened.md): second moments that become a metric, then noisy
// capped gradients in it, all of them used.
#include <cstdint>
#include <type_traits>

#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// One or two clipped second moments and T capped gradients with their curvatures; with intervals
/// also one more gradient and the information matrix at one point, and of amounts and counts the
/// second moments of the scores there. Small budgets ask for the rows' mean length first, and may
/// ask a gradient at 0 in place of the second moments, at their price (docs/theory/whitened.md,
/// "Small budgets"). Each is a Gaussian mechanism with a public share of mu^2 fixed beforehand;
/// public settings. Whatever else a run does follows from their answers.
struct Whitened {
  static constexpr std::string_view name = "whitened";
  static constexpr std::string_view theorem = "docs/whitened.md";
  static constexpr SupportedOptions takes{.iterations = true, .intervals = true, .people = true};

  double query_mu = 0;             ///< of all questions together
  double first_clip = 0;           ///< R1: norm that rows are scaled down to in the first moments
  double first_moment_share = 0;   ///< of mu^2
  double second_moment_share = 0;  ///< of mu^2; 0: there is no second question for moments
  double curvature_share = 0;      ///< of what moments leave
  double clip_factor = 0;          ///< kappa: gradients are capped at kappa sqrt(d_eff)
  double iterations = 0;           ///< T
  double information_share = 0;    ///< of mu^2, for the information matrix; 0: it is not asked
  double block_share = 0;          ///< of the gradients' budget, for the gradient beside it
  double score_share = 0;          ///< of mu^2, for second moments of scores; 0: they are not asked
  double length_share = 0;         ///< of mu^2, for rows' lengths; 0: not asked, no small budget
  /// 1 - p: gradient t has a share like t^p. 0: p = 1.
  double gradient_evenness = 0;
  /// N of counts whose slopes are weighted (ScoreLimits). 0: slopes are held, or those of classes.
  double largest_count = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("query_mu", self.query_mu, Legal::positive);
    visit("first_clip", self.first_clip, Legal::positive);
    visit("first_moment_share", self.first_moment_share, Legal::positive);
    visit("second_moment_share", self.second_moment_share, Legal::nonnegative);
    visit("curvature_share", self.curvature_share, Legal::positive);
    visit("clip_factor", self.clip_factor, Legal::positive);
    visit("iterations", self.iterations, Legal::count);
    visit("information_share", self.information_share, Legal::positive_or_absent);
    visit("block_share", self.block_share, Legal::positive_or_absent);
    visit("score_share", self.score_share, Legal::positive_or_absent);
    visit("length_share", self.length_share, Legal::positive_or_absent);
    visit("gradient_evenness", self.gradient_evenness, Legal::positive_or_absent);
    visit("largest_count", self.largest_count, Legal::positive_or_absent);
  }
};

/// kappa sqrt(d_eff): what gradients are capped at. d_eff is at most the number of row_features.
double gradient_clip(const Whitened& settings, double effective_features);

/// Whether the run is one of a small budget: it is asked for lengths, and earlier answers decide
/// what the second moments' share is for.
inline bool is_small_budget(const Whitened& settings) { return settings.length_share > 0; }

/// What the questions of a run are answered with. Deviations are rounded up: each makes its
/// question at most as dear as its share. Sensitivities are those of exact sums; `error` is the
/// largest that a computed sum can be off, in the norm of the sensitivity.
/// Noise of a sum over rows of logarithms of lengths, each within `half` of a public middle.
double length_deviation_up(const Whitened& settings, const Neighbors& who, double half,
                           double error);
/// Second moments of rows of norm <= clip: of a diagonal entry; one off it has this over sqrt(2).
double moment_deviation_up(const Whitened& settings, const Neighbors& who, bool second, double clip,
                           double error);
/// Noise of every coordinate of gradient t = 1, ..., T, which is capped at `clip`. The block's,
/// which is asked beside the information, has t = T + 1.
double gradient_deviation_up(const Whitened& settings, const Neighbors& who, std::uint64_t t,
                             double clip, double error);
/// Noise of every coordinate of the gradient at 0 that small budgets may ask in place of second
/// moments.
double start_deviation_up(const Whitened& settings, const Neighbors& who, double clip,
                          double error);
/// Noise of a diagonal entry of the information matrix, whose rows v v^T have ||v|| <= clip; one
/// off the diagonal has this over sqrt(2). With several classes, of each block of it: a row's v of
/// all pairs of classes have sum ||v||^4 <= clip^4.
double information_deviation_up(const Whitened& settings, const Neighbors& who, double clip,
                                double error);
/// Noise of a diagonal entry of the second moments of scores s = (score) z, ||s|| <= clip; one off
/// the diagonal has this over sqrt(2).
double score_deviation_up(const Whitened& settings, const Neighbors& who, double clip,
                          double error);
/// ScoreLimits::information of the information matrix, and of classes of the block: B / clip^2 for
/// a typical norm R = clip / kappa. B = 2 R^2/4 of two classes, whose curvatures are at most 1/4,
/// and of several, at least clip^2/4; B = R^2 max(1, 4 kappa^3) of amounts and counts.
double information_limit(const Whitened& settings);
/// Noise of a sum of curvatures, each from 0 to `curvature`.
double curvature_deviation_up(const Whitened& settings, const Neighbors& who, double curvature,
                              double error);

/// Numbers of moments and gradients that are answered in a run of one output: T (d + 1), and
/// d (d + 1)/2 for each question for moments, those of scores among them; one of lengths. A
/// gradient of one output in place of moments has fewer.
double answered_numbers(const Whitened& settings, std::uint64_t features);

Candidate candidate(std::type_identity<Whitened>, const Problem& problem, const Budget& budget,
                    const PlanOptions& plan_options);
Analysis analyze(const Whitened& settings, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws);
std::string assumption_of(const Whitened& settings);
std::string_view run_time_tells(const Whitened& settings);
std::string basis_of(const Whitened& settings);
std::string procedure_of(const Whitened& settings, const Cost& cost);

}  // namespace gibbsite
