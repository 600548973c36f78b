#include "run/network_draws.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "mechanism/network_draws.hpp"
#include "run/family_draws.hpp"

namespace gibbsite {
namespace {

// What the posterior of every row is made of.
struct TableLaw {
  double weight = 1, prior = 1;
  std::optional<std::pair<double, double>> trim{};
};

TableLaw table_law(const NetworkTrimmed& s, const NetworkProblem& p) {
  if (!p.trim)
    throw BadInput(Field{"trim"}, "is missing", "give the least share that tables are cut to");
  return {s.weight, p.prior, std::pair{*p.trim, 0.0}};
}
TableLaw table_law(const NetworkConjugate& s, const NetworkProblem& p) {
  return {s.weight, s.prior_scale * p.prior, {}};
}
template <class Counted>
TableLaw table_law(const Counted& /*s*/, const NetworkProblem& /*p*/) {
  throw BadInput(Field{"mechanism"}, "counts draws no tables", "give trimmed or conjugate");
}

}  // namespace

std::vector<std::vector<double>> tables_draw(const NetworkMechanism& mechanism,
                                             const NetworkProblem& problem, const Network& network,
                                             std::span<const std::vector<std::uint64_t>> counts,
                                             const StreamKey& key, std::uint32_t draw,
                                             std::uint64_t draws, const FitOptions& options) {
  const TableLaw law = std::visit([&](const auto& s) { return table_law(s, problem); }, mechanism);
  if (counts.size() != network.levels.size()) {
    throw BadInput(fmt::format("counts: are of {} tables, the network has {}; count this network",
                               counts.size(), network.levels.size()));
  }
  std::uint64_t numbers = 0;
  for (std::size_t node = 0; node < counts.size(); ++node) {
    const std::uint64_t levels = network.levels[node];
    if (counts[node].empty() || counts[node].size() % levels != 0) {
      throw BadInput(fmt::format("counts: table {} has {} cells of {} levels; count this network",
                                 node + 1, counts[node].size(), levels));
    }
    numbers += counts[node].size() / levels * (levels - 1);
  }
  using Clock = std::chrono::steady_clock;
  Clock::time_point told = Clock::now();
  std::uint64_t step = 0;
  std::vector<std::vector<double>> out(counts.size());
  for (std::size_t node = 0; node < counts.size(); ++node) {
    const std::uint64_t levels = network.levels[node];
    FamilyProblem row{.family = Family::categorical,
                      .rows = problem.rows,
                      .levels = levels,
                      .prior = {},
                      .trim = law.trim};
    std::vector<Wide> cells(levels);
    out[node].reserve(counts[node].size());
    for (std::size_t first = 0; first < counts[node].size(); first += levels) {
      if (options.stop != nullptr && *options.stop) {
        throw Interrupted(
            fmt::format("interrupted after {} of {} draws; nothing was kept", draw, draws));
      }
      if (options.progress && Clock::now() - told > std::chrono::milliseconds(250)) {
        options.progress(draw * numbers + step, draws * numbers);
        told = Clock::now();
      }
      for (std::uint64_t l = 0; l < levels; ++l) {
        cells[l] = Wide(law.prior) + Wide(law.weight) * Wide(counts[node][first + l]);
      }
      const std::vector<double> shares =
          dirichlet_draw(row, cells, network_draw_grid, key, draw, step);
      out[node].insert(out[node].end(), shares.begin(), shares.end());
      step += levels - 1;
    }
  }
  return out;
}

}  // namespace gibbsite
