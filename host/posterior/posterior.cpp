#include "gibbsite/posterior/posterior.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "core/format_message.hpp"
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/machine/memory.hpp"
#include "gibbsite/posterior/nested.hpp"
#include "gibbsite/posterior/priors.hpp"
#include "posterior/adaptation.hpp"
#include "posterior/controlled_means.hpp"
#include "posterior/leapfrog.hpp"
#include "posterior/posterior_proximal.hpp"
#include "posterior/target.hpp"

namespace gibbsite {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_dense_parameters = 1000;  // of Metric::automatic

constexpr double least_acceptance = 0.6;    // of rotations with which `automatic` stays
constexpr std::uint64_t most_trials = 100;  // transitions of the warm-up that tell

constexpr std::array<std::pair<Transition, std::string_view>, 5> transitions{
    {{Transition::automatic, "auto"},
     {Transition::split, "split"},
     {Transition::hamiltonian, "hmc"},
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
auto named(const Names& names, std::string_view name, const Field& what) {
  const auto found = std::ranges::find(names, name, [](const auto& entry) { return entry.second; });
  if (found == names.end()) {
    std::string known;
    for (const auto& entry : names) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.second);
    }
    throw BadInput(what, fmt::format("'{}' is not one", name), "use one of: " + known);
  }
  return found->first;
}

void require_priors(const Potential& u, const PosteriorOptions& o) {
  if (u.priors.size() != u.features()) {
    throw BadInput(
        Field{"prior"},
        fmt::format("there are {}, the rows have {} features", u.priors.size(), u.features()),
        "give one for each");
  }
  for (const Prior& prior : u.priors) {
    if (!std::isfinite(prior.center) || !(prior.scale > 0) || !(prior.degrees > 0) ||
        !std::isnormal(1 / (prior.scale * prior.scale))) {
      throw BadInput(Field{"prior"}, to_text(prior) + " is none",
                     "give a finite center, and a scale and degrees above 0");
    }
  }
  if (o.transition == Transition::proximal) {
    throw BadInput(Field{"prior"},
                   format_message("{} proximal certifies draws under one normal prior alone",
                                  Field{"sampler"}),
                   format_message("leave it out, or take {} hmc", Field{"sampler"}));
  }
}

void require_valid(const Potential& u, const PosteriorOptions& o) {
  const std::size_t d = u.features();
  require_finite_nonnegative(u.beta, Field{"beta"});
  if (!u.priors.empty()) {
    require_priors(u, o);
  } else if (u.prior_precision == 0) {
    throw BadInput(Field{"prior_precision"},
                   "0, and without a prior the posterior may have no mass to normalize",
                   "give one above 0");
  } else {
    require_finite_positive(u.prior_precision, Field{"prior_precision"});
  }
  const auto require_length = [&](std::span<const double> v, const Message& name) {
    if (v.size() != d) {
      throw BadInput(name, fmt::format("has {} numbers, the rows have {} features", v.size(), d),
                     "give one for each");
    }
  };
  const auto finite = [](double v) { return std::isfinite(v); };
  if (!u.center.empty()) require_length(u.center, Word{"center"});
  if (!std::ranges::all_of(u.center, finite)) {
    throw BadInput(format_message("{}: has a coordinate that is not finite; give finite numbers",
                                  Word{"center"}));
  }
  const auto require_count = [](std::uint64_t value, std::uint64_t most, const Message& name) {
    if (value < 1 || value > most) {
      throw BadInput(name, fmt::format("must be from 1 to {}, got {}", most, value));
    }
  };
  constexpr std::uint64_t many = std::uint64_t{1} << 40;
  if (o.noise && (o.transition == Transition::proximal || !o.start.empty() ||
                  o.metric == Metric::scales || o.step_size != 0)) {
    throw BadInput(Field{"model"},
                   format_message("normal chooses its own start and metric, and has no sampler "
                                  "proximal"),
                   format_message("leave out {}, {} and {}", Field{"start"}, Field{"scales"},
                                  Field{"sampler"}));
  }
  require_count(o.chains, std::numeric_limits<std::uint32_t>::max(), Field{"chains"});
  require_count(o.draws, many, Field{"draws"});
  require_count(o.thinning, many / o.draws, Field{"thinning"});
  if (o.warm_up > many) {
    throw BadInput(Field{"warm_up"}, fmt::format("must be at most {}, got {}", many, o.warm_up));
  }
  if (o.target_acceptance != 0)
    require_between(o.target_acceptance, 0, 1, Field{"target_acceptance"});
  require_finite_nonnegative(o.step_size, Field{"step_size"});
  if (o.transition == Transition::proximal) {
    require_between(o.tv, 0, 0.5, Field{"tv"});
    if (!o.start.empty() || o.step_size != 0 || o.metric != Metric::automatic) {
      throw BadInput(format_message("{} proximal", Field{"sampler"}),
                     "chooses its own start, step size and metric",
                     format_message("leave out {} and {}", Field{"start"}, Field{"metric"}));
    }
  }
  if (o.superchains > o.chains ||
      (o.superchains > 0 && (!o.start.empty() || o.transition == Transition::proximal))) {
    throw BadInput(Word{"superchains"},
                   "share starts of their own, and are at most as many as the chains",
                   "give 0 of them");
  }
  if (o.transition == Transition::split) {
    if (o.metric != Metric::automatic && o.metric != Metric::laplace) {
      throw BadInput(
          format_message("{} split", Field{"sampler"}),
          "turns in the Gaussian of the laplace metric",
          format_message("leave out {}, or take {} hmc", Field{"metric"}, Field{"sampler"}));
    }
    if (o.target_acceptance != 0) {
      throw BadInput(Field{"target_acceptance"},
                     format_message("{} split has none to aim at", Field{"sampler"}),
                     format_message("leave it out, or take {} hmc", Field{"sampler"}));
    }
    if (o.step_size != 0) require_between(o.step_size, 0, std::numbers::pi, Field{"step_size"});
  }
  if (o.metric == Metric::scales) {
    require_length(o.scales, Field{"scales"});
    for (const double s : o.scales) require_finite_positive(s, Field{"scales"});
  }
  if (!o.start.empty()) {
    if (o.start.size() != d * o.chains) require_length(o.start, Field{"start"});
    if (!std::ranges::all_of(o.start, finite)) {
      throw BadInput(Field{"start"}, "has a coordinate that is not finite", "give finite numbers");
    }
  }
  const double bytes = 8.0 * static_cast<double>(o.draws) * static_cast<double>(o.chains) *
                       static_cast<double>(d + 4);
  const std::uint64_t available = available_memory();
  if (available > 0 && bytes > static_cast<double>(available)) {
    throw BadInput(
        Field{"draws"},
        fmt::format(
            "{} of {} chains and {} parameters take {:.3g} GiB, more than the {:.3g} GiB of "
            "memory that are free",
            o.draws, o.chains, d, bytes / 0x1p30, static_cast<double>(available) / 0x1p30),
        format_message("give fewer {}, or a larger {}", Field{"draws"}, Field{"thinning"}));
  }
}

class PosteriorRun {
 public:
  PosteriorRun(const Potential& potential, const PosteriorOptions& options)
      : options_(options),
        metric_(options.metric != Metric::automatic ? options.metric
                : options.transition == Transition::split ||
                        potential.features() <= most_dense_parameters
                    ? Metric::laplace
                    : Metric::diagonal),
        transition_(first_transition()),
        tolerance_(1e-6 * std::sqrt(potential.least_precision())),
        chains_(potential, options),
        d_(chains_.target().parameters()) {}

  // Chains at their start, trajectories at their first metric.
  void start() {
    const auto d = index(d_);
    Chart chart{VectorXd{}};
    if (metric_ == Metric::laplace) {
      mode_ = target().mode(tolerance_);
      chart = Chart::of_precision(target().hessian(mode_));
      chains_.place(mode_, chart);
    } else {
      const VectorXd near = options_.start.empty() ? found_start() : vector(options_.start);
      const VectorXd deviations = conditional_deviations(near.head(d));
      chains_.place(near, Chart(deviations));
      chart = Chart(metric_ == Metric::unit     ? VectorXd::Ones(d)
                    : metric_ == Metric::scales ? vector(options_.scales)
                                                : deviations);
      first_scales_ = chart.scales();
      chains_.set_width(deviations.cwiseQuotient(chart.scales()).maxCoeff());
    }
    if (!chains_.set_chart(std::move(chart))) {
      throw BadInput(Field{"start"}, "the potential or its gradient is not finite there",
                     "give a start nearer to 0");
    }
    const bool rotates = transition_ == Transition::split, given = options_.step_size > 0;
    chains_.set_step_size(given && !rotates ? options_.step_size : chains_.searched_step_size());
    if (rotates) chains_.rotate_about(mode_, given ? options_.step_size : usual_angle);
  }

  // With superchains a chain of each learns, and then they are many.
  void warm_up() {
    std::uint64_t done = 0;
    if (transition_ == Transition::split) done = try_rotations();
    if (transition_ == Transition::split) {
      const bool tunes = options_.step_size == 0;
      if (tunes) {
        chains_.center_rotations();
        chains_.tune_rotations();
      }
      for (; done < options_.warm_up; ++done) chains_.transition();
      if (tunes) chains_.take_tuned();
    } else {
      warm_up_leapfrogs(done);
    }
    if (options_.superchains == 0) return;
    chains_.multiply();
    for (std::uint64_t t = 0; t < chains_.forgetting(); ++t) chains_.transition();
  }

  PosteriorDraws draw() {
    const std::size_t N = options_.draws, C = options_.chains, d = d_;
    PosteriorDraws out;
    out.draws = N;
    out.chains = C;
    out.parameters = d;
    out.superchains = options_.superchains;
    out.transition = transition_;
    out.values.reserve(N * C * d);
    ControlledMeans controlled(C, N, d);
    chains_.forget_gradients();
    const auto add = [](auto& to, const auto& from) {
      to.insert(to.end(), from.data(), from.data() + from.size());
    };
    for (std::uint64_t k = 0; k < N; ++k) {
      chains_.forget_divergences();
      for (std::uint64_t t = 0; t < options_.thinning; ++t) chains_.transition();
      const Rowwise parameters = shown();
      add(out.values, parameters);
      controlled.add(parameters, chains_.slope());
      for (const double value : chains_.value()) out.log_density.push_back(-value);
      add(out.energy, chains_.energy());
      add(out.acceptance, chains_.acceptance());
      add(out.divergent, chains_.diverged());
    }
    controlled.finish(out.controlled_mean, out.controlled_error);
    out.step_size = transition_ == Transition::split ? chains_.angle() : chains_.step_size();
    out.gradients = chains_.gradients();
    const std::uint64_t made = N * options_.thinning;
    out.leapfrog_steps = (out.gradients + made / 2) / made;
    return out;
  }

 private:
  [[nodiscard]] Transition first_transition() const {
    const PosteriorOptions& o = options_;
    if (o.transition != Transition::automatic) return o.transition;
    const bool tries = metric_ == Metric::laplace && o.warm_up >= 2 && o.step_size == 0 &&
                       o.target_acceptance == 0;
    return tries ? Transition::split : Transition::hamiltonian;
  }

  // Rotations for a part of the warm-up, and leapfrogs alone from there on where `automatic` sees
  // one of the chains refused too often in the second half of the part. Returns how many
  // transitions that were.
  std::uint64_t try_rotations() {
    const std::uint64_t trials = std::min(most_trials, options_.warm_up / 2), first = trials / 2;
    const auto told = static_cast<double>(trials - first);
    VectorXd accepted = VectorXd::Zero(chains_.theta().rows());
    for (std::uint64_t t = 0; t < trials; ++t) {
      if (t == first && options_.step_size == 0) chains_.find_center();
      chains_.transition();
      if (t >= first) accepted += chains_.acceptance();
    }
    if (options_.transition != Transition::split && accepted.minCoeff() < least_acceptance * told) {
      transition_ = Transition::hamiltonian;
      chains_.stop_rotating();
    }
    return trials;
  }

  void warm_up_leapfrogs(std::uint64_t done) {
    const bool adapts = options_.step_size == 0, windowed = metric_ != Metric::laplace;
    const Windows windows(options_.warm_up);
    PositionSpread spread(chains_.chart().scales(), first_direction());
    StepSize adapted(chains_.step_size());
    for (std::uint64_t t = done; t < options_.warm_up; ++t) {
      chains_.transition();
      if (adapts) {
        chains_.set_step_size(adapted.next(target_acceptance() - chains_.acceptance().mean()));
      }
      if (!windowed || !windows.contains(t)) continue;
      spread.add(chains_.theta());
      if (!windows.ends_after(t)) continue;
      const VectorXd deviations = spread.deviations(first_scales_);
      if (metric_ == Metric::diagonal) {
        chains_.set_chart(Chart(deviations));
        if (adapts) {
          chains_.set_step_size(chains_.searched_step_size());
          adapted = StepSize(chains_.step_size());
        }
      }
      const VectorXd& scales = chains_.chart().scales();
      chains_.set_width(std::max(spread.along(), deviations.cwiseQuotient(scales).maxCoeff()));
      spread = PositionSpread(scales, spread.next_direction(scales));
    }
    if (adapts && options_.warm_up > 0) chains_.set_step_size(adapted.mean());
  }

  [[nodiscard]] double target_acceptance() const {
    if (options_.target_acceptance > 0) return options_.target_acceptance;
    return transition_ == Transition::hamiltonian ? 0.8 : 0.574;
  }

  [[nodiscard]] const Target& target() const { return chains_.target(); }

  // The chains' states, with a deviation in place of its logarithm.
  [[nodiscard]] Rowwise shown() const {
    Rowwise out = chains_.theta();
    if (target().learns_noise()) out.rightCols(1) = out.rightCols(1).array().exp();
    return out;
  }

  // 1/sqrt of the diagonal of the Hessian: deviations of each coordinate given the others.
  [[nodiscard]] VectorXd conditional_deviations(const VectorXd& at) const {
    return target().hessian_diagonal(at).cwiseInverse().cwiseSqrt();
  }

  [[nodiscard]] VectorXd found_start() {
    Target& target = chains_.target();
    return near_minimum(target, conditional_deviations(target.center()).cwiseAbs2(),
                        [&] { chains_.poll(); });
  }

  [[nodiscard]] VectorXd first_direction() const {
    VectorXd direction(index(d_));
    fill_normals(options_.key, 0, start_step - 1,
                 {direction.data(), static_cast<std::size_t>(direction.size())});
    return direction;
  }

  const PosteriorOptions& options_;
  Metric metric_;
  Transition transition_;  // split, or what leapfrogs are
  double tolerance_;       // of the mode's gradient
  Leapfrog chains_;
  std::size_t d_;
  VectorXd mode_;          // [d] of the laplace metric
  VectorXd first_scales_;  // [d] of a diagonal chart, before any draw
};

}  // namespace

std::string_view to_string(Transition transition) { return name_of(transitions, transition); }
Transition transition_from_string(std::string_view name) {
  return named(transitions, name, Field{"sampler"});
}
std::string_view to_string(Metric metric) { return name_of(metrics, metric); }
Metric metric_from_string(std::string_view name) { return named(metrics, name, Field{"metric"}); }

std::vector<double> posterior_mode(const Potential& potential, const PosteriorOptions& options) {
  require_valid(potential, options);
  VectorXd mode = Target(potential, options).mode(0);
  if (options.noise) mode(mode.size() - 1) = std::exp(mode(mode.size() - 1));
  return {mode.begin(), mode.end()};
}

PosteriorDraws sample_posterior(const Potential& potential, const PosteriorOptions& options) {
  require_valid(potential, options);
  if (options.transition == Transition::proximal) {
    return sample_proximal(potential, options);
  }
  const auto begin = Clock::now();
  PosteriorRun sampler(potential, options);
  sampler.start();
  sampler.warm_up();
  const auto warm = Clock::now();
  PosteriorDraws draws = sampler.draw();
  draws.warm_up_seconds = std::chrono::duration<double>(warm - begin).count();
  draws.sampling_seconds = std::chrono::duration<double>(Clock::now() - warm).count();
  return draws;
}

PosteriorOptions posterior_options(const PosteriorRequest& asked) {
  PosteriorOptions o;
  o.transition = transition_from_string(asked.sampler);
  o.metric = metric_from_string(asked.metric);
  o.chains = asked.chains.value_or(o.chains);
  o.draws = asked.draws.value_or(o.draws);
  o.thinning = asked.thinning.value_or(o.thinning);
  const bool certified = o.transition == Transition::proximal;
  if (!certified && asked.start.empty() && has_short_chains(o.chains, o.draws))
    o.superchains = superchains_of(o.chains);
  o.warm_up = asked.warm_up.value_or(o.superchains > 0 ? short_warm_up : o.warm_up);
  if (o.draws < 4 && o.superchains == 0) {
    throw BadInput(Field{"draws"},
                   format_message("must be 4 or more, or fewer of {} chains or more without {}",
                                  least_short_chains, Field{"start"}),
                   "give more");
  }
  if (asked.tv) {
    if (!certified)
      throw BadInput(Field{"tv"}, format_message("belongs to {} proximal", Field{"sampler"}),
                     "give both or neither");
    require_between(*asked.tv, 0, 0.5, Field{"tv"});
    o.tv = *asked.tv;
  }
  if (certified && (asked.warm_up || asked.target_acceptance)) {
    throw BadInput(
        format_message("{} proximal", Field{"sampler"}),
        format_message("its warm-up follows from {} and it has no acceptance to aim at",
                       Field{"tv"}),
        format_message("leave out {} and {}", Field{"warm_up"}, Field{"target_acceptance"}));
  }
  if (asked.target_acceptance)
    require_between(*asked.target_acceptance, 0, 1, Field{"target_acceptance"});
  o.target_acceptance = asked.target_acceptance.value_or(0);
  if (asked.scales.empty() == (o.metric == Metric::scales)) {
    throw BadInput(Field{"scales"},
                   format_message("belongs to {} scales, the file of its numbers", Field{"metric"}),
                   "give both or neither");
  }
  o.scales = asked.scales;
  o.start = asked.start;
  return o;
}

}  // namespace gibbsite
