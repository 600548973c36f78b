// Whole runs of whitened: what their answers would have been for a neighbor, whether they go on
// from a checkpoint to the same bits, and tables that nobody would fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "certificate/model_json.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/run/fit.hpp"
#include "tests/support/backend.hpp"
#include "tests/support/people.hpp"
#include "tests/support/repeats.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/whitened_run.hpp"

namespace gibbsite {
namespace whitened_test {

using support::people;
using support::Question;
using testing::TempDir;

Plan plan_of(const Dataset& data, const Budget& budget, std::optional<double> iterations = {},
             std::uint64_t cap = 0, const char* loss = "logistic", bool intervals = false) {
  return plan(glm(loss).constants(data.schema, cap > 0 ? cap : data.rows()), budget,
              {.mechanism = "whitened", .iterations = iterations, .intervals = intervals});
}
Plan plan_with_intervals(const Dataset& data, const Budget& budget,
                         std::optional<double> iterations = {}, std::uint64_t cap = 0) {
  return plan_of(data, budget, iterations, cap, "logistic", true);
}

Release fit_seeded(const Dataset& data, const Plan& made, std::uint64_t seed,
                   const char* backend = "cpu") {
  FitOptions options;
  options.release_answers = true;
  const auto maker = support::make_test_backend(backend);
  return fit(glm(made.problem.loss), data, made, *maker, Key::from_seed(seed), options);
}

void set_row(Dataset& data, std::size_t i, std::span<const float> row, float label) {
  std::ranges::copy(row, data.dense().begin() + static_cast<std::ptrdiff_t>(i * data.features()));
  data.y[i] = label;
}

// sum over a run's questions of ||change of the answer||^2/sigma^2 when the row becomes another:
// the squared mu that this pair of tables is told apart with, if all answers are seen.
double squared_mu_of(const Dataset& data, const Dataset& other, std::span<const Question> asked,
                     std::string_view loss = "logistic") {
  const auto backend = support::make_test_backend("cpu");
  const auto here = backend->load(data.view(), data.y, loss_named(loss));
  const auto there = backend->load(other.view(), other.y, loss_named(loss));
  double sum = 0;
  for (const Question& q : asked) {
    sum += support::squared_distance(support::exact_answer(*here, q),
                                     support::exact_answer(*there, q));
  }
  return sum;
}

std::vector<Question> asked_in(const Release& release, const Plan& made, const Dataset& data) {
  return support::questions_of(std::get<Whitened>(made.candidate().mechanism), made.problem,
                               made.budget.neighbors(), data.schema, release.model().answers);
}

// No pair of neighbors is further apart than mu along the run that was made on one of them; the
// worst pairs come near to it. A gradient's sensitivity of C in place of 2C, a share counted twice
// or a question that is not paid for fails here.
TEST(WhitenedRun, NoNeighborIsFurtherAwayThanMuAlongARun) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  double closest = 0;
  int pairs = 0, of_small = 0, starts = 0;
  for (const auto& [add_remove, intervals] : {std::pair{false, false}, std::pair{true, false},
                                              std::pair{false, true}, std::pair{true, true}}) {
    for (const std::size_t numbers : {1U, 3U, 12U}) {
      for (const double epsilon : {0.2, 2.0}) {
        // With few rows for a feature also one direction that has nearly all of the moments.
        const bool one = numbers == 12 && !intervals;
        const Dataset data =
            one ? support::bunched(people(300, numbers, 7)) : people(300, numbers, 7);
        Budget budget{.epsilon = epsilon, .delta = 1e-5};
        if (add_remove) budget.adjacency = Adjacency::add_remove;
        const Plan made = plan_of(data, budget, {}, add_remove ? 400 : 0, "logistic", intervals);
        const double mu = made.candidate().guarantee.mu;
        for (const std::uint64_t seed : {1ULL, 2ULL}) {
          const auto asked = asked_in(fit_seeded(data, made, seed), made, data);
          of_small += asked[0].name == "lengths" ? 1 : 0;
          starts += asked[2].name == "start" ? 1 : 0;
          const std::size_t d = data.features();
          std::vector<std::vector<float>> rows{std::vector<float>(d, 0), std::vector<float>(d, 1)};
          rows.emplace_back(d, 0.5F);  // the shortest in the middle of all ranges
          for (std::size_t j = 0; j + 1 < d; j += 5) {
            rows.push_back(rows[0]);
            rows.back()[j] = 1;
          }
          for (auto& row : rows) row[d - 1] = 1;
          for (std::size_t a = 0; a < rows.size(); ++a) {
            for (std::size_t b = add_remove ? rows.size() - 1 : a; b < rows.size(); ++b) {
              for (const float label : {-1.0F, 1.0F}) {
                Dataset here = data, there = data;
                set_row(here, 17, rows[a], 1);
                if (add_remove) {
                  const auto at = static_cast<std::ptrdiff_t>(17 * d);
                  there.dense().erase(there.dense().begin() + at,
                                      there.dense().begin() + at + static_cast<std::ptrdiff_t>(d));
                  there.y.erase(there.y.begin() + 17);
                } else {
                  set_row(there, 17, rows[b], label);
                }
                const double apart = std::sqrt(squared_mu_of(here, there, asked));
                EXPECT_LE(apart, mu * (1 + 1e-9)) << numbers << " " << epsilon;
                closest = std::max(closest, apart / mu);
                ++pairs;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(pairs, 400);
  EXPECT_GT(closest, 0.75) << "no pair came near: the noise is more than is needed";
  EXPECT_TRUE(starts > 0 && starts < of_small) << starts << " of " << of_small;
}

class WhitenedSmallShares : public ::testing::TestWithParam<const char*> {};

// Each question's own worst pair comes to its own share of mu^2.
TEST(WhitenedRun, EveryQuestionCostsItsShareForItsWorstPair) {
  const Dataset data = people(200, 2, 3);
  const Plan made = plan_of(data, {.epsilon = 4, .delta = 1e-5}, 3);
  const auto& s = std::get<Whitened>(made.candidate().mechanism);
  const auto asked = asked_in(fit_seeded(data, made, 5), made, data);
  const double mu2 = s.query_mu * s.query_mu;
  const double left = 1 - s.first_moment_share - s.second_moment_share;
  ASSERT_EQ(s.second_moment_share > 0, true);
  ASSERT_FALSE(is_small_budget(s));
  ASSERT_EQ(asked.size(), 5U);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Question& q = asked[i];
    const double t = static_cast<double>(i) - 1;  // of gradients
    const double share = i == 0   ? s.first_moment_share
                         : i == 1 ? s.second_moment_share
                                  : left * (1 - s.curvature_share) * 2 * t / (3 * 4);
    const double curvature_share = i < 2 ? 0 : left * s.curvature_share / 3;
    // Rows that map to multiples of two unit vectors in coordinates of z: x = P^-T e. They need not
    // be in the schema's range: the engine's answers are bounded for all.
    const Eigen::MatrixXd inverse = Eigen::MatrixXd(q.metric).inverse().transpose();
    const auto row_at = [&](const Eigen::VectorXd& z) {
      const Eigen::VectorXd x = inverse * z;
      std::vector<float> out;
      for (const double v : x) out.push_back(static_cast<float>(v));
      return out;
    };
    const double far = 1e5 * q.clip;
    // Across omega p is 1/2: the scores of the classes are opposite. At twice the clip the cap is
    // 1/2, and rounding to floats hardly tilts the row out of that plane.
    const double at = q.moments ? far : 2 * q.clip;
    const Eigen::VectorXd along =
        q.omega.norm() > 0 ? q.omega.normalized().eval() : Eigen::VectorXd::Unit(3, 0).eval();
    Eigen::VectorXd across = Eigen::VectorXd::Unit(3, 1);
    across = (across - across.dot(along) * along).normalized();
    Dataset here = data, there = data;
    set_row(here, 4, row_at(at * across), 1);
    if (q.moments) {
      set_row(there, 4, row_at(far * along), 1);
    } else {
      set_row(there, 4, row_at(at * across), -1);
    }
    const double apart = squared_mu_of(here, there, {&q, 1});
    EXPECT_LE(apart, (share + curvature_share) * mu2 * (1 + 1e-9)) << i;
    EXPECT_GE(apart, share * mu2 * (1 - 1e-4)) << i << ": the noise is more than is needed";
    if (q.moments) continue;
    // A short row across omega has a curvature of 1/4, one far beyond its cap next to none.
    Dataset middle = data, beyond = data;
    set_row(middle, 4, row_at(1e-3 * across), 1);
    set_row(beyond, 4, row_at(far * across), 1);
    const auto backend = support::make_test_backend("cpu");
    const auto curvature = [&](const Dataset& table) {
      const auto engine = backend->load(table.view(), table.y, loss_named("logistic"));
      return support::exact_answer(*engine, q).back();
    };
    const double part = std::pow(curvature(middle) - curvature(beyond), 2);
    EXPECT_LE(part, curvature_share * mu2 * (1 + 1e-9)) << i;
    EXPECT_GE(part, curvature_share * mu2 * (1 - 1e-3))
        << i << ": the noise is more than is needed";
  }
}

// Every question of a small budget costs its share of mu^2: lengths, a start and gradients whose
// shares grow like t^p. The second moments' share may go to a gradient. Both kinds of neighbors are
// tried, and a person with three rows.
// Two classes and amounts are furthest apart with one row and both ends of its label. Of three
// classes opposite rows of one class are, where p is 1/3.
TEST_P(WhitenedSmallShares, CostWhatTheyAreOfEveryQuestion) {
  const std::string loss = GetParam();
  const bool classes = loss == "softmax-3";
  const float most_label = loss == "huber" ? 5 : 1;
  int starts = 0, seconds = 0;
  for (const bool add_remove : {false, true}) {
    for (const std::uint64_t rows : {1ULL, 3ULL}) {
      for (const bool bunched : {false, true}) {
        const Dataset of_loss = classes           ? support::class_people(200, 2, 3, 3)
                                : loss == "huber" ? support::amounts(200, 2, 3)
                                                  : people(200, 2, 3);
        const Dataset data = bunched ? support::bunched(of_loss) : of_loss;
        const double most = static_cast<double>(rows) * (add_remove ? 0.5 : 1);
        Budget budget{.epsilon = 0.7 * most, .delta = 1e-5, .rows_per_person = rows};
        if (add_remove) budget.adjacency = Adjacency::add_remove;
        const Plan made = plan_of(data, budget, 4, add_remove ? 250 : 0, loss.c_str());
        const auto& s = std::get<Whitened>(made.candidate().mechanism);
        ASSERT_TRUE(is_small_budget(s));
        const double mu2 = s.query_mu * s.query_mu;
        const double left = 1 - s.length_share - s.first_moment_share - s.second_moment_share;
        double powers = 0;
        for (const double t : {1.0, 2.0, 3.0, 4.0}) powers += std::pow(t, 1 - s.gradient_evenness);
        for (const std::uint64_t seed : {1ULL, 2ULL, 3ULL}) {
          const auto asked = asked_in(fit_seeded(data, made, seed), made, data);
          ASSERT_EQ(asked.size(), 7U);
          ASSERT_EQ(asked[0].name, "lengths");
          starts += asked[2].name == "start" ? 1 : 0;
          seconds += asked[2].moments ? 1 : 0;
          double t = 0, spent = 0;
          for (const Question& q : asked) {
            if (q.name == "gradient") ++t;
            const double share = q.name == "lengths"                    ? s.length_share
                                 : q.name == "start" || &q == &asked[2] ? s.second_moment_share
                                 : q.moments                            ? s.first_moment_share
                                             : left * (1 - s.curvature_share) *
                                                   std::pow(t, 1 - s.gradient_evenness) / powers;
            // A curvature moves with a score no further than its own share.
            const double other = q.name == "gradient" ? left * s.curvature_share / 4 : 0;
            const Eigen::MatrixXd inverse = Eigen::MatrixXd(q.metric).inverse().transpose();
            const auto row_at = [&](const Eigen::VectorXd& z) {
              const Eigen::VectorXd x = inverse * z;
              std::vector<float> out;
              for (const double v : x) out.push_back(static_cast<float>(v));
              return out;
            };
            // Across the differences of classes' omegas, of one output across omega.
            Eigen::MatrixXd omegas = q.omega.reshaped(3, classes ? 3 : 1);
            if (classes) omegas = (omegas.colwise() - omegas.rowwise().mean()).eval();
            const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> e(omegas * omegas.transpose());
            const Eigen::VectorXd across = e.eigenvectors().col(0), along = e.eigenvectors().col(2);
            const bool of_rows = q.moments || q.name == "lengths";
            std::vector<float> one = row_at((q.moments ? 1e5 : 2) * q.clip * across),
                               two = row_at((q.moments ? 1e5 : 2) * q.clip * along);
            if (q.name == "lengths") one = {0.5F, 0.5F, 1}, two = {9, 9, 1};
            if (!of_rows) two = classes ? row_at(-2 * q.clip * across) : one;
            Dataset here = data, there = data;
            for (std::size_t i = 0; i < rows; ++i) {
              set_row(here, 4 + i, one, most_label);
              if (!add_remove) set_row(there, 4 + i, two, classes ? 1 : -most_label);
            }
            if (add_remove) {
              there.dense().erase(
                  there.dense().begin() + 12,
                  there.dense().begin() + 12 + static_cast<std::ptrdiff_t>(3 * rows));
              there.y.erase(there.y.begin() + 4,
                            there.y.begin() + 4 + static_cast<std::ptrdiff_t>(rows));
            }
            const double apart = squared_mu_of(here, there, {&q, 1}, loss);
            EXPECT_LE(apart, (share + other) * mu2 * (1 + 1e-9)) << q.name << rows << add_remove;
            EXPECT_GE(apart, share * mu2 * (1 - (classes ? 1e-3 : 1e-4)))
                << q.name << rows << add_remove << ": the noise is more than is needed";
            spent += share + other;
          }
          EXPECT_NEAR(spent, 1, 1e-12);
        }
      }
    }
  }
  EXPECT_TRUE(starts > 0 && seconds > 0) << starts << " " << seconds;
}
INSTANTIATE_TEST_SUITE_P(Losses, WhitenedSmallShares,
                         ::testing::Values("logistic", "huber", "softmax-3"),
                         [](const auto& p) { return std::string(p.param).substr(0, 5); });

// What is asked second is decided by answers alone: of one answer more or less, and not of the
// rows.
TEST(WhitenedRun, AnswersDecideWhatASmallBudgetAsksSecond) {
  const Dataset data = people(400, 5, 3);
  const Plan made = plan_of(data, {.epsilon = 1, .delta = 1e-5});
  const auto& s = std::get<Whitened>(made.candidate().mechanism);
  ASSERT_TRUE(is_small_budget(s));
  const RowLengths lengths = row_lengths(data.schema);
  // Even directions have nothing that stands out; one that is all of the row does.
  for (const bool one : {false, true}) {
    WhitenedRule rule(s, made.problem, made.budget.neighbors(), starting_metric(data.schema));
    ASSERT_TRUE(rule.asks_lengths());
    EXPECT_FALSE(rule.asks_moments() || rule.asks_start());
    rule.answer_lengths(0, lengths);
    ASSERT_TRUE(rule.asks_moments());
    EXPECT_FALSE(rule.second());
    const double square = 400 * s.first_clip * s.first_clip / 6;
    Eigen::VectorXd own = Eigen::VectorXd::Constant(6, one ? 0 : square);
    own[0] = one ? 5 * square : square;
    rule.answer_moments(own.asDiagonal(), square / 50);
    EXPECT_EQ(rule.asks_start(), !one);
    EXPECT_EQ(rule.asks_moments(), one);
    EXPECT_EQ(rule.questions(), 3 + s.iterations);
    if (one) {
      rule.answer_moments(Eigen::MatrixXd::Identity(6, 6) * 400, 10);
    } else {
      EXPECT_EQ(rule.omega(), Eigen::VectorXd::Zero(6));
      rule.answer_start(Eigen::VectorXd::Constant(6, 3), 10);
      EXPECT_EQ(rule.omega(), Eigen::VectorXd::Zero(6)) << "the first gradient is at 0 too";
    }
    EXPECT_FALSE(rule.asks_moments() || rule.asks_start() || rule.asks_lengths());
    EXPECT_EQ(rule.answered(), 3U);
    EXPECT_EQ(rule.next_gradient(), 1U);
  }
}

// The own worst pairs of the block, of the information and of the scores' moments, for both kinds
// of neighbors and for a person of three rows, come to their shares.
TEST(WhitenedRun, QuestionsOfIntervalsCostTheirSharesForTheirWorstPair) {
  const Dataset data = people(200, 2, 3);
  for (const bool add_remove : {false, true}) {
    for (const std::uint64_t rows : {1ULL, 3ULL}) {
      Budget budget{.epsilon = 1, .delta = 1e-5, .rows_per_person = rows};
      if (add_remove) budget.adjacency = Adjacency::add_remove;
      const Plan made = plan_with_intervals(data, budget, 4, add_remove ? 300 : 0);
      const auto& s = std::get<Whitened>(made.candidate().mechanism);
      const auto asked = asked_in(fit_seeded(data, made, 5), made, data);
      const double mu2 = s.query_mu * s.query_mu;
      const double left =
          1 - s.first_moment_share - s.second_moment_share - s.information_share - s.score_share;
      ASSERT_GE(asked.size(), 8U);
      const std::vector<Question> last(asked.end() - 3, asked.end());
      ASSERT_EQ(last[0].name, "block");
      ASSERT_EQ(last[1].name, "information");
      ASSERT_EQ(last[2].name, "scores");
      // All of one point, which no gradient of the path was asked at.
      EXPECT_EQ(last[1].omega, last[0].omega);
      EXPECT_EQ(last[2].omega, last[0].omega);
      EXPECT_NE(last[0].omega, asked[asked.size() - 4].omega);
      for (const Question& q : last) {
        const bool information = q.name == "information", scores = q.name == "scores";
        const double share = information ? s.information_share
                             : scores    ? s.score_share
                                         : left * (1 - s.curvature_share) * s.block_share;
        const Eigen::MatrixXd inverse = Eigen::MatrixXd(q.metric).inverse().transpose();
        const auto row_at = [&](const Eigen::VectorXd& z) {
          const Eigen::VectorXd x = inverse * z;
          std::vector<float> out;
          for (const double v : x) out.push_back(static_cast<float>(v));
          return out;
        };
        // Two directions across omega, where p is 1/2. At twice the clip a row's cap is 1/2 and its
        // weight 1; far away its weight is what its information has as limit.
        const Eigen::VectorXd along = q.omega.normalized();
        Eigen::VectorXd first = Eigen::VectorXd::Unit(3, 1);
        first = (first - first.dot(along) * along).normalized();
        Eigen::VectorXd second = Eigen::VectorXd::Unit(3, 2);
        second -= second.dot(along) * along + second.dot(first) * first;
        second.normalize();
        ASSERT_TRUE(scores || q.limit >= 1) << "the limit would hold the row at twice the clip";
        const double at = information ? 1e5 * q.clip : 2 * q.clip;
        Dataset here = data, there = data;
        for (std::size_t i = 0; i < rows; ++i) {
          set_row(here, 4 + i, row_at(at * first), 1);
          if (!add_remove)
            set_row(there, 4 + i, row_at(at * (information || scores ? second : first)), -1);
        }
        if (add_remove) {
          const auto d = static_cast<std::ptrdiff_t>(3 * rows);
          there.dense().erase(there.dense().begin() + 12, there.dense().begin() + 12 + d);
          there.y.erase(there.y.begin() + 4,
                        there.y.begin() + 4 + static_cast<std::ptrdiff_t>(rows));
        }
        const double apart = squared_mu_of(here, there, {&q, 1});
        EXPECT_LE(apart, share * mu2 * (1 + 1e-9)) << q.name << rows << add_remove;
        EXPECT_GE(apart, share * mu2 * (1 - 1e-4))
            << q.name << rows << add_remove << ": the noise is more than is needed";
      }
    }
  }
}

// Three classes have p = 1/3 across all omegas. The block's worst pair is two opposite rows of one
// class. The information's is two orthogonal rows far away; its blocks of all pairs of classes
// count together.
TEST(WhitenedRun, TheBlockAndTheInformationOfClassesCostTheirShares) {
  const Dataset data = support::class_people(200, 3, 3, 3);
  const std::size_t d = data.features();
  ASSERT_EQ(d, 4U);
  for (const bool add_remove : {false, true}) {
    for (const std::uint64_t rows : {1ULL, 3ULL}) {
      Budget budget{.epsilon = 1, .delta = 1e-5, .rows_per_person = rows};
      if (add_remove) budget.adjacency = Adjacency::add_remove;
      const Plan made = plan_of(data, budget, 4, add_remove ? 300 : 0, "softmax-3", true);
      const auto& s = std::get<Whitened>(made.candidate().mechanism);
      const auto asked = asked_in(fit_seeded(data, made, 5), made, data);
      const double mu2 = s.query_mu * s.query_mu;
      const double left = 1 - s.first_moment_share - s.second_moment_share - s.information_share;
      ASSERT_EQ(asked.back().name, "information");
      for (const Question& q : {asked[asked.size() - 2], asked.back()}) {
        const bool information = q.name == "information";
        const double share =
            information ? s.information_share : left * (1 - s.curvature_share) * s.block_share;
        const Eigen::MatrixXd inverse = Eigen::MatrixXd(q.metric).inverse().transpose();
        const auto row_at = [&](const Eigen::VectorXd& z) {
          const Eigen::VectorXd x = inverse * z;
          std::vector<float> out;
          for (const double v : x) out.push_back(static_cast<float>(v));
          return out;
        };
        // The two directions across the differences of the classes' omegas.
        Eigen::MatrixXd omegas = q.omega.reshaped(4, 3);
        omegas = (omegas.colwise() - omegas.rowwise().mean()).eval();
        const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> e(omegas * omegas.transpose());
        const Eigen::VectorXd first = e.eigenvectors().col(0), second = e.eigenvectors().col(1);
        ASSERT_GE(q.limit, 0.5) << "the limit would hold the row at twice the clip";
        // So far that the cap decides, and not so far that floats tilt the row out of the plane.
        const double at = information ? 30 * q.clip : 2 * q.clip;
        Dataset here = data, there = data;
        for (std::size_t i = 0; i < rows; ++i) {
          set_row(here, 4 + i, row_at(at * first), 1);
          if (!add_remove)
            set_row(there, 4 + i, row_at(information ? at * second : -at * first), 1);
        }
        if (add_remove) {
          const auto begin = static_cast<std::ptrdiff_t>(4 * d);
          there.dense().erase(
              there.dense().begin() + begin,
              there.dense().begin() + begin + static_cast<std::ptrdiff_t>(d * rows));
          there.y.erase(there.y.begin() + 4,
                        there.y.begin() + 4 + static_cast<std::ptrdiff_t>(rows));
        }
        const double apart = squared_mu_of(here, there, {&q, 1}, "softmax-3");
        EXPECT_LE(apart, share * mu2 * (1 + 1e-9)) << q.name << rows << add_remove;
        EXPECT_GE(apart, share * mu2 * (1 - 1e-3))
            << q.name << rows << add_remove << ": the noise is more than is needed";
      }
    }
  }
}

// No neighbor is further away than mu in coordinates of contrasts. Rows may be ones that the schema
// can encode, or have no level or all. Answers have as many numbers as there are contrasts.
TEST(WhitenedRun, NoNeighborIsFurtherAwayWithCategories) {
  int pairs = 0;
  for (const char* loss : {"logistic", "softmax-3", "huber"}) {
    double closest = 0;
    for (const bool add_remove : {false, true}) {
      const std::string name = loss;
      const Dataset plain = name == "logistic"    ? people(300, 2, 7)
                            : name == "softmax-3" ? support::class_people(300, 2, 3, 7)
                                                  : support::amounts(300, 2, 7);
      const Dataset data = support::with_categories(plain, {3, 1, 5}, 7);
      const std::size_t d = data.features(), k = d - 3, K = name == "softmax-3" ? 3 : 1;
      Budget budget{.epsilon = 1, .delta = 1e-5};
      if (add_remove) budget.adjacency = Adjacency::add_remove;
      const Plan made = plan_of(data, budget, {}, add_remove ? 400 : 0, loss);
      const double mu = made.candidate().guarantee.mu;
      const Release release = fit_seeded(data, made, 2);
      for (const NoisyAnswer& answer : release.model().answers) {
        const bool moments = answer.question == "moments", lengths = answer.question == "lengths";
        EXPECT_EQ(answer.at.size(), lengths ? 2 : moments ? d * k : K * k);
        if (answer.question == "curvature" || lengths) continue;
        EXPECT_EQ(answer.values.size(), moments ? k * (k + 1) / 2 : K * k);
      }
      const auto asked = asked_in(release, made, data);
      ASSERT_EQ(asked[0].metric.cols(), static_cast<Eigen::Index>(k));
      std::vector<std::vector<float>> rows;
      for (const std::size_t level : {0U, 2U}) {
        for (const float number : {0.0F, 1.0F}) {
          rows.push_back({number, 1 - number, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1});
          rows.back()[2 + level] = rows.back()[6 + 2 * level] = 1;
        }
      }
      for (const float levels : {0.0F, 1.0F, -7.0F}) {
        rows.emplace_back(d, levels);
        rows.back()[d - 1] = 1;
      }
      for (std::size_t a = 0; a < rows.size(); ++a) {
        for (std::size_t b = add_remove ? rows.size() - 1 : a; b < rows.size(); ++b) {
          for (const float label : K == 3            ? std::vector{0.0F, 2.0F}
                                   : name == "huber" ? std::vector{-5.0F, 5.0F}
                                                     : std::vector{-1.0F, 1.0F}) {
            Dataset here = data, there = data;
            set_row(here, 17, rows[a], name == "huber" ? 5.0F : 1.0F);
            if (add_remove) {
              const auto at = there.dense().begin() + static_cast<std::ptrdiff_t>(17 * d);
              there.dense().erase(at, at + static_cast<std::ptrdiff_t>(d));
              there.y.erase(there.y.begin() + 17);
            } else {
              set_row(there, 17, rows[b], label);
            }
            const double apart = std::sqrt(squared_mu_of(here, there, asked, loss));
            EXPECT_LE(apart, mu * (1 + 1e-9)) << loss << " " << a << " " << b << " " << label;
            closest = std::max(closest, apart / mu);
            ++pairs;
          }
        }
      }
    }
    EXPECT_GT(closest, 0.6) << loss;
  }
  EXPECT_GT(pairs, 150);
}

// One coefficient a level is released, and they say nothing about the constant: their sum is 0 but
// for the release's grid. Where a cell may be missing they may say something, and all are asked.
TEST(WhitenedRun, CoefficientsOfACategoryAddUpToZero) {
  for (const char* mechanism : {"whitened", "metric-path"}) {
    for (const std::size_t K : {1U, 3U}) {
      const Dataset plain = K == 3 ? support::class_people(400, 2, K, 7) : people(400, 2, 7);
      Dataset data = support::with_categories(plain, {3, 1, 5}, 7);
      const std::size_t d = data.features();
      const char* loss = K == 3 ? "softmax-3" : "logistic";
      for (const bool missing : {false, true}) {
        data.schema.text.has_missing = missing;
        data.schema.text.missing = "?";
        const Plan made = plan(glm(loss).constants(data.schema, data.rows()),
                               {.epsilon = 2, .delta = 1e-5}, {.mechanism = mechanism});
        const Release release = fit_seeded(data, made, 4);
        const auto moments =
            std::ranges::find(release.model().answers, "moments", &NoisyAnswer::question);
        ASSERT_NE(moments, release.model().answers.end());
        EXPECT_EQ(moments->at.size(), missing ? d * d : d * (d - 3));
        const std::vector<double>& theta = release.model().draws[0];
        ASSERT_EQ(theta.size(), K * d);
        double most = 0;
        for (std::size_t of = 0; of < K * d; of += d) {
          const double sums[]{
              theta[of + 2] + theta[of + 3] + theta[of + 4], theta[of + 5],
              theta[of + 6] + theta[of + 7] + theta[of + 8] + theta[of + 9] + theta[of + 10]};
          for (const double sum : sums) most = std::max(most, std::fabs(sum));
        }
        if (missing) {
          EXPECT_GT(most, 1e-6) << mechanism << K;
        } else {
          EXPECT_LT(most, 1e-8) << mechanism << K;
        }
      }
    }
  }
}

struct OfLoss {
  const char* loss;
  Dataset data;
  std::vector<float> labels;  // extremes, and some between
};
std::vector<OfLoss> other_losses(std::size_t rows, std::size_t numbers, std::uint64_t seed) {
  const Dataset a = support::amounts(rows, numbers, seed), c = support::counts(rows, numbers, seed);
  return {{"huber", a, {-5, -1, 0, 0.5F, 5}},
          {"pseudo-huber", a, {-5, -1, 0, 0.5F, 5}},
          {"poisson", c, {0, 0.1F, 0.5F, 1}}};
}

// No row with any label is further than mu from another for losses whose slope has either sign. A
// row far above the prediction and one far below it come near mu.
TEST(WhitenedRun, NoNeighborIsFurtherAwayWithAmountsAndCounts) {
  int pairs = 0;
  for (const OfLoss& of : other_losses(200, 3, 7)) {
    double closest = 0;
    for (const bool add_remove : {false, true}) {
      const Dataset& data = of.data;
      Budget budget{.epsilon = 1, .delta = 1e-5};
      if (add_remove) budget.adjacency = Adjacency::add_remove;
      const Plan made = plan_of(data, budget, {}, add_remove ? 300 : 0, of.loss, true);
      const double mu = made.candidate().guarantee.mu;
      const auto asked = asked_in(fit_seeded(data, made, 2), made, data);
      EXPECT_EQ(asked.back().name, "scores");
      const std::size_t d = data.features();
      std::mt19937 random(3);
      std::uniform_real_distribution<float> uniform(0, 1);
      std::vector<std::vector<float>> rows{std::vector<float>(d, 0), std::vector<float>(d, 1)};
      for (int i = 0; i < 4; ++i) {
        rows.emplace_back(d);
        for (float& v : rows.back()) v = i % 2 == 0 ? uniform(random) : std::round(uniform(random));
      }
      for (auto& row : rows) row[d - 1] = 1;
      for (std::size_t a = 0; a < rows.size(); ++a) {
        for (std::size_t b = add_remove ? rows.size() - 1 : a; b < rows.size(); ++b) {
          for (const float y : of.labels) {
            for (const float other : of.labels) {
              if (add_remove && other != of.labels[0]) continue;
              Dataset here = data, there = data;
              set_row(here, 17, rows[a], y);
              if (add_remove) {
                const auto at = static_cast<std::ptrdiff_t>(17 * d);
                there.dense().erase(there.dense().begin() + at,
                                    there.dense().begin() + at + static_cast<std::ptrdiff_t>(d));
                there.y.erase(there.y.begin() + 17);
              } else {
                set_row(there, 17, rows[b], other);
              }
              const double apart = std::sqrt(squared_mu_of(here, there, asked, of.loss));
              EXPECT_LE(apart, mu * (1 + 1e-9)) << of.loss << " " << y << " " << other;
              closest = std::max(closest, apart / mu);
              ++pairs;
            }
          }
        }
      }
    }
    // Slopes of counts do not reach both ends: f' is between -1 and the predicted mean.
    EXPECT_GT(closest, of.loss == std::string("poisson") ? 0.4 : 0.7) << of.loss;
  }
  EXPECT_GT(pairs, 1000);
}

// No row with any label is further than mu from another for several classes. A row far out comes
// near mu with another label. A sensitivity without the root of two, or for one class alone, fails
// here.
TEST(WhitenedRun, NoNeighborIsFurtherAwayWithSeveralClasses) {
  int pairs = 0;
  for (const std::size_t K : {2U, 3U, 6U}) {
    const std::string loss = std::string("softmax-").append(std::to_string(K));
    double closest = 0;
    for (const bool add_remove : {false, true}) {
      const Dataset data = support::class_people(200, 3, K, 7);
      Budget budget{.epsilon = 1, .delta = 1e-5};
      if (add_remove) budget.adjacency = Adjacency::add_remove;
      const Plan made = plan_of(data, budget, {}, add_remove ? 300 : 0, loss.c_str());
      const double mu = made.candidate().guarantee.mu;
      const auto asked = asked_in(fit_seeded(data, made, 2), made, data);
      const std::size_t d = data.features();
      std::mt19937 random(3);
      std::uniform_real_distribution<float> uniform(0, 1);
      std::vector<std::vector<float>> rows{std::vector<float>(d, 0), std::vector<float>(d, 1)};
      for (int i = 0; i < 3; ++i) {
        rows.emplace_back(d);
        for (float& v : rows.back()) v = i % 2 == 0 ? uniform(random) : std::round(uniform(random));
      }
      rows.emplace_back(d, -40.0F);  // beyond every range: bounded for all
      for (auto& row : rows) row[d - 1] = 1;
      for (std::size_t a = 0; a < rows.size(); ++a) {
        for (std::size_t b = add_remove ? rows.size() - 1 : a; b < rows.size(); ++b) {
          for (std::size_t y = 0; y < K; ++y) {
            for (const std::size_t other : {std::size_t{0}, K - 1}) {
              if (add_remove && other != 0) continue;
              Dataset here = data, there = data;
              set_row(here, 17, rows[a], static_cast<float>(y));
              if (add_remove) {
                const auto at = static_cast<std::ptrdiff_t>(17 * d);
                there.dense().erase(there.dense().begin() + at,
                                    there.dense().begin() + at + static_cast<std::ptrdiff_t>(d));
                there.y.erase(there.y.begin() + 17);
              } else {
                set_row(there, 17, rows[b], static_cast<float>(other));
              }
              const double apart = std::sqrt(squared_mu_of(here, there, asked, loss));
              EXPECT_LE(apart, mu * (1 + 1e-9)) << K << " " << y << " " << other;
              closest = std::max(closest, apart / mu);
              ++pairs;
            }
          }
        }
      }
    }
    EXPECT_GT(closest, 0.6) << K;
  }
  EXPECT_GT(pairs, 500);
}

// A question's own worst pairs of three classes. Two rows far out in about the same direction, each
// sure of a class and labeled with the other's, have opposite scores: the whole share of a
// gradient. Where all classes are level, as at first, scores are 120 degrees apart: 3/4 of it. A
// row at 0 against one held is the whole share of the traces.
TEST(WhitenedRun, QuestionsOfClassesCostTheirShares) {
  const Dataset data = support::class_people(200, 2, 3, 3);
  const Plan made = plan_of(data, {.epsilon = 4, .delta = 1e-5}, 3, 0, "softmax-3");
  const auto& s = std::get<Whitened>(made.candidate().mechanism);
  const auto asked = asked_in(fit_seeded(data, made, 5), made, data);
  const double left = 1 - s.first_moment_share - s.second_moment_share;
  const double mu2 = s.query_mu * s.query_mu;
  const auto backend = support::make_test_backend("cpu");
  int gradients = 0;
  for (const Question& q : asked) {
    if (q.moments) continue;
    ++gradients;
    const double share = left * (1 - s.curvature_share) * 2 * gradients / (3 * 4);
    const double of_traces = left * s.curvature_share / 3;
    const auto answer = [&](const std::vector<float>& row, float y) {
      Dataset table = data;
      set_row(table, 4, row, y);
      const auto engine = backend->load(table.view(), table.y, loss_named("softmax-3"));
      return support::exact_answer(*engine, q);
    };
    const Eigen::Index d = q.metric.rows();
    const Eigen::VectorXd apart = q.omega.segment(d, d) - q.omega.segment(0, d);
    Eigen::VectorXd along = Eigen::VectorXd::Unit(d, 0);
    if (gradients > 1) {
      along = -q.omega.segment(2 * d, d);
      along = (along - along.dot(apart) / apart.squaredNorm() * apart).normalized();
    }
    const Eigen::MatrixXd inverse = Eigen::MatrixXd(q.metric).inverse().transpose();
    const double sure = gradients > 1 ? 40 / apart.squaredNorm() : 0;
    const auto row_at = [&](double far, double side) {
      const Eigen::VectorXd x = inverse * (far * along + side * sure * apart);
      std::vector<float> out;
      for (const double v : x) out.push_back(static_cast<float>(v));
      return out;
    };
    const double far = 1e4 * q.clip;
    auto a = answer(row_at(far, 1), 0), b = answer(row_at(far, -1), 1);
    const double trace_a = a.back();
    a.pop_back(), b.pop_back();
    const double moved = support::squared_distance(a, b) / mu2;
    EXPECT_LE(moved, share * (1 + 1e-9));
    EXPECT_GE(moved, share * (gradients > 1 ? 0.98 : 0.74)) << gradients;
    // A row at 0 has a trace of 1 - 1/3.
    const double part = std::pow(answer(std::vector<float>(3, 0), 0).back() - trace_a, 2) / mu2;
    EXPECT_LE(part, of_traces * (1 + 1e-9));
    EXPECT_GE(part, of_traces * 0.99) << "the noise is more than is needed";
  }
  EXPECT_EQ(gradients, 3);
}

// Curvatures go up to 1 here, not 1/4: a row with all of it against one with none costs its share.
TEST(WhitenedRun, CurvaturesOfAmountsCostTheirShare) {
  const Dataset data = support::amounts(200, 2, 3);
  const Plan made = plan_of(data, {.epsilon = 4, .delta = 1e-5}, 3, 0, "huber");
  const auto& s = std::get<Whitened>(made.candidate().mechanism);
  const auto asked = asked_in(fit_seeded(data, made, 5), made, data);
  const double left = 1 - s.first_moment_share - s.second_moment_share;
  const double share = left * s.curvature_share / 3 * s.query_mu * s.query_mu;
  const auto backend = support::make_test_backend("cpu");
  int gradients = 0;
  for (const Question& q : asked) {
    if (q.moments) continue;
    const auto curvature = [&](float y) {
      Dataset table = data;
      set_row(table, 4, std::vector<float>(3, 0), y);  // z = 0
      const auto engine = backend->load(table.view(), table.y, loss_named("huber"));
      return support::exact_answer(*engine, q).back();
    };
    const double part = std::pow(curvature(0) - curvature(5), 2);
    EXPECT_LE(part, share * (1 + 1e-9));
    EXPECT_GE(part, share * (1 - 1e-3)) << "the noise is more than is needed";
    ++gradients;
  }
  EXPECT_EQ(gradients, 3);
}

// The worst pairs of the block, the information and the scores of amounts come to their shares, for
// both kinds of neighbors and for a person of three rows: labels far above and far below the
// prediction, and rows of which one has all of its information and another, or another label, none.
TEST(WhitenedRun, QuestionsOfIntervalsOfAmountsCostTheirShares) {
  const Dataset data = support::amounts(200, 2, 3);
  for (const bool add_remove : {false, true}) {
    for (const std::uint64_t rows : {1ULL, 3ULL}) {
      Budget budget{.epsilon = 1, .delta = 1e-5, .rows_per_person = rows};
      if (add_remove) budget.adjacency = Adjacency::add_remove;
      const Plan made = plan_of(data, budget, 4, add_remove ? 300 : 0, "huber", true);
      const auto& s = std::get<Whitened>(made.candidate().mechanism);
      const auto asked = asked_in(fit_seeded(data, made, 5), made, data);
      const double mu2 = s.query_mu * s.query_mu;
      const double left =
          1 - s.first_moment_share - s.second_moment_share - s.information_share - s.score_share;
      ASSERT_GE(asked.size(), 8U);
      const Question& of_block = asked[asked.size() - 3];
      ASSERT_EQ(of_block.name, "block");
      ASSERT_EQ(asked[asked.size() - 2].name, "information");
      ASSERT_EQ(asked.back().name, "scores");
      // All of one point.
      EXPECT_EQ(asked.back().omega, of_block.omega);
      EXPECT_EQ(asked[asked.size() - 2].omega, of_block.omega);
      for (std::size_t from = 3; from > 0; --from) {
        const Question& q = asked[asked.size() - from];
        const double share = q.name == "information" ? s.information_share
                             : q.name == "scores"    ? s.score_share
                                                  : left * (1 - s.curvature_share) * s.block_share;
        const Eigen::MatrixXd inverse = Eigen::MatrixXd(q.metric).inverse().transpose();
        const auto row_at = [&](const Eigen::VectorXd& z) {
          const Eigen::VectorXd x = inverse * z;
          std::vector<float> out;
          for (const double v : x) out.push_back(static_cast<float>(v));
          return out;
        };
        // Two directions across omega, where the prediction is 0. At twice the clip a label of 5 is
        // held; the information is at the largest length of which its limit takes nothing, where a
        // label of 0 has all of it.
        const Eigen::VectorXd along = q.omega.normalized();
        Eigen::VectorXd first = Eigen::VectorXd::Unit(3, 1);
        first = (first - first.dot(along) * along).normalized();
        Eigen::VectorXd second = Eigen::VectorXd::Unit(3, 2);
        second -= second.dot(along) * along + second.dot(first) * first;
        second.normalize();
        const bool information = q.name == "information", scores = q.name == "scores";
        const double at = (information ? std::sqrt(q.limit) : 2) * q.clip;
        ASSERT_GE(q.limit, 1) << "the limit would hold a row that the clip does not";
        const float label = information ? 0 : 5;
        Dataset here = data, there = data;
        for (std::size_t i = 0; i < rows; ++i) {
          set_row(here, 4 + i, row_at(at * first), label);
          if (!add_remove)
            set_row(there, 4 + i, row_at(at * (information || scores ? second : first)), -label);
        }
        if (add_remove) {
          const auto d = static_cast<std::ptrdiff_t>(3 * rows);
          there.dense().erase(there.dense().begin() + 12, there.dense().begin() + 12 + d);
          there.y.erase(there.y.begin() + 4,
                        there.y.begin() + 4 + static_cast<std::ptrdiff_t>(rows));
        }
        const double apart = squared_mu_of(here, there, {&q, 1}, "huber");
        EXPECT_LE(apart, share * mu2 * (1 + 1e-9)) << q.name << rows << add_remove;
        EXPECT_GE(apart, share * mu2 * (1 - 1e-4))
            << q.name << rows << add_remove << ": the noise is more than is needed";
        // Beyond that length cap and weight hold all three where they are.
        if (add_remove) continue;
        Dataset far = data, other = data;
        set_row(far, 4, row_at(1e4 * at * first), label);
        set_row(other, 4, row_at(1e4 * at * second), -label);
        EXPECT_LE(squared_mu_of(far, other, {&q, 1}, "huber"), share * mu2 * (1 + 1e-9)) << q.name;
      }
    }
  }
}

// Where no label is held and there is next to no noise, one gradient gives the least squares, from
// second moments of rows that the clip makes shorter: a little too long.
TEST(WhitenedRun, TheFirstStepIsARidgeSolution) {
  Dataset data = support::amounts(3000, 3, 5, 0.05);
  for (float& y : data.y) y = (y - 0.5F) / 8;  // within 1/4: below every cap
  const auto d = static_cast<Eigen::Index>(data.features()), n = Eigen::Index{3000};
  Eigen::MatrixXd x(n, d);
  Eigen::VectorXd y(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < d; ++j)
      x(i, j) = data.dense()[static_cast<std::size_t>(i * d + j)];
    y[i] = data.y[static_cast<std::size_t>(i)];
  }
  const Eigen::VectorXd exact = (x.transpose() * x).ldlt().solve(x.transpose() * y);
  for (const char* loss : {"huber", "pseudo-huber"}) {
    const Plan made = plan_of(data, {.epsilon = 600, .delta = 1e-3}, 1, 0, loss);
    const auto draw = fit_seeded(data, made, 1).model().draws[0];
    const Eigen::VectorXd found = Eigen::Map<const Eigen::VectorXd>(draw.data(), d);
    const double longer = found.dot(exact) / exact.squaredNorm();
    EXPECT_TRUE(longer > 0.95 && longer < 1.4) << loss << " " << longer;
    EXPECT_LE((found / longer - exact).norm(), 0.03 * exact.norm()) << loss;
  }
}

// With next to no noise the mean loss comes to that of the minimum, from labels at one end too.
TEST(WhitenedRun, ComesToTheMinimumOfAmountsAndCounts) {
  for (OfLoss& of : other_losses(2000, 3, 11)) {
    for (const bool at_one_end : {false, true}) {
      if (at_one_end && !is<Amount>(of.data.schema.label)) continue;
      Dataset data = of.data;
      for (float& y : data.y) y = at_one_end ? std::max(y - 4, -5.0F) : y;
      const Plan made = plan_of(data, {.epsilon = 200, .delta = 1e-5}, {}, 0, of.loss);
      const auto theta = fit_seeded(data, made, 1).model().draws[0];
      const auto engine =
          support::make_test_backend("reference")->load(data.view(), data.y, loss_named(of.loss));
      const auto d = static_cast<Eigen::Index>(data.features());
      Eigen::VectorXd best = Eigen::VectorXd::Zero(d), slope(d);
      const auto mean = [&](const Eigen::VectorXd& at) {
        return engine->plain_value({at.data(), data.features()}) / 2000;
      };
      double step = 1e-3;  // descent: convex, a few features
      for (int i = 0; i < 500; ++i) {
        engine->plain_gradient({best.data(), data.features()}, {slope.data(), data.features()});
        const Eigen::VectorXd next = best - step * slope;
        if (mean(next) <= mean(best)) {
          best = next, step *= 1.2;
        } else {
          step /= 2;
        }
      }
      const Eigen::VectorXd found = Eigen::Map<const Eigen::VectorXd>(theta.data(), d);
      const double start = mean(Eigen::VectorXd::Zero(d));
      EXPECT_LE(mean(found) - mean(best), 0.03 * (start - mean(best))) << of.loss << at_one_end;
    }
  }
}

// One in a hundred is positive, by columns of which one is skewed: with next to no noise the mean
// loss comes to that of the minimum, in parts of what naming the share alone loses. (Planted: where
// the path takes more curvature than such a class has, .15 of that is left.)
TEST(WhitenedRun, ComesToTheMinimumOfARareClass) {
  for (const bool intervals : {false, true}) {
    Dataset data = people(20'000, 3, 5);
    const std::size_t d = data.features();
    std::mt19937_64 bits(6);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < data.rows(); ++i) {
      float* const x = &data.dense()[i * d];
      x[0] = static_cast<float>(std::min(std::exp(normal(bits)) / 20, 1.0));
      const double z = 6.0 * x[0] + 3.0 * x[1] - 2.0 * x[2] - 6.2;
      data.y[i] = uniform(bits) < 1 / (1 + std::exp(-z)) ? 1.0F : -1.0F;
    }
    const Plan made = plan_of(data, {.epsilon = 200, .delta = 1e-9}, {}, 0, "logistic", intervals);
    const auto theta = fit_seeded(data, made, 1).model().draws[0];
    const auto engine =
        support::make_test_backend("reference")->load(data.view(), data.y, loss_named("logistic"));
    const auto size = static_cast<Eigen::Index>(d);
    const auto mean = [&](const Eigen::VectorXd& at) {
      return engine->plain_value({at.data(), d}) / static_cast<double>(data.rows());
    };
    Eigen::VectorXd best = Eigen::VectorXd::Zero(size), slope(size);
    for (int i = 0; i < 30; ++i) {  // Newton's method
      engine->plain_gradient({best.data(), d}, {slope.data(), d});
      Eigen::MatrixXd H(size, size);
      engine->hessian({best.data(), d}, 1)->dense({H.data(), d, d});
      H.diagonal().array() += 1e-6;
      const Eigen::VectorXd step = H.ldlt().solve(slope);
      best -= step * std::min(1.0, 2 / step.norm());
    }
    const double share =
        static_cast<double>(std::ranges::count(data.y, 1.0F)) / static_cast<double>(data.rows());
    ASSERT_TRUE(share > 0.005 && share < 0.02) << share;
    const double constant = -share * std::log(share) - (1 - share) * std::log(1 - share);
    const Eigen::VectorXd found = Eigen::Map<const Eigen::VectorXd>(theta.data(), size);
    EXPECT_LE(mean(found) - mean(best), 0.05 * (constant - mean(best))) << intervals;
  }
}

// Answers are about the clip that they name: with hardly any noise they are the rows' own sums.
TEST(WhitenedRun, AnswersAreSumsWithTheClipsThatTheyName) {
  for (const bool categories : {false, true}) {
    const Dataset data =
        categories ? support::with_categories(people(200, 2, 3), {3, 1}, 3) : people(200, 3, 3);
    Plan made = plan_of(data, {.epsilon = 500, .delta = 1e-5}, 6);
    auto& s = std::get<Whitened>(made.candidates[made.chosen].mechanism);
    s.first_clip = 0.4;  // so that every row is held
    s.clip_factor = 0.05;
    const auto release = fit_seeded(data, made, 5);
    const auto asked = asked_in(release, made, data);
    const auto backend = support::make_test_backend("cpu");
    const auto engine = backend->load(data.view(), data.y, loss_named("logistic"));
    std::size_t i = 0;
    int held = 0;
    for (const NoisyAnswer& answer : release.model().answers) {
      if (answer.question == "curvature") continue;
      Question q = asked[i++];
      const auto at = [&](double factor) {
        q.clip = answer.clip * factor;
        const auto sums = support::exact_answer(*engine, q);  // in deviations
        double off = 0;
        const auto k = static_cast<std::size_t>(q.metric.cols());
        for (std::size_t a = 0, next = 0; a < (q.moments ? k : answer.values.size()); ++a) {
          for (std::size_t b = q.moments ? 0 : a; b <= a; ++b, ++next) {
            const double exact = q.moments ? sums[k * a + b] : sums[a];
            off = std::max(off, std::fabs(answer.values[next] / answer.deviation - exact));
          }
        }
        return off;
      };
      // 8 deviations: 2e-15 for each of 60 numbers; the grid is an eighth of one.
      EXPECT_LE(at(1), 8.2) << answer.question << i;
      held += at(0.5) > 20 && at(2) > 20 ? 1 : 0;
    }
    EXPECT_EQ(i, 8U);
    // Only moments and the first gradients show the clip: near the end, scores of mean 0 add up to
    // little with any clip.
    EXPECT_GE(held, 3) << "another clip would not have been seen";
  }
}

// The answers of intervals are the rows' own sums with the limit that they name, at one point: with
// hardly any noise. After one gradient the block moves omega far.
TEST(WhitenedRun, AnswersOfIntervalsAreSumsAtTheBlocksPoint) {
  const Dataset data = support::with_categories(people(5000, 2, 3), {3, 1}, 3);
  const Plan made = plan_with_intervals(data, {.epsilon = 500, .delta = 1e-5}, 1);
  const auto release = fit_seeded(data, made, 5);
  const auto asked = asked_in(release, made, data);
  const auto& answers = release.model().answers;
  const auto backend = support::make_test_backend("cpu");
  const auto engine = backend->load(data.view(), data.y, loss_named("logistic"));
  const auto k = static_cast<std::size_t>(asked.back().metric.cols());
  std::vector<double> noise[3];  // in deviations; off the diagonal over sqrt(2)
  for (const std::size_t from_last : {3U, 2U, 1U}) {
    const NoisyAnswer& answer = answers[answers.size() - from_last];
    Question q = asked[asked.size() - from_last];
    const bool information = answer.question == "information", matrix = from_last < 3;
    EXPECT_EQ(answer.question, from_last == 1 ? "scores" : information ? "information" : "block");
    EXPECT_EQ(answer.clip, information ? std::sqrt(q.limit) * q.clip : q.clip);
    EXPECT_EQ(answer.at, std::vector(q.omega.begin(), q.omega.end()));
    ASSERT_EQ(answer.values.size(), matrix ? k * (k + 1) / 2 : k);
    const auto off = [&](bool first) {
      const auto sums = support::exact_answer(*engine, q);
      double most = 0;
      for (std::size_t a = 0, next = 0; a < k; ++a) {
        for (std::size_t b = matrix ? 0 : a; b <= a; ++b, ++next) {
          const double z =
              answer.values[next] / answer.deviation - (matrix ? sums[k * a + b] : sums[a]);
          if (first) noise[from_last - 1].push_back(z);
          most = std::max(most, std::fabs(z));
        }
      }
      return most;
    };
    EXPECT_LE(off(true), 8.2) << answer.question;
    q.omega.setZero();
    EXPECT_GT(off(false), 20) << answer.question << ": another point would not have been seen";
  }
  // Each has normals of its own.
  EXPECT_GT(std::hypot(noise[0][0] - noise[1][0], noise[0][2] - noise[1][2]), 0.6);
  EXPECT_GT(std::hypot(noise[0][0] - noise[2][0], noise[0][2] - noise[2][2]), 0.4);
  EXPECT_GT(std::hypot(noise[1][0] - noise[2][0], noise[1][2] - noise[2][2]), 0.4);
}

// Half of the rows are at an end of the first number and in the middle of the second, half the
// other way round; of the former 30 % are positive, of the latter none. The best lines have no
// slope, and rows are equally long. Scores vary 1.8 times as much along the first, and 0.18 times
// along the second, as lines would have it. Standard errors that follow from the information are
// 0.74 and 2.4 times what they must be. At 0.95 fewer than 28 of 40 have a chance of 4e-8.
TEST(WhitenedRun, IntervalsHaveTheSamplesDeviationWhereEffectsBend) {
  constexpr std::size_t rows = 2000, tables = 40;
  Dataset data = people(rows, 2, 3);
  const Plan made = plan_with_intervals(data, {.epsilon = 20, .delta = 1e-6});
  std::array<int, 2> held{};
  std::array<double, 2> errors{};
  for (std::uint64_t seed = 1; seed <= tables; ++seed) {
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < rows; ++i) {
      const std::uint64_t drawn = random();
      const float end = drawn % 2 == 0 ? 0 : 1;
      const bool first = drawn / 2 % 2 == 0;
      const bool positive = first && std::ldexp(static_cast<double>(drawn >> 11U), -53) < 0.3;
      const std::vector<float> row =
          first ? std::vector{end, 0.5F, 1.0F} : std::vector{0.5F, end, 1.0F};
      set_row(data, i, row, positive ? 1.0F : -1.0F);
    }
    const Release release = fit_seeded(data, made, seed);
    ASSERT_TRUE(release.model().estimates);
    for (const std::size_t j : {0U, 1U}) {
      const EffectEstimate effect = feature_effect(*release.model().estimates, data.schema, j);
      held[j] += effect.lower <= 0 && 0 <= effect.upper ? 1 : 0;
      errors[j] += effect.standard_error / tables;
    }
  }
  // All have p = 0.15: J/H^2 with H = n p (1-p)/8, J = n/8 times the mean of (p - y)^2 there.
  const double p = 0.15, at_once = p * (1 - p) * std::sqrt(rows / 8.0);
  const double first = std::sqrt(0.3 * (1 - p) * (1 - p) + 0.7 * p * p) / at_once,
               second = p / at_once;
  EXPECT_NEAR(errors[0], first, 0.08 * first);
  EXPECT_NEAR(errors[1], second, 0.08 * second);
  for (const int of_effect : held) EXPECT_GE(of_effect, 28);
}

// Killed after every question in turn, a run of amounts with intervals goes on to the same bits,
// estimates and all; the file verifies.
TEST(WhitenedRun, AmountsAndCountsWithIntervalsGoOnFromACheckpoint) {
  for (const OfLoss& of : other_losses(150, 2, 1)) {
    const Dataset data = support::with_categories(of.data, {3}, 1);
    const Plan made = plan_of(data, {.epsilon = 1, .delta = 1e-5}, {}, 0, of.loss, true);
    const auto backend = support::make_test_backend("cpu");
    const Release whole =
        fit(glm(of.loss), data, made, *backend, Key::from_seed(3), {.release_answers = true});
    ASSERT_TRUE(whole.model().estimates.has_value());
    const TempDir folder;
    const FitOptions kept{.checkpoint = folder.path("run.ckpt"), .release_answers = true};
    for (int attempts = 0;; ++attempts) {
      ASSERT_LT(attempts, 60);
      std::atomic<bool> stop = false;
      FitOptions options = kept;
      options.stop = &stop;
      options.progress = [&](std::uint64_t, std::uint64_t) { stop = true; };
      try {
        const Release resumed = fit(glm(of.loss), data, made, *backend, Key::from_seed(3), options);
        EXPECT_GE(attempts, 15);
        EXPECT_EQ(model_json(resumed.model()), model_json(whole.model()));
        break;
      } catch (const Interrupted&) {
      }
    }
    const Release certified = fit(glm(of.loss), data, made, *backend, Key::from_os());
    EXPECT_TRUE(verify(certified).valid);
  }
}

class WhitenedBackend : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, WhitenedBackend,
                         ::testing::Values("reference", "cpu", "emulated"),
                         [](const auto& p) { return std::string(p.param); });

// Killed after every question in turn, the run goes on to the same bits.
TEST_P(WhitenedBackend, GoesOnFromACheckpointToTheSameBits) {
  for (const auto& [categories, intervals] :
       {std::pair{false, false}, std::pair{true, false}, std::pair{true, true}}) {
    const Dataset data =
        categories ? support::with_categories(people(100, 2, 1), {3, 1}, 1) : people(100, 3, 1);
    const Plan made = plan_of(data, {.epsilon = 1, .delta = 1e-5}, {}, 0, "logistic", intervals);
    const auto backend = support::make_test_backend(GetParam());
    const Release whole = fit(logistic_regression(), data, made, *backend, Key::from_seed(3),
                              {.release_answers = true});
    const TempDir folder;
    const FitOptions kept{.checkpoint = folder.path("run.ckpt"), .release_answers = true};
    for (int attempts = 0;; ++attempts) {
      ASSERT_LT(attempts, 60);
      std::atomic<bool> stop = false;
      FitOptions options = kept;
      options.stop = &stop;
      options.progress = [&](std::uint64_t, std::uint64_t) { stop = true; };
      try {
        const Release resumed =
            fit(logistic_regression(), data, made, *backend, Key::from_seed(3), options);
        EXPECT_GE(attempts, intervals ? 14 : 4);
        EXPECT_EQ(resumed.model().draws, whole.model().draws);
        EXPECT_EQ(model_json(resumed.model()), model_json(whole.model()));
        EXPECT_EQ(resumed.model().estimates.has_value(), intervals);
        ASSERT_EQ(resumed.model().answers.size(), whole.model().answers.size());
        for (std::size_t i = 0; i < whole.model().answers.size(); ++i) {
          EXPECT_EQ(resumed.model().answers[i].values, whole.model().answers[i].values);
          EXPECT_EQ(resumed.model().answers[i].deviation, whole.model().answers[i].deviation);
        }
        break;
      } catch (const Interrupted&) {
      }
    }
  }
}

// One row a coordinate, so a gradient's number is a row's own score: at most the clip, to the last
// bit; of mean 0 over the label where the coefficients are true, whatever was held; its curvature
// the same whatever the label, its information within the limit. Rows from next to nothing to far
// beyond the clip, some of them zero, at scores from 0 to where p is 1.
TEST_P(WhitenedBackend, ScoresKeepTheirCapAndHaveMeanZeroOverTheLabel) {
  const std::size_t n = 96;
  const auto backend = support::make_test_backend(GetParam());
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<float> x(n * n, 0.0F), up(n, 1.0F), down(n, -1.0F);
  std::vector<double> theta(n), P(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    P[i * n + i] = 1;
    x[i * n + i] = i % 12 == 0 ? 0.0F : static_cast<float>(std::pow(10, 12 * uniform(random) - 6));
    if (i % 3 == 0) x[i * n + i] *= -1;
    const double z = i % 5 == 0 ? 0 : std::pow(10, 5 * uniform(random) - 2) * (i % 2 == 0 ? 1 : -1);
    theta[i] = x[i * n + i] == 0 ? 1 : z / static_cast<double>(x[i * n + i]);
  }
  const auto of_up = backend->load({x.data(), n, n}, up, loss_named("logistic"));
  const auto of_down = backend->load({x.data(), n, n}, down, loss_named("logistic"));
  for (const double C : {0.37, 1.0, 1234.5}) {
    for (const double limit : {0.25, 0.7, 8.0, static_cast<double>(INFINITY)}) {
      const auto a = of_up->capped_loss({P.data(), n, n}, {.clip = C, .information = limit});
      const auto b = of_down->capped_loss({P.data(), n, n}, {.clip = C, .information = limit});
      std::vector<double> if_up(n), if_down(n), v(n * n), w(n * n);
      const double curvature = a->gradient(theta, if_up);
      EXPECT_NEAR(b->gradient(theta, if_down), curvature, 1e-9 * n);
      EXPECT_LE(curvature, 0.25 * n);
      if (std::isfinite(limit)) {
        a->information(theta, {v.data(), n, n});
        b->information(theta, {w.data(), n, n});
      }
      int held = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double row = static_cast<double>(x[i * n + i]), z = row * theta[i];
        const double p = 1 / (1 + std::exp(-z)), q = 1 / (1 + std::exp(z));
        EXPECT_LE(std::fabs(if_up[i]), C) << i << " " << z;
        EXPECT_LE(std::fabs(if_down[i]), C) << i << " " << z;
        EXPECT_NEAR(p * if_up[i] + q * if_down[i], 0, 2e-6 * std::min(C, std::fabs(row))) << i << z;
        held += std::fabs(if_up[i]) < 0.9 * q * std::fabs(row) ? 1 : 0;
        if (!std::isfinite(limit)) continue;
        const double norm = std::fabs(row), cap = std::min(1.0, C / norm);
        const double weight = std::min({1.0, cap / std::max(p, q), limit * cap * cap / (p * q)});
        // p(1 - p) of a p that was rounded to 1 or beside it.
        const double lost = norm > 0 ? 0x1p-52 * weight * row * row + 1e-30 : 0;
        const double expected = norm > 0 ? weight * p * q * row * row : 0;
        EXPECT_LE(v[i * n + i], limit * C * C) << i << " " << z;
        EXPECT_LE(w[i * n + i], limit * C * C) << i << " " << z;
        EXPECT_NEAR(v[i * n + i], expected, 1e-5 * expected + lost) << i << " " << z;
        EXPECT_NEAR(w[i * n + i], v[i * n + i], 1e-5 * expected + lost) << i << " " << z;
      }
      EXPECT_GT(held, 10);
    }
  }
}

// Scores of three classes have norms of at most the clip, and mean 0 over the label.
TEST_P(WhitenedBackend, ScoresOfClassesKeepTheirCapAndHaveMeanZeroOverTheLabel) {
  if (GetParam() == std::string("emulated")) GTEST_SKIP() << "the card takes two classes alone";
  const std::size_t n = 60, K = 3;
  const auto backend = support::make_test_backend(GetParam());
  std::mt19937 random(12);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<float> x(n * n, 0.0F);
  std::vector<double> theta(K * n), P(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    P[i * n + i] = 1;
    x[i * n + i] = i % 12 == 0 ? 0.0F : static_cast<float>(std::pow(10, 8 * uniform(random) - 4));
    for (std::size_t k = 0; k < K; ++k) {
      const double z = i % 5 == 0 ? 0 : 20 * std::pow(uniform(random), 3) * (i % 2 == 0 ? 1 : -1);
      theta[k * n + i] = x[i * n + i] == 0 ? 1 : z / static_cast<double>(x[i * n + i]);
    }
  }
  for (const double C : {0.37, 1.0, 123.0}) {
    std::vector<std::vector<double>> scores;
    for (std::size_t label = 0; label < K; ++label) {
      const std::vector<float> y(n, static_cast<float>(label));
      const auto engine = backend->load({x.data(), n, n}, y, loss_named("softmax-3"));
      scores.emplace_back(K * n);
      const double trace =
          engine->capped_loss({P.data(), n, n}, {.clip = C})->gradient(theta, scores.back());
      EXPECT_TRUE(trace >= 0 && trace <= n * 2.0 / 3 * (1 + 1e-12));
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double row = static_cast<double>(x[i * n + i]);
      double p[K], sum = 0;
      for (std::size_t k = 0; k < K; ++k) sum += p[k] = std::exp(theta[k * n + i] * row);
      for (std::size_t k = 0; k < K; ++k) {
        double mean = 0;
        for (std::size_t label = 0; label < K; ++label)
          mean += p[label] / sum * scores[label][k * n + i];
        EXPECT_NEAR(mean, 0, 2e-6 * std::min(C, std::fabs(row))) << i << " " << k;
        const auto& own = scores[k];
        EXPECT_LE(std::hypot(own[i], own[n + i], own[2 * n + i]), C * (1 + 1e-15)) << i;
      }
    }
  }
}

TEST_P(WhitenedBackend, AgreesWithTheReferenceOnAmountsAndCounts) {
  if (GetParam() == std::string("emulated")) GTEST_SKIP() << "the card takes classes alone";
  for (const OfLoss& of : other_losses(500, 4, 9)) {
    const Plan made = plan_of(of.data, {.epsilon = 2, .delta = 1e-5}, {}, 0, of.loss);
    const auto a = fit_seeded(of.data, made, 8, "reference").model().draws[0];
    const auto b = fit_seeded(of.data, made, 8, GetParam()).model().draws[0];
    for (std::size_t j = 0; j < a.size(); ++j)
      EXPECT_NEAR(a[j], b[j], 1e-3 * std::fabs(a[j]) + 1e-4) << of.loss;
  }
}

TEST_P(WhitenedBackend, AgreesWithTheReference) {
  for (const Dataset& data :
       {people(500, 4, 9), support::with_categories(people(500, 2, 9), {4, 1, 3}, 9)}) {
    const Plan made = plan_of(data, {.epsilon = 2, .delta = 1e-5});
    const auto a = fit_seeded(data, made, 8, "reference").model().draws[0];
    const auto b = fit_seeded(data, made, 8, GetParam()).model().draws[0];
    for (std::size_t j = 0; j < a.size(); ++j)
      EXPECT_NEAR(a[j], b[j], 1e-3 * std::fabs(a[j]) + 1e-4);
  }
}

// Large tables have the same settings whoever counts as a neighbor, the noise of an answer does
// not: a run that went on under other neighbors would vouch for answers that had too little.
TEST(WhitenedRun, NoCheckpointGoesOnForOtherNeighbors) {
  const Dataset data = people(20000, 1, 2);
  const Budget alone{.epsilon = 2, .delta = 1e-5};
  Budget many = alone, present = alone;
  many.rows_per_person = 4;
  present.adjacency = Adjacency::add_remove;
  const auto backend = support::make_test_backend("cpu");
  const Plan first = plan_of(data, present);
  for (const Budget& other : {alone, many}) {
    const Plan second = plan_of(data, other);
    ASSERT_EQ(std::get<Whitened>(first.candidate().mechanism).iterations,
              std::get<Whitened>(second.candidate().mechanism).iterations);
    ASSERT_EQ(std::get<Whitened>(first.candidate().mechanism).clip_factor,
              std::get<Whitened>(second.candidate().mechanism).clip_factor);
    const TempDir folder;
    std::atomic<bool> stop = false;
    FitOptions options{.checkpoint = folder.path("run.ckpt")};
    options.stop = &stop;
    options.progress = [&](std::uint64_t, std::uint64_t) { stop = true; };
    const auto go_on = [&](const Plan& made) {
      static_cast<void>(fit(logistic_regression(), data, made, *backend, Key::from_os(), options));
    };
    EXPECT_THROW(go_on(first), Interrupted);
    stop = false;
    try {
      go_on(second);
      ADD_FAILURE() << "went on";
    } catch (const Interrupted&) {
      ADD_FAILURE() << "went on";
    } catch (const BadInput& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr("of another run"));
    }
  }
}

// A Plan is open to its caller. The certificate names the neighbors of the offer, so noise is for
// them.
TEST(WhitenedRun, NoiseIsForTheNeighborsOfTheCertificate) {
  const Dataset data = people(100, 2, 2);
  const Plan made = plan_of(data, {.epsilon = 1, .delta = 1e-5, .rows_per_person = 10});
  Plan changed = made;
  changed.budget.rows_per_person = 1;
  const Release as_planned = fit_seeded(data, made, 3), out = fit_seeded(data, changed, 3);
  EXPECT_EQ(out.certificate().claimed.who.rows_per_person, 10U);
  EXPECT_EQ(out.model().answers[0].deviation, as_planned.model().answers[0].deviation);
  EXPECT_EQ(out.model().draws, as_planned.model().draws);
}

// Tables that nobody would fit: a model, certified and finite, and probabilities for every row.
TEST(WhitenedRun, DegenerateTablesEndInAModel) {
  support::Thinned thinned(5);
  for (const support::OddTable& odd : support::odd_tables()) {
    for (const auto& [intervals, add_remove] :
         {std::pair{false, false}, std::pair{true, false}, std::pair{true, true}}) {
      if (thinned.skips()) continue;
      Budget budget{.epsilon = odd.epsilon, .delta = 1e-5};
      if (add_remove) budget.adjacency = Adjacency::add_remove;
      const Plan made = plan_of(odd.data, budget, {}, 0, "logistic", intervals);
      const auto backend = support::make_test_backend("cpu");
      const Release out = fit(logistic_regression(), odd.data, made, *backend, Key::from_os(),
                              {.release_answers = intervals});
      EXPECT_TRUE(verify(out).valid) << odd.name << intervals;
      for (const double v : out.model().draws[0]) EXPECT_TRUE(std::isfinite(v)) << odd.name;
      for (const double p : predict_probabilities(out.model(), odd.data.view())) {
        EXPECT_TRUE(p > 0 && p < 1) << odd.name << " " << p;
      }
      if (!out.model().estimates) continue;
      const auto& estimates = *out.model().estimates;
      for (std::size_t j = 0; j < odd.data.schema.features(); ++j) {
        std::vector<double> c(odd.data.schema.features(), 0.0);
        c[j] = 1;
        const auto effect = estimates.combination(c);
        EXPECT_TRUE(std::isfinite(effect.estimate) && effect.lower <= effect.upper)
            << odd.name << " " << j;
      }
    }
  }
}

// What intervals are made of: the answers and public numbers. Another table that would have given
// the same answers has the same file; and under add/remove its number of rows is nowhere.
TEST(WhitenedRun, FilesOfIntervalsHoldNothingBesideTheAnswers) {
  const Dataset data = people(211, 3, 6);
  const Budget budget{.epsilon = 1, .delta = 1e-5, .adjacency = Adjacency::add_remove};
  const Plan made = plan_with_intervals(data, budget, {}, 1000);
  const Release release = fit_seeded(data, made, 4);
  ASSERT_TRUE(release.model().estimates.has_value());
  const std::function<void(const nlohmann::json&)> no_rows = [&](const nlohmann::json& value) {
    if (value.is_number()) {
      EXPECT_NE(value.get<double>(), 211);
    }
    if (value.is_structured()) {
      for (const auto& item : value) no_rows(item);
    }
  };
  no_rows(to_json(release));
}

// Degenerate amounts end in a model: all at one end, or alternately at both, a million tolerances
// apart.
TEST(WhitenedRun, DegenerateAmountsEndInAModel) {
  support::Thinned thinned(5);
  for (const support::OddTable& odd : support::odd_tables()) {
    for (const int kind : {0, 2}) {
      Dataset data = odd.data;
      data.schema.label = Amount{{.lo = 0, .hi = 10}, kind == 2 ? 1e-5 : 1};
      const float bound = label_bound(data.schema.label);
      for (std::size_t i = 0; i < data.y.size(); ++i) {
        data.y[i] = kind == 0 ? bound : i % 2 == 0 ? bound : -bound;
      }
      for (const bool intervals : {false, true}) {
        if (thinned.skips()) continue;
        const Plan made =
            plan_of(data, {.epsilon = odd.epsilon, .delta = 1e-5}, {}, 0, "huber", intervals);
        const auto backend = support::make_test_backend("cpu");
        const Release out = fit(glm("huber"), data, made, *backend, Key::from_os());
        EXPECT_TRUE(verify(out).valid) << odd.name << kind;
        for (const double v : out.model().draws[0])
          EXPECT_TRUE(std::isfinite(v)) << odd.name << kind;
      }
    }
  }
}

Dataset of_three_classes(Dataset data) {
  data.schema.label = Classes{{"a", "b", "c"}};
  for (std::size_t i = 0; i < data.y.size(); ++i) {
    data.y[i] = data.y[i] > 0 ? 0.0F : i % 2 == 0 ? 1.0F : 2.0F;
  }
  return data;
}

// Degenerate tables of three classes end in a model; all rows may be of one class.
TEST(WhitenedRun, DegenerateTablesOfClassesEndInAModel) {
  for (const support::OddTable& odd : support::odd_tables()) {
    const Dataset data = of_three_classes(odd.data);
    const Plan made = plan_of(data, {.epsilon = odd.epsilon, .delta = 1e-5}, {}, 0, "softmax-3");
    const auto backend = support::make_test_backend("cpu");
    const Release out = fit(glm("softmax-3"), data, made, *backend, Key::from_os());
    EXPECT_TRUE(verify(out).valid) << odd.name;
    for (const double v : out.model().draws[0]) EXPECT_TRUE(std::isfinite(v)) << odd.name;
    for (const double p : predict_classes(out.model(), data.view())) {
      EXPECT_TRUE(p >= 0 && p <= 1) << odd.name << " " << p;
    }
  }
}

// Dense, sparse, by either backend: the same model up to rounding; coefficients of classes add up
// to 0 but for the release's grid, since noise along their sum is taken out.
TEST(WhitenedRun, ClassesAgreeOnEveryBackend) {
  const Dataset data = support::class_people(500, 4, 4, 9);
  const Plan made = plan_of(data, {.epsilon = 2, .delta = 1e-5}, {}, 0, "softmax-4");
  const auto a = fit_seeded(data, made, 8, "reference").model().draws[0];
  const auto b = fit_seeded(data, made, 8, "cpu").model().draws[0];
  for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], 1e-3 * std::fabs(a[j]) + 1e-4);
  SparseTable entries;
  for (std::size_t i = 0; i < data.rows(); ++i) {
    for (std::size_t j = 0; j < data.features(); ++j) {
      entries.feature.push_back(static_cast<std::uint32_t>(j));
      entries.value.push_back(data.dense()[i * data.features() + j]);
    }
    entries.begin.push_back(entries.value.size());
  }
  Dataset sparse = data;
  sparse.storage = std::move(entries);
  const auto c = fit_seeded(sparse, made, 8, "cpu").model().draws[0];
  for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(c[j], b[j], 1e-3 * std::fabs(b[j]) + 1e-4);
  for (std::size_t j = 0; j < 5; ++j) {
    EXPECT_NEAR(b[j] + b[5 + j] + b[10 + j] + b[15 + j], 0, 1e-6);
  }
}

// Every number of an answer has a normal of its own, of the deviation that it names: classes that
// shared theirs would have noise-free differences. Means of 1,800 squares and products: off by
// 0.2 with probability 2e-9 at most.
TEST(WhitenedRun, ClassesHaveNoiseOfTheirOwn) {
  const std::size_t K = 3;
  const Dataset data = support::class_people(300, 14, K, 9);
  const Plan made = plan_of(data, {.epsilon = 1, .delta = 1e-5}, 40, 0, "softmax-3");
  const Release release = fit_seeded(data, made, 8);
  const auto asked = asked_in(release, made, data);
  const auto backend = support::make_test_backend("cpu");
  const auto engine = backend->load(data.view(), data.y, loss_named("softmax-3"));
  const std::size_t d = data.features();
  std::vector<std::vector<double>> noise(K);
  std::vector<double> of_traces;
  std::size_t i = 0, gradients = 0;
  for (const NoisyAnswer& answer : release.model().answers) {
    if (answer.question == "moments" || answer.question == "lengths") {
      ++i;
      continue;
    }
    const auto exact = support::exact_answer(*engine, asked[i]);
    if (answer.question == "start") ++i;
    if (answer.question == "curvature") {
      of_traces.push_back(answer.values[0] / answer.deviation - exact.back());
      ++i;
      continue;
    }
    ++gradients;
    ASSERT_EQ(answer.values.size(), K * d);
    for (std::size_t j = 0; j < K * d; ++j) {
      noise[j / d].push_back(answer.values[j] / answer.deviation - exact[j]);
    }
  }
  ASSERT_EQ(gradients, asked[2].name == "start" ? 41U : 40U);
  ASSERT_EQ(of_traces.size(), 40U);
  const auto mean_product = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
    return sum / static_cast<double>(a.size());
  };
  for (std::size_t a = 0; a < K; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      EXPECT_NEAR(mean_product(noise[a], noise[b]), a == b ? 1 : 0, 0.4) << a << b;
    }
  }
  std::vector<double> all;
  for (const auto& of : noise) all.insert(all.end(), of.begin(), of.end());
  EXPECT_NEAR(mean_product(all, all), 1, 0.2);
  const double of_trace = mean_product(of_traces, of_traces);  // of 40
  EXPECT_TRUE(of_trace > 0.2 && of_trace < 2.6) << of_trace;
}

// 20,000 rows of three classes and ten numbers: at epsilon = 1 next to nothing is lost. Labels are
// drawn from a softmax of known coefficients, which no fit beats in the mean by more than the
// sample's own noise.
TEST(WhitenedRun, KeepsWhatCanBeLearnedOfThreeClasses) {
  const std::size_t n = 20000, d = 11, K = 3;
  Dataset data = support::class_people(n, d - 1, K, 21);
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> truth(K * d);
  for (double& v : truth) v = 3 * normal(random);
  std::vector<double> p(K);
  double best = 0, majority = 0;
  std::vector<double> counts(K);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < K; ++k) {
      double z = 0;
      for (std::size_t j = 0; j < d; ++j) {
        // About the middle of each range.
        z += truth[k * d + j] *
             (j + 1 < d ? static_cast<double>(data.dense()[i * d + j]) - 0.5 : 0.1);
      }
      sum += p[k] = std::exp(z);
    }
    double left = uniform(random) * sum;
    std::size_t label = 0;
    while (label + 1 < K && left > p[label]) left -= p[label++];
    data.y[i] = static_cast<float>(label);
    best -= std::log(p[label] / sum) / static_cast<double>(n);
    counts[label] += 1;
  }
  majority = *std::ranges::max_element(counts) / static_cast<double>(n);
  const Plan made = plan_of(data, {.epsilon = 1, .delta = 1e-8}, {}, 0, "softmax-3");
  const LinearModel model = fit_seeded(data, made, 1).model();
  const ClassesEvaluation found = evaluate_classes(predict_classes(model, data.view()), data.y, K);
  EXPECT_LT(found.log_loss, best + 0.01) << "without noise " << best;
  EXPECT_GT(found.accuracy, majority + 0.1);
}

// Clips follow from answers and public numbers alone: the rule, which sees no row, comes to those
// of the run. Under add/remove the true number of rows is one more thing that it must not see.
TEST(WhitenedRun, OnlyAnswersDecideWhatIsAsked) {
  const Dataset data = people(200, 3, 6);
  const Budget budget{.epsilon = 1, .delta = 1e-5, .adjacency = Adjacency::add_remove};
  const Plan made = plan_of(data, budget, {}, 1000);
  const Release release = fit_seeded(data, made, 4);
  const auto asked = asked_in(release, made, data);
  std::size_t i = 0;
  for (const NoisyAnswer& answer : release.model().answers) {
    if (answer.question == "curvature") continue;
    if (answer.question == "lengths") {
      const RowLengths lengths = row_lengths(data.schema);
      EXPECT_EQ(answer.clip, lengths.half());
      EXPECT_EQ(answer.at, (std::vector{lengths.low, lengths.high}));
      ++i;
      continue;
    }
    EXPECT_EQ(asked[i].clip, answer.clip);
    if (asked[i].moments) {
      EXPECT_EQ(std::vector(asked[i].metric.data(), asked[i].metric.data() + 16), answer.at);
    } else {
      EXPECT_EQ(std::vector(asked[i].omega.begin(), asked[i].omega.end()), answer.at);
    }
    ++i;
  }
}

}  // namespace whitened_test
}  // namespace gibbsite
