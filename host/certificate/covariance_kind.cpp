// Noisy moments of several columns: their JSON, and what verify asks of them.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "certificate/model_json.hpp"
#include "certificate/release_of.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/model/covariance_model.hpp"
#include "model/column_type.hpp"

namespace gibbsite {

using nlohmann::json;

json model_json(const CovarianceModel& model) {
  json out = {{"kind", "covariance"},
              {"columns", model.columns()},
              {"preprocessing", schema_json(model.schema)},
              {"sums", model.sums},
              {"moments", model.moments}};
  if (model.count) out["count"] = *model.count;
  return out;
}

CovarianceModel CovarianceKind::model_from_json(const json& model, const std::string& source) {
  if (text_field(model, "kind", source) != "covariance")
    throw BadInput(source + ": kind: must be covariance; use the file as it was written");
  CovarianceModel out{.schema = schema_from_json(field(model, "preprocessing", source), source)};
  const std::size_t d = out.columns().size();
  for (const Column& column : out.schema.columns) {
    if (column.type == ColumnType::number && !column.is_curve()) continue;
    if (says_how_rows_count(column.type)) continue;
    throw BadInput(source + ": preprocessing: columns must be numbers; use the file as written");
  }
  out.sums = numbers_field(model, "sums", d, source);
  out.moments = numbers_field(model, "moments", d * (d + 1) / 2, source);
  if (model.contains("count")) out.count = number_field(model, "count", source);
  return out;
}

std::size_t draws_of(const CovarianceModel& /*model*/) { return 1; }

CovarianceProblem problem_of(const CovarianceModel& model, const CovarianceCertificate& claimed) {
  CovarianceProblem out{.rows = claimed.problem.rows,
                        .columns = model.columns().size(),
                        .weighted = counts_by_weight(model.schema)};
  if (model.schema.person() != nullptr) out.rows_of_person = claimed.claimed.who.rows_per_person;
  return out;
}

// Every number is on the grid of its noise, and no further than it from what so many rows can have.
void check_model(Verifier& v, const CovarianceModel& model, const CovarianceCertificate& c) {
  const MomentDeviations noise = moment_deviations(c.mechanism, c.problem.columns,
                                                   c.claimed.who.adjacency, c.problem.weighted);
  const auto rows = static_cast<double>(c.problem.most_weight());
  std::size_t off = 0, beyond = 0;
  const auto check = [&](double value, double deviation, double least) {
    const double reach = answer_reach(deviation);
    off += !(std::remainder(value, answer_grid(deviation)) == 0);
    beyond += !(value >= least - reach && value <= rows + reach);
  };
  v.check(is_covariance_schema(model.schema, c.claimed.who.adjacency),
          "model.preprocessing: of numbers alone, without what moments know nothing of");
  v.check(model.count.has_value() == (noise.count > 0),
          "model.count: there under add-remove and with weights, and there only");
  if (model.count && noise.count > 0) check(*model.count, noise.count, 0);
  for (const double sum : model.sums) check(sum, noise.sum, -rows);
  std::size_t at = 0;
  for (std::size_t a = 0; a < model.sums.size(); ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      const double least = a == b ? -rows * noise.shift : -rows;
      check(model.moments.at(at++), a == b ? noise.square : noise.product, least);
    }
  }
  v.check(off == 0, fmt::format("model.moments: {} off their release grids", off));
  v.check(beyond == 0, fmt::format("model.moments: {} that no noise leads to", beyond));
}

GIBBSITE_RELEASE_KIND(CovarianceKind);

}  // namespace gibbsite
