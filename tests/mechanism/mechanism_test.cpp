#include "gibbsite/mechanism/mechanism.hpp"

#include <gtest/gtest.h>

#include "gibbsite/mechanism/plan.hpp"

namespace gibbsite {
namespace mechanism_test {

struct Uncalibrated {};
struct Calibrated {
  Calibration calibration = Calibration::minami_cor8;
};

// Says all that a mechanism says of itself, but for one thing (0: all of it). From 8 on: claims a
// calibration that nobody checks, has one checked that it does not claim, does both.
template <int Lacks>
struct Dummy : std::conditional_t<Lacks == 8 || Lacks == 10, Calibrated, Uncalibrated> {
  static constexpr std::string_view name = "dummy";
  static constexpr std::string_view theorem = "docs/dummy.md";
  static constexpr SupportedOptions takes{.tv = true, .posterior_calibration = Lacks >= 9};
  // Fields of others, whose claims they do not bring along.
  double beta = 0, prior_precision = 0, tv_gap = 0, ridge = 0, gradient_norm = 0;

  template <class Self, class Visit>
  requires(Lacks != 11) static void fields(Self& self, Visit&& visit) {
    visit("beta", self.beta, Legal::positive);
  }
};

template <int Lacks>
requires(Lacks != 1) Candidate
    candidate(std::type_identity<Dummy<Lacks>>, const Problem&, const Budget&, const PlanOptions&);
template <int Lacks>
requires(Lacks != 2) Analysis
    analyze(const Dummy<Lacks>&, const Problem&, const Neighbors&, std::uint64_t);
template <int Lacks>
requires(Lacks != 3) std::string assumption_of(const Dummy<Lacks>&);
template <int Lacks>
requires(Lacks != 4) std::string_view run_time_tells(const Dummy<Lacks>&);
template <int Lacks>
requires(Lacks != 5) std::string basis_of(const Dummy<Lacks>&);
template <int Lacks>
requires(Lacks != 6) std::string procedure_of(const Dummy<Lacks>&, const Cost&);
template <int Lacks>
requires(Lacks != 7) std::optional<double> coefficient_noise_up(const Dummy<Lacks>&,
                                                                const Problem&);

TEST(MechanismTest, WhoeverDoesNotSayAllOfItselfIsLetIntoNoVariant) {
  static_assert(Described<Dummy<0>>);
  static_assert(!Described<Dummy<1>> && !Described<Dummy<2>> && !Described<Dummy<3>> &&
                !Described<Dummy<11>>);
  SUCCEED();
}
TEST(MechanismTest, WhatNeedNotBeSaidHasADefaultThatPromisesNothing) {
  static_assert(Described<Dummy<4>> && Described<Dummy<5>> && Described<Dummy<6>> &&
                Described<Dummy<7>>);
  EXPECT_FALSE(gibbsite::run_time_tells(Dummy<4>{}).empty()) << "its time is private";
  EXPECT_EQ(gibbsite::basis_of(Dummy<5>{}), "It rests on the theorem that the certificate names");
  EXPECT_EQ(gibbsite::procedure_of(Dummy<6>{}, {30, 30}), "about 30 passes over the data");
  EXPECT_FALSE(gibbsite::coefficient_noise_up(Dummy<7>{}, {}).has_value());
}
TEST(MechanismTest, ACalibrationThatNobodyChecksIsNone) {
  static_assert(!Described<Dummy<8>> && !Described<Dummy<9>> && Described<Dummy<10>>);
  SUCCEED();
}

}  // namespace mechanism_test
}  // namespace gibbsite
