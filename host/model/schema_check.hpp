#pragma once
// The checks of a schema, with the lines of its file when it came from one.
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Where the parts of a schema were written.
struct SchemaLines {
  std::string source;
  std::map<std::string, unsigned, std::less<>> keys = {};
  std::vector<unsigned> columns = {};  ///< same order as Schema::columns

  [[nodiscard]] std::string where(std::string_view key) const {
    const auto line = keys.find(key);
    return line == keys.end() ? source : fmt::format("{}:{}", source, line->second);
  }
  [[nodiscard]] std::string where_column(std::size_t j) const {
    return j < columns.size() ? fmt::format("{}:{}", source, columns[j]) : source;
  }
};

/// Throws BadInputs, a line "SOURCE:LINE: ..." for each value that is not legal, if there is any.
void check_schema(const Schema& schema, const SchemaLines& lines);

}  // namespace gibbsite
