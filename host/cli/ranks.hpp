#pragma once
// One command run by several ranks (docs/cluster.md): rank 0 alone speaks and writes.
#include <string>
#include <vector>

#include "gibbsite/core/communicator.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite::cli {

/// Those that work on this command; one process where no launcher started several.
Communicator& ranks();
bool is_first_rank();

/// Finds the ranks and compares what they run: version, build, words of the command. From here on
/// the others say nothing. Throws BadInput where ranks differ, or cannot do the command together.
void meet_ranks(int argc, char** argv);
/// Throws BadInput, on all ranks, where a text is not the same on all of them: "WHAT differs".
void require_same_everywhere(const std::string& text, const std::string& what);
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
