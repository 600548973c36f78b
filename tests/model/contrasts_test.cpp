// Coordinates without what the schema rules out: orthonormal, and which columns they are of.
#include "gibbsite/model/contrasts.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gibbsite {
namespace contrasts_test {

Column number(const char* name) { return {name, ColumnType::number, 0, 1, {}, false}; }
Column category(const char* name, std::size_t levels) {
  Column out{name, ColumnType::category, 0, 1, {}, false};
  for (std::size_t k = 0; k < levels; ++k) out.levels.push_back(std::to_string(k));
  return out;
}

Schema schema_of(std::vector<Column> columns) {
  Schema out;
  out.label_name = "y";
  out.label = TwoClasses{.positive = "1"};
  out.row_norm = 10;
  out.intercept = true;
  out.columns = std::move(columns);
  return out;
}

double product(const std::vector<double>& a, const std::vector<double>& b, std::size_t k,
               std::size_t column, std::size_t other) {
  double sum = 0;
  for (std::size_t at = 0; at < a.size(); at += k) sum += a[at + column] * b[at + other];
  return sum;
}

TEST(Contrasts, AreOrthonormalAndAddUpToZero) {
  for (const std::size_t levels : {1U, 2U, 3U, 42U, 500U}) {
    const Schema schema = schema_of({number("a"), category("b", levels), number("c")});
    const ContrastBasis found = contrast_basis(schema);
    const std::size_t d = levels + 3, k = levels + 2;
    ASSERT_EQ(found.features, d);
    ASSERT_EQ(found.coordinates, k);
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        const double one = i == j ? 1 : 0;
        EXPECT_NEAR(product(found.basis, found.basis, k, i, j), one, 1e-13) << i << " " << j;
      }
    }
    for (std::size_t i = 0; i + 1 < levels; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < levels; ++j) sum += found.basis[(1 + j) * k + 1 + i];
      EXPECT_NEAR(sum, 0, 1e-13);
    }
    for (const std::size_t feature : {std::size_t{0}, d - 2}) {  // numbers
      for (std::size_t i = 0; i < k; ++i) {
        const bool own = feature == 0 ? i == 0 : i + d == feature + k;
        EXPECT_EQ(found.basis[feature * k + i], own ? 1 : 0);
      }
    }
  }
}

TEST(Contrasts, AreTheIdentityWithoutAConstantOrWhereRowsAreScaledDown) {
  Schema schema = schema_of({number("a"), category("b", 3)});
  ASSERT_EQ(contrast_basis(schema).coordinates, 4U);
  schema.row_norm = std::nextafter(std::sqrt(2.0), 0.0);
  const ContrastBasis scaled = contrast_basis(schema);
  schema.row_norm = 10;
  schema.intercept = false;
  const ContrastBasis without = contrast_basis(schema);
  for (const ContrastBasis& found : {scaled, without}) {
    ASSERT_EQ(found.coordinates, found.features);
    for (std::size_t at = 0; at < found.basis.size(); ++at) {
      const double one = at % (found.features + 1) == 0 ? 1 : 0;
      EXPECT_EQ(found.basis[at], one);
    }
  }
}

TEST(Contrasts, LeaveTheConstantAloneWhereAllCategoriesHaveOneLevel) {
  const ContrastBasis found = contrast_basis(schema_of({category("a", 1), category("b", 1)}));
  ASSERT_EQ(found.features, 3U);
  ASSERT_EQ(found.coordinates, 1U);
  for (const double v : found.basis) EXPECT_NEAR(v, 1 / std::sqrt(3.0), 1e-15);
}

// Scores of rows stay what they were.
TEST(Contrasts, LevelsAreCenteredAtTheConstant) {
  const ContrastBasis found =
      contrast_basis(schema_of({number("a"), category("b", 3), category("c", 1)}));
  std::vector<double> theta{5, 1, 2, 6, 4, 10};
  center_levels(found, theta);
  EXPECT_EQ(theta, (std::vector<double>{5, -2, -1, 3, 0, 17}));
}

// Ends of the logarithms of lengths: of the schema alone, and no row that it encodes is outside but
// far below.
TEST(RowLengths, EndsFollowFromTheSchema) {
  const RowLengths numbers = row_lengths(schema_of({number("a"), number("b"), number("c")}));
  EXPECT_DOUBLE_EQ(numbers.high, std::log(0.75) / 2) << "all at an end of their ranges";
  EXPECT_DOUBLE_EQ(numbers.low, numbers.high - std::log(8));
  EXPECT_EQ(numbers.weight, (std::vector<double>{1, 1, 1, 0}));
  EXPECT_EQ(numbers.center, (std::vector<double>{0.5, 0.5, 0.5, 0}));
  EXPECT_EQ(numbers.base, 0);
  EXPECT_FALSE(numbers.categories);
  // Levels that are in contrasts add the same whatever they are.
  const RowLengths both = row_lengths(schema_of({number("a"), category("b", 3), category("c", 4)}));
  EXPECT_DOUBLE_EQ(both.base, 2.0 / 3 + 3.0 / 4);
  EXPECT_DOUBLE_EQ(both.high, std::log(both.base + 0.25) / 2);
  EXPECT_DOUBLE_EQ(both.low, both.high - 0.25) << "nearer than rows can be";
  EXPECT_EQ(both.weight, (std::vector<double>{1, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(both.categories);
  // Where a cell may have no level its own number counts.
  Schema missing = schema_of({category("b", 3)});
  missing.text.has_missing = true;
  missing.text.missing = "?";
  const RowLengths some = row_lengths(missing);
  EXPECT_EQ(some.base, 0);
  EXPECT_EQ(some.weight, (std::vector<double>{1, 1, 1, 0}));
  EXPECT_DOUBLE_EQ(some.high, 0);
  EXPECT_DOUBLE_EQ(some.low, -std::log(8));
  // Rows without a column have no length.
  for (const Schema& nothing : {schema_of({}), schema_of({category("a", 1)})}) {
    const RowLengths none = row_lengths(nothing);
    EXPECT_TRUE(std::isfinite(none.low) && std::isfinite(none.high) && none.low < none.high);
  }
  EXPECT_DOUBLE_EQ(numbers.middle() + numbers.half(), numbers.high);
}

// A guess is where a run starts: in its unit a number has second moment 1/12 about it.
TEST(TypicalFeatures, AreWhatTheSchemaSays) {
  Column hours = number("a");
  hours.lo = 10, hours.hi = 110;
  hours.typical = {40, 10};
  Schema schema = schema_of({number("b"), category("c", 3), hours});
  const TypicalFeatures found = typical_features(schema);
  EXPECT_TRUE(found.any);
  EXPECT_EQ(found.center.size(), 6U);
  EXPECT_EQ(found.center[0], 0.5);
  EXPECT_EQ(found.factor[0], 1);
  EXPECT_DOUBLE_EQ(found.center[4], 0.3);
  EXPECT_DOUBLE_EQ(found.factor[4], 1 / (0.1 * std::sqrt(12.0)));
  const RowLengths lengths = row_lengths(schema);
  EXPECT_DOUBLE_EQ(lengths.weight[4], 1 / (0.12));
  EXPECT_DOUBLE_EQ(lengths.center[4], 0.3);
  EXPECT_NEAR(lengths.high, std::log(2.0 / 3 + 0.5) / 2, 1e-14) << "as if it were even";
  // What an even number has is what is taken where nothing is said.
  schema.columns[2].typical = {60, 100 / std::sqrt(12.0)};
  EXPECT_DOUBLE_EQ(typical_features(schema).center[4], 0.5);
  EXPECT_DOUBLE_EQ(typical_features(schema).factor[4], 1);
  // About 0 it is the second moment, 1/3 of an even number.
  schema.columns[2].typical = {40, 10};
  schema.intercept = false;
  EXPECT_EQ(typical_features(schema).center[4], 0);
  EXPECT_DOUBLE_EQ(typical_features(schema).factor[4], 1 / std::sqrt(3 * (0.09 + 0.01)));
  schema.columns[2].typical.reset();
  EXPECT_FALSE(typical_features(schema).any);
}

}  // namespace contrasts_test
}  // namespace gibbsite
