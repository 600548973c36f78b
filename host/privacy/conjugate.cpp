#include "gibbsite/privacy/conjugate.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "core/special.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

// A difference of two probabilities, the first known to 1e-35 of itself.
Wide claimed(const Wide& first, const Wide& second) {
  const Wide difference = std::max(Wide(0), first - second);
  return difference + first * Wide("1e-35") + Wide("1e-60");
}

double as_delta(const Wide& value) { return std::min(1.0, round_up(value)); }

void require_shape(double a, const char* name) { require_finite_positive(a, name); }

// Where the ratio of the densities passes e^epsilon, as exp(-logit) and its complement.
struct Odds {
  Wide share, rest;  // share/rest = e^logit
  explicit Odds(const Wide& logit) {
    const Wide e = exp(-abs(logit));
    share = (logit < 0 ? e : Wide(1)) / (1 + e);
    rest = (logit < 0 ? Wide(1) : e) / (1 + e);
  }
};

// The ratio of Beta(a + h, b) over Beta(a, b + h) is e^-w odds^h.
Wide beta_pair(const Wide& a, const Wide& b, const Wide& h, const Wide& epsilon) {
  const Wide w = log_gamma(a + h) + log_gamma(b) - log_gamma(a) - log_gamma(b + h);
  const Odds above((w + epsilon) / h), below((w - epsilon) / h);
  const Wide inserted = claimed(beta_cdf(b, a + h, above.rest, above.share),
                                exp(epsilon) * beta_cdf(b + h, a, above.rest, above.share));
  const Wide deleted = claimed(beta_cdf(a, b + h, below.share, below.rest),
                               exp(epsilon) * beta_cdf(a + h, b, below.share, below.rest));
  return std::max(inserted, deleted);
}

// The same in double, to find where it is largest.
double beta_pair_about(double a, double b, double h, double epsilon) {
  using boost::math::ibeta;
  using boost::math::ibetac;
  const double w = std::lgamma(a + h) + std::lgamma(b) - std::lgamma(a) - std::lgamma(b + h);
  const auto share = [](double logit) { return 1 / (1 + std::exp(-logit)); };
  const double up = share((w + epsilon) / h), down = share((w - epsilon) / h);
  const double e = std::exp(epsilon);
  return std::max(ibetac(a + h, b, up) - e * ibetac(a, b + h, up),
                  ibeta(a, b + h, down) - e * ibeta(a + h, b, down));
}

struct Cells {
  double a, b;
};
Cells cells_at(double a0, double b0, double weight, std::uint64_t rows, std::uint64_t k) {
  return {a0 + weight * static_cast<double>(k), b0 + weight * static_cast<double>(rows - 1 - k)};
}

// Both sums in 50 digits: verify finds the same.
Wide beta_pair_at(double a0, double b0, double weight, std::uint64_t rows, std::uint64_t k,
                  double epsilon) {
  return beta_pair(Wide(a0) + Wide(weight) * Wide(k), Wide(b0) + Wide(weight) * Wide(rows - 1 - k),
                   weight, epsilon);
}

// How many rows the scan is over; 1: it is not worth it, or double could not say where to look.
std::uint64_t scanned(double a0, double b0, double weight, std::uint64_t rows) {
  const double counts = a0 + b0 + weight * static_cast<double>(rows);
  return rows <= most_scanned_rows && counts <= most_scanned_counts ? rows : 1;
}

void require_beta(double a0, double b0, double weight, std::uint64_t rows, double epsilon) {
  require_shape(a0, "`prior`");
  require_shape(b0, "`prior`");
  require_shape(weight, "`weight`");
  require_finite_nonnegative(epsilon, "`epsilon`");
  if (rows < 1) throw BadInput("rows: must be at least 1, got 0; give a table with a row");
}

// d_order(x -> y) of lnGamma, Geumlek et al. equation 16 for one cell.
Wide cell_renyi(const Wide& x, const Wide& y, const Wide& order) {
  return (log_gamma(order * x + (1 - order) * y) - order * log_gamma(x)) / (order - 1) +
         log_gamma(y);
}

// log of the delta that a divergence of that order gives (privacy/rdp.hpp, solved for delta).
Wide log_delta(const Wide& divergence, const Wide& order, const Wide& epsilon) {
  return (order - 1) * (divergence + log(1 - 1 / order) - epsilon) - log(order);
}

// Orders 1 + (i/100)(largest - 1), i = 2..98.
template <class Divergence>
double least_delta_up(const Wide& largest, double epsilon, const Divergence& divergence) {
  Wide best = 0;  // delta is at most 1
  for (int i = 2; i <= 98; ++i) {
    const Wide order = 1 + (largest - 1) * Wide(i) / 100;
    best = std::min(best, log_delta(divergence(order), order, epsilon));
  }
  return as_delta(exp(best));
}

Wide beta_renyi_wide(double a0, double b0, double weight, std::uint64_t rows, const Wide& order) {
  const Wide r = weight;
  const auto at = [&](std::uint64_t k) {
    return std::pair<Wide, Wide>{Wide(a0) + r * Wide(k), Wide(b0) + r * Wide(rows - k)};
  };
  Wide worst = 0;
  const auto meet = [&](std::uint64_t p, std::uint64_t q) {
    const auto [pa, pb] = at(p);
    const auto [qa, qb] = at(q);
    worst = std::max(worst, cell_renyi(pa, qa, order) + cell_renyi(pb, qb, order));
  };
  meet(0, 1), meet(1, 0), meet(rows - 1, rows), meet(rows, rows - 1);
  return worst;
}

}  // namespace

double beta_pair_delta_up(double a, double b, double weight, std::uint64_t records,
                          double epsilon) {
  require_beta(a, b, weight, records, epsilon);
  return as_delta(beta_pair(a, b, Wide(weight) * Wide(records), epsilon));
}

double beta_ends_delta(double a0, double b0, double weight, std::uint64_t rows, double epsilon) {
  require_beta(a0, b0, weight, rows, epsilon);
  rows = scanned(a0, b0, weight, rows);
  return as_delta(std::max(beta_pair_at(a0, b0, weight, rows, 0, epsilon),
                           beta_pair_at(a0, b0, weight, rows, rows - 1, epsilon)));
}

double beta_delta_up(double a0, double b0, double weight, std::uint64_t rows, double epsilon) {
  require_beta(a0, b0, weight, rows, epsilon);
  rows = scanned(a0, b0, weight, rows);
  // Double is right to 1e-9 of the first probability, which is at most some thousand times delta
  // where delta counts: whatever is within 1e-3 of the largest is evaluated again.
  std::vector<double> about(rows);
  for (std::uint64_t k = 0; k < rows; ++k) {
    const auto [a, b] = cells_at(a0, b0, weight, rows, k);
    about[k] = beta_pair_about(a, b, weight, epsilon);
    if (!std::isfinite(about[k])) about[k] = std::numeric_limits<double>::infinity();
  }
  const double largest = *std::ranges::max_element(about);
  Wide worst = 0;
  for (std::uint64_t k = 0; k < rows; ++k) {
    const bool end = k == 0 || k + 1 == rows;
    if (end || about[k] >= largest * (1 - 1e-3) - 1e-15) {
      worst = std::max(worst, beta_pair_at(a0, b0, weight, rows, k, epsilon));
    }
  }
  return as_delta(worst);
}

double gamma_pair_delta_up(double a, double shift, double epsilon) {
  require_shape(a, "`prior`");
  require_shape(shift, "`weight`");
  require_finite_nonnegative(epsilon, "`epsilon`");
  const Wide A = a, h = shift, e = epsilon;
  const Wide w = log_gamma(A + h) - log_gamma(A);
  const Wide t = exp((w - e) / h);
  const Wide left = claimed(gamma_lower(A, t), exp(e) * gamma_lower(A + h, t));
  // Beyond e^40 shapes nothing is left that a double could hold.
  const Wide far = (w + e) / h;
  if (far > 40 + log(1 + A + h)) return as_delta(left);
  const Wide u = exp(far);
  return as_delta(std::max(left, claimed(gamma_upper(A + h, u), exp(e) * gamma_upper(A, u))));
}

double scale_pair_delta_up(double shape, double ratio_minus_one, double epsilon) {
  require_shape(shape, "`prior`");
  require_shape(ratio_minus_one, "`weight`");
  require_finite_nonnegative(epsilon, "`epsilon`");
  const Wide A = shape, gap = ratio_minus_one, e = epsilon, ratio = 1 + gap;
  const Wide logs = A * log1p(gap);
  const Wide t = (e + logs) / gap, u = std::max(Wide(0), (logs - e) / gap);
  return as_delta(std::max(claimed(gamma_upper(A, t), exp(e) * gamma_upper(A, ratio * t)),
                           claimed(gamma_lower(A, ratio * u), exp(e) * gamma_lower(A, u))));
}

double beta_renyi(double a0, double b0, double weight, std::uint64_t rows, double order) {
  require_beta(a0, b0, weight, rows, 0);
  if (!(order > 1 && Wide(order) < 1 + Wide(std::min(a0, b0)) / Wide(weight))) {
    return std::numeric_limits<double>::infinity();
  }
  return round_up(beta_renyi_wide(a0, b0, weight, rows, order));
}

double beta_renyi_delta_up(double a0, double b0, double weight, std::uint64_t rows,
                           double epsilon) {
  require_beta(a0, b0, weight, rows, epsilon);
  return least_delta_up(1 + Wide(std::min(a0, b0)) / Wide(weight), epsilon, [&](const Wide& order) {
    return beta_renyi_wide(a0, b0, weight, rows, order);
  });
}

double gamma_renyi_delta_up(double a, double shift, double epsilon) {
  require_shape(a, "`prior`");
  require_shape(shift, "`weight`");
  require_finite_nonnegative(epsilon, "`epsilon`");
  const Wide low = a, high = Wide(a) + Wide(shift);
  return least_delta_up(1 + Wide(a) / Wide(shift), epsilon, [&](const Wide& order) {
    return std::max(cell_renyi(low, high, order), cell_renyi(high, low, order));
  });
}

double bounded_range_mu_up(double range) {
  require_finite_positive(range, "range");
  const Wide p = 1 / (1 + exp(-Wide(range) / 2));  // Phi(mu/2)
  if (range > 1400) return std::numeric_limits<double>::infinity();
  // Of the lower tail, whose relative precision is kept; then up until 50 digits agree.
  const Wide rest = exp(-Wide(range) / 2) * p;
  double mu = -2 * boost::math::quantile(boost::math::normal{}, static_cast<double>(rest));
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
