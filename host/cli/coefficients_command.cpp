#include <fmt/format.h>

#include <memory>

#include "coefficients.hpp"
#include "command.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/release/effects.hpp"

namespace gibbsite::cli {
namespace {

struct CoefficientsCommand {
  std::string model;
  std::vector<std::string> references;
  bool csv = false, all = false;

  void run() const {
    const Release release = read_release(model);
    CoefficientView view{.all = all, .references = {}, .file = model};
    for (const std::string& reference : references)
      add_reference(release.model().schema, reference, view.references);
    if (csv) {
      fmt::print("{}", effects_csv(effect_table(release.model(), view.references)));
    } else {
      fmt::print("{}", coefficient_report(release.model(), release.certificate(), view));
    }
  }
};

void define_coefficients(CLI::App& app) {
  const auto command = std::make_shared<CoefficientsCommand>();
  app.add_option("model", command->model, "model file that fit wrote")
      ->type_name("FILE")
      ->required();
  app.add_flag("--all", command->all, "every effect, not the surest alone");
  app.add_flag("--csv", command->csv,
               "every effect as CSV: estimate, std_err, lower, upper, p_value, odds_ratio, ...");
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
