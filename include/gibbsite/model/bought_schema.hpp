#pragma once
// A schema bought with privacy budget: what noisy counts of cells say about types, ranges, levels.
// It follows from released answers and public numbers alone (docs/theory/bought-schema.md).
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/core/message.hpp"
#include "gibbsite/core/schema_questions.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Positive ends of the public bins of numbers: 1, 2 and 5 times powers of ten, ascending.
inline constexpr std::array<double, 57> series_ends = {
    1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2,
    .1,   .2,   .5,   1,    2,    5,    10,   20,   50,   1e2,  2e2,  5e2,  1e3,  2e3,  5e3,
    1e4,  2e4,  5e4,  1e5,  2e5,  5e5,  1e6,  2e6,  5e6,  1e7,  2e7,  5e7,  1e8,  2e8,  5e8,
    1e9,  2e9,  5e9,  1e10, 2e10, 5e10, 1e11, 2e11, 5e11, 1e12, 2e12, 5e12};
/// Bins of negative numbers, 0, and bins of positive numbers.
inline constexpr std::size_t number_bins = 2 * (series_ends.size() + 1) + 1;

/// How the number of a cell is written: as programs do, with a decimal comma, or with a decimal
/// point and digits in groups.
enum class Written : std::uint32_t { plain, comma, grouped };
inline constexpr std::size_t number_forms = 3;
/// How numbers of a column are read in which that form is seen.
NumberText numbers_written(Written form);

/// The classes of cells: each cell of a column is in exactly one, by its text alone. Behind these
/// come the bins of numbers, those of each form by themselves, then dates in further formats.
enum class CellClass : std::uint32_t { empty, mark, text, date, first_bin };
inline constexpr std::size_t first_date_class =
    static_cast<std::size_t>(CellClass::first_bin) + number_forms * number_bins;

/// Formats of dates beside ISO 8601 whose texts are of no other format, each with its class.
inline constexpr std::array<std::string_view, 6> date_formats = {
    "%Y/%m/%d", "%d.%m.%Y", "%d %b %Y", "%d-%b-%Y", "%d%b%Y", "%b %d, %Y"};
/// Formats that come in pairs, the day first or the month first. Each pair has three classes: texts
/// of the first format alone, of the second alone, of both ("1/2/2020").
inline constexpr std::array<std::array<std::string_view, 2>, 2> paired_date_formats = {
    {{"%d/%m/%Y", "%m/%d/%Y"}, {"%d-%m-%Y", "%m-%d-%Y"}}};
inline constexpr std::size_t cell_classes =
    first_date_class + date_formats.size() + 3 * paired_date_formats.size();
static_assert(cell_classes == cell_classes_of(newest_questions));
/// The class of a finite number. A bin contains its lower end.
std::size_t number_class(double value, Written form = Written::plain);

/// The public list of marks of a missing cell, beside the empty cell.
std::span<const std::string_view> public_marks(std::uint64_t questions = newest_questions);
/// Longest text, in bytes, that can become a level.
inline constexpr std::size_t longest_level = 128;

/// A text that was released with its noisy count.
struct LevelAnswer {
  std::string text;
  double rows = 0;
  bool operator==(const LevelAnswer&) const = default;
};
/// A column that is asked about again, and where.
struct RangeQuestion {
  std::size_t column = 0;  ///< place in BoughtSchema::columns
  double lo = 0, hi = 1;
  std::string_view dates = {};       ///< a format: its days are counted; empty: numbers are
  Written written = Written::plain;  ///< how numbers are read
  bool operator==(const RangeQuestion&) const = default;
  /// Ends of its bins [refined_bins + 1], ascending. Numbers outside count in the first or last.
  [[nodiscard]] std::vector<double> edges() const;
};
/// Noisy counts of numbers in equal bins of a range.
struct RangeAnswer {
  double lo = 0, hi = 1;
  std::vector<double> rows;  ///< [refined_bins]
};

/// All that is released of one column. Columns that were not asked about have no classes.
struct ColumnAnswers {
  std::string name;
  std::vector<double> classes;      ///< noisy counts [cell_classes_of(questions)] by CellClass
  std::vector<LevelAnswer> levels;  ///< by falling count, then by text
  std::vector<RangeAnswer> ranges;  ///< at most `refinements`, in the order asked

  [[nodiscard]] bool asked() const { return !classes.empty(); }
};

/// The numbers that answers are read with.
struct AnswerScale {
  /// n; where rows_noise is not 0 a noisy answer, at least 1, of what all rows count together.
  std::uint64_t rows = 0;
  double bins_noise = 0;    ///< deviation of a class's count
  double levels_noise = 0;  ///< deviation of a level's count
  double threshold = 0;     ///< levels with less are not released
  double refine_noise = 0;  ///< deviation where one column is asked again; times sqrt(columns)
  double rows_noise = 0;    ///< deviation of `rows`; 0: public
  bool operator==(const AnswerScale&) const = default;
};

/// Parts of a date that a person wants as columns of their own, where the column holds dates.
struct WantedParts {
  std::string column;           ///< one that is asked about
  std::vector<DatePart> parts;  ///< each once
  bool operator==(const WantedParts&) const = default;
};
/// The name of such a column: "hired_month".
std::string part_name(const std::string& column, DatePart part);

/// What is wrong with parts that are wanted of these columns; empty: nothing.
Message parts_fault(std::span<const ColumnAnswers> columns, std::span<const WantedParts> wanted);

/// Columns that say how rows count, named by a person. They are not asked about.
struct CountingColumns {
  std::string person{};                 ///< whose a row is; empty: every row is somebody's own
  std::string weight{};                 ///< how much a row counts; empty: rows count the same
  std::string exposure{};               ///< what a row's count is over; empty: all are over as much
  double weight_lo = 0, weight_hi = 1;  ///< their public ranges
  double exposure_lo = 1, exposure_hi = 1;  ///< above 0

  /// Whether rows count unlike each other.
  [[nodiscard]] bool weighs() const { return !person.empty() || !weight.empty(); }

  [[nodiscard]] bool names(std::string_view column) const;
  /// Those columns, as a schema has them.
  [[nodiscard]] std::vector<Column> columns() const;
  bool operator==(const CountingColumns&) const = default;
};

/// The released answers, and the label that a person named.
struct BoughtSchema {
  std::uint64_t questions = newest_questions;
  AnswerScale scale;
  std::uint64_t rows_per_person = 1;
  std::string label;                   ///< a column that is not asked about; empty: none
  Label target = TwoClasses{};         ///< what it holds: a person says so, no row
  std::vector<ColumnAnswers> columns;  ///< in the order of the header, without the label
  std::vector<WantedParts> parts{};    ///< of dates, behind the columns; a person says so, no row
  CountingColumns counting{};          ///< some of the columns; a person says so, no row
  Schema schema{};                     ///< schema_of(*this): what follows
};

/// What the answers say about one column.
struct ColumnFinding {
  Column column;
  std::string words;  ///< what it holds, or why it is ignored, for people
};

/// Whether a header name says that its column numbers rows or people ("id", "person_id", "userId").
/// Such columns are not asked about.
bool named_like_an_id(std::string_view name);

/// What is wrong with the names of columns, which may become names of features; empty: nothing.
Message names_fault(std::span<const std::string> names);

/// The columns to ask about again, given the answers so far; empty if there is none. Throws nothing
/// on any answers.
std::vector<RangeQuestion> range_questions(const BoughtSchema& answers);
/// What is known of each column [columns].
std::vector<ColumnFinding> findings(const BoughtSchema& answers);
/// The schema that follows from the answers. It refuses no cell (Invalid::middle). It is complete
/// (Schema::validate throws nothing) if it has a label and uses a column.
Schema schema_of(const BoughtSchema& answers);
/// The schema that a model is fitted by at once: as above, and legal whatever the answers say. Its
/// longest lists of levels are cut so that it has at most `most` features, also with curves. If no
/// column can be used, the first one that was asked about is a number from 0 to 1.
Schema fit_schema_of(const BoughtSchema& answers, std::uint64_t most = most_metric_features);

}  // namespace gibbsite
