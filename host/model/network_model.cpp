#include "gibbsite/model/network_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/family_model.hpp"
#include "model/column_type.hpp"
#include "model/level_events.hpp"
#include "model/network_check.hpp"

namespace gibbsite {
namespace {

// Whole numbers up to so many steps apart are a bin each.
constexpr double most_single_steps = 15;

Column label_column(const Schema& whole) {
  Column out{.name = whole.label_name, .type = ColumnType::category};
  if (const NumberLabel* const number = number_of(whole.label)) {
    out.type = ColumnType::number;
    out.lo = number->lo;
    out.hi = number->hi;
    out.edges = number->edges;
    out.decimals = number->decimals;
    if (is<Count>(whole.label) && !out.decimals) out.decimals = 0;
    return out;
  }
  // A label that is missing counts as the class that one that cannot be read counts as.
  if (const Classes* const several = std::get_if<Classes>(&whole.label)) {
    out.levels = several->names;
    out.unlisted = several->names.front();
    out.other = whole.invalid == Invalid::middle;
    return out;
  }
  const TwoClasses& two = std::get<TwoClasses>(whole.label);
  if (two.negative.empty()) {
    out.levels = {two.positive};
    out.other = true;
  } else {
    out.levels = {two.negative, two.positive};
    out.unlisted = two.negative;
    out.other = !two.refuses_unlisted || whole.invalid == Invalid::middle;
  }
  return out;
}

void require_level_for_every_cell(const Schema& schema, const Column& column) {
  const bool missed = schema.missing_in(column) != nullptr && column.unlisted.empty() &&
                      !schema.has_missing_level(column) && schema.missing_level(column) == nullptr;
  if (column.other || (!missed && schema.invalid != Invalid::middle)) return;
  throw BadInput(fmt::format(
      "schema: column {} has no level for cells that {}, and each row has one in a table or a "
      "network; give it other = true{}",
      quoted(column.name), missed ? "are missing" : "cannot be read",
      missed ? ", or a missing of its own" : ""));
}

}  // namespace

void say_missing_level(Column& number) {
  number.missing_level.reset();
  if (number.has_missing_bin != number.has_missing) number.missing_level = number.has_missing_bin;
}

std::vector<std::string> NetworkModel::names() const {
  std::vector<std::string> out;
  for (const Column& column : node_columns(schema)) out.push_back(column.name);
  return out;
}

std::optional<std::uint32_t> target_column(const Schema& columns) {
  if (columns.target.empty()) return {};
  std::vector<std::string> names;
  for (const Column& column : node_columns(columns)) names.push_back(column.name);
  const auto at = std::ranges::find(names, columns.target);
  if (at == names.end())
    throw BadInput(fmt::format("schema: target: {} is no column of the network{}; name one of them",
                               quoted(columns.target), did_you_mean(columns.target, names)));
  return static_cast<std::uint32_t>(at - names.begin());
}

std::span<const Column> node_columns(const Schema& columns) {
  const std::size_t beside =
      (columns.weight() != nullptr ? 1U : 0U) + (columns.person() != nullptr ? 1U : 0U);
  return std::span(columns.columns).first(columns.columns.size() - beside);
}

std::vector<std::string> NetworkModel::level_names(std::size_t column) const {
  return network_level_names(schema, column);
}

std::vector<std::string> network_level_names(const Schema& columns, std::size_t column) {
  const Column& of = columns.columns[column];
  std::vector<std::string> out;
  if (of.type == ColumnType::number) {
    for (std::size_t bin = 0; bin <= of.edges.size(); ++bin) {
      const bool last = bin == of.edges.size();
      out.push_back(fmt::format("[{}, {}{}", number_text(bin == 0 ? of.lo : of.edges[bin - 1]),
                                number_text(last ? of.hi : of.edges[bin]), last ? ']' : ')'));
    }
    if (of.has_missing_bin) out.emplace_back("(missing)");
    return out;
  }
  out = of.levels;
  if (columns.has_missing_level(of)) out.emplace_back("(missing)");
  if (of.other && of.unlisted.empty()) out.emplace_back("(other)");
  return out;
}

std::vector<double> bin_ends(const Column& column) {
  std::vector<double> out{column.lo};
  const std::vector<double> edges = column.edges.empty() ? default_edges(column) : column.edges;
  out.insert(out.end(), edges.begin(), edges.end());
  out.push_back(column.hi);
  return out;
}

std::optional<double> number_of_bin(const Column& column, std::size_t bin) {
  if (column.type != ColumnType::number || !column.decimals) return {};
  const std::vector<double> ends = bin_ends(column);
  if (bin + 1 >= ends.size()) return {};
  const bool is_last = bin + 2 == ends.size();
  const double first = cells_below(column, ends[bin], false);
  if (cells_below(column, ends[bin + 1], is_last) != first + 1) return {};
  return first / std::pow(10.0, *column.decimals);
}

std::vector<double> default_edges(const Column& number) {
  std::vector<double> equal = equal_edges(number.lo, number.hi, default_bins);
  if (!number.decimals) return equal;
  std::vector<double> out;
  const double first = std::ceil(number.lo), last = std::floor(number.hi);
  const bool whole_numbers = *number.decimals == 0;
  if (whole_numbers && last - first <= most_single_steps) {
    for (double whole = first; whole < last; ++whole) out.push_back(whole + 0.5);
    return out.empty() ? equal : out;
  }
  // Many columns from 0 on are mostly 0: those cells are no part of a wide bin.
  const double power = std::pow(10.0, *number.decimals), above_zero = 0.5 / power;
  if (number.lo == 0 && number.hi * power < 0x1p53 && above_zero < 0.5 * equal.front())
    out.push_back(above_zero);
  for (const double edge : equal) {
    const double at = whole_numbers ? std::nearbyint(edge) : edge;
    if (at > number.lo && at < number.hi && (out.empty() || at > out.back())) out.push_back(at);
  }
  return out;
}

namespace {

// A column of how much a row counts, or of whose it is: no node of a network.
bool is_beside(const Column& column) { return says_how_rows_count(column.type); }

}  // namespace

Schema network_schema(const Schema& whole) {
  Schema out = whole;
  drop_label(out);
  std::erase_if(out.columns, [](const Column& c) { return c.type == ColumnType::ignore; });
  // Without a label it is already without one.
  if (whole.label_name != out.label_name) {
    out.columns.push_back(label_column(whole));
    if (out.target.empty() && !out.network) out.target = whole.label_name;
  }
  std::stable_partition(out.columns.begin(), out.columns.end(), std::not_fn(is_beside));
  for (Column& column : out.columns) {
    if (is_beside(column)) continue;
    if (!column.date.empty())
      throw BadInput(fmt::format(
          "schema: column {} is {} date, which networks and tables of counts do not read; give it "
          "type = \"ignore\", or write its year into the table, as a number",
          quoted(column.name), column.part == DatePart::none ? "a" : "a part of a"));
    if (column.type == ColumnType::number) {
      without_curve(column);  // bins are what a network has
      column.typical.reset();
      if (column.edges.empty()) column.edges = default_edges(column);
      // Marks of the whole table make a level too where no [network] is given.
      const bool marked = column.has_missing || (!out.network && out.missing_in(column) != nullptr);
      column.has_missing_bin = column.missing_level.value_or(marked);
      say_missing_level(column);
    } else {
      require_level_for_every_cell(out, column);
    }
  }
  out.intercept = false;
  out.row_norm = std::max(out.max_unclipped_norm(), 1.0);
  out.validate("schema");
  return out;
}

namespace {

// Every value of the column has a bin of its own: default_edges of few whole numbers.
bool bins_are_values(const Column& number) {
  if (number.decimals != 0) return false;
  return std::floor(number.hi) - std::ceil(number.lo) == static_cast<double>(number.edges.size());
}

// The columns of `whole` by these names, and the label if it is one of them.
Schema named_columns(const Schema& whole, const std::vector<std::string>& names) {
  Schema out = whole, unlabeled = whole;
  drop_label(unlabeled);
  std::set<std::string> seen;
  std::vector<std::string> known;
  for (const Column& column : whole.columns)
    if (column.type != ColumnType::ignore && !is_beside(column)) known.push_back(column.name);
  const bool has_label = whole.label_name != unlabeled.label_name;
  if (has_label) known.push_back(whole.label_name);
  for (const std::string& name : names) {
    if (!seen.insert(name).second)
      throw BadInput(Field{"columns"}, fmt::format("{} is given twice", quoted(name)),
                     "leave one out");
    if (std::ranges::find(known, name) != known.end()) continue;
    const auto found = std::ranges::find(whole.columns, name, &Column::name);
    const bool ignored = found != whole.columns.end();
    throw BadInput(
        Field{"columns"},
        fmt::format("{} {} the schema{}", quoted(name),
                    !ignored            ? "is not in"
                    : is_beside(*found) ? "says how much rows count, or whose they are, in"
                                        : "is ignored by",
                    ignored ? "" : did_you_mean(name, known)),
        "give columns of it");
  }
  out.network.reset();
  out.never.clear();
  out.target.clear();
  if (!has_label || !seen.contains(whole.label_name)) drop_label(out);
  std::erase_if(out.columns, [&](const Column& column) {
    return !seen.contains(column.name) && !is_beside(column);
  });
  return out;
}

}  // namespace

Schema table_schema(const Schema& whole, const std::vector<std::string>& columns) {
  if (columns.empty() || columns.size() > most_table_columns) {
    throw BadInput(Field{"columns"}, fmt::format("a table has from 1 to {} of them, got {}",
                                                 most_table_columns, columns.size()));
  }
  Schema named = named_columns(whole, columns);
  // Its edges follow from its columns, so marks of the whole table make a level as they do where no
  // [network] is given.
  for (Column& column : named.columns)
    if (column.type == ColumnType::number && !column.missing_level &&
        named.missing_in(column) != nullptr)
      column.missing_level = true;
  named.network.emplace();
  Schema out = network_schema(named);
  for (const Column& column : node_columns(out)) {
    const auto of = std::ranges::find(named.columns, column.name, &Column::name);
    const NumberLabel* const label = number_of(named.label);
    const bool has_bins =
        of != named.columns.end() ? !of->edges.empty() : label != nullptr && !label->edges.empty();
    if (column.type != ColumnType::number || has_bins || bins_are_values(column)) continue;
    throw BadInput(Field{"columns"},
                   fmt::format("{} has no bins in the schema", quoted(column.name)),
                   "give it some, such as bins = 5 or where they meet, bins = [25, 40, 65]");
  }
  const auto place = [&](const Column& column) {
    return std::ranges::find(columns, column.name) - columns.begin();
  };
  std::ranges::stable_sort(out.columns, {}, place);  // weights and people, not named, stay last
  const std::vector<std::uint64_t> levels = network_levels(out);
  double cells = 1;
  for (const std::uint64_t r : levels) cells *= static_cast<double>(r);
  if (cells > static_cast<double>(most_network_cells)) {
    throw BadInput(
        Field{"columns"}, fmt::format("the table would have {:.0f} cells", cells),
        fmt::format(
            "at most {} are taken: give fewer columns, or columns with fewer levels or bins",
            most_network_cells));
  }
  std::vector<std::size_t> chain(levels.size());
  std::iota(chain.begin(), chain.end(), std::size_t{0});
  std::ranges::stable_sort(chain, {}, [&](std::size_t c) { return levels[c]; });
  out.network.emplace();
  std::vector<std::string> parents;
  for (const std::size_t c : chain) {
    if (!parents.empty()) (*out.network)[out.columns[c].name] = parents;
    parents.push_back(out.columns[c].name);
  }
  return out;
}

std::vector<std::uint64_t> network_levels(const Schema& columns) {
  std::vector<std::uint64_t> out;
  for (const LevelColumn& column : level_columns(columns)) out.push_back(column.levels);
  return out;
}

std::vector<std::vector<std::uint32_t>> network_parents(const Schema& columns) {
  if (!columns.network) {
    throw BadInput(
        "schema: has no [network]; say what each column depends on, such as income = "
        "[\"education\"]");
  }
  if (const auto faults = network_faults(columns); !faults.empty())
    throw BadInput("schema: [network]: " + faults.front().message);
  std::vector<std::vector<std::uint32_t>> out(node_columns(columns).size());
  const auto place = [&](const std::string& name) {
    const auto found = std::ranges::find(columns.columns, name, &Column::name);
    return static_cast<std::uint32_t>(found - columns.columns.begin());
  };
  for (const auto& [node, parents] : *columns.network) {
    std::vector<std::uint32_t>& of = out[place(node)];
    for (const std::string& parent : parents) of.push_back(place(parent));
    std::ranges::sort(of);
  }
  return out;
}

std::vector<LevelColumn> level_columns(const Schema& columns) {
  std::vector<LevelColumn> out;
  std::size_t next = 0;
  for (const Column& column : node_columns(columns)) {
    LevelColumn one{.first_feature = next};
    if (column.type == ColumnType::number) {
      one.is_number = true;
      for (const double edge : column.edges)
        one.edges.push_back(static_cast<float>((edge - column.lo) / (column.hi - column.lo)));
      if (column.has_missing_bin) one.edges.push_back(missing_bin_edge);
      one.levels = one.edges.size() + 1;
    } else {
      one.levels = columns.features_of(column);
    }
    next += columns.features_of(column);
    out.push_back(std::move(one));
  }
  return out;
}

namespace {

// A node's table: its columns, the last fastest.
struct Cells {
  std::vector<std::uint32_t> columns;
  std::vector<double> counts;
  double variance = 0;  // of a cell
};

// The place of every cell in the margin over `of`, ascending, some of the table's columns.
std::vector<std::uint32_t> margin_places(const Network& network, const Cells& table,
                                         const std::vector<std::uint32_t>& of,
                                         std::uint64_t& size) {
  std::vector<std::uint64_t> stride(table.columns.size(), 0);
  size = 1;
  for (std::size_t a = of.size(); a-- > 0;) {
    const auto at = std::ranges::find(table.columns, of[a]) - table.columns.begin();
    stride[static_cast<std::size_t>(at)] = size;
    size *= network.levels[of[a]];
  }
  std::vector<std::uint32_t> out{0};
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::vector<std::uint32_t> next;
    const std::uint64_t levels = network.levels[table.columns[c]];
    next.reserve(out.size() * levels);
    for (const std::uint32_t place : out)
      for (std::uint64_t l = 0; l < levels; ++l)
        next.push_back(place + static_cast<std::uint32_t>(l * stride[c]));
    out = std::move(next);
  }
  return out;
}

constexpr std::size_t most_margins = 5'000;

// Sets of columns that two tables or more share, few columns first; what several share, too.
std::vector<std::vector<std::uint32_t>> common_margins(std::span<const Cells> tables) {
  using Columns = std::vector<std::uint32_t>;
  std::vector<Columns> sorted;
  for (const Cells& table : tables) {
    sorted.push_back(table.columns);
    std::ranges::sort(sorted.back());
  }
  std::set<Columns> found{Columns{}};
  const auto add = [&](const Columns& a, const Columns& b) {
    Columns both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return found.size() < most_margins && found.insert(both).second;
  };
  for (std::size_t i = 0; i < sorted.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) static_cast<void>(add(sorted[i], sorted[j]));
  for (bool more = true; more;) {
    more = false;
    const std::vector<Columns> now(found.begin(), found.end());
    for (const Columns& a : now)
      for (const Columns& b : sorted) more = add(a, b) || more;
  }
  std::vector<Columns> out(found.begin(), found.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const Columns& a, const Columns& b) { return a.size() < b.size(); });
  return out;
}

// Every table that has these columns gets the same margin over them: that of the least variance.
void reconcile(const Network& network, std::span<Cells> tables,
               const std::vector<std::uint32_t>& columns) {
  struct Margin {
    Cells* table;
    std::vector<std::uint32_t> places;
    std::vector<double> sums;
    double share;  // of its cells, a margin's one
  };
  std::vector<Margin> margins;
  std::vector<double> mean;
  double weights = 0;
  for (Cells& table : tables) {
    const bool has_all = std::ranges::all_of(columns, [&](std::uint32_t c) {
      return std::ranges::find(table.columns, c) != table.columns.end();
    });
    if (!has_all) continue;
    std::uint64_t size = 1;
    Margin one{&table, margin_places(network, table, columns, size), {}, 0};
    one.sums.assign(size, 0.0);
    one.share = static_cast<double>(size) / static_cast<double>(table.counts.size());
    for (std::size_t cell = 0; cell < one.places.size(); ++cell)
      one.sums[one.places[cell]] += table.counts[cell];
    const double weight = one.share / table.variance;
    mean.resize(size, 0.0);
    for (std::size_t at = 0; at < size; ++at) mean[at] += weight * one.sums[at];
    weights += weight;
    margins.push_back(std::move(one));
  }
  for (const Margin& one : margins)
    for (std::size_t cell = 0; cell < one.places.size(); ++cell) {
      const std::uint32_t at = one.places[cell];
      one.table->counts[cell] += (mean[at] / weights - one.sums[at]) * one.share;
    }
}

}  // namespace

void project_counts(std::vector<double>& counts, double total) {
  std::vector<double> sorted = counts;
  std::ranges::sort(sorted, std::greater{});
  double sum = 0, shift = 0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    const double here = (sum - total) / static_cast<double>(k + 1);
    if (!(sorted[k] > here)) break;
    shift = here;
  }
  for (double& count : counts) count = std::max(count - shift, 0.0);
}

std::vector<std::vector<double>> tables_of_counts(const Network& network,
                                                  std::span<const std::vector<double>> counts,
                                                  std::span<const double> noise) {
  std::vector<Cells> tables;
  for (std::size_t i = 0; i < network.size(); ++i) {
    Cells one{network.parents[i], counts[i], noise[i] * noise[i]};
    one.columns.push_back(static_cast<std::uint32_t>(i));
    tables.push_back(std::move(one));
  }
  for (const auto& columns : common_margins(tables)) reconcile(network, tables, columns);
  std::vector<std::vector<double>> out;
  for (std::size_t i = 0; i < network.size(); ++i) {
    std::vector<double>& cells = tables[i].counts;
    const std::uint64_t levels = network.levels[i];
    const double rows = std::accumulate(cells.begin(), cells.end(), 0.0);
    // Counts that noise makes as often as people are none.
    for (double& count : cells) count = count < noise[i] ? 0 : count;
    if (std::accumulate(cells.begin(), cells.end(), 0.0) > rows && rows > 0)
      project_counts(cells, rows);
    std::vector<double> marginal(levels, 0.0);
    for (std::size_t cell = 0; cell < cells.size(); ++cell) marginal[cell % levels] += cells[cell];
    if (!(std::accumulate(marginal.begin(), marginal.end(), 0.0) > 0)) marginal.assign(levels, 1.0);
    for (std::size_t first = 0; first < cells.size(); first += levels) {
      const auto row = std::span(cells).subspan(first, levels);
      // A configuration that is lost in the noise says what the column does.
      if (!(std::accumulate(row.begin(), row.end(), 0.0) > 0))
        std::ranges::copy(marginal, row.begin());
      const double sum = std::accumulate(row.begin(), row.end(), 0.0);
      for (double& share : row) share /= sum;
    }
    out.push_back(std::move(cells));
  }
  return out;
}

}  // namespace gibbsite
