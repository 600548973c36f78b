#include "gibbsite/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/reshape.hpp"
#include "gibbsite/model/losses.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/run/fit.hpp"

namespace gibbsite {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Uniform below `bound`; std::uniform_int_distribution differs between libraries.
std::uint64_t below(std::uint64_t bound, std::mt19937_64& random) {
  const std::uint64_t uneven = -bound % bound;  // 2^64 mod bound
  std::uint64_t word = random();
  while (word < uneven) word = random();
  return word % bound;
}

void require_comparable(const Dataset& data, const HeldOut& held_out) {
  if (!data.labeled() || (held_out.table != nullptr && !held_out.table->labeled())) {
    throw BadInput("data: has no labels; give a table with the label column");
  }
  if (!is<TwoClasses>(data.schema.label)) {
    throw BadInput(
        fmt::format("data: its label is {}, and two classes are compared; fit and "
                    "evaluate it",
                    to_string(kind_of(data.schema.label))));
  }
  if (held_out.table != nullptr && held_out.table->features() != data.features()) {
    throw BadInput(
        fmt::format("test: has {} features, the table has {}; read both through the same schema",
                    held_out.table->features(), data.features()));
  }
}

// Passes of the plans before a fit and in all, for progress; a yardstick counts for none.
class Passes {
 public:
  Passes(std::span<const Plan> plans, const CompareOptions& options) : options_(options) {
    for (const Plan& plan : plans) total_ += of(plan) * static_cast<double>(options.seeds);
  }
  void fitted(const Plan& plan) { show(done_ += of(plan)); }
  // A share of it.
  void fitting(const Plan& plan, std::uint64_t steps, std::uint64_t all) const {
    show(done_ + of(plan) * static_cast<double>(steps) / static_cast<double>(std::max(all, steps)));
  }

 private:
  // A fit of no pass to speak of takes its time too.
  static double of(const Plan& plan) { return 100 + plan.candidate().cost.work; }
  void show(double done) const {
    if (!options_.progress) return;
    options_.progress(static_cast<std::uint64_t>(std::min(done, total_)),
                      static_cast<std::uint64_t>(total_));
  }

  const CompareOptions& options_;
  double done_ = 0, total_ = 0;
};

Trial judged(std::uint64_t seed, const LinearModel& model, const Dataset& test, double seconds) {
  return {seed, evaluate(predict_probabilities(model, test.view()), test.y, 0.5, test.weight),
          seconds};
}

Trial majority_of(std::uint64_t seed, const Dataset& training, const Dataset& test) {
  const Rows rows = training.view();
  double positives = 0, all = 0;
  for (std::size_t i = 0; i < rows.rows; ++i) {
    all += rows.weight_of(i);
    positives += training.y[i] > 0 ? rows.weight_of(i) : 0;
  }
  const std::vector<double> share(test.rows(), positives / all);
  return {seed, evaluate(share, test.y, 0.5, test.weight), 0};
}

}  // namespace

void require_two_classes(const Schema& schema) {
  if (is<TwoClasses>(schema.label)) return;
  throw BadInput(
      fmt::format("data: its label is {}, and two classes are compared; fit and "
                  "evaluate it",
                  to_string(kind_of(schema.label))));
}

std::uint64_t held_out_rows(std::uint64_t rows, double share, std::string_view name) {
  require_between(share, 0, 1, name);
  const auto out = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(rows)));
  if (out == 0 || out >= rows) {
    throw BadInput(
        fmt::format("{}: {} of {} {} leaves no row {}; give another share, or a larger table", name,
                    share, rows, rows == 1 ? "row" : "rows", out == 0 ? "to judge by" : "to fit"));
  }
  return out;
}

Split split_rows(std::uint64_t rows, std::uint64_t held_out, std::uint64_t seed) {
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(seed);
  // The first of a shuffle (Fisher, Yates).
  for (std::uint64_t i = 0; i < held_out; ++i)
    std::swap(order[i], order[i + below(rows - i, random)]);
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(held_out);
  Split out{{end, order.end()}, {order.begin(), end}};
  std::ranges::sort(out.training);
  std::ranges::sort(out.held_out);
  return out;
}

std::optional<LinearModel> non_private_fit(const Dataset& data, std::string_view loss) {
  return non_private_fit(data, loss, *make_backend("reference"));
}

std::optional<LinearModel> non_private_fit(const Dataset& data, std::string_view loss,
                                           Backend& backend) {
  if (data.features() * loss_named(loss).outputs() > most_non_private_features) return std::nullopt;
  const Potential potential{.engine = backend.load(data.view(), data.y, loss_named(loss)),
                            .beta = 1,
                            .prior_precision = 1e-3,
                            .center = {}};
  return LinearModel{std::string(loss), data.schema, {minimize(potential, 1e-6).theta}};
}

Spread spread_of(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return {mean, std::sqrt(squares / (n - 1))};
}

Scores scores_of(std::span<const Trial> trials) {
  const auto over = [&](auto value) {
    std::vector<double> values;
    for (const Trial& trial : trials) values.push_back(value(trial));
    return spread_of(values);
  };
  return {over([](const Trial& t) { return t.scores.accuracy; }),
          over([](const Trial& t) { return t.scores.log_loss; }),
          over([](const Trial& t) { return t.scores.auc; }),
          over([](const Trial& t) { return t.seconds; })};
}

Comparison compare(const Dataset& data, const HeldOut& held_out, std::span<const Plan> plans,
                   Backend& backend, const CompareOptions& options) {
  require_comparable(data, held_out);
  if (options.seeds == 0) throw BadInput(Field{"seeds"}, "must be at least 1, got 0", "give more");
  const std::uint64_t apart =
      held_out.table != nullptr ? 0 : held_out_rows(data.rows(), held_out.share);
  Comparison out;
  out.training_rows = data.rows() - apart;
  out.held_out_rows = held_out.table != nullptr ? held_out.table->rows() : apart;
  out.of_plans.resize(plans.size());
  out.why.resize(plans.size());
  Passes passes(plans, options);
  for (std::uint64_t k = 0; k < options.seeds; ++k) {
    const std::uint64_t seed = options.first_seed + k;
    Dataset fitted_part, held_out_part;
    if (held_out.table == nullptr) {
      const Split split = split_rows(data.rows(), apart, seed);
      fitted_part = select_rows(data, split.training);
      held_out_part = select_rows(data, split.held_out);
    }
    const Dataset& training = held_out.table != nullptr ? data : fitted_part;
    const Dataset& test = held_out.table != nullptr ? *held_out.table : held_out_part;
    out.majority.push_back(majority_of(seed, training, test));
    auto begin = Clock::now();
    if (const auto model =
            non_private_fit(training, full_loss_name(losses::logistic::name, training.schema))) {
      out.non_private.push_back(judged(seed, *model, test, seconds_since(begin)));
    }
    for (std::size_t p = 0; p < plans.size(); ++p) {
      const Plan& plan = plans[p];
      if (options.stop != nullptr && *options.stop) {
        throw Interrupted("interrupted; nothing was written");
      }
      const Model model =
          glm(plan.problem.loss, {.prior_precision = plan.problem.prior_precision, .center = {}});
      FitOptions watched;
      watched.stop = options.stop;
      watched.progress = [&](std::uint64_t steps, std::uint64_t all) {
        passes.fitting(plan, steps, all);
      };
      try {
        begin = Clock::now();
        const Release release = fit(model, training, plan, backend, Key::from_seed(seed), watched);
        const double seconds = seconds_since(begin);
        out.of_plans[p].push_back(judged(seed, release.model(), test, seconds));
      } catch (const Infeasible& error) {
        out.why[p] = error.message();
      } catch (const Interrupted&) {  // it speaks of a checkpoint
        throw Interrupted("interrupted; nothing was written");
      }
      passes.fitted(plan);
    }
  }
  for (std::size_t p = 0; p < plans.size(); ++p) {
    if (!out.why[p].empty()) out.of_plans[p].clear();
  }
  return out;
}

}  // namespace gibbsite
