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
#include <boost/math/quadrature/gauss.hpp>
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

/// A square grid of points lo + spacing * (i, j) and a mixture's density there, where a center is
/// within `kept` scales.
struct Lattice2 {
  static constexpr double kept = 11;  // exp(-121/2) = 5e-27
  Eigen::Vector2d lo;
  double spacing = 1;
  Eigen::MatrixXd density;

  /// Room for all centers.
  Lattice2(const std::vector<const Mixture2*>& laws, double spacing_) : spacing(spacing_) {
    lo = laws.front()->center.row(0).transpose();
    Eigen::Vector2d hi = lo;
    for (const Mixture2* law : laws) {
      const Eigen::Vector2d around = Eigen::Vector2d::Constant(kept * law->scale);
      lo = lo.cwiseMin(law->center.colwise().minCoeff().transpose() - around);
      hi = hi.cwiseMax(law->center.colwise().maxCoeff().transpose() + around);
    }
    density = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>((hi(0) - lo(0)) / spacing) + 1,
                                    static_cast<Eigen::Index>((hi(1) - lo(1)) / spacing) + 1);
  }
  /// The kernel factors over the coordinates: a center spreads as an outer product of two vectors.
  void add(const Mixture2& law) {
    const double scale = law.scale;
    const auto width = static_cast<Eigen::Index>(2 * kept * scale / spacing);
    Eigen::VectorXd g0(width), g1(width);
    for (Eigen::Index j = 0; j < law.weight.size(); ++j) {
      const auto i0 =
          static_cast<Eigen::Index>((law.center(j, 0) - kept * scale - lo(0)) / spacing);
      const auto i1 =
          static_cast<Eigen::Index>((law.center(j, 1) - kept * scale - lo(1)) / spacing);
      const Eigen::Index w0 = std::min(width, density.rows() - i0);
      const Eigen::Index w1 = std::min(width, density.cols() - i1);
      for (Eigen::Index k = 0; k < width; ++k) {
        g0(k) = gaussian(lo(0) + static_cast<double>(i0 + k) * spacing - law.center(j, 0), scale);
        g1(k) = gaussian(lo(1) + static_cast<double>(i1 + k) * spacing - law.center(j, 1), scale);
      }
      density.block(i0, i1, w0, w1).noalias() +=
          (law.weight(j) * g0.head(w0)) * g1.head(w1).transpose();
    }
  }
  [[nodiscard]] Eigen::Vector2d at(Eigen::Index i, Eigen::Index j) const {
    return {lo(0) + static_cast<double>(i) * spacing, lo(1) + static_cast<double>(j) * spacing};
  }
};

/// The law of theta_T of one chain in two dimensions, T = 1, 2, ...
class ChainLaw2 {
 public:
  /// `per_scale`: lattice points per sqrt(2h) of what a step is made from; points of less than
  /// `least` are dropped.
  ChainLaw2(Slope2 slope, const Eigen::Vector2d& start, double h, double per_scale,
            double least = 1e-26)
      : slope_(std::move(slope)), h_(h), spacing_(std::sqrt(2 * h) / per_scale), least_(least) {
    law_ = {(start - h * slope_(start)).transpose(), Eigen::VectorXd::Ones(1), std::sqrt(2 * h)};
  }
  [[nodiscard]] const Mixture2& law() const { return law_; }
  void step() {
    Lattice2 grid({&law_}, spacing_);
    grid.add(law_);
    grid.density *= spacing_ * spacing_;
    const auto size = static_cast<Eigen::Index>((grid.density.array() > least_).count());
    law_.center.resize(size, 2);
    law_.weight.resize(size);
    Eigen::Index to = 0;
    for (Eigen::Index a = 0; a < grid.density.rows(); ++a) {
      for (Eigen::Index b = 0; b < grid.density.cols(); ++b) {
        if (!(grid.density(a, b) > least_)) continue;
        const Eigen::Vector2d theta = grid.at(a, b);
        law_.center.row(to) = (theta - h_ * slope_(theta)).transpose();
        law_.weight(to++) = grid.density(a, b);
      }
    }
  }

 private:
  Slope2 slope_;
  double h_, spacing_, least_;
  Mixture2 law_;
};

/// The law of theta_T in two dimensions.
inline Mixture2 law_after_2d(const Slope2& slope, const Eigen::Vector2d& start, double h, int steps,
                             double per_scale) {
  ChainLaw2 chain(slope, start, h, per_scale, 1e-18);
  for (int t = 1; t < steps; ++t) chain.step();
  return chain.law();
}

/// delta(epsilon) of two chains in two dimensions, both ways round: the trapezoid rule over lines
/// along the first coordinate; on a line P - e^epsilon Q is integrated where it is positive, either
/// density between lattice points by the polynomial of degree 7 through its logarithm.
class HockeyStick2 {
 public:
  HockeyStick2(const Mixture2& p, const Mixture2& q, double per_scale)
      : p_({&p, &q}, p.scale / per_scale), q_(p_) {
    p_.add(p);
    q_.add(q);
    for (Lattice2* law : {&p_, &q_}) law->density = law->density.array().max(tiny).log();
    of_p_ = masses(p_), of_q_ = masses(q_);
  }
  [[nodiscard]] double delta(double epsilon) const {
    return std::max(one_way(p_, of_p_, q_, of_q_, epsilon), one_way(q_, of_q_, p_, of_p_, epsilon));
  }

 private:
  static constexpr int nodes = 8, before = 3;
  static constexpr double tiny = 1e-40;
  using Points = Eigen::Matrix<double, nodes, 1>;

  // Lagrange's polynomials of points -3, .., 4 at t.
  static Points basis(double t) {
    Points out = Points::Ones();
    for (int j = 0; j < nodes; ++j) {
      for (int i = 0; i < nodes; ++i) {
        if (i != j) out(j) *= (t + before - i) / (j - i);
      }
    }
    return out;
  }
  static auto around(const Lattice2& law, Eigen::Index k, Eigen::Index line) {
    return law.density.col(line).segment<nodes>(k - before);
  }
  template <class F>
  static double integral(const F& f, double from, double to) {
    return boost::math::quadrature::gauss<double, 7>::integrate(f, from, to);
  }
  // The mass of each interval of each line.
  static Eigen::MatrixXd masses(const Lattice2& law) {
    Eigen::MatrixXd out = Eigen::MatrixXd::Zero(law.density.rows(), law.density.cols());
    std::vector<std::pair<double, Points>> at;  // the rule's points
    static_cast<void>(integral([&](double t) { return at.emplace_back(t, basis(t)).first; }, 0, 1));
    for (Eigen::Index line = 0; line < out.cols(); ++line) {
      for (Eigen::Index k = before; k + nodes - before <= out.rows(); ++k) {
        if (std::max(law.density(k, line), law.density(k + 1, line)) < std::log(1e-30)) continue;
        auto next = at.begin();  // in the same order
        out(k, line) = integral(
            [&](double) { return std::exp(next++->second.dot(around(law, k, line))); }, 0, 1);
      }
    }
    return out;
  }
  [[nodiscard]] static double one_way(const Lattice2& p, const Eigen::MatrixXd& of_p,
                                      const Lattice2& q, const Eigen::MatrixXd& of_q,
                                      double epsilon) {
    const double e = std::exp(epsilon);
    double sum = 0;
    for (Eigen::Index line = 0; line < of_p.cols(); ++line) {
      for (Eigen::Index k = before; k + nodes - before <= of_p.rows(); ++k) {
        if (of_p(k, line) == 0) continue;
        const bool here = p.density(k, line) - q.density(k, line) > epsilon;
        const bool next = p.density(k + 1, line) - q.density(k + 1, line) > epsilon;
        if (here && next) sum += of_p(k, line) - e * of_q(k, line);
        if (here == next) continue;
        double lo = 0, hi = 1;  // of the sign change
        for (int turn = 0; turn < 40; ++turn) {
          const double t = (lo + hi) / 2;
          const bool inside = basis(t).dot(around(p, k, line) - around(q, k, line)) > epsilon;
          (inside == here ? lo : hi) = t;
        }
        sum += integral(
            [&](double t) {
              const Points at = basis(t);
              return std::exp(at.dot(around(p, k, line))) -
                     e * std::exp(at.dot(around(q, k, line)));
            },
            here ? 0 : lo, here ? lo : 1);
      }
    }
    return sum * p.spacing * p.spacing;
  }

  Lattice2 p_, q_;  // densities as logarithms
  Eigen::MatrixXd of_p_, of_q_;
};

}  // namespace quadrature
