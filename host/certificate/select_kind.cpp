// A private choice among candidates: its JSON, and what verify asks of it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "certificate/model_json.hpp"
#include "certificate/release_of.hpp"
#include "gibbsite/model/selection.hpp"

namespace gibbsite {

using nlohmann::json;

json model_json(const SelectionModel& model) {
  const json reading =
      model.ball ? schema_json(model.ball->schema)
                 : json{{"invalid", model.schema.invalid == Invalid::refuse ? "refuse" : "middle"}};
  json out = {{"kind", "selection"},
              {"candidates", model.candidates},
              {"chosen", model.candidates.at(model.chosen)},
              {"score", model.score},
              {"range", {model.lo, model.hi}},
              {"preprocessing", reading}};
  if (!model.of.empty()) out["of"] = model.of;
  if (model.ball) {
    out["ball"] = {{"radius", model.ball->radius}, {"squares", model.ball->squares}};
    out["features"] = model.ball->schema.feature_names();
    out["coefficients"] = *model.coefficients();
  }
  return out;
}

namespace {

std::vector<std::string> names_in(const json& object, const char* name, const std::string& source) {
  const json& list = field(object, name, source);
  if (!list.is_array() || list.size() > most_select_candidates ||
      !std::ranges::all_of(list, [](const json& one) { return one.is_string(); })) {
    throw BadInput(source + ": " + name + ": must be a list of texts; use the file as written");
  }
  return list.get<std::vector<std::string>>();
}

// Where there is a ball, `preprocessing` is the schema of its features.
void read_reading(const json& model, const std::string& source, SelectionModel& out) {
  const json& reading = field(model, "preprocessing", source);
  if (model.contains("ball")) {
    const json& ball = model["ball"];
    const std::string place = source + ": ball";
    out.ball.emplace(
        CoefficientBall{.schema = schema_from_json(reading, source + ": preprocessing"),
                        .radius = number_field(ball, "radius", place),
                        .squares = count_field(ball, "squares", place)});
    const Schema& schema = out.ball->schema;
    out.schema = {schema.invalid, schema.bought, schema.from_public};
    return;
  }
  const std::string invalid = text_field(reading, "invalid", source + ": preprocessing");
  if (invalid != "refuse" && invalid != "middle")
    throw BadInput(source + ": preprocessing.invalid: must be refuse or middle");
  out.schema.invalid = invalid == "refuse" ? Invalid::refuse : Invalid::middle;
}

}  // namespace

SelectionModel SelectKind::model_from_json(const json& model, const std::string& source) {
  if (text_field(model, "kind", source) != "selection")
    throw BadInput(source + ": kind: must be selection; use the file as it was written");
  SelectionModel out{.candidates = names_in(model, "candidates", source),
                     .score = text_field(model, "score", source)};
  if (model.contains("of")) out.of = names_in(model, "of", source);
  for (const std::string& digest : out.of) {
    if (!is_file_digest(digest))
      throw BadInput(source + ": of: must be digests of models' files; use the file as written");
  }
  const auto range = numbers_field(model, "range", 2, source);
  out.lo = range[0], out.hi = range[1];
  read_reading(model, source, out);
  const auto found = std::ranges::find(out.candidates, text_field(model, "chosen", source));
  out.chosen = static_cast<std::size_t>(found - out.candidates.begin());
  try {
    out.validate();
  } catch (const BadInput& error) {
    throw BadInput(FilePosition{source}, error.message());
  }
  return out;
}

std::string assumption_of(const SelectCertificate& /*certificate*/) {
  return "the candidates and their order, the score and its range were fixed without looking at "
         "these rows; what a candidate tells of them, where it was made from some, is accounted for "
         "elsewhere; a row's scores depend on that row and on public numbers alone";
}

std::string public_choices(const SelectCertificate& /*certificate*/) {
  return "the candidates and the score";
}

std::size_t draws_of(const SelectionModel& /*model*/) { return 1; }

SelectProblem problem_of(const SelectionModel& model, const SelectCertificate& c) {
  SelectProblem out = c.problem;
  out.candidates = model.candidates.size();
  return out;
}

void check_model(Verifier& v, const SelectionModel& model, const SelectCertificate& /*c*/) {
  v.check(model.chosen < model.candidates.size(), "model.chosen: one of the candidates");
}

GIBBSITE_RELEASE_KIND(SelectKind);

}  // namespace gibbsite
