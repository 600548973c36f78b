// Draws from the posterior for people who may see the table: nothing here is private or certified.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "command.hpp"
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/posterior/draws_file.hpp"
#include "gibbsite/posterior/posterior.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "plots.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

// Vehtari et al. 2021, section 4: R-hat below 1.01, 100 effective draws of each chain.
constexpr double most_r_hat = 1.01, least_effective_per_chain = 100;
constexpr std::size_t most_in_table = 20, most_plots = 12;
constexpr double probabilities[] = {0.05, 0.5, 0.95};

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
        fmt::format("{}: {} {}, the schema makes {} features; give one of each, a line "
                    "each, the intercept last",
                    path, out.size(), out.size() == 1 ? "number" : "numbers", features));
  }
  return out;
}

double least_effective(const Summary& s) { return std::min(s.ess_bulk, s.ess_tail); }
bool agrees(const Summary& s) { return s.r_hat < most_r_hat; }

// Those whose chains disagree come first, then those worth the fewest draws.
std::vector<std::size_t> worst_first(const std::vector<Summary>& summaries) {
  std::vector<std::size_t> order(summaries.size());
  std::iota(order.begin(), order.end(), 0);
  const auto disagreement = [&](std::size_t j) {
    const Summary& s = summaries[j];
    return agrees(s) ? 0 : std::isnan(s.r_hat) ? std::numeric_limits<double>::infinity() : s.r_hat;
  };
  const auto effective = [&](std::size_t j) {
    const double e = least_effective(summaries[j]);
    return std::isnan(e) ? 0 : e;
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return disagreement(a) != disagreement(b) ? disagreement(a) > disagreement(b)
                                              : effective(a) < effective(b);
  });
  return order;
}

struct Verdict {
  bool usable = true;
  std::string text;
};

Verdict judge(const std::vector<Summary>& summaries, const PosteriorDraws& draws) {
  const auto chains = static_cast<double>(draws.chains);
  double r_hat = 0, bulk = std::numeric_limits<double>::infinity(), tail = bulk;
  std::size_t apart = 0, few = 0;
  for (const Summary& s : summaries) {
    if (!agrees(s)) ++apart;
    if (!(least_effective(s) >= least_effective_per_chain * chains)) ++few;
    if (!(s.r_hat <= r_hat)) r_hat = s.r_hat;  // a NaN stays
    bulk = std::min(bulk, s.ess_bulk);
    tail = std::min(tail, s.ess_tail);
  }
  const auto divergent = std::ranges::count(draws.divergent, 1);
  const std::string sizes =
      fmt::format("smallest effective sizes {} (bulk) and {} (tail)", human_count(std::floor(bulk)),
                  human_count(std::floor(tail)));
  if (draws.chains == 1) {
    return {false, fmt::format("one chain: nothing says whether it has converged ({}); give "
                               "--chains 4",
                               sizes)};
  }
  if (apart == 0 && few == 0 && divergent == 0) {
    return {true, fmt::format("the chains agree: every R-hat is below {} (largest {:.4f}), {}",
                              most_r_hat, r_hat, sizes)};
  }
  std::string what;
  const auto add = [&](const std::string& part) { what += (what.empty() ? "" : ", ") + part; };
  if (apart > 0) {
    add(fmt::format("{} of {} parameters have an R-hat that is not below {} (largest {:.4g})",
                    apart, summaries.size(), most_r_hat, r_hat));
  }
  if (few > 0) {
    add(fmt::format("{} of {} have fewer than {} effective draws a chain ({})", few,
                    summaries.size(), least_effective_per_chain, sizes));
  }
  if (divergent > 0) add(fmt::format("{} transitions diverged", divergent));
  if (draws.tv_gap > 0) {
    return {false, fmt::format("each draw keeps to its gap, but draws of one chain are close to "
                               "each other: {}; give more --chains, or more --thinning",
                               what)};
  }
  return {false, fmt::format("do not rely on these draws yet: {}; give {}", what,
                             divergent > 0 ? "a higher --target-acceptance"
                             : apart > 0   ? "a longer --warm-up and more --draws"
                                           : "more --draws or more --thinning")};
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

struct SampleCommand {
  TableArguments table;
  std::string schema, out, start, scales, sampler = "hmc", metric = "auto", backend = "auto";
  std::optional<double> beta, prior_precision, target_acceptance, tv;
  std::optional<std::uint64_t> chains, draws, warm_up, thinning, seed;
  std::vector<std::string> plotted;
  bool plots = false, npy = false, json = false, quiet = false, progress = false;

  void run() const {
    const double temperature = beta.value_or(1);
    require_finite_positive(temperature, "--beta");
    require_finite_positive(*prior_precision, "--prior-precision");
    const auto engine_maker = make_backend(backend);
    NewFolder::require_free(out);
    const Schema domain = read_schema(schema);
    PosteriorOptions options = posterior_options(domain.features());
    const std::uint64_t used_seed = seed ? *seed : std::random_device{}() & 0x7fffffffU;
    options.key = StreamKey::from_seed(used_seed);
    const std::vector<std::string> features = domain.feature_names();
    const std::vector<std::string> columns = column_names(features);
    std::vector<std::size_t> panels = parameters_to_plot(features, columns);
    catch_interrupts();

    const Dataset data = read(domain);
    // With the figures, wherever those go; beside them where a program or nobody reads them.
    fmt::print(silent() ? stderr : stdout, "{}\n", warning);
    say(fmt::format("{} {}, {} parameters; β = {}, prior precision {}; seed {}\nbackend {}: {}\n",
                    human_count(static_cast<double>(data.rows())),
                    data.rows() == 1 ? "row" : "rows", features.size(), temperature,
                    *prior_precision, used_seed, engine_maker->name(),
                    engine_maker->description()));
    const PosteriorDraws drawn = sample(data, temperature, *engine_maker, options);
    const std::vector<Summary> summaries = summarise(drawn.view(), probabilities);
    const std::vector<std::size_t> order = worst_first(summaries);
    if (plots && panels.empty())
      panels.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(
                                                       std::min(order.size(), most_plots)));

    const bool certified = drawn.tv_gap > 0;
    const DrawsFacts facts{
        GIBBSITE_VERSION,   table.data,       std::string(engine_maker->name()),
        temperature,        *prior_precision, certified ? drawn.burn_in : options.warm_up,
        options.thinning,   used_seed,        options.target_acceptance,
        options.transition, options.metric};
    const std::vector<std::string> files =
        write(drawn, facts, features, columns, summaries, panels);

    const Verdict verdict = judge(summaries, drawn);
    if (json) {
      fmt::print(
          "{}\n",
          to_json(drawn, facts, features, columns, summaries, verdict, files).dump(2, ' ', true));
    }
    say("\n" + summary_table(features, summaries, order) + "\n" + speed(drawn, facts, summaries));
    if (verdict.usable) {
      say(fmt::format("Verdict: {}\n", shown(verdict.text)));
    } else {
      std::fflush(stdout);
      fmt::print(stderr, "gibbsite: warning: {}\n", shown(verdict.text));
    }
    say(reading(files));
  }

  void say(const std::string& text) const {
    if (silent()) return;
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  // All that the table has no say in; the key is the caller's.
  [[nodiscard]] PosteriorOptions posterior_options(std::size_t features) const {
    PosteriorOptions o;
    o.transition = transition_from_string(sampler);
    o.metric = metric_from_string(metric);
    o.chains = chains.value_or(o.chains);
    o.draws = draws.value_or(o.draws);
    o.warm_up = warm_up.value_or(o.warm_up);
    o.thinning = thinning.value_or(o.thinning);
    const bool certified = o.transition == Transition::proximal;
    if (tv) {
      if (!certified) throw BadInput("--tv: belongs to --sampler proximal; give both or neither");
      require_between(*tv, 0, 0.5, "--tv");
      o.tv = *tv;
    }
    if (certified && (warm_up || target_acceptance)) {
      throw BadInput(
          "--sampler proximal: its warm-up follows from --tv and it has no acceptance to aim at; "
          "leave out --warm-up and --target-acceptance");
    }
    if (target_acceptance) require_between(*target_acceptance, 0, 1, "--target-acceptance");
    const double usual = o.transition == Transition::hamiltonian ? 0.8 : 0.574;
    o.target_acceptance = target_acceptance.value_or(usual);
    if (scales.empty() == (o.metric == Metric::scales)) {
      throw BadInput(
          "--scales: belongs to --metric scales, the file of its numbers; give both or neither");
    }
    if (!scales.empty()) {
      o.scales = read_numbers(scales, features, 1);
      for (const double scale : o.scales) require_finite_positive(scale, scales);
    }
    if (!start.empty()) o.start = read_numbers(start, features, o.chains);
    return o;
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

  [[nodiscard]] Dataset read(const Schema& domain) const {
    Progress bar("reading", silent(), interval());
    ReadOptions options;
    options.progress = [&bar](std::uint64_t done, std::uint64_t total) {
      bar.update(done, total);
      return !stop_flag().load();
    };
    return table.read(domain, options);
  }

  [[nodiscard]] PosteriorDraws sample(const Dataset& data, double temperature,
                                      Backend& engine_maker, PosteriorOptions options) const {
    Progress bar("sampling", silent(), interval());
    options.stop = &stop_flag();
    options.progress = [&bar](std::uint64_t done, std::uint64_t total) { bar.update(done, total); };
    const Potential potential{
        .engine = engine_maker.load(data.view(), data.y, loss_named("logistic")),
        .beta = temperature,
        .prior_precision = *prior_precision,
        .center = {}};
    return sample_posterior(potential, options);
  }

  // The names of the files in `out`.
  [[nodiscard]] std::vector<std::string> write(const PosteriorDraws& drawn, const DrawsFacts& facts,
                                               const std::vector<std::string>& features,
                                               const std::vector<std::string>& columns,
                                               const std::vector<Summary>& summaries,
                                               const std::vector<std::size_t>& panels) const {
    NewFolder folder(out, 0700);
    std::vector<std::string> files;
    const std::size_t digits = fmt::formatted_size("{}", drawn.chains);
    for (std::size_t c = 0; c < drawn.chains; ++c) {
      stop_if_asked();
      files.push_back(fmt::format("chain-{:0{}}.csv", c + 1, digits));
      write_cmdstan_csv(folder.file(files.back()), drawn, c, columns, facts);
    }
    const auto add = [&](const char* name, const std::string& text) {
      files.emplace_back(name);
      write_file_atomically(folder.file(name), text, 0600);
    };
    add("summary.csv", summary_csv(features, columns, summaries));
    if (npy) {
      files.emplace_back("draws.npy");
      write_npy(folder.file(files.back()), drawn);
    }
    if (!panels.empty()) {
      add("chains.svg", chain_plots(fmt::format("{} chains of {} draws", drawn.chains,
                                                human_count(static_cast<double>(drawn.draws))),
                                    drawn.view(), panels, features, summaries));
    }
    stop_if_asked();
    folder.commit();
    return files;
  }

  static std::string summary_csv(const std::vector<std::string>& features,
                                 const std::vector<std::string>& columns,
                                 const std::vector<Summary>& summaries) {
    std::string text =
        "variable,feature,mean,sd,q5,q50,q95,mcse_mean,mcse_q5,mcse_q50,mcse_q95,r_hat,ess_bulk,"
        "ess_tail\n";
    for (std::size_t j = 0; j < summaries.size(); ++j) {
      const Summary& s = summaries[j];
      const std::vector<Quantile>& q = s.quantiles;
      text +=
          fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", columns[j],
                      csv_cell(features[j]), s.mean, s.deviation, q[0].value, q[1].value,
                      q[2].value, s.mean_standard_error, q[0].standard_error, q[1].standard_error,
                      q[2].standard_error, s.r_hat, s.ess_bulk, s.ess_tail);
    }
    return text;
  }

  [[nodiscard]] std::string summary_table(const std::vector<std::string>& features,
                                          const std::vector<Summary>& summaries,
                                          std::vector<std::size_t> order) const {
    const bool all = order.size() <= most_in_table;
    if (all) {
      std::ranges::sort(order);
    } else {
      order.resize(most_in_table);
    }
    const auto figure = [](double value) { return fmt::format("{:.4g}", value); };
    std::vector<std::vector<std::string>> lines{{"parameter", "mean", "sd", "5 %", "50 %", "95 %",
                                                 "error of mean", "R-hat", "ESS bulk", "ESS tail"}};
    for (const std::size_t j : order) {
      const Summary& s = summaries[j];
      const std::vector<Quantile>& q = s.quantiles;
      lines.push_back({features[j], figure(s.mean), figure(s.deviation), figure(q[0].value),
                       figure(q[1].value), figure(q[2].value),
                       fmt::format("{:.2g}", s.mean_standard_error), fmt::format("{:.4f}", s.r_hat),
                       human_count(std::floor(s.ess_bulk)), human_count(std::floor(s.ess_tail))});
    }
    return gibbsite::cli::table(lines) +
           (all ? ""
                : fmt::format("  the {} that mixed worst; the other {} are in {}/summary.csv\n",
                              order.size(), summaries.size() - order.size(), out));
  }

  static double least_bulk(const std::vector<Summary>& summaries) {
    return std::ranges::min(summaries, {}, &Summary::ess_bulk).ess_bulk;
  }
  static double transitions(const PosteriorDraws& drawn, const DrawsFacts& facts) {
    return static_cast<double>(drawn.draws) * static_cast<double>(facts.thinning) *
           static_cast<double>(drawn.chains);
  }
  static double gradients(const PosteriorDraws& drawn) {
    return static_cast<double>(drawn.gradients) * static_cast<double>(drawn.chains);
  }
  static double acceptance(const PosteriorDraws& drawn) {
    return std::accumulate(drawn.acceptance.begin(), drawn.acceptance.end(), 0.0) /
           static_cast<double>(drawn.acceptance.size());
  }

  static std::string speed(const PosteriorDraws& drawn, const DrawsFacts& facts,
                           const std::vector<Summary>& summaries) {
    const double seconds = drawn.sampling_seconds;
    if (drawn.tv_gap > 0) {
      return fmt::format(
          "proximal: every draw is within {} (total variation) of the posterior, after {} "
          "iterations\nwarm-up {}, sampling {}: {} iterations/s, {} gradients/s, {} effective "
          "draws/s of the slowest parameter\nstep size {:.3g}, {:.2f} of the proposals accepted\n",
          drawn.tv_gap, drawn.burn_in, human_time(drawn.warm_up_seconds), human_time(seconds),
          human_count(std::round(transitions(drawn, facts) / seconds)),
          human_count(std::round(gradients(drawn) / seconds)),
          human_count(std::round(least_bulk(summaries) / seconds)), drawn.step_size,
          acceptance(drawn));
    }
    return fmt::format(
        "{}: warm-up {}, sampling {}: {} transitions/s, {} gradients/s, {} effective draws/s of "
        "the slowest parameter\nstep size {:.3g}, {} leapfrog {}, acceptance {:.2f}\n",
        to_string(facts.transition), human_time(drawn.warm_up_seconds), human_time(seconds),
        human_count(std::round(transitions(drawn, facts) / seconds)),
        human_count(std::round(gradients(drawn) / seconds)),
        human_count(std::round(least_bulk(summaries) / seconds)), drawn.step_size,
        drawn.leapfrog_steps, drawn.leapfrog_steps == 1 ? "step" : "steps", acceptance(drawn));
  }

  [[nodiscard]] std::string reading(const std::vector<std::string>& files) const {
    std::string names = files.front();
    const auto chain_files = std::ranges::count_if(
        files, [](const std::string& name) { return name.starts_with("chain-"); });
    if (chain_files > 1) {
      names += fmt::format(" to {}", files[static_cast<std::size_t>(chain_files) - 1]);
    }
    for (auto i = static_cast<std::size_t>(chain_files); i < files.size(); ++i) {
      names += ", " + files[i];
    }
    return fmt::format(
        "Written: {}: {}\nNext:\n  Python: arviz.from_cmdstan(\"{}/chain-*.csv\")\n"
        "  R:      posterior::as_draws(rstan::read_stan_csv(Sys.glob(\"{}/chain-*.csv\")))\n",
        out, names, out, out);
  }

  [[nodiscard]] nlohmann::json to_json(const PosteriorDraws& drawn, const DrawsFacts& facts,
                                       const std::vector<std::string>& features,
                                       const std::vector<std::string>& columns,
                                       const std::vector<Summary>& summaries,
                                       const Verdict& verdict,
                                       const std::vector<std::string>& files) const {
    nlohmann::json result;
    result["private"] = false;
    result["run"] = {{"beta", facts.beta},
                     {"prior_precision", facts.prior_precision},
                     {"sampler", to_string(facts.transition)},
                     {"metric", to_string(facts.metric)},
                     {"target_acceptance", facts.target_acceptance},
                     {"chains", drawn.chains},
                     {"warm_up", facts.warm_up},
                     {"draws", drawn.draws},
                     {"thinning", facts.thinning},
                     {"seed", facts.seed},
                     {"backend", facts.backend},
                     {"tv_gap", drawn.tv_gap > 0 ? nlohmann::json(drawn.tv_gap) : nlohmann::json()},
                     {"step_size", drawn.step_size},
                     {"leapfrog_steps", drawn.leapfrog_steps},
                     {"acceptance", acceptance(drawn)},
                     {"divergent", std::ranges::count(drawn.divergent, 1)}};
    result["parameters"] = nlohmann::json::array();
    for (std::size_t j = 0; j < summaries.size(); ++j) {
      const Summary& s = summaries[j];
      const std::vector<Quantile>& q = s.quantiles;
      result["parameters"].push_back({{"variable", columns[j]},
                                      {"feature", features[j]},
                                      {"mean", s.mean},
                                      {"sd", s.deviation},
                                      {"q5", q[0].value},
                                      {"q50", q[1].value},
                                      {"q95", q[2].value},
                                      {"mcse_mean", s.mean_standard_error},
                                      {"mcse_q5", q[0].standard_error},
                                      {"mcse_q50", q[1].standard_error},
                                      {"mcse_q95", q[2].standard_error},
                                      {"r_hat", s.r_hat},  // NaN is written as null
                                      {"ess_bulk", s.ess_bulk},
                                      {"ess_tail", s.ess_tail}});
    }
    result["verdict"] = {{"usable", verdict.usable}, {"text", verdict.text}};
    result["speed"] = {
        {"warm_up_seconds", drawn.warm_up_seconds},
        {"sampling_seconds", drawn.sampling_seconds},
        {"transitions_per_second", transitions(drawn, facts) / drawn.sampling_seconds},
        {"gradients_per_second", gradients(drawn) / drawn.sampling_seconds},
        {"least_ess_bulk_per_second", least_bulk(summaries) / drawn.sampling_seconds}};
    result["out"] = out;
    result["files"] = files;
    return result;
  }
};

void define(CLI::App& app) {
  const auto command = std::make_shared<SampleCommand>();
  command->table.add_to(app, true);
  app.add_option("--schema", command->schema, "schema of the table (TOML)")
      ->type_name("FILE")
      ->required();
  app.add_option("--out", command->out, "new folder for the draws; whole or not at all")
      ->type_name("FOLDER")
      ->required();
  add_number(app, "--beta", command->beta, "inverse temperature β of the likelihood; default 1");
  add_number(app, "--prior-precision", command->prior_precision,
             "precision m of the prior N(0, I/m), above 0")
      ->required();
  add_count(app, "--chains", command->chains, "chains; default 4");
  add_count(app, "--draws", command->draws, "draws to keep of each chain; default 1000", 4);
  add_count(app, "--warm-up", command->warm_up,
            "transitions of each chain that adapt and are thrown away; default 500", 0);
  add_count(app, "--thinning", command->thinning, "transitions for each draw; default 1");
  app.add_option("--sampler", command->sampler, "hmc, mala, or proximal, whose draws keep to --tv")
      ->type_name("NAME");
  add_number(app, "--tv", command->tv,
             "proximal: total variation between each draw and the posterior; default 1e-10");
  app.add_option("--metric", command->metric,
                 "auto, unit, diagonal, laplace, or scales with --scales")
      ->type_name("NAME");
  app.add_option("--scales", command->scales, "scale of each parameter, a line each")
      ->type_name("FILE");
  add_number(app, "--target-acceptance", command->target_acceptance,
             "mean acceptance that the warm-up aims at; default 0.8 (hmc), 0.574 (mala)");
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
  app.add_flag("--npy", command->npy, "draws.npy too: [chains x draws x parameters]");
  app.add_flag("--json", command->json, "print the summary as JSON");
  auto* quiet = app.add_flag("--quiet", command->quiet, "print nothing but warnings and errors");
  app.add_flag("--progress", command->progress,
               "off a terminal, a line of progress every second instead of every five")
      ->excludes(quiet);
  app.callback([command] { command->run(); });
}

const Register command{{9, "sample", "Draw from the posterior; not private",
                        "gibbsite sample --data table.csv --schema table.toml --prior-precision 1 "
                        "--out draws --plots",
                        define}};

}  // namespace
}  // namespace gibbsite::cli
