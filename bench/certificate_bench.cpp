// One draw within total variation gamma of the posterior, by every certificate that bounds it.
// bench_certificate --limit=SECONDS measures whole what takes less and predicts the rest from
// its first seconds; --rows=N leaves out larger tables; OMP_NUM_THREADS is the number of threads.
//
//   CERTIFICATE/ROWSxFEATURES/GAMMA/CHAINS      the cpu backend, rows made up
//
// beta and m are those of `plan` at epsilon = 1, delta = 1/n^2, m = 1, with its own gap; gamma here
// is taken for itself and need not fit that delta. Setting up (minimizer, its Hessian) is timed
// apart.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/chains/potential.hpp"
#include "gibbsite/chains/proximal.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/averaged.hpp"
#include "gibbsite/mechanism/dalalyan.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/speed/speed.hpp"

namespace gibbsite {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double m = 1;
constexpr double pilot_seconds = 3;  // and
constexpr double pilot_iterations =
    10;  // (or the limit) until a run is given up that would be longer
constexpr std::size_t most_draws = 25;  // of which the median is taken,
constexpr double draws_seconds = 2;     // as long as they take less together
constexpr double countable = 0x1p31;    // proposals and iterations that chains can number
constexpr std::size_t many_chains = 64;
double limit = 20;

struct Shape {
  std::uint64_t rows, features;
};
constexpr Shape shapes[] = {
    {1'000, 5}, {10'000, 20}, {32'561, 108}, {100'000, 50}, {1'000'000, 200}};
constexpr double gammas[] = {1e-2, 1e-6, 1e-10};
constexpr struct {
  const char* name;
  std::string_view kind;
  bool padded;
} certificates[] = {{"rejection", Rejection::name, false},
                    {"proximal", Proximal::name, false},
                    {"padded", Proximal::name, true},
                    {"averaged", Averaged::name, false},
                    {"dalalyan", Dalalyan::name, false}};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<long>(values.size() / 2));
  return values[values.size() / 2];
}

// One table is in memory at a time: cases come shape by shape.
struct Instance {
  Shape shape{};
  MadeUpRows rows;
  std::unique_ptr<Backend> backend = make_backend("cpu");
  Problem constants;
  Potential potential;
  double smoothness = 0, gradient_norm = 1e-3 * std::sqrt(m);
  Minimum minimum;
  double minimize_seconds = 0;
  std::map<std::size_t, double> step_seconds;  // of a Langevin step of so many chains
  std::map<std::size_t, double> gradient_seconds, value_seconds;  // of a pass for so many points
  std::set<std::string> slow;  // cases that one chain does not finish in time

  void make(const Shape& wanted) {
    if (shape.rows == wanted.rows && shape.features == wanted.features) return;
    shape = wanted;
    potential = {};
    rows = {};
    const FeatureSpace space{.features = shape.features};
    rows = make_up_rows(dense_shape(space, shape.rows), shape.rows);
    const Model model = logistic_regression({.prior_precision = m});
    constants = model.constants(space, shape.rows);
    const auto n = static_cast<double>(shape.rows);
    const double beta = *setting(
        plan(constants, {.epsilon = 1, .delta = 1 / (n * n)}).candidates[4].mechanism, "beta");
    smoothness = constants.smoothness_up(beta, m);
    potential = {backend->load(rows.view(), rows.y, *model.loss), beta, m};
    const auto begin = Clock::now();
    minimum = minimize(potential, gradient_norm / 4);
    minimize_seconds = seconds_since(begin);
    step_seconds.clear();
    gradient_seconds.clear();
    value_seconds.clear();
    slow.clear();
  }
  double step_of(std::size_t chains) {
    if (!step_seconds.contains(chains)) {
      StepTimer timer(*backend, rows.view(), rows.y, potential.loss(), {.seconds = 1});
      step_seconds[chains] = timer.time(chains).seconds;
    }
    return step_seconds[chains];
  }
};

struct Case {
  std::size_t certificate;  // index into certificates
  Shape shape;
  double gamma;
  std::size_t chains;

  [[nodiscard]] std::string name() const {
    return fmt::format("{}/{}x{}/{:.0e}", certificates[certificate].name, shape.rows,
                       shape.features, gamma);
  }
};

struct Settings {
  std::string_view kind;
  double beta = 0, prior_precision = 0, smoothness = 0, start_gradient_norm = 0;
  double step_size = 0, iterations = 0;
  double proposals = 0, rounds = 0, residual = 0, gradients = 0;
};

struct Scheduled {
  Settings plan;
  ProximalSchedule proximal;
  double acceptance = 0;  // of a proposal, at least
  ProximalPasses passes;  // expected
  double tv = 1;
};

// What a draw is off, with nothing promised beforehand.
double gap_of(const Settings& s, const ProximalSchedule& schedule, const Problem& problem) {
  Mechanism settings;
  if (s.kind == Averaged::name) {
    settings =
        Averaged{Calibration::gdp, s.beta, s.prior_precision, s.start_gradient_norm, s.step_size,
                 s.iterations,     0};
  } else if (s.kind == Dalalyan::name) {
    settings =
        Dalalyan{Calibration::gdp, s.beta, s.prior_precision, s.start_gradient_norm, s.step_size,
                 s.iterations,     0};
  } else if (s.kind == Rejection::name) {
    settings =
        Rejection{Calibration::gdp, s.beta, s.prior_precision, s.start_gradient_norm, schedule, 0};
  } else {
    settings = Proximal{Calibration::gdp,  s.beta,
                        s.prior_precision, s.gradients > 0 ? 0 : s.start_gradient_norm,
                        schedule,          0};
  }
  return analyze(settings, problem, {}, 1).tv_gap;
}

// The longest share of gamma is tried first; the rest is for rounding.
Scheduled schedule(const Instance& p, const Case& c) {
  Scheduled out;
  Settings& plan = out.plan;
  const auto d = static_cast<double>(c.shape.features);
  const double per_read = proposals_per_read(d);
  const bool padded = certificates[c.certificate].padded;
  plan.kind = certificates[c.certificate].kind;
  plan.beta = p.potential.beta;
  plan.prior_precision = m;
  plan.smoothness = p.smoothness;
  plan.start_gradient_norm = p.gradient_norm;
  const double M = p.smoothness;
  const double G =
      padded ? round_up(Wide(plan.beta) * Wide(p.constants.rows) * Wide(p.constants.lipschitz_up()))
             : p.gradient_norm;
  for (const double share : {0.999, 0.9, 0.5}) {
    const double tv = share * c.gamma;
    if (plan.kind == Averaged::name) {
      const AveragedSchedule s = averaged_schedule(d, m, M, tv, G);
      plan.step_size = s.step_size;
      plan.iterations = s.iterations;
      out.passes.gradients = s.iterations;
    } else if (plan.kind == Dalalyan::name) {
      const DalalyanSchedule s = dalalyan_schedule(d, m, M, tv, G);
      plan.step_size = s.step_size;
      plan.iterations = s.iterations;
      out.passes.gradients = s.iterations;
    } else {
      const ProximalSchedule s = plan.kind == Rejection::name
                                     ? rejection_schedule({d, m, M, tv, G}, per_read)
                                     : proximal_schedule({d, m, M, tv, G}, padded, per_read);
      plan.step_size = s.step_size;
      plan.iterations = s.iterations;
      plan.proposals = s.proposals;
      plan.rounds = s.rounds;
      plan.residual = s.residual;
      plan.gradients = s.gradients;
      out.proximal = s;
      out.acceptance = proposal_bounds(d, m, M, s.step_size, s.residual).acceptance_down;
      out.passes = proximal_passes(s, out.acceptance);
    }
    out.tv = gap_of(plan, out.proximal, p.constants);
    if (out.tv <= c.gamma) break;
  }
  return out;
}

struct Result {
  double setup = 0;       // seconds, beside the minimizer
  double seconds = 0;     // of all chains to their end; predicted where they were not run to it
  double iterations = 0;  // of a chain, run
  double gradient_passes = 0, proposal_passes = 0;    // in these, for all chains at once
  double gradients = 0, proposals = 0, accepted = 0;  // of all chains
  double capped = 0, exact = 0;
  double cpu = 0;         // seconds of the processor, likewise the median
  std::size_t draws = 0;  // runs of which the time is the median and the passes the mean; 0: none
  bool whole = false;
};

double share_done(const ProximalChains& chains, const Scheduled& s, std::size_t count) {
  if (s.plan.kind == Rejection::name) {
    return static_cast<double>(chains.counts().proposal_passes) / s.passes.proposals;
  }
  double done = 0;
  for (const std::uint64_t k : chains.iterations()) done += static_cast<double>(k);
  return done / (s.plan.iterations * static_cast<double>(count));
}

// Adds a run to the result. False: it was given up.
bool run_proximal(Instance& p, const Scheduled& s, std::size_t count, const StreamKey& key,
                  Result& out, std::vector<double>& seconds, std::vector<double>& cpu) {
  const bool padded = s.plan.gradients > 0;
  const std::vector<double> zero(p.shape.features, 0.0);
  auto begin = Clock::now();
  ProximalChains chains(p.potential, s.proximal, padded ? zero : p.minimum.theta, count, key);
  out.setup = seconds_since(begin);
  if (s.plan.kind == Proximal::name) chains.start_at_random(1 / std::sqrt(p.smoothness));
  const auto last = static_cast<std::uint64_t>(s.plan.iterations);
  begin = Clock::now();
  const double cpu_begin = cpu_seconds();
  bool whole = true;
  while (chains.advance(last)) {
    const double taken = seconds_since(begin), share = share_done(chains, s, count);
    const bool enough = taken > limit || share * s.plan.iterations >= pilot_iterations;
    if (taken > pilot_seconds && enough && share > 0 && taken > limit * share) {
      whole = false;
      break;
    }
  }
  const double share = whole ? 1 : share_done(chains, s, count);
  seconds.push_back(seconds_since(begin) / share);
  cpu.push_back((cpu_seconds() - cpu_begin) / share);
  const ProximalCounts& counts = chains.counts();
  for (const std::uint64_t k : chains.iterations()) {
    out.iterations += static_cast<double>(k) / static_cast<double>(count);
  }
  out.gradient_passes += static_cast<double>(counts.gradient_passes);
  out.proposal_passes += static_cast<double>(counts.proposal_passes);
  out.gradients += static_cast<double>(counts.gradients);
  out.proposals += static_cast<double>(counts.proposals);
  out.accepted += static_cast<double>(counts.accepted);
  out.capped += static_cast<double>(counts.capped);
  out.exact += static_cast<double>(counts.exact);
  ++out.draws;
  return whole;
}

void run_langevin(Instance& p, const Scheduled& s, std::size_t count, const StreamKey& key,
                  Result& out, std::vector<double>& seconds, std::vector<double>& cpu) {
  std::vector<ChainSpec> specs(count, {.key = key});
  const bool averaged = s.plan.kind == Averaged::name;
  for (std::size_t c = 0; c < count; ++c) {
    const auto stream = static_cast<std::uint32_t>(c);
    double stop = s.plan.iterations;
    if (averaged) {
      std::uint64_t word = 0;
      fill_words(key, stream, stop_step, {&word, 1});
      stop = averaged_stop(m, s.plan.step_size, s.plan.iterations, word);
    }
    specs[c] = {.inverse_temperature = s.plan.beta,
                .prior_precision = m,
                .step_size = s.plan.step_size,
                .iterations = static_cast<std::uint64_t>(stop),
                .key = key,
                .stream = stream};
    out.iterations += stop / static_cast<double>(count);
    out.gradients += stop;
  }
  out.gradient_passes +=
      static_cast<double>(std::ranges::max(specs, {}, &ChainSpec::iterations).iterations);
  Ensemble ensemble = start(std::move(specs), p.shape.features);
  start_at_random(ensemble, p.minimum.theta, averaged ? 0 : 1 / std::sqrt(p.smoothness));
  const auto begin = Clock::now();
  const double cpu_begin = cpu_seconds();
  dynamic_cast<Engine&>(*p.potential.engine)
      .advance(ensemble, static_cast<std::uint64_t>(s.plan.iterations));
  seconds.push_back(seconds_since(begin));
  cpu.push_back(cpu_seconds() - cpu_begin);
  ++out.draws;
}

template <class F>
double pass_seconds(F&& pass) {
  std::vector<double> seconds;
  const auto start = Clock::now();
  do {
    const auto begin = Clock::now();
    pass();
    seconds.push_back(seconds_since(begin));
  } while (seconds.size() < 5 && seconds_since(start) < draws_seconds);
  return median(seconds);
}

// All passes of a run whose number is known, or that is too long to begin.
double by_passes(Instance& p, const Scheduled& s, std::size_t chains) {
  const std::size_t d = p.shape.features;
  const std::size_t points = static_cast<std::size_t>(s.plan.proposals) * chains;
  std::vector<double> thetas(points * d), out(points * d);
  fill_normals(StreamKey::from_seed(0), 0, 0, thetas);
  if (!p.gradient_seconds.contains(chains)) {
    p.gradient_seconds[chains] = pass_seconds([&] {
      p.potential.engine->loss_gradients({thetas.data(), chains, d}, {out.data(), chains, d});
    });
  }
  if (!p.value_seconds.contains(points)) {
    p.value_seconds[points] = pass_seconds([&] {
      p.potential.engine->loss_values({thetas.data(), points, d}, {out.data(), points});
    });
  }
  return s.passes.gradients * p.gradient_seconds[chains] +
         s.passes.proposals * p.value_seconds[points];
}

Result measure(Instance& p, const Case& c, const Scheduled& s) {
  Result out;
  const bool langevin = s.plan.kind == Averaged::name || s.plan.kind == Dalalyan::name;
  if (langevin) {
    out.seconds = s.plan.iterations * p.step_of(c.chains);
    if (!(out.seconds <= limit)) return out;
  } else if (s.plan.gradients > 0 || s.plan.kind == Rejection::name) {
    out.seconds = by_passes(p, s, c.chains);
    if (!(out.seconds <= limit && s.plan.proposals * s.plan.rounds < countable)) return out;
  }
  std::vector<double> seconds, cpu;
  double spent = 0;
  do {
    const StreamKey key(NoiseKind::chacha20, {static_cast<std::uint8_t>(1 + seconds.size())});
    if (langevin) {
      run_langevin(p, s, c.chains, key, out, seconds, cpu);
      out.whole = true;
    } else {
      out.whole = run_proximal(p, s, c.chains, key, out, seconds, cpu);
    }
    spent += seconds.back();
  } while (out.whole && seconds.size() < most_draws && spent < draws_seconds);
  out.seconds = median(seconds);
  out.cpu = median(cpu);
  return out;
}

void draw(benchmark::State& state, Instance& p, const Case& c) {
  p.make(c.shape);
  if (c.chains > 1 && p.slow.contains(c.name())) {
    for (auto _ : state) state.SetIterationTime(0);
    state.SkipWithError("one chain takes too long already");
    return;
  }
  const Scheduled s = schedule(p, c);
  Result r;
  for (auto _ : state) {
    r = measure(p, c, s);
    state.SetIterationTime(r.seconds);
  }
  if (!(r.whole && r.seconds <= draws_seconds)) p.slow.insert(c.name());
  const auto count = [&](const char* name, double value) { state.counters[name] = value; };
  count("rows", static_cast<double>(c.shape.rows));
  count("features", static_cast<double>(c.shape.features));
  count("gamma", c.gamma);
  count("chains", static_cast<double>(c.chains));
  count("beta", s.plan.beta);
  count("smoothness", s.plan.smoothness);
  count("tv", s.tv);
  count("step_size", s.plan.step_size);
  count("iterations", s.plan.iterations);
  count("proposals", s.plan.proposals);
  count("rounds", s.plan.rounds);
  count("gradients", s.plan.gradients);
  count("acceptance_down", s.acceptance);
  count("planned_gradient_passes", s.passes.gradients);
  count("planned_proposal_passes", s.passes.proposals);
  count("minimize_seconds", s.plan.gradients > 0 ? 0 : p.minimize_seconds);
  count("setup_seconds", r.setup);
  count("seconds", r.seconds);
  count("cpu_seconds", r.cpu);
  count("whole", r.whole ? 1 : 0);
  count("draws", static_cast<double>(r.draws));
  count("run_iterations", r.iterations);
  count("run_gradient_passes", r.gradient_passes);
  count("run_proposal_passes", r.proposal_passes);
  count("run_gradients", r.gradients);
  count("run_proposals", r.proposals);
  count("run_accepted", r.accepted);
  count("run_capped", r.capped);
  count("run_exact", r.exact);
}

// Takes `--name=NUMBER` out of the arguments.
double option(int& argc, char** argv, std::string_view name, double otherwise) {
  const std::string prefix = fmt::format("--{}=", name);
  for (int i = 1; i < argc; ++i) {
    if (!std::string_view(argv[i]).starts_with(prefix)) continue;
    otherwise = std::stod(argv[i] + prefix.size());
    std::copy(argv + i + 1, argv + argc, argv + i);
    --argc;
    break;
  }
  return otherwise;
}

int run(int argc, char** argv) {
  limit = option(argc, argv, "limit", limit);
  const double most_rows = option(argc, argv, "rows", 1e9);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("threads", fmt::format("{}", omp_get_max_threads()));
  benchmark::AddCustomContext("limit", fmt::format("{}", limit));
  Instance problem;
  for (const Shape& shape : shapes) {
    if (static_cast<double>(shape.rows) > most_rows) continue;
    for (std::size_t k = 0; k < std::size(certificates); ++k) {
      for (const double gamma : gammas) {
        for (const std::size_t chains : {std::size_t{1}, many_chains}) {
          const Case c{k, shape, gamma, chains};
          benchmark::RegisterBenchmark(
              fmt::format("{}/{}", c.name(), chains).c_str(),
              [&problem, c](benchmark::State& state) { draw(state, problem, c); })
              ->Iterations(1)
              ->UseManualTime()
              ->Unit(benchmark::kSecond);
        }
      }
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace gibbsite

int main(int argc, char** argv) { return gibbsite::run(argc, argv); }
