#include "gibbsite/mechanism/rdp.hpp"

#include <algorithm>
#include <limits>
#include <variant>
#include <vector>

#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/rdp.hpp"
#include "mechanism/conjugate_profile.hpp"

namespace gibbsite {
namespace {

// One draw of a family that has a delta, at the pairs of docs/theory/conjugate.md, Theorems 1 to
// 3: what makes them worst there holds for Renyi divergences (docs/theory/rdp.md).
double renyi_of_draw(const ConjugateDraw& s, const FamilyProblem& p, const Neighbors& who,
                     double order) {
  const Wide k = who.rows_per_person, r = Wide(s.weight) * Wide(p.records());
  std::vector<double> prior = p.prior_at(s.prior_scale);
  if (p.is_beta()) {
    const bool one = who.rows_per_person == 1;
    std::ranges::partial_sort(prior, prior.begin() + (p.levels > 2 ? 2 : 0));
    return beta_renyi(prior[0], prior[1], one ? s.weight : round_up(k * r),
                      one && p.levels <= 2 ? scanned_rows(p) : 1, order);
  }
  if (p.family == Family::rate) return gamma_renyi(prior[0], round_up(r * Wide(p.hi) * k), order);
  const auto [least, most] = p.values();
  const Wide n = p.rows, lo = least;
  return scale_renyi(round_up(Wide(prior[0]) + r * n),
                     round_up(k * r * (Wide(most) - lo) / (Wide(prior[1]) + r * n * lo)), order);
}

}  // namespace

double renyi_up(const FamilyMechanism& mechanism, const FamilyProblem& problem,
                const Neighbors& who, std::uint64_t draws, double order) {
  const auto* const conjugate = std::get_if<ConjugateDraw>(&mechanism);
  if (conjugate == nullptr || problem.family == Family::mean)
    return renyi_up(analyze(mechanism, problem, who, draws).guarantee, order);
  const double one = renyi_of_draw(*conjugate, problem, who, order);
  if (!(one < std::numeric_limits<double>::infinity())) return one;
  return round_up(Wide(draws) * Wide(one));
}

}  // namespace gibbsite
