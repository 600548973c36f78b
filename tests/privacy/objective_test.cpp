// Objective perturbation's profile: reference values, the integral against quadrature, and laws of
// neighbors in one dimension that try to break it. What is planted must break.
#include "gibbsite/privacy/objective.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/reference_values.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace objective_test {

using boost::math::quadrature::gauss_kronrod;
using ::testing::HasSubstr;

constexpr Neighbors add_remove{Adjacency::add_remove, 1}, replace_one{Adjacency::replace_one, 1};

double number(const nlohmann::json& c, const char* name) { return support::number(c[name]); }

// Above the reference, by `loose` of it at most; both have their own rounding.
void expect_just_above(double claim, double truth, double loose) {
  EXPECT_GE(claim, truth * (1 - 1e-8));
  EXPECT_LE(claim, truth * (1 + loose));
}

TEST(Objective, DeltasAreThoseOfTheReferenceValues) {
  const auto cases = support::reference_cases("mechanisms_objective_perturbation");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  ASSERT_GE(cases.size(), 6U);
  for (const auto& c : cases) {
    const double epsilon = number(c, "epsilon"), s = number(c, "s"), t = number(c, "t");
    expect_just_above(objective_excess_up(epsilon, s, t), number(c, "excess"), 3e-6);
    for (const bool one : {true, false}) {
      const std::string name = one ? "one_signed_" : "two_signed_";
      const ObjectivePair pair{s, t, one, Calibration::exact};
      expect_just_above(objective_insert_delta_up(pair, epsilon),
                        number(c, (name + "insert").c_str()), 1e-9);
      expect_just_above(objective_delete_delta_up(pair, epsilon),
                        number(c, (name + "delete").c_str()), 3e-6);
    }
    const ObjectivePair published{s, t, false, Calibration::redberg};
    expect_just_above(objective_insert_delta_up(published, epsilon), number(c, "redberg"), 1e-9);
    EXPECT_EQ(objective_insert_delta_up(published, epsilon),
              objective_delete_delta_up(published, epsilon));
  }
}

TEST(Objective, TheScaleIsThatOfTheReferenceValuesToAMillionth) {
  const auto cases = support::reference_cases("mechanisms_objective_perturbation");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  for (const auto& c : cases) {
    const double epsilon = number(c, "epsilon"), s = number(c, "s"), t = number(c, "t");
    for (const bool one : {true, false}) {
      const std::string name = one ? "one_signed_" : "two_signed_";
      const double delta =
          std::max(number(c, (name + "insert").c_str()), number(c, (name + "delete").c_str()));
      const ObjectivePair pair{0, t, one, Calibration::exact};
      const double found = objective_scale_down(pair, epsilon, delta, add_remove).s;
      EXPECT_NEAR(found / s, 1, 1e-6) << c;
      EXPECT_LE(found, s * (1 + 1e-9)) << c;
    }
    if (t < 1 && number(c, "redberg") < 1) {
      const ObjectivePair pair{0, t, false, Calibration::redberg};
      EXPECT_NEAR(objective_scale_down(pair, epsilon, number(c, "redberg"), add_remove).s / s, 1,
                  1e-6);
    }
  }
}

TEST(Objective, ThePublishedFormIsThatOfItsReferenceValues) {
  const auto cases = support::reference_cases("objective_perturbation");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  for (const auto& c : cases) {
    const ObjectivePair pair{number(c, "lipschitz") / number(c, "sigma"),
                             number(c, "smoothness") / number(c, "ridge"), false,
                             Calibration::redberg};
    expect_just_above(
        objective_delta_up(pair, number(c, "epsilon"), number(c, "epsilon"), add_remove),
        number(c, "delta"), 1e-9);
  }
  // The branch below s^2/2: without a determinant.
  for (const auto& c : support::reference_cases("mechanisms_objective_negative_branch")) {
    const ObjectivePair pair{number(c, "s"), 1e-300, false, Calibration::redberg};
    expect_just_above(objective_insert_delta_up(pair, number(c, "epsilon")),
                      number(c, "by_quadrature"), 1e-9);
    EXPECT_GT(objective_insert_delta_up(pair, number(c, "epsilon")),
              number(c, "with_L2_over_sigma2"));
  }
}

// sigma/L to four digits; replace-one is searched finer here than there.
TEST(Objective, TheTableOfScales) {
  const double t[] = {0.02, 0.1, 0.25, 0.5, 1.0};
  const double alone[] = {4.304, 4.397, 4.703, 5.714, 9.735};
  const double replaced[] = {8.593, 8.800, 9.845, 12.37, 22.16};
  for (int i = 0; i < 5; ++i) {
    const ObjectivePair pair{0, t[i], true, Calibration::exact};
    EXPECT_NEAR(1 / objective_scale_down(pair, 1, 1e-6, add_remove).s / alone[i], 1, 2e-4);
    EXPECT_NEAR(1 / objective_scale_down(pair, 1, 1e-6, replace_one).s / replaced[i], 1, 4e-4);
  }
}

// --- the integral -----------------------------------------------------------------------------

double phi(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }

// M(v) by its definition: a scan over y, refined about the best of it.
double highest(double epsilon, double t, double v) {
  const auto at = [&](double y) {
    const double base = std::exp(epsilon - y * y / 2) / std::sqrt(2 * M_PI);
    return std::max(0.0, (1 + t) * phi(y - v) - base) - std::max(0.0, phi(y - v) - base);
  };
  double lo = -6, hi = std::max(12.0, epsilon / v + v + 3), best = 0;
  for (int round = 0; round < 8; ++round) {
    const double step = (hi - lo) / 300;
    double where = lo;
    for (double y = lo; y <= hi; y += step) {
      if (at(y) > best) best = at(y), where = y;
    }
    lo = where - 2 * step;
    hi = where + 2 * step;
  }
  return best;
}

// Over convex and concave parts of M, both sides of its turn, c below and above epsilon: whatever
// the number of panels the sum is above the integral, and many of them are close.
TEST(Objective, TheIntegralIsBoundedFromAboveAndClosely) {
  int cases = 0;
  support::Thinned sweep(11);
  for (const double epsilon : {0.05, 0.5, 1.0, 4.0}) {
    for (const double part : {0.05, 0.3, 0.7, 1.0}) {
      for (const double t : {0.01, 0.2, 0.65, 2.0, 30.0}) {
        if (sweep.skips()) continue;
        const double s = part * std::sqrt(2 * epsilon) * (1 - 1e-12);
        double truth = 0;
        for (int i = 0; i < 6; ++i) {
          truth += gauss_kronrod<double, 31>::integrate(
              [&](double v) { return highest(epsilon, t, v) / t; }, s * i / 6, s * (i + 1) / 6, 0);
        }
        if (truth < 1e-30) continue;
        for (const int panels : {1, 2, 3, 5, 8, 13, 40, 200}) {
          EXPECT_GE(objective_excess_up(epsilon, s, t, panels), truth * (1 - 2e-6))
              << epsilon << ' ' << s << ' ' << t << ' ' << panels;
        }
        EXPECT_LE(objective_excess_up(epsilon, s, t), truth * (1 + 1e-4))
            << epsilon << ' ' << s << ' ' << t;
        ++cases;
      }
    }
  }
  EXPECT_GE(cases, support::repeats(55, 5));
}

TEST(Objective, TheIntegralGrowsWithWhatMakesItGrow) {
  for (const double epsilon : {0.3, 1.0}) {
    for (const double s : {0.1, 0.5}) {
      for (const double t : {0.1, 0.4, 1.5}) {
        const double here = objective_excess_up(epsilon, s, t);
        EXPECT_GT(objective_excess_up(epsilon, s * 1.01, t), here);
        EXPECT_GT(objective_excess_up(epsilon, s, t * 1.01), here);
        EXPECT_LT(objective_excess_up(epsilon * 1.01, s, t), here);
      }
    }
  }
}

// --- laws ---------------------------------------------------------------------------------------

// psi and its slope, in units of sigma: what the row adds to the noise that gives the same minimum.
struct Row {
  std::function<double(double)> psi, slope;
  double step = 1.0 / 1024;  // of sums over its law: as fine as its jumps need
};

// Mass that p has beyond e^epsilon times q.
double hockey_stick(const std::function<double(double)>& p, const std::function<double(double)>& q,
                    double epsilon, double step) {
  double sum = 0;
  for (double y = -12 + step / 2; y < 12; y += step) {
    sum += std::max(0.0, p(y) - std::exp(epsilon) * q(y)) * step;
  }
  return sum;
}

std::function<double(double)> law_of(const Row& row) {
  return [row](double y) { return phi(y - row.psi(y)) * (1 - row.slope(y)); };
}

// One row: theta = -sigma y/Lambda, psi = f'(theta + center)/sigma, where others have moved theta
// by `center`.
Row logistic_row(double s, double t, double label, double center = 0) {
  // L = R = 1, phi = 1/4: sigma = 1/s, Lambda = 1/(4t), theta = -y/(s Lambda).
  const double ridge = 1 / (4 * t);
  const auto at = [=](double y) { return center - y / (s * ridge); };
  return {[=](double y) { return -label * s / (1 + std::exp(label * at(y))); },
          [=](double y) {
            const double e = 1 / (1 + std::exp(at(y)));
            return -e * (1 - e) / ridge;
          }};
}

// Huber's loss about zero: f' = clip(theta, -1, 1), phi = 1, Lambda = 1/t.
Row huber_row(double s, double t, double center = 0) {
  return {[=](double y) { return s * std::clamp(-t * y / s - center, -1.0, 1.0); },
          [=](double y) { return std::abs(-t * y / s - center) < 1 ? -t : 0.0; }, 1.0 / 16384};
}

// The worst: level v is left where that pays most, y = v + w, by pieces of slope -t and 0.
Row chattering_row(double epsilon, double s, double t) {
  constexpr int pieces = 300;
  std::vector<double> starts, levels;  // psi falls from a level to the next from its start on
  double behind = -1e9;
  for (int i = 0; i < pieces; ++i) {
    const double v = s * (pieces - i) / pieces;
    double best = 0, where = 0;
    for (double y = v; y < epsilon / v + v / 2; y += 1e-3) {
      const double gain = (1 + t) * phi(y - v) - std::exp(epsilon) * phi(y);
      if (gain > best) best = gain, where = y;
    }
    behind = std::max(behind, where);
    starts.push_back(behind);
    levels.push_back(v);
    behind += s / pieces / t;
  }
  const auto at = [=](double y) {
    const auto after = std::upper_bound(starts.begin(), starts.end(), y) - starts.begin();
    if (after == 0) return std::pair{s, 0.0};
    const auto i = static_cast<std::size_t>(after - 1);
    const double fallen = t * (y - starts[i]), drop = s / pieces;
    return fallen < drop ? std::pair{levels[i] - fallen, -t} : std::pair{levels[i] - drop, 0.0};
  };
  return {[at](double y) { return at(y).first; }, [at](double y) { return at(y).second; },
          1.0 / 16384};
}

// The largest ratio of a law's hockey stick to what is claimed for it, over epsilon and directions.
double worst_ratio(const Row& row, const std::function<double(double, bool)>& claim,
                   std::initializer_list<double> epsilons) {
  double worst = 0;
  for (const double epsilon : epsilons) {
    for (const bool deletes : {false, true}) {
      const auto with = law_of(row);
      const double truth = deletes ? hockey_stick(with, phi, epsilon, row.step)
                                   : hockey_stick(phi, with, epsilon, row.step);
      if (truth > 1e-7) worst = std::max(worst, truth / claim(epsilon, deletes));
    }
  }
  return worst;
}

const auto epsilons = {0.0, 0.02, 0.1, 0.45, 1.0, 2.0};

std::function<double(double, bool)> claim_of(double s, double t, bool one_signed) {
  return [=](double epsilon, bool deletes) {
    const ObjectivePair pair{s, t, one_signed, Calibration::exact};
    return deletes ? objective_delete_delta_up(pair, epsilon)
                   : objective_insert_delta_up(pair, epsilon);
  };
}

// Every law is below its profile at every epsilon, in either direction; and what is planted is not.
TEST(ObjectiveLaw, OfOneRowIsBelowTheProfile) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  for (const double s : {0.2367, 0.7, 1.0, 2.0}) {
    for (const double t : {0.05, 0.25, 0.65, 1.6}) {
      for (const double label : {1.0, -1.0}) {
        for (const double center : {0.0, -3.0, 6.0}) {
          const Row row = logistic_row(s, t, label, center);
          EXPECT_LE(worst_ratio(row, claim_of(s, t, true), epsilons), 1 + 1e-5) << s << ' ' << t;
        }
      }
      for (const double center : {0.0, 0.8}) {
        EXPECT_LE(worst_ratio(huber_row(s, t, center), claim_of(s, t, false), epsilons), 1 + 1e-5)
            << s << ' ' << t;
      }
    }
  }
}

TEST(ObjectiveLaw, OfTheWorstRowComesCloseAndStaysBelow) {
  double closest = 0;
  support::Thinned sweep(3);
  for (const auto& [epsilon, s, t] :
       {std::array{1.0, 0.2367, 0.65}, std::array{1.0, 0.5, 0.3}, std::array{0.5, 0.4, 0.3}}) {
    if (sweep.skips()) continue;
    const Row row = chattering_row(epsilon, s, t);
    const auto claim = claim_of(s, t, true);
    const double ratio =
        support::sanitized ? worst_ratio(row, claim, {1.0}) : worst_ratio(row, claim, epsilons);
    EXPECT_LE(ratio, 1 + 1e-5);
    closest = std::max(closest, ratio);
  }
  EXPECT_GT(closest, 0.97) << "the profile is looser than it was";
}

// What a careless program would claim, each broken by a law.
TEST(ObjectiveLaw, PlantedClaimsAreBroken) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  const double s = 0.5, t = 0.3;
  const auto half_the_noise = [&](double epsilon, bool deletes) {
    return claim_of(s / 2, t, true)(epsilon, deletes);
  };
  EXPECT_GT(worst_ratio(logistic_row(s, t, -1, 12), half_the_noise, {0.5}), 2);

  const auto no_factor_two = [&](double epsilon, bool deletes) {
    return claim_of(1, 1.6, true)(epsilon, deletes);
  };
  EXPECT_GT(worst_ratio(huber_row(1, 1.6), no_factor_two, {1.0}), 1.2);

  const auto no_determinant = [](double epsilon, bool /*deletes*/) {
    return gdp_delta_up(epsilon, 0.2367);
  };
  EXPECT_GT(worst_ratio(chattering_row(1, 0.2367, 0.65), no_determinant, {1.0}), 50);

  // With L^2/sigma^2 for L^2/(2 sigma^2) below epsilon = s^2/2.
  const auto wrong_branch = [](double epsilon, bool /*deletes*/) {
    const double left = epsilon - 0.5;
    return -std::expm1(left) + 2 * std::exp(left) * gdp_delta_up(1, 1);
  };
  EXPECT_GT(worst_ratio(huber_row(1, 20), wrong_branch, {0.45}), 1.5);
}

// A person's k rows: psi is their sum, and the slopes' too. Rows replaced: two laws of their own.
TEST(ObjectiveLaw, OfReplacedAndOfSeveralRowsIsBelowTheProfile) {
  const auto sum = [](const Row& a, const Row& b) {
    return Row{[=](double y) { return a.psi(y) + b.psi(y); },
               [=](double y) { return a.slope(y) + b.slope(y); }};
  };
  const Row nothing{[](double) { return 0.0; }, [](double) { return 0.0; }};
  double closest = 0;
  support::Thinned sweep(11);
  for (const double s : {0.1, 0.25, 0.6}) {
    for (const double t : {0.02, 0.2, 0.65}) {
      const Row up = logistic_row(s, t, 1, -3), down = logistic_row(s, t, -1, 3);
      struct Pair {
        Row one, other;
        Neighbors who;
      };
      for (const Pair& pair :
           {Pair{up, down, replace_one}, Pair{up, nothing, replace_one},
            Pair{up, nothing, add_remove}, Pair{sum(up, up), nothing, {Adjacency::add_remove, 2}},
            Pair{sum(up, down), nothing, {Adjacency::add_remove, 2}},
            Pair{sum(up, up), sum(down, down), {Adjacency::replace_one, 2}}}) {
        for (const double epsilon : {0.3, 1.0, 2.0}) {
          if (sweep.skips()) continue;
          const auto one = law_of(pair.one), other = law_of(pair.other);
          const double truth = std::max(hockey_stick(one, other, epsilon, pair.one.step),
                                        hockey_stick(other, one, epsilon, pair.one.step));
          double claim = 1;
          for (const double part : {0.3, 0.5, 0.7}) {
            const bool replaces = pair.who.adjacency == Adjacency::replace_one;
            claim =
                std::min(claim, objective_delta_up({s, t, true, Calibration::exact}, epsilon,
                                                   replaces ? part * epsilon : epsilon, pair.who));
          }
          EXPECT_LE(truth, claim * (1 + 1e-5) + 1e-9) << s << ' ' << t << ' ' << epsilon;
          if (truth > 1e-6) closest = std::max(closest, truth / claim);
        }
      }
    }
  }
  EXPECT_TRUE(support::sanitized || closest > 0.5) << closest;
}

// --- calibration --------------------------------------------------------------------------------

// Below the published form everywhere, and the budget is used.
TEST(Objective, TheScaleKeepsItsDeltaAndIsAboveThePublishedOne) {
  int found_some = 0;
  support::Thinned sweep(17);
  for (const double epsilon : {0.05, 0.5, 1.0, 8.0}) {
    for (const double delta : {1e-20, 1e-6, 0.05}) {
      for (const double part : {0.01, 0.2, 0.5, 0.9, 3.0}) {
        for (const bool one : {true, false}) {
          for (const Neighbors who :
               {add_remove, replace_one, Neighbors{Adjacency::replace_one, 3}}) {
            if (sweep.skips()) continue;
            ObjectivePair pair{0, std::expm1(part * epsilon), one, Calibration::exact};
            const ObjectiveScale found = objective_scale_down(pair, epsilon, delta, who);
            // Once the determinant alone takes all of epsilon, delta falls no faster than s.
            const auto rows = static_cast<double>(who.rows_per_person);
            if (found.s == 0 && part * rows > 0.8) continue;
            ASSERT_GT(found.s, 0) << epsilon << ' ' << delta << ' ' << part;
            ++found_some;
            pair.s = found.s;
            const double now = objective_delta_up(pair, epsilon, found.deletion_epsilon, who);
            EXPECT_LE(now, delta);
            // At s^2 = 2 epsilon the second form ends, and delta jumps.
            const bool at_the_jump = found.s * found.s > 1.99 * found.deletion_epsilon / rows;
            EXPECT_GT(now, (at_the_jump || delta > 0.01 ? 0.5 : 0.999) * delta)
                << epsilon << ' ' << delta << ' ' << part;
            pair.calibration = Calibration::redberg;
            EXPECT_LT(objective_scale_down(pair, epsilon, delta, who).s, found.s);
          }
        }
      }
    }
  }
  EXPECT_GT(found_some, support::repeats(250, 10));
}

TEST(Objective, SaysWhatIsOutOfRange) {
  const ObjectivePair good{0.3, 0.2, true, Calibration::exact};
  const auto message = [](const auto& call) {
    try {
      call();
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message([] { objective_excess_up(0.1, 0.5, 1); }), HasSubstr("sqrt(2 epsilon)"));
  // Beyond what double arithmetic resolves the first form is left, and never less than it.
  EXPECT_THAT(message([] { objective_excess_up(1, 1e-200, 1); }), HasSubstr("not resolved"));
  for (const double t : {1e-320, 1e-100, 1e40}) {
    EXPECT_GE(objective_delete_delta_up({0.3, t, true, Calibration::exact}, 1),
              gdp_delta_up(1, 0.3));
  }
  EXPECT_NEAR(objective_excess_up(1, 0.3, 1e-300) / objective_excess_up(1, 0.3, 1e-9), 1, 1e-6);
  EXPECT_NEAR(objective_delete_delta_up({1e-200, 2, true, Calibration::exact}, 1),
              1 - std::exp(1.0) / 3, 1e-12);
  EXPECT_THAT(message([&] { objective_delta_up(good, 1, 2, replace_one); }),
              HasSubstr("deletion_epsilon"));
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    ObjectivePair pair = good;
    pair.s = bad;
    EXPECT_THROW(objective_delta_up(pair, 1, 0.5, replace_one), BadInput);
    pair = good;
    pair.t = bad;
    EXPECT_THROW(objective_delta_up(pair, 1, 0.5, replace_one), BadInput);
    EXPECT_THROW(objective_delta_up(good, 1, bad, replace_one), BadInput);
  }
  ObjectivePair pair = good;
  pair.calibration = Calibration::gdp;
  EXPECT_THAT(message([&] { objective_delete_delta_up(pair, 1); }), HasSubstr("redberg"));
  // The published form needs t < 1 and pays its determinant twice where rows are replaced.
  pair.calibration = Calibration::redberg;
  pair.t = 1;
  EXPECT_EQ(objective_delete_delta_up(pair, 1), 1);
  EXPECT_EQ(objective_scale_down(pair, 1, 1e-6, add_remove).s, 0);
  pair.t = 0.5;
  EXPECT_EQ(objective_scale_down(pair, 1, 1e-6, replace_one).s, 0);
}

}  // namespace objective_test
}  // namespace gibbsite
