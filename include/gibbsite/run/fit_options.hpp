#pragma once
// How a run of a plan is watched, stopped and resumed. Nothing here changes its bits.
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace gibbsite {

class Ledger;        // ledger/ledger.hpp
class Communicator;  // machine/communicator.hpp

struct FitOptions {
  /// File to resume from and to save to; empty: none. It holds the noise key (mode 0600) and is
  /// left behind, complete, until `discard_checkpoint`.
  std::string checkpoint{};
  /// whitened: the model holds the noisy answers that it follows from; they are paid for.
  bool release_answers = false;
  double checkpoint_every_seconds = 60.0;  ///< also written at the start, the end and interruption
  /// Called with (steps done, steps in all) a few times a second.
  std::function<void(std::uint64_t, std::uint64_t)> progress{};
  /// Called at the end with how the backend went about it, one line for people.
  std::function<void(const std::string&)> design{};
  /// The release is entered there before `fit` returns it; nothing is returned where it does not
  /// fit. Looked at first, so that no work is done in vain.
  const Ledger* ledger = nullptr;
  const std::atomic<bool>* stop = nullptr;  ///< set by a signal handler
  /// The ranks that the rows lie on, each of which calls `fit` with its own and a backend of
  /// `shard` (engine/sharded.hpp); null: one process. Rank 0's key is taken, and rank 0 alone reads
  /// and writes the checkpoint and knows the ledger: its model is the one to write. Which ranks
  /// `stop` is set on makes no difference.
  Communicator* ranks = nullptr;
  /// Number of rows that the backend has itself (engine/remote.hpp, engine/made_rows.hpp), beside
  /// those of the data. A checkpoint cannot be made of them.
  std::uint64_t rows_elsewhere = 0;
};

/// Removes the checkpoint of a run once its model is written; until then the same `fit` goes on
/// from it to the same bits. What it links to and what killed writers left of it go too: the key is
/// in each. Nothing happens where there is none. Throws BadInput "FILE: ..." when it cannot be
/// removed.
void discard_checkpoint(const std::string& path);

}  // namespace gibbsite
