#include "gibbsite/mechanism/column_change.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/overloaded.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/candidates.hpp"
#include "mechanism/network_draws.hpp"
#include "mechanism/network_tree.hpp"

namespace gibbsite {
namespace {

bool replaces(const Guarantee& whole) { return whole.who.adjacency == Adjacency::replace_one; }

// The release's guarantee with another mu. A replaced column is a replaced person.
ColumnPrice gaussian(const Guarantee& whole, double mu) {
  if (mu == 0) return {};
  ColumnPrice out{whole};
  out.guarantee.mu = replaces(whole) ? std::min(mu, whole.mu) : mu;
  return out;
}

// What a replaced cell moves a table of counts by, in norm, whatever the adjacency.
Wide replaced_change(const Guarantee& whole) {
  return Wide(whole.who.rows_per_person) * sqrt(Wide(2));
}

// Which tables hold a column that can change.
std::vector<bool> touched_tables(const NetworkProblem& p, std::span<const std::uint32_t> columns) {
  const auto changes = [&](std::uint32_t column) {
    return p.levels[column] > 1 && std::ranges::find(columns, column) != columns.end();
  };
  std::vector<bool> out;
  for (std::uint32_t i = 0; i < p.levels.size(); ++i)
    out.push_back(changes(i) || std::ranges::any_of((*p.parents)[i], changes));
  return out;
}

ColumnPrice price_of(const NetworkCounts& s, const NetworkProblem& p, const Guarantee& whole,
                     std::span<const std::uint32_t> columns) {
  const std::vector<bool> touched = touched_tables(p, columns);
  const std::vector<double> deviations = table_deviations(s.noise, p.network());
  Wide sum = 0;  // mu^2 = sum of (sqrt(2) k)^2/sigma_i^2 over tables that hold the column
  for (std::size_t i = 0; i < touched.size(); ++i)
    if (touched[i]) sum += 1 / (Wide(deviations[i]) * Wide(deviations[i]));
  return gaussian(whole, round_up(replaced_change(whole) * sqrt(sum)));
}

// Every table that scores may choose may hold the column: the last part is the whole one.
ColumnPrice price_of(const NetworkTree& s, const NetworkProblem& p, const Guarantee& whole,
                     std::span<const std::uint32_t> columns) {
  const auto changes = [&](std::uint32_t column) {
    return p.levels[column] > 1 && std::ranges::find(columns, column) != columns.end();
  };
  std::uint64_t one_ways = 0, pairs = 0;
  for (std::uint32_t k = 0; k < p.levels.size(); ++k) one_ways += changes(k);
  if (one_ways == 0) return {};
  for (const auto& [a, b] : scored_pairs(p)) pairs += changes(a) || changes(b);
  const Wide moved = replaced_change(whole), counted = Wide(s.one_way_noise);
  Wide sum = Wide(one_ways) * moved * moved / (counted * counted);
  if (pairs > 0) {  // a score moves by 2k = sqrt(2) * sqrt(2) k
    sum += 2 * Wide(pairs) * moved * moved / (Wide(s.score_noise) * Wide(s.score_noise));
    sum += moved * moved / (Wide(s.noise) * Wide(s.noise));
  }
  return gaussian(whole, round_up(sqrt(sum)));
}

ColumnPrice price_of(const NetworkTrimmed& s, const NetworkProblem& p, const Guarantee& whole,
                     std::uint64_t draws, std::span<const std::uint32_t> columns) {
  const double eta = columns_range_up(p, columns);
  if (eta == 0) return {};
  const double range = round_up(Wide(s.weight) * Wide(whole.who.rows_per_person) * Wide(eta));
  return gaussian(whole, draws_mu_up(bounded_range_mu_up(range), draws));
}

// As many copies of one pair of laws as drawn tables hold the column.
ColumnPrice price_of(const NetworkConjugate& s, const NetworkProblem& p, const Guarantee& whole,
                     std::uint64_t draws, std::span<const std::uint32_t> columns) {
  const std::vector<bool> touched = touched_tables(p, columns);
  std::uint64_t tables = 0;
  for (std::size_t i = 0; i < touched.size(); ++i) tables += touched[i] && p.levels[i] > 1;
  if (tables == 0) return {};
  const double prior = s.prior_scale * p.prior, weight = s.weight;
  const std::uint64_t copies = tables * draws;
  const double one = beta_pair_delta_up(prior, prior, weight, 1, 0);
  return {.guarantee = {.tv = whole.tv, .who = whole.who},
          .delta = [=](double epsilon, Digits digits) -> double {
            return copies == 1
                       ? beta_pair_delta_up(prior, prior, weight, 1, epsilon, digits)
                       : beta_renyi_delta_up(prior, prior, weight, 1, copies, epsilon, digits);
          },
          .apart = std::min(1.0, static_cast<double>(copies) * one)};
}

// Between two cells at most `by` apart, the part of the range of what they become; with what the
// reader's rounding adds.
double moved_part(const FamilyProblem& p, double by) {
  const auto [least, most] = p.values();
  const double width = most - least;
  double moved = by;
  if (p.family == Family::rate) moved = std::ceil(by);
  if (p.family == Family::variance) {  // of squared distances: the furthest one moves by most
    const double far = std::max(p.hi - p.center, p.center - p.lo);
    moved = by < far ? by * (2 * far - by) : width;
  }
  const double rounded = p.family == Family::rate ? 0 : 0x1p-22;
  return std::min(1.0, moved / width * (1 + 0x1p-50) + rounded);
}

// The mean's, whose draws are Gaussian, is apart: its mu is in proportion.
std::function<double(double, Digits)> delta_of_one(const ConjugateDraw& s, const FamilyProblem& p,
                                                   const Wide& moved) {
  const std::vector<double> prior = p.prior_at(s.prior_scale);
  const double a = prior.front(), b = prior.back();
  const double weight = round_up(Wide(s.weight) * moved);
  if (p.family == Family::bounded_mean) {
    return [=](double e, Digits digits) { return beta_pair_delta_up(a, b, weight, 1, e, digits); };
  }
  if (p.family == Family::rate) {
    const double shift = round_up(Wide(s.weight) * Wide(p.hi) * moved);
    return [=](double e, Digits digits) { return gamma_pair_delta_up(a, shift, e, digits); };
  }
  const Wide r = Wide(s.weight) * Wide(p.records()), n = p.rows;
  const auto [least, most] = p.values();
  const double shape = round_up(Wide(a) + r * n);
  const double gap =
      round_up(moved * r * (Wide(most) - Wide(least)) / (Wide(b) + r * n * Wide(least)));
  return [=](double e, Digits digits) { return scale_pair_delta_up(shape, gap, e, digits); };
}

ColumnPrice price_of(const ConjugateDraw& s, const FamilyProblem& p, const Guarantee& whole,
                     std::uint64_t draws, double part) {
  if (p.family == Family::mean) return gaussian(whole, round_up(Wide(whole.mu) * Wide(part)));
  const auto one = delta_of_one(s, p, Wide(whole.who.rows_per_person) * Wide(part));
  const auto n = static_cast<double>(draws);
  return {.guarantee = {.tv = whole.tv, .who = whole.who},
          .delta = [=](double epsilon, Digits digits) { return n * one(epsilon / n, digits); },
          .apart = std::min(1.0, n * one(0, Digits::fifty))};
}

// A record's log likelihood is linear in its number, so ranges and slopes are in proportion.
ColumnPrice price_of(const TrimmedDraw& s, const FamilyProblem& p, const Guarantee& whole,
                     std::uint64_t draws, double part) {
  const std::uint64_t k = whole.who.rows_per_person;
  const double range = round_up(Wide(s.weight) * Wide(k) * Wide(part) * Wide(record_range_up(p)));
  const double slope = round_up(Wide(curvature_mu_up(p, s.weight, k)) * Wide(part));
  Guarantee out{.tv = whole.tv, .who = whole.who};
  out.mu = draws_mu_up(std::min(bounded_range_mu_up(range), slope), draws);
  return {out};
}

}  // namespace

ColumnPrice column_price(const NetworkMechanism& mechanism, const NetworkProblem& problem,
                         const Guarantee& whole, std::uint64_t draws,
                         std::span<const std::uint32_t> columns) {
  if (picks_of(problem) > 0 && !std::holds_alternative<NetworkTree>(mechanism)) {
    if (replaces(whole)) return {whole};  // any table may hold the column
    throw BadInput(Field{"column"},
                   "parents that were picked one after the other have no price of a column under "
                   "add-remove",
                   "read the certificate's own guarantee");
  }
  return std::visit(
      Overloaded{[&](const NetworkCounts& s) { return price_of(s, problem, whole, columns); },
                 [&](const NetworkTree& s) { return price_of(s, problem, whole, columns); },
                 [&](const auto& s) { return price_of(s, problem, whole, draws, columns); }},
      mechanism);
}

ColumnPrice column_price(const CovarianceMechanism& mechanism, const CovarianceProblem& problem,
                         const Guarantee& whole, double part) {
  if (!(part > 0 && part <= 1)) throw BadInput("part: must be above 0 and at most 1");
  const double noise = std::get<CovarianceMoments>(mechanism).noise;
  // Cells are read as floats: each of two is off by 2^-24 at most on [-1, 1].
  const double by = std::min(2.0, 2 * part + 0x1p-22);
  const Adjacency adjacency = whole.who.adjacency;
  const double change =
      covariance_column_change_up(problem.columns, adjacency, by, problem.weighted);
  const double mu = round_up(Wide(whole.who.rows_per_person) * Wide(change) / Wide(noise));
  ColumnPrice out = gaussian(whole, mu);
  const bool may_be_missing = part == 1 && (problem.weighted || !replaces(whole));
  if (may_be_missing) out.guarantee.mu = std::max(mu, whole.mu);
  return out;
}

ColumnPrice column_price(const FamilyMechanism& mechanism, const FamilyProblem& problem,
                         const Guarantee& whole, std::uint64_t draws, double by) {
  if (problem.has_levels())
    throw BadInput(Field{"moves_by"}, "levels do not move by an amount", "leave it out");
  require_finite_positive(by, Field{"moves_by"});
  const double part = moved_part(problem, by);
  if (part >= 1) return {whole};
  return std::visit([&](const auto& s) { return price_of(s, problem, whole, draws, part); },
                    mechanism);
}

namespace {

double delta_at(const ColumnPrice& price, double epsilon, Digits digits) {
  if (!price.delta) return delta_up(price.guarantee, epsilon);
  return delta_up({.epsilon0 = epsilon,
                   .delta0 = std::min(1.0, price.delta(epsilon, digits)),
                   .tv = price.guarantee.tv},
                  epsilon);
}

}  // namespace

double column_epsilon_up(const ColumnPrice& price, double delta) {
  constexpr double most = 700;
  double low = 0, high = 1;
  if (delta_at(price, 0, Digits::few) <= delta) high = 0;
  while (high > 0 && !(delta_at(price, high, Digits::few) <= delta)) {
    low = high;
    if ((high *= 2) > most) return std::numeric_limits<double>::infinity();
  }
  for (int i = 0; i < 40 && high > 0; ++i) {
    const double middle = low + (high - low) / 2;
    (delta_at(price, middle, Digits::few) <= delta ? high : low) = middle;
  }
  for (double step = 1e-12; step < most; step *= 4) {  // the claim itself, in 50 digits
    if (delta_at(price, high, Digits::fifty) <= delta) return high;
    high += step;
  }
  return std::numeric_limits<double>::infinity();
}

double column_guess_percent(const ColumnPrice& price) {
  if (!price.delta) return best_guess_percent(price.guarantee);
  return std::min(100.0, std::ceil(((1 + price.apart) / 2 + price.guarantee.tv) * 1000) / 10);
}

}  // namespace gibbsite
