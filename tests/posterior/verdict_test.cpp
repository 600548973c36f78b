// What is said of draws: each limit on both sides, every advice, the words as they are shown.
#include "gibbsite/posterior/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace gibbsite {
namespace verdict_test {

using ::testing::ElementsAre;

Summary summary(double r_hat, double bulk, double tail) {
  return {.r_hat = r_hat, .ess_bulk = bulk, .ess_tail = tail};
}
PosteriorDraws four_chains() { return {.chains = 4, .divergent = {0, 0, 0, 0}}; }

TEST(Verdict, ChainsThatAgreeAreUsable) {
  const std::vector<Summary> good{summary(1.0012, 1234.5, 800), summary(1.00987, 5000, 400)};
  const Verdict v = judge(good, four_chains());
  EXPECT_TRUE(v.usable());
  EXPECT_EQ(in_words(v),
            "the chains agree: every R-hat is below 1.01 (largest 1.0099), smallest effective "
            "sizes 1,234 (bulk) and 400 (tail)");
}

// 1.01 itself is not below it; 100 draws of each of four chains are enough, one less is not.
TEST(Verdict, LimitsAreWhereTheyAreSaidToBe) {
  const auto of = [](double r_hat, double bulk, double tail) {
    return judge(std::vector{summary(r_hat, bulk, tail)}, four_chains());
  };
  EXPECT_TRUE(of(std::nextafter(1.01, 0), 400, 400).usable());
  EXPECT_EQ(of(1.01, 400, 400).apart, 1U);
  EXPECT_EQ(of(NAN, 400, 400).apart, 1U);
  EXPECT_EQ(of(1, std::nextafter(400, 0), 400).few, 1U);
  EXPECT_EQ(of(1, 400, std::nextafter(400, 0)).few, 1U);
  EXPECT_EQ(of(1, NAN, NAN).few, 1U);
  for (const Verdict& v :
       {of(1.01, 400, 400), of(NAN, 400, 400), of(1, 399, 400), of(1, 400, 399), of(1, NAN, NAN)}) {
    EXPECT_FALSE(v.usable());
  }
  EXPECT_TRUE(std::isnan(of(NAN, 400, 400).r_hat));
}

TEST(Verdict, NamesWhatIsWrongAndWhatHelpsMost) {
  const std::vector<Summary> few{summary(1, 399, 5000), summary(1, 5000, 5000)};
  Verdict v = judge(few, four_chains());
  EXPECT_EQ(v.advice, Advice::more_draws_or_thinning);
  EXPECT_EQ(in_words(v),
            "do not rely on these draws yet: 1 of 2 have fewer than 100 effective draws a chain "
            "(smallest effective sizes 399 (bulk) and 5,000 (tail))");

  const std::vector<Summary> apart{summary(1.5, 20, 30), summary(NAN, 5000, 5000),
                                   summary(1.2, 5000, 5000)};
  v = judge(apart, four_chains());
  EXPECT_EQ(v.advice, Advice::longer_warm_up_and_more_draws);
  EXPECT_EQ(in_words(v),
            "do not rely on these draws yet: 3 of 3 parameters have an R-hat that is not below "
            "1.01 (largest nan), 1 of 3 have fewer than 100 effective draws a chain (smallest "
            "effective sizes 20 (bulk) and 30 (tail))");

  PosteriorDraws diverged = four_chains();
  diverged.divergent = {0, 1, 0, 1};
  EXPECT_EQ(judge(apart, diverged).advice, Advice::higher_target_acceptance);
  v = judge(std::vector{summary(1, 5000, 5000)}, diverged);
  EXPECT_EQ(v.advice, Advice::higher_target_acceptance);
  EXPECT_EQ(in_words(v), "do not rely on these draws yet: 2 transitions diverged");
}

TEST(Verdict, OneChainSaysNothingHoweverManyItsDraws) {
  PosteriorDraws one{.chains = 1, .divergent = {0}};
  const Verdict v = judge(std::vector{summary(1, 1e6, 1e6)}, one);
  EXPECT_EQ(v.advice, Advice::more_chains);
  EXPECT_EQ(in_words(v),
            "one chain: nothing says whether it has converged (smallest effective sizes 1,000,000 "
            "(bulk) and 1,000,000 (tail))");
}

// Certified draws are right one by one; what they lack is independence.
TEST(Verdict, DrawsWithinTheirGapAreCloseToEachOther) {
  PosteriorDraws certified = four_chains();
  certified.tv_gap = 1e-6;
  const Verdict v = judge(std::vector{summary(1.3, 50, 60)}, certified);
  EXPECT_EQ(v.advice, Advice::more_chains_or_thinning);
  EXPECT_EQ(in_words(v),
            "each draw keeps to its gap, but draws of one chain are close to each other: 1 of 1 "
            "parameters have an R-hat that is not below 1.01 (largest 1.3), 1 of 1 have fewer than "
            "100 effective draws a chain (smallest effective sizes 50 (bulk) and 60 (tail))");
  EXPECT_TRUE(judge(std::vector{summary(1, 400, 400)}, certified).usable());
}

TEST(WorstFirst, DisagreementBeforeFewDraws) {
  const std::vector<Summary> summaries{summary(1, 900, 800),     summary(1.2, 5000, 5000),
                                       summary(1.005, 700, 50),  summary(NAN, 1e5, 1e5),
                                       summary(1.3, 5000, 5000), summary(1, NAN, NAN),
                                       summary(1, 800, 900)};
  EXPECT_THAT(worst_first(summaries), ElementsAre(3, 4, 1, 5, 2, 0, 6));
}

}  // namespace verdict_test
}  // namespace gibbsite
