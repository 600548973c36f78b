#include "gibbsite/model/evaluation_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "gibbsite/core/error.hpp"

// The intervals of docs/theory/evaluation.md, "Figures".
// - First row. x̂ weighs two estimates of one number by the inverse variances. Without noise this
//   is Wilson's interval.
// - Second row (Fieller 1954). Given the rows of x + y, (1−f)x − fy has expectation 0 at the true
//   f and that variance; m is the noisy total and one deviation √((c_x+c_y)v) more.
// - Third row. p and m are a bin's counts of the positive and of the other class, P and M their
//   sums, h_b = Σ_a m_a (k(b, a)−A), l_a = Σ_b p_b (k(b, a)−A), k = 1, ½, 0 for b above, at, below
//   a. U − APM has expectation 0 at the population's A, as the noise of different cells is
//   independent; its variance is that of the linear parts (DeLong, DeLong and Clarke-Pearson
//   1988).
// - AUC where n is public. All counts are first moved alike to sum to n. The noise's part of the
//   variance becomes v(Σh² + Σl² − (Σh+Σl)²/2B). What is left of two counts' noise has the
//   covariance −v/2B, so Bv/4 is added to U and Bv/2 to PM.
//
// All three are quadratic in f. Under add-remove nothing is divided by n. People with k_i ≤ k rows
// each, all alike, give sums the variance of Σ k_i² ≤ kn rows, so intervals take k times the
// variance of independent rows.
namespace gibbsite {
namespace {

constexpr double z = 1.959963984540054;  // of 95 %
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// c + b f + a f^2 <= 0.
struct Quadratic {
  double a = 0, b = 0, c = 0;
};

// The least and the largest f in [0, 1] where it is; `inside` is one of them.
std::array<double, 2> hull(const Quadratic& q, double inside) {
  const auto at = [&](double f) { return q.c + f * (q.b + f * q.a); };
  double low = at(0) <= 0 ? 0 : inside, high = at(1) <= 0 ? 1 : inside;
  const double root = std::sqrt(std::max(0.0, q.b * q.b - 4 * q.a * q.c));
  // Without cancellation; a double root or none comes to `inside` or beyond [0, 1].
  const double sum = -0.5 * (q.b + std::copysign(root, q.b));
  for (const double f : {sum / q.a, q.c / sum}) {
    if (!(f >= 0 && f <= 1)) continue;
    low = std::min(low, f);
    high = std::max(high, f);
  }
  return {low, high};
}

NoisyShare share_in(const Quadratic& q, double value) {
  const auto [low, high] = hull(q, value);
  return {value, low, high};
}

// Sums of cells with noise.
struct Sum {
  double value = 0, cells = 0;
  void add(double count) {
    value += count;
    cells += 1;
  }
};
Sum operator+(const Sum& a, const Sum& b) { return {a.value + b.value, a.cells + b.cells}; }

// f = x/(x + y) of rows: (1 - f) x - f y has expectation 0, variance v ((1 - f)^2 c_x + f^2 c_y) of
// noise and k m f (1 - f) of sampling, k rows a person (alike at worst). m is not known; one
// deviation more than was counted.
NoisyShare ratio(const Sum& x, const Sum& y, double variance, double k) {
  const double a = std::max(0.0, x.value), t = a + std::max(0.0, y.value);
  if (!(t > 0)) return {unknown, 0, 1};
  const double cells = x.cells + y.cells, m = k * (t + std::sqrt(cells * variance));
  const double zz = z * z, v = zz * variance;
  return share_in({.a = t * t - v * cells + zz * m,
                   .b = -2 * a * t + 2 * v * x.cells - zz * m,
                   .c = a * a - v * x.cells},
                  a / t);
}

// A share if x + y = n is known: the weighted mean of x and n - y.
NoisyShare share_of(const Sum& x, const Sum& y, double variance, double n, double k) {
  const double mean = (y.cells * x.value + x.cells * (n - y.value)) / (x.cells + y.cells);
  const double a = std::clamp(mean, 0.0, n), zz = z * z;
  const double v = zz * variance * x.cells * y.cells / (x.cells + y.cells);
  const double sampled = zz * k * n;
  return share_in({.a = n * n + sampled, .b = -2 * a * n - sampled, .c = a * a - v}, a / n);
}

// U - A P M, U = sum of p_b m_a k(b, a) with k = 1 for b above a, 1/2 for equal bins, has
// expectation 0 at the population's A; its variance is that of its linear parts h_b = sum_a m_a
// (k - A) and l_a = sum_b p_b (k - A), each count's own variance, `rows` rows a person going
// together, and the noise's. Where n is known
// all counts are moved alike to sum to it: the noise's share along (1, ..., 1) is gone, and what is
// left of any two counts has the covariance -variance/cells.
NoisyShare area(std::vector<double> p, std::vector<double> m, double variance,
                std::optional<std::uint64_t> n, double rows) {
  double P = 0, M = 0;
  for (const double count : p) P += count;
  for (const double count : m) M += count;
  const double bins = static_cast<double>(p.size());
  if (n) {
    const double shift = (static_cast<double>(*n) - P - M) / (2 * bins);
    for (double& count : p) count += shift;
    for (double& count : m) count += shift;
    P += bins * shift, M += bins * shift;
  }
  if (!(P > 0 && M > 0)) return {unknown, 0, 1};
  double U = 0, below = 0, above = P;
  double vaa = 0, vab = 0, vbb = 0;  // V(A) = vaa A^2 - 2 vab A + vbb
  double sum_a = 0, sum_b = 0;       // of all h and l: sum_b - A sum_a
  for (std::size_t b = 0; b < p.size(); ++b) {
    above -= p[b];
    const double h = below + 0.5 * m[b], l = above + 0.5 * p[b];
    below += m[b];
    U += p[b] * h;
    const double w = rows * std::max(0.0, p[b]) + variance;
    const double u = rows * std::max(0.0, m[b]) + variance;
    vaa += w * M * M + u * P * P;
    vab += w * h * M + u * l * P;
    vbb += w * h * h + u * l * l;
    sum_a += M + P;
    sum_b += h + l;
  }
  double PM = P * M;
  if (n) {
    const double each = variance / (2 * bins);
    vaa -= each * sum_a * sum_a, vab -= each * sum_a * sum_b, vbb -= each * sum_b * sum_b;
    U += 0.5 * bins * bins * each;  // its expectation's part of that covariance
    PM += bins * bins * each;
  }
  const double zz = z * z;
  U = std::clamp(U, 0.0, PM);
  return share_in({.a = PM * PM - zz * vaa, .b = -2 * U * PM + 2 * zz * vab, .c = U * U - zz * vbb},
                  U / PM);
}

// Files and screens would show a threshold nearer to an end than this as the end itself.
bool legal_threshold(double threshold) {
  constexpr double least = 1e-6;
  return threshold == 0 || threshold == 1 || (threshold >= least && threshold <= 1 - least);
}

std::uint64_t even(double value) { return 2 * static_cast<std::uint64_t>(value / 2); }

}  // namespace

std::uint32_t EvaluationBins::cell(double probability, bool found) const {
  const auto bin = std::ranges::upper_bound(edges, probability) - edges.begin();
  return static_cast<std::uint32_t>(2 * bin + (found ? 1 : 0));
}

std::size_t EvaluationBins::first_positive() const {
  return static_cast<std::size_t>(std::ranges::upper_bound(edges, threshold) - edges.begin());
}

std::array<double, 2> EvaluationBins::ends(std::size_t bin) const {
  return {bin == 0 ? 0 : edges[bin - 1], bin == edges.size() ? 1 : edges[bin]};
}

void EvaluationBins::validate() const {
  if (bins() < least_evaluation_bins || bins() > most_evaluation_bins) {
    throw BadInput(fmt::format("edges: must be from {} to {}, got {}", least_evaluation_bins - 1,
                               most_evaluation_bins - 1, edges.size()));
  }
  double before = 0;
  for (const double edge : edges) {
    if (!(edge > before && edge <= 1)) {
      throw BadInput("edges: must rise, above 0 and at most 1; use the file as it was written");
    }
    before = edge;
  }
  if (!legal_threshold(threshold) ||
      (threshold > 0 && !std::ranges::binary_search(edges, threshold))) {
    throw BadInput(
        "threshold: must be 0, or 1 or from 1e-6 to 1 - 1e-6 and one of edges; use the file as "
        "it "
        "was written");
  }
}

EvaluationBins evaluation_bins(std::uint64_t bins, std::size_t classes, double threshold) {
  if (bins < least_evaluation_bins || bins > most_evaluation_bins) {
    throw BadInput(Field{"bins"}, fmt::format("must be from {} to {}, got {}",
                                              least_evaluation_bins, most_evaluation_bins, bins));
  }
  if (!legal_threshold(threshold)) {
    throw BadInput(Field{"threshold"},
                   fmt::format("must be 0, 1 or from 1e-6 to 1 - 1e-6, got {}", threshold));
  }
  const double low = classes > 2 ? 1 / static_cast<double>(classes) : 0;
  EvaluationBins out{.edges = {},
                     .threshold = classes > 2 || threshold == 0 ? 0 : threshold};  // -0 too
  for (std::uint64_t i = 1; i < bins; ++i) {
    const double s =
        std::sin(0.5 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(bins));
    out.edges.push_back(std::round(1e4 * (low + (1 - low) * s * s)) / 1e4);
  }
  if (out.threshold > 0) {
    const auto nearest = std::ranges::min_element(
        out.edges, {}, [&](double edge) { return std::abs(edge - threshold); });
    *nearest = threshold;
  }
  out.validate();
  return out;
}

std::uint64_t default_evaluation_bins(std::uint64_t rows, double deviation) {
  constexpr double two_fifths_of_a_point = 0.004, most = 40;
  constexpr auto least = static_cast<double>(least_evaluation_bins);
  const double counts = two_fifths_of_a_point * static_cast<double>(rows) / (z * deviation);
  return even(std::clamp(2 * counts * counts, least, most));
}

EvaluationFigures figures(const EvaluationModel& model) {
  const std::size_t bins = model.bins.bins();
  // Rounding to the grid, of at most an eighth of the deviation, as uniform noise.
  const double variance = model.noise * model.noise * (1 + 1.0 / 768);
  const auto k = static_cast<double>(model.rows_per_person);
  std::vector<double> p(bins), m(bins);
  for (std::size_t b = 0; b < bins; ++b) {
    m[b] = model.counts[2 * b];
    p[b] = model.counts[2 * b + 1];
  }
  const auto sum = [](std::span<const double> counts) {
    Sum out;
    for (const double count : counts) out.add(count);
    return out;
  };
  const std::span<const double> ps = p, ms = m;
  const auto of_all = [&](const Sum& x, const Sum& y) {
    return model.rows ? share_of(x, y, variance, static_cast<double>(*model.rows), k)
                      : ratio(x, y, variance, k);
  };
  EvaluationFigures out;
  const Sum positives = sum(p), negatives = sum(m);
  out.rows =
      model.rows ? static_cast<double>(*model.rows) : std::max(0.0, (positives + negatives).value);
  out.rows_deviation = model.rows ? 0 : std::sqrt(2 * static_cast<double>(bins) * variance);
  out.bin_rows_deviation = std::sqrt(2 * variance);
  for (std::size_t b = 0; b < bins; ++b) {
    out.bin_rows.push_back(p[b] + m[b]);
    // Nothing is said about a bin whose rows may be noise alone.
    out.found.push_back(out.bin_rows[b] > z * out.bin_rows_deviation
                            ? ratio({p[b], 1}, {m[b], 1}, variance, k)
                            : NoisyShare{unknown, 0, 1});
  }
  if (model.several()) {
    out.accuracy = of_all(positives, negatives);
    return out;
  }
  const std::size_t first = model.bins.first_positive();
  const Sum tp = sum(ps.subspan(first)), fn = sum(ps.first(first));
  const Sum fp = sum(ms.subspan(first)), tn = sum(ms.first(first));
  out.accuracy = of_all(tp + tn, fp + fn);
  out.positives = of_all(positives, negatives);
  out.recall = {ratio(tn, fp, variance, k), ratio(tp, fn, variance, k)};
  out.precision = {ratio(tn, fn, variance, k), ratio(tp, fp, variance, k)};
  out.auc = area(p, m, variance, model.rows, k);
  if (positives.value > 0 && negatives.value > 0) {
    double pairs = 0;
    for (std::size_t b = 0; b < bins; ++b) pairs += std::max(0.0, p[b]) * std::max(0.0, m[b]);
    out.auc_hidden = std::min(0.5, 0.5 * pairs / (positives.value * negatives.value));
  } else {
    out.auc_hidden = 0.5;
  }
  for (std::size_t edge = 0; edge + 1 < bins; ++edge) {
    out.true_positive.push_back(
        ratio(sum(ps.subspan(edge + 1)), sum(ps.first(edge + 1)), variance, k));
    out.false_positive.push_back(
        ratio(sum(ms.subspan(edge + 1)), sum(ms.first(edge + 1)), variance, k));
  }
  return out;
}

}  // namespace gibbsite
