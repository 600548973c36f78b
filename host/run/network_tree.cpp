#include "run/network_tree.hpp"

#include <algorithm>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/tree_model.hpp"
#include "machine/processors.hpp"
#include "machine/thread_pool.hpp"
#include "run/gaussian_mechanism.hpp"

namespace gibbsite {
namespace {

// Parts of a run in thousandths, for whoever watches.
constexpr std::uint64_t all_parts = 1'000, counted_columns = 50, scored = 400, counted_tables = 500;

class TreeRun {
 public:
  TreeRun(const LevelRows& rows, const NetworkProblem& problem, const StreamKey& key,
          const FitOptions& options)
      : rows_(rows), problem_(problem), key_(key), options_(options) {}

  TreeRelease run(const NetworkTree& mechanism, const Neighbors& who) {
    const std::size_t columns = problem_.levels.size();
    TreeRelease out;
    for (std::uint32_t k = 0; k < columns; ++k) {
      tell(0, counted_columns, k, columns);
      out.one_ways.push_back(counted({k}, counts_of({k}), mechanism.one_way_noise, k));
    }
    const bool is_public = problem_.total_is_public(who.adjacency);
    out.rows = tree_rows(out.one_ways, is_public ? std::optional(problem_.rows) : std::nullopt,
                         problem_.most_weight());
    const LevelGroups groups = group_rare_levels(out.one_ways, problem_.never);
    score_pairs(out, groups, expected_counts(grouped_counts(out.one_ways, groups), out.rows),
                mechanism.score_noise);
    count_tables(out, groups, mechanism.noise);
    fit(out);
    return out;
  }

 private:
  // From `first` to `last` thousandths, `done` of `of` of the way.
  void tell(std::uint64_t first, std::uint64_t last, std::uint64_t done, std::uint64_t of) const {
    if (stopped()) throw Interrupted("interrupted while tables were counted; nothing was kept");
    if (options_.progress) options_.progress(first + (last - first) * done / of, all_parts);
  }
  [[nodiscard]] bool stopped() const { return options_.stop != nullptr && *options_.stop; }

  [[nodiscard]] std::vector<std::uint64_t> counts_of(const ColumnList& columns) const {
    return contingency(rows_, columns);
  }
  [[nodiscard]] MeasuredTable counted(const ColumnList& columns,
                                      const std::vector<std::uint64_t>& exact, double deviation,
                                      std::uint64_t answer) const {
    GaussianMechanism noise(key_, answer, exact.size());
    return {columns, noise.release(counts_in_rows(rows_, exact), deviation), deviation};
  }

  // Against `expected`, which was answered: never against the table's own counts of columns.
  void score_pairs(TreeRelease& out, const LevelGroups& groups,
                   const std::vector<std::vector<double>>& expected, double deviation) const {
    const auto pairs = scored_pairs(problem_);
    GaussianMechanism noise(key_, problem_.levels.size(), pairs.size());
    out.score_noise = deviation;
    for (const auto& [a, b] : pairs) {
      tell(counted_columns, scored, out.scores.size(), pairs.size());
      const ColumnList columns{a, b};
      const double exact =
          pair_score(grouped_cells(counts_of(columns), columns, problem_.levels, groups),
                     expected[a], expected[b], out.rows, rows_.bits());
      out.scores.push_back({columns, noise.release(exact, deviation)});
    }
  }

  void count_tables(TreeRelease& out, const LevelGroups& groups, double noise) const {
    const std::vector<ColumnList> chosen = chosen_tables(out, groups, problem_, noise);
    if (chosen.empty()) return;
    const std::vector<double> deviations =
        table_deviations(noise, weighted_sizes(chosen, groups, problem_.target));
    for (std::size_t t = 0; t < chosen.size(); ++t) {
      tell(scored, counted_tables, t, chosen.size());
      out.tables.push_back(counted(
          chosen[t], grouped_cells(counts_of(chosen[t]), chosen[t], problem_.levels, groups),
          deviations[t], problem_.levels.size() + 1 + t));
    }
  }

  void fit(TreeRelease& out) const {
    ThreadPool pool(std::clamp<std::size_t>(static_cast<std::size_t>(usable_processors()), 1,
                                            ThreadPool::most_members));
    TreeFitOptions how;
    how.each = [&](std::size_t tasks, const std::function<void(std::size_t)>& f) {
      for (std::size_t first = 0; first < tasks; first += ThreadPool::most_tasks / 2)
        // A thread begins with the tasks that it had in the last step, whose cells are near it.
        pool.each_in_slices(std::min(tasks - first, ThreadPool::most_tasks / 2),
                            [&](std::size_t task, std::size_t) {
                              f(first + task);
                              return true;
                            });
    };
    how.progress = [this](std::uint64_t done, std::uint64_t most) {
      if (options_.progress)
        options_.progress(counted_tables + (all_parts - counted_tables) * done / most, all_parts);
      return !stopped();
    };
    out.potentials = fitted_potentials(out, problem_.levels, problem_.never, how);
    out.fit = tree_fit;
  }

  const LevelRows& rows_;
  const NetworkProblem& problem_;
  const StreamKey& key_;
  const FitOptions& options_;
};

}  // namespace

TreeRelease tree_release(const LevelRows& rows, const NetworkProblem& problem,
                         const NetworkTree& mechanism, const Neighbors& who, const StreamKey& key,
                         const FitOptions& options) {
  return TreeRun(rows, problem, key, options).run(mechanism, who);
}

}  // namespace gibbsite
