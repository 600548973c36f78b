#include "gibbsite/model/schema.hpp"

#include <fmt/format.h>

#include <memory>

#include "command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/schema_file.hpp"

namespace gibbsite::cli {
namespace {

void define_schema(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  app.add_option("table", *path,
                 "CSV with a header, .parquet or .arrow; names of columns are all that is read")
      ->type_name("FILE")
      ->required();
  const auto header = std::make_shared<std::string>("auto");
  app.add_option("--header", *header,
                 "yes: the first line names the columns whatever it looks like; auto: refuse one "
                 "with a number in it")
      ->type_name("NAME");
  app.callback([path, header] {
    if (*header != "auto" && *header != "yes") {
      throw BadInput(fmt::format("--header: '{}' is neither auto nor yes; give one", *header));
    }
    fmt::print("{}", schema_template(*path, *header == "yes" ? Header::given : Header::unknown));
  });
}

const Register schema_command{{6, "schema", "Write a schema to fill in, from the header line alone",
                               "gibbsite schema table.csv > table.toml", define_schema}};

}  // namespace
}  // namespace gibbsite::cli
