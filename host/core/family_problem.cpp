#include "gibbsite/core/family_problem.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

constexpr std::array<std::pair<Family, std::string_view>, 5> names{{
    {Family::bernoulli, "bernoulli"},
    {Family::categorical, "categorical"},
    {Family::rate, "rate"},
    {Family::waiting, "waiting"},
    {Family::mean, "mean"},
}};

void validate_range(const FamilyProblem& p) {
  if (!(std::isfinite(p.lo) && std::isfinite(p.hi) && p.lo < p.hi)) {
    throw BadInput(fmt::format("range: [{}, {}] must be two numbers, the lower first", p.lo, p.hi));
  }
  if (p.family == Family::rate &&
      !(p.lo == 0 && p.hi == std::floor(p.hi) && p.hi >= 1 && p.hi <= most_family_count)) {
    throw BadInput(
        fmt::format("range: rate takes whole counts from 0 to at most {}, got [{}, {}]; give the "
                    "column a range such as [0, 20]",
                    most_family_count, p.lo, p.hi));
  }
  if (p.family == Family::waiting && !(p.lo >= 0)) {
    throw BadInput(fmt::format(
        "range: waiting takes times above 0, got [{}, {}]; give the column another range", p.lo,
        p.hi));
  }
  if (p.family == Family::waiting && !(p.lo > 0) && !p.trim) {
    throw BadInput(
        "range: waiting needs a lowest time above 0, for on a table of zeros one time tells on; "
        "give the column a range such as [0.5, 100], or `trim`");
  }
}

void validate_prior(const FamilyProblem& p) {
  const std::size_t numbers = p.has_levels() ? p.levels : p.family == Family::mean ? 1 : 2;
  if (p.prior.size() != numbers) {
    throw BadInput(fmt::format("`prior`: {} takes {} {}, got {}", to_string(p.family), numbers,
                               numbers == 1 ? "number" : "numbers", p.prior.size()));
  }
  for (const double value : p.prior) {
    if (!(value >= 1e-6 && value <= 1e12)) {
      throw BadInput(fmt::format(
          "`prior`: must be numbers from 1e-6 to 1e12, got {}; a weak prior has 1", value));
    }
  }
}

void validate_trim(const FamilyProblem& p) {
  if (!p.trim) return;
  const auto [low, high] = *p.trim;
  if (p.has_levels()) {
    if (!(low > 0 && low * static_cast<double>(p.levels) < 1 && high == 0)) {
      throw BadInput(fmt::format(
          "`trim`: a share that each of {} levels keeps must be above 0 and below 1/{}, got {}",
          p.levels, p.levels, low));
    }
    return;
  }
  const bool positive = p.family != Family::mean;
  if (!(std::isfinite(low) && std::isfinite(high) && low < high && (!positive || low > 0))) {
    throw BadInput(fmt::format("`trim`: must be two numbers{}, the lower first, got {},{}",
                               positive ? " above 0" : "", low, high));
  }
}

}  // namespace

std::string_view to_string(Family family) {
  for (const auto& [value, name] : names) {
    if (value == family) return name;
  }
  return "";
}

std::optional<Family> family_named(std::string_view name) {
  for (const auto& [value, known] : names) {
    if (known == name) return value;
  }
  return {};
}

std::pair<double, double> FamilyProblem::reach() const {
  if (has_levels()) return {0, 1};
  if (trim) return *trim;
  if (family == Family::waiting) return {1 / hi, 1 / lo};
  return {lo, hi};
}

std::vector<double> FamilyProblem::default_prior() const {
  const double middle = lo + (hi - lo) / 2;
  switch (family) {
    case Family::bernoulli:
    case Family::categorical:
      return std::vector<double>(levels, 1.0);
    case Family::rate:
      return {1, 1 / middle};
    case Family::waiting:
      return {1, middle};
    case Family::mean:
      break;
  }
  return {4 / ((hi - lo) * (hi - lo))};  // a deviation of half the range
}

void FamilyProblem::validate() const {
  if (rows < 1 || rows > (std::uint64_t{1} << 38)) {
    throw BadInput(fmt::format("rows: must be from 1 to 2^38, got {}", rows));
  }
  if (family == Family::bernoulli && levels != 2) {
    throw BadInput(fmt::format(
        "`model` bernoulli: takes a column of two levels, this one has {}; give categorical",
        levels));
  }
  if (has_levels() && (levels < 2 || levels > most_family_levels)) {
    throw BadInput(fmt::format("`model` {}: takes a column of 2 to {} levels, this one has {}",
                               to_string(family), most_family_levels, levels));
  }
  if (!has_levels()) validate_range(*this);
  if (family == Family::mean) require_finite_positive(variance, "`variance`");
  validate_prior(*this);
  validate_trim(*this);
}

}  // namespace gibbsite
