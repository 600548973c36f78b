#include "gibbsite/privacy/guarantee.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "privacy/gap_price.hpp"
#include "privacy/wrong_guess.hpp"

namespace gibbsite {

double delta_up(const Guarantee& g, double epsilon) {
  const double most = round_down(Wide(epsilon) - Wide(g.epsilon0));
  const Wide gap = g.tv;
  if (!(most >= 0) || !(gap < Wide(0.5)) || !(g.delta0 < 1) || !std::isfinite(g.mu)) return 1;
  const auto delta_at = [&](double at) {
    return std::min(1.0, round_up(Wide(gdp_delta_up(at, g.mu)) + Wide(g.delta0) +
                                  gap_price(Wide(at) + Wide(g.epsilon0)) * gap));
  };
  if (!(g.mu > 0)) return delta_at(0);
  if (!(gap > 0)) return delta_at(most);
  // Every split is valid. Gaps are multiplied by e^(epsilon + pure), so the best is where
  // Phi(-mu/2 - epsilon/mu) = gap e^pure; the one of pure = 0 beside it, as it was before.
  double best = 1;
  for (const double factor : {1.0, std::exp(g.epsilon0)}) {
    const double tail = std::clamp(static_cast<double>(gap) * factor, 1e-300, 0.5);
    const double z = -boost::math::quantile(boost::math::normal{}, tail);
    best = std::min(best, delta_at(std::clamp(g.mu * (z - g.mu / 2), 0.0, most)));
  }
  return best;
}

double best_guess(const Guarantee& g) {
  const double missed = std::erfc(g.mu / 2 / std::sqrt(2.0));  // 2 Phi(-mu/2)
  return std::min(1.0, 1 - wrong_guess(g, missed));
}

double best_guess_percent(const Guarantee& g) { return std::ceil(best_guess(g) * 1000) / 10; }

Guarantee compose_up(std::span<const Guarantee> parts) {
  if (parts.empty()) throw BadInput("guarantees: there is none to compose; give at least one");
  std::vector<double> mus;
  Wide epsilon0 = 0, delta0 = 0, tv = 0;
  for (const Guarantee& part : parts) {
    if (part.who != parts.front().who) {
      throw BadInput(
          "guarantees: protect different neighbors; compose those of one adjacency and one number "
          "of rows per person");
    }
    mus.push_back(part.mu);
    epsilon0 += part.epsilon0;
    delta0 += part.delta0;
    tv += part.tv;
  }
  return {gdp_compose_up(mus), round_up(epsilon0), round_up(delta0), round_up(tv),
          parts.front().who};
}

}  // namespace gibbsite
