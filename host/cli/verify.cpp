#include "gibbsite/certificate/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "command.hpp"
#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/certificate/column_guarantee.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/signature.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "options.hpp"
#include "text.hpp"

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

struct VerifyCommand {
  std::string path, signer, signature, column;
  std::optional<double> moves_by{};
  bool verbose = false;
  void run() const;
};

void VerifyCommand::run() const {
  if (signer.empty() && !signature.empty()) {
    throw BadInput("--signature: says nothing without a key; give --signer too");
  }
  if (column.empty() && moves_by) {
    throw BadInput(Field{"moves_by"}, "says nothing without a column",
                   Message("give ") + Field{"column"} + Message(" too"));
  }
  const std::string text = read_release_text(path);
  const nlohmann::json file = parse_release_json(text, path);
  if (!signer.empty()) {  // first: nothing of a file by somebody else counts
    require_signed(path, text, read_key_file(signature.empty() ? path + ".sig" : signature),
                   read_key_file(signer));
    fmt::print("SIGNED: every byte is as the holder of the key of {} signed it.\n", signer);
  }
  const Verification result = verify(file);
  if (result.valid) {
    fmt::print("VALID: every number of the certificate follows from its public constants.\n\n{}\n",
               in_words(file.at("certificate")));
    if (!column.empty())
      fmt::print("{}\n", wrapped_lines(in_words(column_guarantee(file, column, moves_by))));
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
  const auto command = std::make_shared<VerifyCommand>();
  app.add_option("--model,model", command->path,
                 "a file that fit, table or another command released")
      ->type_name("FILE")
      ->required();
  app.add_option("--signer", command->signer, "public key of whoever must have signed it")
      ->type_name("FILE");
  app.add_option("--signature", command->signature,
                 "where the signature is; default: the model's name and .sig")
      ->type_name("FILE");
  app.add_option("--column", command->column,
                 "also say what is guaranteed of this column of a person, a weaker unit")
      ->type_name("NAME");
  add_number(app, "--moves-by", command->moves_by,
             "with --column: between two numbers at most this far apart");
  app.add_flag("--verbose", command->verbose, "print every check");
  app.callback([command] { command->run(); });
}

const Register verify_command{{5, "verify", "Recompute a certificate from its public numbers",
                               "gibbsite verify model.json", define_verify}};

}  // namespace
}  // namespace gibbsite::cli
