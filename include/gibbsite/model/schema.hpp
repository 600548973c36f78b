#pragma once
// The public domain of a table, written by a person: ranges, levels, row norm. Never derived from
// data.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/core/message.hpp"
#include "gibbsite/core/problem.hpp"
#include "gibbsite/model/date.hpp"
#include "gibbsite/model/label.hpp"

namespace gibbsite {

/// The kinds of columns. An exposure says over how much (years, hours, people) a count was made, a
/// weight how much a row counts, a person whose it is. None of them is a feature.
enum class ColumnType { number, category, exposure, weight, person, ignore };

/// How the knots of a curve lie, if nobody lists them: at equal widths, at equal widths of
/// log(1 + (v - lo)/s) with s = (hi - lo)/1000, or at 1, 2, 5, 10, ... (model/curve.hpp).
/// automatic: log where the range begins at 0 or above and is wide, else even.
enum class KnotScale { automatic, even, log, series };

/// How numbers are written in text.
struct NumberText {
  char decimal = '.';  ///< the decimal sign: "." or ","
  /// The signs that may group digits by thousands, one of them in each number; empty: none does.
  std::vector<std::string> thousands = {};
  bool operator==(const NumberText&) const = default;
};

/// What a number's mean and standard deviation are about, in its unit, known without the data.
struct Typical {
  double center = 0, spread = 1;
  bool operator==(const Typical&) const = default;
};

struct Column {
  std::string name;
  ColumnType type = ColumnType::ignore;
  double lo = 0, hi = 1;  ///< number: public range; cells are clamped, then scaled to [0,1];
                          ///< exposure: public range above 0; cells are clamped
                          ///< weight: public range from 0 on; cells are clamped
  std::vector<std::string> levels = {};  ///< category: one-hot, in this order
  bool other = false;                    ///< category: levels not listed become one more, "(other)"
  bool has_missing = false;              ///< the column has its own `missing`
  std::string missing = {};              ///< how a missing cell reads here
  /// number, in a network: edges of its public bins, ascending, between lo and hi; a bin contains
  /// its lower end. Empty: default_bins of equal width.
  std::vector<double> edges = {};
  /// number, in a synthetic table: how many decimals it is written with. None: as many as tell
  /// apart a hundredth of its narrowest bin.
  std::optional<int> decimals = {};
  /// number, in a network: whether missing cells are a level "(missing)" behind the bins, and are
  /// written so in a synthetic table. None: they are if the column has its own `missing`. If false,
  /// they count in the bin that contains the middle of the range.
  std::optional<bool> missing_level = {};
  /// number: whether the column has a "(missing)" level, in a schema of network_schema. Elsewhere
  /// false: numbers have no levels.
  bool has_missing_bin = false;
  /// category: the listed level that stands for missing cells without a level of their own, and
  /// with `other` for unlisted levels. Empty: they have none, or become "(other)".
  std::string unlisted = {};
  /// category: the level that the table of effects compares the others with, one of
  /// Schema::level_names. Empty: the most frequent one. Nothing in a fit depends on it.
  std::string reference = {};
  std::vector<std::string> also_missing = {};  ///< with `missing`: further marks of a missing cell
  /// number: knots of its curve, ascending, the first lo and the last hi. The column becomes one
  /// hat function for each knot (model/curve.hpp). Empty: a straight line.
  std::vector<double> knots = {};
  /// number: whether the plan chooses how many knots there are, from public numbers alone
  /// (`chosen_curves`). A fit needs the choice made; until then the column is a straight line.
  bool automatic_curve = false;
  KnotScale scale = KnotScale::automatic;  ///< of knots that are not listed
  /// number, part: how its cells are written if they are dates (model/date.hpp); lo, hi and knots
  /// of a number are then whole days since 1970-01-01. Empty: they are no dates.
  std::string date = {};
  /// category: its levels are "false" and "true" in any spelling (model/boolean.hpp).
  bool is_boolean = false;
  /// number, exposure: how its cells are written, in place of the table's decimal and thousands.
  std::optional<NumberText> numbers = {};
  /// number that is a straight line: where its cells are taken to lie before anything is asked
  /// (model/contrasts.hpp). No noise depends on it. Empty: evenly over the range.
  std::optional<Typical> typical = {};
  /// The part of a date that the column is, of cells written as `date` says: a year is a number,
  /// with a range of years; a month or a weekday a category of part_levels.
  DatePart part = DatePart::none;
  /// part: the column whose cells it reads, which is a date, another part, or ignored. Empty: its
  /// own.
  std::string of = {};

  /// Whether its numbers are days.
  [[nodiscard]] bool is_date() const { return !date.empty() && part == DatePart::none; }
  /// The name that its cells have in a table.
  [[nodiscard]] const std::string& cell_name() const { return of.empty() ? name : of; }
  /// A number of the column as people read it: its shortest text, or the day.
  [[nodiscard]] std::string text_of(double value) const;
  [[nodiscard]] bool is_curve() const { return !knots.empty(); }
  /// Whether its features are levels: of a category, or the knots of a curve. All of them, and
  /// "(missing)" where it is one, are from 0 to 1, and add up to at most 1 in every row.
  [[nodiscard]] bool has_levels() const { return type == ColumnType::category || is_curve(); }
  bool operator==(const Column&) const = default;
};

/// The interaction of two or three columns: products of their features, so that the effect of one
/// may differ with another (model/interaction.hpp).
struct Interaction {
  struct Part {
    std::string column;  ///< a number or a category of the schema
    /// number: where its hats are, ascending, from lo to hi; 2 or more, public, and no others than
    /// those of the column's own curve need be. Empty of a category.
    std::vector<double> knots = {};
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;

  /// "age × sex".
  [[nodiscard]] std::string name() const;
  bool operator==(const Interaction&) const = default;
};

/// The least spread that can be typical of a number, over the width of its range: rows are floats.
inline constexpr double least_typical_spread = 1e-4;

inline constexpr std::size_t most_interacting = 3;  ///< columns of an interaction
inline constexpr std::size_t most_interaction_features = 10'000;

/// The signs that may group digits by thousands: "," "." "'" "_", a blank, the typographic
/// apostrophe, and wide and narrow no-break blanks.
inline constexpr std::string_view thousands_signs[] = {",", ".",      "'",      "_",
                                                       " ", "\u2019", "\u00a0", "\u202f"};

/// Number of bins of a number in a network, if the schema does not say.
inline constexpr std::uint64_t default_bins = 10;
inline constexpr std::uint64_t most_bins = 1'000;
inline constexpr int most_decimals = 15;

/// A missing cell of a number with a "(missing)" level is stored as missing_bin_value. Values from
/// missing_bin_edge on are in that level; scaled numbers are at most 1.
inline constexpr float missing_bin_value = 2, missing_bin_edge = 1.5;

/// Edges of `bins` bins of equal width [bins - 1].
std::vector<double> equal_edges(double lo, double hi, std::uint64_t bins);

/// What happens to a cell that the schema cannot read: a number that is not finite, an unlisted
/// level (without `other`), an empty cell without a mark `missing`, an empty label or unlisted
/// class. refuse: the table is refused, which tells about that row (an assumption of the
/// certificate). middle: a number becomes the middle of its range; a level "(other)" or none of the
/// listed ones. A label becomes the negative class, the first of several classes, or the middle of
/// its range (for counts the whole number below it).
enum class Invalid { refuse, middle };

/// How the cells of a table are written.
struct TextFormat {
  char decimal = '.';                       ///< as NumberText::decimal
  std::vector<std::string> thousands = {};  ///< as NumberText::thousands
  bool has_missing = false;                 ///< `missing` was given for the table
  std::string missing = {};  ///< how a missing cell reads where the column does not say
  std::vector<std::string> also_missing = {};  ///< as Column::also_missing, of the table

  /// Whether a text is one of the table's marks of a missing cell, as of a missing label.
  [[nodiscard]] bool marks_missing(std::string_view text) const;
  bool operator==(const TextFormat&) const = default;
};

/// What a schema was bought with before it was written down, with a guarantee of its own that
/// adds to that of every release by it.
struct BoughtApart {
  std::string certificate;  ///< digest of its certificate's file
  double epsilon = 0, delta = 0;
  /// The column that told whose a row was; empty: every row counted as somebody's own.
  std::string person{};
  /// What all rows of one person counted at most; of rows, how many one person had. 0: it is a file
  /// of before, which says it of people alone.
  std::uint64_t rows_per_person = 0;
  std::string adjacency{};  ///< to_string(Adjacency); empty in files of before
  /// Whether its guarantee and that of a release with these neighbors add up.
  [[nodiscard]] bool adds_to(std::string_view adjacency_of, std::uint64_t rows) const;
  /// ", for people with any number of rows, ..." in a sentence; empty where rows were counted.
  [[nodiscard]] std::string people_words() const;
  /// "replace-one, at most 1 row per person", of a purchase that says its adjacency.
  [[nodiscard]] std::string neighbors_words() const;
  /// What is wrong with it; empty: nothing.
  [[nodiscard]] Message fault() const;
  bool operator==(const BoughtApart&) const = default;
};

/// A table that a schema's ranges, levels and typical values come from: public, as whoever
/// publishes the schema says. No guarantee covers people in it.
struct PublicTable {
  std::string file;        ///< its name, without folders
  std::string sha256;      ///< of the file, in hexadecimal digits
  std::uint64_t rows = 0;  ///< that it has
  /// What is wrong with it; empty: nothing.
  [[nodiscard]] Message fault() const;
  bool operator==(const PublicTable&) const = default;
};

/// The public description of a table, and how its cells become rows. Features are in the schema's
/// order: one for a number, one for each level of a category, then interactions, the intercept
/// last. Behind the levels are "(missing)", if the column itself has a mark of missing cells and
/// lists no such level, and "(other)".
struct Schema {
  std::string label_name;                   ///< name of the column to predict
  Label label;                              ///< what that column holds
  Invalid invalid = Invalid::refuse;        ///< cells and labels that cannot be read
  TextFormat text;                          ///< how cells are written
  double row_norm = 1.0;                    ///< R: rows are scaled down to this norm
  bool intercept = false;                   ///< append a constant feature 1
  std::vector<Column> columns;              ///< in the order of the schema file
  std::vector<Interaction> interactions{};  ///< [[interaction]], in the order of the file
  /// [network]: parents by column, for the columns that have some. None: the schema has no
  /// [network].
  std::optional<std::map<std::string, std::vector<std::string>>> network{};
  /// What no row is, as everybody knows: each a list of events of columns that never hold together
  /// (structural_zeros). Of networks whose structure is chosen.
  std::vector<std::vector<std::string>> never{};
  /// The column that a network's rows are to predict (target_column); empty: none. Of networks
  /// whose structure is chosen.
  std::string target{};
  std::optional<BoughtApart> bought{};       ///< none: a person wrote it without looking at a table
  std::optional<PublicTable> from_public{};  ///< none: it follows from no public table

  /// The column of type exposure, or null.
  [[nodiscard]] const Column* exposure() const;
  /// The offset o of an exposure, a float: log(value/highest) with the value clamped to the range,
  /// so -offset_bound() <= o <= 0.
  [[nodiscard]] float scaled_exposure(double value) const;
  /// The offset of an exposure with the range [lo, hi].
  static float scaled_exposure(double value, double lo, double hi);
  /// Upper bound of |o|: log(highest/lowest exposure), rounded up to a float; 0 without an
  /// exposure.
  [[nodiscard]] float offset_bound() const;
  /// The column of type weight, or null.
  [[nodiscard]] const Column* weight() const;
  /// The column of type person, or null.
  [[nodiscard]] const Column* person() const;
  /// Whether its people were those of a purchase, whose rule of ids holds then.
  [[nodiscard]] bool was_bought_for_people() const { return bought && !bought->person.empty(); }
  /// What a row of that weight counts, a float in [0, 1]: value/highest with the value clamped to
  /// [lo, hi], rounded down so that no row counts more than 1. NaN counts 0.
  static float scaled_weight_down(double value, double lo, double hi);
  /// How numbers of the column are written: as it says, or else as the table does.
  [[nodiscard]] NumberText numbers_of(const Column& column) const;
  /// Whether the table or a column has a decimal comma, so that commas cannot separate cells.
  [[nodiscard]] bool has_decimal_comma() const;
  /// The first mark of a missing cell of the column, which writers use; null if there is none.
  [[nodiscard]] const std::string* missing_in(const Column& column) const;
  /// All marks of a missing cell of the column: its own, or else the table's. Empty if there are
  /// none.
  [[nodiscard]] std::vector<std::string> missing_marks(const Column& column) const;
  /// The listed level of a category that is a mark of missing cells, or null.
  [[nodiscard]] const std::string* missing_level(const Column& column) const;
  /// Whether this column has a "(missing)" feature: a category with marks of its own, none of them
  /// listed; a curve, or a number with missing_level = true, that has marks of its own or the
  /// table's.
  [[nodiscard]] bool has_missing_level(const Column& column) const;
  /// Number of features of a column: the number of level_names for a category or a curve; 1 for
  /// another number, 2 with a "(missing)" feature; else 0.
  [[nodiscard]] std::size_t features_of(const Column& column) const;
  /// Names of a category's features: its levels, then "(missing)" and "(other)" if they are
  /// features. Names of a curve's features: its knots, then "(missing)" if it is one. Empty for
  /// other columns.
  [[nodiscard]] std::vector<std::string> level_names(const Column& column) const;
  /// The names of the features of a column within an interaction: level_names of a category; of a
  /// number its knots there, and "(missing)" if the column has that level.
  [[nodiscard]] std::vector<std::string> level_names(const Interaction::Part& part) const;
  /// How many these are.
  [[nodiscard]] std::size_t features_of(const Interaction::Part& part) const;
  /// Number of features of an interaction, the product of those of its parts.
  [[nodiscard]] std::size_t features_of(const Interaction& interaction) const;
  /// What has features, in their order: the columns, then each interaction as a category of its
  /// name, with levels such as "40 × F".
  [[nodiscard]] std::vector<Column> terms() const;
  /// The column of that name, or null.
  [[nodiscard]] const Column* column_named(std::string_view name) const;
  /// The place of a level in level_names, or none if the column has no such level. A mark of a
  /// missing cell stands for "(missing)".
  [[nodiscard]] std::optional<std::size_t> level_index(const Column& column,
                                                       std::string_view level) const;
  /// Number of features of a row, d, the intercept included.
  [[nodiscard]] std::size_t features() const;
  /// Names of the features [d]: "age", or "age=17", "age=25", ... of a curve,
  /// "workclass=Private", "workclass=(other)", ..., "age × sex=17 × F", ..., "(intercept)".
  [[nodiscard]] std::vector<std::string> feature_names() const;
  /// The middle of a row by public ranges [d]: 1/2 for straight lines, 0 for levels and the
  /// intercept. All
  /// are 0 without an intercept, which would have to absorb it.
  [[nodiscard]] std::vector<double> middle() const;
  /// Largest norm of a row before it is scaled down: sqrt(columns used and
  /// interactions), rounded up. If it is at
  /// most row_norm, no row is ever clipped, and coefficients convert exactly to the columns' units.
  [[nodiscard]] double max_unclipped_norm() const;
  /// Whether rows may be longer than row_norm, and are then scaled down. Rows whose curves are not
  /// chosen yet are scaled down once they are.
  [[nodiscard]] bool may_clip() const;
  /// The value of `row_norm = "auto"`: max_unclipped_norm, which costs nothing in a private metric.
  /// It is 1 beyond most_metric_features: such rows get no metric, and the longest row sets the
  /// noise.
  [[nodiscard]] double auto_row_norm() const;
  operator FeatureSpace() const;  // NOLINT: a schema is the space its rows live in
  /// Throws BadInput "SOURCE: what; what to do" on row_norm <= 0, no columns, lo >= hi, duplicate
  /// levels or classes, a label that is also a feature, and so on.
  void validate(const std::string& source) const;
  bool operator==(const Schema&) const = default;
};

}  // namespace gibbsite
