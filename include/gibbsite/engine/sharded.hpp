#pragma once
// Rows on several ranks: engines that own a share of them and answer for all
// (docs/how-to/cluster.md).
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "gibbsite/engine/automatic.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/machine/communicator.hpp"
#include "gibbsite/machine/device_ranks.hpp"

namespace gibbsite {

/// The bounds [ranks + 1] of the ranks' shares of n rows: where each begins, and the end. Shares
/// are whole blocks of 1024 rows (core/summation.hpp), except the last. They are about equal: with
/// 32 blocks a rank, the largest is within 3 % of the mean. Each has few nodes of the tree. A rank
/// may have none.
[[nodiscard]] std::vector<std::uint64_t> share_bounds(std::uint64_t rows, std::size_t ranks);

/// The messages of ranks for one sum over all rows (docs/how-to/cluster.md, "How far it scales").
struct SumTraffic {
  std::uint64_t nodes = 0;      ///< of the tree, of all ranks: each sends the sums of its own
  bool in_slices = false;       ///< not gathered whole: exchanged by slices, and those gathered
  std::uint64_t gathers = 0;    ///< to all ranks; of them
  std::uint64_t exchanges = 0;  ///< of every rank with every other
  std::uint64_t bytes = 0;      ///< that a rank receives, at most, what it has itself included
  std::uint64_t added = 0;      ///< bytes, of the numbers of nodes that a rank adds
};
/// The traffic of one sum of `numbers` numbers over `rows` rows in the shares of `share_bounds`.
/// One rank sends none.
[[nodiscard]] SumTraffic sum_traffic(std::uint64_t rows, std::size_t ranks, std::size_t numbers);

/// A backend whose engines have rows on all ranks. Every rank calls `load` with its own share of
/// the rows, maybe none, in the order of ranks. All ranks then ask every question with the same
/// arguments and get the same answer. With `local` cpu or reference, bits are those of one process
/// that holds all rows. With cuda they depend on the shares, within accumulation_depth. Weights and
/// what `clipped_rows` writes are for the rank's own rows.
/// Rank 0 makes every step: it draws the noise and sends theta to the others, whose keys are not
/// read. If a rank asks another question, or has another theta or other settings, the run ends on
/// all ranks with BadInput.
/// `load` throws BadInput on all ranks if shares do not fit: a share in the middle that is not
/// whole blocks, or another number of features, loss, arithmetic or version. For a communicator of
/// one rank the result is `local`. `ranks` and `stop` must outlive it and its engines.
/// `stop` may be null. Once it is set at one rank, the next question throws Interrupted on all of
/// them. Ranks that look at it by themselves between questions would wait for each other.
/// `local` must not be "auto": each rank would settle it for itself. `GPUs` lets the GPUs of
/// `local` cuda exchange sums and make steps without the host; null if they do not.
[[nodiscard]] std::unique_ptr<Backend> shard(std::unique_ptr<Backend> local, Communicator& ranks,
                                             const std::atomic<bool>* stop = nullptr,
                                             std::unique_ptr<DeviceRanks> gpus = nullptr);

/// Makes a backend and shards it; collective. With cuda each rank has its own GPU: the first one it
/// sees that no rank before it has. GPUs exchange sums if each rank has libgibbsite_nccl.so. "auto"
/// is cuda if every rank has a GPU and there are kernels for the loss, else cpu. `note` is told why
/// if only some ranks have a GPU. Throws BackendUnavailable, on all ranks alike, if a rank has no
/// GPU for itself.
[[nodiscard]] std::unique_ptr<Backend> make_backend(std::string_view name,
                                                    const BackendOptions& options,
                                                    Communicator& ranks, const Note& note = {},
                                                    const std::atomic<bool>* stop = nullptr);

}  // namespace gibbsite
