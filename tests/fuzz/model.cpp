// The input is model.json. What is read, and can be written, is read again to the same.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "fuzz.hpp"
#include "gibbsite/certificate/model_file.hpp"

void gibbsite::fuzz::run(std::string_view in) {
  static File file;
  const std::string& path = file.holding(in);
  std::optional<Release> release;
  if (!accepts([&] { release = release_from_json(read_release_json(path), path); })) return;
  // Settings that no run could have are found when what follows from them is asked for.
  std::string written;
  if (!accepts([&] { written = to_json(*release).dump(); })) return;
  const Release again = release_from_json(nlohmann::json::parse(written), "written");
  require(to_json(again).dump() == written, "a release that does not read back", written);
}
