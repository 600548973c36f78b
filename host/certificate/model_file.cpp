#include "gibbsite/certificate/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "certificate/certify.hpp"
#include "certificate/estimates_json.hpp"
#include "certificate/model_json.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

// Looks for what json::parse lets pass. (Its callback would do, in a time that grows with the
// square of an array's length.)
class Watch final : public nlohmann::json_sax<json> {
 public:
  std::string repeated;      ///< a name that an object gives twice
  bool deep = false;         ///< more than 32 levels
  bool long_number = false;  ///< a number of more digits than a double takes
  std::string broken;        ///< why it is not JSON

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    constexpr std::size_t longest = 64;
    long_number = long_number || text.size() > longest;
    return true;
  }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*size*/) override {
    names_.emplace_back();
    return enter();
  }
  bool end_object() override {
    names_.pop_back();
    return leave();
  }
  bool start_array(std::size_t /*size*/) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (!names_.back().insert(name).second) repeated = name;
    return true;
  }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const json::exception& error) override {
    const std::string what = error.what();  // "[json.exception....] parse error at line ..."
    broken = what.substr(std::min(what.find("] ") + 2, what.size()));
    return false;
  }

 private:
  bool enter() { return !(deep = ++depth_ > 32); }
  bool leave() { return --depth_ >= 0; }

  int depth_ = 0;
  std::vector<std::unordered_set<std::string>> names_;  // of the objects that are open
};

constexpr const char* no_model_of_rows =
    ": holds the evaluation of a model, not a model of rows; give the model's file";

// A name given twice would show a reader one value and a program the other. The parser takes a NUL
// byte for the end of the text: what is behind it would travel with the file, unread.
json parse_strict(const std::string& text, const std::string& source) {
  if (const std::size_t at = text.find('\0'); at != std::string::npos) {
    throw BadInput(fmt::format(
        "{}: has a NUL byte at byte {}, and no JSON holds one: what follows would go unread; use "
        "the file as it was written",
        source, at));
  }
  Watch watch;
  const bool whole = json::sax_parse(text, &watch);
  if (watch.deep)
    throw BadInput(source + ": is nested too deeply; give a model.json that fit wrote");
  if (!whole) {
    throw BadInput(
        fmt::format("{}: is not JSON: {}; give a model.json that fit wrote", source, watch.broken));
  }
  // Digits that change no value are in no digest.
  if (watch.long_number) {
    throw BadInput(source +
                   ": has a number of more than 64 characters, which no program writes; "
                   "use the file as it was written");
  }
  if (!watch.repeated.empty()) {
    throw BadInput(fmt::format("{}: gives the name '{}' twice; use the file as it was written",
                               source, watch.repeated));
  }
  return json::parse(text);
}

}  // namespace

json to_json(const Release& release) {
  json out = {{"format", format_names.at(release.certificate().format)},
              {"model", model_json(release.model())},
              {"certificate", to_json(release.certificate())}};
  out["certificate"]["digest"] = file_digest(out);
  return out;
}

LinearModel model_from_json(const json& model, const std::string& source) {
  if (!model.is_object())
    throw BadInput(source + ": model: must be an object; give a file that fit wrote");
  LinearModel out;
  out.loss = text_field(model, "loss", source);
  const Loss& loss = loss_named(out.loss);  // throws when this program does not know it
  out.schema = schema_from_json(field(model, "preprocessing", source), source);
  if (loss.label() != out.schema.label_kind) {
    throw BadInput(
        fmt::format("{}: loss: predicts {}, and the schema's label is {}; use the file as "
                    "written",
                    source, to_string(loss.label()), to_string(out.schema.label_kind)));
  }
  const bool classes = out.schema.label_kind == LabelKind::classes;
  if (classes && loss.outputs() != out.schema.classes.size()) {
    throw BadInput(fmt::format(
        "{}: loss: {} is of {} classes, and the schema lists {}; use the file as written", source,
        out.loss, loss.outputs(), out.schema.classes.size()));
  }
  if (!std::ranges::equal(loss.class_weights(), out.schema.scaled_class_weights())) {
    throw BadInput(
        fmt::format("{}: loss: {} has not the class_weights of the schema; use the file as written",
                    source, out.loss));
  }
  const json& coefficients = field(model, "coefficients", source);
  const std::size_t d = out.schema.features();
  const bool several = coefficients.is_array() && !coefficients.empty() &&
                       (classes ? coefficients[0].is_object() : coefficients[0].is_array());
  if (several) {
    for (const json& draw : coefficients)
      out.draws.push_back(draw_from_json(draw, out.schema, source));
  } else {
    out.draws.push_back(draw_from_json(coefficients, out.schema, source));
  }
  // Of a loss of its own it says nothing that the loss does not.
  const bool of_loss =
      model.contains("link") && model["link"].contains("kind") && model["link"]["kind"] == out.loss;
  if (model.contains("link") && !of_loss) {
    out.legacy_link = legacy_link_from_json(model["link"], d, source);
  }
  if (model.contains("intervals")) {
    out.intervals = intervals_from_json(model["intervals"], d, source);
  }
  const std::size_t outputs = classes ? out.schema.classes.size() : 1;
  if (model.contains("estimates"))
    out.estimates = estimates_from_json(model["estimates"], d, outputs, source);
  if (model.contains("feature_means"))
    out.feature_means = numbers_field(model, "feature_means", d, source);
  if (model.contains("answers")) {
    out.answers = answers_from_json(model["answers"], out.schema, outputs, source);
  }
  return out;
}

std::size_t format_of(const json& object) {
  if (!object.is_object() || !object.contains("format")) return 0;
  for (std::size_t format = 1; format <= Claims::newest_format; ++format) {
    if (object["format"] == format_names[format]) return format;
  }
  return 0;
}

std::size_t format_written(const json& object) {
  const std::size_t format = format_of(object);
  return format > 1 ? format : Claims::newest_format;
}

bool is_release(const json& object) { return format_of(object) != 0; }

Release release_from_json(const json& object, const std::string& source) {
  if (!is_release(object)) {
    throw BadInput(fmt::format("{}: is not a {} file; give a model.json that fit wrote", source,
                               release_format));
  }
  LinearModel model = model_from_json(field(object, "model", source), source);
  if (model.legacy_link && format_of(object) != legacy_link_format) {
    throw BadInput(fmt::format(
        "{}: model.link: capped-logistic belongs to files of {} alone; use the file as it was "
        "written",
        source, format_names[legacy_link_format]));
  }
  try {
    Certificate certificate = certificate_from_json(field(object, "certificate", source));
    certificate.refuses_cells = model.schema.invalid == Invalid::refuse;
    certificate.format = format_written(object);
    return ReleaseAccess::make(std::move(model), std::move(certificate));
  } catch (const BadInput& error) {
    throw BadInput(FilePosition{source}, error.message());
  }
}

void write_release(const std::string& path, const Release& release, Existing existing) {
  write_file_atomically(path, to_json(release).dump(2) + "\n", public_file, existing);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw BadInput(path + ": cannot read; check the path and its permissions");
  }
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

json parse_release_json(const std::string& text, const std::string& path) {
  json out = parse_strict(text, path);
  if (!is_release(out) || !out.contains("model") || !out["model"].is_object() ||
      !out.contains("certificate") || !out["certificate"].is_object()) {
    throw BadInput(fmt::format("{}: is not a {} file; give a model.json that fit wrote", path,
                               release_format));
  }
  return out;
}

json read_release_json(const std::string& path) { return parse_release_json(text_of(path), path); }

json untouched_json(const std::string& text, const std::string& path) {
  json file = parse_release_json(text, path);
  const json& certificate = file.at("certificate");
  for (const char* part : {"guarantee", "mechanism", "constants", "numerics", "software"}) {
    if (!field(certificate, part, path).is_object()) {
      throw BadInput(
          fmt::format("{}: certificate.{}: must be an object; use the file as it was "
                      "written",
                      path, part));
    }
  }
  if (text_field(certificate, "digest", path) != file_digest(file)) {
    throw BadInput(path +
                   ": was changed after fit wrote it: certificate.digest is not the digest of its "
                   "contents; use the file as it was written (verifying it says what does not "
                   "hold)");
  }
  return file;
}

Release read_release(const std::string& path) { return parse_release(text_of(path), path); }

Release parse_release(const std::string& text, const std::string& path) {
  const json file = untouched_json(text, path);
  if (is_of_family(file.at("certificate"))) {
    throw BadInput(path +
                   ": holds draws of a family, not a model of rows; query it as draws of a family");
  }
  if (is_of_network(file.at("certificate"))) {
    throw BadInput(path +
                   ": holds a network, not a model of rows; query it as a network, or draw people "
                   "from it");
  }
  if (is_of_evaluation(file.at("certificate"))) throw BadInput(path + no_model_of_rows);
  return release_from_json(file, path);
}

}  // namespace gibbsite
