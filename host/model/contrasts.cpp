#include "gibbsite/model/contrasts.hpp"

#include <algorithm>
#include <cmath>

namespace gibbsite {
namespace {

// Entry (level, contrast) of Helmert's contrasts, contrast = 0, 1, ...: the levels up to `contrast`
// against the next one. Orthonormal, and each adds up to 0.
double helmert(std::size_t level, std::size_t contrast) {
  const auto before = static_cast<double>(contrast + 1);
  if (level > contrast + 1) return 0;
  const double length = std::sqrt(before * (before + 1));
  return (level <= contrast ? 1.0 : -before) / length;
}

}  // namespace

bool always_has_level(const Schema& schema, const Column& column) {
  if (column.type != ColumnType::category) return false;
  const bool missing_has_one = schema.missing_in(column) == nullptr ||
                               schema.has_missing_level(column) || !column.unlisted.empty() ||
                               schema.missing_level(column) != nullptr;
  // A cell that is not listed, and an empty one where none is missing.
  const bool invalid_has_one = schema.invalid == Invalid::refuse || column.other;
  return missing_has_one && invalid_has_one;
}

ContrastBasis contrast_basis(const Schema& schema) {
  const bool constant = schema.intercept && schema.max_unclipped_norm() <= schema.row_norm;
  const auto is_contrasted = [&](const Column& column) {
    return constant && always_has_level(schema, column);
  };
  ContrastBasis out;
  out.features = schema.features();
  out.coordinates =
      out.features - static_cast<std::size_t>(std::ranges::count_if(schema.columns, is_contrasted));
  const std::size_t d = out.features, k = out.coordinates;
  out.basis.assign(d * k, 0.0);
  std::size_t feature = 0, coordinate = 0;
  out.levels.assign(d, 0);
  for (const Column& column : schema.columns) {
    const std::size_t features = schema.features_of(column);
    const bool contrasted = is_contrasted(column);
    const std::size_t coordinates = features - (contrasted ? 1 : 0);
    for (std::size_t j = 0; j < features; ++j) {
      if (contrasted) out.levels[feature + j] = features;
      for (std::size_t c = 0; c < coordinates; ++c) {
        out.basis[(feature + j) * k + coordinate + c] = contrasted ? helmert(j, c) : j == c ? 1 : 0;
      }
    }
    feature += features;
    coordinate += coordinates;
  }
  if (!schema.intercept) return out;
  double squares = 1;
  for (const std::size_t m : out.levels) {
    if (m > 0) squares += 1 / static_cast<double>(m * m);
  }
  const double length = std::sqrt(squares);
  for (std::size_t j = 0; j < feature; ++j) {
    const std::size_t m = out.levels[j];
    if (m > 0) out.basis[j * k + k - 1] = 1 / (static_cast<double>(m) * length);
  }
  out.basis[feature * k + k - 1] = 1 / length;
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

RowLengths row_lengths(const Schema& schema) {
  const ContrastBasis contrasts = contrast_basis(schema);
  RowLengths out;
  out.weight.assign(contrasts.features, 1.0);
  out.center = schema.middle();
  for (std::size_t j = 0; j < contrasts.features; ++j) {
    if (contrasts.levels[j] > 0) out.weight[j] = 0;
  }
  if (schema.intercept) out.weight.back() = 0;
  double most = 0;  // of the square: that of any row, numbers at an end of their range
  std::size_t feature = 0;
  for (const Column& column : schema.columns) {
    const std::size_t features = schema.features_of(column);
    if (column.type == ColumnType::number) most += schema.intercept ? 0.25 : 1;
    if (column.type == ColumnType::category && features > 0) {
      out.categories = true;
      const std::size_t m = contrasts.levels[feature];
      if (m > 0) out.base += 1 - 1 / static_cast<double>(m);
      most += m > 0 ? 1 - 1 / static_cast<double>(m) : 1;
    }
    feature += features;
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
