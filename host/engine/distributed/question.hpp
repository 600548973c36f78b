#pragma once
// Questions to rows that lie in several places. Each is declared once (questions.hpp): its name,
// arguments, the shape of its answer and how answers are added. Every transport carries all of
// them (transport.hpp).
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sharded/mark.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite::distributed {

class ShareRows;
struct Question;

/// How the answers of shares become one.
enum class Added {
  by_tree,  ///< sums of the nodes of the tree over blocks, added in it (sharded/tree.hpp)
  in_turn,  ///< a state that goes from share to share, each of which adds its rows
  largest,  ///< the largest of all shares' numbers; NaN if one is NaN
  first,    ///< {row of the table from 1, ...} of the first row that is told; zeros if none is
};

/// Rows that answer a question that is not asked in turn.
struct NodeRows {
  RowSums& rows;
  std::uint64_t before = 0;      ///< rows of the table before these
  std::uint64_t first = 0;       ///< rows of the share before these
  CappedLoss* capped = nullptr;  ///< of these rows, if the question is of a capped loss
};
/// Adds the rows of a share to the state that those before it left.
using Change = std::function<void(std::span<double>)>;

/// What a question is.
struct Declared {
  std::string_view name;
  Added added = Added::by_tree;
  /// Whether the arguments are for such rows: bytes may come from anywhere.
  bool (*fits)(const RowSums& rows, const Question& q) = nullptr;
  /// Numbers of the answer: of a node, of a state or of a share.
  std::size_t (*size)(const RowSums& rows, const Question& q) = nullptr;
  /// Writes the answer of rows; null if it is asked in turn.
  void (*of_rows)(const NodeRows& of, const Question& q, std::span<double> out) = nullptr;
  /// Finds what can be found before the state comes; null unless it is asked in turn.
  Change (*in_turn)(ShareRows& rows, const Question& q) = nullptr;
  /// It is about a capped loss: `second` is the metric [columns x rows] and the limit of
  /// information, `number` the clip.
  bool capped = false;
  /// Its state is that of each row of `first` [rows x d], one after another.
  bool by_row = false;
};

struct Question {
  const Declared* of = nullptr;
  std::uint64_t rows = 1;
  double number = 0;
  std::vector<double> first{}, second{};
  // Not sent.
  std::span<const double> own{};             ///< a number for each row of this process
  bool agreed = false;                       ///< ranks have compared what they ask
  std::optional<sharded::Mark> of_second{};  ///< that of `second`, if it is asked about often

  /// The question about row c of `first` alone.
  [[nodiscard]] Question row(std::size_t c) const;
  [[nodiscard]] sharded::Mark mark() const;
  [[nodiscard]] sharded::Mark mark_of_second() const;
  [[nodiscard]] std::string bytes() const;
  /// Throws BadInput if the bytes are no question.
  static Question parse(std::string_view bytes);
};

/// All questions that `parse` knows. A test adds its own.
std::vector<const Declared*>& known();

/// Throws BadInput unless the question fits such rows, and has an answer of that size.
void require_asked(const RowSums& rows, const Question& q);
void require_asked(const RowSums& rows, const Question& q, std::size_t size);

/// Adds what one more share answers, where it is not added by_tree or in_turn.
void add_share(Added added, std::span<const double> of_share, std::span<double> out);

[[nodiscard]] inline std::size_t columns_of(const RowSums& rows) {
  return rows.features() / rows.loss().outputs();
}
/// Numbers of the limits behind a metric in `second`; the clip is `number`.
inline constexpr std::size_t numbers_of_limits = 2;
[[nodiscard]] inline std::vector<double> with_limits(std::vector<double> metric,
                                                     const ScoreLimits& limits) {
  metric.insert(metric.end(), {limits.information, limits.largest_count});
  return metric;
}
[[nodiscard]] inline ScoreLimits limits_of(const Question& q) {
  const double* const end = q.second.data() + q.second.size();
  return {q.number, end[-2], end[-1]};
}
[[nodiscard]] inline MatrixView<const double> metric_of(const RowSums& rows, const Question& q) {
  return {q.second.data(), columns_of(rows), q.rows};
}

}  // namespace gibbsite::distributed
