#include "gibbsite/core/table_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

// x^(2/3) and x^(3/2), x >= 0, by arithmetic that has the same bits on every machine: verify
// chooses again.
double two_thirds(double x) {
  if (!(x > 0)) return 0;
  int power = 0;
  double m = std::frexp(x, &power);  // in [1/2, 1)
  while (power % 3 != 0) m *= 2, --power;
  double root = 1;  // of m in [1/2, 4)
  for (int i = 0; i < 8; ++i) root -= (root - m / (root * root)) / 3;
  return std::ldexp(root * root, power / 3 * 2);
}
double three_halves(double x) { return x * std::sqrt(x); }

// A candidate's place, its weighted score and cells of noise, and what it takes of the budget: a
// set S that shares mu^2 in proportion to `cost` has noise of L1 norm (sum of cost)^(3/2)/mu in
// all, the least of any shares.
struct Candidate {
  std::size_t place = 0;
  double score = 0, cells = 0, cost = 0;
};

// Exact in double. A penalty of 1 is the noise of a cell, were the whole budget spent on its table.
std::vector<double> penalties_of(const TableLimits& limits) {
  const bool all = limits.penalties == TableLimits::Penalties::to_1024;
  std::vector<double> out{0.0};
  for (double penalty = 0.125; penalty <= (all ? 1024 : 16); penalty *= 2) {
    out.push_back(penalty);
    if (all) out.push_back(1.5 * penalty);
  }
  return out;
}

class Choice {
 public:
  Choice(std::span<const std::uint64_t> levels, std::span<const TableCandidate> candidates,
         const TableLimits& limits, double mu)
      : levels_(levels), candidates_(candidates), limits_(limits), mu_(mu) {
    clear();
  }

  [[nodiscard]] double gain() const { return score_ - three_halves(cost_) / mu_; }
  [[nodiscard]] const std::vector<Candidate>& chosen() const { return chosen_; }

  // Takes one if that is a gain and the tree can hold it.
  void take(const Candidate& one) {
    const double with = score_ + one.score - three_halves(cost_ + one.cost) / mu_;
    if (with > gain() && holds(one)) add(one);
  }
  // Drops the ones that cost more than they give, the worst first.
  void prune() {
    while (true) {
      std::size_t worst = chosen_.size();
      double best = gain();
      for (std::size_t i = 0; i < chosen_.size(); ++i) {
        const double without =
            score_ - chosen_[i].score - three_halves(std::max(cost_ - chosen_[i].cost, 0.0)) / mu_;
        if (without > best) worst = i, best = without;
      }
      if (worst == chosen_.size()) return;
      std::vector<Candidate> left = std::move(chosen_);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(worst));
      clear();
      for (const Candidate& one : left) add(one);
    }
  }

 private:
  void clear() {
    chosen_.clear();
    sets_ = limits_.held;
    score_ = cost_ = 0;
  }
  void add(const Candidate& one) {
    chosen_.push_back(one);
    sets_.push_back(candidates_[one.place].columns);
    score_ += one.score;
    cost_ += one.cost;
  }
  [[nodiscard]] bool holds(const Candidate& one) {
    sets_.push_back(candidates_[one.place].columns);
    const LargestClique most = largest_clique(levels_, sets_, limits_.cells);
    sets_.pop_back();
    return most.cells <= limits_.cells && most.columns <= limits_.columns;
  }

  std::span<const std::uint64_t> levels_;
  std::span<const TableCandidate> candidates_;
  TableLimits limits_;
  double mu_;
  std::vector<Candidate> chosen_;
  std::vector<ColumnList> sets_;
  double score_ = 0, cost_ = 0;
};

}  // namespace

TableChoice choose_tables(std::span<const std::uint64_t> levels,
                          std::span<const std::uint64_t> cells,
                          std::span<const TableCandidate> candidates, const TableLimits& limits,
                          double sensitivity, double mu) {
  if (levels.size() != cells.size())
    throw BadInput(fmt::format("cells: there are {} for {} columns", cells.size(), levels.size()));
  if (!(mu > 0) || !(sensitivity > 0) || !std::isfinite(mu) || !std::isfinite(sensitivity))
    throw BadInput(fmt::format("mu, sensitivity: must be above 0, got {} and {}", mu, sensitivity));
  // Expected size of noise of deviation 1, sqrt(2/pi), times the sensitivity.
  const double unit = 0.7978845608028654 * sensitivity;
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double weight = candidates[i].weight;
    const double noisy = weight * static_cast<double>(table_cells(cells, candidates[i].columns));
    const Candidate one{i, weight * candidates[i].score, noisy, two_thirds(noisy * unit)};
    // Beside others its noise only grows.
    if (one.score > three_halves(one.cost) / mu) all.push_back(one);
  }
  std::optional<Choice> best;
  for (const double penalty : penalties_of(limits)) {
    const auto worth = [&](const Candidate& c) { return c.score - penalty * unit / mu * c.cells; };
    std::vector<Candidate> order = all;
    std::erase_if(order, [&](const Candidate& c) { return !(worth(c) > 0); });
    std::ranges::stable_sort(order, std::ranges::greater{}, worth);
    Choice now(levels, candidates, limits, mu);
    for (const Candidate& one : order) now.take(one);
    now.prune();
    if (!best || now.gain() > best->gain()) best = std::move(now);
  }
  // What the others leave room for.
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [](const Candidate& c) { return c.score / c.cost; });
  for (const Candidate& one : all) {
    const auto is_same = [&](const Candidate& c) { return c.place == one.place; };
    if (std::ranges::none_of(best->chosen(), is_same)) best->take(one);
  }
  TableChoice out;
  out.gain = best->gain();
  std::vector<Candidate> chosen = best->chosen();
  std::ranges::sort(chosen, {}, &Candidate::place);
  double cost = 0;
  for (const Candidate& one : chosen) cost += one.cost;
  for (const Candidate& one : chosen)
    out.tables.push_back(
        {candidates[one.place].columns, sensitivity / (mu * std::sqrt(one.cost / cost))});
  return out;
}

}  // namespace gibbsite
