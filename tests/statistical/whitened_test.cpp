// The law of what whitened releases: a whole run in one dimension against its profile, by
// quadrature over its answers; and the noise of real runs, against normal laws.
#include "gibbsite/mechanism/whitened.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>

#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/run/fit.hpp"
#include "mechanism/whitened_losses.hpp"
#include "run/whitened_rule.hpp"
#include "support/hockey_stick.hpp"

namespace gibbsite {
namespace whitened_test {

using support::last_part;
using support::Line;
using support::over_normal;

// Exact answers of one table to one question.
struct Sums {
  double gradient, curvature;
};

class OneDimension {
 public:
  OneDimension(const Line& here, const Line& there, const Whitened& settings, Neighbors who,
               std::uint64_t rows, const char* loss = "logistic")
      : settings_(settings), who_(who), here_(here), there_(there) {
    problem_.rows = rows;
    problem_.features = 1;
    problem_.row_norm = 3;
    problem_.label_bound = 5;
    set_loss(problem_, loss_named(loss));
    const auto backend = make_backend("reference");
    engines_[0] = backend->load({here_.x.data(), here_.x.size(), 1}, here_.y, loss_named(loss));
    engines_[1] = backend->load({there_.x.data(), there_.x.size(), 1}, there_.y, loss_named(loss));
  }
  /// A public center. leak: by how much that of the other table differs, were it no public one.
  void set_center(double center, double leak = 0) { center_ = {center}, leak_ = leak; }

  // sup over events of P(E) - e^epsilon P'(E), E of all answers: of small budgets the lengths, then
  // one question for moments, then T gradients with their curvatures, T = 1 or 2.
  double delta(double epsilon) {
    const WhitenedRule start(settings_, problem_, who_, WhitenedRule::Metric::Identity(1, 1), {},
                             center_);
    if (!start.asks_lengths()) return after_lengths(start, epsilon, 0);
    double lengths[2];
    for (int k = 0; k < 2; ++k) lengths[k] = engines_[k]->log_lengths(lengths_);
    const double sigma = length_deviation_up(settings_, who_, lengths_.half(), 0);
    return over_normal(lengths, sigma, 3, [&](double answer, double odds) {
      WhitenedRule rule = start;
      rule.answer_lengths(answer, lengths_);
      return after_lengths(rule, epsilon, odds);
    });
  }

 private:
  [[nodiscard]] ScoreLimits path_limits(double C) const {
    return {.clip = C, .largest_count = settings_.largest_count};
  }
  double after_lengths(const WhitenedRule& start, double epsilon, double odds) {
    const double R = start.clip(), P = start.metric()(0, 0);
    double moments[2];
    for (int k = 0; k < 2; ++k) {
      engines_[k]->second_moments({&P, 1, 1}, R, {&moments[k], 1, 1});
    }
    const double sigma = moment_deviation_up(settings_, who_, false, R, 0);
    return over_normal(moments, sigma, 8, [&](double answer, double more) {
      WhitenedRule rule = start;
      rule.answer_moments(Eigen::MatrixXd::Constant(1, 1, answer), sigma);
      return rule.asks_start() ? after_start(rule, epsilon, odds + more)
                               : after_gradients(rule, 1, epsilon, odds + more);
    });
  }
  double after_start(const WhitenedRule& rule, double epsilon, double odds) {
    const double C = rule.clip(), P = rule.metric()(0, 0), theta = rule.theta()[0];
    double gradient[2];
    for (int k = 0; k < 2; ++k) {
      double sum = 0;
      engines_[k]->capped_loss({&P, 1, 1}, path_limits(C))->gradient({&theta, 1}, {&sum, 1});
      gradient[k] = P * sum;
    }
    const double sigma = start_deviation_up(settings_, who_, C, 0);
    return over_normal(gradient, sigma, 4, [&](double g, double more) {
      WhitenedRule next = rule;
      next.answer_start(Eigen::VectorXd::Constant(1, g), sigma);
      return after_gradients(next, 1, epsilon, odds + more);
    });
  }
  double after_gradients(const WhitenedRule& rule, std::uint64_t t, double epsilon, double odds) {
    const double C = rule.clip(), P = rule.metric()(0, 0);
    double gradient[2], curvature[2];
    for (int k = 0; k < 2; ++k) {
      double sum = 0;
      const double theta = rule.theta()[0] + (k == 1 ? leak_ : 0);
      curvature[k] =
          engines_[k]->capped_loss({&P, 1, 1}, path_limits(C))->gradient({&theta, 1}, {&sum, 1});
      gradient[k] = P * sum;
    }
    const double sigma = gradient_deviation_up(settings_, who_, t, C, 0);
    const double of_curvature = curvature_deviation_up(settings_, who_, problem_.curvature, 0);
    const bool more_to_come = settings_.information_share > 0;
    if (static_cast<double>(t) == settings_.iterations && !more_to_come) {
      const double mu = std::hypot((gradient[0] - gradient[1]) / sigma,
                                   (curvature[0] - curvature[1]) / of_curvature);
      return last_part(epsilon, odds, mu);
    }
    return over_normal(gradient, sigma, 6, [&](double g, double more) {
      return over_normal(curvature, of_curvature, 2, [&](double c, double still_more) {
        WhitenedRule next = rule;
        next.answer_gradient(Eigen::VectorXd::Constant(1, g), sigma, c);
        const double all = odds + more + still_more;
        return next.asks_block() ? after_block(next, t + 1, epsilon, all)
                                 : after_gradients(next, t + 1, epsilon, all);
      });
    });
  }
  // The block and the information are asked at one point, whatever either answers.
  double after_block(const WhitenedRule& rule, std::uint64_t t, double epsilon, double odds) {
    const double C = rule.clip(), P = rule.metric()(0, 0), theta = rule.theta()[0];
    ScoreLimits limits = path_limits(C);
    limits.information = block_limit(settings_, problem_);
    double gradient[2], information[2], scores[2];
    for (int k = 0; k < 2; ++k) {
      const auto limited = engines_[k]->capped_loss({&P, 1, 1}, limits),
                 path = engines_[k]->capped_loss({&P, 1, 1}, path_limits(C));
      double sum = 0;
      (has_capped_derivatives(problem_) ? path : limited)->gradient({&theta, 1}, {&sum, 1});
      gradient[k] = P * sum;
      limited->information({&theta, 1}, {&information[k], 1, 1});
      path->score_moments({&theta, 1}, {&scores[k], 1, 1});
    }
    const double longest = std::sqrt(limits.information) * C;
    double mu = std::hypot(
        (gradient[0] - gradient[1]) / gradient_deviation_up(settings_, who_, t, C, 0),
        (information[0] - information[1]) / information_deviation_up(settings_, who_, longest, 0));
    if (settings_.score_share > 0)
      mu = std::hypot(mu, (scores[0] - scores[1]) / score_deviation_up(settings_, who_, C, 0));
    return last_part(epsilon, odds, mu);
  }

  Whitened settings_;
  Neighbors who_;
  Problem problem_;
  RowLengths lengths_{0, {1.0}, {0.0}, std::log(0.2), std::log(2.0), false};
  Line here_, there_;
  std::unique_ptr<Engine> engines_[2];
  std::vector<double> center_;
  double leak_ = 0;
};

Whitened one_question(double mu, double T) {
  return {.query_mu = mu,
          .first_clip = 1,
          .first_moment_share = 0.2,
          .second_moment_share = 0,
          .curvature_share = 0.02,
          .clip_factor = 0.4,
          .iterations = T};
}

// No event of all answers is likelier than the profile allows, at any epsilon, either way round;
// and the worst pair comes near it.
TEST(WhitenedLaw, AWholeRunInOneDimensionStaysBelowItsProfile) {
  double nearest = 0;
  for (const double mu : {0.3, 1.5}) {
    for (const auto& pair : support::line_pairs()) {
      for (const bool turned : {false, true}) {
        OneDimension run(turned ? pair.there : pair.here, turned ? pair.here : pair.there,
                         one_question(mu, 1), pair.who, pair.rows);
        for (const double epsilon : {0.0, 0.1, 0.5, 1.0, 2.0, 4.0}) {
          const double allowed = gdp_delta_up(epsilon, mu), found = run.delta(epsilon);
          EXPECT_LE(found, allowed + 1e-10) << pair.name << " " << mu << " " << epsilon;
          if (allowed > 1e-6) nearest = std::max(nearest, found / allowed);
        }
      }
    }
  }
  EXPECT_GT(nearest, 0.7) << "the noise is more than is needed";
}

TEST(WhitenedLaw, TwoGradientsThatFollowOneAnotherStayBelowIt) {
  for (const double mu : {0.5, 2.0}) {
    for (const auto& pair : support::line_pairs()) {
      OneDimension run(pair.here, pair.there, one_question(mu, 2), pair.who, pair.rows);
      const double epsilon = mu < 1 ? 0.4 : 2;
      EXPECT_LE(run.delta(epsilon), gdp_delta_up(epsilon, mu) + 1e-9) << pair.name << " " << mu;
    }
  }
}

// Runs of small budgets: the lengths decide how rows are scaled for the moments. One direction has
// nothing that stands out, so the second moments' share goes to a start. Shares are as plans have
// them, or nearly all for lengths and start.
TEST(WhitenedLaw, ARunOfASmallBudgetStaysBelowIt) {
  double nearest = 0;
  for (const auto& [length, second] : {std::pair{0.02, 0.1}, std::pair{0.3, 0.4}}) {
    for (const double mu : {0.3, 1.5}) {
      Whitened settings = one_question(mu, 1);
      settings.length_share = length;
      settings.first_moment_share = 0.1;
      settings.second_moment_share = second;
      settings.gradient_evenness = 1.7;
      for (const auto& pair : support::line_pairs()) {
        const bool turned = length > 0.1;
        OneDimension run(turned ? pair.there : pair.here, turned ? pair.here : pair.there, settings,
                         pair.who, pair.rows);
        const double epsilon = mu < 1 ? 0.1 : 1;
        const double allowed = gdp_delta_up(epsilon, mu), found = run.delta(epsilon);
        EXPECT_LE(found, allowed + 1e-9) << pair.name << " " << mu << " " << length;
        nearest = std::max(nearest, found / allowed);
      }
    }
  }
  EXPECT_GT(nearest, 0.7) << "the noise is more than is needed";
}

// A public center moves where gradients are asked, the first of them and a start, and nothing else;
// one that private rows had moved would be seen.
TEST(WhitenedLaw, APublicCenterLeavesItThere) {
  double nearest = 0, leaked = 0;
  for (const bool small : {false, true}) {
    for (const double center : {-3.0, 1.0}) {
      const double mu = 1.5, epsilon = 1, allowed = gdp_delta_up(epsilon, mu);
      Whitened settings = one_question(mu, small ? 1 : 2);
      if (small) {
        settings.length_share = 0.02;
        settings.first_moment_share = settings.second_moment_share = 0.1;
        settings.gradient_evenness = 1.7;
      }
      for (const auto& pair : support::line_pairs()) {
        OneDimension run(pair.here, pair.there, settings, pair.who, pair.rows);
        run.set_center(center);
        const double found = run.delta(epsilon);
        EXPECT_LE(found, allowed + 1e-9) << pair.name << " " << center << " " << small;
        nearest = std::max(nearest, found / allowed);
        run.set_center(center, 8);
        leaked = std::max(leaked, run.delta(epsilon) / allowed);
      }
    }
  }
  EXPECT_GT(nearest, 0.5) << "the noise is more than is needed";
  EXPECT_GT(leaked, 1.05) << "a center of private rows goes unseen";
}

// With intervals: the block, the information and the scores' moments where the gradients led to, as
// shares that plans have and as nearly all of the budget; and none of scores, as files of before.
TEST(WhitenedLaw, ARunWithIntervalsStaysBelowIt) {
  double nearest = 0;
  for (const auto& [information, block, scores] :
       {std::array{0.1, 0.4, 0.03}, std::array{0.35, 0.9, 0.0}, std::array{0.2, 0.9, 0.3}}) {
    for (const double mu : {0.5, 2.0}) {
      Whitened settings = one_question(mu, 1);
      settings.information_share = information;
      settings.block_share = block;
      settings.score_share = scores;
      for (const auto& pair : support::line_pairs()) {
        const bool turned = block > 0.5;
        OneDimension run(turned ? pair.there : pair.here, turned ? pair.here : pair.there, settings,
                         pair.who, pair.rows);
        const double epsilon = mu < 1 ? 0.4 : 2;
        const double allowed = gdp_delta_up(epsilon, mu), found = run.delta(epsilon);
        EXPECT_LE(found, allowed + 1e-9) << pair.name << " " << mu << " " << block;
        nearest = std::max(nearest, found / allowed);
      }
    }
  }
  EXPECT_GT(nearest, 0.7) << "the noise is more than is needed";
}

struct OfSlopes {
  const char* loss;
  double largest_count;  // 0: slopes are held
};
constexpr OfSlopes with_slopes[] = {
    {"huber", 0}, {"pseudo-huber", 0}, {"poisson", 0}, {"poisson", 1}, {"poisson", 6}};

// The second moments of the scores are one more question at that point, of amounts and counts.
TEST(WhitenedLaw, RunsOfAmountsAndCountsWithIntervalsStayBelowIt) {
  double nearest = 0;
  for (const auto& [loss, largest] : with_slopes) {
    const bool counts = loss == std::string("poisson");
    for (const auto& [information, block, scores] :
         {std::array{0.1, 0.4, 0.03}, std::array{0.3, 0.9, 0.3}}) {
      Whitened settings = one_question(1, 1);
      settings.information_share = information;
      settings.block_share = block;
      settings.score_share = scores;
      settings.largest_count = largest;
      for (auto pair : support::line_pairs()) {
        for (Line* const line : {&pair.here, &pair.there}) {
          for (float& y : line->y) y = counts ? (y + 1) / 2 : block > 0.5 ? 5 * y : 0.4F * y;
        }
        OneDimension run(pair.here, pair.there, settings, pair.who, pair.rows, loss);
        for (const double epsilon : {0.4, 2.0}) {
          const double allowed = gdp_delta_up(epsilon, 1), found = run.delta(epsilon);
          EXPECT_LE(found, allowed + 1e-9) << loss << " " << pair.name << " " << block;
          nearest = std::max(nearest, found / allowed);
        }
      }
    }
  }
  EXPECT_GT(nearest, 0.5) << "the noise is more than is needed";
}

// Slopes of either sign and curvatures up to 1.
TEST(WhitenedLaw, RunsOnAmountsAndCountsStayBelowIt) {
  double nearest = 0;
  for (const auto& [loss, largest] : with_slopes) {
    const bool counts = loss == std::string("poisson");
    for (auto pair : support::line_pairs()) {
      for (Line* const line : {&pair.here, &pair.there}) {
        for (float& y : line->y) y = counts ? (y + 1) / 2 : 5 * y;
      }
      for (const double mu : {0.3, 1.5}) {
        for (const bool turned : {false, true}) {
          Whitened settings = one_question(mu, 1);
          settings.largest_count = largest;
          OneDimension run(turned ? pair.there : pair.here, turned ? pair.here : pair.there,
                           settings, pair.who, pair.rows, loss);
          for (const double epsilon : {0.0, 0.5, 2.0}) {
            const double allowed = gdp_delta_up(epsilon, mu), found = run.delta(epsilon);
            EXPECT_LE(found, allowed + 1e-10) << loss << largest << " " << pair.name << " " << mu;
            if (allowed > 1e-6) nearest = std::max(nearest, found / allowed);
          }
        }
      }
    }
  }
  EXPECT_GT(nearest, 0.7) << "the noise is more than is needed";
  for (auto pair : support::line_pairs()) {
    for (float& y : pair.here.y) y *= 0.4F;  // free where the prediction is near
    for (float& y : pair.there.y) y *= 0.4F;
    OneDimension run(pair.here, pair.there, one_question(1, 2), pair.who, pair.rows, "huber");
    EXPECT_LE(run.delta(1), gdp_delta_up(1, 1) + 1e-9) << pair.name;
  }
}

// A run on three classes and one feature. A score is a vector of three that adds up to 0, so a
// gradient's noise counts in two directions. The information is a block for each pair of classes.
class ThreeClasses {
 public:
  ThreeClasses(const Line& here, const Line& there, const Whitened& settings, Neighbors who,
               std::uint64_t rows)
      : settings_(settings), who_(who), here_(here), there_(there) {
    problem_.rows = rows;
    problem_.features = K;
    problem_.row_norm = 3;
    const Loss& loss = loss_named("softmax-3");
    set_loss(problem_, loss);
    const auto backend = make_backend("reference");
    engines_[0] = backend->load({here_.x.data(), here_.x.size(), 1}, here_.y, loss);
    engines_[1] = backend->load({there_.x.data(), there_.x.size(), 1}, there_.y, loss);
  }

  // sup over events of P(E) - e^epsilon P'(E), E of all answers: moments, one gradient with its
  // curvature, and where intervals are asked for the block and the information.
  double delta(double epsilon) {
    const WhitenedRule start(settings_, problem_, who_, WhitenedRule::Metric::Identity(1, 1));
    const double R = start.clip(), P = start.metric()(0, 0);
    double moments[2];
    for (int k = 0; k < 2; ++k) engines_[k]->second_moments({&P, 1, 1}, R, {&moments[k], 1, 1});
    const double sigma = moment_deviation_up(settings_, who_, false, R, 0);
    return over_normal(moments, sigma, 4, [&](double answer, double odds) {
      WhitenedRule rule = start;
      rule.answer_moments(Eigen::MatrixXd::Constant(1, 1, answer), sigma);
      return after_gradient(rule, epsilon, odds);
    });
  }

 private:
  static constexpr int K = 3;
  using Vector = Eigen::Vector3d;

  [[nodiscard]] double curvature_deviation() const {
    return curvature_deviation_up(settings_, who_, problem_.curvature * problem_.traces.most, 0);
  }

  double after_gradient(const WhitenedRule& rule, double epsilon, double odds) {
    const double C = rule.clip(), P = rule.metric()(0, 0);
    const Eigen::VectorXd theta = rule.theta();
    Vector gradient[2];
    double curvature[2];
    for (int k = 0; k < 2; ++k) {
      curvature[k] = engines_[k]
                         ->capped_loss({&P, 1, 1}, {.clip = C})
                         ->gradient({theta.data(), K}, {gradient[k].data(), K});
      gradient[k] *= P;
    }
    const double sigma = gradient_deviation_up(settings_, who_, 1, C, 0);
    if (!(settings_.information_share > 0)) {
      return last_part(epsilon, odds,
                       std::hypot((gradient[0] - gradient[1]).norm() / sigma,
                                  (curvature[0] - curvature[1]) / curvature_deviation()));
    }
    // The direction of the difference, and one across it; the third moves all classes alike.
    Vector along = gradient[0] - gradient[1];
    if (along.norm() < 1e-12) along = {1, -1, 0};
    along.normalize();
    const Vector across = Vector::Ones().normalized().cross(along);
    const double parts[2] = {gradient[0].dot(along), gradient[1].dot(along)};
    const double beside[2] = {gradient[0].dot(across), gradient[0].dot(across)};
    return over_normal(parts, sigma, 3, [&](double a, double more) {
      return over_normal(beside, sigma, 2, [&](double b, double /*none*/) {
        return over_normal(curvature, curvature_deviation(), 1, [&](double c, double still_more) {
          WhitenedRule next = rule;
          next.answer_gradient(a * along + b * across, sigma, c);
          return after_block(next, epsilon, odds + more + still_more);
        });
      });
    });
  }

  double after_block(const WhitenedRule& rule, double epsilon, double odds) {
    const double C = rule.clip(), P = rule.metric()(0, 0);
    const Eigen::VectorXd theta = rule.theta();
    const ScoreLimits limits{.clip = C, .information = information_limit(settings_)};
    Vector gradient[2], information[2];
    for (int k = 0; k < 2; ++k) {
      const auto limited = engines_[k]->capped_loss({&P, 1, 1}, limits);
      limited->gradient({theta.data(), K}, {gradient[k].data(), K});
      gradient[k] *= P;
      int at = 0;
      for (const ClassPair pair : class_pairs(K)) {
        limited->information_between({theta.data(), K}, pair, {&information[k][at++], 1, 1});
      }
    }
    const double longest = std::sqrt(limits.information) * C;
    return last_part(epsilon, odds,
                     std::hypot((gradient[0] - gradient[1]).norm() /
                                    gradient_deviation_up(settings_, who_, 2, C, 0),
                                (information[0] - information[1]).norm() /
                                    information_deviation_up(settings_, who_, longest, 0)));
  }

  Whitened settings_;
  Neighbors who_;
  Problem problem_;
  Line here_, there_;
  std::unique_ptr<Engine> engines_[2];
};

// Rows of the line's pairs, of classes 0 and 2, or 0 and 1 where `turned`.
Line of_classes(Line line, bool turned) {
  for (float& y : line.y) y = y > 0 ? 0 : turned ? 1 : 2;
  return line;
}

TEST(WhitenedLaw, RunsOfThreeClassesStayBelowIt) {
  double nearest = 0;
  for (const double mu : {0.3, 1.5}) {
    for (const auto& pair : support::line_pairs()) {
      for (const bool turned : {false, true}) {
        ThreeClasses run(of_classes(turned ? pair.there : pair.here, turned),
                         of_classes(turned ? pair.here : pair.there, turned), one_question(mu, 1),
                         pair.who, pair.rows);
        for (const double epsilon : {0.0, 0.5, 2.0}) {
          const double allowed = gdp_delta_up(epsilon, mu), found = run.delta(epsilon);
          EXPECT_LE(found, allowed + 1e-9) << pair.name << " " << mu << " " << epsilon;
          if (allowed > 1e-6) nearest = std::max(nearest, found / allowed);
        }
      }
    }
  }
  EXPECT_GT(nearest, 0.7) << "the noise is more than is needed";
}

TEST(WhitenedLaw, RunsOfThreeClassesWithIntervalsStayBelowIt) {
  double nearest = 0;
  for (const auto& [information, block] : {std::pair{0.1, 0.4}, std::pair{0.35, 0.9}}) {
    Whitened settings = one_question(1, 1);
    settings.information_share = information;
    settings.block_share = block;
    for (const auto& pair : support::line_pairs()) {
      ThreeClasses run(of_classes(pair.here, block > 0.5), of_classes(pair.there, block > 0.5),
                       settings, pair.who, pair.rows);
      const double allowed = gdp_delta_up(1, 1), found = run.delta(1);
      EXPECT_LE(found, allowed + 1e-9) << pair.name << " " << block;
      nearest = std::max(nearest, found / allowed);
    }
  }
  EXPECT_GT(nearest, 0.6) << "the noise is more than is needed";
}

// Rows of zeros answer moments with noise alone: deviations s on the diagonal and s/sqrt(2) off it,
// of its own for every question; 800 runs. Each of the five checks fails by
// chance with 1e-7 at most.
TEST(WhitenedLaw, MomentsHaveTheNoiseThatTheyArePaidFor) {
  Dataset data;
  data.schema.label_name = "y";
  data.schema.label = TwoClasses{.positive = "1"};
  constexpr std::size_t d = 4;
  for (std::size_t j = 0; j < d; ++j) {
    data.schema.columns.push_back(
        {std::string(1, static_cast<char>('a' + j)), ColumnType::number, 0, 1, {}, false});
  }
  data.dense().assign(5 * d, 0.0F);
  data.y.assign(5, 1.0F);
  const Model model = logistic_regression();
  const Plan made = plan(model.constants(data.schema, 5), {.epsilon = 1, .delta = 1e-3},
                         {.mechanism = "whitened", .iterations = 5});
  const auto backend = make_backend("cpu");
  double on = 0, off = 0, gradients = 0, of_gradients = 0, of_moments = 0;
  int n_on = 0, n_off = 0, n_gradients = 0, runs = 800;
  for (int seed = 0; seed < runs; ++seed) {
    const auto answers =
        fit(model, data, made, *backend, Key::from_seed(static_cast<std::uint64_t>(seed)),
            {.release_answers = true})
            .model()
            .answers;
    std::size_t at = 0;
    for (std::size_t a = 0; a < d; ++a) {
      for (std::size_t b = 0; b <= a; ++b, ++at) {
        const double z = answers[0].values[at] / answers[0].deviation;
        (a == b ? on : off) += z * z;
        (a == b ? n_on : n_off) += 1;
      }
    }
    std::vector<const NoisyAnswer*> asked;
    for (const NoisyAnswer& a : answers) {
      if (a.question == "gradient") asked.push_back(&a);
    }
    for (const NoisyAnswer* a : asked) {
      for (const double g : a->values) {
        gradients += std::pow(g / a->deviation, 2);
        ++n_gradients;
      }
    }
    const double first = asked[0]->values[0] / asked[0]->deviation;
    of_gradients += first * asked[1]->values[0] / asked[1]->deviation;
    of_moments += first * answers[0].values[0] / answers[0].deviation;
    ASSERT_EQ(asked.size(), 5U);
  }
  const auto expect_chi_squared = [](double sum, int n, const char* what) {
    const boost::math::chi_squared law(n);
    // Rounding to the answer's grid adds at most 1/768.
    EXPECT_LE(sum / (1 + 1.0 / 768), boost::math::quantile(boost::math::complement(law, 5e-8)))
        << what;
    EXPECT_GE(sum, boost::math::quantile(law, 5e-8)) << what;
  };
  expect_chi_squared(on, n_on, "diagonal");
  expect_chi_squared(2 * off, n_off, "off the diagonal");
  expect_chi_squared(gradients, n_gradients, "gradients");
  // Sums of products of independent normals: variance `runs`, tails below those of 6.5 deviations.
  EXPECT_LE(std::fabs(of_gradients), 6.5 * std::sqrt(runs)) << "one gradient's noise in another's";
  EXPECT_LE(std::fabs(of_moments), 6.5 * std::sqrt(runs)) << "moments' noise in a gradient's";
}

}  // namespace whitened_test
}  // namespace gibbsite
