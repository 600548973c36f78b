#pragma once
// Numbers and tables for people.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/core/human_count.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/mechanism/plan.hpp"

namespace gibbsite::cli {

/// A message with its fields as this program's options, such as --step-size, and its words in
/// backquotes. The file behind --out - is "standard output".
std::string in_options(const Message& message);

/// "gibbsite: warning: MESSAGE" and "gibbsite: note: MESSAGE" on stderr.
void warn(const Message& message);
void note(const Message& message);

/// "0.6 s", "3.2 h", "3.1e+09 years"; "?" for NaN.
std::string human_time(double seconds);
/// "about 0.6 s", "under 1 ms".
std::string about(double seconds);
/// A cell of CSV: quotes where a comma, a quote or a line end asks for them (RFC 4180).
std::string csv_cell(const std::string& text);
/// Columns that a UTF-8 text takes on a terminal, where each of its signs is one wide.
std::size_t columns_of(const std::string& text);
/// Columns padded to their widest cell, two blanks between, UTF-8; the first line is the header.
/// Cells are shown as core/text.hpp has it.
std::string table(const std::vector<std::vector<std::string>>& lines);

/// What a terminal shows of a line.
inline constexpr std::size_t terminal_columns = 99;
/// Columns of the longest line.
std::size_t widest_line(const std::string& text);
/// Lines that fit a terminal, broken at blanks; ends with a line end.
std::string wrapped(const std::string& text);
/// Lines of more than 120 columns wrapped one by one, the others as they are: pages quote these.
std::string wrapped_lines(const std::string& text);

/// "4,526 rows, 9 features, ...": the public problem in one line.
std::string describe(const Problem& constants, const Budget& budget);
/// "curves: 6 columns of 12 knots each\n" of those that the schema `asked` left to the plan; empty
/// if it left none.
std::string curves_words(const Schema& asked, const Schema& chosen);
/// "interactions: age × sex (8), age × hours (16) features\n"; empty if there are none.
std::string interactions_words(const Schema& schema);
/// How many numbers start from what the schema says is typical, and which mechanisms do so; empty
/// if there are none.
std::string typical_words(const Schema& schema);
/// Which numbers count as straight lines over so wide a range that intervals may be of no effect
/// that they have, and what to do; "" if there is none.
std::string wide_lines_words(const Schema& schema);

/// What is known beside a plan when it is told.
struct PlanContext {
  double label_unit = 0;     ///< of the schema; 0 without one
  PlanOptions plan_options;  ///< what the plan was made for
  std::optional<PositiveShare> positive_share = {};
  std::string read_otherwise = {};  ///< read_otherwise_meaning of the schema; "" without one

  [[nodiscard]] double evenness() const {
    return positive_share ? least_evenness(*positive_share) : 1;
  }
};
/// What is chosen at each budget and what that buys, a line each, and why; then the other
/// mechanisms, by name alone. `seconds` [plans] of the chosen offers.
std::string plan_summary(std::span<const Plan> plans, std::span<const double> seconds,
                         const PlanContext& context);
/// The offers side by side, and below which was chosen and why. `seconds` [offers]; NaN: unknown.
std::string plan_table(const Plan& plan, std::span<const double> seconds,
                       const PlanContext& context);
/// One line on the offer that will be run; without the time if `seconds` is NaN.
std::string plan_line(const Plan& plan, double seconds);

}  // namespace gibbsite::cli
