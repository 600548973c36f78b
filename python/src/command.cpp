// The command line program, in this process.
#include <signal.h>

#include <array>

#include "bind.hpp"
#include "cli/export.hpp"
#include "cli/run_command.hpp"
#include "gibbsite/core/error.hpp"

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
      "set_onnx_writer",
      [](const nb::callable& write) {
        // Lives as long as the process: the library keeps it beyond the interpreter.
        PyObject* const kept = write.inc_ref().ptr();
        cli::set_onnx_writer([kept](const std::string& text) {
          const nb::gil_scoped_acquire locked;
          try {
            const auto graph = nb::cast<nb::bytes>(nb::borrow(kept)(text));
            return std::string(graph.c_str(), graph.size());
          } catch (nb::python_error& e) {
            std::string what = nb::cast<std::string>(nb::str(e.value()));
            if (const auto end = what.find('\n'); end != std::string::npos) what.resize(end);
            throw BadInput("--onnx: " + what);
          }
        });
      },
      "write"_a,
      "Sets the function from the text of a model file to the bytes of its ONNX graph, which "
      "`gibbsite export` calls.");
  m.def(
      "run_command",
      [](const std::vector<Path>& words) {
        std::vector<std::string> arguments{"gibbsite"};
        for (const Path& word : words) arguments.push_back(word.string());
        std::vector<char*> argv;
        for (std::string& argument : arguments) argv.push_back(argument.data());
        argv.push_back(nullptr);
        const Handlers handlers;
        const nb::gil_scoped_release unlocked;
        return cli::run_command(static_cast<int>(arguments.size()), argv.data());
      },
      "arguments"_a,
      "Runs the command line program `gibbsite` with these arguments in this process, and "
      "returns its exit status (docs/reference/command-line.md).");
}

}  // namespace gibbsite::python
