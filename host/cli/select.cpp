// A private choice among candidates, by scores of a table's rows.
#include "gibbsite/run/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/csv_columns.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/release/row_scores.hpp"
#include "gibbsite/run/look.hpp"
#include "gibbsite/run/public_schema.hpp"
#include "interrupt.hpp"
#include "ledger.hpp"
#include "options.hpp"
#include "ranks.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

// The law as it is computed is off by 2^-100: a delta of no weight pays for it.
constexpr double default_delta_of_choices = 1e-15;

// NaN for what is no number.
double score_of(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? value : std::numeric_limits<double>::quiet_NaN();
}

struct SelectCommand {
  TableArguments table;
  PlanArguments who;
  std::string scores, candidates, models, schema, score = "accuracy", out, ledger_path;
  std::optional<double> ball;
  std::vector<double> range;
  bool force = false, json = false;

  void run() const {
    require_of_input();
    const Budget budget{.epsilon = *who.epsilon,
                        .delta = who.delta.value_or(default_delta_of_choices),
                        .adjacency = adjacency_from_string(who.adjacency),
                        .rows_per_person = who.rows_per_person.value_or(1)};
    budget.validate();
    require_cap(budget);
    std::vector<LinearModel> of;
    const SelectionModel shape = shape_of(of);
    shape.validate();
    const auto planned = [&](std::uint64_t rows, const Budget& at) {
      return plan_select({.rows = rows, .candidates = shape.candidates.size()}, at);
    };
    static_cast<void>(planned(who.rows_cap.value_or(budget.rows_per_person), budget));
    std::optional<Ledger> ledger = opened();
    catch_interrupts();

    ScoreSums sums(shape.candidates.size(), shape.lo, shape.hi);
    if (shape.ball) {
      add_points(*shape.ball, sums);
    } else {
      models.empty() ? add_given(shape, sums) : add_models(of, sums);
    }
    if (who.rows_cap && sums.rows() > *who.rows_cap) {
      throw BadInput(fmt::format(
          "--rows-cap: the table has more than {} rows; give a public bound that holds (private: "
          "how many rows there are is not public)",
          *who.rows_cap));
    }
    if (sums.rows() == 0) throw BadInput("--scores, --data: has no rows; give a table with some");
    // From here on public numbers decide.
    const std::uint64_t rows = who.rows_cap.value_or(sums.rows());
    const SelectPlan plan = planned(rows, budget);
    look_at(
        plan, budget, [&](const Budget& smaller) { return planned(rows, smaller); },
        ledger ? &*ledger : nullptr, warn);
    warn_of_uncounted_rows(budget, PeopleBy::nobody, warn);
    FitOptions options;
    options.ledger = ledger ? &*ledger : nullptr;
    const SelectRelease made = release_selection(shape, sums, plan, Key::from_os(), options);
    write_entered(out, force, ledger,
                  [&](Existing existing) { write_release(out, made, existing); });
    say(made, plan, ledger);
  }

 private:
  void require_of_input() const {
    if (ranks().size() > 1)
      throw BadInput("select: runs in one process; start it without the launcher of ranks");
    const bool given = !scores.empty(), of_models = !models.empty();
    if (int{given} + int{of_models} + int{ball.has_value()} != 1) {
      throw BadInput(
          "--scores: give it, or --models and the --data that they are scored on, or --ball with "
          "--data and --schema");
    }
    if (given && (!table.data.empty() || score != "accuracy"))
      throw BadInput("--data, --score: are of --models; leave them out");
    if (!given && (table.data.empty() || !range.empty() || !candidates.empty())) {
      throw BadInput(table.data.empty()
                         ? "--data: is missing; give the table that --models or a --ball are "
                           "scored on"
                         : "--range, --candidates: are of --scores; leave them out");
    }
    if (ball.has_value() == schema.empty()) {
      throw BadInput(schema.empty() ? "--schema: is missing; give the public domain of --data"
                                    : "--schema: is of --ball; leave it out");
    }
    if (ball && score != "accuracy") throw BadInput("--score: is of --models; leave it out");
    if (!range.empty() && range.size() != 2)
      throw BadInput("--range: must be two numbers, LO,HI, which scores are clamped to");
    for (const std::string& path : {scores, table.data, table.labels, schema})
      if (!path.empty()) require_other_file(out, path, "the table");
    require_new(out, force);
    require_writable(out, "--out");
  }

  void require_cap(const Budget& budget) const {
    const bool replaced = budget.adjacency == Adjacency::replace_one;
    if (replaced == who.rows_cap.has_value()) {
      throw BadInput(replaced
                         ? "--rows-cap: has a meaning with --adjacency add-remove; leave it out"
                         : "--rows-cap: is missing; under add-remove the number of rows is not "
                           "public, give a bound that holds");
    }
  }

  [[nodiscard]] std::optional<Ledger> opened() const {
    if (ledger_path.empty()) return std::nullopt;
    require_not_of_ledger(out, ledger_path, "--out");
    std::optional<Ledger> ledger(std::in_place, ledger_path);
    static_cast<void>(ledger->read());
    return ledger;
  }

  // What is chosen among; `of` gets the models of --models.
  [[nodiscard]] SelectionModel shape_of(std::vector<LinearModel>& of) const {
    if (ball) {
      const Schema domain = read_schema(schema);
      require_other_table(domain, table.data);
      return selection_in_ball(coefficient_ball(domain, *ball, most_select_candidates));
    }
    SelectionModel shape;
    shape.score = "given";
    if (models.empty()) {
      shape.candidates = candidates.empty() ? names_of_first_line() : pieces(candidates);
      if (!range.empty()) shape.lo = range.front(), shape.hi = range.back();
    } else {
      shape.score = score;
      if (pieces(models).size() < 2)
        throw BadInput(
            "--models: one is chosen among two or more; give their files, with commas "
            "between");
      for (const std::string& path : pieces(models)) of.push_back(model_of(path, shape));
    }
    return shape;
  }

  // Names are published. A line of numbers is a person's.
  [[nodiscard]] std::vector<std::string> names_of_first_line() const {
    std::vector<std::string> out = first_line_names(scores);
    for (const std::string& name : out) {
      if (!name.empty() && std::isnan(score_of(name))) continue;
      throw BadInput(
          "--scores: a cell of the first line is a number or empty, so this looks like a row and "
          "not like names, which are published; put a line of names above it, or give --candidates");
    }
    return out;
  }

  // A candidate of --models: a file whose certificate holds, or is void alone.
  static LinearModel model_of(const std::string& path, SelectionModel& shape) {
    const std::string text = read_release_text(path);
    const Release release = parse_release(text, path);
    const nlohmann::json file = nlohmann::json::parse(text);
    const Verification check = verify(file);
    if (!check.valid && !(check.void_run && check.failures.size() == 1)) {
      throw BadInput(
          fmt::format("{}: its certificate does not hold ({}); use the file as fit wrote "
                      "it",
                      path, check.failures.front()));
    }
    shape.candidates.push_back(path);
    shape.of.push_back(file.at("certificate").at("digest").get<std::string>());
    if (release.model().schema.invalid == Invalid::refuse) shape.schema.invalid = Invalid::refuse;
    return release.model();
  }

  void add_given(const SelectionModel& shape, ScoreSums& sums) const {
    std::vector<double> row(shape.candidates.size());
    read_csv_columns(scores, shape.candidates, [&](std::span<const std::string> cells) {
      if (sums.rows() % 4096 == 0) stop_if_asked();
      std::ranges::transform(cells, row.begin(), score_of);
      sums.add(row);
    });
  }

  void add_models(const std::vector<LinearModel>& of, ScoreSums& sums) const {
    std::vector<std::vector<double>> all;
    for (const LinearModel& model : of) {
      stop_if_asked();
      const Dataset data = table.read(model.schema, reading_to_evaluate(model.schema));
      all.push_back(row_scores(model, data, score));
    }
    std::vector<double> row(all.size());
    for (std::size_t i = 0; i < all.front().size(); ++i) {
      for (std::size_t c = 0; c < all.size(); ++c) row[c] = all[c].at(i);
      sums.add(row);
    }
  }

  void add_points(const CoefficientBall& of, ScoreSums& sums) const {
    const Dataset data = table.read(
        of.schema, {.labels = ReadOptions::Labels::required, .label_path = {}, .progress = {}});
    std::vector<std::vector<double>> points;
    for (const auto& z : of.lattice()) points.push_back(of.coefficients(z));
    log_likelihoods(data, points, [&](std::span<const double> row) {
      if (sums.rows() % 64 == 0) stop_if_asked();
      sums.add(row);
    });
  }

  // A draw in a ball: what it is of, and its coefficients.
  static std::string drawn_lines(const SelectionModel& model, const SelectPlan& plan) {
    const double range = model.hi - model.lo;
    const std::vector<double> theta = *model.coefficients();
    const std::vector<std::string> names = model.ball->schema.feature_names();
    std::vector<std::vector<std::string>> lines{{"feature", "coefficient"}};
    for (std::size_t j = 0; j < names.size(); ++j)
      lines.push_back({shown(names[j]), fmt::format("{:.4g}", theta[j])});
    return fmt::format(
        "Drawn: one of {} points of a lattice in the ball of radius {:.4g}, by the logistic "
        "posterior at β = {:.4g}. But for one time in twenty its log-likelihood is at most {:.3g} "
        "below the best point's.\n\n{}",
        model.candidates.size(), model.ball->radius,
        std::get<ExponentialPick>(plan.mechanism).weight / range, plan.behind * range,
        gibbsite::cli::table(lines));
  }
  static std::string chosen_line(const SelectionModel& model, const SelectPlan& plan) {
    if (model.ball) return drawn_lines(model, plan);
    return fmt::format(
        "Chosen: {}, of {} candidates. But for one time in twenty its scores sum to at most {:.3g} "
        "full rows less than the best one's.\n",
        shown(model.candidates.at(model.chosen)), model.candidates.size(), plan.behind);
  }

  void say(const SelectRelease& made, const SelectPlan& plan,
           const std::optional<Ledger>& ledger) const {
    const SelectionModel& model = made.model();
    const std::string& name = model.candidates.at(model.chosen);
    if (json) {
      const nlohmann::json file = to_json(made);
      nlohmann::json said{{"chosen", name},
                          {"guarantee", file.at("certificate").at("guarantee")},
                          {"digest", file.at("certificate").at("digest")}};
      if (model.ball) said["coefficients"] = *model.coefficients();
      fmt::print("{}\n", said.dump(2));
      return;
    }
    fmt::print("{}\n{}\n{}Written: {}; next:\n  gibbsite verify {}\n",
               wrapped_lines(chosen_line(model, plan)), wrapped_lines(in_words(made.certificate())),
               ledger ? entered_line(*ledger) : "", StandardOutput::named(out), out);
  }
};

void define_select(CLI::App& app) {
  const auto command = std::make_shared<SelectCommand>();
  app.add_option("--scores", command->scores,
                 "CSV of scores: a row a row of the table, a column a candidate")
      ->type_name("FILE");
  app.add_option("--candidates", command->candidates,
                 "--scores: the columns to choose among, with commas between; default: all")
      ->type_name("LIST");
  add_numbers(app, "--range", command->range,
              "--scores: public range that scores are clamped to; default 0,1")
      ->type_name("LO,HI");
  app.add_option("--models", command->models,
                 "instead of --scores: model files to choose among, with commas between, by how "
                 "right they are about --data")
      ->type_name("FILES");
  command->table.add_to(app, false);
  add_number(
      app, "--ball", command->ball,
      "instead of --scores: draws coefficients of --data's logistic posterior from a lattice "
      "in the ball of this radius, purely private");
  app.add_option("--schema", command->schema, "--ball: public domain of --data")->type_name("FILE");
  app.add_option("--score", command->score,
                 "--models: accuracy (default) or brier, 1 less half the squared distance of the "
                 "probabilities to the class")
      ->type_name("NAME");
  add_number(app, "--epsilon", command->who.epsilon, "privacy budget ε, above 0")->required();
  add_number(app, "--delta", command->who.delta,
             "default 1e-15: all it pays for is rounding, the choice is private by ε alone");
  command->who.add_neighbors_to(app);
  app.add_option("--ledger", command->ledger_path,
                 "budget of all releases about these people, where this one is entered")
      ->type_name("FILE");
  app.add_option("--out", command->out, "the choice with its certificate, JSON")
      ->type_name("FILE")
      ->required();
  add_force(app, command->force);
  app.add_flag("--json", command->json, "print JSON");
  app.callback([command] { command->run(); });
}

const Register select_command{{4, "select", "Choose among candidates by private scores",
                               "gibbsite select --scores scores.csv --epsilon 1 --out choice.json",
                               define_select}};

}  // namespace
}  // namespace gibbsite::cli
