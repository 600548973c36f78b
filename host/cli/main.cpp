// gibbsite: one file per sub-command registers itself (command.hpp); this one runs them and turns
// every error into one line and an exit status.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>

#include "command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite::cli {

std::vector<Command>& commands() {
  static std::vector<Command> all;
  return all;
}

namespace {

void reject_unknown_command(int argc, char** argv) {
  if (argc < 2) throw BadInput("no command given; see 'gibbsite --help'");
  const std::string name = argv[1];
  if (name.starts_with("-")) return;
  const bool known = std::any_of(commands().begin(), commands().end(),
                                 [&](const Command& c) { return c.name == name; });
  if (!known) throw BadInput(fmt::format("no command is called '{}'; see 'gibbsite --help'", name));
}

// CLI11's sentence, without its capital.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string what = error.what();
  if (!what.empty()) what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
  const auto chosen = app.get_subcommands();
  return fmt::format("{}; see 'gibbsite {}--help'", what,
                     chosen.empty() ? "" : chosen.front()->get_name() + " ");
}

void flush_output() {
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) {
    throw BadInput("standard output: cannot write; free space or choose another place");
  }
}

void run(int argc, char** argv) {
  reject_unknown_command(argc, argv);
  CLI::App app("Fits a logistic regression on private data and certifies what it gives away.",
               "gibbsite");
  app.set_version_flag("--version", "gibbsite " GIBBSITE_VERSION);
  app.get_formatter()->column_width(34);
  app.get_formatter()->label("Subcommands", "Commands");
  app.require_subcommand(1);
  app.footer(
      "Example:\n"
      "  gibbsite plan --data table.csv --schema table.toml --epsilon 1 --delta 1e-6\n\n"
      "'gibbsite COMMAND --help' shows the options and an example of each command.");
  std::sort(commands().begin(), commands().end(),
            [](const Command& a, const Command& b) { return a.order < b.order; });
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.purpose);
    sub->footer(fmt::format("Example:\n  {}", command.example));
    command.define(*sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw BadInput(usage_error(app, error));
    app.exit(error);  // --help, --version
  }
  flush_output();
}

int fail(std::string message, Status status) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  fmt::print(stderr, "gibbsite: {}\n", shown(message));
  return static_cast<int>(status);
}

}  // namespace
}  // namespace gibbsite::cli

int main(int argc, char** argv) {
  using namespace gibbsite;
  std::signal(SIGXFSZ, SIG_IGN);  // a full quota is an error of write(), not a death
  try {
    cli::run(argc, argv);
    return 0;
  } catch (const Error& error) {
    std::fflush(stdout);
    return cli::fail(error.what(), error.status());
  } catch (const std::bad_alloc&) {
    return cli::fail("out of memory; use a machine with more, or a smaller table",
                     Status::bad_input);
  } catch (const std::exception& error) {
    return cli::fail(fmt::format("unexpected: {}; please report this", error.what()),
                     Status::bad_input);
  }
}
