#pragma once
// Ledgers, as `fit` speaks of them.
#include <functional>
#include <optional>
#include <string>

#include "gibbsite/core/file.hpp"
#include "gibbsite/ledger/ledger.hpp"

namespace gibbsite::cli {

/// "Entered: in FILE, 41 % of its mu^2 is left", with its end; without the share where the ledger
/// cannot be read now.
std::string entered_line(const Ledger& ledger);

/// write_new (options.hpp) of a release; what was entered and is lost all the same is said, with
/// `and_then` behind it.
void write_entered(const std::string& out, bool force, const std::optional<Ledger>& ledger,
                   const std::function<void(Existing)>& write, const std::string& and_then = "");

/// Throws BadInput when `out` is the ledger's file or one that SQLite makes beside it.
void require_not_of_ledger(const std::string& out, const std::string& ledger, const char* option);

}  // namespace gibbsite::cli
