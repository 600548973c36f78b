#include "gibbsite/release/coefficients.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/format_message.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/model/losses/logistic_capped.hpp"

namespace gibbsite {
std::vector<std::string> coefficient_line_names(const Schema& schema) {
  std::vector<std::string> names = schema.feature_names();
  std::size_t first = 0;
  for (const Column& column : schema.columns) {
    if (column.type == ColumnType::number && !column.is_curve())
      names[first] = fmt::format("{}, {} to {}", names[first], column.lo, column.hi);
    first += schema.features_of(column);
  }
  return names;
}

bool CoefficientLines::is_inside(std::size_t j) const {
  return !half_widths.empty() && std::fabs(values[j]) <= half_widths[j];
}

Message score_words(const LinearModel& model) {
  if (model.schema.label_kind != LabelKind::two_classes) return "";
  if (model.legacy_link) {
    return "These are scores and no log-odds: the probability follows by model.link of the file, "
           "of gibbsite-release/2. Fitted again they are log-odds.";
  }
  if (loss_named(model.loss).link_words().empty()) return "";
  if (unweighted_name(model.loss) == losses::logistic_capped::name) {
    return format_message(
        "These are scores and no log-odds: the loss holds slopes at 1/2. From even odds, an "
        "effect v multiplies the odds by (1 + exp(v))/2, and by 2/(1 + exp(-v)) where v is below "
        "0. With {} 1 they are log-odds.",
        Field{"loss_cap"});
  }
  return "These are scores and no log-odds: the probability follows by model.link of the file.";
}

CoefficientLines coefficient_lines(const LinearModel& model, const Certificate& certificate) {
  const LabelKind label = model.schema.label_kind;
  const double unit = label == LabelKind::amount ? model.schema.label_unit() : 1;
  CoefficientLines out;
  out.names = coefficient_line_names(model.schema);
  out.values = model.draws.front();
  for (double& value : out.values) value *= unit;
  // exp of a log-odds multiplies odds, exp of the log of a mean that mean.
  out.multiplies =
      label == LabelKind::count || (label == LabelKind::two_classes && score_words(model).empty());
  if (const auto deviation = coefficient_noise_up(certificate.mechanism, certificate.problem)) {
    out.half_widths.assign(out.values.size(), two_sided_95 * unit * *deviation);
  }
  return out;
}

}  // namespace gibbsite
