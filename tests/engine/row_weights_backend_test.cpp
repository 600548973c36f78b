// Rows that count by weights: every question that an engine is asked takes them. A weight of 0 is
// a row that is not there, and twice a half is once, for all answers; none is beyond its bound.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "engine/clip.hpp"
#include "engine/sharded_cases.hpp"
#include "support/backend.hpp"

namespace gibbsite {
namespace row_weights_backend_test {

using sharded_cases::Answers;
using sharded_cases::Case;
using sharded_cases::Kept;
using sharded_cases::Table;

class RowWeights : public support::TestOn {
 protected:
  RowWeights() : TestOn(GIBBSITE_TEST_BACKEND) {}
};

// These rows of the table, in this order, with these weights (none: 1).
Table rows_of(const Table& t, const std::vector<std::size_t>& order, std::vector<float> weight) {
  Table out = t;
  const std::size_t d = t.rows.d;
  out.rows = {order.size(), d, {}, {}};
  out.weights.clear();
  for (const std::size_t i : order) {
    out.rows.x.insert(out.rows.x.end(), &t.rows.x[i * d], &t.rows.x[i * d] + d);
    out.rows.y.push_back(t.rows.y[i]);
    if (!t.rows.offset.empty()) out.rows.offset.push_back(t.rows.offset[i]);
    out.weights.push_back(t.weights[i]);
  }
  if (t.rows.entries.rows() > 0) support::make_sparse(out.rows);
  out.rows.weight = std::move(weight);
  return out;
}

Answers answers_of(Case c, const Table& t) {
  c.n = t.rows.n;
  const auto engine =
      support::make_test_backend(GIBBSITE_TEST_BACKEND)->load(t.rows.view(), t.rows.y, t.loss);
  Answers out = sharded_cases::ask(*engine, c, t, 0, 7);
  // What is of all rows, whatever they count, and answers by rows.
  std::erase_if(out, [](const auto& answer) {
    const std::string& name = answer.first;
    return name == "logit" || name == "offset" || name == "norms" || name.starts_with("fault") ||
           name.starts_with("clipped");
  });
  if (const auto exact = out.find("exact"); exact != out.end())
    exact->second = {std::accumulate(exact->second.begin(), exact->second.end(), 0.0)};
  return out;
}

void expect_near(const Answers& a, const Answers& b) {
  for (const auto& [name, numbers] : a) {
    if (name == "exact" && !b.contains(name)) continue;  // not asked of many rows
    ASSERT_TRUE(b.contains(name)) << name;
    const auto& others = b.at(name);
    ASSERT_EQ(numbers.size(), others.size()) << name;
    double most = 0;
    for (const double v : numbers) most = std::max(most, std::fabs(v));
    // Roots of weights are floats.
    const bool of_floats =
        name == "moments" || name == "score moments" || name.starts_with("information");
    for (std::size_t j = 0; j < numbers.size(); ++j)
      EXPECT_NEAR(numbers[j], others[j], (of_floats ? 1e-6 : 1e-11) * most) << name << ", " << j;
  }
}

const std::vector<Case>& weighted_cases() {
  static const std::vector<Case> all{{"logistic", 37, 7, 0, Kept::dense, 3, true},
                                     {"logistic", 1300, 5, 0, Kept::dense, 16, true},
                                     {"logistic(0.4,1)", 400, 9, 0, Kept::dense, 1, true},
                                     {"logistic", 400, 40, 4, Kept::entries, 3, true},
                                     {"logistic(0.4,1)", 60, 300, 3, Kept::entries, 1, true},
                                     {"huber", 300, 4, 0, Kept::dense, 2, true},
                                     {"pseudo-huber", 300, 4, 0, Kept::dense, 2, true},
                                     {"poisson", 300, 6, 0, Kept::dense, 3, true},
                                     {"poisson", 60, 300, 3, Kept::entries, 1, true},
                                     {"softmax-3", 300, 5, 0, Kept::dense, 2, true},
                                     {"softmax-3(0.5,1,1)", 300, 5, 0, Kept::dense, 1, true},
                                     {"softmax-3", 200, 40, 4, Kept::entries, 1, true}};
  return all;
}

TEST_F(RowWeights, OfZeroAreRowsThatAreNotThere) {
  if (on_a_gpu()) GTEST_SKIP() << "no kernels";
  for (const Case& c : weighted_cases()) {
    SCOPED_TRACE(fmt::format("{}, {} x {}", c.loss, c.n, c.d));
    const Table t(c);
    std::vector<std::size_t> kept;
    std::vector<float> weight;
    for (std::size_t i = 0; i < c.n; ++i) {
      if (t.rows.weight[i] == 0) continue;
      kept.push_back(i);
      weight.push_back(t.rows.weight[i]);
    }
    ASSERT_LT(kept.size(), c.n);
    expect_near(answers_of(c, t), answers_of(c, rows_of(t, kept, weight)));
  }
}

TEST_F(RowWeights, OfOneHalfTwiceAreRowsOnce) {
  if (on_a_gpu()) GTEST_SKIP() << "no kernels";
  for (const Case& c : weighted_cases()) {
    SCOPED_TRACE(fmt::format("{}, {} x {}", c.loss, c.n, c.d));
    const Table t(c);
    std::vector<std::size_t> once(c.n), twice;
    std::iota(once.begin(), once.end(), std::size_t{0});
    for (const std::size_t i : once) twice.insert(twice.end(), {i, i});
    Answers whole = answers_of(c, rows_of(t, once, {}));
    Answers halves = answers_of(c, rows_of(t, twice, std::vector<float>(2 * c.n, 0.5F)));
    // A row's score is in its square.
    if (whole.contains("score moments"))
      for (double& v : halves.at("score moments")) v *= 2;
    expect_near(whole, halves);
    expect_near(whole, answers_of(c, rows_of(t, once, std::vector<float>(c.n, 1.0F))));
  }
}

// A class's weight is that of each of its rows: all sums of scores are the same, whichever says so.
// (Planted: the information of pairs of classes, or moments of scores, without it.)
TEST_F(RowWeights, OfClassesAreThoseOfTheirRows) {
  if (on_a_gpu()) GTEST_SKIP() << "no kernels";
  for (const Case& plain : {Case{"logistic", 400, 9, 0, Kept::dense, 1, true},
                            Case{"logistic", 60, 300, 3, Kept::entries, 1, true},
                            Case{"softmax-3", 300, 5, 0, Kept::dense, 1, true},
                            Case{"softmax-3", 200, 40, 4, Kept::entries, 1, true}}) {
    SCOPED_TRACE(fmt::format("{}, {} x {}", plain.loss, plain.n, plain.d));
    Case of_classes = plain;
    const bool two = std::string_view(plain.loss) == "logistic";
    of_classes.loss = two ? "logistic(0.25,1)" : "softmax-3(0.25,1,0.5)";
    const std::vector<float> weights =
        two ? std::vector{0.25F, 1.0F} : std::vector{0.25F, 1.0F, 0.5F};
    const Table t(plain);
    std::vector<std::size_t> order(plain.n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<float> of_rows;
    for (const std::size_t i : order) of_rows.push_back(class_weight(weights, t.rows.y[i]));
    Answers rows = answers_of(plain, rows_of(t, order, of_rows));
    Table weighted = rows_of(Table(of_classes), order, {});
    weighted.rows.y = t.rows.y;
    Answers classes = answers_of(of_classes, weighted);
    for (Answers* const answers : {&rows, &classes})  // rows are counted, whatever their class
      std::erase_if(*answers, [](const auto& answer) {
        return answer.first == "moments" || answer.first == "lengths";
      });
    EXPECT_TRUE(rows.contains(two ? "information" : "information between"));
    EXPECT_TRUE(rows.contains("score moments"));
    expect_near(rows, classes);
  }
}

// What the guarantee rests on: no answer of one row is beyond its bound, nor is that of a row of
// weight w beyond w of it, and those of two rows are no further apart than is paid for.
TEST_F(RowWeights, HoldARowsPartToItsBound) {
  if (on_a_gpu()) GTEST_SKIP() << "no kernels";
  const auto backend = support::make_test_backend(GIBBSITE_TEST_BACKEND);
  for (const char* name : {"logistic", "huber", "poisson", "softmax-3"}) {
    const Case c{name, 60, 6, 0, Kept::dense, 1, true};
    const Table t(c);
    const double clip = 0.4, phi = largest_trace_of(t.loss);
    const std::size_t d = c.d * t.loss.outputs();
    std::vector<std::vector<double>> moments, scores;
    std::vector<double> curvatures, lengths;
    const std::vector<double> of_length(c.d, 0.5), centers(c.d, 0.25);
    const RowLengths row_lengths{0.01, of_length, centers, -1, 0.5, false};
    for (std::size_t i = 0; i < c.n; ++i) {
      const float weight = t.rows.weight[i];
      const auto engine = backend->load(t.part(i, i + 1), {&t.rows.y[i], 1}, t.loss);
      const MatrixView<const double> P{t.P.data(), c.d, 2};
      std::vector<double> m(4), g(d);
      engine->second_moments(P, clip, {m.data(), 2, 2});
      EXPECT_LE(m[0] + m[3], clip * clip * static_cast<double>(weight) * (1 + 0x1p-50));
      EXPECT_LE(m[0] + m[3], clip * clip);
      const auto capped = engine->capped_loss(P, {.clip = clip});
      curvatures.push_back(capped->gradient(t.theta, g));
      EXPECT_GE(curvatures.back(), 0);
      EXPECT_LE(curvatures.back(), phi * static_cast<double>(weight));
      lengths.push_back(engine->log_lengths(row_lengths));
      EXPECT_LE(std::fabs(lengths.back()), row_lengths.half() * static_cast<double>(weight));
      std::vector<double> in_metric;
      for (std::size_t k = 0; k < t.loss.outputs(); ++k) {
        for (std::size_t a = 0; a < 2; ++a) {
          double sum = 0;
          for (std::size_t j = 0; j < c.d; ++j) sum += g[k * c.d + j] * P(j, a);
          in_metric.push_back(sum);
        }
      }
      moments.push_back(std::move(m));
      scores.push_back(std::move(in_metric));
    }
    const auto apart = [](const std::vector<double>& a, const std::vector<double>& b) {
      double squares = 0;
      for (std::size_t j = 0; j < a.size(); ++j) squares += (a[j] - b[j]) * (a[j] - b[j]);
      return std::sqrt(squares);
    };
    double of_moments = 0, of_scores = 0;
    for (std::size_t a = 0; a < c.n; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        of_moments = std::max(of_moments, apart(moments[a], moments[b]));
        of_scores = std::max(of_scores, apart(scores[a], scores[b]));
        EXPECT_LE(std::fabs(curvatures[a] - curvatures[b]), phi);
        EXPECT_LE(std::fabs(lengths[a] - lengths[b]), 2 * row_lengths.half());
      }
    }
    EXPECT_LE(of_moments, std::sqrt(2) * clip * clip);
    EXPECT_LE(of_scores, 2 * clip * (1 + 1e-12));  // the product is rounded here
    EXPECT_GT(of_moments, 0.9 * clip * clip);
    EXPECT_GT(of_scores, clip) << name;
  }
}

TEST_F(RowWeights, OutsideOfTheirRangeAreFound) {
  const Case c{"logistic", 9, 3, 0, Kept::dense, 1, true};
  Table t(c);
  const auto load = [&] {
    return support::make_test_backend(GIBBSITE_TEST_BACKEND)->load(t.rows.view(), t.rows.y, t.loss);
  };
  if (on_a_gpu()) {
    EXPECT_THROW(static_cast<void>(load()), BadInput);
    return;
  }
  const RowLimits limits{.norm_squared = 1e9};
  EXPECT_FALSE(load()->first_fault(limits));
  for (const float bad : {1.0000001F, -0x1p-149F, 2.0F, std::nanf("")}) {
    t.rows.weight[4] = bad;
    const auto fault = load()->first_fault(limits);
    ASSERT_TRUE(fault) << bad;
    EXPECT_EQ(fault->row, 4U);
    EXPECT_EQ(fault->what, RowFault::What::weight);
  }
}

TEST(RootWeight, IsBelowTheRoot) {
  std::mt19937 bits(5);
  for (int i = 0; i < 200000; ++i) {
    const auto w = static_cast<float>(std::ldexp(
        1 + static_cast<double>(bits() % 8388608) / 8388608, -1 - static_cast<int>(bits() % 100)));
    const auto root = static_cast<double>(root_weight(w));
    ASSERT_LE(root * root, static_cast<double>(w)) << w;  // exact: squares of floats
    ASSERT_GE(root, std::sqrt(static_cast<double>(w)) * (1 - 0x1p-23)) << w;
  }
  EXPECT_EQ(root_weight(1), 1);
  EXPECT_EQ(root_weight(0.25F), 0.5F);
  EXPECT_EQ(root_weight(0), 0);
}

}  // namespace row_weights_backend_test
}  // namespace gibbsite
