#include "run/network_structure.hpp"

#include <algorithm>
#include <array>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

__extension__ using Exact = unsigned __int128;

Wide wide_of(Exact x) {
  return ldexp(Wide(static_cast<std::uint64_t>(x >> 64)), 64) + Wide(static_cast<std::uint64_t>(x));
}

struct ParentSet {
  std::uint32_t column = 0;
  std::vector<std::uint32_t> parents;
  Wide score;
};

// f(set) of every set of at most `most` of `placed` that has the last of them, ascending, whose
// table with `column` is within the limit; where none is placed but that, the empty one too.
class NewSets {
 public:
  NewSets(const NetworkProblem& problem, std::span<const std::uint32_t> placed)
      : problem_(problem), placed_(placed) {}

  template <class F>
  void each(std::uint32_t column, const F& f) {
    const std::uint64_t cells = problem_.levels[column];
    if (placed_.size() == 1) f(std::vector<std::uint32_t>{});
    const std::uint64_t with_last = cells * problem_.levels[placed_.back()];
    if (problem_.limits.parents == 0 || with_last > problem_.limits.cells) return;
    set_ = {placed_.back()};
    grow(0, with_last, f);
  }

 private:
  template <class F>
  void grow(std::size_t next, std::uint64_t cells, const F& f) {
    std::vector<std::uint32_t> sorted = set_;
    std::ranges::sort(sorted);
    f(std::move(sorted));
    if (set_.size() == problem_.limits.parents) return;
    for (std::size_t i = next; i + 1 < placed_.size(); ++i) {
      const std::uint64_t more = cells * problem_.levels[placed_[i]];
      if (more > problem_.limits.cells) continue;
      set_.push_back(placed_[i]);
      grow(i + 1, more, f);
      set_.pop_back();
    }
  }

  const NetworkProblem& problem_;
  std::span<const std::uint32_t> placed_;
  std::vector<std::uint32_t> set_;
};

}  // namespace

Wide dependence(std::span<const std::uint64_t> counts, std::uint64_t levels) {
  std::vector<std::uint64_t> of_column(levels);
  std::uint64_t rows = 0;
  for (std::size_t cell = 0; cell < counts.size(); ++cell) {
    of_column[cell % levels] += counts[cell];
    rows += counts[cell];
  }
  // Below 2 n^2 <= 2^77.
  Exact sum = 0;
  for (std::size_t first = 0; first < counts.size(); first += levels) {
    std::uint64_t of_parents = 0;
    for (std::size_t l = 0; l < levels; ++l) of_parents += counts[first + l];
    for (std::size_t l = 0; l < levels; ++l) {
      const Exact a = Exact{rows} * counts[first + l], b = Exact{of_column[l]} * of_parents;
      sum += a > b ? a - b : b - a;
    }
  }
  return wide_of(sum);
}

std::size_t exponential_pick(std::span<const Wide> scores, double weight, const Wide& uniform) {
  const Wide best = *std::max_element(scores.begin(), scores.end());
  std::vector<Wide> until;
  Wide sum = 0;
  for (const Wide& score : scores) {
    sum += exp(Wide(weight) * (score - best));
    until.push_back(sum);
  }
  const Wide target = uniform * sum;
  const auto at = std::upper_bound(until.begin(), until.end(), target);
  return static_cast<std::size_t>(std::min(at, until.end() - 1) - until.begin());
}

std::size_t exponential_pick(std::span<const Wide> scores, double weight, const StreamKey& key,
                             std::uint64_t pick) {
  std::array<std::uint64_t, 2> words{};
  fill_words(key, structure_chain, pick, words);
  return exponential_pick(scores, weight,
                          ldexp(ldexp(Wide(words[0]), 64) + Wide(words[1]) + Wide(0.5), -128));
}

std::uint32_t first_placed(std::span<const std::uint64_t> levels) {
  std::uint32_t first = 0;
  for (std::uint32_t column = 1; column < levels.size(); ++column)
    if (levels[column] <= levels[first]) first = column;
  return first;
}

std::vector<std::vector<std::uint32_t>> choose_structure(const LevelRows& rows,
                                                         const NetworkProblem& problem,
                                                         double weight, double penalty,
                                                         const StreamKey& key,
                                                         const FitOptions& options) {
  const std::size_t columns = problem.levels.size();
  std::vector<std::vector<std::uint32_t>> out(columns);
  std::vector<std::uint32_t> placed{first_placed(problem.levels)};
  std::vector<bool> is_placed(columns);
  is_placed[placed[0]] = true;
  std::vector<ParentSet> candidates;
  for (std::uint64_t pick = 0; placed.size() < columns; ++pick) {
    if (options.progress) options.progress(pick, 2 * columns - 1);
    for (std::uint32_t column = 0; column < columns; ++column) {
      if (is_placed[column]) continue;
      NewSets(problem, placed).each(column, [&](std::vector<std::uint32_t> parents) {
        if (options.stop != nullptr && *options.stop) {
          throw Interrupted("interrupted while parents were chosen; nothing was kept");
        }
        std::vector<std::uint32_t> all = parents;
        all.push_back(column);
        const std::vector<std::uint64_t> counts = contingency(rows, all);
        candidates.push_back({column, std::move(parents),
                              dependence(counts, problem.levels[column]) / Wide(rows.rows) -
                                  Wide(penalty) * Wide(static_cast<std::uint64_t>(counts.size()))});
      });
    }
    std::vector<Wide> scores;
    scores.reserve(candidates.size());
    for (const ParentSet& one : candidates) scores.push_back(one.score);
    const ParentSet& chosen = candidates[exponential_pick(scores, weight, key, pick)];
    const std::uint32_t column = chosen.column;
    out[column] = chosen.parents;
    placed.push_back(column);
    is_placed[column] = true;
    std::erase_if(candidates, [&](const ParentSet& one) { return one.column == column; });
  }
  return out;
}

}  // namespace gibbsite
