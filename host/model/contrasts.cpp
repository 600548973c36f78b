#include "gibbsite/model/contrasts.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/interaction.hpp"
#include "model/helmert.hpp"

namespace gibbsite {

bool always_has_level(const Schema& schema, const Column& column) {
  if (column.is_curve()) return true;  // a missing cell is a level, or the middle
  if (column.type != ColumnType::category) return false;
  const bool missing_has_one = schema.missing_in(column) == nullptr ||
                               schema.has_missing_level(column) || !column.unlisted.empty() ||
                               schema.missing_level(column) != nullptr;
  // A cell that is not listed, and an empty one where none is missing.
  const bool invalid_has_one = schema.invalid == Invalid::refuse || column.other;
  return missing_has_one && invalid_has_one;
}

bool always_has_level(const Schema& schema, const Interaction& interaction) {
  return std::ranges::all_of(interaction.parts, [&](const Interaction::Part& part) {
    return !part.knots.empty() || always_has_level(schema, *schema.column_named(part.column));
  });
}

namespace {

// Entries of B [d x k] for the features of one column, from (feature, coordinate) on: contrasts, or
// the identity.
struct Part {
  std::size_t features = 0, coordinates = 0, feature = 0, coordinate = 0;
};

void fill(std::vector<double>& basis, std::size_t k, const Part& part, const auto& entry) {
  for (std::size_t j = 0; j < part.features; ++j) {
    for (std::size_t c = 0; c < part.coordinates; ++c) {
      basis[(part.feature + j) * k + part.coordinate + c] = entry(j, c);
    }
  }
}

// The constant: of x = (1, levels), 1/m of it on each of the m levels in contrasts.
void fill_constant(std::vector<double>& basis, std::size_t k, std::span<const std::size_t> levels) {
  double squares = 1;
  for (const std::size_t m : levels) {
    if (m > 0) squares += 1 / static_cast<double>(m * m);
  }
  const double length = std::sqrt(squares);
  const std::size_t last = levels.size() - 1;
  for (std::size_t j = 0; j < last; ++j) {
    const std::size_t m = levels[j];
    if (m > 0) basis[j * k + k - 1] = 1 / (static_cast<double>(m) * length);
  }
  basis[last * k + k - 1] = 1 / length;
}

}  // namespace

ContrastBasis contrast_basis(const Schema& schema) {
  const bool constant = schema.intercept && schema.max_unclipped_norm() <= schema.row_norm;
  const auto is_contrasted = [&](const auto& term) {
    return constant && always_has_level(schema, term);
  };
  std::vector<std::optional<InteractionContrasts>> interactions;
  ContrastBasis out;
  out.features = schema.features();
  out.coordinates =
      out.features - static_cast<std::size_t>(std::ranges::count_if(schema.columns, is_contrasted));
  for (const Interaction& interaction : schema.interactions) {
    std::optional<InteractionContrasts>& own = interactions.emplace_back();
    if (!is_contrasted(interaction)) continue;
    own.emplace(schema, interaction);
    out.coordinates -= schema.features_of(interaction) - own->coordinates();
  }
  const std::size_t d = out.features, k = out.coordinates;
  out.basis.assign(d * k, 0.0);
  if (constant &&
      (std::ranges::any_of(schema.columns, &Column::is_curve) || !schema.interactions.empty())) {
    out.plain = out.basis;
  }
  out.levels.assign(d, 0);
  Part part;
  const auto begin = [&](std::size_t features, std::size_t coordinates, bool contrasted) {
    part.features = features;
    part.coordinates = coordinates;
    if (!contrasted) return;
    std::fill_n(out.levels.begin() + static_cast<std::ptrdiff_t>(part.feature), features, features);
  };
  const auto end = [&] {
    part.feature += part.features;
    part.coordinate += part.coordinates;
  };
  const auto fill_both = [&](const auto& entry) {
    fill(out.basis, k, part, entry);
    if (!out.plain.empty()) fill(out.plain, k, part, entry);
  };
  const auto identity = [](std::size_t j, std::size_t c) { return j == c ? 1.0 : 0.0; };
  for (const Column& column : schema.columns) {
    const bool contrasted = is_contrasted(column);
    const std::size_t features = schema.features_of(column);
    begin(features, features - (contrasted ? 1 : 0), contrasted);
    if (contrasted && column.is_curve()) {
      const SmoothContrasts& smooth =
          smooth_contrasts(column.knots.size(), schema.has_missing_level(column));
      const auto entry_of = [&](const std::vector<double>& matrix) {
        return [&](std::size_t j, std::size_t c) { return matrix[j * (smooth.features - 1) + c]; };
      };
      fill(out.basis, k, part, entry_of(smooth.basis));
      fill(out.plain, k, part, entry_of(smooth.plain));
    } else if (contrasted) {
      fill_both([](std::size_t j, std::size_t c) { return helmert(j, c); });
    } else {
      fill_both(identity);
    }
    end();
  }
  for (std::size_t i = 0; i < interactions.size(); ++i) {
    const std::size_t features = schema.features_of(schema.interactions[i]);
    const std::optional<InteractionContrasts>& own = interactions[i];
    begin(features, own ? own->coordinates() : features, own.has_value());
    if (own) {
      fill(out.basis, k, part, [&](auto j, auto c) { return own->at(j, c, true); });
      fill(out.plain, k, part, [&](auto j, auto c) { return own->at(j, c, false); });
    } else {
      fill_both(identity);
    }
    end();
  }
  if (!schema.intercept) return out;
  fill_constant(out.basis, k, out.levels);
  if (!out.plain.empty()) fill_constant(out.plain, k, out.levels);
  return out;
}

void center_levels(const ContrastBasis& contrasts, std::span<double> theta) {
  for (std::size_t j = 0; j < theta.size();) {
    const std::size_t m = contrasts.levels[j];
    if (m > 0) {
      const std::span<double> levels = theta.subspan(j, m);
      double mean = 0;
      for (const double v : levels) mean += v / static_cast<double>(m);
      for (double& v : levels) v -= mean;
      theta.back() += mean;
    }
    j += std::max<std::size_t>(m, 1);
  }
}

TypicalFeatures typical_features(const Schema& schema) {
  TypicalFeatures out;
  out.center = schema.middle();
  out.factor.assign(out.center.size(), 1.0);
  std::size_t first = 0;
  for (const Column& column : schema.columns) {
    const std::size_t features = schema.features_of(column);
    if (column.typical && column.type == ColumnType::number && !column.is_curve()) {
      const double width = column.hi - column.lo,
                   center = (column.typical->center - column.lo) / width,
                   spread = column.typical->spread / width;
      out.any = true;
      if (schema.intercept) {
        out.center[first] = center;
        out.factor[first] = 1 / (spread * std::sqrt(12.0));
      } else {
        out.factor[first] = 1 / std::sqrt(3 * (center * center + spread * spread));
      }
    }
    first += features;
  }
  return out;
}

RowLengths row_lengths(const Schema& schema) {
  const ContrastBasis contrasts = contrast_basis(schema);
  const TypicalFeatures start = typical_features(schema);
  RowLengths out;
  out.center = start.center;
  for (const double factor : start.factor) out.weight.push_back(factor * factor);
  for (std::size_t j = 0; j < contrasts.features; ++j) {
    if (contrasts.levels[j] > 0) out.weight[j] = 0;
  }
  if (schema.intercept) out.weight.back() = 0;
  double most = 0;  // of the square: that of any row, numbers at an end of their range
  std::size_t feature = 0;
  for (const Column& column : schema.columns) {
    const std::size_t features = schema.features_of(column);
    const std::size_t m = features > 0 ? contrasts.levels[feature] : 0;
    if (column.type == ColumnType::number && !column.is_curve())
      most += schema.intercept ? 0.25 : 1;
    if (column.is_curve()) {
      out.categories = true;
      const double typical = typical_square(schema, column);
      if (m > 0) out.base += typical;
      most += m > 0 ? 1.5 * typical : 1;
    } else if (column.type == ColumnType::category && features > 0) {
      out.categories = true;
      if (m > 0) out.base += 1 - 1 / static_cast<double>(m);
      most += m > 0 ? 1 - 1 / static_cast<double>(m) : 1;
    }
    feature += features;
  }
  for (const Interaction& interaction : schema.interactions) {
    const InteractionContrasts own(schema, interaction);
    out.categories = true;
    if (contrasts.levels[feature] > 0) out.base += own.typical_square();
    most += contrasts.levels[feature] > 0 ? own.largest_square() : 1;
    feature += schema.features_of(interaction);
  }
  // Rows of most tables are between an eighth of the longest and that; a range that is wider hides
  // more. Where the schema nearly says the length a range is left, so that noise has a size.
  constexpr double factor = 8, least_range = 0.25, shortest = 1e-6;
  out.high = std::log(std::max(most, shortest)) / 2;
  out.low = out.high - std::log(factor);
  if (out.base > 0) out.low = std::max(out.low, std::log(out.base) / 2);
  out.low = std::min(out.low, out.high - least_range);
  return out;
}

}  // namespace gibbsite
