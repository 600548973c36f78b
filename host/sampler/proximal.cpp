#include "gibbsite/sampler/proximal.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/schedule/map_error.hpp"
#include "sampler/exact_loss.hpp"

namespace gibbsite {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Newton's model of U predicts the proximal point; beyond, factorising costs more than passes save.
constexpr std::size_t most_predicted_features = 1000;
// Corrections with that model before gradient descent, which always arrives.
constexpr std::uint64_t most_predictions = 4;
// Any w is correct: where rounding keeps the residual up, proposals begin all the same.
constexpr std::uint64_t most_gradients = 10000;
// Noise of iteration k: y at k 2^32, proposal t at k 2^32 + 1 + t, its uniform in the upper half.
constexpr int trials_bits = 32;
constexpr std::uint64_t uniforms = std::uint64_t{1} << 63;

// k roundings, with room for second-order terms.
double gamma_of(double k) { return 1.01 * k * 0x1p-53; }

double norm(std::span<const double> v) {
  return Eigen::Map<const VectorXd>(v.data(), static_cast<Index>(v.size())).norm();
}

double largest_row_norm(const Rows& x) {
  double largest = 0;
  for (std::size_t i = 0; i < x.rows; ++i) {
    double squared = 0;
    x.for_each(i, [&](std::size_t, float v) {
      squared += static_cast<double>(v) * static_cast<double>(v);
    });
    largest = std::max(largest, squared);
  }
  return std::sqrt(largest) * (1 + gamma_of(static_cast<double>(x.cols) + 4));
}

enum class Phase { begin, seek, propose };

struct Chain {
  Phase phase = Phase::begin;
  std::uint64_t stream = 0, trial = 0, gradients = 0;
  bool accepted = false;              // padded: and the passes that are left are made all the same
  bool value_known = false;           // of the loss at w
  double value = 0, value_error = 0;  // there
  double residual = 0;                // ||grad U(w) + (w - y)/eta|| at the last gradient
  double slack = 0;                   // keeps the tangent, which is rounded, below the loss
  VectorXd y, w, slope, mean, next;   // [d] w as doubles, the others relative to the center
};

}  // namespace

struct ProximalChains::State {
  Engine& engine;
  const Potential& u;
  ProximalSchedule schedule;
  std::vector<double> center;  // [d]
  Key key;
  VectorXd prior_pull{};  // m (center - theta0), as computed
  double row_norm = 0, caution = 1;
  double variance = 0;            // s of a proposal
  double noise = 0, kick = 0;     // sqrt(s), sqrt(eta)
  double descent = 0;             // step of gradient descent on the proximal problem
  Eigen::LLT<MatrixXd> model{};   // of the proximal problem: Hessian at the center + 1/eta
  std::vector<double> offsets{};  // [C x d]
  std::vector<std::uint64_t> iterations{};  // [C]
  std::vector<Chain> chains{};
  ProximalCounts counts{};
  std::vector<double> moves{}, points{}, results{};  // of a pass: center + moves, and the loss

  [[nodiscard]] std::size_t features() const { return center.size(); }
  [[nodiscard]] bool exact_rejection() const { return schedule.step_size == 0; }
  [[nodiscard]] bool padded() const { return schedule.gradients > 0; }
  [[nodiscard]] bool predicts() const { return model.cols() > 0; }
  [[nodiscard]] Eigen::Map<VectorXd> offset(std::size_t c) {
    return {offsets.data() + c * features(), static_cast<Index>(features())};
  }
  [[nodiscard]] Eigen::Map<const VectorXd> center_vector() const {
    return {center.data(), static_cast<Index>(features())};
  }
  [[nodiscard]] std::uint64_t noise_step(std::size_t c, std::uint64_t trial) const {
    return (iterations[c] << trials_bits) + trial;
  }

  void begin(std::size_t c);
  void take_gradient(std::size_t c, std::span<const double> loss_gradient);
  void propose(std::size_t c, std::span<double> moved, std::span<double> out);
  void decide(std::size_t c, std::span<const double> moved, std::span<const double> values);
  bool accepts(const Chain& chain, const VectorXd& x, double value, std::uint64_t trial_step);
  void finish(std::size_t c);

  [[nodiscard]] double gradient_error(double theta_norm) const;
  [[nodiscard]] double value_error(double value, double theta_norm) const;
};

// ||computed - exact|| of a loss gradient (docs/map-error.md, steps 2 and 3).
double ProximalChains::State::gradient_error(double theta_norm) const {
  const auto n = static_cast<double>(u.x.rows), d = static_cast<double>(features());
  const auto depth = static_cast<double>(accumulation_depth(u.x.rows));
  return n * row_norm *
         (gamma_of(depth + 17) * u.loss->max_abs_residual() +
          u.loss->curvature() * gamma_of(d + 2) * row_norm * theta_norm);
}

// Of a loss sum at a theta that is rounded from center + offset: blocks one after another, f within
// 8 roundings and never negative, and |f'| passes on what the logits are off.
double ProximalChains::State::value_error(double value, double theta_norm) const {
  const auto n = static_cast<double>(u.x.rows), d = static_cast<double>(features());
  const double depth = static_cast<double>(row_block) + 64 + n / static_cast<double>(row_block) + 8;
  return gamma_of(depth) * value +
         n * u.loss->max_abs_residual() * gamma_of(d + 2) * row_norm * theta_norm;
}

// y, and a first guess at the proximal point.
void ProximalChains::State::begin(std::size_t c) {
  Chain& chain = chains[c];
  chain.trial = chain.gradients = 0;
  chain.accepted = chain.value_known = false;
  chain.phase = Phase::seek;
  if (exact_rejection()) {
    chain.y.setZero();
    chain.w = center_vector();
    return;
  }
  fill_normals(key, static_cast<std::uint32_t>(c), noise_step(c, 0), {chain.y.data(), features()});
  chain.y = offset(c) + kick * chain.y;
  chain.w = center_vector() + chain.y;
  // grad U(center) is within the minimiser's tolerance, so the model's minimum is (H + 1/eta)^-1
  // y/eta.
  if (predicts()) chain.w = center_vector() + model.solve(chain.y / schedule.step_size);
}

// With the gradient at w: either w is good enough to propose around, or it moves on.
void ProximalChains::State::take_gradient(std::size_t c, std::span<const double> loss_gradient) {
  Chain& chain = chains[c];
  const Eigen::Map<const VectorXd> g(loss_gradient.data(), static_cast<Index>(features()));
  const VectorXd loss = u.beta * g;
  const VectorXd at = chain.w - center_vector();
  const double pull = exact_rejection() ? 0 : 1 / schedule.step_size;
  chain.slope = loss + prior_pull;
  const VectorXd residual = chain.slope + u.prior_precision * at + pull * (at - chain.y);
  const double before = chain.residual;
  chain.residual = residual.norm();
  ++chain.gradients;

  const double tilt_error =
      u.beta * gradient_error(chain.w.norm()) + gamma_of(4) * (loss.norm() + 2 * prior_pull.norm());
  const double error = tilt_error + gamma_of(6) * (u.prior_precision * at.norm() +
                                                   pull * (at.norm() + chain.y.norm()));
  const bool there = padded() ? static_cast<double>(chain.gradients) >= schedule.gradients
                              : chain.residual + error <= schedule.residual || exact_rejection() ||
                                    chain.gradients >= most_gradients;
  if (there) {
    chain.mean = variance * (pull * chain.y - chain.slope);
    const double reach = (chain.mean - at).norm() +
                         noise * std::sqrt(static_cast<double>(features())) * max_abs_normal;
    chain.slack = tilt_error * reach * 1.0001;
    chain.phase = Phase::propose;
    return;
  }
  const bool newton = !padded() && predicts() && chain.gradients <= most_predictions &&
                      (chain.gradients == 1 || chain.residual < before);
  chain.w -= newton ? VectorXd(model.solve(residual)) : VectorXd(descent * residual);
}

// moved [B x d] relative to the center; out [B x d] or, before the loss at w is known, [B + 1 x d]
// with w last.
void ProximalChains::State::propose(std::size_t c, std::span<double> moved, std::span<double> out) {
  const Chain& chain = chains[c];
  const auto d = static_cast<Index>(features());
  const auto batch = static_cast<std::uint64_t>(schedule.proposals);
  for (std::uint64_t b = 0; b < batch; ++b) {
    Eigen::Map<VectorXd> x(moved.data() + b * features(), d);
    fill_normals(key, static_cast<std::uint32_t>(c), noise_step(c, 1 + chain.trial + b),
                 {x.data(), features()});
    x = chain.mean + noise * x;
    Eigen::Map<VectorXd>(out.data() + b * features(), d) = center_vector() + x;
  }
  if (!chain.value_known) {
    std::copy(chain.w.begin(), chain.w.end(), out.data() + batch * features());
  }
}

// log u <= -beta (sum l(x) - sum l(w)) + slope . (x - w) - slack, as exact arithmetic has it. The
// slope is that of the tangent: without the prior's part, which the proposal has in full.
bool ProximalChains::State::accepts(const Chain& chain, const VectorXd& x, double value,
                                    std::uint64_t trial_step) {
  std::uint64_t word = 0;
  fill_words(key, static_cast<std::uint32_t>(chain.stream), uniforms | trial_step, {&word, 1});
  const double log_u = std::log((static_cast<double>(word) + 0.5) * 0x1p-64);

  const auto d = static_cast<double>(features());
  double along = 0, magnitude = 0;
  for (Index j = 0; j < x.size(); ++j) {
    const double back = center[static_cast<std::size_t>(j)] - chain.w(j);
    along += (chain.slope(j) - prior_pull(j)) * (back + x(j));
    magnitude += (std::fabs(chain.slope(j)) + std::fabs(prior_pull(j))) *
                 (std::fabs(back) + std::fabs(x(j)));
  }
  const double drop = u.beta * (value - chain.value);
  const double log_accept = along - drop - chain.slack;
  const double theta_norm = norm(center) + x.norm();
  const double error =
      u.beta * (value_error(value, theta_norm) + chain.value_error) + gamma_of(d + 6) * magnitude +
      gamma_of(4) * (std::fabs(along) + u.beta * (std::fabs(value) + std::fabs(chain.value)) +
                     chain.slack + std::fabs(log_u));
  if (std::fabs(log_u - log_accept) > caution * error) return log_u <= log_accept;
  if (!std::isfinite(error)) return false;

  ++counts.exact;
  Wide exact_along = 0;
  for (Index j = 0; j < x.size(); ++j) {
    const auto k = static_cast<std::size_t>(j);
    exact_along += (Wide(chain.slope(j)) - Wide(prior_pull(j))) *
                   (Wide(center[k]) - Wide(chain.w(j)) + Wide(x(j)));
  }
  const Wide exact_drop =
      Wide(u.beta) * exact_loss_difference(*u.loss, u.x, u.y, center, {x.data(), features()},
                                           {chain.w.data(), features()});
  const Wide uniform = (Wide(word) + Wide(0.5)) * ldexp(Wide(1), -64);
  return log(uniform) <= exact_along - exact_drop - Wide(chain.slack);
}

// values [B] or [B + 1] of the points that `propose` wrote.
void ProximalChains::State::decide(std::size_t c, std::span<const double> moved,
                                   std::span<const double> values) {
  Chain& chain = chains[c];
  const auto batch = static_cast<std::uint64_t>(schedule.proposals);
  if (!chain.value_known) {
    chain.value = values[batch];
    chain.value_error = value_error(chain.value, chain.w.norm());
    chain.value_known = true;
  }
  for (std::uint64_t b = 0; b < batch && !chain.accepted; ++b) {
    chain.next =
        Eigen::Map<const VectorXd>(moved.data() + b * features(), static_cast<Index>(features()));
    ++counts.proposals;
    chain.accepted = accepts(chain, chain.next, values[b], noise_step(c, 1 + chain.trial + b));
    if (chain.accepted) ++counts.accepted;
  }
  chain.trial += batch;
  const bool last = static_cast<double>(chain.trial) >= schedule.rounds * schedule.proposals;
  if (last && !chain.accepted) ++counts.capped;  // paid for: the certificate's tv_cap
  if (last || (chain.accepted && !padded())) finish(c);
}

void ProximalChains::State::finish(std::size_t c) {
  offset(c) = chains[c].next;
  ++iterations[c];
  chains[c].phase = Phase::begin;
}

ProximalChains::ProximalChains(Engine& engine, const Potential& potential,
                               const ProximalSchedule& schedule, std::vector<double> center,
                               std::size_t chains, const Key& key) {
  const double m = potential.prior_precision, eta = schedule.step_size;
  require_finite_positive(m, "--prior-precision");
  require_finite_nonnegative(eta, "step_size");
  require_finite_positive(schedule.residual, "residual");
  require_at_least(schedule.proposals, 1, "proposals");
  require_at_least(schedule.rounds, 1, "rounds");
  if (!(schedule.proposals * schedule.rounds < 0x1p31)) {
    throw BadInput("rounds: an iteration may take 2^31 proposals at most; lower the step size");
  }
  if (center.size() != engine.features() ||
      !std::all_of(center.begin(), center.end(), [](double v) { return std::isfinite(v); })) {
    throw BadInput("start: needs a finite coordinate for each feature; give them");
  }
  if (chains == 0) throw BadInput("chains: there is none; give at least one");

  state_.reset(new State{.engine = engine,
                         .u = potential,
                         .schedule = schedule,
                         .center = std::move(center),
                         .key = key});
  State& s = *state_;
  const auto d = static_cast<Index>(s.features());
  s.prior_pull = m * s.center_vector();
  if (!potential.center.empty()) {
    s.prior_pull = m * (s.center_vector() - Eigen::Map<const VectorXd>(potential.center.data(), d));
  }
  s.row_norm = largest_row_norm(potential.x);
  s.variance = eta == 0 ? 1 / m : 1 / (m + 1 / eta);
  s.noise = std::sqrt(s.variance);
  s.kick = std::sqrt(eta);
  if (eta != 0 && !s.padded() && s.features() <= most_predicted_features) {
    auto h = hessian(potential, s.center);
    Eigen::Map<MatrixXd> curvature(h.data(), d, d);
    curvature.diagonal().array() += 1 / eta;
    s.model.compute(curvature);
  }
  if (eta != 0) {
    // M with the norms of these rows; public where the schedule says how many steps are enough.
    const double n = static_cast<double>(potential.x.rows);
    const double M = potential.beta * n * potential.loss->curvature() * s.row_norm * s.row_norm + m;
    s.descent = 2 / (m + M + 2 / eta);
  }
  s.offsets.assign(chains * s.features(), 0.0);
  s.iterations.assign(chains, 0);
  s.chains.resize(chains);
  for (std::size_t c = 0; c < chains; ++c) {
    s.chains[c].stream = c;
    for (VectorXd* v : {&s.chains[c].y, &s.chains[c].next}) v->setZero(d);
  }
}

ProximalChains::~ProximalChains() = default;

void ProximalChains::start_at_random(double deviation) {
  require_finite_nonnegative(deviation, "deviation");
  State& s = *state_;
  for (std::size_t c = 0; c < s.chains.size(); ++c) {
    fill_normals(s.key, static_cast<std::uint32_t>(c), start_step,
                 {s.offset(c).data(), s.features()});
    s.offset(c) *= deviation;
  }
}

void ProximalChains::restore(std::span<const double> offsets,
                             std::span<const std::uint64_t> iterations) {
  State& s = *state_;
  if (offsets.size() != s.offsets.size() || iterations.size() != s.iterations.size()) {
    throw BadInput("checkpoint: has another number of chains or features; remove it");
  }
  s.offsets.assign(offsets.begin(), offsets.end());
  s.iterations.assign(iterations.begin(), iterations.end());
  for (Chain& chain : s.chains) chain.phase = Phase::begin;
}

bool ProximalChains::advance(std::uint64_t iteration) {
  State& s = *state_;
  const std::size_t d = s.features();
  std::vector<std::size_t> seek, propose;
  for (std::size_t c = 0; c < s.chains.size(); ++c) {
    if (s.iterations[c] >= iteration) continue;
    if (s.chains[c].phase == Phase::begin) s.begin(c);
    (s.chains[c].phase == Phase::seek ? seek : propose).push_back(c);
  }
  if (seek.empty() && propose.empty()) return false;

  if (!seek.empty()) {
    s.points.resize(seek.size() * d);
    s.results.resize(seek.size() * d);
    for (std::size_t i = 0; i < seek.size(); ++i) {
      std::copy_n(s.chains[seek[i]].w.data(), d, &s.points[i * d]);
    }
    s.engine.loss_gradients({s.points.data(), seek.size(), d}, {s.results.data(), seek.size(), d});
    s.counts.gradients += seek.size();
    ++s.counts.gradient_passes;
    for (std::size_t i = 0; i < seek.size(); ++i) {
      s.take_gradient(seek[i], {&s.results[i * d], d});
    }
  }
  if (!propose.empty()) {
    const auto batch = static_cast<std::size_t>(s.schedule.proposals);
    std::vector<std::size_t> first{0};  // [propose + 1] points of each
    for (const std::size_t c : propose) {
      first.push_back(first.back() + batch + (s.chains[c].value_known ? 0 : 1));
    }
    s.points.resize(first.back() * d);
    s.results.resize(first.back());
    s.moves.resize(propose.size() * batch * d);
    for (std::size_t i = 0; i < propose.size(); ++i) {
      s.propose(propose[i], {&s.moves[i * batch * d], batch * d},
                {&s.points[first[i] * d], (first[i + 1] - first[i]) * d});
    }
    s.engine.loss_values({s.points.data(), first.back(), d}, s.results);
    ++s.counts.proposal_passes;
    for (std::size_t i = 0; i < propose.size(); ++i) {
      s.decide(propose[i], {&s.moves[i * batch * d], batch * d},
               {&s.results[first[i]], first[i + 1] - first[i]});
    }
  }
  return true;
}

std::span<const double> ProximalChains::offsets() const { return state_->offsets; }
std::span<const std::uint64_t> ProximalChains::iterations() const { return state_->iterations; }
const ProximalCounts& ProximalChains::counts() const { return state_->counts; }
void ProximalChains::be_cautious(double factor) { state_->caution = factor; }

std::vector<double> ProximalChains::theta(std::size_t chain) const {
  const VectorXd sum = state_->center_vector() + state_->offset(chain);
  return {sum.begin(), sum.end()};
}

}  // namespace gibbsite
