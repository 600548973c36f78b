#include "gibbsite/mechanism/learning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gibbsite/core/human_count.hpp"
#include "mechanism/candidates.hpp"
#include "mechanism/whitened_losses.hpp"

namespace gibbsite {
namespace {

struct Measured {
  double signal, kept;
};
using Curve = std::array<Measured, 9>;
constexpr Curve measured{{{1, 0.05},
                          {2, 0.1},
                          {5, 0.35},
                          {10, 0.7},
                          {20, 0.88},
                          {40, 0.96},
                          {80, 0.983},
                          {160, 0.994},
                          {320, 0.997}}};
constexpr Curve measured_from_few{{{1, 0.27},
                                   {2, 0.44},
                                   {5, 0.67},
                                   {10, 0.87},
                                   {20, 0.94},
                                   {40, 0.97},
                                   {80, 0.983},
                                   {160, 0.994},
                                   {320, 0.997}}};
const Curve& curve(bool from_few) { return from_few ? measured_from_few : measured; }

// What a row's slope and curvature are on average, where nothing is known but public numbers.
struct ExpectedRow {
  double curvature;     // q
  double slope_square;  // of the score along its label; q where the labels' law is the model's
};

// What a typical row of counts has, whose slopes are capped at kappa.
ExpectedRow expected_count(const Whitened& settings) {
  const double N = std::max(settings.largest_count, 1.0), mean = 0.1;
  // The loss's own weight of that mean (docs/theory/whitened.md, "Counts"); no loss is known here.
  const double spread = std::min((1 + 2 * std::sqrt(N * mean)) / N, 1 - mean);
  const double w = std::min(1.0, settings.clip_factor / std::max(mean, spread));
  return {w * mean, w * w * mean / N};
}

// Classes: z between -1 and 1, less by `evenness` where one of two is rare. Amounts: normal errors
// of a tolerance. Counts: a mean of a tenth of the largest count N, where fits start, and Poisson's
// variance, which is mean/N^2 in units of N.
ExpectedRow expected_row(const Whitened& settings, const Problem& problem, double evenness) {
  if (problem.loss == "huber") return {0.683, 0.516};
  if (problem.loss == "pseudo-huber") return {0.565, 0.344};
  if (problem.loss == "poisson") return expected_count(settings);
  const double q = 0.8 * evenness * largest_mean_curvature(problem);
  return {q, q};
}

// The part of a class's effect that is against the mean of all K: of unit length less 1/K.
double length_of_effect(const Problem& problem) {
  const auto K = static_cast<double>(problem.outputs);
  return K > 1 ? std::sqrt(1 - 1 / K) : 1;
}

}  // namespace

std::string kept_words(double share) {
  if (share < 0.2) return "next to nothing";
  const double percent = 100 * share;
  if (percent >= 99) return "over 99 %";
  return percent < 95 ? fmt::format("about {:.0f} %", 5 * std::round(percent / 5))
                      : fmt::format("about {:.0f} %", percent);
}

std::string coefficients_words(const Problem& problem) {
  const std::string features = fmt::format("{} features", problem.row_features());
  return problem.outputs == 1 ? features
                              : fmt::format("{} classes x {}", problem.outputs, features);
}

double signal_per_feature(const Problem& problem, const Neighbors& who, double mu) {
  return signal_of(problem, who, mu) / static_cast<double>(problem.features);
}

bool is_measured(const Mechanism& mechanism) {
  return std::holds_alternative<Whitened>(mechanism) ||
         std::holds_alternative<MetricPath>(mechanism);
}

bool learns_from_few(const Mechanism& mechanism, const Problem& problem) {
  const auto* const settings = std::get_if<Whitened>(&mechanism);
  return settings != nullptr && settings->information_share == 0 &&
         is_two_class_logistic(problem.loss) && gains_by_small_budget(problem);
}

double kept_share(double signal, bool from_few, double evenness) {
  const Curve& points = curve(from_few);
  const double of_labels = signal * evenness;
  if (!(of_labels > points.front().signal))
    return points.front().kept * std::clamp(of_labels / points.front().signal, 0.0, 1.0);
  const auto after = std::ranges::find_if(
      points, [&](const Measured& point) { return point.signal >= of_labels; });
  if (after == points.end()) return points.back().kept;
  const Measured &b = *after, &a = *(after - 1);
  return a.kept +
         (b.kept - a.kept) * std::log(of_labels / a.signal) / std::log(b.signal / a.signal);
}

double rows_to_keep(double share, const Problem& problem, const Neighbors& who, double mu,
                    bool from_few, double evenness) {
  Problem one = problem;
  one.rows = 1;
  const double of_one = signal_per_feature(one, who, mu);
  const Curve& points = curve(from_few);
  const auto after =
      std::ranges::find_if(points, [&](const Measured& point) { return point.kept >= share; });
  double signal = after == points.end() ? points.back().signal : after->signal;
  if (after != points.begin() && after != points.end()) {
    const Measured &b = *after, &a = *(after - 1);
    signal = a.signal * std::pow(b.signal / a.signal, (share - a.kept) / (b.kept - a.kept));
  }
  return std::ceil(signal / (of_one * evenness));
}

double expected_coefficient_noise(const Whitened& settings, const Problem& problem,
                                  const Neighbors& who, double spread, double evenness) {
  const double curvature = expected_row(settings, problem, evenness).curvature;
  const double clip = gradient_clip(settings, static_cast<double>(problem.row_features()));
  double precision = 0;
  const double gradients = settings.iterations + (settings.block_share > 0 ? 1 : 0);
  for (std::uint64_t t = 1; static_cast<double>(t) <= gradients; ++t) {
    const double deviation = gradient_deviation_up(settings, who, t, clip, 0);
    precision += 1 / (deviation * deviation);
  }
  return 1 / (std::sqrt(precision) * static_cast<double>(problem.rows) * curvature * spread);
}

std::optional<double> expected_coefficient_noise(const Mechanism& mechanism, const Problem& problem,
                                                 const Neighbors& who, double evenness) {
  const auto* const whitened = std::get_if<Whitened>(&mechanism);
  if (whitened == nullptr) return {};
  return expected_coefficient_noise(*whitened, problem, who, ordinary_spread, evenness);
}

std::optional<double> expected_half_interval(const Whitened& settings, const Problem& problem,
                                             const Neighbors& who, double spread, double evenness) {
  if (!whitened_takes(problem)) return {};
  const double noise = expected_coefficient_noise(settings, problem, who, spread, evenness);
  const ExpectedRow row = expected_row(settings, problem, evenness);
  // Rows whose people no column names may be alike, and their figures are those of as many people.
  const double alike = problem.of_people() ? 1 : static_cast<double>(who.rows_per_person);
  const double sample =
      alike * row.slope_square /
      (static_cast<double>(problem.rows) * row.curvature * row.curvature * spread * spread);
  return two_sided_95 * length_of_effect(problem) * std::sqrt(noise * noise + sample);
}

}  // namespace gibbsite
