#include "gibbsite/compare/network_quality.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/contingency.hpp"
#include "gibbsite/compare/compare.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/losses.hpp"
#include "gibbsite/release/network_query.hpp"

namespace gibbsite {
namespace {

std::vector<double> shares(const LevelRows& rows, std::span<const std::uint32_t> columns) {
  std::vector<double> out;
  for (const std::uint64_t count : contingency(rows, columns))
    out.push_back(static_cast<double>(count) / static_cast<double>(rows.rows));
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

// The rows of a network's schema with one category as the label: its features are left out.
class Labeled {
 public:
  Labeled(const Schema& columns, const std::string& target) {
    const auto found = std::ranges::find(columns.columns, target, &Column::name);
    if (found == columns.columns.end() || found->type != ColumnType::category) {
      throw BadInput(
          fmt::format("`target`: {} is no category of the network; give one of its columns "
                      "that is",
                      gibbsite::quoted(target)));
    }
    schema_ = columns;
    schema_.label = target;
    // Of two the second, as a schema's positive class is.
    count_ = columns.features_of(*found);
    positive_ = count_ == 2 && found->levels.size() == 2 ? 1 : 0;
    schema_.positive = found->levels[positive_];
    schema_.intercept = true;
    schema_.network.reset();
    schema_.columns.erase(schema_.columns.begin() + (found - columns.columns.begin()));
    if (schema_.columns.empty()) {
      throw BadInput("`target`: is the network's only column; nothing is left to tell it by");
    }
    for (auto c = columns.columns.begin(); c != found; ++c) first_ += columns.features_of(*c);
    schema_.row_norm = schema_.max_unclipped_norm();
  }

  [[nodiscard]] Dataset of(const Dataset& data) const {
    Dataset out;
    out.schema = schema_;
    const Rows rows = data.view();
    const std::size_t features = schema_.features();
    out.x.assign(rows.rows * features, 0.0F);
    for (std::size_t i = 0; i < rows.rows; ++i) {
      float* const x = out.x.data() + i * features;
      bool positive = false;
      rows.for_each(i, [&](std::size_t j, float v) {
        if (j < first_) x[j] = v;
        if (j >= first_ + count_) x[j - count_] = v;
        if (j == first_ + positive_ && v > 0) positive = true;
      });
      x[features - 1] = 1;
      out.y.push_back(positive ? 1.0F : -1.0F);
    }
    return out;
  }
  [[nodiscard]] const Schema& schema() const { return schema_; }

 private:
  Schema schema_;
  std::size_t first_ = 0, count_ = 0;  // features of the target
  std::size_t positive_ = 0;           // among them
};

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
  for (std::uint64_t i = 0; i < rows.rows; ++i) {
    const double p = likelihood(model, rows, i);
    if (!(p > 0)) {
      ++out.impossible_rows;
      continue;
    }
    out.log_likelihood += std::log(p);
    for (std::uint32_t k = 0; k < columns; ++k)
      out.log_likelihood_independent += std::log(alone[k][rows.columns[k][i]]);
  }
  const auto possible = static_cast<double>(rows.rows - out.impossible_rows);
  out.log_likelihood /= possible;
  out.log_likelihood_independent /= possible;
  return out;
}

SyntheticClassifier synthetic_classifier(const NetworkModel& model, const Dataset& data,
                                         const std::string& target, std::uint64_t seed) {
  const Labeled labeled(model.schema, target);
  const Dataset real = labeled.of(data);
  const Split split = split_rows(real.rows(), held_out_rows(real.rows(), 0.3), seed);
  const Dataset training = rows_of(real, split.training), test = rows_of(real, split.held_out);
  const Dataset drawn =
      labeled.of(synthetic_rows(model, training.rows(), StreamKey::from_seed(seed)));
  const auto judged = [&](const Dataset& of) {
    const auto fitted = non_private_fit(of, full_loss_name(losses::logistic::name, of.schema));
    if (!fitted) {
      throw BadInput(
          fmt::format("`target`: the other columns have {} features, at most {} are fitted; "
                      "leave the classifier out",
                      of.features(), most_non_private_features));
    }
    return evaluate(predict_probabilities(*fitted, test.view()), test.y);
  };
  return {.target = target,
          .positive = labeled.schema().positive,
          .training_rows = training.rows(),
          .held_out_rows = test.rows(),
          .synthetic = judged(drawn),
          .real = judged(training)};
}

}  // namespace gibbsite
