#include "gibbsite/release/network_counts.hpp"

#include <fmt/format.h>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/tree_model.hpp"

namespace gibbsite {
namespace {

using CellNames = std::vector<std::vector<std::string>>;  // [K][levels]

class CountsTable {
 public:
  explicit CountsTable(const NetworkModel& model) : columns_(model.network.size()) {
    std::vector<std::string> header{"table", "count", "deviation"};
    for (std::string& name : model.names()) header.push_back(std::move(name));
    lines_.push_back(std::move(header));
  }

  // Cells of a table over these columns, the last one fastest.
  void add(const ColumnList& columns, const std::vector<double>& counts, double deviation,
           const CellNames& names) {
    ++tables_;
    std::vector<std::size_t> at(columns.size(), 0);
    for (const double count : counts) {
      std::vector<std::string> line{std::to_string(tables_), fmt::format("{}", count),
                                    fmt::format("{}", deviation)};
      line.resize(3 + columns_);
      for (std::size_t c = 0; c < columns.size(); ++c)
        line[3 + columns[c]] = names[columns[c]][at[c]];
      lines_.push_back(std::move(line));
      for (std::size_t c = columns.size(); c-- > 0;) {
        if (++at[c] < names[columns[c]].size()) break;
        at[c] = 0;
      }
    }
  }
  [[nodiscard]] std::vector<std::vector<std::string>> take() { return std::move(lines_); }

 private:
  std::size_t columns_, tables_ = 0;
  std::vector<std::vector<std::string>> lines_;
};

CellNames names_of_groups(const CellNames& levels, const LevelGroups& groups) {
  CellNames out;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    std::vector<std::string>& names = out.emplace_back(groups.levels()[k]);
    for (std::size_t l = 0; l < levels[k].size(); ++l) {
      std::string& name = names[groups.group[k][l]];
      name += (name.empty() ? "" : " | ") + levels[k][l];
    }
  }
  return out;
}

}  // namespace

std::vector<std::vector<std::string>> counts_table(const NetworkModel& model) {
  if (!model.tree && model.counts.empty()) {
    throw BadInput(format_message(
        "model: its tables were drawn, not counted, so it has no noisy counts; fit with {} counts or "
        "tree",
        Field{"mechanism"}));
  }
  CellNames levels;
  for (std::size_t k = 0; k < model.network.size(); ++k) levels.push_back(model.level_names(k));
  CountsTable out(model);
  if (!model.tree) {
    for (std::uint32_t k = 0; k < model.network.size(); ++k) {
      ColumnList columns = model.network.parents[k];
      columns.push_back(k);
      out.add(columns, model.counts[k], model.noise[k], levels);
    }
    return out.take();
  }
  const CellNames grouped = names_of_groups(
      levels, group_rare_levels(model.tree->one_ways, structural_zeros(model.schema)));
  for (const MeasuredTable& one : model.tree->one_ways)
    out.add(one.columns, one.counts, one.deviation, levels);
  for (const MeasuredTable& one : model.tree->tables)
    out.add(one.columns, one.counts, one.deviation, grouped);
  return out.take();
}

}  // namespace gibbsite
