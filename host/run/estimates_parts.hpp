#pragma once
// What all estimates share: the features of a schema as the answered moments describe them, and an
// answered information without what is noise in it (docs/theory/intervals.md). Sees no row.
#include <Eigen/Core>
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "gibbsite/model/schema.hpp"
#include "run/estimates.hpp"

namespace gibbsite {

/// A level of a category as its rows lie in the metric.
struct LevelPart {
  Eigen::Index direction = 0;  ///< row u of FeatureParts::directions
  Eigen::Index feature = 0;    ///< of the schema [0, d)
  double share = 0;            ///< answered, of the rows
  double across = 0;           ///< of u in an average one of its rows z: z . Lambda^-1 u
  Eigen::VectorXd row = {};    ///< [k] z of an average one of its rows
  bool is_knot = false;        ///< of a curve, of which rows have parts
  Eigen::Index column = 0;     ///< the first feature of its column
};

/// The features of a schema [d], in the metric [d x k] and by their answered moments.
struct FeatureParts {
  Eigen::MatrixXd metric;  ///< P, the constant's coefficient taken at the middle of all ranges
  /// [J x k] numbers and levels with u . Lambda^-1 u = 1, then the k axes.
  Eigen::MatrixXd directions;
  Eigen::VectorXd row_mean;    ///< [k] of z; 0 where nothing says what it is
  Eigen::VectorXd means;       ///< [d] of levels their shares
  Eigen::VectorXd deviations;  ///< [d]
  Eigen::VectorXd precision;   ///< [d] of the prior of two classes, of deviation 2.5
  std::vector<LevelPart> levels;
  bool usable = false;                     ///< all answers are finite and sound
  std::vector<Eigen::Index> numbers = {};  ///< features of the first rows of `directions`
};
/// Throws BadInput where the shapes do not fit each other or the schema.
FeatureParts feature_parts(const AnsweredScores& answers, const Schema& schema);

/// The noise of answered second moments lambda [k] in the metric, in deviations: w_a on the
/// diagonal, sqrt(w_a w_b / 2) beside it.
Eigen::VectorXd noise_of_moments(const Eigen::VectorXd& lambda);

/// z [k] of an average row of a level: `alone`, which it is if no other column goes with the level,
/// moved towards what the answered moments lambda [k] say, as far as their noise lets it. u [k] is
/// the level's direction, u . Lambda^-1 u = 1, and `mean` [k] that of all rows.
Eigen::VectorXd average_row(const Eigen::VectorXd& alone, const Eigen::VectorXd& u,
                            const Eigen::VectorXd& mean, const Eigen::VectorXd& lambda);

/// Prior deviations of the corrections delta_j [J] along `FeatureParts::directions`: a half for a
/// number or a level, half of lambda for an axis. A public constant, found by simulation.
Eigen::VectorXd correction_deviations(Eigen::Index directions, const Eigen::VectorXd& lambda);

/// What a public model of the rows expects of a matrix [k x k]. It may have noise of its own: with
/// m = `noise` [k] a variance of m_a m_b/2 beside the diagonal and m_a^2 on it. Empty: none.
struct ExpectedMatrix {
  Eigen::MatrixXd value;
  Eigen::VectorXd noise = {};
};

/// What an answered matrix, with noise of `deviation` on the diagonal and over sqrt(2) beside it,
/// adds to what is expected: scale sum_j delta_j u_j u_j^T + rest. u_j are the rows of `directions`
/// [J x k]; delta_j follow by their prior deviations [J], the rest is shrunk element by element by
/// its own size, and by the noise of what is expected (docs/theory/intervals.md).
class ShrunkInformation {
 public:
  ShrunkInformation(const Eigen::MatrixXd& answered, double deviation,
                    const ExpectedMatrix& expected, double scale, Eigen::MatrixXd directions,
                    const Eigen::VectorXd& deviations);
  /// Covariance of (error of the matrix) v [k x k], where E v v^T = `vv`.
  [[nodiscard]] Eigen::MatrixXd error(const Eigen::MatrixXd& vv) const;
  /// [k x k]
  [[nodiscard]] const Eigen::MatrixXd& correction() const { return correction_; }
  /// [J x k]
  [[nodiscard]] const Eigen::MatrixXd& directions() const { return directions_; }

 private:
  double deviation_, scale_;
  Eigen::MatrixXd directions_;
  Eigen::MatrixXd spread_;  // posterior covariance of delta
  Eigen::MatrixXd correction_;
  double diagonal_kept_ = 0, beside_kept_ = 0;
  Eigen::MatrixXd further_kept_;  // of each element, by the noise of what was expected; or empty
};

/// The columns of a schema as their features lie in the metric.
struct ColumnDirections {
  struct Column {
    Eigen::Index first = 0, size = 1;  ///< its features; more than one of a category
  };
  const Eigen::MatrixXd& inverse;  ///< [k x d] pseudo-inverse of the metric: x = inverse^T z
  const Eigen::VectorXd& one;      ///< the constant is one . z [k]; empty where no feature is one
  std::vector<Column> columns;
};

/// What was answered of directions of z: second moments diag(lambda) and the information, with
/// noise of `deviation` on the diagonal; `unit`: the information that a second moment of 1 is
/// expected to have.
struct AnsweredDirections {
  const Eigen::VectorXd& lambda;       ///< [k]
  const Eigen::MatrixXd& information;  ///< [k x k]
  double deviation = 0, unit = 0;
};

/// Covariance T [k x k] of what no answer tells of omega: directions along which a feature is what
/// another column's features say, as far as the noise of the answers lets one see. Along such a
/// direction T is the prior's variance, less where the answers leave a doubt; 0 elsewhere. `prior`
/// is its precision [k x k]. Rows that are all alike along a direction say nothing of it, but
/// answered moments and what makes them positive have some variance in every direction
/// (docs/theory/intervals.md).
Eigen::MatrixXd unseparated(const ColumnDirections& features, const AnsweredDirections& answers,
                            const Eigen::MatrixXd& prior);

/// Likewise of numbers [J] of these directions [J x k] (FeatureParts) and deviations, parts of
/// their ranges: those that fill a small part of the range, of which the answered moments tell no
/// deviation from noise nor the information an effect. Normal rows would be taken to spread by the
/// noise there, and their scores to saturate long before the rows' do.
Eigen::MatrixXd unresolved(const Eigen::MatrixXd& directions, const Eigen::VectorXd& deviations,
                           const AnsweredDirections& answers, const Eigen::MatrixXd& prior);

/// How much of Newton's steps is taken: as the covariance of U moves with omega they may go to and
/// fro, and then they are relaxed.
class Relaxation {
 public:
  /// What is taken of the next step, which has that length in posterior deviations.
  double part_of(double length) {
    if (length > 0.9 * before_) {
      part_ = std::max(part_ / 2, least);
    } else if (length < 0.5 * before_ && steps_ < growing_steps) {
      part_ = std::min(2 * part_, 1.0);
    }
    before_ = length;
    ++steps_;
    return part_;
  }

 private:
  static constexpr double least = 1.0 / 16;
  static constexpr int growing_steps = 8;  // beyond, growing and shrinking may take turns for ever
  double part_ = 1, before_ = std::numeric_limits<double>::infinity();
  int steps_ = 0;
};

/// `part` of a step of length `now`, halved until the next one by the same derivative,
/// `left` of it, is sufficiently shorter (Deuflhard's natural monotonicity test): derivatives are
/// held positive, so a step need not go down any cost. None is where no part helps.
template <class Left>
std::optional<double> helpful_part(double part, double now, const Left& left) {
  constexpr double least_step = 1.0 / 1024;
  while (part > least_step && !(left(part) <= (1 - part / 4) * now)) part /= 2;
  if (part <= least_step) return {};
  return part;
}

/// To ten significant digits, so that a file holds no more and means the same.
double rounded_estimate(double value);
/// Inverse of a symmetric positive definite matrix; where rounding spoils that, of the nearest that
/// is.
Eigen::MatrixXd inverse_of_symmetric(const Eigen::MatrixXd& matrix);

}  // namespace gibbsite
