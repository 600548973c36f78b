// Runs of small budgets of whitened: each released answer is an exact sum, of a question that
// follows from the schema and earlier answers, and the noise of its share; and no table is told
// from a neighbor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/run/fit.hpp"
#include "run/mechanism_run.hpp"
#include "tests/support/people.hpp"
#include "tests/support/repeats.hpp"
#include "tests/support/whitened_run.hpp"

namespace gibbsite {
namespace whitened_small_test {

using support::people;
using support::Question;
using support::with_categories;

struct Table {
  const char* name;
  Dataset data;
};

Dataset relabeled(Dataset data, float label) {
  std::ranges::fill(data.y, label);
  return data;
}

Dataset scaled_down(Dataset data) {
  data.schema.row_norm = 0.5;
  const std::size_t d = data.features();
  for (std::size_t i = 0; i < data.rows(); ++i)
    clip_row_to_norm({&data.dense()[i * d], d - 1}, 0.5);
  return data;
}

std::vector<Table> tables() {
  std::vector<Table> out;
  out.push_back({"two numbers", people(200, 2, 3)});
  Dataset typical = people(150, 3, 6);
  typical.schema.columns[0].typical = {0.2, 0.03};  // far from what they are
  typical.schema.columns[2].typical = {0.5, 0.3};
  out.push_back({"numbers with what is typical", typical});
  out.push_back({"one direction that has nearly all", support::bunched(people(300, 12, 7))});
  out.push_back({"one number", people(20, 1, 2)});
  out.push_back({"one row", people(1, 3, 2)});
  out.push_back({"one class", relabeled(people(60, 5, 4), -1)});
  out.push_back({"numbers and categories", with_categories(people(120, 2, 4), {4, 1, 3}, 4)});
  out.push_back({"categories alone", with_categories(people(150, 0, 4), {2, 9}, 4)});
  out.push_back({"categories of one level alone", with_categories(people(60, 0, 4), {1, 1}, 4)});
  out.push_back({"rows that are scaled down", scaled_down(people(90, 4, 5))});
  Dataset levels = with_categories(people(90, 1, 4), {3, 2}, 4);
  levels.schema.text.has_missing = true;  // an empty cell has no level, so levels are no contrasts
  levels.schema.text.missing = "?";
  out.push_back({"categories with cells of no level", levels});
  return out;
}

struct Asking {
  const char* name;
  Neighbors who;
};
const std::vector<Asking>& askings() {
  static const std::vector<Asking> all{{"replace", {}},
                                       {"add or remove", {Adjacency::add_remove, 1}},
                                       {"three rows", {Adjacency::replace_one, 3}},
                                       {"three more", {Adjacency::add_remove, 3}}};
  return all;
}

Plan plan_of(const Dataset& data, const Neighbors& who, double iterations) {
  const bool add_remove = who.adjacency == Adjacency::add_remove;
  const std::uint64_t n = data.rows(), cap = add_remove ? n + n / 3 + 3 : n;
  Budget budget{.epsilon = 0.4, .delta = 1e-5, .rows_per_person = who.rows_per_person};
  budget.adjacency = who.adjacency;
  // The rule is for numbers alone, and its proof and code are for levels too: settings of a table
  // of as many numbers.
  const Problem problem = logistic_regression().constants(data.schema, cap);
  const double columns = static_cast<double>(problem.features) - 1;
  Problem numbers = problem;
  numbers.typical_row_norm = std::sqrt(1 + columns / 12);
  numbers.row_norm = std::max(problem.row_norm, std::sqrt(columns + 1));
  Plan out = plan(numbers, budget, {.mechanism = "whitened", .iterations = iterations});
  out.problem = problem;
  return out;
}

// Only public numbers and released answers decide what is asked and how much noise an answer has:
// the answers of a run are those sums and that noise, number by number. Ends of the lengths that
// follow from the rows, a second question that is chosen by the rows, one that is answered at
// another price, or noise that serves twice fail here.
TEST(WhitenedSmall, AnswersAreThePublicQuestionsSumsWithTheirOwnNoise) {
  int starts = 0, seconds = 0;
  for (const Table& table : tables()) {
    const Dataset& data = table.data;
    for (const Asking& asking : askings()) {
      const Plan made = plan_of(data, asking.who, 3);
      const auto& s = std::get<Whitened>(made.candidate().mechanism);
      ASSERT_TRUE(is_small_budget(s)) << table.name;
      const Neighbors& who = made.candidate().guarantee.who;
      ASSERT_EQ(who, asking.who);
      for (std::uint64_t seed = 1; seed <= support::repeats(6U, 2U); ++seed) {
        const auto backend = make_backend("cpu");
        const std::shared_ptr<Engine> engine =
            backend->load(data.view(), data.y, loss_named("logistic"));
        const Model model = logistic_regression();
        const StreamKey key = StreamKey::from_seed(seed);
        const Task task{model, made.problem, who, 1, data.schema, engine, key, *backend, data.y};
        const auto sampler = sampler_of(s, task);
        sampler->begin();
        while (sampler->done() < sampler->total()) sampler->advance(1);
        LinearModel out;
        sampler->complete(out);
        const auto asked = support::questions_of(s, made.problem, who, data.schema, out.answers);
        ASSERT_EQ(asked.size(), 6U);
        starts += asked[2].name == "start" ? 1 : 0;
        seconds += asked[2].moments ? 1 : 0;
        std::size_t at = 0;  // among answers, of which gradients have two
        for (std::size_t i = 0; i < asked.size(); ++i) {
          const Question& q = asked[i];
          const std::size_t k = static_cast<std::size_t>(q.metric.cols());
          const std::vector<double> exact = support::exact_answer(*engine, q);
          const NoisyAnswer& answer = out.answers[at++];
          // The least deviation that is paid for; rounding adds next to nothing here.
          const double least =
              q.name == "lengths" ? length_deviation_up(s, who, q.lengths.half(), 0)
              : q.moments         ? moment_deviation_up(s, who, i == 2, q.clip, 0)
              : q.name == "start" ? start_deviation_up(s, who, q.clip, 0)
                                  : gradient_deviation_up(s, who, i - 2, q.clip, 0);
          EXPECT_GE(answer.deviation, least) << table.name << q.name;
          EXPECT_LE(answer.deviation, least * (1 + 1e-6)) << table.name << q.name;
          std::vector<double> normals(answer.values.size() + (q.name == "gradient" ? 1 : 0));
          answer_normals(key, 0, i, normals);
          const auto expect_number = [&](double found, double sum, double normal,
                                         double deviation) {
            // Half a grid, an eighth of the deviation at most, and rounding.
            EXPECT_NEAR(found, sum + deviation * normal, deviation / 16 * (1 + 1e-6))
                << table.name << " " << asking.name << " " << q.name << seed;
          };
          std::size_t number = 0;
          for (std::size_t a = 0; q.moments && a < k; ++a) {
            for (std::size_t b = 0; b <= a; ++b, ++number) {
              const double own = a == b ? answer.deviation : answer.deviation / std::sqrt(2.0);
              expect_number(answer.values[number], exact[a * k + b] * answer.deviation,
                            normals[number], own);
            }
          }
          for (; number < answer.values.size(); ++number) {
            expect_number(answer.values[number], exact[number] * answer.deviation, normals[number],
                          answer.deviation);
          }
          if (q.name != "gradient") continue;
          const NoisyAnswer& curvature = out.answers[at++];
          const double of_curvature = curvature_deviation_up(s, who, made.problem.curvature, 0);
          EXPECT_GE(curvature.deviation, of_curvature) << table.name;
          expect_number(curvature.values[0], exact.back() * curvature.deviation, normals.back(),
                        curvature.deviation);
        }
        EXPECT_EQ(at, out.answers.size());
      }
    }
  }
  EXPECT_TRUE(starts > 0 && seconds > 0) << starts << " " << seconds;
}

// Rows of every kind, also such as no schema encodes, in place of others, more or fewer: along the
// run that was made on one table all questions together tell it from its neighbor by mu at most.
TEST(WhitenedSmall, NoNeighborWithCategoriesIsFurtherAwayThanMu) {
  double closest = 0;
  for (const Table& table : tables()) {
    const Dataset& data = table.data;
    const std::size_t d = data.features();
    std::mt19937_64 random(9);
    for (const Asking& asking : askings()) {
      const std::size_t of_one = static_cast<std::size_t>(asking.who.rows_per_person);
      if (data.rows() < of_one) continue;
      const bool add_remove = asking.who.adjacency == Adjacency::add_remove;
      const Plan made = plan_of(data, asking.who, 3);
      const double mu = made.candidate().guarantee.mu;
      const auto backend = make_backend("cpu");
      const auto fit_with = [&](Key key) {
        return fit(logistic_regression(), data, made, *backend, std::move(key),
                   {.release_answers = true});
      };
      EXPECT_TRUE(verify(fit_with(Key::from_os())).valid) << table.name << asking.name;
      const Release release = fit_with(Key::from_seed(4));
      const auto asked =
          support::questions_of(std::get<Whitened>(made.candidate().mechanism), made.problem,
                                asking.who, data.schema, release.model().answers);
      const auto a_row = [&] {
        std::uniform_int_distribution<int> kind(0, 4);
        std::normal_distribution<float> normal;
        std::vector<float> row(d, 0.0F);
        const int of = kind(random);
        if (of == 0) {
          std::ranges::copy_n(data.dense().begin(), static_cast<std::ptrdiff_t>(d), row.begin());
        } else if (of == 1) {
          std::ranges::fill(row, 0.5F);
        } else if (of < 4) {
          for (float& v : row) v = normal(random) * (of == 2 ? 1.0F : 1e4F);
        }
        if (of < 3) row.back() = 1;
        return row;
      };
      for (int pair = 0; pair < support::repeats(60, 10); ++pair) {
        Dataset here = data, there = data;
        const std::vector<float> one = a_row(), other = a_row();
        for (std::size_t i = 0; i < of_one; ++i) {
          std::ranges::copy(one, here.dense().begin() + static_cast<std::ptrdiff_t>(i * d));
          std::ranges::copy(other, there.dense().begin() + static_cast<std::ptrdiff_t>(i * d));
          here.y[i] = 1, there.y[i] = pair % 3 == 0 ? 1.0F : -1.0F;
        }
        if (add_remove) {
          there.dense().erase(there.dense().begin(),
                              there.dense().begin() + static_cast<std::ptrdiff_t>(of_one * d));
          there.y.erase(there.y.begin(), there.y.begin() + static_cast<std::ptrdiff_t>(of_one));
          if (there.y.empty()) continue;
        } else if (pair % 2 == 0) {
          there.dense() = here.dense();
        }
        const auto first =
            backend->load({here.dense().data(), here.y.size(), d}, here.y, loss_named("logistic"));
        const auto second = backend->load({there.dense().data(), there.y.size(), d}, there.y,
                                          loss_named("logistic"));
        double squares = 0;
        for (const Question& q : asked) {
          squares += support::squared_distance(support::exact_answer(*first, q),
                                               support::exact_answer(*second, q));
        }
        EXPECT_LE(std::sqrt(squares), mu * (1 + 1e-9)) << table.name << " " << asking.name;
        closest = std::max(closest, std::sqrt(squares) / mu);
      }
    }
  }
  EXPECT_GT(closest, 0.9) << "no pair came near: the noise is more than is needed";
}

}  // namespace whitened_small_test
}  // namespace gibbsite
