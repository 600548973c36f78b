#include "engine/contingency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gibbsite/core/error.hpp"
#include "machine/processors.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t rows_at_once = 1 << 16;
constexpr std::size_t most_own_counts = std::size_t{1} << 25;
constexpr std::size_t most_places = std::size_t{1} << 16;

// Where a feature leads: a number's cell goes by its edges, a category's by which feature is set.
struct Place {
  std::uint32_t column = 0;
  std::uint16_t level = 0;
};

// Pieces of rows, and who takes them: f(first, last, member).
class Pieces {
 public:
  Pieces(std::size_t rows, std::size_t most_members) : rows_(rows) {
    constexpr std::size_t most = ThreadPool::most_tasks / 2;
    piece_ = std::max(rows_at_once, (rows + most - 1) / most);
    pieces_ = (rows + piece_ - 1) / piece_;
    members_ = std::min(std::max<std::size_t>(pieces_, 1), most_members);
    // Asking for processors reads files: dear for few rows.
    if (members_ > 1)
      members_ = std::min(
          {members_, static_cast<std::size_t>(usable_processors()), ThreadPool::most_members});
  }
  [[nodiscard]] std::size_t members() const { return members_; }

  template <class F>
  void each(const F& f) const {
    ThreadPool pool(members_);
    pool.each(pieces_, [&](std::size_t task, std::size_t member) {
      f(task * piece_, std::min(rows_, (task + 1) * piece_), member);
    });
  }

 private:
  std::size_t rows_, piece_, pieces_, members_;
};

}  // namespace

LevelRows levels_of(const Rows& rows, std::span<const LevelColumn> columns) {
  LevelRows out{.rows = rows.rows, .levels = {}, .columns = {}};
  std::vector<Place> places(rows.cols);
  std::size_t features = 0;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const LevelColumn& column = columns[k];
    const std::size_t width = column.is_number ? 1 : column.levels;
    if (column.levels == 0 || column.levels > most_places) {
      throw BadInput(fmt::format("levels: column {} has {} levels, more than {}; merge some", k + 1,
                                 column.levels, most_places));
    }
    if (column.first_feature != features || width > rows.cols - features) {
      throw BadInput("levels: the columns are not those of the rows; read them by one schema");
    }
    for (std::size_t j = 0; j < width; ++j) {
      places[features + j] = {static_cast<std::uint32_t>(k), static_cast<std::uint16_t>(j)};
    }
    features += width;
    out.levels.push_back(column.levels);
    out.columns.emplace_back(rows.rows);
  }
  if (features != rows.cols) {
    throw BadInput("levels: the rows have more features than the columns; read them by one schema");
  }
  Pieces(rows.rows, ThreadPool::most_members)
      .each([&](std::size_t first, std::size_t last, std::size_t) {
        for (std::size_t k = 0; k < columns.size(); ++k) {
          const auto none = columns[k].is_number ? 0 : columns[k].levels - 1;
          std::fill(out.columns[k].begin() + static_cast<std::ptrdiff_t>(first),
                    out.columns[k].begin() + static_cast<std::ptrdiff_t>(last),
                    static_cast<std::uint16_t>(none));
        }
        for (std::size_t i = first; i < last; ++i) {
          rows.for_each(i, [&](std::size_t j, float value) {
            if (value == 0) return;  // below every edge; no level
            const Place at = places[j];
            const LevelColumn& column = columns[at.column];
            std::uint16_t& level = out.columns[at.column][i];
            level = !column.is_number
                        ? at.level
                        : static_cast<std::uint16_t>(
                              std::upper_bound(column.edges.begin(), column.edges.end(), value) -
                              column.edges.begin());
          });
        }
      });
  return out;
}

LevelRows network_rows(const Dataset& data, const Schema& schema) {
  if (data.rows() == 0) throw BadInput("data: has no rows; give a table with some");
  if (data.labeled()) {
    throw BadInput(
        "data: has labels beside its columns, as LIBSVM text has, and a network's label is a "
        "column like others; give the table as CSV, NumPy, Parquet or Arrow");
  }
  LevelRows out = levels_of(data.view(), level_columns(schema));
  const bool weighted = data.schema.weight() != nullptr || data.schema.person() != nullptr;
  if (data.schema.person() != nullptr && data.rows_of_person == 0)
    throw BadInput("data: its people are not held to their rows; read it by fit, plan or evaluate");
  if (data.weight.size() != (weighted ? out.rows : 0)) {
    throw BadInput(fmt::format("data: has {} weights of {} rows; read it through its schema",
                               data.weight.size(), out.rows));
  }
  if (!std::ranges::all_of(data.weight, [](float w) { return w >= 0 && w <= 1; }))
    throw BadInput("data: a weight is outside of its range; read it through its schema");
  out.amount.reserve(data.weight.size());
  for (const float w : data.weight)
    out.amount.push_back(static_cast<std::uint32_t>(std::ldexp(w, weight_bits)));  // rounded down
  return out;
}

std::vector<double> counts_in_rows(const LevelRows& rows, std::span<const std::uint64_t> counts) {
  std::vector<double> out;
  out.reserve(counts.size());
  for (const std::uint64_t count : counts)
    out.push_back(std::ldexp(static_cast<double>(count), -rows.bits()));
  return out;
}

std::vector<std::uint64_t> contingency(const LevelRows& rows,
                                       std::span<const std::uint32_t> columns) {
  std::uint64_t cells = 1;
  for (const std::uint32_t column : columns) {
    cells *= rows.levels[column];
    if (cells > most_network_cells) {
      throw BadInput(
          fmt::format("contingency: more than {} cells; count fewer columns", most_network_cells));
    }
  }
  // Each has counts of its own.
  const Pieces pieces(rows.rows, std::max<std::size_t>(most_own_counts / cells, 1));
  std::vector<std::vector<std::uint64_t>> counts(pieces.members());
  pieces.each([&](std::size_t first, std::size_t last, std::size_t member) {
    std::vector<std::uint64_t>& own = counts[member];
    if (own.empty()) own.resize(cells);
    constexpr std::size_t block = 512;
    std::array<std::uint32_t, block> at;
    for (std::size_t begin = first; begin < last; begin += block) {
      const std::size_t n = std::min(block, last - begin);
      std::fill_n(at.begin(), n, 0U);
      for (const std::uint32_t column : columns) {
        const std::uint16_t* const level = rows.columns[column].data() + begin;
        const auto levels = static_cast<std::uint32_t>(rows.levels[column]);
        for (std::size_t i = 0; i < n; ++i) at[i] = at[i] * levels + level[i];
      }
      if (rows.amount.empty()) {
        for (std::size_t i = 0; i < n; ++i) ++own[at[i]];
      } else {
        for (std::size_t i = 0; i < n; ++i) own[at[i]] += rows.amount[begin + i];
      }
    }
  });
  std::vector<std::uint64_t> out(cells);
  for (const auto& own : counts)
    for (std::size_t cell = 0; cell < own.size(); ++cell) out[cell] += own[cell];
  return out;
}

}  // namespace gibbsite
