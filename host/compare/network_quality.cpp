#include "gibbsite/compare/network_quality.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/contingency.hpp"
#include "gibbsite/compare/compare.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/reshape.hpp"
#include "gibbsite/model/losses.hpp"
#include "gibbsite/release/network_query.hpp"

namespace gibbsite {
namespace {

std::vector<double> shares(const LevelRows& rows, std::span<const std::uint32_t> columns) {
  std::vector<double> out = counts_in_rows(rows, contingency(rows, columns));
  const double all = std::accumulate(out.begin(), out.end(), 0.0);
  if (!(all > 0)) throw BadInput("data: no row counts, all weights are 0; give a table of others");
  for (double& count : out) count /= all;
  return out;
}

double total_variation(std::span<const double> p, std::span<const double> q) {
  double out = 0;
  for (std::size_t i = 0; i < p.size(); ++i) out += std::abs(p[i] - q[i]);
  return out / 2;
}

double mean_distance(const std::vector<MarginalDistance>& of, double MarginalDistance::*value) {
  double sum = 0;
  for (const MarginalDistance& one : of) sum += one.*value;
  return of.empty() ? 0 : sum / static_cast<double>(of.size());
}

// P(row) of the average over draws.
double likelihood(const NetworkModel& model, const LevelRows& rows, std::uint64_t row) {
  const Network& network = model.network;
  double out = 0;
  for (const auto& tables : model.tables) {
    double product = 1;
    for (std::size_t k = 0; k < network.size() && product > 0; ++k) {
      std::uint64_t cell = 0;
      for (const std::uint32_t parent : network.parents[k])
        cell = cell * network.levels[parent] + rows.columns[parent][row];
      product *= tables[k][cell * network.levels[k] + rows.columns[k][row]];
    }
    out += product;
  }
  return out / static_cast<double>(model.tables.size());
}

}  // namespace

NetworkQuality network_quality(const NetworkModel& model, const Dataset& data,
                               const std::atomic<bool>* stop) {
  const LevelRows rows = network_rows(data, model.schema);
  NetworkQuality out;
  out.rows = rows.rows;
  const auto columns = static_cast<std::uint32_t>(model.network.size());
  std::vector<std::vector<double>> alone;
  for (std::uint32_t k = 0; k < columns; ++k) {
    const std::uint32_t one[] = {k};
    alone.push_back(shares(rows, one));
    out.one.push_back({k, k, total_variation(alone.back(), joint(model, one)), 0});
  }
  for (std::uint32_t a = 0; a < columns; ++a) {
    for (std::uint32_t b = a + 1; b < columns; ++b) {
      if (stop != nullptr && *stop) throw Interrupted("interrupted; nothing was written");
      const std::uint32_t both[] = {a, b};
      const std::vector<double> real = shares(rows, both);
      std::vector<double> product;
      for (const double p : alone[a])
        for (const double q : alone[b]) product.push_back(p * q);
      out.two.push_back(
          {a, b, total_variation(real, joint(model, both)), total_variation(real, product)});
    }
  }
  out.one_mean = mean_distance(out.one, &MarginalDistance::network);
  out.two_mean = mean_distance(out.two, &MarginalDistance::network);
  out.two_mean_independent = mean_distance(out.two, &MarginalDistance::independent);
  double possible = 0;
  for (std::uint64_t i = 0; i < rows.rows; ++i) {
    const double w = rows.amount.empty() ? 1 : std::ldexp(rows.amount[i], -weight_bits);
    const double p = likelihood(model, rows, i);
    if (!(p > 0)) {
      ++out.impossible_rows;
      continue;
    }
    if (w == 0) continue;
    possible += w;
    out.log_likelihood += w * std::log(p);
    for (std::uint32_t k = 0; k < columns; ++k)
      out.log_likelihood_independent += w * std::log(alone[k][rows.columns[k][i]]);
  }
  out.log_likelihood /= possible;
  out.log_likelihood_independent /= possible;
  return out;
}

SyntheticClassifier synthetic_classifier(const NetworkModel& model, const Dataset& data,
                                         const std::string& target, std::uint64_t seed) {
  if (data.schema.weight() != nullptr || data.schema.person() != nullptr) {
    throw BadInput(Field{"target"}, "is told by rows that count the same, and these do not",
                   "leave the classifier out");
  }
  const Dataset real = with_category_as_label(data, target);
  const Split split = split_rows(real.rows(), held_out_rows(real.rows(), 0.3), seed);
  const Dataset training = select_rows(real, split.training),
                test = select_rows(real, split.held_out);
  const Dataset drawn = with_category_as_label(
      synthetic_rows(model, training.rows(), StreamKey::from_seed(seed)), target);
  const auto judged = [&](const Dataset& of) {
    const auto fitted = non_private_fit(of, full_loss_name(losses::logistic::name, of.schema));
    if (!fitted) {
      throw BadInput(Field{"target"},
                     fmt::format("the other columns have {} features, at most {} are fitted",
                                 of.features(), most_non_private_features),
                     "leave the classifier out");
    }
    return evaluate(predict_probabilities(*fitted, test.view()), test.y);
  };
  return {.target = target,
          .positive = std::get<TwoClasses>(real.schema.label).positive,
          .training_rows = training.rows(),
          .held_out_rows = test.rows(),
          .synthetic = judged(drawn),
          .real = judged(training)};
}

}  // namespace gibbsite
