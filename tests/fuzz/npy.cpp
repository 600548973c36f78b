// First byte: schema and options; then the file of X and, from the second magic string on, that of
// y.
#include "table.hpp"

void gibbsite::fuzz::run(std::string_view in) {
  static File x, y;
  const unsigned byte = take_byte(in);
  const std::size_t second = in.find("\x93NUMPY", 1);
  ReadOptions options = options_of(byte);
  if (second != std::string_view::npos) options.label_path = y.holding(in.substr(second));
  const std::string& path = x.holding(in.substr(0, second));
  accepts([&] { require_legal(read_npy(path, schema_of(byte), options)); });
}
