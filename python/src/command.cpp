// The command line program, in this process.
#include <signal.h>

#include <array>

#include "bind.hpp"
#include "cli/run_command.hpp"

namespace gibbsite::python {
namespace {

/// Gives Python its handlers back.
class Handlers {
 public:
  Handlers() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], nullptr, &held_[i]);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;
  ~Handlers() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &held_[i], nullptr);
  }

 private:
  static constexpr std::array signals{SIGINT, SIGTERM, SIGXFSZ};
  std::array<struct sigaction, signals.size()> held_{};
};

}  // namespace

void bind_command(nb::module_& m) {
  m.def(
      "run_command",
      [](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "gibbsite");
        std::vector<char*> argv;
        for (std::string& argument : arguments) argv.push_back(argument.data());
        argv.push_back(nullptr);
        const Handlers handlers;
        const nb::gil_scoped_release unlocked;
        return cli::run_command(static_cast<int>(arguments.size()), argv.data());
      },
      "arguments"_a,
      "`gibbsite ARGUMENTS`, the command line program in this process; its exit status.");
}

}  // namespace gibbsite::python
