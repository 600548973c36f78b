#include "gibbsite/certificate/evaluation_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "certificate/certify.hpp"
#include "certificate/model_json.hpp"
#include "core/format_message.hpp"
#include "gibbsite/certificate/model_file.hpp"

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
    out["classes"] = {model.schema.negative_name(), model.schema.positive};
  }
  return out;
}

EvaluationModel evaluation_model_from_json(const json& model, const std::string& source) {
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
  if (out.schema.has_number_label()) {
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

bool is_of_evaluation(const json& certificate) {
  const json::json_pointer histogram("/constants/histogram");
  return certificate.is_object() && certificate.contains(histogram);
}

json to_json(const EvaluationRelease& release) {
  json out = {{"format", format_names.at(release.certificate().format)},
              {"model", model_json(release.model())},
              {"certificate", to_json(release.certificate())}};
  out["certificate"]["digest"] = file_digest(out);
  return out;
}

void write_evaluation(const std::string& path, const EvaluationRelease& release,
                      Existing existing) {
  write_file_atomically(path, to_json(release).dump(1) + "\n", public_file, existing);
}

EvaluationRelease read_evaluation(const std::string& path) {
  return parse_evaluation(text_of(path), path);
}

EvaluationRelease parse_evaluation(const std::string& text, const std::string& path) {
  const json file = untouched_json(text, path);
  if (!is_of_evaluation(file.at("certificate"))) {
    throw BadInput(
        FilePosition{path}, "holds no evaluation",
        format_message("give the file of an evaluation released with {}", Field{"epsilon"}));
  }
  EvaluationModel model = evaluation_model_from_json(file.at("model"), path);
  try {
    EvaluationCertificate certificate = evaluation_certificate_from_json(file.at("certificate"));
    certificate.refuses_cells = model.schema.invalid == Invalid::refuse;
    certificate.format = format_written(file);
    return ReleaseAccess::make(std::move(model), std::move(certificate));
  } catch (const BadInput& error) {
    throw BadInput(FilePosition{path}, error.message());
  }
}

}  // namespace gibbsite
