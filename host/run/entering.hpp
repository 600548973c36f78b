#pragma once
// A release on its way into a ledger.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "gibbsite/core/random.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/privacy/guarantee.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// BLAKE2b-256 of a key's bytes and of words that nothing else is hashed with: it tells two uses of
/// one key, and nothing of its noise.
std::string key_hash(const StreamKey& key);

/// What a release is entered with: what adds up, and what its certificate claims.
struct LedgerPrice {
  Guarantee added, own;
};
/// Of a plan, if a ledger was given: a profile's fit takes up to seconds.
template <class PlanOf>
LedgerPrice price_of(const FitOptions& options, const PlanOf& plan) {
  if (options.ledger == nullptr) return {};
  return {ledger_guarantee(plan), own_guarantee(plan)};
}

/// Where a ledger was given: throws BudgetSpent where that guarantee does not fit, and BadInput
/// where the noise is of a seed.
void require_room(const FitOptions& options, NoiseKind noise, const LedgerPrice& price);
/// Enters the release, whose file would be `file`, there.
void enter(const FitOptions& options, std::string_view mechanism, const LedgerPrice& price,
           const std::string& key_hash, const nlohmann::json& file);
/// The same of another command than `fit`.
void enter(const FitOptions& options, std::string_view command, std::string_view mechanism,
           const LedgerPrice& price, const std::string& key_hash, const nlohmann::json& file);

}  // namespace gibbsite
