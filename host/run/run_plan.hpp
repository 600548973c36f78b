#pragma once
// Runs a plan on data: chains to their last step, with progress, interruption and checkpoints.
// Not a public header: a draw leaves the library only through `fit` (run/fit.hpp).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/secret.hpp"
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// Throws BadInput, on all ranks, where the data of all of them has another shape than the plan's
/// constants, and Infeasible where the plan is.
void require_planned(const Model& model, const Dataset& data, const Plan& plan,
                     const FitOptions& options);

/// Draws from the plan's chosen certificate, before they are rounded to the release grid:
/// `budget.draws` chains, streams 0, 1, ..., same key. No diagnostics. `key` is that of all ranks;
/// where the run goes on from a checkpoint it becomes the one that is held there. Throws BadInput
/// when the backend does not compute in double with the chains' own noise
/// (`Engine::certifiable`); Interrupted when `stop` is set (a checkpoint is then written if one was
/// asked for). The last checkpoint of a whole run stays: another run goes on from it to the
/// same draws without a step.
LinearModel run_plan(const Model& model, const Dataset& data, const Plan& plan, Backend& backend,
                     StreamKey& key, const FitOptions& options = {});

/// Its draws rounded to the release grid, and kept in the ball that the mechanism has. Throws
/// BadInput where one is not finite.
LinearModel on_release_grid(LinearModel model, const Mechanism& mechanism, double grid);

/// State of a run. Holds the key: files are written with mode 0600.
struct Checkpoint {
  StreamKey key;
  std::string fingerprint;          ///< of the plan and the data, keyed with `key` (BLAKE2b)
  std::vector<double> theta;        ///< [C x d]
  std::vector<std::uint64_t> step;  ///< [C]
  // For chains in a metric:
  std::vector<double> answers = {};  ///< that the metric follows from
  std::string arithmetic = {};       ///< backend and instructions that rows in it were made by
};
/// The file's bytes, for other ranks; nothing where they are none.
SecretBytes bytes_of(const Checkpoint& checkpoint);
std::optional<Checkpoint> checkpoint_of(std::string_view bytes);
/// Written whole or not at all (temporary file, then rename). Throws BadInput when it cannot be.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);
/// Throws BadInput "FILE: ..." when it is unreadable, cut short or edited, or when its key is one
/// that the operating system never made.
Checkpoint read_checkpoint(const std::string& path);
}  // namespace gibbsite
