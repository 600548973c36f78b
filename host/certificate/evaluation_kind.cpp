// The evaluation of a model: its JSON, and what verify asks of its counts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "certificate/model_json.hpp"
#include "certificate/release_of.hpp"
#include "gibbsite/mechanism/noise_law.hpp"

namespace gibbsite {

using nlohmann::json;

namespace {

// Six decimals: what a figure has of more is noise. NaN is written as null, -0 as 0.
json rounded(double value) {
  return std::isfinite(value) ? json(std::round(value * 1e6) / 1e6 + 0.0) : json(nullptr);
}
json share_json(const NoisyShare& share) {
  return {{"value", rounded(share.value)}, {"interval", {rounded(share.low), rounded(share.high)}}};
}
json shares_json(const auto& shares) {
  json out = json::array();
  for (const NoisyShare& share : shares) out.push_back(share_json(share));
  return out;
}

json figures_json(const EvaluationModel& model) {
  const EvaluationFigures f = figures(model);
  json calibration = json::array();
  for (std::size_t b = 0; b < f.found.size(); ++b) {
    const auto [low, high] = model.bins.ends(b);
    calibration.push_back({{"probability", {low, high}},
                           {"rows", rounded(f.bin_rows[b])},
                           {"found", share_json(f.found[b])}});
  }
  json out = {{"level", 0.95},
              {"rows", rounded(f.rows)},
              {"rows_deviation", rounded(f.rows_deviation)},
              {"accuracy", share_json(f.accuracy)},
              {"calibration", calibration},
              {"calibration_rows_deviation", rounded(f.bin_rows_deviation)}};
  if (model.several()) return out;
  out["positives"] = share_json(f.positives);
  out["auc"] = share_json(f.auc);
  out["auc_hidden"] = rounded(f.auc_hidden);
  out["recall"] = shares_json(f.recall);
  out["precision"] = shares_json(f.precision);
  out["roc"] = {{"threshold", model.bins.edges},
                {"true_positive", shares_json(f.true_positive)},
                {"false_positive", shares_json(f.false_positive)}};
  return out;
}

}  // namespace

json model_json(const EvaluationModel& model) {
  json out = {{"kind", "evaluation"},           {"of", model.of},
              {"edges", model.bins.edges},      {"counts", model.counts},
              {"noise", model.noise},           {"rows_per_person", model.rows_per_person},
              {"figures", figures_json(model)}, {"preprocessing", schema_json(model.schema)}};
  if (model.rows) out["rows"] = *model.rows;
  if (model.of_void) out["of_void"] = true;
  if (!model.several()) {
    out["threshold"] = model.bins.threshold;
    out["classes"] = class_names(model.schema.label);
  }
  return out;
}

EvaluationModel EvaluationKind::model_from_json(const json& model, const std::string& source) {
  if (text_field(model, "kind", source) != "evaluation") {
    throw BadInput(source + ": kind: must be evaluation; use the file as it was written");
  }
  EvaluationModel out{.schema = schema_from_json(field(model, "preprocessing", source), source),
                      .of = text_field(model, "of", source),
                      .bins = {},
                      .rows = {},
                      .counts = {}};
  if (!is_file_digest(out.of)) {
    throw BadInput(source + ": of: must be the digest of a model's file; use the file as written");
  }
  if (model.contains("of_void")) out.of_void = flag_field(model, "of_void", source);
  if (number_of(out.schema.label) != nullptr) {
    throw BadInput(source + ": preprocessing: its label is no class; use the file as written");
  }
  const json& edges = field(model, "edges", source);
  if (!edges.is_array() || edges.size() >= most_evaluation_bins) {
    throw BadInput(fmt::format("{}: edges: must be a list of at most {}; use the file as written",
                               source, most_evaluation_bins - 1));
  }
  out.bins.edges = numbers_field(model, "edges", edges.size(), source);
  out.bins.threshold = out.several() ? 0 : number_field(model, "threshold", source);
  try {
    out.bins.validate();
  } catch (const BadInput& error) {
    throw BadInput(FilePosition{source}, error.message());
  }
  if (model.contains("rows")) out.rows = count_field(model, "rows", source);
  if (out.rows == 0) throw BadInput(source + ": rows: must be at least 1");
  out.counts = numbers_field(model, "counts", 2 * out.bins.bins(), source);
  out.noise = number_field(model, "noise", source);
  out.rows_per_person = count_field(model, "rows_per_person", source);
  if (out.rows_per_person < 1) throw BadInput(source + ": rows_per_person: must be at least 1");
  require_finite_positive(out.noise, source + ": noise");
  return out;
}

EvaluationKind::Extra EvaluationKind::extra_of(const EvaluationModel& model) {
  return {model.of_void};
}
EvaluationKind::Extra EvaluationKind::extra_from_json(const json& constants) {
  return {constants.contains("of_void") && flag_field(constants, "of_void", "constants")};
}
void EvaluationKind::put_extra(const Extra& extra, json& constants) {
  if (extra.of_void) constants["of_void"] = true;
}

std::string assumption_of(const EvaluationCertificate& c) {
  return c.of_void
             ? "the model and the bins were fixed without looking at these rows; the model is "
               "void: what it tells of them, where it was fitted to some, is covered by nothing"
             : "the model and the bins were fixed without looking at these rows; what the "
               "model itself tells of them, where it was fitted to some, is accounted for by "
               "its own certificate";
}

std::size_t draws_of(const EvaluationModel& /*model*/) { return 1; }

HistogramProblem problem_of(const EvaluationModel& model, const EvaluationCertificate& c) {
  HistogramProblem out = c.problem;
  out.cells = model.counts.size();
  return out;
}

namespace {

// Whether numbers are within 2e-6, which is two of the last decimals, and the rest is the same.
bool alike(const json& a, const json& b) {
  if (a.is_number() && b.is_number()) {
    return std::abs(a.get<double>() - b.get<double>()) <= 2e-6 * (1 + std::abs(a.get<double>()));
  }
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), alike);
  if (!a.is_object()) return a == b;
  return std::ranges::all_of(a.items(), [&](const auto& item) {
    return b.contains(item.key()) && alike(item.value(), b.at(item.key()));
  });
}

}  // namespace

// The figures follow from the counts.
void settle(Verifier& v, const EvaluationModel& /*model*/, json& expected, const json& claimed) {
  v.check(alike(expected.at("figures"), field(claimed, "figures", "model")),
          "model.figures: follow from the counts");
  expected["figures"] = claimed.at("figures");
}

// The counts have the noise that they are paid for with.
void check_model(Verifier& v, const EvaluationModel& model, const EvaluationCertificate& c) {
  if (model.schema.person() != nullptr)
    v.check(false, "model.preprocessing: a column of people, whose rows no evaluation counts");
  // The sum of weights is not.
  const bool is_public =
      c.claimed.who.adjacency == Adjacency::replace_one && model.schema.weight() == nullptr;
  v.check(model.rows == (is_public ? std::optional(c.problem.rows) : std::nullopt),
          "model.rows: constants.rows where those are public, and there only");
  v.check(model.of_void == c.of_void, "model.of_void: the certificate says the same");
  v.check(model.rows_per_person == c.claimed.who.rows_per_person,
          "model.rows_per_person: those of the guarantee");
  v.check(model.noise == histogram_deviation(c.mechanism, c.problem),
          "model.noise: follows from mechanism.noise");
  const double grid = answer_grid(model.noise);
  const double noise = answer_reach(model.noise);
  std::size_t off = 0, beyond = 0;
  double sum = 0;
  for (const double count : model.counts) {
    sum += count;
    off += std::remainder(count, grid) != 0;
    beyond += !(count >= -noise && count <= static_cast<double>(c.problem.rows) + noise);
  }
  v.check(off == 0, fmt::format("model.counts: {} off the grid of their noise", off));
  v.check(beyond == 0, fmt::format("model.counts: {} that no noise leads to", beyond));
  // A normal beyond 13.9 of its deviations, the grid's rounding aside: a chance below 1e-43.
  const auto rows = static_cast<double>(c.problem.rows);
  const double slack = 14 * model.noise * std::sqrt(static_cast<double>(model.counts.size()));
  v.check(sum >= (is_public ? rows : 0) - slack && sum <= rows + slack,
          "model.counts: their sum is that of the rows, and noise");
}

GIBBSITE_RELEASE_KIND(EvaluationKind);

}  // namespace gibbsite
