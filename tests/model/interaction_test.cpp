// Products of interactions against exact whole numbers, and their contrasts against what defines
// them.
#include "gibbsite/model/interaction.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/model/contrasts.hpp"

namespace gibbsite {
namespace interaction_test {

constexpr std::uint32_t whole = 1U << 24;

struct Product {
  std::size_t feature;
  std::uint64_t parts;
};

std::vector<Product> products(const std::vector<InteractionPlace>& places,
                              const std::vector<std::size_t>& sizes) {
  std::vector<Product> out;
  interaction_products(places, sizes, [&](std::size_t feature, float value) {
    const float parts = value * 0x1p24F;
    ASSERT_EQ(parts, std::floor(parts));
    ASSERT_GT(parts, 0);
    out.push_back({feature, static_cast<std::uint64_t>(parts)});
  });
  return out;
}

// Everything that a row's norm rests on, in whole numbers (planted: rounding each product by
// itself, whose sums go above 1).
TEST(InteractionProducts, AddUpToOneExactlyAndAreNearTheTrueOnes) {
  std::mt19937 random(1);
  const std::vector<std::uint32_t> ends = {
      0,         1,     2,    whole / 2 - 1, whole / 2, whole / 2 + 1,
      whole - 1, whole, 4096, whole - 4096,  5592405};
  for (int repeat = 0; repeat < 20'000; ++repeat) {
    const std::size_t columns = 2 + random() % 2;
    std::vector<InteractionPlace> places;
    std::vector<std::size_t> sizes;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t size = 2 + random() % 4;
      const std::uint32_t next = random() % 2 == 0 ? ends[random() % ends.size()]
                                                   : static_cast<std::uint32_t>(random() % whole);
      places.push_back({random() % (size - 1), next});
      sizes.push_back(size);
    }
    std::uint64_t sum = 0, squares = 0;
    std::vector<bool> seen;
    std::size_t last = 0;
    const auto found = products(places, sizes);
    if (HasFatalFailure()) return;
    for (const Product& product : found) {
      ASSERT_TRUE(seen.empty() || product.feature > last);
      last = product.feature;
      seen.push_back(true);
      sum += product.parts;
      squares += product.parts * product.parts;
      long double exact = whole;
      std::size_t rest = product.feature;
      for (std::size_t c = columns; c-- > 0;) {
        const std::size_t at = rest % sizes[c];
        rest /= sizes[c];
        ASSERT_TRUE(at == places[c].first || at == places[c].first + 1);
        const std::uint32_t part = at == places[c].first ? whole - places[c].next : places[c].next;
        exact *= static_cast<long double>(part) / whole;
      }
      ASSERT_LT(std::fabs(static_cast<double>(exact - static_cast<long double>(product.parts))), 3);
    }
    ASSERT_EQ(sum, whole);
    ASSERT_LE(squares, std::uint64_t{whole} * whole);
  }
}

TEST(InteractionProducts, OfLevelsAreTheOneCell) {
  const auto found = products({{2, 0}, {1, 0}, {0, 0}}, {3, 2, 5});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].feature, (2 * 2 + 1) * 5);
  EXPECT_EQ(found[0].parts, whole);
}

TEST(InteractionKnots, AreEndsOfLinesAndFourOfTheKnotsOfCurves) {
  Column x{.name = "x", .type = ColumnType::number, .lo = 0, .hi = 12};
  using Knots = std::vector<double>;
  EXPECT_EQ(interaction_knots(x), (Knots{0, 12}));
  EXPECT_EQ(interaction_knots(x, 3), (Knots{0, 6, 12}));
  x.knots = {0, 1, 2, 3, 4, 5, 12};
  EXPECT_EQ(interaction_knots(x), (Knots{0, 2, 4, 12}));
  EXPECT_EQ(interaction_knots(x, 3), (Knots{0, 3, 12}));
  EXPECT_EQ(interaction_knots(x, 2), (Knots{0, 12}));
  EXPECT_EQ(interaction_knots(x, 9), placed_knots(0, 12, 9, KnotScale::automatic));
  x.knots = {0, 5, 12};
  EXPECT_EQ(interaction_knots(x), x.knots);
  x.knots.clear();
  x.automatic_curve = true;
  x.scale = KnotScale::log;
  EXPECT_EQ(interaction_knots(x), placed_knots(0, 12, 4, KnotScale::log));
}

Schema schema_of(std::vector<Interaction> interactions) {
  Schema out;
  out.label_name = "y";
  out.label = TwoClasses{.positive = "1"};
  out.intercept = true;
  Column age{.name = "age", .type = ColumnType::number, .lo = 0, .hi = 40};
  age.knots = {0, 5, 10, 20, 40};
  Column w{.name = "w", .type = ColumnType::number, .lo = 0, .hi = 1};
  w.has_missing = w.missing_level.emplace(true);
  Column sex{.name = "sex", .type = ColumnType::category, .levels = {"F", "M"}};
  Column town{.name = "town", .type = ColumnType::category, .levels = {"a", "b"}, .other = true};
  out.columns = {age, w, sex, town};
  out.interactions = std::move(interactions);
  out.row_norm = out.max_unclipped_norm();
  out.validate("s");
  return out;
}

const Interaction::Part age{"age", {0, 10, 20, 40}}, w{"w", {0, 1}}, sex{"sex"}, town{"town"};

TEST(InteractionSchema, CountsAndNamesItsFeatures) {
  const Schema s = schema_of({{{age, sex}}, {{w, town}}, {{sex, town, w}}});
  EXPECT_EQ(s.features_of(s.interactions[0]), 8U);
  EXPECT_EQ(s.features_of(s.interactions[1]), 9U);
  EXPECT_EQ(s.features_of(s.interactions[2]), 18U);
  const std::vector<std::string> names = s.feature_names();
  ASSERT_EQ(names.size(), s.features());
  EXPECT_EQ(names[12], "age × sex=0 × F");
  EXPECT_EQ(names[15], "age × sex=10 × M");
  EXPECT_EQ(names[20], "w × town=0 × a");
  EXPECT_EQ(names[28], "w × town=(missing) × (other)");
  EXPECT_EQ(names.back(), "(intercept)");
  EXPECT_NEAR(s.max_unclipped_norm(), std::sqrt(7.0), 1e-12);
}

// All products of hats and levels, as exact numbers.
std::vector<double> block(const Schema& s, const Interaction& interaction,
                          const std::vector<std::vector<double>>& cells) {
  std::vector<double> out{1};
  for (std::size_t c = 0; c < cells.size(); ++c) {
    EXPECT_EQ(cells[c].size(), s.features_of(interaction.parts[c]));
    std::vector<double> longer;
    for (const double before : out)
      for (const double v : cells[c]) longer.push_back(before * v);
    out = std::move(longer);
  }
  return out;
}

TEST(InteractionContrasts, HoldNoMainEffectAndShortenRows) {
  const Schema s = schema_of({{{age, sex}}, {{w, town}}, {{sex, town, age}}, {{age, w}}});
  const ContrastBasis found = contrast_basis(s);
  const std::size_t d = found.features, k = found.coordinates;
  // age x sex: 3 x 1; w x town: 2 x 2; sex x town x age: 1 x 2 + 2 x 3 + 1 x 2 x 3, without
  // sex x age, which is there; age x w: 3 x 2. Columns: 4 of age, w and its level, 1, 2; constant.
  EXPECT_EQ(k, 4U + 2 + 1 + 2 + 3 + 4 + (2 + 6 + 6) + 6 + 1);
  ASSERT_EQ(found.plain.size(), d * k);
  std::size_t first = 12;
  for (const Interaction& interaction : s.interactions) {
    const std::size_t m = s.features_of(interaction);
    std::vector<std::size_t> sizes;
    for (const Interaction::Part& part : interaction.parts) sizes.push_back(s.features_of(part));
    for (std::size_t j = first; j < first + m; ++j) EXPECT_EQ(found.levels[j], m);
    for (const std::vector<double>* basis : {&found.basis, &found.plain}) {
      std::vector<std::size_t> own;
      for (std::size_t c = 0; c + 1 < k; ++c) {
        double square = 0;
        for (std::size_t j = 0; j < m; ++j) square += std::pow((*basis)[(first + j) * k + c], 2);
        if (square > 1e-12) own.push_back(c);
        if (basis == &found.plain && square > 1e-12) {
          EXPECT_NEAR(square, 1, 1e-12);
        }
      }
      for (const std::size_t c : own) {
        // Sums over all columns but one are 0: no main effect.
        for (std::size_t column = 0; column < sizes.size(); ++column) {
          std::vector<double> sums(sizes[column], 0.0);
          for (std::size_t j = 0; j < m; ++j) {
            std::size_t rest = j;
            for (std::size_t b = sizes.size() - 1; b > column; --b) rest /= sizes[b];
            sums[rest % sizes[column]] += (*basis)[(first + j) * k + c];
          }
          for (const double sum : sums) EXPECT_NEAR(sum, 0, 1e-12);
        }
        for (const std::size_t b : own) {
          double dot = 0;
          for (std::size_t j = 0; j < m; ++j)
            dot += found.plain[(first + j) * k + c] * found.plain[(first + j) * k + b];
          EXPECT_NEAR(dot, b == c ? 1 : 0, 1e-12);
        }
      }
    }
    first += m;
  }
  // ||B|| <= 1, by power iteration on B B^T.
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  std::vector<double> v(d);
  for (double& x : v) x = normal(random);
  double size = 0;
  for (int step = 0; step < 400; ++step) {
    std::vector<double> u(k, 0.0);
    for (std::size_t j = 0; j < d; ++j)
      for (std::size_t c = 0; c < k; ++c) u[c] += found.basis[j * k + c] * v[j];
    size = 0;
    for (std::size_t j = 0; j < d; ++j) {
      v[j] = 0;
      for (std::size_t c = 0; c < k; ++c) v[j] += found.basis[j * k + c] * u[c];
      size += v[j] * v[j];
    }
    size = std::sqrt(size);
    for (double& x : v) x /= size;
  }
  EXPECT_LE(size, 1 + 1e-12);
}

// The means of products in the span of the contrasts, and those that main effects say, are all.
TEST(InteractionContrasts, AndMainPartsAreTheWholeMean) {
  const Schema s = schema_of({{{age, sex}}, {{w, town}}});
  const ContrastBasis found = contrast_basis(s);
  const std::size_t d = found.features, k = found.coordinates;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> mean(d, 0.0);
  constexpr int rows = 50;
  for (int i = 0; i < rows; ++i) {
    std::vector<double> row;
    const auto one_of = [&](std::size_t n, std::size_t at) {
      std::vector<double> out(n, 0.0);
      out[at] = 1;
      return out;
    };
    const auto append = [&](const std::vector<double>& more) {
      row.insert(row.end(), more.begin(), more.end());
    };
    const auto hats = [](const std::vector<double>& knots, double scaled) {
      const Hat hat = Hats(std::span(knots)).at(static_cast<float>(scaled));
      std::vector<double> out(knots.size(), 0.0);
      out[hat.first] = static_cast<double>(hat.value);
      out[hat.first + 1] = static_cast<double>(hat.next);
      return out;
    };
    const double at = uniform(random), weight = uniform(random);
    const bool missing = random() % 4 == 0;
    const auto of_sex = one_of(2, random() % 2), of_town = one_of(3, random() % 3);
    append(hats(s.columns[0].knots, at));
    append({missing ? 0 : weight, missing ? 1.0 : 0.0});
    append(of_sex);
    append(of_town);
    append(block(s, s.interactions[0], {hats(age.knots, at), of_sex}));
    append(
        block(s, s.interactions[1],
              {missing ? std::vector<double>{0, 0, 1} : std::vector<double>{1 - weight, weight, 0},
               of_town}));
    append({1});
    for (std::size_t j = 0; j < d; ++j) mean[j] += row[j] / rows;
  }
  // What contrasts keep of it: P P^T mean, and the constant's part.
  std::vector<double> kept(d, 0.0), coordinates(k, 0.0);
  for (std::size_t j = 0; j < d; ++j)
    for (std::size_t c = 0; c < k; ++c) coordinates[c] += found.plain[j * k + c] * mean[j];
  for (std::size_t j = 0; j < d; ++j)
    for (std::size_t c = 0; c < k; ++c) kept[j] += found.plain[j * k + c] * coordinates[c];
  double away = 0;
  for (std::size_t j = 12; j + 1 < d; ++j) away += std::fabs(kept[j] - mean[j]);
  EXPECT_GT(away, 0.1);
  add_main_parts(s, kept);
  // Hats of age at 4 of its 5 knots follow from those of the 5.
  for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(kept[j], mean[j], 1e-6) << s.feature_names()[j];
}

TEST(InteractionProducts, ArePutIntoARowWithTheCellsOfTheirColumns) {
  const Schema s = schema_of({{{age, sex}}, {{town, w}}});
  std::vector<double> row(s.features(), 7.0);
  put_product(s, 12 + 2 * 2 + 1, row);  // age = 20, M
  const std::vector<double> expected = {0, 0, 0, 1, 0, 7, 7, 0, 1, 7, 7, 7, 0, 0, 0,
                                        0, 0, 1, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
  EXPECT_EQ(row, expected);
  row.assign(s.features(), 7.0);
  put_product(s, 20 + 3 * 1 + 1, row);  // b, w = 1
  EXPECT_EQ(std::vector<double>(row.begin() + 5, row.begin() + 12),
            (std::vector<double>{1, 0, 7, 7, 0, 1, 0}));
  put_product(s, 20 + 3 * 2 + 2, row);  // (other), w missing
  EXPECT_EQ(std::vector<double>(row.begin() + 5, row.begin() + 12),
            (std::vector<double>{0, 1, 7, 7, 0, 0, 1}));
}

}  // namespace interaction_test
}  // namespace gibbsite
