// The input is the TOML. What is read is written and read again to the same.
#include "gibbsite/model/schema.hpp"

#include "fuzz.hpp"
#include "gibbsite/data/schema_file.hpp"

namespace gibbsite::fuzz {
namespace {

// count = 10000000 is legal and takes a gigabyte.
bool is_large(std::string_view in) {
  if (in.find("count") == std::string_view::npos) return false;
  std::size_t digits = 0;
  for (const char c : in) {
    digits = std::string_view("0123456789abcdefABCDEF_xo+").find(c) != std::string_view::npos
                 ? digits + 1
                 : 0;
    if (digits > 5) return true;
  }
  return false;
}

}  // namespace

void run(std::string_view in) {
  if (is_large(in)) return;
  Schema schema;
  if (!accepts([&] { schema = parse_schema(std::string(in), "schema.toml"); })) return;
  const std::string text = to_toml(schema);
  require(parse_schema(text, "written") == schema, "a schema that does not read back", text);
  require(schema.feature_names().size() == schema.features(), "names of features", text);
}

}  // namespace gibbsite::fuzz
