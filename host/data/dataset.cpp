#include "gibbsite/data/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "core/format_message.hpp"
#include "data/arrow.hpp"
#include "data/cache.hpp"
#include "data/compressed.hpp"
#include "data/csv.hpp"
#include "data/input.hpp"
#include "data/person_ids.hpp"
#include "data/text.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/shares.hpp"
#include "gibbsite/model/family_model.hpp"

namespace gibbsite {

std::vector<std::uint64_t*> IngestCounts::numbers() {
  std::vector<std::uint64_t*> out{&clamped_cells,  &missing_cells,  &other_cells,
                                  &invalid_cells,  &invalid_labels, &unlisted_labels,
                                  &clamped_labels, &clipped_rows};
  for (CellCounts& cells : columns)
    out.insert(out.end(), {&cells.clamped, &cells.missing, &cells.other, &cells.invalid});
  return out;
}

Rows Dataset::view() const {
  Rows out = view_of(storage, features());
  add_to(out);
  return out;
}

bool ReadOptions::reads_weights(const Schema& of) const {
  return labels == Labels::required || !has_label(of);
}

void Dataset::weigh(std::span<const double> weights, double highest) {
  constexpr const char* name = "sample_weight";
  if (schema.weight() != nullptr) {
    throw BadInput(fmt::format("{}: column {} of the schema weighs rows already; leave one out",
                               name, gibbsite::quoted(schema.weight()->name)));
  }
  if (rows_of_person > 0) {
    throw BadInput(fmt::format(
        "{}: the rows of people are held together already; give the weights as a column "
        "of the schema, {{type = \"weight\", range = [0, 10]}}",
        name));
  }
  if (weights.size() != rows()) {
    throw BadInput(
        fmt::format("{}: {} weights for {} rows (private under add-remove); give one a "
                    "row",
                    name, weights.size(), rows()));
  }
  const bool refuses = schema.invalid == Invalid::refuse;
  if (refuses && !std::ranges::all_of(weights, [](double w) { return std::isfinite(w); })) {
    throw BadInput(fmt::format("{}: a weight is not finite; give finite ones{}", name,
                               " (private: this tells of a row)"));
  }
  schema.columns.push_back({.name = name, .type = ColumnType::weight, .lo = 0, .hi = highest});
  schema.validate(name);
  CellCounts& of_weights = counts.columns.emplace_back();
  weight.resize(weights.size());
  std::ranges::transform(weights, weight.begin(), [&](double w) {
    if (!std::isfinite(w)) {  // as an unreadable cell of a column of weights
      ++of_weights.invalid;
      return Schema::scaled_weight_down(0, 0, highest);
    }
    of_weights.clamped += w < 0 || w > highest ? 1U : 0U;
    return Schema::scaled_weight_down(w, 0, highest);
  });
  counts.clamped_cells += of_weights.clamped;
  counts.invalid_cells += of_weights.invalid;
}

void Dataset::hold_people(std::uint64_t k) {
  const std::unique_ptr<Communicator> alone = one_process();
  gibbsite::hold_people(*this, k, *alone);
}

void Dataset::group(std::span<const std::uint32_t> places) {
  constexpr const char* name = "groups";
  if (const Column* const column = schema.person()) {
    throw BadInput(fmt::format("{}: column {} of the schema says whose rows are; leave one out",
                               name, gibbsite::quoted(column->name)));
  }
  if (places.size() != rows()) {
    throw BadInput(fmt::format("{}: {} people for {} rows (both private); give one a row", name,
                               places.size(), rows()));
  }
  if (std::ranges::any_of(places, [&](std::uint32_t p) { return p != nobody && p >= rows(); }))
    throw BadInput(std::string(name) + ": a place is beyond the rows; count people from 0");
  const auto none = static_cast<std::uint64_t>(std::ranges::count(places, nobody));
  if (none > 0 && schema.invalid == Invalid::refuse)
    throw BadInput(std::string(name) +
                   ": a row is nobody's; give every row an id, as text where numbers reach 2^53" +
                   tells_of_row);
  schema.columns.push_back({.name = name, .type = ColumnType::person});
  schema.validate(name);
  counts.columns.emplace_back().invalid = none;
  counts.invalid_cells += none;
  person.assign(places.begin(), places.end());
}

std::uint64_t Dataset::counted() const {
  if (schema.person() == nullptr) return rows();
  if (rows_of_person == 0) throw BadInput("data: its people are not held; read it by fit or plan");
  return people;
}

double Dataset::bytes_per_row() const {
  const Rows all = view();
  const std::size_t n = std::max<std::size_t>(all.rows, 1);
  const std::size_t entry = sizeof(*all.sparse.feature) + sizeof(*all.sparse.value);
  std::size_t bytes =
      all.is_sparse() ? (all.rows + 1) * sizeof(*all.sparse.begin) + all.sparse.entries() * entry
                      : all.rows * all.cols * sizeof(*all.dense);
  for (const auto of : beside_rows) bytes += (this->*of).size() * sizeof(float);
  return static_cast<double>(bytes) / static_cast<double>(n);
}

TableKind table_kind(const std::string& path) {
  const std::string extension = extension_of(without_compression(path));
  if (extension == ".npy") return TableKind::npy;
  if (is_arrow_file(path)) return TableKind::arrow;
  constexpr std::array libsvm = {".svm", ".libsvm", ".svmlight"};
  return std::ranges::find(libsvm, extension) != libsvm.end() ? TableKind::libsvm : TableKind::csv;
}

namespace {
Dataset read_input(const std::string& path, const Schema& schema, const ReadOptions& options) {
  const TableKind kind = table_kind(path);
  if (kind == TableKind::npy) return read_npy(path, schema, options);
  if (!options.label_path.empty())
    throw BadInput(options.label_path +
                   ": a file of labels goes with a .npy table only; this table has its own");
  if (kind == TableKind::arrow) return read_arrow_file(path, schema, options);
  if (kind == TableKind::libsvm) return read_libsvm(path, schema, options);
  return read_csv(path, schema, options);
}
}  // namespace

Dataset read_table(const std::string& path, const Schema& schema, const ReadOptions& options) {
  const StandardArithmetic arithmetic;
  if (options.unreadable != ReadOptions::Unreadable::by_schema &&
      schema.invalid != Invalid::refuse) {
    Schema strict = schema;  // where rows go in many at a time they end before one to be marked
    strict.invalid = Invalid::refuse;
    Dataset data = read_table(path, strict, options);
    data.schema.invalid = schema.invalid;
    return data;
  }
  if (is_in_parts(path)) {
    const std::unique_ptr<Communicator> alone = one_process();
    const SharedTable table(path, schema, options, *alone);
    return table.read({0, table.rows()});
  }
  if (is_arrow_file(path)) {
    if (options.cache == ReadOptions::Cache::always)
      throw BadInput(
          FilePosition{path}, "rows of a Parquet or Arrow file are not cached",
          format_message("use {} never, or write the table as .npy or CSV", Field{"cache"}));
    return read_input(path, schema, options);
  }
  if (options.cache == ReadOptions::Cache::never || !has_cache(cache_of(path), options))
    return read_input(path, schema, options);
  // No file says whose rows are, so that the ids have to be read again.
  const bool reads_people = schema.person() != nullptr && options.reads_weights(schema);
  if (!reads_people) {
    if (std::optional<Dataset> data = open_cache(path, schema, options)) return std::move(*data);
  }
  ReadOptions anew = options;
  anew.cache = ReadOptions::Cache::always;  // one that was there is kept up
  return read_input(path, schema, anew);
}

}  // namespace gibbsite
