#include "gibbsite/data/rows.hpp"

#include <fmt/format.h>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

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

}  // namespace gibbsite
