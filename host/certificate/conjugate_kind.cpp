// Draws of a family: their JSON, and what verify asks of them.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "certificate/bought_json.hpp"
#include "certificate/model_json.hpp"
#include "certificate/release_of.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/bought_family.hpp"

namespace gibbsite {

using nlohmann::json;

json model_json(const FamilyModel& model) {
  json out = {{"kind", to_string(model.family)},
              {"column", model.column()},
              {"preprocessing", schema_json(model.schema)},
              {"draws", model.draws}};
  if (const auto levels = model.levels(); !levels.empty()) out["levels"] = levels;
  if (model.bought) out["bought"] = bought_json(*model.bought);
  return out;
}

FamilyModel ConjugateKind::model_from_json(const json& model, const std::string& source) {
  const std::string kind = text_field(model, "kind", source);
  const auto family = family_named(kind);
  if (!family)
    throw BadInput(fmt::format("{}: kind: {} is no family", source, gibbsite::quoted(kind)));
  FamilyModel out{*family, schema_from_json(field(model, "preprocessing", source), source), {}, {}};
  if (model.contains("bought")) out.bought = bought_from_json(model["bought"], source + ": bought");
  if (out.bought && !out.bought->parts.empty()) {
    throw BadInput(source + ": bought.date_parts: are of a model of rows; use the file as written");
  }
  if (out.bought && !out.bought->counting.columns().empty()) {
    throw BadInput(source +
                   ": bought: columns of people, weights or exposures are of a model of rows; use "
                   "the file as written");
  }
  if (out.schema.columns.size() != 1) {
    throw BadInput(source +
                   ": preprocessing: must have one column; use the file as it was written");
  }
  // Throws where the family does not fit the column.
  const FamilyProblem shape = family_problem(out.schema, *family, 1);
  const json& draws = field(model, "draws", source);
  if (!draws.is_array() || draws.empty()) {
    throw BadInput(source + ": draws: must be a list of draws; use the file as it was written");
  }
  for (const json& draw : draws) {
    out.draws.push_back(
        numbers_field({{"draws", draw}}, "draws", shape.has_levels() ? shape.levels : 1, source));
  }
  return out;
}

ConjugateKind::Extra ConjugateKind::extra_of(const FamilyModel& model) {
  return model.bought ? Extra{terms_of(*model.bought)} : Extra{};
}

std::string public_choices(const FamilyCertificate& c) {
  return c.bought ? "the name of the column"
                  : "the schema (columns, ranges, levels, classes, row norm)";
}

std::string assumption_of(const FamilyCertificate& c) {
  if (c.bought) return bought_assumption;
  if (!c.problem.public_counts) return "";
  const PublicCounts& known = *c.problem.public_counts;
  return fmt::format(
      "{}, SHA-256 {}, whose counts are part of the prior, is public, as whoever published this "
      "says: nothing here protects people in it; no table that comes into question chose it, or is "
      "it",
      gibbsite::quoted(known.file), known.sha256);
}

std::size_t draws_of(const FamilyModel& model) { return model.draws.size(); }

FamilyProblem problem_of(const FamilyModel& model, const FamilyCertificate& c) {
  FamilyProblem out = family_problem(model.schema, model.family, c.problem.rows);
  out.prior = c.problem.prior;
  out.public_counts = c.problem.public_counts;
  out.variance = c.problem.variance;
  out.center = c.problem.center;
  out.trim = c.problem.trim;
  return out;
}

namespace {

// One column was asked about, and its levels or range follow from the answers.
void verify_bought_column(Verifier& v, const FamilyModel& model, const FamilyCertificate& c) {
  v.check(model.bought.has_value() == c.bought.has_value(),
          "model.bought: there where the certificate covers a schema, and there only");
  if (!model.bought || !c.bought) return;
  check_bought(v, *model.bought, *c.bought, schema_problem_of(c), c.claimed.who);
  const bool is_one = model.bought->columns.size() == 1 && c.bought->columns == 1;
  v.check(is_one, "model.bought.columns: the column alone");
  if (!is_one) return;
  v.check(model.schema == bought_family_schema(*model.bought, model.family, c.problem.center),
          "model.preprocessing: follows from the answers that it was bought with");
}

}  // namespace

// The draws are within the bounds of the family, and on the grid.
void check_model(Verifier& v, const FamilyModel& model, const FamilyCertificate& c) {
  verify_bought_column(v, model, c);
  const FamilyProblem& p = c.problem;
  const auto [low, high] = p.reach();
  const double grid = family_grid(p);
  std::size_t off = 0;
  for (const auto& draw : model.draws) {
    double sum = 0;
    bool inside = true;
    for (const double value : draw) {
      sum += value;
      inside = inside && value >= low && value <= high &&
               (p.levels > 2 || std::remainder(value, grid) == 0);
    }
    if (p.has_levels() && draw.size() != p.levels) {
      inside = false;  // another family's, or column's: there is nothing to split
    } else if (p.trim && p.has_levels()) {
      for_each_split(0, p.levels,
                     [&](std::uint64_t first, std::uint64_t middle, std::uint64_t last) {
                       double share = 0, whole = 0;
                       for (std::uint64_t i = first; i < last; ++i)
                         (i < middle ? share : whole) += draw[i];
                       const auto [least, most] = split_trim(p, first, middle, last);
                       share /= share + whole;
                       inside = inside && share >= least - 1e-9 && share <= most + 1e-9;
                     });
    }
    off += !inside || (p.has_levels() && std::abs(sum - 1) > 1e-12);
  }
  v.check(off == 0,
          fmt::format("model.draws: {} off the release grid {} or out of reach", off, grid));
}

GIBBSITE_RELEASE_KIND(ConjugateKind);

}  // namespace gibbsite
