// The law of what chains in a private metric release: a whole run in one dimension against its
// profile, by quadrature over its answer and its steps; and the noise of real runs.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>

#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/run/fit.hpp"
#include "mechanism/moments_question.hpp"
#include "run/answers.hpp"
#include "support/hockey_stick.hpp"

namespace gibbsite {
namespace metric_test {

using support::last_part;
using support::Line;
using support::over_normal;

// Every iterate is seen, which is more than a release shows, and for m = 0 costs the same.
class OneDimension {
 public:
  OneDimension(const Line& here, const Line& there, const MetricPath& settings, Neighbors who,
               std::uint64_t rows)
      : s_(settings), who_(who), tables_{here, there} {
    problem_.rows = rows;
    problem_.features = 1;
    problem_.row_norm = 3;
    for (int k = 0; k < 2; ++k) engines_[k] = load(tables_[k].x, tables_[k].y);
  }

  double delta(double epsilon) {
    const WhitenedRule start(moments_only(s_), problem_, who_,
                             WhitenedRule::Metric::Identity(1, 1));
    const double R = start.clip(), P = start.metric()(0, 0);
    double moments[2];
    for (int k = 0; k < 2; ++k) engines_[k]->second_moments({&P, 1, 1}, R, {&moments[k], 1, 1});
    const double sigma = moment_deviation_up(Wide(s_.moments_mu), who_, R, 0);
    return over_normal(moments, sigma, 8, [&](double answer, double odds) {
      WhitenedRule rule = start;
      rule.answer_moments(Eigen::MatrixXd::Constant(1, 1, answer), sigma);
      const double scaled = rule.metric()(0, 0) / rule.clip();
      std::shared_ptr<Engine> in_metric[2];
      for (int k = 0; k < 2; ++k) {
        in_metric[k] = load_in_metric(*engines_[k], *backend_, {tables_[k].y}, {&scaled, 1, 1}, 1);
      }
      return after_steps(in_metric, 0, 1, epsilon, odds);
    });
  }

 private:
  std::unique_ptr<Engine> load(const std::vector<float>& x, const std::vector<float>& y) {
    return backend_->load({x.data(), x.size(), 1}, y, loss_named("logistic"));
  }
  double after_steps(std::shared_ptr<Engine> (&engines)[2], double omega, int t, double epsilon,
                     double odds) {
    const double h = s_.chain.step_size, sigma = std::sqrt(2 * h);
    double next[2];
    for (int k = 0; k < 2; ++k) {
      double g = 0;
      engines[k]->loss_gradients({&omega, 1, 1}, {&g, 1, 1});
      next[k] = omega - h * s_.chain.beta * g;
    }
    if (t == static_cast<int>(s_.chain.iterations)) {
      return last_part(epsilon, odds, std::fabs(next[0] - next[1]) / sigma);
    }
    return over_normal(next, sigma, 4, [&](double at, double more) {
      return after_steps(engines, at, t + 1, epsilon, odds + more);
    });
  }

  MetricPath s_;
  Neighbors who_;
  Problem problem_;
  Line tables_[2];
  std::unique_ptr<Backend> backend_ = make_backend("reference");
  std::unique_ptr<Engine> engines_[2];
};

// No event is likelier than the profile allows, at any epsilon, either way round; and the worst
// pair comes near it.
TEST(MetricLaw, AWholeRunInOneDimensionStaysBelowItsProfile) {
  double nearest = 0;
  for (const double T : {1.0, 2.0}) {
    for (const double size : {0.2, 1.5}) {  // of the settings' mu, about
      for (const auto& pair : support::line_pairs()) {
        const double n = static_cast<double>(pair.rows), beta = 4 * size * size / n;
        const MetricPath s{
            size / 2, 1, 0.4, {Calibration::gdp, beta, 0, 1 / (beta * n) * 0.9 / T, T}};
        Problem p;
        p.rows = pair.rows;
        p.features = 1;
        p.row_norm = 3;
        const double mu = analyze(s, p, pair.who, 1).guarantee.mu;
        for (const bool turned : {false, true}) {
          OneDimension run(turned ? pair.there : pair.here, turned ? pair.here : pair.there, s,
                           pair.who, pair.rows);
          for (const double epsilon : {0.0, 0.3, 1.0, 3.0}) {
            const double allowed = gdp_delta_up(epsilon, mu), found = run.delta(epsilon);
            EXPECT_LE(found, allowed + 1e-9) << pair.name << " " << mu << " " << epsilon;
            if (allowed > 1e-6) nearest = std::max(nearest, found / allowed);
          }
        }
      }
    }
  }
  EXPECT_GT(nearest, 0.6) << "the noise is more than is needed";
}

// Rows of zeros: the answer is noise alone, and so is every draw of a chain of one step, in
// coordinates of its metric; nothing of one is in the other. 1,500 runs; each of the five checks
// fails by chance with 1e-7 at most.
TEST(MetricLaw, AnswerAndStepsHaveTheNoiseThatTheyArePaidFor) {
  constexpr std::size_t d = 3;
  Dataset data;
  data.schema.label_name = "y";
  data.schema.label = TwoClasses{.positive = "1"};
  for (std::size_t j = 0; j < d; ++j) {
    data.schema.columns.push_back(
        {std::string(1, static_cast<char>('a' + j)), ColumnType::number, 0, 1, {}, false});
  }
  data.dense().assign(6 * d, 0.0F);
  data.y.assign(6, 1.0F);
  const Model model = logistic_regression();
  const Plan made = plan(model.constants(data.schema, 6), {.epsilon = 1, .delta = 1e-3, .draws = 2},
                         {.mechanism = "metric-path", .iterations = 1});
  const auto& s = std::get<MetricPath>(made.candidate().mechanism);
  const auto backend = make_backend("cpu");
  const double sigma = std::sqrt(2 * s.chain.step_size);
  double on = 0, off = 0, steps = 0, across = 0, of_answer = 0;
  const int runs = 1500;
  for (int seed = 0; seed < runs; ++seed) {
    const Release out =
        fit(model, data, made, *backend, Key::from_seed(static_cast<std::uint64_t>(seed)),
            {.release_answers = true});
    ASSERT_EQ(out.model().answers.size(), 1U);
    const NoisyAnswer& answer = out.model().answers[0];
    WhitenedRule rule(moments_only(s), made.problem, {}, starting_metric(data.schema));
    std::size_t at = 0;
    for (int a = 0; a < static_cast<int>(d); ++a) {
      for (int b = 0; b <= a; ++b, ++at) {
        const double z = answer.values[at] / answer.deviation;
        (a == b ? on : off) += z * z;
      }
    }
    rule.answer_moments(whole_matrix(answer.values, d), answer.deviation);
    const Eigen::MatrixXd P = rule.metric() / rule.clip();
    std::vector<Eigen::VectorXd> omega;
    for (const auto& theta : out.model().draws) {
      omega.emplace_back(P.inverse() * Eigen::Map<const Eigen::VectorXd>(theta.data(), d));
      steps += omega.back().squaredNorm() / (sigma * sigma);
    }
    across += omega[0][0] * omega[1][0] / (sigma * sigma);
    of_answer += omega[0][0] / sigma * answer.values[0] / answer.deviation;
  }
  const auto expect_chi_squared = [](double sum, int n, double slack, const char* what) {
    const boost::math::chi_squared law(n);
    EXPECT_LE(sum / (1 + slack), boost::math::quantile(boost::math::complement(law, 5e-8))) << what;
    EXPECT_GE(sum * (1 + slack), boost::math::quantile(law, 5e-8)) << what;
  };
  // Grids: 1/768 of an answer's variance; 2^-16/12 of a draw's, and 2^-32 of theta's.
  expect_chi_squared(on, runs * 3, 1.0 / 768, "diagonal");
  expect_chi_squared(2 * off, runs * 3, 1.0 / 768, "off the diagonal");
  expect_chi_squared(steps, runs * 6, 1e-3, "steps");
  EXPECT_LE(std::fabs(across), 6.5 * std::sqrt(runs)) << "one draw's noise in another's";
  EXPECT_LE(std::fabs(of_answer), 6.5 * std::sqrt(runs)) << "the answer's noise in a step's";
}

}  // namespace metric_test
}  // namespace gibbsite
