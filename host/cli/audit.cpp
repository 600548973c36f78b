// Attempts to refute claims by experiment, on tables of its own or on a private one.
#include "gibbsite/audit/audit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "audit_plot.hpp"
#include "backend.hpp"
#include "command.hpp"
#include "gibbsite/audit/schema_audit.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/mechanism/select.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/losses.hpp"
#include "gibbsite/version.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "ranks.hpp"
#include "reading.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

constexpr const char* for_the_curator = "for the curator only, do not publish";
constexpr const char* is_private = "private, for the curator only, do not publish";
constexpr const char* what_it_says =
    "An audit can refute a claim, never prove it: it speaks of one pair of tables and one way to "
    "tell them apart.";
// All of them at once: what plans more passes a draw is left out.
constexpr double most_work = 20000;

struct Finding {
  std::string mechanism, pair;
  std::optional<Problem> problem;  // of a fit; a bought schema's has none
  Guarantee claim;
  AuditResult result;
};
struct NotAudited {
  std::string mechanism, why;
};

std::vector<std::string> audited_names() {
  const auto fits = mechanism_names();
  std::vector<std::string> out(fits.begin(), fits.end());
  out.emplace_back(SchemaQuestions::name);
  return out;
}

nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

struct AuditCommand {
  PlanArguments plan;
  TableArguments table;
  std::string schema, mechanism = "all", backend = "auto", plot;
  std::optional<std::uint64_t> rows, features, pairs, seed;
  std::optional<double> row_norm, confidence;
  bool json = false, force = false, quiet = false, progress = false;

  void run() {
    const bool of_table = !table.data.empty() || !schema.empty();
    require_legal(of_table);
    AuditOptions options;
    options.pairs = pairs.value_or(options.pairs);
    options.pilot = std::max<std::uint64_t>(options.pairs / 4, 100);
    options.confidence = confidence.value_or(options.confidence);
    options.seed = seed.value_or(options.seed);
    options.stop = &stop_flag();
    require_between(options.confidence, 0, 1, "--confidence");
    const auto engines = make_engines();
    options.ranks = &ranks();
    if (is_first_rank()) require_place();
    catch_interrupts();

    std::optional<Dataset> data;
    ranks().together([&] {
      if (of_table) data = read();
    });
    std::vector<NotAudited> left_out;
    std::vector<Finding> found;
    for (const std::string& name : names()) {
      ranks().together(stop_if_asked);
      Progress bar(fmt::format("auditing {}", name), quiet, progress ? 1 : 5);
      options.progress = [&bar](std::uint64_t done, std::uint64_t all) { bar.update(done, all); };
      if (name == SchemaQuestions::name) {
        if (of_table)
          left_out.push_back({name, "it is audited on tables that audit makes"});
        else
          audit_schema(options, found, left_out);
        continue;
      }
      const AuditCase at = data ? case_of(*data, name) : case_of(name);
      const Candidate& candidate = at.plan.candidate();
      if (mechanism != "all") {
        static_cast<void>(require_feasible(at.plan));
      } else if (!candidate.feasible || candidate.cost.work > most_work) {
        left_out.push_back(
            {name, candidate.feasible
                       ? fmt::format("{} gradient passes a draw; --mechanism {} runs it",
                                     human_count(std::ceil(candidate.cost.work)), name)
                       : in_options(candidate.why)});
        continue;
      }
      found.push_back(
          {name, at.pair, at.plan.problem, candidate.guarantee, audit(at, *engines, options)});
    }
    if (found.empty()) {
      throw Infeasible(fmt::format("--mechanism: none can be run; {}: {}",
                                   left_out.front().mechanism, left_out.front().why));
    }
    ranks().together(stop_if_asked);
    if (!plot.empty() && is_first_rank()) {
      write_new(
          plot, force,
          [&](Existing existing) {
            write_file_atomically(plot, picture(found.front()),
                                  of_table ? private_file : public_file, existing);
          },
          "--plot");
    }
    if (json) {
      fmt::print("{}\n", as_json(found, left_out, options, *engines).dump(2, ' ', true));
    } else {
      show(text(found, left_out, options, *engines));
    }
    refuse(found);
  }

 private:
  // Each rank makes some of the runs, on all rows of its own.
  [[nodiscard]] std::unique_ptr<Backend> make_engines() const {
    if (ranks().size() > 1 && backend == "cuda") {
      throw BadInput(
          "--backend cuda: audit by several ranks is for the CPU; leave it out, or start one "
          "process");
    }
    auto made =
        make_noted_backend(ranks().size() > 1 && backend == "auto" ? "cpu" : backend, quiet);
    if (ranks().size() > 1)
      require_same_everywhere(fmt::format("{}: {}", made->name(), made->arithmetic()),
                              "the machine's arithmetic");
    return made;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    if (mechanism != "all") return {mechanism};
    return audited_names();
  }

  [[nodiscard]] AuditShape shape() const {
    AuditShape out;
    out.rows = rows.value_or(out.rows);
    out.features = features.value_or(out.features);
    out.row_norm = row_norm.value_or(out.row_norm);
    return out;
  }

  // A schema bought for a table of as many columns as it would have features.
  void audit_schema(const AuditOptions& options, std::vector<Finding>& found,
                    std::vector<NotAudited>& left_out) const {
    const std::string name(SchemaQuestions::name);
    for (const SchemaPair pair : {SchemaPair::counts, SchemaPair::rare_texts}) {
      try {
        const SchemaAuditCase at = schema_case(pair, shape().rows, shape().features, plan.budget());
        found.push_back({name, at.pair, std::nullopt, at.plan.guarantee, audit(at, options)});
      } catch (const Infeasible& error) {
        if (mechanism != "all") throw;
        left_out.push_back({name, in_options(error.message())});
        return;
      }
    }
  }

  void require_legal(bool of_table) const {
    if (mechanism == "auto") {
      throw BadInput("--mechanism auto: an audit is of one; give its name, or all");
    }
    if (mechanism == "select" || mechanism == ExponentialPick::name) {
      throw BadInput(
          "--mechanism: pairs of runs with the same noise are of numbers, and select picks a name; "
          "`gibbsite verify CHOICE` recomputes what its law costs, and "
          "tests/mechanism/select_test.cpp holds that law of neighbors against the claim");
    }
    const std::vector<std::string> known = audited_names();
    if (mechanism != "all" && std::ranges::find(known, mechanism) == known.end()) {
      throw BadInput(fmt::format("--mechanism: '{}' is unknown; give all, {}", mechanism,
                                 fmt::join(known, ", ")));
    }
    if (mechanism == SchemaQuestions::name && of_table) {
      throw BadInput(
          "--data: a bought schema is audited on tables that audit makes; leave out --data and "
          "--schema");
    }
    if (of_table) {
      if (table.data.empty()) throw BadInput("--schema: needs --data with it; give both");
      if (schema.empty()) throw BadInput("--data: needs --schema with it; give both");
      if (rows || features || row_norm) {
        throw BadInput(
            "--rows, --features, --row-norm: are of tables that audit makes; leave them "
            "out, or --data and --schema");
      }
    }
    if (row_norm) require_finite_positive(*row_norm, "--row-norm");
    if (!plot.empty() && mechanism == "all") {
      throw BadInput("--plot: shows one audit; give one --mechanism");
    }
  }

  void require_place() const {
    if (plot.empty()) return;
    require_other_file(plot, table.data, "--data", "--plot");
    require_other_file(plot, table.labels, "--labels", "--plot");
    require_other_file(plot, schema, "--schema", "--plot");
    require_new(plot, force, "--plot");
    require_writable(plot, "--plot");
  }

  [[nodiscard]] Dataset read() const {
    Progress bar("reading", quiet, progress ? 1 : 5);
    ReadOptions options;
    options.progress = [&bar](std::uint64_t done, std::uint64_t total) {
      bar.update(done, total);
      return !stop_flag().load();
    };
    const Schema domain = read_schema(schema);
    require_chosen_curves(domain);
    Dataset out = table.read(domain, options);
    if (is_first_rank()) tell_reading(out);
    return out;
  }

  [[nodiscard]] PlanArguments arguments_of(const std::string& name) const {
    PlanArguments out = plan;
    out.mechanism = name;
    return out;
  }
  // A table of its own.
  [[nodiscard]] AuditCase case_of(const std::string& name) const {
    const PlanArguments arguments = arguments_of(name);
    const bool usual = arguments.model == "auto" || arguments.model == losses::logistic::name;
    return worst_known_case(shape(), arguments.budget(), arguments.plan_options(),
                            usual ? "" : arguments.model, arguments.prior_precision);
  }
  [[nodiscard]] AuditCase case_of(const Dataset& data, const std::string& name) const {
    const PlanArguments arguments = arguments_of(name);
    const Plan made = gibbsite::plan(arguments, data.schema, data.rows(), arguments.budget());
    return table_case(data, model_of(arguments, made), made);
  }

  static std::string in_measure(const AuditResult& r, double value) {
    return fmt::format("{} = {:.4g}", r.measure == AuditMeasure::mu ? "μ" : "ε", value);
  }
  static double lower(const AuditResult& r) {
    return r.measure == AuditMeasure::mu ? r.mu_lower : r.epsilon_lower;
  }
  static double claimed(const AuditResult& r) {
    return r.measure == AuditMeasure::mu ? r.mu_claimed : r.epsilon_claimed;
  }

  // A bound on a tight claim is above it by chance as often as it says.
  static const char* verdict(const AuditResult& r) {
    return r.refuted ? "REFUTED" : r.reach() > 1 ? "by chance? another --seed" : "not refuted";
  }

  [[nodiscard]] std::string text(const std::vector<Finding>& found,
                                 const std::vector<NotAudited>& left_out,
                                 const AuditOptions& options, const Backend& engines) const {
    const std::optional<Problem>& problem = found.front().problem;
    const Budget budget = plan.budget();
    std::string out =
        fmt::format("{}; {} pairs of runs, seed {}\nbackend {}: {}\n\n",
                    problem ? describe(*problem, budget)
                            : fmt::format("{} rows, {} columns; epsilon {}, delta {}", shape().rows,
                                          shape().features, budget.epsilon, budget.delta),
                    human_count(static_cast<double>(options.pairs)), options.seed, engines.name(),
                    engines.description());
    std::vector<std::vector<std::string>> lines{
        {"mechanism", "claim", fmt::format("at least, {:.6g} %", 100 * options.confidence), "of it",
         "", "time"}};
    for (const Finding& one : found) {
      const AuditResult& r = one.result;
      lines.push_back({one.mechanism, in_measure(r, claimed(r)), in_measure(r, lower(r)),
                       fmt::format("{:.0f} %", 100 * r.reach()), verdict(r),
                       human_time(r.seconds)});
    }
    out += gibbsite::cli::table(lines) + "\n";
    for (const Finding& one : found) {
      out += fmt::format("{}: {}\n", one.mechanism, one.pair);
    }
    for (const NotAudited& one : left_out) {
      out += fmt::format("left out: {}: {}\n", one.mechanism, one.why);
    }
    return out + what_it_says + "\n";
  }

  // Each line of a private audit says that it is one.
  void show(const std::string& all) const {
    std::istringstream in(all);
    for (std::string line; std::getline(in, line);) {
      line.erase(line.find_last_not_of(' ') + 1);
      if (table.data.empty()) {
        fmt::print("{}\n", line);
      } else {
        fmt::print("{}{}{}\n", line, line.empty() ? "" : "  ", line.empty() ? "" : bracketed());
      }
    }
    if (!plot.empty()) {
      fmt::print("Written: {}{}\n", shown(plot),
                 table.data.empty() ? "" : fmt::format("  {}", bracketed()));
    }
  }
  static std::string bracketed() { return fmt::format("[{}]", is_private); }

  [[nodiscard]] nlohmann::json as_json(const std::vector<Finding>& found,
                                       const std::vector<NotAudited>& left_out,
                                       const AuditOptions& options, const Backend& engines) const {
    // A bought schema alone has neither a loss nor a norm.
    const std::optional<Problem>& problem = found.front().problem;
    const Budget budget = plan.budget();
    nlohmann::json out{{"schema", "gibbsite-audit/1"},
                       {"warning", nullptr},
                       {"data", nullptr},
                       {"software", {{"gibbsite", GIBBSITE_VERSION}, {"backend", engines.name()}}},
                       {"loss", nullptr},
                       {"rows", problem ? problem->rows : shape().rows},
                       {"features", problem ? problem->features : shape().features},
                       {"row_norm", nullptr},
                       {"epsilon", budget.epsilon},
                       {"delta", budget.delta},
                       {"adjacency", to_string(budget.adjacency)},
                       {"pairs", options.pairs},
                       {"pilot", options.pilot},
                       {"confidence", options.confidence},
                       {"seed", options.seed},
                       {"says", what_it_says},
                       {"results", nlohmann::json::array()},
                       {"left_out", nlohmann::json::array()}};
    if (problem) {
      out["loss"] = problem->loss;
      out["row_norm"] = problem->row_norm;
    }
    if (!table.data.empty()) {
      out["warning"] = is_private;
      out["data"] = shown(table.data);
    }
    for (const Finding& one : found) {
      const AuditResult& r = one.result;
      const Guarantee& claim = one.claim;
      out["results"].push_back(
          {{"mechanism", one.mechanism},
           {"loss", one.problem ? nlohmann::json(one.problem->loss) : nlohmann::json(nullptr)},
           {"pair", one.pair},
           {"claim",
            {{"mu", claim.mu},
             {"pure", claim.epsilon0},
             {"reveal", claim.delta0},
             {"tv", claim.tv}}},
           {"measure", r.measure == AuditMeasure::mu ? "mu" : "epsilon"},
           {"claimed", number(claimed(r))},
           {"lower", number(lower(r))},
           {"reach", number(r.reach())},
           {"mu_lower", number(r.mu_lower)},
           {"advantage_claimed", r.advantage_claimed},
           {"advantage_lower", r.advantage_lower},
           {"threshold", r.threshold},
           {"neighbor_alone", r.neighbor_alone},
           {"table_alone", r.table_alone},
           {"table_above", r.table_above},
           {"refuted", r.refuted},
           {"seconds", r.seconds}});
    }
    for (const NotAudited& one : left_out) {
      out["left_out"].push_back({{"mechanism", one.mechanism}, {"why", one.why}});
    }
    return out;
  }

  [[nodiscard]] std::string picture(const Finding& one) const {
    const AuditResult& r = one.result;
    const std::string mark = table.data.empty() ? "" : fmt::format("PRIVATE: {}", for_the_curator);
    return audit_plot(fmt::format("Audit of {}: {}", one.mechanism, verdict(r)),
                      fmt::format("claim {}, at least {} ({:.6g} %), {} pairs",
                                  in_measure(r, claimed(r)), in_measure(r, lower(r)),
                                  100 * r.confidence, human_count(static_cast<double>(r.pairs))),
                      mark, r.of_table, r.of_neighbor, r.threshold);
  }

  void refuse(const std::vector<Finding>& found) const {
    std::vector<std::string_view> refuted;
    for (const Finding& one : found) {
      if (one.result.refuted) refuted.push_back(one.mechanism);
    }
    if (refuted.empty()) return;
    throw Infeasible(fmt::format(
        "the claim of {} is REFUTED on this pair; chance does that to a true one once in a million "
        "audits{}",
        fmt::join(refuted, ", "), table.data.empty() ? "" : fmt::format(" ({})", is_private)));
  }
};

void define_audit(CLI::App& app) {
  const auto command = std::make_shared<AuditCommand>();
  app.add_option("--mechanism", command->mechanism,
                 fmt::format("{}, or all, the default", fmt::join(audited_names(), ", ")))
      ->type_name("NAME");
  app.add_option("--model", command->plan.model,
                 fmt::format("loss: {}, softmax of three classes; logistic when absent",
                             fmt::join(loss_names(), ", ")))
      ->type_name("NAME");
  add_number(app, "--epsilon", command->plan.epsilon, "privacy budget ε of the claim")->required();
  add_number(app, "--delta", command->plan.delta, "privacy budget δ of the claim")->required();
  add_count(app, "--rows", command->rows, "rows of the tables that it makes; default 1000", 2);
  add_count(app, "--features", command->features, "their features; default 10", 2);
  add_number(app, "--row-norm", command->row_norm, "bound on the norm of their rows; default 1");
  command->table.add_to(app, false);
  app.add_option("--schema", command->schema,
                 "public schema of a table of --data (TOML); what is found about it is private")
      ->type_name("FILE");
  add_number(app, "--prior-precision", command->plan.prior_precision,
             "precision m of the prior; chosen from public numbers when absent");
  add_number(app, "--tv", command->plan.tv, "total variation gap γ of mechanisms that keep one");
  add_count(app, "--iterations", command->plan.iterations, "path: number of steps T");
  add_number(app, "--ball", command->plan.ball,
             "path: radius of a ball that chains are kept in; the squared loss needs one");
  add_count(app, "--pairs", command->pairs,
            "pairs of runs with the same noise; default 6000, and a fourth of it as a pilot");
  add_number(app, "--confidence", command->confidence,
             "that a lower bound is below the truth; default 0.95");
  add_count(app, "--seed", command->seed, "of the noise; default 1", 0);
  app.add_flag("--json", command->json, "print JSON");
  add_output(app, "--plot", command->plot, "draw the two samples of one --mechanism (SVG)");
  app.add_flag("--force", command->force, "replace the file of --plot if there is one");
  app.add_option("--backend", command->backend, "auto, reference, cpu or cuda")->type_name("NAME");
  add_progress(app, command->quiet, command->progress, "show no progress");
  app.callback([command] { command->run(); });
}

const Register audit_command{
    {11, "audit", "Try to refute a mechanism's claim by experiment",
     "gibbsite audit --mechanism path --epsilon 1 --delta 1e-6 --rows 32561 --features 108",
     define_audit}};

}  // namespace
}  // namespace gibbsite::cli
