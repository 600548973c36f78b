#include "gibbsite/mechanism/family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "core/format_message.hpp"
#include "core/special.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/candidates.hpp"
#include "mechanism/conjugate_profile.hpp"
#include "privacy/gap_price.hpp"

namespace gibbsite {
namespace {

constexpr double least_weight = 1e-6, most_scale = 1e12;
constexpr std::uint64_t most_rows_per_person = 1000;

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void require_who(const FamilyProblem& p, const Neighbors& who) {
  if (who.adjacency != Adjacency::replace_one) {
    throw BadInput(
        Field{"adjacency"},
        "posterior draws of a family are private under replace-one, where the number of rows is "
        "public",
        "leave it out");
  }
  if (who.rows_per_person < 1 || who.rows_per_person > most_rows_per_person ||
      who.rows_per_person > p.rows) {
    throw BadInput(Field{"rows_per_person"},
                   fmt::format("must be from 1 to {} and at most the rows, got {}",
                               most_rows_per_person, who.rows_per_person));
  }
}

void require_weight(double weight) {
  if (!(weight >= least_weight && weight <= 1)) {
    throw BadInput(fmt::format("weight: must be from {} to 1, got {}", least_weight, weight));
  }
}

[[noreturn]] void refuse_renyi(const FamilyProblem& p) {
  throw BadInput(
      format_message("{} geumlek-rdp", Field{"calibration"}),
      "is for bernoulli and categorical with one row a person, for bounded-mean and rate",
      fmt::format("leave it out for {}", to_string(p.family)));
}

// At that epsilon: of one draw, of all by the papers' form.
double delta_of_draws(const ConjugateDraw& s, const FamilyProblem& p, const Neighbors& who,
                      std::uint64_t draws, Digits digits) {
  const std::uint64_t k = who.rows_per_person;
  const bool renyi = s.calibration == Calibration::geumlek_rdp;
  std::vector<double> prior = p.prior_at(s.prior_scale);
  switch (p.family) {
    case Family::bernoulli:
    case Family::categorical: {
      if (p.levels > 2) {
        if (k > 1) {
          throw BadInput(
              Field{"rows_per_person"},
              fmt::format("the theorem of {} levels is for one row a person, got {}", p.levels, k),
              format_message("keep one row of each, or give {}", Field{"trim"}));
        }
        // All records may lie elsewhere: the two cells with the least prior.
        std::ranges::partial_sort(prior, prior.begin() + 2);
      }
      const std::uint64_t rows = p.levels > 2 ? 1 : p.rows;
      if (renyi) {
        if (k > 1) refuse_renyi(p);
        return beta_renyi_delta_up(prior[0], prior[1], s.weight, rows, draws, s.epsilon, digits);
      }
      if (k == 1) {
        return beta_delta_up(prior[0], prior[1], s.weight, rows, s.epsilon, digits);
      }
      double worst = 0;
      for (std::uint64_t j = digits == Digits::few ? k : 1; j <= k; ++j) {
        worst =
            std::max(worst, beta_pair_delta_up(prior[0], prior[1], s.weight, j, s.epsilon, digits));
      }
      return worst;
    }
    case Family::bounded_mean: {
      const std::uint64_t rows = k > 1 ? 1 : scanned_rows(p);
      const double all = round_up(Wide(s.weight) * Wide(k));
      if (renyi)
        return beta_renyi_delta_up(prior[0], prior[1], all, rows, draws, s.epsilon, digits);
      return beta_delta_up(prior[0], prior[1], all, rows, s.epsilon, digits);
    }
    case Family::rate: {
      const double shift = round_up(Wide(s.weight) * Wide(p.hi) * Wide(k));
      return renyi ? gamma_renyi_delta_up(prior[0], shift, draws, s.epsilon, digits)
                   : gamma_pair_delta_up(prior[0], shift, s.epsilon, digits);
    }
    case Family::waiting:
    case Family::variance:
    case Family::laplace: {
      if (renyi) refuse_renyi(p);
      const Wide r = Wide(s.weight) * Wide(p.records()), n = p.rows;
      const auto [least, most] = p.values();
      const Wide lo = least;
      const double shape = round_up(Wide(prior[0]) + r * n);
      const double gap = round_up(Wide(k) * r * (Wide(most) - lo) / (Wide(prior[1]) + r * n * lo));
      return scale_pair_delta_up(shape, gap, s.epsilon, digits);
    }
    case Family::mean:
      break;
  }
  return 1;
}

// (k r/v)(hi - lo) / sqrt(m + n r/v): exact, for one draw of a normal posterior.
double mean_mu_up(const ConjugateDraw& s, const FamilyProblem& p, const Neighbors& who) {
  const Wide g = Wide(s.weight) / Wide(p.variance);
  const Wide precision = Wide(p.prior_at(s.prior_scale)[0]) + Wide(p.rows) * g;
  return round_up(Wide(who.rows_per_person) * g * (Wide(p.hi) - Wide(p.lo)) / sqrt(precision));
}

// The spread of M(first, last): the longest way from a subtree's top to a level, in units of log
// share, and the widest pair of levels within it.
struct Spread {
  Wide way = 0, pair = 0;
};
Spread spread_of(const FamilyProblem& p, std::uint64_t first, std::uint64_t last) {
  if (last - first < 2) return {};
  const std::uint64_t middle = first + (last - first) / 2;
  const auto [low, high] = split_trim(p, first, middle, last);
  const Spread left = spread_of(p, first, middle), right = spread_of(p, middle, last);
  const Wide chosen = log(Wide(high) / Wide(low));
  const Wide other = log((1 - Wide(low)) / (1 - Wide(high)));
  return {.way = std::max(left.way + chosen, right.way + other),
          .pair = std::max({left.pair, right.pair, left.way + right.way + chosen + other})};
}

double numbers_of(const FamilyProblem& p) {
  return p.has_levels() ? static_cast<double>(p.levels - 1) : 1;
}

// Total variation of at most 2^34 cells, whose probability is off by at most 2^-94
// (docs/theory/conjugate.md).
double noise_tv(const FamilyProblem& p, std::uint64_t draws) {
  return round_up(Wide(numbers_of(p)) * Wide(draws) * ldexp(Wide(1), -60));
}

Guarantee guarantee_of(const ConjugateDraw& s, const FamilyProblem& p, const Neighbors& who,
                       std::uint64_t draws) {
  if (p.trim) {
    throw BadInput(Field{"trim"}, "conjugate draws are not cut",
                   "the mechanism of a trim is trimmed");
  }
  require_weight(s.weight);
  if (!(s.prior_scale >= 1 && s.prior_scale <= most_scale)) {
    throw BadInput(
        fmt::format("prior_scale: must be from 1 to {}, got {}", most_scale, s.prior_scale));
  }
  if (s.calibration != Calibration::exact && s.calibration != Calibration::geumlek_rdp) {
    throw BadInput(Field{"calibration"}, "families take exact or geumlek-rdp", "give one");
  }
  if (p.family == Family::mean) {
    if (s.calibration != Calibration::exact) refuse_renyi(p);
    return {.mu = draws_mu_up(mean_mu_up(s, p, who), draws), .who = who};
  }
  require_finite_positive(s.epsilon, "epsilon");
  const double delta = delta_of_draws(s, p, who, draws, Digits::fifty);
  const Wide times = s.calibration == Calibration::geumlek_rdp ? Wide(1) : Wide(draws);
  return {.epsilon0 = round_up(times * Wide(s.epsilon)),
          .delta0 = round_up(times * Wide(delta)),
          .who = who};
}

// What a shape's law at x falls short of its largest value by, in logarithms.
double gamma_depth(double shape, double scaled_x) {
  return scaled_x - shape - shape * std::log(scaled_x / shape);
}

// An upper bound, over all tables, on -log of the density at the trim beside the largest there is:
// 50 digits hold exponents to e^-7e8, and beyond a law cut off would be lost in zeros.
double depth_of(const TrimmedDraw& s, const FamilyProblem& p) {
  const double rn = s.weight * p.records() * static_cast<double>(p.rows);
  const std::vector<double> prior = p.prior_at(1);
  const auto [low, high] = *p.trim;
  if (p.has_levels()) {
    return -(sum(prior) + rn) * std::log(low);  // every share's ratio of counts is below it
  }
  if (p.family == Family::mean) {
    const double middle = p.prior_center(1);
    const double furthest =
        std::max({std::abs(low - p.lo), std::abs(high - p.lo), std::abs(low - p.hi),
                  std::abs(high - p.hi), std::abs(low - middle), std::abs(high - middle)});
    return (prior[0] + rn / p.variance) * furthest * furthest / 2;
  }
  if (p.family == Family::bounded_mean) {
    const double near = std::min(low - p.lo, p.hi - high) / (p.hi - p.lo);
    return -(sum(prior) + rn) * std::log(near);
  }
  const bool rate = p.family == Family::rate;
  const auto [least, most] = p.values();
  double deepest = 0;
  for (const double data : {rn * least, rn * most}) {  // the depth is convex in it
    const double shape = prior[0] + (rate ? data : rn), per = prior[1] + (rate ? rn : data);
    for (const double x : {low, high}) deepest = std::max(deepest, gamma_depth(shape, per * x));
  }
  return deepest;
}

constexpr double most_depth = 2e8;  // and a margin of 3

void require_depth(const TrimmedDraw& s, const FamilyProblem& p) {
  if (const double depth = depth_of(s, p); !(depth <= most_depth)) {
    throw BadInput(
        Field{"trim"},
        fmt::format("on some table the posterior would lie further outside than can be computed "
                    "(e^-{:.2g}, {:.2g} is the most)",
                    depth, most_depth),
        "give a wider trim, one nearer to the range, or a smaller epsilon");
  }
}

// Whether the profile of a cut draw is computed: two levels, few rows.
bool has_cut_profile(const FamilyProblem& p) {
  return p.has_levels() && p.levels == 2 && p.rows <= most_cut_rows;
}

double cut_delta_up(const TrimmedDraw& s, const FamilyProblem& p, const Neighbors& who,
                    Digits digits) {
  const std::vector<double> prior = p.prior_at(1);
  return cut_beta_delta_up(
      {prior[0], prior[1], p.trim->first, s.weight, p.rows, who.rows_per_person}, s.epsilon,
      digits);
}

// v: the log ratio of two neighbors' densities ranges over an interval of this length.
double ratio_range_up(double weight, const FamilyProblem& p, const Neighbors& who) {
  return round_up(Wide(weight) * Wide(who.rows_per_person) * Wide(record_range_up(p)));
}

// mu of one draw.
double trimmed_mu_up(double weight, const FamilyProblem& p, const Neighbors& who) {
  return std::min(bounded_range_mu_up(ratio_range_up(weight, p, who)),
                  curvature_mu_up(p, weight, who.rows_per_person));
}

Guarantee guarantee_of(const TrimmedDraw& s, const FamilyProblem& p, const Neighbors& who,
                       std::uint64_t draws) {
  if (!p.trim) throw BadInput(Field{"trim"}, "is missing", "give the bounds that draws are cut to");
  require_weight(s.weight);
  require_depth(s, p);
  if (s.epsilon == 0) {
    return {.mu = draws_mu_up(trimmed_mu_up(s.weight, p, who), draws), .who = who};
  }
  require_finite_positive(s.epsilon, "epsilon");
  double delta = 0;
  if (!(ratio_range_up(s.weight, p, who) <= s.epsilon)) {
    if (!has_cut_profile(p)) {
      throw BadInput("epsilon",
                     "is less than a draw's log ratio, and no theorem has a delta for these draws",
                     "leave it out, for the Gaussian price");
    }
    delta = cut_delta_up(s, p, who, Digits::fifty);
  }
  return {.epsilon0 = round_up(Wide(draws) * Wide(s.epsilon)),
          .delta0 = round_up(Wide(draws) * Wide(delta)),
          .who = who};
}

// Largest x in [lo, hi] on a log scale with holds(x), by bisection; holds(hi) false, holds(lo) true
// is assumed: the caller checks what it gets.
template <class Holds>
double last_that_holds(double lo, double hi, const Holds& holds) {
  double good = std::log(lo), bad = std::log(hi);
  for (int i = 0; i < 44; ++i) {
    const double middle = (good + bad) / 2;
    (holds(std::exp(middle)) ? good : bad) = middle;
  }
  return std::exp(good);
}

// The sum of the estimate's variances that draw and sample bring, at the middle of the range. The k
// rows of a person count as one: nobody says whose a row is, and they may be alike.
void expect(FamilyPlan& plan) {
  const FamilyProblem& p = plan.problem;
  const double scale = prior_scale_of(plan.mechanism), r = weight_of(plan.mechanism);
  const auto [least, most] = p.values();
  const auto n = static_cast<double>(p.rows), middle = least + (most - least) / 2;
  const double people = n / static_cast<double>(plan.budget.rows_per_person);
  const std::vector<double> prior = p.prior_at(scale);
  double drawn = 0, sampled = 0;  // variances
  switch (p.family) {
    case Family::bernoulli:
    case Family::categorical: {
      const double share = 1 / static_cast<double>(p.levels), total = sum(prior) + r * n;
      const double theta = (prior[0] + r * n * share) / total;
      drawn = theta * (1 - theta) * total / (r * n) / (r * n);
      sampled = share * (1 - share) / people;
      break;
    }
    case Family::rate:
      drawn = (prior[0] + r * n * middle) / (r * n) / (r * n);
      sampled = middle / people;
      break;
    case Family::waiting:
    case Family::variance:
    case Family::laplace: {
      const double rn = r * p.records() * n, rate = prior[1] + rn * middle;
      drawn = rate * rate / (prior[0] + rn) / rn / rn;
      sampled = middle * middle / (p.records() * people);
      break;
    }
    case Family::bounded_mean: {
      const double total = sum(prior) + r * n, theta = (prior[0] + r * n / 2) / total;
      const double width = most - least;
      drawn = width * width * theta * (1 - theta) * total / (r * n) / (r * n);
      sampled = width * width / 4 / people;  // the most that values in the range may have
      break;
    }
    case Family::mean: {
      const double g = r / p.variance;
      drawn = (prior[0] + n * g) / (n * g) / (n * g);
      sampled = p.variance / people;
      break;
    }
  }
  plan.deviation = std::sqrt(drawn / static_cast<double>(plan.budget.draws) + sampled);
  plan.sample_deviation = std::sqrt(sampled);
}

// Mass of the prior beyond the bounds.
double cut_mass(const FamilyProblem& p) {
  if (!p.trim) return 0;
  const auto [low, high] = p.reach();
  const std::vector<double> prior = p.prior_at(1);
  Wide kept = 1;
  if (p.has_levels()) {
    for_each_split(0, p.levels, [&](std::uint64_t first, std::uint64_t middle, std::uint64_t last) {
      const auto [least, most] = split_trim(p, first, middle, last);
      Wide a = 0, b = 0;
      for (std::uint64_t i = first; i < last; ++i) (i < middle ? a : b) += Wide(prior[i]);
      kept *= beta_cdf(a, b, most, 1 - Wide(most)) - beta_cdf(a, b, least, 1 - Wide(least));
    });
  } else if (p.family == Family::mean) {
    const Wide root = sqrt(Wide(prior[0])), middle = p.prior_center(1);
    kept = normal_cdf((high - middle) * root) - normal_cdf((low - middle) * root);
  } else if (p.family == Family::bounded_mean) {
    const auto below = [&](double x) {
      const Wide t = (Wide(x) - Wide(p.lo)) / (Wide(p.hi) - Wide(p.lo));
      return beta_cdf(prior[0], prior[1], t, 1 - t);
    };
    kept = below(high) - below(low);
  } else {
    const Wide rate = prior[1];
    kept = gamma_lower(prior[0], rate * high) - gamma_lower(prior[0], rate * low);
  }
  return static_cast<double>(1 - kept);
}

[[noreturn]] void refuse_plan(const FamilyProblem& p, const Budget& budget, bool concentrated) {
  const bool of_numbers =
      p.family == Family::mean || p.family == Family::variance || p.family == Family::laplace;
  throw Infeasible(format_message(
      "{} of {} keep{} this budget with no {}; ask for a larger epsilon or delta{}{}{}",
      budget.draws == 1 ? "one draw" : fmt::format("{} draws", budget.draws), to_string(p.family),
      budget.draws == 1 ? "s" : "",
      concentrated ? "prior that can be evaluated" : "weight above 1e-6",
      budget.draws == 1 ? "" : format_message(", or fewer {}", Field{"draws"}),
      concentrated ? "" : format_message(", or give a stronger {}", Field{"prior"}),
      of_numbers
          ? format_message(", or take {} covariance: noisy means and deviations", Field{"model"})
          : ""));
}

ConjugateDraw conjugate_draw(const FamilyProblem& p, const Budget& budget, double delta,
                             Calibration calibration, bool concentrated) {
  const Neighbors who = budget.neighbors();
  ConjugateDraw s{.calibration = calibration};
  std::function<bool()> keeps;
  if (p.family == Family::mean) {
    const double mu = gdp_split_down(gdp_mu_down(budget.epsilon, delta), budget.draws);
    keeps = [&s, &p, &who, mu] { return mean_mu_up(s, p, who) <= mu; };
  } else {
    const Wide parts = calibration == Calibration::geumlek_rdp ? Wide(1) : Wide(budget.draws);
    s.epsilon = round_down(Wide(budget.epsilon) / parts);
    const double each = round_down(Wide(delta) / parts);
    keeps = [&s, &p, &who, &budget, each] {
      return delta_of_draws(s, p, who, budget.draws, Digits::few) <= each;
    };
  }
  static_cast<void>(guarantee_of(s, p, who, budget.draws));  // throws on what no search could mend
  if (keeps()) return s;
  if (concentrated) {
    const double strongest = std::max(1.0, *std::ranges::max_element(p.prior));
    // What public counts add must stay computable too.
    const double known = p.public_counts ? *std::ranges::max_element(p.public_counts->counts) : 0;
    const double most =
        std::max(1.0, std::min(most_scale, most_conjugate_shape - known) / strongest);
    while (s.prior_scale < most && !keeps()) s.prior_scale = std::min(2 * s.prior_scale, most);
    if (!keeps()) refuse_plan(p, budget, true);
    const double found = s.prior_scale;
    s.prior_scale = 1 / last_that_holds(1 / found, 2 / found, [&](double inverse) {
                      s.prior_scale = 1 / inverse;
                      return keeps();
                    });
    return s;
  }
  s.weight = least_weight;
  if (!keeps()) refuse_plan(p, budget, false);
  s.weight = last_that_holds(least_weight, 1, [&](double weight) {
    s.weight = weight;
    return keeps();
  });
  return s;
}

// The largest weight with a log ratio within `range`.
double range_weight_down(const FamilyProblem& p, const Neighbors& who, double range) {
  const Wide person = Wide(who.rows_per_person) * Wide(record_range_up(p));
  return std::min(1.0, round_down(Wide(range) / person));
}

// The largest weight with a Gaussian price of mu, by curvature too.
double gaussian_weight(const FamilyProblem& p, const Neighbors& who, double mu) {
  const double by_range = range_weight_down(p, who, bounded_range_down(mu));
  const auto holds = [&](double weight) {
    return curvature_mu_up(p, weight, who.rows_per_person) <= mu;
  };
  if (holds(1)) return 1;
  const double least = std::max(by_range, least_weight);
  return least < 1 && holds(least) ? last_that_holds(least, 1, holds) : by_range;
}

// The largest weight with which one draw keeps (epsilon, delta) itself: pure, or by its profile.
double profile_weight(const FamilyProblem& p, const Neighbors& who, double epsilon, double delta) {
  double pure = range_weight_down(p, who, epsilon);
  while (pure > 0 && !(ratio_range_up(pure, p, who) <= epsilon)) pure = std::nextafter(pure, 0.0);
  if (!has_cut_profile(p)) return pure;
  const auto holds = [&](double weight) {
    return cut_delta_up({weight, epsilon}, p, who, Digits::few) <= delta;
  };
  if (pure < 1 && holds(1)) return 1;
  const double least = std::max(pure, least_weight);
  return least < 1 && holds(least) ? last_that_holds(least, 1, holds) : pure;
}

// The larger weight of the two prices.
TrimmedDraw trimmed_draw(const FamilyProblem& p, const Budget& budget, double delta) {
  const Neighbors who = budget.neighbors();
  const Wide draws = budget.draws;
  const double mu = gdp_split_down(gdp_mu_down(budget.epsilon, delta), budget.draws);
  TrimmedDraw s{gaussian_weight(p, who, mu)};
  if (s.weight < 1) {
    const double epsilon = round_down(Wide(budget.epsilon) / draws);
    const double weight = profile_weight(p, who, epsilon, round_down(Wide(delta) / draws));
    if (weight > s.weight) s = {weight, epsilon};
  }
  if (!(s.weight >= least_weight)) {
    throw Infeasible(format_message(
        "draws cut to these bounds keep this budget with no weight above 1e-6; give a tighter "
        "{}, fewer {} or a larger epsilon",
        Field{"trim"}, Field{"draws"}));
  }
  // A weight that curvature allows may be more than can be computed.
  const auto computed = [&](double weight) { return depth_of({weight}, p) <= most_depth; };
  const double least = std::max(least_weight, range_weight_down(p, who, bounded_range_down(mu)));
  if (!computed(s.weight) && least < s.weight && computed(least)) {
    s.weight = last_that_holds(least, s.weight, computed);
  }
  return s;
}

}  // namespace

std::string_view name_of(const FamilyMechanism& mechanism) {
  return std::visit([](const auto& m) { return std::decay_t<decltype(m)>::name; }, mechanism);
}

std::string_view theorem_of(const FamilyMechanism& mechanism) {
  return std::visit([](const auto& m) { return std::decay_t<decltype(m)>::theorem; }, mechanism);
}

double weight_of(const FamilyMechanism& mechanism) {
  return std::visit([](const auto& m) { return m.weight; }, mechanism);
}

double prior_scale_of(const FamilyMechanism& mechanism) {
  const auto* const conjugate = std::get_if<ConjugateDraw>(&mechanism);
  return conjugate == nullptr ? 1 : conjugate->prior_scale;
}

std::pair<double, double> split_trim(double least, std::uint64_t first, std::uint64_t middle,
                                     std::uint64_t last) {
  return {static_cast<double>(middle - first) * least,
          1 - static_cast<double>(last - middle) * least};
}

std::pair<double, double> split_trim(const FamilyProblem& p, std::uint64_t first,
                                     std::uint64_t middle, std::uint64_t last) {
  return split_trim(p.trim ? p.trim->first : 0, first, middle, last);
}

double record_range_up(const FamilyProblem& p) {
  p.validate();
  if (!p.trim) throw BadInput(Field{"trim"}, "is missing", "give the bounds that draws are cut to");
  if (p.has_levels()) return round_up(spread_of(p, 0, p.levels).pair);
  const auto [least, most] = p.values();
  const Wide low = p.trim->first, high = p.trim->second, width = Wide(most) - Wide(least);
  if (p.family == Family::rate) return round_up(Wide(p.hi) * log(high / low));
  if (p.family == Family::bounded_mean) {
    const Wide lo = p.lo, hi = p.hi;
    return round_up(log((high - lo) / (low - lo)) + log((hi - low) / (hi - high)));
  }
  const Wide slope = (high - low) * width;
  return round_up(p.is_waiting() ? slope * Wide(p.records()) : slope / Wide(p.variance));
}

// G / sqrt(kappa): one record moves the slope of the log density by G at most, and its curvature is
// kappa at least, in the coordinate of the comments.
double curvature_mu_up(const FamilyProblem& p, double weight, std::uint64_t rows_per_person) {
  p.validate();
  if (!p.trim) throw BadInput(Field{"trim"}, "is missing", "give the bounds that draws are cut to");
  constexpr double nothing = std::numeric_limits<double>::infinity();
  const auto [least, most] = p.values();
  const Wide r = Wide(weight) * Wide(p.records()), n = p.rows, k = rows_per_person;
  const Wide low = p.trim->first, high = p.trim->second, width = Wide(most) - Wide(least);
  const std::vector<double> prior = p.prior_at(1);
  Wide slope = r * k, curvature = 0;
  switch (p.family) {
    case Family::bernoulli:
    case Family::categorical:  // log(theta/(1 - theta)), where only two levels have rows in common
      if (p.levels > 2) return nothing;
      curvature = (Wide(prior[0]) + Wide(prior[1]) + r * n) * low * (1 - low);
      break;
    case Family::rate:  // log lambda
      slope *= Wide(p.hi);
      curvature = (Wide(prior[1]) + r * n) * low;
      break;
    case Family::bounded_mean: {  // log(t/(1 - t)), t the mean's share of the range
      const Wide odds = std::min((low - Wide(p.lo)) * (Wide(p.hi) - low),
                                 (high - Wide(p.lo)) * (Wide(p.hi) - high));
      curvature = (Wide(prior[0]) + Wide(prior[1]) + r * n) * odds / (width * width);
      break;
    }
    case Family::waiting:
    case Family::variance:
    case Family::laplace:  // theta
      slope *= width;
      curvature = (Wide(prior[0]) + r * n - 1) / (high * high);
      break;
    case Family::mean:  // theta
      slope *= width / Wide(p.variance);
      curvature = Wide(prior[0]) + r * n / Wide(p.variance);
      break;
  }
  return curvature > 0 ? round_up(slope / sqrt(curvature)) : nothing;
}

double level_range_up(const FamilyProblem& p) {
  p.validate();
  if (!p.trim) throw BadInput(Field{"trim"}, "is missing", "give the bounds that draws are cut to");
  if (!p.has_levels()) {
    throw BadInput(Field{"model"}, fmt::format("{} has no levels", to_string(p.family)),
                   "give a column of levels");
  }
  return round_up(spread_of(p, 0, p.levels).way);
}

double family_grid(const FamilyProblem& p) {
  const auto [low, high] = p.reach();
  const int width = std::ilogb(high - low) + 1;
  const int size = std::ilogb(std::max(std::abs(low), std::abs(high))) + 1;
  return std::ldexp(1.0, std::max(width - 33, size - 52));
}

Analysis analyze(const FamilyMechanism& mechanism, const FamilyProblem& problem,
                 const Neighbors& who, std::uint64_t draws) {
  problem.validate();
  require_who(problem, who);
  Analysis out;
  out.guarantee =
      std::visit([&](const auto& s) { return guarantee_of(s, problem, who, draws); }, mechanism);
  out.noise.tv = out.guarantee.tv = noise_tv(problem, draws);
  out.release_grid = family_grid(problem);
  if (problem.trim) out.constants.push_back({"record_range", record_range_up(problem)});
  return out;
}

namespace {

FamilyPlan plan_by(const FamilyProblem& problem, const Budget& budget, Calibration calibration,
                   bool concentrated) {
  const double left =
      delta_left_down(budget.delta, budget.epsilon, noise_tv(problem, budget.draws));
  if (!(left > 0)) {
    throw Infeasible(Field{"delta"}, "is less than what drawing on a grid takes",
                     format_message("ask for a larger one, or fewer {}", Field{"draws"}));
  }
  FamilyPlan out{problem, budget, {}, {}};
  // A search in shortcuts, then the claim itself: stepped to the safe side until it holds.
  double share = 1;
  for (int attempt = 0; attempt < 20; ++attempt, share *= 1 - 1e-3) {
    const double delta = left * share;
    if (problem.trim) {
      out.mechanism = trimmed_draw(problem, budget, delta);
    } else {
      out.mechanism = conjugate_draw(problem, budget, delta, calibration, concentrated);
    }
    out.guarantee = analyze(out.mechanism, problem, budget.neighbors(), budget.draws).guarantee;
    if (delta_up(out.guarantee, budget.epsilon) <= budget.delta) {
      expect(out);
      out.cut_mass = cut_mass(problem);
      return out;
    }
    if (attempt == 0) share = 1 - 1e-9;
  }
  refuse_plan(problem, budget, concentrated);
}

}  // namespace

FamilyPlan plan_family(const FamilyProblem& problem, const Budget& budget,
                       const FamilyWishes& plan_options) {
  const StandardArithmetic arithmetic;
  problem.validate();
  budget.validate();
  require_who(problem, budget.neighbors());
  if (problem.trim && plan_options.calibration) {
    throw BadInput(Field{"calibration"}, "draws that are cut have one of their own",
                   format_message("leave it out with {}", Field{"trim"}));
  }
  const auto plan = [&](Calibration calibration) {
    return plan_by(problem, budget, calibration, plan_options.concentrated);
  };
  // Several draws compose better by Renyi divergences, where there are any.
  const bool renyi = problem.family == Family::rate || problem.family == Family::bounded_mean ||
                     (problem.has_levels() && budget.rows_per_person == 1);
  if (plan_options.calibration || problem.trim || budget.draws == 1 || !renyi) {
    return plan(plan_options.calibration.value_or(Calibration::exact));
  }
  std::optional<FamilyPlan> exact;
  try {
    exact = plan(Calibration::exact);
  } catch (const Infeasible&) {
    return plan(Calibration::geumlek_rdp);
  }
  const FamilyPlan other = plan(Calibration::geumlek_rdp);
  return other.deviation < exact->deviation ? other : *exact;
}

double best_guess_percent(const FamilyMechanism& mechanism, const FamilyProblem& problem,
                          const Guarantee& guarantee, std::uint64_t draws) {
  const double known = best_guess_percent(guarantee);
  if (const auto* const trimmed = std::get_if<TrimmedDraw>(&mechanism)) {
    Guarantee gaussian = guarantee_of({trimmed->weight}, problem, guarantee.who, draws);
    gaussian.tv = guarantee.tv;
    return std::min(known, best_guess_percent(gaussian));
  }
  const auto* const conjugate = std::get_if<ConjugateDraw>(&mechanism);
  if (conjugate == nullptr || problem.family == Family::mean) return known;
  ConjugateDraw at_zero = *conjugate;
  at_zero.calibration = Calibration::exact;
  at_zero.epsilon = 0;  // delta is the total variation
  const double apart = delta_of_draws(at_zero, problem, guarantee.who, 1, Digits::fifty) *
                       static_cast<double>(draws);
  return std::min(known, std::ceil(((1 + apart) / 2 + guarantee.tv) * 1000) / 10);
}

std::string basis_of(const FamilyMechanism& mechanism, const FamilyProblem& problem) {
  const double weight = weight_of(mechanism);
  const std::string records =
      weight == 1 ? "every record" : fmt::format("every record at {:.3g} of its weight", weight);
  if (problem.trim) {
    return fmt::format(
        "It rests on a random draw of the parameters given the table, cut to public "
        "bounds, {}",
        records);
  }
  return fmt::format(
      "It rests on a random draw of the parameters given the table, {} and a prior "
      "of {:.3g} times its numbers{}",
      records, prior_scale_of(mechanism),
      problem.public_counts ? " beside counts of a public table" : "");
}

double conjugate_delta_up(const ConjugateDraw& settings, const FamilyProblem& problem,
                          const Neighbors& who, double epsilon, Digits digits) {
  ConjugateDraw at = settings;
  at.calibration = Calibration::exact;
  at.epsilon = epsilon;
  return delta_of_draws(at, problem, who, 1, digits);
}

double regret_of_draws(std::uint64_t responses, std::uint64_t draws, double failure) {
  require_between(failure, 0, 1, "failure");
  if (responses < 1 || draws < 1) throw BadInput("draws: there is none; give at least one");
  return 2 * std::sqrt(std::log(2 * static_cast<double>(responses) / failure) /
                       (2 * static_cast<double>(draws)));
}

}  // namespace gibbsite
