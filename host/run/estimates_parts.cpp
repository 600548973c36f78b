#include "run/estimates_parts.hpp"

#include <utility>

namespace gibbsite {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

double kept_part(double mean_square, double noise) {
  return mean_square > noise ? 1 - noise / mean_square : 0;
}

}  // namespace

VectorXd correction_deviations(Index directions, const VectorXd& lambda) {
  constexpr double prior_correction = 0.5;
  VectorXd out(directions);
  out << VectorXd::Constant(directions - lambda.size(), prior_correction),
      prior_correction * lambda;
  return out;
}

ShrunkInformation::ShrunkInformation(const MatrixXd& answered, double deviation,
                                     const MatrixXd& expected, double scale, MatrixXd directions,
                                     const VectorXd& deviations)
    : deviation_(deviation), scale_(scale), directions_(std::move(directions)) {
  const double s2 = deviation * deviation;
  const MatrixXd& u = directions_;
  const Index k = u.cols();
  MatrixXd rest = answered - expected;
  spread_ = inverse_of_symmetric(MatrixXd((u * u.transpose()).cwiseAbs2() * (scale * scale / s2)) +
                                 MatrixXd(deviations.cwiseAbs2().cwiseInverse().asDiagonal()));
  const VectorXd seen = (u * rest).cwiseProduct(u).rowwise().sum() * (scale / s2);
  const VectorXd delta = spread_ * seen;
  correction_ = scale * u.transpose() * delta.asDiagonal() * u;
  rest -= correction_;
  const VectorXd diagonal = rest.diagonal();
  diagonal_kept_ = kept_part(diagonal.squaredNorm() / static_cast<double>(k), s2);
  if (k > 1) {
    const double beside = rest.squaredNorm() - diagonal.squaredNorm();
    beside_kept_ = kept_part(beside / static_cast<double>(k * (k - 1)), 0.5 * s2);
  }
  correction_ += beside_kept_ * rest;
  correction_.diagonal() += (diagonal_kept_ - beside_kept_) * diagonal;
}

MatrixXd ShrunkInformation::error(const MatrixXd& vv) const {
  const double s2 = deviation_ * deviation_;
  const VectorXd q = vv.diagonal();
  MatrixXd out = vv;
  out.diagonal() += VectorXd::Constant(q.size(), q.sum()) - 2 * q;
  out *= 0.5 * beside_kept_ * s2;
  out.diagonal() += diagonal_kept_ * s2 * q;
  const MatrixXd& u = directions_;
  const MatrixXd between = spread_.cwiseProduct(u * vv * u.transpose());
  return out + scale_ * scale_ * (u.transpose() * between * u);
}

}  // namespace gibbsite
