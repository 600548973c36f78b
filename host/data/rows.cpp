#include "gibbsite/data/rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

void SparseTable::append(const SparseRows& more) {
  const std::uint64_t from = more.begin[0], to = more.begin[more.rows], before = value.size();
  feature.insert(feature.end(), more.feature + from, more.feature + to);
  value.insert(value.end(), more.value + from, more.value + to);
  for (std::size_t i = 1; i <= more.rows; ++i) begin.push_back(before + more.begin[i] - from);
}

void Rows::validate() const {
  if (rows == 0) throw BadInput("data: there are no rows; give at least one");
  if (cols == 0) throw BadInput("data: the rows have no features; give at least one");
  if (!is_sparse()) return;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint64_t first = sparse.begin[i], last = sparse.begin[i + 1];
    bool ordered = first <= last && last - first <= cols;
    for (std::uint64_t e = first; ordered && e < last; ++e) {
      ordered = sparse.feature[e] < (e + 1 < last ? sparse.feature[e + 1] : cols);
    }
    if (!ordered) {
      throw BadInput(fmt::format(
          "data: the entries of row {} are not in order; give every feature below {} at most once, "
          "ascending",
          i + 1, cols));
    }
  }
}

std::uint64_t Rows::nonzeros() const {
  if (is_sparse()) return sparse.entries();
  return entries() - static_cast<std::uint64_t>(std::count(dense, dense + entries(), 0.0F));
}

Rows Rows::part(std::size_t first, std::size_t last) const {
  Rows out = *this;
  out.rows = last - first;
  if (is_sparse()) {
    out.sparse = sparse.part(first, last);
  } else {
    out.dense = dense + first * cols;
  }
  if (offset != nullptr) out.offset = offset + first;
  if (weight != nullptr) out.weight = weight + first;
  return out;
}

}  // namespace gibbsite
