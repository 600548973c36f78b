// How far an answer may be from that of the rows: by what was answered of them, whatever the model
// makes of it (docs/theory/network.md).
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "gibbsite/model/tree_model.hpp"
#include "gibbsite/release/network_query.hpp"
#include "release/network_levels.hpp"

namespace gibbsite {
namespace {

using ColumnLevels = std::vector<std::vector<std::uint32_t>>;  // [K][groups or levels], ascending

// ± holds the rows' own share but for this part of the releases.
constexpr double missed_releases = .05;

// The z for which a standard normal is beyond ±z with that probability.
double two_sided(double miss) {
  double low = 0, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double z = (low + high) / 2;
    (std::erfc(z / std::sqrt(2.0)) > miss ? low : high) = z;
  }
  return high;
}

// The question P(target | evidence) as x/(x + y): x rows have both, y the evidence alone.
struct AskedLevels {
  ColumnLevels evidence, both;
  ColumnList columns;
};
AskedLevels asked_levels(const NetworkModel& model, const NetworkQuestion& question) {
  AskedLevels out{every_level(model), {}, asked_columns(model.network, question)};
  restrict_to(question.evidence, out.evidence);
  out.both = out.evidence;
  restrict_to(question.target, out.both);
  return out;
}

// Which cells of a table over groups of levels an event holds for: for all levels of the cell, or
// for some.
struct EventCells {
  std::vector<bool> all, some;
};
EventCells cells_of_event(const ColumnList& columns, const ColumnLevels& allowed,
                          const ColumnLevels& group) {
  EventCells out{{true}, {true}};
  for (const std::uint32_t k : columns) {
    const std::size_t groups = *std::ranges::max_element(group[k]) + std::size_t{1};
    std::vector<std::size_t> members(groups), in(groups);
    for (const std::uint32_t g : group[k]) ++members[g];
    for (const std::uint32_t level : allowed[k]) ++in[group[k][level]];
    EventCells next;
    for (std::size_t cell = 0; cell < out.all.size(); ++cell) {
      for (std::size_t g = 0; g < groups; ++g) {
        next.all.push_back(out.all[cell] && in[g] == members[g]);
        next.some.push_back(out.some[cell] && in[g] > 0);
      }
    }
    out = std::move(next);
  }
  return out;
}

// Cells that surely hold x rows, and those that may hold the y, or the other way round.
struct CellSplit {
  std::vector<bool> x, y;
};
// The rows' share is at least x/(x + y) of the first, at most that of the second; they are alike
// where the events are made of whole groups.
std::pair<CellSplit, CellSplit> splits_of(const ColumnList& columns, const AskedLevels& asked,
                                          const ColumnLevels& group) {
  const EventCells evidence = cells_of_event(columns, asked.evidence, group),
                   both = cells_of_event(columns, asked.both, group);
  CellSplit least{both.all, evidence.some}, most{both.some, evidence.all};
  for (std::size_t cell = 0; cell < both.all.size(); ++cell) {
    least.y[cell] = evidence.some[cell] && !both.all[cell];
    most.y[cell] = evidence.all[cell] && !both.some[cell];
  }
  return {std::move(least), std::move(most)};
}

struct ShareRange {
  double low = 0, high = 1;
};

// What counted tables say of x and y: (1 - q) x - q y has the variance v0 - 2 q v1 + q^2 v2, and
// moves by x_part - q all_part times an error of all rows.
struct CountedSplit {
  double x = 0, y = 0, v0 = 0, v1 = 0, v2 = 0, x_part = 0, all_part = 0, weight = 0;

  // A mean by weights, over tables whose noise is independent.
  void add(const CountedSplit& other) {
    const double sum = weight + other.weight, own = weight / sum, its = other.weight / sum;
    x = own * x + its * other.x, y = own * y + its * other.y;
    v0 = own * own * v0 + its * its * other.v0;
    v1 = own * own * v1 + its * its * other.v1;
    v2 = own * own * v2 + its * its * other.v2;
    x_part = own * x_part + its * other.x_part, all_part = own * all_part + its * other.all_part;
    weight = sum;
  }
  // Shares q for which (1 - q) x - q y is within `deviations` of 0 (Fieller 1954). A count below 0
  // counts as 0: that brings it nearer to 0 for every q, so the range gets no smaller, and noise
  // alone makes no share of 0 or 1 certain.
  [[nodiscard]] ShareRange range(double rows_noise, double deviations) const {
    const double z = deviations * deviations, rows = rows_noise * rows_noise;
    const double part = std::max(x, 0.0), all = part + std::max(y, 0.0);
    const double a = all * all - z * (v2 + rows * all_part * all_part),
                 b = part * all - z * (v1 + rows * x_part * all_part),
                 c = part * part - z * (v0 + rows * x_part * x_part);
    if (!(a > 0) || !(all > 0)) return {};
    const double root = std::sqrt(std::max(b * b - a * c, 0.0));
    return {std::clamp((b - root) / a, 0.0, 1.0), std::clamp((b + root) / a, 0.0, 1.0)};
  }
  [[nodiscard]] double deviation(double rows_noise) const {
    const double all = std::max(x + y, 1.0), q = std::clamp(x / all, 0.0, 1.0),
                 moved = rows_noise * (x_part - q * all_part);
    return std::sqrt(std::max(v0 - 2 * q * v1 + q * q * v2, 0.0) + moved * moved) / all;
  }
};
// A table is made to sum to `rows`: a sum of c times counts has the variance
// deviation^2 (sum c^2 - (sum c)^2/cells), and the noise of `rows` is independent of it.
CountedSplit counted_split(const MeasuredTable& table, const CellSplit& split, double rows) {
  const auto cells = static_cast<double>(table.counts.size());
  const double more =
      (rows - std::accumulate(table.counts.begin(), table.counts.end(), 0.0)) / cells;
  CountedSplit out;
  double of_x = 0, of_y = 0;
  for (std::size_t cell = 0; cell < table.counts.size(); ++cell) {
    if (split.x[cell]) of_x += 1, out.x += table.counts[cell] + more;
    if (split.y[cell]) of_y += 1, out.y += table.counts[cell] + more;
  }
  const double noise = table.deviation * table.deviation, both = of_x + of_y;
  out.x_part = of_x / cells, out.all_part = both / cells;
  out.v0 = noise * of_x * (1 - out.x_part);
  out.v1 = noise * of_x * (1 - out.all_part);
  out.v2 = noise * both * (1 - out.all_part);
  out.weight = 1 / (noise * cells);
  return out;
}

// The deviation of the rows that counts of columns say there are; 0 where they are public: then
// they are not that number.
double rows_noise_of(const TreeRelease& tree) {
  if (tree.rows > 1 && tree.rows != measured_rows(tree.one_ways)) return 0;
  double precision = 0;
  for (const MeasuredTable& one : tree.one_ways)
    precision += 1 / (static_cast<double>(one.counts.size()) * one.deviation * one.deviation);
  return 1 / std::sqrt(precision);
}

class CountedQuestion {
 public:
  CountedQuestion(const NetworkModel& model, AskedLevels asked)
      : tree_(*model.tree),
        asked_(std::move(asked)),
        groups_(group_rare_levels(tree_.one_ways, structural_zeros(model.schema))),
        each_(every_level(model)),
        rows_noise_(rows_noise_of(tree_)) {
    for (const MeasuredTable& table : tree_.one_ways) take(table, each_);
    for (const MeasuredTable& table : tree_.tables) take(table, groups_.group);
  }

  // None of an event of parts of groups.
  [[nodiscard]] std::optional<double> deviation() const {
    return whole_.tables > 0 ? std::optional(whole_.least.deviation(rows_noise_)) : std::nullopt;
  }
  // Shares that the rows may have, in all releases but that part of them.
  [[nodiscard]] std::optional<ShareRange> range(double miss) const {
    const Counted& by = whole_.tables > 0 ? whole_ : parted_;
    if (by.tables == 0) return scored(miss);
    const double z = two_sided(miss);
    return ShareRange{by.least.range(rows_noise_, z).low, by.most.range(rows_noise_, z).high};
  }

 private:
  struct Counted {
    CountedSplit least, most;
    std::size_t tables = 0;
  };

  // By all tables that hold the question's columns: in parts of groups where none holds whole ones.
  void take(const MeasuredTable& measured, const ColumnLevels& group) {
    if (!std::ranges::includes(measured.columns, asked_.columns)) return;
    const auto [least, most] = splits_of(measured.columns, asked_, group);
    Counted& into = least.x == most.x && least.y == most.y ? whole_ : parted_;
    into.least.add(counted_split(measured, least, tree_.rows));
    into.most.add(counted_split(measured, most, tree_.rows));
    ++into.tables;
  }

  // What counts of a column say of some of its groups: rows that its score's product has, rows by
  // the counts, the variance of these, and which part of an error of all rows is theirs.
  struct Margin {
    double expected = 0, counted = 0, variance = 0, part = 0;
  };
  [[nodiscard]] Margin margin(std::uint32_t column, const std::vector<bool>& groups,
                              const std::vector<double>& expected) const {
    const MeasuredTable& one = tree_.one_ways[column];
    const auto levels = static_cast<double>(one.counts.size());
    const double total = std::accumulate(one.counts.begin(), one.counts.end(), 0.0);
    Margin out;
    double cells = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) out.expected += groups[g] ? expected[g] : 0;
    for (std::size_t l = 0; l < one.counts.size(); ++l) {
      if (!groups[groups_.group[column][l]]) continue;
      cells += 1;
      out.counted += one.counts[l] + (tree_.rows - total) / levels;
    }
    out.part = cells / levels;
    out.variance = one.deviation * one.deviation * cells * (1 - out.part);
    return out;
  }

  // Two columns without a counted table have a score s, about the L1 norm of D, the rows less the
  // product R of what was answered. D of a rectangle A x B is within s/4 of (2 D(A) + 2
  // D(B) - D(all))/4, as D has that much in each of the four rectangles that A and B make, and
  // D(A), D(B) and D(all) are known up to the noise of counts.
  [[nodiscard]] std::optional<ShareRange> scored(double miss) const {
    const auto found = std::ranges::find_if(
        tree_.scores, [&](const TableCandidate& one) { return one.columns == asked_.columns; });
    if (found == tree_.scores.end()) return {};
    // Three bounds of one end are missed with probability miss/6 each.
    const double of_three = two_sided(miss / 3);
    const auto expected = expected_counts(grouped_counts(tree_.one_ways, groups_), tree_.rows);
    std::array<EventCells, 2> sides;
    std::optional<std::size_t> given;  // the column that the condition is about
    for (std::size_t side = 0; side < 2; ++side) {
      const std::uint32_t k = asked_.columns[side];
      sides[side] = cells_of_event({k}, asked_.both, groups_.group);
      if (asked_.evidence[k].size() == each_[k].size()) continue;
      // Both columns, one that is asked about too, and parts of groups, are not gone through.
      if (given || asked_.evidence[k] != asked_.both[k] || sides[side].all != sides[side].some)
        return {};
      given = side;
    }
    const auto bound = [&](bool high) -> double {
      std::array<Margin, 2> of;
      double parts = -0.25, variance = tree_.score_noise * tree_.score_noise / 16, middle = 0;
      for (std::size_t side = 0; side < 2; ++side) {
        const std::uint32_t k = asked_.columns[side];
        of[side] = margin(k, high ? sides[side].some : sides[side].all, expected[k]);
        middle += (of[side].counted - of[side].expected) / 2;
        variance += of[side].variance / 4;
        parts += of[side].part / 2;
      }
      middle += of[0].expected * of[1].expected / tree_.rows;
      const double rows = given ? of[*given].counted : tree_.rows;
      const double all = std::max(std::abs(parts), std::abs(parts - (given ? of[*given].part : 1)));
      variance += all * all * rows_noise_ * rows_noise_;
      if (!(rows > 0)) return high ? 1 : 0;
      const double away = std::max(found->score, 0.0) / 4 + of_three * std::sqrt(variance);
      if (!high) return std::clamp((middle - away) / rows, 0.0, 1.0);
      // Nor are there more rows than each of the columns that are asked about has.
      double most = middle + away;
      for (std::size_t side = 0; side < 2; ++side) {
        if (given == side) continue;
        const double noise =
            of[side].variance + (given ? of[*given].variance : 0) + rows_noise_ * rows_noise_;
        most = std::min(most, of[side].counted + of_three * std::sqrt(noise));
      }
      return std::clamp(most / rows, 0.0, 1.0);
    };
    const auto [low, high] = std::minmax({bound(false), bound(true)});
    return ShareRange{low, high};
  }

  const TreeRelease& tree_;
  AskedLevels asked_;
  LevelGroups groups_;
  ColumnLevels each_;
  double rows_noise_;
  Counted whole_, parted_;
};

// Shares of rows whose levels are among those allowed, for each set of columns [2^columns].
using BoxShares = std::vector<ShareRange>;

// What the shares of fewer columns say of those of a set (Bonferroni; Fréchet 1935): N(X) - N(XA) -
// N(XB) + N(XAB) rows of X have neither A nor B, N(X) - ... - N(XABC) none of three; no fewer
// than 0. They are all that counts of pairs say of three events.
ShareRange by_fewer(const BoxShares& of, std::size_t set) {
  ShareRange out;
  for (std::size_t a = 1; a <= set; a <<= 1) {
    if ((set & a) == 0) continue;
    out.high = std::min(out.high, of[set - a].high);
    for (std::size_t b = a << 1; b <= set; b <<= 1) {
      if ((set & b) == 0) continue;
      const std::size_t rest = set - a - b;
      out.low = std::max(out.low, of[rest + a].low + of[rest + b].low - of[rest].high);
      for (std::size_t c = b << 1; c <= set; c <<= 1) {
        if ((set & c) == 0) continue;
        const std::size_t x = rest - c;
        out.high =
            std::min(out.high, of[x].high - of[x + a].low - of[x + b].low - of[x + c].low +
                                   of[x + a + b].high + of[x + a + c].high + of[x + b + c].high);
      }
    }
  }
  return out;
}

// All of them hold together but for `miss` times the sets of one and two columns.
BoxShares box_shares(const NetworkModel& model, const ColumnList& columns,
                     const ColumnLevels& allowed, double miss) {
  BoxShares out(std::size_t{1} << columns.size());
  out[0] = {1, 1};
  for (std::size_t set = 1; set < out.size(); ++set) {
    AskedLevels asked{every_level(model), every_level(model), {}};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if ((set >> c & 1) == 0) continue;
      asked.columns.push_back(columns[c]);
      asked.both[columns[c]] = allowed[columns[c]];
    }
    out[set] = by_fewer(out, set);
    if (asked.columns.size() > 2) continue;
    const auto counted = CountedQuestion(model, std::move(asked)).range(miss);
    if (!counted) continue;
    out[set].low = std::max(out[set].low, counted->low);
    out[set].high = std::max(out[set].low, std::min(out[set].high, counted->high));
  }
  return out;
}

// The share x/(x + y) of a question about several columns, x rows with target and evidence and y
// with the evidence alone, by the shares of rows that one or two of them say, in all releases
// but that part, whatever the rows are like where no table was counted.
ShareRange whole_range(const NetworkModel& model, const AskedLevels& asked, double missed_part) {
  const std::size_t count = asked.columns.size();
  std::size_t given = 0, target = 0;  // columns of the evidence alone, of the target
  bool both = false;                  // one is of both
  const ColumnLevels each = every_level(model);
  for (std::size_t c = 0; c < count; ++c) {
    const std::uint32_t k = asked.columns[c];
    const bool is_target = asked.both[k] != asked.evidence[k];
    (is_target ? target : given) |= std::size_t{1} << c;
    both = both || (is_target && asked.evidence[k].size() < each[k].size());
  }
  const auto of_both = static_cast<double>(count * (count + 1));
  const double intervals = both ? of_both : of_both / 2;
  const double miss = missed_part / intervals;
  const BoxShares x = box_shares(model, asked.columns, asked.both, miss);
  const BoxShares e = both ? box_shares(model, asked.columns, asked.evidence, miss) : x;
  const auto evidence = [&](std::size_t set) { return e[both ? set : set & given]; };
  // Rows of a set's evidence that are not in its target: those of fewer columns are no fewer.
  const auto missed = [&](std::size_t set) {
    return ShareRange{evidence(set).low - x[set].high, evidence(set).high - x[set].low};
  };
  const std::size_t all = x.size() - 1;
  ShareRange y = missed(all);
  for (std::size_t a = 1; a <= given; a <<= 1) {
    if ((given & a) == 0) continue;
    y.high = std::min(y.high, missed(all - a).high);
    for (std::size_t b = a << 1; b <= given; b <<= 1)
      if ((given & b) != 0)
        y.low =
            std::max(y.low, missed(all - a).low + missed(all - b).low - missed(all - a - b).high);
  }
  y = {std::max(y.low, 0.0), std::max(y.high, 0.0)};
  const auto share = [](double part, double rows, double otherwise) {
    return rows > 0 ? std::clamp(part / rows, 0.0, 1.0) : otherwise;
  };
  const ShareRange rows = evidence(all);
  return {std::max({share(x[all].low, x[all].low + y.high, 0), share(x[all].low, rows.high, 0),
                    1 - share(y.high, rows.low, 1)}),
          std::min({share(x[all].high, x[all].high + y.low, 1), share(x[all].high, rows.low, 1),
                    1 - share(y.low, rows.high, 0)})};
}

// The column with the fewest levels of the target, of two to six: the parts of an event.
std::optional<std::uint32_t> column_of_parts(const AskedLevels& asked) {
  constexpr std::size_t most_parts = 6;
  std::optional<std::uint32_t> out;
  for (const std::uint32_t k : asked.columns) {
    const std::size_t levels = asked.both[k].size();
    if (asked.both[k] == asked.evidence[k] || levels < 2 || levels > most_parts) continue;
    if (!out || levels < asked.both[*out].size()) out = k;
  }
  return out;
}

// The share of an event of several levels is the sum of theirs, and what pairs allow of each may
// add up to less than what they allow of all at once; noise adds up to more. Both hold together.
std::optional<ShareRange> joint_range(const NetworkModel& model, const AskedLevels& asked) {
  constexpr std::size_t most_columns = 10;
  if (asked.columns.size() > most_columns) return {};
  const std::optional<std::uint32_t> column = column_of_parts(asked);
  if (!column) return whole_range(model, asked, missed_releases);
  constexpr double of_parts = missed_releases / 5;  // where they are less, it is not by noise
  const ShareRange all = whole_range(model, asked, missed_releases - of_parts);
  ShareRange sum{0, 0};
  const std::vector<std::uint32_t>& levels = asked.both[*column];
  for (const std::uint32_t level : levels) {
    AskedLevels part = asked;
    part.both[*column] = {level};
    const ShareRange one = whole_range(model, part, of_parts / static_cast<double>(levels.size()));
    sum.low += one.low, sum.high += one.high;
  }
  const double low = std::max(all.low, sum.low);
  return ShareRange{low, std::max(low, std::min(all.high, sum.high))};
}

// What needs no counts: the evidence says the target, or that it is not so.
std::optional<ShareRange> certain_range(const AskedLevels& asked) {
  const auto is_empty = [](const std::vector<std::uint32_t>& levels) { return levels.empty(); };
  if (std::ranges::any_of(asked.both, is_empty)) return ShareRange{0, 0};
  if (asked.both == asked.evidence) return ShareRange{1, 1};
  return {};
}

}  // namespace

std::optional<double> question_reach(const NetworkModel& model, const NetworkQuestion& question) {
  if (!model.tree || question.target.empty()) return {};
  const AskedLevels asked = asked_levels(model, question);
  std::optional<ShareRange> range = certain_range(asked);
  if (!range) range = CountedQuestion(model, asked).range(missed_releases);
  if (!range) range = joint_range(model, asked);
  if (!range) return {};
  const double model_says = answer(model, question).front();
  return std::max({0.0, model_says - range->low, range->high - model_says});
}

std::optional<double> question_noise(const NetworkModel& model, const NetworkQuestion& question) {
  if (question.target.empty() || !question.evidence.empty()) return {};
  if (model.tree) return CountedQuestion(model, asked_levels(model, question)).deviation();
  if (model.counts.empty() || question.target.size() != 1) return {};
  const LevelEvent& event = question.target.front();
  const std::vector<double>& counts = model.counts[event.column];
  const double rows = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (!(rows > 0)) return {};
  // A level's count is a sum over what its parents are.
  const double cells = static_cast<double>(event.levels.size()) *
                       static_cast<double>(counts.size()) /
                       static_cast<double>(model.network.levels[event.column]);
  return model.noise[event.column] * std::sqrt(cells) / rows;
}

}  // namespace gibbsite
