#pragma once
// Model files of every kind, made by the planner and hand-filled draws.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "certificate/certify.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/run/fit_family.hpp"
#include "mechanism/moments_question.hpp"
#include "run/run_plan.hpp"

namespace gibbsite::testing {

inline Schema example_schema(bool intercept) {
  Schema schema;
  schema.label_name = "income";
  schema.label = TwoClasses{.positive = ">50K", .negative = "<=50K"};
  schema.row_norm = 1.5;
  schema.intercept = intercept;
  schema.text.has_missing = true;
  schema.text.missing = "?";
  schema.columns = {
      {"age", ColumnType::number, 17, 90, {}, false},
      {"work", ColumnType::category, 0, 1, {"Private", "State, gov", "\"own\" ü"}, true, true, "?"},
      {"fnlwgt", ColumnType::ignore, 0, 1, {}, false},
      {"hours", ColumnType::number, -4, 4, {}, false}};
  return schema;
}

struct Example {
  std::string name;
  Plan plan;
  Release release;
};

/// The plan of `plan_options`; where they name a mechanism its offer alone, for all of them cost
/// each test a second.
inline Plan example_plan(const Problem& problem, const Budget& budget,
                         const PlanOptions& plan_options) {
  if (plan_options.mechanism == "auto") return plan(problem, budget, plan_options);
  Plan made;
  made.problem = problem;
  made.budget = budget;
  std::visit(
      [&]<class M>(const M&) {
        made.candidates = {candidate(std::type_identity<M>{}, problem, budget, plan_options)};
      },
      mechanism_named(plan_options.mechanism));
  return made;
}

inline Example make_example(const std::string& name, const Schema& schema, std::uint64_t rows,
                            const Budget& budget, const PlanOptions& plan_options,
                            std::optional<double> prior, NoiseKind noise = NoiseKind::chacha20,
                            const std::string& loss = "logistic") {
  LinearModel model;
  const Plan made =
      example_plan(glm(loss, {.prior_precision = prior, .center = {}}).constants(schema, rows),
                   budget, plan_options);
  EXPECT_TRUE(made.candidate().feasible) << name << ": " << made.candidate().why;
  model.schema = schema;
  model.loss = loss;
  for (std::uint64_t c = 0; c < budget.draws; ++c) {
    std::vector<double> theta(schema.features() * loss_named(loss).outputs());
    for (std::size_t j = 0; j < theta.size(); ++j) {
      theta[j] = 1.0 / 3.0 - 0.1 * static_cast<double>(j) + 0.01 * static_cast<double>(c);
    }
    model.draws.push_back(theta);
  }
  if (std::holds_alternative<Whitened>(made.candidate().mechanism)) {
    const std::size_t d = schema.features();
    const std::size_t outputs = loss_named(loss).outputs();
    const auto& w = std::get<Whitened>(made.candidate().mechanism);
    const Neighbors who = budget.neighbors();
    std::vector<double> square(d * d, 1), triangle(d * (d + 1) / 2, 0.25), vector(outputs * d, 3);
    const double curvature = made.problem.curvature * made.problem.traces.most;
    const bool small = is_small_budget(w);
    if (small) {
      const RowLengths lengths = row_lengths(schema);
      model.answers.push_back({"lengths",
                               lengths.half(),
                               length_deviation_up(w, who, lengths.half(), 0),
                               {lengths.low, lengths.high},
                               {0.5}});
    }
    for (int i = 0; i < (w.second_moment_share > 0 && !small ? 2 : 1); ++i) {
      const double clip = i > 0 ? 2 : w.first_clip;
      model.answers.push_back(
          {"moments", clip, moment_deviation_up(w, who, i > 0, clip, 0), square, triangle});
    }
    const double clip = 0.5 * gradient_clip(w, static_cast<double>(d));
    if (small) {
      model.answers.push_back({"start", clip, start_deviation_up(w, who, clip, 0),
                               std::vector<double>(outputs * d, 0), vector});
    }
    for (std::uint64_t t = 1; static_cast<double>(t) <= w.iterations; ++t) {
      model.answers.push_back(
          {"gradient", clip, gradient_deviation_up(w, who, t, clip, 0), vector, vector});
      model.answers.push_back(
          {"curvature", 0, curvature_deviation_up(w, who, curvature, 0), vector, {17}});
    }
  }
  if (const auto* const metric = std::get_if<MetricPath>(&made.candidate().mechanism)) {
    const std::size_t d = schema.features();
    model.answers.push_back(
        {"moments", metric->first_clip,
         moment_deviation_up(Wide(metric->moments_mu), budget.neighbors(), metric->first_clip, 0),
         std::vector<double>(d * d, 1), std::vector<double>(d * (d + 1) / 2, 0.25)});
  }
  Analysis found = analysis_of_plan(made);
  model = on_release_grid(std::move(model), made.candidate().mechanism, found.release_grid);
  const RunFacts facts{noise, "reference", schema.invalid == Invalid::refuse};
  return {
      name, made,
      ReleaseAccess::make(std::move(model), certify<LinearKind>(made, facts, std::move(found)))};
}

/// That schema with a label of the kind that this loss predicts.
inline Schema labeled_for(Schema schema, const std::string& loss) {
  const LabelKind kind = loss_named(loss).label();
  if (kind == LabelKind::classes) schema.label = Classes{{"own", "rent", "none of \"both\""}};
  if (kind == LabelKind::amount) schema.label = Amount{{.lo = 20, .hi = 520}, 60};
  if (kind == LabelKind::count) schema.label = Count{{.lo = 0, .hi = 12}};
  return schema;
}

/// Releases of losses of amounts, of counts and of classes whose curvature jumps, of every
/// mechanism that runs them.
inline const std::vector<Example>& loss_examples() {
  static const std::vector<Example> all = [] {
    Schema tiny;
    tiny.label_name = "y";
    tiny.label = TwoClasses{.positive = "1"};
    tiny.columns = {{"x", ColumnType::number, 0, 1, {}, false}};
    std::vector<Example> out;
    const auto make = [&](const std::string& loss, const char* mechanism, const Schema& schema,
                          std::uint64_t rows, const Budget& budget, double tv,
                          std::optional<double> prior) {
      PlanOptions plan_options{.mechanism = mechanism};
      if (tv > 0) plan_options.tv = tv;
      out.push_back(make_example(std::string(loss).append(", ").append(mechanism),
                                 labeled_for(schema, loss), rows, budget, plan_options, prior,
                                 NoiseKind::chacha20, loss));
    };
    const Budget usual{1.0, 1e-6, {}, 1, 1}, loose{1.0, 0.2, {}, 1, 1};
    for (const char* const loss : {"huber", "poisson", "pseudo-huber", "smoothed-hinge"}) {
      make(loss, "path", example_schema(false), 1000, usual, 0, {});
      make(loss, "proximal", example_schema(true), 1000, usual, 1e-10, 1.0);
      make(loss, "rejection", example_schema(false), 200, usual, 1e-10, 20.0);
      make(loss, "output", example_schema(true), 1000, usual, 0, {});
      make(loss, "output-pure", example_schema(true), 1000, {1.0, 1e-30, {}, 1, 1}, 0, {});
      make(loss, "objective", example_schema(true), 1000, usual, 0, {});
      make(loss, "objective-pure", example_schema(true), 1000, {1.0, 1e-20, {}, 1, 1}, 0, {});
      make(loss, "metric-path", example_schema(true), 5000, {1.0, 1e-6, {}, 1, 2}, 0, {});
      make(loss, "metric-proximal", example_schema(true), 1000, {1.0, 1e-4, {}, 1, 1}, 1e-7, {});
      make(loss, "averaged", tiny, 5, loose, 0.01, 1.0);
      make(loss, "dalalyan", tiny, 5, loose, 0.02, 1.0);
    }
    return out;
  }();
  return all;
}

/// Examples with the squared loss: one ball leaves coefficients where they are, the other does not.
inline const std::vector<Example>& squared_examples() {
  static const std::vector<Example> all = [] {
    const auto make = [](const char* name, bool intercept, const Budget& budget, double ball) {
      return make_example(std::string("squared, ") + name,
                          labeled_for(example_schema(intercept), "squared"), 1000, budget,
                          {.mechanism = "path", .ball = ball}, {}, NoiseKind::chacha20, "squared");
    };
    return std::vector<Example>{make("replace-one", false, {1.0, 1e-6, {}, 1, 1}, 2.0),
                                make("add-remove, intercept, 2 rows per person, 2 draws", true,
                                     {2.0, 1e-7, Adjacency::add_remove, 2, 2}, 0.5)};
  }();
  return all;
}

/// Releases of three classes, of every mechanism that runs them.
inline const std::vector<Example>& class_examples() {
  static const std::vector<Example> all = [] {
    Schema tiny;
    tiny.label_name = "y";
    tiny.columns = {{"x", ColumnType::number, 0, 1, {}, false}};
    const auto make = [&](const char* mechanism, const Schema& schema, std::uint64_t rows,
                          const Budget& budget, double tv, std::optional<double> prior) {
      PlanOptions plan_options{.mechanism = mechanism};
      if (tv > 0) plan_options.tv = tv;
      return make_example(std::string("softmax, ").append(mechanism),
                          labeled_for(schema, "softmax-3"), rows, budget, plan_options, prior,
                          NoiseKind::chacha20, "softmax-3");
    };
    const Budget usual{1.0, 1e-6, {}, 1, 1}, loose{1.0, 0.2, {}, 1, 1};
    return std::vector<Example>{
        make("path", example_schema(false), 1000, usual, 0, {}),
        make("proximal", example_schema(true), 1000, usual, 1e-10, 1.0),
        make("rejection", example_schema(false), 200, usual, 1e-10, 20.0),
        make("output", example_schema(true), 1000, usual, 0, {}),
        make("output-pure", example_schema(true), 1000, {1.0, 1e-30, {}, 1, 1}, 0, {}),
        make("metric-path", example_schema(true), 5000, {1.0, 1e-6, {}, 1, 2}, 0, {}),
        make("whitened", example_schema(true), 5000, usual, 0, {}),
        make("metric-proximal", example_schema(true), 1000, {1.0, 1e-4, {}, 1, 1}, 1e-7, {}),
        make("averaged", tiny, 5, loose, 0.02, 1.0),
        make("dalalyan", tiny, 5, loose, 0.04, 1.0)};
  }();
  return all;
}

/// The "certificate" object of its file.
inline nlohmann::json certificate_of(const Example& example) {
  return to_json(example.release)["certificate"];
}

inline const std::vector<Example>& examples() {
  Schema tiny;
  tiny.label_name = "y";
  tiny.label = TwoClasses{.positive = "1"};
  tiny.columns = {{"x", ColumnType::number, 0, 1, {}, false}};
  static const std::vector<Example> all{
      make_example("path", example_schema(false), 1000, {1.0, 1e-6, {}, 1, 1},
                   {.mechanism = "path"}, {}),
      make_example("path, intercept, 2 rows per person, 3 draws, m = 1", example_schema(true), 5000,
                   {0.5, 1e-9, Adjacency::replace_one, 2, 3}, {}, 1.0),
      make_example("path, add-remove", example_schema(true), 1 << 20,
                   {3.0, 1e-10, Adjacency::add_remove, 1, 1}, {.mechanism = "path"}, {}),
      make_example("path, minami-cor8", example_schema(false), 200, {1.0, 1e-6, {}, 1, 2},
                   {.calibration = Calibration::minami_cor8}, 0.5),
      make_example("dalalyan", tiny, 5, {1.0, 0.2, {}, 1, 1}, {.mechanism = "dalalyan", .tv = 0.02},
                   1.0),
      make_example("dalalyan, 2 draws", tiny, 5, {1.0, 0.2, {}, 1, 2},
                   {.mechanism = "dalalyan", .tv = 0.02}, 1.0),
      make_example("averaged", tiny, 5, {1.0, 0.2, {}, 1, 1}, {.mechanism = "averaged", .tv = 0.01},
                   1.0),
      make_example("proximal, 2 draws", example_schema(true), 1000, {1.0, 1e-6, {}, 1, 2},
                   {.mechanism = "proximal", .tv = 1e-10}, 1.0),
      make_example("proximal, padded", example_schema(true), 1000, {1.0, 1e-6, {}, 1, 1},
                   {.mechanism = "proximal", .tv = 1e-9, .padded = true}, 1.0),
      make_example("rejection", example_schema(false), 200, {1.0, 1e-6, {}, 1, 1},
                   {.mechanism = "rejection", .tv = 1e-10}, 20.0),
      make_example("output, 2 draws", example_schema(true), 1000, {1.0, 1e-6, {}, 1, 2},
                   {.mechanism = "output"}, {}),
      make_example("whitened", example_schema(true), 5000, {1.0, 1e-6, {}, 1, 1}, {}, {}),
      make_example("whitened, add-remove, 2 rows per person, one question for moments",
                   example_schema(false), 60, {0.5, 1e-9, Adjacency::add_remove, 2, 1},
                   {.mechanism = "whitened", .iterations = 7}, {}),
      make_example("metric-path, 3 draws", example_schema(true), 5000, {1.0, 1e-6, {}, 1, 3}, {},
                   {}),
      make_example("metric-proximal", example_schema(true), 1000, {1.0, 1e-4, {}, 1, 1},
                   {.mechanism = "metric-proximal", .tv = 1e-7}, {}),
      make_example("output-pure, 2 draws", example_schema(true), 1000, {1.0, 1e-30, {}, 1, 2},
                   {.mechanism = "output-pure"}, {}),
      make_example("objective, 2 draws", example_schema(true), 1000, {1.0, 1e-6, {}, 1, 2},
                   {.mechanism = "objective"}, {}),
      make_example("path in a ball", example_schema(true), 5000, {1.0, 1e-6, {}, 1, 2},
                   {.mechanism = "path", .ball = 0.5}, {}),
      make_example("objective-pure, 2 draws", example_schema(true), 1000, {1.0, 1e-20, {}, 1, 2},
                   {.mechanism = "objective-pure"}, {})};
  return all;
}

/// Released draws of every family, one of them trimmed, from a table of 30 people.
inline std::vector<FamilyRelease> families() {
  Schema whole = example_schema(false);
  whole.text.has_missing = false;  // families take no number of which cells may be missing
  whole.text.missing = Schema().text.missing;
  whole.columns.push_back({"visits", ColumnType::number, 0, 12, {}, false});
  whole.columns.push_back({"wait", ColumnType::number, 0.5, 4, {}, false});
  const auto draw = [&](Family family, const char* column, bool trimmed) {
    Dataset data;
    data.schema = family_schema(whole, column);
    FamilyProblem p = family_problem(data.schema, family, 30);
    if (p.is_centered()) p.center = 1;
    p.prior = p.default_prior();
    if (family == Family::mean) p.variance = 2;
    if (trimmed) p.trim = {0.05, 0.0};
    const std::size_t d = data.schema.features();
    data.dense().assign(30 * d, 0.0F);
    for (std::size_t i = 0; i < 30; ++i) {
      if (p.has_levels()) {
        data.dense()[i * d + i % d] = 1;
      } else {
        data.dense()[i] = static_cast<float>(i % 13) / 12;
      }
    }
    Budget budget;
    budget.draws = trimmed ? 3 : 1;
    return fit_family(data, plan_family(p, budget), Key::from_os());
  };
  return {draw(Family::bernoulli, "income", false),   draw(Family::categorical, "work", false),
          draw(Family::categorical, "work", true),    draw(Family::rate, "visits", false),
          draw(Family::waiting, "wait", false),       draw(Family::mean, "hours", false),
          draw(Family::bounded_mean, "hours", false), draw(Family::variance, "hours", false),
          draw(Family::laplace, "hours", false)};
}

}  // namespace gibbsite::testing
