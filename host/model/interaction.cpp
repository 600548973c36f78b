#include "gibbsite/model/interaction.hpp"

#include <algorithm>
#include <cmath>

#include "gibbsite/model/contrasts.hpp"
#include "model/helmert.hpp"

namespace gibbsite {

std::string Interaction::name() const {
  std::string out;
  for (const Part& part : parts) out += (out.empty() ? "" : " × ") + part.column;
  return out;
}

std::vector<double> interaction_knots(const Column& number, std::optional<std::size_t> count) {
  constexpr std::size_t of_line = 2, of_curve = 4;
  const bool bends = number.is_curve() || number.automatic_curve;
  const std::size_t wanted = count.value_or(bends ? of_curve : of_line);
  std::vector<double> known = number.knots;
  if (known.empty() && number.scale == KnotScale::series) {
    known = series_knots(number.lo, number.hi);
  }
  if (known.empty() || wanted < 2 || (count && wanted > known.size())) {
    Column placed = number;
    if (placed.scale == KnotScale::series) placed.scale = KnotScale::automatic;
    return placed_knots(placed, wanted);
  }
  if (wanted >= known.size()) return known;
  std::vector<double> out;
  for (std::size_t k = 0; k < wanted; ++k) {
    out.push_back(known[(2 * k * (known.size() - 1) + wanted - 1) / (2 * (wanted - 1))]);
  }
  return out;
}

namespace {

// Whether an interaction of two of these columns stands in the schema.
bool is_interaction(const Schema& schema, const std::string& first, const std::string& second) {
  return std::ranges::any_of(schema.interactions, [&](const Interaction& other) {
    const auto has = [&](const std::string& name) {
      return std::ranges::find(other.parts, name, &Interaction::Part::column) != other.parts.end();
    };
    return other.parts.size() == 2 && has(first) && has(second);
  });
}

}  // namespace

InteractionContrasts::InteractionContrasts(const Schema& schema, const Interaction& interaction) {
  for (const Interaction::Part& part : interaction.parts) {
    Factor factor{.levels = schema.features_of(part)};
    if (part.knots.empty()) {
      factor.typical = factor.largest = 1 - 1 / static_cast<double>(factor.levels);
    } else {
      factor.hats = &smooth_contrasts(part.knots.size(), factor.levels > part.knots.size());
      factor.largest = factor.hats->longest;
      factor.typical = 2.0 / 3 * factor.largest;
    }
    factors_.push_back(factor);
  }
  const std::size_t columns = factors_.size();
  for (std::size_t set = 0; set < std::size_t{1} << columns; ++set) {
    std::vector<std::size_t> in_set;
    Coordinate first{};
    double typical = 1, largest = 1;
    bool is_empty = false;  // a column of one level has no contrast
    for (std::size_t c = 0; c < columns; ++c) {
      const Factor& factor = factors_[c];
      const bool varies = (set >> c & 1) != 0;
      if (varies) in_set.push_back(c);
      first[c] = varies ? 0 : constant;
      typical *= varies ? factor.typical : 1 / static_cast<double>(factor.levels);
      largest *= varies ? factor.largest : 1 / static_cast<double>(factor.levels);
      is_empty = is_empty || (varies && factor.levels < 2);
    }
    if (in_set.size() < 2 || is_empty) continue;
    if (in_set.size() < columns && is_interaction(schema, interaction.parts[in_set[0]].column,
                                                  interaction.parts[in_set[1]].column)) {
      continue;
    }
    typical_ += typical;
    largest_ += largest;
    for (Coordinate at = first;;) {  // counts through their contrasts
      coordinates_.push_back(at);
      std::size_t c = in_set.size();
      while (c > 0 && ++at[in_set[c - 1]] == factors_[in_set[c - 1]].levels - 1) {
        at[in_set[--c]] = 0;
      }
      if (c == 0) break;
    }
  }
}

double InteractionContrasts::at(std::size_t feature, std::size_t coordinate, bool smooth) const {
  double out = 1;
  for (std::size_t c = factors_.size(); c-- > 0;) {
    const Factor& factor = factors_[c];
    const std::size_t level = feature % factor.levels, contrast = coordinates_[coordinate][c];
    feature /= factor.levels;
    if (contrast == constant) {
      out /= std::sqrt(static_cast<double>(factor.levels));
    } else if (factor.hats == nullptr) {
      out *= helmert(level, contrast);
    } else {
      const std::vector<double>& of = smooth ? factor.hats->basis : factor.hats->plain;
      out *= of[level * (factor.levels - 1) + contrast];
    }
  }
  return out;
}

namespace {

std::size_t first_feature(const Schema& schema, const Column& column) {
  std::size_t first = 0;
  for (const Column& before : schema.columns) {
    if (&before == &column) break;
    first += schema.features_of(before);
  }
  return first;
}

// The mean of each feature of a column within an interaction, by the means of its own features.
std::vector<double> means_of_part(const Schema& schema, const Interaction::Part& part,
                                  std::span<const double> means) {
  const Column& column = *schema.column_named(part.column);
  const auto own = means.subspan(first_feature(schema, column), schema.features_of(column));
  if (part.knots.empty()) return {own.begin(), own.end()};
  std::vector<double> out(schema.features_of(part));
  const bool has_missing = schema.has_missing_level(column);
  const double missing = has_missing ? std::clamp(own.back(), 0.0, 1.0) : 0, there = 1 - missing;
  const Hats hats(part.knots);
  const auto add = [&](double scaled, double weight) {
    const Hat hat = hats.at(static_cast<float>(std::clamp(scaled, 0.0, 1.0)));
    out[hat.first] += weight * static_cast<double>(hat.value);
    out[hat.first + 1] += weight * static_cast<double>(hat.next);
  };
  if (has_missing) out.back() = missing;
  if (column.is_curve()) {
    for (std::size_t k = 0; k < column.knots.size(); ++k)
      add((column.knots[k] - column.lo) / (column.hi - column.lo), own[k]);
  } else if (there > 0) {
    add(own.front() / there, there);
  }
  return out;
}

}  // namespace

void put_product(const Schema& schema, std::size_t j, std::span<double> row) {
  std::size_t first = 0;
  for (const Column& column : schema.columns) first += schema.features_of(column);
  for (const Interaction& interaction : schema.interactions) {
    const std::size_t features = schema.features_of(interaction);
    const auto products = row.subspan(first, features);
    first += features;
    if (j >= first) continue;
    std::ranges::fill(products, 0.0);
    std::size_t rest = j - (first - features);
    products[rest] = 1;
    for (std::size_t c = interaction.parts.size(); c-- > 0;) {
      const Interaction::Part& part = interaction.parts[c];
      const Column& column = *schema.column_named(part.column);
      const std::size_t place = rest % schema.features_of(part);
      rest /= schema.features_of(part);
      const auto own = row.subspan(first_feature(schema, column), schema.features_of(column));
      std::ranges::fill(own, 0.0);
      if (part.knots.empty()) {
        own[place] = 1;
      } else if (place == part.knots.size()) {
        own.back() = 1;  // "(missing)"
      } else {
        const double scaled = (part.knots[place] - column.lo) / (column.hi - column.lo);
        if (!column.is_curve()) {
          own.front() = scaled;
          continue;
        }
        const Hat hat = Hats(column).at(static_cast<float>(scaled));
        own[hat.first] = static_cast<double>(hat.value);
        own[hat.first + 1] = static_cast<double>(hat.next);
      }
    }
    return;
  }
}

void add_main_parts(const Schema& schema, std::span<double> means) {
  if (!schema.intercept || schema.max_unclipped_norm() > schema.row_norm) return;  // no contrasts
  std::size_t first = 0;
  for (const Column& column : schema.columns) first += schema.features_of(column);
  for (const Interaction& interaction : schema.interactions) {
    const std::size_t features = schema.features_of(interaction);
    const auto own = means.subspan(first, features);
    first += features;
    if (!always_has_level(schema, interaction)) continue;
    std::vector<std::vector<double>> parts;
    for (const Interaction::Part& part : interaction.parts)
      parts.push_back(means_of_part(schema, part, means));
    for (std::size_t j = 0; j < features; ++j) {
      std::size_t rest = j;
      for (std::size_t c = parts.size(); c-- > 0;) {
        const auto levels = static_cast<double>(parts[c].size());
        // 1/m of each other column.
        own[j] += (parts[c][rest % parts[c].size()] * levels - 1) / static_cast<double>(features);
        rest /= parts[c].size();
      }
    }
  }
}

}  // namespace gibbsite
