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

#include "backend.hpp"
#include "coefficients.hpp"
#include "command.hpp"
#include "family.hpp"
#include "fit_command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/cache_folder.hpp"
#include "gibbsite/data/curves.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/data/shares.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/run/look.hpp"
#include "gibbsite/run/public_center.hpp"
#include "gibbsite/speed/speed.hpp"
#include "interrupt.hpp"
#include "ledger.hpp"
#include "network.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "ranks.hpp"
#include "reading.hpp"
#include "standard_output.hpp"
#include "stopwatch.hpp"
#include "text.hpp"
#include "transitions.hpp"
#include "unspent.hpp"

namespace gibbsite::cli {
namespace {

/// Takes the table's cache away, however a run ends.
class CacheRemoval {
 public:
  explicit CacheRemoval(const std::string& table) : table_(table) {}
  CacheRemoval(const CacheRemoval&) = delete;
  CacheRemoval& operator=(const CacheRemoval&) = delete;
  ~CacheRemoval() {
    try {
      if (ranks().size() == 1) {
        remove_cache(table_);
      } else {
        remove_cache_of_share(table_, ranks().rank(), ranks().size());
      }
    } catch (const Error& error) {
      fmt::print(stderr, "gibbsite: warning: {}\n", in_options(error.message()));
    } catch (const std::exception& error) {
      fmt::print(stderr, "gibbsite: warning: {}\n", error.what());
    }
  }

 private:
  const std::string& table_;
};

}  // namespace

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

void FitCommand::say(const std::string& text) const {
  if (quiet) return;
  fmt::print("{}", StandardOutput::named(text, "MODEL.json"));
  std::fflush(stdout);
}

void FitCommand::say_checked(const std::string& plan_text, const Checked& of) const {
  if (is_first_rank()) fmt::print("{}{}", wrapped_lines(plan_text), checked_words(of.warnings));
  std::fflush(stdout);
  tell_private(of);
}

FitCommand::Checked FitCommand::checked(const Dataset& data, std::uint64_t rows) const {
  const IngestCounts counts = counts_of(data, Readers::all_ranks);
  std::string report = ingest_report(data, counts, verbose, Readers::all_ranks);
  if (check) {
    report += label_counts(data, Readers::all_ranks);
    report += effective_rows(data, Readers::all_ranks);
  }
  return {warn_of_reading(data, counts, rows, Readers::all_ranks) + warn_of_alike_columns(data),
          any_changed(counts), std::move(report)};
}

void FitCommand::tell_private(const Checked& of) const {
  const bool asked_for = check || (!quiet && (verbose || of.changed));
  if (asked_for && is_first_rank()) fmt::print(stderr, "{}", of.report);
}

void FitCommand::run() const {
  if (plan.model == transitions_model) return fit_transitions();
  require_of_ranks();
  const bool labelled = kind_of(plan) == of_linear;
  if (schema.empty() && label.label.empty() && !public_table.empty() && labelled)
    throw BadInput("--label: is missing; name the column to predict beside --public");
  const std::pair<const char*, bool> needed[]{
      {"--schema",
       !schema.empty() || !label.label.empty() || (!labelled && kind_of(plan) != of_covariance)},
      {"--out", check || !out.empty()},
      {"--epsilon", plan.epsilon || plan.rho},
      {"--delta", plan.delta.has_value()}};
  if (!removes_cache) require_given(needed);
  if (!removes_cache) return fit();
  if (schema.empty() && out.empty() && !plan.epsilon && !plan.rho && !plan.delta) {
    say(remove_all() ? fmt::format("Removed: the cache of {}\n", table.data)
                     : fmt::format("{} has no cache\n", table.data));
    return;
  }
  const CacheRemoval removal(table.data);
  // --remove-cache alone does without them.
  require_given(needed);
  fit();
}

bool FitCommand::remove_all() const {
  bool removed = false;
  for (std::size_t turn = 0; turn < ranks().size(); ++turn)
    ranks().together([&] {
      if (ranks().rank() == turn) removed = remove_cache(table.data);
    });
  const std::vector<std::uint64_t> all = ranks().gather(std::uint64_t{removed});
  return std::ranges::find(all, 1U) != all.end();
}

void FitCommand::remove_early() const {
  if (!removes_cache || ranks().size() == 1) return;
  try {
    remove_cache_of_share(table.data, ranks().rank(), ranks().size());
  } catch (const BadInput&) {
  }
}

void FitCommand::fit() const {
  if (!release_counts.empty() && plan.model != network_model)
    throw BadInput("--release-counts: is of --model network; leave it out");
  if (kind_of(plan) != of_linear) family.require_of_model(plan);
  if (schema.empty() && plan.model == covariance_model)
    throw BadInput("--schema: is missing; --model covariance needs public ranges");
  if (schema.empty() && public_table.empty()) return fit_bought();
  if (!schema.empty() && (!label.label.empty() || label.said() != nullptr || schema_share ||
                          (!public_table.empty() && kind_of(plan) != of_family) ||
                          !label.date_parts.empty() || label.counting.said() != nullptr)) {
    if (label.counting.said() != nullptr)
      throw BadInput(fmt::format(
          "{}: is for a schema that is bought, and --schema is given; say it there, by the type of "
          "the column",
          label.counting.said()));
    if (!public_table.empty() && kind_of(plan) != of_family) {
      throw BadInput(fmt::format(
          "--public: says ranges and levels where no --schema does, or beside one the prior of a "
          "family, and --model is {}; leave one of them out",
          plan.model));
    }
    throw BadInput(fmt::format(
        "{}: is for a schema that is bought or follows from --public, and --schema is given; leave "
        "one of them out",
        !label.label.empty()      ? "--label"
        : label.said() != nullptr ? label.said()
        : schema_share            ? "--schema-share"
                                  : "--date-parts"));
  }
  require_public_of_model();
  if (!public_table.empty() && kind_of(plan) != of_linear && schema.empty()) {
    throw BadInput(fmt::format(
        "--public: {}, and --model is {}; write its schema (gibbsite schema --public) and give it as "
        "--schema{}",
        kind_of(plan) == of_family ? "is of the prior where --schema says what the column holds"
                                   : "says the schema of a model of rows",
        plan.model, kind_of(plan) == of_family ? " too" : ", without --public"));
  }
  family.require_of_model(plan);
  if (plan.model == network_model) return fit_network_model();
  if (const auto kind = family_named(plan.model)) return fit_family_model(*kind);
  if (plan.model == covariance_model) return fit_covariance_model();
  // What can go wrong without the data goes wrong first.
  const Budget budget = plan.budget();
  static_cast<void>(plan.plan_options());
  cache_from_string(cache);
  const auto engine_maker = make_backend_of_ranks(backend, quiet, design);
  const auto ledger = opened_ledger();
  prepare();
  const Schema asked = given_schema();
  require_same_everywhere(to_toml(asked), schema + ": the schema");
  if (automatic_curves(asked) > 0 && cache == "always") {
    throw BadInput(
        "--cache always: curve = \"auto\" is chosen once the rows are counted, and needs them in "
        "memory; give a number of knots, such as curve = 8, or leave --cache out");
  }
  static_cast<void>(positive_share_of(plan, kind_of(asked.label), &asked));
  TableArguments::Share share = read(asked);
  const std::uint64_t table_rows = share.rows;
  // What is public under replace-one: of people, who they are many.
  const std::uint64_t rows = counted(share, budget.rows_per_person);
  if (!plan.intervals && !check)
    share.data.person = {};  // four bytes a row that nothing else asks for
  // Curves that the schema leaves to the plan: by public numbers alone.
  const Schema domain = chosen_curves(plan, asked, rows, budget);
  // Ranks keep their rows alike, which no row may decide.
  const Dataset data =
      with_curves(std::move(share.data), domain,
                  ranks().size() > 1 ? layout_of(domain) : ReadOptions::Layout::automatic);
  remove_early();
  const Checked read_as = checked(data, table_rows);
  const std::string head = describe(constants(plan, domain, rows), budget) + "\n" +
                           curves_words(asked, domain) + interactions_words(domain) +
                           typical_words(domain);

  // The clock is for the screen: what is planned follows from public numbers alone.
  PlannedFit planned = planned_fit(plan, asked, domain, rows, budget);
  const Plan& made = planned.plan;
  look_at(planned, ledger ? &*ledger : nullptr, warn);
  const Candidate& candidate = made.candidate();
  say(unspent_words({&made, 1}));
  if (plan.intervals) say(wide_lines_words(asked));
  if (check) {
    return say_checked(head + plan_line(made, std::numeric_limits<double>::quiet_NaN()) + "\n",
                       read_as);
  }
  settle(*engine_maker, loss_named(made.problem.loss), data.has_more_than_labels());
  const Model stated =
      public_table.empty()
          ? model_of(plan, made)
          : model_by_public_table(planned, public_table, *engine_maker,
                                  [&](const Message& line) { say(in_options(line) + "\n"); });
  double seconds = std::numeric_limits<double>::quiet_NaN();
  if (!quiet && ranks().size() == 1) {
    seconds = predicted_seconds(candidate, measured_work(data, made, *engine_maker));
  }
  constexpr double long_wait = 10;
  // Time tells how many rows there are, which is private where people are counted and where one
  // row's being there is protected, and how many entries rows that are mostly zero have.
  const bool tells = made.problem.of_people() || data.view().is_sparse() ||
                     budget.adjacency == Adjacency::add_remove;
  const char* const private_time = tells ? "private: " : "";
  if (verbose) {
    say(head + private_time + plan_line(made, seconds) + "\n" +
        fmt::format("backend {}: {}\n", engine_maker->name(), engine_maker->description()));
  } else if (seconds >= long_wait) {
    say(fmt::format("{}Fitting takes {}.\n", private_time, about(seconds)));
  }

  const Stopwatch fitting;
  std::string how;
  const Release model = fit_plan(stated, data, made, *engine_maker, ledger, how);
  if (verbose) {
    if (!how.empty()) say(fmt::format("{}design {}\n", private_time, how));
    say(fmt::format("{}fitting took {:.4g} s, {:.4g} s were predicted\n\n", private_time,
                    fitting.seconds(), seconds));
  }
  if (plan.intervals && !model.model().estimates) warn_of_no_intervals();
  ranks().together([&] {
    if (!is_first_rank()) return;
    write_entered(ledger, [&](Existing existing) { write_release(out, model, existing); });
    // Not before: without a ledger, what could not be written can be tried again. One that has
    // entered the key refuses it, as a second file of another digest could come of it.
    if (!checkpoint.empty()) discard_checkpoint(checkpoint);
  });
  say(report(model));
  tell_private(read_as);
}

void FitCommand::require_public_of_model() const {
  if (!public_weight) return;
  if (public_table.empty())
    throw BadInput("--public-weight: is of the rows of --public; give both, or none");
  if (kind_of(plan) != of_family) {
    throw BadInput(fmt::format(
        "--public-weight: is of a family's prior, and --model is {}; leave it out", plan.model));
  }
}

void FitCommand::require_of_ranks() const {
  if (ranks().size() == 1) return;
  if (kind_of(plan) != of_linear) {
    throw BadInput(
        fmt::format("--model {}: is fitted by one process; start it without the launcher of ranks",
                    plan.model));
  }
}

void FitCommand::prepare() const {
  if (is_first_rank() && !check) require_places();
  if (check) return catch_interrupts();
  if (seed) {
    fmt::print(stderr,
               "gibbsite: warning: --seed {}: the noise is reproducible, so this model carries no "
               "guarantee; its certificate is void\n",
               *seed);
  }
  catch_interrupts();
}

void FitCommand::require_places() const {
  require_other_file(out, table.data, "--data");
  require_other_file(out, table.labels, "--labels");
  require_other_file(out, schema, "--schema");
  require_other_file(out, public_table, "--public");
  require_other_file(out, checkpoint, "--checkpoint");
  require_other_file(release_counts, table.data, "--data", "--release-counts");
  require_other_file(release_counts, table.labels, "--labels", "--release-counts");
  require_other_file(release_counts, schema, "--schema", "--release-counts");
  require_other_file(release_counts, out, "--out", "--release-counts");
  require_other_file(checkpoint, table.data, "--data", "--checkpoint");
  require_other_file(checkpoint, table.labels, "--labels", "--checkpoint");
  require_other_file(checkpoint, schema, "--schema", "--checkpoint");
  require_other_file(checkpoint, public_table, "--public", "--checkpoint");
  require_new(out, force);
  require_writable(out, "--out");
  if (!release_counts.empty()) {
    require_new(release_counts, force, "--release-counts");
    require_writable(release_counts, "--release-counts");
  }
  if (!checkpoint.empty()) require_writable(checkpoint, "--checkpoint");
}

std::optional<Ledger> FitCommand::opened_ledger() const {
  if (ledger_path.empty() || !is_first_rank()) return std::nullopt;
  if (seed) {
    throw BadInput("--ledger: a run with --seed has no guarantee to enter; leave one of them out");
  }
  require_not_of_ledger(out, ledger_path, "--out");
  require_not_of_ledger(release_counts, ledger_path, "--release-counts");
  require_not_of_ledger(checkpoint, ledger_path, "--checkpoint");
  std::optional<Ledger> ledger(std::in_place, ledger_path);
  static_cast<void>(ledger->read());
  return ledger;
}

void FitCommand::write_entered(const std::optional<Ledger>& ledger,
                               const std::function<void(Existing)>& write) const {
  cli::write_entered(out, force, ledger, write,
                     checkpoint.empty()
                         ? ""
                         : fmt::format(", and {} cannot make it again: remove it", checkpoint));
  if (ledger) say(entered_line(*ledger));
}

void FitCommand::warn_of_no_intervals() {
  fmt::print(stderr,
             "gibbsite: warning: --intervals: none can be made from these answers (noise hides the "
             "table's moments); the model has none\n");
}

void FitCommand::require_no_engine() const {
  if (plan.intervals || release_moments || all_effects || !checkpoint.empty()) {
    throw BadInput(fmt::format("{}: has no meaning with --model {}; leave it out",
                               plan.intervals    ? "--intervals"
                               : release_moments ? "--release-moments"
                               : all_effects     ? "--all-effects"
                                                 : "--checkpoint",
                               plan.model));
  }
  if ((backend != "auto" && backend != "reference") || design != "auto") {
    throw BadInput(
        fmt::format("{}: has no meaning with --model {}, whose draws take the reference; "
                    "leave it out",
                    design != "auto" ? "--design" : "--backend", plan.model));
  }
}

WorkTime FitCommand::measured_work(const Dataset& data, const Plan& made, Backend& engine_maker) {
  const std::uint64_t draws = made.budget.draws;  // chains of a step
  const Candidate& candidate = made.candidate();
  const TimingOptions timing{.seconds = fit_measured_seconds,
                             .planned_steps = candidate.cost.work / static_cast<double>(draws),
                             .poll = stop_if_asked};
  StepTimer timer(engine_maker, data.view(), data.y, loss_named(made.problem.loss), timing);
  return measure_work(timer, {&candidate, 1}, draws);
}

TableArguments::Share FitCommand::read(const Schema& domain, bool one_column) const {
  Progress bar("reading", quiet, interval());
  ReadOptions options;
  options.progress = [&bar](std::uint64_t done, std::uint64_t total) {
    bar.update(done, total);
    return !stop_flag().load();
  };
  // A check writes nothing, unless it is told to.
  // Nor are rows put there whose curves are not chosen: that would depend on how many there are.
  const bool in_memory = cache == "auto" && (check || automatic_curves(domain) > 0);
  options.cache = in_memory ? ReadOptions::Cache::never : cache_from_string(cache);
  options.holds_people = true;
  options.ignore_extra_columns = one_column;
  if (one_column) options.labels = ReadOptions::Labels::optional;
  // That private rows are put on disk is said in any case, where no other program reads it.
  options.note = [this](const Message& note) {
    const std::string line = in_options(note);
    line.starts_with("private") ? fmt::print(stderr, "{}\n", line) : say(line + "\n");
  };
  return table.read_share(domain, options);
}

FitOptions FitCommand::watched(Progress& bar, const std::optional<Ledger>& ledger) {
  FitOptions out;
  out.ledger = ledger ? &*ledger : nullptr;
  out.stop = &stop_flag();
  out.progress = [&bar](std::uint64_t done, std::uint64_t total) { bar.update(done, total); };
  return out;
}

Release FitCommand::fit_plan(const Model& model, const Dataset& data, const Plan& made,
                             Backend& engine_maker, const std::optional<Ledger>& ledger,
                             std::string& how) const {
  Progress bar("fitting", quiet, interval());
  FitOptions options = watched(bar, ledger);
  options.checkpoint = checkpoint;
  options.release_answers = release_moments;
  options.ranks = &ranks();
  options.design = [&how](const std::string& line) { how = line; };
  return gibbsite::fit(model, data, made, engine_maker, key(), options);
}

std::string FitCommand::report(const Release& model) const {
  const bool of_classes = number_of(model.model().schema.label) == nullptr;
  return fmt::format(
      "{}\n{}\nWritten: {}; next:\n"
      "  gibbsite predict --model {} --data NEW.csv{}\n"
      "  gibbsite verify {}\n",
      coefficient_report(model.model(), model.certificate(),
                         {.all = all_effects, .references = {}, .file = out}),
      wrapped_lines(in_words(model.certificate())), StandardOutput::named(out), out,
      model.model().estimates ? " --intervals"
      : of_classes            ? " --probabilities"
                              : "",
      out);
}

void FitCommand::add_input(CLI::App& app, bool needed) {
  table.add_to(app, needed);
  app.add_option("--schema", schema, "public schema of the table (TOML)")
      ->type_name("FILE")
      ->required(needed);
  add_output(app, "--out", out,
             "the model file; written whole or not at all; - is standard output; needed but for "
             "--check");
  app.add_flag("--check", check,
               "read the table, show what would not count as it is written, and the plan; PRIVATE; "
               "nothing is fitted, spent or written");
  add_force(app, force);
}

void FitCommand::add_run(CLI::App& app) {
  app.add_option("--cache", cache,
                 "rows in files beside the table instead of in memory: auto (where memory cannot "
                 "hold them), always or never")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--cache-dir", [](const std::string& folder) { set_cache_folder(folder); },
         "folder for those files, made with mode 0700 (else GIBBSITE_CACHE_DIR, or beside the "
         "table)")
      ->type_name("DIR");
  add_count(app, "--seed", seed, "reproducible noise, no guarantee: the certificate is void", 0);
  add_progress(app, quiet, progress, "print nothing but warnings and errors");
  app.add_option("--ledger", ledger_path,
                 "budget of all releases about these people (gibbsite ledger create): this one is "
                 "entered, or refused with status 5")
      ->type_name("FILE");
}

namespace {

void define_fit(CLI::App& app) {
  const auto command = std::make_shared<FitCommand>();
  command->add_input(app, true);
  app.get_option("--schema")->required(false);
  command->label.add_to(
      app, "--label: ", "in place of --schema, which is then bought: the column to predict");
  add_number(app, "--schema-share", command->schema_share,
             "--label: share of mu^2 that buys the schema; default 0.1, up to 0.2 of few rows");
  app.add_option("--public", command->public_table,
                 "--label: a public table of the same columns, whose cells the schema follows from "
                 "at no cost; a family: one whose rows count in the prior; nothing protects people "
                 "in it")
      ->type_name("FILE");
  add_number(app, "--public-weight", command->public_weight,
             "a family: what a row of --public counts in the prior, up to 1; default: 1, or less "
             "so that they count no more together than the private rows");
  command->plan.add_to(app);
  command->plan.add_positive_share_to(app);
  command->family.add_to(app, command->plan, false);
  app.add_option(
         "--columns", command->family.columns,
         "--model covariance: the columns of numbers; transitions: the states before and after; "
         "with commas between; one with a comma in quotes")
      ->type_name("LIST");
  add_network_to(app, command->plan);
  app.add_option("--backend", command->backend, "auto, reference, cpu or cuda")->type_name("NAME");
  app.add_option("--design", command->design,
                 "how a GPU goes about it: auto, one-pass, blocked, ... (docs/reference/cuda.md)")
      ->type_name("NAME");
  app.add_flag("--release-moments", command->release_moments,
               "whitened: the model file holds the noisy second moments, gradients and curvatures "
               "that it follows from; they are paid for");
  add_output(
      app, "--release-counts", command->release_counts,
      "network: also write its noisy counts with their deviations, as CSV; they are paid for");
  app.add_flag("--all-effects", command->all_effects,
               "show every effect, not the ten surest alone");
  app.add_flag(
      "--verbose", command->verbose,
      "say more: the plan, the backend and how it went about it, times, how rows lie in memory");
  app.add_option("--checkpoint", command->checkpoint,
                 "file to continue from and to save to (mode 0600: it holds the noise key)")
      ->type_name("FILE");
  command->add_run(app);
  app.add_flag(
      "--remove-cache",
      [command, &app](std::int64_t) {
        command->removes_cache = true;
        for (const char* name : {"--epsilon", "--delta"}) {
          app.get_option(name)->required(false);
        }
      },
      "remove the files of --cache when the run ends, however it ends; alone with --data: now");
  app.callback([command] { command->run(); });
}

const Register fit_command{{2, "fit", "Fit a model on a private table and certify it",
                            "gibbsite fit --data table.csv --schema table.toml --epsilon 1 --delta "
                            "1e-6 --out model.json",
                            define_fit}};

}  // namespace
}  // namespace gibbsite::cli
