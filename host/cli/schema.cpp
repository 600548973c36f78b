#include "gibbsite/data/schema.hpp"

#include <fmt/format.h>

#include <memory>

#include "command.hpp"

namespace gibbsite::cli {
namespace {

void define(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  app.add_option("table", *path, "CSV with a header; only that line is read")
      ->type_name("FILE")
      ->required();
  app.callback([path] { fmt::print("{}", schema_template(*path)); });
}

const Register command{{6, "schema", "Write a schema to fill in, from the header line alone",
                        "gibbsite schema table.csv > table.toml", define}};

}  // namespace
}  // namespace gibbsite::cli
