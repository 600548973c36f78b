#pragma once
// The account of what was released about the same people, in a file (docs/how-to/ledger.md): caps
// fixed before the first release, and an entry for every one, written before its output.
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/privacy/charge.hpp"

namespace gibbsite {

/// What was agreed when it was made, and never changes.
struct LedgerTerms {
  std::string id;       ///< 32 hex digits, random
  std::string created;  ///< UTC, "2026-11-23T01:02:03Z"
  double epsilon = 0, delta = 0;
  Charge caps;  ///< all entries together keep within
  Neighbors who;

  /// The guarantee of everything that will ever be released through the ledger.
  [[nodiscard]] Guarantee guarantee() const { return guarantee_of(caps, who); }
};

/// A release.
struct LedgerEntry {
  std::uint64_t number = 0;  ///< 1, 2, ...
  std::string time;          ///< UTC, never before the entry's before
  std::string command;       ///< that made it: "fit path"
  Charge charge;
  std::string key_hash;  ///< BLAKE2b-256 of its noise key
  std::string digest;    ///< of its file
  std::string chain;     ///< BLAKE2b-256 of the entry before's and this one's contents
};

struct LedgerState {
  LedgerTerms terms;
  std::vector<LedgerEntry> entries;

  [[nodiscard]] Charge spent() const;
  /// Whether one release took all of it, by its own certificate: that one's guarantee is then what
  /// holds at every other epsilon.
  [[nodiscard]] bool is_whole() const;
  [[nodiscard]] Charge left() const { return left_of(terms.caps, spent()); }
};

struct LedgerOptions {
  /// For how long another program's lock is waited for.
  std::chrono::milliseconds patience{10'000};
  /// Where this user's machine remembers how far each ledger was: a copy that is older is noticed.
  /// Empty: $XDG_STATE_HOME/gibbsite/ledgers, or that of ~/.local/state; no relative one.
  std::string memory{};
  /// What time it is.
  std::function<std::chrono::system_clock::time_point()> clock = std::chrono::system_clock::now;
};

/// A ledger's file. Every function opens it anew, checks all of it (its form, every entry's chain
/// and amount, the memory of this machine) and throws BadInput "FILE: ..." where it is missing,
/// locked, cut short, edited, rolled back or something else.
class Ledger {
 public:
  /// Throws BadInput where there is no such ledger.
  explicit Ledger(std::string path, LedgerOptions options = {});
  /// A new file, whole or not at all. Throws as caps_down, and CannotWrite; EEXIST where there is a
  /// file of that name.
  static Ledger create(const std::string& path, double epsilon, double delta, const Neighbors& who,
                       const DeltaShares& shares = {}, LedgerOptions options = {});

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] LedgerState read() const;

  /// Throws what `enter` would of a release of that guarantee, all but the entry: BudgetSpent where
  /// it would not fit, BadInput where it protects other neighbors, where the clock is behind and
  /// where the file cannot be written to. For a look before the work; what it finds may have
  /// changed when `enter` is called. `own`: as in Release.
  void require_room(const Guarantee& guarantee, const std::optional<Guarantee>& own = {}) const;

  struct Release {
    std::string command;
    Guarantee guarantee;  ///< without a pure part
    std::string key_hash, digest;
    /// What its certificate claims. Caps have a part of delta each, so one release at the ledger's
    /// own epsilon and delta is beyond one of them. As the first release it is taken all the same
    /// if its own delta at that epsilon is within the ledger's: it takes all of the caps, and
    /// nothing is ever released after it.
    std::optional<Guarantee> own = {};
  };
  /// Checks and enters it in one transaction, on disk when it returns: the output is to be written
  /// after. Returns the entry's number. Throws as require_room, and BadInput on a key or a digest
  /// that is entered already and where the clock is a minute or more behind the last entry; nothing
  /// is entered then.
  [[nodiscard]] std::uint64_t enter(const Release& release) const;

  /// Whether older copies of the file can be noticed here: the memory can be written to.
  [[nodiscard]] bool has_memory() const;

 private:
  std::string path_;
  LedgerOptions options_;
};

}  // namespace gibbsite
