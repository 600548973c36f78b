#include "gibbsite/mechanism/in_metric.hpp"

#include <array>
#include <cmath>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/candidates.hpp"
#include "mechanism/gap.hpp"
#include "mechanism/moments_question.hpp"
#include "privacy/gap_price.hpp"

namespace gibbsite {
namespace {

// Found by measurement (docs/theory/metric.md); none has to do with privacy.
constexpr double moments_share = 0.2;        // of mu^2
constexpr double descent_per_signal = 0.08;  // tau = a T
constexpr double least_descent = 3, most_descent = 600;

template <class Chain>
bool is_sound(const InMetric<Chain>& s, const Problem& problem) {
  return in_moment_range(s.moments_mu) && in_moment_range(s.first_clip) &&
         in_moment_range(s.clip_factor) && answers_resolve(problem.most_weight_up(), s.moments_mu);
}

// "" where there is none.
template <class Chain>
Message obstacle(const InMetric<Chain>& s, const Problem& problem) {
  if (problem.center_norm != 0 || problem.prior_precision) {
    return format_message("its prior is one in the metric; leave out {} and the center",
                          Field{"prior_precision"});
  }
  return moments_obstacle(problem, is_sound(s, problem));
}

// What the metric leaves to the chain.
struct ChainShare {
  double delta = 0, gap = 0, mu = 0;
  double signal = 0;  // signal_of
};

Candidate chain_candidate(std::type_identity<Path>, const Problem& problem, const Budget& budget,
                          const ChainShare& left, const PlanOptions& plan_options) {
  const double tau = std::clamp(descent_per_signal * left.signal, least_descent, most_descent);
  const double T = plan_options.iterations.value_or(std::ceil(tau));
  const PathCertificate found =
      path_calibrate_relative(problem, budget.neighbors(), gdp_split_down(left.mu, budget.draws),
                              {.iterations = T}, std::min(tau / T, 1.9));
  Candidate out{.mechanism = Path{Calibration::gdp, found.beta, found.prior_precision,
                                  found.step_size, found.iterations}};
  out.cost = cost_of(found.iterations, found.iterations, budget.draws);
  out.feasible = in_reach(out.cost);
  out.why = out.feasible ? "chains in a private metric, private at every iteration count: no "
                           "direction pays for the worst one"
                         : out_of_reach(out.cost);
  return out;
}

// At a budget of its own that leaves it `mu` and the gap.
Candidate chain_candidate(std::type_identity<Proximal> kind, const Problem& problem,
                          const Budget& budget, const ChainShare& left,
                          const PlanOptions& plan_options) {
  Budget share = budget;
  share.epsilon = gdp_epsilon_up(left.mu, left.delta);
  if (!(share.epsilon > 0)) {
    return {.mechanism = Proximal{}, .why = "the metric leaves nothing of the budget"};
  }
  share.delta = round_up(Wide(left.delta) + gap_price(Wide(share.epsilon)) * Wide(left.gap));
  PlanOptions own = plan_options;
  own.tv = left.gap;
  Candidate out = candidate(kind, problem, share, own);
  if (out.feasible) {
    out.why =
        "a draw within the gap of the Gibbs posterior that has its prior in a private "
        "metric";
  }
  return out;
}

template <class Chain>
Candidate metric_candidate(const Problem& problem, const Budget& budget, const Budget& left,
                           const PlanOptions& plan_options) {
  const Neighbors who = budget.neighbors();
  InMetric<Chain> s;
  const auto [gap, delta, refusal] = std::is_same_v<Chain, Path>
                                         ? AskedGap{0, left.delta, ""}
                                         : asked_gap(budget, left, plan_options);
  if (!refusal.empty()) return {.mechanism = s, .why = refusal};
  const double mu = gdp_mu_down(left.epsilon, delta);
  const double N = signal_of(problem, who, mu);
  s.moments_mu = round_down(Wide(mu) * sqrt(Wide(moments_share)));
  s.first_clip = first_clip_of(problem);
  s.clip_factor = clip_factor_of(N, problem.row_features());
  Candidate out;
  out.mechanism = s;
  out.why = obstacle(s, problem);
  if (!out.why.empty()) return out;
  // A little less than all: roots are rounded, and may add up to more.
  const double chain_mu = round_down(
      Wide(1 - 1e-12) * sqrt(Wide(mu) * Wide(mu) - Wide(s.moments_mu) * Wide(s.moments_mu)));
  out = chain_candidate(std::type_identity<Chain>{}, in_metric(problem), budget,
                        {delta, gap, chain_mu, N}, plan_options);
  s.chain = std::get<Chain>(out.mechanism);
  out.mechanism = s;
  // The question, and the rows that are put in the metric.
  const double put = 0.06 * static_cast<double>(problem.row_features());
  out.cost.moments = 1;
  out.cost.moments_work = moments_work(problem) + put;
  out.cost.passes += 2;
  out.cost.work += out.cost.moments_work;
  return out;
}

// Within what computed noise leaves; the guarantee is the analysis's.
template <class Chain>
Candidate paid_metric_candidate(const Problem& problem, const Budget& budget,
                                const PlanOptions& plan_options) {
  return within_budget(paid_for_noise(problem, budget,
                                      [&](const Budget& left) {
                                        return metric_candidate<Chain>(problem, budget, left,
                                                                       plan_options);
                                      }),
                       budget);
}

template <class Chain>
Analysis metric_analysis(const InMetric<Chain>& s, const Problem& problem, const Neighbors& who,
                         std::uint64_t draws) {
  if (s.chain.calibration != Calibration::gdp) {
    throw BadInput("calibration: must be gdp in a metric; use the file as it was written");
  }
  if constexpr (std::is_same_v<Chain, Path>) {
    if (s.chain.ball != 0) {
      throw BadInput(format_message(
          "ball: chains in a metric run in none; use the file as it was written, or {} path",
          Field{"mechanism"}));
    }
  }
  Analysis out = analyze(s.chain, in_metric(problem), who, draws);
  const double numbers = moment_numbers(problem.row_features());
  const NoiseCost asked = noise_cost_up(AnsweredNoise{numbers}, 1);
  const Guarantee question{s.moments_mu, asked.epsilon, 0, is_sound(s, problem) ? asked.tv : 1.0,
                           who};
  out.guarantee = compose_up(std::array{question, out.guarantee});
  out.noise = {round_up(Wide(out.noise.tv) + Wide(asked.tv)),
               round_up(Wide(out.noise.epsilon) + Wide(asked.epsilon))};
  out.constants.push_back({"answered_numbers", numbers});
  out.constants.push_back({"coordinates_grid", out.release_grid});
  if (out.release_grid > 0) out.release_grid = answered_coefficient_grid;
  return out;
}

constexpr const char* moments_assumption =
    "the question for moments had its noise scaled to its clip and to what rounding may add, and "
    "the chains ran on rows of norm at most 1 in the metric that docs/metric.md derives from its "
    "answer";

template <class Chain>
std::string metric_procedure(const InMetric<Chain>& s, const Cost& cost) {
  return "one sum of second moments, then " + procedure_of(s.chain, cost);
}

}  // namespace

Problem in_metric(const Problem& problem) {
  Problem out = problem;
  out.row_norm = 1;
  out.intercept = false;
  out.typical_row_norm = 0;
  out.prior_precision.reset();
  out.center_norm = 0;
  return out;
}

Candidate candidate(std::type_identity<MetricPath> /*kind*/, const Problem& problem,
                    const Budget& budget, const PlanOptions& plan_options) {
  PlanOptions own = plan_options;
  if (plan_options.mechanism != MetricPath::name) own.iterations.reset();
  return paid_metric_candidate<Path>(problem, budget, own);
}
Candidate candidate(std::type_identity<MetricProximal> /*kind*/, const Problem& problem,
                    const Budget& budget, const PlanOptions& plan_options) {
  PlanOptions own = plan_options;
  own.calibration = Calibration::gdp;
  return paid_metric_candidate<Proximal>(problem, budget, own);
}
Analysis analyze(const MetricPath& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  return metric_analysis(s, problem, who, draws);
}
Analysis analyze(const MetricProximal& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  return metric_analysis(s, problem, who, draws);
}

std::string assumption_of(const MetricPath& /*m*/) { return moments_assumption; }
std::string_view run_time_tells(const MetricPath& /*m*/) { return ""; }
std::string basis_of(const MetricPath& m) {
  return basis_of(m.chain) + ",\nand covers the noisy sum of second moments that gave its metric";
}
std::string procedure_of(const MetricPath& m, const Cost& cost) {
  return metric_procedure(m, cost);
}

std::string assumption_of(const MetricProximal& m) {
  const std::string chain = assumption_of(m.chain);
  return std::string(moments_assumption) + (chain.empty() ? "" : "; there " + chain);
}
std::string_view run_time_tells(const MetricProximal& m) { return run_time_tells(m.chain); }
std::string basis_of(const MetricProximal& m) {
  return basis_of(m.chain) +
         " in a metric from one noisy sum of second moments, which it covers too";
}
std::string procedure_of(const MetricProximal& m, const Cost& cost) {
  return metric_procedure(m, cost);
}

}  // namespace gibbsite
