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

/// Where the rows of each rank begin, and the end: [ranks + 1] of n rows, whole blocks of 1024
/// (core/summation.hpp) but the last one. Ranks have about as many rows, the largest share within
/// 3 % of their mean where there are 32 blocks a rank, and few nodes of the tree each; a rank may
/// have none.
[[nodiscard]] std::vector<std::uint64_t> share_bounds(std::uint64_t rows, std::size_t ranks);

/// What ranks send each other for one sum over all rows (docs/how-to/cluster.md, "How far it
/// scales").
struct SumTraffic {
  std::uint64_t nodes = 0;      ///< of the tree, of all ranks: each sends the sums of its own
  bool in_slices = false;       ///< not gathered whole: exchanged by slices, and those gathered
  std::uint64_t gathers = 0;    ///< to all ranks; of them
  std::uint64_t exchanges = 0;  ///< of every rank with every other
  std::uint64_t bytes = 0;      ///< that a rank receives, at most, what it has itself included
  std::uint64_t added = 0;      ///< bytes, of the numbers of nodes that a rank adds
};
/// Traffic of one sum of `numbers` numbers over that many rows in the shares of `share_bounds`. One
/// rank sends none.
[[nodiscard]] SumTraffic sum_traffic(std::uint64_t rows, std::size_t ranks, std::size_t numbers);

/// A backend whose engines have rows on all ranks: `load` is called by every rank with its own
/// share of the rows, perhaps none, in the order of ranks. Every question is then asked by all
/// ranks with the same arguments and has the same answer on all of them: with `local` cpu or
/// reference the bits that one process has that holds all rows; with cuda bits that depend on the
/// shares, within accumulation_depth as those of one are. Weights and what `clipped_rows` writes
/// are of the rank's own rows.
///
/// Rank 0 makes every step: noise is drawn there and theta sent to the others, whose keys are not
/// read. A rank that asks another question, has another theta or other settings of chains ends the
/// run on all ranks: BadInput.
///
/// `load` throws BadInput, on all ranks, where shares do not fit: a share in the middle that is not
/// whole blocks, another number of features, loss, arithmetic or version. Of a communicator of one
/// rank this is `local`. `ranks` and `stop` must outlive it and its engines.
///
/// `stop`, where it is given: once it is set at one rank, the next question throws Interrupted on
/// all of them. Ranks that look at it between questions by themselves would wait for each other.
///
/// `local` is no "auto", which ranks would settle for themselves. `cards`: how the cards of `local`
/// cuda talk, which then make steps without the host; null where they do not.
[[nodiscard]] std::unique_ptr<Backend> shard(std::unique_ptr<Backend> local, Communicator& ranks,
                                             const std::atomic<bool>* stop = nullptr,
                                             std::unique_ptr<DeviceRanks> cards = nullptr);

/// make_backend and `shard`, collective. With cuda each rank has a card of its own: the first one
/// it sees that no rank before it has; and they talk where each rank has libgibbsite_nccl.so. With
/// "auto" that, where every rank has a card and there are kernels of the loss; else cpu, and
/// `note` is told why where only some have one. Throws BackendUnavailable, on all ranks the same,
/// where a rank has no card for itself.
[[nodiscard]] std::unique_ptr<Backend> make_backend(std::string_view name,
                                                    const BackendOptions& options,
                                                    Communicator& ranks, const Note& note = {},
                                                    const std::atomic<bool>* stop = nullptr);

}  // namespace gibbsite
