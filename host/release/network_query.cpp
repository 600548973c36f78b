#include "gibbsite/release/network_query.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <numeric>
#include <optional>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/text.hpp"
#include "model/level_events.hpp"
#include "release/network_levels.hpp"

namespace gibbsite {
namespace {

std::vector<std::uint32_t> all_levels(std::size_t count) {
  std::vector<std::uint32_t> out(count);
  std::iota(out.begin(), out.end(), 0U);
  return out;
}

std::vector<std::uint32_t> common(const std::vector<std::uint32_t>& a,
                                  const std::vector<std::uint32_t>& b) {
  std::vector<std::uint32_t> out;
  std::ranges::set_intersection(a, b, std::back_inserter(out));
  return out;
}

// P(events | events), or P(column | events).
NetworkQuestion read_question(const NetworkModel& model, const std::string& text, bool of_column) {
  EventReader reader(model.schema, text, "question " + gibbsite::quoted(text),
                     of_column ? "write P(column | column = level, number >= 40)"
                               : "write P(column = level | column = level, number >= 40)",
                     ",|)");
  NetworkQuestion out;
  out.text = text;
  reader.skip();
  if (!reader.take("P") && !reader.take("p")) reader.refuse_form("does not begin with P(");
  if (!reader.take("(")) reader.refuse_form("does not begin with P(");
  if (reader.rest().find(')') == std::string_view::npos) reader.refuse_form("has no closing )");
  if (of_column) {
    const std::uint32_t column = reader.column();
    out.target = {{column, all_levels(model.network.levels[column])}};
  } else {
    out.target = reader.events();
  }
  if (reader.take("|")) out.evidence = reader.events();
  if (!reader.take(")")) reader.refuse_form("has no closing )");
  if (!reader.rest().empty()) reader.refuse_form("goes on after its )");
  return out;
}

using ColumnSet = std::bitset<most_network_columns>;

// A table over some columns' levels, those that the question leaves; the last column fastest.
struct Factor {
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
};

// Sums of products of a network's tables, of one question: which columns are kept, and which
// levels each may have.
class Elimination {
 public:
  Elimination(const NetworkModel& model, std::span<const std::uint32_t> keep,
              std::vector<std::vector<std::uint32_t>> allowed, std::uint64_t most_cells)
      : model_(model), keep_(keep.begin(), keep.end()), allowed_(std::move(allowed)) {
    const Network& network = model.network;
    // A column that is neither asked about nor above one that is sums to 1.
    ColumnSet wanted;
    for (const std::uint32_t k : keep_) wanted.set(k);
    for (std::size_t k = 0; k < network.size(); ++k)
      if (allowed_[k].size() < network.levels[k]) wanted.set(k);
    const std::vector<std::uint32_t> order = network.order();
    for (std::size_t i = order.size(); i-- > 0;) {
      if (!wanted[order[i]]) continue;
      nodes_.push_back(order[i]);
      for (const std::uint32_t parent : network.parents[order[i]]) wanted.set(parent);
    }
    plan(most_cells);
  }

  struct Sums {
    std::vector<double> values;  // over the columns that are kept, times 2^-exponent
    int exponent = 0;
  };
  [[nodiscard]] Sums of(const std::vector<std::vector<double>>& tables) const {
    Sums out;
    std::vector<Factor> factors;
    for (const std::uint32_t node : nodes_) {
      factors.push_back(factor(node, tables[node]));
      scale(factors.back().values, out.exponent);
    }
    for (const std::uint32_t column : order_) {
      std::vector<Factor> with, without;
      for (Factor& f : factors)
        (std::ranges::find(f.columns, column) != f.columns.end() ? with : without)
            .push_back(std::move(f));
      gather(with, out.exponent);
      std::vector<std::uint32_t> scope = scope_of(with);
      std::erase(scope, column);
      without.push_back({scope, products(with, scope, column)});
      factors = std::move(without);
      scale(factors.back().values, out.exponent);
    }
    gather(factors, out.exponent);
    out.values = products(factors, keep_, std::nullopt);
    scale(out.values, out.exponent);
    return out;
  }

 private:
  [[nodiscard]] std::size_t size(std::uint32_t column) const { return allowed_[column].size(); }

  // Each time the column whose table has the fewest cells (least weight).
  void plan(std::uint64_t most_cells) {
    std::vector<ColumnSet> scopes;
    ColumnSet left, kept;
    for (const std::uint32_t k : keep_) kept.set(k);
    for (const std::uint32_t node : nodes_) {
      ColumnSet& scope = scopes.emplace_back();
      scope.set(node);
      for (const std::uint32_t parent : model_.network.parents[node]) scope.set(parent);
      left |= scope;
    }
    left &= ~kept;
    require_small(kept, most_cells);
    while (left.any()) {
      std::uint32_t best = 0;
      double least = -1;
      ColumnSet table;
      for (std::uint32_t k = 0; k < model_.network.size(); ++k) {
        if (!left[k]) continue;
        ColumnSet whole;
        for (const ColumnSet& scope : scopes)
          if (scope[k]) whole |= scope;
        if (const double cells = cells_of(whole); least < 0 || cells < least)
          best = k, least = cells, table = whole;
      }
      require_small(table, most_cells);
      std::erase_if(scopes, [&](const ColumnSet& scope) { return scope[best]; });
      scopes.push_back(table.reset(best));
      left.reset(best);
      order_.push_back(best);
    }
  }
  [[nodiscard]] double cells_of(const ColumnSet& columns) const {
    double out = 1;
    for (std::uint32_t k = 0; k < model_.network.size(); ++k)
      if (columns[k]) out *= static_cast<double>(size(k));
    return out;
  }
  void require_small(const ColumnSet& columns, std::uint64_t most_cells) const {
    const double cells = cells_of(columns);
    if (cells <= static_cast<double>(most_cells)) return;
    std::vector<std::string> names;
    for (std::uint32_t k = 0; k < model_.network.size(); ++k)
      if (columns[k]) names.push_back(model_.names()[k]);
    throw BadInput(fmt::format(
        "question: takes a table of {} cells over {}, at most {} are taken; ask about fewer "
        "columns, or give levels of some of them as evidence",
        human_count(cells), listed_names(names), human_count(static_cast<double>(most_cells))));
  }

  // The node's table where levels are allowed, each configuration's shares divided by their sum.
  [[nodiscard]] Factor factor(std::uint32_t node, const std::vector<double>& table) const {
    const Network& network = model_.network;
    Factor out{network.parents[node], {}};
    out.columns.push_back(node);
    const std::vector<std::uint32_t>& parents = network.parents[node];
    const std::uint64_t levels = network.levels[node];
    std::vector<std::size_t> at(parents.size(), 0);
    for (bool more = true; more;) {
      std::uint64_t configuration = 0;
      for (std::size_t p = 0; p < parents.size(); ++p)
        configuration = configuration * network.levels[parents[p]] + allowed_[parents[p]][at[p]];
      const double* const row = table.data() + configuration * levels;
      const double sum = std::accumulate(row, row + levels, 0.0);
      for (const std::uint32_t l : allowed_[node]) out.values.push_back(row[l] / sum);
      more = false;
      for (std::size_t p = parents.size(); p-- > 0 && !more;) {
        more = ++at[p] < size(parents[p]);
        if (!more) at[p] = 0;
      }
    }
    return out;
  }

  static std::vector<std::uint32_t> scope_of(std::span<const Factor> factors) {
    std::vector<std::uint32_t> out;
    for (const Factor& f : factors)
      for (const std::uint32_t c : f.columns)
        if (std::ranges::find(out, c) == out.end()) out.push_back(c);
    return out;
  }
  // Few factors of many, by products that are scaled on the way: of all at once they might vanish.
  void gather(std::vector<Factor>& factors, int& exponent) const {
    constexpr std::size_t few = 8;
    while (factors.size() > few) {
      const auto end = factors.begin() + static_cast<std::ptrdiff_t>(few);
      const std::vector<Factor> first(std::make_move_iterator(factors.begin()),
                                      std::make_move_iterator(end));
      factors.erase(factors.begin(), end);
      std::vector<std::uint32_t> scope = scope_of(first);
      std::vector<double> values = products(first, scope, std::nullopt);
      factors.push_back({std::move(scope), std::move(values)});
      scale(factors.back().values, exponent);
    }
  }

  // Products of all factors over `scope`, summed over the levels of one more column.
  [[nodiscard]] std::vector<double> products(const std::vector<Factor>& factors,
                                             const std::vector<std::uint32_t>& scope,
                                             std::optional<std::uint32_t> summed) const {
    std::vector<std::vector<std::size_t>> strides(factors.size());  // [factors][scope]
    std::vector<std::size_t> inner(factors.size(), 0), base(factors.size(), 0);
    for (std::size_t f = 0; f < factors.size(); ++f) {
      strides[f].assign(scope.size(), 0);
      std::size_t stride = 1;
      for (std::size_t i = factors[f].columns.size(); i-- > 0;) {
        const std::uint32_t column = factors[f].columns[i];
        const auto place = std::ranges::find(scope, column);
        (place == scope.end() ? inner[f]
                              : strides[f][static_cast<std::size_t>(place - scope.begin())]) =
            stride;
        stride *= size(column);
      }
    }
    std::size_t cells = 1;
    for (const std::uint32_t column : scope) cells *= size(column);
    const std::size_t terms = summed ? size(*summed) : 1;
    std::vector<double> out(cells);
    std::vector<std::size_t> at(scope.size(), 0);
    for (double& cell : out) {
      for (std::size_t t = 0; t < terms; ++t) {
        double product = 1;
        for (std::size_t f = 0; f < factors.size(); ++f)
          product *= factors[f].values[base[f] + t * inner[f]];
        cell += product;
      }
      for (std::size_t i = scope.size(); i-- > 0;) {
        for (std::size_t f = 0; f < factors.size(); ++f) base[f] += strides[f][i];
        if (++at[i] < size(scope[i])) break;
        for (std::size_t f = 0; f < factors.size(); ++f) base[f] -= at[i] * strides[f][i];
        at[i] = 0;
      }
    }
    return out;
  }

  // Exactly, so that evidence of very many columns is no 0.
  static void scale(std::vector<double>& values, int& exponent) {
    const double most = *std::ranges::max_element(values);
    if (!(most > 0)) return;
    int power = 0;
    std::frexp(most, &power);
    for (double& v : values) v = std::ldexp(v, -power);
    exponent += power;
  }

  const NetworkModel& model_;
  std::vector<std::uint32_t> keep_;
  std::vector<std::vector<std::uint32_t>> allowed_;  // [K]
  std::vector<std::uint32_t> nodes_, order_;
};

}  // namespace

std::vector<std::vector<std::uint32_t>> every_level(const NetworkModel& model) {
  std::vector<std::vector<std::uint32_t>> out;
  for (const std::uint64_t levels : model.network.levels) out.push_back(all_levels(levels));
  return out;
}

void restrict_to(const std::vector<LevelEvent>& events,
                 std::vector<std::vector<std::uint32_t>>& allowed) {
  for (const LevelEvent& event : events)
    allowed[event.column] = common(allowed[event.column], event.levels);
}

std::vector<std::uint32_t> asked_columns(const Network& network, const NetworkQuestion& question) {
  std::vector<std::uint32_t> asked;
  for (const auto* const events : {&question.target, &question.evidence})
    for (const LevelEvent& event : *events)
      if (event.levels.size() < network.levels[event.column]) asked.push_back(event.column);
  std::ranges::sort(asked);
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  return asked;
}

NetworkQuestion parse_question(const NetworkModel& model, const std::string& text) {
  return read_question(model, text, false);
}

NetworkQuestion parse_outcome(const NetworkModel& model, const std::string& text) {
  return read_question(model, text, true);
}

std::vector<double> answer(const NetworkModel& model, const NetworkQuestion& question,
                           std::uint64_t most_cells) {
  auto given = every_level(model);
  restrict_to(question.evidence, given);
  auto both = given;
  restrict_to(question.target, both);
  const auto is_empty = [](const std::vector<std::uint32_t>& levels) { return levels.empty(); };
  const auto refuse_evidence = [&] {
    throw BadInput(fmt::format(
        "question{}: its evidence has probability 0 in this network; ask about people that it can "
        "have",
        question.text.empty() ? "" : " " + gibbsite::quoted(question.text)));
  };
  if (std::ranges::any_of(given, is_empty)) refuse_evidence();
  if (std::ranges::any_of(both, is_empty)) both.clear();
  const Elimination evidence(model, {}, std::move(given), most_cells);
  std::optional<Elimination> all;
  if (!both.empty())
    all.emplace(model, std::span<const std::uint32_t>{}, std::move(both), most_cells);
  std::vector<double> out;
  for (const auto& tables : model.tables) {
    const auto below = evidence.of(tables);
    if (!(below.values[0] > 0)) refuse_evidence();
    if (!all) {
      out.push_back(0);
      continue;
    }
    const auto above = all->of(tables);
    out.push_back(std::clamp(
        std::ldexp(above.values[0] / below.values[0], above.exponent - below.exponent), 0.0, 1.0));
  }
  return out;
}

std::vector<double> joint(const NetworkModel& model, std::span<const std::uint32_t> columns,
                          std::uint64_t most_cells) {
  ColumnSet seen;
  for (const std::uint32_t column : columns) {
    if (column >= model.network.size() || seen[column]) {
      throw BadInput(
          fmt::format("columns: {} is {}; give places of the network's columns, each once", column,
                      column >= model.network.size() ? "no column" : "twice there"));
    }
    seen.set(column);
  }
  const Elimination elimination(model, columns, every_level(model), most_cells);
  std::vector<double> out;
  for (const auto& tables : model.tables) {
    const auto sums = elimination.of(tables);
    out.resize(sums.values.size());
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] +=
          std::ldexp(sums.values[i], sums.exponent) / static_cast<double>(model.tables.size());
  }
  return out;
}

std::vector<std::uint32_t> unjoined_columns(const Network& network,
                                            const NetworkQuestion& question) {
  const std::vector<std::uint32_t> asked = asked_columns(network, question);
  if (asked.size() < 2) return {};
  // Each column's part of the graph: the least column that a path leads to.
  std::vector<std::uint32_t> part(network.size());
  std::iota(part.begin(), part.end(), 0U);
  const auto root = [&](std::uint32_t k) {
    while (part[k] != k) k = part[k] = part[part[k]];
    return k;
  };
  // What none of them depends on joins nothing: two columns that a third one depends on are
  // independent as long as nobody asks about that one.
  std::vector<bool> seen(network.size());
  std::vector<std::uint32_t> open = asked;
  while (!open.empty()) {
    const std::uint32_t k = open.back();
    open.pop_back();
    if (seen[k]) continue;
    seen[k] = true;
    for (const std::uint32_t parent : network.parents[k]) {
      const std::uint32_t a = root(k), b = root(parent);
      part[std::max(a, b)] = std::min(a, b);
      open.push_back(parent);
    }
  }
  std::vector<std::uint32_t> out;
  for (const std::uint32_t k : asked) {
    const auto joined = [&](std::uint32_t other) { return other != k && root(other) == root(k); };
    if (std::ranges::none_of(asked, joined)) out.push_back(k);
  }
  return out;
}

std::vector<ColumnList> inferred_pairs(const NetworkModel& model, const NetworkQuestion& question) {
  std::vector<ColumnList> out;
  if (!model.tree) return out;
  const std::vector<std::uint32_t> alone = unjoined_columns(model.network, question);
  const ColumnList asked = asked_columns(model.network, question);
  const auto is_alone = [&](std::uint32_t k) { return std::ranges::count(alone, k) > 0; };
  for (std::size_t i = 0; i < asked.size(); ++i) {
    for (std::size_t j = i + 1; j < asked.size(); ++j) {
      const ColumnList pair{asked[i], asked[j]};
      const auto has = [&](const MeasuredTable& t) {
        return std::ranges::includes(t.columns, pair);
      };
      if (!is_alone(asked[i]) && !is_alone(asked[j]) &&
          std::ranges::none_of(model.tree->tables, has))
        out.push_back(pair);
    }
  }
  return out;
}

std::vector<std::string> question_warnings(const NetworkModel& model,
                                           const NetworkQuestion& question) {
  const std::vector<std::string> names = model.names();
  std::vector<std::string> out;
  for (const std::uint32_t column : unjoined_columns(model.network, question)) {
    out.push_back(fmt::format(
        "{}: no {} join {} to the other columns of the question: the network takes it for "
        "independent of them, whatever the table says",
        shown(question.text), model.tree ? "counted tables" : "edges",
        gibbsite::quoted(names[column])));
  }
  if (const auto pairs = inferred_pairs(model, question); !pairs.empty()) {
    out.push_back(fmt::format(
        "{}: no counted table holds {} and {} together{}: what they share is inferred through "
        "other columns",
        shown(question.text), gibbsite::quoted(names[pairs.front()[0]]),
        gibbsite::quoted(names[pairs.front()[1]]),
        pairs.size() == 1
            ? ""
            : fmt::format(", nor {} more of the pairs asked about", pairs.size() - 1)));
  }
  return out;
}

}  // namespace gibbsite
