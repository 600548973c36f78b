#pragma once
// The checks of a schema, with the lines of its file when it came from one.
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/format_message.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Where the parts of a schema were written.
struct SchemaLines {
  std::string source;
  std::map<std::string, unsigned, std::less<>> keys = {};
  std::vector<unsigned> columns = {};                       ///< same order as Schema::columns
  std::vector<unsigned> interactions = {};                  ///< same order as Schema::interactions
  std::map<std::string, unsigned, std::less<>> nodes = {};  ///< of [network]

  /// 0: it has none.
  [[nodiscard]] unsigned of_key(std::string_view key) const {
    const auto line = keys.find(key);
    return line == keys.end() ? 0 : line->second;
  }
  [[nodiscard]] unsigned of_column(std::size_t j) const {
    return j < columns.size() ? columns[j] : 0;
  }
  [[nodiscard]] unsigned of_interaction(std::size_t i) const {
    return i < interactions.size() ? interactions[i] : 0;
  }
  [[nodiscard]] unsigned of_node(std::string_view node) const {
    const auto line = nodes.find(node);
    return line == nodes.end() ? of_key("network") : line->second;
  }
  /// "SOURCE:LINE: what".
  [[nodiscard]] Message at(unsigned line, const Message& what) const {
    return format_message("{}: {}", FilePosition{source, line}, what);
  }
};

/// A value that is not legal.
struct SchemaFault {
  unsigned line = 0;  ///< 0: of none
  Message message;
};
inline Message unlisted_of_several() {
  return format_message(
      "unlisted_label is of two classes: of several {} says what becomes of a label that is not "
      "listed; leave it out",
      Word{"invalid"});
}

inline Message unlisted_without_negative() {
  return format_message(
      "unlisted_label has a meaning beside {} only: without it every label but {} is the negative "
      "class; name {}, or leave it out",
      Word{"negative"}, Word{"positive"}, Word{"negative"});
}

/// What is wrong with a list of classes; empty: nothing.
std::string classes_fault(std::span<const std::string> classes);

std::vector<SchemaFault> schema_faults(const Schema& schema, const SchemaLines& lines);

/// Throws BadInputs, a line "SOURCE:LINE: ..." for each value that is not legal, if there is any.
void check_schema(const Schema& schema, const SchemaLines& lines);

}  // namespace gibbsite
