#include "bench_ranks.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "backend.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/machine.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "gibbsite/run/fit.hpp"
#include "gibbsite/speed/cluster.hpp"
#include "gibbsite/speed/made_up.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "ranks.hpp"
#include "stopwatch.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

constexpr std::uint64_t seed_of_rows = 1;
constexpr std::size_t measured_bytes = std::size_t{128} << 20;  // of a rank's rows: not in caches
constexpr std::size_t large_message = std::size_t{4} << 20;     // of each rank
constexpr std::uint64_t most_ranks = 1024, looked_at = std::uint64_t{1} << 17;
constexpr double measured_for = 0.5;  // seconds, each number
constexpr std::uint64_t unplanned_steps = 1000, unplanned_gradients = 40;

constexpr const char* of_nobody =
    "made up, of nobody: no model is written, nothing is certified, no budget is spent";

// Seconds of f on all ranks at once: the median of some calls, or the best, of the slowest rank.
// All make as many: rank 0's clock says when it is enough.
template <class F>
double seconds_of(const F& f, bool best = false) {
  std::vector<double> each;
  std::uint64_t enough = 0;
  f();                                       // lays out
  for (const Stopwatch all; enough == 0;) {  // waiting for each other too
    ranks().together(stop_if_asked);         // and begin together
    const Stopwatch clock;
    f();
    each.push_back(clock.seconds());
    enough = each.size() >= 3 && all.seconds() >= measured_for ? 1 : 0;
    ranks().broadcast(std::as_writable_bytes(std::span(&enough, 1)), 0);
  }
  std::ranges::nth_element(each, each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2));
  const double mine = best ? std::ranges::min(each) : each[each.size() / 2];
  return std::ranges::max(ranks().gather(std::span<const double>(&mine, 1)));
}

double rounds_of(std::size_t count) { return std::ceil(std::log2(static_cast<double>(count))); }

RankLink measured_link() {
  RankLink out;
  const std::size_t all = ranks().size();
  constexpr int calls = 10;  // a clock is coarse beside one
  // The best: other programs on a rank's core are not the network's.
  const auto some = [] {
    for (int k = 0; k < calls; ++k) static_cast<void>(ranks().gather(std::uint64_t{1}));
  };
  const double small = seconds_of(some, true) / calls;
  out.latency = small / rounds_of(all);
  const std::vector<std::byte> mine(large_message);
  std::vector<std::byte> received(all * large_message);
  const std::vector<std::size_t> counts(all, large_message);
  const double large = seconds_of([&] { ranks().gather(mine, counts, received); }, true);
  out.bandwidth = static_cast<double>(received.size()) / std::max(large - small, 1e-9);
  return out;
}

// A rank's part of the made-up rows that are measured, [rows of all ranks] in memory.
struct Measured {
  MadeUpTable table;
  std::vector<std::uint64_t> bounds;
  std::vector<float> x, y;

  explicit Measured(const ShapeArguments& shape, std::size_t features)
      : table(seed_of_rows,
              std::min<std::uint64_t>(
                  *shape.rows,
                  ranks().size() *
                      std::max<std::uint64_t>(
                          measured_bytes / (features * sizeof(float)) / 1024 * 1024, 1024)),
              static_cast<std::size_t>(*shape.features), shape.intercept),
        bounds(share_bounds(table.rows(), ranks().size())) {
    const std::uint64_t first = bounds[ranks().rank()], last = bounds[ranks().rank() + 1];
    x.resize((last - first) * features);
    y.resize(last - first);
    table.make(first, last, x, y);
  }
  [[nodiscard]] Rows view() const { return {x.data(), y.size(), table.features()}; }
};

// Every entry other than 0: products with it are whole.
std::vector<double> metric_of(std::size_t d) {
  std::vector<double> out(d * d, 0.01);
  for (std::size_t j = 0; j < d; ++j) out[j * d + j] = 1;
  return out;
}

RankSpeed measured_speed(Backend& local, const Measured& rows, const Loss& loss) {
  const std::size_t d = rows.table.features();
  // A rank without rows measures those of the first block.
  std::vector<float> x(1024 * d), y(1024);
  rows.table.make(0, std::min<std::uint64_t>(1024, rows.table.rows()), x, y);
  const bool none = rows.y.empty();
  const Rows mine = none ? Rows(x.data(), 1024, d) : rows.view();
  const std::span<const float> labels = none ? std::span<const float>(y) : rows.y;
  const auto engine = local.load(mine, labels, loss);
  const auto count = static_cast<double>(rows.bounds[1]);  // of the first rank
  const std::vector<double> theta(d), metric = metric_of(d);
  std::vector<double> gradient(d), moments(d * d);
  const MatrixView<const double> P{metric.data(), d, d};
  RankSpeed out;
  out.gradients = count / seconds_of([&] {
                    engine->loss_gradients({theta.data(), 1, d}, {gradient.data(), 1, d});
                  });
  const auto capped = engine->capped_loss(P, {.clip = 1});
  const double next = seconds_of([&] { static_cast<void>(capped->gradient(theta, gradient)); });
  const double first = seconds_of(
      [&] { static_cast<void>(engine->capped_loss(P, {.clip = 1})->gradient(theta, gradient)); });
  out.capped = count / next;
  out.caps = count / std::max(first - next, 1e-9);
  out.moments = count / seconds_of([&] { engine->second_moments(P, 1, {moments.data(), d, d}); });
  return out;
}

// A step over the rows measured, on the ranks there are.
struct Step {
  double measured = 0;
  ClusterTime predicted;
};
Step measured_step(Backend& engines, const Measured& rows, const Loss& loss, const RankSpeed& speed,
                   const RankLink& link) {
  const auto engine = engines.load(rows.view(), rows.y, loss);
  std::vector<ChainSpec> specs{
      {.step_size = 1e-6, .iterations = std::uint64_t{1} << 40, .key = StreamKey::from_seed(1)}};
  Ensemble ensemble = start(std::move(specs), engine->features());
  constexpr std::uint64_t steps = 5;
  return {seconds_of([&] { engine->advance(ensemble, steps); }) / static_cast<double>(steps),
          step_time({rows.table.rows(), rows.table.features(), ranks().size()}, speed, link)};
}

// Passes of the two mechanisms.
struct Passes {
  double steps = unplanned_steps;  // of path
  double moments = 2, gradients = unplanned_gradients;
};
Passes passes_of(const std::optional<Plan>& made) {
  Passes out;
  if (!made) return out;
  for (const Candidate& candidate : made->candidates) {
    if (const auto* const w = std::get_if<Whitened>(&candidate.mechanism)) {
      if (!candidate.feasible) continue;
      out.moments = w->second_moment_share > 0 ? 2 : 1;
      out.gradients = w->iterations;
    } else if (std::holds_alternative<Path>(candidate.mechanism) && candidate.feasible) {
      out.steps = candidate.cost.work / static_cast<double>(made->budget.draws);
    }
  }
  return out;
}

struct Scale {
  std::uint64_t rows, features;
  RankSpeed speed;
  RankLink link;
  Passes passes;

  [[nodiscard]] ClusterTime path(std::uint64_t count) const {
    return passes.steps * step_time({rows, features, count}, speed, link);
  }
  [[nodiscard]] ClusterTime whitened(std::uint64_t count) const {
    const ClusterShape at{rows, features, count};
    ClusterTime out = passes.moments * moments_time(at, speed, link);
    out += passes.gradients * capped_time(at, speed, link);
    out += caps_time(at, speed);
    return out;
  }
};

std::string percent(const ClusterTime& time) {
  return fmt::format("{:.3g} %", 100 * time.message_share());
}

std::string half_line(const char* name, const std::function<ClusterTime(std::uint64_t)>& time) {
  const auto half = half_way(time, looked_at);
  return half ? fmt::format("{}: half of the time is messages from about {} ranks\n", name,
                            human_count(static_cast<double>(*half)))
              : fmt::format("{}: less than half of the time is messages up to {} ranks\n", name,
                            human_count(static_cast<double>(looked_at)));
}

nlohmann::json json_of(const ClusterTime& time) {
  return {{"seconds", time.seconds()},
          {"rows_seconds", time.rows},
          {"messages_seconds", time.messages}};
}

// FNV-1a, to compare runs by eye.
std::string bits_of(std::span<const double> theta) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte b : std::as_bytes(theta)) {
    hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3;
  }
  return fmt::format("{:016x}", hash);
}

double peak_bytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return 1024.0 * static_cast<double>(used.ru_maxrss);  // Linux counts KiB
}

std::string load_words() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? fmt::format("; the load is {:.2g}", load) : "";
}

constexpr std::uint64_t most_features = 100'000;

// Seconds, bytes/s or rows/s of a machine that there may be.
bool is_a_constant(double x) { return x >= 1e-12 && x <= 1e15; }

void fit_made_up(const ShapeArguments& shape, const PlanArguments& plan, bool json) {
  if (!plan.epsilon) throw BadInput("--fit: needs --epsilon and --delta; give them");
  if (plan.mechanism != "auto" && plan.mechanism != Whitened::name) {
    throw BadInput(fmt::format("--mechanism {}: made-up rows are fitted by whitened; leave it out",
                               plan.mechanism));
  }
  const MadeUpTable made_up(seed_of_rows, *shape.rows, static_cast<std::size_t>(*shape.features),
                            shape.intercept);
  Dataset none;
  none.schema = made_up.schema();
  static_cast<void>(plan.plan_options());
  PlanRequest request = plan;
  request.mechanism = Whitened::name;
  const Plan made = gibbsite::plan(request, none.schema, made_up.rows(), plan.budget());
  static_cast<void>(require_feasible(made));
  const auto threads = static_cast<std::size_t>(thread_count());
  const auto engines = make_rows(make_backend("cpu", {.threads = 1}), made_up, ranks(), threads);
  if (!json) {
    fmt::print("rows      {} of {} features, {}\nbackend   {}: {}\n",
               human_count(static_cast<double>(made_up.rows())), made_up.features(), of_nobody,
               engines->name(), engines->description());
    std::fflush(stdout);
  }
  Progress bar("fitting made-up rows", json || !is_first_rank(), 10);
  FitOptions options;
  options.ranks = &ranks();
  options.rows_elsewhere = made_up.rows();
  options.stop = &stop_flag();
  options.progress = [&bar](std::uint64_t done, std::uint64_t total) { bar.update(done, total); };
  const Stopwatch clock;
  // Noise of a seed: the same whatever the ranks, and its certificate would be void.
  const Release out = gibbsite::fit(model_of(plan, made), none, made, *engines,
                                    Key::from_seed(seed_of_rows), options);
  const double seconds = clock.seconds(), mine = peak_bytes();
  const double peak = std::ranges::max(ranks().gather(std::span<const double>(&mine, 1)));
  const std::vector<double>& theta = out.model().draws.front();
  const std::string bits = bits_of(theta);
  const auto& settings = std::get<Whitened>(made.candidate().mechanism);
  // Rows are looked at once before.
  const double passes = 1 + (settings.second_moment_share > 0 ? 2 : 1) + settings.iterations;
  const double agreement = made_up.agreement(theta);
  if (json) {
    nlohmann::json line{{"made_up", true},
                        {"rows", made_up.rows()},
                        {"features", made_up.features()},
                        {"ranks", ranks().size()},
                        {"threads", threads},
                        {"passes", passes},
                        {"seconds", seconds},
                        {"peak_bytes", peak},
                        {"agreement", agreement},
                        {"bits", bits}};
    fmt::print("{}\n", nlohmann::json{{"fit", std::move(line)}}.dump(2));
    return;
  }
  fmt::print(
      "fit       whitened for (ε, δ) = ({:.4g}, {:.4g}): {} passes in {}, {} rows a second{}\n"
      "memory    at most {:.0f} MB a rank at once\n"
      "check     cosine of the coefficients and of what the labels follow: {:.6f}\n"
      "bits      {} of the coefficients: the same for any number of ranks\n",
      made.budget.epsilon, made.budget.delta, passes, human_time(seconds),
      human_count(passes * static_cast<double>(made_up.rows()) / seconds), load_words(), peak / 1e6,
      agreement, bits);
}

}  // namespace

void RanksBench::add_to(CLI::App& app) {
  app.add_flag(
      "--ranks", wanted,
      "on ranks: messages and rows measured on those of mpirun, and a table for 1 to 1,024 "
      "by a model");
  app.add_flag("--fit", fits,
               "with --ranks: fit made-up rows by whitened, made anew for every pass and kept "
               "nowhere; nothing is written");
  add_number(app, "--latency", latency, "with --ranks: seconds of a message in another network");
  add_number(app, "--bandwidth", bandwidth, "with --ranks: bytes/s of a rank in another network");
  add_numbers(app, "--rates", rates,
              "with --ranks: rows/s of another rank: gradients, capped gradients, their caps, "
              "moments");
}

void RanksBench::require_wanted() const {
  if (wanted) return;
  const char* const alone = fits             ? "--fit"
                            : latency        ? "--latency"
                            : bandwidth      ? "--bandwidth"
                            : !rates.empty() ? "--rates"
                                             : nullptr;
  if (alone != nullptr) throw BadInput(fmt::format("{}: needs --ranks with it; give both", alone));
}

void RanksBench::run(const ShapeArguments& shape, const PlanArguments& plan,
                     const std::string& backend, bool json) const {
  if (shape.of_table(plan) || plan.rows_cap) {
    throw BadInput("--ranks: rows are made up, of a shape; give --rows and --features");
  }
  if (plan.model != "auto" && plan.model != "logistic") {
    throw BadInput(
        fmt::format("--ranks: made-up rows have two classes, not those of --model {}; "
                    "leave it out",
                    plan.model));
  }
  if (shape.row_norm != 1)
    throw BadInput("--ranks: made-up rows have norm 1; leave out --row-norm");
  if (backend != "auto" && backend != "cpu") {
    throw BadInput(
        fmt::format("--backend {}: rows on ranks are for the CPU; leave it out", backend));
  }
  if (!rates.empty() && (rates.size() != 4 ||
                         std::ranges::any_of(rates, [](double r) { return !is_a_constant(r); }))) {
    throw BadInput(
        "--rates: give four numbers from 1e-12 to 1e15: rows/s of gradients, capped gradients, "
        "their caps and "
        "moments");
  }
  for (const auto& [value, name] : {std::pair{latency, "--latency"}, {bandwidth, "--bandwidth"}}) {
    if (value && !is_a_constant(*value)) {
      throw BadInput(
          fmt::format("{}: {} is not from 1e-12 to 1e15; give such a number", name, *value));
    }
  }
  if (shape.features && *shape.features > most_features) {
    throw BadInput(fmt::format("--features: made-up rows have at most {}, got {}; give fewer",
                               most_features, *shape.features));
  }
  catch_interrupts();
  if (fits) return fit_made_up(shape, plan, json);

  const FeatureSpace space = shape.space(plan.model);
  std::optional<Plan> made;
  if (plan.epsilon) made = gibbsite::plan(plan, space, *shape.rows, plan.budget());
  const std::size_t count = ranks().size(), d = space.features;
  const Loss& loss = loss_named("logistic");
  const bool elsewhere = !rates.empty();
  if (count == 1 && (!latency || !bandwidth)) {
    throw BadInput(
        "--ranks: one process sends no messages; start it by mpirun -n 2, or give --latency and "
        "--bandwidth");
  }
  Scale scale{*shape.rows, d, {}, {}, passes_of(made)};
  nlohmann::json out;
  if (elsewhere) {
    scale.speed = {rates[0], rates[1], rates[2], rates[3]};
  } else {
    const auto local = make_backend("cpu");
    const Measured rows(shape, d);
    scale.speed = measured_speed(*local, rows, loss);
    if (count > 1) {
      scale.link = measured_link();
      const auto sharded = shard(make_backend("cpu"), ranks());
      const Step step = measured_step(*sharded, rows, loss, scale.speed, scale.link);
      out["step"] = {{"rows", rows.table.rows()},
                     {"seconds", step.measured},
                     {"predicted", json_of(step.predicted)}};
      if (!json) {
        fmt::print(
            "measured  on {} ranks of {} thread{}{}\n"
            "  messages  {:.3g} us, {:.3g} GB/s\n"
            "  a step    of {} made-up rows of {} features: {:.4g} ms; the model says {:.4g}, {} "
            "of them messages\n",
            count, thread_count(), thread_count() == 1 ? "" : "s", load_words(),
            1e6 * scale.link.latency, scale.link.bandwidth / 1e9,
            human_count(static_cast<double>(rows.table.rows())), d, 1e3 * step.measured,
            1e3 * step.predicted.seconds(), percent(step.predicted));
      }
    }
  }
  if (latency) scale.link.latency = *latency;
  if (bandwidth) scale.link.bandwidth = *bandwidth;

  std::vector<std::vector<std::string>> lines{
      {"ranks", "a step", "messages", "path", "whitened", "messages"}};
  out["ranks"] = nlohmann::json::array();
  for (std::uint64_t p = 1; p <= most_ranks; p *= 2) {
    const ClusterTime step = (1 / scale.passes.steps) * scale.path(p), path = scale.path(p),
                      whitened = scale.whitened(p);
    lines.push_back({fmt::format("{}", p), fmt::format("{:.3g} ms", 1e3 * step.seconds()),
                     percent(step), human_time(path.seconds()), human_time(whitened.seconds()),
                     percent(whitened)});
    out["ranks"].push_back({{"ranks", p},
                            {"step", json_of(step)},
                            {"path", json_of(path)},
                            {"whitened", json_of(whitened)}});
  }
  const auto path = [&](std::uint64_t p) { return scale.path(p); };
  const auto whitened = [&](std::uint64_t p) { return scale.whitened(p); };
  if (json) {
    out["measured"] = {
        {"ranks", count}, {"rates_given", elsewhere}, {"link_given", latency && bandwidth}};
    out["constants"] = {{"latency_seconds", scale.link.latency},
                        {"bandwidth_bytes_per_second", scale.link.bandwidth},
                        {"gradient_rows_per_second", scale.speed.gradients},
                        {"capped_rows_per_second", scale.speed.capped},
                        {"caps_rows_per_second", scale.speed.caps},
                        {"moments_rows_per_second", scale.speed.moments}};
    out["table"] = {{"rows", scale.rows}, {"features", d}};
    out["passes"] = {{"path", scale.passes.steps},
                     {"moments", scale.passes.moments},
                     {"gradients", scale.passes.gradients}};
    const auto half = [](const auto& time) -> nlohmann::json {
      const auto at = half_way(time, looked_at);
      return at ? nlohmann::json(*at) : nlohmann::json(nullptr);
    };
    out["half_messages"] = {{"path", half(path)}, {"whitened", half(whitened)}};
    fmt::print("{}\n", out.dump(2));
    return;
  }
  fmt::print(
      "predicted {} x {}: {} steps of path, {} moments and {} gradients of whitened{}\n"
      "  a rank    {} rows/s in a gradient, {} capped, {} finding caps, {} in moments{}\n"
      "  messages  {:.3g} us, {:.3g} GB/s{}\n\n{}\n{}{}",
      human_count(static_cast<double>(scale.rows)), d, human_count(scale.passes.steps),
      scale.passes.moments, scale.passes.gradients,
      made ? fmt::format(" for (ε, δ) = ({:.4g}, {:.4g})", made->budget.epsilon, made->budget.delta)
           : "; how many follows from --epsilon and --delta",
      human_count(scale.speed.gradients), human_count(scale.speed.capped),
      human_count(scale.speed.caps), human_count(scale.speed.moments),
      elsewhere ? ", given" : ", measured", 1e6 * scale.link.latency, scale.link.bandwidth / 1e9,
      latency && bandwidth   ? ", given"
      : latency || bandwidth ? ", one given, one measured"
                             : ", measured",
      table(lines), half_line("path", path), half_line("whitened", whitened));
}

}  // namespace gibbsite::cli
