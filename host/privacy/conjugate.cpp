#include "gibbsite/privacy/conjugate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <vector>

#include "core/format_message.hpp"
#include "core/special.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

// Formulas stand twice: in 50 digits for claims, in double for searches.
Wide below(const Wide& a, const Wide& b, const Wide& x, const Wide& y) {
  return beta_cdf(a, b, x, y);
}
double below(double a, double b, double x, double /*1 - x*/) { return beta_cdf_about(a, b, x); }
Wide below(const Wide& a, const Wide& x) { return gamma_lower(a, x); }
double below(double a, double x) { return gamma_lower_about(a, x); }
Wide above(const Wide& a, const Wide& x) { return gamma_upper(a, x); }
double above(double a, double x) { return gamma_upper_about(a, x); }
double log_gamma(double a) { return std::lgamma(a); }

// A difference of two probabilities, the first known to 1e-35 of itself.
Wide claimed(const Wide& first, const Wide& second) {
  const Wide difference = std::max(Wide(0), first - second);
  return difference + first * Wide("1e-35") + Wide("1e-60");
}
double claimed(double first, double second) { return first - second; }

double as_delta(const Wide& value) { return std::min(1.0, round_up(value)); }

void require_shape(double a, const Name& name) {
  require_finite_positive(a, name);
  if (!(a <= most_conjugate_shape)) {
    throw BadInput(name.message(),
                   fmt::format("comes to {}, and laws of more than {} records are not evaluated", a,
                               most_conjugate_shape),
                   format_message("take a weaker {} or a smaller range", Field{"prior"}));
  }
}

// Where the ratio of the densities passes e^epsilon, as exp(-logit) and its complement.
template <class T>
struct Odds {
  T share, rest;  // share/rest = e^logit
  explicit Odds(const T& logit) {
    using std::abs, std::exp;
    const T e = exp(-abs(logit));
    share = (logit < 0 ? e : T(1)) / (1 + e);
    rest = (logit < 0 ? T(1) : e) / (1 + e);
  }
};

// The ratio of Beta(a + h, b) over Beta(a, b + h) is e^-w odds^h.
template <class T>
T beta_pair(const T& a, const T& b, const T& h, const T& epsilon) {
  using std::exp;
  const T w = log_gamma(a + h) + log_gamma(b) - log_gamma(a) - log_gamma(b + h);
  const Odds<T> up((w + epsilon) / h), down((w - epsilon) / h);
  const T inserted = claimed(below(b, a + h, up.rest, up.share),
                             exp(epsilon) * below(b + h, a, up.rest, up.share));
  const T deleted = claimed(below(a, b + h, down.share, down.rest),
                            exp(epsilon) * below(a + h, b, down.share, down.rest));
  return std::max(inserted, deleted);
}

// Shapes A and A + h of one rate.
template <class T>
T gamma_pair(const T& A, const T& h, const T& e) {
  using std::exp, std::log;
  const T w = log_gamma(A + h) - log_gamma(A);
  const T t = exp((w - e) / h);
  const T left = claimed(below(A, t), exp(e) * below(A + h, t));
  // Beyond e^40 shapes nothing is left that a double could hold.
  const T far = (w + e) / h;
  if (far > 40 + log(1 + A + h)) return left;
  const T u = exp(far);
  return std::max(left, claimed(above(A + h, u), exp(e) * above(A, u)));
}

// One shape A, rates 1 and 1 + gap.
template <class T>
T scale_pair(const T& A, const T& gap, const T& e) {
  using std::exp, std::log1p;
  const T ratio = 1 + gap, logs = A * log1p(gap);
  const T t = (e + logs) / gap, u = std::max(T(0), (logs - e) / gap);
  return std::max(claimed(above(A, t), exp(e) * above(A, ratio * t)),
                  claimed(below(A, ratio * u), exp(e) * below(A, u)));
}

// Pair k of `rows` rows, of which one is not common.
template <class T>
T beta_pair_at(double a0, double b0, double weight, std::uint64_t rows, std::uint64_t k,
               double epsilon) {
  const T r = weight;
  const auto ones = static_cast<double>(k), zeros = static_cast<double>(rows - 1 - k);
  return beta_pair<T>(T(a0) + r * T(ones), T(b0) + r * T(zeros), r, epsilon);
}

// How many rows the scan is over: a pair of few common records covers all with more.
std::uint64_t scanned(double a0, double b0, double weight, std::uint64_t rows) {
  const double room = (most_scanned_counts - a0 - b0) / weight;
  const double least = std::min(static_cast<double>(most_scanned_rows), std::floor(room));
  return std::min(rows, static_cast<std::uint64_t>(std::max(1.0, least)));
}

void require_beta(double a0, double b0, double weight, std::uint64_t rows, double epsilon) {
  require_shape(a0, Field{"prior"});
  require_shape(b0, Field{"prior"});
  require_shape(weight, "weight");
  require_finite_nonnegative(epsilon, Field{"epsilon"});
  if (rows < 1) throw BadInput("rows: must be at least 1, got 0; give a table with a row");
}

// A divergence is a small difference of log Gammas: beyond, double keeps digits of its series
// alone.
constexpr double most_in_double = 1e6;

// d_order(x -> y) of lnGamma, Geumlek et al. equation 16 for one cell.
template <class T>
T cell_renyi(const T& x, const T& y, const T& order) {
  return (log_gamma(order * x + (1 - order) * y) - order * log_gamma(x)) / (order - 1) +
         log_gamma(y);
}

// log Gamma(y + h) - log Gamma(y) by Stirling's series without what is linear in h, t = h/y:
// y ((1 + t) l + t^2) - l/2 + t^2/(12 y (1 + t)), l = log(1 + t) - t. Linear terms cancel in
// d_order, and what is left does not.
template <>
double cell_renyi<double>(const double& x, const double& y, const double& order) {
  const double h = x - y, least = std::min(x, y + order * h);
  if (!(y > most_in_double && least > 1e3)) {
    return (std::lgamma(order * x + (1 - order) * y) - order * std::lgamma(x)) / (order - 1) +
           std::lgamma(y);
  }
  const auto bent = [y](double t) {
    const double l = boost::math::log1pmx(t);
    return y * ((1 + t) * l + t * t) - l / 2 + t * t / (12 * y * (1 + t));
  };
  return (bent(order * h / y) - order * bent(h / y)) / (order - 1);
}

// Orders 1 + (i/100)(largest - 1), i = 2..98, and 40 below them, each 1.3 times nearer to 1 than
// the last; delta by privacy/rdp.hpp, solved for it.
template <class T, class Divergence>
T least_delta(const T& largest, std::uint64_t draws, const T& epsilon,
              const Divergence& divergence) {
  using std::exp, std::log;
  T best = 0;  // delta is at most 1
  T share = T(2) / 100;
  for (int i = -38; i <= 98; ++i) {
    if (i < 2) share = share * 10 / 13;
    const T order = 1 + (largest - 1) * (i < 2 ? share : T(i) / 100);
    const T spent = T(static_cast<double>(draws)) * divergence(order);
    best = std::min(best, (order - 1) * (spent + log(1 - 1 / order) - epsilon) - log(order));
  }
  return exp(best);
}

// What 50 digits may lose of a cell's terms, which cancel, and of where they are evaluated.
Wide lost_of_cell(const Wide& x, const Wide& y, const Wide& order) {
  using std::abs;
  const Wide mixed = order * x + (1 - order) * y, most = order * (x + y);
  const Wide moved = most * (2 + 1 / mixed + log1p(most));
  const Wide terms = 1 + abs(log_gamma(mixed)) + order * (1 + abs(log_gamma(x))) + moved;
  return Wide("1e-48") * (terms / (order - 1) + 1 + abs(log_gamma(y)));
}
double lost_of_cell(double /*x*/, double /*y*/, double /*order*/) { return 0; }

// A cell's divergence with room for it.
template <class T>
T cell_renyi_up(const T& x, const T& y, const T& order) {
  return cell_renyi<T>(x, y, order) + lost_of_cell(x, y, order);
}

template <class T>
T beta_renyi_of(double a0, double b0, double weight, std::uint64_t rows, const T& order) {
  const T r = weight;
  T worst = 0;
  const auto meet = [&](std::uint64_t p, std::uint64_t q) {
    const auto cell = [&](double prior, std::uint64_t count) {
      return T(prior) + r * T(static_cast<double>(count));
    };
    worst = std::max(worst, cell_renyi_up<T>(cell(a0, p), cell(a0, q), order) +
                                cell_renyi_up<T>(cell(b0, rows - p), cell(b0, rows - q), order));
  };
  meet(0, 1);
  if (rows > 1 || a0 != b0) meet(1, 0);  // the same of one row and equal priors
  if (rows > 1) meet(rows - 1, rows), meet(rows, rows - 1);
  return worst;
}

template <class T>
T beta_renyi_delta(double a0, double b0, double weight, std::uint64_t rows, std::uint64_t draws,
                   double epsilon) {
  return least_delta<T>(1 + T(std::min(a0, b0)) / T(weight), draws, epsilon, [&](const T& order) {
    return beta_renyi_of<T>(a0, b0, weight, rows, order);
  });
}

template <class T>
T gamma_renyi_delta(double a, double shift, std::uint64_t draws, double epsilon) {
  const T low = a, high = T(a) + T(shift);
  return least_delta<T>(1 + low / T(shift), draws, epsilon, [&](const T& order) {
    return std::max(cell_renyi_up<T>(low, high, order), cell_renyi_up<T>(high, low, order));
  });
}

// What Beta(a, b) has between two shares, each given with its complement: by the tails of one side
// where it lies aside, whose relative precision is kept.
template <class T>
T mass_between(const T& a, const T& b, const Odds<T>& from, const Odds<T>& to) {
  const T first = below(a, b, from.share, from.rest);
  if (first > T(0.5)) return below(b, a, from.rest, from.share) - below(b, a, to.rest, to.share);
  const T last = below(a, b, to.share, to.rest);
  if (last < T(0.5)) return last - first;
  return 1 - first - below(b, a, to.rest, to.share);
}

// Beta(a + h, b) over Beta(a, b + h), both cut to logits within [-reach, reach]: their densities'
// ratio is e^-w odds^h with the masses that the cut leaves in w.
template <class T>
T cut_beta_pair(const T& a, const T& b, const T& h, const T& reach, const T& epsilon) {
  using std::exp, std::log;
  const Odds<T> low(-reach), high(reach);
  const T more = mass_between<T>(a + h, b, low, high), less = mass_between<T>(a, b + h, low, high);
  const T w = log_gamma(a + h) + log_gamma(b) - log_gamma(a) - log_gamma(b + h) + log(more / less);
  const T up = (w + epsilon) / h, down = (w - epsilon) / h, factor = exp(epsilon);
  const auto difference = [](const T& first, const T& second) {
    if constexpr (std::is_same_v<T, Wide>) {
      return std::max(Wide(0), first - second) + Wide("1e-25");
    } else {
      return first - second;
    }
  };
  const T both = up + down;  // not a number stays none
  T out = std::isnan(static_cast<double>(both)) ? both : T(0);
  if (up > -reach && up < reach) {
    const Odds<T> t(up);
    out = std::max(out, difference(mass_between<T>(a + h, b, t, high) / more,
                                   factor * mass_between<T>(a, b + h, t, high) / less));
  }
  if (down > -reach && down < reach) {
    const Odds<T> t(down);
    out = std::max(out, difference(mass_between<T>(a, b + h, low, t) / less,
                                   factor * mass_between<T>(a + h, b, low, t) / more));
  }
  return out;
}

template <class T>
T cut_reach(double low) {
  using std::log;
  return log((1 - T(low)) / T(low));
}

}  // namespace

double cut_beta_delta_up(const CutBeta& draws, double epsilon, Digits digits) {
  const double low = draws.low;
  const std::uint64_t rows = draws.rows, records = draws.records;
  require_beta(draws.a0, draws.b0, draws.weight, rows, epsilon);
  if (!(low > 0 && low < 0.5)) {
    throw BadInput(Field{"trim"}, fmt::format("must be between 0 and 1/2, got {}", low),
                   "give a share");
  }
  if (records < 1 || records > rows || rows > most_cut_rows) {
    throw BadInput("rows",
                   fmt::format("laws that are cut are scanned for up to {} rows, of which a person "
                               "has one or more, got {} and {}",
                               most_cut_rows, rows, records),
                   "leave epsilon out, for the Gaussian price");
  }
  const auto pair_at = [&](auto number, std::uint64_t j) {
    using T = decltype(number);
    const T r = draws.weight;
    const T ones = static_cast<double>(j), zeros = static_cast<double>(rows - records - j);
    return cut_beta_pair<T>(T(draws.a0) + r * ones, T(draws.b0) + r * zeros,
                            r * T(static_cast<double>(records)), cut_reach<T>(low), T(epsilon));
  };
  // Double is right to 1e-10 where laws are of at most 2,000 rows, and to less near 1/2, where
  // masses are small differences, and with many rows in the prior. What is near the largest, or
  // nothing that a double holds, is evaluated in 50 digits.
  const double lacking = 1e-10 * std::max(1.0, (draws.a0 + draws.b0) / 1e5) +
                         1e-14 / static_cast<double>(cut_reach<Wide>(low));
  std::vector<double> about(rows - records + 1);
  double largest = 0;
  for (std::uint64_t j = 0; j < about.size(); ++j) {
    about[j] = pair_at(double(), j);
    if (std::isfinite(about[j])) largest = std::max(largest, about[j]);
  }
  if (digits == Digits::few) return largest;
  Wide worst = 0;
  for (std::uint64_t j = 0; j < about.size(); ++j) {
    if (about[j] < largest * (1 - 1e-3) - lacking) continue;
    worst = std::max(worst, pair_at(Wide(), j));
  }
  return as_delta(worst);
}

double beta_pair_delta_up(double a, double b, double weight, std::uint64_t records, double epsilon,
                          Digits digits) {
  require_beta(a, b, weight, records, epsilon);
  if (digits == Digits::few) {
    const double few = beta_pair<double>(a, b, weight * static_cast<double>(records), epsilon);
    if (!std::isnan(few)) return few;
  }
  return as_delta(beta_pair<Wide>(a, b, Wide(weight) * Wide(records), epsilon));
}

double beta_delta_up(double a0, double b0, double weight, std::uint64_t rows, double epsilon,
                     Digits digits) {
  require_beta(a0, b0, weight, rows, epsilon);
  rows = scanned(a0, b0, weight, rows);
  const auto about_at = [&](std::uint64_t k) {
    return beta_pair_at<double>(a0, b0, weight, rows, k, epsilon);
  };
  if (digits == Digits::few) {
    const double first = about_at(0), last = about_at(rows - 1);
    if (!std::isnan(first) && !std::isnan(last)) return std::max(first, last);
  }
  // Double is right to 1e-9 of the first probability, which is at most some thousand times delta
  // where delta counts: whatever is within 1e-3 of the largest is evaluated again.
  std::vector<double> about(rows);
  for (std::uint64_t k = 0; k < rows; ++k) {
    about[k] = about_at(k);
    if (!std::isfinite(about[k])) about[k] = std::numeric_limits<double>::infinity();
  }
  const double largest = *std::ranges::max_element(about);
  Wide worst = 0;
  for (std::uint64_t k = 0; k < rows; ++k) {
    const bool end = k == 0 || k + 1 == rows;
    if (end || about[k] >= largest * (1 - 1e-3) - 1e-15) {
      worst = std::max(worst, beta_pair_at<Wide>(a0, b0, weight, rows, k, epsilon));
    }
  }
  return as_delta(worst);
}

double gamma_pair_delta_up(double a, double shift, double epsilon, Digits digits) {
  require_shape(a, Field{"prior"});
  require_shape(shift, "weight");
  require_finite_nonnegative(epsilon, Field{"epsilon"});
  if (digits == Digits::few) {  // not a number where the library gives up
    if (const double few = gamma_pair<double>(a, shift, epsilon); !std::isnan(few)) return few;
  }
  return as_delta(gamma_pair<Wide>(a, shift, epsilon));
}

double scale_pair_delta_up(double shape, double ratio_minus_one, double epsilon, Digits digits) {
  require_shape(shape, Field{"prior"});
  require_shape(ratio_minus_one, "weight");
  require_finite_nonnegative(epsilon, Field{"epsilon"});
  if (digits == Digits::few) {
    if (const double few = scale_pair<double>(shape, ratio_minus_one, epsilon); !std::isnan(few)) {
      return few;
    }
  }
  return as_delta(scale_pair<Wide>(shape, ratio_minus_one, epsilon));
}

double beta_renyi(double a0, double b0, double weight, std::uint64_t rows, double order) {
  require_beta(a0, b0, weight, rows, 0);
  if (!(order > 1 && Wide(order) < 1 + Wide(std::min(a0, b0)) / Wide(weight))) {
    return std::numeric_limits<double>::infinity();
  }
  return round_up(beta_renyi_of<Wide>(a0, b0, weight, rows, order));
}

double gamma_renyi(double a, double shift, double order) {
  require_shape(a, Field{"prior"});
  require_shape(shift, "weight");
  const Wide low = a, high = Wide(a) + Wide(shift);
  if (!(order > 1 && Wide(order) < high / Wide(shift)))
    return std::numeric_limits<double>::infinity();
  return round_up(
      std::max(cell_renyi_up<Wide>(low, high, order), cell_renyi_up<Wide>(high, low, order)));
}

// With r = ratio - 1: A (-log(1 - (order - 1) r)/(order - 1) - log(1 + r)) from rate 1 to ratio,
// and A (order log(1 + r) - log(1 + order r))/(order - 1) back.
double scale_renyi(double shape, double ratio_minus_one, double order) {
  require_shape(shape, Field{"prior"});
  require_shape(ratio_minus_one, "weight");
  const Wide r = ratio_minus_one, less = Wide(order) - 1;
  if (!(order > 1 && less * r < 1)) return std::numeric_limits<double>::infinity();
  const Wide there = -log1p(-less * r) / less - log1p(r);
  const Wide back = (Wide(order) * log1p(r) - log1p(Wide(order) * r)) / less;
  // What 50 digits may lose of terms that cancel, none of which is above these.
  const Wide each = order * r / (1 - less * r) - log1p(-less * r);
  const Wide lost = Wide("1e-48") * (r + each) * (1 + 1 / less);
  return round_up(Wide(shape) * (std::max(there, back) + lost));
}

double beta_renyi_delta_up(double a0, double b0, double weight, std::uint64_t rows,
                           std::uint64_t draws, double epsilon, Digits digits) {
  require_beta(a0, b0, weight, rows, epsilon);
  if (digits == Digits::few) {
    return beta_renyi_delta<double>(a0, b0, weight, rows, draws, epsilon);
  }
  return as_delta(beta_renyi_delta<Wide>(a0, b0, weight, rows, draws, epsilon));
}

double gamma_renyi_delta_up(double a, double shift, std::uint64_t draws, double epsilon,
                            Digits digits) {
  require_shape(a, Field{"prior"});
  require_shape(shift, "weight");
  require_finite_nonnegative(epsilon, Field{"epsilon"});
  if (digits == Digits::few) {
    return gamma_renyi_delta<double>(a, shift, draws, epsilon);
  }
  return as_delta(gamma_renyi_delta<Wide>(a, shift, draws, epsilon));
}

double bounded_range_mu_up(double range) {
  require_finite_positive(range, "range");
  // Phi^-1(1/(1 + e^-x)) is steepest at 0, by sqrt(2 pi)/4: at most that, and hardly less here,
  // where probabilities near 1/2 would tell nothing apart.
  if (range < 1e-6) return round_up(Wide(range) * Wide("0.62665706865775012560394132120276132"));
  const Wide p = 1 / (1 + exp(-Wide(range) / 2));  // Phi(mu/2)
  if (range > 1400) return std::numeric_limits<double>::infinity();
  // The lower tail's quantile, whose relative precision is kept; then up until 50 digits agree.
  const Wide rest = exp(-Wide(range) / 2) * p;
  double mu = -2 * boost::math::quantile(boost::math::normal{}, static_cast<double>(rest));
  if (range < 1e-3) {  // what a quantile near 1/2 lacks, by one step of Newton's
    const double density = std::exp(-mu * mu / 8) / std::sqrt(2 * std::numbers::pi);
    mu = round_up(Wide(mu) + 2 * (normal_cdf(-Wide(mu) / 2) - rest) / density);
  }
  while (!(normal_cdf(-Wide(mu) / 2) * Wide("1.0000000000000000000000000001") <= rest)) {
    mu = std::nextafter(mu, std::numeric_limits<double>::infinity());
  }
  return mu;
}

double bounded_range_down(double mu) {
  require_finite_positive(mu, "mu");
  const Wide rest = normal_cdf(-Wide(mu) / 2);
  double range = round_down(2 * (log1p(-rest) - log(rest)));
  while (range > 0 && !(bounded_range_mu_up(range) <= mu)) range = std::nextafter(range, 0.0);
  return range;
}

}  // namespace gibbsite
