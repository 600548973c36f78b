#pragma once
// What mechanisms that release a minimizer with noise share (docs/theory/output.md).
#include <string>
#include <vector>

#include "core/format_message.hpp"
#include "gibbsite/core/problem.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// J = sum l + (ridge/2) ||theta - theta0||^2, minimized to a gradient of norm g.
struct ReleasedMinimizer {
  double ridge = 0, gradient_norm = 0;
  Message refused;  ///< why there is none; empty otherwise
};

/// (k s L + 2g)/Lambda: how far computed minimizers of neighboring tables are apart at most, L as
/// given. Throws BadInput when a number is out of range.
Wide minimizers_apart(double lipschitz, const Neighbors& who, double ridge, double gradient_norm);
/// The prior that was asked for as its ridge, or Lambda of docs/theory/output.md for noise of deviation k
/// s L/(Lambda mu) a coordinate; g as small as rounding lets it be found.
ReleasedMinimizer released_minimizer(const Problem& problem, const Neighbors& who, double mu);

/// What a certificate shows: sensitivity k s L/Lambda, strong convexity and smoothness of J.
std::vector<NamedNumber> minimizer_constants(const Problem& problem, const Neighbors& who,
                                             double ridge);
/// No coordinate of what noise is added to is larger.
double minimizer_reach_up(const Problem& problem, double ridge, double gradient_norm);
/// Whether the search for it ends on every table: else g means nothing.
bool minimizer_found(const Problem& problem, double ridge, double gradient_norm);

/// Of a search for one minimizer: Newton on rows, gradients and Hessians as dear as several. All
/// draws share it.
inline constexpr Cost minimizer_cost{30, 30};

/// Why there is no offer.
inline Message noise_beyond_double() {
  return format_message("its noise is no number of double arithmetic; give another {}",
                        Field{"prior_precision"});
}

/// What certificates and people are told of it.
inline constexpr const char* released_minimizer_assumption =
    "the minimizer that noise was added to has a gradient norm of at most mechanism.gradient_norm";
inline constexpr const char* searches_released =
    "it searches the minimizer that noise is added "
    "to";

}  // namespace gibbsite
