#pragma once
// Model files of every kind, made by the planner and hand-filled draws.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "certificate/certify.hpp"
#include "gibbsite/model/model.hpp"
#include "run/sample.hpp"

namespace gibbsite::testing {

inline Schema example_schema(bool intercept) {
  Schema schema;
  schema.label = "income";
  schema.positive = ">50K";
  schema.negative = "<=50K";
  schema.row_norm = 1.5;
  schema.intercept = intercept;
  schema.has_missing = true;
  schema.missing = "?";
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

inline Example make_example(const std::string& name, const Schema& schema, std::uint64_t rows,
                            const Budget& budget, const PlanOptions& options,
                            std::optional<double> prior, NoiseKind noise = NoiseKind::chacha20) {
  Run run;
  run.plan =
      plan(logistic_regression({.prior_precision = prior, .center = {}}).constants(schema, rows),
           budget, options);
  EXPECT_TRUE(run.plan.certificate().feasible) << name << ": " << run.plan.certificate().why;
  run.schema = schema;
  run.loss = "logistic";
  run.noise = noise;
  run.backend = "reference";
  for (std::uint64_t c = 0; c < budget.draws; ++c) {
    std::vector<double> theta(schema.features());
    for (std::size_t j = 0; j < theta.size(); ++j) {
      theta[j] = 1.0 / 3.0 - 0.1 * static_cast<double>(j) + 0.01 * static_cast<double>(c);
    }
    run.draws.push_back(theta);
  }
  return {name, run.plan, release(run)};
}

inline PlanOptions dalalyan_options() {
  PlanOptions options;
  options.certificate = CertificateKind::dalalyan;
  options.tv = 0.02;
  return options;
}

inline PlanOptions tv_options(CertificateKind kind, double tv, bool padded = false) {
  PlanOptions options;
  options.certificate = kind;
  options.tv = tv;
  options.padded = padded;
  return options;
}

inline const std::vector<Example>& examples() {
  Schema tiny;
  tiny.label = "y";
  tiny.positive = "1";
  tiny.columns = {{"x", ColumnType::number, 0, 1, {}, false}};
  PlanOptions cor8;
  cor8.calibration = Calibration::minami_cor8;
  static const std::vector<Example> all{
      make_example("path", example_schema(false), 1000, {1.0, 1e-6, {}, 1, 1}, {}, {}),
      make_example("path, intercept, 2 rows per person, 3 draws, m = 1", example_schema(true), 5000,
                   {0.5, 1e-9, Adjacency::replace_one, 2, 3}, {}, 1.0),
      make_example("path, add-remove", example_schema(true), 1 << 20,
                   {3.0, 1e-10, Adjacency::add_remove, 1, 1}, {}, {}),
      make_example("path, minami-cor8", example_schema(false), 200, {1.0, 1e-6, {}, 1, 2}, cor8,
                   0.5),
      make_example("dalalyan", tiny, 5, {1.0, 0.2, {}, 1, 1}, dalalyan_options(), 1.0),
      make_example("dalalyan, 2 draws", tiny, 5, {1.0, 0.2, {}, 1, 2}, dalalyan_options(), 1.0),
      make_example("averaged", tiny, 5, {1.0, 0.2, {}, 1, 1},
                   tv_options(CertificateKind::averaged, 0.01), 1.0),
      make_example("proximal, 2 draws", example_schema(true), 1000, {1.0, 1e-6, {}, 1, 2},
                   tv_options(CertificateKind::proximal, 1e-10), 1.0),
      make_example("proximal, padded", example_schema(true), 1000, {1.0, 1e-6, {}, 1, 1},
                   tv_options(CertificateKind::proximal, 1e-9, true), 1.0),
      make_example("rejection", example_schema(false), 200, {1.0, 1e-6, {}, 1, 1},
                   tv_options(CertificateKind::rejection, 1e-10), 20.0)};
  return all;
}

}  // namespace gibbsite::testing
