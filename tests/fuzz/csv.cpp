// First byte: schema and options; the rest is the table.
#include "data/csv.hpp"

#include "gibbsite/data/schema_file.hpp"
#include "table.hpp"

void gibbsite::fuzz::run(std::string_view in) {
  static File file;
  const unsigned byte = take_byte(in);
  const std::string& path = file.holding(in);
  accepts([&] { require_legal(read_csv(path, schema_of(byte), options_of(byte))); });
  if ((byte & 32) == 0) return;
  // A template is refused until a person has filled it in, whatever the header holds.
  std::string text;
  if (accepts([&] { text = schema_template(path); })) {
    require(!accepts([&] { parse_schema(text, "template"); }), "a template that is a schema", text);
  }
}
