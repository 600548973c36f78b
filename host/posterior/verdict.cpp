#include "gibbsite/posterior/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gibbsite/core/human_count.hpp"

namespace gibbsite {
namespace {

double least_effective(const Summary& s) { return std::min(s.ess_bulk, s.ess_tail); }
bool agrees(const Summary& s) { return s.r_hat < most_r_hat; }

Advice advice(const Verdict& v) {
  if (v.chains == 1) return Advice::more_chains;
  if (v.apart == 0 && v.few == 0 && v.divergent == 0) return Advice::none;
  if (v.within_gap) return Advice::more_chains_or_thinning;
  if (v.divergent > 0) return Advice::higher_target_acceptance;
  return v.apart > 0 ? Advice::longer_warm_up_and_more_draws : Advice::more_draws_or_thinning;
}

std::string findings(const Verdict& v, const std::string& sizes) {
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  if (v.apart > 0) {
    add(fmt::format("{} of {} parameters have an R-hat that is not below {} (largest {:.4g})",
                    v.apart, v.parameters, most_r_hat, v.r_hat));
  }
  if (v.few > 0) {
    add(fmt::format("{} of {} have fewer than {} effective draws a chain ({})", v.few, v.parameters,
                    least_effective_per_chain, sizes));
  }
  if (v.divergent > 0) add(fmt::format("{} transitions diverged", v.divergent));
  return out;
}

}  // namespace

Verdict judge(std::span<const Summary> summaries, const PosteriorDraws& draws) {
  Verdict v{.chains = draws.chains,
            .parameters = summaries.size(),
            .divergent = static_cast<std::size_t>(std::ranges::count(draws.divergent, 1)),
            .bulk = std::numeric_limits<double>::infinity(),
            .tail = std::numeric_limits<double>::infinity(),
            .within_gap = draws.tv_gap > 0};
  const double enough = least_effective_per_chain * static_cast<double>(draws.chains);
  for (const Summary& s : summaries) {
    if (!agrees(s)) ++v.apart;
    if (!(least_effective(s) >= enough)) ++v.few;
    if (!std::isnan(v.r_hat) && !(s.r_hat <= v.r_hat)) v.r_hat = s.r_hat;
    v.bulk = std::min(v.bulk, s.ess_bulk);
    v.tail = std::min(v.tail, s.ess_tail);
  }
  v.advice = advice(v);
  return v;
}

std::string in_words(const Verdict& v) {
  const std::string sizes =
      fmt::format("smallest effective sizes {} (bulk) and {} (tail)",
                  human_count(std::floor(v.bulk)), human_count(std::floor(v.tail)));
  switch (v.advice) {
    case Advice::none:
      return fmt::format("the chains agree: every R-hat is below {} (largest {:.4f}), {}",
                         most_r_hat, v.r_hat, sizes);
    case Advice::more_chains:
      return fmt::format("one chain: nothing says whether it has converged ({})", sizes);
    case Advice::more_chains_or_thinning:
      return "each draw keeps to its gap, but draws of one chain are close to each other: " +
             findings(v, sizes);
    default:
      return "do not rely on these draws yet: " + findings(v, sizes);
  }
}

std::vector<std::size_t> worst_first(std::span<const Summary> summaries) {
  std::vector<std::size_t> order(summaries.size());
  std::iota(order.begin(), order.end(), 0);
  const auto disagreement = [&](std::size_t j) {
    const Summary& s = summaries[j];
    return agrees(s) ? 0 : std::isnan(s.r_hat) ? std::numeric_limits<double>::infinity() : s.r_hat;
  };
  const auto effective = [&](std::size_t j) {
    const double e = least_effective(summaries[j]);
    return std::isnan(e) ? 0 : e;
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return disagreement(a) != disagreement(b) ? disagreement(a) > disagreement(b)
                                              : effective(a) < effective(b);
  });
  return order;
}

}  // namespace gibbsite
