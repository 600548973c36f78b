#pragma once
// Runs a plan on data: chains to their last step, with progress, interruption and checkpoints.
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gibbsite/core/random.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/model/potential.hpp"
#include "gibbsite/sampler/backend.hpp"
#include "gibbsite/schedule/plan.hpp"

namespace gibbsite {

struct SampleOptions {
  std::string checkpoint;                  ///< file to resume from and to write to; empty: none
  double checkpoint_every_seconds = 60.0;  ///< also written on interruption
  /// Called with (steps done, steps in all) a few times a second.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
  const std::atomic<bool>* stop = nullptr;  ///< set by a signal handler
};

/// What a run leaves: the draws and public facts about how they were made. No diagnostics.
struct Run {
  std::vector<std::vector<double>> draws;  ///< [draws][d], before rounding to the release grid
  Schema schema;
  std::string loss;
  NoiseKind noise = NoiseKind::chacha20;
  std::string backend;
  std::string design;  ///< how the backend went about it, one line for people; may be empty
};

/// Draws from the plan's chosen certificate: `budget.draws` chains, streams 0, 1, ..., same key.
/// Throws BadInput when the data has another shape than the plan's constants, or when the backend
/// does not compute in double with the chains' own noise (`Engine::certifiable`); Interrupted when
/// `stop` is set (a checkpoint is then written if one was asked for); Infeasible when the minimiser
/// that a TV certificate starts from does not reach its public tolerance.
Run sample(const Model& model, const Dataset& data, const Plan& plan, Backend& backend,
           const Key& key, const SampleOptions& options = {});

/// State of an interrupted run. Holds the key: files are written with mode 0600.
struct Checkpoint {
  Key key;
  std::string fingerprint;          ///< of the plan and the data, keyed with `key` (BLAKE2b)
  std::vector<double> theta;        ///< [C x d]
  std::vector<std::uint64_t> step;  ///< [C]
};
/// Written whole or not at all (temporary file, then rename). Throws BadInput when it cannot be.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);
/// Throws BadInput "FILE: ..." when it is unreadable, cut short or edited.
Checkpoint read_checkpoint(const std::string& path);
/// Removes it, what it links to, and what writers that were killed left of it: the key is in each.
/// Nothing when there is none. Throws BadInput "FILE: ..." when it cannot be removed.
void remove_checkpoint(const std::string& path);

}  // namespace gibbsite
