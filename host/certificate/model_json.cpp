#include "certificate/model_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <utility>

#include "certificate/bought_json.hpp"
#include "certificate/canonical_json.hpp"
#include "certificate/estimates_json.hpp"
#include "core/digest.hpp"
#include "core/score_coordinates.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/privacy/guarantee.hpp"
#include "model/column_type.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

[[noreturn]] void reject(const std::string& source, std::string_view name, std::string_view what) {
  throw BadInput(fmt::format("{}: {}: {}; use the file as it was written", source, name, what));
}

void only_fields(const json& object, std::initializer_list<std::string_view> names,
                 const std::string& source) {
  for (const auto& item : object.items()) {
    if (std::find(names.begin(), names.end(), item.key()) == names.end()) {
      reject(source, item.key(), "unknown field");
    }
  }
}

// Whether it is the second of two words.
bool choice_field(const json& object, const char* name, std::string_view first,
                  std::string_view second, const std::string& source) {
  const std::string value = text_field(object, name, source);
  if (value != first && value != second) {
    reject(source, name, fmt::format("must be {} or {}", first, second));
  }
  return value == second;
}

// A mark of a missing cell is a text; several are a list.
json marks_json(const std::string& first, const std::vector<std::string>& others) {
  if (others.empty()) return first;
  json out = {first};
  for (const std::string& mark : others) out.push_back(mark);
  return out;
}

std::vector<std::string> texts_field(const json& object, const char* name,
                                     const std::string& source) {
  const json& texts = field(object, name, source);
  if (!texts.is_array()) reject(source, name, "must be a list of texts");
  std::vector<std::string> out;
  for (const json& text : texts) {
    if (!text.is_string()) reject(source, name, "must be a list of texts");
    out.push_back(text.get<std::string>());
  }
  return out;
}

void read_marks(const json& object, std::string& first, std::vector<std::string>& others,
                const std::string& source) {
  if (!field(object, "missing", source).is_array()) {
    first = text_field(object, "missing", source);
    return;
  }
  others = texts_field(object, "missing", source);
  if (others.size() < 2) reject(source, "missing", "must be a text, or a list of two or more");
  first = others.front();
  others.erase(others.begin());
}

// The signs that group digits: one, or a list of them.
json signs_json(const std::vector<std::string>& signs) {
  return signs.size() == 1 ? json(signs.front()) : json(signs);
}

std::vector<std::string> read_signs(const json& object, const std::string& source) {
  std::vector<std::string> out;
  if (field(object, "thousands", source).is_array()) {
    out = texts_field(object, "thousands", source);
    if (out.size() < 2) reject(source, "thousands", "must be a text, or a list of two or more");
  } else {
    out = {text_field(object, "thousands", source)};
  }
  if (std::ranges::find(out, "") != out.end()) reject(source, "thousands", "must not be empty");
  return out;
}

json column_json(const Column& column) {
  json out = {{"name", column.name}, {"type", to_string(column.type)}};
  if (has_range(column.type)) out["range"] = {column.lo, column.hi};
  if (!column.date.empty()) out["date"] = column.date;
  if (column.part != DatePart::none) out["part"] = to_string(column.part);
  if (!column.of.empty()) out["of"] = column.of;
  if (column.is_boolean) out["boolean"] = true;
  if (column.numbers) {
    out["decimal"] = std::string(1, column.numbers->decimal);
    if (!column.numbers->thousands.empty())
      out["thousands"] = signs_json(column.numbers->thousands);
  }
  if (!column.edges.empty()) out["edges"] = column.edges;
  if (column.decimals) out["decimals"] = *column.decimals;
  if (column.is_curve()) out["knots"] = column.knots;
  if (column.typical) out["typical"] = {column.typical->center, column.typical->spread};
  if (column.has_missing_bin) {
    out["missing_level"] = true;
  } else if (column.missing_level) {
    out["missing_level"] = *column.missing_level;
  }
  if (column.type == ColumnType::category) {
    out["levels"] = column.levels;
    out["other"] = column.other;
    if (!column.unlisted.empty()) out["unlisted"] = column.unlisted;
    if (!column.reference.empty()) out["reference"] = column.reference;
  }
  if (column.has_missing && column.type != ColumnType::ignore)
    out["missing"] = marks_json(column.missing, column.also_missing);
  return out;
}

json interaction_json(const Interaction& interaction) {
  json columns = json::array(), knots = json::object();
  for (const Interaction::Part& part : interaction.parts) {
    columns.push_back(part.column);
    if (!part.knots.empty()) knots[part.column] = part.knots;
  }
  return {{"columns", columns}, {"knots", knots}};
}

std::vector<Interaction> interactions_from_json(const json& list, const std::string& source) {
  if (!list.is_array() || list.empty()) reject(source, "interactions", "must be a list");
  const std::string here = source + ": interactions";
  std::vector<Interaction> out;
  for (const json& object : list) {
    only_fields(object, {"columns", "knots"}, here);
    const json& knots = field(object, "knots", here);
    if (!knots.is_object())
      reject(here, "knots", "must be lists of numbers by the names of columns");
    Interaction& one = out.emplace_back();
    for (const std::string& name : texts_field(object, "columns", here)) {
      Interaction::Part& part = one.parts.emplace_back(Interaction::Part{name});
      if (!knots.contains(name)) continue;
      if (!knots[name].is_array()) reject(here, "knots", "must be lists of numbers");
      part.knots = numbers_field(knots, name.c_str(), knots[name].size(), here + ": knots");
    }
  }
  return out;
}

std::pair<double, double> range_field(const json& object, const std::string& source) {
  const json& range = field(object, "range", source);
  if (!range.is_array() || range.size() != 2 || !range[0].is_number() || !range[1].is_number()) {
    reject(source, "range", "must be two numbers");
  }
  return {range[0].get<double>(), range[1].get<double>()};
}

// What bins and decimals of a number say, where they are there.
void read_bins(const json& object, std::vector<double>& edges, std::optional<int>& decimals,
               const std::string& source) {
  if (object.contains("edges")) {
    const json& list = object["edges"];
    if (!list.is_array() || list.empty()) reject(source, "edges", "must be a list of numbers");
    edges = numbers_field(object, "edges", list.size(), source);
  }
  if (!object.contains("decimals")) return;
  const std::uint64_t count = count_field(object, "decimals", source);
  if (count > most_decimals)
    reject(source, "decimals", fmt::format("must be at most {}", most_decimals));
  decimals = static_cast<int>(count);
}

// The curve of a number, and whether its missing cells have a level.
void read_knots(const json& object, Column& column, const std::string& source) {
  if (object.contains("missing_level"))
    column.missing_level = flag_field(object, "missing_level", source);
  if (!object.contains("knots")) return;
  const json& list = object["knots"];
  if (!list.is_array() || list.size() < 3)
    reject(source, "knots", "must be a list of 3 numbers or more");
  column.knots = numbers_field(object, "knots", list.size(), source);
}

// How cells of dates are written, and the part that a column is of them.
void read_date(const json& object, Column& column, const std::string& source) {
  if (object.contains("date")) {
    column.date = text_field(object, "date", source);
    if (column.date.empty()) reject(source, "date", "must not be empty");
  }
  if (object.contains("part")) {
    const auto part = date_part_named(text_field(object, "part", source));
    if (!part) reject(source, "part", "must be year, month or weekday");
    column.part = *part;
  }
  if (!object.contains("of")) return;
  column.of = text_field(object, "of", source);
  if (column.of.empty()) reject(source, "of", "must not be empty");
}

Column column_from_json(const json& object, const std::string& source, bool of_network) {
  Column column;
  column.name = text_field(object, "name", source);
  const auto type = column_type_named(text_field(object, "type", source));
  if (!type) reject(source, "type", "must be number, category, exposure, weight, person or ignore");
  column.type = *type;
  if (has_range(column.type)) {
    if (column.type == ColumnType::number && of_network) {
      only_fields(object,
                  {"name", "type", "range", "missing", "edges", "decimals", "missing_level",
                   "decimal", "thousands"},
                  source);
      // Files of before it was there have none, whatever a column's own `missing` means today.
      if (object.contains("missing_level"))
        column.has_missing_bin = flag_field(object, "missing_level", source);
    } else if (column.type == ColumnType::number) {
      only_fields(object,
                  {"name", "type", "range", "missing", "edges", "decimals", "knots",
                   "missing_level", "decimal", "thousands", "date", "typical", "part", "of"},
                  source);
      if (object.contains("typical")) {
        const auto typical = numbers_field(object, "typical", 2, source);
        column.typical = {typical[0], typical[1]};
      }
      read_date(object, column, source);
      read_knots(object, column, source);
    } else {
      only_fields(object, {"name", "type", "range", "missing", "decimal", "thousands"}, source);
    }
    if (object.contains("decimal")) {
      column.numbers.emplace();
      column.numbers->decimal = choice_field(object, "decimal", ".", ",", source) ? ',' : '.';
      if (object.contains("thousands")) column.numbers->thousands = read_signs(object, source);
    } else if (object.contains("thousands")) {
      reject(source, "thousands", "must stand beside decimal");
    }
    std::tie(column.lo, column.hi) = range_field(object, source);
    read_bins(object, column.edges, column.decimals, source);
  } else if (column.type == ColumnType::category) {
    only_fields(object,
                {"name", "type", "levels", "other", "unlisted", "reference", "missing", "boolean",
                 "date", "part", "of"},
                source);
    read_date(object, column, source);
    if (object.contains("boolean")) column.is_boolean = flag_field(object, "boolean", source);
    column.levels = texts_field(object, "levels", source);
    column.other = flag_field(object, "other", source);
    if (object.contains("unlisted")) column.unlisted = text_field(object, "unlisted", source);
    if (object.contains("reference")) column.reference = text_field(object, "reference", source);
  } else if (column.type == ColumnType::person) {
    only_fields(object, {"name", "type", "missing"}, source);
  } else {
    only_fields(object, {"name", "type"}, source);
  }
  column.has_missing = object.contains("missing");
  if (column.has_missing) read_marks(object, column.missing, column.also_missing, source);
  if (of_network && column.type == ColumnType::number) say_missing_level(column);
  return column;
}

// What the sum of intercept and slopes is.
std::string sum_words(const LinearModel& model, bool linked) {
  const Loss& loss = loss_named(model.loss);
  if (loss.label() == LabelKind::amount) return "the amount predicted, held in its range,";
  if (loss.label() == LabelKind::count)
    return model.schema.exposure() == nullptr
               ? "the log of the mean predicted, held at the highest,"
               : "the log of the mean predicted for one of the exposure, held at the highest "
                 "whatever the exposure,";
  return linked ? "z of link" : "log-odds";
}

json units_json(const LinearModel& model, std::span<const double> theta, bool linked) {
  const OriginalUnits units = original_units(model, theta);
  json slopes = json::object();
  for (const auto& [name, slope] : units.slopes) slopes[name] = slope;
  return {{"intercept", units.intercept},
          {"slopes", slopes},
          {"exact", units.exact},
          {"note", units.exact
                       ? sum_words(model, linked) +
                             " = intercept + sum of slope times the cell; cells outside their "
                             "range count as its nearer end"
                       : "holds for rows whose norm is at most row_norm; longer rows are scaled "
                         "down before the model sees them, so there it is approximate"}};
}

// What `of` makes of a draw's coefficients; of several classes of each one's, by its name.
template <class F>
json by_class(const Schema& schema, std::span<const double> theta, const F& of) {
  const Classes* const several = std::get_if<Classes>(&schema.label);
  if (several == nullptr) return of(theta);
  json out = json::object();
  for (std::size_t k = 0; k < several->names.size(); ++k)
    out[several->names[k]] = of(coefficients_of(schema, theta, k));
  return out;
}

// Enough words for another program to predict by.
constexpr const char* legacy_link_words =
    "z = x . coefficients of the encoded row x; cap = min(1, clip / |metric^T x|); s = 1/(1 + "
    "exp(|z|)). The class that z speaks against has probability p = 1/2 if s > cap, else s/(cap + "
    "s) if 1 - s > cap, else s; at most 1/2 - 1e-6 |z|/(1 + |z|). z > 0 speaks for the second of "
    "classes";

json legacy_link_json(const LegacyCappedLink& link, std::size_t d) {
  json metric = json::array();
  for (std::size_t j = 0; j < d; ++j) {
    const auto row = link.metric.begin() + static_cast<std::ptrdiff_t>(j * d);
    metric.push_back(std::vector<double>(row, row + static_cast<std::ptrdiff_t>(d)));
  }
  return {{"kind", "capped-logistic"},
          {"clip", link.clip},
          {"metric", std::move(metric)},
          {"words", legacy_link_words}};
}

// The link of a loss whose z is no log-odds.
json loss_link_json(const LinearModel& model) {
  const std::string_view words = loss_named(model.loss).link_words();
  if (words.empty()) return nullptr;
  json out = {{"kind", model.loss}, {"words", words}};
  const Schema& schema = model.schema;
  if (const Amount* const amount = std::get_if<Amount>(&schema.label)) {
    out["middle"] = amount->middle();
    out["tolerance"] = amount->tolerance;
  } else if (const Count* const count = std::get_if<Count>(&schema.label)) {
    out["highest"] = count->hi;
    if (const Column* const exposure = schema.exposure()) {
      out["words"] = fmt::format(
          "{}; z has a further term log(exposure / highest_exposure), the "
          "exposure held in its range",
          words);
      out["highest_exposure"] = exposure->hi;
    }
  }
  return out;
}

constexpr const char* interval_words =
    "coefficient - half_width to coefficient + half_width, of a score x . coefficients: multiplier "
    "times the root mean square of x . errors over the replicas. Privacy's noise and the sample "
    "together; made from the released numbers, nothing else. Measured, not proven";

json intervals_json(const Intervals& intervals) {
  json sd = json::array(), half_width = json::array();
  for (std::size_t j = 0; j < intervals.errors.front().size(); ++j) {
    sd.push_back(intervals.deviation(j));
    half_width.push_back(intervals.half_width(j));
  }
  return {{"level", Intervals::level},
          {"replicas", intervals.errors.size()},
          {"multiplier", Intervals::multiplier},
          {"sd", std::move(sd)},
          {"half_width", std::move(half_width)},
          {"errors", intervals.errors},
          {"words", interval_words}};
}

json answer_json(const NoisyAnswer& answer) {
  return {{"question", answer.question},
          {"clip", answer.clip},
          {"deviation", answer.deviation},
          {"at", answer.at},
          {"values", answer.values}};
}

}  // namespace

const json& field(const json& json_object, const char* name, const std::string& source) {
  if (!json_object.is_object() || !json_object.contains(name)) reject(source, name, "is missing");
  return json_object.at(name);
}

double number_field(const json& json_object, const char* name, const std::string& source) {
  const json& value = field(json_object, name, source);
  if (!value.is_number()) reject(source, name, "must be a number");
  const double number = value.get<double>();
  if (!std::isfinite(number)) reject(source, name, "must be finite");
  return number;
}

std::string text_field(const json& json_object, const char* name, const std::string& source) {
  const json& value = field(json_object, name, source);
  if (!value.is_string()) reject(source, name, "must be a text");
  return value.get<std::string>();
}

bool flag_field(const json& json_object, const char* name, const std::string& source) {
  const json& value = field(json_object, name, source);
  if (!value.is_boolean()) reject(source, name, "must be true or false");
  return value.get<bool>();
}

std::uint64_t count_field(const json& json_object, const char* name, const std::string& source) {
  const double value = number_field(json_object, name, source);
  if (!(value >= 0 && value <= 0x1p53 && value == std::floor(value))) {
    reject(source, name, "must be a whole number from 0 to 2^53");
  }
  return static_cast<std::uint64_t>(value);
}

namespace {

json label_json(const TwoClasses& two) {
  const bool named = !two.negative.empty();
  return {{"positive", two.positive},
          {"negative", named ? json(two.negative) : json(nullptr)},
          {"unlisted_label", !named                 ? json(nullptr)
                             : two.refuses_unlisted ? json("refuse")
                                                    : json("negative")}};
}

json label_json(const Classes& several) { return {{"classes", several.names}}; }

json number_json(const NumberLabel& number) {
  json out = {{"range", {number.lo, number.hi}}};
  if (!number.edges.empty()) out["edges"] = number.edges;
  if (number.decimals) out["decimals"] = *number.decimals;
  return out;
}

json label_json(const Amount& amount) {
  json out = number_json(amount);
  out["tolerance"] = amount.tolerance;
  return out;
}

json label_json(const Count& count) {
  json out = number_json(count);
  out["counts"] = true;
  return out;
}

// In the order of the classes.
std::vector<double> read_class_weights(const json& object, const Label& label,
                                       const std::string& source) {
  std::vector<double> out;
  if (!object.contains("class_weights")) return out;
  const json& weights = object["class_weights"];
  if (!weights.is_object())
    reject(source, "class_weights", "must be numbers by the names of classes");
  for (const std::string& name : class_names(label)) {
    const auto weight = weights.find(name);
    if (weight == weights.end()) reject(source, "class_weights", "must name every class");
    out.push_back(number_field({{"class_weights", *weight}}, "class_weights", source));
  }
  if (weights.size() != out.size() || weights.empty())
    reject(source, "class_weights", "must name every class, and no other");
  return out;
}

json label_json(const Label& label) {
  return std::visit([](const auto& of) { return label_json(of); }, label);
}

Label read_label(const json& object, const std::string& source) {
  const auto without = [&](std::initializer_list<const char*> keys, const char* why) {
    for (const char* const key : keys)
      if (object.contains(key)) reject(source, key, why);
  };
  if (object.contains("classes")) {
    without({"positive", "negative", "unlisted_label", "range", "tolerance", "counts", "edges",
             "decimals"},
            "has no meaning beside classes, which names every class");
    Classes out{texts_field(object, "classes", source)};
    out.weights = read_class_weights(object, out, source);
    return out;
  }
  if (!object.contains("range")) {
    without({"tolerance", "counts", "edges", "decimals"},
            "is of an amount or a count, and the label has no range");
    TwoClasses out{text_field(object, "positive", source)};
    if (!field(object, "negative", source).is_null()) {
      out.negative = text_field(object, "negative", source);
    }
    if (!field(object, "unlisted_label", source).is_null()) {
      out.refuses_unlisted = choice_field(object, "unlisted_label", "negative", "refuse", source);
    }
    out.weights = read_class_weights(object, out, source);
    return out;
  }
  without({"positive", "negative", "unlisted_label"}, "is of classes, and the label has a range");
  NumberLabel range;
  std::tie(range.lo, range.hi) = range_field(object, source);
  const bool counts = object.contains("counts");
  if (counts && !flag_field(object, "counts", source)) reject(source, "counts", "must be true");
  read_bins(object, range.edges, range.decimals, source);
  Label out;
  if (counts) {
    without({"tolerance"}, "is of amounts, and the label is a count");
    out = Count{std::move(range)};
  } else {
    const double tolerance = number_field(object, "tolerance", source);
    out = Amount{std::move(range), tolerance};
  }
  read_class_weights(object, out, source);
  return out;
}

// By nodes that have parents, which keeps their order.
json network_json(const Schema& schema) {
  json out = json::object();
  for (const auto& [node, parents] : *schema.network) out[node] = parents;
  return out;
}

}  // namespace

json label_fields(const Label& label) {
  json out = label_json(label);
  if (const auto given = class_weights(label); !given.empty()) {
    const std::vector<std::string> names = class_names(label);
    json& weights = out["class_weights"] = json::object();
    for (std::size_t k = 0; k < names.size(); ++k) weights[names[k]] = given[k];
  }
  return out;
}

Label label_from_json(const json& object, const std::string& source) {
  return read_label(object, source);
}

json schema_json(const Schema& schema) {
  json columns = json::array();
  for (const Column& column : schema.columns) columns.push_back(column_json(column));
  json out = {{"label", schema.label_name},
              {"invalid", schema.invalid == Invalid::middle ? "middle" : "refuse"},
              {"decimal", std::string(1, schema.text.decimal)},
              {"row_norm", schema.row_norm},
              {"intercept", schema.intercept},
              {"missing", schema.text.has_missing
                              ? marks_json(schema.text.missing, schema.text.also_missing)
                              : json(nullptr)},
              {"columns", columns}};
  out.update(label_fields(schema.label));
  if (!schema.text.thousands.empty()) out["thousands"] = signs_json(schema.text.thousands);
  if (schema.network) out["network"] = network_json(schema);
  if (!schema.never.empty()) out["never"] = schema.never;
  if (!schema.target.empty()) out["target"] = schema.target;
  for (const Interaction& one : schema.interactions)
    out["interactions"].push_back(interaction_json(one));
  if (schema.bought) out["bought"] = bought_apart_json(*schema.bought);
  if (schema.from_public) out["public"] = public_table_json(*schema.from_public);
  return out;
}

Schema schema_from_json(const json& object, const std::string& source, bool of_network) {
  if (!object.is_object()) throw BadInput(source + ": must be an object; use the file as written");
  only_fields(object, {"label",   "positive",  "negative",  "unlisted_label", "invalid",
                       "decimal", "row_norm",  "intercept", "missing",        "columns",
                       "range",   "tolerance", "counts",    "classes",        "class_weights",
                       "edges",   "decimals",  "network",   "thousands",      "interactions",
                       "bought",  "never",     "public",    "target"},
              source);
  Schema schema;
  schema.label_name = text_field(object, "label", source);
  schema.label = read_label(object, source);
  schema.invalid = choice_field(object, "invalid", "refuse", "middle", source) ? Invalid::middle
                                                                               : Invalid::refuse;
  schema.text.decimal = choice_field(object, "decimal", ".", ",", source) ? ',' : '.';
  if (object.contains("thousands")) schema.text.thousands = read_signs(object, source);
  schema.row_norm = number_field(object, "row_norm", source);
  schema.intercept = flag_field(object, "intercept", source);
  schema.text.has_missing = !field(object, "missing", source).is_null();
  if (schema.text.has_missing)
    read_marks(object, schema.text.missing, schema.text.also_missing, source);
  if (object.contains("network")) {
    if (!object["network"].is_object())
      reject(source, "network", "must be lists of parents by the names of columns");
    schema.network.emplace();
    for (const auto& item : object["network"].items())
      (*schema.network)[item.key()] =
          texts_field(object["network"], item.key().c_str(), source + ": network");
  }
  if (object.contains("never")) {
    const json& never = object["never"];
    if (!never.is_array()) reject(source, "never", "must be a list of lists of events");
    for (const json& rule : never)
      schema.never.push_back(texts_field({{"never", rule}}, "never", source));
  }
  if (object.contains("target")) schema.target = text_field(object, "target", source);
  const json& columns = field(object, "columns", source);
  if (!columns.is_array()) reject(source, "columns", "must be a list");
  for (const json& column : columns)
    schema.columns.push_back(column_from_json(column, source, of_network));
  if (object.contains("interactions"))
    schema.interactions = interactions_from_json(object["interactions"], source);
  if (object.contains("bought"))
    schema.bought = bought_apart_from_json(object["bought"], source + ": bought");
  if (object.contains("public"))
    schema.from_public = public_table_from_json(object["public"], source + ": public");
  schema.validate(source);
  return schema;
}

json model_json(const LinearModel& model) {
  const bool one = model.draws.size() == 1;
  const json link = model.legacy_link
                        ? legacy_link_json(*model.legacy_link, model.schema.features())
                        : loss_link_json(model);
  json units = json::array(), coefficients = json::array();
  for (const auto& draw : model.draws) {
    coefficients.push_back(by_class(model.schema, draw, [](std::span<const double> theta) {
      return json(std::vector<double>(theta.begin(), theta.end()));
    }));
    units.push_back(by_class(model.schema, draw, [&](std::span<const double> theta) {
      return units_json(model, theta, !link.is_null());
    }));
  }
  json out = {{"loss", model.loss},
              {"features", model.schema.feature_names()},
              {"coefficients", one ? coefficients[0] : coefficients},
              {"original_units", one ? units[0] : units},
              {"preprocessing", schema_json(model.schema)}};
  const std::vector<std::string> classes = class_names(model.schema.label);
  if (!classes.empty()) out["classes"] = classes;
  if (!link.is_null()) out["link"] = link;
  for (const NoisyAnswer& answer : model.answers) out["answers"].push_back(answer_json(answer));
  if (model.intervals) out["intervals"] = intervals_json(*model.intervals);
  if (model.estimates) out["estimates"] = estimates_json(*model.estimates);
  if (!model.feature_means.empty()) out["feature_means"] = model.feature_means;
  if (model.bought) out["bought"] = bought_json(*model.bought);
  return out;
}

std::vector<double> numbers_field(const json& json_object, const char* name, std::size_t length,
                                  const std::string& source) {
  const json& list = field(json_object, name, source);
  if (!list.is_array() || list.size() != length) {
    reject(source, name, fmt::format("must be {} numbers", length));
  }
  std::vector<double> out;
  for (const json& value : list) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      reject(source, name, "must be finite numbers");
    }
    out.push_back(value.get<double>());
  }
  return out;
}

std::vector<double> draw_from_json(const json& draw, const Schema& schema,
                                   const std::string& source) {
  const std::size_t d = schema.features();
  const Classes* const several = std::get_if<Classes>(&schema.label);
  if (several == nullptr) return numbers_field({{"coefficients", draw}}, "coefficients", d, source);
  if (!draw.is_object() || draw.size() != several->names.size()) {
    reject(
        source, "coefficients",
        fmt::format("must be lists of numbers by the names of {} classes", several->names.size()));
  }
  std::vector<double> out;
  for (const std::string& name : several->names) {
    if (!draw.contains(name)) reject(source, "coefficients", "lack a class of the schema");
    const auto of_class =
        numbers_field({{"coefficients", draw.at(name)}}, "coefficients", d, source);
    out.insert(out.end(), of_class.begin(), of_class.end());
  }
  return out;
}

LegacyCappedLink legacy_link_from_json(const json& object, std::size_t d,
                                       const std::string& source) {
  only_fields(object, {"kind", "clip", "metric", "words"}, source + ": link");
  if (text_field(object, "kind", source) != "capped-logistic") {
    reject(source, "link.kind", "must be capped-logistic");
  }
  LegacyCappedLink out{number_field(object, "clip", source), {}};
  require_finite_positive(out.clip, source + ": link.clip");
  const json& metric = field(object, "metric", source);
  if (!metric.is_array() || metric.size() != d) {
    reject(source, "link.metric", fmt::format("must be {} rows", d));
  }
  for (const json& row : metric) {
    const auto numbers = numbers_field({{"metric", row}}, "metric", d, source);
    out.metric.insert(out.metric.end(), numbers.begin(), numbers.end());
  }
  return out;
}

Intervals intervals_from_json(const json& object, std::size_t d, const std::string& source) {
  only_fields(object, {"level", "replicas", "multiplier", "sd", "half_width", "errors", "words"},
              source + ": intervals");
  if (number_field(object, "level", source) != Intervals::level ||
      number_field(object, "multiplier", source) != Intervals::multiplier) {
    reject(source, "intervals.level", "has another multiplier than this program's");
  }
  const json& errors = field(object, "errors", source);
  if (!errors.is_array() || errors.size() != Intervals::replicas) {
    reject(source, "intervals.errors", fmt::format("must be {} replicas", Intervals::replicas));
  }
  Intervals out;
  for (const json& error : errors) {
    out.errors.push_back(numbers_field({{"errors", error}}, "errors", d, source));
  }
  return out;
}

std::vector<NoisyAnswer> answers_from_json(const json& list, const Schema& schema,
                                           std::size_t outputs, const std::string& source) {
  if (!list.is_array() || list.empty()) reject(source, "answers", "must be a list of answers");
  const std::size_t d = schema.features();
  // Files from before contrasts have answers in d coordinates. Small budgets ask for lengths first.
  const auto is_of_lengths = [&](std::size_t i) {
    return i < list.size() && list[i].is_object() && list[i].value("question", json()) == "lengths";
  };
  const json& front = list[is_of_lengths(0) && list.size() > 1 ? 1 : 0];
  const json first = front.is_object() ? front.value("at", json()) : json();
  const std::size_t k = first.size() == d * d ? d : contrast_basis(schema).coordinates;
  // The information has a block for each pair of classes.
  const std::size_t pairs = outputs > 1 ? outputs * (outputs - 1) / 2 : 1;
  const std::size_t of_scores = score_coordinates(outputs, k);
  std::vector<NoisyAnswer> out;
  for (const json& object : list) {
    only_fields(object, {"question", "clip", "deviation", "at", "values"}, source + ": answers");
    NoisyAnswer answer;
    answer.question = text_field(object, "question", source);
    const bool moments = answer.question == "moments", gradient = answer.question == "gradient",
               block = answer.question == "block" || answer.question == "start",
               lengths = answer.question == "lengths",
               information = answer.question == "information", scores = answer.question == "scores";
    if (!moments && !gradient && !block && !information && !scores && !lengths &&
        answer.question != "curvature") {
      reject(source, "answers.question",
             "must be lengths, moments, start, gradient, curvature, block, information or scores");
    }
    answer.clip = number_field(object, "clip", source);
    answer.deviation = number_field(object, "deviation", source);
    require_finite_nonnegative(answer.clip, source + ": answers.clip");
    require_finite_positive(answer.deviation, source + ": answers.deviation");
    answer.at = numbers_field(object, "at", lengths ? 2 : moments ? d * k : outputs * k, source);
    answer.values = numbers_field(object, "values",
                                  moments             ? k * (k + 1) / 2
                                  : information       ? pairs * (k * (k + 1) / 2)
                                  : scores            ? of_scores * (of_scores + 1) / 2
                                  : gradient || block ? outputs * k
                                                      : 1,
                                  source);
    out.push_back(std::move(answer));
  }
  return out;
}

std::string file_digest(json file) {
  constexpr std::size_t last_of_spelling = 2;
  const std::size_t format = format_of(file);
  const json::json_pointer at("/certificate/digest");
  const bool of_spelling = (format > 0 && format <= last_of_spelling) ||
                           (file.contains(at) && file[at].is_string() &&
                            file[at].get_ref<const std::string&>().starts_with(digest_of_spelling));
  json& certificate = file["certificate"];
  if (certificate.is_object()) {
    certificate.erase("digest");
    json& guarantee = certificate["guarantee"];
    const auto leave_out = [&](const char* claim) {
      if (guarantee.is_object()) guarantee.erase(claim);
    };
    for (const char* claim : {"epsilon", "delta"}) leave_out(claim);
    Guarantee any;
    Guarantee::fields(any, [&](const char* claim, double) { leave_out(claim); });
  }
  return of_spelling ? digest_of_spelling + digest_of(file.dump())
                     : digest_of_values + digest_of(canonical_text(file));
}

bool is_file_digest(std::string_view text) {
  constexpr std::size_t digits = 64;
  for (const std::string& name : {digest_of_values, digest_of_spelling}) {
    if (!text.starts_with(name)) continue;
    text.remove_prefix(name.size());
    return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
  }
  return false;
}

}  // namespace gibbsite
