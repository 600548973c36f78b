#pragma once
// What every audit does, whatever is run: a pilot that chooses a threshold, then pairs of fresh
// seeds, counted. Internal to the audit module.
#include <cstdint>
#include <functional>
#include <vector>

#include "gibbsite/audit/audit.hpp"

namespace gibbsite {

/// The statistic of runs on a table and on its neighbor, pair by pair.
struct PairedSamples {
  std::vector<double> of_table, of_neighbor;
};

/// A claim, and how pairs are run that test it.
struct PairsOfRuns {
  Guarantee claim;
  double epsilon = 0;      ///< at which the claim's delta counts where an epsilon is measured
  std::uint64_t most = 1;  ///< pairs of one run
  /// Adds that many pairs, both tables with the noise of that seed.
  std::function<void(std::uint64_t seed, std::uint64_t pairs, PairedSamples& out)> run;
};

/// Runs a pilot, then the pairs. Throws as `audit`.
AuditResult experiment(const PairsOfRuns& of, const AuditOptions& options);

}  // namespace gibbsite
