#pragma once
// What counts of an experiment say about a privacy claim, at a stated confidence
// (docs/how-to/audit.md).
#include <cstdint>

#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// Upper and lower bounds of a probability from k successes in n independent trials, each wrong
/// with probability at most `level` (Clopper & Pearson 1934). They are in [0, 1] and rounded
/// outward. k <= n, 0 < level < 1; throws BadInput otherwise.
double clopper_pearson_up(std::uint64_t k, std::uint64_t n, double level);
double clopper_pearson_down(std::uint64_t k, std::uint64_t n, double level);

/// The mu, rounded down, of the Gaussian mechanism whose largest TPR - FPR is `advantage` in [0,
/// 1): 2 Phi(mu/2) - 1 = advantage. 0 for an advantage below 0.
double mu_of_advantage_down(double advantage);

/// A lower bound of mu from N pairs of runs on a table and its neighbor with the same noise. In
/// `neighbor_alone` (k10) of them the neighbor's statistic alone is above the threshold, in
/// `table_alone` (k01) the table's. Whatever the coupling, TPR - FPR = p10 - p01, and mu-GDP allows
/// 2 Phi(mu/2) - 1:
///   2 Phi^-1((1 + d)/2),   d = CP_down(k10, N, a/2) - CP_up(k01, N, a/2),   a = 1 - confidence,
/// 0 where d <= 0 (docs/how-to/audit.md). Larger than the true mu with probability at most a.
double coupled_mu_down(std::uint64_t neighbor_alone, std::uint64_t table_alone, std::uint64_t pairs,
                       double confidence);

/// A lower bound of the epsilon for which (epsilon, delta) can hold, from N coupled pairs as in
/// coupled_mu_down. In `table_above` of them the table's statistic is above the threshold, with the
/// neighbor's or alone:
///   log(1 + (d - delta)/FPR_up),   d as above, FPR_up of table_above; each of three at a/3;
/// 0 if d <= delta.
double coupled_epsilon_down(std::uint64_t neighbor_alone, std::uint64_t table_alone,
                            std::uint64_t table_above, std::uint64_t pairs, double delta,
                            double confidence);

/// The largest TPR - FPR that the guarantee allows any test: 2 best_guess - 1, rounded up; at most
/// 1.
double advantage_up(const Guarantee& guarantee);

}  // namespace gibbsite
