#pragma once
// Cross tables from the noisy counts of a released network: every cell, every margin and the total
// with its standard error. They are computed from what is released, so they cost no privacy
// (docs/how-to/table.md).
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/model/network_model.hpp"

namespace gibbsite {

/// A count of a cross table, in units of `unit_of_counts`. Its interval contains the table's own
/// count with probability 95 %. It covers the noise of privacy, but no sampling of the rows. An
/// estimate that no table has, below 0 or above a public total, counts in it as the nearest one
/// that is possible, so that no interval is a single point (docs/how-to/table.md).
struct TableNumber {
  double estimate = 0;          ///< best linear unbiased estimate; may be below 0
  double deviation = 0;         ///< standard error of the estimate
  double lower = 0, upper = 0;  ///< 95 % interval, cut to [0, public number of rows]
  double whole = 0;  ///< estimate as a whole number; may be below 0; wholes add up as estimates do
  double count = 0;  ///< whole number of at least 0 near the estimate; counts add up too

  /// True if noise hides the count: the interval contains 0.
  [[nodiscard]] bool hidden() const { return lower <= 0; }
};

/// A cross table. Cells add up to the margins and margins to the total, exactly: estimates, wholes
/// and counts alike.
struct CrossTable {
  std::vector<std::string> columns;              ///< [d]
  std::vector<std::vector<std::string>> levels;  ///< [d][r] in words
  std::optional<std::uint64_t> rows;             ///< the total, where it is public (replace-one)
  std::string weight;                            ///< column by which rows count, if any
  double unit = 1;                               ///< weight that a count of 1 stands for
  std::string person;                            ///< column that says whose a row is, if any
  /// The k that all rows of one person count as at most together. 0: each row counts by itself.
  std::uint64_t rows_of_person = 0;
  std::vector<TableNumber> cells;                 ///< [r_1 ... r_d], the last column fastest
  std::vector<std::vector<TableNumber>> margins;  ///< [d][r]; of one column its cells again
  TableNumber total;

  /// Levels of a cell [d].
  [[nodiscard]] std::vector<std::uint32_t> levels_of(std::size_t cell) const;
};

/// The cross table of these columns, in that order; of all columns of the network if there are
/// none. It uses the counted table that has them all, and the tables that are margins of one
/// another within it. Estimates are generalized least squares over them, with the total fixed to
/// `rows` if that is given (docs/how-to/table.md). Throws BadInput "`columns`: ..." on a column
/// twice or unknown, if no counted table has them all, and if the network's tables were drawn.
CrossTable cross_table(const NetworkModel& model, std::optional<std::uint64_t> rows,
                       const std::vector<std::string>& columns = {});
/// True if one counted table has all columns of a network, so that it is a cross table, and no
/// structure is left to describe.
bool is_cross_table(const NetworkModel& model);
/// The cross table of a release; its total is public under replace-one.
CrossTable cross_table(const NetworkRelease& release, const std::vector<std::string>& columns = {});

/// Standard errors of the estimates above, known before any row is read.
struct TableDeviations {
  double cell = 0;
  std::vector<double> margins;  ///< [d]
  double total = 0;
};
/// Deviations of a cross table of all columns of a network whose tables have noise of `noise` [K].
TableDeviations cross_table_deviations(const Network& network, std::span<const double> noise,
                                       bool total_is_public);

/// Half of a 95 % interval, in standard deviations.
inline constexpr double half_width_deviations = 1.959963984540054;

/// The interval of a count: `estimate` ± 95 % of `deviation`, cut to [0, most], about the nearest
/// number in it. It holds whatever the interval that is cut alone would hold in [0, most].
struct CountInterval {
  double lower = 0, upper = 0;
};
CountInterval count_interval(double estimate, double deviation, double most);

/// What is counted, where all rows of one person count as at most `rows_of_person` together: "rows"
/// of 0, "people" of 1, else "rows, at most 4 of a person".
std::string counted_unit(std::uint64_t rows_of_person);
/// What a count of 1 stands for: counted_unit, with weights "people of w = 480".
std::string unit_of_counts(const CrossTable& table);
/// How rows come to be counts, in sentences: people, and weights. "" if each row counts as one.
std::string counting_words(const CrossTable& table);
/// "12", a count or `times` times one, with as many digits as its noise leaves something of.
std::string count_text(double count, double deviation, double times = 1);
/// "3 to 21": the ends of a number's interval, or `times` times them.
std::string interval_text(const TableNumber& number, double times = 1);

/// The text in place of the level of a column that a margin sums over: "(all)", in more parentheses
/// if a level has that name.
std::string all_levels(const CrossTable& table);

}  // namespace gibbsite
