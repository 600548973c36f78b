#pragma once
// Proximal sampler and exact rejection (docs/theory/proximal.md): a TV target gamma at a
// cost of log(1/gamma).
#include <cstdint>
#include <functional>

#include "gibbsite/core/problem.hpp"

namespace gibbsite {

/// KL(N(theta_hat, I/M) | pi) <= (d/2) log(M/m) + G^2/(2m) with ||grad U(theta_hat)|| <= G, rounded
/// up.
double proximal_kl_start_up(double features, double strong_convexity, double smoothness,
                            double gradient_norm);

/// k = ceil(log(KL_0/(2 g^2)) / (2 log(1 + eta m))), at least 1: TV <= g after k iterations.
double proximal_iterations_up(double kl_start, double step_size, double strong_convexity,
                              double tv);

/// sqrt(KL_k/2), KL_k = KL_0/(1 + eta m)^(2k), rounded up.
double proximal_tv_up(double kl_start, double step_size, double strong_convexity,
                      double iterations);

/// Probability that a proposal N(mean, s I) is accepted with probability exp(-beta D(x, w)), at
/// least (1 + s A/d)^(-d/2) exp(-A ||mean - w||^2/2) >= exp(-A (s + ||mean - w||^2)/2), rounded
/// down. `trace` = A >= tr(beta phi X^T X), `variance` = s, `offset` >= ||mean - w||.
double rejection_acceptance_down(double features, double trace, double variance, double offset);

/// Passes with B proposals until one is accepted, expected: 1/(1 - (1 - p)^B).
double expected_rounds(double acceptance, double proposals);

/// How a run of the proximal sampler is laid out. Public numbers only.
struct ProximalSchedule {
  double step_size = 0;   ///< eta; 0 for exact rejection, which has no y
  double iterations = 1;  ///< k
  double proposals = 1;   ///< B, evaluated in one pass over the data
  double rounds = 1;      ///< N: most passes with proposals in one iteration
  double residual = 0;    ///< ||grad U(w) + (w - y)/eta|| <= this before anything is proposed
  double gradients = 0;   ///< padded: gradient passes of every iteration; 0: as many as it takes
};

/// What a proposal's law is made of. eta = 0: exact rejection, s = 1/m, offset G/m.
struct ProposalBounds {
  double variance = 0;         ///< s = 1/(m + 1/eta), of a coordinate
  double offset = 0;           ///< bound on ||mean - w|| = s ||residual||
  double acceptance_down = 0;  ///< of one proposal, whatever y
};
/// `traces` of the loss (`Problem::traces`). Of several outputs the acceptance is at least
/// max((1 + s a A/d)^(-d/2), exp(-s t A/2)) exp(-A offset^2/2), A = M - m, a and t the traces of
/// the majorant and of the Hessian (docs/theory/proximal.md, "How often it is accepted").
ProposalBounds proposal_bounds(double features, double strong_convexity, double smoothness,
                               double step_size, double residual, const HessianTraces& traces = {});

/// Gradient passes that bring the proximal problem from ||grad|| <= `start` to `residual`, whatever
/// the data:
///   1 + ceil(log(start (M + 1/eta)/(m + 1/eta)/residual)/log(1/q)),   q = (M - m)/(M + m + 2/eta)
/// of gradient descent of step 2/(m + M + 2/eta) (Nesterov 2018, Thm 2.1.15).
double proximal_gradients_up(double strong_convexity, double smoothness, double step_size,
                             double start, double residual);

/// Expected passes over the data of gradients (two of an iteration are planned for) and of
/// proposals.
struct ProximalPasses {
  double gradients = 0, proposals = 0;
};
ProximalPasses proximal_passes(const ProximalSchedule& schedule, double acceptance);

/// How many proposals' arithmetic costs as much as reading X [n x d] once: 4 from 50 features on, 2
/// below, as measured (docs/reference/performance.md, "Certified draws"). A guess at it costs time,
/// nothing else.
double proposals_per_read(double features);
/// What a pass costs that evaluates B proposals, in passes of one: 1 + (B - 1)/per_read.
double batch_cost(double proposals, double per_read);

/// A draw that a schedule is laid out for: public numbers of U, and the TV target.
struct ProximalTarget {
  double features = 1;                          ///< d
  double strong_convexity = 0, smoothness = 0;  ///< m, M
  double tv = 0;
  double gradient_norm = 0;  ///< ||grad U|| where the run starts is at most this
  HessianTraces traces{};    ///< of the loss
};

/// eta and B that minimize the cost for this TV target, and what follows from them. `padded`: every
/// iteration takes the same public number of passes, and ||grad U|| <= `gradient_norm` holds at
/// theta0 for every data set instead of at a minimizer. A tenth of a percent of the target
/// goes to the cap on trials. Only steps that `admits` are taken, where one is (there
/// `proximal_search_ends` belongs); without it, any.
ProximalSchedule proximal_schedule(const ProximalTarget& target, bool padded, double per_read = 4,
                                   const std::function<bool(const ProximalSchedule&)>& admits = {});

/// B and N of exact rejection, from a minimizer with ||grad U|| <= gradient_norm.
ProximalSchedule rejection_schedule(const ProximalTarget& target, double per_read = 4);

/// Whether the search for the center w of every iteration ends for every data set, in double
/// arithmetic: gradient descent shrinks ||grad|| by q = (M - m)/(M + m + 2/eta) a step, down to a
/// floor that rounding sets, which must leave half of `residual` (docs/theory/proximal.md, "Finding
/// w"). Padded: within the schedule's number of passes. True for exact rejection, which has no
/// search.
bool proximal_search_ends(const Problem& constants, double beta, double strong_convexity,
                          double smoothness, const ProximalSchedule& schedule,
                          double gradient_norm);

/// The errors of a schedule as it is run, rounded up (docs/theory/proximal.md, "Rounding").
struct ProximalError {
  double map_error = 0;  ///< ||computed - exact|| of one iteration: noise added to y, and proposals
  double iterate_norm = 0;  ///< bound on ||theta - theta0|| of every iterate
  double tv_mixing = 0;     ///< the start is not forgotten; 0 for exact rejection
  double tv_cap = 0;        ///< some iteration accepts none of its N B proposals
  double tv_rounding = 0;
  double total = 0;
  double acceptance = 0;  ///< of a proposal as it is decided, at least; 0 where nothing bounds it
  double offset = 0;      ///< bound on ||mean - w||
};
ProximalError proximal_error(const Problem& constants, double beta, double strong_convexity,
                             double smoothness, const ProximalSchedule& schedule,
                             double gradient_norm);

}  // namespace gibbsite
