#pragma once
// Questions to a released network, and people drawn from it: both read nothing else, so they cost
// nothing (docs/network.md).
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/core/random.hpp"
#include "gibbsite/model/network_model.hpp"

namespace gibbsite {

/// A set of levels of one column.
struct LevelEvent {
  std::uint32_t column = 0;
  std::vector<std::uint32_t> levels;  ///< ascending
};
/// "P(income = >50K | sex = Female, age >= 40)".
struct NetworkQuestion {
  std::vector<LevelEvent> target, evidence;
};
/// Throws BadInput on another form, a column that the network lacks, or a level that a column does
/// not have; of numbers bounds must be those of bins, which the message lists.
NetworkQuestion parse_question(const NetworkModel& model, const std::string& text);
/// By elimination of variables, exact but for rounding; of each draw [draws]. Throws BadInput where
/// the evidence has probability 0 in a draw, or an intermediate table would be above `most_cells`.
std::vector<double> answer(const NetworkModel& model, const NetworkQuestion& question,
                           std::uint64_t most_cells = 100'000'000);
/// Joint law over these columns, the last fastest [product of levels], of the average over draws.
std::vector<double> joint(const NetworkModel& model, std::span<const std::uint32_t> columns,
                          std::uint64_t most_cells = 100'000'000);

struct SynthesisOptions {
  std::size_t threads = 0;  ///< 0: one for each processor
  char delimiter = ',';
  /// (rows done, rows in all); return false to stop (throws Interrupted).
  std::function<bool(std::uint64_t, std::uint64_t)> progress = {};
};
/// Writes a CSV table of people drawn from the network, header first, in the columns of the schema;
/// numbers uniform within their bin with the column's decimals. Row i is a pure function of the
/// stream and i: the same for any number of threads. With several draws, row i is of draw i mod
/// draws. Nothing here needs a secret stream: the network is released already.
void synthesize(const NetworkModel& model, std::uint64_t rows, const StreamKey& stream,
                std::ostream& out, const SynthesisOptions& options = {});

}  // namespace gibbsite
