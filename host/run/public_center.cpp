#include "gibbsite/run/public_center.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <variant>

#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/curves.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/mechanism/learning.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/run/public_prior.hpp"
#include "gibbsite/run/public_schema.hpp"

namespace gibbsite {
namespace {

// Measured (bench/results/public-2026-11-27.md); neither has to do with privacy.
constexpr double most_signal = 30, public_precision = 1;

// The schema for a public table, which need not say whose its rows are, nor what they count.
Schema of_rows(Schema schema) {
  for (Column& column : schema.columns) {
    if (column.type != ColumnType::person && column.type != ColumnType::weight) continue;
    column = Column{.name = column.name};
    column.type = ColumnType::ignore;
  }
  return schema;
}

}  // namespace

bool gains_by_center(const Plan& plan) {
  const auto* const settings = std::get_if<Whitened>(&plan.candidate().mechanism);
  if (settings == nullptr || settings->information_share > 0) return false;
  const Neighbors& who = plan.candidate().guarantee.who;
  return signal_per_feature(plan.problem, who, settings->query_mu) *
             static_cast<double>(plan.problem.outputs) <
         most_signal;
}

bool has_usable_labels(const Dataset& rows) {
  constexpr std::uint64_t readable_of_each = 20;
  const IngestCounts& counts = rows.counts;
  const std::uint64_t strange =
      counts.invalid_labels + counts.unlisted_labels + counts.clamped_labels;
  return strange <= rows.rows() / readable_of_each &&
         std::ranges::adjacent_find(rows.y, std::ranges::not_equal_to{}) != rows.y.end();
}

std::vector<double> public_center(const Dataset& rows, const Plan& plan, Backend& backend) {
  if (!rows.labeled()) throw BadInput("public: has no labels; give a table with the label column");
  if (rows.features() != plan.problem.row_features())
    throw BadInput("public: has other features than the plan; read it by the schema of the plan");
  const Potential potential{
      .engine = backend.load(rows.view(), rows.y, loss_named(plan.problem.loss)),
      .beta = 1,
      .prior_precision = public_precision,
      .center = {}};
  return minimize(potential, 1e-6).theta;
}

Model centered_model(Model model, Plan& plan, const Schema& schema, std::vector<double> center) {
  model.center = std::move(center);
  plan.problem.center_norm = model.constants(schema, plan.problem.rows).center_norm;
  return model;
}

Model model_by_public_rows(PlannedFit& fit, const Dataset& rows, const Schema& schema,
                           Backend& backend) {
  Model out = model_of(fit.request, fit.plan);
  if (!gains_by_center(fit.plan) || !has_usable_labels(rows)) return out;
  return centered_model(std::move(out), fit.plan, schema, public_center(rows, fit.plan, backend));
}

Model model_by_public_table(PlannedFit& fit, const std::string& path, Backend& backend,
                            const Note& note) {
  if (!gains_by_center(fit.plan)) return model_of(fit.request, fit.plan);
  if (!fit.asked || !fit.chosen)
    throw BadInput(Field{"public"}, "is a file, and the plan is of no schema", "plan with one");
  const Schema &asked = *fit.asked, &chosen = *fit.chosen;
  const auto tell = [&](const std::string& line) {
    if (note) note(line);
  };
  const std::vector<std::string> names = column_names(path);
  if (std::ranges::find(names, chosen.label_name) == names.end()) {
    tell(fmt::format("{} has no column {}, so the prior's center is 0", shown(path),
                     gibbsite::quoted(chosen.label_name)));
    return model_of(fit.request, fit.plan);
  }
  const Dataset rows = with_curves(read_public_rows(path, of_rows(asked)), of_rows(chosen));
  if (!chosen.from_public || sha256_of_file(path) != chosen.from_public->sha256) {
    throw BadInput(Field{"public"}, gibbsite::quoted(path) + " changed while it was read",
                   "give a file that does not");
  }
  tell(has_usable_labels(rows)
           ? fmt::format("the prior's center, and where the path begins, follow from {} too",
                         shown(path))
           : fmt::format("labels of {} are of one kind or cannot be read, so the prior's center "
                         "is 0",
                         shown(path)));
  return model_by_public_rows(fit, rows, chosen, backend);
}

}  // namespace gibbsite
