#include "gibbsite/chains/proximal.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "chains/gradient_error.hpp"
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Rowwise = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Newton's model of U predicts the proximal point; beyond, factorizing costs more than passes save.
constexpr std::size_t most_predicted_features = 1000;
// Corrections with that model, which is of another point.
constexpr std::uint64_t most_predictions = 4;
// Then with the Hessian at w, which costs d/4 gradients. Long steps, for which the search is long,
// are taken in few features only: acceptance forbids them elsewhere.
constexpr std::size_t most_local_features = 32;
// A step in full that shrinks the gradient by less has overshot, or may as well be damped.
constexpr double full_step = 0.1;
// Noise of iteration k: y at k 2^32, proposal t at k 2^32 + 1 + t, its uniform in the upper half.
constexpr int trials_bits = 32;
constexpr std::uint64_t uniforms = std::uint64_t{1} << 63;

enum class Phase { begin, seek, propose };

// Positions are pairs of doubles (high + low, Knuth's TwoSum), y and proposals relative to high,
// so that only the moves are rounded: at most e_y = γ₂₀‖√η ξ‖, e_x = γ₂₀‖√s ξ‖ and squares of u
// times positions. A Gaussian move off by e has KL ≤ e²/(2 variance) from the right one, and
// conditioning on acceptance does not raise that. The accepted law is (1/s)-strongly log-concave
// and the shift tilts it by e/s, so KL ≤ (s/2)(e/s)² by the log-Sobolev inequality. Over k
// iterations TV ≤ √(k(e_y²/η+e_x²/s)/4).
//
// A chain is at high + low, a pair of doubles (|low| <= ulp(high)/2): moves are far shorter than
// positions, and only they are to be rounded. y, mean and moves are relative to `high`.
struct Chain {
  Phase phase = Phase::begin;
  std::uint32_t stream = 0;
  std::uint64_t iterations = 0, trial = 0, gradients = 0;
  bool accepted = false;              // padded: the passes that are left are made all the same
  bool value_known = false;           // of the loss at w
  double value = 0, value_error = 0;  // there
  // The search for w: the Newton step that is tried, where from, the gradient there and its bound.
  int tries = 0;  // 1: in full, 2: damped
  double from_bound = 0;
  VectorXd from, from_residual, from_step;
  double slack = 0;           // keeps the tangent, which is rounded, below the loss
  VectorXd high, low;         // [d]
  VectorXd y, w, mean, kick;  // [d] w as it is, the accepted proposal is mean + kick
  VectorXd slope, magnitude;  // [d] of the tangent to beta times the loss; terms it is of
};

// a + b = sum + error, exactly (Knuth's TwoSum).
void add_exactly(VectorXd& sum, const VectorXd& b, VectorXd& error) {
  const VectorXd total = sum + b;
  const VectorXd back = total - sum;
  error = (sum - (total - back)) + (b - back);
  sum = total;
}

}  // namespace

struct ProximalChains::State {
  const Potential& u;
  ProximalSchedule schedule;
  VectorXd anchor;  // [d] the center given
  VectorXd prior;   // [d] theta0
  StreamKey key;
  double row_norm = 0, offset = 0, caution = 1;
  double pull = 0;               // 1/eta
  double variance = 0;           // s of a proposal
  double noise = 0, kick = 0;    // sqrt(s), sqrt(eta)
  double descent = 0;            // step of gradient descent on the proximal problem
  double contraction = 0;        // q: by which such a step shrinks its gradient
  Eigen::LLT<MatrixXd> model{};  // of the proximal problem: Hessian at the anchor + 1/eta
  std::vector<Chain> chains{};
  ProximalCounts counts{};
  std::vector<double> kicks{}, points{}, results{};  // of a pass

  [[nodiscard]] std::size_t features() const { return static_cast<std::size_t>(anchor.size()); }
  [[nodiscard]] bool exact_rejection() const { return schedule.step_size == 0; }
  [[nodiscard]] bool padded() const { return schedule.gradients > 0; }
  [[nodiscard]] bool predicts() const { return model.cols() > 0; }

  void begin(Chain& chain) const;
  void take_gradient(Chain& chain, std::span<const double> loss_gradient) const;
  void search(Chain& chain, const VectorXd& residual, double bound) const;
  [[nodiscard]] bool newton_step(Chain& chain, const VectorXd& residual) const;
  void propose(const Chain& chain, std::span<double> kicked, std::span<double> out) const;
  void decide(Chain& chain, std::span<const double> kicked, std::span<const double> values);
  bool accepts(const Chain& chain, const VectorXd& move, double value, std::uint64_t trial_step);

  [[nodiscard]] double value_error(double value, double theta_norm) const;
};

namespace {

std::uint64_t noise_step(const Chain& chain, std::uint64_t trial) {
  return (chain.iterations << trials_bits) + trial;
}

void fill(const StreamKey& key, const Chain& chain, std::uint64_t step, VectorXd& out) {
  fill_normals(key, chain.stream, step, {out.data(), static_cast<std::size_t>(out.size())});
}

// Moves there by an accepted proposal.
void finish(Chain& chain) {
  VectorXd error, last;
  add_exactly(chain.high, chain.mean, error);
  add_exactly(chain.high, chain.kick, last);
  error += last;
  add_exactly(chain.high, error, chain.low);
  ++chain.iterations;
  chain.phase = Phase::begin;
}

}  // namespace

// ||computed - exact|| of a loss sum at a theta that is rounded from center + offset: blocks one
// after another, f within 8 roundings and never negative, and |f'| passes on what the logits are
// off. Of K outputs the logarithm of a sum is off by 4K + 16 roundings of 1
// (docs/theory/map-error.md, "Several outputs").
double ProximalChains::State::value_error(double value, double theta_norm) const {
  const auto n = static_cast<double>(u.engine->rows()), d = static_cast<double>(features());
  const double depth = static_cast<double>(row_block) + 64 + n / static_cast<double>(row_block) + 8;
  const auto outputs = static_cast<double>(u.loss().outputs());
  const double terms = outputs > 1 ? n * gamma_up(4 * outputs + 16) : 0;
  return gamma_up(depth) * value + terms +
         n * u.loss().max_abs_derivative() * gamma_up(d + 2) * (row_norm * theta_norm + offset);
}

// y, and a first guess at the proximal point.
void ProximalChains::State::begin(Chain& chain) const {
  chain.trial = chain.gradients = 0;
  chain.accepted = chain.value_known = false;
  chain.tries = 0;
  chain.phase = Phase::seek;
  if (exact_rejection()) {
    chain.y.setZero();
    chain.w = chain.high;
    return;
  }
  fill(key, chain, noise_step(chain, 0), chain.y);
  chain.y = chain.low + kick * chain.y;
  chain.w = chain.high + chain.y;
  // grad U(anchor) is within the minimizer's tolerance, so the model's minimum is at
  //   anchor + (H + 1/eta)^-1 (y - anchor)/eta.
  if (predicts()) {
    chain.w = anchor + model.solve((pull * (chain.high - anchor + chain.y)).eval());
  }
}

// With the gradient at w: either w is good enough to propose around, or the search goes on.
void ProximalChains::State::take_gradient(Chain& chain,
                                          std::span<const double> loss_gradient) const {
  const Eigen::Map<const VectorXd> g(loss_gradient.data(), anchor.size());
  const double m = u.prior_precision, stiffness = m + pull;
  const VectorXd loss = u.beta * g, at = chain.w - chain.high;
  const VectorXd prior_pull = m * (chain.high - prior);
  const VectorXd residual = loss + prior_pull + m * at + pull * (at - chain.y);
  ++chain.gradients;

  // Whatever the mean is rounded to, the proposals around it belong to one tangent: the one whose
  // slope is pull y - (m + pull) mean - m (high - theta0).
  chain.mean = variance * (pull * chain.y - loss - prior_pull);
  chain.slope = pull * chain.y - stiffness * chain.mean - prior_pull;
  chain.magnitude = pull * chain.y.cwiseAbs() + stiffness * chain.mean.cwiseAbs() +
                    m * (chain.high.cwiseAbs() + prior.cwiseAbs());
  const double tilt = u.beta * loss_gradient_error(u.loss(), u.engine->rows(), features(), row_norm,
                                                   chain.w.norm(), offset) +
                      gamma_up(10) * (loss.norm() + chain.magnitude.norm() +
                                      stiffness * (chain.w.norm() + chain.high.norm()));
  const double bound = residual.norm() + tilt;  // of the exact gradient's norm
  const bool there = padded() ? static_cast<double>(chain.gradients) >= schedule.gradients
                              : bound <= schedule.residual || exact_rejection();
  if (!there) return search(chain, residual, bound);
  const double reach = (chain.mean - at).norm() +
                       noise * std::sqrt(static_cast<double>(features())) * max_abs_normal;
  chain.slack = tilt * reach * 1.0001;
  chain.phase = Phase::propose;
}

// docs/theory/proximal.md, "Finding w": the search for a w with ‖r‖ ≤ √(0.02/A)/s (1 % of
// acceptance) must end for every table. F = U + ‖· − y‖²/2η has Hessians between μ = m + 1/η and L
// = M + 1/η.
//
// - A step of gradient descent, w' = w − 2/(μ+L) ∇F(w), shrinks ‖∇F‖ by q = (L−μ)/(L+μ) =
//   (M−m)/(M+m+2/η), whatever the data.
// - A Newton step is tried first: with the model of U at the minimizer (up to 1,000 features),
//   after four gradients with the Hessian at w (up to 32 features). It is kept where the
//   gradient's computed bound shrinks tenfold, else damped by log(1+D)/D, D = R‖step‖ (2R‖step‖
//   for softmax). As |f'''| ≤ f'', F falls along it and its slope keeps its sign (Sun, Tran-Dinh
//   2019). Kept damped where it is worth a step of gradient descent; else that is taken from where
//   the step began. So every third pass at the latest shrinks the bound by q.
// - Rounding. A gradient off by t and a w off by e_w leave ‖∇F'‖ ≤ q'‖∇F‖ + 4t + Le_w, q' a little
//   above q because t and e_w grow with ‖w‖ ≤ ‖w*‖ + ‖∇F‖/μ: a floor of (4t+Le_w)/(1−q'). plan
//   takes only steps η for which it is below half of the tolerance (proximal_search_ends), verify
//   asks the same.
// w <- w - 2/(m + M + 2/eta) grad shrinks the gradient by q, whatever the data. A Newton step is
// kept where it is worth as much, in full where it is worth far more, else damped; so every third
// pass at the latest shrinks the bound by q: there is no limit, and none is needed
// as is proven above.
void ProximalChains::State::search(Chain& chain, const VectorXd& residual, double bound) const {
  const double asked = chain.tries == 1 ? std::min(full_step, contraction) : contraction;
  if (chain.tries > 0 && !(bound <= asked * chain.from_bound)) {
    if (++chain.tries == 2) {
      chain.w = chain.from + damping(u.loss(), chain.from_step.norm() * row_norm) * chain.from_step;
    } else {
      chain.w = chain.from - descent * chain.from_residual;
      chain.tries = 0;
    }
    return;
  }
  chain.tries = !padded() && newton_step(chain, residual) ? 1 : 0;
  if (chain.tries == 0) {
    chain.w -= descent * residual;
    return;
  }
  chain.from = chain.w;
  chain.from_residual = residual;
  chain.from_bound = bound;
  chain.w += chain.from_step;
}

// To `from_step`: with the model first, then with the Hessian at w. False where there is none.
bool ProximalChains::State::newton_step(Chain& chain, const VectorXd& residual) const {
  if (predicts() && chain.gradients <= most_predictions) {
    chain.from_step = -model.solve(residual);
    return true;
  }
  if (features() > most_local_features) return false;
  auto h = hessian(u, {chain.w.data(), features()});
  Eigen::Map<MatrixXd> curvature(h.data(), anchor.size(), anchor.size());
  curvature.diagonal().array() += pull;
  chain.from_step = -curvature.llt().solve(residual);
  return true;
}

// kicked [B x d]; out [B x d] or, before the loss at w is known, [B + 1 x d] with w last.
void ProximalChains::State::propose(const Chain& chain, std::span<double> kicked,
                                    std::span<double> out) const {
  const auto batch = static_cast<std::uint64_t>(schedule.proposals);
  for (std::uint64_t b = 0; b < batch; ++b) {
    Eigen::Map<VectorXd> x(kicked.data() + b * features(), anchor.size());
    fill_normals(key, chain.stream, noise_step(chain, 1 + chain.trial + b), {x.data(), features()});
    x *= noise;
    Eigen::Map<VectorXd>(out.data() + b * features(), anchor.size()) =
        chain.high + (chain.mean + x);
  }
  if (!chain.value_known) {
    std::copy(chain.w.begin(), chain.w.end(), out.data() + batch * features());
  }
}

// Decisions are exact. log u ≤ −β(Σℓ(θ')−Σℓ(w)) + a·(θ'−w) − slack is evaluated in double with
// an error bound computed beside it (sums: blocks of 1024 and a chain of blocks; logits: d + 2
// roundings; the loss: 8). Where that does not decide, 50 digits do.
// The tangent is rounded and might cut the loss. The slope that belongs to the rounded mean is a
// = y/η − mean/s − m(·−θ0) exactly; it is within a computed bound of the true gradient, and
// slack = bound × the farthest a proposal can be from w (normals are at most 9.4926). A constant
// slack leaves the law alone.
// log u <= -beta (sum l(x) - sum l(w)) + slope . (x - w) - slack at x = high + mean + kick, as
// exact arithmetic has it.
bool ProximalChains::State::accepts(const Chain& chain, const VectorXd& move, double value,
                                    std::uint64_t trial_step) {
  std::uint64_t word = 0;
  fill_words(key, chain.stream, uniforms | trial_step, {&word, 1});
  const double log_u = std::log((static_cast<double>(word) + 0.5) * 0x1p-64);

  const auto d = static_cast<double>(features());
  const VectorXd from_w = (chain.high - chain.w) + (chain.mean + move);
  const VectorXd sizes =
      (chain.high - chain.w).cwiseAbs() + chain.mean.cwiseAbs() + move.cwiseAbs();
  const double along = chain.slope.dot(from_w);
  const double log_accept = along - u.beta * (value - chain.value) - chain.slack;
  const double theta_norm = chain.high.norm() + chain.mean.norm() + move.norm();
  const double error =
      u.beta * (value_error(value, theta_norm) + chain.value_error) +
      gamma_up(d + 12) * chain.magnitude.dot(sizes) +
      gamma_up(4) * (std::fabs(along) + u.beta * (value + chain.value) + chain.slack - log_u);
  if (std::fabs(log_u - log_accept) > caution * error) return log_u <= log_accept;
  if (!std::isfinite(error)) return false;

  ++counts.exact;
  Wide exact_along = 0;
  const Wide m = u.prior_precision, eta = schedule.step_size;
  const Wide exact_pull = exact_rejection() ? Wide(0) : Wide(1 / eta);
  Rowwise terms(3, move.size());  // their sum is the point
  terms << chain.high.transpose(), chain.mean.transpose(), move.transpose();
  for (Index j = 0; j < move.size(); ++j) {
    const Wide high = chain.high(j), mean = chain.mean(j);
    const Wide slope =
        exact_pull * Wide(chain.y(j)) - (m + exact_pull) * mean - m * (high - Wide(prior(j)));
    exact_along += slope * (high + mean + Wide(move(j)) - Wide(chain.w(j)));
  }
  Wide difference = 0;
  for (const double part :
       u.engine->exact_difference({terms.data(), 3, features()}, {chain.w.data(), features()})) {
    difference += Wide(part);
  }
  const Wide drop = Wide(u.beta) * difference;
  const Wide uniform = (Wide(word) + Wide(0.5)) * ldexp(Wide(1), -64);
  return log(uniform) <= exact_along - drop - Wide(chain.slack);
}

// values [B] or [B + 1] of the points that `propose` wrote.
void ProximalChains::State::decide(Chain& chain, std::span<const double> kicked,
                                   std::span<const double> values) {
  const auto batch = static_cast<std::uint64_t>(schedule.proposals);
  if (!chain.value_known) {
    chain.value = values[batch];
    chain.value_error = value_error(chain.value, chain.w.norm());
    chain.value_known = true;
  }
  for (std::uint64_t b = 0; b < batch && !chain.accepted; ++b) {
    chain.kick = Eigen::Map<const VectorXd>(kicked.data() + b * features(), anchor.size());
    ++counts.proposals;
    chain.accepted = accepts(chain, chain.kick, values[b], noise_step(chain, 1 + chain.trial + b));
    if (chain.accepted) ++counts.accepted;
  }
  chain.trial += batch;
  const bool last = static_cast<double>(chain.trial) >= schedule.rounds * schedule.proposals;
  if (last && !chain.accepted) ++counts.capped;  // paid for: the certificate's tv_cap
  if (last || (chain.accepted && !padded())) finish(chain);
}

ProximalChains::ProximalChains(const Potential& potential, const ProximalSchedule& schedule,
                               std::span<const double> center, std::size_t chains,
                               const StreamKey& key) {
  const double m = potential.prior_precision, eta = schedule.step_size;
  require_finite_positive(m, Field{"prior_precision"});
  require_finite_nonnegative(eta, "step_size");
  require_finite_positive(schedule.residual, "residual");
  require_at_least(schedule.proposals, 1, "proposals");
  require_at_least(schedule.rounds, 1, "rounds");
  if (!(schedule.proposals * schedule.rounds < 0x1p31) || !(schedule.iterations < 0x1p31)) {
    throw BadInput(
        "iterations, rounds: 2^31 iterations of 2^31 proposals at most; lower the step size");
  }
  if (center.size() != potential.features() ||
      !std::all_of(center.begin(), center.end(), [](double v) { return std::isfinite(v); })) {
    throw BadInput(Field{"start"}, "needs a finite coordinate for each feature", "give them");
  }
  if (chains == 0) throw BadInput("chains: there is none; give at least one");

  const auto d = static_cast<Index>(center.size());
  VectorXd prior = VectorXd::Zero(d);
  if (!potential.center.empty()) {
    prior = Eigen::Map<const VectorXd>(potential.center.data(), d);
  }
  state_.reset(new State{.u = potential,
                         .schedule = schedule,
                         .anchor = Eigen::Map<const VectorXd>(center.data(), d),
                         .prior = std::move(prior),
                         .key = key});
  State& s = *state_;
  // Rounded up.
  s.row_norm = std::sqrt(potential.engine->row_norms().largest_squared) *
               (1 + gamma_up(static_cast<double>(s.features()) + 4));
  s.offset = potential.engine->largest_offset();
  s.pull = eta == 0 ? 0 : 1 / eta;
  s.variance = 1 / (m + s.pull);
  s.noise = std::sqrt(s.variance);
  s.kick = std::sqrt(eta);
  if (eta != 0) {
    // M by the norms of these rows, at most the public one.
    const auto n = static_cast<double>(potential.engine->rows());
    const double M =
        potential.beta * n * potential.loss().curvature() * s.row_norm * s.row_norm + m;
    s.descent = 2 / (m + M + 2 * s.pull);
    s.contraction = (M - m) / (m + M + 2 * s.pull);
    if (!s.padded() && s.features() <= most_predicted_features) {
      auto h = hessian(potential, center);
      Eigen::Map<MatrixXd> curvature(h.data(), d, d);
      curvature.diagonal().array() += s.pull;
      s.model.compute(curvature);
    }
  }
  s.chains.resize(chains);
  for (std::size_t c = 0; c < chains; ++c) {
    Chain& chain = s.chains[c];
    chain.stream = static_cast<std::uint32_t>(c);
    chain.high = s.anchor;
    chain.low = chain.y = chain.kick = VectorXd::Zero(d);
  }
}

ProximalChains::~ProximalChains() = default;

void ProximalChains::start_at_random(double deviation) {
  require_finite_nonnegative(deviation, "deviation");
  for (Chain& chain : state_->chains) {
    fill(state_->key, chain, start_step, chain.kick);
    chain.kick *= deviation;
    chain.high = state_->anchor;
    add_exactly(chain.high, chain.kick, chain.low);
  }
}

void ProximalChains::restore(std::span<const double> positions,
                             std::span<const std::uint64_t> iterations) {
  State& s = *state_;
  const std::size_t d = s.features();
  if (positions.size() != 2 * s.chains.size() * d || iterations.size() != s.chains.size()) {
    throw BadInput("checkpoint: has another number of chains or features; remove it");
  }
  for (std::size_t c = 0; c < s.chains.size(); ++c) {
    const double* const high = positions.data() + 2 * c * d;
    s.chains[c].high = Eigen::Map<const VectorXd>(high, s.anchor.size());
    s.chains[c].low = Eigen::Map<const VectorXd>(high + d, s.anchor.size());
    s.chains[c].iterations = iterations[c];
    s.chains[c].phase = Phase::begin;
  }
}

bool ProximalChains::advance(std::uint64_t iteration) {
  State& s = *state_;
  const std::size_t d = s.features();
  std::vector<Chain*> seek, propose;
  for (Chain& chain : s.chains) {
    if (chain.iterations >= iteration) continue;
    if (chain.phase == Phase::begin) s.begin(chain);
    (chain.phase == Phase::seek ? seek : propose).push_back(&chain);
  }
  if (seek.empty() && propose.empty()) return false;

  if (!seek.empty()) {
    s.points.resize(seek.size() * d);
    s.results.resize(seek.size() * d);
    for (std::size_t i = 0; i < seek.size(); ++i) {
      std::copy_n(seek[i]->w.data(), d, &s.points[i * d]);
    }
    s.u.engine->loss_gradients({s.points.data(), seek.size(), d},
                               {s.results.data(), seek.size(), d});
    s.counts.gradients += seek.size();
    ++s.counts.gradient_passes;
    for (std::size_t i = 0; i < seek.size(); ++i) {
      s.take_gradient(*seek[i], {&s.results[i * d], d});
    }
  }
  if (!propose.empty()) {
    const auto batch = static_cast<std::size_t>(s.schedule.proposals);
    std::vector<std::size_t> first{0};  // [propose + 1] points of each
    for (const Chain* chain : propose) {
      first.push_back(first.back() + batch + (chain->value_known ? 0 : 1));
    }
    s.kicks.resize(propose.size() * batch * d);
    s.points.resize(first.back() * d);
    s.results.resize(first.back());
    for (std::size_t i = 0; i < propose.size(); ++i) {
      s.propose(*propose[i], {&s.kicks[i * batch * d], batch * d},
                {&s.points[first[i] * d], (first[i + 1] - first[i]) * d});
    }
    s.u.engine->loss_values({s.points.data(), first.back(), d}, s.results);
    ++s.counts.proposal_passes;
    for (std::size_t i = 0; i < propose.size(); ++i) {
      s.decide(*propose[i], {&s.kicks[i * batch * d], batch * d},
               {&s.results[first[i]], first[i + 1] - first[i]});
    }
  }
  return true;
}

std::vector<double> ProximalChains::positions() const {
  std::vector<double> out;
  for (const Chain& chain : state_->chains) {
    out.insert(out.end(), chain.high.begin(), chain.high.end());
    out.insert(out.end(), chain.low.begin(), chain.low.end());
  }
  return out;
}

std::vector<std::uint64_t> ProximalChains::iterations() const {
  std::vector<std::uint64_t> out;
  for (const Chain& chain : state_->chains) out.push_back(chain.iterations);
  return out;
}

std::span<const double> ProximalChains::theta(std::size_t chain) const {
  return {state_->chains[chain].high.data(), state_->features()};
}

const ProximalCounts& ProximalChains::counts() const { return state_->counts; }
void ProximalChains::be_cautious(double factor) { state_->caution = factor; }

}  // namespace gibbsite
