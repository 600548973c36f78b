// Views of rows: parts of them, and how many entries they have.
#include "gibbsite/data/rows.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gibbsite {
namespace rows_test {

struct Table {
  std::vector<float> dense{1, 0, 2, 0, 0, 0, 3, 4, 0};  // [3 x 3]
  SparseTable sparse{{0, 2, 2, 4}, {0, 2, 0, 1}, {1, 2, 3, 4}};
  std::vector<float> offset{-1, -2, -3};

  [[nodiscard]] Rows view(bool is_sparse) const {
    Rows out = is_sparse ? Rows(sparse.view(), 3) : Rows(dense.data(), 3, 3);
    out.offset = offset.data();
    out.whole = {.rows = 9, .entries = 20, .parts = 2};
    return out;
  }
};

TEST(Rows, APartHasItsRowsAndOffsetsOfTheSameWhole) {
  const Table table;
  for (const bool sparse : {false, true}) {
    const Rows all = table.view(sparse);
    for (std::size_t first = 0; first <= 3; ++first) {
      for (std::size_t last = first; last <= 3; ++last) {
        const Rows part = all.part(first, last);
        ASSERT_EQ(part.rows, last - first);
        EXPECT_EQ(part.cols, 3U);
        EXPECT_EQ(part.is_sparse(), sparse);
        EXPECT_EQ(part.whole.rows, 9U);
        EXPECT_EQ(part.whole.entries, 20U);
        for (std::size_t i = first; i < last; ++i) {
          EXPECT_EQ(part.offset_of(i - first), all.offset_of(i));
          for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(part(i - first, j), table.dense[3 * i + j]);
        }
      }
    }
  }
  Rows without = table.view(false);
  without.offset = nullptr;
  EXPECT_EQ(without.part(1, 3).offset, nullptr);
}

TEST(Rows, EntriesAreThoseKeptAndNonzerosThoseThatAreNot0) {
  const Table table;
  EXPECT_EQ(table.view(false).entries(), 9U);
  EXPECT_EQ(table.view(true).entries(), 4U);
  for (const bool sparse : {false, true}) {
    const Rows all = table.view(sparse);
    EXPECT_EQ(all.nonzeros(), 4U);
    EXPECT_EQ(all.part(1, 2).nonzeros(), 0U);
    EXPECT_EQ(all.part(1, 3).nonzeros(), 2U);
  }
  EXPECT_EQ(Rows().nonzeros(), 0U);
}

}  // namespace rows_test
}  // namespace gibbsite
