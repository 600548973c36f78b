// A stream's labels: of a column of its own, or given beside it.
#include <concepts>
#include <string_view>
#include <type_traits>

#include "data/arrow_reader.hpp"

namespace gibbsite::arrow_rows {

void ArrowReader::set_label(const Part& part, std::int64_t i) {
  if (is_null(part, i)) return rows_.set_label(std::string_view());
  const Part::Cell cell = part.cell(i);
  if (cell.is_null()) return rows_.set_label(std::string_view());
  if (cell.of.type().is_date())
    return rows_.set_label(std::string_view(cell_text(cell.of, cell.at)));
  cell.of.visit([&](const auto& get) { cells_->set.set_label(get(cell.at)); });
}

template <class Get>
void ArrowReader::set_number_labels(const Get& get, std::int64_t at, std::size_t count) {
  const std::int64_t last = at + static_cast<std::int64_t>(count);
  while (at < last) {
    const std::size_t known = rows_.set_known_labels(
        static_cast<std::size_t>(last - at),
        [&](std::size_t i) { return get(at + static_cast<std::int64_t>(i)); });
    at += static_cast<std::int64_t>(known);
    row_ += known;
    // One that is new, and others with it.
    for (int i = 0; i < 1024 && at < last; ++i, ++at, ++row_) cells_->set.set_label(get(at));
  }
}

template <class Each>
void ArrowReader::set_listed_labels(const Part& part, const Each& each) {
  if (!part.may_keep) return each([&](std::int64_t i) { set_label(part, i); });
  if (labels_of_ != batch_) {
    kept_labels_.assign(part.kept.size(), {});
    labels_of_ = batch_;
  }
  part.values.visit([&](const auto& get) {
    each([&](std::int64_t i) {
      if (is_null(part, i)) return rows_.set_label(std::string_view());
      CellEncoder::KeptLabel& kept = kept_labels_[static_cast<std::size_t>(part.index(get(i)))];
      if (kept.is_label) return rows_.set_label_again(kept);
      kept = rows_.keep_label([&] { set_label(part, i); });
    });
  });
}

std::size_t ArrowReader::set_known_labels(const std::vector<Part>& parts, std::int64_t at,
                                          std::size_t count) {
  if (!labels_.empty() || label_ == none || whole_ != nullptr) return 0;
  const Part& part = parts[label_];
  if (part.dictionary || part.is_mixed() ||
      part.values.any_null(at, static_cast<std::int64_t>(count)))
    return 0;
  return part.values.visit([&](const auto& get) -> std::size_t {
    using Value = std::decay_t<decltype(get(at))>;
    if constexpr (Whole<Value> || std::same_as<Value, double>)
      return rows_.set_known_labels(
          count, [&](std::size_t i) { return get(at + static_cast<std::int64_t>(i)); });
    return 0;
  });
}

void ArrowReader::set_labels(const std::vector<Part>& parts, std::int64_t at, std::size_t count) {
  const auto each = [&](const auto& set) {
    for (std::size_t i = 0; i < count; ++i, ++row_) set(at + static_cast<std::int64_t>(i));
  };
  if (!labels_.empty()) return each([&](std::int64_t) { rows_.set_class(labels_[row_]); });
  if (label_ == none) {
    row_ += count;
    return;
  }
  const Part& part = parts[label_];
  of_column(fields_[label_].name, [&] {
    if (part.dictionary) return set_listed_labels(part, each);
    if (part.is_mixed()) return each([&](std::int64_t i) { set_label(part, i); });
    const bool has_nulls =
        whole_ != nullptr || part.values.any_null(at, static_cast<std::int64_t>(count));
    part.values.visit([&](const auto& get) {
      using Value = std::decay_t<decltype(get(at))>;
      if constexpr (Whole<Value> || std::same_as<Value, double>) {
        if (!has_nulls) return set_number_labels(get, at, count);
      }
      each([&](std::int64_t i) {
        is_null(part, i) ? rows_.set_label(std::string_view()) : cells_->set.set_label(get(i));
      });
    });
  });
}

}  // namespace gibbsite::arrow_rows
