#pragma once
// How the noise of a bought schema follows from a mu. Internal to the mechanism module.
#include "gibbsite/mechanism/bought_schema.hpp"

namespace gibbsite {

// Shares of mu^2, found by measurement; the second of what the first leaves.
inline constexpr double schema_refine_share = .25, schema_bins_share = .35;
// What the number of rows takes beforehand where it is private: its noise is then less than that
// of any count but of a table of one column.
inline constexpr double schema_rows_share = .05;
// The share of delta that pays for the threshold: a ledger sets little of its delta aside for total
// variation, and a hundredth in place of a tenth raises the threshold by about 6 %.
inline constexpr double schema_threshold_share = .01;

/// The part of what a ledger has left for total variation that one threshold takes at most: fits
/// by the schema, and further purchases, need some.
inline constexpr double schema_ledger_share = .5;

/// z with t P(N(0,1) > z) (1 + e^epsilon) <= that share of delta, t = c k the most texts that one
/// person alone has, of people c n; and t P <= most_tv schema_ledger_share, where some z keeps to
/// that. Throws as plan_schema if a request is illegal.
double schema_threshold_height(const SchemaProblem& problem, const Budget& budget, double most_tv);
/// The noise of questions that cost at most that mu together, with the threshold at z.
SchemaQuestions schema_settings_at(double mu, double z, const SchemaProblem& problem,
                                   const Neighbors& who);
/// What the noise of the answers costs as it is computed.
NoiseCost schema_noise_up(const SchemaProblem& problem, const Neighbors& who);

}  // namespace gibbsite
