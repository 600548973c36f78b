// Draws from the posterior for people who may see the table: nothing here is private or certified.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <span>

#include "backend.hpp"
#include "command.hpp"
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/counted_rows.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/posterior/draws_file.hpp"
#include "gibbsite/posterior/normal.hpp"
#include "gibbsite/posterior/posterior.hpp"
#include "gibbsite/posterior/priors.hpp"
#include "gibbsite/posterior/verdict.hpp"
#include "gibbsite/run/plan_request.hpp"
#include "gibbsite/version.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "plots.hpp"
#include "progress.hpp"
#include "ranks.hpp"
#include "reading.hpp"
#include "sample_report.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

constexpr std::size_t most_plots = 12;

constexpr const char* draws_mark =
    "PRIVATE: drawn from the table's own posterior, without any guarantee; for the curator only";
constexpr const char* warning =
    "NOT PRIVATE: draws of 'sample' carry no guarantee; they, and all that is shown and written "
    "here, are for people who may see the table itself ('gibbsite fit' makes a model to publish)";

// One number a line, `features` of them or, where each chain has its own, a row of them per chain.
std::vector<double> read_numbers(const std::string& path, std::size_t features,
                                 std::uint64_t chains) {
  std::ifstream file(path);
  if (!file) throw BadInput(fmt::format("{}: cannot be read; give a file of numbers", path));
  std::vector<double> out;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const auto end = line.find_last_not_of(" \t\r");
    if (end == std::string::npos) continue;
    out.push_back(parse_number(line.substr(0, end + 1), fmt::format("{}:{}", path, number)));
  }
  if (out.size() != features && out.size() != features * chains) {
    throw BadInput(
        fmt::format("{}: {} {}, the schema makes {} features; give one of each, a line each, the "
                    "intercept last (of several classes one class after the other)",
                    path, out.size(), out.size() == 1 ? "number" : "numbers", features));
  }
  return out;
}

// A prior a line; what follows a # is a comment.
void read_priors(const std::string& path, std::vector<NamedPrior>& out) {
  std::ifstream file(path);
  if (!file) throw BadInput(fmt::format("{}: cannot be read; give a file of priors", path));
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    line.resize(std::min(line.size(), line.find('#')));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::erase(line, '\r');
    out.push_back(named_prior(line));
    try {
      static_cast<void>(prior_from_text(out.back().law));
    } catch (const BadInput& error) {
      throw BadInput(FilePosition{path, number}, error.wrong(), error.hint());
    }
  }
}

// What to set, of what `sample` offers.
std::string advised(const Verdict& verdict) {
  const auto give = [&](const char* what) { return in_words(verdict) + "; give " + what; };
  switch (verdict.advice) {
    case Advice::none:
      return in_words(verdict);
    case Advice::more_chains:
      return give(verdict.chains > 1 ? "more --chains" : "--chains 4");
    case Advice::more_chains_or_thinning:
      return give("more --chains, or more --thinning");
    case Advice::higher_target_acceptance:
      return give("a higher --target-acceptance");
    case Advice::longer_warm_up_and_more_draws:
      return give("a longer --warm-up and more --draws");
    case Advice::more_draws_or_thinning:
      return give("more --draws or more --thinning");
  }
  return "";
}

struct SampleCommand {
  TableArguments table;
  std::string schema, out, start, scales, model = "auto", sampler = "auto", metric = "auto",
                                          backend = "auto";
  std::optional<double> beta, prior_precision, target_acceptance, tv;
  std::optional<std::uint64_t> chains, draws, warm_up, thinning, seed;
  std::vector<std::string> plotted, prior;
  std::string priors;
  bool plots = false, npy = false, mode = false, json = false, quiet = false, progress = false;

  void run() const {
    const double temperature = beta.value_or(1);
    require_finite_positive(temperature, "--beta");
    if (prior_precision) require_finite_positive(*prior_precision, "--prior-precision");
    const std::vector<NamedPrior> named = named_priors();
    if (named.empty()) {
      const std::pair<const char*, bool> needed[] = {
          {"--prior-precision", prior_precision.has_value()}};
      require_given(needed);
    }
    const auto engine_maker = make_backend_of_ranks(backend, quiet, "auto", &stop_flag());
    if (is_first_rank()) NewFolder::require_free(out);
    // Nothing is noisy here, so automatic curves are as fine as they get.
    const Schema domain = with_knots(read_schema(schema), most_automatic_knots);
    require_same_everywhere(to_toml(domain), schema + ": the schema");
    const bool is_normal = is_normal_model(model, domain.label);
    std::vector<std::string> features = coefficient_names(domain);
    const std::size_t coefficients = features.size();
    if (is_normal) features.emplace_back(noise_name);
    const std::vector<Prior> by_name =
        named.empty() ? std::vector<Prior>{} : priors_of(domain, named, prior_precision);
    std::vector<std::string> said_priors;
    for (const NamedPrior& one : named)
      said_priors.push_back(one.name + " = " + to_text(prior_from_text(one.law)));
    require_same_everywhere(fmt::format("{}", fmt::join(said_priors, "\n")), "--prior: it");
    PosteriorOptions options = options_of(coefficients);
    const std::string loss = loss_of({.model = is_normal ? "squared" : model}, domain);
    static_cast<void>(glm(loss).constants(domain, 1));  // of such a label
    std::uint64_t used_seed = seed ? *seed : std::random_device{}() & 0x7fffffffU;
    ranks().broadcast(std::as_writable_bytes(std::span(&used_seed, 1)), 0);
    options.key = StreamKey::from_seed(used_seed);
    const std::vector<std::string> columns = column_names(features);
    std::vector<std::size_t> panels = parameters_to_plot(features, columns);
    catch_interrupts();

    const auto [data, rows] = read(domain);
    tell_reading_of_ranks(data, rows);
    settle(*engine_maker, loss_named(loss), data.has_more_than_labels());
    // With the figures, wherever those go; beside them where a program or nobody reads them.
    fmt::print(silent() ? stderr : stdout, "{}\n", warning);
    say(fmt::format("{} {}, {} parameters; β = {}, {}; seed {}\nbackend {}: {}\n",
                    human_count(static_cast<double>(rows)), rows == 1 ? "row" : "rows",
                    features.size(), temperature, prior_in_words(), used_seed, engine_maker->name(),
                    engine_maker->description()));
    if (domain.weight() != nullptr) {
      say(fmt::format(
          "weights: a row's log-likelihood is multiplied by {} over {}: a survey-weighted "
          "pseudo-posterior,\nwhose spread is that of so many whole rows, not that of the survey's "
          "design\n",
          shown(domain.weight()->name), domain.weight()->hi));
    }
    if (!scaled_class_weights(domain.label).empty()) {
      say("weights: a row's log-likelihood is multiplied by its class's weight over the largest: a "
          "pseudo-posterior,\nwhose spread is that of so many whole rows\n");
    }
    const Potential potential{.engine = engine_maker->load(data.view(), data.y, loss_named(loss)),
                              .beta = temperature,
                              .prior_precision = prior_precision.value_or(0),
                              .center = {},
                              .priors = by_name};
    for (const std::string& line : said_priors) say(fmt::format("prior {}\n", shown(line)));
    if (is_normal) {
      options.noise = LearnedNoise{rows_of_ranks(counted_rows(data.view()))};
      say(fmt::format(
          "{} is the deviation of the label from its mean, in tolerances of {}; --model huber has "
          "none\n",
          noise_name, label_unit(domain.label)));
    }
    const PosteriorDraws drawn = sample(potential, options);
    const std::vector<double> peak =
        mode ? posterior_mode(potential, options) : std::vector<double>{};
    // From here on no row is asked, and the others wait for what is written.
    if (!is_first_rank()) return;
    const std::vector<Summary> summaries = summaries_of(drawn, shown_quantiles);
    const std::vector<std::size_t> order = worst_first(summaries);
    if (plots && panels.empty())
      panels.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(
                                                       std::min(order.size(), most_plots)));

    const bool certified = drawn.tv_gap > 0;
    const DrawsFacts facts{GIBBSITE_VERSION,
                           is_normal ? "normal" : loss,
                           table.data,
                           std::string(engine_maker->name()),
                           temperature,
                           prior_precision.value_or(0),
                           certified ? drawn.burn_in : options.warm_up,
                           options.thinning,
                           used_seed,
                           aim_of(drawn.transition),
                           drawn.transition,
                           options.metric,
                           said_priors};
    const SampleReport report{drawn, facts, features, columns, summaries, out, peak};
    const std::vector<std::string> files = write(report, panels);

    const Verdict verdict = judge(summaries, drawn);
    const std::string text = advised(verdict);
    if (json) fmt::print("{}\n", report.json(verdict.usable(), text, files).dump(2, ' ', true));
    say("\n" + report.table(order) + "\n" +
        (is<Classes>(domain.label)
             ? "The table tells the classes' coefficients of one feature apart, never what is common to "
               "them, which is the\nprior's alone: ask each draw for a difference of two classes, or from "
               "their mean.\n"
             : "") +
        report.speed());
    if (verdict.usable()) {
      say(fmt::format("Verdict: {}\n", shown(text)));
    } else {
      std::fflush(stdout);
      fmt::print(stderr, "gibbsite: warning: {}\n", shown(text));
    }
    say(report.reading(files));
  }

  // In the order of the ranks.
  [[nodiscard]] static double rows_of_ranks(double mine) {
    const std::vector<double> all = ranks().gather(std::span<const double>(&mine, 1));
    return std::accumulate(all.begin(), all.end(), 0.0);
  }

  [[nodiscard]] std::vector<NamedPrior> named_priors() const {
    std::vector<NamedPrior> out;
    if (!priors.empty()) read_priors(priors, out);
    for (const std::string& line : prior) out.push_back(named_prior(line));
    return out;
  }

  [[nodiscard]] std::string prior_in_words() const {
    return prior_precision ? fmt::format("prior precision {}", *prior_precision) : "priors by name";
  }

  // The mean acceptance that the warm-up aimed at; 0: at none.
  [[nodiscard]] double aim_of(Transition transition) const {
    if (transition == Transition::split) return 0;
    return target_acceptance.value_or(transition == Transition::langevin ? 0.574 : 0.8);
  }

  void say(const std::string& text) const {
    if (silent()) return;
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  // All that the table has no say in; the key is the caller's.
  [[nodiscard]] PosteriorOptions options_of(std::size_t features) const {
    PosteriorRequest asked{.sampler = sampler,
                           .metric = metric,
                           .chains = chains,
                           .draws = draws,
                           .warm_up = warm_up,
                           .thinning = thinning,
                           .target_acceptance = target_acceptance,
                           .tv = tv};
    if (!scales.empty()) {
      // Another metric's are refused, whatever the file says.
      asked.scales = metric == to_string(Metric::scales) ? read_numbers(scales, features, 1)
                                                         : std::vector<double>(features, 1);
      for (const double scale : asked.scales) require_finite_positive(scale, scales);
    }
    if (!start.empty())
      asked.start = read_numbers(start, features, chains.value_or(PosteriorOptions().chains));
    return posterior_options(asked);
  }

  [[nodiscard]] std::vector<std::size_t> parameters_to_plot(
      const std::vector<std::string>& features, const std::vector<std::string>& columns) const {
    if (plotted.size() > most_plots) {
      throw BadInput(fmt::format("--plot: {} parameters, at most {} fit one picture; give fewer",
                                 plotted.size(), most_plots));
    }
    std::vector<std::size_t> places;
    for (const std::string& name : plotted) {
      auto found = std::ranges::find(features, name) - features.begin();
      if (found == std::ssize(features)) found = std::ranges::find(columns, name) - columns.begin();
      if (found == std::ssize(columns)) {
        throw BadInput(fmt::format("--plot: no parameter is called '{}'; the first is '{}'", name,
                                   features.front()));
      }
      places.push_back(static_cast<std::size_t>(found));
    }
    return places;
  }

  [[nodiscard]] double interval() const { return progress ? 1 : 5; }
  [[nodiscard]] bool silent() const { return quiet || json; }

  [[nodiscard]] TableArguments::Share read(const Schema& domain) const {
    Progress bar("reading", silent(), interval());
    ReadOptions options;
    options.progress = [&bar](std::uint64_t done, std::uint64_t total) {
      bar.update(done, total);
      return !stop_flag().load();
    };
    return table.read_share(domain, options);
  }

  [[nodiscard]] PosteriorDraws sample(const Potential& potential, PosteriorOptions options) const {
    Progress bar("sampling", silent(), interval());
    if (ranks().size() == 1) options.stop = &stop_flag();  // else questions carry it
    options.progress = [&bar](std::uint64_t done, std::uint64_t total) { bar.update(done, total); };
    return sample_posterior(potential, options);
  }

  // The names of the files in `out`.
  [[nodiscard]] std::vector<std::string> write(const SampleReport& report,
                                               const std::vector<std::size_t>& panels) const {
    const PosteriorDraws& drawn = report.drawn;
    NewFolder folder(out, 0700);
    std::vector<std::string> files;
    const std::size_t digits = fmt::formatted_size("{}", drawn.chains);
    // More than so many files nobody reads; the array has what they would say.
    const bool array_alone = drawn.superchains > 0;
    for (std::size_t c = 0; c < drawn.chains && !array_alone; ++c) {
      stop_if_asked();
      files.push_back(fmt::format("chain-{:0{}}.csv", c + 1, digits));
      write_cmdstan_csv(folder.file(files.back()), drawn, c, report.columns, report.facts);
    }
    const auto add = [&](const char* name, const std::string& text) {
      files.emplace_back(name);
      write_file_atomically(folder.file(name), text, private_file);
    };
    add("summary.csv", report.csv());
    if (npy || array_alone) {
      files.emplace_back("draws.npy");
      write_npy(folder.file(files.back()), drawn);
    }
    if (!panels.empty()) {
      add("chains.svg",
          chain_plots(fmt::format("{} chains of {} draws", drawn.chains,
                                  human_count(static_cast<double>(drawn.draws))),
                      draws_mark, drawn.view(), panels, report.features, report.summaries));
    }
    stop_if_asked();
    folder.commit();
    return files;
  }
};

void define_sample(CLI::App& app) {
  const auto command = std::make_shared<SampleCommand>();
  command->table.add_to(app, true);
  app.add_option("--schema", command->schema, "schema of the table (TOML)")
      ->type_name("FILE")
      ->required();
  app.add_option("--out", command->out, "new folder for the draws; whole or not at all")
      ->type_name("FOLDER")
      ->required();
  app.add_option("--model", command->model,
                 fmt::format("{}, softmax, or normal: squared with a noise that is learned; "
                             "default: logistic, softmax, normal or poisson, by the schema's label",
                             fmt::join(loss_names(), ", ")))
      ->type_name("NAME");
  add_number(app, "--beta", command->beta, "inverse temperature β of the likelihood; default 1");
  add_number(
      app, "--prior-precision", command->prior_precision,
      "precision m of the prior N(0, 1/m), above 0; needed unless every parameter has --prior");
  app.add_option(
         "--prior", command->prior,
         "NAME=LAW of a column or a feature, or LAW of all others: normal(center, scale) or "
         "student_t(degrees, center, scale); may be repeated")
      ->type_name("PRIOR")
      ->allow_extra_args(false);
  app.add_option("--priors", command->priors, "such priors, a line each")->type_name("FILE");
  add_count(
      app, "--chains", command->chains,
      "chains; default 4. From 64 on with fewer than 100 draws of each they start in 16 groups, "
      "are judged between them, and are written to draws.npy alone");
  add_count(app, "--draws", command->draws, "draws to keep of each chain; default 1000");
  add_count(app, "--warm-up", command->warm_up,
            "transitions of each chain that adapt and are thrown away; default 500, of such "
            "short chains 100, of one for each group",
            0);
  add_count(app, "--thinning", command->thinning, "transitions for each draw; default 1");
  app.add_option("--sampler", command->sampler,
                 "auto: split, kicks and rotations about the mode, where the warm-up accepts "
                 "them, else hmc; split, hmc, mala, or proximal, whose draws keep to --tv")
      ->type_name("NAME");
  add_number(app, "--tv", command->tv,
             "proximal: total variation between each draw and the posterior; default 1e-10");
  app.add_option("--metric", command->metric,
                 "auto, unit, diagonal, laplace, or scales with --scales")
      ->type_name("NAME");
  app.add_option("--scales", command->scales, "scale of each parameter, a line each")
      ->type_name("FILE");
  add_number(app, "--target-acceptance", command->target_acceptance,
             "mean acceptance that the warm-up aims at; default 0.8 (hmc), 0.574 (mala); "
             "with it auto is hmc");
  app.add_option("--start", command->start,
                 "where all chains start, or each after the other, a line each; default: apart, "
                 "around the mode")
      ->type_name("FILE");
  add_count(app, "--seed", command->seed, "the same draws again; default: from the system", 0);
  app.add_option("--backend", command->backend, "auto, reference, cpu or cuda")->type_name("NAME");
  app.add_flag("--plots", command->plots,
               "chains.svg: traces and ranks of the parameters that mixed worst, at most 12");
  app.add_option("--plot", command->plotted, "the same of this parameter; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag("--mode", command->mode,
               "where the posterior is highest too: shown, in summary.csv and --json");
  app.add_flag("--npy", command->npy, "draws.npy too: [chains x draws x parameters]");
  app.add_flag("--json", command->json, "print the summary as JSON");
  add_progress(app, command->quiet, command->progress, "print nothing but warnings and errors");
  app.callback([command] { command->run(); });
}

const Register sample_command{
    {9, "sample", "Draw from the posterior; not private",
     "gibbsite sample --data table.csv --schema table.toml --prior-precision 1 "
     "--out draws --plots",
     define_sample}};

}  // namespace
}  // namespace gibbsite::cli
