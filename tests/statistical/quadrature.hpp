#pragma once
// Exact laws of short Langevin chains by quadrature of the transition kernel.
//
// One step is theta' = phi(theta) + sqrt(2h) xi with phi(theta) = theta - h U'(theta). From a
// point, the law after T steps is therefore a mixture of Gaussians of scale sqrt(2h) centered on
// phi of the points of a grid that carries the law after T-1 steps: densities and tail
// probabilities are sums of exp and erfc, with full relative accuracy far into the tails. The
// trapezoid rule on a product of two Gaussians converges like exp(-(pi r)^2), r grid points per
// scale: 7e-18 at r = 2. Whoever uses it doubles r and takes the change as the error.
#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <unordered_map>
#include <utility>
#include <vector>

namespace quadrature {

inline constexpr double reach = 13;  // Gaussian scales kept on each side: exp(-13^2/2) = 2e-37

inline double gaussian(double x, double scale) {
  const double z = x / scale;
  return std::exp(-0.5 * z * z) / (scale * std::sqrt(2 * std::numbers::pi));
}
/// P(N(0,1) > z), to full relative accuracy.
inline double upper_tail(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }
/// The z with P(N(0,1) <= z) = lower, given both tails so that neither end loses digits.
inline double normal_score(double lower, double upper) {
  const boost::math::normal unit;
  constexpr double floor = 1e-300;  // beyond 37 standard deviations: never reached by a chain
  return lower < upper ? boost::math::quantile(unit, std::max(lower, floor))
                       : boost::math::quantile(complement(unit, std::max(upper, floor)));
}

/// sum_j weight_j N(center_j, scale^2) in one dimension.
struct Mixture {
  Eigen::ArrayXd center, weight;
  double scale = 1;

  [[nodiscard]] double density(double x) const {
    return (weight * (-0.5 * ((x - center) / scale).square()).exp()).sum() /
           (scale * std::sqrt(2 * std::numbers::pi));
  }
  /// P(X > x) and P(X <= x).
  [[nodiscard]] double above(double x) const {
    return (weight * ((x - center) / scale).unaryExpr(&upper_tail)).sum();
  }
  [[nodiscard]] double below(double x) const {
    return (weight * ((center - x) / scale).unaryExpr(&upper_tail)).sum();
  }
  /// P(a < X <= b), each term from its nearer tail.
  [[nodiscard]] double between(double a, double b) const {
    double sum = 0;
    for (Eigen::Index j = 0; j < weight.size(); ++j) {
      const double lo = (a - center(j)) / scale, hi = (b - center(j)) / scale;
      sum += weight(j) *
             (lo > 0 ? upper_tail(lo) - upper_tail(hi) : upper_tail(-hi) - upper_tail(-lo));
    }
    return sum;
  }
};

/// One-dimensional potential: U'(theta).
using Slope = std::function<double(double)>;

/// The law of theta_T of one chain, T = 1, 2, ..., carried on the lattice {k * spacing}.
class ChainLaw {
 public:
  /// `resolution` = lattice points per sqrt(2h), and per unit of theta where that is less (U' has
  /// poles at distance pi from the real line).
  ChainLaw(Slope slope, double start, double h, double resolution)
      : slope_(std::move(slope)), h_(h), spacing_(std::min(std::sqrt(2 * h), 1.0) / resolution) {
    law_ = {Eigen::ArrayXd::Constant(1, map(start)), Eigen::ArrayXd::Ones(1), std::sqrt(2 * h)};
    const Kernel first = kernel(map(start));
    origin_ = first.origin;
    density_ = first.density;
  }

  /// theta_T as a mixture: exact tails.
  [[nodiscard]] const Mixture& law() const { return law_; }
  [[nodiscard]] double spacing() const { return spacing_; }
  /// Density at the lattice points k in [first(), last()), 0 elsewhere.
  [[nodiscard]] long first() const { return origin_; }
  [[nodiscard]] long last() const { return origin_ + density_.size(); }
  [[nodiscard]] double at(long k) const {
    return k < first() || k >= last() ? 0.0 : density_(k - origin_);
  }
  [[nodiscard]] double mass() const { return spacing_ * density_.sum(); }

  void step() {
    const auto points = density_.size();
    law_.weight = spacing_ * density_;
    law_.center.resize(points);
    long lo = std::numeric_limits<long>::max(), hi = std::numeric_limits<long>::min();
    std::vector<const Kernel*> kernels(static_cast<std::size_t>(points));
    for (Eigen::Index j = 0; j < points; ++j) {
      Kernel& k = kernels_[origin_ + j];
      if (k.density.size() == 0) k = kernel(map(static_cast<double>(origin_ + j) * spacing_));
      kernels[static_cast<std::size_t>(j)] = &k;
      law_.center(j) = k.center;
      lo = std::min(lo, k.origin);
      hi = std::max(hi, k.origin + k.density.size());
    }
    density_ = Eigen::ArrayXd::Zero(hi - lo);
    for (Eigen::Index j = 0; j < points; ++j) {
      const Kernel& k = *kernels[static_cast<std::size_t>(j)];
      density_.segment(k.origin - lo, k.density.size()) += law_.weight(j) * k.density;
    }
    // Tails below 1e-40 are dropped.
    Eigen::Index from = 0, to = density_.size();
    while (from + 1 < to && density_(from) * spacing_ < 1e-40) ++from;
    while (from + 1 < to && density_(to - 1) * spacing_ < 1e-40) --to;
    origin_ = lo + from;
    density_ = density_.segment(from, to - from).eval();
  }

 private:
  struct Kernel {  // N(center, 2h) on the lattice
    double center = 0;
    long origin = 0;
    Eigen::ArrayXd density;
  };
  [[nodiscard]] double map(double theta) const { return theta - h_ * slope_(theta); }
  [[nodiscard]] Kernel kernel(double center) const {
    const double scale = std::sqrt(2 * h_);
    Kernel out;
    out.center = center;
    out.origin = std::lround((center - reach * scale) / spacing_);
    out.density.resize(std::lround((center + reach * scale) / spacing_) + 1 - out.origin);
    for (Eigen::Index i = 0; i < out.density.size(); ++i) {
      out.density(i) = gaussian(static_cast<double>(out.origin + i) * spacing_ - center, scale);
    }
    return out;
  }

  Slope slope_;
  double h_, spacing_;
  Mixture law_;
  long origin_ = 0;
  Eigen::ArrayXd density_;
  std::unordered_map<long, Kernel> kernels_;  // by lattice point of the start: reused every step
};

/// delta(epsilon) = sup_A P(A) - e^epsilon Q(A) of two chains on one lattice, both ways round.
class HockeyStick {
 public:
  HockeyStick(const ChainLaw& p, const ChainLaw& q)
      : p_(p.law()), q_(q.law()), first_(std::min(p.first(), q.first())), spacing_(p.spacing()) {
    log_ratio_.resize(static_cast<std::size_t>(std::max(p.last(), q.last()) - first_));
    for (std::size_t i = 0; i < log_ratio_.size(); ++i) {
      const long k = first_ + static_cast<long>(i);
      log_ratio_[i] = std::log(std::max(p.at(k), tiny)) - std::log(std::max(q.at(k), tiny));
    }
  }

  [[nodiscard]] double delta(double epsilon) const {
    return std::max(one_way(epsilon, 1), one_way(epsilon, -1));
  }

 private:
  static constexpr double tiny = 1e-250;

  /// The set where the first law exceeds e^epsilon times the second, from the sign changes of the
  /// log ratio on the lattice, refined. Every set gives a lower bound of delta, and the error of an
  /// end point enters squared.
  [[nodiscard]] double one_way(double epsilon, int way) const {
    const Mixture& p = way > 0 ? p_ : q_;
    const Mixture& q = way > 0 ? q_ : p_;
    const double infinity = std::numeric_limits<double>::infinity(), e = std::exp(epsilon);
    const auto excess = [&](double x) {
      return std::log(std::max(p.density(x), tiny)) - std::log(std::max(q.density(x), tiny)) -
             epsilon;
    };
    double sum = 0, from = -infinity;
    const auto close = [&](double to) { sum += p.between(from, to) - e * q.between(from, to); };
    bool inside = way * log_ratio_.front() > epsilon;
    for (std::size_t i = 1; i < log_ratio_.size(); ++i) {
      if ((way * log_ratio_[i] > epsilon) == inside) continue;
      double a = static_cast<double>(first_ + static_cast<long>(i) - 1) * spacing_;
      double b = a + spacing_;
      const double at_a = excess(a), at_b = excess(b);
      if (at_a * at_b < 0) {
        std::uintmax_t evaluations = 40;
        a = boost::math::tools::toms748_solve(excess, a, b, at_a, at_b,
                                              boost::math::tools::eps_tolerance<double>(30),
                                              evaluations)
                .first;
      } else if (std::fabs(at_b) < std::fabs(at_a)) {
        a = b;  // the root is a lattice point
      }
      if (inside) close(a);
      from = a;
      inside = !inside;
    }
    if (inside) close(infinity);
    return sum;
  }

  const Mixture& p_;
  const Mixture& q_;
  long first_;
  double spacing_;
  std::vector<double> log_ratio_;
};

/// sum_j weight_j N(center_j, scale^2 I) in two dimensions.
struct Mixture2 {
  Eigen::MatrixX2d center;
  Eigen::VectorXd weight;
  double scale = 1;
};

using Slope2 = std::function<Eigen::Vector2d(const Eigen::Vector2d&)>;

/// The law of theta_T in two dimensions, on a square grid. The kernel factors over the coordinates,
/// so a point spreads as an outer product of two vectors.
inline Mixture2 law_after_2d(const Slope2& slope, const Eigen::Vector2d& start, double h, int steps,
                             double per_scale) {
  constexpr double kept = 9;  // scales: exp(-81/2) = 3e-18
  const double scale = std::sqrt(2 * h), spacing = scale / per_scale;
  Mixture2 law{(start - h * slope(start)).transpose(), Eigen::VectorXd::Ones(1), scale};
  for (int t = 1; t < steps; ++t) {
    const Eigen::Vector2d lo = law.center.colwise().minCoeff().transpose().array() - kept * scale;
    const Eigen::Vector2d hi = law.center.colwise().maxCoeff().transpose().array() + kept * scale;
    const Eigen::Index rows = static_cast<Eigen::Index>((hi(0) - lo(0)) / spacing) + 1;
    const Eigen::Index cols = static_cast<Eigen::Index>((hi(1) - lo(1)) / spacing) + 1;
    const auto width = static_cast<Eigen::Index>(2 * kept * per_scale);
    Eigen::MatrixXd density = Eigen::MatrixXd::Zero(rows, cols);
    Eigen::VectorXd g0(width), g1(width);
    for (Eigen::Index j = 0; j < law.weight.size(); ++j) {
      const auto i0 =
          static_cast<Eigen::Index>((law.center(j, 0) - kept * scale - lo(0)) / spacing);
      const auto i1 =
          static_cast<Eigen::Index>((law.center(j, 1) - kept * scale - lo(1)) / spacing);
      const Eigen::Index w0 = std::min(width, rows - i0), w1 = std::min(width, cols - i1);
      for (Eigen::Index k = 0; k < width; ++k) {
        g0(k) = gaussian(lo(0) + static_cast<double>(i0 + k) * spacing - law.center(j, 0), scale);
        g1(k) = gaussian(lo(1) + static_cast<double>(i1 + k) * spacing - law.center(j, 1), scale);
      }
      density.block(i0, i1, w0, w1).noalias() +=
          (law.weight(j) * g0.head(w0)) * g1.head(w1).transpose();
    }
    density *= spacing * spacing;
    const auto size = static_cast<Eigen::Index>((density.array() > 1e-18).count());
    law.center.resize(size, 2);
    law.weight.resize(size);
    Eigen::Index j = 0;
    for (Eigen::Index a = 0; a < rows; ++a) {
      for (Eigen::Index b = 0; b < cols; ++b) {
        if (!(density(a, b) > 1e-18)) continue;
        const Eigen::Vector2d theta(lo(0) + static_cast<double>(a) * spacing,
                                    lo(1) + static_cast<double>(b) * spacing);
        law.center.row(j) = (theta - h * slope(theta)).transpose();
        law.weight(j++) = density(a, b);
      }
    }
  }
  return law;
}

}  // namespace quadrature
