#include "gibbsite/data/reshape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/family_model.hpp"

namespace gibbsite {
namespace {

void require_row(std::size_t i, const Rows& rows) {
  if (i >= rows.rows)
    throw BadInput(
        fmt::format("data: has no row {}, counted from 0; give one below {}", i, rows.rows));
}

void require_changeable(const Dataset& data, std::span<const float> x) {
  if (data.on_disk())
    throw BadInput("data: rows are changed in memory; give a table that fits there");
  if (x.size() != data.features())
    throw BadInput(
        fmt::format("row: {} numbers for {} features; give one each", x.size(), data.features()));
}

void append_entries(SparseTable& table, std::span<const float> x) {
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (x[j] == 0) continue;
    table.feature.push_back(static_cast<std::uint32_t>(j));
    table.value.push_back(x[j]);
  }
  table.begin.push_back(table.value.size());
}

}  // namespace

Dataset select_rows(const Dataset& data, std::span<const std::size_t> rows) {
  const Rows all = data.view();
  Dataset out;
  out.schema = data.schema;
  if (all.is_sparse()) out.storage = SparseTable{};
  for (const std::size_t i : rows) {
    require_row(i, all);
    append_rows(out.storage, all.part(i, i + 1));
    for (const auto of : beside_rows)
      if (!(data.*of).empty()) (out.*of).push_back((data.*of)[i]);
  }
  return out;
}

Dataset with_row(const Dataset& data, std::size_t i, std::span<const float> x, float label) {
  require_changeable(data, x);
  const Rows rows = data.view();
  require_row(i, rows);
  if (!data.labeled()) throw BadInput("data: has no labels; give a table with the label column");
  Dataset out = data;
  out.y[i] = label;
  if (rows.is_sparse()) {
    SparseTable& entries = out.sparse() = {};
    entries.append(rows.sparse.part(0, i));
    append_entries(entries, x);
    entries.append(rows.sparse.part(i + 1, rows.rows));
  } else {
    std::ranges::copy(x, out.dense().begin() + static_cast<std::ptrdiff_t>(i * rows.cols));
  }
  return out;
}

void append_row(Dataset& data, std::span<const float> x, float label) {
  require_changeable(data, x);
  if (data.rows() > 0 && !data.labeled())
    throw BadInput("data: has no labels; give a table with the label column");
  if (!data.offset.empty())
    throw BadInput("data: has an exposure, and this row none; leave it out");
  if (!data.weight.empty() || data.schema.person() != nullptr)
    throw BadInput("data: has weights or people, and this row none; leave them out");
  if (data.rows() == 0) data.storage = SparseTable{};
  if (SparseTable* const entries = std::get_if<SparseTable>(&data.storage)) {
    append_entries(*entries, x);
  } else {
    data.dense().insert(data.dense().end(), x.begin(), x.end());
  }
  data.y.push_back(label);
}

Dataset with_category_as_label(const Dataset& data, const std::string& target) {
  const Schema& whole = data.schema;
  const auto found = std::ranges::find(whole.columns, target, &Column::name);
  if (found == whole.columns.end() || found->type != ColumnType::category) {
    throw BadInput(Field{"target"}, fmt::format("{} is no category", gibbsite::quoted(target)),
                   "give one of the columns that is");
  }
  if (whole.columns.size() == 1)
    throw BadInput(Field{"target"}, "is the only column", "nothing is left to tell it by");
  if (whole.exposure() != nullptr)
    throw BadInput("data: has an exposure, which is of counts; give a table without one");
  if (whole.weight() != nullptr || whole.person() != nullptr)
    throw BadInput(
        "data: has weights or people, and synthetic rows none; give a table without them");
  const Rows rows = data.view();
  std::size_t first = 0;  // of its features
  for (auto c = whole.columns.begin(); c != found; ++c) first += whole.features_of(*c);
  const std::size_t count = whole.features_of(*found);
  const std::size_t positive = count == 2 && found->levels.size() == 2 ? 1 : 0;

  Dataset out;
  out.schema = whole;
  drop_label(out.schema);
  out.schema.label_name = target;
  out.schema.label = TwoClasses{.positive = found->levels[positive]};
  out.schema.intercept = true;
  out.schema.network.reset();
  out.schema.columns.erase(out.schema.columns.begin() + (found - whole.columns.begin()));
  out.schema.row_norm = out.schema.max_unclipped_norm();
  const std::size_t features = out.features();
  out.dense().assign(rows.rows * features, 0.0F);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    float* const x = out.dense().data() + i * features;
    bool is_positive = false;
    rows.for_each(i, [&](std::size_t j, float v) {
      if (j < first) x[j] = v;
      if (j >= first + count) x[j - count] = v;
      if (j == first + positive && v > 0) is_positive = true;
    });
    x[features - 1] = 1;
    out.y.push_back(is_positive ? 1.0F : -1.0F);
  }
  return out;
}

std::vector<bool> classes_present(const Dataset& data) {
  const bool several = is<Classes>(data.schema.label);
  if (number_of(data.schema.label) != nullptr) {
    throw BadInput(
        fmt::format("data: its label is {}, and classes are asked for; give a table of "
                    "those",
                    to_string(kind_of(data.schema.label))));
  }
  std::vector<bool> out(class_names(data.schema.label).size());
  for (const float y : data.y) out[several ? static_cast<std::size_t>(y) : y > 0 ? 1 : 0] = true;
  return out;
}

}  // namespace gibbsite
