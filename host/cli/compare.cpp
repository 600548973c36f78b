// Every mechanism on held-out rows of a table that is public: nothing here is private.
#include "gibbsite/compare/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backend.hpp"
#include "command.hpp"
#include "compare_plot.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/curves.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/run/warnings.hpp"
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

constexpr const char* picture_mark =
    "PRIVATE: computed from the table without any guarantee; for the curator only";
constexpr const char* not_private =
    "NOT PRIVATE: compare fits with seeded noise and reads held-out labels; publish nothing of it "
    "unless the table is public";

// 1/n^2 to two digits, rounded down.
double usual_delta(std::uint64_t rows) {
  const double exact = std::pow(static_cast<double>(rows), -2);
  const double exponent = std::floor(std::log10(exact)) - 1;
  const std::string text =
      fmt::format("{:.0f}e{:.0f}", std::floor(exact * std::pow(10.0, -exponent)), exponent);
  return std::min(parse_number(text, "--delta"), 0.01);  // of fewer than ten rows
}

// Why a mechanism has no row, at which epsilons.
struct LeftOut {
  std::string mechanism;
  std::vector<double> epsilons;
  std::string why;  // at the largest
};

// "84.21 ± 0.35 %"
std::string percent(const Spread& s) {
  return std::isnan(s.sd) ? fmt::format("{:.2f} %", 100 * s.mean)
                          : fmt::format("{:.2f} ± {:.2f} %", 100 * s.mean, 100 * s.sd);
}
std::string number(const Spread& s) {
  if (std::isnan(s.mean)) return "-";
  return std::isnan(s.sd) ? fmt::format("{:.4f}", s.mean)
                          : fmt::format("{:.4f} ± {:.4f}", s.mean, s.sd);
}
// "0.92 ± 0.10 ms", "4.10 s"
std::string duration(const Spread& s) {
  const double unit = s.mean < 1 ? 1e-3 : 1;
  const char* const name = s.mean < 1 ? "ms" : "s";
  return std::isnan(s.sd) ? fmt::format("{:.2f} {}", s.mean / unit, name)
                          : fmt::format("{:.2f} ± {:.2f} {}", s.mean / unit, s.sd / unit, name);
}

nlohmann::json to_json(const Spread& s) { return {{"mean", s.mean}, {"sd", s.sd}}; }
nlohmann::json to_json(std::span<const Trial> trials) {
  const Scores scores = scores_of(trials);
  nlohmann::json out{{"accuracy", to_json(scores.accuracy)},
                     {"log_loss", to_json(scores.log_loss)},
                     {"auc", to_json(scores.auc)},
                     {"seconds", to_json(scores.seconds)},
                     {"runs", nlohmann::json::array()}};
  for (const Trial& t : trials) {
    out["runs"].push_back({{"seed", t.seed},
                           {"accuracy", t.scores.accuracy},
                           {"log_loss", t.scores.log_loss},
                           {"auc", t.scores.auc},  // NaN is written as null
                           {"seconds", t.seconds}});
  }
  return out;
}

struct CompareCommand {
  TableArguments table, test;
  std::string schema, mechanism_list, backend = "auto", json, svg;
  std::vector<double> epsilons{0.1, 0.5, 1, 2};
  std::optional<double> delta, held_out;
  std::optional<std::uint64_t> seeds, seed, most_passes;
  bool force = false, quiet = false, progress = false;

  void run() const {
    const std::vector<double> budgets = sorted_epsilons();
    const std::vector<std::string> mechanisms = read_mechanisms();
    const double share = held_out.value_or(HeldOut().share);
    require_between(share, 0, 1, "--held-out");
    if (test.data.empty() && !test.labels.empty()) {
      throw BadInput("--test-labels: needs --test with it; give both or neither");
    }
    const auto engine_maker = make_noted_backend(backend, quiet);
    require_places();
    const Schema domain = read_schema(schema);
    require_two_classes(domain);
    catch_interrupts();

    const Dataset data = read(table, domain, false);
    const Dataset other = test.data.empty() ? Dataset() : read(test, domain, true);
    const bool splits = test.data.empty();
    const std::uint64_t rows =
        data.rows() - (splits ? held_out_rows(data.rows(), share, "--held-out") : 0);
    const double used_delta = delta.value_or(usual_delta(rows));
    std::vector<LeftOut> left_out;
    std::vector<Plan> plans = plan_all(domain, rows, used_delta, budgets, mechanisms, left_out);

    fmt::print(stderr, "{}\n", not_private);
    warn_of_budget(plans.front().budget, plans.front().problem.rows, warn);
    CompareOptions options;
    options.first_seed = seed.value_or(options.first_seed);
    options.seeds = seeds.value_or(options.seeds);
    options.stop = &stop_flag();
    const Comparison found = [&] {
      Progress bar("comparing", quiet, interval());
      options.progress = [&bar](std::uint64_t done, std::uint64_t all) { bar.update(done, all); };
      return compare_all(data, share, splits ? nullptr : &other, plans, *engine_maker, options);
    }();
    for (std::size_t p = 0; p < plans.size(); ++p) {
      if (!found.why[p].empty()) leave_out(left_out, plans[p], in_options(found.why[p]));
    }
    if (std::ranges::all_of(found.of_plans, &std::vector<Trial>::empty)) refuse(left_out);
    const std::string head = fmt::format(
        "{} {} fitted, {} held out{}, {} features; δ = {:.4g}, replace-one; {} {} from {}\n"
        "backend {}: {}\n",
        human_count(static_cast<double>(found.training_rows)),
        found.training_rows == 1 ? "row" : "rows",
        human_count(static_cast<double>(found.held_out_rows)),
        splits ? "" : " in " + shown(test.data), domain.features(), used_delta, options.seeds,
        options.seeds == 1 ? "seed" : "seeds", options.first_seed, engine_maker->name(),
        engine_maker->description());
    stop_if_asked();
    write("--json", json, [&] {
      return as_json(found, plans, left_out, options, domain, *engine_maker).dump(2, ' ', true) +
             "\n";
    });
    write("--svg", svg, [&] { return picture(found, plans, options.seeds); });
    fmt::print("{}\n{}{}", head, figures(found, plans), remarks(left_out, budgets));
    for (const std::string& file : {json, svg}) {
      if (!file.empty()) fmt::print("Written: {}\n", shown(file));
    }
  }

 private:
  [[nodiscard]] double interval() const { return progress ? 1 : 5; }

  [[nodiscard]] std::vector<double> sorted_epsilons() const {
    std::vector<double> out = epsilons;
    for (const double epsilon : out) {
      Budget budget;
      budget.epsilon = epsilon;
      budget.delta = delta.value_or(budget.delta);
      budget.validate();
    }
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  [[nodiscard]] std::vector<std::string> read_mechanisms() const {
    const std::vector<std::string_view> known = mechanism_names();
    if (mechanism_list.empty()) return {known.begin(), known.end()};
    std::vector<std::string> out;
    for (const std::string& piece : pieces(mechanism_list)) {
      if (std::ranges::find(known, piece) == known.end()) {
        throw BadInput(fmt::format("--mechanism: '{}' is unknown; give some of {}", piece,
                                   fmt::join(known, ", ")));
      }
      if (std::ranges::find(out, piece) == out.end()) out.push_back(piece);
    }
    return out;
  }

  // What would fail after hours fails now.
  void require_places() const {
    for (const auto& [option, path] : {std::pair("--json", &json), std::pair("--svg", &svg)}) {
      if (path->empty()) continue;
      require_other_file(*path, table.data, "--data", option);
      require_other_file(*path, table.labels, "--labels", option);
      require_other_file(*path, schema, "--schema", option);
      require_other_file(*path, test.data, "--test", option);
      require_other_file(*path, test.labels, "--test-labels", option);
      require_new(*path, force, option);
      require_writable(*path, option);
    }
    require_other_file(json, svg, "--svg", "--json");
  }

  [[nodiscard]] Dataset read(const TableArguments& from, const Schema& domain, bool extra) const {
    Progress bar("reading", quiet, interval());
    ReadOptions options;
    options.ignore_extra_columns = extra;
    options.progress = [&bar](std::uint64_t done, std::uint64_t total) {
      bar.update(done, total);
      return !stop_flag().load();
    };
    Dataset out = from.read(domain, options);
    if (is_first_rank()) tell_reading(out);
    return out;
  }

  static void leave_out(std::vector<LeftOut>& all, const Plan& plan, const std::string& why) {
    const std::string name(name_of(plan.candidate().mechanism));
    auto found = std::ranges::find(all, name, &LeftOut::mechanism);
    if (found == all.end()) found = all.insert(all.end(), LeftOut{name, {}, ""});
    found->epsilons.push_back(plan.budget.epsilon);
    found->why = why;
  }

  [[noreturn]] static void refuse(const std::vector<LeftOut>& left_out) {
    throw Infeasible(fmt::format("--mechanism: none can be run at any --epsilon; {}: {}",
                                 left_out.front().mechanism, left_out.front().why));
  }

  // Curves that the schema leaves to the plan are chosen for each budget, and its rows made anew.
  static Comparison compare_all(const Dataset& data, double share, const Dataset* other,
                                std::span<const Plan> plans, Backend& backend,
                                const CompareOptions& options) {
    if (automatic_curves(data.schema) == 0)
      return compare(data, {share, other}, plans, backend, options);
    Comparison all;
    for (std::size_t first = 0, last = 0; first < plans.size(); first = last) {
      const Budget& budget = plans[first].budget;
      while (last < plans.size() && plans[last].budget.epsilon == budget.epsilon) ++last;
      PlanRequest request;
      request.mechanism = name_of(plans[first].candidate().mechanism);
      const Schema chosen = chosen_curves(request, data.schema, plans[first].problem.rows, budget);
      const Dataset rows = with_curves(data, chosen);
      const Dataset held_out = other == nullptr ? Dataset() : with_curves(*other, chosen);
      const Comparison one = compare(rows, {share, other == nullptr ? nullptr : &held_out},
                                     plans.subspan(first, last - first), backend, options);
      if (first == 0) all = one;  // of the first budget: without privacy and the majority
      if (first == 0) continue;
      all.of_plans.insert(all.of_plans.end(), one.of_plans.begin(), one.of_plans.end());
      all.why.insert(all.why.end(), one.why.begin(), one.why.end());
    }
    return all;
  }

  // Those that can be run, by epsilon. Throws Infeasible where there is none.
  [[nodiscard]] std::vector<Plan> plan_all(const Schema& domain, std::uint64_t rows,
                                           double used_delta, const std::vector<double>& budgets,
                                           const std::vector<std::string>& mechanisms,
                                           std::vector<LeftOut>& left_out) const {
    const auto most = static_cast<double>(most_passes.value_or(usual_most_passes));
    std::vector<Plan> out;
    for (const double epsilon : budgets) {
      for (const std::string& mechanism : mechanisms) {
        stop_if_asked();
        PlanArguments arguments;
        arguments.epsilon = epsilon;
        arguments.delta = used_delta;
        arguments.mechanism = mechanism;
        const Budget budget = arguments.budget();
        Plan made =
            gibbsite::plan(arguments, chosen_curves(arguments, domain, rows, budget), rows, budget);
        const Candidate& candidate = made.candidate();
        if (!candidate.feasible) {
          leave_out(left_out, made, in_options(candidate.why));
        } else if (candidate.cost.work > most) {
          leave_out(left_out, made,
                    fmt::format("{} gradient passes; a larger --most-passes runs it",
                                human_count(std::ceil(candidate.cost.work))));
        } else {
          out.push_back(std::move(made));
        }
      }
    }
    if (out.empty()) refuse(left_out);
    return out;
  }

  // The most accurate of its epsilon, on average.
  [[nodiscard]] static bool best(const Comparison& found, const std::vector<Plan>& plans,
                                 std::size_t p) {
    const double here = scores_of(found.of_plans[p]).accuracy.mean;
    for (std::size_t q = 0; q < plans.size(); ++q) {
      if (plans[q].budget.epsilon == plans[p].budget.epsilon && !found.of_plans[q].empty() &&
          scores_of(found.of_plans[q]).accuracy.mean > here) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] static std::string figures(const Comparison& found,
                                           const std::vector<Plan>& plans) {
    std::vector<std::vector<std::string>> lines;
    const auto block = [&](const std::string& name) {
      lines.push_back({"", name, "accuracy", "log-loss", "AUC", "time", "passes"});
    };
    const auto add = [&](const char* mark, std::string_view name, std::span<const Trial> trials,
                         const std::string& passes) {
      const Scores s = scores_of(trials);
      lines.push_back({mark, std::string(name), percent(s.accuracy), number(s.log_loss),
                       number(s.auc), s.seconds.mean > 0 ? duration(s.seconds) : "", passes});
    };
    double epsilon = 0;
    for (std::size_t p = 0; p < plans.size(); ++p) {
      if (found.of_plans[p].empty()) continue;
      const Plan& plan = plans[p];
      if (plan.budget.epsilon != epsilon) block(fmt::format("ε = {:.4g}", plan.budget.epsilon));
      epsilon = plan.budget.epsilon;
      add(best(found, plans, p) ? "→" : " ", name_of(plan.candidate().mechanism), found.of_plans[p],
          human_count(plan.candidate().cost.passes));
    }
    block("no privacy");
    if (!found.non_private.empty()) add(" ", "non-private fit", found.non_private, "");
    add(" ", "majority class", found.majority, "");

    std::istringstream text(table_of(lines));
    std::string out, line;
    while (std::getline(text, line)) {
      if (line.find("accuracy") != std::string::npos && !out.empty()) out += '\n';
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
    return out;
  }
  // The member `table` hides the function.
  static std::string table_of(const std::vector<std::vector<std::string>>& lines) {
    return gibbsite::cli::table(lines);
  }

  [[nodiscard]] static std::string remarks(const std::vector<LeftOut>& left_out,
                                           const std::vector<double>& budgets) {
    std::string out =
        "\nMean ± standard deviation over seeds, on the held-out rows. →: the most accurate of its "
        "ε.\n";
    for (const LeftOut& one : left_out) {
      out += fmt::format("left out{}: {}: {}\n",
                         one.epsilons.size() == budgets.size()
                             ? ""
                             : fmt::format(" at ε = {}", fmt::join(one.epsilons, ", ")),
                         one.mechanism, one.why);
    }
    return out;
  }

  [[nodiscard]] nlohmann::json as_json(const Comparison& found, const std::vector<Plan>& plans,
                                       const std::vector<LeftOut>& left_out,
                                       const CompareOptions& options, const Schema& domain,
                                       const Backend& engines) const {
    const bool splits = test.data.empty();
    nlohmann::json out{{"schema", "gibbsite-compare/1"},
                       {"warning", not_private},
                       {"software", {{"gibbsite", GIBBSITE_VERSION}, {"backend", engines.name()}}},
                       {"data", shown(table.data)},
                       {"test", nullptr},
                       {"held_out_share", nullptr},
                       {"training_rows", found.training_rows},
                       {"held_out_rows", found.held_out_rows},
                       {"features", domain.features()},
                       {"delta", plans.front().budget.delta},
                       {"adjacency", to_string(plans.front().budget.adjacency)},
                       {"first_seed", options.first_seed},
                       {"seeds", options.seeds},
                       {"results", nlohmann::json::array()},
                       {"yardsticks", {{"non_private", nullptr}}},
                       {"left_out", nlohmann::json::array()}};
    if (splits) {
      out["held_out_share"] = held_out.value_or(HeldOut().share);
    } else {
      out["test"] = shown(test.data);
    }
    for (std::size_t p = 0; p < plans.size(); ++p) {
      if (found.of_plans[p].empty()) continue;
      const Plan& plan = plans[p];
      nlohmann::json result = to_json(found.of_plans[p]);
      result["epsilon"] = plan.budget.epsilon;
      result["mechanism"] = name_of(plan.candidate().mechanism);
      result["loss"] = plan.problem.loss;
      result["passes"] = plan.candidate().cost.passes;
      result["best"] = best(found, plans, p);
      out["results"].push_back(std::move(result));
    }
    if (!found.non_private.empty()) out["yardsticks"]["non_private"] = to_json(found.non_private);
    out["yardsticks"]["majority"] = to_json(found.majority);
    for (const LeftOut& one : left_out) {
      out["left_out"].push_back(
          {{"mechanism", one.mechanism}, {"epsilons", one.epsilons}, {"why", one.why}});
    }
    return out;
  }

  [[nodiscard]] std::string picture(const Comparison& found, const std::vector<Plan>& plans,
                                    std::uint64_t count) const {
    std::vector<Curve> curves;
    for (std::size_t p = 0; p < plans.size(); ++p) {
      if (found.of_plans[p].empty()) continue;
      const std::string name(name_of(plans[p].candidate().mechanism));
      auto curve = std::ranges::find(curves, name, &Curve::name);
      if (curve == curves.end()) curve = curves.insert(curves.end(), Curve{name, {}});
      curve->points.push_back({plans[p].budget.epsilon, scores_of(found.of_plans[p]).accuracy});
    }
    std::vector<Level> levels;
    if (!found.non_private.empty()) {
      levels.push_back({"non-private fit", scores_of(found.non_private).accuracy.mean});
    }
    levels.push_back({"majority class", scores_of(found.majority).accuracy.mean});
    const std::string file = std::filesystem::path(table.data).filename().string();
    return accuracy_plot(
        fmt::format(
            "Accuracy on held-out rows of {}",
            shown(test.data.empty() ? file : std::filesystem::path(test.data).filename().string())),
        fmt::format("{} rows fitted, {} held out, δ = {:.2g}; mean{}",
                    human_count(static_cast<double>(found.training_rows)),
                    human_count(static_cast<double>(found.held_out_rows)),
                    plans.front().budget.delta,
                    count == 1 ? " of one seed"
                               : fmt::format(" ± standard deviation over {} seeds", count)),
        picture_mark, curves, levels);
  }

  template <class Text>
  void write(const char* option, const std::string& path, Text text) const {
    if (path.empty()) return;
    write_new(
        path, force,
        [&](Existing existing) { write_file_atomically(path, text(), private_file, existing); },
        option);
  }

 public:
  static constexpr std::uint64_t usual_most_passes = 20000;
};

void define_compare(CLI::App& app) {
  const auto command = std::make_shared<CompareCommand>();
  command->table.add_to(app, true);
  app.add_option("--schema", command->schema, "schema of the table (TOML)")
      ->type_name("FILE")
      ->required();
  add_numbers(app, "--epsilon", command->epsilons,
              "budgets ε, with commas between; default 0.1,0.5,1,2");
  add_number(app, "--delta", command->delta,
             "budget δ; default 1/n² of the n rows fitted, to two digits");
  app.add_option("--mechanism", command->mechanism_list,
                 fmt::format("some of {}, with commas between; default: all",
                             fmt::join(mechanism_names(), ", ")))
      ->type_name("LIST");
  add_count(app, "--seeds", command->seeds, "seeds, of splits and of noise; default 10");
  add_count(app, "--seed", command->seed, "the first of them; default 1", 0);
  auto* share = add_number(app, "--held-out", command->held_out,
                           "share of the rows that judge, others for each seed; default 0.3");
  app.add_option("--test", command->test.data, "table that judges in their place")
      ->type_name("FILE")
      ->excludes(share);
  app.add_option("--test-labels", command->test.labels, "labels of a .npy table of --test")
      ->type_name("FILE");
  add_count(app, "--most-passes", command->most_passes,
            fmt::format("leave out what plans more gradient passes over the rows; default {}",
                        CompareCommand::usual_most_passes));
  add_output(app, "--json", command->json, "write everything, each seed's figures included");
  add_output(app, "--svg", command->svg, "draw accuracy against ε");
  app.add_flag("--force", command->force, "replace the files of --json and --svg if there are any");
  app.add_option("--backend", command->backend, "auto, reference, cpu or cuda")->type_name("NAME");
  add_progress(app, command->quiet, command->progress, "show no progress");
  app.callback([command] { command->run(); });
}

const Register compare_command{
    {10, "compare", "Every mechanism on held-out rows; not private",
     "gibbsite compare --data table.csv --schema table.toml --epsilon 0.1,0.5,1,2 --svg "
     "compare.svg",
     define_compare}};

}  // namespace
}  // namespace gibbsite::cli
