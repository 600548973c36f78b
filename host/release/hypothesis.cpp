#include "gibbsite/release/hypothesis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/boolean.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/date.hpp"
#include "gibbsite/model/interaction.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t longest_text = 10'000, deepest = 50;

// A number, or a combination of coefficients [d].
struct Value {
  double number = 0;
  std::vector<double> combination;  // empty: a number

  [[nodiscard]] bool is_number() const { return combination.empty(); }
};

void scale(Value& value, double factor) {
  value.number *= factor;
  for (double& c : value.combination) c *= factor;
}

class EffectReader {
 public:
  EffectReader(const LinearModel& model, std::string_view text)
      : schema_(model.schema),
        terms_(model.schema.terms()),
        means_(feature_means_of(model)),
        text_(text),
        rest_(text) {
    std::size_t first = 0;
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      const Column& column = terms_[t];
      const std::size_t columns = schema_.columns.size();
      if (column.type == ColumnType::number || column.type == ColumnType::category)
        columns_.push_back(
            {&column, first, t < columns ? nullptr : &schema_.interactions[t - columns]});
      first += schema_.features_of(column);
    }
  }

  std::vector<double> read() {
    if (text_.size() > longest_text) fail("is too long", "ask a shorter one");
    Value value = sum();
    skip();
    if (!rest_.empty()) {
      const std::string at = gibbsite::quoted(rest_);
      if (rest_[0] == '=')
        fail("has '=' after what is neither a category nor a curve",
             "write column=level; a straight line counts per unit, as in 10*age");
      fail(fmt::format("cannot be read from {} on", at),
           "put + - * or / between terms, and names with such signs in quotes");
    }
    if (value.is_number()) fail("names no column", "name a column or a column=level");
    if (std::ranges::all_of(value.combination, [](double c) { return c == 0; }))
      fail("is 0 whatever the coefficients are", "ask about a difference of two effects");
    return std::move(value.combination);
  }

 private:
  struct Place {
    const Column* column;
    std::size_t first;  // of its features
    const Interaction* interaction = nullptr;
    std::vector<std::size_t> order = {};  // of the interaction's parts, as they were named
  };

  [[noreturn]] void fail(const std::string& what, const std::string& how) const {
    throw BadInput(format_message("{} {}", Field{"effect"}, gibbsite::quoted(text_)), what, how);
  }

  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  void skip() {
    while (!rest_.empty() && is_blank(rest_[0])) rest_.remove_prefix(1);
  }
  bool take(char sign) {
    skip();
    if (rest_.empty() || rest_[0] != sign) return false;
    rest_.remove_prefix(1);
    return true;
  }

  Value sum() {
    if (++depth_ > deepest) fail("is nested too deeply", "ask a simpler one");
    Value out = term();
    while (true) {
      const bool minus = take('-');
      if (!minus && !take('+')) break;
      Value next = term();
      if (out.is_number() != next.is_number())
        fail("adds a number to an effect", "multiply the number by a column, as in 10*age");
      out.number += minus ? -next.number : next.number;
      for (std::size_t j = 0; j < out.combination.size(); ++j)
        out.combination[j] += minus ? -next.combination[j] : next.combination[j];
    }
    --depth_;
    return out;
  }

  Value term() {
    Value out = factor();
    while (true) {
      if (take('*')) {
        Value next = factor();
        if (!out.is_number() && !next.is_number())
          fail("multiplies two columns",
               "multiply by a number; an interaction of the model is asked as in age*sex=40*F");
        if (out.is_number()) std::swap(out, next);
        scale(out, next.number);
      } else if (take('/')) {
        const Value next = factor();
        if (!next.is_number()) fail("divides by a column", "divide by a number");
        if (next.number == 0) fail("divides by 0", "divide by another number");
        scale(out, 1 / next.number);
      } else {
        return out;
      }
      if (!std::isfinite(out.number) ||
          !std::ranges::all_of(out.combination, [](double c) { return std::isfinite(c); }))
        fail("has a number that is too large", "use smaller ones");
    }
  }

  Value factor() {
    if (++depth_ > deepest) fail("is nested too deeply", "ask a simpler one");
    Value out = atom();
    --depth_;
    return out;
  }

  Value atom() {
    if (take('-')) {
      Value out = factor();
      scale(out, -1);
      return out;
    }
    if (take('(')) {
      Value out = sum();
      if (!take(')')) fail("lacks a )", "close what is open");
      return out;
    }
    skip();
    if (rest_.empty()) fail("ends too early", "give a column, a column=level or a number");
    // A column may be called 2020: a name that stands alone is the column's.
    if (const auto column = column_here()) return effect_of(*column);
    if (const auto number = number_here()) return {*number, {}};
    const std::string name = word(column_names());
    if (name.empty())
      fail(fmt::format("cannot be read from {} on", gibbsite::quoted(rest_)),
           "give a column, a column=level or a number");
    unknown_column(name);
  }

  [[noreturn]] void unknown_column(const std::string& name) const {
    for (const Column& column : schema_.columns) {
      if (column.name != name) continue;
      fail(fmt::format("column {} has no coefficient", gibbsite::quoted(name)),
           "name a column of numbers or levels that the model uses");
    }
    fail(fmt::format("no column is called {}{}", gibbsite::quoted(name),
                     did_you_mean(name, column_names())),
         "name a column of the model");
  }

  // What a number begins with and takes, if nothing of a name follows.
  std::optional<double> number_here() {
    if (rest_[0] != '.' && (rest_[0] < '0' || rest_[0] > '9')) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    const auto length = static_cast<std::size_t>(end - rest_.data());
    if (error != std::errc() || !std::isfinite(value) || !ends_at(length)) return std::nullopt;
    rest_.remove_prefix(length);
    return value;
  }

  // Whether a name may end after so many bytes of the rest.
  [[nodiscard]] bool ends_at(std::size_t length) const {
    if (length >= rest_.size()) return true;
    const char next = rest_[length];
    return is_blank(next) || std::string_view("+-*/()=").find(next) != std::string_view::npos ||
           rest_.substr(length).starts_with("×");
  }

  // A text in quotes of either kind, in which a doubled quote is one.
  std::optional<std::string> in_quotes() {
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const char quote = rest_[0];
    std::string out;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == quote) {
        if (i + 1 >= rest_.size() || rest_[i + 1] != quote) {
          rest_.remove_prefix(i + 1);
          return out;
        }
        ++i;
      }
      out += rest_[i];
    }
    fail("has a quote that nothing closes", "close it, or double a quote inside of a name");
  }

  // What was meant to be one of `names`, for errors: up to the next blank where that is near one
  // of them, as "-" may be a part of a name; else up to the next sign.
  [[nodiscard]] std::string word(const std::vector<std::string>& names) const {
    const auto blank = std::ranges::find_if(rest_, is_blank);
    std::string whole(rest_.begin(), blank);
    if (!did_you_mean(whole, names).empty()) return whole;
    std::size_t length = 0;
    while (length < rest_.size() && !ends_at(length)) ++length;
    return std::string(rest_.substr(0, length));
  }
  [[nodiscard]] std::vector<std::string> column_names() const {
    std::vector<std::string> names;
    for (const Place& place : columns_) names.push_back(place.column->name);
    return names;
  }

  static std::vector<InteractionSpelling> spellings(const Place& place) {
    if (place.interaction == nullptr) return {{place.column->name, {}}};
    return spellings_of(*place.interaction);
  }
  // The place whose longest name that fits is the longest, and that name's length.
  template <class Fits>
  std::pair<std::optional<Place>, std::size_t> longest_place(const Fits& fits) const {
    std::optional<Place> best;
    std::size_t longest = 0;
    for (const Place& place : columns_) {
      for (const auto& [name, order] : spellings(place)) {
        if ((best && name.size() <= longest) || !fits(name)) continue;
        best = place;
        best->order = order;
        longest = name.size();
      }
    }
    return {std::move(best), longest};
  }

  std::optional<Place> column_here() {
    if (const auto quoted = in_quotes()) {
      auto found = longest_place([&](const std::string& name) { return name == *quoted; }).first;
      if (!found) unknown_column(*quoted);
      return found;
    }
    auto [best, longest] = longest_place(
        [&](const std::string& name) { return rest_.starts_with(name) && ends_at(name.size()); });
    rest_.remove_prefix(longest);
    return best;
  }

  Value effect_of(const Place& place) {
    Value out;
    out.combination.resize(schema_.features());
    const Column& column = *place.column;
    if (column.type == ColumnType::number && !column.is_curve()) {
      out.combination[place.first] = 1 / (column.hi - column.lo);
      return out;
    }
    const bool named = take('=');
    if (!named && column.is_curve())
      fail(fmt::format("column {} is a curve", gibbsite::quoted(column.name)),
           fmt::format("compare two values, as in {0}={1} - {0}={2}", shown(column.name),
                       column.text_of(column.hi), column.text_of(column.lo)));
    if (!named)
      fail(fmt::format("column {} has levels", gibbsite::quoted(column.name)),
           fmt::format("name one, as in {}={}", shown(column.name),
                       shown(schema_.level_names(column).front())));
    skip();
    const std::size_t levels = schema_.features_of(column);
    const std::vector<double> weights = level_weights(means_, place.first, levels);
    for (std::size_t l = 0; l < levels; ++l) out.combination[place.first + l] = -weights[l];
    if (place.interaction != nullptr) {
      add_products(place, out.combination);
    } else if (const auto value = value_here(column)) {
      const Hat hat =
          Hats(column).at(static_cast<float>((*value - column.lo) / (column.hi - column.lo)));
      out.combination[place.first + hat.first] += static_cast<double>(hat.value);
      out.combination[place.first + hat.first + 1] += static_cast<double>(hat.next);
    } else {
      out.combination[place.first + level_here(column)] += 1;
    }
    return out;
  }

  // "40 × F": a place of each column, in the order in which they were named, between knots too.
  void add_products(const Place& of, std::vector<double>& combination) {
    const Interaction& interaction = *of.interaction;
    std::vector<InteractionPlace> places(interaction.parts.size());
    std::vector<std::size_t> sizes;
    for (const Interaction::Part& part : interaction.parts)
      sizes.push_back(schema_.features_of(part));
    for (std::size_t c = 0; c < of.order.size(); ++c) {
      const Interaction::Part& part = interaction.parts[of.order[c]];
      if (c > 0 && !take_times()) {
        fail(fmt::format("lacks \" × \" before the place of {}", gibbsite::quoted(part.column)),
             fmt::format("name a place of each column, as in {}={}", shown(of.column->name),
                         shown(of.column->levels.front())));
      }
      skip();
      places[of.order[c]] = place_here(part);
    }
    interaction_products(places, sizes, [&](std::size_t feature, float value) {
      combination[of.first + feature] += static_cast<double>(value);
    });
  }
  bool take_times() {
    skip();
    constexpr std::string_view times = "×";
    if (!rest_.starts_with(times)) return take('*');
    rest_.remove_prefix(times.size());
    return true;
  }
  InteractionPlace place_here(const Interaction::Part& part) {
    Column column = *schema_.column_named(part.column);
    column.missing_level = schema_.has_missing_level(column);
    column.knots = part.knots;
    const auto value = value_here(column);
    if (!value) return {level_here(column)};
    const Hat hat =
        Hats(part.knots).at(static_cast<float>((*value - column.lo) / (column.hi - column.lo)));
    return {hat.first, static_cast<std::uint32_t>(hat.next * 0x1p24F)};
  }

  // The number at which a curve is asked, between knots too; none: a level is named.
  std::optional<double> value_here(const Column& column) {
    if (!column.is_curve()) return {};
    double value = 0;
    std::size_t length = 0;
    if (column.is_date()) {
      length = std::string_view("2024-12-31").size();
      const auto day = parse_date(std::string_view(rest_).substr(0, length));
      if (!day || !ends_at(length)) return {};
      value = *day;
    } else {
      const char* const begin = rest_.data();
      const auto [end, error] = std::from_chars(begin, begin + rest_.size(), value);
      length = static_cast<std::size_t>(end - begin);
      if (error != std::errc() || !std::isfinite(value) || !ends_at(length)) return {};
    }
    if (value < column.lo || value > column.hi)
      fail(fmt::format("column {}: {} is outside of its range, {} to {}",
                       gibbsite::quoted(column.name), column.text_of(value),
                       column.text_of(column.lo), column.text_of(column.hi)),
           "the table was not asked beyond it; ask within");
    rest_.remove_prefix(length);
    return value;
  }

  std::size_t level_here(const Column& column) {
    const auto unknown = [&](const std::string& name) {
      fail(fmt::format("column {} has no level {}{}", gibbsite::quoted(column.name),
                       gibbsite::quoted(name), did_you_mean(name, schema_.level_names(column))),
           "name one of its levels");
    };
    if (const auto name = in_quotes()) {
      const auto level = schema_.level_index(column, *name);
      if (!level) unknown(*name);
      return *level;
    }
    std::vector<std::string> names = schema_.level_names(column);
    if (schema_.has_missing_level(column))
      for (const std::string& mark : schema_.missing_marks(column)) names.push_back(mark);
    for (const bool value : {false, true}) {
      const std::vector<std::string>& spelled = boolean_spellings(value);
      if (column.is_boolean) names.insert(names.end(), spelled.begin(), spelled.end());
    }
    const std::string* best = nullptr;
    for (const std::string& name : names) {
      if (name.empty() || !rest_.starts_with(name) || !ends_at(name.size())) continue;
      if (best == nullptr || name.size() > best->size()) best = &name;
    }
    if (best == nullptr) unknown(word(names));
    rest_.remove_prefix(best->size());
    return *schema_.level_index(column, *best);
  }

  const Schema& schema_;
  std::vector<Column> terms_;
  std::span<const double> means_;
  std::string_view text_, rest_;
  std::vector<Place> columns_;
  std::size_t depth_ = 0;
};

std::size_t class_place(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    throw BadInput(
        Field{"effect"},
        fmt::format("no class is called {}{}", gibbsite::quoted(name), did_you_mean(name, names)),
        "name one of the label's classes");
  }
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

std::vector<InteractionSpelling> spellings_of(const Interaction& interaction) {
  std::vector<InteractionSpelling> out;
  std::vector<std::size_t> order(interaction.parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  do {
    for (const char* const times : {" × ", "*", " * "}) {
      std::string name;
      for (const std::size_t part : order)
        name += (name.empty() ? "" : times) + interaction.parts[part].column;
      out.push_back({std::move(name), order});
    }
  } while (std::ranges::next_permutation(order).found);
  return out;
}

std::vector<double> in_classes(const Schema& schema, std::vector<double> one,
                               const EffectClasses& classes) {
  const Classes* const several = std::get_if<Classes>(&schema.label);
  if (several == nullptr) {
    if (!classes.of.empty() || !classes.against.empty())
      throw BadInput(Field{"effect"}, "the model is not of several classes", "name no class");
    return one;
  }
  if (classes.of.empty()) {
    throw BadInput(Field{"effect"},
                   fmt::format("the model is of {} classes", several->names.size()),
                   "name the class whose score is asked about");
  }
  const std::size_t count = several->names.size(), d = one.size();
  if (classes.of == classes.against)
    throw BadInput(Field{"effect"}, "a class against itself is 0", "name another one");
  std::vector<double> weights(count, 0.0);
  if (classes.against.empty()) {
    weights.assign(count, -1.0 / static_cast<double>(count));
  } else {
    weights[class_place(several->names, classes.against)] = -1;
  }
  weights[class_place(several->names, classes.of)] += 1;
  std::vector<double> out(count * d);
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t j = 0; j < d; ++j) out[k * d + j] = weights[k] * one[j];
  return out;
}

std::vector<double> parse_effect(const LinearModel& model, std::string_view text,
                                 const EffectClasses& classes) {
  return in_classes(model.schema, EffectReader(model, text).read(), classes);
}

void require_testable(const LinearModel& model) {
  if (!model.estimates) {
    throw BadInput("the model has no estimates, so no effect can be tested; fit it with intervals");
  }
}

EffectEstimate ask_effect(const LinearModel& model, std::string_view text,
                          const EffectClasses& classes) {
  require_testable(model);
  const std::vector<double> c = parse_effect(model, text, classes);
  EffectEstimate out = model.estimates->combination(c);
  out.collinear = Collinearity(*model.estimates).holds(c);
  const double unit = coefficient_unit(model.schema.label);
  for (double* value : {&out.estimate, &out.standard_error, &out.lower, &out.upper}) *value *= unit;
  return out;
}

}  // namespace gibbsite
