#pragma once
// What `whitened` asks next, from what it was answered so far (docs/theory/whitened.md, "The
// rule"). Sees no row: noisy answers and public numbers alone, so nothing here costs privacy.
#include <Eigen/Core>
#include <cstdint>
#include <utility>
#include <vector>

#include "gibbsite/core/problem.hpp"
#include "gibbsite/mechanism/in_metric.hpp"
#include "gibbsite/mechanism/whitened.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// The one question of chains in a metric, as `whitened` asks it.
template <class Chain>
Whitened moments_only(const InMetric<Chain>& settings) {
  return {.query_mu = settings.moments_mu,
          .first_clip = settings.first_clip,
          .first_moment_share = 1,
          .clip_factor = settings.clip_factor};
}

/// rho: part of the noise's operator norm that the metric adds to eigenvalues of the moments. Found
/// by measurement (docs/theory/whitened.md); it has nothing to do with privacy.
inline constexpr double whitened_ridge_share = 0.1;

/// The smallest weight of a class, of which the largest is 1; 1 if classes have none.
double least_class_weight(const Problem& problem);

class WhitenedRule {
 public:
  using Metric = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  /// `start` [d x k]: the public metric of the first question (`starting_metric`). `plain` [d x k]:
  /// the same directions with their own lengths, which the prior is about; empty if they are equal.
  /// `center` [K x d]: public coefficients, of which the path begins at half and to a part of which
  /// the prior pulls; empty: 0.
  WhitenedRule(const Whitened& settings, const Problem& problem, const Neighbors& who, Metric start,
               Metric plain = {}, std::vector<double> center = {});

  /// Says which coefficients [d] are a constant predictor of 1 (constant_feature); without it that
  /// is the intercept's, if there is one.
  void take_constant(Eigen::VectorXd theta) { constant_feature_ = std::move(theta); }

  /// Questions answered, of `questions()`: moments first, then gradients; with intervals the block,
  /// the information and of amounts, counts, weights and people the scores' second moments. Small
  /// budgets ask for lengths before all, and may ask the start in place of second moments.
  [[nodiscard]] std::uint64_t answered() const {
    return lengths_ + moments_ + starts_ + gradients_ + of_intervals_;
  }
  [[nodiscard]] std::uint64_t questions() const;
  [[nodiscard]] bool asks_lengths() const { return is_small_budget(settings_) && lengths_ == 0; }
  [[nodiscard]] bool asks_moments() const {
    return !asks_lengths() && moments_ < moment_questions() && !has_start();
  }
  /// Whether the next question is for a gradient at the start without a curvature, in place of the
  /// second moments: the first ones told too little for these to tell more.
  [[nodiscard]] bool asks_start() const { return has_start() && starts_ == 0; }
  /// Whether the next question is for the gradient beside the information, at omega().
  [[nodiscard]] bool asks_block() const {
    return settings_.information_share > 0 && of_intervals_ == 0 && !asks_moments() &&
           gradients_ == iterations();
  }
  /// Whether the next question is for the information, at block_omega().
  [[nodiscard]] bool asks_information() const { return of_intervals_ == 1; }
  /// Whether the next question is for the second moments of scores, at block_omega().
  [[nodiscard]] bool asks_scores() const { return settings_.score_share > 0 && of_intervals_ == 2; }
  /// Whether the moments asked for are the second ones.
  [[nodiscard]] bool second() const { return moments_ == 1; }
  /// t of the next gradient, from 1; T + 1 of the block.
  [[nodiscard]] std::uint64_t next_gradient() const { return gradients_ + 1; }
  /// k: coordinates of z, at most the d features of a row.
  [[nodiscard]] std::size_t coordinates() const { return static_cast<std::size_t>(metric_.cols()); }
  /// P [d x k]: z = P^T x.
  [[nodiscard]] const Metric& metric() const { return metric_; }
  /// R of the next moments, then C.
  [[nodiscard]] double clip() const { return clip_; }
  /// Where the next gradient is asked, in coordinates of z: [K x k] of the loss's K outputs.
  [[nodiscard]] const Eigen::VectorXd& omega() const { return omega_; }
  /// Where the block was asked [K x k], and the scale of the prior that was found before it.
  [[nodiscard]] const Eigen::VectorXd& block_omega() const { return block_omega_; }
  [[nodiscard]] double block_variance() const { return block_variance_; }
  /// Rows that sums are over: n, or what the first answer says of it.
  [[nodiscard]] double rows() const { return rows_; }
  /// Eigenvalues of z's second moments, a row [k].
  [[nodiscard]] const Eigen::VectorXd& lambda() const { return lambda_; }
  /// Shape of omega's prior variances [k].
  [[nodiscard]] const Eigen::VectorXd& prior() const { return prior_; }
  /// P omega [K x d]: where the next gradient is asked.
  [[nodiscard]] Eigen::VectorXd theta() const;

  /// Sum over rows of how far the logarithms of their lengths are from `lengths`' middle, with
  /// noise.
  void answer_lengths(double noisy, const RowLengths& lengths);
  /// Sum of clipped u u^T, u = P^T x, with noise of that deviation on its diagonal.
  void answer_moments(const Eigen::MatrixXd& noisy, double deviation);
  /// Sum of capped gradients in coordinates of z [K x k] and of curvatures, of K outputs of traces.
  void answer_gradient(const Eigen::VectorXd& noisy, double deviation, double noisy_curvature);
  /// A gradient at the start, without a curvature; omega stays there.
  void answer_start(const Eigen::VectorXd& noisy, double deviation);
  /// One more gradient [K x k], without a curvature.
  void answer_block(const Eigen::VectorXd& noisy, double deviation);
  /// That the information was answered: nothing that is asked or released here depends on it.
  void answer_information() { ++of_intervals_; }
  void answer_scores() { ++of_intervals_; }

 private:
  [[nodiscard]] std::uint64_t iterations() const {
    return static_cast<std::uint64_t>(settings_.iterations);
  }
  // The public center in coordinates of z, and the path's start.
  void begin_at_center();
  // Goes on as for a rare class where the answered curvature is surely that of one.
  void look_for_rare_class(double curvature);
  // Takes less for the least curvature where counts are surely rare beside the largest one.
  void look_for_rare_counts(const Eigen::VectorXd& gradient, double deviation, double curvature);
  // Adds a gradient, asked at omega, to the sums.
  void sum_up(const Eigen::VectorXd& omega, const Eigen::VectorXd& gradient, double deviation,
              double recent);
  // Whether the last steps were too long or too short, by a gradient that is not taken yet.
  void damp(const Eigen::VectorXd& gradient, double deviation);
  // Takes a gradient into account and moves omega.
  void add(const Eigen::VectorXd& noisy, double deviation, double recent);
  [[nodiscard]] std::uint64_t moment_questions() const {
    return settings_.second_moment_share > 0 ? 2 : 1;
  }

  // Whether the first moments, once answered, told little; for small budgets.
  [[nodiscard]] bool has_start() const {
    return is_small_budget(settings_) && moments_ == 1 && explained_ < small_.explained;
  }
  [[nodiscard]] Eigen::VectorXd centered(const Eigen::VectorXd& of_outputs) const;
  [[nodiscard]] double damped_curvature() const;  // q m
  [[nodiscard]] double noise() const;             // s2: variance of gradients' weighted mean

  // What is another where labels are amounts or counts (docs/theory/whitened.md).
  struct Constants {
    double least_curvature, most_curvature;  // of q
    double most_damped;                      // of q m
    double recency;                          // p: gradient t counts t^p times its precision
    double expected_variance;                // of z, a priori
    double most_variance;
    double directions = 1;  // of z that move what is predicted
    bool by_step = false;   // damping follows from the last step, and may go back
    double rare = 0;        // q below which one of two classes is rare; 0: none is
    double counts = 0;      // least_curvature of usual counts; 0: labels are none
  };
  static Constants constants_for(const Problem& problem);
  // Constants of a small budget, from N/d.
  struct SmallBudget {
    double constant = 1;   // gamma: of the constant beside a typical row without it, at least
    double explained = 0;  // what first moments must tell for second ones to be asked
    double lean = 0;       // b, of curvatures towards what noise may hide
    double power = 0;      // of coefficients' own variances in the prior
    static SmallBudget for_signal(double rows_a_feature);
  };

  Whitened settings_;
  Constants constants_;
  SmallBudget small_;
  bool counts_rows_;     // by an answer, as nobody knows before how many rows count
  std::size_t outputs_;  // K
  double rows_;          // n, or an estimate of what they count
  bool intercept_;
  double curvature_noise_;              // deviation of an answered curvature
  Eigen::VectorXd constant_feature_{};  // theta of a constant predictor of 1 [d]; empty: none is
  Eigen::VectorXd of_constant_{};       // that in coordinates of z [k]; empty: not looked for
  double labels_ = 0, labels_precision_ = 0;  // sum of counts over N times its precision
  std::uint64_t lengths_ = 0, moments_ = 0, starts_ = 0, gradients_ = 0, of_intervals_ = 0;
  Metric metric_;
  // metric_, but for curves whose rough directions are as long as others: what the prior is about.
  // Empty without curves: the same.
  Metric plain_;
  Metric columns_;       // of small budgets [d x k]: the first coordinates, in the rows' columns
  double constant_ = 0;  // that coordinate of every row in the first moments
  double explained_ = 0;
  double clip_;
  Eigen::VectorXd lambda_;  // eigenvalues of z's second moments
  Eigen::VectorXd curve_;   // what curvatures are taken to be like: lambda, or above
  Eigen::VectorXd prior_;   // v: shape of omega's prior variances
  Eigen::VectorXd omega_;   // [K x k]
  struct Answered {
    Eigen::VectorXd omega, gradient;
    double deviation;
  };
  std::vector<Answered> path_;                // all gradients
  Eigen::VectorXd sum_omega_, sum_gradient_;  // weighted by precision and recency
  double weight_ = 0, squares_ = 0;           // sums of t^p/sigma_t^2, t^2p/sigma_t^2
  double damping_ = 1;                        // m
  double curvature_ = 0;                      // q
  double variance_ = 0;                       // V
  std::vector<double> public_;                // theta0 [K x d]; empty: 0
  Eigen::VectorXd center_;                    // theta0 in coordinates of z [K x k]; empty: 0
  double part_ = 0;                           // of the center that the prior pulls to
  Eigen::VectorXd block_omega_;
  double block_variance_ = 0;
};

/// Coefficients with which every row of the schema has a score of 1 [d]: the intercept's, or those
/// of a category's levels of which every row has one. Empty if there are none.
Eigen::VectorXd constant_feature(const Schema& schema);

/// Where every run starts, from the schema alone: the contrasts of `contrast_basis`, numbers in the
/// units of `typical_features` and centered there by the constant column, if there is one [d x k].
WhitenedRule::Metric starting_metric(const Schema& schema);
/// As starting_metric, with all directions of curves of norm 1 and numbers in the unit of their
/// range, but for `typical` centers; empty if that is the same.
WhitenedRule::Metric plain_metric(const Schema& schema);

}  // namespace gibbsite
