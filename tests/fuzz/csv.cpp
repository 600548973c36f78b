// First byte: schema and options; the rest is the table.
#include "data/csv.hpp"

#include "data/compressed.hpp"
#include "data/parts.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "table.hpp"

namespace {
// In whose tables blank lines are rows.
const gibbsite::Schema& one_column() {
  static const gibbsite::Schema schema = gibbsite::parse_schema(
      "label = \"y\"\npositive = \"1\"\nmissing = \"\"\n[columns]\n"
      "x = {type = \"category\", levels = [\"1\", \"\\n\\n\"], other = true}\n",
      "schema");
  return schema;
}
}  // namespace

void gibbsite::fuzz::run(std::string_view in) {
  static File file;
  const unsigned byte = take_byte(in);
  const std::string& path = file.holding(in);
  std::uint64_t rows = 0;
  if (accepts([&] {
        const Schema& schema = (byte & 64) != 0 ? one_column() : schema_of(byte);
        const Dataset data = read_csv(path, schema, options_of(byte));
        require_legal(data);
        rows = data.rows();
      }) &&
      !is_compressed(in))
    require_records(path, csv_rules(path), in, byte, rows + 1);
  if ((byte & 32) == 0) return;
  // A template is refused until a person has filled it in, whatever the header holds.
  std::string text;
  if (accepts([&] { text = schema_template(path); })) {
    require(!accepts([&] { parse_schema(text, "template"); }), "a template that is a schema", text);
  }
}
