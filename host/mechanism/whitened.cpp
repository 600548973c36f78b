#include "gibbsite/mechanism/whitened.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/format_message.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/candidates.hpp"
#include "mechanism/moments_question.hpp"
#include "mechanism/whitened_losses.hpp"

namespace gibbsite {
namespace {

double of_both(const Neighbors& who, double replaced) {
  return who.adjacency == Adjacency::replace_one ? replaced : 1.0;
}

Wide rows_of(const Neighbors& who) { return who.rows_per_person; }

bool asks_information(const Whitened& s) { return s.information_share > 0; }
bool asks_scores(const Whitened& s) { return s.score_share > 0; }

// Numbers of the block and of the information, in d coordinates of each of K outputs.
double numbers_of_intervals(const Problem& problem) {
  const std::uint64_t d = problem.row_features();
  const double of_several =
      takes_scores(problem) ? score_numbers(problem) - moment_numbers(d) : 0;  // of one: beside
  return static_cast<double>(problem.features) + information_blocks(problem) * moment_numbers(d) +
         of_several;
}

Wide left_by_moments(const Whitened& s) {
  return 1 - Wide(s.length_share) - Wide(s.first_moment_share) - Wide(s.second_moment_share) -
         Wide(s.information_share) - Wide(s.score_share);
}

// Those of a small budget have no closed sum of shares.
constexpr double most_uneven_gradients = 100;

// w_t of t = 1, ..., T: t^p over their sum, p = 1 - evenness. 2t/(T (T + 1)) where p = 1. More
// uneven gradients than can be added up promise nothing (`is_sound`), and a file that names them
// has that one.
Wide gradient_weight(const Whitened& s, std::uint64_t t) {
  const Wide T = s.iterations;
  if (s.gradient_evenness == 0 || s.iterations > most_uneven_gradients)
    return 2 * Wide(t) / (T * (T + 1));
  const Wide power = 1 - Wide(s.gradient_evenness);
  Wide sum = 0;
  for (std::uint64_t i = 1; static_cast<double>(i) <= s.iterations; ++i) sum += pow(Wide(i), power);
  return pow(Wide(t), power) / sum;
}

// Shares are of one whole, noise is within double, and its grids resolve the sums.
bool is_sound(const Whitened& s, const Problem& problem) {
  // A share below 0 would give the others more than there is. Numbers that are none fail too.
  const bool shares = s.first_moment_share > 0 && s.second_moment_share >= 0 &&
                      s.curvature_share > 0 && s.information_share >= 0 && s.block_share >= 0 &&
                      s.score_share >= 0 && s.length_share >= 0 && s.iterations >= 1;
  // The block and the information go together, of the losses that the rule takes: what a row's
  // information is limited by is derived for them. Scores' moments go with both, and may be left
  // out where they need not be asked.
  const bool together = asks_information(s) == (s.block_share > 0) && s.block_share < 1 &&
                        (!asks_information(s) || whitened_takes(problem)) &&
                        (asks_scores(s) ? asks_information(s) && takes_scores(problem)
                                        : !asks_information(s) || !needs_scores(problem));
  // What small budgets ask is derived for rows with a constant, without intervals. Their gradients'
  // shares are added up one by one.
  const bool small =
      s.gradient_evenness >= 0 && s.gradient_evenness <= 2 &&
      (is_small_budget(s) ? takes_small_budget(problem) && s.second_moment_share > 0 &&
                                !asks_information(s) && s.iterations <= most_uneven_gradients
                          : s.gradient_evenness == 0);
  const bool counts = s.largest_count == 0 || (s.largest_count >= 1 && problem.loss == "poisson");
  return small && counts && in_moment_range(s.query_mu) && in_moment_range(s.first_clip) &&
         in_moment_range(s.clip_factor) && shares && left_by_moments(s) > 0 &&
         s.curvature_share < 1 && together &&
         (!asks_information(s) || s.clip_factor <= std::numbers::sqrt2) &&
         answers_resolve(problem.most_weight_up(), s.query_mu);
}

// Deviation of the noise, for that share, of a sum over rows of what has norm <= bound.
double sum_deviation_up(const Whitened& s, const Neighbors& who, const Wide& share, double bound,
                        double error) {
  const Wide change = rows_of(who) * Wide(of_both(who, 2)) * Wide(bound) + 2 * Wide(error);
  return round_up(change / (Wide(s.query_mu) * sqrt(share)));
}

// What is another for a small budget, s = N/d rows for a feature (docs/theory/whitened.md, "Small
// budgets"): there the rule of the others wastes most of it on what noise hides.
Whitened for_small_budget(Whitened settings, const Problem& problem, double s) {
  settings.length_share = 0.02;
  settings.first_moment_share = settings.second_moment_share = 0.1;
  // Held slopes are the less biased the later they are asked, so later ones count more there.
  if (!has_capped_derivatives(problem))
    settings.gradient_evenness = 1 - std::clamp(std::log2(s / 16) / 2, -1.0, 1.0);
  return settings;
}

// The rule of docs/theory/whitened.md, from public numbers.
Whitened rule(const Problem& problem, const Neighbors& who, double mu,
              const std::optional<double>& iterations, bool intervals) {
  const auto d = static_cast<double>(problem.row_features());
  const auto K = static_cast<double>(problem.outputs);
  // What intervals take: .1 of mu^2 for the information, and of the gradients .2 for the block of
  // two classes, where other shares cost more log-loss or hold no more often, .4 elsewhere
  // (docs/theory/intervals.md). The scores' moments have .03 more: their noise is small beside what
  // they are. Of several classes without weights they follow from the information.
  const double information = intervals ? 0.1 : 0.0;
  const double scores = intervals && takes_scores(problem) ? 0.03 : 0.0;
  const double rest = 1 - information - scores;
  const double block = is_two_class_logistic(problem.loss) ? 0.2 : 0.4;
  const double signal = signal_of(problem, who, mu * std::sqrt(rest));
  // A direction of K classes curves by 1/K where one of two curves by 1/2: so much more noise.
  const double of_slopes = K > 1 ? 2 * signal / K : signal;
  const double rounds = of_slopes / (8 * d);
  const bool twice = signal >= 12 * d;
  const double clip_factor = clip_factor_of(of_slopes, problem.row_features());
  const Whitened out{
      .query_mu = mu,
      .first_clip = first_clip_of(problem),
      .first_moment_share = rest * (twice ? 0.1 : 0.2),
      .second_moment_share = rest * (twice ? 0.2 : 0.0),
      .curvature_share = 0.02,
      .clip_factor = K > 1 ? std::numbers::sqrt2 * clip_factor : clip_factor,  // of sup |f'|
      .iterations = iterations.value_or(std::clamp(std::round(8 * std::sqrt(rounds)), 12.0, 40.0)),
      .information_share = information,
      .block_share = intervals ? block : 0.0,
      .score_share = scores,
      .largest_count = problem.loss == "poisson" ? problem.largest_count : 0.0};
  const bool small = signal < rows_of_small_budgets * d && !intervals &&
                     gains_by_small_budget(problem) && out.iterations <= most_uneven_gradients;
  return small ? for_small_budget(out, problem, signal / d) : out;
}

Candidate whitened_candidate(const Problem& problem, const Budget& budget, const Budget& left,
                             const std::optional<double>& iterations, bool intervals) {
  const double mu = gdp_mu_down(left.epsilon, left.delta);
  const Whitened s = rule(problem, budget.neighbors(), mu, iterations, intervals);
  const double lengths = is_small_budget(s) ? 1 : 0;
  const double questions = (s.second_moment_share > 0 ? 2 : 1) +
                           (intervals ? information_blocks(problem) : 0) + (asks_scores(s) ? 1 : 0);
  Candidate out;
  out.mechanism = s;
  out.guarantee.mu = mu;
  const double gradients = s.iterations + (intervals ? 1 : 0) + lengths;
  const double of_contrasts =  // a score of K classes is K - 1 times as long
      asks_scores(s) && problem.outputs > 1 ? std::pow(problem.outputs - 1, 2) - 1 : 0;
  const double asked = questions + of_contrasts, of_moments = asked * moments_work(problem);
  out.cost = {gradients + questions, gradients + of_moments, asked, of_moments, gradients};
  if (!whitened_takes(problem)) {
    out.why = format_message(
        "what {} predicts where gradients are capped is not known; use another {}, or {} "
        "logistic, softmax, huber, pseudo-huber or poisson",
        problem.loss, Field{"mechanism"}, Field{"model"});
  } else if (intervals && !information_obstacle(problem).empty()) {
    out.why = format_message("{}: ", Field{"intervals"}) + information_obstacle(problem);
  } else if (problem.weighted && !problem.intercept) {
    out.why = format_message(
        "by the constant column it learns how much rows count together, as they have weights; set "
        "{} in the schema, or use another {}",
        Word{"intercept = true"}, Field{"mechanism"});
  } else if (problem.center_norm != 0 || problem.prior_precision) {
    out.why = format_message("chooses its own prior; leave out {} and the center",
                             Field{"prior_precision"});
  } else if (budget.draws != 1 && intervals) {
    out.why = format_message(
        "releases one model, and intervals are of one; leave out {}, or leave out {} and use {} path",
        Field{"draws"}, Field{"intervals"}, Field{"mechanism"});
  } else if (budget.draws != 1) {
    out.why = format_message("releases one model; leave out {}, or use {} path", Field{"draws"},
                             Field{"mechanism"});
  } else if (Message why = moments_obstacle(problem, is_sound(s, problem)); !why.empty()) {
    out.why = std::move(why);
  } else if (!in_reach(out.cost)) {
    out.why = out_of_reach(out.cost);
  } else {
    out.feasible = true;
    out.why = "a private metric and few gradients: no direction pays for the worst one";
  }
  return out;
}

}  // namespace

Message information_obstacle(const Problem& problem) {
  if (!whitened_takes(problem)) {
    return fmt::format(
        "they are of logistic and softmax regressions of classes, of amounts and of counts "
        "(docs/theory/intervals.md), and this model is {}; leave them out",
        problem.loss);
  }
  if (problem.outputs > most_interval_classes) {
    return fmt::format("they are of at most {} classes, and this model has {}; leave them out",
                       most_interval_classes, problem.outputs);
  }
  const double contrasts =
      static_cast<double>(problem.row_features()) * static_cast<double>(problem.outputs - 1);
  if (problem.outputs > 1 && contrasts > most_contrasts) {
    return fmt::format(
        "of {} classes and {} columns they would be of {} coefficients, and at most {} are "
        "taken; "
        "leave them out, or take fewer columns or classes",
        problem.outputs, problem.row_features(), contrasts, most_contrasts);
  }
  return "";
}

double gradient_clip(const Whitened& s, double effective_features) {
  return s.clip_factor * std::sqrt(effective_features);
}

double moment_deviation_up(const Whitened& s, const Neighbors& who, bool second, double clip,
                           double error) {
  const Wide share = second ? s.second_moment_share : s.first_moment_share;
  return moment_deviation_up(Wide(s.query_mu) * sqrt(share), who, clip, error);
}

double gradient_deviation_up(const Whitened& s, const Neighbors& who, std::uint64_t t, double clip,
                             double error) {
  const Wide block = s.block_share;
  const Wide of_gradients =
      Wide(t) > Wide(s.iterations) ? block : (1 - block) * gradient_weight(s, t);
  const Wide share = left_by_moments(s) * (1 - Wide(s.curvature_share)) * of_gradients;
  return sum_deviation_up(s, who, share, clip, error);
}

double start_deviation_up(const Whitened& s, const Neighbors& who, double clip, double error) {
  return sum_deviation_up(s, who, Wide(s.second_moment_share), clip, error);
}

double length_deviation_up(const Whitened& s, const Neighbors& who, double half, double error) {
  return sum_deviation_up(s, who, Wide(s.length_share), half, error);
}

double curvature_deviation_up(const Whitened& s, const Neighbors& who, double curvature,
                              double error) {
  const Wide share = left_by_moments(s) * Wide(s.curvature_share) / Wide(s.iterations);
  const Wide change = rows_of(who) * Wide(curvature) + 2 * Wide(error);
  return round_up(change / (Wide(s.query_mu) * sqrt(share)));
}

double information_deviation_up(const Whitened& s, const Neighbors& who, double clip,
                                double error) {
  return moment_deviation_up(Wide(s.query_mu) * sqrt(Wide(s.information_share)), who, clip, error);
}

double score_deviation_up(const Whitened& s, const Neighbors& who, double clip, double error) {
  return moment_deviation_up(Wide(s.query_mu) * sqrt(Wide(s.score_share)), who, clip, error);
}

double information_limit(const Whitened& s) {
  const double kappa = s.clip_factor, typical = 1 / (kappa * kappa);
  // With held slopes rows up to twice the typical length keep all of their weight where kappa, and
  // so the budget, is large: rare levels are such rows.
  if (asks_scores(s)) return typical * std::max(1.0, 4 * kappa * kappa * kappa);
  // At kappa = sqrt(2), which rounding puts above it, 1/4 and no less.
  return std::max(typical / 2, 0.25);
}

double answered_numbers(const Whitened& s, std::uint64_t features) {
  const auto d = static_cast<double>(features);
  const double questions = s.second_moment_share > 0 ? 2 : 1;
  const double scores = asks_scores(s) ? moment_numbers(features) : 0;
  return s.iterations * (d + 1) + questions * moment_numbers(features) + scores +
         (is_small_budget(s) ? 1 : 0);
}

Candidate candidate(std::type_identity<Whitened> /*kind*/, const Problem& problem,
                    const Budget& budget, const PlanOptions& plan_options) {
  const auto iterations =
      plan_options.mechanism == Whitened::name ? plan_options.iterations : std::nullopt;
  return paid_for_noise(problem, budget, [&](const Budget& left) {
    return whitened_candidate(problem, budget, left, iterations, plan_options.intervals);
  });
}

Analysis analyze(const Whitened& s, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  Analysis out;
  const std::uint64_t d = problem.row_features();  // a gradient has them for each output
  // A start, which small budgets may ask in place of second moments, has one for each coordinate.
  const auto coordinates = static_cast<double>(problem.features);
  const double start = is_small_budget(s) ? std::max(coordinates - moment_numbers(d), 0.0) : 0;
  const double numbers = answered_numbers(s, d) + start +
                         s.iterations * (coordinates - static_cast<double>(d)) +
                         (asks_information(s) ? numbers_of_intervals(problem) : 0);
  out.constants = {{"answered_numbers", numbers}};
  out.release_grid = answered_coefficient_grid;
  out.noise = noise_cost_up(AnsweredNoise{numbers}, draws);
  out.guarantee = {draws_mu_up(s.query_mu, draws), out.noise.epsilon, 0,
                   is_sound(s, problem) ? out.noise.tv : 1.0, who};
  return out;
}

std::string assumption_of(const Whitened& /*m*/) {
  return "every question was asked in the metric and with the clip that docs/whitened.md derives "
         "from the answers before it, and its noise was scaled to that clip, to what rounding "
         "may "
         "add and to its share";
}
std::string_view run_time_tells(const Whitened& /*m*/) { return ""; }
std::string basis_of(const Whitened& m) {
  if (is_small_budget(m)) {
    return fmt::format(
        "It rests on the noise in the rows' mean length, in one or two sums of second moments "
        "and "
        "{:.10g} or one more gradients, which it covers too",
        m.iterations);
  }
  const char* const sums = m.second_moment_share > 0 ? "two sums" : "one sum";
  if (asks_information(m)) {
    return fmt::format(
        "It rests on the noise in {} of second moments, {:.10g} of gradients and one information "
        "matrix{}, which it covers too",
        sums, m.iterations + 1, asks_scores(m) ? " and one of scores" : "");
  }
  return fmt::format(
      "It rests on the noise in {} of second moments and {:.10g} of gradients, which it covers "
      "too",
      sums, m.iterations);
}
std::string procedure_of(const Whitened& m, const Cost& cost) {
  if (is_small_budget(m)) {
    return fmt::format(
        "the mean length, one or two of second moments and {:.0f} or one more capped gradients, "
        "{:.0f} passes",
        m.iterations, cost.passes);
  }
  const char* const sums = m.second_moment_share > 0 ? "two" : "one";
  if (asks_information(m)) {
    return fmt::format(
        "{} of second moments, {:.0f} capped gradients and one information matrix{}, {:.0f} "
        "passes",
        sums, m.iterations + 1, asks_scores(m) ? " and one of scores" : "", cost.passes);
  }
  return fmt::format("{} of second moments and {:.0f} capped gradients, {:.0f} passes", sums,
                     m.iterations, cost.passes);
}

}  // namespace gibbsite
