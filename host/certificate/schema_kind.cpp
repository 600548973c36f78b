// A bought schema: its JSON, and what verify asks of its answers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "certificate/bought_json.hpp"
#include "certificate/model_json.hpp"
#include "certificate/release_of.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "model/column_type.hpp"

namespace gibbsite {

using nlohmann::json;

namespace {

constexpr auto first_number_bin = static_cast<std::size_t>(CellClass::first_bin);
constexpr std::array<const char*, first_number_bin> class_fields{"empty", "mark", "text", "date"};
// The bins of each form of numbers.
constexpr std::array<const char*, number_forms> form_fields{"numbers", "with_comma", "grouped"};
constexpr const char* further_dates = "further_dates";

std::size_t forms_of(std::uint64_t questions) {
  return questions == first_questions ? 1 : number_forms;
}

json answers_json(const ColumnAnswers& column) {
  json out = {{"name", column.name}};
  if (!column.asked()) return out;
  for (std::size_t i = 0; i < first_number_bin; ++i) out[class_fields[i]] = column.classes[i];
  const std::size_t numbers = std::min(column.classes.size(), first_date_class);
  for (std::size_t form = 0; first_number_bin + form * number_bins < numbers; ++form) {
    const auto first =
        column.classes.begin() + static_cast<std::ptrdiff_t>(first_number_bin + form * number_bins);
    out[form_fields[form]] = std::vector<double>(first, first + number_bins);
  }
  if (column.classes.size() > first_date_class)
    out[further_dates] =
        std::vector<double>(column.classes.begin() + static_cast<std::ptrdiff_t>(first_date_class),
                            column.classes.end());
  out["levels"] = json::array();
  for (const LevelAnswer& level : column.levels)
    out["levels"].push_back({{"text", level.text}, {"rows", level.rows}});
  out["ranges"] = json::array();
  for (const RangeAnswer& range : column.ranges)
    out["ranges"].push_back({{"range", {range.lo, range.hi}}, {"rows", range.rows}});
  return out;
}

const json& answers_list(const json& object, const char* name, const std::string& source) {
  const json& list = field(object, name, source);
  if (!list.is_array())
    throw BadInput(fmt::format("{}: {}: must be a list; use the file as written", source, name));
  return list;
}

ColumnAnswers column_answers(const json& object, std::uint64_t questions,
                             const std::string& source) {
  ColumnAnswers out;
  out.name = text_field(object, "name", source);
  if (!object.contains("numbers")) return out;
  for (const char* const name : class_fields)
    out.classes.push_back(number_field(object, name, source));
  for (std::size_t form = 0; form < forms_of(questions); ++form) {
    const auto numbers = numbers_field(object, form_fields[form], number_bins, source);
    out.classes.insert(out.classes.end(), numbers.begin(), numbers.end());
  }
  if (questions > iso_questions) {
    const auto dates =
        numbers_field(object, further_dates, cell_classes - first_date_class, source);
    out.classes.insert(out.classes.end(), dates.begin(), dates.end());
  }
  for (const json& level : answers_list(object, "levels", source))
    out.levels.push_back({text_field(level, "text", source), number_field(level, "rows", source)});
  const json& ranges = answers_list(object, "ranges", source);
  if (ranges.size() > refinements)
    throw BadInput(fmt::format("{}: ranges: must be at most {}; use the file as written", source,
                               refinements));
  for (const json& range : ranges) {
    const auto ends = numbers_field(range, "range", 2, source);
    if (!(ends[0] < ends[1]))
      throw BadInput(source + ": ranges: must go from low to high; use the file as written");
    out.ranges.push_back({ends[0], ends[1], numbers_field(range, "rows", refined_bins, source)});
  }
  return out;
}

// The positive class of a label of which nothing more is said: as the first files have it.
const std::string* lone_positive(const Label& label) {
  const auto* const two = std::get_if<TwoClasses>(&label);
  return two != nullptr && *two == TwoClasses{.positive = two->positive} ? &two->positive : nullptr;
}

// Files under add-remove, where the number of rows is an answer.
double rows_noise_from_json(const json& object, const std::string& source) {
  return object.contains("rows_noise") ? number_field(object, "rows_noise", source) : 0;
}

json scale_json(const AnswerScale& scale) {
  json out = {{"rows", scale.rows},
              {"bins_noise", scale.bins_noise},
              {"levels_noise", scale.levels_noise},
              {"threshold", scale.threshold},
              {"refine_noise", scale.refine_noise}};
  if (scale.rows_noise != 0) out["rows_noise"] = scale.rows_noise;
  return out;
}

AnswerScale scale_from_json(const json& object, const std::string& source) {
  AnswerScale out{.rows = count_field(object, "rows", source),
                  .bins_noise = number_field(object, "bins_noise", source),
                  .levels_noise = number_field(object, "levels_noise", source),
                  .threshold = number_field(object, "threshold", source),
                  .refine_noise = number_field(object, "refine_noise", source),
                  .rows_noise = rows_noise_from_json(object, source)};
  require_finite_positive(out.bins_noise, source + ": bins_noise");
  require_finite_positive(out.levels_noise, source + ": levels_noise");
  require_finite_positive(out.refine_noise, source + ": refine_noise");
  if (out.rows == 0) throw BadInput(source + ": rows: must be at least 1");
  return out;
}

// Beside the answers, as they are of a file without such columns.
void put_counting(const CountingColumns& counting, json& out) {
  if (!counting.person.empty()) out["person"] = counting.person;
  for (const Column& column : counting.columns())
    if (column.type != ColumnType::person)
      out[std::string(to_string(column.type))] = {{"column", column.name},
                                                  {"range", {column.lo, column.hi}}};
}

CountingColumns counting_from_json(const json& object, const std::string& source) {
  CountingColumns out;
  if (object.contains("person")) out.person = text_field(object, "person", source);
  const auto read = [&](const char* name, std::string& column, double& lo, double& hi) {
    if (!object.contains(name)) return;
    const std::string place = fmt::format("{}: {}", source, name);
    column = text_field(object[name], "column", place);
    const auto range = numbers_field(object[name], "range", 2, place);
    lo = range[0];
    hi = range[1];
  };
  read("weight", out.weight, out.weight_lo, out.weight_hi);
  read("exposure", out.exposure, out.exposure_lo, out.exposure_hi);
  return out;
}

// Each is a column that was not asked about.
void require_counting(const BoughtSchema& bought, const std::string& source) {
  std::set<std::string> known;
  for (const Column& column : bought.counting.columns()) {
    const auto at = std::ranges::find(bought.columns, column.name, &ColumnAnswers::name);
    const bool other = known.insert(column.name).second;
    if (other && at != bought.columns.end() && !at->asked()) continue;
    throw BadInput(fmt::format("{}: {}: is {}; use the file as written", source,
                               to_string(column.type),
                               other ? "no column that was not asked about"
                                     : "a column that says something else of rows"));
  }
}

json parts_json(const std::vector<WantedParts>& wanted) {
  json out = json::array();
  for (const WantedParts& of : wanted) {
    json parts = json::array();
    for (const DatePart part : of.parts) parts.push_back(to_string(part));
    out.push_back({{"column", of.column}, {"parts", std::move(parts)}});
  }
  return out;
}

std::vector<WantedParts> parts_from_json(const BoughtSchema& bought, const json& object,
                                         const std::string& source) {
  std::vector<WantedParts> out;
  const std::string place = source + ": date_parts";
  for (const json& one : answers_list(object, "date_parts", source)) {
    WantedParts wanted{.column = text_field(one, "column", place), .parts = {}};
    for (const json& name : answers_list(one, "parts", place)) {
      const auto part = name.is_string() ? date_part_named(name.get<std::string>()) : std::nullopt;
      if (!part) throw BadInput(place + ": parts: must be year, month or weekday");
      wanted.parts.push_back(*part);
    }
    out.push_back(std::move(wanted));
  }
  if (const Message fault = parts_fault(bought.columns, out); !fault.empty())
    throw BadInput(place + ": " + fault);
  return out;
}

}  // namespace

json bought_apart_json(const BoughtApart& bought) {
  json out = {
      {"certificate", bought.certificate}, {"epsilon", bought.epsilon}, {"delta", bought.delta}};
  if (!bought.person.empty()) out["person"] = bought.person;
  if (bought.rows_per_person > 0) out["rows_per_person"] = bought.rows_per_person;
  if (!bought.adjacency.empty()) out["adjacency"] = bought.adjacency;
  return out;
}

BoughtApart bought_apart_from_json(const json& object, const std::string& source) {
  BoughtApart out{.certificate = text_field(object, "certificate", source),
                  .epsilon = number_field(object, "epsilon", source),
                  .delta = number_field(object, "delta", source)};
  if (object.contains("person")) out.person = text_field(object, "person", source);
  if (object.contains("rows_per_person"))
    out.rows_per_person = count_field(object, "rows_per_person", source);
  if (object.contains("adjacency")) out.adjacency = text_field(object, "adjacency", source);
  if (const Message fault = out.fault(); !fault.empty()) throw BadInput(source, fault);
  return out;
}

json public_table_json(const PublicTable& table) {
  return {{"file", table.file}, {"sha256", table.sha256}, {"rows", table.rows}};
}

PublicTable public_table_from_json(const json& object, const std::string& source) {
  PublicTable out{.file = text_field(object, "file", source),
                  .sha256 = text_field(object, "sha256", source),
                  .rows = count_field(object, "rows", source)};
  if (const Message fault = out.fault(); !fault.empty()) throw BadInput(source, fault);
  return out;
}

json bought_json(const BoughtSchema& bought) {
  json columns = json::array();
  const std::vector<ColumnFinding> found = findings(bought);
  for (std::size_t k = 0; k < bought.columns.size(); ++k) {
    columns.push_back(answers_json(bought.columns[k]));
    columns.back()["words"] = found[k].words;
  }
  json out = {{"rows_per_person", bought.rows_per_person},
              {"scale", scale_json(bought.scale)},
              {"columns", std::move(columns)}};
  if (bought.questions != first_questions) out["questions"] = bought.questions;
  if (!bought.parts.empty()) out["date_parts"] = parts_json(bought.parts);
  put_counting(bought.counting, out);
  if (bought.label.empty()) return out;
  out["label"] = bought.label;
  if (const std::string* const positive = lone_positive(bought.target))
    out["positive"] = *positive;
  else
    out["target"] = label_fields(bought.target);
  return out;
}

BoughtSchema bought_from_json(const json& object, const std::string& source) {
  BoughtSchema out;
  out.questions =
      object.contains("questions") ? count_field(object, "questions", source) : first_questions;
  if (out.questions < first_questions || out.questions > newest_questions)
    throw BadInput(fmt::format("{}: questions: must be from {} to {}; use a program that knows it",
                               source, first_questions, newest_questions));
  out.scale = scale_from_json(field(object, "scale", source), source + ": scale");
  out.rows_per_person = count_field(object, "rows_per_person", source);
  if (object.contains("label")) {
    out.label = text_field(object, "label", source);
    if (object.contains("positive"))
      out.target = TwoClasses{.positive = text_field(object, "positive", source)};
    else
      out.target = label_from_json(field(object, "target", source), source + ": target");
  }
  for (const json& column : answers_list(object, "columns", source))
    out.columns.push_back(column_answers(column, out.questions, source));
  if (object.contains("date_parts")) out.parts = parts_from_json(out, object, source);
  out.counting = counting_from_json(object, source);
  require_counting(out, source);
  return out;
}

BoughtTerms terms_of(const BoughtSchema& bought) {
  const auto asked = std::ranges::count_if(bought.columns, &ColumnAnswers::asked);
  const AnswerScale& scale = bought.scale;
  return {.columns = static_cast<std::uint64_t>(asked),
          .questions = {.bins_noise = scale.bins_noise,
                        .levels_noise = scale.levels_noise,
                        .threshold = scale.threshold,
                        .refine_noise = scale.refine_noise,
                        .rows_noise = scale.rows_noise},
          .asked = bought.questions};
}

BoughtDefaults::Extra BoughtDefaults::extra_from_json(const json& constants) {
  if (!constants.contains("bought_schema")) return {};
  const json& object = constants["bought_schema"];
  const std::string source = "constants.bought_schema";
  return {BoughtTerms{.columns = count_field(object, "columns", source),
                      .questions = {.bins_noise = number_field(object, "bins_noise", source),
                                    .levels_noise = number_field(object, "levels_noise", source),
                                    .threshold = number_field(object, "threshold", source),
                                    .refine_noise = number_field(object, "refine_noise", source),
                                    .rows_noise = rows_noise_from_json(object, source)},
                      .asked = object.contains("questions")
                                   ? count_field(object, "questions", source)
                                   : first_questions}};
}

void BoughtDefaults::put_extra(const Extra& extra, json& constants) {
  if (!extra.bought) return;
  const SchemaQuestions& q = extra.bought->questions;
  constants["bought_schema"] = {{"columns", extra.bought->columns},
                                {"bins_noise", q.bins_noise},
                                {"levels_noise", q.levels_noise},
                                {"threshold", q.threshold},
                                {"refine_noise", q.refine_noise}};
  if (q.rows_noise != 0) constants["bought_schema"]["rows_noise"] = q.rows_noise;
  if (extra.bought->asked != first_questions)
    constants["bought_schema"]["questions"] = extra.bought->asked;
}

json model_json(const BoughtSchema& model) {
  json out = bought_json(model);
  out["kind"] = "schema";
  out["preprocessing"] = schema_json(schema_of(model));
  return out;
}

BoughtSchema SchemaKind::model_from_json(const json& model, const std::string& source) {
  if (text_field(model, "kind", source) != "schema")
    throw BadInput(source + ": kind: must be schema; use the file as it was written");
  BoughtSchema out = bought_from_json(model, source);
  out.schema = schema_of(out);
  return out;
}

std::string public_choices(const SchemaCertificate& certificate) {
  return certificate.problem.of_people()
             ? "the names of the columns, which of them is of people, which weighs rows and in "
               "what range, the label"
             : "the names of the columns, the label";
}

std::string assumption_of(const SchemaCertificate& /*certificate*/) { return bought_assumption; }

std::size_t draws_of(const BoughtSchema& /*model*/) { return 1; }

// Where the file's rows are an answer their number, or cap, stands in the certificate alone.
SchemaProblem problem_of(const BoughtSchema& model, const SchemaCertificate& claimed) {
  return {.rows = model.scale.rows_noise == 0 ? model.scale.rows : claimed.problem.rows,
          .columns = terms_of(model).columns,
          .questions = model.questions,
          .rows_of_person = model.counting.person.empty() ? 0 : model.rows_per_person};
}

namespace {

// Counts whether released numbers are such as a run leaves.
struct AnswerChecks {
  double rows = 0;
  std::size_t off = 0, beyond = 0;

  void operator()(double count, double deviation) {
    const double reach = answer_reach(deviation);
    off += std::remainder(count, answer_grid(deviation)) != 0;
    beyond += !(count >= -reach && count <= rows + reach);
  }
};

// Whether a run asks about such a text: its cells' (data/cell_counts.hpp) are plain and short.
bool can_be_level(std::string_view text, std::uint64_t questions) {
  const auto marks = public_marks(questions);
  return !text.empty() && text.size() <= longest_level && shown(text) == text &&
         std::ranges::find(marks, text) == marks.end();
}

// The answers up to that question about ranges, and no later one.
BoughtSchema answers_before(const BoughtSchema& model, std::size_t round) {
  BoughtSchema out = model;
  for (ColumnAnswers& column : out.columns)
    column.ranges.resize(std::min(column.ranges.size(), round));
  return out;
}

// Each range that was asked about is the one that followed from the answers before.
bool asked_as_followed(const BoughtSchema& model) {
  for (std::size_t round = 0; round < refinements; ++round) {
    std::vector<RangeQuestion> asked;
    for (std::size_t k = 0; k < model.columns.size(); ++k) {
      const std::vector<RangeAnswer>& ranges = model.columns[k].ranges;
      if (ranges.size() > round) asked.push_back({k, ranges[round].lo, ranges[round].hi});
    }
    const auto as_asked = [](const RangeQuestion& one) {
      return std::tuple(one.column, one.lo, one.hi);
    };
    if (!std::ranges::equal(asked, range_questions(answers_before(model, round)), {}, as_asked,
                            as_asked))
      return false;
  }
  return true;
}

}  // namespace

void check_bought(Verifier& v, const BoughtSchema& model, const BoughtTerms& paid,
                  const SchemaProblem& of, const Neighbors& who) {
  const SchemaQuestions& q = paid.questions;
  const std::uint64_t rows = of.most_weight();
  const bool is_counted = q.rows_noise != 0;
  // A normal beyond 14 of its deviations: a chance below 1e-43.
  const double rows_slack = 14 * q.rows_noise;
  const AnswerScale scale{.rows = is_counted ? model.scale.rows : rows,
                          .bins_noise = q.bins_noise,
                          .levels_noise = q.levels_noise,
                          .threshold = q.threshold,
                          .refine_noise = q.refine_noise,
                          .rows_noise = q.rows_noise};
  v.check(static_cast<double>(scale.rows) <= static_cast<double>(rows) + rows_slack + 1,
          "model.scale.rows: no noise leads to that of so many rows");
  v.check(model.scale == scale, "model.scale: that of the mechanism");
  v.check(terms_of(model).columns == paid.columns, "model.columns: as many as are paid for");
  v.check(model.questions == paid.asked, "model.questions: those that are paid for");
  v.check(model.rows_per_person == who.rows_per_person,
          "model.rows_per_person: those of the guarantee");
  v.check(model.counting.person.empty() != of.of_people(),
          "model.person: where the certificate is of people, and there only");
  AnswerChecks check{.rows = static_cast<double>(rows)};
  std::array<std::uint64_t, refinements> refined{};
  for (const ColumnAnswers& column : model.columns)
    for (std::size_t round = 0; round < column.ranges.size(); ++round) ++refined[round];
  std::size_t below = 0, uneven = 0, no_level = 0;
  for (const ColumnAnswers& column : model.columns) {
    v.check(column.asked() || (column.levels.empty() && column.ranges.empty()),
            "model.columns: none has answers that it was not asked for");
    double sum = 0;
    for (const double count : column.classes) check(count, q.bins_noise), sum += count;
    const double slack = 14 * q.bins_noise * std::sqrt(static_cast<double>(column.classes.size())) +
                         (is_counted ? rows_slack + 1 : 0);
    uneven += column.asked() && !(std::fabs(sum - static_cast<double>(scale.rows)) <= slack);
    std::set<std::string_view> texts;
    for (const LevelAnswer& level : column.levels) {
      check(level.rows, q.levels_noise);
      below += !(level.rows >= q.threshold);
      no_level += !can_be_level(level.text, model.questions) || !texts.insert(level.text).second;
    }
    v.check(std::ranges::is_sorted(column.levels,
                                   [](const LevelAnswer& a, const LevelAnswer& b) {
                                     return a.rows != b.rows ? a.rows > b.rows : a.text < b.text;
                                   }),
            "model.columns: levels by falling count");
    for (std::size_t round = 0; round < column.ranges.size(); ++round)
      for (const double count : column.ranges[round].rows)
        check(count, refined_deviation_up(q, refined[round]));
  }
  v.check(check.off == 0,
          fmt::format("model.columns: {} counts off the grid of their noise", check.off));
  v.check(check.beyond == 0,
          fmt::format("model.columns: {} counts that no noise leads to", check.beyond));
  v.check(uneven == 0,
          fmt::format("model.columns: {} whose counts add up to no such table", uneven));
  v.check(below == 0, fmt::format("model.columns: {} levels below the threshold", below));
  v.check(no_level == 0, fmt::format("model.columns: {} levels that no run releases", no_level));
  v.check(asked_as_followed(model), "model.columns: ranges asked about follow from the answers");
}

void check_model(Verifier& v, const BoughtSchema& model, const SchemaCertificate& c) {
  check_bought(v, model,
               {c.problem.columns, std::get<SchemaQuestions>(c.mechanism), c.problem.questions},
               c.problem, c.claimed.who);
}

GIBBSITE_RELEASE_KIND(SchemaKind);

}  // namespace gibbsite
