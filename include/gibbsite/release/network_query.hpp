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

#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/model/network_model.hpp"

namespace gibbsite {

/// A question such as "P(income = >50K | sex = Female, age >= 40)". All events of a list hold
/// together.
struct NetworkQuestion {
  std::vector<LevelEvent> target, evidence;
  std::string text{};  ///< as it was asked, for messages
};
/// Reads a question. An event is `column = level`, `!=`, or `in {level, level}`. An event of a
/// number is `<` or `>=` and the end of a bin, or `= [20, 30)`. `<=`, `>` and other values are
/// allowed if they mean the same for every number that the column is written with
/// (Column::decimals); `= 3` is the bin of that number alone. Names are in quotes or the longest
/// that fit. Throws BadInput on another form and on unknown names: the known ones, or ends of bins.
NetworkQuestion parse_question(const NetworkModel& model, const std::string& text);
/// Reads "P(income | sex = Female, age >= 40)", which is about all levels of its first column: they
/// are the one event of its target. Throws BadInput as parse_question.
NetworkQuestion parse_outcome(const NetworkModel& model, const std::string& text);

/// Columns that a question is about, each once, ascending: an event of all levels says nothing.
std::vector<std::uint32_t> asked_columns(const Network& network, const NetworkQuestion& question);
/// Columns of the question that no edges join to another column of it, directly or through what
/// they depend on. The network takes them for independent of the others, whatever the table says.
/// Empty for a question about one column.
std::vector<std::uint32_t> unjoined_columns(const Network& network,
                                            const NetworkQuestion& question);
/// Pairs of columns of the question that no counted table of a tree holds together, and that others
/// join: what they share is what the model infers through those. Empty for other models.
std::vector<ColumnList> inferred_pairs(const NetworkModel& model, const NetworkQuestion& question);
/// What to say of an answer, a line each: columns of the question that nothing joins, and pairs
/// that no counted table holds together. No error: they may be independent, but nobody can tell
/// that from the number alone.
std::vector<std::string> question_warnings(const NetworkModel& model,
                                           const NetworkQuestion& question);
/// Approximate standard deviation of an answer due to the noise, for counted tables and a question
/// without evidence about one column. Of a tree: that of what its counted tables say together which
/// hold all columns of the question, and levels that are no parts of groups. None for other
/// questions.
std::optional<double> question_noise(const NetworkModel& model, const NetworkQuestion& question);
/// How far a tree's answer may be from that of the rows themselves: in at least 95 of 100 releases
/// no further. To the farther end of the interval that counted tables say or, of two columns that
/// none holds, their score; of three to ten columns what all of these allow, whatever the model
/// leaves out (docs/theory/network.md). None for more columns and of other models.
std::optional<double> question_reach(const NetworkModel& model, const NetworkQuestion& question);

/// Largest table that elimination may make on its way.
inline constexpr std::uint64_t most_query_cells = 100'000'000;
/// The conditional probability P(target and evidence)/P(evidence) in each draw [draws], exact but
/// for rounding. It is computed by variable elimination (docs/how-to/network.md, "Questions").
/// Throws BadInput if the evidence has probability 0 in a draw. Throws BadInput, with the columns,
/// if an intermediate table would have more than `most_cells` cells.
std::vector<double> answer(const NetworkModel& model, const NetworkQuestion& question,
                           std::uint64_t most_cells = most_query_cells);
/// The joint distribution of these columns, each named once, averaged over draws: [product of
/// levels], the last column fastest. Throws BadInput as `answer` does.
std::vector<double> joint(const NetworkModel& model, std::span<const std::uint32_t> columns,
                          std::uint64_t most_cells = most_query_cells);

struct SynthesisOptions {
  std::size_t threads = 0;  ///< 0: one for each processor
  char delimiter = ',';     ///< or ';', tab, '|'
  /// Called as (rows done, rows in all), from one thread at a time; returning false stops with
  /// Interrupted.
  std::function<bool(std::uint64_t, std::uint64_t)> progress = {};
};
/// Writes a CSV table of people drawn from the network: a header, then `rows` lines in the columns
/// of the schema. `write` gets it piece by piece, from one thread at a time. Readers read every
/// cell to its level. A number is uniform over the numbers of its bin that have the column's
/// decimals, or more decimals if a bin has no such number.
/// Row i is a pure function of the stream and i, whatever the number of threads. With several
/// draws, row i is from draw i mod draws. Each probability is met to 2^-32. The stream need not be
/// secret, as the network is released already. Throws BadInput if `rows` is 0, and whatever `write`
/// throws.
void synthesize(const NetworkModel& model, std::uint64_t rows, const StreamKey& stream,
                const std::function<void(std::string_view)>& write,
                const SynthesisOptions& options = {});
/// What people are drawn with where nothing else is said: as many as the certificate counts, from a
/// fresh seed, in the network's own way of writing numbers.
struct Synthesis {
  std::uint64_t rows = 0, seed = 0;  ///< the seed is no secret: the same people come from the same
  SynthesisOptions options;
};
Synthesis synthesis_of(const NetworkRelease& release, std::optional<std::uint64_t> rows,
                       std::optional<std::uint64_t> seed);
void synthesize(const NetworkModel& model, const Synthesis& with,
                const std::function<void(std::string_view)>& write);
/// The rows that `synthesize` writes, read through the schema.
Dataset synthetic_rows(const NetworkModel& model, std::uint64_t rows, const StreamKey& stream);

}  // namespace gibbsite
