#include "gibbsite/posterior/priors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {
namespace {

constexpr const char* laws = "write normal(center, scale) or student_t(degrees, center, scale)";

[[noreturn]] void refuse(std::string_view text, const std::string& wrong) {
  throw BadInput(Field{"prior"}, fmt::format("{} {}", gibbsite::quoted(text), wrong), laws);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<double> numbers_of(std::string_view all, std::string_view list) {
  std::vector<double> out;
  while (true) {
    const std::size_t comma = list.find(',');
    std::string_view cell = trimmed(list.substr(0, comma));
    if (cell.starts_with('+')) cell.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value))
      refuse(all, fmt::format("has {} where a finite number stands", gibbsite::quoted(cell)));
    out.push_back(value);
    if (comma == std::string_view::npos) return out;
    list.remove_prefix(comma + 1);
  }
}

// The parameters that each name stands for.
std::map<std::string, std::vector<std::size_t>> places_of_names(
    const Schema& schema, const std::vector<std::string>& coefficients) {
  const std::vector<std::string> features = schema.feature_names();
  const std::size_t d = features.size();
  std::map<std::string, std::vector<std::size_t>> out;
  // Features [first, first + count) of every class. A name that is taken stays whose it is: a
  // column's is also that of its straight line, without the level for missing cells.
  const auto add = [&](const std::string& name, std::size_t first, std::size_t count) {
    const auto [at, fresh] = out.try_emplace(name);
    for (std::size_t k = 0; fresh && k < coefficients.size(); k += d) {
      for (std::size_t j = 0; j < count; ++j) at->second.push_back(k + first + j);
    }
  };
  std::size_t first = 0;
  for (const Column& term : schema.terms()) {
    const std::size_t count = schema.features_of(term);
    if (count > 0) add(term.name, first, count);
    first += count;
  }
  for (std::size_t j = 0; j < d; ++j) add(features[j], j, 1);
  for (std::size_t j = 0; j < coefficients.size(); ++j) out.try_emplace(coefficients[j], 1, j);
  add("*", 0, d);
  return out;
}

}  // namespace

NamedPrior named_prior(std::string_view line) {
  const std::size_t at = line.rfind('=');
  if (at == std::string_view::npos) return {"*", std::string(trimmed(line))};
  return {std::string(trimmed(line.substr(0, at))), std::string(trimmed(line.substr(at + 1)))};
}

Prior prior_from_text(std::string_view text) {
  const std::string_view all = trimmed(text);
  const std::size_t open = all.find('(');
  if (open == std::string_view::npos || !all.ends_with(')')) refuse(text, "is no prior");
  const std::string_view law = trimmed(all.substr(0, open));
  const bool heavy = law == "student_t";
  if (!heavy && law != "normal") refuse(text, "is no prior");
  const std::vector<double> numbers = numbers_of(text, all.substr(open + 1, all.size() - open - 2));
  if (numbers.size() != (heavy ? 3U : 2U))
    refuse(text, fmt::format("has {} numbers", numbers.size()));
  Prior out{.center = numbers[heavy ? 1 : 0], .scale = numbers[heavy ? 2 : 1]};
  if (heavy) out.degrees = numbers[0];
  if (!(out.degrees > 0)) refuse(text, "has degrees that are not above 0");
  const double precision = 1 / (out.scale * out.scale);
  if (!(out.scale > 0 && std::isnormal(precision)))
    refuse(text, "has a scale that is not above 0, or too far from 1");
  return out;
}

std::string to_text(const Prior& prior) {
  if (prior.is_normal()) return fmt::format("normal({}, {})", prior.center, prior.scale);
  return fmt::format("student_t({}, {}, {})", prior.degrees, prior.center, prior.scale);
}

std::vector<Prior> priors_of(const Schema& schema, const std::vector<NamedPrior>& given,
                             std::optional<double> precision) {
  const std::vector<std::string> coefficients = coefficient_names(schema);
  const auto places = places_of_names(schema, coefficients);
  struct Line {
    const std::vector<std::size_t>* at;
    Prior prior;
  };
  std::vector<Line> lines;
  std::set<std::string> seen;
  for (const NamedPrior& one : given) {
    const auto found = places.find(one.name);
    if (found == places.end()) {
      std::vector<std::string> known;
      for (const auto& [name, at] : places) known.push_back(name);
      throw BadInput(Field{"prior"},
                     fmt::format("no column or feature is called {}{}", gibbsite::quoted(one.name),
                                 did_you_mean(one.name, known)),
                     fmt::format("the first is {}", gibbsite::quoted(coefficients.front())));
    }
    if (!seen.insert(one.name).second) {
      throw BadInput(Field{"prior"}, fmt::format("{} is given twice", gibbsite::quoted(one.name)),
                     "give each name once");
    }
    lines.push_back({&found->second, prior_from_text(one.law)});
  }
  // The fewer parameters a name has, the later it is written.
  std::ranges::stable_sort(lines, std::ranges::greater{},
                           [](const Line& line) { return line.at->size(); });
  std::vector<std::optional<Prior>> chosen(coefficients.size());
  for (const Line& line : lines) {
    for (const std::size_t j : *line.at) chosen[j] = line.prior;
  }
  std::vector<Prior> out;
  for (std::size_t j = 0; j < chosen.size(); ++j) {
    if (!chosen[j] && !precision) {
      throw BadInput(
          Field{"prior"}, fmt::format("none is given for {}", gibbsite::quoted(coefficients[j])),
          format_message("give one of the name *, or {} for all others", Field{"prior_precision"}));
    }
    out.push_back(chosen[j] ? *chosen[j] : Prior{.scale = 1 / std::sqrt(*precision)});
  }
  return out;
}

}  // namespace gibbsite
