#pragma once
// The account of what was released about the same people, in a file (docs/how-to/ledger.md): caps
// fixed before the first release, and an entry for every one, written before its output.
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/privacy/privacy_cost.hpp"

namespace gibbsite {

/// The terms of a ledger, which are fixed when it is made.
struct LedgerTerms {
  std::string id;       ///< 32 hex digits, random
  std::string created;  ///< UTC, "2026-11-23T01:02:03Z"
  double epsilon = 0, delta = 0;
  PrivacyCost caps;  ///< all entries together keep within
  Neighbors who;

  /// The guarantee of everything that will ever be released through the ledger.
  [[nodiscard]] Guarantee guarantee() const { return guarantee_of(caps, who); }
};

/// The entry of one release.
struct LedgerEntry {
  std::uint64_t number = 0;  ///< 1, 2, ...
  std::string time;          ///< UTC, never before the entry's before
  std::string command;       ///< that made it: "fit path"
  PrivacyCost charge;
  std::string key_hash;  ///< BLAKE2b-256 of its noise key
  std::string digest;    ///< of its file
  std::string chain;     ///< BLAKE2b-256 of the entry before's and this one's contents
};

struct LedgerState {
  LedgerTerms terms;
  std::vector<LedgerEntry> entries;

  [[nodiscard]] PrivacyCost spent() const;
  /// True if one release took the whole ledger by its own certificate. That certificate's guarantee
  /// then holds at every other epsilon.
  [[nodiscard]] bool is_whole() const;
  [[nodiscard]] PrivacyCost left() const { return left_of(terms.caps, spent()); }
  /// What is left for total variation, rounded down. A schema that is bought keeps to it
  /// (plan_schema), and so does every plan that takes its most_tv.
  [[nodiscard]] double tv_left() const;
};

struct LedgerOptions {
  /// How long to wait for another program's lock.
  std::chrono::milliseconds patience{10'000};
  /// Folder in which this user's machine remembers the last entry of each ledger, so that an older
  /// copy is noticed. Empty: $XDG_STATE_HOME/gibbsite/ledgers, or that of ~/.local/state. Must not
  /// be relative.
  std::string memory{};
  /// The clock that gives the time of entries.
  std::function<std::chrono::system_clock::time_point()> clock = std::chrono::system_clock::now;
};

/// A ledger's file (docs/how-to/ledger.md). Every function opens it anew and checks all of it: its
/// form, every entry's chain and amount, the memory of this machine. It throws BadInput "FILE: ..."
/// if the file is missing, locked, cut short, edited, rolled back or something else.
class Ledger {
 public:
  /// Names an existing ledger. Throws BadInput if there is none at `path`.
  explicit Ledger(std::string path, LedgerOptions options = {});
  /// Creates a ledger file, whole or not at all, for the budget (epsilon, delta). Throws as
  /// caps_down, and CannotWrite, with EEXIST if the file exists.
  static Ledger create(const std::string& path, double epsilon, double delta, const Neighbors& who,
                       const DeltaShares& shares = {}, LedgerOptions options = {});

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] LedgerState read() const;

  /// Throws what `enter` would throw for a release with this guarantee, except about the entry
  /// itself. BudgetSpent: it would not fit. BadInput: it protects other neighbors, the clock is
  /// behind, or the file cannot be written. It is for a look before the work; `enter` may find
  /// something else later. `own` is as in Release. Returns whether the release would take all of
  /// the ledger.
  // NOLINTNEXTLINE(modernize-use-nodiscard): what it throws is what most ask for
  bool require_room(const Guarantee& guarantee, const std::optional<Guarantee>& own = {}) const;

  struct Release {
    std::string command;
    Guarantee guarantee;  ///< without a pure part
    std::string key_hash, digest;
    /// The guarantee of its certificate. Caps have a part of delta each, so a release at the
    /// ledger's own epsilon and delta exceeds one of them. As the first release it is accepted if
    /// its own delta at that epsilon is within the ledger's. It then takes all of the caps, and
    /// nothing is released after it.
    std::optional<Guarantee> own = {};
  };
  /// Checks and enters a release in one transaction; the entry is on disk on return, and the output
  /// is written after that. Returns the entry's number. Throws as require_room. Throws BadInput,
  /// and enters nothing, if the key or digest is entered already or the clock is a minute or more
  /// behind the last entry.
  [[nodiscard]] std::uint64_t enter(const Release& release) const;

  /// True if older copies of the file can be noticed on this machine: its memory can be written.
  [[nodiscard]] bool has_memory() const;

 private:
  std::string path_;
  LedgerOptions options_;
};

/// LedgerState::tv_left of a ledger, 1 without one: what plans of bought schemas keep to. Throws as
/// Ledger::read.
double tv_left(const Ledger* ledger);

}  // namespace gibbsite
