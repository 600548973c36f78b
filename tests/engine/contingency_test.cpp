// Levels of rows, dense and sparse, and counts of them, against brute force.
#include "engine/contingency.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace contingency_test {

struct Table {
  std::vector<LevelColumn> columns;
  std::size_t features = 0;
  std::vector<float> x;
  SparseTable sparse;
  std::vector<std::vector<std::uint16_t>> levels;
};

// Categories of which some cells have no feature; numbers on edges and off them.
Table random_rows(std::size_t n) {
  Table out;
  LevelColumn number{.first_feature = 0, .levels = 4, .edges = {0.25F, 0.5F, 0.75F}};
  number.is_number = true;
  LevelColumn plain{.first_feature = 6, .levels = 1};
  plain.is_number = true;
  out.columns = {
      number, {.first_feature = 1, .levels = 5}, plain, {.first_feature = 7, .levels = 2}};
  out.features = 9;
  out.levels.resize(4);
  std::mt19937_64 bits(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<float> row(out.features);
    const auto eighth = static_cast<float>(bits() % 9);
    row[0] = eighth / 8;
    out.levels[0].push_back(static_cast<std::uint16_t>(std::min(3, static_cast<int>(eighth) / 2)));
    row[6] = static_cast<float>(bits() % 3) / 2;
    out.levels[2].push_back(0);
    for (const auto& [k, first, levels] : {std::array<std::size_t, 3>{1, 1, 5}, {3, 7, 2}}) {
      const std::size_t level = bits() % (levels + 1);  // beyond the last: none
      if (level < levels) row[first + level] = 1;
      out.levels[k].push_back(static_cast<std::uint16_t>(std::min(level, levels - 1)));
    }
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] == 0) continue;
      out.sparse.feature.push_back(static_cast<std::uint32_t>(j));
      out.sparse.value.push_back(row[j]);
    }
    out.sparse.begin.push_back(out.sparse.value.size());
    out.x.insert(out.x.end(), row.begin(), row.end());
  }
  return out;
}

// Sizes below a block, of a block, of a piece and of several.
TEST(Contingency, CountsAsBruteForceDoes) {
  for (const std::size_t n : {1U, 31U, 512U, 513U, 65'536U, 200'001U}) {
    const Table table = random_rows(n);
    const LevelRows dense = levels_of(Rows(table.x.data(), n, table.features), table.columns);
    const LevelRows sparse = levels_of(Rows(table.sparse.view(), table.features), table.columns);
    EXPECT_EQ(dense.rows, n);
    EXPECT_EQ(dense.columns, table.levels) << n;
    EXPECT_EQ(sparse.columns, table.levels) << n;
    EXPECT_EQ(dense.levels, (std::vector<std::uint64_t>{4, 5, 1, 2}));
    for (const std::vector<std::uint32_t>& of :
         {std::vector<std::uint32_t>{}, {0}, {1, 0}, {0, 1, 3}, {3, 2, 1, 0}}) {
      std::vector<std::uint64_t> expected(1);
      for (const std::uint32_t k : of) expected.resize(expected.size() * dense.levels[k]);
      for (std::size_t i = 0; i < n; ++i) {
        std::size_t at = 0;
        for (const std::uint32_t k : of) at = at * dense.levels[k] + table.levels[k][i];
        ++expected[at];
      }
      EXPECT_EQ(contingency(dense, of), expected) << n;
    }
  }
}

TEST(Contingency, RefusesOtherRows) {
  const Table table = random_rows(3);
  const Rows rows(table.x.data(), 3, table.features);
  EXPECT_THROW(static_cast<void>(levels_of(rows, std::span(table.columns).first(3))), BadInput);
  std::vector<LevelColumn> wide = table.columns;
  wide.back().levels = 3;
  EXPECT_THROW(static_cast<void>(levels_of(rows, wide)), BadInput);
  wide = table.columns;
  wide[1].first_feature = 2;
  EXPECT_THROW(static_cast<void>(levels_of(rows, wide)), BadInput);
  LevelRows many{.rows = 1, .levels = {1'001, 1'000}, .columns = {{0}, {0}}};
  EXPECT_THROW(static_cast<void>(contingency(many, std::vector<std::uint32_t>{0, 1})), BadInput);
}

}  // namespace contingency_test
}  // namespace gibbsite
