#include "gibbsite/mechanism/proximal.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/human_count.hpp"
#include "mechanism/gap.hpp"

namespace gibbsite {
namespace {

double smoothness_of(const Proximal& s, const Problem& problem) {
  return problem.smoothness_up(s.beta, s.prior_precision);
}

// ||grad U|| at the start: at theta0 for a padded run, at a minimizer found to a tolerance else.
double start_gradient(const Proximal& s, const Problem& problem, bool padded) {
  return padded ? start_gradient_up(problem, s.beta) : s.start_gradient_norm;
}

Cost lay_out(Proximal& s, const Problem& problem, double tv, const Wishes& wishes) {
  const auto d = static_cast<double>(problem.features);
  const double m = s.prior_precision, M = smoothness_of(s, problem),
               G = start_gradient(s, problem, wishes.padded);
  const double per_read = proposals_per_read(d);
  const auto ends = [&](const ProximalSchedule& tried) {
    return proximal_search_ends(problem, s.beta, m, M, tried, G);
  };
  s.schedule = proximal_schedule(d, m, M, tv, G, wishes.padded, per_read, ends, problem.traces);
  const ProximalSchedule& found = s.schedule;
  const ProximalPasses passes = proximal_passes(
      found,
      proposal_bounds(d, m, M, found.step_size, found.residual, problem.traces).acceptance_down);
  return {passes.gradients + passes.proposals,
          passes.gradients + passes.proposals * batch_cost(found.proposals, per_read)};
}

ProximalError error_of(const Proximal& s, const Problem& problem) {
  if (!s.padded() && !start_in_reach(s, problem)) {
    ProximalError none;
    none.map_error = std::numeric_limits<double>::infinity();
    none.total = 1;
    return none;
  }
  return proximal_error(problem, s.beta, s.prior_precision, smoothness_of(s, problem), s.schedule,
                        start_gradient(s, problem, s.padded()));
}

GapError gap_error(const Proximal& s, const Problem& problem) {
  const ProximalError error = error_of(s, problem);
  return {error.map_error, error.total};
}

Message merit(const Proximal& s) {
  return s.padded()
             ? "a draw within the gap of the Gibbs posterior, at a public number of passes"
             : format_message(
                   "a draw within the gap of the Gibbs posterior; the number of passes depends "
                   "on the data, so keep the time private or ask for it with {}",
                   Field{"padded"});
}

constexpr GapRules<Proximal> proximal_rules{lay_out, gap_error, merit, true};

}  // namespace

Offer offer(std::type_identity<Proximal> /*kind*/, const Problem& problem, const Budget& budget,
            const Wishes& wishes) {
  return paid_gap_offer(proximal_rules, problem, budget, wishes);
}

Analysis analyze(const Proximal& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  if (s.padded() != (s.start_gradient_norm == 0)) {
    throw BadInput(
        "start_gradient_norm: is 0 for a padded run, which starts at a public point, and above 0 "
        "for any other; use the file as it was written");
  }
  const ProximalError error = error_of(s, problem);
  const ProposalNoise noise{s.schedule,      s.prior_precision, smoothness_of(s, problem),
                            error.map_error, error.acceptance,  error.offset};
  return gap_analysis(s, problem, who, draws, error.total, noise);
}

std::string assumption_of(const Proximal& m) { return m.padded() ? "" : minimizer_assumption; }
std::string_view run_time_tells(const Proximal& m) { return m.padded() ? "" : proposes; }
std::string basis_of(const Proximal& m) { return gap_basis(m.tv_gap); }
std::string procedure_of(const Proximal& m, const Cost& cost) {
  return fmt::format("{} iterations of step {:.3g}, about {} passes",
                     human_count(m.schedule.iterations), m.schedule.step_size,
                     human_count(cost.passes));
}
std::optional<double> coefficient_noise_up(const Proximal& m, const Problem& /*problem*/) {
  return gibbs_noise_up(m.prior_precision);
}

}  // namespace gibbsite
