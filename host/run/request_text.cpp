#include "gibbsite/run/request_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {
namespace {

// How messages speak of the range of a column that says how rows count.
struct RangeWords {
  const char *field, *of, *example, *why;
  bool above_zero;
};
constexpr RangeWords words_of_weight{"weight_range", "a weight", "0,10",
                                     "a weight multiplies what one person can do to the model",
                                     false};
constexpr RangeWords words_of_exposure{"exposure_range", "an exposure", "0.1,10",
                                       "what is beyond it counts as its nearer end", true};

// Tolerances in an amount's range, as in a schema that gives none.
constexpr double tolerances_of_range = 5;

/// The number that all of a text is, NaN of one that no double has; none of other texts.
std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const char* const begin = text.data() + (text.starts_with("+") ? 1 : 0);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (stop != end || begin == end) return {};
  if (error == std::errc::result_out_of_range) return std::numeric_limits<double>::quiet_NaN();
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

template <class T>
struct Parse;
template <>
struct Parse<double> {
  static double value(const std::string& text, const std::string& name) {
    return parse_number(text, name);
  }
};
template <>
struct Parse<std::uint64_t> {
  static std::uint64_t value(const std::string& text, const std::string& name) {
    return parse_count(text, name, 0);
  }
};
template <>
struct Parse<bool> {
  static bool value(const std::string& text, const std::string& name) {
    return parse_flag(text, name);
  }
};
template <>
struct Parse<std::string> {
  static std::string value(const std::string& text, const std::string& /*name*/) { return text; }
};
template <>
struct Parse<std::vector<double>> {
  static std::vector<double> value(const std::string& text, const std::string& name) {
    return parse_numbers(text, name);
  }
};
template <>
struct Parse<PositiveShare> {
  static PositiveShare value(const std::string& text, const std::string& name) {
    const std::vector<double> bounds = parse_numbers(text, name);
    if (bounds.size() > 2) {
      throw BadInput(name + ": takes one share or two bounds; give such as 0.002, or 0.001,0.004");
    }
    const PositiveShare out{bounds.front(), bounds.back()};
    require_positive_share(out, name);
    return out;
  }
};
template <class T>
struct Parse<std::optional<T>> : Parse<T> {};

}  // namespace

double parse_number(const std::string& text, const std::string& name) {
  const std::optional<double> value = number_in(text);
  if (!value) {
    throw BadInput(
        fmt::format("{}: '{}' is not a number; give one, such as 0.5 or 1e-6", name, text));
  }
  if (!std::isfinite(*value)) {
    throw BadInput(fmt::format("{}: {} is not a finite number in range; give one", name, text));
  }
  return *value;
}

std::vector<double> parse_numbers(const std::string& list, const std::string& name) {
  std::vector<double> out;
  for (const std::string& piece : pieces(list)) out.push_back(parse_number(piece, name));
  return out;
}

std::uint64_t parse_count(const std::string& text, const std::string& name, std::uint64_t least) {
  const double value = number_in(text).value_or(std::numeric_limits<double>::quiet_NaN());
  if (!std::isfinite(value)) {
    throw BadInput(fmt::format("{}: '{}' is no whole number; give one, such as {}", name,
                               shown(text), std::max<std::uint64_t>(least, 10)));
  }
  if (value > 0x1p53) {
    throw BadInput(fmt::format(
        "{}: must be at most 9007199254740992 (2^53), got {}; give a smaller one", name, text));
  }
  if (!(value >= static_cast<double>(least) && value <= 0x1p53 && value == std::floor(value))) {
    throw BadInput(fmt::format("{}: must be a whole number, {} or above, got {}; give one", name,
                               least, text));
  }
  return static_cast<std::uint64_t>(value);
}

bool parse_flag(const std::string& text, const std::string& name) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw BadInput(fmt::format("{}: must be true or false, got '{}'; give one", name, shown(text)));
}

std::vector<std::string> pieces(const std::string& list) {
  std::vector<std::string> out;
  std::string::size_type begin = 0, comma = 0;
  do {
    comma = list.find(',', begin);
    out.push_back(list.substr(begin, comma - begin));  // npos - begin: to the end
    begin = comma + 1;
  } while (comma != std::string::npos);
  return out;
}

bool set_field(PlanRequest& request, const std::string& name, const std::string& text) {
  bool found = false;
  visit_request(request, [&](const char* field, auto& value, unsigned /*kinds*/) {
    if (name != field) return;
    found = true;
    value = Parse<std::remove_cvref_t<decltype(value)>>::value(text, name);
  });
  return found;
}

Label LabelRequest::target() const {
  const Field as_positive{"positive"}, as_classes{"classes"}, as_range{"range"};
  const int said = !positive.empty() + !classes.empty() + range.has_value();
  if (said == 0) {
    throw BadInput(as_positive, "is missing",
                   format_message("name the positive class of {}, or give {} of more than two, or "
                                  "{} of an amount or a count",
                                  Field{"label"}, as_classes, as_range));
  }
  if (said > 1) {
    throw BadInput(
        classes.empty() ? as_range : as_classes,
        format_message("is of another label than {}", positive.empty() ? as_range : as_positive),
        "leave one of them out");
  }
  if ((tolerance || counts) && !range) {
    throw BadInput(Field{tolerance ? "tolerance" : "counts"},
                   format_message("goes with {}", as_range), "give it, or leave this out");
  }
  if (!positive.empty()) return TwoClasses{.positive = positive};
  // As in a schema: of two, the second one is the positive class.
  if (classes.size() == 2) return TwoClasses{.positive = classes[1], .negative = classes[0]};
  if (!classes.empty()) return Classes{.names = classes};
  if (range->size() != 2) {
    throw BadInput(as_range, fmt::format("must be LO,HI, two numbers, got {}", range->size()));
  }
  const NumberLabel number{.lo = range->front(), .hi = range->back()};
  if (counts && tolerance) {
    throw BadInput(Field{"tolerance"},
                   format_message("is of amounts, and {} is given", Field{"counts"}),
                   "leave one of them out");
  }
  if (counts) return Count{number};
  return Amount{number, tolerance.value_or((number.hi - number.lo) / tolerances_of_range)};
}

const char* CountingRequest::said() const {
  return !person.empty()     ? "person"
         : !weight.empty()   ? "weight"
         : weight_range      ? "weight_range"
         : !exposure.empty() ? "exposure"
         : exposure_range    ? "exposure_range"
                             : nullptr;
}

CountingColumns CountingRequest::columns() const {
  CountingColumns out{.person = person, .weight = weight, .exposure = exposure};
  const auto read = [](const std::string& column, const std::optional<std::vector<double>>& range,
                       const RangeWords& words, double& lo, double& hi) {
    const Field field{words.field};
    if (column.empty() && range)
      throw BadInput(field, fmt::format("is of {}", words.of), "give both, or neither");
    if (column.empty()) return;
    if (!range)
      throw BadInput(field, "is missing",
                     fmt::format("give the public range of {}, such as {}: {}", words.of,
                                 words.example, words.why));
    const bool ordered = range->size() == 2 && range->front() < range->back();
    if (!ordered || range->front() < 0 || (words.above_zero && range->front() == 0))
      throw BadInput(field, "is none",
                     fmt::format("give two numbers {}, the lower first, such as {}",
                                 words.above_zero ? "above 0" : "from 0 on", words.example));
    lo = range->front();
    hi = range->back();
  };
  read(weight, weight_range, words_of_weight, out.weight_lo, out.weight_hi);
  read(exposure, exposure_range, words_of_exposure, out.exposure_lo, out.exposure_hi);
  return out;
}

}  // namespace gibbsite
