#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <map>
#include <string_view>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/family_problem.hpp"
#include "gibbsite/data/shares.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "gibbsite/mechanism/learning.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/losses.hpp"
#include "gibbsite/model/losses/softmax.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "interrupt.hpp"
#include "ranks.hpp"
#include "text.hpp"

namespace gibbsite::cli {

std::string missing_words(std::span<const std::string> names, const std::string& command) {
  static const std::map<std::string_view, std::string_view> values{
      {"--epsilon", "1"},         {"--delta", "1e-6"},        {"--data", "table.csv"},
      {"--schema", "table.toml"}, {"--out", "model.json"},    {"--model", "model.json"},
      {"--columns", "age,sex"},   {"--rows-cap", "10000"},    {"--mechanism", "whitened"},
      {"model", "model.json"},    {"table", "table.csv"},     {"ledger", "people.ledger"},
      {"--onnx", "model.onnx"},   {"--prior-precision", "1"}, {"--rows", "1000"}};
  static const std::map<std::string_view, std::string_view> outs{{"report", "report.html"},
                                                                 {"sample", "draws"},
                                                                 {"synthesize", "synthetic.csv"},
                                                                 {"table", "table.json"},
                                                                 {"export", "ledger.json"}};
  std::string examples;
  for (const std::string& name : names) {
    const auto known = values.find(name);
    if (known == values.end()) continue;
    if (!examples.empty()) examples += ' ';
    if (name.starts_with("-")) examples += name + ' ';
    const auto out = outs.find(command);
    examples += name == "--out" && out != outs.end() ? out->second : known->second;
  }
  const bool one = names.size() == 1;
  return fmt::format("{}: {} missing; give {}{}", fmt::join(names, ", "), one ? "is" : "are",
                     one ? "it" : "them", examples.empty() ? "" : ", such as " + examples);
}

void require_given(std::span<const std::pair<const char*, bool>> options) {
  std::vector<std::string> names;
  for (const auto& [name, is_given] : options)
    if (!is_given) names.emplace_back(name);
  if (!names.empty()) throw BadInput(missing_words(names));
}

CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<double>& value,
                        const std::string& help) {
  return app
      .add_option_function<std::string>(
          name, [&value, name](const std::string& text) { value = parse_number(text, name); }, help)
      ->type_name("NUMBER");
}

CLI::Option* add_numbers(CLI::App& app, const std::string& name,
                         std::optional<std::vector<double>>& values, const std::string& help) {
  return app.add_option_function<std::string>(
      name, [&values, name](const std::string& text) { values = parse_numbers(text, name); }, help);
}

CLI::Option* add_numbers(CLI::App& app, const std::string& name, std::vector<double>& values,
                         const std::string& help) {
  return app
      .add_option_function<std::string>(
          name, [&values, name](const std::string& text) { values = parse_numbers(text, name); },
          help)
      ->type_name("NUMBERS");
}

CLI::Option* add_count(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& value,
                       const std::string& help, std::uint64_t least) {
  return app
      .add_option_function<std::string>(
          name,
          [&value, name, least](const std::string& text) {
            value = parse_count(text, name, least);
          },
          help)
      ->type_name("COUNT");
}

void require_other_file(const std::string& out, const std::string& input, const std::string& name,
                        const char* option) {
  std::error_code absent;
  if (std::filesystem::is_directory(input, absent) && std::string_view(name) == "--schema")
    throw BadInput(fmt::format("--schema: {} is a folder; give a file", input));
  if (!out.empty() && (out == input || std::filesystem::equivalent(out, input, absent))) {
    throw BadInput(fmt::format("{}: {} is the file of {}; give another", option, out, name));
  }
  if (!out.empty() && would_be_part(out, input)) {
    throw BadInput(
        fmt::format("{}: {} is among the parts of {} or would be read as one; give another place",
                    option, out, name));
  }
}

void require_writable(const std::string& path, const char* option) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    throw BadInput(fmt::format("{}: {} is a folder; give a file", option, path));
  }
  const bool special = fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
  const fs::path parent = fs::path(path).parent_path();
  const std::string place = special ? path : parent.empty() ? "." : parent.string();
  if (access(place.c_str(), W_OK) != 0) {
    throw BadInput(
        fmt::format("{}: cannot write to {}; create it or choose another", option, place));
  }
}

CLI::Option* add_force(CLI::App& app, bool& force) {
  return app.add_flag("--force", force, "replace the file of --out if there is one");
}

namespace {
[[noreturn]] void refuse_to_replace(const std::string& out, const char* option) {
  throw BadInput(fmt::format("{}: {} is there already; give another name, or --force to replace it",
                             option, out));
}
}  // namespace

void add_progress(CLI::App& app, bool& quiet, bool& progress, const std::string& help_of_quiet) {
  CLI::Option* const flag = app.add_flag("--quiet", quiet, help_of_quiet);
  app.add_flag("--progress", progress,
               "off a terminal, a line of progress every second instead of every five")
      ->excludes(flag);
}

void require_new(const std::string& out, bool force, const char* option) {
  namespace fs = std::filesystem;
  std::error_code absent;
  const auto status = fs::status(out, absent);
  const bool special = out.starts_with("/dev/") || out.starts_with("/proc/") ||
                       (fs::exists(status) && !fs::is_regular_file(status));
  // A link that leads nowhere is there too.
  if (!force && !special && fs::exists(fs::symlink_status(out, absent)))
    refuse_to_replace(out, option);
}

void write_new(const std::string& out, bool force, const std::function<void(Existing)>& write,
               const char* option) {
  try {
    write(force ? Existing::replaced : Existing::kept);
  } catch (const CannotWrite& e) {
    if (e.error != EEXIST) throw;
    refuse_to_replace(out, option);
  }
}

void TableArguments::add_to(CLI::App& app, bool required) {
  app.add_option(
         "--data", data,
         "table: CSV with a header, .svm/.libsvm/.svmlight, .npy, .parquet or .arrow; a folder "
         "or pattern of such parts")
      ->type_name("FILE")
      ->required(required);
  app.add_option("--labels", labels, "labels of a .npy table")->type_name("FILE");
}

Dataset TableArguments::read(const Schema& schema, ReadOptions options) const {
  complete(options);
  return read_table(data, schema, options);
}

TableArguments::Share TableArguments::read_share(const Schema& schema, ReadOptions options) const {
  Share out;
  if (ranks().size() == 1) {
    out.data = read(schema, std::move(options));
    out.rows = out.data.rows();
    return out;
  }
  complete(options);
  const SharedTable shared(data, schema, options, ranks());
  out.rows = shared.rows();
  const std::vector<std::uint64_t> bounds = share_bounds(out.rows, ranks().size());
  const std::size_t rank = ranks().rank();
  out.data = shared.read({bounds[rank], bounds[rank + 1]});
  return out;
}

std::uint64_t counted(TableArguments::Share& share, std::uint64_t rows_per_person) {
  if (share.data.schema.person() == nullptr) return share.rows;
  hold_people(share.data, rows_per_person, ranks());
  return share.data.counted();
}

void TableArguments::complete(ReadOptions& options) const {
  options.label_path = labels;
  if (!options.progress) {
    options.progress = [](std::uint64_t, std::uint64_t) { return !stop_flag().load(); };
  }
}

void PlanArguments::add_budget_to(CLI::App& app, bool needed, std::vector<double>* epsilons) {
  auto* const budget = epsilons == nullptr
                           ? add_number(app, "--epsilon", epsilon, "privacy budget ε, above 0")
                           : add_numbers(app, "--epsilon", *epsilons,
                                         "privacy budget ε, above 0; 0.1,0.5,1: several");
  budget->required(needed);
  add_number(app, "--delta", delta, "privacy budget δ, between 0 and 1; far below 1/rows")
      ->required(needed);
  app.add_option_function<std::string>(
         "--rho",
         [this, budget](const std::string& text) {
           rho = parse_number(text, "--rho");
           budget->required(false);  // asked for after all options are read
         },
         "a budget of zCDP instead of --epsilon; --delta is where it is stated as (ε, δ)")
      ->type_name("NUMBER")
      ->excludes(budget);
  add_number(app, "--rdp", rdp,
             "an order, above 1, of Rényi privacy, of which --epsilon is then the budget");
}

void PlanArguments::add_neighbors_to(CLI::App& app) {
  app.add_option("--adjacency", adjacency, "replace-one, or add-remove with --rows-cap")
      ->type_name("NAME");
  add_count(app, "--rows-cap", rows_cap,
            "add-remove: public upper bound on the number of rows, or of people with a column of "
            "them");
  add_count(app, "--rows-per-person", rows_per_person,
            "most rows one person has, or counts as with a column of people; default 1");
}

void PlanArguments::add_positive_share_to(CLI::App& app) {
  app.add_option_function<std::string>(
         "--positive-share",
         [this](const std::string& text) {
           const std::vector<double> bounds = parse_numbers(text, "--positive-share");
           if (bounds.size() > 2) {
             throw BadInput(
                 "--positive-share: takes one share or two bounds; give such as 0.002, or "
                 "0.001,0.004");
           }
           positive_share = PositiveShare{bounds.front(), bounds.back()};
           require_positive_share(*positive_share, "--positive-share");
         },
         "share of the rows that are of the positive class, or LOW,HIGH, known without the table: "
         "what a plan is expected to learn is then of such classes; no noise depends on it")
      ->type_name("NUMBERS");
}

void PlanArguments::add_to(CLI::App& app, bool budget_needed, std::vector<double>* epsilons) {
  add_budget_to(app, budget_needed, epsilons);
  add_number(app, "--prior-precision", prior_precision,
             "precision m of the prior; chosen from public numbers when absent");
  app.add_option("--model", model,
                 fmt::format("{}, softmax; default: logistic, softmax, huber or poisson, by the "
                             "schema's label; of one --column: bernoulli, categorical, rate, "
                             "waiting, mean, bounded-mean, variance, laplace; of --columns: "
                             "covariance, transitions; of all columns: network",
                             fmt::join(loss_names(), ", ")))
      ->type_name("NAME");
  add_number(
      app, "--loss-cap", loss_cap,
      "0.5: hold the slope of the logistic loss at 1/2, which halves what one row can do; 1: "
      "do not; default 0.5 for path and metric-path, 1 for others");
  app.add_option("--mechanism", mechanism,
                 fmt::format("auto, {}; of a network counts, trimmed, conjugate, tree",
                             fmt::join(mechanism_names(), ", ")))
      ->type_name("NAME");
  add_number(app, "--tv", tv,
             "total variation gap γ to the Gibbs posterior: auto then takes the cheapest mechanism "
             "that keeps it; default for those that keep one: 1 % of δ's worth");
  add_number(
      app, "--beta", beta,
      "largest β of a draw from the Gibbs posterior; default 1, the posterior itself. `plan` "
      "without --epsilon says what it costs");
  app.add_flag("--padded", padded, "proximal: the same public number of passes over any data");
  app.add_flag("--intervals", intervals,
               "whitened: spend a share of the budget on how sure the coefficients are, "
               "and put estimates with 95 % intervals into the model (docs/theory/intervals.md)");
  add_number(app, "--step-size", step_size, "step size h");
  add_number(app, "--ball", ball,
             "path: keep every iterate and the model in a ball of this radius about 0; for the "
             "whole logistic loss (--loss-cap 1) one row can do less there, and --model squared "
             "has no guarantee without one");
  add_count(app, "--iterations", iterations, "number of steps T");
  app.add_option(
         "--calibration", calibration,
         "gdp, minami-cor8, minami-thm7 or geumlek-rdp; objective: exact or redberg; families: "
         "exact or geumlek-rdp")
      ->type_name("NAME");
  add_neighbors_to(app);
  add_count(app, "--draws", draws, "draws to release; they share the budget; default 1");
}

PlanOptions PlanArguments::plan_options() const {
  if (kind_of(*this) != of_linear) {
    throw BadInput(fmt::format("--model {}: is for fit and plan; leave it out", model));
  }
  return plan_options_of(*this);
}

void ShapeArguments::add_to(CLI::App& app) {
  table.add_to(app, false);
  app.add_option("--schema", schema, "public schema of the table (TOML)")->type_name("FILE");
  add_count(app, "--rows", rows, "number of rows, instead of --data");
  add_count(app, "--features", features, "number of features without the intercept");
  add_number(app, "--row-norm", row_norm, "bound on the norm of a row");
  add_count(app, "--classes", classes, "number of classes of --model softmax", 2);
  app.add_flag("--intercept", intercept, "add a constant feature to --features");
}

bool ShapeArguments::of_table(const PlanArguments& plan) const {
  const bool shape = rows || features || row_norm || intercept || classes;
  if (!table.data.empty() || !schema.empty()) {
    if (shape) {
      throw BadInput(
          "--data: give either --data and --schema, or --rows, --features and --row-norm");
    }
    if (table.data.empty())
      throw BadInput("--schema: needs --data with it, or before there is a table --rows; give one");
    if (schema.empty()) throw BadInput("--data: needs --schema with it; give both");
    return true;
  }
  if (plan.rows_cap && rows) {
    throw BadInput("--rows: the cap counts under add-remove; give --rows-cap alone");
  }
  if ((!rows && !plan.rows_cap) || !features || !row_norm) {
    throw BadInput(
        "--data: is missing; give --data and --schema, or --rows, --features and --row-norm");
  }
  return false;
}

FeatureSpace ShapeArguments::space(const std::string& model) const {
  require_finite_positive(*row_norm, "--row-norm");
  FeatureSpace out{
      .features = *features + (intercept ? 1 : 0), .row_norm = *row_norm, .intercept = intercept};
  const bool softmax = model == losses::Softmax::family;
  if (softmax != classes.has_value()) {
    throw BadInput(softmax ? "--classes: is missing; give the number of classes"
                           : "--classes: has a meaning with --model softmax; leave it out");
  }
  if (model != "auto") {
    const Loss& loss = loss_named(full_loss_name(model, classes.value_or(0)));
    out.label = loss.label();
    if (out.label == LabelKind::classes) out.classes = loss.outputs();
  }
  // The usual bound if a schema does not say how far off is far.
  if (out.label == LabelKind::amount) out.label_bound = 5;
  return out;
}

}  // namespace gibbsite::cli
