#pragma once
// Privacy of one draw from a conjugate posterior (docs/theory/conjugate.md), and of one from a
// posterior cut to bounds (docs/theory/trimmed.md). Every function evaluates in 50 digits.
#include <cstdint>

namespace gibbsite {

/// Digits of an evaluation: 50, rounded up, for claims; or those of double, not rounded, for
/// searches. What a search finds is no claim.
enum class Digits { fifty, few };
/// Shapes beyond it are refused: evaluating one takes seconds.
inline constexpr double most_conjugate_shape = 1e11;

/// The pair Beta(a + h, b) and Beta(a, b + h), h = weight * records: the larger delta at `epsilon`
/// of its two directions, rounded up. a, b, weight > 0, epsilon >= 0; throws BadInput otherwise.
double beta_pair_delta_up(double a, double b, double weight, std::uint64_t records, double epsilon,
                          Digits digits = Digits::fifty);
/// The largest over tables of n rows that differ in one: pairs at (a0 + r k, b0 + r (n - 1 - k)),
/// k = 0..n - 1. Where those are too many those of fewer rows, which cover them. A search looks at
/// both ends alone, where the largest has always been found.
double beta_delta_up(double a0, double b0, double weight, std::uint64_t rows, double epsilon,
                     Digits digits = Digits::fifty);
inline constexpr std::uint64_t most_scanned_rows = 20'000;
inline constexpr double most_scanned_counts = 1e6;

/// The pair Gamma(a) and Gamma(a + shift) of one rate, rounded up.
double gamma_pair_delta_up(double a, double shift, double epsilon, Digits digits = Digits::fifty);
/// The pair Gamma(shape, rate 1) and Gamma(shape, rate ratio), ratio > 1 given as ratio - 1,
/// rounded up.
double scale_pair_delta_up(double shape, double ratio_minus_one, double epsilon,
                           Digits digits = Digits::fifty);

/// delta of `draws` draws, by Renyi divergences and their conversion (Geumlek, Song, Chaudhuri
/// 2017, Algorithms 1 to 3), over 137 orders. Looser than the above for one draw.
double beta_renyi_delta_up(double a0, double b0, double weight, std::uint64_t rows,
                           std::uint64_t draws, double epsilon, Digits digits = Digits::fifty);
double gamma_renyi_delta_up(double a, double shift, std::uint64_t draws, double epsilon,
                            Digits digits = Digits::fifty);
/// D_order of the Beta pairs' worst end, as tables have it; infinite where not defined.
double beta_renyi(double a0, double b0, double weight, std::uint64_t rows, double order);

/// mu of a release whose log ratio between neighbors ranges over an interval of length `range`:
/// 2 Phi^-1(1/(1 + e^(-range/2))), rounded up; and the largest range of a mu, rounded down.
double bounded_range_mu_up(double range);
double bounded_range_down(double mu);

}  // namespace gibbsite
