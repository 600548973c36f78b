#include "gibbsite/data/alike_columns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

namespace gibbsite {

namespace {

constexpr std::uint64_t head_rows = 1024;
/// Columns of fewer rows are alike by chance.
constexpr std::uint64_t least_rows = 32;
constexpr std::size_t most_features = std::size_t{1} << 20;
/// Error of two numbers that add up to 1, each rounded to a float.
constexpr float sum_error = 2.5e-7F;

/// A column that is used, and its features.
struct ColumnPlace {
  std::size_t column = 0, first = 0, features = 0;
  bool is_number = false;
};

/// What a column holds in a row: the number, or which of its levels, 0 where none.
float cell_of(const ColumnPlace& place, const float* row) {
  if (place.is_number) return row[place.first];
  for (std::size_t k = 0; k < place.features; ++k)
    if (row[place.first + k] != 0) return static_cast<float>(k + 1);
  return 0;
}

/// The rows one after the other, as a dense row each.
class DenseRows {
 public:
  explicit DenseRows(const Rows& rows) : rows_(rows), room_(rows.is_sparse() ? rows.cols : 0) {}

  const float* at(std::size_t i) {
    if (!rows_.is_sparse()) return rows_.dense + i * rows_.cols;
    for (const std::size_t j : filled_) room_[j] = 0;
    filled_.clear();
    rows_.for_each(i, [this](std::size_t j, float value) {
      room_[j] = value;
      filled_.push_back(j);
    });
    return room_.data();
  }

 private:
  Rows rows_;
  std::vector<float> room_;
  std::vector<std::size_t> filled_;
};

/// What is known of a column after the first rows.
struct ColumnHead {
  std::uint64_t hash = 0;  // of numbers their bits; of levels which rows have the same one
  double sum = 0;          // of numbers, weighed by row
  bool is_constant = true;
  float value = 0;                       // of the first row
  std::map<float, std::uint32_t> order;  // of levels as they came
};

struct AlikePair {
  AlikeColumns found;
  ColumnPlace first, second;
  float value = 0;
  std::map<float, float> to{}, from{};  // levels that went together
};

bool goes_together(AlikePair& candidate, float a, float b) {
  if (candidate.first.is_number)
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  return candidate.to.emplace(a, b).first->second == b &&
         candidate.from.emplace(b, a).first->second == a;
}

bool holds_in(AlikePair& candidate, const float* row) {
  const float a = cell_of(candidate.first, row);
  switch (candidate.found.kind) {
    case AlikeColumns::Kind::constant:
      return a == candidate.value;
    case AlikeColumns::Kind::turned:
      return std::abs(a + cell_of(candidate.second, row) - 1) <= sum_error;
    case AlikeColumns::Kind::equal:
      break;
  }
  return goes_together(candidate, a, cell_of(candidate.second, row));
}

std::vector<ColumnPlace> places_of(const Schema& schema) {
  std::vector<ColumnPlace> out;
  std::size_t next = 0;
  for (std::size_t j = 0; j < schema.columns.size(); ++j) {
    const Column& column = schema.columns[j];
    const std::size_t count = schema.features_of(column);
    // What a curve holds is no number here, and no one level: it is left out.
    if (count > 0 && !column.is_curve())
      out.push_back({j, next, count, column.type == ColumnType::number});
    next += count;
  }
  return out;
}

std::vector<AlikePair> candidates_of(const std::vector<ColumnPlace>& places,
                                     const std::vector<ColumnHead>& heads, double weights) {
  using Kind = AlikeColumns::Kind;
  std::vector<AlikePair> out;
  const auto add = [&](Kind kind, std::size_t a, std::size_t b) {
    out.push_back({.found = {kind, places[a].column, places[b].column},
                   .first = places[a],
                   .second = places[b],
                   .value = heads[a].value});
  };
  std::map<std::pair<bool, std::uint64_t>, std::size_t> seen;
  std::multimap<double, std::size_t> sums;  // of numbers that repeat none
  const double error = weights * static_cast<double>(sum_error);
  for (std::size_t k = 0; k < places.size(); ++k) {
    const bool is_number = places[k].is_number;
    if (heads[k].is_constant) {
      add(Kind::constant, k, k);
      continue;
    }
    const auto [other, is_new] = seen.emplace(std::pair{is_number, heads[k].hash}, k);
    if (!is_new) {
      add(Kind::equal, other->second, k);
      continue;
    }
    if (!is_number) continue;
    const double wanted = weights - heads[k].sum;
    const auto turned = sums.lower_bound(wanted - error);
    if (turned != sums.end() && turned->first <= wanted + error)
      add(Kind::turned, turned->second, k);
    sums.emplace(heads[k].sum, k);
  }
  return out;
}

}  // namespace

std::vector<AlikeColumns> alike_columns(const Dataset& data) {
  const std::uint64_t n = data.rows();
  if (data.made > 0 || n < least_rows || data.features() > most_features) return {};
  const std::vector<ColumnPlace> places = places_of(data.schema);
  DenseRows rows(data.view());
  std::vector<ColumnHead> heads(places.size());
  double weights = 0;
  for (std::uint64_t i = 0; i < std::min(n, head_rows); ++i) {
    const float* const row = rows.at(i);
    // Any numbers that are not alike: sums of other columns then are not.
    const double weight = 0.5 + static_cast<double>(i * 0x9e3779b97f4a7c15U >> 40) * 0x1p-24;
    weights += weight;
    for (std::size_t k = 0; k < places.size(); ++k) {
      ColumnHead& head = heads[k];
      const float value = cell_of(places[k], row);
      if (i == 0) head.value = value;
      head.is_constant = head.is_constant && value == head.value;
      head.sum += weight * static_cast<double>(value);
      const std::uint64_t code =
          places[k].is_number
              ? std::bit_cast<std::uint32_t>(value)
              : head.order.emplace(value, static_cast<std::uint32_t>(head.order.size()))
                    .first->second;
      head.hash = (head.hash ^ code) * 0x100000001b3U + (head.hash >> 29);
    }
  }
  std::vector<AlikePair> candidates = candidates_of(places, heads, weights);
  for (std::uint64_t i = 0; i < n && !candidates.empty(); ++i) {
    const float* const row = rows.at(i);
    std::erase_if(candidates, [&](AlikePair& one) { return !holds_in(one, row); });
  }
  std::vector<AlikeColumns> out;
  for (const AlikePair& one : candidates) out.push_back(one.found);
  return out;
}

}  // namespace gibbsite
