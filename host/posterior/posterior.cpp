#include "gibbsite/posterior/posterior.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "engine/crew.hpp"
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/memory.hpp"
#include "gibbsite/engine/machine.hpp"
#include "posterior/posterior_proximal.hpp"

namespace gibbsite {
namespace {

using Eigen::ArrayXd;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Rowwise = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_dense_parameters = 1000;  // of Metric::automatic
constexpr std::uint64_t most_leapfrogs = 1000;
constexpr double divergence = 1000;  // energy error
constexpr double overdispersion = 2;
constexpr double quarter_period = std::numbers::pi / 2;

constexpr std::array<std::pair<Transition, std::string_view>, 3> transitions{
    {{Transition::hamiltonian, "hmc"},
     {Transition::langevin, "mala"},
     {Transition::proximal, "proximal"}}};
constexpr std::array<std::pair<Metric, std::string_view>, 5> metrics{
    {{Metric::automatic, "auto"},
     {Metric::unit, "unit"},
     {Metric::scales, "scales"},
     {Metric::diagonal, "diagonal"},
     {Metric::laplace, "laplace"}}};

template <class Names, class T>
std::string_view name_of(const Names& names, T value) {
  return std::ranges::find(names, value, [](const auto& entry) { return entry.first; })->second;
}

template <class Names>
auto named(const Names& names, std::string_view name, std::string_view what) {
  const auto found = std::ranges::find(names, name, [](const auto& entry) { return entry.second; });
  if (found == names.end()) {
    std::string known;
    for (const auto& entry : names) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.second);
    }
    throw BadInput(fmt::format("{}: '{}' is not one; use one of: {}", what, name, known));
  }
  return found->first;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

std::span<const double> view(const VectorXd& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

VectorXd vector(std::span<const double> v) {
  return Eigen::Map<const VectorXd>(v.data(), index(v.size()));
}

// U and its gradient for all chains at once, on the backend.
class Target {
 public:
  explicit Target(const Potential& potential)
      : u_(potential),
        center_(u_.center.empty() ? VectorXd::Zero(index(u_.features())) : vector(u_.center)) {}

  // out[C x d] = grad U of each row of theta [C x d]; reads X once.
  void gradients(const Rowwise& theta, Rowwise& out) {
    u_.engine->loss_gradients(shape(theta.data(), theta), shape(out.data(), out));
    out = u_.beta * out + u_.prior_precision * (theta.rowwise() - center_.transpose());
  }

  // out[C] = U.
  void values(const Rowwise& theta, VectorXd& out) {
    u_.engine->loss_values(shape(theta.data(), theta),
                           {out.data(), static_cast<std::size_t>(out.size())});
    out = u_.beta * out +
          u_.prior_precision / 2 * (theta.rowwise() - center_.transpose()).rowwise().squaredNorm();
  }

  [[nodiscard]] const VectorXd& center() const { return center_; }

 private:
  template <class T>
  static MatrixView<T> shape(T* data, const Rowwise& m) {
    return {data, static_cast<std::size_t>(m.rows()), static_cast<std::size_t>(m.cols())};
  }

  const Potential& u_;
  VectorXd center_;
};

// theta = L q: trajectories move in q, where the metric Sigma = L L^T is the identity. L is
// diagonal, or the transposed inverse of the factor R of a precision R R^T.
class Chart {
 public:
  explicit Chart(VectorXd scales) : scales_(std::move(scales)) {}

  // Throws BadInput when the precision [d x d] is not positive definite in double.
  static Chart of_precision(const MatrixXd& precision) {
    const Eigen::LLT<MatrixXd> factor(precision);
    if (factor.info() != Eigen::Success || !precision.allFinite()) {
      throw BadInput(
          "--metric laplace: the Hessian at the minimiser is not positive definite in double "
          "precision; use --metric diagonal, or a larger --prior-precision");
    }
    Chart chart(VectorXd{});
    chart.inverse_ = MatrixXd::Identity(precision.rows(), precision.cols());
    factor.matrixL().solveInPlace(chart.inverse_);
    return chart;
  }

  // Rows L p of rows p [C x d].
  void push(const Rowwise& p, Rowwise& out) const {
    if (scales_.size() > 0) {
      out = p * scales_.asDiagonal();
    } else {
      out.noalias() = p * inverse_.triangularView<Eigen::Lower>();
    }
  }

  // Rows L^T g of rows g [C x d].
  void pull(const Rowwise& g, Rowwise& out) const {
    if (scales_.size() > 0) {
      out = g * scales_.asDiagonal();
    } else {
      out.noalias() = g * inverse_.transpose().triangularView<Eigen::Upper>();
    }
  }

  [[nodiscard]] const VectorXd& scales() const { return scales_; }

 private:
  VectorXd scales_;   // [d] the diagonal of L; empty where dense
  MatrixXd inverse_;  // [d x d] R^-1, lower; L = R^-T
};

// Dual averaging (Hoffman and Gelman 2014, section 3.2), with their constants.
class StepSize {
 public:
  explicit StepSize(double first) : shrink_to_(std::log(10 * first)), log_mean_(std::log(first)) {}

  // The next step, after one whose acceptance missed the target by that.
  double next(double missed) {
    constexpr double gamma = 0.05, t0 = 10, kappa = 0.75;
    ++count_;
    error_ += (missed - error_) / (count_ + t0);
    const double log_step = shrink_to_ - std::sqrt(count_) / gamma * error_;
    log_mean_ += std::pow(count_, -kappa) * (log_step - log_mean_);
    return std::exp(log_step);
  }
  [[nodiscard]] double mean() const { return std::exp(log_mean_); }

 private:
  double shrink_to_, log_mean_, error_ = 0, count_ = 0;
};

// Windows of the warm-up as in Stan: a start without, windows of 25, 50, 100 ... transitions of
// which the last takes the rest, and an end in which only the step is adapted.
struct Windows {
  std::uint64_t begin = 0;
  std::vector<std::uint64_t> ends{};  // the last transition of each, plus 1

  explicit Windows(std::uint64_t warm_up) {
    std::uint64_t first = 75, size = 25, last = 50;
    if (first + size + last > warm_up) {
      first = warm_up * 15 / 100;
      last = warm_up / 10;
      size = warm_up - first - last;
    }
    begin = first;
    const std::uint64_t end = warm_up - last;
    for (std::uint64_t at = first; at < end; size *= 2) {
      // The next one must fit as well, at twice the size.
      at = at + 3 * size > end ? end : at + size;
      ends.push_back(at);
    }
  }
  [[nodiscard]] bool contains(std::uint64_t t) const {
    return !ends.empty() && t >= begin && t < ends.back();
  }
  [[nodiscard]] bool ends_after(std::uint64_t t) const {
    return std::ranges::find(ends, t + 1) != ends.end();
  }
};

// Draws of one window, of all chains together: variances, and the variance along a direction that
// was fixed before the window, which is at most the largest one.
class Spread {
 public:
  Spread(VectorXd scales, VectorXd direction)
      : scales_(std::move(scales)),
        direction_(direction.normalized()),
        mean_(VectorXd::Zero(scales_.size())),
        squares_(VectorXd::Zero(scales_.size())),
        next_(VectorXd::Zero(scales_.size())) {}

  void add(const Rowwise& theta) {
    for (Eigen::Index c = 0; c < theta.rows(); ++c) {
      count_ += 1;
      const VectorXd before = theta.row(c).transpose() - mean_;
      mean_ += before / count_;
      const VectorXd after = theta.row(c).transpose() - mean_;
      squares_ += before.cwiseProduct(after);
      const VectorXd scaled = after.cwiseQuotient(scales_);
      const double along = scaled.dot(direction_);
      along_ += along * along;
      next_ += along * scaled;
    }
  }

  // Shrunk towards the squared scales by 5 draws.
  [[nodiscard]] VectorXd deviations(const VectorXd& towards) const {
    const VectorXd variance = squares_ / std::max(count_ - 1, 1.0);
    return ((count_ * variance + 5 * towards.cwiseAbs2()) / (count_ + 5)).cwiseSqrt();
  }
  // In units of the scales.
  [[nodiscard]] double along() const { return std::sqrt(along_ / std::max(count_, 1.0)); }
  // One step of the power method from `direction`, in units of other scales.
  [[nodiscard]] VectorXd next_direction(const VectorXd& scales) const {
    const VectorXd next = next_.cwiseProduct(scales_).cwiseQuotient(scales);
    return next.norm() > 0 && next.allFinite() ? VectorXd(next.normalized()) : direction_;
  }

 private:
  VectorXd scales_, direction_, mean_, squares_, next_;
  double count_ = 0, along_ = 0;
};

void require_valid(const Potential& u, const PosteriorOptions& o) {
  const std::size_t d = u.features();
  require_finite_nonnegative(u.beta, "beta");
  if (u.prior_precision == 0) {
    throw BadInput(
        "--prior-precision: 0, and without a prior the posterior may have no mass to normalise; "
        "give one above 0");
  }
  require_finite_positive(u.prior_precision, "--prior-precision");
  const auto require_length = [&](std::span<const double> v, std::string_view name) {
    if (v.size() != d) {
      throw BadInput(fmt::format("{}: has {} numbers, the rows have {} features; give one for each",
                                 name, v.size(), d));
    }
  };
  const auto finite = [](double v) { return std::isfinite(v); };
  if (!u.center.empty()) require_length(u.center, "center");
  if (!std::ranges::all_of(u.center, finite)) {
    throw BadInput("center: has a coordinate that is not finite; give finite numbers");
  }
  const auto require_count = [](std::uint64_t value, std::uint64_t most, std::string_view name) {
    if (value < 1 || value > most) {
      throw BadInput(fmt::format("{}: must be from 1 to {}, got {}", name, most, value));
    }
  };
  constexpr std::uint64_t many = std::uint64_t{1} << 40;
  require_count(o.chains, std::numeric_limits<std::uint32_t>::max(), "chains");
  require_count(o.draws, many, "draws");
  require_count(o.thinning, many / o.draws, "thinning");
  if (o.warm_up > many) {
    throw BadInput(fmt::format("warm_up: must be at most {}, got {}", many, o.warm_up));
  }
  if (o.target_acceptance != 0) require_between(o.target_acceptance, 0, 1, "target_acceptance");
  require_finite_nonnegative(o.step_size, "step_size");
  if (o.transition == Transition::proximal) {
    require_between(o.tv, 0, 0.5, "--tv");
    if (!o.start.empty() || o.step_size != 0 || o.metric != Metric::automatic) {
      throw BadInput(
          "--sampler proximal: chooses its own start, step size and metric; leave out --start and "
          "--metric");
    }
  }
  if (o.metric == Metric::scales) {
    require_length(o.scales, "scales");
    for (const double s : o.scales) require_finite_positive(s, "scales");
  }
  if (!o.start.empty()) {
    if (o.start.size() != d * o.chains) require_length(o.start, "start");
    if (!std::ranges::all_of(o.start, finite)) {
      throw BadInput("start: has a coordinate that is not finite; give finite numbers");
    }
  }
  const double bytes = 8.0 * static_cast<double>(o.draws) * static_cast<double>(o.chains) *
                       static_cast<double>(d + 4);
  const std::uint64_t available = available_memory();
  if (available > 0 && bytes > static_cast<double>(available)) {
    throw BadInput(fmt::format(
        "draws: {} of {} chains and {} parameters take {:.3g} GiB, more than the {:.3g} "
        "GiB of memory that are free; give fewer draws, or a larger thinning",
        o.draws, o.chains, d, bytes / 0x1p30, static_cast<double>(available) / 0x1p30));
  }
}

class Sampler {
 public:
  Sampler(const Potential& potential, const PosteriorOptions& options)
      : u_(potential),
        options_(options),
        metric_(options.metric != Metric::automatic             ? options.metric
                : potential.features() <= most_dense_parameters ? Metric::laplace
                                                                : Metric::diagonal),
        target_(potential) {
    const auto C = index(options.chains), d = index(potential.features());
    for (Rowwise* m : {&theta_, &slope_, &proposal_, &proposal_slope_, &momentum_, &scratch_}) {
      m->resize(C, d);
    }
    for (VectorXd* v : {&value_, &proposal_value_, &energy_, &acceptance_}) v->resize(C);
    diverged_.assign(options.chains, 0);
  }

  // Chains at their start, trajectories at their first metric.
  void start() {
    if (metric_ == Metric::laplace) {
      const Minimum minimum = minimise(u_, 1e-6 * std::sqrt(u_.prior_precision));
      const std::vector<double> h = hessian(u_, minimum.theta);
      chart_ =
          Chart::of_precision(Eigen::Map<const MatrixXd>(h.data(), theta_.cols(), theta_.cols()));
      place(vector(minimum.theta), chart_);
    } else {
      const VectorXd near = options_.start.empty() ? near_minimum() : vector(options_.start);
      const VectorXd deviations = conditional_deviations(near.head(theta_.cols()));
      place(near, Chart(deviations));
      chart_ = Chart(metric_ == Metric::unit     ? VectorXd::Ones(theta_.cols())
                     : metric_ == Metric::scales ? vector(options_.scales)
                                                 : deviations);
      first_scales_ = chart_.scales();
      width_ = deviations.cwiseQuotient(chart_.scales()).maxCoeff();
    }
    evaluate();
    if (!value_.allFinite() || !slope_.allFinite()) {
      throw BadInput(
          "start: the potential or its gradient is not finite there; give a start nearer to 0");
    }
    step_size_ = options_.step_size > 0 ? options_.step_size : searched_step_size();
  }

  void warm_up() {
    const bool windowed = metric_ != Metric::laplace;
    const Windows windows(options_.warm_up);
    Spread spread(chart_.scales(), first_direction());
    StepSize adapted(step_size_);
    for (std::uint64_t t = 0; t < options_.warm_up; ++t) {
      transition();
      if (options_.step_size == 0) {
        step_size_ = adapted.next(target_acceptance() - acceptance_.mean());
      }
      if (!windowed || !windows.contains(t)) continue;
      spread.add(theta_);
      if (!windows.ends_after(t)) continue;
      const VectorXd deviations = spread.deviations(first_scales_);
      const VectorXd before = chart_.scales();
      if (metric_ == Metric::diagonal) {
        chart_ = Chart(deviations);
        evaluate();
        if (options_.step_size == 0) {
          step_size_ = searched_step_size();
          adapted = StepSize(step_size_);
        }
      }
      width_ = std::max(spread.along(), deviations.cwiseQuotient(chart_.scales()).maxCoeff());
      spread = Spread(chart_.scales(), spread.next_direction(chart_.scales()));
    }
    if (options_.step_size == 0 && options_.warm_up > 0) step_size_ = adapted.mean();
  }

  PosteriorDraws draw() {
    const std::size_t N = options_.draws, C = options_.chains, d = u_.features();
    PosteriorDraws out;
    out.draws = N;
    out.chains = C;
    out.parameters = d;
    out.values.reserve(N * C * d);
    gradients_ = 0;
    for (std::uint64_t k = 0; k < N; ++k) {
      diverged_.assign(C, 0);
      for (std::uint64_t t = 0; t < options_.thinning; ++t) transition();
      out.values.insert(out.values.end(), theta_.data(), theta_.data() + theta_.size());
      for (Eigen::Index c = 0; c < theta_.rows(); ++c) out.log_density.push_back(-value_(c));
      out.energy.insert(out.energy.end(), energy_.begin(), energy_.end());
      out.acceptance.insert(out.acceptance.end(), acceptance_.begin(), acceptance_.end());
      out.divergent.insert(out.divergent.end(), diverged_.begin(), diverged_.end());
    }
    out.step_size = step_size_;
    out.gradients = gradients_;
    const std::uint64_t made = N * options_.thinning;
    out.leapfrog_steps = (gradients_ + made / 2) / made;
    return out;
  }

 private:
  [[nodiscard]] double target_acceptance() const {
    if (options_.target_acceptance > 0) return options_.target_acceptance;
    return options_.transition == Transition::hamiltonian ? 0.8 : 0.574;
  }

  // 1/sqrt of the diagonal of the Hessian: deviations of each coordinate given the others.
  [[nodiscard]] VectorXd conditional_deviations(const VectorXd& at) const {
    return vector(hessian_diagonal(u_, view(at))).cwiseInverse().cwiseSqrt();
  }

  // Within about a tenth of a deviation of the minimiser, by L-BFGS (Nocedal and Wright 2006,
  // algorithm 7.4) with backtracking, preconditioned by the diagonal of the Hessian.
  VectorXd near_minimum() {
    constexpr std::size_t pairs = 10;
    constexpr int most_iterations = 500;
    const auto d = theta_.cols();
    Rowwise at = target_.center().transpose(), gradient(1, d), trial(1, d), trial_gradient(1, d);
    VectorXd value(1), trial_value(1);
    const VectorXd variance = conditional_deviations(at.transpose()).cwiseAbs2();
    std::deque<std::pair<VectorXd, VectorXd>> moves;  // of theta, of the gradient
    target_.gradients(at, gradient);
    target_.values(at, value);
    for (int iteration = 0; iteration < most_iterations; ++iteration) {
      poll();
      const VectorXd g = gradient.transpose();
      if (g.cwiseAbs2().dot(variance) <= 0.01 * static_cast<double>(d)) break;
      VectorXd step = -g;
      std::vector<double> taken;
      for (auto pair = moves.rbegin(); pair != moves.rend(); ++pair) {
        taken.push_back(pair->first.dot(step) / pair->first.dot(pair->second));
        step -= taken.back() * pair->second;
      }
      step = step.cwiseProduct(variance);
      for (const auto& [move, change] : moves) {
        step += (taken.back() - change.dot(step) / move.dot(change)) * move;
        taken.pop_back();
      }
      const double slope = g.dot(step);
      double t = 1;
      for (; t > 1e-10; t /= 2) {
        trial = at + t * step.transpose();
        target_.values(trial, trial_value);
        if (trial_value(0) <= value(0) + 1e-4 * t * slope) break;
      }
      if (!(t > 1e-10)) break;  // rounding
      target_.gradients(trial, trial_gradient);
      moves.emplace_back((trial - at).transpose(), (trial_gradient - gradient).transpose());
      if (!(moves.back().first.dot(moves.back().second) > 0)) moves.pop_back();
      if (moves.size() > pairs) moves.pop_front();
      at = trial;
      gradient = trial_gradient;
      value = trial_value;
    }
    return at.transpose();
  }

  // The start that was given, or center + 2 N(0, L L^T).
  void place(const VectorXd& center, const Chart& spread) {
    const std::vector<double>& given = options_.start;
    if (given.empty()) {
      fill_momenta(start_step);
      spread.push(momentum_, scratch_);
      theta_ = (overdispersion * scratch_).rowwise() + center.transpose();
    } else if (given.size() == static_cast<std::size_t>(theta_.size())) {
      theta_ = Eigen::Map<const Rowwise>(given.data(), theta_.rows(), theta_.cols());
    } else {
      theta_.rowwise() = vector(given).transpose();
    }
  }

  VectorXd first_direction() const {
    VectorXd direction(theta_.cols());
    fill_normals(options_.key, 0, start_step - 1,
                 {direction.data(), static_cast<std::size_t>(direction.size())});
    return direction;
  }

  // U and its gradient where the chains are.
  void evaluate() {
    target_.values(theta_, value_);
    target_.gradients(theta_, scratch_);
    chart_.pull(scratch_, slope_);
  }

  // momentum[c] = N(0, I) of (key, chain c, step).
  void fill_momenta(std::uint64_t step) {
    const Eigen::Index chains = momentum_.rows();
    const auto fill = [&](Eigen::Index first, Eigen::Index last) {
      for (Eigen::Index c = first; c < last; ++c) {
        fill_normals(options_.key, static_cast<std::uint32_t>(c), step,
                     {momentum_.row(c).data(), static_cast<std::size_t>(momentum_.cols())});
      }
    };
    if (theta_.size() <= 1 << 14) return fill(0, chains);
    const auto parts = std::min<Eigen::Index>(chains, 64);
    crew_.each(static_cast<std::size_t>(parts), [&](std::size_t part, std::size_t) {
      const auto p = static_cast<Eigen::Index>(part);
      fill(chains * p / parts, chains * (p + 1) / parts);
    });
  }

  // In [0, 1).
  [[nodiscard]] double uniform(std::size_t chain, std::uint64_t step) const {
    std::uint64_t word;
    fill_words(options_.key, static_cast<std::uint32_t>(chain), step, {&word, 1});
    return static_cast<double>(word >> 11) * 0x1p-53;
  }

  void poll() const {
    if (options_.stop != nullptr && *options_.stop) {
      throw Interrupted(
          fmt::format("interrupted after {} of {} transitions; nothing was kept, give the command "
                      "again",
                      done_, transitions_in_all()));
    }
  }

  [[nodiscard]] std::uint64_t transitions_in_all() const {
    return options_.warm_up + options_.draws * options_.thinning;
  }

  // Leapfrog steps from the chains' states and momenta, to `proposal_*`, `momentum_` and
  // `acceptance_`: p <- p - h/2 L^T g, then theta <- theta + h L p and p <- p - h L^T g (h/2 the
  // last time). Reads X once a step, and once for the values.
  void leapfrog(std::uint64_t steps) {
    energy_ = value_ + momentum_.rowwise().squaredNorm() / 2;
    proposal_ = theta_;
    momentum_ -= step_size_ / 2 * slope_;
    lost_.assign(options_.chains, false);
    for (std::uint64_t l = 1; l <= steps; ++l) {
      poll();
      chart_.push(momentum_, scratch_);
      proposal_ += step_size_ * scratch_;
      for (Eigen::Index c = 0; c < proposal_.rows(); ++c) {
        if (proposal_.row(c).allFinite()) continue;
        // It waits where it was: no backend meets a number that is not finite.
        lost_[static_cast<std::size_t>(c)] = true;
        proposal_.row(c) = theta_.row(c);
        momentum_.row(c).setZero();
      }
      target_.gradients(proposal_, scratch_);
      chart_.pull(scratch_, proposal_slope_);
      momentum_ -= (l < steps ? step_size_ : step_size_ / 2) * proposal_slope_;
    }
    target_.values(proposal_, proposal_value_);
    for (Eigen::Index c = 0; c < proposal_.rows(); ++c) {
      const double error = proposal_value_(c) + momentum_.row(c).squaredNorm() / 2 - energy_(c);
      if (lost_[static_cast<std::size_t>(c)] || !(error <= divergence)) {
        diverged_[static_cast<std::size_t>(c)] = 1;
      }
      const bool finite = !lost_[static_cast<std::size_t>(c)] && !std::isnan(error);
      acceptance_(c) = finite ? std::min(1.0, std::exp(-error)) : 0.0;
    }
  }

  [[nodiscard]] std::uint64_t leapfrogs(double jitter) const {
    if (options_.transition == Transition::langevin) return 1;
    const double steps = std::round((0.5 + jitter) * quarter_period * width_ / step_size_);
    return static_cast<std::uint64_t>(std::clamp(steps, 1.0, static_cast<double>(most_leapfrogs)));
  }

  // Step numbers of the noise: 3t momenta, 3t + 1 acceptance, 3t + 2 of stream 0 the length.
  void transition() {
    const std::uint64_t step = 3 * done_;
    const std::uint64_t steps = leapfrogs(uniform(0, step + 2));
    fill_momenta(step);
    leapfrog(steps);
    for (Eigen::Index c = 0; c < theta_.rows(); ++c) {
      if (!(uniform(static_cast<std::size_t>(c), step + 1) < acceptance_(c))) continue;
      theta_.row(c) = proposal_.row(c);
      slope_.row(c) = proposal_slope_.row(c);
      value_(c) = proposal_value_(c);
    }
    gradients_ += steps;
    ++done_;
    if (options_.progress && (seconds_since(reported_) > 0.25 || done_ == transitions_in_all())) {
      options_.progress(done_, transitions_in_all());
      reported_ = Clock::now();
    }
  }

  // The largest power of 2 at which one leapfrog step is accepted with probability above 0.8, the
  // mean over all chains (as in Hoffman and Gelman 2014, algorithm 4).
  double searched_step_size() {
    const auto accepted = [&](double step) {
      step_size_ = step;
      fill_momenta(start_step - 2);
      leapfrog(1);
      return acceptance_.mean() > 0.8;
    };
    double step = 1;
    const bool grows = accepted(step);
    const double factor = grows ? 2 : 0.5;
    for (int tries = 0; tries < 100; ++tries) {
      step *= factor;
      if (accepted(step) != grows) break;
    }
    return grows ? step / 2 : step;
  }

  const Potential& u_;
  const PosteriorOptions& options_;
  Metric metric_;
  Target target_;
  Chart chart_{VectorXd{}};
  VectorXd first_scales_;  // [d] of a diagonal chart, before any draw
  double width_ = 1;       // largest deviation of the posterior, in units of the metric
  double step_size_ = 0;
  Rowwise theta_, slope_;                                   // [C x d] and L^T grad U there
  VectorXd value_;                                          // [C] U there
  Rowwise proposal_, proposal_slope_, momentum_, scratch_;  // [C x d]
  Crew crew_{static_cast<std::size_t>(std::min(thread_count(), 64))};
  VectorXd proposal_value_, energy_, acceptance_;  // [C]
  std::vector<bool> lost_;                         // [C]
  std::vector<std::uint8_t> diverged_;             // [C] since the last draw
  std::uint64_t done_ = 0;                         // transitions
  std::uint64_t gradients_ = 0;
  Clock::time_point reported_ = Clock::now();
};

}  // namespace

std::string_view to_string(Transition transition) { return name_of(transitions, transition); }
Transition transition_from_string(std::string_view name) {
  return named(transitions, name, "--sampler");
}
std::string_view to_string(Metric metric) { return name_of(metrics, metric); }
Metric metric_from_string(std::string_view name) { return named(metrics, name, "--metric"); }

PosteriorDraws sample_posterior(const Potential& potential, const PosteriorOptions& options) {
  require_valid(potential, options);
  if (options.transition == Transition::proximal) {
    return sample_proximal(potential, options);
  }
  const auto begin = Clock::now();
  Sampler sampler(potential, options);
  sampler.start();
  sampler.warm_up();
  const auto warm = Clock::now();
  PosteriorDraws draws = sampler.draw();
  draws.warm_up_seconds = std::chrono::duration<double>(warm - begin).count();
  draws.sampling_seconds = seconds_since(warm);
  return draws;
}

}  // namespace gibbsite
