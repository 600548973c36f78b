#include "posterior/posterior_proximal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "chains/minimizer.hpp"
#include "core/format_message.hpp"
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/chains/proximal.hpp"
#include "gibbsite/core/error.hpp"
#include "mechanism/minimizer_reach.hpp"

namespace gibbsite {
namespace {

using Clock = std::chrono::steady_clock;

double norm(std::span<const double> v) {
  double squared = 0;
  for (const double x : v) squared += x * x;
  return std::sqrt(squared);
}

// M, the schedule that keeps --tv, and the largest row.
struct Layout {
  double smoothness = 0, row_norm = 0;
  ProximalSchedule schedule;
};

Layout layout_within(const Potential& u, const PosteriorOptions& o, double G) {
  const Loss& loss = u.loss();
  if (!std::isfinite(loss.max_abs_derivative())) {
    throw BadInput(
        format_message("{} proximal", Field{"sampler"}),
        fmt::format(
            "what rounding does to it is known for losses whose slope is bounded, and {}'s is not",
            loss.name()),
        format_message("use {} hmc", Field{"sampler"}));
  }
  const RowNorms norms = u.engine->row_norms();
  Problem constants;
  constants.rows = u.engine->rows();
  constants.features = u.features();
  // n + d roundings at most.
  const double up = 1 + static_cast<double>(constants.rows + constants.features + 4) *
                            std::numeric_limits<double>::epsilon();
  constants.row_norm =
      std::max(std::sqrt(norms.largest_squared) * up, std::numeric_limits<double>::min());
  constants.offset_bound = u.engine->largest_offset();
  set_loss(constants, loss);
  constants.center_norm = norm(u.center);
  const double m = u.prior_precision;
  Layout out;
  out.row_norm = constants.row_norm;
  // These rows' own numbers: there is no privacy to keep, so M - m may be the trace itself.
  out.smoothness = std::max(m + u.beta * constants.curvature * (norms.sum_squares * up),
                            m * (1 + 4 * std::numeric_limits<double>::epsilon()));
  const auto ends = [&](const ProximalSchedule& tried) {
    return proximal_search_ends(constants, u.beta, m, out.smoothness, tried, G);
  };
  if (!minimizer_in_reach(constants, u.beta, m, constants.smoothness_up(u.beta, m), G)) {
    throw Infeasible(format_message("{} proximal", Field{"sampler"}),
                     "the minimizer that it starts from cannot be computed to within its "
                     "tolerance",
                     format_message("give a larger {}, or use {} hmc", Field{"prior_precision"},
                                    Field{"sampler"}));
  }
  for (const double share : {0.999, 0.9, 0.5}) {
    out.schedule = proximal_schedule(
        {static_cast<double>(u.features()), m, out.smoothness, share * o.tv, G, constants.traces},
        false, proposals_per_read(static_cast<double>(u.features())), ends);
    if (proximal_error(constants, u.beta, m, out.smoothness, out.schedule, G).total <= o.tv) {
      return out;
    }
  }
  throw Infeasible(
      Field{"tv"},
      fmt::format("{} is closer to the posterior than double arithmetic can keep", o.tv),
      format_message("ask for more, or use {} hmc", Field{"sampler"}));
}

}  // namespace

PosteriorDraws sample_proximal(const Potential& u, const PosteriorOptions& o) {
  const auto begin = Clock::now();
  const std::size_t d = u.features(), C = o.chains;
  const double G = 1e-3 * std::sqrt(u.prior_precision);
  const Layout layout = layout_within(u, o, G);
  if (!u.engine->certifiable()) {
    throw BadInput(Field{"sampler"}, "proximal needs double arithmetic", "choose another backend");
  }
  const auto minimizer = minimizer_within(u, layout.row_norm, G);
  ProximalChains chains(u, layout.schedule, minimizer, C, o.key);
  chains.start_at_random(1 / std::sqrt(layout.smoothness));

  const auto burn_in = static_cast<std::uint64_t>(layout.schedule.iterations);
  const std::uint64_t total = burn_in + (o.draws - 1) * o.thinning;
  auto reported = begin;
  const auto go_on_to = [&](std::uint64_t iteration) {
    while (chains.advance(iteration)) {
      if (o.stop != nullptr && *o.stop) {
        throw Interrupted(fmt::format("interrupted after {} of {} iterations; nothing was kept",
                                      std::ranges::min(chains.iterations()), total));
      }
      if (o.progress && Clock::now() - reported > std::chrono::milliseconds(200)) {
        reported = Clock::now();
        o.progress(std::ranges::min(chains.iterations()), total);
      }
    }
  };
  PosteriorDraws out;
  out.draws = o.draws;
  out.chains = C;
  out.parameters = d;
  out.transition = Transition::proximal;
  out.tv_gap = o.tv;
  out.burn_in = burn_in;
  out.step_size = layout.schedule.step_size;
  go_on_to(burn_in);
  const auto warm = Clock::now();
  const ProximalCounts before = chains.counts();
  std::vector<double> theta(C * d), loss(C);
  for (std::uint64_t n = 0; n < o.draws; ++n) {
    go_on_to(burn_in + n * o.thinning);
    for (std::size_t c = 0; c < C; ++c) {
      std::ranges::copy(chains.theta(c), theta.begin() + static_cast<std::ptrdiff_t>(c * d));
    }
    u.engine->loss_values({theta.data(), C, d}, loss);
    for (std::size_t c = 0; c < C; ++c) {
      double squared = 0;
      for (std::size_t j = 0; j < d; ++j) {
        const double away = theta[c * d + j] - (u.center.empty() ? 0.0 : u.center[j]);
        squared += away * away;
      }
      out.log_density.push_back(-(u.beta * loss[c] + u.prior_precision / 2 * squared));
      out.energy.push_back(-out.log_density.back());
    }
    out.values.insert(out.values.end(), theta.begin(), theta.end());
  }
  const ProximalCounts& after = chains.counts();
  const double accepted = static_cast<double>(after.accepted - before.accepted) /
                          std::max(1.0, static_cast<double>(after.proposals - before.proposals));
  out.acceptance.assign(out.energy.size(), o.draws > 1 ? accepted : 1.0);
  out.divergent.assign(out.energy.size(), 0);
  out.gradients = (after.gradients - before.gradients) / C;
  out.warm_up_seconds = std::chrono::duration<double>(warm - begin).count();
  out.sampling_seconds = std::chrono::duration<double>(Clock::now() - warm).count();
  if (o.progress) o.progress(total, total);
  return out;
}

}  // namespace gibbsite
