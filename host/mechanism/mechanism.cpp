#include "gibbsite/mechanism/mechanism.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/math/special_functions/expm1.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <type_traits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "mechanism/offers.hpp"
#include "privacy/gap_price.hpp"

namespace gibbsite {
namespace {

template <class Visit, class... M>
void each_kind(Visit&& visit, std::type_identity<std::variant<M...>>) {
  (visit(std::type_identity<M>{}), ...);
}

template <class Visit>
void each_kind(Visit&& visit) {
  each_kind(visit, std::type_identity<Mechanism>{});
}

}  // namespace

std::string_view name_of(const Mechanism& mechanism) {
  return std::visit([](const auto& m) { return std::decay_t<decltype(m)>::name; }, mechanism);
}

std::string_view theorem_of(const Mechanism& mechanism) {
  return std::visit([](const auto& m) { return std::decay_t<decltype(m)>::theorem; }, mechanism);
}

std::vector<std::string_view> mechanism_names() {
  std::vector<std::string_view> out;
  each_kind([&]<class M>(std::type_identity<M>) { out.push_back(M::name); });
  return out;
}

Mechanism mechanism_named(std::string_view name) {
  std::optional<Mechanism> out;
  each_kind([&]<class M>(std::type_identity<M>) {
    if (M::name == name) out = M{};
  });
  if (!out) {
    throw BadInput(fmt::format("`mechanism`: '{}' is unknown; give auto, {}", name,
                               fmt::join(mechanism_names(), ", ")));
  }
  return *out;
}

std::optional<double> setting(const Mechanism& mechanism, std::string_view name) {
  struct Finder {
    std::string_view name;
    std::optional<double>& found;
    void operator()(std::string_view field, double value, Legal legal) const {
      if (field == name && !is_absent(legal, value)) found = value;
    }
    void operator()(std::string_view /*field*/, Calibration /*value*/) const {}
  };
  std::optional<double> out;
  visit_fields(mechanism, Finder{name, out});
  return out;
}

bool bounds_slopes(const Mechanism& mechanism, const Problem& problem) {
  return problem.bounded() ||
         (std::holds_alternative<Path>(mechanism) && std::get<Path>(mechanism).ball > 0);
}

Analysis analyze(const Mechanism& mechanism, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  // Throws: no number that is true in a ball alone reaches what leaves it.
  if (!bounds_slopes(mechanism, problem)) static_cast<void>(problem.max_abs_residual_up());
  return std::visit([&](const auto& m) { return analyze(m, problem, who, draws); }, mechanism);
}

bool calibration_allows(const Mechanism& mechanism, const Problem& problem, const Budget& budget,
                        const Analysis& analysis) {
  return std::visit(
      [&](const auto& m) {
        if constexpr (requires { m.calibration, m.beta; }) {
          if (m.calibration == Calibration::gdp) return true;
          Budget left = budget;
          left.epsilon = round_down(Wide(budget.epsilon) - Wide(analysis.guarantee.pure));
          left.delta = round_down(Wide(budget.delta) -
                                  gap_price(Wide(budget.epsilon)) * Wide(analysis.guarantee.tv));
          return m.beta <=
                 gibbs_beta_down(problem, left, m.calibration, left.delta, m.prior_precision);
        } else {
          return true;
        }
      },
      mechanism);
}

namespace {

template <class M>
concept ReleasesMinimizer = requires(const M& m) {
  m.ridge, m.gradient_norm;
};

// The minimizer of the data that a run starts from, or releases.
constexpr std::string_view minimizer_assumption =
    "the run started from a minimizer whose gradient norm is at most mechanism.start_gradient_norm";

std::string assumption(const Path& /*m*/) { return ""; }
std::string assumption(const Proximal& m) {
  return m.padded() ? "" : std::string(minimizer_assumption);
}
std::string assumption(const ReleasesMinimizer auto& /*m*/) {
  return "the minimizer that noise was added to has a gradient norm of at most "
         "mechanism.gradient_norm";
}
constexpr std::string_view objective_assumption =
    "the minimizer of the loss, the ridge and the noise together was found to a gradient norm "
    "of at most mechanism.gradient_norm, before noise of mechanism.output_";
std::string assumption(const ObjectivePerturbation& /*m*/) {
  return std::string(objective_assumption) + "noise was added";
}
std::string assumption(const PureObjectivePerturbation& /*m*/) {
  return std::string(objective_assumption) + "rate was added";
}
std::string assumption(const Whitened& /*m*/) {
  return "every question was asked in the metric and with the clip that docs/whitened.md derives "
         "from the answers before it, and its noise was scaled to that clip, to what rounding may "
         "add "
         "and to its share";
}
std::string assumption(const MetricPath& /*m*/) {
  return "the question for moments had its noise scaled to its clip and to what rounding may add, "
         "and the chains ran on rows of norm at most 1 in the metric that docs/metric.md derives "
         "from its answer";
}
std::string assumption(const MetricProximal& m) {
  return assumption(MetricPath{}) + (m.chain.padded() ? "" : "; there ") + assumption(m.chain);
}
std::string assumption(const auto& /*m*/) { return std::string(minimizer_assumption); }

constexpr std::string_view proposes = "it ends when a proposal is accepted";
constexpr std::string_view minimizes = "it searches the minimizer that it starts from";

std::string_view time_tells(const Path& /*m*/) { return ""; }
std::string_view time_tells(const Whitened& /*m*/) { return ""; }
std::string_view time_tells(const MetricPath& /*m*/) { return ""; }
std::string_view time_tells(const Proximal& m) { return m.padded() ? "" : proposes; }
std::string_view time_tells(const MetricProximal& m) { return time_tells(m.chain); }
std::string_view time_tells(const Rejection& /*m*/) { return proposes; }
constexpr std::string_view minimizes_with_noise =
    "it searches the minimizer of the loss with noise";
std::string_view time_tells(const ObjectivePerturbation& /*m*/) { return minimizes_with_noise; }
std::string_view time_tells(const PureObjectivePerturbation& /*m*/) { return minimizes_with_noise; }
std::string_view time_tells(const ReleasesMinimizer auto& /*m*/) {
  return "it searches the minimizer that noise is added to";
}
std::string_view time_tells(const auto& /*m*/) { return minimizes; }

std::string basis(const Path& m) {
  return fmt::format("It holds whether or not the chain of {:.10g} noisy steps{} has converged",
                     m.iterations,
                     m.ball > 0 ? fmt::format(" in a ball of radius {:.4g}", m.ball) : "");
}
std::string basis(const Whitened& m) {
  return fmt::format(
      "It rests on the noise in {} of second moments and {:.10g} of gradients, which it covers too",
      m.second_moment_share > 0 ? "two sums" : "one sum", m.iterations);
}
std::string basis(const OutputPerturbation& m) {
  return fmt::format("It rests on noise of deviation {:.3g} added to every coefficient",
                     m.noise_scale);
}
std::string basis(const ObjectivePerturbation& m) {
  return fmt::format(
      "It rests on noise of deviation {:.3g} in the slope of what is minimized, and of {:.3g} "
      "added "
      "to every coefficient",
      m.noise_scale, m.output_noise);
}
std::string basis(const PureObjectivePerturbation& m) {
  return fmt::format(
      "It rests on noise in the slope of what is minimized, of a density that falls as "
      "exp(-{:.3g} length), and on some added to the coefficients, exp(-{:.3g} length)",
      m.noise_rate, m.output_rate);
}
std::string basis(const MetricPath& m) {
  return basis(m.chain) + ",\nand covers the noisy sum of second moments that gave its metric";
}
std::string basis(const PureOutputPerturbation& m) {
  return fmt::format(
      "It rests on noise added to the coefficients, of a density that falls as exp(-{:.3g} length)",
      m.noise_rate);
}
std::string basis(const auto& m) {
  return fmt::format("It rests on a draw within {:.3g} (total variation) of the exact law",
                     m.tv_gap);
}
std::string basis(const MetricProximal& m) {
  return basis(m.chain) + " in a metric from one noisy sum of second moments, which it covers too";
}

double noise_up(const Path& c, const Problem& problem) {
  const Wide h = c.step_size, m = c.prior_precision;
  const Wide M = problem.smoothness_up(c.beta, c.prior_precision);
  // c = max(|1 - hm|, |1 - hM|) = 1 - gap.
  const Wide gap = std::min(Wide(h * m), Wide(2 - h * M));
  if (!(gap > 0)) return round_up(sqrt(2 * h * Wide(c.iterations)));
  if (!(gap < 1)) return round_up(sqrt(2 * h));
  const Wide forgotten =
      -boost::math::expm1(Wide(2 * Wide(c.iterations) * boost::math::log1p(Wide(-gap))));
  return round_up(sqrt(2 * h * forgotten / (gap * (2 - gap))));
}
std::optional<double> noise_up(const Whitened& /*m*/, const Problem& /*problem*/) { return {}; }
template <class Chain>
std::optional<double> noise_up(const InMetric<Chain>& /*m*/, const Problem& /*problem*/) {
  return {};
}
double noise_up(const OutputPerturbation& m, const Problem& /*problem*/) { return m.noise_scale; }
double noise_up(const ObjectivePerturbation& m, const Problem& /*problem*/) {
  require_finite_positive(m.ridge, "ridge");
  const Wide inside = Wide(m.noise_scale) / Wide(m.ridge), added = m.output_noise;
  return round_up(sqrt(inside * inside + added * added));
}
std::optional<double> noise_up(const PureOutputPerturbation& /*m*/, const Problem& /*problem*/) {
  return {};
}
std::optional<double> noise_up(const PureObjectivePerturbation& /*m*/, const Problem& /*problem*/) {
  return {};
}
double noise_up(const auto& m, const Problem& /*problem*/) {
  require_finite_positive(m.prior_precision, "prior_precision");
  return round_up(1 / sqrt(Wide(m.prior_precision)));
}

}  // namespace

std::string assumption_of(const Mechanism& mechanism) {
  return std::visit([](const auto& m) { return assumption(m); }, mechanism);
}

std::string_view run_time_tells(const Mechanism& mechanism) {
  return std::visit([](const auto& m) { return time_tells(m); }, mechanism);
}

std::string basis_of(const Mechanism& mechanism) {
  return std::visit([](const auto& m) { return basis(m); }, mechanism);
}

std::optional<double> coefficient_noise_up(const Mechanism& mechanism, const Problem& problem) {
  return std::visit([&](const auto& m) -> std::optional<double> { return noise_up(m, problem); },
                    mechanism);
}

}  // namespace gibbsite
