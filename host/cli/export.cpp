#include "export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "command.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/release/terms.hpp"
#include "options.hpp"
#include "standard_output.hpp"

namespace gibbsite::cli {
namespace {

OnnxWriter& onnx_writer() {
  static OnnxWriter one;
  return one;
}

// "07-hours-per-week.svg": the place of the column, and what of its name every file system takes.
std::string picture_name(std::size_t place, std::size_t all, const std::string& column) {
  constexpr std::size_t most = 60;
  std::string name;
  for (const char c : column) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (name.size() == most) break;
    if (plain || c == '_')
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return fmt::format("{:0{}}{}{}.svg", place,
                     fmt::formatted_size("{}", std::max<std::size_t>(all, 10)),
                     name.empty() ? "" : "-", name);
}

struct ExportCommand {
  std::string model, onnx, plots;
  bool force = false;

  void run() const {
    if (onnx.empty() && plots.empty())
      throw BadInput("--onnx, --plots: neither is given; name what to write");
    if (!onnx.empty()) {
      require_other_file(onnx, model, "--model", "--onnx");
      require_new(onnx, force, "--onnx");
    }
    const bool is_there = !plots.empty() && is_full_folder(plots);
    if (!plots.empty() && !(force && is_there)) require_free_folder();
    const Release release = read_release(model);
    if (!onnx.empty()) write_graph(release);
    if (!plots.empty()) write_plots(release, is_there);
  }

 private:
  static bool is_full_folder(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_directory(path, ignored) &&
           !std::filesystem::is_empty(path, ignored);
  }

  void require_free_folder() const {
    if (is_full_folder(plots))
      throw BadInput(fmt::format(
          "--plots: {} is there and not empty; give another folder, or --force to write into it",
          plots));
    NewFolder::require_free(plots);
  }

  void write_plots(const Release& release, bool is_there) const {
    const std::string mark = release.certificate().is_void()
                                 ? "NO GUARANTEE: this model is void as a private release."
                                 : "";
    const std::string words = term_words(release.model());
    std::vector<std::pair<std::string, std::string>> files;
    const std::vector<TermPicture> pictures = term_pictures(release.model());
    for (std::size_t k = 0; k < pictures.size(); ++k)
      files.emplace_back(picture_name(k + 1, pictures.size(), pictures[k].column),
                         term_svg(pictures[k], words, mark));
    if (is_there) {  // every file is the old one or the new one
      for (const auto& [name, text] : files)
        write_file_atomically(fmt::format("{}/{}", plots, name), text, public_file);
      return;
    }
    NewFolder folder(plots, 0755);
    for (const auto& [name, text] : files)
      write_file_atomically(folder.file(name), text, public_file);
    folder.commit();
  }

  void write_graph(const Release& release) const {
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
  app.add_option("--model,model", command->model, "model file that fit wrote")
      ->type_name("FILE")
      ->required();
  add_output(app, "--onnx", command->onnx,
             "the ONNX graph to write: encoding, clipping and link in one (docs/how-to/onnx.md)");
  app.add_option("--plots", command->plots,
                 "a new folder for a picture (SVG) of each column's effect")
      ->type_name("DIR");
  add_force(app, command->force);
  app.callback([command] { command->run(); });
}

const Register export_command{{5, "export", "Write a model for programs that know no gibbsite",
                               "gibbsite export model.json --plots pictures", define_export}};

}  // namespace

void set_onnx_writer(OnnxWriter writer) { onnx_writer() = std::move(writer); }

}  // namespace gibbsite::cli
