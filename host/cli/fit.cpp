#include "gibbsite/run/fit.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <sstream>

#include "command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/speed/speed.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

std::string count_line(const CellCounts& c) {
  std::string out;
  const auto add = [&out](std::uint64_t count, const char* what) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  };
  add(c.clamped, "clamped to the range");
  add(c.missing, "missing");
  add(c.other, "of another level");
  add(c.invalid, "unreadable");
  return out;
}

// Every line is private; column by column where `verbose`.
std::string ingest_report(const Dataset& data, bool verbose) {
  constexpr std::size_t most = 10;
  const IngestCounts& counts = data.counts;
  std::string out = fmt::format(
      "private, for the curator only, do not publish: {} cells clamped to their range, {} missing, "
      "{} of another level, {} unreadable; {} labels unreadable, {} of neither class; {} rows "
      "scaled "
      "down; {:.0f} bytes a row {} ({})\n",
      counts.clamped_cells, counts.missing_cells, counts.other_cells, counts.invalid_cells,
      counts.invalid_labels, counts.unlisted_labels, counts.clipped_rows, data.bytes_per_row(),
      data.mapped != nullptr ? "on disk" : "in memory",
      data.view().is_sparse() ? "entries that are not zero" : "dense");
  if (!verbose) return out;
  std::vector<std::size_t> changed;
  for (std::size_t j = 0; j < counts.columns.size(); ++j)
    if (counts.columns[j].sum() > 0) changed.push_back(j);
  std::ranges::stable_sort(changed, std::greater{},
                           [&](std::size_t j) { return counts.columns[j].sum(); });
  for (std::size_t i = 0; i < std::min(most, changed.size()); ++i) {
    out += fmt::format("private:   {}: {}\n", shown(data.schema.columns[changed[i]].name),
                       count_line(counts.columns[changed[i]]));
  }
  if (changed.size() > most)
    out += fmt::format("private:   and {} columns with fewer\n", changed.size() - most);
  return out;
}

// A slip in the schema's classes goes unpunished: the table is fitted all the same.
void warn_of_one_class(const Dataset& data) {
  if (std::ranges::adjacent_find(data.y, std::ranges::not_equal_to{}) != data.y.end()) return;
  const bool positive = data.y.front() > 0;
  fmt::print(stderr,
             "gibbsite: warning: private: {} label is of the positive class '{}'; is `positive` "
             "what the schema should say?\n",
             positive ? "every" : "no", shown(data.schema.positive));
}

// At the time, because the time is what tells.
void warn_of_run_time(const Mechanism& mechanism) {
  const std::string_view reason = run_time_tells(mechanism);
  if (reason.empty()) return;
  fmt::print(stderr,
             "gibbsite: warning: --mechanism {}: how long this run takes depends on the private "
             "rows ({}), and the certificate does not cover it: keep its time to yourself, or run "
             "--mechanism path or --mechanism proximal --padded, whose passes are public\n",
             name_of(mechanism), reason);
}

// A coefficient as a bar to the left or to the right of a line.
std::string bar(double value, double largest) {
  constexpr double half = 20;
  const auto length =
      static_cast<std::size_t>(largest > 0 ? std::lround(half * std::fabs(value) / largest) : 0);
  std::string blocks;
  for (std::size_t i = 0; i < length; ++i) blocks += "█";
  return value < 0 ? std::string(static_cast<std::size_t>(half) - length, ' ') + blocks + "│"
                   : std::string(static_cast<std::size_t>(half), ' ') + "│" + blocks;
}

// Gray on a terminal that takes colors.
std::string gray(const std::string& line) {
  const bool plain =
      isatty(STDOUT_FILENO) != 1 || std::getenv("NO_COLOR") != nullptr;  // NOLINT: one thread
  return plain ? line : "\x1b[90m" + line + "\x1b[0m";
}

// Of each feature the column whose number it is, over whose range its odds are; else null.
std::vector<const Column*> number_columns(const Schema& schema) {
  std::vector<const Column*> out;
  for (const Column& column : schema.columns) {
    out.insert(out.end(), schema.features_of(column),
               column.type == ColumnType::number ? &column : nullptr);
  }
  out.resize(schema.features(), nullptr);
  return out;
}

// By size; every one of at most 10. What is inside the noise is marked.
std::string coefficient_report(const LinearModel& model, const Certificate& certificate) {
  constexpr std::size_t most = 10;
  const std::vector<std::string> names = model.schema.feature_names();
  const std::vector<const Column*> numbers = number_columns(model.schema);
  const bool log_odds = loss_named(model.loss).link_words().empty();
  const std::vector<double>& theta = model.draws.front();
  const auto deviation = coefficient_noise_up(certificate.mechanism, certificate.problem);
  const double noise = two_sided_95 * deviation.value_or(0);
  const auto is_inside = [&](double value) { return deviation && std::fabs(value) <= noise; };
  std::vector<std::size_t> order(theta.size());
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
  const bool all = order.size() <= most;
  if (!all) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::fabs(theta[a]) > std::fabs(theta[b]);
    });
    order.resize(most);
  }
  double largest = 0;
  for (const std::size_t j : order) largest = std::max(largest, std::fabs(theta[j]));
  std::vector<std::vector<std::string>> cells;
  std::size_t inside = 0;
  for (const double value : theta) inside += is_inside(value) ? 1U : 0U;
  for (const std::size_t j : order) {
    const Column* const number = numbers[j];
    cells.push_back({number == nullptr
                         ? names[j]
                         : fmt::format("{}, {} to {}", names[j], number->lo, number->hi),
                     fmt::format("{:+.4f}", theta[j])});
    if (log_odds) cells.back().push_back(fmt::format("×{:.3g}", std::exp(theta[j])));
    if (deviation) {
      cells.back().push_back(fmt::format("± {:.4f}", noise));
      cells.back().emplace_back(is_inside(theta[j]) ? "within" : "");
    }
    cells.back().push_back(bar(theta[j], largest));
  }
  std::string out =
      fmt::format("Coefficients{}{}{}: above 0 speaks for {} = {}\n",
                  log_odds ? " and what they multiply the odds by" : "",
                  model.draws.size() == 1 ? "" : ", of the first draw",
                  all ? "" : fmt::format(" (the {} largest of {})", most, theta.size()),
                  shown(model.schema.label), shown(model.schema.positive));
  std::istringstream lines(table(cells));
  std::string line;
  for (std::size_t i = 0; std::getline(lines, line); ++i) {
    out += (is_inside(theta[order[i]]) ? gray(line) : line) + '\n';
  }
  if (!deviation) {
    return out + "No bound on how far noise moved them holds for every table: none is given.\n";
  }
  out += fmt::format(
      "±: how far privacy's noise moves a coefficient from the median of its law, with a "
      "probability of at least {:.3g} %{}.\n{} of {} are within it: by this bound they may be "
      "noise.\n",
      95 - 100 * setting(certificate.mechanism, "tv_gap").value_or(0),
      model.draws.size() == 1 ? "" : " each", inside, theta.size());
  return out;
}

ReadOptions::Cache cache_from_string(const std::string& name) {
  using Cache = ReadOptions::Cache;
  static const std::map<std::string, Cache> known{
      {"auto", Cache::automatic}, {"always", Cache::always}, {"never", Cache::never}};
  const auto found = known.find(name);
  if (found == known.end()) {
    throw BadInput(fmt::format("--cache: '{}' is none of auto, always, never; give one", name));
  }
  return found->second;
}

/// Takes the table's cache away, however a run ends.
class CacheRemoval {
 public:
  explicit CacheRemoval(const std::string& table) : table_(table) {}
  CacheRemoval(const CacheRemoval&) = delete;
  CacheRemoval& operator=(const CacheRemoval&) = delete;
  ~CacheRemoval() {
    try {
      remove_cache(table_);
    } catch (const std::exception& error) {
      fmt::print(stderr, "gibbsite: warning: {}\n", error.what());
    }
  }

 private:
  const std::string& table_;
};

struct FitCommand {
  TableArguments table;
  PlanArguments plan;
  std::string schema, out, backend = "auto", design = "auto", checkpoint, cache = "auto";
  std::optional<std::uint64_t> seed;
  bool quiet = false, progress = false, verbose = false, removes_cache = false, force = false;
  bool release_moments = false;

  void say(const std::string& text) const {
    if (quiet) return;
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  void run() const {
    if (!removes_cache) return fit();
    if (schema.empty() && out.empty() && !plan.epsilon && !plan.delta) {
      say(remove_cache(table.data) ? fmt::format("Removed: the cache of {}\n", table.data)
                                   : fmt::format("{} has no cache\n", table.data));
      return;
    }
    const CacheRemoval removal(table.data);
    // --remove-cache alone does without them.
    if (schema.empty()) throw CLI::RequiredError("--schema");
    if (out.empty()) throw CLI::RequiredError("--out");
    if (!plan.epsilon) throw CLI::RequiredError("--epsilon");
    if (!plan.delta) throw CLI::RequiredError("--delta");
    fit();
  }

  void fit() const {
    // What can go wrong without the data goes wrong first.
    const Budget budget = plan.budget();
    const Wishes wishes = plan.wishes();
    cache_from_string(cache);
    const auto engine_maker = make_backend(backend, {.design = design});
    require_other_file(out, table.data, "--data");
    require_other_file(out, schema, "--schema");
    require_other_file(out, checkpoint, "--checkpoint");
    require_new(out, force);
    require_writable(out, "--out");
    if (!checkpoint.empty()) require_writable(checkpoint, "--checkpoint");
    const Schema domain = read_schema(schema);
    if (seed) {
      fmt::print(
          stderr,
          "gibbsite: warning: --seed {}: the noise is reproducible, so this model carries no "
          "guarantee; its certificate is void\n",
          *seed);
    }
    catch_interrupts();

    const Dataset data = read(domain);
    say(describe(plan.constants(domain, data.rows()), budget) + "\n" +
        ingest_report(data, verbose));

    // The clock is for the screen: what is planned follows from public numbers alone.
    const Plan made = plan.make(domain, data.rows(), budget, wishes);
    const Offer& offer = require_feasible(made);
    warn_of_large_delta(budget, made.problem);
    warn_of_few_rows(made);
    warn_of_one_class(data);
    warn_of_run_time(offer.mechanism);
    double seconds = std::numeric_limits<double>::quiet_NaN();
    if (!quiet) {
      const double steps = offer.cost.work / static_cast<double>(budget.draws);
      seconds = steps * seconds_of_step(data, made, *engine_maker, steps);
    }
    say(plan_line(made, seconds) + "\n" +
        fmt::format("backend {}: {}\n", engine_maker->name(), engine_maker->description()));

    const Stopwatch sampling;
    std::string how;
    const Release model = fit_plan(data, made, *engine_maker, how);
    if (verbose) {
      if (!how.empty()) say(fmt::format("design {}\n", how));
      say(fmt::format("sampling took {:.4g} s, {:.4g} s were predicted\n", sampling.seconds(),
                      seconds));
    }
    write_new(out, force, [&](Existing existing) { write_release(out, model, existing); });
    // Not before: what could not be written can be tried again.
    if (!checkpoint.empty()) discard_checkpoint(checkpoint);
    say(report(model));
  }

  // Of all draws, timed on the table itself.
  [[nodiscard]] static double seconds_of_step(const Dataset& data, const Plan& made,
                                              Backend& engine_maker, double steps) {
    const TimingOptions timing{
        .seconds = fit_measured_seconds, .planned_steps = steps, .poll = stop_if_asked};
    return StepTimer(engine_maker, data.view(), data.y, loss_named(made.problem.loss), timing)
        .time(made.budget.draws)
        .seconds;
  }

  [[nodiscard]] Dataset read(const Schema& domain) const {
    Progress bar("reading", quiet, interval());
    ReadOptions options;
    options.progress = [&bar](std::uint64_t done, std::uint64_t total) {
      bar.update(done, total);
      return !stop_flag().load();
    };
    options.cache = cache_from_string(cache);
    // That private rows are put on disk is said in any case.
    options.note = [this](const std::string& line) {
      if (quiet && line.starts_with("private")) fmt::print(stderr, "{}\n", line);
      say(line + "\n");
    };
    return table.read(domain, options);
  }

  [[nodiscard]] Release fit_plan(const Dataset& data, const Plan& made, Backend& engine_maker,
                                 std::string& how) const {
    Progress bar("sampling", quiet, interval());
    FitOptions options;
    options.checkpoint = checkpoint;
    options.release_answers = release_moments;
    options.stop = &stop_flag();
    options.progress = [&bar](std::uint64_t done, std::uint64_t total) { bar.update(done, total); };
    options.design = [&how](const std::string& line) { how = line; };
    return gibbsite::fit(plan.model_of(made), data, made, engine_maker,
                         seed ? Key::from_seed(*seed) : Key::from_os(), options);
  }

  [[nodiscard]] double interval() const { return progress ? 1 : 5; }

  [[nodiscard]] std::string report(const Release& model) const {
    return fmt::format(
        "\n{}\n{}Written: {}; next:\n"
        "  gibbsite predict --model {} --data NEW.csv --probabilities\n"
        "  gibbsite verify {}\n",
        in_words(model.certificate()), coefficient_report(model.model(), model.certificate()), out,
        out, out);
  }
};

void define_fit(CLI::App& app) {
  const auto command = std::make_shared<FitCommand>();
  command->table.add_to(app, true);
  app.add_option("--schema", command->schema, "public schema of the table (TOML)")
      ->type_name("FILE")
      ->required();
  app.add_option("--out", command->out, "the model file; written whole or not at all")
      ->type_name("FILE")
      ->required();
  add_force(app, command->force);
  command->plan.add_to(app);
  app.add_option("--backend", command->backend, "auto, reference, cpu or cuda")->type_name("NAME");
  app.add_option("--design", command->design,
                 "how a GPU goes about it: auto, one-pass, blocked, ... (docs/cuda.md)")
      ->type_name("NAME");
  app.add_flag("--release-moments", command->release_moments,
               "whitened: the model file holds the noisy second moments, gradients and curvatures "
               "that it follows from; they are paid for");
  app.add_flag("--verbose", command->verbose,
               "say how the backend went about it, and for each column what was changed");
  app.add_option("--checkpoint", command->checkpoint,
                 "file to continue from and to save to (mode 0600: it holds the noise key)")
      ->type_name("FILE");
  app.add_option("--cache", command->cache,
                 "rows in files beside the table instead of in memory: auto (where memory cannot "
                 "hold them), always or never")
      ->type_name("NAME");
  app.add_flag(
      "--remove-cache",
      [command, &app](std::int64_t) {
        command->removes_cache = true;
        for (const char* name : {"--schema", "--out", "--epsilon", "--delta"}) {
          app.get_option(name)->required(false);
        }
      },
      "remove those files when the run ends, however it ends; alone with --data: now");
  add_count(app, "--seed", command->seed,
            "reproducible noise, no guarantee: the certificate is void", 0);
  auto* quiet = app.add_flag("--quiet", command->quiet, "print nothing but warnings and errors");
  app.add_flag("--progress", command->progress,
               "off a terminal, a line of progress every second instead of every five")
      ->excludes(quiet);
  app.add_option_function<std::string>(
         "--ledger",
         [](const std::string&) {
           throw BadInput("--ledger: not in this version; keep account of the budget yourself");
         },
         "")
      ->group("");
  app.callback([command] { command->run(); });
}

const Register fit_command{{2, "fit", "Fit a model on a private table and certify it",
                            "gibbsite fit --data table.csv --schema table.toml --epsilon 1 --delta "
                            "1e-6 --out model.json",
                            define_fit}};

}  // namespace
}  // namespace gibbsite::cli
