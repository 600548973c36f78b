#pragma once
// What checks of a file say, and the checks that are the same of every kind. Internal to the
// certificate module.
#include <fmt/format.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/certificate/verify.hpp"

namespace gibbsite {

class Verifier {
 public:
  explicit Verifier(Verification& out) : out_(out) {}

  void check(bool holds, const std::string& line) {
    (holds ? out_.checks : out_.failures).push_back(line);
  }

  /// Runs one group of checks; whatever it throws is a failure of that group.
  template <class F>
  void guarded(const char* what, F checks) {
    try {
      checks();
    } catch (const std::exception& error) {
      const std::string_view said = error.what();
      out_.failures.push_back(said.starts_with(fmt::format("{}: ", what))
                                  ? std::string(said)
                                  : fmt::format("{}: {}", what, said));
    }
  }

  /// Every leaf of `expected` is in `claimed` with the same value, and nothing else is.
  void same(const std::string& path, const nlohmann::json& expected, const nlohmann::json& claimed);
  /// The format is one that is read, and the file has no other parts than its own.
  void check_parts(const nlohmann::json& file);
  void set_void(bool is_void) { out_.void_run = is_void; }
  /// The one-sided claims: they may be weaker than what is true, never stronger.
  void check_claims(const Claims& claimed, const Analysis& found);
  void check_digest(const nlohmann::json& file);
  /// The certificate's constants are those of the model.
  void same_problem(const nlohmann::json& of_model, const nlohmann::json& claimed);

 private:
  Verification& out_;
};

/// Whether the schema of a file's model refuses cells. Of a model part that cannot be read, which
/// fails elsewhere: that it does.
bool refuses_cells(const nlohmann::json& file);

}  // namespace gibbsite
