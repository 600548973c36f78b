#include "export.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "command.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "options.hpp"
#include "standard_output.hpp"

namespace gibbsite::cli {
namespace {

OnnxWriter& onnx_writer() {
  static OnnxWriter one;
  return one;
}

struct ExportCommand {
  std::string model, onnx;
  bool force = false;

  void run() const {
    require_other_file(onnx, model, "--model", "--onnx");
    require_new(onnx, force, "--onnx");
    const Release release = read_release(model);
    if (release.model().legacy_link) {
      throw BadInput(model +
                     ": model.link: capped-logistic, of a file of gibbsite-release/2, has no "
                     "graph; fit the model again");
    }
    const std::string text = to_json(release).dump();
    if (!onnx_writer()) {
      throw BadInput(
          "--onnx: this program writes none by itself; use the one that Python installs (pip "
          "install 'gibbsite[onnx]')");
    }
    const std::string graph = onnx_writer()(text);
    write_new(
        onnx, force,
        [&](Existing existing) { write_file_atomically(onnx, graph, public_file, existing); },
        "--onnx");
  }
};

void define_export(CLI::App& app) {
  const auto command = std::make_shared<ExportCommand>();
  app.add_option("--model", command->model, "model file that fit wrote")
      ->type_name("FILE")
      ->required();
  add_output(app, "--onnx", command->onnx,
             "the ONNX graph to write: encoding, clipping and link in one (docs/how-to/onnx.md)")
      ->required();
  add_force(app, command->force);
  app.callback([command] { command->run(); });
}

const Register export_command{{5, "export", "Write a model for programs that know no gibbsite",
                               "gibbsite export --model model.json --onnx model.onnx",
                               define_export}};

}  // namespace

void set_onnx_writer(OnnxWriter writer) { onnx_writer() = std::move(writer); }

}  // namespace gibbsite::cli
