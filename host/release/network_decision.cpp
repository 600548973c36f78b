#include "gibbsite/release/network_decision.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "model/level_events.hpp"

namespace gibbsite {
namespace {

// Shares of the outcomes, and how far the rows' own may be, where that is known of all [outcomes].
struct OutcomeShares {
  std::vector<double> share, reach;
};

std::vector<std::uint32_t> places_of(const NetworkModel& model, std::uint32_t column,
                                     const UtilityTable& table) {
  const std::vector<std::string> levels = model.level_names(column);
  std::vector<std::uint32_t> out;
  for (const std::string& outcome : table.outcomes) {
    const auto at = std::ranges::find(levels, outcome);
    if (at == levels.end()) {
      throw BadInput(fmt::format("{}: {} is no level of {}; its levels are {}", table.source,
                                 gibbsite::quoted(outcome), gibbsite::quoted(model.names()[column]),
                                 listed_names(levels)));
    }
    const auto place = static_cast<std::uint32_t>(at - levels.begin());
    if (std::ranges::find(out, place) != out.end()) {
      throw BadInput(fmt::format("{}: {} is there twice; give each level one column", table.source,
                                 gibbsite::quoted(outcome)));
    }
    out.push_back(place);
  }
  if (out.size() != levels.size()) {
    throw BadInput(fmt::format("{}: {} outcomes for {} levels of {}; give each level a column",
                               table.source, out.size(), levels.size(),
                               gibbsite::quoted(model.names()[column])));
  }
  return out;
}

OutcomeShares shares_of(const NetworkModel& model, const NetworkQuestion& asked,
                        const UtilityTable& table) {
  const std::uint32_t column = asked.target.front().column;
  OutcomeShares out;
  for (const std::uint32_t level : places_of(model, column, table)) {
    NetworkQuestion one = asked;
    one.target = {{column, {level}}};
    const std::vector<double> draws = answer(model, one);
    out.share.push_back(std::accumulate(draws.begin(), draws.end(), 0.0) /
                        static_cast<double>(draws.size()));
    if (const auto reach = question_reach(model, one)) out.reach.push_back(*reach);
  }
  return out;
}

// The largest Σ_k gain_k p_k over shares p that sum to 1 and lie within their reach: each at its
// lower end, then what is left to those of the largest gain.
double largest_gain(const std::vector<double>& gain, const OutcomeShares& of) {
  std::vector<std::size_t> order(gain.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::greater{}, [&](std::size_t k) { return gain[k]; });
  const auto low = [&](std::size_t k) { return std::max(0.0, of.share[k] - of.reach[k]); };
  double left = 1, out = 0;
  for (const std::size_t k : order) left -= low(k);
  for (const std::size_t k : order) {
    const double more = std::clamp(left, 0.0, std::min(1.0, of.share[k] + of.reach[k]) - low(k));
    out += gain[k] * (low(k) + more);
    left -= more;
  }
  return out;
}

}  // namespace

NetworkDecision best_response(const NetworkModel& model, const NetworkQuestion& asked,
                              const UtilityTable& table) {
  const OutcomeShares shares = shares_of(model, asked, table);
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t r = 0; r < table.responses.size(); ++r) {
    order.emplace_back(
        std::inner_product(shares.share.begin(), shares.share.end(), table.utility[r].begin(), 0.0),
        r);
  }
  std::ranges::stable_sort(order, std::greater{}, &std::pair<double, std::size_t>::first);
  NetworkDecision out;
  for (const auto& [utility, r] : order) out.ranked.push_back({table.responses[r], utility});
  if (shares.reach.size() != shares.share.size()) return out;
  out.regret = 0;
  const std::vector<double>& chosen = table.utility[order.front().second];
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::vector<double> gain = table.utility[order[i].second];
    std::ranges::transform(gain, chosen, gain.begin(), std::minus{});
    const double most = largest_gain(gain, shares);
    if (most > *out.regret) out.regret = most, out.rival = out.ranked[i].name;
  }
  return out;
}

}  // namespace gibbsite
