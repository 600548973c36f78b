// One file per sub-command registers itself (command.hpp); this one runs them and turns every error
// into one line and an exit status.
#include "run_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/engine/machine.hpp"
#include "gibbsite/version.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "ranks.hpp"
#include "standard_output.hpp"
#include "streams.hpp"
#include "text.hpp"

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
  if (known) return;
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  throw BadInput(fmt::format("no command is called '{}'{}; see 'gibbsite --help'", name,
                             did_you_mean(name, names)));
}

// The first word that the command does not know, as it was written.
std::string unknown_word(const CLI::App& whole, int argc, char** argv) {
  // `ledger create` has options of its own.
  const auto of_command = whole.get_subcommands();
  const CLI::App& command = of_command.empty() ? whole : *of_command.front();
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("-") || command.get_option_no_throw(name) != nullptr) continue;
    double value = 0;
    const char* const end = word.data() + word.size();
    if (std::from_chars(word.data(), end, value).ptr == end) continue;  // -1 is a value
    if (name == "--arithmetic" || name == "--noise") {
      return fmt::format(
          "{}: is of bench, for throughput; certificates cover doubles and noise that the operating "
          "system keys, so leave it out",
          name);
    }
    const std::string of = of_command.empty() ? "" : whole.get_name() + " ";
    return fmt::format("{}: gibbsite {}{} has no such option{}", name, of, command.get_name(),
                       did_you_mean(name, names));
  }
  const std::vector<std::string> rest = whole.remaining(true);
  return fmt::format("'{}': gibbsite {} does not know what this belongs to",
                     rest.empty() ? "" : rest.front(), command.get_name());
}

// All options and files that a command lacks, in one line; empty if it lacks none.
std::string missing_options(const CLI::App& app) {
  const auto of_command = app.get_subcommands();
  if (!of_command.empty()) return missing_options(*of_command.front());
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    if (option->get_required() && option->count() == 0) names.push_back(option->get_name());
  if (names.empty()) return "";
  const std::vector<std::string> rest = app.remaining();
  return (rest.empty() ? "" : fmt::format("'{}' belongs to no option; ", rest.front())) +
         missing_words(names, app.get_name());
}

// What a command lacks that wants a word behind it, as ledger does.
std::string missing_word(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::App* sub : command.get_subcommands(nullptr)) words.push_back(sub->get_name());
  if (const std::vector<std::string> rest = command.remaining(true); !rest.empty()) {
    return fmt::format("{} {}: there is no such word; give one of {}{}", command.get_name(),
                       rest.front(), fmt::join(words, ", "), did_you_mean(rest.front(), words));
  }
  return fmt::format("{}: what to do is missing; give one of {}, such as gibbsite {} {}",
                     command.get_name(), fmt::join(words, ", "), command.get_name(),
                     words.empty() ? "" : words.front());
}

// The sentence of CLI11 without its capital, or one of this program's own.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::string what = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !app.get_subcommands().empty()) {
    what = unknown_word(*app.get_subcommands().front(), argc, argv);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (const std::string missing = missing_options(app); !missing.empty()) {
      what = missing;
    } else if (!app.get_subcommands().empty()) {
      what = missing_word(*app.get_subcommands().front());
    }
  }
  if (!what.empty()) what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
  const auto chosen = app.get_subcommands();
  return fmt::format("{}; see 'gibbsite {}--help'", what,
                     chosen.empty() ? "" : chosen.front()->get_name() + " ");
}

// What most people need of the options that a command has; the rest is listed behind.
constexpr std::array<std::string_view, 17> everyday{
    "--data",     "--labels",   "--schema",        "--model",     "--columns", "--out",
    "--epsilon",  "--delta",    "--force",         "--json",      "--all",     "--rows",
    "--features", "--row-norm", "--probabilities", "--intervals", "--check"};

void group_options(CLI::App& command) {
  constexpr std::size_t few = 10;
  const std::vector<CLI::Option*> options = command.get_options();
  if (options.size() <= few) return;
  for (CLI::Option* option : options) {
    const std::vector<std::string>& names = option->get_lnames();
    const bool listed = option->get_group() == "Options" && !names.empty() && names[0] != "help";
    if (listed && std::ranges::find(everyday, "--" + names[0]) == everyday.end()) {
      option->group("More options");
    }
  }
}

// Descriptions in lines that end before the hundredth column.
class Formatter : public CLI::Formatter {
 public:
  static constexpr std::size_t column = 30, width = 100;

  Formatter() {
    column_width(column);
    label("SUBCOMMAND", "COMMAND");
    label("REQUIRED", "(required)");
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(CLI::Formatter::make_option_desc(option));
  }

 private:
  static std::string wrapped(const std::string& text) {
    std::string out, word;
    std::size_t line = 0;
    const auto put = [&] {
      const std::size_t length = columns_of(word);
      if (line > 0 && line + 1 + length > width - column) {
        out += '\n', line = 0;
      } else if (line > 0) {
        out += ' ', ++line;
      }
      out += std::exchange(word, "");
      line += length;
    };
    for (const char c : text) c == ' ' ? put() : word.push_back(c);
    put();
    return out;
  }
};

void flush_output() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) {
    if (errno != 0) fail_output(errno);
    pollfd output{STDOUT_FILENO, POLLOUT, 0};  // of an earlier flush
    const bool left = ::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
    fail_output(left ? EPIPE : EIO);
  }
}

void run(int argc, char** argv) {
  reject_unknown_command(argc, argv);
  CLI::App app("Fits models and tables on private data and certifies what it publishes.",
               "gibbsite");
  app.set_version_flag("--version", "gibbsite " GIBBSITE_VERSION);
  app.formatter(std::make_shared<Formatter>());
  app.require_subcommand(1);
  app.footer(
      "Example:\n"
      "  gibbsite plan --data table.csv --schema table.toml --epsilon 1 --delta 1e-6\n\n"
      "'gibbsite COMMAND --help' shows the options and an example of each command.\n"
      "GIBBSITE_INSTRUCTIONS=sse4, avx2 or avx512 in the environment chooses the vector instructions.");
  std::sort(commands().begin(), commands().end(),
            [](const Command& a, const Command& b) { return a.order < b.order; });
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.purpose);
    sub->group("Commands");
    sub->footer(fmt::format("Example:\n  {}", command.example));
    command.define(*sub);
    group_options(*sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw BadInput(usage_error(app, error, argc, argv));
    app.exit(error);  // --help, --version
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) throw;
    fail_output(error.code().value());  // more text than its buffer holds
  }
  flush_output();
}

int fail(const std::vector<Message>& messages, Status status) {
  std::vector<std::string> lines;
  for (const Message& message : messages) {
    lines.push_back(StandardOutput::named(in_options(message)));
    std::ranges::replace(lines.back(), '\n', ' ');
  }
  end_ranks(lines, status);
  for (const std::string& line : lines) fmt::print(stderr, "gibbsite: {}\n", shown(line));
  return static_cast<int>(status);
}

}  // namespace

int run_command(int argc, char** argv) {
  const SafeStreams streams;
  const LastWords last_words;
  std::signal(SIGXFSZ, SIG_IGN);  // a full quota is an error of write(), not a death
  stop_flag() = false;
  set_standard_arithmetic();
  const StandardOutput of_files;
  const RanksOfCommand of_command;
  try {
    instruction_set();  // obeys GIBBSITE_INSTRUCTIONS, or refuses it, before any kernel runs
    meet_ranks(argc, argv);
    // Where that one fails it ends the others; else they meet it in RanksOfCommand.
    if (is_first_rank() || !is_of_first_rank(argc, argv)) run(argc, argv);
    return 0;
  } catch (const BadInputs& errors) {  // a line each
    std::fflush(stdout);
    return fail(errors.lines, errors.status());
  } catch (const Error& error) {
    std::fflush(stdout);
    return fail({error.message()}, error.status());
  } catch (const ReaderLeft&) {
    constexpr int died_of = 128;  // as shells count
    return died_of + SIGPIPE;
  } catch (const std::bad_alloc&) {
    return fail({"out of memory; use a machine with more, or a smaller table"}, Status::bad_input);
  } catch (const std::exception& error) {
    return fail({fmt::format("unexpected: {}; please report this", error.what())},
                Status::bad_input);
  }
}

}  // namespace gibbsite::cli
