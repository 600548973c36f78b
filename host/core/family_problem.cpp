#include "gibbsite/core/family_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

constexpr std::array<std::pair<Family, std::string_view>, 8> names{{
    {Family::bernoulli, "bernoulli"},
    {Family::categorical, "categorical"},
    {Family::rate, "rate"},
    {Family::waiting, "waiting"},
    {Family::mean, "mean"},
    {Family::bounded_mean, "bounded-mean"},
    {Family::variance, "variance"},
    {Family::laplace, "laplace"},
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
  if (p.family == Family::waiting && !p.trim && p.lo > 0 && !(p.hi / p.lo <= 1e6)) {
    throw BadInput(
        fmt::format("range: waiting takes a longest time of at most a million shortest ones, got "
                    "[{}, {}]; give "
                    "the column a narrower range",
                    p.lo, p.hi));
  }
  if (p.family == Family::waiting && !(p.lo > 0) && !p.trim) {
    throw BadInput(format_message(
        "range: waiting needs a lowest time above 0, for on a table of zeros one time tells on; "
        "give the column a range such as [0.5, 100], or {}",
        Field{"trim"}));
  }
  if (!p.is_centered()) return;
  if (!(p.center >= p.lo && p.center <= p.hi)) {
    throw BadInput(Field{"center"},
                   fmt::format("must be within the range [{}, {}], got {}", p.lo, p.hi, p.center),
                   "give the known mean, or the column a wider range");
  }
  if (const auto [least, most] = p.values(); !(least > 1e-200 && most < 1e200)) {
    throw BadInput(
        fmt::format("range: squares of [{}, {}] are no numbers; give another", p.lo, p.hi));
  }
}

void validate_prior(const FamilyProblem& p) {
  const std::size_t numbers = p.has_levels() ? p.levels : p.family == Family::mean ? 1 : 2;
  if (p.prior.size() != numbers) {
    throw BadInput(Field{"prior"},
                   fmt::format("{} takes {} {}, got {}", to_string(p.family), numbers,
                               numbers == 1 ? "number" : "numbers", p.prior.size()));
  }
  const std::vector<double> weak = p.default_prior();
  for (std::size_t i = 0; i < numbers; ++i) {
    const double least = 1e-6 * weak[i], most = 1e12 * weak[i];
    if (!(p.prior[i] >= least && p.prior[i] <= most)) {
      throw BadInput(Field{"prior"},
                     fmt::format("must be {} from {:.4g} to {:.4g}, got {}",
                                 numbers == 1 ? "a number"
                                 : i == 0     ? "numbers, the first"
                                              : "numbers, the others",
                                 least, most, p.prior[i]),
                     fmt::format("a weak one is {:.4g}", weak[i]));
    }
  }
}

// What counts of rows add up to, whatever the rows say; and which count it is, or none where it is
// the sum of all.
std::pair<double, std::optional<std::size_t>> known_total(const FamilyProblem& p) {
  const double rows = p.public_counts->weight * static_cast<double>(p.public_counts->rows);
  switch (p.family) {
    case Family::rate:
      return {rows, 1};
    case Family::mean:
      return {rows / p.variance, 0};
    case Family::waiting:
    case Family::variance:
    case Family::laplace:
      return {rows * p.records(), 0};
    case Family::bernoulli:
    case Family::categorical:
    case Family::bounded_mean:
      break;
  }
  return {rows, {}};
}

// Within what rows of the range can add up to.
bool is_of_range(const FamilyProblem& p) {
  const PublicCounts& known = *p.public_counts;
  constexpr double slack = 1e-9;
  const auto between = [](double x, double low, double high) {
    const double off = slack * std::max(std::abs(low), std::abs(high));
    return x >= low - off && x <= high + off;
  };
  const auto [total, at] = known_total(p);
  const double found =
      at ? known.counts[*at] : std::accumulate(known.counts.begin(), known.counts.end(), 0.0);
  if (!between(found, total, total)) return false;
  if (p.family == Family::mean) return between(known.counts[1], p.lo, p.hi);
  const auto [least, most] = p.values();
  if (p.family == Family::rate) return between(known.counts[0], 0, total * p.hi);
  if (p.is_waiting()) return between(known.counts[1], total * least, total * most);
  return true;
}

void validate_public_counts(const FamilyProblem& p) {
  if (!p.public_counts) return;
  const PublicCounts& known = *p.public_counts;
  const Field field{"public"};
  if (!(known.weight > 0 && known.weight <= 1)) {
    throw BadInput(Field{"public_weight"},
                   fmt::format("must be above 0 and at most 1, got {}", known.weight),
                   "give what a public row counts beside a private one");
  }
  const auto fault = [&](const char* what) {
    throw BadInput(field, what, "use the counts as they were made");
  };
  if (known.rows < 1 || known.rows > (std::uint64_t{1} << 38))
    fault("its table must have from 1 to 2^38 rows");
  if (known.counts.size() != (p.family == Family::mean ? 2 : p.prior.size()))
    fault("must have as many counts as the prior has numbers");
  for (std::size_t i = 0; i < known.counts.size(); ++i) {
    const bool is_center = p.family == Family::mean && i == 1;
    if (!std::isfinite(known.counts[i]) || (!is_center && !(known.counts[i] >= 0)))
      fault("its counts must be numbers from 0 on");
  }
  if (known.file.empty() || known.sha256.size() != 64 ||
      known.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
    fault("must name a file and its SHA-256");
  if (!is_of_range(p)) fault("its counts are not those of that many rows of the column");
}

void validate_trim(const FamilyProblem& p) {
  if (!p.trim) return;
  const auto [low, high] = *p.trim;
  if (p.has_levels()) {
    if (!(low > 0 && low * static_cast<double>(p.levels) < 1 && high == 0)) {
      throw BadInput(
          Field{"trim"},
          fmt::format(
              "the least share of {} levels within what they are split into must be above 0 and "
              "below 1/{}, got {}",
              p.levels, p.levels, low));
    }
    return;
  }
  if (p.family == Family::bounded_mean) {
    if (!(p.lo < low && low < high && high < p.hi)) {
      throw BadInput(Field{"trim"},
                     fmt::format("must be two numbers inside the range [{}, {}], the lower first, "
                                 "got {},{}",
                                 p.lo, p.hi, low, high));
    }
    return;
  }
  const bool positive = p.family != Family::mean;
  if (!(std::isfinite(low) && std::isfinite(high) && low < high && (!positive || low > 0)) ||
      (positive && !(high / low <= 1e6))) {
    throw BadInput(Field{"trim"},
                   fmt::format("must be two numbers{}, the lower first, got {},{}",
                               positive ? " above 0, a million apart at most" : "", low, high));
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

std::pair<double, double> FamilyProblem::values() const {
  if (!is_centered()) return {lo, hi};
  const double most = std::max(center - lo, hi - center), least = least_distance * most;
  return family == Family::laplace ? std::pair{least, most} : std::pair{least * least, most * most};
}

double FamilyProblem::value_of(double cell) const {
  const auto [least, most] = values();
  const double off = is_centered() ? std::abs(cell - center) : cell;
  return std::clamp(family == Family::variance ? off * off : off, least, most);
}

std::pair<double, double> FamilyProblem::reach() const {
  if (has_levels()) return {0, 1};
  if (trim) return *trim;
  if (!is_waiting()) return {lo, hi};
  const auto [least, most] = values();
  return {1 / most, 1 / least};
}

std::vector<double> FamilyProblem::prior_at(double scale) const {
  std::vector<double> out = prior;
  for (double& value : out) value *= scale;
  if (!public_counts) return out;
  for (std::size_t i = 0; i < std::min(out.size(), public_counts->counts.size()); ++i)
    out[i] += public_counts->counts[i];
  return out;
}

double FamilyProblem::prior_center(double scale) const {
  const double middle = lo + (hi - lo) / 2;
  if (!public_counts) return middle;
  const double own = scale * prior[0], known = public_counts->counts[0];
  return (own * middle + known * public_counts->counts[1]) / (own + known);
}

std::vector<double> FamilyProblem::default_prior() const {
  const auto [least, most] = values();
  const double middle = least + (most - least) / 2;
  switch (family) {
    case Family::bernoulli:
    case Family::categorical:
      return std::vector<double>(levels, 1.0);
    case Family::rate:
      return {1, 1 / middle};
    case Family::waiting:
    case Family::variance:
    case Family::laplace:
      return {1, middle};
    case Family::bounded_mean:
      return {1, 1};
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
    throw BadInput(format_message("{} bernoulli", Field{"model"}),
                   fmt::format("takes a column of two levels, this one has {}", levels),
                   "give categorical");
  }
  if (has_levels() && (levels < 2 || levels > most_family_levels)) {
    throw BadInput(format_message("{} {}", Field{"model"}, to_string(family)),
                   fmt::format("takes a column of 2 to {} levels, this one has {}",
                               most_family_levels, levels));
  }
  if (!has_levels()) validate_range(*this);
  if (family == Family::mean) require_finite_positive(variance, Field{"variance"});
  validate_prior(*this);
  validate_public_counts(*this);
  validate_trim(*this);
}

}  // namespace gibbsite
