// TOML -> schema through toml++.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "core/format_message.hpp"
#include "data/input.hpp"
#include "data/schema_writer.hpp"
#include "data/text.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/boolean.hpp"
#include "gibbsite/model/covariance_model.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/date.hpp"
#include "gibbsite/model/family_model.hpp"
#include "gibbsite/model/interaction.hpp"
#include "gibbsite/model/network_model.hpp"
#include "gibbsite/model/schema.hpp"
#include "model/column_type.hpp"
#include "model/schema_check.hpp"

namespace gibbsite {

namespace {

constexpr std::string_view types_text =
    "\"number\", \"date\", \"year\", \"month\", \"weekday\", \"category\", \"boolean\", "
    "\"exposure\", \"weight\", \"person\" or \"ignore\"";
constexpr std::string_view no_row_weights =
    "a row's own weight is a column, with a public bound on it: [columns] NAME = {type = "
    "\"weight\", range = [0, the largest weight]}; class_weights weighs classes, and type = "
    "\"exposure\" is for what counts are over";

std::string_view line_of(std::string_view text, unsigned line) {
  for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

/// The keys of a schema beside its tables, as messages list them.
const std::vector<std::string>& known_keys() {
  static const std::vector<std::string> names{
      "label",          "positive", "negative",  "unlisted_label", "classes",   "class_weights",
      "positive_share", "range",    "tolerance", "counts",         "bins",      "decimals",
      "invalid",        "decimal",  "thousands", "row_norm",       "intercept", "missing",
      "never",          "target",   "bought",    "public"};
  return names;
}

std::vector<std::string> with_tables(std::vector<std::string> names) {
  names.insert(names.end(), {"network", "interaction", "columns"});
  return names;
}

/// The keys of a column of that type.
std::vector<std::string> keys_of(const Column& column) {
  switch (column.type) {
    case ColumnType::number:
      if (column.is_date())
        return {"range", "format", "missing", "missing_level", "curve", "knots", "count"};
      if (column.part == DatePart::year)
        return {"of",    "range", "format", "missing", "missing_level",
                "curve", "knots", "scale",  "bins",    "typical"};
      return {"range", "missing",  "missing_level", "curve",   "knots",     "scale",
              "bins",  "decimals", "count",         "decimal", "thousands", "typical"};
    case ColumnType::category:
      if (column.part != DatePart::none)
        return {"of", "format", "missing", "other", "unlisted", "reference"};
      if (column.is_boolean) return {"other", "missing", "unlisted", "reference", "count"};
      return {"levels", "other", "missing", "unlisted", "reference", "count"};
    case ColumnType::exposure:
    case ColumnType::weight:
      return {"range", "missing", "decimal", "thousands"};
    case ColumnType::person:
      return {"missing"};
    case ColumnType::ignore:
      break;
  }
  return {"count"};
}

/// What to do about a line that is no TOML, where one of the usual slips is in it; begins "; ".
std::string toml_advice(std::string_view line, std::string_view error) {
  const auto has = [&](std::string_view what) { return line.find(what) != std::string_view::npos; };
  for (const char* const quote :
       {"\u201c", "\u201d", "\u201e", "\u2018", "\u2019", "\u00ab", "\u00bb"})
    if (has(quote)) return "; write straight quotes (\") in place of typographic ones";
  if (error.find("inline table") != std::string_view::npos &&
      error.find("dangling comma") != std::string_view::npos)
    return "; remove the comma before }";
  if (error.find("inline table") != std::string_view::npos &&
      error.find("\\n") != std::string_view::npos)
    return "; close what { begins with a } in the same line";
  if (error.find("saw ';'") != std::string_view::npos)
    return "; put commas between the parts of a list";
  if (error.find("expected a comment or whitespace") != std::string_view::npos && has("}"))
    return "; put everything about a column between { and }";
  if (error.find("leading zeroes") != std::string_view::npos)
    return "; write numbers without thousands separators";
  if (error.find("expected comma") != std::string_view::npos)
    return "; put a comma between the parts, and close every bracket";
  if (error.find("saw ':'") != std::string_view::npos) return "; write = in place of :";
  if (error.find("boolean") != std::string_view::npos && (has("True") || has("False")))
    return "; write true and false in small letters";
  const bool names_value = error.find("parsing value") != std::string_view::npos;
  if (has("(") && names_value) return "; write ranges and lists in square brackets";
  if (!is_utf8(line)) return "; save the schema as UTF-8";
  const std::string_view key = line.substr(0, line.find('='));
  const std::size_t first = key.find_first_not_of(" \t"), last = key.find_last_not_of(" \t");
  if (has("=") && first != std::string_view::npos && key[first] != '"' && key[first] != '\'') {
    const std::string_view name = key.substr(first, last - first + 1);
    const bool bare = std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-';
    });
    if (!bare) return fmt::format("; put the name in quotes: \"{}\" = ...", shown(name));
  }
  for (const char* const kind : {"value", "floating-point", "boolean", "integer"})
    if (error.find(kind) != std::string_view::npos && has("="))
      return "; put words in quotes: \"...\"";
  return has("=") ? "; fix the line, or begin it with # to leave it out"
                  : "; give a schema, whose lines read key = value; a table goes elsewhere";
}

class SchemaReader {
 public:
  // `only`: the one column that is wanted.
  explicit SchemaReader(const std::string& source, std::string only = "",
                        bool label_optional = false)
      : only_(std::move(only)), label_optional_(label_optional) {
    lines_.source = source;
    schema_.intercept = true;
  }

  /// Where what was read stood.
  [[nodiscard]] const SchemaLines& lines() const { return lines_; }

  Schema read(const std::string& text) {
    toml::table root;
    try {
      root = toml::parse(std::string_view(text), std::string_view(lines_.source));
    } catch (const toml::parse_error& error) {
      fail(error.source(),
           fmt::format("not valid TOML: {}{}", shown(error.description()),
                       toml_advice(line_of(text, error.source().begin.line), error.description())));
    }
    for (const auto& [key, node] : root)
      collect([&, &key = key, &node = node] { read_key(key, node); });
    if (const toml::node* const node = root.get("interaction"); node != nullptr && only_.empty())
      collect([&] { read_interactions(*node, root); });
    const bool labeled = only_.empty() ? !label_optional_ || !schema_.label_name.empty()
                                       : schema_.label_name == only_;
    if (!labeled) label_ = {};
    if (!only_.empty()) schema_.network.reset();
    finish_label(root);
    if (!labeled) drop_label(schema_);
    if (labeled) finish_class_weights();
    if (auto_row_norm_) schema_.row_norm = schema_.auto_row_norm();
    if (!errors_.empty()) {
      forget_unread_nodes(root);
      collect_checks();
    }
    std::ranges::stable_sort(errors_, {}, &SchemaError::line);
    std::vector<Message> lines;
    for (const SchemaError& error : errors_) lines.push_back(error.message());
    for (const std::string_view key : {"label", "positive", "columns"})
      if (!root.contains(key) && (labeled || key == "columns") &&
          !(key == "positive" && (root.contains("range") || root.contains("classes"))))
        lines.push_back(format_message(
            "{}: {} is missing; add it{}", lines_.source, Word{std::string(key)},
            key == "positive"
                ? format_message(
                      ", or {} where there are more than two, or {} where the label is an amount "
                      "or a count",
                      Word{"classes"}, Word{"range"})
                : ""));
    if (!lines.empty()) throw BadInputs(std::move(lines));
    check_schema(schema_, lines_);
    return std::move(schema_);
  }

 private:
  /// One of the errors of a schema.
  struct SchemaError : BadInput {
    SchemaError(const std::string& source, unsigned at, const Message& what)
        : BadInput(FilePosition{source, at}, what), line(at) {}
    SchemaError(unsigned at, const Message& message) : BadInput(message), line(at) {}
    unsigned line;
  };

  [[noreturn]] void fail(const toml::source_region& at, const Message& what) const {
    throw SchemaError(lines_.source, at.begin.line, what);
  }

  /// Runs one part of the reading and keeps its error for the end.
  template <class Part>
  void collect(Part part) {
    try {
      part();
    } catch (const SchemaError& error) {
      errors_.push_back(error);
    }
  }

  [[noreturn]] void wrong_type(const toml::node& node, std::string_view name,
                               std::string_view wanted) const {
    std::string got;
    node.visit([&](const auto& value) {
      using T = std::decay_t<decltype(value)>;
      if constexpr (toml::is_table<T>)
        got = "a table";
      else if constexpr (toml::is_array<T>)
        got = "an array";
      else if constexpr (toml::is_string<T>)
        got = "a string";
      else if constexpr (toml::is_boolean<T>)
        got = "true or false";
      else if constexpr (toml::is_number<T>)
        got = fmt::format("the number {}", value.get());
      else
        got = "a date or time";
    });
    fail(node.source(), fmt::format("{} must be {}, got {}; fix the schema", name, wanted, got));
  }

  std::string read_string(const toml::node& node, std::string_view name) const {
    if (!node.is_string()) wrong_type(node, name, "a string in quotes");
    return node.as_string()->get();
  }

  /// How missing cells read: a text, or a list of them.
  void read_marks(const toml::node& node, std::string_view name, std::string& first,
                  std::vector<std::string>& others) const {
    if (!node.is_array() && !node.is_string())
      wrong_type(node, name, "a string in quotes, or a list [\"...\", \"...\"]");
    if (node.is_string()) {
      first = read_string(node, name);
      return;
    }
    std::vector<std::string> marks;
    for (const toml::node& mark : *node.as_array()) marks.push_back(read_string(mark, name));
    if (marks.empty())
      fail(
          node.source(),
          fmt::format("{} is an empty list; list how a missing cell reads, or leave it out", name));
    first = marks.front();
    others.assign(marks.begin() + 1, marks.end());
  }

  /// The signs that group digits: one, or a list of them.
  std::vector<std::string> read_signs(const toml::node& node, std::string_view name) const {
    std::string first;
    std::vector<std::string> out;
    if (!node.is_array() || !node.as_array()->empty()) read_marks(node, name, first, out);
    out.insert(out.begin(), first);
    if (std::ranges::find(out, "") != out.end())
      fail(node.source(),
           fmt::format("{} is empty; give what groups digits, or leave it out", name));
    return out;
  }

  /// A day, as text or as TOML has one: its days since 1970-01-01.
  double read_day(const toml::node& node, std::string_view name) const {
    std::string text;
    if (node.is_date()) {
      const toml::date day = node.as_date()->get();
      text = fmt::format("{:04}-{:02}-{:02}", day.year, day.month, day.day);
    } else if (node.is_string()) {
      text = node.as_string()->get();
    } else {
      wrong_type(node, name, "a day such as \"2024-12-31\"");
    }
    const std::optional<double> days = text.size() == 10 ? parse_date(text) : std::nullopt;
    if (!days)
      fail(node.source(), fmt::format("{} is {}; write a day that there is, as \"2024-12-31\"",
                                      name, gibbsite::quoted(text)));
    return *days;
  }

  /// A number of the column: of dates a day.
  double read_value(const toml::node& node, std::string_view name, const Column& column) const {
    return column.is_date() ? read_day(node, name) : read_number(node, name);
  }

  bool read_bool(const toml::node& node, std::string_view name) const {
    if (!node.is_boolean()) wrong_type(node, name, "true or false");
    return node.as_boolean()->get();
  }

  /// What else is wrong with what was read; not with all columns together, as some were not.
  void collect_checks() {
    const unsigned all_columns = lines_.of_key("columns");
    const std::size_t unread = errors_.size();
    for (const SchemaFault& fault : schema_faults(schema_, lines_)) {
      const bool said = std::ranges::any_of(std::span(errors_).first(unread),
                                            [&](const auto& e) { return e.line == fault.line; });
      if (fault.line == 0 || fault.line == all_columns || said) continue;
      errors_.emplace_back(fault.line, fault.message);
    }
  }

  /// Whether it is "auto"; another word is an error.
  bool read_auto(const toml::node& node, std::string_view name, std::string_view other) const {
    if (!node.is_string()) return false;
    if (node.as_string()->get() == "auto") return true;
    fail(node.source(), fmt::format("{} is {}; it must be \"auto\" or {}", name,
                                    gibbsite::quoted(node.as_string()->get()), other));
  }

  /// Whether it is the second of two words.
  bool read_choice(const toml::node& node, std::string_view name, std::string_view first,
                   std::string_view second) const {
    const std::string value = read_string(node, name);
    if (value != first && value != second)
      fail(node.source(), fmt::format("{} is {}; it must be \"{}\" or \"{}\"", name,
                                      gibbsite::quoted(value), first, second));
    return value == second;
  }

  double read_number(const toml::node& node, std::string_view name) const {
    if (node.is_integer()) return static_cast<double>(node.as_integer()->get());
    if (!node.is_floating_point()) wrong_type(node, name, "a number");
    return node.as_floating_point()->get();
  }

  void read_key(const toml::key& key, const toml::node& node) {
    const std::string_view name = key.str();
    lines_.keys.emplace(name, key.source().begin.line);
    if (name == "label") {
      schema_.label_name = read_string(node, name);
    } else if (name == "positive") {
      label_.two.positive = read_string(node, name);
    } else if (name == "negative") {
      label_.two.negative = read_string(node, name);
      if (label_.two.negative.empty())
        fail(key.source(), "negative is empty; name the other class");
    } else if (name == "classes") {
      read_classes(node);
    } else if (name == "class_weights") {
      read_class_weights(node);
    } else if (name == "positive_share") {
      read_positive_share(node);
    } else if (name == "weights" || name == "weight" || name == "sample_weight" ||
               name == "sample_weights") {
      fail(key.source(), fmt::format("{}: {}", name, no_row_weights));
    } else if (name == "range") {
      read_range(node, "range of the label", label_.amount.lo, label_.amount.hi);
      label_.has_range = true;
    } else if (name == "counts") {
      label_.counts = read_bool(node, name);
    } else if (name == "tolerance") {
      label_.amount.tolerance = read_number(node, name);
    } else if (name == "unlisted_label") {
      label_.two.refuses_unlisted = read_choice(node, name, "negative", "refuse");
    } else if (name == "invalid") {
      schema_.invalid =
          read_choice(node, name, "refuse", "middle") ? Invalid::middle : Invalid::refuse;
    } else if (name == "decimal") {
      schema_.text.decimal = read_choice(node, name, ".", ",") ? ',' : '.';
    } else if (name == "thousands") {
      schema_.text.thousands = read_signs(node, name);
    } else if (name == "row_norm") {
      auto_row_norm_ = read_auto(node, name, "a number");
      if (!auto_row_norm_) schema_.row_norm = read_number(node, name);
    } else if (name == "intercept") {
      schema_.intercept = read_auto(node, name, "true or false") || read_bool(node, name);
    } else if (name == "missing") {
      schema_.text.has_missing = true;
      read_marks(node, name, schema_.text.missing, schema_.text.also_missing);
    } else if (name == "bought") {
      read_bought(node);
    } else if (name == "public") {
      read_public(node);
    } else if (name == "bins") {
      label_.bins = &node;
    } else if (name == "decimals") {
      label_.amount.decimals = read_decimals(node, "decimals of the label");
    } else if (name == "never") {
      read_never(node);
    } else if (name == "target") {
      schema_.target = read_string(node, name);
      if (schema_.target.empty())
        fail(node.source(), "target is empty; name the column to predict, or leave it out");
    } else if (name == "network") {
      read_network(node);
    } else if (name == "interaction") {
      // Once its columns are known.
    } else if (name == "columns") {
      if (!node.is_table()) wrong_type(node, name, "a table [columns]");
      read_columns(*node.as_table());
    } else {
      fail(key.source(),
           fmt::format("unknown key {}{}; known are {}, [network], [[interaction]] and [columns]",
                       gibbsite::quoted(name), did_you_mean(name, with_tables(known_keys())),
                       fmt::join(known_keys(), ", ")));
    }
  }

  /// A column that could not be read has its own error, which is enough: [network] may name it.
  void forget_unread_nodes(const toml::table& root) {
    if (!schema_.network) return;
    const toml::table* const columns = root["columns"].as_table();
    const bool label_unread = root.contains("label") && !root["label"].is_string();
    if (columns == nullptr || label_unread) return schema_.network.reset();
    const auto unread = [&](const std::string& name) {
      return columns->contains(name) &&
             std::ranges::find(schema_.columns, name, &Column::name) == schema_.columns.end();
    };
    std::erase_if(*schema_.network, [&](const auto& node) { return unread(node.first); });
    for (auto& [node, parents] : *schema_.network) std::erase_if(parents, unread);
  }

  void read_interactions(const toml::node& node, const toml::table& root) {
    const toml::array* const list = node.as_array();
    if (list == nullptr || !list->is_homogeneous(toml::node_type::table))
      fail(node.source(),
           "interaction must be written as [[interaction]], with two brackets, and below it "
           "columns = [\"...\", \"...\"]");
    const toml::table* const columns = root["columns"].as_table();
    for (const toml::node& one : *list)
      collect([&] { read_interaction(*one.as_table(), columns); });
  }

  void read_interaction(const toml::table& table, const toml::table* columns) {
    const toml::node *const names = table.get("columns"), *const curve = table.get("curve"),
                            *const knots = table.get("knots");
    if (names == nullptr)
      fail(table.source(), "interaction: columns is missing; add columns = [\"...\", \"...\"]");
    if (!names->is_array()) wrong_type(*names, "interaction: columns", "a list [\"...\", \"...\"]");
    Interaction out;
    bool is_unread = false;
    for (const toml::node& name : *names->as_array()) {
      out.parts.push_back({read_string(name, "interaction: columns")});
      // A column that could not be read has its own error, which is enough.
      const std::string& column = out.parts.back().column;
      is_unread = is_unread || (columns != nullptr && columns->contains(column) &&
                                schema_.column_named(column) == nullptr);
    }
    const std::string here = "interaction " + gibbsite::quoted(out.name());
    for (const auto& [key, value] : table) {
      if (key == "columns" || key == "curve" || key == "knots") continue;
      fail(key.source(), fmt::format("{}: unknown key {}; known are columns, curve and knots", here,
                                     gibbsite::quoted(key.str())));
    }
    std::optional<std::size_t> count;
    if (curve != nullptr) {
      if (!curve->is_integer()) wrong_type(*curve, here + ": curve", "a number of knots");
      const std::int64_t given = curve->as_integer()->get();
      if (given < 2 || given > static_cast<std::int64_t>(most_knots))
        fail(
            curve->source(),
            fmt::format("{}: curve must be from 2 to {} knots for each of its numbers, got {}; fix "
                        "the schema",
                        here, most_knots, given));
      count = static_cast<std::size_t>(given);
    }
    if (knots != nullptr && !knots->is_table())
      wrong_type(*knots, here + ": knots", "a table such as {age = [17, 40, 90]}");
    if (knots != nullptr) read_interaction_knots(*knots->as_table(), here, out);
    if (is_unread) return;
    for (Interaction::Part& part : out.parts) {
      const Column* const column = schema_.column_named(part.column);
      if (column == nullptr || column->type != ColumnType::number || !part.knots.empty()) continue;
      if (column->lo < column->hi) part.knots = interaction_knots(*column, count);
    }
    schema_.interactions.push_back(std::move(out));
    lines_.interactions.push_back(names->source().begin.line);
  }

  void read_interaction_knots(const toml::table& table, const std::string& here,
                              Interaction& out) const {
    for (const auto& [key, list] : table) {
      const auto part =
          std::ranges::find(out.parts, std::string(key.str()), &Interaction::Part::column);
      const std::string what = fmt::format("{}: knots of {}", here, gibbsite::quoted(key.str()));
      if (part == out.parts.end())
        fail(key.source(), what + ": the column is not in it; name one of its columns");
      if (!list.is_array()) wrong_type(list, what, "a list of numbers");
      const Column* const known = schema_.column_named(part->column);
      for (const toml::node& knot : *list.as_array())
        part->knots.push_back(read_value(knot, what, known == nullptr ? Column{} : *known));
      if (part->knots.size() < 2)
        fail(key.source(), what + " must be two numbers at least, the ends of the range");
    }
  }

  void read_network(const toml::node& node) {
    if (!node.is_table())
      wrong_type(node, "network", "a table [network] of lines such as income = [\"education\"]");
    schema_.network.emplace();
    for (const auto& [key, value] : *node.as_table()) {
      const std::string name(key.str());
      const std::string what = fmt::format("[network]: parents of {}", gibbsite::quoted(name));
      lines_.nodes.emplace(name, key.source().begin.line);
      collect([&, &value = value] {
        if (!value.is_array()) wrong_type(value, what, "a list [\"...\", \"...\"]");
        std::vector<std::string> parents;
        for (const toml::node& parent : *value.as_array())
          parents.push_back(read_string(parent, what));
        (*schema_.network)[name] = std::move(parents);
      });
    }
  }

  void read_never(const toml::node& node) {
    const char* const form = "a list of lists such as [[\"age < 16\", \"married = yes\"]]";
    if (!node.is_array()) wrong_type(node, "never", form);
    for (const toml::node& rule : *node.as_array()) {
      if (!rule.is_array()) wrong_type(rule, "never", form);
      std::vector<std::string>& events = schema_.never.emplace_back();
      for (const toml::node& event : *rule.as_array())
        events.push_back(read_string(event, "never"));
    }
  }

  /// How many of equal width, or where they meet, with the ends of the range or without.
  std::vector<double> read_bins(const toml::node& node, const std::string& name, double lo,
                                double hi) const {
    if (node.is_integer()) {
      const std::int64_t bins = node.as_integer()->get();
      if (bins < 2 || bins > static_cast<std::int64_t>(most_bins))
        fail(node.source(),
             fmt::format("{} must be from 2 to {}, got {}; fix the schema", name, most_bins, bins));
      return lo < hi ? equal_edges(lo, hi, static_cast<std::uint64_t>(bins))
                     : std::vector<double>{};
    }
    if (!node.is_array()) wrong_type(node, name, "how many, or a list of where they meet");
    std::vector<double> edges;
    for (const toml::node& edge : *node.as_array()) edges.push_back(read_number(edge, name));
    if (!edges.empty() && edges.front() == lo) edges.erase(edges.begin());
    if (!edges.empty() && edges.back() == hi) edges.pop_back();
    if (edges.empty())
      fail(node.source(), fmt::format("{} must be two at least; list where they meet", name));
    return edges;
  }

  int read_decimals(const toml::node& node, const std::string& name) const {
    if (!node.is_integer()) wrong_type(node, name, "a whole number");
    const std::int64_t decimals = node.as_integer()->get();
    if (decimals < 0 || decimals > most_decimals)
      fail(node.source(), fmt::format("{} must be from 0 to {}, got {}; fix the schema", name,
                                      most_decimals, decimals));
    return static_cast<int>(decimals);
  }

  /// Two of them are `negative` and `positive`.
  void read_classes(const toml::node& node) {
    if (!node.is_array()) wrong_type(node, "classes", "a list [\"...\", \"...\"]");
    std::vector<std::string> names;
    for (const toml::node& name : *node.as_array()) names.push_back(read_string(name, "classes"));
    const std::string fault = classes_fault(names);
    if (!fault.empty()) throw SchemaError(lines_.source, lines_.of_key("classes"), fault);
    if (names.size() == 2) {
      label_.two.negative = names[0];
      label_.two.positive = names[1];
    } else {
      label_.classes = std::move(names);
    }
  }

  void read_class_weights(const toml::node& node) {
    if (!node.is_table())
      wrong_type(node, "class_weights", "a table such as {\"yes\" = 2.5, \"no\" = 1}");
    for (const auto& [name, weight] : *node.as_table()) {
      const std::string what = fmt::format("class_weights: {}", gibbsite::quoted(name.str()));
      class_weights_[std::string(name.str())] = read_number(weight, what);
    }
  }

  /// A number, or a list of two.
  void read_positive_share(const toml::node& node) {
    const toml::array* const bounds = node.as_array();
    const bool two = bounds != nullptr && bounds->size() == 2;
    if (!two && !node.is_number()) {
      wrong_type(node, "positive_share", "a number such as 0.002, or a list [0.001, 0.004]");
    }
    PositiveShare share;
    share.low = read_number(two ? (*bounds)[0] : node, "positive_share");
    share.high = two ? read_number((*bounds)[1], "positive_share") : share.low;
    label_.two.positive_share = share;
  }

  /// What `schema` wrote of a purchase: it is no setting, so nothing of it may be missing.
  void read_bought(const toml::node& node) {
    const toml::table* const said = node.as_table();
    const auto part = [&](std::string_view name) -> const toml::node& {
      const toml::node* const found = said == nullptr ? nullptr : said->get(name);
      if (found == nullptr)
        wrong_type(node, "bought",
                   "{certificate = \"...\", epsilon = ..., delta = ...}, as the command schema "
                   "wrote it");
      return *found;
    };
    BoughtApart bought{.certificate = read_string(part("certificate"), "bought: certificate"),
                       .epsilon = read_number(part("epsilon"), "bought: epsilon"),
                       .delta = read_number(part("delta"), "bought: delta")};
    if (said->contains("person")) bought.person = read_string(part("person"), "bought: person");
    if (said->contains("adjacency"))
      bought.adjacency = read_string(part("adjacency"), "bought: adjacency");
    if (said->contains("rows_per_person")) {
      const toml::node& rows = part("rows_per_person");
      const auto* const count = rows.as_integer();
      if (count == nullptr || count->get() < 0)
        wrong_type(rows, "bought: rows_per_person", "a number of rows");
      bought.rows_per_person = static_cast<std::uint64_t>(count->get());
    }
    if (const Message fault = bought.fault(); !fault.empty())
      fail(node.source(), format_message("bought: {}", fault));
    schema_.bought = std::move(bought);
  }

  /// What `schema` wrote of a public table.
  void read_public(const toml::node& node) {
    const toml::table* const said = node.as_table();
    const auto part = [&](std::string_view name) -> const toml::node& {
      const toml::node* const found = said == nullptr ? nullptr : said->get(name);
      if (found == nullptr)
        wrong_type(
            node, "public",
            "{file = \"...\", sha256 = \"...\", rows = ...}, as the command schema wrote it");
      return *found;
    };
    PublicTable known{.file = read_string(part("file"), "public: file"),
                      .sha256 = read_string(part("sha256"), "public: sha256")};
    const double rows = read_number(part("rows"), "public: rows");
    if (rows >= 1 && rows < 0x1p53 && rows == std::floor(rows))
      known.rows = static_cast<std::uint64_t>(rows);
    if (const Message fault = known.fault(); !fault.empty())
      fail(node.source(), format_message("public: {}", fault));
    schema_.from_public = std::move(known);
  }

  /// Says what is wrong with a key that was given.
  void fail_key(std::string_view key, const Message& what) {
    const unsigned line = lines_.of_key(key);
    errors_.emplace_back(line, lines_.at(line, what));
  }

  /// In the order of the classes, which are known by now.
  void finish_class_weights() {
    if (lines_.of_key("class_weights") == 0) return;
    if (number_of(schema_.label) != nullptr) {
      if (!class_weights_.empty())
        fail_key("class_weights",
                 fmt::format("class_weights are of classes, and the label is {}; leave them out",
                             to_string(kind_of(schema_.label))));
      return;
    }
    const std::vector<std::string> names = class_names(schema_.label);
    std::vector<double> weights;
    for (const std::string& name : names) {
      const auto given = class_weights_.find(name);
      if (given == class_weights_.end()) {
        fail_key("class_weights",
                 fmt::format("class_weights: {} has no weight; give one for each class",
                             gibbsite::quoted(name)));
        continue;
      }
      weights.push_back(given->second);
      class_weights_.erase(given);
    }
    for (const auto& [name, weight] : class_weights_) {
      fail_key("class_weights", fmt::format("class_weights: {} is none of the classes, which are "
                                            "{}; leave it out",
                                            gibbsite::quoted(name), toml_list(names)));
    }
    if (TwoClasses* const two = std::get_if<TwoClasses>(&schema_.label))
      two->weights = std::move(weights);
    else
      std::get<Classes>(schema_.label).weights = std::move(weights);
  }

  /// What keys of the label mean together.
  void finish_label(const toml::table& root) {
    for (const std::string_view key : {"positive", "negative", "range"}) {
      if (!root.contains(key) || !root.contains("classes")) continue;
      fail_key(key, format_message("{} has no meaning beside {}, which names every class of the "
                                   "label; leave one out",
                                   key, Word{"classes"}));
    }
    // A list names every class, of two as of more: a third one goes by `invalid`.
    if (root.contains("classes") && !label_.two.negative.empty() &&
        !root.contains("unlisted_label"))
      label_.two.refuses_unlisted = schema_.invalid == Invalid::refuse;
    for (const std::string_view key : {"tolerance", "counts", "bins", "decimals"}) {
      if (!root.contains(key) || root.contains("range")) continue;
      const bool plural = key == "bins" || key == "decimals";
      fail_key(key, format_message(
                        "{} {} a meaning beside the label's {} only; give that, or leave {} out",
                        key, plural ? "have" : "has", Word{"range"}, plural ? "them" : "it"));
      label_.amount.decimals.reset();
    }
    if (!label_.classes.empty()) {
      if (root.contains("unlisted_label")) fail_key("unlisted_label", unlisted_of_several());
      schema_.label = Classes{std::move(label_.classes)};
    } else if (label_.counts || label_.has_range) {
      finish_number(root);
    } else {
      schema_.label = std::move(label_.two);
      return;
    }
    if (label_.two.positive_share)
      fail_key("positive_share",
               fmt::format("positive_share is of two classes, and the label is {}; leave it out",
                           to_string(kind_of(schema_.label))));
  }

  void finish_number(const toml::table& root) {
    Amount& amount = label_.amount;
    if (!label_.two.positive.empty() || !label_.two.negative.empty())
      fail_key("positive",
               "positive and negative name classes, and range is that of an amount or a count; "
               "leave one out");
    if (label_.two.refuses_unlisted) fail_key("unlisted_label", unlisted_without_negative());
    if (label_.bins != nullptr) {
      collect([&] {
        amount.edges = read_bins(*label_.bins, "bins of the label", amount.lo, amount.hi);
      });
    }
    if (label_.counts) {
      if (root.contains("tolerance"))
        fail_key("tolerance", "tolerance is that of amounts, and counts = true; leave one out");
      schema_.label = Count{std::move(amount)};
      return;
    }
    if (!root.contains("tolerance"))
      amount.tolerance = (amount.hi - amount.lo) / default_tolerances;
    schema_.label = std::move(amount);
  }

  void read_range(const toml::node& node, const std::string& what, double& lo, double& hi) const {
    const toml::array* const range = node.as_array();
    if (range == nullptr || range->size() != 2)
      fail(node.source(), what + " must be [lowest, highest]: two numbers known without the data");
    lo = read_number((*range)[0], what);
    hi = read_number((*range)[1], what);
  }

  void read_days(const toml::node& node, const std::string& what, double& lo, double& hi) const {
    const toml::array* const range = node.as_array();
    if (range == nullptr || range->size() != 2)
      fail(node.source(), what +
                              " must be [first, last]: two days such as \"1990-01-01\", known "
                              "without the data");
    lo = read_day((*range)[0], what);
    hi = read_day((*range)[1], what);
  }

  /// How the column's numbers are written, now that it says so itself.
  static NumberText& numbers_of(Column& column) {
    if (!column.numbers) column.numbers.emplace();
    return *column.numbers;
  }

  void read_columns(const toml::table& table) {
    // toml++ sorts a table by key; the order of the columns is that of the file.
    std::vector<std::pair<const toml::key*, const toml::node*>> entries;
    for (const auto& [key, node] : table) entries.emplace_back(&key, &node);
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      return a.first->source().begin < b.first->source().begin;
    });
    for (const auto& [key, node] : entries)
      collect([&, &key = key, &node = node] { read_column(*key, *node, table); });
  }

  /// What the column that a part of a date is of says of its cells, and so of the part.
  void read_source(const toml::table& source, const std::string& here, Column& column) const {
    if (const toml::node* const format = source.get("format"))
      column.date = read_string(*format, here + ": format");
    if (const toml::node* const missing = source.get("missing")) {
      column.has_missing = true;
      read_marks(*missing, here + ": missing", column.missing, column.also_missing);
    }
    const toml::node* const range = source.get("range");
    if (column.part != DatePart::year || range == nullptr) return;
    if (source["type"].value<std::string_view>() != "date") {
      read_range(*range, here + ": range", column.lo, column.hi);
      return;
    }
    read_days(*range, here + ": range", column.lo, column.hi);
    for (double* const end : {&column.lo, &column.hi}) *end = part_of_day(DatePart::year, *end);
  }

  void read_column(const toml::key& key, const toml::node& node, const toml::table& columns) {
    const std::string_view name = key.str();
    const toml::source_region& at = key.source();
    const std::string here = fmt::format("column {}", gibbsite::quoted(name));
    if (node.is_array()) {
      wrong_type(node, here,
                 node.as_array()->is_homogeneous<std::string>()
                     ? "a table such as {type = \"category\", levels = [\"...\", \"...\"]}"
                     : "a table such as {type = \"number\", range = [0, 100]}");
    }
    if (!node.is_table()) wrong_type(node, here, "a table such as {type = \"ignore\"}");
    const toml::table& table = *node.as_table();
    const toml::node* const type = table.get("type");
    if (type == nullptr)
      fail(at, fmt::format("{} has no type; give {} (a name with a dot needs quotes)", here,
                           types_text));

    Column column;
    column.name = name;
    const std::string type_name = read_string(*type, here + ": type");
    const auto known = column_type_named(type_name);
    if (known) {
      column.type = *known;
    } else if (type_name == "date") {
      column.type = ColumnType::number;
      column.date = iso_date;
    } else if (const auto part = date_part_named(type_name)) {
      column.type = part == DatePart::year ? ColumnType::number : ColumnType::category;
      column.date = iso_date;
      column.part = *part;
      column.levels = part_levels(*part);
    } else if (type_name == "boolean") {
      column.type = ColumnType::category;
      column.is_boolean = true;
      column.levels.assign(std::begin(boolean_levels), std::end(boolean_levels));
    } else if (type_name.empty() && !only_.empty() && name != only_) {
      column.type = ColumnType::ignore;
    } else if (type_name.empty()) {
      fail(at,
           fmt::format(
               "{} is not filled in yet; write its kind, such as {{type = \"category\", levels "
               "= [\"a\", \"b\"]}}, {{type = \"number\", range = [0, 100]}}, {{type = "
               "\"person\"}}, whose rows count together, or {{type = \"ignore\"}}; if it is the "
               "column to predict, delete this line",
               here));
    } else {
      fail(type->source(),
           fmt::format("{}: type {} must be {}", here, gibbsite::quoted(type_name), types_text));
    }

    const toml::node* const of = column.part == DatePart::none ? nullptr : table.get("of");
    if (of != nullptr) column.of = read_string(*of, here + ": of");
    // The table of the column it is of, where that says how cells are written.
    const toml::table* const source =
        column.of.empty() || column.of == name ? nullptr : columns[column.of].as_table();
    const bool has_source =
        source != nullptr && (*source)["type"].value<std::string_view>() != "ignore";
    if (column.of == name) column.of.clear();
    if (has_source) read_source(*source, here + ", of " + gibbsite::quoted(column.of), column);

    std::int64_t count = 0;  // 0: a single column
    for (const auto& [k, value] : table) {
      const std::string option = fmt::format("{}: {}", here, shown(k.str()));
      if (k == "type" || (k == "of" && of != nullptr)) continue;
      if (has_source && (k == "format" || k == "missing"))
        fail(k.source(), fmt::format("{} is what {} says, as both read its cells; leave it out",
                                     option, gibbsite::quoted(column.of)));
      if (k == "count" && column.part == DatePart::none) {
        if (!value.is_integer()) wrong_type(value, option, "a whole number");
        count = value.as_integer()->get();
        if (count < 1 || count > max_count)
          fail(value.source(), fmt::format("{} must be from 1 to {}, got {}; {}", option, max_count,
                                           count, "fix the schema"));
      } else if (k == "missing" && column.type != ColumnType::ignore) {
        column.has_missing = true;
        read_marks(value, option, column.missing, column.also_missing);
      } else if (k == "range" && column.is_date()) {
        read_days(value, option, column.lo, column.hi);
      } else if (k == "range" && has_range(column.type)) {
        read_range(value, option, column.lo, column.hi);
      } else if (k == "format" && !column.date.empty()) {
        column.date = read_string(value, option);
        if (const std::string fault = date_format_fault(column.date); !fault.empty())
          fail(value.source(),
               fmt::format("{} {} {}", option, gibbsite::quoted(column.date), fault));
      } else if (k == "decimal" && has_range(column.type) && column.date.empty()) {
        numbers_of(column).decimal = read_choice(value, option, ".", ",") ? ',' : '.';
      } else if (k == "thousands" && has_range(column.type) && column.date.empty()) {
        numbers_of(column).thousands = read_signs(value, option);
      } else if (k == "levels" && column.type == ColumnType::category && !column.is_boolean &&
                 column.date.empty()) {
        if (!value.is_array()) wrong_type(value, option, "a list [\"...\", \"...\"]");
        for (const toml::node& level : *value.as_array())
          column.levels.push_back(read_string(level, option));
      } else if (k == "other" && column.type == ColumnType::category) {
        column.other = read_bool(value, option);
      } else if (k == "unlisted" && column.type == ColumnType::category) {
        column.unlisted = read_string(value, option);
      } else if (k == "reference" && column.type == ColumnType::category) {
        column.reference = read_string(value, option);
      } else if (k == "decimals" && column.type == ColumnType::number && column.date.empty()) {
        column.decimals = read_decimals(value, option);
      } else if (k == "typical" && column.type == ColumnType::number && !column.is_date()) {
        const toml::array* const pair = value.as_array();
        if (pair == nullptr || pair->size() != 2)
          fail(value.source(), option +
                                   " must be [center, spread]: about the mean and the standard "
                                   "deviation, known without the data");
        column.typical = {read_number((*pair)[0], option), read_number((*pair)[1], option)};
      } else if (k == "missing_level" && column.type == ColumnType::number) {
        column.missing_level = read_bool(value, option);
      } else if (column.type == ColumnType::number &&
                 (k == "curve" || k == "knots" ||
                  (!column.is_date() && (k == "bins" || k == "scale")))) {
        // Where they lie follows from the range, which comes later.
      } else {
        fail(k.source(),
             fmt::format("{}: unknown key {} for a column of type \"{}\"{}; rename or remove it",
                         here, gibbsite::quoted(k.str()), type_name,
                         did_you_mean(k.str(), keys_of(column))));
      }
    }
    if (column.type == ColumnType::exposure && !table.contains("range"))
      fail(at, here +
                   " is an exposure without a range; add range = [lowest, highest], two numbers "
                   "above 0 known without the data");
    if (column.type == ColumnType::weight && !table.contains("range"))
      fail(at, here +
                   " is a weight without a range; add range = [0, the largest weight], known "
                   "without the data: a row counts by its weight over that");
    if (column.type == ColumnType::weight && count != 0)
      fail(at, here + " is a weight, and a row has one; leave count out");
    if (column.type == ColumnType::person && count != 0)
      fail(at, here + " says whose a row is, and it is one person's; leave count out");
    if (column.type == ColumnType::exposure && count != 0)
      fail(at, here + " is an exposure, and a count is over one; leave count out");
    const bool is_ranged = has_source && source->contains("range");
    if (column.type == ColumnType::number && !is_ranged && !table.contains("range") &&
        !table.contains("knots"))
      fail(at, here + (column.is_date()
                           ? " is a date without a range; add range = [\"1990-01-01\", "
                             "\"2024-12-31\"], two days known without the data"
                           : " is a number without a range; add range = [lowest, highest], two "
                             "numbers known without the data"));
    if (column.type == ColumnType::number) read_curve(table, here, column);
    if (const toml::node* const bins = table.get("bins");
        bins != nullptr && column.type == ColumnType::number)
      column.edges = read_bins(*bins, here + ": bins", column.lo, column.hi);
    if (column.type == ColumnType::category && !column.is_boolean && column.date.empty() &&
        !table.contains("levels"))
      fail(at, here +
                   " is a category without levels; add levels = [\"...\", \"...\"], known "
                   "without the data");
    if (count == 0) add_column(column, at);
    for (std::int64_t i = 1; i <= count; ++i) {
      column.name = fmt::format("{}{}", name, i);
      add_column(column, at);
    }
  }

  /// Where the knots of a number's curve are: listed, or so many, or as the plan chooses.
  void read_curve(const toml::table& table, const std::string& here, Column& column) const {
    const toml::node *const knots = table.get("knots"), *const curve = table.get("curve"),
                            *const scale = table.get("scale");
    if (knots != nullptr) {
      if (curve != nullptr || scale != nullptr)
        fail((curve != nullptr ? curve : scale)->source(),
             here +
                 ": knots lists where a curve bends, and curve and scale place them; leave one "
                 "out");
      if (!knots->is_array()) wrong_type(*knots, here + ": knots", "a list of numbers");
      for (const toml::node& knot : *knots->as_array())
        column.knots.push_back(read_value(knot, here + ": knots", column));
      if (column.knots.size() < 2)
        fail(knots->source(), here +
                                  ": knots must be two numbers at least; list where the curve "
                                  "bends, with the ends of the range");
      if (!table.contains("range"))
        column.lo = column.knots.front(), column.hi = column.knots.back();
      const bool whole = column.knots.front() == column.lo && column.knots.back() == column.hi;
      if (column.knots.size() == 2 && whole) column.knots.clear();  // a straight line
      return;
    }
    if (scale != nullptr) {
      const std::string name = read_string(*scale, here + ": scale");
      const auto known = knot_scale_named(name);
      if (!known)
        fail(scale->source(), fmt::format("{}: scale is {}; it must be \"even\", \"log\" or "
                                          "\"series\"",
                                          here, gibbsite::quoted(name)));
      column.scale = *known;
      if (curve == nullptr && column.scale != KnotScale::series)
        fail(scale->source(), here +
                                  ": scale places the knots of a curve; add curve = \"auto\", or "
                                  "leave scale out");
    }
    if (curve == nullptr && scale == nullptr) return;
    std::size_t count = 2;
    if (curve != nullptr) {
      if (!curve->is_integer() && !curve->is_string())
        wrong_type(*curve, here + ": curve", "a number of knots, or \"auto\"");
      column.automatic_curve = read_auto(*curve, here + ": curve", "a number of knots");
      if (!column.automatic_curve) {
        const std::int64_t given = curve->as_integer()->get();
        if (given < 2 || given > static_cast<std::int64_t>(most_knots))
          fail(
              curve->source(),
              fmt::format("{}: curve must be from 2 (a straight line) to {} knots, got {}; fix the "
                          "schema",
                          here, most_knots, given));
        if (column.scale == KnotScale::series)
          fail(curve->source(),
               here + ": scale = \"series\" says how many knots there are; leave curve out");
        count = static_cast<std::size_t>(given);
      }
    }
    const bool is_line = count == 2 && column.scale != KnotScale::series;
    if (!(column.lo < column.hi)) return;  // said of the range
    if (!column.automatic_curve && !is_line) column.knots = placed_knots(column, count);
    if (!column.automatic_curve) column.scale = KnotScale::automatic;
    // Between two ends that are near there is no step.
    if (column.knots.size() == 2) column.knots.clear();
  }

  void add_column(const Column& column, const toml::source_region& at) {
    schema_.columns.push_back(column);
    lines_.columns.push_back(at.begin.line);
  }

  static constexpr std::int64_t max_count = 10'000'000;
  /// Tolerances in a label's range, if the schema gives none.
  static constexpr double default_tolerances = 5;
  std::string only_;
  bool label_optional_;
  Schema schema_;
  SchemaLines lines_;
  bool auto_row_norm_ = true;
  // What keys say of the label, until its kind is known.
  struct LabelKeys {
    TwoClasses two{};
    std::vector<std::string> classes{};
    bool counts = false, has_range = false;
    Amount amount{};  // or a count
    const toml::node* bins = nullptr;
  } label_{};
  std::map<std::string, double> class_weights_;  // by name, until the classes are known
  std::vector<SchemaError> errors_;
};

std::string text_of(const std::string& path) {
  Input input(path, nullptr);
  std::string text;
  for (std::string_view piece = input.next_piece(); !piece.empty(); piece = input.next_piece())
    text += piece;
  return text;
}

}  // namespace

Schema parse_schema(const std::string& toml, const std::string& source) {
  return SchemaReader(source).read(toml);
}

Schema parse_column_schema(const std::string& toml, const std::string& source,
                           const std::string& column) {
  return family_schema(SchemaReader(source, column).read(toml), column);
}

namespace {

// Limits of each column's parents and table, by the lines of [network].
void require_tables(const Schema& columns, const SchemaLines& lines) {
  if (!columns.network) return;
  std::vector<std::string> names;
  std::vector<Message> faults;
  for (const Column& column : columns.columns) names.push_back(column.name);
  Network one{.levels = network_levels(columns), .parents = {}};
  one.parents.resize(one.levels.size());
  try {
    one.validate(names);
  } catch (const BadInput& error) {
    throw BadInput(FilePosition{lines.source}, error.message());
  }
  const auto parents = network_parents(columns);
  for (std::size_t node = 0; node < parents.size(); ++node) {
    one.parents[node] = parents[node];
    try {
      one.validate(names);
    } catch (const BadInput& error) {
      faults.push_back(lines.at(lines.of_node(names[node]), "[network]: " + error.message()));
    }
    one.parents[node].clear();
  }
  if (!faults.empty()) throw BadInputs(std::move(faults));
}

}  // namespace

namespace {

// The schema that `make` returns. Its errors name the file, unless they are about an argument.
template <class Make>
Schema made_of(const std::string& source, const Make& make) {
  try {
    return make();
  } catch (const BadInput& error) {
    std::string_view what = error.what();
    if (what.starts_with('`')) throw;
    if (what.starts_with("schema: ")) what.remove_prefix(8);
    throw BadInput(fmt::format("{}: {}", source, what));
  }
}

}  // namespace

Schema parse_network_schema(const std::string& toml, const std::string& source) {
  SchemaReader reader(source, "", true);
  const Schema whole = reader.read(toml);
  Schema out = made_of(source, [&] { return network_schema(whole); });
  require_tables(out, reader.lines());
  const auto checked = [&](const char* key, const auto& check) {
    try {
      static_cast<void>(check(out));
    } catch (const BadInput& error) {
      std::string_view what = error.what();
      if (what.starts_with("schema: ")) what.remove_prefix(8);
      throw BadInput(reader.lines().at(reader.lines().of_key(key), Message(std::string(what))));
    }
  };
  checked("never", structural_zeros);
  checked("target", target_column);
  return out;
}

Schema parse_table_schema(const std::string& toml, const std::string& source,
                          const std::vector<std::string>& columns) {
  const Schema whole = SchemaReader(source, "", true).read(toml);
  return made_of(source, [&] { return table_schema(whole, columns); });
}

Schema parse_covariance_schema(const std::string& toml, const std::string& source,
                               const std::vector<std::string>& columns, Adjacency adjacency) {
  const Schema whole = SchemaReader(source, "", true).read(toml);
  return made_of(source, [&] { return covariance_schema(whole, columns, adjacency); });
}

Schema read_covariance_schema(const std::string& path, const std::vector<std::string>& columns,
                              Adjacency adjacency) {
  return parse_covariance_schema(text_of(path), path, columns, adjacency);
}

Schema read_table_schema(const std::string& path, const std::vector<std::string>& columns) {
  return parse_table_schema(text_of(path), path, columns);
}

Schema read_network_schema(const std::string& path) {
  return parse_network_schema(text_of(path), path);
}

Schema read_schema(const std::string& path) { return parse_schema(text_of(path), path); }

Schema read_column_schema(const std::string& path, const std::string& column) {
  return parse_column_schema(text_of(path), path, column);
}

}  // namespace gibbsite
