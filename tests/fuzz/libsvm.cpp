// First byte: schema and options; the rest is the table.
#include "data/compressed.hpp"
#include "data/parts.hpp"
#include "table.hpp"

void gibbsite::fuzz::run(std::string_view in) {
  static File file;
  const unsigned byte = take_byte(in);
  const std::string& path = file.holding(in);
  std::uint64_t rows = 0;
  if (accepts([&] {
        const Dataset data = read_libsvm(path, schema_of(byte), options_of(byte));
        require_legal(data);
        rows = data.rows();
      }) &&
      !is_compressed(in))
    require_records(path, libsvm_rules(path), in, byte, rows);
}
