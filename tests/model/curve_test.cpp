// Knots and hats of curves against exact arithmetic, their contrasts against what defines them, and
// how many knots a budget buys.
#include "gibbsite/model/curve.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/contrasts.hpp"

namespace gibbsite {
namespace curve_test {

using Knots = std::vector<double>;

const std::vector<std::pair<double, double>> ranges = {
    {0, 1},      {17, 90},       {0, 1e-90}, {-1e300, 1e300}, {1e9, 1e9 + 1}, {0, 1e5},
    {1e-99, 50}, {-1e-30, 1e30}, {-3, 7e7},  {1, 1'000},      {0.1, 0.3},     {1e15, 1e15 + 1e5}};

Column curve(double lo, double hi, Knots knots) {
  Column out{.name = "x", .type = ColumnType::number, .lo = lo, .hi = hi};
  out.knots = std::move(knots);
  return out;
}

Schema schema_of(std::vector<Column> columns) {
  Schema out;
  out.label_name = "y";
  out.label = TwoClasses{.positive = "1"};
  out.row_norm = 10;
  out.intercept = true;
  out.columns = std::move(columns);
  return out;
}

TEST(Knots, AreLegalOnEveryRangeAndScale) {
  for (const auto& [lo, hi] : ranges) {
    for (const KnotScale scale :
         {KnotScale::automatic, KnotScale::even, KnotScale::log, KnotScale::series}) {
      for (const std::size_t count : {2U, 3U, 8U, 12U, 200U, 1000U}) {
        const Knots found = placed_knots(lo, hi, count, scale);
        SCOPED_TRACE(::testing::Message()
                     << "[" << lo << ", " << hi << "] " << count << " scale " << int(scale));
        if (scale != KnotScale::series) {
          ASSERT_EQ(found.size(), count);
        }
        EXPECT_EQ(found.front(), lo);
        EXPECT_EQ(found.back(), hi);
        for (std::size_t k = 1; k < found.size(); ++k) ASSERT_LT(found[k - 1], found[k]) << k;
        if (found.size() < 3) continue;
        EXPECT_NO_THROW(schema_of({curve(lo, hi, found)}).validate("s"));
      }
    }
  }
}

TEST(Knots, LieAtEqualWidthsOrAtEqualWidthsOfTheLog) {
  for (const auto& [lo, hi] : ranges) {
    const double s = (hi - lo) / 1000;
    for (const std::size_t count : {3U, 6U, 12U}) {
      const Knots even = placed_knots(lo, hi, count, KnotScale::even),
                  log = placed_knots(lo, hi, count, KnotScale::log);
      for (std::size_t k = 0; k < count; ++k) {
        const double part = static_cast<double>(k) / static_cast<double>(count - 1);
        const double width = (hi - lo) / static_cast<double>(count - 1);
        EXPECT_NEAR(even[k], lo + part * (hi - lo), 1e-3 * width) << lo << " " << hi;
        EXPECT_NEAR(std::log1p((log[k] - lo) / s), part * std::log(1001), 1e-3) << lo << " " << hi;
      }
      const bool by_ratio = lo >= 0 && hi - lo >= 1000 && hi >= 50 * lo;
      EXPECT_EQ(placed_knots(lo, hi, count, KnotScale::automatic), by_ratio ? log : even);
    }
  }
  // Each part of the rule matters.
  const auto is_log = [](double lo, double hi) {
    return placed_knots(lo, hi, 5, KnotScale::automatic) == placed_knots(lo, hi, 5, KnotScale::log);
  };
  EXPECT_TRUE(is_log(0, 1000));
  EXPECT_FALSE(is_log(0, 999));
  EXPECT_FALSE(is_log(-1, 1000));
  EXPECT_TRUE(is_log(100, 5000));
  EXPECT_FALSE(is_log(101, 5000));
}

TEST(Knots, AreShortNumbers) {
  EXPECT_EQ(placed_knots(17, 90, 8, KnotScale::automatic),
            (Knots{17, 27.43, 37.86, 48.29, 58.71, 69.14, 79.57, 90}));
  EXPECT_EQ(placed_knots(0, 1, 11, KnotScale::even),
            (Knots{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}));
  EXPECT_EQ(placed_knots(0, 1e6, 5, KnotScale::even), (Knots{0, 250'000, 500'000, 750'000, 1e6}));
  for (const auto& [lo, hi] : ranges) {
    if (lo > 1e6) continue;  // as long as their digits before the point
    for (const KnotScale scale : {KnotScale::even, KnotScale::log}) {
      const Knots found = placed_knots(lo, hi, 12, scale);
      for (std::size_t k = 1; k + 1 < found.size(); ++k)
        EXPECT_LE(number_text(found[k]).size(), 14U) << number_text(found[k]);
    }
  }
}

TEST(Knots, OfASeriesAreOneTwoFiveBetweenTheEnds) {
  EXPECT_EQ(series_knots(0, 10), (Knots{0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10}));
  EXPECT_EQ(series_knots(3, 70), (Knots{3, 5, 10, 20, 50, 70}));
  EXPECT_EQ(series_knots(-2, 2), (Knots{-2, -1, -0.5, -0.2, -0.1, -0.05, -0.02, -0.01, -0.005, 0,
                                        0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2}));
  EXPECT_EQ(series_knots(11, 12), (Knots{11, 12}));
  for (const auto& [lo, hi] : ranges) {
    for (const double knot : series_knots(lo, hi)) {
      if (knot == lo || knot == hi || knot == 0) continue;
      EXPECT_GE(std::min({knot - lo, hi - knot, std::fabs(knot)}), (hi - lo) / 1000);
      const std::string text = number_text(std::fabs(knot));
      const std::size_t digit = text.find_first_of("123456789");
      ASSERT_NE(digit, std::string::npos);
      EXPECT_NE(std::string("125").find(text[digit]), std::string::npos) << text;
      EXPECT_EQ(text.substr(0, text.find('e')).find_first_of("123456789", digit + 1),
                std::string::npos)
          << text;
    }
  }
}

TEST(Knots, ThatCannotBePlacedAreRefused) {
  EXPECT_THROW((void)placed_knots(0, 1, 1, KnotScale::even), BadInput);
  EXPECT_THROW((void)placed_knots(1, 1, 3, KnotScale::even), BadInput);
  EXPECT_THROW((void)placed_knots(std::nan(""), 1, 3, KnotScale::even), BadInput);
}

// All hats of a curve at x, as numbers with an error below 1e-15.
std::vector<long double> exact_hats(const std::vector<double>& scaled, float x) {
  std::vector<long double> out(scaled.size(), 0);
  const long double v = x;
  for (std::size_t k = 0; k < scaled.size(); ++k) {
    const long double at = scaled[k];
    if (k > 0 && v > scaled[k - 1] && v <= at) out[k] = (v - scaled[k - 1]) / (at - scaled[k - 1]);
    if (k + 1 < scaled.size() && v >= at && v < scaled[k + 1])
      out[k] = (scaled[k + 1] - v) / (scaled[k + 1] - at);
  }
  if (v >= scaled.back()) out.back() = 1;
  return out;
}

// Everything that the row's norm rests on, in integers.
void check_hat(const Hats& hats, const std::vector<double>& scaled, float x) {
  const Hat hat = hats.at(x);
  ASSERT_LT(hat.first + 1, scaled.size()) << x;
  const float units = 0x1p24F;
  const float value = hat.value * units, next = hat.next * units;
  ASSERT_TRUE(value >= 0 && next >= 0 && value == std::floor(value) && next == std::floor(next))
      << x;
  const auto a = static_cast<std::uint64_t>(value), b = static_cast<std::uint64_t>(next);
  ASSERT_EQ(a + b, std::uint64_t{1} << 24) << x;
  ASSERT_LE(a * a + b * b, std::uint64_t{1} << 48) << x;
  const std::vector<long double> exact = exact_hats(scaled, x);
  for (std::size_t k = 0; k < scaled.size(); ++k) {
    const long double found = k == hat.first ? hat.value : k == hat.first + 1 ? hat.next : 0.0F;
    ASSERT_NEAR(static_cast<double>(found - exact[k]), 0, 0x1.01p-25) << "hat " << k << " at " << x;
  }
}

TEST(Hats, AddUpToOneExactlyAtEveryFloatNearEveryKnot) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float last = std::nextafter(1.0F, 0.0F);
  const std::vector<Column> curves = {
      curve(0, 1, {0, 0.5, 1}),
      curve(17, 90, placed_knots(17, 90, 8, KnotScale::even)),
      curve(0, 1e5, placed_knots(0, 1e5, 12, KnotScale::log)),
      curve(-1e300, 1e300, placed_knots(-1e300, 1e300, 12, KnotScale::even)),
      curve(0, 1e-90, placed_knots(0, 1e-90, 7, KnotScale::log)),
      curve(1e9, 1e9 + 1, placed_knots(1e9, 1e9 + 1, 5, KnotScale::even)),
      curve(0, 1, {0, 1e-44, 1e-40, 0x1p-126, 1e-3, double{last}, 1}),  // denormal, nearest to 1
      curve(0, 1, {0, 0.3, std::nextafter(0.3F, 1.0F), 1}),
      curve(0, 50, series_knots(0, 50)),
  };
  for (const Column& column : curves) {
    schema_of({column}).validate("s");
    const Hats hats(column);
    ASSERT_EQ(hats.size(), column.knots.size());
    std::vector<double> scaled;
    for (const double knot : column.knots)
      scaled.push_back((knot - column.lo) / (column.hi - column.lo));
    for (const double knot : scaled) {
      auto below = static_cast<float>(knot), above = below;
      for (int step = 0; step < 300; ++step) {
        check_hat(hats, scaled, below);
        check_hat(hats, scaled, above);
        below = std::max(std::nextafter(below, -infinity), 0.0F);
        above = std::min(std::nextafter(above, infinity), 1.0F);
        if (HasFatalFailure()) return;
      }
    }
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(0, 1);
    for (int i = 0; i < 3000; ++i) check_hat(hats, scaled, uniform(random));
    for (const float x : {0.0F, -0.0F, 0x1p-149F, 0x1p-126F, 0x1p-24F, last, 1.0F})
      check_hat(hats, scaled, x);
    if (HasFatalFailure()) return;
  }
}

TEST(Hats, AreThoseOfTheEndsAtTheEnds) {
  const Hats hats(curve(17, 90, placed_knots(17, 90, 8, KnotScale::even)));
  const Hat low = hats.at(0), high = hats.at(1);
  EXPECT_EQ(low.first, 0U);
  EXPECT_EQ(low.value, 1);
  EXPECT_EQ(low.next, 0);
  EXPECT_EQ(high.first, 6U);
  EXPECT_EQ(high.value, 0);
  EXPECT_EQ(high.next, 1);
}

TEST(Hats, OfThousandKnotsAreFound) {
  const Column column = curve(0, 1, placed_knots(0, 1, 1000, KnotScale::even));
  const Hats hats(column);
  for (std::size_t k = 0; k < 1000; ++k) check_hat(hats, column.knots, float(column.knots[k]));
}

// Columns of a matrix [rows x columns] row-major.
double dot(const std::vector<double>& A, std::size_t columns, std::size_t a, std::size_t b) {
  double sum = 0;
  for (std::size_t at = 0; at < A.size(); at += columns) sum += A[at + a] * A[at + b];
  return sum;
}
std::vector<double> transposed_times(const std::vector<double>& A, std::size_t columns,
                                     const std::vector<double>& v) {
  std::vector<double> out(columns, 0.0);
  for (std::size_t j = 0; j < v.size(); ++j)
    for (std::size_t c = 0; c < columns; ++c) out[c] += A[j * columns + c] * v[j];
  return out;
}
std::vector<double> times(const std::vector<double>& A, std::size_t columns,
                          const std::vector<double>& v) {
  std::vector<double> out(A.size() / columns, 0.0);
  for (std::size_t j = 0; j < out.size(); ++j)
    for (std::size_t c = 0; c < columns; ++c) out[j] += A[j * columns + c] * v[c];
  return out;
}
double length(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}
std::vector<double> centered(std::vector<double> v) {
  double mean = 0;
  for (const double x : v) mean += x / static_cast<double>(v.size());
  for (double& x : v) x -= mean;
  return v;
}
// (1 + D^T D) v, D the second differences over the knots.
std::vector<double> roughened(const std::vector<double>& v, std::size_t knots) {
  std::vector<double> out = v;
  for (std::size_t i = 0; i + 2 < knots; ++i) {
    const double bend = v[i] - 2 * v[i + 1] + v[i + 2];
    out[i] += bend;
    out[i + 1] -= 2 * bend;
    out[i + 2] += bend;
  }
  return out;
}

TEST(SmoothContrasts, ShrinkWhatIsRoughAndNothingElse) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  for (const std::size_t knots : {3U, 12U, 200U}) {
    for (const bool missing : {false, true}) {
      SCOPED_TRACE(::testing::Message() << knots << " knots, missing " << missing);
      const SmoothContrasts& found = smooth_contrasts(knots, missing);
      const std::size_t m = knots + (missing ? 1 : 0), c = m - 1;
      ASSERT_EQ(found.features, m);
      ASSERT_EQ(found.basis.size(), m * c);
      ASSERT_EQ(found.plain.size(), m * c);
      double longest = 0;
      for (std::size_t j = 0; j < m; ++j) {
        double square = 0;
        for (std::size_t a = 0; a < c; ++a) square += std::pow(found.basis[j * c + a], 2);
        longest = std::max(longest, square);
      }
      EXPECT_NEAR(found.longest, longest, 1e-12);
      for (const std::vector<double>& basis : {found.basis, found.plain}) {
        for (const double sum : transposed_times(basis, c, std::vector<double>(m, 1.0)))
          EXPECT_NEAR(sum, 0, 1e-12);
      }
      for (std::size_t a = 0; a < c; ++a)
        for (std::size_t b = 0; b <= a; ++b)
          ASSERT_NEAR(dot(found.plain, c, a, b), a == b ? 1 : 0, 1e-12) << a << " " << b;
      // B B^T is the inverse of 1 + D^T D among coefficients that add up to 0.
      for (int repeat = 0; repeat < 5; ++repeat) {
        std::vector<double> v(m);
        for (double& x : v) x = normal(random);
        v = centered(v);
        const std::vector<double> shrunk =
            times(found.basis, c, transposed_times(found.basis, c, v));
        const std::vector<double> back = centered(roughened(shrunk, knots));
        for (std::size_t j = 0; j < m; ++j) EXPECT_NEAR(back[j], v[j], 1e-11);
        EXPECT_LE(length(transposed_times(found.basis, c, v)), length(v) * (1 + 1e-14));
      }
      // The norm of B by power iteration, from a direction that is a line and much else.
      std::vector<double> top(m);
      for (std::size_t j = 0; j < m; ++j) top[j] = static_cast<double>(j) + normal(random);
      for (int step = 0; step < 300; ++step) {
        const double size = length(top);
        for (double& x : top) x /= size;
        top = times(found.basis, c, transposed_times(found.basis, c, top));
      }
      EXPECT_LE(length(top), 1 + 1e-13);
      EXPECT_GE(length(top), 1 - 1e-6);  // a line has norm 1
      std::vector<double> line(m, 0.0);
      for (std::size_t j = 0; j < knots; ++j)
        line[j] = static_cast<double>(j) - static_cast<double>(knots - 1) / 2;
      EXPECT_NEAR(length(transposed_times(found.basis, c, line)) / length(line), 1, 1e-12);
      if (missing) {  // the level against all knots is a line as well
        std::vector<double> level(m, -1.0);
        level.back() = static_cast<double>(knots);
        EXPECT_NEAR(length(transposed_times(found.basis, c, level)) / length(level), 1, 1e-12);
      }
      std::vector<double> zigzag(m, 0.0);
      for (std::size_t j = 0; j < knots; ++j) zigzag[j] = j % 2 == 0 ? 1 : -1;
      zigzag = centered(zigzag);
      EXPECT_LE(length(transposed_times(found.basis, c, zigzag)) / length(zigzag),
                knots == 3 ? 0.45 : 0.35);
    }
  }
}

TEST(SmoothContrasts, SayHowLongARowIs) {
  const Column column = curve(0, 1, placed_knots(0, 1, 12, KnotScale::even));
  const Schema schema = schema_of({column});
  EXPECT_DOUBLE_EQ(typical_square(schema, column), 2.0 / 3 * smooth_contrasts(12, false).longest);
}

// Which of the columns of a basis [d x k] is no combination of those before it; k: none.
std::size_t first_dependent(const std::vector<double>& basis, std::size_t k) {
  const std::size_t d = basis.size() / k;
  std::vector<std::vector<double>> directions;
  for (std::size_t c = 0; c < k; ++c) {
    std::vector<double> v(d);
    for (std::size_t j = 0; j < d; ++j) v[j] = basis[j * k + c];
    const double before = length(v);
    for (int twice = 0; twice < 2; ++twice) {
      for (const std::vector<double>& u : directions) {
        double along = 0;
        for (std::size_t j = 0; j < d; ++j) along += u[j] * v[j];
        for (std::size_t j = 0; j < d; ++j) v[j] -= along * u[j];
      }
    }
    const double left = length(v);
    if (!(left > 1e-9 * before)) return c;
    for (double& x : v) x /= left;
    directions.push_back(std::move(v));
  }
  return k;
}

TEST(ContrastBasis, OfCurvesLevelsAndLinesHasFullRankAndShrinksNothingElse) {
  Column plain = curve(0, 1, placed_knots(0, 1, 12, KnotScale::even));
  Column with_missing = curve(0, 1e5, placed_knots(0, 1e5, 5, KnotScale::log));
  with_missing.name = "w";
  with_missing.has_missing = true;
  with_missing.missing = "?";
  Column dropped = with_missing;
  dropped.name = "d";
  dropped.missing_level = false;
  Column line{.name = "l", .type = ColumnType::number};
  Column line_with_missing = line;
  line_with_missing.name = "lm";
  line_with_missing.has_missing = true;
  line_with_missing.missing_level = true;
  Column town{.name = "t", .type = ColumnType::category, .levels = {"a", "b", "c"}};
  Column open = town;
  open.name = "o";
  open.has_missing = true;
  open.missing = "?";
  Schema schema = schema_of({plain, line, town, with_missing, line_with_missing, open, dropped});
  schema.validate("s");
  const std::size_t d = 12 + 1 + 3 + 6 + 2 + 4 + 5 + 1, contrasted = 5;
  for (const bool clipped : {false, true}) {
    schema.row_norm = clipped ? 1 : 10;
    const ContrastBasis found = contrast_basis(schema);
    ASSERT_EQ(found.features, d);
    ASSERT_EQ(found.coordinates, clipped ? d : d - contrasted);
    EXPECT_EQ(first_dependent(found.basis, found.coordinates), found.coordinates);
    EXPECT_EQ(found.plain.empty(), clipped);
    if (clipped) continue;
    EXPECT_EQ(first_dependent(found.plain, found.coordinates), found.coordinates);
    for (std::size_t a = 0; a < found.coordinates; ++a)
      for (std::size_t b = 0; b <= a; ++b)
        ASSERT_NEAR(dot(found.plain, found.coordinates, a, b), a == b ? 1 : 0, 1e-12);
    for (std::size_t a = 0; a < found.coordinates; ++a)
      EXPECT_LE(dot(found.basis, found.coordinates, a, a), 1 + 1e-12);
    EXPECT_EQ(found.levels[0], 12U);  // hats
    EXPECT_EQ(found.levels[12], 0U);  // the line
    EXPECT_EQ(found.levels[13], 3U);  // the town
    EXPECT_EQ(found.levels[16], 6U);  // hats and "(missing)"
    EXPECT_EQ(found.levels[22], 0U);  // a line and its "(missing)"
    EXPECT_EQ(found.levels[23], 0U);
    EXPECT_EQ(found.levels[24], 4U);
    EXPECT_EQ(found.levels[28], 5U);  // hats whose missing cells are the middle
    // What moves all levels of a column alike moves to the constant.
    std::vector<double> theta(d, 1.0);
    center_levels(found, theta);
    for (std::size_t j = 0; j + 1 < d; ++j)
      EXPECT_NEAR(theta[j], found.levels[j] > 0 ? 0 : 1, 1e-12);
    EXPECT_NEAR(theta.back(), 1 + contrasted, 1e-12);
  }
}

// delta(epsilon) of mu, and its inverse, by bisection.
double mu_of(double epsilon, double delta) {
  const auto below = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
  double low = 1e-7, high = 50;
  for (int step = 0; step < 200; ++step) {
    const double mu = (low + high) / 2;
    const double found =
        below(mu / 2 - epsilon / mu) - std::exp(epsilon) * below(-mu / 2 - epsilon / mu);
    (found > delta ? high : low) = mu;
  }
  return low;
}

TEST(AutomaticKnots, AreThoseThatWereMeasured) {
  // Adult: 32,561 rows, 101 coordinates with lines, 6 numbers (8 categories of 102 levels).
  const double n = 32561;
  const std::vector<std::pair<double, std::size_t>> measured = {
      {0.1, 6}, {0.5, 12}, {1, 12}, {2, 12}};
  for (const auto& [epsilon, knots] : measured)
    EXPECT_EQ(automatic_knots(n * mu_of(epsilon, 1 / (n * n)), 101, 6), knots) << epsilon;
}

TEST(AutomaticKnots, HaveFiveOfTheSignalForEachCoordinate) {
  for (std::size_t curves = 1; curves < 40; curves += 3) {
    for (std::size_t coordinates = curves + 1; coordinates < 200; coordinates += 7) {
      for (std::uint64_t signal = 0; signal < 5000; signal += 5) {
        // The largest K with 5 (d0 + k (K - 2)) <= N, in integers.
        std::size_t knots = 2;
        while (knots < 12 && 5 * (coordinates + curves * (knots - 1)) <= signal) ++knots;
        if (5 * coordinates > signal || knots < 4) knots = 2;
        ASSERT_EQ(
            automatic_knots(static_cast<double>(signal), static_cast<double>(coordinates), curves),
            knots)
            << signal << " " << coordinates << " " << curves;
      }
    }
  }
  EXPECT_EQ(automatic_knots(0, 1, 1), 2U);
  EXPECT_EQ(automatic_knots(std::numeric_limits<double>::infinity(), 1, 1), 12U);
  EXPECT_EQ(automatic_knots(std::nan(""), 1, 1), 2U);
  EXPECT_EQ(automatic_knots(1e300, 1e300, 1), 2U);
}

TEST(AutomaticKnots, ArePutWhereACurveIsAutomatic) {
  Column age{.name = "age", .type = ColumnType::number, .lo = 17, .hi = 90};
  age.automatic_curve = true;
  age.has_missing = true;
  age.missing = "?";
  Column gain{.name = "gain", .type = ColumnType::number, .lo = 0, .hi = 1e5};
  gain.automatic_curve = true;
  gain.scale = KnotScale::even;
  Column line{.name = "line", .type = ColumnType::number};
  Column own = curve(0, 1, {0, 0.5, 1});
  const Schema schema = schema_of({age, gain, line, own});
  schema.validate("s");
  EXPECT_EQ(automatic_curves(schema), 2U);
  EXPECT_THROW(require_chosen_curves(schema), BadInput);
  const Schema curves = with_knots(schema, 5), lines = with_knots(schema, 2);
  for (const Schema& chosen : {curves, lines}) {
    EXPECT_EQ(automatic_curves(chosen), 0U);
    EXPECT_NO_THROW(require_chosen_curves(chosen));
    EXPECT_NO_THROW(chosen.validate("s"));
    EXPECT_EQ(chosen.columns[2], line);
    EXPECT_EQ(chosen.columns[3], own);
    // Missing cells have their level in both.
    EXPECT_TRUE(chosen.has_missing_level(chosen.columns[0]));
    EXPECT_FALSE(chosen.has_missing_level(chosen.columns[1]));
  }
  EXPECT_EQ(curves.columns[0].knots, placed_knots(17, 90, 5, KnotScale::automatic));
  EXPECT_EQ(curves.columns[1].knots, placed_knots(0, 1e5, 5, KnotScale::even));
  EXPECT_EQ(curves.features(), 5U + 1 + 5 + 1 + 3 + 1);
  EXPECT_EQ(lines.features(), 2U + 1 + 1 + 3 + 1);
  EXPECT_EQ(lines.features(), schema.features());  // until it is chosen
  EXPECT_EQ(lines.feature_names(),
            (std::vector<std::string>{"age", "age=(missing)", "gain", "line", "x=0", "x=0.5", "x=1",
                                      "(intercept)"}));
  // A level that is refused is refused with either choice.
  Schema refused = schema;
  refused.columns[0].missing_level = false;
  for (const std::size_t knots : {2U, 5U}) {
    const Schema chosen = with_knots(refused, knots);
    EXPECT_FALSE(chosen.has_missing_level(chosen.columns[0]));
  }
}

// A schema that is legal stays so, whatever is chosen: a file that is written must be read.
TEST(AutomaticKnots, AreALineWhereNoneCanBeToldApart) {
  Column narrow{.name = "narrow", .type = ColumnType::number, .lo = 1e9, .hi = 1e9 + 1e-6};
  narrow.automatic_curve = true;
  narrow.has_missing = true;
  Column stepless{.name = "stepless", .type = ColumnType::number, .lo = 11, .hi = 12};
  stepless.automatic_curve = true;
  stepless.scale = KnotScale::series;
  Column steps = stepless;
  steps.name = "steps";
  steps.hi = 30;
  const Schema schema = schema_of({narrow, stepless, steps});
  schema.validate("s");
  for (const std::size_t knots : {2U, 4U, 12U}) {
    const Schema chosen = with_knots(schema, knots);
    EXPECT_NO_THROW(chosen.validate("s")) << knots;
    EXPECT_TRUE(chosen.has_missing_level(chosen.columns[0]));
    EXPECT_FALSE(chosen.columns[1].is_curve());
    EXPECT_EQ(chosen.columns[2].is_curve(), knots > 2);
  }
  EXPECT_FALSE(with_knots(schema, 12).columns[0].is_curve());
}

TEST(AutomaticKnots, AreNoPartOfAModelWithoutTerms) {
  Column column = curve(0, 1, {0, 0.5, 1});
  without_curve(column);
  EXPECT_FALSE(column.is_curve());
  column.automatic_curve = true;
  column.scale = KnotScale::log;
  without_curve(column);
  EXPECT_EQ(column, (Column{.name = "x", .type = ColumnType::number, .lo = 0, .hi = 1}));
}

// What validate says of these knots on [0, 1]; empty: they are legal.
std::string fault_of(Knots knots) {
  try {
    schema_of({curve(0, 1, std::move(knots))}).validate("s");
    return "";
  } catch (const BadInput& error) {
    return error.what();
  }
}

TEST(Curves, WithIllegalKnotsAreRefused) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const Knots& knots : std::vector<Knots>{{0.5},
                                               {0, 1},
                                               {0, 0, 1},
                                               {0, 1, 1},
                                               {0, 0.6, 0.5, 1},
                                               {1, 0.5, 0},
                                               {0, nan, 1},
                                               {nan, 0.5, 1},
                                               {0, 0.5, nan},
                                               {0, infinity, 1},
                                               {-infinity, 0, 1},
                                               {0, 0.5, 2},
                                               {0.1, 0.5, 1},
                                               {0, 1e-60, 1},
                                               {0, 0.5, 0.5 + 1e-12, 1},
                                               {0, 1 - 1e-12, 1},
                                               Knots(1001, 0.0)}) {
    EXPECT_NE(fault_of(knots).find("'x'"), std::string::npos) << knots.size();
    EXPECT_NE(fault_of(knots).find("knots"), std::string::npos) << knots.size();
  }
  EXPECT_EQ(fault_of({0, 0.5, 1}), "");
  EXPECT_EQ(fault_of(placed_knots(0, 1, 1000, KnotScale::even)), "");
  Column automatic = curve(0, 1, {0, 0.5, 1});
  automatic.automatic_curve = true;
  EXPECT_THROW(schema_of({automatic}).validate("s"), BadInput);
  for (const ColumnType type : {ColumnType::category, ColumnType::exposure, ColumnType::ignore}) {
    Column other = curve(0, 1, {0, 0.5, 1});
    other.type = type;
    other.levels = {"a"};
    EXPECT_THROW(schema_of({other, curve(0, 1, {})}).validate("s"), BadInput);
  }
}

}  // namespace curve_test
}  // namespace gibbsite
