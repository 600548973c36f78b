#pragma once
// Tests of a whole column: whether all of its levels have the same effect. They follow from the
// released estimates alone, at no privacy (docs/theory/intervals.md, "A whole column").
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/release/hypothesis.hpp"

namespace gibbsite {

/// Wald's test that several combinations of coefficients are all 0.
struct JointTest {
  double statistic = 0;     ///< chi squared if they are
  std::size_t degrees = 0;  ///< of freedom: how many of the combinations are independent
  double p_value = 1;       ///< the probability that chi squared is at least that
};

/// The test of combinations c [K x d] that need not be independent. Their covariance is that of the
/// mixture, with what intervals have further (Estimates::further_above, further_below: the larger
/// one over 1.96, and the prior's deviation at most) added to each coefficient's variance. The
/// estimates lean on the prior towards 0, so under the hypothesis the statistic tends to be smaller
/// than its law says. Throws BadInput if there is none or a c has another length.
JointTest joint_test(const Estimates& estimates, std::span<const std::vector<double>> combinations);

/// A column and the test that it has no effect: that none of its levels, or knots of a curve, has
/// another one than the rest; of a line that it is flat; of an interaction that it is none.
struct ColumnTest {
  std::string column;
  std::string_view hypothesis;  ///< as in hypothesis_of
  std::size_t levels = 1;       ///< levels or knots; 1 of a line
  JointTest test;
};
/// Those of all columns, in the schema's order, then those of interactions. Of several classes a
/// test is of all classes' scores together. Empty if the model has no estimates.
std::vector<ColumnTest> column_tests(const LinearModel& model);
/// Those of more than two levels: what no single p-value tells.
std::vector<ColumnTest> tests_of_levels(const LinearModel& model);
/// All of them as CSV: column, chi_squared, degrees_of_freedom, p_value (RFC 4180).
std::string column_tests_csv(const LinearModel& model);

/// The test of the column, curve or interaction whose name is the whole text, perhaps in quotes; of
/// several classes of one class's score as in parse_effect, or, if no class is named, of all of
/// them, also of a straight number. None: the text is no such name. Throws BadInput if the model
/// has no estimates, a class is unknown or the column has one level.
std::optional<JointTest> ask_column(const LinearModel& model, std::string_view text,
                                    const EffectClasses& classes = {});

/// What the test of such a column asks: "all levels alike", "flat" of a curve or a straight number,
/// "no interaction". Empty where ask_column gives none.
std::string_view hypothesis_of(const Schema& schema, std::string_view text,
                               const EffectClasses& classes = {});

/// The meaning of tests of whole columns, for readers.
inline constexpr std::string_view column_test_meaning =
    "A test of a whole column asks whether its levels differ at all, with privacy noise and sampling. "
    "It is as good as the intervals of its effects (docs/theory/intervals.md).";

/// "chi squared 12.3 on 4 degrees of freedom, p-value 0.015".
std::string joint_test_text(const JointTest& test);

}  // namespace gibbsite
