#include "gibbsite/posterior/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gibbsite/core/human_count.hpp"
#include "gibbsite/posterior/nested.hpp"

namespace gibbsite {
namespace {

double least_effective(const Summary& s) { return std::min(s.ess_bulk, s.ess_tail); }
bool agrees(const Summary& s) { return s.r_hat < s.r_hat_limit; }

Advice advice(const Verdict& v) {
  if (v.chains == 1 || (v.unjudged > 0 && v.apart == 0)) return Advice::more_chains;
  if (v.apart == 0 && v.few == 0 && v.divergent == 0) return Advice::none;
  if (v.within_gap) return Advice::more_chains_or_thinning;
  if (v.divergent > 0) return Advice::higher_target_acceptance;
  return v.apart > 0 ? Advice::longer_warm_up_and_more_draws : Advice::more_draws_or_thinning;
}

std::string limit(const Verdict& v) {
  return v.superchains > 0 ? fmt::format("{:.4f}", v.r_hat_limit) : fmt::format("{}", most_r_hat);
}

std::string findings(const Verdict& v, const std::string& sizes) {
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  if (v.apart > 0) {
    add(fmt::format("{} of {} parameters have {} that is not below {} (largest {:.4g})", v.apart,
                    v.parameters, v.superchains > 0 ? "a nested R-hat" : "an R-hat", limit(v),
                    v.r_hat));
  }
  if (v.few > 0) {
    add(fmt::format("{} of {} have fewer than {} effective draws{} ({})", v.few, v.parameters,
                    v.superchains > 0 ? least_effective_of_short_chains : least_effective_per_chain,
                    v.superchains > 0 ? "" : " a chain", sizes));
  }
  if (v.divergent > 0) add(fmt::format("{} transitions diverged", v.divergent));
  return out;
}

}  // namespace

std::vector<Summary> summaries_of(const PosteriorDraws& draws,
                                  std::span<const double> probabilities) {
  if (draws.superchains > 0)
    return summarize_nested(draws.view(), draws.superchains, probabilities);
  return summarize(draws.view(), probabilities);
}

Verdict judge(std::span<const Summary> summaries, const PosteriorDraws& draws) {
  Verdict v{.chains = draws.chains,
            .parameters = summaries.size(),
            .superchains = draws.superchains,
            .draws = draws.draws,
            .r_hat_limit = most_r_hat,
            .divergent = static_cast<std::size_t>(std::ranges::count(draws.divergent, 1)),
            .bulk = std::numeric_limits<double>::infinity(),
            .tail = std::numeric_limits<double>::infinity(),
            .within_gap = draws.tv_gap > 0};
  const double enough = draws.superchains > 0
                            ? least_effective_of_short_chains
                            : least_effective_per_chain * static_cast<double>(draws.chains);
  for (const Summary& s : summaries) {
    if (!agrees(s)) ++v.apart;
    if (!(least_effective(s) >= enough)) ++v.few;
    if (agrees(s) && s.r_hat_limit > most_nested_limit) ++v.unjudged;
    if (!std::isnan(v.r_hat) && !(s.r_hat <= v.r_hat)) {
      v.r_hat = s.r_hat;
      v.r_hat_limit = s.r_hat_limit;
    }
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
      if (v.superchains > 0) {
        return fmt::format(
            "the {} groups of chains agree: every nested R-hat is below its limit (largest {:.4f}, "
            "limit {}), {}",
            v.superchains, v.r_hat, limit(v), sizes);
      }
      return fmt::format("the chains agree: every R-hat is below {} (largest {:.4f}), {}",
                         most_r_hat, v.r_hat, sizes);
    case Advice::more_chains:
      if (v.unjudged > 0) {
        return fmt::format(
            "{} chains of {} draws cannot say whether they have converged: chance alone moves "
            "the nested R-hat of {} of {} parameters by more than {:.2g} ({})",
            v.chains, v.draws, v.unjudged, v.parameters, most_nested_limit - most_r_hat, sizes);
      }
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
