#pragma once
// Chains that move by leapfrog trajectories, or by rotations between kicks, all together: every
// pass over the rows serves all.
#include <Eigen/Core>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "gibbsite/posterior/posterior.hpp"
#include "machine/thread_pool.hpp"
#include "posterior/chart.hpp"
#include "posterior/rotation_tuning.hpp"
#include "posterior/target.hpp"

namespace gibbsite {

/// C chains on exp(-U) with momenta N(0, Sigma^-1), Sigma the chart's; noise of the options' key.
/// What it views must outlive it.
class Leapfrog {
 public:
  Leapfrog(const Potential& potential, const PosteriorOptions& options);

  /// To the start that was given, or center + 2 N(0, L L^T).
  void place(const Eigen::VectorXd& center, const Chart& spread);
  /// From `superchains` chains to all: the chains of a superchain go on from its state, each with
  /// noise of its own.
  void multiply();
  /// Transitions that chains need after that.
  [[nodiscard]] std::uint64_t forgetting() const;
  /// From here on in this chart; U and its gradient where the chains are. False: not finite.
  bool set_chart(Chart chart);
  /// From here on by rotations about `mode` (Transition::split), by the angle, in this chart. One
  /// transition of usual_period is a leapfrog trajectory of the step size still.
  void rotate_about(const Eigen::VectorXd& mode, double angle);
  /// Moves what rotations turn about to the mean of q - L^T grad U over the transitions between
  /// these calls: the posterior's mean, as E grad U = 0, and next to without variance.
  void find_center();
  void center_rotations();
  /// Rotations by angles of the tuning's from here on; and by the best of them, with as many
  /// trajectories as are needed. Only before the first draw that is kept.
  void tune_rotations();
  void take_tuned();
  /// From here on by leapfrog trajectories alone.
  void stop_rotating() {
    coordinates_.resize(0, 0);
    away_.resize(0);
  }
  [[nodiscard]] double angle() const { return angle_; }
  /// One trajectory or rotation of every chain, accepted or not.
  void transition();
  /// The largest power of 2 at which one leapfrog step is accepted with probability above 0.8, the
  /// mean over all chains (as in Hoffman and Gelman 2014, algorithm 4).
  [[nodiscard]] double searched_step_size();
  /// Throws Interrupted when the options' `stop` is set.
  void poll() const;

  void set_step_size(double step_size) { step_size_ = step_size; }
  [[nodiscard]] double step_size() const { return step_size_; }
  /// Largest deviation of the posterior, in units of the metric: how long trajectories are.
  void set_width(double width) { width_ = width; }
  /// Divergences and gradients are counted from here on.
  void forget_divergences() { diverged_.assign(diverged_.size(), 0); }
  void forget_gradients() { gradients_ = 0; }

  [[nodiscard]] Target& target() { return target_; }
  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] const Chart& chart() const { return chart_; }
  [[nodiscard]] const Rowwise& theta() const { return theta_; }            ///< [C x d]
  [[nodiscard]] const Rowwise& slope() const { return slope_; }            ///< [C x d] L^T grad U
  [[nodiscard]] const Eigen::VectorXd& value() const { return value_; }    ///< [C] U there
  [[nodiscard]] const Eigen::VectorXd& energy() const { return energy_; }  ///< [C]
  [[nodiscard]] const Eigen::VectorXd& acceptance() const { return acceptance_; }        ///< [C]
  [[nodiscard]] const std::vector<std::uint8_t>& diverged() const { return diverged_; }  ///< [C]
  [[nodiscard]] std::uint64_t gradients() const { return gradients_; }  ///< of one chain

 private:
  void resize(std::size_t chains, std::size_t parameters);
  void fill_momenta(std::uint64_t step);
  [[nodiscard]] double uniform(std::size_t chain, std::uint64_t step) const;
  [[nodiscard]] std::uint64_t transitions_in_all() const;
  [[nodiscard]] std::uint64_t leapfrogs(double jitter) const;
  [[nodiscard]] bool rotates() const { return coordinates_.size() > 0; }
  [[nodiscard]] bool is_rotation(std::uint64_t transition) const;
  void set_coordinates();
  void begin_proposal();
  void hold_lost();
  void end_proposal();
  void leapfrog(std::uint64_t steps);
  void rotate(double angle);

  const PosteriorOptions& options_;
  Target target_;
  Chart chart_{Eigen::VectorXd{}};
  double width_ = 1;
  double step_size_ = 0, angle_ = 0;
  std::uint64_t period_ = usual_period;  // of the trajectories among rotations
  std::optional<RotationTuning> tuning_;
  Rowwise theta_, slope_;                                   // [C x d] and L^T grad U there
  Eigen::VectorXd value_;                                   // [C] U there
  Rowwise proposal_, proposal_slope_, momentum_, scratch_;  // [C x d]
  Eigen::VectorXd mode_;                                    // [d] what rotations are about
  Eigen::RowVectorXd away_;  // [d] sum of q - L^T grad U, while what they are about is found
  double visits_ = 0;        // terms of it
  Rowwise coordinates_, proposal_coordinates_;  // [C x d] L^-1 (theta - mode); or empty
  ThreadPool pool_;
  Eigen::VectorXd proposal_value_, energy_, acceptance_;  // [C]
  std::vector<bool> lost_;                                // [C]
  std::vector<std::uint8_t> diverged_;                    // [C] since the last draw
  std::uint64_t done_ = 0;                                // transitions
  std::uint64_t gradients_ = 0;
  std::chrono::steady_clock::time_point reported_ = std::chrono::steady_clock::now();
};

}  // namespace gibbsite
