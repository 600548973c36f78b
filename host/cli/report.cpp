#include "gibbsite/release/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/release/registry_entry.hpp"
#include "options.hpp"
#include "standard_output.hpp"

namespace gibbsite::cli {
namespace {

// What all releases of a ledger come to, for whoever reads of one of them: `text` is its file's.
std::string ledger_words(const std::string& path, const std::string& text) {
  if (path.empty()) return "";
  const LedgerState state = Ledger(path).read();
  const auto file = nlohmann::json::parse(text, nullptr, false);
  const nlohmann::json::json_pointer digest("/certificate/digest");
  if (!file.contains(digest)) return "";  // no model file, which registry_entry refuses
  if (std::ranges::none_of(state.entries, [&](const LedgerEntry& entry) {
        return file.at(digest) == entry.digest;
      })) {
    throw BadInput(fmt::format(
        "--ledger: {} holds no release of this file; give the ledger that the release was made "
        "with, or leave it out",
        shown(path)));
  }
  return fmt::format(
      "A ledger adds up all releases about these people: {} so far, and never more than (ε, δ) = "
      "({:.6g}, {:.3g}) together.",
      state.entries.size(), state.terms.epsilon, state.terms.delta);
}

struct ReportCommand {
  std::string model, out, words, registry, about, ledger;
  bool prints = false, force = false;

  void run() const {
    if (prints) {
      fmt::print("{}", default_report_template().text);
      return;
    }
    if (model.empty())
      throw BadInput(
          "--model: is missing; give it, such as --model model.json; see 'gibbsite report --help'");
    if (out.empty() && registry.empty())
      throw BadInput(
          "--out: is missing; give it, such as --out report.html; see 'gibbsite report --help'");
    if (registry.empty() != about.empty()) {
      throw BadInput(registry.empty()
                         ? "--about: is of an entry; give --registry too, or leave it out"
                         : "--about: is missing; --registry wants what the curator says of the "
                           "release, in TOML (docs/how-to/report.md)");
    }
    if (!ledger.empty() && registry.empty())
      throw BadInput("--ledger: is of an entry; give --registry too, or leave it out");
    if (out.empty() && !words.empty())
      throw BadInput("--template: is of a page; give --out too, or leave it out");
    require(out, "--out");
    require(registry, "--registry");
    if (!registry.empty()) require_other_file(registry, about, "what is said", "--registry");
    // All that can be wrong is found before anything is written.
    const std::string text = read_release_text(model);
    const std::string entry =
        registry.empty()
            ? ""
            : to_yaml(registry_entry(text, model, read_about(about), ledger_words(ledger, text)));
    if (!out.empty()) write(out, page_of(text), "--out");
    if (!registry.empty()) write(registry, entry, "--registry");
  }

 private:
  [[nodiscard]] std::string page_of(const std::string& text) const {
    if (words.empty()) return html_report(text, model);
    require_other_file(out, words, "the template", "--out");
    return html_report(text, model, read_report_template(words));
  }
  void require(const std::string& path, const char* option) const {
    if (path.empty()) return;
    require_other_file(path, model, "the model", option);
    require_new(path, force, option);
  }
  void write(const std::string& path, const std::string& text, const char* option) const {
    write_new(
        path, force,
        [&](Existing existing) { write_file_atomically(path, text, public_file, existing); },
        option);
  }
};

void define_report(CLI::App& app) {
  const auto command = std::make_shared<ReportCommand>();
  app.add_option("--model,model", command->model,
                 "a model, draws, a network, a table or a schema that was released")
      ->type_name("FILE");
  add_output(app, "--out", command->out,
             "the page (HTML); written whole or not at all; - is standard output");
  app.add_option("--template", command->words,
                 "words of the page in place of the program's; an edited copy of what "
                 "--print-template writes (docs/reference/report-template.md)")
      ->type_name("FILE");
  app.add_flag("--print-template", command->prints, "print the words of the page, to be edited");
  add_output(app, "--registry", command->registry,
             "an entry for the OpenDP registry of deployments (YAML), from --about");
  app.add_option("--about", command->about,
                 "--registry: what the curator says of the release (TOML)")
      ->type_name("FILE");
  app.add_option("--ledger", command->ledger,
                 "--registry: the ledger of these people, whose total the entry names")
      ->type_name("FILE");
  add_force(app, command->force);
  app.callback([command] { command->run(); });
}

const Register report_command{
    {5, "report", "One page on a model and its guarantee, for people who do not run the program",
     "gibbsite report model.json --out report.html", define_report}};

}  // namespace
}  // namespace gibbsite::cli
