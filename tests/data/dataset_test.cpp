// Whole tables: the demo's, and Adult.
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <map>

#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"
#include "support/adult.hpp"

namespace gibbsite {
namespace dataset_test {

using Int = boost::multiprecision::cpp_int;

TEST(Berkeley, TheDemoTableNeedsNoClipping) {
  const Schema schema = read_schema(GIBBSITE_SOURCE_DIR "/data/berkeley.toml");
  const Dataset data = read_table(GIBBSITE_SOURCE_DIR "/data/berkeley.csv", schema);
  EXPECT_EQ(data.rows(), 4526U);
  EXPECT_EQ(data.features(), 8U);
  EXPECT_LE(schema.max_unclipped_norm(), schema.row_norm);
  EXPECT_EQ(data.counts.clipped_rows + data.counts.clamped_cells + data.counts.missing_cells, 0U);
  // Bickel et al., Table 1 and the six departments: 1755 of 4526 admitted; 933 applied to A.
  std::map<std::string, double> sums;
  double admitted = 0;
  for (std::size_t i = 0; i < data.rows(); ++i) {
    admitted += data.y[i] > 0 ? 1 : 0;
    for (std::size_t j = 0; j < data.features(); ++j)
      sums[schema.feature_names()[j]] += static_cast<double>(data.view()(i, j));
  }
  EXPECT_EQ(admitted, 1755);
  EXPECT_EQ(sums["gender=Female"], 1835);
  EXPECT_EQ(sums["gender=Male"], 2691);
  EXPECT_EQ(sums["department=A"], 933);
  EXPECT_EQ(sums["department=F"], 714);
}

class Adult : public test::DataTest, public ::testing::WithParamInterface<bool> {};

TEST_P(Adult, IsEncodedWhole) {
  const std::string train_file = GIBBSITE_SHARED_DIR "/data/adult-train.csv";
  if (!std::filesystem::exists(train_file))
    GTEST_SKIP() << "the shared table adult-train.csv is absent";
  const bool intercept = GetParam();
  const Schema schema = parse_schema(gibbsite::testing::adult_toml(intercept), "adult.toml");
  ASSERT_EQ(schema.features(), intercept ? 109U : 108U);
  const Dataset train = read_csv(train_file, schema);
  const Dataset test = read_csv(GIBBSITE_SHARED_DIR "/data/adult-test.csv", schema);
  EXPECT_EQ(train.rows(), 32561U);
  EXPECT_EQ(test.rows(), 16281U);
  // The published class counts.
  EXPECT_EQ(std::count(train.y.begin(), train.y.end(), 1.0F), 7841);
  EXPECT_EQ(std::count(test.y.begin(), test.y.end(), 1.0F), 3846);
  // Eight one-hot levels: every row is longer than 1.
  EXPECT_EQ(train.counts.clipped_rows, 32561U);
  EXPECT_EQ(train.counts.clamped_cells, 0U);
  EXPECT_EQ(train.counts.missing_cells + train.counts.other_cells, 0U);
  const Rows x = train.view();
  EXPECT_TRUE(x.is_sparse());  // 14 of 108
  const Int one = Int(1) << (2 * 149);
  for (std::size_t i = 0; i < train.rows(); ++i) {
    if (intercept) {
      ASSERT_EQ(x(i, 108), 1.0F);
    }
    Int sum = 0;
    x.for_each(i, [&](std::size_t j, float v) {
      if (j >= 108) return;
      const Int scaled(std::ldexp(static_cast<double>(v), 149));
      sum += scaled * scaled;
    });
    ASSERT_TRUE(sum <= one) << "row " << i;
    ASSERT_TRUE(sum > one - (one >> 20)) << "row " << i;
  }
}

TEST_P(Adult, MissingCellsAddNoLevelToColumnsThatHaveNone) {
  std::string toml = "missing = \"?\"\n";
  toml += gibbsite::testing::adult_toml(GetParam());
  const Schema schema = parse_schema(toml, "adult.toml");
  EXPECT_EQ(schema.features(), GetParam() ? 109U : 108U);
  const std::string file = GIBBSITE_SHARED_DIR "/data/adult-train.csv";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "the shared table adult-train.csv is absent";
  EXPECT_EQ(read_csv(file, schema).counts.missing_cells, 4262U);  // 1836 + 1843 + 583
}

INSTANTIATE_TEST_SUITE_P(Intercept, Adult, ::testing::Bool());

}  // namespace dataset_test
}  // namespace gibbsite
