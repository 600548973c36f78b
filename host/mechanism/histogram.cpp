#include "gibbsite/mechanism/histogram.hpp"

#include <fmt/format.h>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/mechanism/network.hpp"

namespace gibbsite {
namespace {

const HistogramCounts& settings_of(const HistogramMechanism& mechanism) {
  return std::get<HistogramCounts>(mechanism);
}

// The network whose one column has a level for each cell: its guarantee is the histogram's.
NetworkProblem one_column(const HistogramProblem& problem) {
  NetworkProblem out{.rows = problem.rows, .levels = {problem.cells}};
  out.parents.emplace(1);
  return out;
}

NetworkMechanism counts_of(const HistogramMechanism& mechanism) {
  return NetworkCounts{.noise = settings_of(mechanism).noise};
}

NetworkPlan planned_counts(const HistogramProblem& problem, const Budget& budget) {
  try {
    return plan_network(one_column(problem), budget, {.mechanism = "counts"});
  } catch (const Infeasible&) {  // its words are of a network
    throw Infeasible(format_message("{} {}, {} {}", Field{"epsilon"}, budget.epsilon,
                                    Field{"delta"}, budget.delta),
                     "no noise in double precision keeps an evaluation to that",
                     "ask for a larger epsilon or delta");
  }
}

}  // namespace

void HistogramProblem::validate() const {
  require_at_least(static_cast<double>(rows), 1, "rows");
  if (cells < 1 || cells > most_network_levels) {
    throw BadInput(fmt::format("cells: must be from 1 to {}, got {}", most_network_levels, cells));
  }
}

HistogramPlan plan_histogram(const HistogramProblem& problem, const Budget& budget) {
  const StandardArithmetic arithmetic;
  problem.validate();
  if (budget.draws != 1) {
    throw BadInput(Field{"draws"}, "a histogram is released once",
                   fmt::format("leave it out (got {})", budget.draws));
  }
  const NetworkPlan counts = planned_counts(problem, budget);
  const auto& chosen = std::get<NetworkCounts>(counts.candidate().mechanism);
  HistogramPlan out{
      .problem = problem, .budget = budget, .mechanism = HistogramCounts{.noise = chosen.noise}};
  out.guarantee = analyze(out.mechanism, problem, budget.neighbors(), 1).guarantee;
  out.deviation = histogram_deviation(out.mechanism, problem);
  return out;
}

std::string_view name_of(const HistogramMechanism& /*mechanism*/) { return HistogramCounts::name; }

std::string_view theorem_of(const HistogramMechanism& /*mechanism*/) {
  return HistogramCounts::theorem;
}

std::string basis_of(const HistogramMechanism& /*mechanism*/, const HistogramProblem& problem) {
  return fmt::format("It rests on Gaussian noise in each of {} counts, of which a row is in one",
                     problem.cells);
}

Analysis analyze(const HistogramMechanism& mechanism, const HistogramProblem& problem,
                 const Neighbors& who, std::uint64_t draws) {
  problem.validate();
  return analyze(counts_of(mechanism), one_column(problem), who, draws);
}

double histogram_deviation(const HistogramMechanism& mechanism, const HistogramProblem& problem) {
  problem.validate();
  return table_deviations(settings_of(mechanism).noise, one_column(problem).network()).front();
}

}  // namespace gibbsite
