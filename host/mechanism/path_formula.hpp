#pragma once
// The formula of docs/theory/path.md, once, for double (search) and Wide (the certificate).
#include <boost/math/special_functions/expm1.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <cmath>

namespace gibbsite {

/// 1 - c without cancellation, c = max(|1 - hm|, |1 - hM|). Needs 0 < h <= 2/M, 0 <= m <= M.
template <class Real>
Real one_minus_contraction(const Real& m, const Real& M, const Real& h) {
  const Real at_m = h * m <= 1 ? Real(h * m) : Real(2 - h * m);
  const Real at_M = h * M <= 1 ? Real(h * M) : Real(2 - h * M);
  return at_m < at_M ? at_m : at_M;
}

/// mu_T / S.
template <class Real>
Real path_mu_per_sensitivity(const Real& m, const Real& M, const Real& h, const Real& T) {
  using std::exp;
  using std::sqrt;
  const Real gap = one_minus_contraction(m, M, h);
  if (!(gap > 0)) return sqrt(Real(h * T / 2));  // c = 1: plain composition
  if (!(gap < 1)) return sqrt(Real(h / 2));      // c = 0: only the last step counts
  const Real log_c_T = T * boost::math::log1p(Real(-gap));
  return sqrt(Real(h / 2)) * sqrt(Real((2 - gap) / gap)) *
         sqrt(Real(-boost::math::expm1(log_c_T) / (1 + exp(log_c_T))));
}

}  // namespace gibbsite
