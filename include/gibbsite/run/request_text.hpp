#pragma once
// What a user asks for, where it comes as text: from the command line, or by the C interface.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/model/bought_schema.hpp"
#include "gibbsite/model/label.hpp"
#include "gibbsite/run/plan_request.hpp"

namespace gibbsite {

/// A finite number. Throws BadInput "NAME: ...".
double parse_number(const std::string& text, const std::string& name);
/// Numbers with commas between. Throws BadInput "NAME: ...".
std::vector<double> parse_numbers(const std::string& list, const std::string& name);
/// A whole number from `least` to 2^53. Throws BadInput "NAME: ...".
std::uint64_t parse_count(const std::string& text, const std::string& name, std::uint64_t least);
/// "true" or "false". Throws BadInput "NAME: ...".
bool parse_flag(const std::string& text, const std::string& name);
/// The pieces of a list with commas between; of "" one, empty.
std::vector<std::string> pieces(const std::string& list);

/// Sets the field of that name. Returns whether there is one. Throws BadInput "NAME: ..." on a text
/// that is no value of it.
bool set_field(PlanRequest& request, const std::string& name, const std::string& text);

/// The label of a bought schema, by the names of a schema's keys.
struct LabelRequest {
  std::string label{}, positive{};
  std::vector<std::string> classes{};
  std::optional<std::vector<double>> range{};
  std::optional<double> tolerance{};
  bool counts = false;

  /// What the column holds. Throws BadInput where nothing, or two things, are said of it.
  [[nodiscard]] Label target() const;
};

/// Columns of a bought schema that say how rows count, with their public ranges.
struct CountingRequest {
  std::string person{}, weight{}, exposure{};
  std::optional<std::vector<double>> weight_range{}, exposure_range{};

  /// The first field that is set, or null.
  [[nodiscard]] const char* said() const;
  /// Throws BadInput where a column lacks its range or a range its column, or is none.
  [[nodiscard]] CountingColumns columns() const;
};

}  // namespace gibbsite
