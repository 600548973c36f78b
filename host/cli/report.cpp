#include "gibbsite/release/report.hpp"

#include <fmt/format.h>

#include <memory>

#include "command.hpp"
#include "gibbsite/core/file.hpp"
#include "options.hpp"
#include "standard_output.hpp"

namespace gibbsite::cli {
namespace {

struct ReportCommand {
  std::string model, out;
  bool force = false;

  void run() const {
    require_other_file(out, model, "the model");
    require_new(out, force);
    const std::string page = read_html_report(model);
    write_new(out, force,
              [&](Existing existing) { write_file_atomically(out, page, public_file, existing); });
  }
};

void define_report(CLI::App& app) {
  const auto command = std::make_shared<ReportCommand>();
  app.add_option("model", command->model, "model file that fit wrote")
      ->type_name("FILE")
      ->required();
  add_output(app, "--out", command->out,
             "the page (HTML); written whole or not at all; - is standard output")
      ->required();
  add_force(app, command->force);
  app.callback([command] { command->run(); });
}

const Register report_command{
    {5, "report", "One page on a model and its guarantee, for people who do not run the program",
     "gibbsite report model.json --out report.html", define_report}};

}  // namespace
}  // namespace gibbsite::cli
