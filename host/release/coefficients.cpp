#include "gibbsite/release/coefficients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <variant>

#include "core/format_message.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/mechanism/whitened.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/model/losses/logistic_capped.hpp"

namespace gibbsite {
namespace {

// The knots with so many digits, at least those before the decimal sign.
std::vector<std::string> knots_with_digits(const Column& curve, int digits) {
  std::vector<std::string> out;
  for (const double knot : curve.knots) {
    const int whole = knot == 0 ? 1 : 1 + static_cast<int>(std::floor(std::log10(std::fabs(knot))));
    const std::string text = fmt::format("{:.{}g}", knot, std::max(digits, whole));
    out.push_back(text.size() < number_text(knot).size() ? text : number_text(knot));
  }
  return out;
}

}  // namespace

std::string shown_level(const Column& column, const std::string& level) {
  constexpr int fewest = 4, most = 17;
  if (column.is_date()) return level;
  const auto place = std::ranges::find(column.knots, level, number_text) - column.knots.begin();
  if (place == std::ssize(column.knots)) return level;
  for (int digits = fewest; digits < most; ++digits) {
    const std::vector<std::string> texts = knots_with_digits(column, digits);
    if (std::set<std::string>(texts.begin(), texts.end()).size() == texts.size())
      return texts[static_cast<std::size_t>(place)];
  }
  return level;
}

std::vector<std::string> coefficient_line_names(const Schema& schema) {
  std::vector<std::string> names = schema.feature_names();
  std::size_t first = 0;
  for (const Column& column : schema.columns) {
    if (column.type == ColumnType::number && !column.is_curve())
      names[first] = fmt::format("{}, {} to {}", names[first], column.text_of(column.lo),
                                 column.text_of(column.hi));
    for (std::size_t k = 0; k < column.knots.size() && column.is_curve(); ++k)
      names[first + k] = column.name + '=' + shown_level(column, column.text_of(column.knots[k]));
    first += schema.features_of(column);
  }
  return names;
}

bool CoefficientLines::is_inside(std::size_t j) const {
  return !half_widths.empty() && std::fabs(values[j]) <= half_widths[j];
}

Message score_words(const LinearModel& model) {
  if (!is<TwoClasses>(model.schema.label)) return "";
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

// Shares come from a row of the first second moments, whose other entries are 1 for a level's rows.
// Small budgets ask for them in coordinates that earlier answers scaled: nothing is said of these.
std::vector<bool> unseen_levels(const LinearModel& model, const Certificate& certificate) {
  constexpr double deviations = 2, rarest_share = 1.01e-4;  // shares are at least 1e-4 or so
  const auto* const settings = std::get_if<Whitened>(&certificate.mechanism);
  const std::span<const double> shares = model.feature_means;
  const bool counts_rows =
      certificate.claimed.who.adjacency == Adjacency::replace_one && !certificate.problem.weighted;
  if (settings == nullptr || is_small_budget(*settings) || shares.empty() || model.estimates ||
      !counts_rows)
    return {};
  const double noise =
      moment_deviation_up(*settings, certificate.claimed.who, false, settings->first_clip, 0) /
      std::sqrt(2.0);
  const double least =
      std::max(deviations * noise / static_cast<double>(certificate.problem.rows), rarest_share);
  const Schema& schema = model.schema;
  std::vector<bool> out(shares.size(), false);
  std::size_t first = 0;
  for (const Column& column : schema.terms()) {
    const std::size_t size = schema.features_of(column);
    for (std::size_t j = first; j < first + size; ++j)
      out[j] = column.type == ColumnType::category && shares[j] < least;
    first += size;
  }
  return out;
}

EffectTable effect_table(const LinearModel& model, const Certificate& certificate,
                         const References& references) {
  EffectTable out = effect_table(model, references);
  const std::vector<bool> unseen = unseen_levels(model, certificate);
  if (unseen.empty()) return out;
  // The effects of a class are its features, in their order.
  for (std::size_t i = 0; i < out.effects.size(); ++i)
    out.effects[i].effect.hidden = unseen[i % unseen.size()];
  return out;
}

CoefficientLines coefficient_lines(const LinearModel& model, const Certificate& certificate) {
  const Label& label = model.schema.label;
  const double unit = coefficient_unit(label);
  CoefficientLines out;
  out.names = coefficient_line_names(model.schema);
  out.values = model.draws.front();
  for (double& value : out.values) value *= unit;
  // exp of a log-odds multiplies odds, exp of the log of a mean that mean.
  out.multiplies = is<Count>(label) || (is<TwoClasses>(label) && score_words(model).empty());
  if (const auto deviation = coefficient_noise_up(certificate.mechanism, certificate.problem)) {
    out.half_widths.assign(out.values.size(), two_sided_95 * unit * *deviation);
  }
  out.unseen = unseen_levels(model, certificate);
  return out;
}

}  // namespace gibbsite
