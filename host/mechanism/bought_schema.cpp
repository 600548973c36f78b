#include "gibbsite/mechanism/bought_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/format_message.hpp"
#include "core/special.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/network.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/schema_settings.hpp"

namespace gibbsite {
namespace {

constexpr std::uint64_t most_asked_columns = std::uint64_t{1} << 24;
constexpr std::uint64_t most_rows_of_one = 1000;
constexpr double least_deviation = 1e-100, most_deviation = 1e100;
constexpr std::uint64_t refined_counts = refinements * refined_bins;
constexpr std::uint64_t most_exact_weight = std::uint64_t{1} << (53 - weight_bits);

const SchemaQuestions& questions_of(const SchemaMechanism& mechanism) {
  return std::get<SchemaQuestions>(mechanism);
}

void require_who_of_schema(const SchemaProblem& p, const Neighbors& who) {
  if (who.rows_per_person < 1 || who.rows_per_person > most_rows_of_one ||
      (!p.of_people() && who.rows_per_person > p.rows)) {
    throw BadInput(Field{"rows_per_person"},
                   fmt::format("must be from 1 to {}{}, got {}", most_rows_of_one,
                               p.of_people() ? "" : " and at most the rows", who.rows_per_person));
  }
  if (p.of_people() && p.rows_of_person != who.rows_per_person) {
    throw BadInput(fmt::format(
        "rows_of_person: weights hold a person to {} rows, and the guarantee is for {}; give both "
        "the same",
        p.rows_of_person, who.rows_per_person));
  }
}

void require_deviation(double value, const char* name) {
  if (!(value >= least_deviation && value <= most_deviation)) {
    throw BadInput(fmt::format("{}: must be from {} to {}, got {}", name, least_deviation,
                               most_deviation, value));
  }
}

// Whether the sum of what rows count is a question: it is private.
bool counts_rows(const SchemaProblem& p, const Neighbors& who) {
  return p.of_people() || who.adjacency == Adjacency::add_remove;
}

// k sqrt(2c), of rows that are there or not k sqrt(c): how far a person moves the counts of one
// question about c columns. Rows of a person add a vector a >= 0 of sum <= k to a column's counts;
// ||a - a'||^2 <= 2 k^2, as <a, a'> >= 0.
Wide change_of(std::uint64_t columns, const Neighbors& who) {
  const bool replaced = who.adjacency == Adjacency::replace_one;
  return Wide(who.rows_per_person) * sqrt(Wide(columns) * (replaced ? 2 : 1));
}

// Most texts of all columns that are answered in one of two neighbors and not in the other. Without
// weights they are of a person's own k rows. Of people somebody may have any number of them; but
// each counts k in a table of at most k n.
Wide most_changed_texts(const SchemaProblem& p, const Neighbors& who) {
  return Wide(p.columns) * Wide(p.of_people() ? p.rows : who.rows_per_person);
}

// The mu^2 of the two first questions, of both refinements and of the number of rows.
Wide squared_mu(const SchemaQuestions& q, const SchemaProblem& p, const Neighbors& who) {
  const Wide change = change_of(p.columns, who), alone = change_of(1, who);
  const Wide bins = change / Wide(q.bins_noise), levels = change / Wide(q.levels_noise),
             refined = alone / Wide(q.refine_noise);
  const Wide rows = counts_rows(p, who) ? Wide(who.rows_per_person) / Wide(q.rows_noise) : Wide(0);
  return bins * bins + levels * levels + 2 * refined * refined + rows * rows;
}

// Numbers that noise is added to and whose law may differ between neighbors.
double answered_numbers(const SchemaProblem& p, const Neighbors& who) {
  const std::uint64_t texts = p.of_people() ? p.rows : who.rows_per_person;
  const std::uint64_t each = cell_classes_of(p.questions) + refined_counts + 2 * texts;
  const std::uint64_t all = p.columns * each + (counts_rows(p, who) ? 1 : 0);  // below 2^60
  const auto out = static_cast<double>(all);
  constexpr std::uint64_t exact = std::uint64_t{1} << 53;  // of people there may be more
  return all <= exact ? out : std::nextafter(out, most_deviation);
}

double threshold_tv_up(const SchemaQuestions& q, const SchemaProblem& p, const Neighbors& who) {
  return std::min(1.0, round_up(most_changed_texts(p, who) * Wide(one_text_up(q, p))));
}

bool keeps_budget(const Guarantee& guarantee, const Budget& budget) {
  return delta_up(guarantee, budget.epsilon) <= budget.delta;
}

// z with P(N(0,1) > z) <= tail.
double normal_height_up(const Wide& tail) {
  double low = 0, high = 100;
  for (int i = 0; i < 60; ++i) {
    const double middle = low + (high - low) / 2;
    (normal_cdf(-Wide(middle)) > tail ? low : high) = middle;
  }
  return high;
}

// The threshold lies 9/16 of the grid above z deviations from the least count that is answered,
// which is what one_text_up takes off.
double threshold_at(double z, double deviation, double least) {
  return round_up(Wide(least) + Wide(z) * Wide(deviation) + Wide(answer_grid(deviation)) * 9 / 16);
}

}  // namespace

std::uint64_t SchemaProblem::most_weight() const {
  const std::uint64_t k = std::max<std::uint64_t>(rows_of_person, 1);
  return rows > most_exact_weight / k ? most_exact_weight + 1 : rows * k;
}

void SchemaProblem::validate() const {
  require_at_least(static_cast<double>(rows), 1, "rows");
  // Sums of multiples of 2^-20 are exact as doubles.
  if (of_people() && most_weight() > most_exact_weight) {
    throw BadInput(
        Field{rows > most_exact_weight ? "rows_cap" : "rows_per_person"},
        fmt::format(
            "{} people of {} rows each are more than the 2^{} rows that are counted exactly", rows,
            rows_of_person, 53 - weight_bits),
        format_message("give a smaller {} or {}", Field{"rows_per_person"}, Field{"rows_cap"}));
  }
  if (columns < 1 || columns > most_asked_columns) {
    throw BadInput(
        fmt::format("columns: must be from 1 to 2^24 that are asked about, got {}", columns));
  }
  if (questions < first_questions || questions > newest_questions) {
    throw BadInput(fmt::format("questions: must be from {} to {}, got {}", first_questions,
                               newest_questions, questions));
  }
}

double least_answered(const SchemaProblem& problem) {
  return static_cast<double>(problem.rows_of_person);
}

double one_text_up(const SchemaQuestions& q, const SchemaProblem& p) {
  require_deviation(q.levels_noise, "levels_noise");
  // Rounding to the grid adds half of it, and computing the normal less than a sixteenth.
  const Wide above = Wide(q.threshold) - Wide(least_answered(p));
  const Wide height = (above - Wide(answer_grid(q.levels_noise)) * 9 / 16) / Wide(q.levels_noise);
  return round_up(normal_cdf(-height) + ldexp(Wide(1), -110));
}

double schema_threshold_height(const SchemaProblem& problem, const Budget& budget, double most_tv) {
  problem.validate();
  budget.validate();
  if (budget.draws != 1) {
    throw BadInput(Field{"draws"}, "a schema is bought once",
                   fmt::format("leave it out (got {})", budget.draws));
  }
  const Neighbors who = budget.neighbors();
  require_who_of_schema(problem, who);
  const double e = round_up(exp(Wide(budget.epsilon)));
  const Wide texts = most_changed_texts(problem, who);
  const Wide tail = Wide(budget.delta) * Wide(schema_threshold_share) / (texts * (1 + Wide(e)));
  // one_text_up adds 2^-110 to a tail.
  const Wide of_ledger = Wide(most_tv) * Wide(schema_ledger_share) / texts - ldexp(Wide(1), -110);
  constexpr double least_tail = 1e-30;
  return normal_height_up(of_ledger > Wide(least_tail) && of_ledger < tail ? of_ledger : tail);
}

NoiseCost schema_noise_up(const SchemaProblem& problem, const Neighbors& who) {
  return noise_cost_up(AnsweredNoise{answered_numbers(problem, who)}, 1);
}

SchemaQuestions schema_settings_at(double mu, double z, const SchemaProblem& p,
                                   const Neighbors& who) {
  const bool counted = counts_rows(p, who);
  const Wide all = counted ? Wide(mu) * sqrt(1 - Wide(schema_rows_share)) : Wide(mu);
  const Wide first = all * sqrt(1 - Wide(schema_refine_share)), change = change_of(p.columns, who);
  SchemaQuestions out;
  if (counted)
    out.rows_noise =
        round_up(Wide(who.rows_per_person) / (Wide(mu) * sqrt(Wide(schema_rows_share))));
  out.bins_noise = round_up(change / (first * sqrt(Wide(schema_bins_share))));
  out.levels_noise = round_up(change / (first * sqrt(1 - Wide(schema_bins_share))));
  out.threshold = threshold_at(z, out.levels_noise, least_answered(p));
  out.refine_noise = round_up(change_of(1, who) / (all * sqrt(Wide(schema_refine_share) / 2)));
  return out;
}

double refined_deviation_up(const SchemaQuestions& q, std::uint64_t columns) {
  return round_up(Wide(q.refine_noise) * sqrt(Wide(columns)));
}

double least_visible_share(const SchemaQuestions& q, const SchemaProblem& p) {
  return q.threshold / static_cast<double>(p.rows);
}

SchemaPlan plan_schema(const SchemaProblem& problem, const Budget& budget, double most_tv) {
  const StandardArithmetic arithmetic;
  const double z = schema_threshold_height(problem, budget, most_tv);
  const Neighbors who = budget.neighbors();
  SchemaPlan out{.problem = problem, .budget = budget, .mechanism = SchemaQuestions{}};
  const NoiseCost noise = schema_noise_up(problem, who);
  const double epsilon = round_down(Wide(budget.epsilon) - Wide(noise.epsilon));
  const double delta = round_down(Wide(budget.delta) * (1 - Wide(schema_threshold_share)));
  const double whole = epsilon > 0 ? gdp_mu_down(epsilon, delta) : 0;
  double step = 1;
  for (int attempt = 0; attempt < 20 && whole > 0; ++attempt) {  // until the claim holds
    const SchemaQuestions q = schema_settings_at(whole * step, z, problem, who);
    if (!(q.bins_noise <= most_deviation && q.refine_noise >= least_deviation)) break;
    out.mechanism = q;
    out.guarantee = analyze(out.mechanism, problem, who, 1).guarantee;
    if (keeps_budget(out.guarantee, budget)) return out;
    step = attempt == 0 ? 1 - 1e-12 : 1 - std::ldexp(1e-12, 2 * attempt);
  }
  throw Infeasible(format_message("{} {}, {} {}", Field{"epsilon"}, budget.epsilon, Field{"delta"},
                                  budget.delta),
                   "no noise in double precision keeps a schema to that",
                   budget.epsilon > 20 ? "ask for a smaller epsilon, or a larger delta"
                                       : "ask for a larger epsilon or delta");
}

std::string_view name_of(const SchemaMechanism& /*mechanism*/) { return SchemaQuestions::name; }

std::string_view theorem_of(const SchemaMechanism& /*mechanism*/) {
  return SchemaQuestions::theorem;
}

std::string basis_of(const SchemaMechanism& mechanism, const SchemaProblem& problem) {
  return fmt::format(
      "It rests on Gaussian noise in counts of {}the cells of {} columns, by kind, by text and by "
      "range, and on a threshold that rare texts do not reach{}",
      questions_of(mechanism).rows_noise == 0 ? ""
      : problem.of_people()                   ? "what all rows count and "
                                              : "the rows and ",
      problem.columns,
      problem.of_people()
          ? fmt::format("; rows of one person count as at most {} together", problem.rows_of_person)
          : "");
}

Analysis analyze(const SchemaMechanism& mechanism, const SchemaProblem& problem,
                 const Neighbors& who, std::uint64_t draws) {
  problem.validate();
  require_who_of_schema(problem, who);
  if (draws != 1) {
    throw BadInput(Field{"draws"}, "a schema is bought once",
                   fmt::format("leave it out (got {})", draws));
  }
  const SchemaQuestions& q = questions_of(mechanism);
  require_deviation(q.bins_noise, "bins_noise");
  require_deviation(q.levels_noise, "levels_noise");
  require_deviation(q.refine_noise, "refine_noise");
  require_finite_positive(q.threshold, "threshold");
  if (counts_rows(problem, who)) {
    require_deviation(q.rows_noise, "rows_noise");
  } else if (q.rows_noise != 0) {
    throw BadInput(fmt::format(
        "rows_noise: the number of rows is public under replace-one; leave it out, got {}",
        q.rows_noise));
  }
  Analysis out;
  const double numbers = answered_numbers(problem, who);
  const double mu = round_up(sqrt(squared_mu(q, problem, who)));
  const double by_threshold = threshold_tv_up(q, problem, who);
  out.noise = noise_cost_up(AnsweredNoise{numbers}, 1);
  const bool resolves = answers_resolve(static_cast<double>(problem.most_weight()), mu);
  const double tv = round_up(Wide(out.noise.tv) + Wide(by_threshold));
  out.guarantee = {mu, out.noise.epsilon, 0, resolves ? std::min(tv, 1.0) : 1.0, who};
  out.release_grid = answer_grid(q.bins_noise);
  out.constants = {{"answered_numbers", numbers}, {"threshold_tv", by_threshold}};
  return out;
}

}  // namespace gibbsite
