#pragma once
// Questions to a released network, and people drawn from it: both read nothing else, so they cost
// nothing (docs/theory/network.md).
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/core/random.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/model/network_model.hpp"

namespace gibbsite {

/// A set of levels of one column.
struct LevelEvent {
  std::uint32_t column = 0;
  std::vector<std::uint32_t> levels;  ///< ascending
};
/// "P(income = >50K | sex = Female, age >= 40)". Events that are listed hold together.
struct NetworkQuestion {
  std::vector<LevelEvent> target, evidence;
  std::string text{};  ///< as it was asked, for messages
};
/// An event is `column = level`, `!=`, `in {level, level}`; of a number `<`, `>=` and the end of a
/// bin, `<=` and `>` where that says the same of every number that the column is written with
/// (Column::decimals), or `= [20, 30)`. Names are those of the model, the longest that fits, or in
/// quotes. Throws BadInput on another form, a column that the network lacks, or a level that a
/// column does not have, listing what there is; of numbers the ends of bins.
NetworkQuestion parse_question(const NetworkModel& model, const std::string& text);

/// Columns of the question that no edges join to another column of it, among those and what they
/// depend on: the network takes them for independent of the others, whatever the table says. None
/// of a question about one column.
std::vector<std::uint32_t> unjoined_columns(const Network& network,
                                            const NetworkQuestion& question);
/// About the standard deviation that privacy's noise gives the answer to a question about one
/// column and no evidence, of counted tables; none of other questions.
std::optional<double> question_noise(const NetworkModel& model, const NetworkQuestion& question);

/// Largest table that elimination may make on its way.
inline constexpr std::uint64_t most_query_cells = 100'000'000;
/// P(target and evidence)/P(evidence) by elimination of variables (docs/how-to/network.md,
/// "Questions"), exact but for rounding; of each draw [draws]. Throws BadInput where the evidence
/// has probability 0 in a draw, or a table on the way would have more than `most_cells`, naming its
/// columns.
std::vector<double> answer(const NetworkModel& model, const NetworkQuestion& question,
                           std::uint64_t most_cells = most_query_cells);
/// Joint law over these columns, each once, the last fastest [product of levels], of the average
/// over draws.
std::vector<double> joint(const NetworkModel& model, std::span<const std::uint32_t> columns,
                          std::uint64_t most_cells = most_query_cells);

/// Ends of a number's bins in its own unit, its range's among them [levels + 1].
std::vector<double> bin_ends(const Column& column);

struct SynthesisOptions {
  std::size_t threads = 0;  ///< 0: one for each processor
  char delimiter = ',';     ///< or ';', tab, '|'
  /// (rows done, rows in all), from any one thread at a time; return false to stop (throws
  /// Interrupted).
  std::function<bool(std::uint64_t, std::uint64_t)> progress = {};
};
/// Gives `write` a CSV table of people drawn from the network, piece by piece, from any one thread
/// at a time: a header, then `rows` lines in the columns of the schema, that its readers read to
/// the same levels. A number is uniform over the numbers of its bin with the column's decimals, or
/// as many more as it takes for each bin to have one. Row i is a pure function of the stream and i:
/// the same for any number of threads. With several draws, row i is of draw i mod draws. Each
/// probability is met to 2^-32. Nothing here needs a secret stream: the network is released
/// already. Throws BadInput on no rows; what `write` throws ends it.
void synthesize(const NetworkModel& model, std::uint64_t rows, const StreamKey& stream,
                const std::function<void(std::string_view)>& write,
                const SynthesisOptions& options = {});
/// The people of `synthesize`, read through the schema.
Dataset synthetic_rows(const NetworkModel& model, std::uint64_t rows, const StreamKey& stream);

}  // namespace gibbsite
