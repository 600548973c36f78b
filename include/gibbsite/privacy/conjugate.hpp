#pragma once
// Privacy of one draw from a conjugate posterior (docs/theory/conjugate.md), and of one from a
// posterior cut to bounds (docs/theory/trimmed.md). Every function evaluates in 50 digits.
#include <cstdint>

namespace gibbsite {

/// Precision of an evaluation. fifty: 50 digits, rounded up, for claims. few: double precision, not
/// rounded, for searches, whose results are no claims.
enum class Digits { fifty, few };
/// The largest allowed shape parameter: evaluating a larger one takes seconds.
inline constexpr double most_conjugate_shape = 1e11;

/// delta at `epsilon` of the pair Beta(a + h, b) and Beta(a, b + h), h = weight * records: the
/// larger of its two directions, rounded up. a, b, weight > 0 and epsilon >= 0; throws BadInput
/// otherwise.
double beta_pair_delta_up(double a, double b, double weight, std::uint64_t records, double epsilon,
                          Digits digits = Digits::fifty);
/// The largest Beta-pair delta over tables of n rows that differ in one: pairs at (a0 + r k, b0 + r
/// (n - 1 - k)), k = 0..n - 1. If these are too many, those of fewer rows, which cover them. With
/// Digits::few only both ends are evaluated, where the largest has always been found.
double beta_delta_up(double a0, double b0, double weight, std::uint64_t rows, double epsilon,
                     Digits digits = Digits::fifty);
inline constexpr std::uint64_t most_scanned_rows = 20'000;
inline constexpr double most_scanned_counts = 1e6;

/// delta at `epsilon` of the pair Gamma(a) and Gamma(a + shift) with one rate, rounded up.
double gamma_pair_delta_up(double a, double shift, double epsilon, Digits digits = Digits::fifty);
/// delta at `epsilon` of the pair Gamma(shape, rate 1) and Gamma(shape, rate ratio), rounded up;
/// ratio > 1 is given as ratio - 1.
double scale_pair_delta_up(double shape, double ratio_minus_one, double epsilon,
                           Digits digits = Digits::fifty);

/// delta at `epsilon` of `draws` draws by Renyi divergences over 137 orders and their conversion
/// (Geumlek, Song, Chaudhuri 2017, Algorithms 1 to 3). It is looser than the functions above for
/// one draw.
double beta_renyi_delta_up(double a0, double b0, double weight, std::uint64_t rows,
                           std::uint64_t draws, double epsilon, Digits digits = Digits::fifty);
double gamma_renyi_delta_up(double a, double shift, std::uint64_t draws, double epsilon,
                            Digits digits = Digits::fifty);
/// Renyi divergence of this order of the Beta pairs' worst end, over tables of `rows` rows;
/// infinite if it is not defined.
double beta_renyi(double a0, double b0, double weight, std::uint64_t rows, double order);
/// Renyi divergence of this order of the pairs Gamma(a) and Gamma(a + shift) with one rate, and
/// Gamma(shape) with the rates 1 and ratio: the larger of both directions, rounded up. It grows
/// with `shift` and `ratio`.
double gamma_renyi(double a, double shift, double order);
double scale_renyi(double shape, double ratio_minus_one, double order);

/// The mu of a release whose log ratio between neighbors ranges over an interval of length `range`:
/// 2 Phi^-1(1/(1 + e^(-range/2))), rounded up. bounded_range_down is its inverse, rounded down.
double bounded_range_mu_up(double range);
double bounded_range_down(double mu);

/// Draws of two levels' shares, Beta with the prior (a0, b0), cut to [low, 1 - low], low in (0,
/// 1/2); of tables of n = `rows` rows, of which a person has k = `records`, each with `weight` r.
struct CutBeta {
  double a0 = 1, b0 = 1, low = 0, weight = 1;
  std::uint64_t rows = 1, records = 1;
};

/// delta at `epsilon` of one such draw, rounded up, over tables that differ in k rows
/// (docs/theory/trimmed.md, Theorem 3): the largest, j = 0..n - k, of the pairs
/// Beta(a0 + r (j + k), b0 + r (n - k - j)) and Beta(a0 + r j, b0 + r (n - j)), both cut. Throws
/// BadInput beyond most_cut_rows rows.
double cut_beta_delta_up(const CutBeta& draws, double epsilon, Digits digits = Digits::fifty);
inline constexpr std::uint64_t most_cut_rows = 2'000;

}  // namespace gibbsite
