#include <fmt/format.h>

#include "command.hpp"
#include "gibbsite/engine/engine.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

void define_devices(CLI::App& app) {
  app.callback([] {
    std::vector<std::vector<std::string>> lines{{"backend", "available", ""}};
    for (const BackendInfo& info : list_backends()) {
      lines.push_back({info.name, info.available ? "yes" : "no", in_options(info.description)});
    }
    fmt::print("{}", table(lines));
  });
}

const Register devices_command{{7, "devices", "List the backends and what they can use here",
                                "gibbsite devices", define_devices}};

}  // namespace
}  // namespace gibbsite::cli
