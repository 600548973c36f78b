#pragma once
// What the planners of single certificates share.
#include <functional>
#include <string>

#include "gibbsite/mechanism/plan.hpp"

namespace gibbsite {

/// beta of a calibration for exact Gibbs, `budget.draws` draws composing to (epsilon, delta): mu is
/// proportional to beta, so sqrt(draws) comes off beta.
double gibbs_beta_down(const Problem& constants, const Budget& budget, Calibration calibration,
                       double delta, double prior_precision);
/// Of all draws, from one draw's.
double draws_mu_up(double mu, const Budget& budget);

/// beta n L: ||grad U(theta0)|| whatever the data.
double start_gradient_up(const Problem& constants, double beta);

/// Plans with what computed noise leaves of the budget; `make(left)` plans with a budget. Where it
/// leaves nothing, or does not settle, the certificate says so and is not feasible.
CertificatePlan paid_for_noise(const Problem& constants, const Budget& budget,
                               const std::function<CertificatePlan(const Budget&)>& make);

CertificatePlan blank(CertificateKind kind, const Budget& budget, const PlanOptions& options);
/// For passes and work of one draw.
void count_passes(CertificatePlan& out, double passes, double work, const Budget& budget,
                  const PlanOptions& options);
bool in_reach(const CertificatePlan& out);
std::string out_of_reach(const CertificatePlan& out);

/// A TV certificate: dalalyan, averaged, proximal or rejection.
CertificatePlan plan_tv(CertificateKind kind, const Problem& constants, const Budget& budget,
                        const PlanOptions& options);

}  // namespace gibbsite
