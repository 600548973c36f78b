#pragma once
// A ledger as JSON, to be shown to others (docs/reference/formats.md).
#include <nlohmann/json_fwd.hpp>

#include "gibbsite/ledger/ledger.hpp"

namespace gibbsite {

/// Terms, what is spent and every release, as "gibbsite-ledger/1".
nlohmann::json to_json(const LedgerState& state);

}  // namespace gibbsite
