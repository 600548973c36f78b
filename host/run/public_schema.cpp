#include "gibbsite/run/public_schema.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"

namespace gibbsite {
namespace {

// Rules of public tables: a bin counts from about three rows on, of a small table from one.
constexpr double deviation_of_bin = .5, share_of_deviation = 1.0 / 200;
constexpr double least_level_rows = 3, least_level_share = .01;
constexpr std::uint64_t least_typical_numbers = 30;

AnswerScale exact_scale(std::uint64_t rows, std::size_t columns) {
  const auto n = static_cast<double>(rows);
  const double deviation = std::min(deviation_of_bin, share_of_deviation * n);
  return {.rows = rows,
          .bins_noise = deviation,
          .levels_noise = deviation,
          .threshold = std::max(least_level_rows, least_level_share * n),
          .refine_noise = deviation / std::sqrt(static_cast<double>(columns))};
}

std::vector<double> as_numbers(std::span<const std::uint64_t> counts) {
  return {counts.begin(), counts.end()};
}

// The answers without noise.
BoughtSchema exact_answers(BoughtSchema out, const TableCells& cells, const CellSource& table) {
  out.scale = exact_scale(cells.rows, cells.columns.size());
  auto next = cells.columns.begin();
  for (ColumnAnswers& column : out.columns) {
    if (!column.asked()) continue;
    column.classes = as_numbers(next->classes);
    for (const auto& [text, count] : next->levels) {
      const auto rows = static_cast<double>(count);
      if (rows >= out.scale.threshold) column.levels.push_back({text, rows});
    }
    std::ranges::stable_sort(column.levels, std::greater{}, &LevelAnswer::rows);  // by text before
    ++next;
  }
  for (std::size_t round = 0; round < refinements; ++round) {
    const std::vector<RangeQuestion> asked = range_questions(out);
    if (asked.empty()) break;
    std::vector<RangeOfColumn> named;
    for (const RangeQuestion& one : asked) named.push_back({out.columns[one.column].name, one});
    std::vector<std::vector<double>> counts = count_ranges(table, named, cells.rows);
    for (std::size_t k = 0; k < asked.size(); ++k)
      out.columns[asked[k].column].ranges.push_back(
          {asked[k].lo, asked[k].hi, std::move(counts[k])});
  }
  out.schema = fit_schema_of(out);
  return out;
}

// Mean and squares about it of numbers as they come (Welford 1962).
struct Moments {
  std::uint64_t count = 0;
  double mean = 0, squares = 0;

  void add(double value) {
    ++count;
    const double off = value - mean;
    mean += off / static_cast<double>(count);
    squares += off * (value - mean);
  }
  [[nodiscard]] double deviation() const {
    return std::sqrt(squares / static_cast<double>(count - 1));
  }
};

double four_digits(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

// What is typical of each number of the schema.
void set_typical(Schema& schema, const CellSource& table) {
  std::vector<Column*> numbers;
  std::vector<std::string> names;
  for (Column& column : schema.columns) {
    if (column.type != ColumnType::number || !column.date.empty()) continue;
    numbers.push_back(&column);
    names.push_back(column.name);
  }
  if (numbers.empty()) return;
  std::vector<Moments> moments(numbers.size());
  table.read(names, [&](std::span<const std::string> cells) {
    for (std::size_t k = 0; k < cells.size(); ++k) {
      const Column& column = *numbers[k];
      if (const auto value = number_of_cell(cells[k], schema.numbers_of(column)))
        moments[k].add(std::clamp(*value, column.lo, column.hi));
    }
  });
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    Column& column = *numbers[k];
    if (moments[k].count < least_typical_numbers) continue;
    const double width = column.hi - column.lo;
    column.typical = {
        std::clamp(four_digits(moments[k].mean), column.lo, column.hi),
        std::clamp(four_digits(moments[k].deviation()), least_typical_spread * width, width)};
  }
}

void require_columns(const SchemaShape& shape, const std::vector<std::string>& header,
                     const std::string& name) {
  std::vector<std::string> lacking;
  for (const std::string& column : shape.asked)
    if (std::ranges::find(header, column) == header.end()) lacking.push_back(column);
  if (lacking.empty()) return;
  throw BadInput(FilePosition{name},
                 fmt::format("has no column {}, which the private table has", short_list(lacking)),
                 "give a table with all of its columns but the label, or leave them out of both");
}

[[noreturn]] void refuse_private_table(const std::string& name) {
  throw BadInput(FilePosition{name}, "is the private table itself, which must choose nothing",
                 "give a table that is public, or leave it out");
}

void require_usable(const BoughtSchema& counts, const std::string& name) {
  const std::vector<ColumnFinding> found = findings(counts);
  if (std::ranges::any_of(found,
                          [](const auto& one) { return one.column.type != ColumnType::ignore; }))
    return;
  const auto first = std::ranges::find_if(counts.columns, &ColumnAnswers::asked);
  const auto& words = found[static_cast<std::size_t>(first - counts.columns.begin())].words;
  throw BadInput(
      FilePosition{name},
      fmt::format("none of its columns can be used ({}: {})", gibbsite::quoted(first->name), words),
      "give a table with more rows, or write the schema");
}

// SHA-256, piece by piece.
class Sha256 {
 public:
  Sha256() { crypto_hash_sha256_init(&state_); }
  void add(std::string_view bytes) {
    crypto_hash_sha256_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size());
  }
  [[nodiscard]] std::string hex() {
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
    crypto_hash_sha256_final(&state_, digest.data());
    std::array<char, 2 * crypto_hash_sha256_BYTES + 1> text{};
    return sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
  }

 private:
  crypto_hash_sha256_state state_;
};

std::string sha256_of_cells(const CellSource& table, const std::vector<std::string>& columns) {
  Sha256 digest;
  std::string line;
  table.read(columns, [&](std::span<const std::string> cells) {
    line.clear();
    for (const std::string& cell : cells) {
      const auto value = number_of_cell(cell, {});  // "0" and "0.0" are one
      line += line.empty() ? "\"" : ",\"";
      for (const char c : value ? fmt::format("{}", *value) : cell)
        line.append(c == '"' ? 2 : 1, c);
      line += '"';
    }
    digest.add(line += '\n');
  });
  return digest.hex();
}

// A digest of the private table leaves nothing but this refusal.
void require_other_bytes(const std::string& private_path, const std::string& public_path,
                         const std::string& sha256) {
  std::error_code ignored;
  const bool same = std::filesystem::equivalent(private_path, public_path, ignored) ||
                    (std::filesystem::file_size(private_path, ignored) ==
                         std::filesystem::file_size(public_path, ignored) &&
                     sha256_of_file(private_path) == sha256);
  if (same) refuse_private_table(public_path);
}

}  // namespace

std::string sha256_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw BadInput(FilePosition{path}, "cannot be opened", "check its name");
  Sha256 digest;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() > 0)
    digest.add({buffer.data(), static_cast<std::size_t>(file.gcount())});
  if (file.bad()) throw BadInput(FilePosition{path}, "cannot be read", "check the disk");
  return digest.hex();
}

std::string sha256_of_text(std::string_view text) {
  Sha256 digest;
  digest.add(text);
  return digest.hex();
}

void require_other_table(const Schema& schema, const std::string& private_path) {
  std::error_code ignored;
  if (schema.from_public && std::filesystem::is_regular_file(private_path, ignored) &&
      sha256_of_file(private_path) == schema.from_public->sha256)
    refuse_private_table(schema.from_public->file);
}

PublicSchema public_schema(const SchemaShape& shape, const CellSource& table, PublicTable known) {
  const TableCells cells = count_cells(table, shape.asked);
  if (cells.rows < least_public_rows) {
    throw BadInput(FilePosition{table.name},
                   cells.rows == 0
                       ? "has no rows"
                       : fmt::format("has {} row{}", cells.rows, cells.rows == 1 ? "" : "s"),
                   fmt::format("ranges and levels take {} or more", least_public_rows));
  }
  known.rows = cells.rows;
  if (const Message fault = known.fault(); !fault.empty())
    throw BadInput(FilePosition{table.name}, fault);
  BoughtSchema counts = exact_answers(shape.shape, cells, table);
  require_usable(counts, table.name);
  Schema schema = counts.schema;
  set_typical(schema, table);
  schema.from_public = std::move(known);
  return {std::move(counts), std::move(schema)};
}

PublicTable public_table_of_file(const std::string& public_path, const std::string& private_path) {
  std::error_code ignored;
  if (std::filesystem::exists(public_path, ignored) &&
      !std::filesystem::is_regular_file(public_path, ignored)) {
    throw BadInput(FilePosition{public_path}, "is read several times", "give a regular file");
  }
  PublicTable out{.file = std::filesystem::path(public_path).filename().string(),
                  .sha256 = sha256_of_file(public_path),
                  .rows = 1};
  if (!out.fault().empty())
    throw BadInput(FilePosition{public_path}, "its name has signs that cannot be written",
                   "rename it");
  if (!private_path.empty()) require_other_bytes(private_path, public_path, out.sha256);
  return out;
}

void require_unchanged(const std::string& public_path, const PublicTable& known) {
  if (sha256_of_file(public_path) == known.sha256) return;
  throw BadInput(FilePosition{public_path}, "changed while it was read",
                 "try again with one that stays");
}

PublicSchema public_schema_of_file(const SchemaShape& shape, const std::string& private_path,
                                   const std::string& public_path) {
  const PublicTable known = public_table_of_file(public_path, private_path);
  const std::vector<std::string> header = column_names(public_path);
  if (!first_line_names(public_path).empty()) require_names(header, public_path);
  require_columns(shape, header, public_path);
  PublicSchema out = public_schema(shape, public_path, known);
  require_unchanged(public_path, known);
  return out;
}

void require_other_cells(const SchemaShape& shape, const CellSource& private_table,
                         const CellSource& table) {
  if (sha256_of_cells(private_table, shape.asked) == sha256_of_cells(table, shape.asked))
    refuse_private_table(table.name);
}

PublicSchema public_schema_of_cells(const SchemaShape& shape, const CellSource& private_table,
                                    const std::vector<std::string>& header,
                                    const CellSource& table) {
  require_columns(shape, header, table.name);
  require_other_cells(shape, private_table, table);
  return public_schema(shape, table,
                       {.file = "frame", .sha256 = sha256_of_cells(table, shape.asked)});
}

std::vector<std::string> header_of_table(const std::string& path) {
  std::vector<std::string> out = column_names(path);
  // A Parquet or Arrow file names its columns itself.
  if (!first_line_names(path).empty()) require_names(out, path);
  return out;
}

}  // namespace gibbsite
