#pragma once
// How much one person's rows move the gradient while iterates stay in a ball (docs/theory/ball.md).
#include "gibbsite/core/problem.hpp"
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// s(rho) = sup ||sigma(-u.theta) u - sigma(-u'.theta) u'||
/// over ||theta|| <= rho, ||u|| <= 1 and ||u'|| <= 1 in any number of dimensions, sigma the
/// logistic function: 1 at rho = 0, 2 at infinity. Rounded up, by less than 0.1 %
/// (docs/theory/ball.md; mechanism/ball.cpp says how); a multiple of 2^-30, so that fused
/// operations do not change it. rho >= 0; throws BadInput otherwise.
double logistic_difference_up(double rho);

/// s(rho, Y) = sup ||(u.theta - y) u - (u'.theta - y') u'||
///           = 2 sqrt(1 - c^2) (rho c + Y),  c = 2 rho/(Y + sqrt(Y^2 + 8 rho^2))
/// over ||theta|| <= rho, ||u|| <= 1, ||u'|| <= 1, |y| <= Y and |y'| <= Y (docs/theory/ball.md,
/// "The squared loss"); attained from two dimensions on. Rounded up. rho >= 0, Y > 0; throws
/// BadInput otherwise.
double squared_difference_up(double rho, double label_bound);

/// sup ||grad sum l - grad sum l'|| of neighbors over ||theta|| <= ball, without beta, rounded up:
/// k R s(RB) (replace-one) or k R sigma(RB) (add/remove) for the logistic loss, R the whole row's
/// norm; k R s(RB, Y) or k R (RB + Y) for the squared one. Where no sharper form is proven, as for
/// `logistic-capped`, and with ball = 0, for none: what `Problem::sensitivity_up` has. Throws
/// BadInput for the squared loss without a ball.
double gradient_difference_up(const Problem& problem, const Neighbors& who, double ball);

/// Whether a ball makes gradient_difference_up smaller for this loss.
bool ball_sharpens(const Problem& problem);

}  // namespace gibbsite
