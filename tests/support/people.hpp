#pragma once
// Small labeled tables: ordinary ones, and such as nobody would fit.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/data/dataset.hpp"

namespace gibbsite::support {

/// Numbers in [0, 1] and, the last feature, 1.
inline Dataset people(std::size_t n, std::size_t numbers, std::uint64_t seed) {
  Dataset data;
  data.schema.label_name = std::string("y");
  data.schema.label = TwoClasses{.positive = std::string("1")};
  data.schema.row_norm = 2 * std::sqrt(static_cast<double>(numbers));
  data.schema.intercept = true;
  for (std::size_t j = 0; j < numbers; ++j) {
    data.schema.columns.push_back(
        {std::string("x").append(std::to_string(j)), ColumnType::number, 0, 1, {}, false});
  }
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (std::size_t i = 0; i < n; ++i) {
    float score = -0.5F;
    for (std::size_t j = 0; j < numbers; ++j) {
      data.dense().push_back(uniform(random));
      if (j == 0) score += data.dense().back();
    }
    data.dense().push_back(1);
    data.y.push_back(score + 0.3F * (uniform(random) - 0.5F) > 0 ? 1.0F : -1.0F);
  }
  return data;
}

/// Those rows with the first number at the end of its range in all, the others in the middle: one
/// direction has nearly all of their second moments.
inline Dataset bunched(Dataset data) {
  const std::size_t d = data.features();
  for (std::size_t i = 0; i < data.rows(); ++i) {
    for (std::size_t j = 0; j + 1 < d; ++j) data.dense()[i * d + j] = j == 0 ? 1.0F : 0.5F;
  }
  return data;
}

/// Those rows with categories of so many levels each before the constant: of every row one level of
/// each, more of the first ones.
inline Dataset with_categories(const Dataset& people, const std::vector<std::size_t>& categories,
                               std::uint64_t seed) {
  Dataset data = people;
  const std::size_t numbers = people.features() - 1;
  for (std::size_t c = 0; c < categories.size(); ++c) {
    Column column{
        std::string("c").append(std::to_string(c)), ColumnType::category, 0, 1, {}, false};
    for (std::size_t k = 0; k < categories[c]; ++k) column.levels.push_back(std::to_string(k));
    data.schema.columns.push_back(std::move(column));
  }
  data.schema.row_norm = 2 * std::sqrt(static_cast<double>(data.schema.columns.size()));
  data.dense().clear();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (std::size_t i = 0; i < people.rows(); ++i) {
    const auto row = people.dense().begin() + static_cast<std::ptrdiff_t>(i * (numbers + 1));
    data.dense().insert(data.dense().end(), row, row + static_cast<std::ptrdiff_t>(numbers));
    for (const std::size_t levels : categories) {
      const double at = std::pow(uniform(random), 2) * static_cast<double>(levels);
      const std::size_t level = std::min(levels - 1, static_cast<std::size_t>(at));
      for (std::size_t k = 0; k < levels; ++k) data.dense().push_back(k == level ? 1.0F : 0.0F);
    }
    data.dense().push_back(1);
  }
  return data;
}

/// The rows of `people` with an amount from 0 to 10 as label, in tolerances of 1 from the middle.
/// Labels are a line through the numbers, and noise.
inline Dataset amounts(std::size_t n, std::size_t numbers, std::uint64_t seed, double noise = 0.5) {
  Dataset data = people(n, numbers, seed);
  data.schema.label = Amount{{.lo = 0, .hi = 10}, 1};
  std::mt19937_64 random(seed + 1);
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(data.dense()[i * data.features()]);
    data.y[i] = scaled_label(data.schema.label, 4 + 3 * x + noise * normal(random));
  }
  return data;
}

/// The rows of `people` with a count from 0 to 10 as label.
inline Dataset counts(std::size_t n, std::size_t numbers, std::uint64_t seed) {
  Dataset data = people(n, numbers, seed);
  data.schema.label = Count{{.lo = 0, .hi = 10}};
  std::mt19937_64 random(seed + 1);
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(data.dense()[i * data.features()]);
    std::poisson_distribution<int> count(std::exp(1.2 * x));
    data.y[i] = scaled_label(data.schema.label, count(random));
  }
  return data;
}

/// The rows of `people` with one of `classes` classes as label; later ones are more frequent if the
/// first number is large.
inline Dataset class_people(std::size_t n, std::size_t numbers, std::size_t classes,
                            std::uint64_t seed) {
  Dataset data = people(n, numbers, seed);
  Classes several;
  for (std::size_t k = 0; k < classes; ++k) {
    several.names.push_back(std::string("c").append(std::to_string(k)));
  }
  data.schema.label = several;
  std::mt19937_64 random(seed + 1);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (std::size_t i = 0; i < n; ++i) {
    const double at =
        (static_cast<double>(data.dense()[i * data.features()]) + uniform(random)) / 2;
    data.y[i] = static_cast<float>(
        std::min(classes - 1, static_cast<std::size_t>(at * static_cast<double>(classes))));
  }
  return data;
}

struct OddTable {
  std::string name;
  Dataset data;
  double epsilon = 1;
};

inline std::vector<OddTable> odd_tables() {
  std::vector<OddTable> out;
  const auto row = [](Dataset& data, std::size_t i) {
    return data.dense().begin() + static_cast<std::ptrdiff_t>(6 * i);
  };
  Dataset data = people(60, 5, 4);
  std::ranges::fill(data.y, 1.0F);
  out.push_back({"one class", data});
  out.push_back({"one class, nearly no noise", data, 60});
  data = people(60, 5, 4);
  for (std::size_t i = 0; i < 60; ++i) std::copy_n(data.dense().begin(), 6, row(data, i));
  out.push_back({"one row sixty times", data});
  data = people(60, 5, 4);
  for (std::size_t i = 0; i < 60; ++i)
    data.dense()[6 * i + 2] = data.dense()[6 * i + 3], data.dense()[6 * i] = 0.25F;
  out.push_back({"a column twice, a constant one", data, 20});
  data = people(60, 5, 4);
  for (std::size_t i = 0; i < 60; ++i) std::fill_n(row(data, i), 5, 0.0F);
  out.push_back({"all numbers zero", data, 20});
  data.schema.intercept = false;
  data.schema.columns.push_back({"last", ColumnType::number, 0, 1, {}, false});
  std::ranges::fill(data.dense(), 0.0F);
  out.push_back({"all rows zero", data, 20});
  out.push_back({"one row", people(1, 3, 2)});
  data = people(50, 1, 2);
  data.schema.intercept = false;
  for (std::size_t i = 0; i < 50; ++i) data.dense()[i] = data.dense()[2 * i];
  data.dense().resize(50);
  out.push_back({"one feature", data});
  out.push_back({"more features than rows", people(5, 40, 2)});
  data = people(60, 5, 4);
  data.schema.row_norm = 1e-3;
  for (std::size_t i = 0; i < 60; ++i) clip_row_to_norm({&data.dense()[6 * i], 5}, 1e-3);
  out.push_back({"every row scaled down", data});
  data = people(60, 1, 4);
  for (std::size_t i = 0; i < 60; ++i) data.y[i] = data.dense()[2 * i] > 0.5F ? 1.0F : -1.0F;
  out.push_back({"separable", data, 60});
  out.push_back({"a category of one level", with_categories(people(60, 2, 4), {1}, 4)});
  out.push_back({"categories of one level alone", with_categories(people(60, 0, 4), {1, 1}, 4)});
  data = with_categories(people(60, 0, 4), {2, 1, 9}, 4);
  out.push_back({"categories alone, nearly no noise", data, 60});
  for (std::size_t i = 0; i < data.rows(); ++i)
    std::copy_n(data.dense().begin(), 13, &data.dense()[13 * i]);
  out.push_back({"levels that nobody has", data, 20});
  return out;
}

}  // namespace gibbsite::support
