#include "gibbsite/model/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bought_schema.hpp"
#include "command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"

namespace gibbsite::cli {
namespace {

// What is about to be published as names, so that a person sees it; "" of a file with names of its
// own.
std::string taken_for_names(const std::string& path) {
  constexpr std::size_t most = 12, longest = 60;
  const std::vector<std::string> names = first_line_names(path);
  if (names.empty()) return "";
  std::string list;
  for (std::size_t j = 0; j < std::min(most, names.size()); ++j)
    list += (j > 0 ? ", " : "") + gibbsite::quoted(names[j].substr(0, longest));
  if (names.size() > most) list += fmt::format(", and {} more", names.size() - most);
  return fmt::format("{}: the first line is taken for the names of the columns: {}", shown(path),
                     list);
}

void define_schema(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  app.add_option(
         "table", *path,
         "CSV with a header, .parquet or .arrow; without --epsilon names of columns are all "
         "that is read")
      ->type_name("FILE")
      ->required();
  const auto header = std::make_shared<std::string>("auto");
  app.add_option("--header", *header,
                 "yes: the first line names the columns whatever it looks like; auto: refuse one "
                 "with a number in it, or of words above a line of words")
      ->type_name("NAME");
  const auto purchase = std::make_shared<SchemaPurchase>();
  purchase->add_to(app);
  app.callback([path, header, purchase] {
    if (*header != "auto" && *header != "yes") {
      throw BadInput(fmt::format("--header: '{}' is neither auto nor yes; give one", *header));
    }
    if (purchase->asked()) {
      purchase->require_places(*path);
      const std::string names = taken_for_names(*path);
      if (!names.empty()) fmt::print(stderr, "gibbsite: note: {}\n", names);
      return purchase->run(*path, *header == "yes");
    }
    const std::string out =
        schema_template(*path, *header == "yes" ? Header::given : Header::unknown);
    const std::string taken = taken_for_names(*path);
    if (!taken.empty()) fmt::print(stderr, "gibbsite: note: {}\n", taken);
    fmt::print("{}", out);
  });
}

const Register schema_command{{6, "schema",
                               "Write a schema to fill in, from the header line alone, or buy one",
                               "gibbsite schema table.csv > table.toml", define_schema}};

}  // namespace
}  // namespace gibbsite::cli
