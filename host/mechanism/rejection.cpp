#include "gibbsite/mechanism/rejection.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "gibbsite/core/human_count.hpp"
#include "mechanism/gap.hpp"

namespace gibbsite {
namespace {

double smoothness_of(const Rejection& s, const Problem& problem) {
  return problem.smoothness_up(s.beta, s.prior_precision);
}

Cost lay_out(Rejection& s, const Problem& problem, double tv, const Wishes& /*wishes*/) {
  const auto d = static_cast<double>(problem.features);
  const double m = s.prior_precision, M = smoothness_of(s, problem), G = s.start_gradient_norm;
  const double per_read = proposals_per_read(d);
  const ProximalSchedule found = rejection_schedule(d, m, M, tv, G, per_read, problem.traces);
  s.proposals = found.proposals;
  s.rounds = found.rounds;
  s.residual = found.residual;
  const ProximalPasses passes = proximal_passes(
      found,
      proposal_bounds(d, m, M, found.step_size, found.residual, problem.traces).acceptance_down);
  return {passes.gradients + passes.proposals,
          passes.gradients + passes.proposals * batch_cost(found.proposals, per_read)};
}

ProximalError error_of(const Rejection& s, const Problem& problem) {
  if (!start_in_reach(s, problem)) {
    ProximalError none;
    none.map_error = std::numeric_limits<double>::infinity();
    none.total = 1;
    return none;
  }
  return proximal_error(problem, s.beta, s.prior_precision, smoothness_of(s, problem), s.schedule(),
                        s.start_gradient_norm);
}

GapError gap_error(const Rejection& s, const Problem& problem) {
  const ProximalError error = error_of(s, problem);
  return {error.map_error, error.total};
}

Message merit(const Rejection& /*s*/) {
  return "an exact draw but for the gap, the chance that no proposal is accepted; the number "
         "of passes depends on the data, so keep the time private";
}

constexpr GapRules<Rejection> rejection_rules{lay_out, gap_error, merit, true};

}  // namespace

Offer offer(std::type_identity<Rejection> /*kind*/, const Problem& problem, const Budget& budget,
            const Wishes& wishes) {
  return paid_gap_offer(rejection_rules, problem, budget, wishes);
}

Analysis analyze(const Rejection& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  const ProximalError error = error_of(s, problem);
  const ProposalNoise noise{s.schedule(),    s.prior_precision, smoothness_of(s, problem),
                            error.map_error, error.acceptance,  error.offset};
  return gap_analysis(s, problem, who, draws, error.total, noise);
}

std::string assumption_of(const Rejection& /*m*/) { return minimizer_assumption; }
std::string_view run_time_tells(const Rejection& /*m*/) { return proposes; }
std::string basis_of(const Rejection& m) { return gap_basis(m.tv_gap); }
std::string procedure_of(const Rejection& /*m*/, const Cost& cost) {
  return fmt::format("proposals until one is accepted, about {} passes", human_count(cost.passes));
}
std::optional<double> coefficient_noise_up(const Rejection& m, const Problem& /*problem*/) {
  return gibbs_noise_up(m.prior_precision);
}

}  // namespace gibbsite
