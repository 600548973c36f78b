// sample_posterior against exact posteriors: Gaussian in any dimension (squared loss), logistic by
// quadrature in one and two, by rejection in two, and by simulation-based calibration.
//
// Chains are many and give one draw each, so draws are independent. A verdict fires by chance with
// probability at most 5e-8 over the choice of the seed; the seeds are fixed, and fewer than 20
// verdicts of a test must hold, so at most 1e-6 each. A copy of the transition, which agrees with
// the library's to rounding, plants the bugs that each harness must see.
#include "gibbsite/posterior/posterior.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/chains/potential.hpp"
#include "gibbsite/model/losses/logistic.hpp"
#include "gibbsite/posterior/priors.hpp"
#include "statistical/problems.hpp"
#include "statistical/quadrature.hpp"
#include "statistical/sbc.hpp"
#include "statistical/scores.hpp"
#include "statistical/two_sample.hpp"

namespace gibbsite {
namespace posterior_test {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using problems::Interpolated;
using problems::random_rows;
using problems::squared_loss;
using problems::Table;
using Rowwise = Eigen::Matrix<double, -1, -1, Eigen::RowMajor>;

constexpr double false_alarm = 5e-8;

Potential potential_of(const Table& table, const Loss& loss, double beta, double m,
                       const char* backend = "cpu") {
  return {make_backend(backend)->load(table.rows(), table.y, loss), beta, m, {}};
}

/// The draws [C x d], one of each chain.
MatrixXd drawn(const Potential& u, PosteriorOptions options) {
  options.draws = 1;
  const PosteriorDraws out = sample_posterior(u, options);
  return Eigen::Map<const Rowwise>(out.values.data(), static_cast<Eigen::Index>(out.chains),
                                   static_cast<Eigen::Index>(out.parameters));
}

struct Bugs {
  double noise = 1, beta = 1;  // factors
  bool stale = false;          // a trajectory's first gradient is that of the state before
  bool accept = true;
};
const std::vector<std::pair<const char*, Bugs>> planted{{"noise x 1.02", {.noise = 1.02}},
                                                        {"beta x 0.98", {.beta = 0.98}},
                                                        {"stale gradient", {.stale = true}},
                                                        {"no accept step", {.accept = false}}};

/// The transitions of Metric::unit from the starts [C x d] in `options`, with a fixed step, chain
/// by chain with plain loops, with `width` the largest deviation by the diagonal of the Hessian.
MatrixXd copied(Potential u, const PosteriorOptions& options, double width, const Bugs& bugs) {
  u.beta *= bugs.beta;
  const std::size_t d = u.features();
  const double h = options.step_size;
  MatrixXd out(static_cast<Eigen::Index>(options.chains), static_cast<Eigen::Index>(d));
  std::vector<double> here(d), there(d), p(d), g(d), first(d), old(d);
  const auto kinetic = [&] {
    double sum = 0;
    for (const double v : p) sum += v * v / 2;
    return sum;
  };
  const auto uniform = [&](std::uint32_t stream, std::uint64_t step) {
    std::uint64_t word;
    fill_words(options.key, stream, step, {&word, 1});
    return static_cast<double>(word >> 11) * 0x1p-53;
  };
  for (std::uint32_t c = 0; c < options.chains; ++c) {
    here.assign(&options.start[c * d], &options.start[c * d] + d);
    u.gradient(here, first);
    old = first;
    double value = u.value(here);
    for (std::uint64_t t = 0; t < options.thinning; ++t) {
      int steps = 1;
      if (options.transition == Transition::hamiltonian) {
        const double length = (0.5 + uniform(0, 3 * t + 2)) * std::numbers::pi / 2 * width;
        steps = static_cast<int>(std::max(1.0, std::round(length / h)));
      }
      fill_normals(options.key, c, 3 * t, p);
      for (double& v : p) v *= bugs.noise;
      const double energy = value + kinetic();
      there = here;
      g = bugs.stale ? old : first;
      for (int l = 0; l < steps; ++l) {
        for (std::size_t j = 0; j < d; ++j) {
          p[j] -= h / 2 * g[j];
          there[j] += h * p[j];
        }
        u.gradient(there, g);
        for (std::size_t j = 0; j < d; ++j) p[j] -= h / 2 * g[j];
      }
      const double reached = u.value(there);
      const double acceptance = std::exp(energy - reached - kinetic());
      if (bugs.accept && !(uniform(c, 3 * t + 1) < acceptance)) continue;
      old = first;
      first = g;
      here = there;
      value = reached;
    }
    for (std::size_t j = 0; j < d; ++j) {
      out(c, static_cast<Eigen::Index>(j)) = here[j];
    }
  }
  return out;
}

/// max_j 1/sqrt(H_jj) at the first chain's start: the width that the library starts from.
double width_of(const Potential& u, const PosteriorOptions& options) {
  const auto h = hessian_diagonal(u, {options.start.data(), u.features()});
  return 1 / std::sqrt(*std::min_element(h.begin(), h.end()));
}

/// Posterior N(mean, L L^T) of the squared loss, beta and prior N(0, I/m).
struct Gaussian {
  VectorXd mean;
  MatrixXd L;
  Gaussian(const Table& table, double beta, double m) {
    const MatrixXd X = table.X();
    const MatrixXd precision =
        beta * X.transpose() * X + m * MatrixXd::Identity(X.cols(), X.cols());
    const MatrixXd covariance = precision.llt().solve(MatrixXd::Identity(X.cols(), X.cols()));
    mean = covariance * (beta * X.transpose() * table.Y());
    L = covariance.llt().matrixL();
  }
  /// `count` exact draws, row after row.
  [[nodiscard]] std::vector<double> exact(std::size_t count, std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    Rowwise z(static_cast<Eigen::Index>(count), mean.size());
    for (double& v : z.reshaped()) v = normal(random);
    const Rowwise theta = (z * L.transpose()).rowwise() + mean.transpose();
    return {theta.data(), theta.data() + theta.size()};
  }
  [[nodiscard]] MatrixXd scores(const MatrixXd& theta) const {
    return L.triangularView<Eigen::Lower>()
        .solve((theta.rowwise() - mean.transpose()).transpose())
        .transpose();
  }
};

/// Labels far from 0, where the prior pulls the mean: then beta moves it.
Table gaussian_table(std::size_t n, std::size_t d, std::uint64_t seed) {
  Table table = random_rows(n, d, seed);
  for (float& y : table.y) y *= 20;
  return table;
}

void expect_passes(const MatrixXd& w, const std::string& what) {
  const scores::Verdict verdict = scores::judge(w, false_alarm);
  EXPECT_LE(verdict.worst(), 1) << what << ": " << verdict.text();
}

// From exact draws every transition keeps the posterior exactly, whatever the step.
TEST(PosteriorLaw, GaussianIsKept) {
  struct Case {
    std::size_t n, d;
    std::uint64_t chains;
    const char* backend;
    Transition transition;
    Metric metric;
    double step;  // in units of the metric
  };
  for (const Case& k : {Case{7, 1, 100000, "cpu", Transition::hamiltonian, Metric::laplace, 1.0},
                        Case{7, 1, 100000, "cpu", Transition::langevin, Metric::laplace, 1.5},
                        Case{7, 3, 60000, "cpu", Transition::hamiltonian, Metric::scales, 0.6},
                        Case{7, 3, 20000, "reference", Transition::langevin, Metric::unit, 0.5},
                        Case{30, 20, 10000, "cpu", Transition::hamiltonian, Metric::diagonal, 0.5},
                        Case{40, 100, 2500, "cpu", Transition::hamiltonian, Metric::laplace, 0.4},
                        Case{40, 100, 2500, "cpu", Transition::langevin, Metric::unit, 0.3},
                        Case{7, 1, 100000, "cpu", Transition::split, Metric::laplace, 0.7},
                        Case{40, 100, 2500, "cpu", Transition::split, Metric::automatic, 0}}) {
    const Table table = gaussian_table(k.n, k.d, 100 + k.d);
    const double beta = 1.7, m = 0.8;
    const Gaussian law(table, beta, m);
    const PosteriorOptions options{.transition = k.transition,
                                   .metric = k.metric,
                                   .scales = std::vector<double>(k.d, 0.9),
                                   .chains = k.chains,
                                   .warm_up = 0,
                                   .thinning = 8,
                                   .step_size = k.step,
                                   .start = law.exact(k.chains, 5),
                                   .key = StreamKey::from_seed(k.d)};
    const MatrixXd theta = drawn(potential_of(table, squared_loss, beta, m, k.backend), options);
    expect_passes(law.scores(theta), fmt::format("d = {}", k.d));
  }
}

// The copy is the library's transition: the same draws to rounding, with a step so long that every
// tenth move or so is rejected. Rounding of some 20 gradients of size 10, in 8 digits less than
// double's 16: 1e-10, which a decision otherwise taken would exceed by far.
TEST(PosteriorLaw, CopyIsTheTransition) {
  const Table table = random_rows(7, 3, 21);
  const Potential u = potential_of(table, squared_loss, 1.5, 0.3, "reference");
  const Gaussian law(table, u.beta, u.prior_precision);
  for (const Transition transition : {Transition::hamiltonian, Transition::langevin}) {
    PosteriorOptions options{.transition = transition,
                             .metric = Metric::unit,
                             .chains = 500,
                             .warm_up = 0,
                             .thinning = 6,
                             .step_size = 0.7,
                             .start = law.exact(500, 6),
                             .key = StreamKey::from_seed(2)};
    const MatrixXd ours = drawn(u, options);
    const MatrixXd copy = copied(u, options, width_of(u, options), {});
    const double off = (ours - copy).cwiseAbs().maxCoeff();
    EXPECT_LE(off, 1e-10);
    const MatrixXd moved = copied(u, options, width_of(u, options), {.accept = false});
    EXPECT_GT((ours - moved).cwiseAbs().maxCoeff(), 0.1) << "no move was rejected";
  }
}

// With few chains a langevin chain shows what is grossly wrong.
TEST(PosteriorLaw, PlantedBugsLoseTheGaussian) {
  Table table = random_rows(10, 3, 22);
  for (float& x : table.x) x *= 2;
  const Potential u = potential_of(table, squared_loss, 1.5, 0.3, "reference");
  const Gaussian law(table, u.beta, u.prior_precision);
  for (const Transition transition : {Transition::hamiltonian, Transition::langevin}) {
    const bool hamiltonian = transition == Transition::hamiltonian;
    const std::size_t chains = hamiltonian ? 80000 : 10000;
    const PosteriorOptions options{.transition = transition,
                                   .metric = Metric::unit,
                                   .chains = chains,
                                   .warm_up = 0,
                                   .thinning = hamiltonian ? 5u : 20u,
                                   .step_size = hamiltonian ? 0.3 : 0.45,
                                   .start = law.exact(chains, 7),
                                   .key = StreamKey::from_seed(3)};
    const double width = width_of(u, options);
    expect_passes(law.scores(copied(u, options, width, {})), "copy without a bug");
    for (const auto& [what, bugs] : planted) {
      if (!hamiltonian && bugs.accept && !bugs.stale) continue;
      const auto verdict = scores::judge(law.scores(copied(u, options, width, bugs)), false_alarm);
      EXPECT_GT(verdict.worst(), 1)
          << to_string(transition) << ", " << what << " passes: " << verdict.text();
    }
  }
}

// As a user runs it: start of its own, step and metric adapted. 15 transitions follow the warm-up,
// in each of which a Gaussian forgets all but about a third of where it was: 1e-7 is left.
TEST(PosteriorLaw, GaussianIsFoundFromTheStart) {
  struct Case {
    std::size_t n, d;
    std::uint64_t chains;
    Metric metric;
  };
  for (const Case& k : {Case{7, 3, 15000, Metric::automatic}, Case{40, 20, 3000, Metric::diagonal},
                        Case{40, 20, 3000, Metric::unit}, Case{40, 100, 1000, Metric::automatic}}) {
    const Table table = gaussian_table(k.n, k.d, 200 + k.d);
    const double beta = 3, m = 0.5;
    const Gaussian law(table, beta, m);
    const PosteriorOptions options{.metric = k.metric,
                                   .chains = k.chains,
                                   .warm_up = 60,
                                   .thinning = 15,
                                   .key = StreamKey::from_seed(50 + k.d)};
    expect_passes(law.scores(drawn(potential_of(table, squared_loss, beta, m), options)),
                  fmt::format("d = {}", k.d));
  }
}

struct RotationBugs {
  double beta = 1;
  bool second_kick = true, accept = true, turns_back = false;
  bool stale = false;  // the first kick is that of the last proposal, accepted or not
};
const std::vector<std::pair<const char*, RotationBugs>> planted_in_rotations{
    {"beta x 0.9", {.beta = 0.9}},
    {"no second kick", {.second_kick = false}},
    {"no accept step", {.accept = false}},
    {"angle by the state", {.turns_back = true}}};

/// Transition::split in one dimension with plain loops, from the starts of the options.
MatrixXd rotated(Potential u, const PosteriorOptions& options, const RotationBugs& bugs) {
  const double mode = minimize(u, 1e-6 * std::sqrt(u.prior_precision)).theta[0];
  const double scale = 1 / std::sqrt(hessian(u, std::vector<double>{mode})[0]);
  u.beta *= bugs.beta;
  const auto uniform = [&](std::uint32_t stream, std::uint64_t step) {
    std::uint64_t word;
    fill_words(options.key, stream, step, {&word, 1});
    return static_cast<double>(word >> 11) * 0x1p-53;
  };
  const auto value = [&](double q) { return u.value(std::vector<double>{mode + scale * q}); };
  const auto kick = [&](double q) {
    std::vector<double> g(1);
    u.gradient(std::vector<double>{mode + scale * q}, g);
    return scale * g[0] - q;
  };
  MatrixXd out(static_cast<Eigen::Index>(options.chains), 1);
  for (std::uint32_t c = 0; c < options.chains; ++c) {
    double q = (options.start[c] - mode) / scale, first_kick = kick(q);
    for (std::uint64_t t = 0; t < options.thinning; ++t) {
      double a = options.step_size, p = 0;
      if (bugs.turns_back && q > 0) a /= 4;
      fill_normals(options.key, c, 3 * t, {&p, 1});
      const double energy = value(q) + p * p / 2;
      p -= a / 2 * (bugs.stale ? first_kick : kick(q));
      const double there = q * std::cos(a) + p * std::sin(a);
      p = p * std::cos(a) - q * std::sin(a);
      first_kick = kick(there);
      if (bugs.second_kick) p -= a / 2 * first_kick;
      const double acceptance = std::exp(energy - value(there) - p * p / 2);
      if (!bugs.accept || uniform(c, 3 * t + 1) < acceptance) q = there;
    }
    out(c, 0) = mode + scale * q;
  }
  return out;
}

double logistic_potential(const Table& table, double beta, double m, const VectorXd& theta) {
  return potential_of(table, loss_named("logistic"), beta, m, "reference")
      .value({theta.data(), table.d});
}

/// Normal scores of exp(-energy) at every `stride`-th of the points lo + i spacing, by cumulative
/// trapezoid sums from both ends.
VectorXd scores_on_grid(const VectorXd& density, Eigen::Index stride) {
  const Eigen::Index size = density.size();
  VectorXd below = VectorXd::Zero(size), above = VectorXd::Zero(size);
  for (Eigen::Index i = 1; i < size; ++i) {
    below(i) = below(i - 1) + (density(i - 1) + density(i)) / 2;
    above(size - 1 - i) = above(size - i) + (density(size - i) + density(size - 1 - i)) / 2;
  }
  VectorXd out((size - 1) / stride + 1);
  for (Eigen::Index i = 0; i < out.size(); ++i) {
    out(i) = quadrature::normal_score(below(i * stride) / above(0), above(i * stride) / above(0));
  }
  return out;
}

TEST(PosteriorLaw, LogisticInOneDimension) {
  Table table = random_rows(5, 1, 31);
  table.y = {1, 1, -1, 1, 1};
  for (float& x : table.x) x = 2 * std::fabs(x) + 0.1F;
  const double beta = 3, m = 0.2;
  // exp(-m 20^2 / 2) = 4e-18 of the mode's density at the ends; spacing 0.005.
  constexpr Eigen::Index size = 8001;
  VectorXd density(size);
  for (Eigen::Index i = 0; i < size; ++i) {
    density(i) = std::exp(-logistic_potential(
        table, beta, m, VectorXd::Constant(1, -20 + 0.005 * static_cast<double>(i))));
  }
  const Interpolated score(-20, 0.05, scores_on_grid(density, 10));
  const auto scored = [&](const MatrixXd& theta) -> MatrixXd { return theta.unaryExpr(score); };

  const Potential u = potential_of(table, loss_named("logistic"), beta, m);
  PosteriorOptions options{
      .chains = 100000, .warm_up = 25, .thinning = 15, .key = StreamKey::from_seed(71)};
  for (const Transition transition : {Transition::langevin, Transition::hamiltonian}) {
    options.transition = transition;
    expect_passes(scored(drawn(u, options)), std::string(to_string(transition)));
  }
  // Rotations keep the law, with a trajectory among them.
  const MatrixXd kept = drawn(u, options);
  options.transition = Transition::split;
  options.start.assign(kept.data(), kept.data() + kept.size());
  options.warm_up = 0;
  options.thinning = 17;
  expect_passes(scored(drawn(u, options)), "split");
  // Copies of a rotation: the library's, and such with bugs.
  options.chains = 30000;
  options.start.resize(options.chains);
  options.thinning = 4;
  options.step_size = 2;
  const MatrixXd ours = drawn(u, options);
  expect_passes(scored(ours), "rotations of 2");
  EXPECT_LE((ours - rotated(u, options, {})).cwiseAbs().maxCoeff(), 1e-9);
  for (const auto& [what, bugs] : planted_in_rotations) {
    const auto verdict = scores::judge(scored(rotated(u, options, bugs)), false_alarm);
    EXPECT_GT(verdict.worst(), 1) << what << " passes: " << verdict.text();
  }
  options = {.chains = 20000, .warm_up = 25, .thinning = 15, .key = StreamKey::from_seed(71)};
  expect_passes(
      scored(drawn(potential_of(table, loss_named("logistic"), beta, m, "reference"), options)),
      "reference");
}

// Scores of theta_1, and of theta_2 given theta_1 (Rosenblatt).
MatrixXd scores_in_two_dimensions(const Potential& u, const MatrixXd& theta) {
  // 160 columns of 1601 points over +-11.
  constexpr Eigen::Index columns = 161, fine = 1601, stride = 10;
  const double lo = -11, wide = 22.0 / (columns - 1), narrow = 22.0 / (fine - 1);
  VectorXd marginal(columns);
  MatrixXd second(columns, columns);
  for (Eigen::Index i = 0; i < columns; ++i) {
    VectorXd density(fine);
    for (Eigen::Index j = 0; j < fine; ++j) {
      density(j) = std::exp(-u.value(std::vector<double>{lo + wide * static_cast<double>(i),
                                                         lo + narrow * static_cast<double>(j)}));
    }
    marginal(i) = density.sum();  // smooth and 0 at both ends: the trapezoid rule is exact
    second.row(i) = scores_on_grid(density, stride).transpose();
  }
  // The marginal between its nodes, cubic in its logarithm.
  const Interpolated log_marginal(lo, wide, marginal.array().log());
  VectorXd dense(10 * (columns - 1) + 1);
  for (Eigen::Index i = 0; i < dense.size(); ++i) {
    dense(i) = std::exp(log_marginal(lo + wide / 10 * static_cast<double>(i)));
  }
  const Interpolated first(lo, wide, scores_on_grid(dense, 10));
  MatrixXd w(theta.rows(), 2);
  for (Eigen::Index c = 0; c < theta.rows(); ++c) {
    const auto [i, wi] = Interpolated::weights(theta(c, 0), lo, wide, columns);
    const auto [j, wj] = Interpolated::weights(theta(c, 1), lo, wide, columns);
    w(c, 0) = first(theta(c, 0));
    w(c, 1) = wi.dot(second.block<4, 4>(i, j) * wj);
  }
  return w;
}

Table table_of_two() {
  Table table = random_rows(6, 2, 41);
  table.y = {1, 1, -1, 1, -1, 1};
  for (float& x : table.x) x *= 2;
  return table;
}

// exp(-m 11^2 / 2) = 7e-14 of the mode at the ends of the grid.
TEST(PosteriorLaw, LogisticInTwoDimensions) {
  const Table table = table_of_two();
  const Potential u = potential_of(table, loss_named("logistic"), 4, 0.5);
  const MatrixXd theta =
      drawn(u, {.chains = 100000, .warm_up = 25, .thinning = 15, .key = StreamKey::from_seed(72)});
  expect_passes(scores_in_two_dimensions(
                    potential_of(table, loss_named("logistic"), 4, 0.5, "reference"), theta),
                "d = 2");
}

/// Normal scores of exp(-U) in one dimension, by its values on +-60.
Interpolated one_dimension(const Potential& u) {
  constexpr Eigen::Index size = 24001;
  VectorXd density(size);
  for (Eigen::Index i = 0; i < size; ++i)
    density(i) = std::exp(-u.value(std::vector<double>{-60 + 0.005 * static_cast<double>(i)}));
  return {-60, 0.05, scores_on_grid(density, 10)};
}

// Student's t and normals away from 0. Both samplers, from starts of their own; the split one in
// the metric that has the priors' curvature. The draws see a center that is wrong by 0.3 scales.
TEST(PosteriorLaw, PriorsByName) {
  Table table = random_rows(5, 1, 31);
  table.y = {1, 1, -1, 1, 1};
  for (float& x : table.x) x = 2 * std::fabs(x) + 0.1F;
  for (const Prior& prior :
       {Prior{.center = -1, .scale = 0.5, .degrees = 3},
        Prior{.center = -2, .scale = 0.4, .degrees = 20}, Prior{.center = 3, .scale = 0.3}}) {
    const std::vector<Prior> priors{prior};
    Potential exact = potential_of(table, loss_named("logistic"), 3, 0, "reference");
    exact.priors = priors;
    const auto score = one_dimension(exact);
    Potential u = potential_of(table, loss_named("logistic"), 3, 0);
    u.priors = priors;
    for (const Transition transition : {Transition::split, Transition::hamiltonian}) {
      const MatrixXd theta = drawn(u, {.transition = transition,
                                       .chains = 30000,
                                       .warm_up = 33,
                                       .thinning = 15,
                                       .key = StreamKey::from_seed(75)});
      expect_passes(theta.unaryExpr(score), std::string(to_string(transition)));
      const Prior wrong{.center = prior.center + 0.3 * prior.scale,
                        .scale = prior.scale,
                        .degrees = prior.degrees};
      u.priors = {&wrong, 1};
      const auto verdict = scores::judge(drawn(u, {.transition = transition,
                                                   .chains = 30000,
                                                   .warm_up = 33,
                                                   .thinning = 15,
                                                   .key = StreamKey::from_seed(75)})
                                             .unaryExpr(score),
                                         false_alarm);
      EXPECT_GT(verdict.worst(), 1) << "another center passes: " << verdict.text();
      u.priors = priors;
    }
  }
  // A quarter of the moves is rejected here: the last proposal's slope is not the state's.
  const std::vector<Prior> heavy{{.center = -1, .scale = 0.5, .degrees = 3}};
  Potential u1 = potential_of(table, loss_named("logistic"), 3, 0, "reference");
  u1.priors = heavy;
  const MatrixXd kept =
      drawn(u1, {.chains = 25000, .warm_up = 33, .thinning = 15, .key = StreamKey::from_seed(79)});
  const std::vector<double> start(kept.data(), kept.data() + kept.size());
  const PosteriorOptions options{.transition = Transition::split,
                                 .chains = start.size(),
                                 .warm_up = 0,
                                 .thinning = 60,
                                 .step_size = 1.7,
                                 .start = start,
                                 .key = StreamKey::from_seed(78)};
  const auto score = one_dimension(u1);
  expect_passes(rotated(u1, options, {}).unaryExpr(score), "copy without a bug");
  const auto stale =
      scores::judge(rotated(u1, options, {.stale = true}).unaryExpr(score), false_alarm);
  EXPECT_GT(stale.worst(), 1) << "a stale slope passes: " << stale.text();
  const Table two = table_of_two();
  const std::vector<Prior> priors{{.center = 1, .scale = 0.6, .degrees = 4},
                                  {.center = -1, .scale = 0.5}};
  Potential exact = potential_of(two, loss_named("logistic"), 4, 0, "reference");
  Potential u = potential_of(two, loss_named("logistic"), 4, 0);
  exact.priors = u.priors = priors;
  for (const Transition transition : {Transition::split, Transition::hamiltonian}) {
    const MatrixXd theta = drawn(u, {.transition = transition,
                                     .chains = 60000,
                                     .warm_up = 33,
                                     .thinning = 15,
                                     .key = StreamKey::from_seed(76)});
    expect_passes(scores_in_two_dimensions(exact, theta),
                  "two, " + std::string(to_string(transition)));
  }
}

// As a user runs it: four chains, whose warm-up chooses angle and trajectories from what it saw of
// these few chains, on heavy tails and light ones. The last draws of many such runs have the law.
TEST(PosteriorLaw, TunedRotationsHaveTheLaw) {
  Table table = random_rows(5, 1, 31);
  table.y = {1, 1, -1, 1, 1};
  for (float& x : table.x) x = 2 * std::fabs(x) + 0.1F;
  for (const Prior& prior :
       {Prior{.center = -1, .scale = 0.5, .degrees = 3}, Prior{.center = 3, .scale = 0.3}}) {
    const std::vector<Prior> priors{prior};
    Potential u = potential_of(table, loss_named("logistic"), 3, 0, "reference");
    u.priors = priors;
    constexpr Eigen::Index runs = 3000;
    MatrixXd theta(4 * runs, 1);
    for (Eigen::Index run = 0; run < runs; ++run) {
      const PosteriorDraws out =
          sample_posterior(u, {.transition = Transition::split,
                               .warm_up = 300,
                               .draws = 1,
                               .thinning = 15,
                               .key = StreamKey::from_seed(static_cast<std::uint64_t>(run))});
      theta.middleRows(4 * run, 4) = Eigen::Map<const VectorXd>(out.values.data(), 4);
    }
    expect_passes(theta.unaryExpr(one_dimension(u)), to_text(prior));
  }
}

// A kick without the prior's slope keeps the law, since each move is accepted by the energies; what
// it loses is acceptance, and the mean 0 of the gradient that controlled means rest on.
TEST(PosteriorLaw, KicksHaveThePriorsSlope) {
  Table table = random_rows(40, 2, 44);
  const std::vector<Prior> priors{{.center = 1, .scale = 0.2, .degrees = 60},
                                  {.center = -2, .scale = 0.3}};
  Potential u = potential_of(table, loss_named("logistic"), 1, 0);
  u.priors = priors;
  const PosteriorDraws out = sample_posterior(
      u, {.transition = Transition::split, .draws = 2000, .key = StreamKey::from_seed(77)});
  double accepted = 0;
  for (const double a : out.acceptance) accepted += a;
  EXPECT_GT(accepted / static_cast<double>(out.acceptance.size()), 0.8);
  ASSERT_EQ(out.controlled_mean.size(), 2U);
  // Means by quadrature: 400 points over 12 scales to either side.
  constexpr int points = 401;
  VectorXd sums = VectorXd::Zero(3);
  for (int i = 0; i < points; ++i) {
    for (int j = 0; j < points; ++j) {
      const std::vector<double> theta{1 + 0.2 * 12 * (i - 200) / 200.0,
                                      -2 + 0.3 * 12 * (j - 200) / 200.0};
      const double w = std::exp(-u.value(theta));
      sums += w * Eigen::Vector3d(theta[0], theta[1], 1);
    }
  }
  for (std::size_t j = 0; j < 2; ++j) {
    const double exact = sums(static_cast<Eigen::Index>(j)) / sums(2);
    EXPECT_NEAR(out.controlled_mean[j], exact, 6 * out.controlled_error[j]);
    EXPECT_LT(out.controlled_error[j], 0.2 * priors[j].scale / std::sqrt(8000.0));
  }
}

/// Exact draws by rejection: U is m-strongly convex, so exp(-U) is at most exp(-U(mode)) times the
/// density of N(mode, I/m) unnormalized.
std::vector<double> rejection(const Potential& u, std::size_t count, std::uint64_t seed) {
  const Minimum mode = minimize(u, 1e-12);
  const double least = u.value(mode.theta);
  const std::size_t d = u.features();
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> out, theta(d);
  while (out.size() < count * d) {
    double squared = 0;
    for (std::size_t j = 0; j < d; ++j) {
      const double z = normal(random);
      theta[j] = mode.theta[j] + z / std::sqrt(u.prior_precision);
      squared += z * z;
    }
    if (uniform(random) < std::exp(least + squared / 2 - u.value(theta))) {
      out.insert(out.end(), theta.begin(), theta.end());
    }
  }
  return out;
}

MatrixXd matrix(const std::vector<double>& rows, std::size_t d) {
  return Eigen::Map<const Rowwise>(rows.data(), static_cast<Eigen::Index>(rows.size() / d),
                                   static_cast<Eigen::Index>(d));
}

TEST(PosteriorLaw, TwoSamplesOfALogisticPosterior) {
  // All labels agree, so that beta moves the mean: by 2 % of m |mode| deviations for 2 % of beta.
  Table table = random_rows(12, 2, 61);
  for (float& x : table.x) x = 2 * std::fabs(x);
  table.y.assign(12, 1.0F);
  const std::size_t count = 150000;
  const Potential u = potential_of(table, loss_named("logistic"), 20, 1);
  const MatrixXd exact = matrix(rejection(u, count, 1), 2);
  const auto passes = [&](const MatrixXd& theta, const char* what) {
    const auto verdict = two_sample::judge(theta, exact, false_alarm);
    EXPECT_LE(verdict.worst(), 1) << what << ": " << verdict.text();
  };
  PosteriorOptions options{
      .chains = count, .warm_up = 25, .thinning = 15, .key = StreamKey::from_seed(73)};
  passes(drawn(u, options), "hmc");
  passes(matrix(rejection(u, count, 2), 2), "rejection itself");

  options.metric = Metric::unit;
  options.warm_up = 0;
  options.thinning = 5;
  options.step_size = 0.6;
  options.start = rejection(u, count, 3);
  const double width = width_of(u, options);
  passes(copied(u, options, width, {}), "copy without a bug");
  for (const auto& [what, bugs] : planted) {
    const auto verdict = two_sample::judge(copied(u, options, width, bugs), exact, false_alarm);
    EXPECT_GT(verdict.worst(), 1) << what << " passes: " << verdict.text();
  }
}

// The energy distance sees what moments up to the second do not: N(0, 1) against a law with mean 0
// and variance 1 in two humps.
TEST(TwoSample, EnergySeesMoreThanMoments) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  MatrixXd x(8000, 2), y(8000, 2);
  for (double& v : x.reshaped()) v = normal(random);
  for (double& v : y.reshaped()) {
    v = (random() % 2 == 0 ? 1 : -1) * std::sqrt(0.8) + std::sqrt(0.2) * normal(random);
  }
  const auto verdict = two_sample::judge(x, y, false_alarm);
  EXPECT_GT(verdict.energy, 1) << verdict.text();
  EXPECT_LE(verdict.moments, 1) << verdict.text();
  y(17, 1) = std::nan("");
  EXPECT_GT(two_sample::judge(x, y, false_alarm).worst(), 1);
}

// Each replication draws 63 times with 63 chains. `beta_times`, `m_times`: bugs on purpose.
sbc::MechanismRun calibrated(PosteriorOptions options, std::string loss = "logistic",
                             double beta_times = 1, double m_times = 1) {
  return [options, loss = std::move(loss), beta_times, m_times](
             const Rows& rows, std::span<const float> labels, double beta, double m,
             const StreamKey& key) {
    static const auto backend = make_backend("cpu");
    PosteriorOptions o = options;
    o.draws = 1;
    o.chains = 63;
    o.key = key;
    const auto out = sample_posterior(
        {backend->load(rows, labels, loss_named(loss)), beta * beta_times, m * m_times, {}}, o);
    return MatrixXd(Eigen::Map<const Rowwise>(out.values.data(), 63,
                                              static_cast<Eigen::Index>(out.parameters)));
  };
}

TEST(PosteriorLaw, CalibratedOnSimulatedTables) {
  const sbc::Setup setup{.replications = 1500u, .seed = 4};
  for (const Transition transition : {Transition::hamiltonian, Transition::langevin}) {
    const auto verdict = sbc::judge(
        setup, calibrated({.transition = transition, .warm_up = 20, .thinning = 12}), false_alarm);
    EXPECT_LE(verdict.worst(), 1) << to_string(transition) << ": " << verdict.text();
  }
}

// Kicks and rotations, on tables of two shapes: where they are refused often, and where rarely.
TEST(PosteriorLaw, RotationsAreCalibrated) {
  const PosteriorOptions options{.transition = Transition::split, .warm_up = 33, .thinning = 15};
  for (const sbc::Setup& setup :
       {sbc::Setup{.replications = 1000, .seed = 6},
        sbc::Setup{
            .rows = 60, .features = 4, .prior_precision = 1, .replications = 1000, .seed = 7}}) {
    const auto verdict = sbc::judge(setup, calibrated(options), false_alarm);
    EXPECT_LE(verdict.worst(), 1) << setup.rows << " rows: " << verdict.text();
    const auto wrong = sbc::judge(setup, calibrated(options, "logistic", 3), false_alarm);
    EXPECT_GT(wrong.worst(), 1) << "beta x 3 passes: " << wrong.text();
  }
}

// Three classes, whose coefficients' sum the prior alone decides, and amounts with tails of
// Laplace's.
TEST(PosteriorLaw, OtherLossesAreCalibratedOnSimulatedTables) {
  struct Case {
    const char* loss;
    sbc::Label label;
    std::size_t outputs;
    double prior_seen;  // what 1500 tables can see: five amounts say more than five classes
  };
  const PosteriorOptions options{.warm_up = 20, .thinning = 12};
  for (const auto& [loss, label, outputs, prior_seen] :
       {Case{"softmax-3", sbc::softmax_label, 3, 1.3}, Case{"huber", sbc::huber_label, 1, 2}}) {
    const sbc::Setup setup{.replications = 1500u, .seed = 5, .label = label, .outputs = outputs};
    const auto verdict = sbc::judge(setup, calibrated(options, loss), false_alarm);
    EXPECT_LE(verdict.worst(), 1) << loss << ": " << verdict.text();
    for (const auto& [beta_times, m_times] : {std::pair{1.0, prior_seen}, std::pair{3.0, 1.0}}) {
      const auto wrong =
          sbc::judge(setup, calibrated(options, loss, beta_times, m_times), false_alarm);
      EXPECT_GT(wrong.worst(), 1) << loss << ", beta x " << beta_times << ", prior precision x "
                                  << m_times << " passes: " << wrong.text();
    }
  }
}

// What 5000 replications of 15 draws can see; 2 % of a deviation would take some 100,000.
TEST(PosteriorLaw, PlantedBugsLoseTheCalibration) {
  const sbc::Setup setup{
      .rows = 20, .features = 1, .prior_precision = 0.2, .replications = 5000, .seed = 4};
  const auto buggy = [&](const Bugs& bugs) {
    return sbc::judge(
        setup,
        [&](const Rows& rows, std::span<const float> labels, double beta, double m,
            const StreamKey& key) {
          return copied(
              {make_backend("reference")->load(rows, labels, loss_named("logistic")), beta, m, {}},
              {.chains = 15,
               .warm_up = 0,
               .thinning = 8,
               .step_size = 1.2,
               .start = std::vector<double>(15),
               .key = key},
              1.4, bugs);
        },
        false_alarm);
  };
  EXPECT_LE(buggy({}).worst(), 1) << buggy({}).text();
  for (const auto& [what, bugs] : {std::pair<const char*, Bugs>{"noise x 1.2", {.noise = 1.2}},
                                   {"beta x 0.5", {.beta = 0.5}},
                                   {"stale gradient", {.stale = true}},
                                   {"no accept step", {.accept = false}}}) {
    const auto verdict = buggy(bugs);
    EXPECT_GT(verdict.worst(), 1) << what << " passes: " << verdict.text();
  }
}

}  // namespace posterior_test
}  // namespace gibbsite
