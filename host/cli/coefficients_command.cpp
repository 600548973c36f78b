#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coefficients.hpp"
#include "command.hpp"
#include "covariance.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/release/coefficients.hpp"
#include "gibbsite/release/transitions.hpp"
#include "transitions.hpp"

namespace gibbsite::cli {
namespace {

// The records of a CSV text, one cell longer each.
std::string with_last_cell(const std::string& csv, const std::string& of_header,
                           const std::string& of_rows, bool with_header) {
  std::string out, record;
  bool quoted = false, in_header = true;
  for (const char c : csv) {
    quoted = quoted != (c == '"');
    if (c != '\n' || quoted) {
      record += c;
      continue;
    }
    if (!in_header || with_header) out += record + "," + (in_header ? of_header : of_rows) + "\n";
    in_header = false;
    record.clear();
  }
  return out;
}

// Every coefficient; of several draws each, by its number in the last column.
std::string every_effect(LinearModel model, const Certificate& certificate,
                         const References& references) {
  if (model.draws.size() == 1) return effects_csv(effect_table(model, certificate, references));
  std::string out;
  for (std::size_t draw = 0; draw < model.draws.size(); ++draw) {
    std::swap(model.draws[0], model.draws[draw]);
    out += with_last_cell(effects_csv(effect_table(model, certificate, references)), "draw",
                          fmt::format("{}", draw + 1), draw == 0);
    std::swap(model.draws[0], model.draws[draw]);
  }
  return out;
}

struct CoefficientsCommand {
  std::string model;
  std::vector<std::string> references;
  bool csv = false, all = false;

  void run() const {
    const std::string text = read_release_text(model);
    if (holds<CovarianceKind>(text, model))
      return print(parse_release<CovarianceKind>(text, model));
    if (holds<GraphicalKind>(text, model)) {
      const auto network = parse_release<GraphicalKind>(text, model);
      if (has_transitions(network.model())) return print(network);
    }
    const Release release = parse_release(text, model);
    CoefficientView view{.all = all, .references = {}, .file = model};
    for (const std::string& reference : references)
      add_reference(release.model().schema, reference, view.references);
    if (csv) {
      fmt::print("{}", every_effect(release.model(), release.certificate(), view.references));
    } else {
      fmt::print("{}", coefficient_report(release.model(), release.certificate(), view));
    }
  }

  void print(const CovarianceRelease& release) const {
    if (!references.empty())
      throw BadInput("--reference: is of levels, and the file holds moments; leave it out");
    fmt::print("{}", csv ? covariance_csv(release) : covariance_report(release));
  }
  void print(const NetworkRelease& release) const {
    if (!references.empty())
      throw BadInput("--reference: is of effects, and the file holds transitions; leave it out");
    if (release.certificate().is_void())
      fmt::print(stderr, "gibbsite: warning: {}: its noise follows from a seed: no guarantee\n",
                 model);
    fmt::print("{}", csv ? transitions_csv(release) : transitions_report(release));
  }
};

void define_coefficients(CLI::App& app) {
  const auto command = std::make_shared<CoefficientsCommand>();
  app.add_option("--model,model", command->model, "model file that fit wrote")
      ->type_name("FILE")
      ->required();
  app.add_flag("--all", command->all, "every effect, not the surest alone");
  app.add_flag("--csv", command->csv,
               "every effect as CSV: estimate, std_err, lower, upper, p_value, odds_ratio, ...; of "
               "several draws each, with its number in the column draw");
  app.add_option("--reference", command->references,
                 "COLUMN=LEVEL: the level that a column's others are set against; may be given "
                 "for several columns")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  app.callback([command] { command->run(); });
}

const Register coefficients_command{
    {4, "coefficients",
     "Effects of a released model: odds ratios, confidence intervals, p-values; costs no privacy",
     "gibbsite coefficients model.json --csv > effects.csv", define_coefficients}};

}  // namespace
}  // namespace gibbsite::cli
