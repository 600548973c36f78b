#include "gibbsite/model/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/overloaded.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/boolean.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/date.hpp"
#include "gibbsite/model/interaction.hpp"
#include "gibbsite/model/losses/softmax.hpp"
#include "gibbsite/model/losses/weighted.hpp"
#include "model/column_type.hpp"
#include "model/network_check.hpp"
#include "model/schema_check.hpp"

namespace gibbsite {

namespace {
constexpr std::pair<ColumnType, std::string_view> column_types[] = {
    {ColumnType::number, "number"},     {ColumnType::category, "category"},
    {ColumnType::exposure, "exposure"}, {ColumnType::weight, "weight"},
    {ColumnType::person, "person"},     {ColumnType::ignore, "ignore"}};
}  // namespace

std::string_view to_string(ColumnType type) {
  for (const auto& [known, name] : column_types)
    if (known == type) return name;
  return "";
}

namespace {
constexpr std::pair<KnotScale, std::string_view> knot_scales[] = {
    {KnotScale::even, "even"}, {KnotScale::log, "log"}, {KnotScale::series, "series"}};
}  // namespace

std::string_view to_string(KnotScale scale) {
  for (const auto& [known, name] : knot_scales)
    if (known == scale) return name;
  return "";
}

std::optional<KnotScale> knot_scale_named(std::string_view name) {
  for (const auto& [scale, known] : knot_scales)
    if (known == name) return scale;
  return std::nullopt;
}

std::optional<ColumnType> column_type_named(std::string_view name) {
  for (const auto& [type, known] : column_types)
    if (known == name) return type;
  return std::nullopt;
}

std::vector<double> equal_edges(double lo, double hi, std::uint64_t bins) {
  // Rounded to a thousandth of a bin or finer, so that people can read and type them.
  const double width = (hi - lo) / static_cast<double>(bins);
  const int digits = 3 - static_cast<int>(std::floor(std::log10(width)));
  std::vector<double> out;
  for (std::uint64_t i = 1; i < bins; ++i) {
    double edge = lo + (hi - lo) * (static_cast<double>(i) / static_cast<double>(bins));
    if (digits < 0 && digits > -16) {
      const double unit = std::pow(10.0, -digits);
      edge = std::nearbyint(edge / unit) * unit;
    } else if (digits >= 0 && digits < 16) {
      const std::string text = fmt::format("{:.{}f}", edge, digits);
      std::from_chars(text.data(), text.data() + text.size(), edge);
    }
    out.push_back(edge + 0.0);
  }
  return out;
}

std::string Column::text_of(double value) const {
  return is_date() ? date_text(value) : number_text(value);
}

NumberText Schema::numbers_of(const Column& column) const {
  return column.numbers.value_or(NumberText{text.decimal, text.thousands});
}

bool Schema::has_decimal_comma() const {
  return text.decimal == ',' || std::ranges::any_of(columns, [&](const Column& column) {
           return numbers_of(column).decimal == ',';
         });
}

const Column* Schema::exposure() const {
  const auto found = std::ranges::find(columns, ColumnType::exposure, &Column::type);
  return found == columns.end() ? nullptr : &*found;
}

namespace {
float bound_of_offsets(double lo, double hi) {
  // Three roundings in double, far below a float's last place.
  return std::nextafter(static_cast<float>(std::log(hi / lo)),
                        std::numeric_limits<float>::infinity());
}
}  // namespace

float Schema::offset_bound() const {
  const Column* const column = exposure();
  return column == nullptr ? 0 : bound_of_offsets(column->lo, column->hi);
}

float Schema::scaled_exposure(double value, double lo, double hi) {
  const double part = std::clamp(value, lo, hi) / hi;
  return std::clamp(static_cast<float>(std::log(part)), -bound_of_offsets(lo, hi), 0.0F);
}

float Schema::scaled_exposure(double value) const {
  return scaled_exposure(value, exposure()->lo, exposure()->hi);
}

const Column* Schema::weight() const {
  const auto found = std::ranges::find(columns, ColumnType::weight, &Column::type);
  return found == columns.end() ? nullptr : &*found;
}

const Column* Schema::person() const {
  const auto found = std::ranges::find(columns, ColumnType::person, &Column::type);
  return found == columns.end() ? nullptr : &*found;
}

float Schema::scaled_weight_down(double value, double lo, double hi) {
  if (std::isnan(value)) return 0;
  const double part = std::clamp(value, lo, hi) / hi;  // at most 1: division rounds monotonically
  const auto near = static_cast<float>(part);
  return static_cast<double>(near) > part ? std::nextafter(near, 0.0F) : near;
}

const std::string* Schema::missing_in(const Column& column) const {
  if (column.has_missing) return &column.missing;
  return text.has_missing ? &text.missing : nullptr;
}

std::vector<std::string> Schema::missing_marks(const Column& column) const {
  const std::string* const first = missing_in(column);
  if (first == nullptr) return {};
  std::vector<std::string> out{*first};
  const std::vector<std::string>& others =
      column.has_missing ? column.also_missing : text.also_missing;
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

const std::string* Schema::missing_level(const Column& column) const {
  if (column.type != ColumnType::category) return nullptr;
  for (const std::string& mark : missing_marks(column)) {
    const auto listed = std::ranges::find(column.levels, mark);
    if (listed != column.levels.end()) return &*listed;
  }
  return nullptr;
}

bool TextFormat::marks_missing(std::string_view text) const {
  return has_missing &&
         (text == missing || std::ranges::find(also_missing, text) != also_missing.end());
}

bool Schema::has_missing_level(const Column& column) const {
  if (column.type == ColumnType::number) {
    // Bins of a network have a level of another kind.
    return !column.has_missing_bin && missing_in(column) != nullptr &&
           column.missing_level.value_or(column.is_curve() || column.automatic_curve);
  }
  return column.type == ColumnType::category && column.has_missing &&
         missing_level(column) == nullptr;
}

std::size_t Schema::features_of(const Column& column) const {
  switch (column.type) {
    case ColumnType::number:
      return (column.is_curve() ? column.knots.size() : 1) + (has_missing_level(column) ? 1 : 0);
    case ColumnType::category:
      return column.levels.size() + (has_missing_level(column) ? 1 : 0) +
             (column.other && column.unlisted.empty() ? 1 : 0);
    case ColumnType::exposure:
    case ColumnType::weight:
    case ColumnType::person:
    case ColumnType::ignore:
      break;
  }
  return 0;
}

std::size_t Schema::features_of(const Interaction::Part& part) const {
  const Column* const column = column_named(part.column);
  if (column == nullptr) return 0;
  if (part.knots.empty()) return features_of(*column);
  return part.knots.size() + (has_missing_level(*column) ? 1 : 0);
}

std::size_t Schema::features_of(const Interaction& interaction) const {
  std::size_t out = 1;
  for (const Interaction::Part& part : interaction.parts) {
    const std::size_t more = features_of(part);
    if (more > 0 && out > std::numeric_limits<std::uint32_t>::max() / more) {
      return std::numeric_limits<std::uint32_t>::max();  // refused
    }
    out *= more;
  }
  return out;
}

std::size_t Schema::features() const {
  std::size_t d = intercept ? 1 : 0;
  for (const Column& column : columns) d += features_of(column);
  for (const Interaction& interaction : interactions) d += features_of(interaction);
  return d;
}

const Column* Schema::column_named(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &Column::name);
  return found == columns.end() ? nullptr : &*found;
}

std::vector<Column> Schema::terms() const {
  std::vector<Column> out = columns;
  for (const Interaction& interaction : interactions) {
    std::vector<std::string> names{""};
    for (const Interaction::Part& part : interaction.parts) {
      std::vector<std::string> longer;
      for (const std::string& before : names) {
        for (const std::string& level : level_names(part))
          longer.push_back(before.empty() ? level : fmt::format("{} × {}", before, level));
      }
      names = std::move(longer);
    }
    out.push_back(
        {.name = interaction.name(), .type = ColumnType::category, .levels = std::move(names)});
  }
  return out;
}

std::vector<std::string> Schema::level_names(const Column& column) const {
  if (!column.has_levels()) return {};
  std::vector<std::string> names = column.levels;
  for (const double knot : column.knots) names.push_back(column.text_of(knot));
  if (has_missing_level(column)) names.emplace_back("(missing)");
  if (column.other && column.unlisted.empty()) names.emplace_back("(other)");
  return names;
}

std::vector<std::string> Schema::level_names(const Interaction::Part& part) const {
  const Column* const column = column_named(part.column);
  if (column == nullptr) return {};
  if (part.knots.empty()) return level_names(*column);
  std::vector<std::string> names;
  for (const double knot : part.knots) names.push_back(column->text_of(knot));
  if (has_missing_level(*column)) names.emplace_back("(missing)");
  return names;
}

std::optional<std::size_t> Schema::level_index(const Column& column, std::string_view level) const {
  const std::vector<std::string> names = level_names(column);
  auto found = std::ranges::find(names, level);
  if (found == names.end() && has_missing_level(column)) {
    const std::vector<std::string> marks = missing_marks(column);
    if (std::ranges::find(marks, level) != marks.end())
      found = std::ranges::find(names, "(missing)");
  }
  for (const bool value : {false, true}) {
    const std::vector<std::string>& spelled = boolean_spellings(value);
    if (found == names.end() && column.is_boolean &&
        std::ranges::find(spelled, level) != spelled.end())
      found = std::ranges::find(names, boolean_levels[value ? 1 : 0]);
  }
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::vector<std::string> Schema::feature_names() const {
  std::vector<std::string> names;
  names.reserve(features());
  for (const Column& column : terms()) {
    if (column.type == ColumnType::number && !column.is_curve()) {
      names.push_back(column.name);
      if (has_missing_level(column)) names.push_back(column.name + "=(missing)");
    }
    for (const std::string& level : level_names(column)) names.push_back(column.name + "=" + level);
  }
  if (intercept) names.emplace_back("(intercept)");
  return names;
}

std::vector<double> Schema::middle() const {
  std::vector<double> out;
  for (const Column& column : columns) {
    const std::size_t first = out.size();
    out.insert(out.end(), features_of(column), 0.0);
    if (intercept && column.type == ColumnType::number && !column.is_curve()) out[first] = 0.5;
  }
  for (const Interaction& interaction : interactions)
    out.insert(out.end(), features_of(interaction), 0.0);
  if (intercept) out.push_back(0);
  return out;
}

double Schema::max_unclipped_norm() const {
  auto used = static_cast<double>(interactions.size());
  for (const Column& c : columns) {
    if (c.type != ColumnType::number && c.type != ColumnType::category) continue;
    used += c.has_missing_bin ? double{missing_bin_value} * missing_bin_value : 1;
  }
  const double root = std::sqrt(used);
  return std::fma(root, root, -used) < 0
             ? std::nextafter(root, std::numeric_limits<double>::infinity())
             : root;
}

bool Schema::may_clip() const {
  return max_unclipped_norm() > row_norm && std::ranges::none_of(columns, &Column::automatic_curve);
}

double Schema::auto_row_norm() const {
  return features() > most_metric_features ? 1.0 : std::max(max_unclipped_norm(), 1.0);
}

Schema::operator FeatureSpace() const {
  // A number spread evenly over its range has second moment 1/12 about the middle, 1/3 about 0.
  double squared = intercept ? 1 : 0;
  for (const Column& column : columns) {
    if (column.type == ColumnType::category) squared += 1;
    if (column.is_curve()) {
      squared += typical_square(*this, column);
    } else if (column.type == ColumnType::number) {
      squared += intercept ? 1.0 / 12 : 1.0 / 3;
    }
  }
  for (const Interaction& interaction : interactions)
    squared += InteractionContrasts(*this, interaction).typical_square();
  return {.features = features(),
          .row_norm = row_norm,
          .intercept = intercept,
          .typical_row_norm = std::sqrt(squared),
          .label = kind_of(label),
          .label_bound = label_bound(label),
          .classes = std::max<std::uint64_t>(class_names(label).size(), 2),
          .class_weights = scaled_class_weights(label),
          .offset_bound = offset_bound(),
          .largest_count = is<Count>(label) ? number_of(label)->hi : 0,
          .weighted = weight() != nullptr || person() != nullptr,
          .people = person() != nullptr};
}

namespace {

// What is wrong with the bins of a number of that range, which is legal; empty: nothing.
std::string edges_fault(const std::vector<double>& edges, double lo, double hi) {
  if (edges.size() >= most_bins)
    return fmt::format("bins are {}; give at most {}", edges.size() + 1, most_bins);
  double last = lo;
  float scaled = 0;
  for (const double edge : edges) {
    if (!(edge > last && edge < hi))
      return fmt::format(
          "bins meet at {}, which is not above {} and below {}; list where they meet, ascending, "
          "inside of the range",
          edge, last, hi);
    // As the reader scales cells, which are compared with them.
    const auto next = static_cast<float>((edge - lo) / (hi - lo));
    if (!(next > scaled && next < 1))
      return fmt::format("bins meet at {}, which is too near to {} to tell; make them wider", edge,
                         next < 1 ? last : hi);
    last = edge;
    scaled = next;
  }
  return {};
}

// What is wrong with the knots of a number whose range is legal; empty: nothing.
std::string knots_fault(const Column& column) {
  const std::vector<double>& knots = column.knots;
  if (knots.empty()) return {};
  if (column.automatic_curve) return "has knots, and curve = \"auto\" chooses them; leave one out";
  if (knots.size() < 3 || knots.size() > most_knots)
    return fmt::format("knots are {}; give from 3 to {} (2 are a straight line)", knots.size(),
                       most_knots);
  if (knots.front() != column.lo || knots.back() != column.hi)
    return fmt::format(
        "knots go from {} to {}, and the range is [{}, {}]; let them begin and end "
        "with it, or leave the range out",
        column.text_of(knots.front()), column.text_of(knots.back()), column.text_of(column.lo),
        column.text_of(column.hi));
  for (std::size_t k = 1; k < knots.size(); ++k) {
    const double width = column.hi - column.lo;
    // As the reader scales cells, which are compared with them.
    const auto before = static_cast<float>((knots[k - 1] - column.lo) / width),
               next = static_cast<float>((knots[k] - column.lo) / width);
    if (!(knots[k] > knots[k - 1] && next > before))
      return fmt::format(
          "knots {} and {} are not ascending, or too near to tell; list them from "
          "low to high, farther apart",
          column.text_of(knots[k - 1]), column.text_of(knots[k]));
  }
  return {};
}

// What is wrong with what is typical of a number whose range is legal; empty: nothing.
std::string typical_fault(const Column& column) {
  if (!column.typical) return {};
  const auto [center, spread] = *column.typical;
  const double width = column.hi - column.lo;
  if (column.is_curve()) return "typical is of a straight line; leave it out, or curve and knots";
  if (column.is_date()) return "typical is of a number that is no date; leave it out";
  if (!(center >= column.lo && center <= column.hi))
    return fmt::format(
        "typical begins with a center of {}, outside of the range [{}, {}]; write "
        "[center, spread]",
        center, column.lo, column.hi);
  if (!(spread >= least_typical_spread * width && spread <= width))
    return fmt::format(
        "typical has a spread of {}; it must be from {:g} times the width of the range to all of it",
        spread, least_typical_spread);
  return {};
}

std::string decimals_fault(const std::optional<int>& decimals) {
  if (!decimals || (*decimals >= 0 && *decimals <= most_decimals)) return {};
  return fmt::format("decimals must be from 0 to {}, got {}", most_decimals, *decimals);
}

// Within them coefficients in the columns' units are finite doubles, so that none decides whether a
// file can be written.
constexpr double narrowest_range = 1e-100, farthest_label = 1e100;
std::string narrow_fault(double lo, double hi) {
  if (hi - lo >= narrowest_range) return {};
  return fmt::format(
      "range [{}, {}] is narrower than {:g}, and coefficients in its unit could overflow; write "
      "the "
      "column in a smaller unit, or mend the range",
      lo, hi, narrowest_range);
}

// Beyond it the lower exposures say nothing.
constexpr double most_exposures = 1e6;

// What is wrong with the marks of a missing cell; empty: nothing.
std::string marks_fault(const std::string& first, const std::vector<std::string>& others) {
  std::set<std::string_view> seen{first};
  for (const std::string& mark : others)
    if (!seen.insert(mark).second)
      return fmt::format("missing lists {} twice; remove one", quoted(mark));
  return {};
}

// What is wrong with how numbers are written, by its key; nothing: an empty text.
std::pair<const char*, std::string> numbers_fault(char decimal,
                                                  const std::vector<std::string>& thousands) {
  if (decimal != '.' && decimal != ',')
    return {"decimal", "decimal is neither \".\" nor \",\"; give one"};
  std::set<std::string_view> seen;
  for (const std::string& sign : thousands) {
    if (std::ranges::find(thousands_signs, sign) == std::end(thousands_signs))
      return {"thousands",
              fmt::format(
                  "thousands is {}; it must be \",\", \".\", \"'\", \"_\" or a blank, or left out",
                  quoted(sign))};
    if (sign == std::string(1, decimal))
      return {"thousands",
              fmt::format("thousands and decimal are both {}; give the decimal sign, or leave "
                          "thousands out",
                          quoted(sign))};
    if (!seen.insert(sign).second)
      return {"thousands", fmt::format("thousands lists {} twice; remove one", quoted(sign))};
  }
  return {};
}

// What is wrong with a date that is a number of a legal range; empty: nothing.
std::string date_fault(const Column& column) {
  const auto is_day = [](double v) {
    return v >= first_day && v <= last_day && v == std::floor(v);
  };
  if (const std::string fault = date_format_fault(column.date); !fault.empty())
    return fmt::format("format {} {}", quoted(column.date), fault);
  if (!is_day(column.lo) || !is_day(column.hi) || !std::ranges::all_of(column.knots, is_day))
    return "range and knots of dates must be whole days of the years 1 to 9999; fix them";
  if (column.scale != KnotScale::even && column.scale != KnotScale::automatic)
    return fmt::format("scale is {}, and dates have no ratios; leave it out",
                       quoted(to_string(column.scale)));
  if (!column.edges.empty() || column.decimals || column.numbers)
    return "bins, decimals and signs of numbers are no dates'; leave them out";
  return {};
}

// What is wrong with a part of a date; empty: nothing.
std::string part_fault(const Schema& schema, const Column& column) {
  if (column.part == DatePart::none)
    return column.of.empty() ? "" : "of is of a part of a date; leave it out";
  const std::string_view part = to_string(column.part);
  if (const std::string fault = date_format_fault(column.date); !fault.empty())
    return fmt::format("format {} {}", quoted(column.date), fault);
  if (column.part == DatePart::year) {
    const auto is_year = [](double v) { return v >= 1 && v <= 9999 && v == std::floor(v); };
    if (column.type != ColumnType::number || !is_year(column.lo) || !is_year(column.hi))
      return "range of years must be two of the years 1 to 9999; fix it";
    if (column.numbers || column.decimals)
      return "decimals and signs of numbers are no years'; leave them out";
  } else if (column.type != ColumnType::category || column.is_boolean ||
             column.levels != part_levels(column.part)) {
    return fmt::format("levels of a {} are {} to {}; leave them out", part,
                       part_levels(column.part).front(), part_levels(column.part).back());
  }
  if (column.cell_name() == schema.label_name)
    return "is of the label, so it cannot be a feature; name another column in of";
  const Column* const source = schema.column_named(column.cell_name());
  if (source == nullptr)
    return fmt::format(
        "is of {}, which is not under [columns]; add it, as {{type = \"ignore\"}} to "
        "take its parts alone",
        quoted(column.of));
  const bool is_read = source->type != ColumnType::ignore;
  if (!source->of.empty() || (is_read && source->date.empty()))
    return fmt::format("is of {}, which is no date; name a column of type \"date\"",
                       quoted(column.of));
  // What reads one cell says alike what day it is, and whether it is missing.
  for (const Column& other : schema.columns) {
    if (other.type == ColumnType::ignore || other.cell_name() != column.cell_name()) continue;
    if (other.date == column.date && schema.missing_marks(other) == schema.missing_marks(column))
      return {};
    return fmt::format(
        "reads the cells of {} with another format or other marks of missing; let "
        "both say the same",
        quoted(other.name));
  }
  return {};
}

void check_column(const Schema& schema, const SchemaLines& lines, std::size_t j,
                  std::vector<SchemaFault>& faults) {
  const Column& column = schema.columns[j];
  const auto fail = [&](const std::string& what) {
    faults.push_back(
        {lines.of_column(j),
         lines.at(lines.of_column(j), fmt::format("column {}: {}", quoted(column.name), what))});
  };
  if (column.name == schema.label_name)
    fail("is the label, so it cannot be a feature; remove it from [columns]");
  if (column.type == ColumnType::number) {
    if (!std::isfinite(column.lo) || !std::isfinite(column.hi) || !(column.lo < column.hi) ||
        !std::isnormal(column.hi - column.lo))
      fail(fmt::format("range [{}, {}] must be two {}, the {} first; fix the range",
                       column.text_of(column.lo), column.text_of(column.hi),
                       column.is_date() ? "days" : "finite numbers",
                       column.is_date() ? "earlier" : "lower"));
    else if (const std::string narrow = narrow_fault(column.lo, column.hi); !narrow.empty())
      fail(narrow);
    else if (const std::string bins = edges_fault(column.edges, column.lo, column.hi);
             !bins.empty())
      fail(bins);
    if (const std::string fault = decimals_fault(column.decimals); !fault.empty()) fail(fault);
    if (const std::string fault = knots_fault(column); !fault.empty()) fail(fault);
    if (const std::string fault = typical_fault(column); !fault.empty()) fail(fault);
    if (column.is_date()) {
      if (const std::string fault = date_fault(column); !fault.empty()) fail(fault);
    }
  } else if (column.is_date()) {
    fail("a date is a number; give its range, or leave format out");
  } else if (column.is_curve() || column.automatic_curve || column.scale != KnotScale::automatic) {
    fail("a curve is of a number; leave curve, knots and scale out");
  } else if (!column.edges.empty() || column.decimals) {
    fail("bins and decimals are of numbers; leave them out");
  } else if (column.typical) {
    fail("typical is of a number; leave it out");
  }
  if (const std::string fault = part_fault(schema, column); !fault.empty()) fail(fault);
  if (column.missing_level.value_or(false) || column.has_missing_bin) {
    if (column.type != ColumnType::number)
      fail("missing_level is of a number; leave it out");
    else if (schema.missing_in(column) == nullptr)
      fail(
          "has missing_level, and nothing says how a missing cell reads; give it missing = \"\" "
          "(an empty cell), or leave missing_level out");
  }
  if (const std::string fault = marks_fault(column.missing, column.also_missing); !fault.empty())
    fail(fault);
  if (column.type == ColumnType::category) {
    const std::string* const level = schema.missing_level(column);
    for (const std::string& mark : schema.missing_marks(column)) {
      if (level == nullptr || mark == *level ||
          std::ranges::find(column.levels, mark) == column.levels.end())
        continue;
      fail(fmt::format("{} and {} are both marks of a missing cell and levels; list one of them",
                       quoted(*level), quoted(mark)));
      break;
    }
  }
  if (column.numbers) {
    const auto [key, fault] = numbers_fault(column.numbers->decimal, column.numbers->thousands);
    if (!has_range(column.type))
      fail("decimal and thousands are of numbers; leave them out");
    else if (!fault.empty())
      fail(fault);
  }
  if (column.is_boolean &&
      (column.type != ColumnType::category || !std::ranges::equal(column.levels, boolean_levels)))
    fail("a boolean's levels are \"false\" and \"true\"; leave them out");
  if (column.type != ColumnType::category) {
    if (!column.unlisted.empty()) fail("unlisted is of a category; leave it out");
    if (!column.reference.empty()) fail("reference is of a category; leave it out");
  } else {
    if (column.levels.empty()) fail("levels is empty; list the levels");
    std::set<std::string_view> seen;
    for (const std::string& level : column.levels)
      if (!seen.insert(level).second)
        fail(fmt::format("level {} is listed twice; remove one", quoted(level)));
    if (!column.unlisted.empty() && !seen.contains(column.unlisted))
      fail(fmt::format("unlisted {} is none of the levels; list it, or leave it out",
                       quoted(column.unlisted)));
    if (!column.reference.empty() && !schema.level_index(column, column.reference))
      fail(
          fmt::format("reference {} is none of the column's levels; name a listed level, or "
                      "\"(other)\" or \"(missing)\" if the column has it",
                      quoted(column.reference)));
  }
}

void check_exposure(const Schema& schema, const SchemaLines& lines,
                    std::vector<SchemaFault>& faults) {
  const Column* first = nullptr;
  for (std::size_t j = 0; j < schema.columns.size(); ++j) {
    const Column& column = schema.columns[j];
    if (column.type != ColumnType::exposure) continue;
    const auto fail = [&](std::string_view what) {
      const unsigned line = lines.of_column(j);
      faults.push_back(
          {line, lines.at(line, fmt::format("column {}: {}", quoted(column.name), what))});
    };
    if (!is<Count>(schema.label)) {
      fail(
          fmt::format("an exposure is what a count is over, and the label is {}; leave the "
                      "column "
                      "out, or give counts = true and a range",
                      to_string(kind_of(schema.label))));
    }
    if (first != nullptr) {
      fail(fmt::format("is an exposure, and so is {}; a count is over one", quoted(first->name)));
    }
    if (column.name == schema.label_name) fail("is the label, so it cannot be the exposure");
    if (!(column.lo > 0 && column.lo < column.hi && column.hi <= most_exposures * column.lo &&
          std::isnormal(column.lo) && std::isfinite(column.hi))) {
      fail(
          fmt::format("range [{}, {}] of an exposure must be two numbers above 0, the lower "
                      "first, "
                      "the higher at most {:g} times it; fix the range",
                      column.lo, column.hi, most_exposures));
    }
    first = &column;
  }
}

void check_weight(const Schema& schema, const SchemaLines& lines,
                  std::vector<SchemaFault>& faults) {
  const Column* first = nullptr;
  for (std::size_t j = 0; j < schema.columns.size(); ++j) {
    const Column& column = schema.columns[j];
    if (column.type != ColumnType::weight) continue;
    const auto fail = [&](std::string_view what) {
      const unsigned line = lines.of_column(j);
      faults.push_back(
          {line, lines.at(line, fmt::format("column {}: {}", quoted(column.name), what))});
    };
    if (first != nullptr)
      fail(fmt::format("weighs rows, and so does {}; a row has one weight", quoted(first->name)));
    if (column.name == schema.label_name) fail("is the label, so it cannot be the weight");
    if (!(column.lo >= 0 && column.lo < column.hi && std::isnormal(column.hi))) {
      fail(
          fmt::format("range [{}, {}] of a weight must be two finite numbers from 0 on, the lower "
                      "first; give [0, the largest weight], known without the data",
                      column.lo, column.hi));
    }
    first = &column;
  }
}

void check_person(const Schema& schema, const SchemaLines& lines,
                  std::vector<SchemaFault>& faults) {
  const Column* first = nullptr;
  for (std::size_t j = 0; j < schema.columns.size(); ++j) {
    const Column& column = schema.columns[j];
    if (column.type != ColumnType::person) continue;
    const auto fail = [&](std::string_view what) {
      const unsigned line = lines.of_column(j);
      faults.push_back(
          {line, lines.at(line, fmt::format("column {}: {}", quoted(column.name), what))});
    };
    if (first != nullptr)
      fail(fmt::format("says whose a row is, and so does {}; a row is one person's",
                       quoted(first->name)));
    if (column.name == schema.label_name) fail("is the label, so it cannot say whose a row is");
    if (schema.bought && schema.bought->person.empty())
      fail(
          "says whose a row is, and the schema was bought by counting rows, each as one; buy it for "
          "people, write a schema without looking at the table, or give type = \"ignore\"");
    first = &column;
  }
  if (!schema.bought || schema.bought->person.empty()) return;
  // Neighbors of the purchase and of what is made by it are one relation, or nothing adds up.
  const std::string& name = schema.bought->person;
  if (first != nullptr && first->name == name) return;
  const unsigned line = lines.of_key("bought");
  faults.push_back(
      {line, lines.at(line, fmt::format("bought: the schema was bought for people, by column {}, "
                                        "and {}; give that column type = \"person\", or write a "
                                        "schema without looking at the table",
                                        quoted(name),
                                        first == nullptr
                                            ? "no column says whose a row is: a fit would protect "
                                              "rows"
                                            : "another column says whose a row is"))});
}

// What is wrong with an interaction whose columns are legal; empty: nothing.
std::string interaction_fault(const Schema& schema, const Interaction& interaction) {
  if (interaction.parts.size() < 2 || interaction.parts.size() > most_interacting)
    return fmt::format("has {} column{}; name 2 or {}", interaction.parts.size(),
                       interaction.parts.size() == 1 ? "" : "s", most_interacting);
  std::vector<std::string> known;
  for (const Column& column : schema.columns)
    if (schema.features_of(column) > 0) known.push_back(column.name);
  std::set<std::string_view> seen;
  for (const Interaction::Part& part : interaction.parts) {
    const std::string name = quoted(part.column);
    const Column* const column = schema.column_named(part.column);
    if (part.column == schema.label_name)
      return name + " is the label; name columns that predict it";
    if (column == nullptr)
      return fmt::format("no column is called {}{}; name columns of [columns]", name,
                         did_you_mean(part.column, known));
    if (column->type == ColumnType::ignore)
      return name + " is ignored; give it another type, or leave it out here";
    if (column->type == ColumnType::exposure)
      return name + " is an exposure, which has no effect; leave it out";
    if (column->type == ColumnType::weight)
      return name + " weighs rows, which has no effect; leave it out";
    if (column->type == ColumnType::person)
      return name + " says whose a row is, which has no effect; leave it out";
    if (!seen.insert(part.column).second) return name + " is in it twice; name each column once";
    if (column->type == ColumnType::category) {
      if (!part.knots.empty()) return name + " is a category, which has no knots; leave them out";
      continue;
    }
    Column hats = *column;
    hats.knots = part.knots;
    hats.automatic_curve = false;
    if (part.knots.size() < 2) return name + " is a number; give it 2 knots or more";
    if (part.knots.size() == 2 && part.knots[0] == column->lo && part.knots[1] == column->hi)
      continue;
    if (part.knots.size() == 2)
      return fmt::format("knots of {} are {} and {}; let them be the ends of its range, {} and {}",
                         name, column->text_of(part.knots[0]), column->text_of(part.knots[1]),
                         column->text_of(column->lo), column->text_of(column->hi));
    if (const std::string fault = knots_fault(hats); !fault.empty())
      return fmt::format("column {}: {}", name, fault);
  }
  if (const std::size_t features = schema.features_of(interaction);
      features > most_interaction_features)
    return fmt::format(
        "has {}{} features, and {} are the most; give its numbers fewer knots, or "
        "leave a column out",
        features == std::numeric_limits<std::uint32_t>::max() ? "at least " : "", features,
        most_interaction_features);
  return {};
}

void check_interactions(const Schema& schema, const SchemaLines& lines,
                        std::vector<SchemaFault>& faults) {
  std::set<std::set<std::string>> seen;
  for (std::size_t i = 0; i < schema.interactions.size(); ++i) {
    const Interaction& interaction = schema.interactions[i];
    std::string fault = interaction_fault(schema, interaction);
    std::set<std::string> columns;
    for (const Interaction::Part& part : interaction.parts) columns.insert(part.column);
    if (fault.empty() && !seen.insert(columns).second) fault = "is given twice; remove one";
    if (fault.empty()) continue;
    const unsigned line = lines.of_interaction(i);
    faults.push_back({line, lines.at(line, fmt::format("interaction {}: {}",
                                                       quoted(interaction.name()), fault))});
  }
}

// One text for all spellings of one number, which readers of numbers cannot tell apart.
std::string as_number(std::string_view text) {
  std::string_view digits = text;
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  double value = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, value);
  if (end != last || error == std::errc::invalid_argument) return std::string(text);
  return error == std::errc() ? number_text(value + 0.0) : "beyond";  // -0 + 0 = 0
}

template <class Fail>
void check_class_weights(const Label& label, const Fail& fail) {
  const std::span<const double> weights = class_weights(label);
  if (weights.empty()) return;
  if (weights.size() != class_names(label).size()) {
    fail("class_weights", "class_weights must have one for each class; name all");
    return;
  }
  try {
    static_cast<void>(scaled_class_weights(label));
  } catch (const BadInput& error) {
    fail("class_weights", error.message());
  }
}

template <class Fail>
void check_two_classes(const TwoClasses& two, Invalid invalid, const Fail& fail) {
  if (two.positive.empty())
    fail("positive",
         format_message(
             "positive is empty; name the positive class, or give {} where there are more than "
             "two, or the label's {} where it is an amount or a count",
             Word{"classes"}, Word{"range"}));
  if (!two.positive.empty() && two.positive == two.negative)
    fail("negative", "negative is the same class as positive; name the other class");
  if (two.positive_share) {
    const std::string fault = fault_of(*two.positive_share);
    if (!fault.empty()) fail("positive_share", "positive_share " + fault);
  }
  if (!two.refuses_unlisted) return;
  if (two.negative.empty()) fail("unlisted_label", unlisted_without_negative());
  if (invalid == Invalid::middle)
    fail("unlisted_label",
         "unlisted_label = \"refuse\" contradicts invalid = \"middle\", which refuses nothing; "
         "leave one out");
}

template <class Fail>
void check_classes(const Classes& several, const Fail& fail) {
  const std::string fault = several.names.size() == 2
                                ? "classes lists 2, which are negative and positive; name them so"
                                : classes_fault(several.names);
  if (!fault.empty()) fail("classes", fault);
}

std::string range_words(const NumberLabel& label) {
  return fmt::format("range [{}, {}] of the label", label.lo, label.hi);
}

// What amounts and counts have in common. Whether the range is one.
template <class Fail>
bool check_range(const NumberLabel& label, const Fail& fail) {
  const double lo = label.lo, hi = label.hi;
  if (!std::isfinite(lo) || !std::isfinite(hi) || !(lo < hi) || !std::isnormal(hi - lo)) {
    fail("range",
         range_words(label) + " must be two finite numbers, the lower first; fix the range");
    return false;
  }
  if (const std::string fault = narrow_fault(lo, hi); !fault.empty())
    fail("range", "label: " + fault);
  if (std::max(std::abs(lo), std::abs(hi)) > farthest_label)
    fail("range", fmt::format("{} goes beyond {:g}, and coefficients in its unit could overflow; "
                              "write the label in a larger unit, or mend the range",
                              range_words(label), farthest_label));
  if (const std::string fault = edges_fault(label.edges, lo, hi); !fault.empty())
    fail("bins", "label: " + fault);
  if (const std::string fault = decimals_fault(label.decimals); !fault.empty())
    fail("decimals", "label: " + fault);
  return true;
}

template <class Fail>
void check_amount(const Amount& amount, const Fail& fail) {
  if (!check_range(amount, fail)) return;
  const float bound = label_bound(amount);
  if (!(amount.tolerance > 0) || !(bound <= 1e6F) || !(bound >= 1))
    fail("tolerance",
         fmt::format("tolerance {} must be above 0, at most half of the label's range and at "
                     "least "
                     "a millionth of that; it is the error beyond which a prediction is far off",
                     amount.tolerance));
}

template <class Fail>
void check_count(const Count& count, const Fail& fail) {
  if (check_range(count, fail) &&
      (count.lo != 0 || count.hi != std::floor(count.hi) || count.hi > 0x1p24))
    fail("range",
         range_words(count) +
             " must go from 0 to a whole number of at most 2^24, as counts = true; fix it");
}

template <class Fail>
void check_label(const Schema& schema, const Fail& fail) {
  std::visit(
      Overloaded{[&](const TwoClasses& two) { check_two_classes(two, schema.invalid, fail); },
                 [&](const Classes& several) { check_classes(several, fail); },
                 [&](const Amount& amount) { check_amount(amount, fail); },
                 [&](const Count& count) { check_count(count, fail); }},
      schema.label);
  check_class_weights(schema.label, fail);
}

template <class Fail>
void check_text(const TextFormat& text, const Fail& fail) {
  if (const std::string fault = marks_fault(text.missing, text.also_missing); !fault.empty())
    fail("missing", fault);
  if (const auto [key, fault] = numbers_fault(text.decimal, text.thousands); !fault.empty())
    fail(key, fault);
}

}  // namespace

std::string classes_fault(std::span<const std::string> classes) {
  constexpr std::size_t most = losses::Softmax::most_classes;
  if (classes.size() < 2 || classes.size() > most)
    return fmt::format("classes lists {}; name from 2 to {} classes", classes.size(), most);
  std::map<std::string, std::string_view> seen;
  for (const std::string& name : classes) {
    if (name.empty())
      return "classes: a name is empty, and an empty label is a missing one; name the class";
    const auto [other, is_new] = seen.emplace(as_number(name), name);
    if (is_new) continue;
    if (other->second == name)
      return fmt::format("classes: {} is listed twice; remove one", quoted(name));
    return fmt::format("classes: {} and {} are the same number; remove one", quoted(other->second),
                       quoted(name));
  }
  return {};
}

std::vector<SchemaFault> schema_faults(const Schema& schema, const SchemaLines& lines) {
  std::vector<SchemaFault> faults;
  const auto fail = [&](std::string_view key, const Message& what) {
    faults.push_back({lines.of_key(key), lines.at(lines.of_key(key), what)});
  };
  if (schema.label_name.empty()) fail("label", "label is empty; name the column to predict");
  check_label(schema, fail);
  check_exposure(schema, lines, faults);
  check_weight(schema, lines, faults);
  check_person(schema, lines, faults);
  check_text(schema.text, fail);
  // Features lie in [0, 1], so nothing is lost; far smaller rows would lose float's precision.
  if (!(schema.row_norm >= 1e-6 && schema.row_norm <= 1e6))
    fail("row_norm", fmt::format("row_norm must be a positive number between 1e-6 and 1e6, got "
                                 "{}; "
                                 "\"auto\" is a good start",
                                 schema.row_norm));
  std::set<std::string_view> seen;
  for (std::size_t j = 0; j < schema.columns.size(); ++j) {
    const std::string& name = schema.columns[j].name;
    check_column(schema, lines, j, faults);
    if (!seen.insert(name).second) {
      const unsigned line = lines.of_column(j);
      faults.push_back({line, lines.at(line, fmt::format("column {} is given twice; remove one",
                                                         quoted(name)))});
    }
  }
  check_interactions(schema, lines, faults);
  for (const NetworkFault& fault : network_faults(schema)) {
    const unsigned line = lines.of_node(fault.node);
    faults.push_back({line, lines.at(line, "[network]: " + fault.message)});
  }
  if (schema.features() == (schema.intercept ? 1U : 0U))
    fail("columns", "no column is used; give at least one a type other than \"ignore\"");
  if (!faults.empty()) return faults;
  for (std::size_t j = 0; j < schema.columns.size(); ++j) {
    std::set<std::string> names;
    for (const std::string& name : schema.level_names(schema.columns[j])) {
      if (names.insert(name).second || (name != "(missing)" && name != "(other)")) continue;
      const unsigned line = lines.of_column(j);
      faults.push_back(
          {line, lines.at(line, fmt::format("column {}: two levels would both be called {}: one is "
                                            "listed, one is of cells that are {}; rename or leave "
                                            "out the listed one",
                                            quoted(schema.columns[j].name), quoted(name),
                                            name == "(missing)" ? "missing" : "not listed"))});
    }
  }
  if (!faults.empty()) return faults;
  std::set<std::string> features;
  for (const std::string& name : schema.feature_names())
    if (!features.insert(name).second)
      fail("columns", fmt::format("two features would both be called {}; rename a column or level",
                                  quoted(name)));
  return faults;
}

void check_schema(const Schema& schema, const SchemaLines& lines) {
  std::vector<Message> errors;
  for (SchemaFault& fault : schema_faults(schema, lines)) {
    errors.push_back(std::move(fault.message));
  }
  if (!errors.empty()) throw BadInputs(std::move(errors));
}

void Schema::validate(const std::string& source) const { check_schema(*this, {.source = source}); }

Message PublicTable::fault() const {
  constexpr std::size_t digits = 64;
  if (file.empty() || shown(file) != file || file.find('/') != file.npos)
    return "its file is no name of a file without folders; use the schema as it was written";
  if (sha256.size() != digits || sha256.find_first_not_of("0123456789abcdef") != sha256.npos)
    return "its sha256 is no digest of a file; use the schema as it was written";
  if (rows == 0) return "its rows are none; use the schema as it was written";
  return {};
}

std::string BoughtApart::people_words() const {
  if (person.empty()) return "";
  return fmt::format(", for people with any number of rows, told apart by {} and counted as {}",
                     quoted(person),
                     rows_per_person == 1 ? "one" : fmt::format("at most {}", rows_per_person));
}

// A person of k rows is k neighbors of a purchase that took each for somebody's own.
bool BoughtApart::adds_to(std::string_view adjacency_of, std::uint64_t rows) const {
  if (adjacency.empty()) return true;
  return adjacency == adjacency_of && (!person.empty() || rows <= rows_per_person);
}

std::string BoughtApart::neighbors_words() const {
  if (!person.empty()) return adjacency;
  return fmt::format("{}, at most {} {} per person", adjacency, rows_per_person,
                     rows_per_person == 1 ? "row" : "rows");
}

Message BoughtApart::fault() const {
  constexpr std::size_t digits = 64;
  const std::size_t colon = certificate.rfind(':');
  const std::string_view hash = colon == certificate.npos
                                    ? std::string_view{}
                                    : std::string_view(certificate).substr(colon + 1);
  if (!certificate.starts_with("blake2b-256") || hash.size() != digits ||
      hash.find_first_not_of("0123456789abcdef") != hash.npos ||
      certificate.find_first_of(" \t\n\"") != certificate.npos)
    return "its certificate is no digest of a file; use the schema as it was written";
  if (!(epsilon > 0 && std::isfinite(epsilon)) || !(delta > 0 && delta < 1))
    return "epsilon and delta are no budget; use the schema as it was written";
  constexpr std::uint64_t most_rows = 1000;  // of a purchase
  if ((!person.empty() && rows_per_person == 0) || rows_per_person > most_rows ||
      shown(person) != person)
    return "person and rows_per_person are no people; use the schema as it was written";
  if (!adjacency.empty() && adjacency != "replace-one" && adjacency != "add-remove")
    return "adjacency is neither replace-one nor add-remove; use the schema as it was written";
  return {};
}

}  // namespace gibbsite
