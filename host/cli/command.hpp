#pragma once
// A sub-command is one file: a function that adds its options and its callback, and a Register.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gibbsite::cli {

struct Command {
  int order;  ///< place in `gibbsite --help`
  const char* name;
  const char* purpose;            ///< one line
  const char* example;            ///< ends `gibbsite NAME --help`
  void (*define)(CLI::App& app);  ///< adds options; the callback throws gibbsite::Error
};

std::vector<Command>& commands();

struct Register {
  explicit Register(const Command& command) { commands().push_back(command); }
};

}  // namespace gibbsite::cli
