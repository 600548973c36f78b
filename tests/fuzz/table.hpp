#pragma once
// Schemas and options that a harness of a table picks by a byte, and what holds of rows that were
// read.
#include <array>
#include <cmath>

#include "data/text_index.hpp"
#include "fuzz.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/schema_file.hpp"

namespace gibbsite::fuzz {

inline const Schema& schema_of(unsigned byte) {
  static const std::array schemas = {
      parse_schema("label = \"y\"\npositive = \"1\"\n[columns]\n"
                   "a = {type = \"number\", range = [0, 1]}\n"
                   "b = {type = \"number\", range = [-5, 1e3]}\n",
                   "schema"),
      parse_schema("label = \"y\"\npositive = \"1\"\nnegative = \"-1\"\nrow_norm = 0.5\n"
                   "unlisted_label = \"refuse\"\n"
                   "intercept = true\nmissing = \"?\"\n[columns]\n"
                   "a = {type = \"number\", range = [17, 90]}\n"
                   "b = {type = \"category\", levels = [\"u\", \"v,\", \"3\"], other = true}\n"
                   "c = {type = \"ignore\"}\n",
                   "schema"),
      parse_schema("label = \"y\"\npositive = \"yes\"\nrow_norm = 3.0\nmissing = \"\"\n[columns]\n"
                   "a = {type = \"category\", levels = [\"x\", \"\"]}\n"
                   "b = {type = \"category\", levels = [\"1\", \"2.5\"]}\n",
                   "schema"),
      parse_schema("label = \"y\"\npositive = \"1\"\nmissing = \"nan\"\nrow_norm = 1e-6\n"
                   "invalid = \"middle\"\n"
                   "intercept = true\n[columns]\nx = {type = \"number\", range = [-1e300, 1e300], "
                   "count = 40}\n",
                   "schema")};
  return schemas[byte % schemas.size()];
}

inline ReadOptions options_of(unsigned byte) {
  using Labels = ReadOptions::Labels;
  ReadOptions options;
  options.labels = (byte & 4) != 0 ? Labels::required : Labels::optional;
  options.ignore_extra_columns = (byte & 16) != 0;
  return options;
}

inline void require_legal(const Dataset& data) {
  const Rows x = data.view();
  x.validate();
  const std::size_t d = data.features(), columns = d - (data.schema.intercept ? 1 : 0);
  require(x.cols == d && x.rows == data.rows() && x.rows > 0, "shape");
  require(data.y.empty() || data.y.size() == x.rows, "labels");
  for (const float y : data.y) require(y == 1.0F || y == -1.0F, "a label");
  const double limit = data.schema.row_norm * (1 + 1e-12);
  for (std::size_t i = 0; i < x.rows; ++i) {
    double squared = 0;
    x.for_each(i, [&](std::size_t j, float v) {
      require(std::isfinite(v) && j < d, "a feature");
      if (j < columns) squared += static_cast<double>(v) * static_cast<double>(v);
    });
    require(std::sqrt(squared) <= limit, "a row longer than row_norm");
  }
}

/// Wherever a text is cut for ranks, there are as many records as its reader found.
inline void require_records(const std::string& path, const TextRules& rules, std::string_view text,
                            unsigned byte, std::uint64_t records) {
  const TextFile file(path, rules);
  const std::uint64_t size = text.size(), cut = size * byte / 256;
  const bool is_open = file.count_marks(0, cut).odd_quotes;
  require(file.count_records(0, cut, false) + file.count_records(cut, size, is_open) == records,
          "records counted", text);
}

}  // namespace gibbsite::fuzz
