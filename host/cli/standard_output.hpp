#pragma once
// Standard output as the place of a file that a command writes.
#include <CLI/CLI.hpp>
#include <string>

namespace gibbsite::cli {

/// Adds the option of a file to write. "-" and "/dev/stdout" are standard output: what the command
/// prints for people then goes to standard error, so that nothing but the file is in the stream.
CLI::Option* add_output(CLI::App& app, const std::string& name, std::string& path,
                        const std::string& help);

/// Lives as long as a command: gives standard output back at its end.
class StandardOutput {
 public:
  StandardOutput() = default;
  ~StandardOutput();
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  /// The text with `name` wherever the descriptor stands that took the place of standard output.
  [[nodiscard]] static std::string named(std::string text,
                                         const std::string& name = "standard output");
};

}  // namespace gibbsite::cli
