// What this machine does on a table of that shape, beside its roofs, and how long `fit` will take.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "backend.hpp"
#include "bench_ranks.hpp"
#include "command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/engine/machine.hpp"
#include "gibbsite/speed/throughput.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "reading.hpp"
#include "stopwatch.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

constexpr std::uint64_t chain_counts[] = {1, 4, 16, 64, 256};
constexpr double longest = 40;  // seconds: numbers of chains that would take longer are left out
constexpr std::size_t large = 64 << 20;  // floats, 256 MiB: no cache holds them
constexpr std::uint64_t steps_without_budget = 1000;
// The share of the entries that the schema allows; a table with fewer is measured itself.
constexpr double like_its_schema = 2.0 / 3;

constexpr const char* private_table =
    "private, for the curator only, do not publish: timed on this table itself, which has fewer "
    "entries that are not zero than its schema allows; under add-remove the number of rows is "
    "private too";

struct Roofs {
  double load = 0;                       // runnable threads before anything was measured
  double double_fma = 0, float_fma = 0;  // flop/s
  double memory = 0, table = 0;          // bytes/s of reading: from memory, as many bytes as X has
};

// A pass over X: what it must do at least, in any layout.
struct Work {
  std::uint64_t rows = 0, features = 0;
  double entries = 0;        // of a row that are not zero
  double bytes_per_row = 0;  // in memory, the label included
  std::uint64_t outputs = 1;

  // Floats, or (index, float) of the entries.
  [[nodiscard]] double pass_bytes_per_row() const {
    return std::min(4 * static_cast<double>(features), 8 * entries);
  }
  [[nodiscard]] double bytes() const { return static_cast<double>(rows) * pass_bytes_per_row(); }
  // Multiply and add in X theta and in X^T r, of each output.
  [[nodiscard]] double flops(std::uint64_t chains) const {
    return 4 * static_cast<double>(rows) * entries * static_cast<double>(chains * outputs);
  }
};

struct Reading {
  double bytes = 0, seconds = 0;
};

struct Figure {
  StepTime step;
  std::uint64_t chains = 0;
  double gradients = 0, flops = 0, bytes = 0;  // per second
  bool read_binds = false;
  double of_roof = 0, noise = 0;
};

// Seconds of d normals of that noise for each chain on this machine's threads.
double noise_seconds(std::uint64_t chains, std::uint64_t features, NoiseKind kind) {
  const StreamKey key(kind, {1});
  std::vector<double> normals(features);
  const Stopwatch clock;
  std::uint64_t step = 0;
  while (clock.seconds() < 0.02) fill_normals(key, 0, step++, normals);
  const auto parts = std::min(static_cast<std::uint64_t>(thread_count()), chains);
  return clock.seconds() / static_cast<double>(step) * static_cast<double>(chains) /
         static_cast<double>(parts);
}

double entries_per_row(const Dataset& data) {
  const Rows x = data.view();
  return static_cast<double>(x.nonzeros()) / static_cast<double>(x.rows);
}

std::string bar(double share) {
  constexpr std::size_t width = 20;
  const auto filled = static_cast<std::size_t>(std::lround(width * std::clamp(share, 0.0, 1.0)));
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += i < filled ? "█" : "░";
  return out;
}

struct BenchCommand {
  ShapeArguments shape;
  PlanArguments plan;
  std::string backend = "auto";
  Throughput throughput;
  bool json = false;
  RanksBench ranks;

  void run() {
    if ((shape.rows || shape.features) && !shape.row_norm) shape.row_norm = 1;
    const bool budgeted = plan.epsilon || plan.delta;
    require_consistent(budgeted);
    ranks.require_wanted();
    const BackendOptions options = throughput.backend_options();
    if (!throughput.as_of_a_fit() && (budgeted || ranks.wanted)) {
      throw BadInput(
          fmt::format("{}: is for throughput, and no fit takes it; leave {} out",
                      throughput.noise == Throughput().noise ? "--arithmetic" : "--noise",
                      ranks.wanted ? "--ranks" : "--epsilon and --delta"));
    }
    if (ranks.wanted) return ranks.run(shape, plan, backend, json);
    const Budget budget = budgeted ? plan.budget() : Budget{.draws = plan.draws.value_or(1)};
    static_cast<void>(plan.plan_options());
    const bool of_table = shape.of_table(plan);
    const auto engines = make_noted_backend(backend, false, options);
    catch_interrupts();

    Dataset data;
    TableShape rows;
    Problem constants;
    std::optional<Plan> made;
    const auto plan_for = [&](const FeatureSpace& space, std::uint64_t rows_there) {
      if (budgeted) made = gibbsite::plan(plan, space, rows_there, budget);
      constants = budgeted ? made->problem : gibbsite::constants(plan, space, rows_there);
    };
    std::optional<Reading> reading;
    if (of_table) {
      const Schema domain = read_schema(shape.schema);
      reading.emplace();
      data = read(domain, *reading);
      plan_for(domain, data.rows());
      rows = shape_of(domain, constants.rows);
    } else {
      plan_for(shape.space(plan.model), shape.rows.value_or(0));
      rows = dense_shape(shape.space(plan.model), constants.rows);
    }
    constants.validate();
    const Loss& loss = loss_named(constants.loss);
    settle(*engines, loss, constants.offset_bound > 0 || constants.weighted);
    const bool on_host = engines->name() != "cuda";

    Work work{constants.rows, constants.row_features(), static_cast<double>(rows.entries()),
              rows.bytes_per_row(), constants.outputs};
    bool made_up = true;
    if (of_table) {
      const double there = entries_per_row(data);
      made_up =
          there >= like_its_schema * work.entries && data.view().is_sparse() == rows.is_sparse();
      if (!made_up) work = {data.rows(), work.features, there, data.bytes_per_row(), work.outputs};
    }
    const Roofs roofs = measure_roofs(work);
    say(fmt::format(
        "machine   {}\nbackend   {}: {}{}\n", describe(roofs), engines->name(),
        engines->description(),
        throughput.as_of_a_fit()
            ? ""
            : fmt::format("\nsteps     in {} with noise by {}: throughput alone, no fit "
                          "takes them and no certificate covers them",
                          throughput.arithmetic, throughput.noise)));
    say(describe(work, made_up));
    if (json && !made_up) {
      fmt::print(stderr, "gibbsite: {}\n", private_table);
    } else if (json && reading && plan.rows_cap) {
      fmt::print(
          stderr, "gibbsite: private, for the curator only, do not publish: {}\n",
          "under add-remove the size of the table and the time to read it tell the number of rows");
    }

    constexpr double unknown = std::numeric_limits<double>::infinity();
    const auto timer_of = [&](double seconds, double planned_steps) {
      const TimingOptions timing{.seconds = seconds,
                                 .planned_steps = planned_steps,
                                 .noise = throughput.noise_kind(),
                                 .poll = stop_if_asked};
      return made_up ? StepTimer(*engines, rows, loss, timing)
                     : StepTimer(*engines, data.view(), data.y, loss, timing);
    };
    StepTimer timer = timer_of(TimingOptions().seconds, unknown);
    const StepTime of_fit = timer.time(budget.draws);
    const std::vector<Figure> figures = measure(timer, work, roofs, of_fit, budget.draws, on_host);

    if (!throughput.as_of_a_fit()) {
      if (json) {
        fmt::print(
            "{}\n",
            to_json(*engines, {roofs, work, figures, reading, made_up, on_host}, nullptr).dump(2));
      }
      return;
    }
    // Gradient passes of a draw: the steps of a path.
    const double steps = made ? made->candidate().cost.work / static_cast<double>(budget.draws)
                              : static_cast<double>(plan.iterations.value_or(steps_without_budget));
    // What `fit` does between reading and sampling.
    const Stopwatch planning;
    StepTimer of_plan = timer_of(fit_measured_seconds, steps);
    WorkTime time = measure_work(
        of_plan, made ? std::span(&made->candidate(), 1) : std::span<const Candidate>(),
        budget.draws);
    nlohmann::json fit{{"draws", budget.draws}, {"planned", budgeted}};
    const double planning_seconds = planning.seconds();
    time.pass = of_fit.seconds / static_cast<double>(budget.draws);
    const double sampling_seconds =
        made ? predicted_seconds(made->candidate(), time) : steps * of_fit.seconds;
    const double total = (reading ? reading->seconds : 0) + planning_seconds + sampling_seconds;
    fit["steps"] = steps;
    fit["planning_seconds"] = planning_seconds;
    fit["sampling_seconds"] = sampling_seconds;
    fit["seconds"] = total;

    if (reading) {
      say(fmt::format("\nreading   {}: {:.4g} MB in {}, {:.3g} MB/s{}\n", shape.table.data,
                      reading->bytes / 1e6, human_time(reading->seconds),
                      reading->bytes / reading->seconds / 1e6,
                      plan.rows_cap ? " (private: the size tells the number of rows)" : ""));
    }
    say(fmt::format(
        "{}fit       {} steps of {} {}{}: {} ({}planning {}, sampling {})\n", reading ? "" : "\n",
        human_count(steps), budget.draws, budget.draws == 1 ? "draw" : "draws",
        made ? fmt::format(" for (ε, δ) = ({:.4g}, {:.4g})", budget.epsilon, budget.delta)
        : plan.iterations ? ""
                          : ", the number follows from --epsilon and --delta",
        about(total), reading ? fmt::format("reading {}, ", human_time(reading->seconds)) : "",
        human_time(planning_seconds), human_time(sampling_seconds)));
    if (json) {
      fmt::print("{}\n",
                 to_json(*engines, {roofs, work, figures, reading, made_up, on_host}, fit).dump(2));
    }
    if (made) static_cast<void>(require_feasible(*made));
  }

  void require_consistent(bool budgeted) const {
    if (budgeted) {
      if (!plan.epsilon) throw BadInput("--delta: needs --epsilon with it; give both or neither");
      if (!plan.delta) throw BadInput("--epsilon: needs --delta with it; give both or neither");
      return;
    }
    const auto refuse = [](bool given, const char* name) {
      if (given) throw BadInput(fmt::format("{}: needs --epsilon and --delta; give them", name));
    };
    refuse(plan.prior_precision.has_value(), "--prior-precision");
    refuse(plan.tv.has_value(), "--tv");
    refuse(plan.step_size.has_value(), "--step-size");
    refuse(plan.rows_cap.has_value(), "--rows-cap");
    refuse(plan.rows_per_person.has_value(), "--rows-per-person");
    refuse(plan.mechanism != "auto", "--mechanism");
    refuse(plan.ball.has_value(), "--ball");
    refuse(plan.padded, "--padded");
    refuse(plan.calibration != "gdp", "--calibration");
    refuse(plan.adjacency != "replace-one", "--adjacency");
  }

  void say(const std::string& text) const {
    if (json) return;
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  Dataset read(const Schema& domain, Reading& reading) const {
    Progress progress("reading", false, 5);
    ReadOptions options;
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
      progress.update(done, total);
      return !stop_flag().load();
    };
    const Stopwatch clock;
    Dataset data = shape.table.read(domain, options);
    reading.seconds = clock.seconds();
    tell_reading(data);
    std::error_code of_a_pipe;
    const auto bytes = std::filesystem::file_size(shape.table.data, of_a_pipe);
    reading.bytes = of_a_pipe ? 0 : static_cast<double>(bytes);
    return data;
  }

  static Roofs measure_roofs(const Work& work) {
    Roofs out;
    if (getloadavg(&out.load, 1) != 1) out.load = 0;
    stop_if_asked();
    out.double_fma = double_fma_rate();
    out.float_fma = float_fma_rate();
    stop_if_asked();
    const std::vector<float> floats(large, 1.0F);
    out.memory = out.table = read_bandwidth(floats);
    const double cells = std::max(1.0, work.bytes() / sizeof(float));
    if (cells < static_cast<double>(large)) {
      out.table = read_bandwidth(std::span(floats).first(static_cast<std::size_t>(cells)));
    }
    return out;
  }

  std::vector<Figure> measure(StepTimer& timer, const Work& work, const Roofs& roofs,
                              const StepTime& of_fit, std::uint64_t draws, bool on_host) const {
    const Stopwatch clock;
    double last = 0;  // seconds that the last number of chains took
    say(fmt::format("\n  {:>6} {:>12} {:>14} {:>9} {:>10} {:>7}  {}\n", "chains", "ms per step",
                    "gradients/s", "Gflop/s", "GB/s of X", "noise",
                    on_host ? "of the roof that binds" : ""));
    std::vector<Figure> figures;
    for (const std::uint64_t chains : chain_counts) {
      if (clock.seconds() + 4 * last > longest) {
        say(fmt::format("  {:>6} left out: it would take too long\n", chains));
        continue;
      }
      const Stopwatch this_one;
      Figure f;
      f.step = chains == draws ? of_fit : timer.time(chains);
      f.chains = chains;
      const double seconds = f.step.seconds;
      f.gradients = static_cast<double>(chains) / seconds;
      f.flops = work.flops(chains) / seconds;
      f.bytes = work.bytes() / seconds;
      const bool single = throughput.arithmetic != Throughput().arithmetic;
      const double read = work.bytes() / roofs.table,
                   fma = work.flops(chains) / (single ? roofs.float_fma : roofs.double_fma);
      f.read_binds = read > fma;
      f.of_roof = std::max(read, fma) / seconds;
      f.noise = std::min(
          1.0,
          noise_seconds(chains, work.features * work.outputs, throughput.noise_kind()) / seconds);
      say(fmt::format(
          "  {:>6} {:>12.4g} {:>14} {:>9.3g} {:>10.3g}", chains, 1e3 * seconds,
          f.gradients < 100 ? fmt::format("{:.3g}", f.gradients) : human_count(f.gradients),
          f.flops / 1e9, f.bytes / 1e9));
      say(on_host ? fmt::format(" {:>6.1f}%  {} {:.0f}% of {}\n", 100 * f.noise, bar(f.of_roof),
                                100 * f.of_roof, f.read_binds ? "reading" : "multiply-add")
                  : fmt::format(" {:>7}\n", "-"));
      figures.push_back(f);
      last = this_one.seconds();
    }
    return figures;
  }

  static std::string describe(const Roofs& roofs) {
    const int threads = thread_count();
    return fmt::format(
        "{}, {} thread{}; multiply-adds {:.3g} Gflop/s in double, {:.3g} in float; "
        "reads memory at {:.3g} GB/s, as many bytes as X at {:.3g}{}",
        instruction_set(), threads, threads == 1 ? "" : "s", roofs.double_fma / 1e9,
        roofs.float_fma / 1e9, roofs.memory / 1e9, roofs.table / 1e9,
        roofs.load > 0.5 * threads
            ? fmt::format(
                  "\n          the load is {:.2g}: other programs run, so every figure here "
                  "is too low; a quiet machine gives better ones",
                  roofs.load)
            : "");
  }

  static std::string describe(const Work& work, bool made_up) {
    return fmt::format(
        "rows      {} of {} features{}, {:.3g} not zero: {:.4g} bytes a row in memory, {:.4g} "
        "MB\n          {}\n",
        human_count(static_cast<double>(work.rows)), work.features,
        work.outputs == 1 ? "" : fmt::format(", {} classes", work.outputs), work.entries,
        work.bytes_per_row, work.bytes_per_row * static_cast<double>(work.rows) / 1e6,
        made_up ? "made up, of the public shape: the steps below are not timed on private rows"
                : private_table);
  }

  struct Measured {
    const Roofs& roofs;
    const Work& work;
    const std::vector<Figure>& figures;
    const std::optional<Reading>& reading;
    bool made_up, on_host;
  };
  [[nodiscard]] nlohmann::json to_json(const Backend& engines, const Measured& measured,
                                       nlohmann::json fit) const {
    const auto& [roofs, work, figures, reading, made_up, on_host] = measured;
    nlohmann::json out;
    out["machine"] = {{"instruction_set", instruction_set()},
                      {"threads", thread_count()},
                      {"load", roofs.load},
                      {"double_fma_flops_per_second", roofs.double_fma},
                      {"float_fma_flops_per_second", roofs.float_fma},
                      {"read_bytes_per_second", roofs.memory},
                      {"read_table_bytes_per_second", roofs.table}};
    out["backend"] = {{"name", engines.name()},
                      {"description", engines.description()},
                      {"arithmetic", throughput.arithmetic},
                      {"noise", throughput.noise}};
    out["table"] = {{"rows", work.rows},
                    {"features", work.features},
                    {"entries_per_row", work.entries},
                    {"bytes_per_row", work.bytes_per_row},
                    {"pass_bytes_per_row", work.pass_bytes_per_row()},
                    {"made_up", made_up}};
    out["steps"] = nlohmann::json::array();
    for (const Figure& f : figures) {
      nlohmann::json line{{"chains", f.chains},
                          {"seconds", f.step.seconds},
                          {"chain_gradients_per_second", f.gradients},
                          {"flops_per_second", f.flops},
                          {"bytes_per_second", f.bytes},
                          {"roof", nullptr},
                          {"of_roof", nullptr},
                          {"noise_share", nullptr},
                          {"rows_measured", f.step.rows},
                          {"chains_measured", f.step.chains},
                          {"windows", f.step.windows}};
      if (on_host) {
        line["roof"] = f.read_binds ? "read" : "fma";
        line["of_roof"] = f.of_roof;
        line["noise_share"] = f.noise;
      }
      out["steps"].push_back(std::move(line));
    }
    out["reading"] = nullptr;
    if (!fit.is_null()) fit["reading_seconds"] = nullptr;
    if (reading) {
      out["reading"] = {{"bytes", reading->bytes},
                        {"seconds", reading->seconds},
                        {"bytes_per_second", reading->bytes / reading->seconds}};
      if (!fit.is_null()) fit["reading_seconds"] = reading->seconds;
    }
    out["fit"] = std::move(fit);
    return out;
  }
};

void define_bench(CLI::App& app) {
  const auto command = std::make_shared<BenchCommand>();
  command->shape.add_to(app);
  command->plan.add_to(app, false);
  app.add_option("--backend", command->backend, "auto, reference, cpu or cuda")->type_name("NAME");
  app.add_option("--arithmetic", command->throughput.arithmetic,
                 "float64, or for throughput alone float32 or bfloat16 (cuda)")
      ->type_name("NAME");
  app.add_option("--noise", command->throughput.noise,
                 "chacha20, or for throughput alone philox or curand (cuda)")
      ->type_name("NAME");
  app.add_flag("--json", command->json, "print JSON");
  command->ranks.add_to(app);
  app.callback([command] { command->run(); });
}

const Register bench_command{
    {8, "bench", "Time steps on this machine and predict how long fit will take",
     "gibbsite bench --data table.csv --schema table.toml --epsilon 1 --delta "
     "1e-6\n  gibbsite bench --rows 1e6 --features 20\n  mpirun -n 2 gibbsite bench --ranks --rows "
     "1e9 --features 100",
     define_bench}};

}  // namespace
}  // namespace gibbsite::cli
