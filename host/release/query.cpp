#include "gibbsite/release/query.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "core/format_message.hpp"
#include "core/special.hpp"
#include "data/csv.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {
namespace {

// The log density of Beta(a, b) at x on a grid of [0, 1]; in the outermost cells the log of all
// that lies there and beyond.
double log_beta_on_grid(double x, double a, double b, double cell) {
  if (x <= cell) return std::log(beta_cdf_about(a, b, 1.5 * cell));
  if (1 - x <= cell) return std::log(beta_cdf_about(b, a, 1.5 * cell));
  return std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + (a - 1) * std::log(x) +
         (b - 1) * std::log1p(-x);
}

constexpr double level = 0.95, failure = 0.05;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Answer answer_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  if (values.size() == 1) return {mean, 0};
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  const auto n = static_cast<double>(values.size());
  return {mean, std::sqrt(squares / (n - 1) / n)};
}

// Values of parameter `at` over the draws, as people count it: times, not rates.
std::vector<double> values_of(const FamilyRelease& release, std::size_t at) {
  std::vector<double> out;
  const bool is_inverse = release.certificate().problem.is_waiting();
  for (const auto& draw : release.model().draws) {
    out.push_back(is_inverse ? 1 / draw[at] : draw[at]);
  }
  return out;
}

// A law on the line, before it is cut: both tails.
struct DrawLaw {
  std::function<double(double)> lower, upper;
  double center = 0;
};

// What estimating a parameter takes: the law of a draw given the table's mean s, and that of s
// given the people's parameter.
struct Inference {
  std::function<double(double theta, double s)> log_density;  // of a draw that is not cut
  std::function<DrawLaw(double s)> law;
  // P(S >= s | the parameter is value), and so, as n grows, P(parameter <= value | s).
  std::function<double(double value, double s)> cdf;
  std::function<double(double value)> spread;  // of s given the parameter: its deviation, or more
  double lowest = 0, highest = 1;              // of s
  double about = 0, deviation = 0;             // of s given one draw at the draws' mean
  double cell = 0;                             // of the grid that a draw is on
  bool is_rate = false;                        // the parameter is about 1/theta
  std::size_t cells = 48;                      // of s about the parameter
};

DrawLaw beta_law(double a, double b, double lo = 0, double width = 1) {
  const auto share = [=](double x) { return std::clamp((x - lo) / width, 0.0, 1.0); };
  return {[=](double x) { return beta_cdf_about(a, b, share(x)); },
          [=](double x) { return beta_cdf_about(b, a, 1 - share(x)); }, lo + width * a / (a + b)};
}
DrawLaw gamma_law(double shape, double rate) {
  return {[=](double x) { return gamma_lower_about(shape, rate * x); },
          [=](double x) { return x > 0 ? gamma_upper_about(shape, rate * x) : 1.0; }, shape / rate};
}
DrawLaw normal_law(double mean, double precision) {
  const auto below = [=](double off) { return std::erfc(-off * std::sqrt(precision / 2)) / 2; };
  return {[=](double x) { return below(x - mean); }, [=](double x) { return below(mean - x); },
          mean};
}

// The distribution of a draw that is cut to [low, high], from the side whose digits are kept; next
// to the nearer bound where no double tells how little of the law is within.
double cut_cdf(const DrawLaw& law, double low, double high, double x) {
  if (x <= low) return 0;
  if (x >= high) return 1;
  const bool from_above = law.center < low;
  const auto part = [&](double to) {
    return from_above ? law.upper(low) - law.upper(to) : law.lower(to) - law.lower(low);
  };
  const double all = part(high);
  return all > 0 ? std::clamp(part(x) / all, 0.0, 1.0) : static_cast<double>(from_above);
}

// A table of n rows whose mean is s: counts n s for levels. Nobody says whose a row is, so the k of
// a person may be alike: s is as far from the people's parameter as that of n/k people, one each.
Inference law_of(const FamilyRelease& release, std::size_t at) {
  const FamilyProblem& p = release.certificate().problem;
  const FamilyMechanism& mechanism = release.certificate().mechanism;
  const double r = weight_of(mechanism), scale = prior_scale_of(mechanism);
  const auto rows = static_cast<double>(p.rows), rn = r * rows;
  const double n = rows / static_cast<double>(release.certificate().claimed.who.rows_per_person);
  const std::vector<double> prior = p.prior_at(scale);
  std::vector<double> thetas;
  for (const auto& draw : release.model().draws) thetas.push_back(draw[at]);
  const double theta = mean_of(thetas);
  const auto log_gamma_density = [](double x, double shape, double rate) {
    return shape * std::log(rate) - std::lgamma(shape) + (shape - 1) * std::log(x) - rate * x;
  };
  switch (p.family) {
    case Family::bernoulli:
    case Family::categorical: {
      const double own = prior[at];
      const double rest = std::accumulate(prior.begin(), prior.end(), 0.0) - own;
      const double total = own + rest + rn;
      const double cell = p.levels == 2 ? family_grid(p) : 0;
      return {[=](double x, double s) {
                const double a = own + rn * s, b = rest + rn * (1 - s);
                return log_beta_on_grid(x, a, b, cell);
              },
              [=](double s) { return beta_law(own + rn * s, rest + rn * (1 - s)); },
              [=](double value, double s) {
                return beta_cdf_about(0.5 + n * s, 0.5 + n * (1 - s), value);
              },
              [=](double value) { return std::sqrt(value * (1 - value) / n) + 1 / n; },
              0,
              1,
              (theta * total - own) / rn,
              std::sqrt(theta * (1 - theta) * total) / rn,
              cell};
    }
    case Family::rate: {
      const double shape = prior[0], rate = prior[1] + rn;
      const double cell = family_grid(p);
      return {[=](double x, double s) {
                if (x <= cell) {  // it holds all below
                  return std::log(gamma_lower_about(shape + rn * s, rate * 1.5 * cell));
                }
                return log_gamma_density(x, shape + rn * s, rate);
              },
              [=](double s) { return gamma_law(shape + rn * s, rate); },
              [=](double value, double s) { return gamma_lower_about(0.5 + n * s, n * value); },
              [=](double value) { return std::sqrt(value / n) + 1 / n; },
              p.lo,
              p.hi,
              (theta * rate - shape) / rn,
              std::sqrt(theta * rate) / rn,
              cell};
    }
    case Family::waiting:
    case Family::variance:
    case Family::laplace: {
      const double c = p.records();
      const double shape = prior[0] + c * rn, rate = prior[1];
      const auto [least, most] = p.values();
      return {[=](double x, double s) { return log_gamma_density(x, shape, rate + c * rn * s); },
              [=](double s) { return gamma_law(shape, rate + c * rn * s); },
              [=](double value, double s) {
                return value > 0 ? 1 - gamma_lower_about(c * n, c * n * s / value) : 0.0;
              },
              [=](double value) { return value / std::sqrt(c * n); },
              least,
              most,
              (shape / theta - rate) / (c * rn),
              std::sqrt(shape) / theta / (c * rn),
              0,
              true};
    }
    case Family::bounded_mean: {
      // As two levels at the ends of the range, of which no other law has more variance.
      const double own = prior[0], rest = prior[1], lo = p.lo;
      const double width = p.hi - p.lo, total = own + rest + rn, t = (theta - lo) / width;
      const double cell = family_grid(p) / width;
      return {[=](double x, double s) {
                const double part = (x - lo) / width, share = (s - lo) / width;
                const double a = own + rn * share, b = rest + rn * (1 - share);
                return log_beta_on_grid(part, a, b, cell);
              },
              [=](double s) {
                const double share = (s - lo) / width;
                return beta_law(own + rn * share, rest + rn * (1 - share), lo, width);
              },
              [=](double value, double s) {
                const double share = (s - lo) / width;
                return beta_cdf_about(0.5 + n * share, 0.5 + n * (1 - share),
                                      std::clamp((value - lo) / width, 0.0, 1.0));
              },
              [=, hi = p.hi](double value) {
                return std::sqrt((value - lo) * (hi - value) / n) + (hi - lo) / n;
              },
              p.lo,
              p.hi,
              lo + width * (t * total - own) / rn,
              width * std::sqrt(t * (1 - t) * total) / rn,
              cell * width};
    }
    case Family::mean:
      break;
  }
  const double m = prior[0], g = r / p.variance, precision = m + rows * g;
  const double middle = p.prior_center(scale), sample = std::sqrt(p.variance / n);
  return {
      [=](double x, double s) {
        const double off = x - (m * middle + rows * g * s) / precision;
        return -precision * off * off / 2;
      },
      [=](double s) { return normal_law((m * middle + rows * g * s) / precision, precision); },
      [=](double value, double s) { return std::erfc((s - value) / sample / std::sqrt(2.0)) / 2; },
      [=](double /*value*/) { return sample; },
      p.lo,
      p.hi,
      (theta * precision - m * middle) / (rows * g),
      std::sqrt(precision) / (rows * g)};
}

// A draw is the closer to s the more rows a person has: s is then laid out more finely.
Inference inference_of(const FamilyRelease& release, std::size_t at) {
  constexpr std::uint64_t most = 64;
  Inference out = law_of(release, at);
  const std::uint64_t k = std::min(release.certificate().claimed.who.rows_per_person, most);
  out.cells *= static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(k))));
  return out;
}

// What the draws say about one parameter of the people, noise and sample together: over a grid of
// what the table's mean may have been a mixture of the parameter's laws.
class Mixture {
 public:
  Mixture(const FamilyRelease& release, std::size_t at)
      : Mixture(release, at, inference_of(release, at)) {}
  Mixture(const FamilyRelease& release, std::size_t at, Inference inference)
      : in_(std::move(inference)) {
    constexpr std::size_t cells = 200;
    constexpr double reach = 8;  // deviations
    const auto& draws = release.model().draws;
    const double wide = in_.deviation / std::sqrt(static_cast<double>(draws.size()));
    double from = std::max(in_.lowest, std::min(in_.about, in_.highest) - reach * wide);
    double to = std::min(in_.highest, std::max(in_.about, in_.lowest) + reach * wide);
    if (!(from < to)) from = in_.lowest, to = in_.highest;
    s_.resize(cells), weight_.resize(cells);
    const auto lay = [&] {
      for (std::size_t i = 0; i < cells; ++i) {
        s_[i] = from + (to - from) * (static_cast<double>(i) + 0.5) / cells;
        weight_[i] = 0;
        for (const auto& draw : draws) weight_[i] += in_.log_density(draw[at], s_[i]);
      }
    };
    // Near 0 the likelihood falls far more slowly than its deviation says: on to where it is e^-25.
    lay();
    for (int i = 0; i < 60; ++i) {
      const double least = *std::ranges::max_element(weight_) - 25, width = to - from;
      const bool left = weight_.front() > least && from > in_.lowest;
      const bool right = weight_.back() > least && to < in_.highest;
      if (!left && !right) break;
      if (left) from = std::max(in_.lowest, from - width);
      if (right) to = std::min(in_.highest, to + width);
      lay();
    }
    const double most = *std::ranges::max_element(weight_);
    for (double& w : weight_) total_ += w = std::exp(w - most);
  }

  [[nodiscard]] double below(double value) const {
    double out = 0;
    for (std::size_t j = 0; j < s_.size(); ++j) {
      if (weight_[j] > 1e-9 * total_) out += weight_[j] * in_.cdf(value, s_[j]);
    }
    return out / total_;
  }
  [[nodiscard]] double quantile(double q) const {
    double lo = in_.lowest, hi = in_.highest;
    for (int i = 0; i < 34; ++i) {  // to 1e-10 of the range
      const double middle = (lo + hi) / 2;
      (below(middle) < q ? lo : hi) = middle;
    }
    return (lo + hi) / 2;
  }

 private:
  Inference in_;
  std::vector<double> s_, weight_;
  double total_ = 0;
};

bool is_trimmed(const FamilyRelease& release) {
  return release.certificate().problem.trim.has_value();
}

// Tests of what the people's parameter may be, by the draw in the middle, whose law is known. What
// a test of 2.5 % does not reject lies in the interval, so that it holds the truth as often as it
// says next to the ends of the range too.
class Tests {
 public:
  Tests(const FamilyRelease& release, std::size_t at, const Inference& in)
      : in_(in), draws_(release.model().draws.size()) {
    std::vector<double> thetas;
    for (const auto& draw : release.model().draws) thetas.push_back(draw[at]);
    std::ranges::sort(thetas);
    lower_ = {thetas[(draws_ - 1) / 2], (draws_ + 1) / 2};
    upper_ = {thetas[draws_ / 2], draws_ / 2 + 1};
    const FamilyProblem& p = release.certificate().problem;
    if (!is_trimmed(release) || p.levels > 2) return;  // of more levels: cuts that do not matter
    low_ = p.trim->first;
    high_ = p.has_levels() ? 1 - p.trim->first : p.trim->second;
  }

  /// Whether some parameter is rejected by neither test.
  [[nodiscard]] bool accept_some(double tail) const {
    return as_far(in_.highest, true) >= tail && as_far(in_.lowest, false) >= tail &&
           least(tail) <= most(tail);
  }

  /// The least parameter under which draws as far up as these are no rarer than `tail`.
  [[nodiscard]] double least(double tail) const {
    return root([&](double value) { return as_far(value, true) - tail; });
  }
  [[nodiscard]] double most(double tail) const {
    return root([&](double value) { return tail - as_far(value, false); });
  }
  /// The parameter that these draws would be above as often as below.
  [[nodiscard]] double middle() const {
    return root([&](double value) { return as_far(value, true) - as_far(value, false); });
  }

 private:
  struct Middle {
    double theta = 0;
    std::size_t order = 1;  // of the draws in ascending order, from 1
  };

  // P(the draw of that order <= x | s).
  [[nodiscard]] double draw_below(double x, std::size_t order, double s) const {
    const DrawLaw law = in_.law(s);
    const double one = low_ ? cut_cdf(law, *low_, high_, x) : law.lower(x);
    if (draws_ == 1) return one;
    const auto first = static_cast<double>(order), all = static_cast<double>(draws_);
    return beta_cdf_about(first, all - first + 1, one);  // that many of the draws are
  }
  // The probability of draws that speak for a parameter as large as these do, or as small.
  [[nodiscard]] double as_far(double value, bool up) const {
    constexpr double reach = 6;  // deviations
    const std::size_t cells = in_.cells;
    const double wide = reach * in_.spread(value);
    const double from = std::max(in_.lowest, value - wide),
                 to = std::min(in_.highest, value + wide);
    const bool below = up == in_.is_rate;  // draws as small
    const auto share = [&](double s) {
      return below ? draw_below(upper_.theta + in_.cell, upper_.order, s)
                   : 1 - draw_below(lower_.theta - in_.cell, lower_.order, s);
    };
    double beyond = in_.cdf(value, from);  // P(S >= the cell's lower end)
    double out = (1 - beyond) * share(from);
    for (std::size_t k = 0; k < cells; ++k) {
      const double width = (to - from) / static_cast<double>(cells),
                   at = from + width * static_cast<double>(k);
      const double next = in_.cdf(value, at + width);
      if (beyond > next) out += (beyond - next) * share(at + width / 2);
      beyond = next;
    }
    return out + beyond * share(to);
  }
  // Where a rising function crosses 0, or the end that it does not reach.
  template <class Rising>
  [[nodiscard]] double root(const Rising& rising) const {
    double lo = in_.lowest, hi = in_.highest;
    if (rising(lo) >= 0) return lo;
    if (rising(hi) < 0) return hi;
    for (int i = 0; i < 36; ++i) {  // to 1e-11 of the range
      const double middle = (lo + hi) / 2;
      (rising(middle) < 0 ? lo : hi) = middle;
    }
    return (lo + hi) / 2;
  }

  const Inference& in_;
  std::size_t draws_;
  Middle lower_, upper_;  // of an even number of draws two: shares of two levels then sum to 1
  std::optional<double> low_{};
  double high_ = 0;
};

// Whether a level's share has about the law that it has without a cut: of more than two levels a
// share is a product over splits, each of which must lie well within its bounds. Two levels have
// one, whose cut law is known.
bool has_known_law(const FamilyRelease& release) {
  constexpr double reach = 4;  // deviations, beyond which a cut takes next to nothing
  const FamilyProblem& p = release.certificate().problem;
  if (p.levels <= 2) return true;
  const FamilyMechanism& mechanism = release.certificate().mechanism;
  const double weight = weight_of(mechanism) * static_cast<double>(p.rows);
  const std::vector<double> numbers = p.prior_at(prior_scale_of(mechanism));
  std::vector<double> up_to(p.levels + 1, 0.0), prior(p.levels + 1, 0.0);
  for (std::size_t k = 0; k < p.levels; ++k) {
    up_to[k + 1] = up_to[k] + mean_of(values_of(release, k));
    prior[k + 1] = prior[k] + numbers[k];
  }
  bool within = true;
  for_each_split(0, p.levels, [&](std::uint64_t first, std::uint64_t middle, std::uint64_t last) {
    const double all = up_to[last] - up_to[first];
    const double share = all > 0 ? (up_to[middle] - up_to[first]) / all : 0;
    const double total = prior[last] - prior[first] + weight * all;
    const double wide = reach * std::sqrt(share * (1 - share) / (1 + total)) + reach / (1 + total);
    const auto [low, high] = split_trim(p, first, middle, last);
    within = within && share - wide > low && share + wide < high;
  });
  return within;
}

// The interval holds what tests do not reject and, but for cut draws, what a flat prior gives 95 %:
// at an end of the range the tests alone may leave next to nothing. Where they leave nothing at all
// or the law of a draw is not known, it is the whole range.
ParameterEstimate infer(const FamilyRelease& release, std::size_t at, std::string name) {
  constexpr double tail = (1 - level) / 2;
  const Inference inference = inference_of(release, at);
  const Tests tests(release, at, inference);
  if (is_trimmed(release) && (!has_known_law(release) || !tests.accept_some(tail))) {
    return {std::move(name), mean_of(values_of(release, at)), inference.lowest, inference.highest};
  }
  ParameterEstimate out{std::move(name), tests.middle(), tests.least(tail), tests.most(tail)};
  if (is_trimmed(release)) return out;
  const Mixture mixture(release, at, inference);
  out.low = std::min(out.low, mixture.quantile(tail));
  out.high = std::max(out.high, mixture.quantile(1 - tail));
  return out;
}

std::optional<double> number_of(std::string_view text) {
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(out)) return {};
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::size_t index_of(const FamilyRelease& release, std::string_view parameter) {
  const auto names = parameter_names(release);
  const auto found = std::ranges::find(names, parameter);
  if (found == names.end()) {
    throw BadInput(fmt::format("parameter {}: the file has none of that name; give one of {}",
                               gibbsite::quoted(parameter),
                               shown(fmt::format("{}", fmt::join(names, ", ")))));
  }
  return static_cast<std::size_t>(found - names.begin());
}

// The probability, by a conjugate draw, that a parameter of the people is below a number or
// another.
double probability_below(const FamilyRelease& release, const std::string& name,
                         std::string_view right, const std::optional<double>& number) {
  const std::size_t left = index_of(release, name);
  if (number) return Mixture(release, left).below(*number);
  if (const std::size_t other = index_of(release, right); release.model().levels().size() == 2) {
    return left == other ? 0 : Mixture(release, left).below(0.5);
  }
  throw BadInput(format_message(
      "event {} and {}: a draw that is not trimmed answers about one parameter; compare it with "
      "a number, or fit with {}",
      gibbsite::quoted(name), gibbsite::quoted(std::string(right)), Field{"trim"}));
}

// The probability of each outcome for a new person, given a draw.
std::vector<double> outcome_shares(const FamilyRelease& release, const std::vector<double>& ends,
                                   const std::vector<double>& draw) {
  const FamilyProblem& p = release.certificate().problem;
  const double theta = draw.front();
  const auto below = [&](double x) {  // P(value < x)
    if (p.family == Family::rate) {
      return x > 0 ? 1 - gamma_lower_about(std::ceil(x), theta) : 0.0;
    }
    if (p.family == Family::variance) return std::erfc((p.center - x) * std::sqrt(theta / 2)) / 2;
    if (p.family == Family::laplace) {
      const double tail = std::exp(-theta * std::abs(x - p.center)) / 2;
      return x < p.center ? tail : 1 - tail;
    }
    if (p.family == Family::waiting) return x > 0 ? -std::expm1(-theta * x) : 0.0;
    return std::erfc((theta - x) / std::sqrt(2 * p.variance)) / 2;
  };
  std::vector<double> out(ends.size());
  double before = 0;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    const double next = k + 1 < ends.size() ? below(ends[k + 1]) : 1.0;
    out[k] = next - before;
    before = next;
  }
  return out;
}

}  // namespace

std::string missing_meaning(const FamilyRelease& release) {
  const Schema& schema = release.model().schema;
  const Column& column = schema.columns.front();
  const bool unreadable = schema.invalid == Invalid::middle;
  if (column.type != ColumnType::number || (!unreadable && schema.missing_in(column) == nullptr))
    return "";
  return fmt::format(
      "A cell that is missing{} counts as {:.4g}, the middle of the range: an estimate leans to it by "
      "the share of such cells, and the interval is of what was counted, not of the numbers alone.",
      unreadable ? " or cannot be read" : "", column.lo / 2 + column.hi / 2);
}

std::vector<std::string> parameter_names(const FamilyRelease& release) {
  switch (release.model().family) {
    case Family::rate:
      return {"rate"};
    case Family::waiting:
      return {"time"};
    case Family::mean:
    case Family::bounded_mean:
      return {"mean"};
    case Family::variance:
      return {"variance"};
    case Family::laplace:
      return {"scale"};
    default:
      return release.model().levels();
  }
}

std::vector<ParameterEstimate> estimates(const FamilyRelease& release, std::size_t most) {
  const auto levels = release.model().levels();
  std::vector<std::size_t> wanted(std::max<std::size_t>(levels.size(), 1));
  std::iota(wanted.begin(), wanted.end(), 0U);
  if (wanted.size() > most) {
    std::vector<double> means;
    for (const std::size_t k : wanted) means.push_back(mean_of(values_of(release, k)));
    std::ranges::stable_sort(wanted, std::greater{}, [&](std::size_t k) { return means[k]; });
    wanted.resize(most);
  }
  std::vector<ParameterEstimate> out;
  for (const std::size_t k : wanted) {
    out.push_back(infer(release, k, levels.empty() ? release.model().column() : levels[k]));
  }
  return out;
}

Answer expectation(const FamilyRelease& release, const std::string& parameter) {
  const std::size_t at = index_of(release, parameter);
  if (is_trimmed(release)) return answer_of(values_of(release, at));
  const ParameterEstimate people = infer(release, at, parameter);
  return {people.value, (people.high - people.low) / 2 / two_sided_95};
}

Answer probability(const FamilyRelease& release, const std::string& event) {
  // The parameter's name may hold any sign but must be followed by the comparison.
  for (const auto& name : parameter_names(release)) {
    if (!event.starts_with(name)) continue;
    const std::string_view rest = trimmed(std::string_view(event).substr(name.size()));
    for (const std::string_view sign : {"<=", ">=", "<", ">"}) {
      if (!rest.starts_with(sign)) continue;
      const std::string_view right = trimmed(rest.substr(sign.size()));
      const auto number = number_of(right);
      if (!is_trimmed(release)) {
        const auto p = probability_below(release, name, right, number);
        return {sign.starts_with('<') ? p : 1 - p, 0};
      }
      const auto left_values = values_of(release, index_of(release, name));
      const auto right_values = number ? std::vector<double>(left_values.size(), *number)
                                       : values_of(release, index_of(release, right));
      std::vector<double> holds(left_values.size());
      for (std::size_t i = 0; i < holds.size(); ++i) {
        const double a = left_values[i], b = right_values[i];
        holds[i] = sign == "<=" ? a <= b : sign == ">=" ? a >= b : sign == "<" ? a < b : a > b;
      }
      return answer_of(holds);
    }
  }
  throw BadInput(fmt::format(
      "event {}: must be a parameter, <, <=, > or >=, and a number or another parameter; "
      "parameters are {}",
      gibbsite::quoted(event),
      shown(fmt::format("{}", fmt::join(parameter_names(release), ", ")))));
}

UtilityTable read_utilities(const std::string& path) {
  UtilityTable out;
  out.source = path;
  for (const CsvRecord& record : read_csv_records(path)) {
    const auto& cells = record.cells;
    if (out.outcomes.empty()) {
      if (cells.size() < 2) {
        throw BadInput(record.where + ": the header needs an outcome; give response,OUTCOME,...");
      }
      out.outcomes.assign(cells.begin() + 1, cells.end());
      continue;
    }
    out.responses.push_back(cells.front());
    auto& row = out.utility.emplace_back();
    for (std::size_t k = 1; k < cells.size(); ++k) {
      const auto value = number_of(cells[k]);
      if (!value || std::abs(*value) > 1e100) {
        throw BadInput(
            fmt::format("{}: {} is no number that utilities take; give the utility of {} under {}",
                        record.where, gibbsite::quoted(cells[k]), gibbsite::quoted(cells[0]),
                        gibbsite::quoted(out.outcomes[k - 1])));
      }
      row.push_back(*value);
    }
  }
  if (out.responses.empty()) throw BadInput(path + ": has no response; give at least one line");
  return out;
}

BestResponse best_response(const FamilyRelease& release, const UtilityTable& table) {
  if (release.model().family == Family::bounded_mean) {
    throw BadInput(
        "utilities: bounded-mean says how much people have on average, and of no one; "
        "give a file of another family");
  }
  const auto levels = release.model().levels();
  std::vector<double> ends;
  std::vector<std::size_t> places;  // of the outcomes among the levels
  if (!levels.empty()) {
    for (const auto& outcome : table.outcomes) places.push_back(index_of(release, outcome));
    if (table.outcomes.size() != levels.size()) {
      throw BadInput(fmt::format("{}: {} outcomes for {} levels; give each level a column",
                                 table.source, table.outcomes.size(), levels.size()));
    }
  } else {
    for (const auto& outcome : table.outcomes) {
      const auto value = number_of(outcome);
      if (!value || (!ends.empty() && *value <= ends.back())) {
        throw BadInput(fmt::format(
            "{}: outcome {}: must be ascending numbers, the lower "
            "ends of intervals of {}",
            table.source, gibbsite::quoted(outcome), gibbsite::quoted(release.model().column())));
      }
      ends.push_back(*value);
    }
  }
  std::vector<std::vector<double>> draws = release.model().draws;
  if (!is_trimmed(release)) {  // the people's in place of a draw's, whose prior may be strong
    const auto people = estimates(release);
    draws.assign(1, {});
    for (const auto& one : people) draws[0].push_back(one.value);
    if (release.certificate().problem.is_waiting()) draws[0][0] = 1 / draws[0][0];
  }
  std::vector<double> shares(table.outcomes.size(), 0.0);
  for (const auto& draw : draws) {
    const double whole = std::accumulate(draw.begin(), draw.end(), 0.0);
    if (levels.empty()) {
      const auto of_draw = outcome_shares(release, ends, draw);
      for (std::size_t k = 0; k < shares.size(); ++k) shares[k] += of_draw[k];
    } else {
      for (std::size_t k = 0; k < shares.size(); ++k) shares[k] += draw[places[k]] / whole;
    }
  }
  BestResponse out;
  double least = table.utility[0][0], most = least;
  for (std::size_t r = 0; r < table.responses.size(); ++r) {
    double utility = 0;
    for (std::size_t k = 0; k < shares.size(); ++k) {
      utility += table.utility[r][k] * shares[k] / static_cast<double>(draws.size());
      least = std::min(least, table.utility[r][k]);
      most = std::max(most, table.utility[r][k]);
    }
    out.ranked.push_back({table.responses[r], utility});
  }
  std::ranges::stable_sort(out.ranked, std::greater{}, &Response::utility);
  if (is_trimmed(release)) {
    out.regret = (most - least) *
                 std::min(1.0, regret_of_draws(table.responses.size(), draws.size(), failure));
  }
  return out;
}

}  // namespace gibbsite
