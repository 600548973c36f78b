// A model of rows: back from its JSON (model_json.cpp), and what verify asks of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "certificate/bought_json.hpp"
#include "certificate/estimates_json.hpp"
#include "certificate/model_json.hpp"
#include "certificate/release_of.hpp"
#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/bought_fit.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/model/losses/logistic.hpp"
#include "gibbsite/model/model.hpp"
#include "mechanism/moments_question.hpp"
#include "mechanism/whitened_losses.hpp"

namespace gibbsite {

using nlohmann::json;

LinearModel LinearKind::model_from_json(const json& model, const std::string& source) {
  if (!model.is_object())
    throw BadInput(source + ": model: must be an object; give a file that fit wrote");
  LinearModel out;
  out.loss = text_field(model, "loss", source);
  const Loss& loss = loss_named(out.loss);  // throws when this program does not know it
  out.schema = schema_from_json(field(model, "preprocessing", source), source);
  if (loss.label() != kind_of(out.schema.label)) {
    throw BadInput(
        fmt::format("{}: loss: predicts {}, and the schema's label is {}; use the file as "
                    "written",
                    source, to_string(loss.label()), to_string(kind_of(out.schema.label))));
  }
  const Classes* const classes = std::get_if<Classes>(&out.schema.label);
  if (classes != nullptr && loss.outputs() != classes->names.size()) {
    throw BadInput(fmt::format(
        "{}: loss: {} is of {} classes, and the schema lists {}; use the file as written", source,
        out.loss, loss.outputs(), classes->names.size()));
  }
  if (!std::ranges::equal(loss.class_weights(), scaled_class_weights(out.schema.label))) {
    throw BadInput(
        fmt::format("{}: loss: {} has not the class_weights of the schema; use the file as written",
                    source, out.loss));
  }
  const json& coefficients = field(model, "coefficients", source);
  const std::size_t d = out.schema.features();
  const bool several =
      coefficients.is_array() && !coefficients.empty() &&
      (classes != nullptr ? coefficients[0].is_object() : coefficients[0].is_array());
  if (several) {
    for (const json& draw : coefficients)
      out.draws.push_back(draw_from_json(draw, out.schema, source));
  } else {
    out.draws.push_back(draw_from_json(coefficients, out.schema, source));
  }
  // A link by the loss says nothing that the loss does not.
  const bool of_loss =
      model.contains("link") && model["link"].contains("kind") && model["link"]["kind"] == out.loss;
  if (model.contains("link") && !of_loss) {
    out.legacy_link = legacy_link_from_json(model["link"], d, source);
  }
  if (model.contains("intervals")) {
    out.intervals = intervals_from_json(model["intervals"], d, source);
  }
  const std::size_t outputs = classes != nullptr ? classes->names.size() : 1;
  if (model.contains("estimates"))
    out.estimates = estimates_from_json(model["estimates"], d, outputs, source);
  if (model.contains("feature_means"))
    out.feature_means = numbers_field(model, "feature_means", d, source);
  if (model.contains("bought")) out.bought = bought_from_json(model["bought"], source + ": bought");
  if (model.contains("answers")) {
    out.answers = answers_from_json(model["answers"], out.schema, outputs, source);
  }
  return out;
}

LinearKind::Extra LinearKind::extra_of(const LinearModel& model) {
  return model.bought ? Extra{terms_of(*model.bought)} : Extra{};
}

std::string public_choices(const Certificate& c) {
  if (!c.bought) {
    const bool is_centered = c.schema_public && c.problem.center_norm > 0;
    return fmt::format("the schema (columns, ranges, levels, classes, row norm){}",
                       is_centered ? ", the coefficients that the prior is about" : "");
  }
  // The first files were of two classes alone and say so.
  return fmt::format(
      "the names of the columns{}, the label and its {}", counting_choices(c.problem),
      c.problem.loss == losses::logistic::name ? "positive class" : "classes or range");
}

void require_of_format(const LinearModel& model, std::size_t format, const std::string& source) {
  if (!model.legacy_link || format == legacy_link_format) return;
  throw BadInput(fmt::format(
      "{}: model.link: capped-logistic belongs to files of {} alone; use the file as it was "
      "written",
      source, format_names[legacy_link_format]));
}

std::string assumption_of(const Certificate& c) {
  const std::string own = assumption_of(c.mechanism);
  return c.bought ? fmt::format("{}; {}", own, bought_assumption) : own;
}

void check_claims(Verifier& v, const Certificate& c, const Analysis& found) {
  if (const auto promised = setting(c.mechanism, "tv_gap")) {
    v.check(*promised >= found.tv_gap,
            fmt::format("mechanism.tv_gap: claimed {}, recomputed {}", *promised, found.tv_gap));
  }
  const Budget budget{c.epsilon, c.delta, c.claimed.who.adjacency, c.claimed.who.rows_per_person,
                      c.draws};
  v.check(calibration_allows(c.mechanism, c.problem, budget, found),
          "mechanism.beta: what its calibration allows");
}

namespace {

// Released answers: as many questions as the settings have, each with the noise of its share at
// least, clipped where the settings and the link of format 2 say; without a link at one clip, of
// what kappa allows; with intervals one block at that clip, one information at its limit and of
// amounts one matrix of scores at the clip. Of a small budget the lengths, within the ends that the
// schema has, and two of moments or one and a start. (What rounding added to the noise cannot be
// seen here, nor the clip between first moments and gradients.)
void verify_answers(Verifier& v, const Whitened& s, const Certificate& c,
                    const LinearModel& model) {
  const std::optional<LegacyCappedLink>& link = model.legacy_link;
  const std::vector<NoisyAnswer>& answers = model.answers;
  const auto gradient =
      std::ranges::find_if(answers, [](const NoisyAnswer& a) { return a.question == "gradient"; });
  const double clip = link ? link->clip : gradient != answers.end() ? gradient->clip : 0;
  const Neighbors& who = c.claimed.who;
  const auto T = static_cast<std::uint64_t>(s.iterations);
  const double longest = std::sqrt(block_limit(s, c.problem)) * clip;  // of a row's information
  std::uint64_t moments = 0, gradients = 0, curvatures = 0, blocks = 0, informations = 0,
                scores = 0, lengths = 0, starts = 0;
  const RowLengths of_schema = row_lengths(model.schema);
  // Logarithms of another library may differ in the last place.
  const auto is_nearly = [](double is, double expected) {
    return std::fabs(is - expected) <= 1e-12 * std::max(1.0, std::fabs(expected));
  };
  bool noisy = true, clipped = true, held = true;
  for (const NoisyAnswer& a : answers) {
    double least = 0;
    clipped =
        clipped && (a.question == "lengths"       ? is_nearly(a.clip, of_schema.half())
                    : a.question == "moments"     ? moments > 0 || a.clip == s.first_clip
                    : a.question == "information" ? std::fabs(a.clip - longest) <= 1e-12 * longest
                    : a.question == "scores"      ? a.clip == score_clip(c.problem, clip)
                    : a.question != "curvature"   ? a.clip == clip
                                                  : a.clip == 0);
    if (a.question == "lengths") {
      ++lengths;
      held = held && a.at.size() == 2 && is_nearly(a.at[0], of_schema.low) &&
             is_nearly(a.at[1], of_schema.high);
      least = is_small_budget(s) ? length_deviation_up(s, who, a.clip, 0) : 0;
    } else if (a.question == "start") {
      ++starts;
      held = held && (c.problem.center_norm > 0 ||
                      std::ranges::all_of(a.at, [](double at) { return at == 0; }));
      least = is_small_budget(s) ? start_deviation_up(s, who, a.clip, 0) : 0;
    } else if (a.question == "moments") {
      least = moment_deviation_up(s, who, moments++ > 0, a.clip, 0);
    } else if (a.question == "gradient") {
      least = gradient_deviation_up(s, who, ++gradients, a.clip, 0);
    } else if (a.question == "block") {
      ++blocks;
      least = s.block_share > 0 ? gradient_deviation_up(s, who, T + 1, a.clip, 0) : 0;
    } else if (a.question == "information") {
      ++informations;
      least = s.information_share > 0 ? information_deviation_up(s, who, a.clip, 0) : 0;
    } else if (a.question == "scores") {
      ++scores;
      least =
          s.score_share > 0 ? score_deviation_up(s, score_neighbors(c.problem, who), a.clip, 0) : 0;
    } else {
      ++curvatures;
      least = curvature_deviation_up(s, who, largest_trace(c.problem), 0);
    }
    noisy = noisy && a.deviation >= least;
  }
  v.check(noisy, "model.answers: each has at least the noise of its share");
  v.check(clipped, link ? "model.answers: first moments have the clip of the settings, gradients "
                          "the link's"
                        : "model.answers: first moments have the clip of the settings, gradients "
                          "one clip");
  if (!link) {  // d_eff is at most the number of coordinates
    const std::size_t numbers = gradient != answers.end() ? gradient->values.size() : 0;
    const double most =
        gradient_clip(s, static_cast<double>(numbers) / static_cast<double>(c.problem.outputs));
    v.check(clip > 0 && clip <= most * (1 + 1e-12),
            "model.answers: gradients' clip is at most kappa sqrt(k)");
  }
  const std::uint64_t of_intervals = s.information_share > 0 ? 1 : 0;
  v.check(blocks == of_intervals && informations == of_intervals,
          fmt::format("model.answers: {} block and {} information", blocks, informations));
  v.check(scores == (s.score_share > 0 ? 1U : 0U),
          fmt::format("model.answers: {} second moments of scores", scores));
  const bool small = is_small_budget(s);
  v.check(lengths == (small ? 1U : 0U) && (small || starts == 0) && starts <= 1 && held,
          fmt::format("model.answers: {} of lengths within the schema's, {} start at 0", lengths,
                      starts));
  v.check(moments + starts == (s.second_moment_share > 0 ? 2U : 1U) && moments >= 1 &&
              gradients == T && curvatures == T,
          fmt::format("model.answers: {} of moments, {} gradients, {} curvatures", moments,
                      gradients, curvatures));
}

template <class Chain>
void verify_answers(Verifier& v, const InMetric<Chain>& s, const Certificate& c,
                    const LinearModel& model) {
  const std::vector<NoisyAnswer>& answers = model.answers;
  const bool one = answers.size() == 1 && answers[0].question == "moments";
  v.check(one, fmt::format("model.answers: {}, moments", answers.size()));
  if (!one) return;
  v.check(answers[0].clip == s.first_clip, "model.answers: has the clip of the settings");
  v.check(answers[0].deviation >=
              moment_deviation_up(Wide(s.moments_mu), c.claimed.who, s.first_clip, 0),
          "model.answers: has at least the noise that it is paid for with");
}

// No other mechanism releases any.
void verify_answers(Verifier& v, const auto& /*settings*/, const Certificate& /*c*/,
                    const LinearModel& /*model*/) {
  v.check(false, "model.answers: belong to a mechanism that asks for moments");
}

}  // namespace

namespace {

// The schema but for its curves, whose number of knots the plan chose.
Schema without_curves(Schema schema) {
  for (Column& column : schema.columns) without_curve(column);
  return schema;
}

void verify_bought(Verifier& v, const LinearModel& linear, const Certificate& c) {
  v.check(linear.bought.has_value() == c.bought.has_value(),
          "model.bought: there where the certificate covers a schema, and there only");
  if (!linear.bought || !c.bought) return;
  check_bought(v, *linear.bought, *c.bought, schema_problem_of(c), c.claimed.who);
  const auto* const settings = std::get_if<Whitened>(&c.mechanism);
  const bool intervals = settings != nullptr && settings->information_share > 0;
  const std::uint64_t most =
      most_bought_features({.outputs = c.problem.outputs, .intervals = intervals});
  v.check(without_curves(linear.schema) == without_curves(fit_schema_of(*linear.bought, most)),
          "model.preprocessing: follows from the answers that it was bought with");
}

}  // namespace

std::size_t draws_of(const LinearModel& model) { return model.draws.size(); }

Problem problem_of(const LinearModel& model, const Certificate& c) {
  Problem out = glm(model.loss).constants(model.schema, c.problem.rows);
  out.center_norm = c.problem.center_norm;
  if (out.of_people()) out.rows_of_person = c.claimed.who.rows_per_person;
  return out;
}

void check_model(Verifier& v, const LinearModel& linear, const Certificate& c) {
  const bool capped = c.format == legacy_link_format && taken_by(c.mechanism).intervals &&
                      is_two_class_logistic(c.problem.loss);
  v.check(linear.legacy_link.has_value() == capped,
          capped ? "model.link: capped-logistic, in a whitened logistic model of this format"
                 : "model.link: not capped-logistic, which is of whitened logistic models of "
                   "gibbsite-release/2");
  verify_bought(v, linear, c);
  const std::optional<double> information = setting(c.mechanism, "information_share");
  v.check(!linear.estimates || information.value_or(0) > 0,
          "model.estimates: only where the settings have an information_share");
  if (const std::uint64_t alike = linear.estimates ? linear.estimates->rows_alike : 1; alike > 1) {
    v.check(alike == c.claimed.who.rows_per_person && !c.problem.of_people(),
            "model.estimates.rows_alike: the guarantee's rows_per_person, and no column of people");
  }
  if (!linear.answers.empty()) {
    std::visit([&](const auto& m) { verify_answers(v, m, c, linear); }, c.mechanism);
  }

  if (c.analysis) {  // else the settings are none, which is a failure of the certificate
    const double grid = c.analysis->release_grid;
    std::size_t off = 0;
    for (const auto& draw : linear.draws) {
      for (const double value : draw) off += std::remainder(value, grid) != 0;
    }
    v.check(off == 0, fmt::format("model.coefficients: {} off the release grid {}", off, grid));
  }
  if (const auto ball = setting(c.mechanism, "ball")) {
    const auto inside = [&](const auto& draw) { return in_ball(draw, *ball); };
    v.check(std::ranges::all_of(linear.draws, inside),
            fmt::format("model.coefficients: in the ball of radius {}", *ball));
  }
}

GIBBSITE_RELEASE_KIND(LinearKind);

}  // namespace gibbsite
