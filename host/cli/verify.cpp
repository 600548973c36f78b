#include "gibbsite/certificate/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "command.hpp"
#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite::cli {
namespace {

// What a skeptic wants to see recomputed; the rest is equality of fields.
bool is_headline(std::string_view line) {
  constexpr std::array<std::string_view, 12> headlines{
      "guarantee.mu:",      "guarantee.pure:",     "guarantee.reveal:",    "guarantee.delta:",
      "guarantee.tv:",      "constants.lipschitz", "constants.smoothness", "constants.sensitivity",
      "numerics.map_error", "numerics.noise",      "model.coefficients:",  "model.draws:"};
  return std::any_of(headlines.begin(), headlines.end(),
                     [&](std::string_view head) { return line.starts_with(head); });
}

// The checks that held, the headlines of them alone unless `verbose`.
void print_checks(const Verification& result, bool verbose) {
  std::size_t hidden = 0;
  for (const std::string& line : result.checks) {
    if (verbose || is_headline(line)) {
      fmt::print("ok    {}\n", shown(line));
    } else {
      ++hidden;
    }
  }
  if (hidden > 0) fmt::print("ok    {} more fields as expected; --verbose lists them\n", hidden);
}

void run(const std::string& path, bool verbose) {
  const nlohmann::json file = read_release_json(path);
  const Verification result = verify(file);
  if (result.valid) {
    fmt::print("VALID: every number of the certificate follows from its public constants.\n\n{}\n",
               in_words(file.at("certificate")));
    return print_checks(result, verbose);
  }
  fmt::print("NOT VALID: what does not hold comes first, then what does.\n\n");
  for (const std::string& line : result.failures) fmt::print("FAIL  {}\n", shown(line));
  print_checks(result, verbose);
  const bool digest_alone =
      result.failures.size() == 1 && result.failures[0].starts_with("certificate.digest: ");
  throw Infeasible(fmt::format(
      "{}: NOT VALID{}: {}; {}", path, result.void_run ? " (void)" : "", result.failures.front(),
      digest_alone ? "the numbers of the guarantee follow from its constants, but what else was "
                     "changed cannot be told: get the file as it was written"
                   : "rely on no guarantee of this file"));
}

void define_verify(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  const auto verbose = std::make_shared<bool>(false);
  app.add_option("model", *path, "model file that fit wrote")->type_name("FILE")->required();
  app.add_flag("--verbose", *verbose, "print every check");
  app.callback([path, verbose] { run(*path, *verbose); });
}

const Register verify_command{{5, "verify", "Recompute a certificate from its public numbers",
                               "gibbsite verify model.json", define_verify}};

}  // namespace
}  // namespace gibbsite::cli
