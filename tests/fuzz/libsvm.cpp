// First byte: schema and options; the rest is the table.
#include "table.hpp"

void gibbsite::fuzz::run(std::string_view in) {
  static File file;
  const unsigned byte = take_byte(in);
  const std::string& path = file.holding(in);
  accepts([&] { require_legal(read_libsvm(path, schema_of(byte), options_of(byte))); });
}
