#include "gibbsite/privacy/privacy_cost.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/privacy/gdp_fit.hpp"
#include "privacy/oracle.hpp"
#include "support/reference_values.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace privacy_cost_test {

using testing::Oracle;

Oracle oracle_of(const Decimal& x) { return Oracle(x.text()); }

using support::number;

TEST(PrivacyCost, SumsGiveTheVectorsOfALedger) {
  const auto cases = support::reference_cases("mechanisms_ledger");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  for (const auto& c : cases) {
    PrivacyCost sum;
    const auto add = [&](const Guarantee& g) { sum = sum + privacy_cost_up(gdp_cover_up(g)); };
    for (const auto& mu : c["mus"]) add({.mu = number(mu)});
    for (const auto& epsilon : c["pure"]) add({.epsilon0 = number(epsilon)});
    for (const auto& pair : c["approx"])
      add({.epsilon0 = number(pair[0]), .delta0 = number(pair[1])});
    for (const auto& gap : c["tv_gaps"]) add({.tv = number(gap)});
    const Guarantee all = guarantee_of(sum, {});
    EXPECT_NEAR(all.mu / number(c["mu_total"]), 1, 1e-14);
    // As it stands in the vectors: the whole of epsilon for every part.
    const double epsilon = number(c["epsilon"]);
    const Oracle expected =
        testing::oracle_delta(epsilon, Oracle(c["mu_total"].get<std::string>())) +
        oracle_of(sum.delta0) + (1 + exp(Oracle(epsilon))) * oracle_of(sum.tv);
    EXPECT_NEAR(static_cast<double>(expected) / number(c["delta"]), 1, 1e-12);
    EXPECT_LE(delta_up(all, epsilon), number(c["delta"]) * (1 + 1e-12));
  }
}

TEST(PrivacyCost, CapsKeepTheirEpsilonAndDelta) {
  for (const double epsilon : {1e-6, 0.01, 0.5, 1.0, 2.0, 5.0, 12.0, 20.0}) {
    for (const double delta : {0.4, 1e-3, 1e-6, 1e-9, 1e-15}) {
      const PrivacyCost caps = caps_down(epsilon, delta);
      const Oracle mu = sqrt(oracle_of(caps.mu_squared));
      const Oracle spent = testing::oracle_delta(epsilon, mu) + oracle_of(caps.delta0) +
                           (1 + exp(Oracle(epsilon))) * oracle_of(caps.tv);
      EXPECT_LE(spent, Oracle(delta)) << epsilon << " " << delta;
      EXPECT_GT(spent, Oracle(delta) * 0.999) << epsilon << " " << delta;  // nor is any wasted
      EXPECT_LE(delta_up(guarantee_of(caps, {}), epsilon), delta);
    }
  }
  EXPECT_THROW(caps_down(0, 1e-6), BadInput);
  EXPECT_THROW(caps_down(1, 0), BadInput);
  EXPECT_THROW(caps_down(std::nan(""), 1e-6), BadInput);
  EXPECT_THROW(caps_down(1, 1e-6, {.delta0 = 0.6, .tv = 0.4}), BadInput);
  EXPECT_THROW(caps_down(1, 1e-6, {.delta0 = 0.1, .tv = 0}), BadInput);
  EXPECT_THROW(caps_down(1, 1e-6, {.delta0 = -0.1, .tv = 0.1}), BadInput);
  EXPECT_THROW(caps_down(200, 1e-6), BadInput);  // e^200: no gap of 1e-30 can be paid
}

TEST(PrivacyCost, WhatHasNoPlaceIsRefused) {
  EXPECT_THROW(privacy_cost_up({.mu = 0.1, .epsilon0 = 1e-300}), BadInput);
  EXPECT_THROW(privacy_cost_up({.mu = HUGE_VAL}), BadInput);
  EXPECT_THROW(privacy_cost_up({.mu = std::nan("")}), BadInput);
  EXPECT_THROW(privacy_cost_up({.mu = 0.1, .delta0 = 1}), BadInput);
  EXPECT_THROW(privacy_cost_up({.mu = 0.1, .tv = 1}), BadInput);
  EXPECT_THROW(privacy_cost_up({.mu = 0.1, .tv = std::nan("")}), BadInput);
}

// Whoever chooses releases in the light of all before cannot pass a cap: recounted in 100 digits
// from the guarantees themselves, and nothing that had room is refused.
TEST(PrivacyCost, TenThousandAdaptiveSequencesKeepTheirCaps) {
  std::mt19937_64 random(20261123);
  std::uniform_real_distribution<double> uniform;
  const PrivacyCost caps = caps_down(1.0, 1e-6);
  const double mu = guarantee_of(caps, {}).mu, delta0 = guarantee_of(caps, {}).delta0,
               tv = guarantee_of(caps, {}).tv;
  const int sequences = support::repeats(10'000, 500);
  int refused = 0, taken = 0;
  for (int sequence = 0; sequence < sequences; ++sequence) {
    PrivacyCost spent;
    Oracle mu_squared = 0, told = 0, apart = 0;
    for (int i = 0; i < 12; ++i) {
      // The adversary: what would just fit, a little more, the rest of one amount, or anything.
      const PrivacyCost left = left_of(caps, spent);
      const auto rest = [](const Decimal& x) { return static_cast<double>(x.wide()); };
      const double part = uniform(random) < 0.3 ? 1 : uniform(random);
      Guarantee g{.mu = std::sqrt(rest(left.mu_squared)) * part,
                  .delta0 = rest(left.delta0) * uniform(random),
                  .tv = rest(left.tv) * uniform(random)};
      if (uniform(random) < 0.2) g.mu = std::nextafter(g.mu, 1.0);
      if (uniform(random) < 0.1) g.mu = mu * std::pow(10.0, -8 * uniform(random));
      if (uniform(random) < 0.1) g.delta0 = delta0 * uniform(random);
      if (uniform(random) < 0.1) g.tv = tv * uniform(random);
      const PrivacyCost sum = spent + privacy_cost_up(g);
      const Oracle next = mu_squared + Oracle(g.mu) * Oracle(g.mu);
      const bool has_room = next <= oracle_of(caps.mu_squared) &&
                            told + Oracle(g.delta0) <= oracle_of(caps.delta0) &&
                            apart + Oracle(g.tv) <= oracle_of(caps.tv);
      if (!within(sum, caps)) {
        // Refused in vain only within what a dozen roundings of 1e-30 of itself come to.
        const Oracle slack = Oracle("1e-28");
        ASSERT_TRUE(!has_room || next > oracle_of(caps.mu_squared) - slack ||
                    told + Oracle(g.delta0) > oracle_of(caps.delta0) - slack ||
                    apart + Oracle(g.tv) > oracle_of(caps.tv) - slack);
        ++refused;
        continue;
      }
      ASSERT_TRUE(has_room);
      spent = sum;
      mu_squared = next;
      told += Oracle(g.delta0);
      apart += Oracle(g.tv);
      ++taken;
    }
    ASSERT_LE(mu_squared, oracle_of(spent.mu_squared));
    ASSERT_LE(told, oracle_of(spent.delta0));
    ASSERT_LE(apart, oracle_of(spent.tv));
  }
  EXPECT_GT(refused, sequences);
  EXPECT_GT(taken, sequences);
}

}  // namespace privacy_cost_test
}  // namespace gibbsite
