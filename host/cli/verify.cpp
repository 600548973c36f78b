#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/release/certificate.hpp"
#include "gibbsite/release/release.hpp"

namespace gibbsite::cli {
namespace {

void run(const std::string& path) {
  const nlohmann::json file = read_release_json(path);
  const Verification result = verify(file);
  for (const std::string& line : result.checks) fmt::print("ok    {}\n", line);
  for (const std::string& line : result.failures) fmt::print("FAIL  {}\n", line);
  if (result.valid) {
    fmt::print("\nVALID: every number of the certificate follows from its public constants.\n\n{}",
               in_words(file.at("certificate")));
    return;
  }
  fmt::print("\nNOT VALID\n");
  throw Infeasible(fmt::format("{}: NOT VALID{}: {}; rely on no guarantee of this file", path,
                               result.void_run ? " (void)" : "", result.failures.front()));
}

void define(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  app.add_option("model", *path, "model file that fit wrote")->type_name("FILE")->required();
  app.callback([path] { run(*path); });
}

const Register command{{5, "verify", "Recompute a certificate from its public numbers",
                        "gibbsite verify model.json", define}};

}  // namespace
}  // namespace gibbsite::cli
