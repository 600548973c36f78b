#pragma once
// One command run by several ranks (docs/how-to/cluster.md): rank 0 alone speaks and writes.
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/machine/communicator.hpp"

namespace gibbsite::cli {

/// Those that work on this command; one process where no launcher started several.
Communicator& ranks();
bool is_first_rank();

/// Finds the ranks and compares what they run: version, build, words of the command. From here on
/// the others say nothing. Throws BadInput where ranks differ, or cannot do the command together.
void meet_ranks(int argc, char** argv);
/// Whether the first rank does a command alone, as it reads no rows, and the others wait for it.
bool is_of_first_rank(int argc, char** argv);
/// Throws BadInput, on all ranks, where a text is not the same on all of them: "WHAT differs".
void require_same_everywhere(const std::string& text, const std::string& what);
/// What all ranks have, in their order, on the first one; nothing on the others.
template <class T>
std::vector<T> at_first_rank(std::vector<T> mine) {
  Communicator& all = ranks();
  if (all.size() == 1) return mine;
  const std::vector<std::uint64_t> counts = all.gather(std::uint64_t{mine.size()});
  if (all.rank() > 0) {
    all.send(std::as_bytes(std::span(mine)), 0);
    return {};
  }
  std::size_t at = mine.size();
  mine.resize(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  for (std::size_t rank = 1; rank < all.size(); at += counts[rank++])
    all.receive(std::as_writable_bytes(std::span(mine).subspan(at, counts[rank])), rank);
  return mine;
}
/// Ends all ranks with one line, where there are several: it does not return then. A line that all
/// have to say is said by the first. `lines`: at least one.
void end_ranks(const std::vector<std::string>& lines, Status status);

/// Closes what `meet_ranks` opened.
struct RanksOfCommand {
  RanksOfCommand() = default;
  RanksOfCommand(const RanksOfCommand&) = delete;
  RanksOfCommand& operator=(const RanksOfCommand&) = delete;
  ~RanksOfCommand();
};

}  // namespace gibbsite::cli
