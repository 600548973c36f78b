#include "gibbsite/mechanism/path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/expm1.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <limits>

#include "core/format_message.hpp"
#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/ball.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/candidates.hpp"
#include "mechanism/path_formula.hpp"

namespace gibbsite {
namespace {

void require_path(double sensitivity, double m, double M, double h, double T) {
  require_finite_nonnegative(sensitivity, "sensitivity");
  require_finite_nonnegative(m, "prior_precision");
  require_finite_positive(M, "smoothness");
  require_finite_positive(h, "step_size");
  require_at_least(T, 1, "iterations");
  if (!(m <= M)) {
    throw BadInput(
        fmt::format("prior_precision: {} exceeds the smoothness {}; swap or correct them", m, M));
  }
  if (Wide(h) * Wide(M) > 2) {
    throw BadInput(fmt::format(
        "step_size: {} is above 2/M = {}, where the chain diverges; lower it", h, 2 / M));
  }
}

// Largest beta in [lo, hi] with mu(beta) <= target: bracketed root in double, then stepped down
// until the certificate itself, evaluated in 50 digits, agrees.
template <class Mu, class Certificate>
PathCertificate largest_beta(double target, double cap, Mu mu, Certificate certificate) {
  require_finite_positive(target, "mu");
  const auto excess = [&](double log_beta) {  // finite even where the map error is not
    return std::log(std::min(mu(std::exp(log_beta)), 1e300) / target);
  };
  double lo = 0, hi = 0;
  while (excess(lo) > 0 && lo > -600) hi = lo, lo -= 4;
  while (excess(hi) < 0 && hi < 600) lo = hi, hi += 4;
  if (lo > -600 && hi < 600) {
    std::uintmax_t evaluations = 200;
    const auto bracket = boost::math::tools::toms748_solve(
        excess, lo, hi, boost::math::tools::eps_tolerance<double>(50), evaluations);
    double beta = std::min(std::exp(bracket.first), cap);
    for (double shave = 1e-15; shave < 0.5; shave *= 2) {
      const PathCertificate found = certificate(beta);
      if (found.mu <= target) return found;
      beta *= 1 - shave;
    }
  }
  throw Infeasible(
      "the rounding error of double arithmetic exceeds the sensitivity at this number of rows, "
      "features and iterations; ask for fewer iterations");
}

}  // namespace

double path_mu_up(double sensitivity, double strong_convexity, double smoothness, double step_size,
                  double iterations) {
  require_path(sensitivity, strong_convexity, smoothness, step_size, iterations);
  return round_up(Wide(sensitivity) * path_mu_per_sensitivity(Wide(strong_convexity),
                                                              Wide(smoothness), Wide(step_size),
                                                              Wide(iterations)));
}

namespace {

// What one person moves of a gradient where iterates stay: no beta in it.
struct Place {
  double difference = 0;

  Place(const Problem& constants, const Neighbors& who, double ball) {
    if (ball != 0) {
      require_ball(ball, Field{"ball"});
      if (!(constants.center_norm <= ball)) {
        throw BadInput(Field{"ball"},
                       fmt::format("chains start at the prior's center, whose norm is {}, above "
                                   "{}",
                                   constants.center_norm, ball),
                       "give a larger ball, or another center");
      }
      if (!(constants.features <= most_features)) {
        throw BadInput(Field{"ball"}, "has more than 2^40 features", "leave it out");
      }
    }
    difference = gradient_difference_up(constants, who, ball);
  }

 private:
  static constexpr std::uint64_t most_features = std::uint64_t{1} << 40;  // of project_on_ball
};

PathCertificate certificate_at(const Problem& constants, const Neighbors& who, const Place& place,
                               const LangevinSteps& steps) {
  const auto& [beta, prior_precision, step_size, iterations, ball] = steps;
  PathCertificate out;
  static_cast<LangevinSteps&>(out) = steps;
  out.sensitivity = ball == 0 ? constants.sensitivity_up(beta, who.adjacency, who.rows_per_person)
                              : round_up(Wide(beta) * Wide(place.difference));
  out.smoothness = constants.smoothness_up(beta, prior_precision);
  const MapBounds bounds = map_bounds_up(constants, steps);
  out.map_error = bounds.map_error;
  out.iterate_norm = bounds.iterate_norm;
  if (!std::isfinite(bounds.map_error)) {
    out.mu = bounds.map_error;
    return out;
  }
  // A step of two neighbors differs by at most S h + 2 e.
  const double effective =
      round_up(Wide(out.sensitivity) + 2 * Wide(out.map_error) / Wide(step_size));
  out.mu = path_mu_up(effective, prior_precision, out.smoothness, step_size, iterations);
  return out;
}

}  // namespace

PathCertificate path_certificate(const Problem& constants, const Neighbors& who,
                                 const LangevinSteps& steps) {
  return certificate_at(constants, who, Place(constants, who, steps.ball), steps);
}

PathCertificate path_calibrate_relative(const Problem& constants, const Neighbors& who, double mu,
                                        const LangevinSteps& steps, double relative_step) {
  require_between(relative_step, 0, 2, "relative step");
  const Place place(constants, who, steps.ball);
  const auto at = [&](double beta) {
    LangevinSteps tried = steps;
    tried.beta = beta;
    const double m = steps.prior_precision;
    tried.step_size = relative_step / (constants.smoothness_up(beta, m) + m);
    return certificate_at(constants, who, place, tried);
  };
  return largest_beta(
      mu, std::numeric_limits<double>::infinity(), [&](double beta) { return at(beta).mu; }, at);
}

PathCertificate path_calibrate_fixed(const Problem& constants, const Neighbors& who, double mu,
                                     const LangevinSteps& steps) {
  const double step_size = steps.step_size, prior_precision = steps.prior_precision;
  require_finite_positive(step_size, Field{"step_size"});
  const Place place(constants, who, steps.ball);
  // h <= 2/(M + m) caps beta: M <= 2/h - m.
  const double slope = constants.smoothness_up(1.0, 0.0);
  const double cap = (2 / step_size - 2 * prior_precision) / slope * (1 - 1e-12);
  if (!(cap > 0)) {
    throw BadInput(
        Field{"step_size"},
        fmt::format("{} is too long for the prior precision {}: it must stay below 1/m = {}",
                    step_size, prior_precision, 1 / prior_precision),
        "lower it");
  }
  const auto at = [&](double beta) {
    LangevinSteps tried = steps;
    tried.beta = std::min(beta, cap);
    return certificate_at(constants, who, place, tried);
  };
  return largest_beta(
      mu, cap, [&](double beta) { return at(beta).mu * std::max(1.0, beta / cap); }, at);
}

namespace {

constexpr double stationary_tolerance = 1e-3;  // c^T when the stationary law is what is wanted

ChainNoise noise_of(const PathCertificate& c, const Problem& problem) {
  return {c.step_size, c.iterations, c.prior_precision, c.smoothness,
          c.map_error, false,        problem.outputs};
}

// `left` is what noise leaves of `asked`, by which the rule goes.
PathCertificate path_schedule(const Problem& problem, const Budget& asked, const Budget& left,
                              const PlanOptions& plan_options) {
  const auto& m = problem.prior_precision;
  const Neighbors who = asked.neighbors();
  const double ball = plan_options.ball.value_or(0);
  if (plan_options.calibration == Calibration::gdp) {
    const auto share = [](const Budget& of) {
      return gdp_split_down(gdp_mu_down(of.epsilon, of.delta), of.draws);
    };
    const double mu = share(left);
    const DefaultChoice choice =
        default_rule(problem, asked, share(asked), m, plan_options.iterations, ball);
    const LangevinSteps steps{0, choice.prior_precision, plan_options.step_size.value_or(0),
                              choice.iterations, ball};
    return plan_options.step_size
               ? path_calibrate_fixed(problem, who, mu, steps)
               : path_calibrate_relative(problem, who, mu, steps, choice.relative_step);
  }
  // The other calibrations fix beta for the stationary law; run until its start is forgotten.
  const double prior = m.value_or(1.0);
  const double beta = gibbs_beta_down(problem, left, plan_options.calibration, left.delta, prior);
  const double M = problem.smoothness_up(beta, prior);
  const double h = plan_options.step_size.value_or(1 / (M + prior));
  const double T = plan_options.iterations.value_or(
      std::ceil(std::log(stationary_tolerance) / std::log1p(-std::min(h * prior, 2 - h * M))));
  return path_certificate(problem, who, {beta, prior, h, std::max(T, 1.0), ball});
}

Candidate path_candidate(const Problem& problem, const Budget& asked, const Budget& left,
                         const PlanOptions& plan_options) {
  const PathCertificate found = path_schedule(problem, asked, left, plan_options);
  Candidate out{.mechanism =
                    Path{plan_options.calibration, found.beta, found.prior_precision,
                         found.step_size, found.iterations, plan_options.ball.value_or(0)}};
  out.guarantee.mu = draws_mu_up(found.mu, asked.draws);
  out.cost = cost_of(found.iterations, found.iterations, asked.draws);
  const double grid = release_grid(noise_of(found, problem));
  const double least = grid * std::sqrt(static_cast<double>(problem.features));
  if (plan_options.ball && *plan_options.ball < least) {
    out.why = format_message(
        "{}: in one of radius {} a model can be all zeros, for it is published on a grid of "
        "{:.2g}, which noise asks for; give one well above {:.2g}, a larger epsilon, or more rows",
        Field{"ball"}, *plan_options.ball, grid, least);
  } else if (!(gdp_delta_up(left.epsilon, out.guarantee.mu) <= left.delta)) {
    out.why = format_message(
        "this step size makes the chain less private than its stationary law; leave out {}, or "
        "lower it below 2/(M+m)",
        Field{"step_size"});
  } else if (!in_reach(out.cost)) {
    out.why =
        out_of_reach(out.cost) + format_message("; ask for fewer with {}", Field{"iterations"});
  } else {
    out.feasible = true;
    out.why =
        "private at every iteration count, converged or not; says nothing of the distance "
        "to the Gibbs posterior";
    if (plan_options.ball) {
      out.why += fmt::format(
          "; in a ball of radius {:.4g}{}", *plan_options.ball,
          ball_sharpens(problem) ? "" : ", which does not lower what one row of this loss can do");
    }
  }
  return out;
}

}  // namespace

Candidate candidate(std::type_identity<Path> /*kind*/, const Problem& problem, const Budget& budget,
                    const PlanOptions& plan_options) {
  return paid_for_noise(problem, budget, [&](const Budget& left) {
    return path_candidate(problem, budget, left, plan_options);
  });
}

Analysis analyze(const Path& s, const Problem& problem, const Neighbors& who, std::uint64_t draws) {
  const PathCertificate found = path_certificate(
      problem, who, {s.beta, s.prior_precision, s.step_size, s.iterations, s.ball});
  Analysis out = gibbs_analysis(problem, who, draws, {found.sensitivity, found.mu, 0},
                                noise_of(found, problem));
  if (s.ball > 0 && !std::isfinite(out.noise.epsilon)) {
    throw BadInput(
        Field{"ball"},
        fmt::format(
            "rounding moves a step in a ball of radius {} by up to {:.2g}, more than its noise "
            "can hide",
            s.ball, found.map_error),
        "give a smaller one");
  }
  return out;
}

namespace {

std::string ball_words(const Path& m) {
  return m.ball > 0 ? fmt::format(" in a ball of radius {:.4g}", m.ball) : "";
}

}  // namespace

std::string assumption_of(const Path& /*m*/) { return ""; }
std::string_view run_time_tells(const Path& /*m*/) { return ""; }
std::string basis_of(const Path& m) {
  return fmt::format("It holds whether or not the chain of {:.10g} noisy steps{} has converged",
                     m.iterations, ball_words(m));
}
std::string procedure_of(const Path& m, const Cost& /*cost*/) {
  return steps_words(m.iterations, m.step_size) + ball_words(m);
}
std::optional<double> coefficient_noise_up(const Path& m, const Problem& problem) {
  const Wide h = m.step_size, convexity = m.prior_precision;
  const Wide M = problem.smoothness_up(m.beta, m.prior_precision);
  // c = max(|1 - hm|, |1 - hM|) = 1 - gap.
  const Wide gap = std::min(Wide(h * convexity), Wide(2 - h * M));
  if (!(gap > 0)) return round_up(sqrt(2 * h * Wide(m.iterations)));
  if (!(gap < 1)) return round_up(sqrt(2 * h));
  const Wide forgotten =
      -boost::math::expm1(Wide(2 * Wide(m.iterations) * boost::math::log1p(Wide(-gap))));
  return round_up(sqrt(2 * h * forgotten / (gap * (2 - gap))));
}

}  // namespace gibbsite
