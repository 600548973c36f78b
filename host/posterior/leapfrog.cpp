#include "posterior/leapfrog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/machine.hpp"
#include "gibbsite/posterior/nested.hpp"

namespace gibbsite {
namespace {

using Eigen::VectorXd;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t most_leapfrogs = 1000;
constexpr double divergence = 1000;  // energy error
constexpr double overdispersion = 2;
constexpr double quarter_period = std::numbers::pi / 2;
// Transitions after which chains of one start have less than 0.1 % of the posterior's variance in
// common: of a Gaussian cos^2(0.55 pi) and the refused moves are left each time, of a trajectory's
// length a half.
constexpr std::uint64_t rotations_that_forget = 6, trajectories_that_forget = 10;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Leapfrog::Leapfrog(const Potential& potential, const PosteriorOptions& options)
    : options_(options),
      target_(potential, options),
      pool_(static_cast<std::size_t>(std::min(thread_count(), 64))) {
  resize(options.superchains > 0 ? options.superchains : options.chains, target_.parameters());
}

void Leapfrog::resize(std::size_t chains, std::size_t parameters) {
  const auto C = index(chains), d = index(parameters);
  for (Rowwise* m : {&theta_, &slope_, &proposal_, &proposal_slope_, &momentum_, &scratch_}) {
    m->resize(C, d);
  }
  for (VectorXd* v : {&value_, &proposal_value_, &energy_, &acceptance_}) v->resize(C);
  diverged_.assign(chains, 0);
}

void Leapfrog::multiply() {
  const std::size_t C = options_.chains, K = options_.superchains;
  std::vector<Eigen::Index> seed(C);
  for (std::size_t c = 0; c < C; ++c) seed[c] = index(superchain_of(c, C, K));
  const Rowwise theta = theta_(seed, Eigen::all), slope = slope_(seed, Eigen::all);
  const VectorXd value = value_(seed);
  resize(C, static_cast<std::size_t>(theta.cols()));
  theta_ = theta;
  slope_ = slope;
  value_ = value;
  if (!rotates()) return;
  set_coordinates();
  proposal_coordinates_.resizeLike(coordinates_);
}

void Leapfrog::place(const VectorXd& center, const Chart& spread) {
  const std::vector<double>& given = options_.start;
  if (given.empty()) {
    fill_momenta(start_step);
    spread.push(momentum_, scratch_);
    if (target_.learns_noise()) {
      // Far below the mode slopes grow with 1/sigma^2, and a step of fixed size never leaves.
      const Eigen::Index s = scratch_.cols() - 1;
      for (Eigen::Index c = 0; c < scratch_.rows(); ++c)
        if (scratch_(c, s) < 0) scratch_.row(c) *= -1;
    }
    theta_ = (overdispersion * scratch_).rowwise() + center.transpose();
  } else if (given.size() == static_cast<std::size_t>(theta_.size())) {
    theta_ = Eigen::Map<const Rowwise>(given.data(), theta_.rows(), theta_.cols());
  } else {
    theta_.rowwise() = vector(given).transpose();
  }
}

bool Leapfrog::set_chart(Chart chart) {
  chart_ = std::move(chart);
  target_.values_and_gradients(theta_, value_, scratch_);
  chart_.pull(scratch_, slope_);
  return value_.allFinite() && slope_.allFinite();
}

// momentum[c] = N(0, I) of (key, chain c, step).
void Leapfrog::fill_momenta(std::uint64_t step) {
  const Eigen::Index chains = momentum_.rows();
  const auto fill = [&](Eigen::Index first, Eigen::Index last) {
    for (Eigen::Index c = first; c < last; ++c) {
      fill_normals(options_.key, static_cast<std::uint32_t>(c), step,
                   {momentum_.row(c).data(), static_cast<std::size_t>(momentum_.cols())});
    }
  };
  if (theta_.size() <= 1 << 14) return fill(0, chains);
  const auto parts = std::min<Eigen::Index>(chains, 64);
  pool_.each(static_cast<std::size_t>(parts), [&](std::size_t part, std::size_t) {
    const auto p = static_cast<Eigen::Index>(part);
    fill(chains * p / parts, chains * (p + 1) / parts);
  });
}

// In [0, 1).
double Leapfrog::uniform(std::size_t chain, std::uint64_t step) const {
  std::uint64_t word;
  fill_words(options_.key, static_cast<std::uint32_t>(chain), step, {&word, 1});
  return static_cast<double>(word >> 11) * 0x1p-53;
}

void Leapfrog::poll() const {
  if (options_.stop != nullptr && *options_.stop) {
    throw Interrupted(
        fmt::format("interrupted after {} of {} transitions; nothing was kept, run the same "
                    "again",
                    done_, transitions_in_all()));
  }
}

std::uint64_t Leapfrog::forgetting() const {
  return rotates() ? rotations_that_forget : trajectories_that_forget;
}

std::uint64_t Leapfrog::transitions_in_all() const {
  return options_.warm_up + (options_.superchains > 0 ? forgetting() : 0) +
         options_.draws * options_.thinning;
}

void Leapfrog::rotate_about(const VectorXd& mode, double angle) {
  mode_ = mode;
  angle_ = angle;
  set_coordinates();
  proposal_coordinates_.resizeLike(coordinates_);
}

void Leapfrog::find_center() {
  away_ = Eigen::RowVectorXd::Zero(theta_.cols());
  visits_ = 0;
}

void Leapfrog::center_rotations() {
  if (visits_ > 0 && away_.allFinite()) {
    Rowwise moved(1, away_.size());
    chart_.push(away_ / visits_, moved);
    mode_ += moved.transpose();
    set_coordinates();
  }
  away_.resize(0);
}

void Leapfrog::tune_rotations() { tuning_.emplace(static_cast<std::size_t>(theta_.rows())); }

void Leapfrog::take_tuned() {
  angle_ = tuning_->best_angle();
  period_ = tuning_->period();
  tuning_.reset();
}

void Leapfrog::set_coordinates() {
  coordinates_ = theta_.rowwise() - mode_.transpose();
  chart_.coordinates(coordinates_);
}

bool Leapfrog::is_rotation(std::uint64_t transition) const {
  return rotates() && transition % period_ != period_ - 1;
}

void Leapfrog::begin_proposal() {
  energy_ = value_ + momentum_.rowwise().squaredNorm() / 2;
  proposal_ = theta_;
  lost_.assign(static_cast<std::size_t>(theta_.rows()), false);
}

// A chain whose proposal is not finite waits where it was: no backend meets such a number.
void Leapfrog::hold_lost() {
  for (Eigen::Index c = 0; c < proposal_.rows(); ++c) {
    if (proposal_.row(c).allFinite()) continue;
    lost_[static_cast<std::size_t>(c)] = true;
    proposal_.row(c) = theta_.row(c);
    momentum_.row(c).setZero();
  }
}

// Energies of the proposals, from their values, to `acceptance_`.
void Leapfrog::end_proposal() {
  for (Eigen::Index c = 0; c < proposal_.rows(); ++c) {
    const double error = proposal_value_(c) + momentum_.row(c).squaredNorm() / 2 - energy_(c);
    if (lost_[static_cast<std::size_t>(c)] || !(error <= divergence)) {
      diverged_[static_cast<std::size_t>(c)] = 1;
    }
    const bool finite = !lost_[static_cast<std::size_t>(c)] && !std::isnan(error);
    acceptance_(c) = finite ? std::min(1.0, std::exp(-error)) : 0.0;
  }
}

// Leapfrog steps from the chains' states and momenta, to `proposal_*`, `momentum_` and
// `acceptance_`: p <- p - h/2 L^T g, then theta <- theta + h L p and p <- p - h L^T g (h/2 the
// last time, when values are found with the gradients). Reads X once a step.
void Leapfrog::leapfrog(std::uint64_t steps) {
  begin_proposal();
  momentum_ -= step_size_ / 2 * slope_;
  for (std::uint64_t l = 1; l <= steps; ++l) {
    poll();
    chart_.push(momentum_, scratch_);
    proposal_ += step_size_ * scratch_;
    hold_lost();
    if (l < steps) {
      target_.gradients(proposal_, scratch_);
    } else {
      target_.values_and_gradients(proposal_, proposal_value_, scratch_);
    }
    chart_.pull(scratch_, proposal_slope_);
    momentum_ -= (l < steps ? step_size_ : step_size_ / 2) * proposal_slope_;
  }
  end_proposal();
}

// theta = mode + L q and U = |q|^2/2 + r(q): p <- p - a/2 grad r(q), then (q, p) turns by a, then
// p <- p - a/2 grad r(q). grad r = L^T grad U - q. Each part keeps volume, and the whole is its own
// inverse when p changes sign. Reads X once.
void Leapfrog::rotate(double angle) {
  poll();
  begin_proposal();
  momentum_ -= angle / 2 * (slope_ - coordinates_);
  const double c = std::cos(angle), s = std::sin(angle);
  proposal_coordinates_ = c * coordinates_ + s * momentum_;
  momentum_ = c * momentum_ - s * coordinates_;
  chart_.push(proposal_coordinates_, proposal_);
  proposal_.rowwise() += mode_.transpose();
  hold_lost();
  target_.values_and_gradients(proposal_, proposal_value_, scratch_);
  chart_.pull(scratch_, proposal_slope_);
  momentum_ -= angle / 2 * (proposal_slope_ - proposal_coordinates_);
  end_proposal();
}

std::uint64_t Leapfrog::leapfrogs(double jitter) const {
  if (options_.transition == Transition::langevin) return 1;
  const double steps = std::round((0.5 + jitter) * quarter_period * width_ / step_size_);
  return static_cast<std::uint64_t>(std::clamp(steps, 1.0, static_cast<double>(most_leapfrogs)));
}

// Step numbers of the noise: 3t momenta, 3t + 1 acceptance, 3t + 2 of stream 0 the length, or the
// angle while it is tuned.
void Leapfrog::transition() {
  const std::uint64_t step = 3 * done_;
  const double jitter = uniform(0, step + 2);
  const bool turns = is_rotation(done_);
  const std::uint64_t steps = turns ? 1 : leapfrogs(jitter);
  fill_momenta(step);
  if (turns) {
    const double angle = tuning_ ? RotationTuning::angle(jitter) : angle_;
    rotate(angle);
    if (tuning_) tuning_->add(angle, coordinates_, proposal_coordinates_, acceptance_);
  } else {
    leapfrog(steps);
  }
  for (Eigen::Index c = 0; c < theta_.rows(); ++c) {
    const auto chain = static_cast<std::size_t>(c);
    const bool moved = uniform(chain, step + 1) < acceptance_(c);
    if (tuning_) tuning_->took(chain, moved);
    if (!moved) continue;
    theta_.row(c) = proposal_.row(c);
    slope_.row(c) = proposal_slope_.row(c);
    if (turns) coordinates_.row(c) = proposal_coordinates_.row(c);
    value_(c) = proposal_value_(c);
  }
  if (rotates() && !turns) set_coordinates();
  if (away_.size() > 0) {
    away_ += (coordinates_ - slope_).colwise().sum();
    visits_ += static_cast<double>(theta_.rows());
  }
  gradients_ += steps;
  ++done_;
  if (options_.progress && (seconds_since(reported_) > 0.25 || done_ == transitions_in_all())) {
    options_.progress(done_, transitions_in_all());
    reported_ = Clock::now();
  }
}

double Leapfrog::searched_step_size() {
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

}  // namespace gibbsite
