#pragma once
// Files for one test, and what every error must look like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/data/dataset.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite::test {

/// A folder that goes with the test; `write` puts a file in it and returns its path.
class DataTest : public ::testing::Test {
 public:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] std::string write(const std::string& name, std::string_view bytes) const {
    std::filesystem::remove(path(name));  // ext4 syncs a file that is emptied and written anew
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  gibbsite::testing::TempDir folder_;
};

/// The message of the BadInput that `call` throws: one line that contains every one of `parts`.
template <class Call>
void expect_bad_input(Call&& call, const std::vector<std::string>& parts) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected: " << ::testing::PrintToString(parts);
  } catch (const BadInput& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    for (const std::string& part : parts) EXPECT_THAT(what, ::testing::HasSubstr(part));
  }
}

/// The bytes of a .npy file of version 1.
inline std::string npy(const std::string& descr, const std::string& shape, std::string_view values,
                       const std::string& fortran = "False") {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  return out + header + std::string(values);
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string out(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

/// Expects that both tables have the same rows and labels to the last bit, wherever they are kept,
/// and the same counts of changed cells.
inline void expect_same_rows(const Dataset& a, const Dataset& b) {
  const Rows x = a.view(), z = b.view();
  ASSERT_EQ(x.rows, z.rows);
  ASSERT_EQ(x.cols, z.cols);
  ASSERT_EQ(x.is_sparse(), z.is_sparse());
  if (x.is_sparse()) {
    ASSERT_EQ(x.sparse.entries(), z.sparse.entries());
    EXPECT_TRUE(std::equal(x.sparse.begin, x.sparse.begin + x.rows + 1, z.sparse.begin));
    EXPECT_TRUE(
        std::equal(x.sparse.feature, x.sparse.feature + x.sparse.entries(), z.sparse.feature));
    EXPECT_TRUE(std::equal(x.sparse.value, x.sparse.value + x.sparse.entries(), z.sparse.value));
  } else {
    EXPECT_EQ(std::memcmp(x.dense, z.dense, x.rows * x.cols * sizeof(float)), 0);
  }
  EXPECT_EQ(a.y, b.y);
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.labeled(), b.labeled());
  EXPECT_EQ(a.counts.clamped_cells, b.counts.clamped_cells);
  EXPECT_EQ(a.counts.missing_cells, b.counts.missing_cells);
  EXPECT_EQ(a.counts.other_cells, b.counts.other_cells);
  EXPECT_EQ(a.counts.clipped_rows, b.counts.clipped_rows);
  EXPECT_EQ(a.bytes_per_row(), b.bytes_per_row());
}

/// Expects that both tables are the same in memory: rows, schema, and the counts of changed cells
/// of each column.
inline void expect_same(const Dataset& a, const Dataset& b) {
  expect_same_rows(a, b);
  EXPECT_EQ(a.schema, b.schema);
  EXPECT_EQ(a.storage.index(), b.storage.index());
  EXPECT_EQ(a.counts.invalid_labels, b.counts.invalid_labels);
  EXPECT_EQ(a.counts.unlisted_labels, b.counts.unlisted_labels);
  ASSERT_EQ(a.counts.columns.size(), b.counts.columns.size());
  for (std::size_t j = 0; j < a.counts.columns.size(); ++j) {
    const CellCounts &p = a.counts.columns[j], &q = b.counts.columns[j];
    EXPECT_EQ(std::tie(p.clamped, p.missing, p.other, p.invalid),
              std::tie(q.clamped, q.missing, q.other, q.invalid))
        << "column " << j;
  }
}

}  // namespace gibbsite::test
