// The exact law of whole runs of small budgets of whitened, in the coordinates that such a run has:
// a constant and two numbers. The lengths are asked, and the answers decide whether second moments
// or a gradient at 0 come next.
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <random>

#include "gibbsite/mechanism/whitened.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/run/fit.hpp"
#include "run/whitened_rule.hpp"
#include "support/hockey_stick.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace whitened_small_test {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using support::last_part;
using support::over_normal;

// A table of two numbers from 0 to 1 and a constant.
struct Rows {
  std::vector<std::array<float, 2>> numbers;
  std::vector<float> labels;
};

struct Pair {
  const char* name;
  Rows here, there;
  Neighbors who;
  std::uint64_t rows;  // n, or its cap
};

std::vector<Pair> pairs() {
  const Neighbors replace{}, add{Adjacency::add_remove, 1}, two{Adjacency::replace_one, 2};
  const std::array<float, 2> middle{0.5F, 0.5F}, corner{1, 1}, side{1, 0.5F}, other{0.5F, 1};
  return {
      // The rows of which questions tell apart most: lengths, gradients, moments.
      {"the shortest, the longest", {{middle, side}, {1, 1}}, {{corner, side}, {1, 1}}, replace, 2},
      {"opposite classes", {{corner, side}, {1, 1}}, {{corner, side}, {-1, 1}}, replace, 2},
      {"one beside another",
       {{{30, 0.5F}, other}, {1, 1}},
       {{{0.5F, 30}, other}, {1, 1}},
       replace,
       2},
      {"one person alone", {{middle}, {1}}, {{{-9, 9}}, {-1}}, replace, 1},
      {"one against many alike",
       {{{-20, 0.5F}, side, side}, {-1, 1, 1}},
       {{{20, 20}, side, side}, {1, 1, 1}},
       replace,
       3},
      {"a row more", {{side, side, {0.5F, 9}}, {1, 1, -1}}, {{side, side}, {1, 1}}, add, 3},
      {"one more of many alike",
       {{{30, 0.5F}, {30, 0.5F}, {30, 0.5F}}, {1, 1, 1}},
       {{{30, 0.5F}, {30, 0.5F}}, {1, 1}},
       add,
       3},
      {"a row less", {{side, side}, {1, -1}}, {{side, side, middle}, {1, -1, -1}}, add, 4},
      {"two rows of one person",
       {{middle, middle, side}, {1, 1, 1}},
       {{{9, 9}, {9, 9}, side}, {-1, -1, 1}},
       two,
       3},
  };
}

// Labels of pairs are 1 and -1: those of an amount at its ends, of three classes two of them.
float label_of(float label, const std::string& loss) {
  return loss == "huber" ? 5 * label : loss == "softmax-3" ? (1 - label) / 2 : label;
}

Schema two_numbers(const std::string& loss) {
  Schema out;
  out.label_name = std::string("y");
  if (loss == "huber") {
    out.label = Amount{{.lo = -5, .hi = 5}, 1};
  } else if (loss == "softmax-3") {
    out.label = Classes{{"a", "b", "c"}};
  } else {
    out.label = TwoClasses{.positive = std::string("1")};
  }
  out.row_norm = 2;
  out.intercept = true;
  for (const char* name : {"a", "b"}) {
    out.columns.push_back({name, ColumnType::number, 0, 1, {}, false});
  }
  return out;
}

std::size_t count(const VectorXd& of) { return static_cast<std::size_t>(of.size()); }

// Orthonormal coordinates of a symmetric matrix, and back.
VectorXd coordinates_of(const MatrixXd& symmetric) {
  VectorXd out(6);
  Eigen::Index at = 0;
  for (Eigen::Index a = 0; a < 3; ++a) {
    for (Eigen::Index b = 0; b <= a; ++b) {
      out[at++] = symmetric(a, b) * (a == b ? 1 : std::sqrt(2.0));
    }
  }
  return out;
}
MatrixXd matrix_of(const VectorXd& coordinates) {
  MatrixXd out(3, 3);
  Eigen::Index at = 0;
  for (Eigen::Index a = 0; a < 3; ++a) {
    for (Eigen::Index b = 0; b <= a; ++b) {
      out(a, b) = out(b, a) = coordinates[at++] / (a == b ? 1 : std::sqrt(2.0));
    }
  }
  return out;
}

// A run of one gradient. Noise along the difference of the two tables' answers is integrated over.
// Noise across it has the same law for both tables, whatever was answered before. It is held at
// some value: no event may be likelier than the profile allows given that value either.
class RunOfThree {
 public:
  RunOfThree(const Pair& pair, bool turned, const Whitened& settings, std::uint64_t seed,
             const std::string& loss)
      : settings_(settings),
        who_(pair.who),
        schema_(two_numbers(loss)),
        problem_(glm(loss).constants(schema_, pair.rows)),
        lengths_(row_lengths(schema_)) {
    const auto backend = make_backend("reference");
    for (const int table : {0, 1}) {
      const Rows& of = (table == 0) == turned ? pair.there : pair.here;
      for (const auto& [a, b] : of.numbers) {
        for (const float v : {a, b, 1.0F}) x_[table].push_back(v);
      }
      for (const float label : of.labels) y_[table].push_back(label_of(label, loss));
      engines_[table] =
          backend->load({x_[table].data(), y_[table].size(), 3}, y_[table], loss_named(loss));
    }
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (VectorXd& noise : across_)
      noise = VectorXd::NullaryExpr(9, [&] { return normal(random); });
  }

  // sup over events of P(E) - e^epsilon P'(E), E of all answers.
  double delta(double epsilon) {
    const WhitenedRule start(settings_, problem_, who_, starting_metric(schema_));
    double lengths[2];
    for (const int table : {0, 1}) lengths[table] = engines_[table]->log_lengths(lengths_);
    const double sigma = length_deviation_up(settings_, who_, lengths_.half(), 0);
    return over_normal(lengths, sigma, 4, [&](double answer, double odds) {
      WhitenedRule rule = start;
      rule.answer_lengths(answer, lengths_);
      return after_moments(rule, epsilon, odds);
    });
  }
  // How often moments were asked again in the sums, and how often the start.
  [[nodiscard]] int seconds() const { return seconds_; }
  [[nodiscard]] int starts() const { return starts_; }

 private:
  template <class F>
  double over_answers(const VectorXd (&exact)[2], double sigma, int panels, const VectorXd& noise,
                      const F& f) {
    VectorXd along = exact[0] - exact[1], across = noise.head(along.size());
    const double apart = along.norm();
    if (apart < 1e-9 * sigma) return f(exact[0] + sigma * across, 0.0);
    along /= apart;
    across -= across.dot(along) * along;
    const double ends[2] = {apart, 0};
    return over_normal(ends, sigma, panels, [&](double at, double odds) {
      return f(exact[1] + at * along + sigma * across, odds);
    });
  }

  double after_moments(const WhitenedRule& start, double epsilon, double odds) {
    const double R = start.clip();
    const bool second = start.second();
    const WhitenedRule::Metric P = start.metric();
    VectorXd moments[2];
    for (const int table : {0, 1}) {
      WhitenedRule::Metric sum(3, 3);
      engines_[table]->second_moments({P.data(), 3, 3}, R, {sum.data(), 3, 3});
      moments[table] = coordinates_of(sum);
    }
    const double sigma = moment_deviation_up(settings_, who_, second, R, 0);
    return over_answers(moments, sigma, 6, across_[second ? 1 : 0],
                        [&](const VectorXd& answer, double more) {
                          WhitenedRule rule = start;
                          rule.answer_moments(matrix_of(answer), sigma);
                          if (rule.asks_moments()) {
                            ++seconds_;
                            return after_moments(rule, epsilon, odds + more);
                          }
                          if (!rule.asks_start()) return after_gradient(rule, epsilon, odds + more);
                          ++starts_;
                          return after_start(rule, epsilon, odds + more);
                        });
  }

  struct Scores {
    VectorXd gradient[2];
    double curvature[2];
  };
  Scores scores(const WhitenedRule& rule) {
    const WhitenedRule::Metric P = rule.metric();
    const VectorXd theta = rule.theta();
    Scores out;
    for (const int table : {0, 1}) {
      VectorXd sum(theta.size());
      out.curvature[table] =
          engines_[table]
              ->capped_loss({P.data(), 3, 3}, {.clip = rule.clip()})
              ->gradient({theta.data(), count(theta)}, {sum.data(), count(theta)});
      out.gradient[table] = (P.transpose() * sum.reshaped(3, theta.size() / 3)).reshaped();
    }
    return out;
  }
  double after_start(const WhitenedRule& start, double epsilon, double odds) {
    const double sigma = start_deviation_up(settings_, who_, start.clip(), 0);
    return over_answers(scores(start).gradient, sigma, 4, across_[1],
                        [&](const VectorXd& answer, double more) {
                          WhitenedRule rule = start;
                          rule.answer_start(answer, sigma);
                          return after_gradient(rule, epsilon, odds + more);
                        });
  }
  double after_gradient(const WhitenedRule& rule, double epsilon, double odds) {
    const Scores of = scores(rule);
    const double sigma = gradient_deviation_up(settings_, who_, 1, rule.clip(), 0);
    const double of_curvature =
        curvature_deviation_up(settings_, who_, problem_.curvature * problem_.traces.most, 0);
    return last_part(epsilon, odds,
                     std::hypot((of.gradient[0] - of.gradient[1]).norm() / sigma,
                                (of.curvature[0] - of.curvature[1]) / of_curvature));
  }

  Whitened settings_;
  Neighbors who_;
  Schema schema_;
  Problem problem_;
  RowLengths lengths_;
  std::vector<float> x_[2], y_[2];
  std::unique_ptr<Engine> engines_[2];
  VectorXd across_[2];
  int seconds_ = 0, starts_ = 0;
};

struct Shares {
  const char* most;  // what has most of the budget
  double length, first, second;
};

// Shares as plans have them, and such as give one question nearly all: no event is likelier than
// the profile allows, whatever is asked second, and for each of them a pair comes near it. Of
// classes two scores are less than opposite.
class WhitenedSmallLaw : public ::testing::TestWithParam<const char*> {};
TEST_P(WhitenedSmallLaw, WholeRunsStayBelowTheirProfileWhateverIsAskedSecond) {
  int starts = 0, seconds = 0, both = 0;
  support::Thinned some(5);
  bool turned = false;
  for (const Shares& of :
       {Shares{"as planned", 0.02, 0.1, 0.1}, Shares{"lengths", 0.85, 0.05, 0.05},
        Shares{"second", 0.02, 0.1, 0.85}}) {
    double nearest = 0;
    for (const double mu : {0.4, 8.0}) {
      const Whitened settings{.query_mu = mu,
                              .first_clip = 1.1,
                              .first_moment_share = of.first,
                              .second_moment_share = of.second,
                              .curvature_share = 0.02,
                              .clip_factor = 0.3,
                              .iterations = 1,
                              .length_share = of.length,
                              .gradient_evenness = 1.7};
      for (const Pair& pair : pairs()) {
        turned = !turned;
        if (some.skips()) continue;
        RunOfThree run(pair, turned, settings, 5, GetParam());
        const double epsilon = mu < 1 ? 0.2 : 30;
        const double allowed = gdp_delta_up(epsilon, mu), found = run.delta(epsilon);
        EXPECT_LE(found, allowed + 1e-9) << of.most << " " << mu << " " << pair.name << turned;
        nearest = std::max(nearest, found / allowed);
        starts += run.starts();
        seconds += run.seconds();
        both += run.starts() > 0 && run.seconds() > 0 ? 1 : 0;
      }
    }
    EXPECT_GT(nearest, 0.9) << of.most << ": the noise is more than is needed";
  }
  EXPECT_TRUE(starts > 0 && seconds > 0 && both > 0) << starts << " " << seconds << " " << both;
}

INSTANTIATE_TEST_SUITE_P(Losses, WhitenedSmallLaw,
                         ::testing::Values("logistic", "huber", "softmax-3"),
                         [](const auto& p) { return std::string(p.param).substr(0, 5); });

}  // namespace whitened_small_test
}  // namespace gibbsite
