#include "gibbsite/release/query.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <charconv>
#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <optional>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {
namespace {

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

// Of parameter `at` over the draws, as people count it: times, not rates, for waiting.
std::vector<double> values_of(const FamilyRelease& release, std::size_t at) {
  std::vector<double> out;
  for (const auto& draw : release.model().draws) {
    out.push_back(release.model().family == Family::waiting ? 1 / draw[at] : draw[at]);
  }
  return out;
}

// What estimating a parameter takes: the log density of a draw given the table's mean s, where s
// must lie, and the distribution of the people's parameter given s.
struct Inference {
  std::function<double(double theta, double s)> log_density;
  std::function<double(double value, double s)> cdf;
  double lowest = 0, highest = 1;   // of s
  double about = 0, deviation = 0;  // of s given one draw at the draws' mean
};

// A table of n rows whose mean is s: counts n s for levels.
Inference inference_of(const FamilyRelease& release, std::size_t at) {
  const FamilyProblem& p = release.certificate().problem;
  const FamilyMechanism& mechanism = release.certificate().mechanism;
  const double r = weight_of(mechanism), scale = prior_scale_of(mechanism);
  const auto n = static_cast<double>(p.rows), rn = r * n;
  std::vector<double> thetas;
  for (const auto& draw : release.model().draws) thetas.push_back(draw[at]);
  const double theta = mean_of(thetas);
  const auto log_gamma_density = [](double x, double shape, double rate) {
    return shape * std::log(rate) - std::lgamma(shape) + (shape - 1) * std::log(x) - rate * x;
  };
  switch (p.family) {
    case Family::bernoulli:
    case Family::categorical: {
      const double own = scale * p.prior[at];
      const double rest = scale * std::accumulate(p.prior.begin(), p.prior.end(), 0.0) - own;
      const double total = own + rest + rn;
      return {[=](double x, double s) {
                const double a = own + rn * s, b = rest + rn * (1 - s);
                return std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                       (a - 1) * std::log(x) + (b - 1) * std::log1p(-x);
              },
              [=](double value, double s) {
                return boost::math::ibeta(0.5 + n * s, 0.5 + n * (1 - s),
                                          std::clamp(value, 0.0, 1.0));
              },
              0,
              1,
              (theta * total - own) / rn,
              std::sqrt(theta * (1 - theta) * total) / rn};
    }
    case Family::rate: {
      const double shape = scale * p.prior[0], rate = scale * p.prior[1] + rn;
      return {[=](double x, double s) { return log_gamma_density(x, shape + rn * s, rate); },
              [=](double value, double s) {
                return value > 0 ? boost::math::gamma_p(0.5 + n * s, n * value) : 0.0;
              },
              p.lo,
              p.hi,
              (theta * rate - shape) / rn,
              std::sqrt(theta * rate) / rn};
    }
    case Family::waiting: {
      const double shape = scale * p.prior[0] + rn, rate = scale * p.prior[1];
      return {[=](double x, double s) { return log_gamma_density(x, shape, rate + rn * s); },
              [=](double value, double s) {
                return value > 0 ? boost::math::gamma_q(n, n * s / value) : 0.0;
              },
              p.lo,
              p.hi,
              (shape / theta - rate) / rn,
              std::sqrt(shape) / theta / rn};
    }
    case Family::mean:
      break;
  }
  const double m = scale * p.prior[0], g = r / p.variance, precision = m + n * g;
  const double middle = p.lo + (p.hi - p.lo) / 2, sample = std::sqrt(p.variance / n);
  return {
      [=](double x, double s) {
        const double off = x - (m * middle + n * g * s) / precision;
        return -precision * off * off / 2;
      },
      [=](double value, double s) { return std::erfc((s - value) / sample / std::sqrt(2.0)) / 2; },
      p.lo,
      p.hi,
      (theta * precision - m * middle) / (n * g),
      std::sqrt(precision) / (n * g)};
}

// A grid over what the table's mean may have been: the parameter's law is a mixture.
ParameterEstimate infer(const FamilyRelease& release, std::size_t at, std::string name) {
  constexpr std::size_t cells = 400;
  constexpr double reach = 8;  // deviations
  const Inference in = inference_of(release, at);
  const auto& draws = release.model().draws;
  const double wide = in.deviation / std::sqrt(static_cast<double>(draws.size()));
  double from = std::max(in.lowest, std::min(in.about, in.highest) - reach * wide);
  double to = std::min(in.highest, std::max(in.about, in.lowest) + reach * wide);
  if (!(from < to)) from = in.lowest, to = in.highest;
  std::vector<double> s(cells), weight(cells);
  for (std::size_t i = 0; i < cells; ++i) {
    s[i] = from + (to - from) * (static_cast<double>(i) + 0.5) / cells;
    for (const auto& draw : draws) weight[i] += in.log_density(draw[at], s[i]);
  }
  const double most = *std::ranges::max_element(weight);
  double total = 0;
  for (double& w : weight) total += w = std::exp(w - most);
  const auto quantile = [&](double q) {
    double lo = in.lowest, hi = in.highest;
    for (int i = 0; i < 50; ++i) {
      const double middle = (lo + hi) / 2;
      double below = 0;
      for (std::size_t j = 0; j < cells; ++j) {
        if (weight[j] > 1e-12 * total) below += weight[j] * in.cdf(middle, s[j]);
      }
      (below < q * total ? lo : hi) = middle;
    }
    return (lo + hi) / 2;
  };
  return {std::move(name), quantile(0.5), quantile((1 - level) / 2), quantile((1 + level) / 2)};
}

double quantile_of(std::vector<double> values, double q) {
  std::ranges::sort(values);
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 == values.size()) return values.back();
  const double part = at - static_cast<double>(below);
  return values[below] * (1 - part) + values[below + 1] * part;
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

// The probability of each outcome for a new person, given a draw.
std::vector<double> outcome_shares(const FamilyRelease& release, const std::vector<double>& ends,
                                   const std::vector<double>& draw) {
  const FamilyProblem& p = release.certificate().problem;
  const double theta = draw.front();
  const auto below = [&](double x) {  // P(value < x)
    if (p.family == Family::rate) {
      return x > 0 ? boost::math::gamma_q(std::ceil(x), theta) : 0.0;
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

std::vector<std::string> parameter_names(const FamilyRelease& release) {
  switch (release.model().family) {
    case Family::rate:
      return {"rate"};
    case Family::waiting:
      return {"time"};
    case Family::mean:
      return {"mean"};
    default:
      return release.model().levels();
  }
}

std::vector<ParameterEstimate> estimates(const FamilyRelease& release) {
  const auto levels = release.model().levels();
  const std::size_t K = std::max<std::size_t>(levels.size(), 1);
  std::vector<ParameterEstimate> out;
  for (std::size_t k = 0; k < K; ++k) {
    const std::string name = levels.empty() ? release.model().column() : levels[k];
    if (release.certificate().problem.trim) {
      const auto values = values_of(release, k);
      out.push_back({name, mean_of(values), quantile_of(values, (1 - level) / 2),
                     quantile_of(values, (1 + level) / 2)});
    } else {
      out.push_back(infer(release, k, name));
    }
  }
  return out;
}

Answer expectation(const FamilyRelease& release, const std::string& parameter) {
  return answer_of(values_of(release, index_of(release, parameter)));
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
  std::ifstream file(path);
  if (!file) throw BadInput(path + ": cannot read; check the path and its permissions");
  UtilityTable out;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (trimmed(line).empty()) continue;
    std::vector<std::string> cells;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find(',', begin), line.size());
      cells.emplace_back(trimmed(std::string_view(line).substr(begin, end - begin)));
      begin = end + 1;
    }
    const auto fail = [&](const std::string& what) {
      throw BadInput(fmt::format("{}:{}: {}", path, number, what));
    };
    if (out.outcomes.empty()) {
      if (cells.size() < 2) fail("the header needs an outcome; give response,OUTCOME,...");
      out.outcomes.assign(cells.begin() + 1, cells.end());
      continue;
    }
    if (cells.size() != out.outcomes.size() + 1) {
      fail(fmt::format("has {} cells, the header has {}; mend the line", cells.size(),
                       out.outcomes.size() + 1));
    }
    out.responses.push_back(cells.front());
    auto& row = out.utility.emplace_back();
    for (std::size_t k = 1; k < cells.size(); ++k) {
      const auto value = number_of(cells[k]);
      if (!value)
        fail(fmt::format("{} is no number; give the utility of {} under {}",
                         gibbsite::quoted(cells[k]), gibbsite::quoted(cells[0]),
                         gibbsite::quoted(out.outcomes[k - 1])));
      row.push_back(value.value_or(0));
    }
  }
  if (out.responses.empty()) throw BadInput(path + ": has no response; give at least one line");
  return out;
}

BestResponse best_response(const FamilyRelease& release, const UtilityTable& table) {
  const auto levels = release.model().levels();
  std::vector<double> ends;
  if (!levels.empty()) {
    for (const auto& outcome : table.outcomes) static_cast<void>(index_of(release, outcome));
    if (table.outcomes.size() != levels.size()) {
      throw BadInput(fmt::format("utilities: {} outcomes for {} levels; give each level a column",
                                 table.outcomes.size(), levels.size()));
    }
  } else {
    for (const auto& outcome : table.outcomes) {
      const auto value = number_of(outcome);
      if (!value || (!ends.empty() && *value <= ends.back())) {
        throw BadInput(
            fmt::format("utilities: outcome {}: must be ascending numbers, the lower "
                        "ends of intervals of {}",
                        gibbsite::quoted(outcome), gibbsite::quoted(release.model().column())));
      }
      ends.push_back(*value);
    }
  }
  const auto& draws = release.model().draws;
  std::vector<double> shares(table.outcomes.size(), 0.0);
  for (const auto& draw : draws) {
    if (levels.empty()) {
      const auto of_draw = outcome_shares(release, ends, draw);
      for (std::size_t k = 0; k < shares.size(); ++k) shares[k] += of_draw[k];
    } else {
      for (std::size_t k = 0; k < shares.size(); ++k) {
        shares[k] += draw[index_of(release, table.outcomes[k])];
      }
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
  out.regret = (most - least) *
               std::min(1.0, regret_of_draws(table.responses.size(), draws.size(), failure));
  return out;
}

}  // namespace gibbsite
