#include "gibbsite/model/curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "model/helmert.hpp"

namespace gibbsite {
namespace {

constexpr double scales_in_range = 1000;  // (hi - lo)/s

// Whatever the locale's decimal sign is.
double number_of_text(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// To a thousandth of `distance` or finer, so that people can read and type it.
double readable(double value, double distance) {
  if (value == 0 || !std::isnormal(distance)) return value;
  const auto place = [](double v) { return static_cast<int>(std::floor(std::log10(v))); };
  const int digits = place(std::fabs(value)) - place(distance) + 3;  // after the first
  if (digits < 0) return 0;
  if (digits >= std::numeric_limits<double>::digits10) return value;
  // By its text, as powers of ten below 1 and above 1e22 are no doubles.
  return number_of_text(fmt::format("{:.{}e}", value, digits));
}

bool counts_by_ratio(double lo, double hi) { return lo >= 0 && hi - lo >= 1000 && hi >= 50 * lo; }

// 1 + Q^T D^T D Q [c x c], D the second differences over the knots.
std::vector<double> roughness(std::size_t knots, std::size_t c, const std::vector<double>& Q) {
  std::vector<double> out(c * c, 0.0);
  for (std::size_t a = 0; a < c; ++a) out[a * c + a] = 1;
  std::vector<double> bend(c);
  for (std::size_t i = 0; i + 2 < knots; ++i) {
    for (std::size_t a = 0; a < c; ++a) {
      bend[a] = Q[i * c + a] - 2 * Q[(i + 1) * c + a] + Q[(i + 2) * c + a];
    }
    for (std::size_t a = 0; a < c; ++a) {
      for (std::size_t b = 0; b < c; ++b) out[a * c + b] += bend[a] * bend[b];
    }
  }
  return out;
}

// L of A = L L^T in place of A [c x c]: A - 1 is positive semidefinite, so no pivot is below 1.
void factor(std::vector<double>& A, std::size_t c) {
  for (std::size_t j = 0; j < c; ++j) {
    for (std::size_t i = j; i < c; ++i) {
      double sum = A[i * c + j];
      for (std::size_t k = 0; k < j; ++k) sum -= A[i * c + k] * A[j * c + k];
      A[i * c + j] = i == j ? std::sqrt(sum) : sum / A[j * c + j];
    }
  }
}

SmoothContrasts made_contrasts(std::size_t knots, bool missing) {
  SmoothContrasts out;
  const std::size_t m = out.features = knots + (missing ? 1 : 0), c = m - 1;
  for (std::size_t j = 0; j < m; ++j) {
    for (std::size_t contrast = 0; contrast < c; ++contrast) {
      out.plain.push_back(helmert(j, contrast));
    }
  }
  std::vector<double> L = roughness(knots, c, out.plain);
  factor(L, c);
  // Row b of B = Q L^-T solves L b = q.
  out.basis = out.plain;
  out.longest = 0;
  for (std::size_t j = 0; j < m; ++j) {
    double* const b = out.basis.data() + j * c;
    double square = 0;
    for (std::size_t i = 0; i < c; ++i) {
      for (std::size_t k = 0; k < i; ++k) b[i] -= L[i * c + k] * b[k];
      b[i] /= L[i * c + i];
      square += b[i] * b[i];
    }
    out.longest = std::max(out.longest, square);
  }
  return out;
}

}  // namespace

std::vector<double> placed_knots(double lo, double hi, std::size_t count, KnotScale scale) {
  if (count < 2 || !(lo < hi)) {
    throw BadInput(
        fmt::format("knots: {} of the range [{}, {}] cannot be placed; give at least 2 "
                    "and the lower end first",
                    count, lo, hi));
  }
  if (scale == KnotScale::series) return series_knots(lo, hi);
  const bool by_ratio =
      scale == KnotScale::log || (scale == KnotScale::automatic && counts_by_ratio(lo, hi));
  const double s = (hi - lo) / scales_in_range;
  std::vector<double> exact;
  for (std::size_t k = 0; k < count; ++k) {
    const double part = static_cast<double>(k) / static_cast<double>(count - 1);
    exact.push_back(by_ratio ? lo + s * std::expm1(part * std::log1p((hi - lo) / s))
                             : lo + (hi - lo) * part);
  }
  std::vector<double> out = exact;
  for (std::size_t k = 1; k + 1 < count; ++k) {
    out[k] = readable(exact[k], std::min(exact[k] - exact[k - 1], exact[k + 1] - exact[k]));
  }
  out.front() = lo, out.back() = hi;
  return out;
}

bool is_wide_line(const Column& column) {
  return column.type == ColumnType::number && !column.is_curve() && !column.automatic_curve &&
         !column.is_date() && counts_by_ratio(column.lo, column.hi);
}

std::vector<double> placed_knots(const Column& number, std::size_t count) {
  if (!number.is_date()) return placed_knots(number.lo, number.hi, count, number.scale);
  std::vector<double> out = placed_knots(number.lo, number.hi, count, KnotScale::even);
  for (std::size_t k = 1; k + 1 < out.size(); ++k) out[k] = std::nearbyint(out[k]);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<double> series_knots(double lo, double hi) {
  const double least = (hi - lo) / scales_in_range;
  std::vector<double> out{lo};
  const auto add = [&](double value) {
    if (value - lo >= least && hi - value >= least) out.push_back(value);
  };
  const double most = std::max(std::fabs(lo), std::fabs(hi));
  const auto first = static_cast<int>(std::floor(std::log10(least))),
             last = static_cast<int>(std::ceil(std::log10(most)));
  for (const double sign : {-1.0, 1.0}) {
    for (int e = first; e <= last; ++e) {
      for (const int digit : {1, 2, 5}) {
        // As it is typed: 5e-1 is the double next to 0.5.
        const double value = sign * number_of_text(fmt::format("{}e{}", digit, e));
        if (std::fabs(value) >= least) add(value);
      }
    }
  }
  add(0);
  out.push_back(hi);
  std::ranges::sort(out);
  return out;
}

Hats::Hats(const Column& curve) : Hats(std::span<const double>(curve.knots)) {}

Hats::Hats(std::span<const double> knots) {
  const double lo = knots.front(), hi = knots.back();
  for (const double knot : knots) knots_.push_back((knot - lo) / (hi - lo));
}

Hat Hats::at(float x) const {
  const double v = x;
  const std::span inner = std::span(knots_).subspan(1, knots_.size() - 2);
  std::size_t i = 0;  // inner knots up to v
  if (inner.size() <= 16) {
    for (const double knot : inner) i += knot <= v ? 1U : 0U;  // no jumps that depend on v
  } else {
    i = static_cast<std::size_t>(std::ranges::upper_bound(inner, v) - inner.begin());
  }
  const double part = std::clamp((v - knots_[i]) / (knots_[i + 1] - knots_[i]), 0.0, 1.0);
  constexpr double units = 0x1p24;
  const double next = std::nearbyint(part * units);
  return {i, static_cast<float>((units - next) / units), static_cast<float>(next / units)};
}

const SmoothContrasts& smooth_contrasts(std::size_t knots, bool missing) {
  static std::mutex mutex;
  static std::map<std::pair<std::size_t, bool>, SmoothContrasts> known;
  const std::scoped_lock lock(mutex);
  const auto [place, is_new] = known.try_emplace({knots, missing});
  if (is_new) place->second = made_contrasts(knots, missing);
  return place->second;
}

double typical_square(const Schema& schema, const Column& curve) {
  return 2.0 / 3 * smooth_contrasts(curve.knots.size(), schema.has_missing_level(curve)).longest;
}

std::size_t automatic_knots(double signal, double coordinates, std::size_t curves) {
  constexpr double signal_of_coordinate = 5, least = 4;
  const double knots =
      std::floor(2 + (signal / signal_of_coordinate - coordinates) / static_cast<double>(curves));
  if (!(knots >= least)) return 2;
  return static_cast<std::size_t>(std::min(knots, double{most_automatic_knots}));
}

namespace {
// Whether a curve bends between them, and rows can tell them apart (Schema::validate).
bool make_a_curve(const std::vector<double>& knots) {
  const double lo = knots.front(), width = knots.back() - lo;
  for (std::size_t k = 1; k < knots.size(); ++k) {
    if (!(static_cast<float>((knots[k] - lo) / width) >
          static_cast<float>((knots[k - 1] - lo) / width)))
      return false;
  }
  return knots.size() >= 3;
}
}  // namespace

Schema with_knots(const Schema& schema, std::size_t knots) {
  Schema out = schema;
  for (Column& column : out.columns) {
    if (!column.automatic_curve) continue;
    column.automatic_curve = false;
    if (knots >= 3) column.knots = placed_knots(column, knots);
    if (knots >= 3 && !make_a_curve(column.knots)) column.knots.clear();
    if (column.is_curve()) column.typical.reset();  // of straight lines
    column.scale = KnotScale::automatic;
  }
  for (std::size_t j = 0; j < out.columns.size(); ++j) {
    // Missing cells keep the level that they have as a curve.
    if (schema.columns[j].automatic_curve && !out.columns[j].is_curve() &&
        schema.has_missing_level(schema.columns[j]))
      out.columns[j].missing_level = true;
  }
  return out;
}

void without_curve(Column& column) {
  column.knots.clear();
  column.automatic_curve = false;
  column.scale = KnotScale::automatic;
}

std::size_t automatic_curves(const Schema& schema) {
  return static_cast<std::size_t>(std::ranges::count_if(schema.columns, &Column::automatic_curve));
}

void require_chosen_curves(const Schema& schema) {
  const auto found = std::ranges::find_if(schema.columns, &Column::automatic_curve);
  if (found == schema.columns.end()) return;
  throw BadInput(format_message(
      "column {}: curve = \"auto\" is chosen from the budget and the number of rows, which are "
      "not known here; give a number of knots, such as curve = 8",
      quoted(found->name)));
}

}  // namespace gibbsite
