#pragma once
// What the planners of single certificates share.
#include <string>

#include "gibbsite/schedule/plan.hpp"

namespace gibbsite {

/// beta of a calibration for exact Gibbs, `budget.draws` draws composing to (epsilon, delta): mu is
/// proportional to beta, so sqrt(draws) comes off beta.
double gibbs_beta_down(const ProblemConstants& constants, const Budget& budget,
                       Calibration calibration, double delta, double prior_precision);
/// Of all draws, from one draw's.
double draws_mu_up(double mu, const Budget& budget);

CertificatePlan blank(CertificateKind kind, const Budget& budget, const PlanOptions& options);
/// For passes and work of one draw.
void count_passes(CertificatePlan& out, double passes, double work, const Budget& budget,
                  const PlanOptions& options);
bool in_reach(const CertificatePlan& out);
std::string out_of_reach(const CertificatePlan& out);

/// A TV certificate: dalalyan, averaged, proximal or rejection.
CertificatePlan plan_tv(CertificateKind kind, const ProblemConstants& constants,
                        const Budget& budget, const PlanOptions& options);

}  // namespace gibbsite
