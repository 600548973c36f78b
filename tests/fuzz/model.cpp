// The input is model.json. A release that is read is written and read again to the same.
#include <nlohmann/json.hpp>
#include <optional>

#include "fuzz.hpp"
#include "gibbsite/certificate/model_file.hpp"

void gibbsite::fuzz::run(std::string_view in) {
  static File file;
  const std::string& path = file.holding(in);
  std::optional<Release> release;
  if (!accepts([&] { release = release_from_json(read_release_json(path), path); })) return;
  const nlohmann::json written = to_json(*release);
  require(to_json(release_from_json(written, "written")) == written,
          "a release that does not read back", written.dump());
}
