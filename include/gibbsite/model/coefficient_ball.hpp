#pragma once
// A lattice of coefficients in a ball: the candidates of a pure draw (docs/theory/select.md).
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Coefficients of the logistic loss: the points (B/sqrt(q)) z of the ball ||theta|| <= B, z [d]
/// whole numbers with ||z||^2 <= q.
struct CoefficientBall {
  Schema schema;              ///< of two classes; theta is of its features
  double radius = 0;          ///< B
  std::uint64_t squares = 0;  ///< q

  /// How many points there are; `most` + 1 stands for any larger number, at little work.
  [[nodiscard]] std::uint64_t points(std::uint64_t most) const;
  /// The points, each as its z, in ascending order [points][d].
  [[nodiscard]] std::vector<std::vector<std::int64_t>> lattice() const;
  /// theta [d] of a point z.
  [[nodiscard]] std::vector<double> coefficients(const std::vector<std::int64_t>& z) const;
  /// z in words, "-1 0 2": names of the candidates.
  static std::string name_of(const std::vector<std::int64_t>& z);
  /// The range (lo, hi) of a row's log-likelihood -log(1 + exp(-y x.theta)) in the ball, rounded to
  /// doubles: |x.theta| <= B R, R the norm of a whole row, and hi - lo = B R.
  [[nodiscard]] std::pair<double, double> log_likelihoods() const;
  /// Throws BadInput on a ball or a schema that has no such draw.
  void validate() const;
};

inline constexpr std::size_t most_ball_features = 100;

/// The finest lattice of at most `most` points in the ball of that radius, with q the largest
/// ||z||^2 among them. Throws BadInput where no point but 0 fits, and as validate.
CoefficientBall coefficient_ball(const Schema& schema, double radius, std::uint64_t most);

}  // namespace gibbsite
