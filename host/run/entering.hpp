#pragma once
// A release on its way into a ledger.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/machine/communicator.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/privacy/guarantee.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// Uses the key up. What rank 0 has, on all ranks.
StreamKey key_of_first_rank(Key&& key, Communicator& ranks);

/// BLAKE2b-256 of a key's bytes and of words that nothing else is hashed with: it tells two uses of
/// one key, and nothing of its noise.
std::string key_hash(const StreamKey& key);

/// What a release is entered with: what adds up, and what its certificate claims.
struct LedgerPrice {
  Guarantee added, own;
};

/// Throws BudgetSpent where that guarantee does not fit in the ledger of the options, and BadInput
/// where the noise is of a seed.
void require_room(const FitOptions& options, NoiseKind noise, const LedgerPrice& price);
/// Enters the release of a run, "fit path", whose file would be `file`, where a ledger was given.
void enter(const FitOptions& options, const std::string& run, const LedgerPrice& price,
           const std::string& key_hash, const nlohmann::json& file);
/// Enters a run that ended without a release though it had drawn noise: that it ended may tell of
/// the data. Has no effect where the noise is of a seed.
void enter_refused(const FitOptions& options, const std::string& run, const LedgerPrice& price,
                   const StreamKey& key);

/// make(), which draws noise: however it ends without a result, the run is entered.
auto paid_if_refused(const FitOptions& options, const std::string& run, const LedgerPrice& price,
                     const StreamKey& key, const auto& make) {
  try {
    return make();
  } catch (const Interrupted& error) {
    enter_refused(options, run, price, key);
    throw Interrupted(std::string(error.what()) + "; it is paid, as noise may have been drawn");
  } catch (...) {
    enter_refused(options, run, price, key);
    throw;
  }
}

}  // namespace gibbsite
