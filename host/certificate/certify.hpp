#pragma once
// Where certificates are made. Not a public header: the run of a plan alone uses it, and tests.
#include <optional>
#include <string>
#include <utility>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/certificate/model_file.hpp"

namespace gibbsite {

/// Public facts of a run that are not in the plan.
struct RunFacts {
  NoiseKind noise = NoiseKind::philox;
  std::string backend;
  bool refuses_cells = true;
  std::optional<BoughtApart> schema_bought{};
  std::optional<PublicTable> schema_public{};
};

/// What a plan chose, with its mechanism and guarantee; some plans have one offer alone.
const auto& chosen_of(const auto& plan) {
  if constexpr (requires { plan.candidate(); }) {
    return plan.candidate();
  } else {
    return plan;
  }
}

/// What follows from the settings that a plan chose. Throws BadInput on settings that no plan has.
Analysis analysis_of_plan(const auto& plan) {
  const auto& chosen = chosen_of(plan);
  return analyze(chosen.mechanism, plan.problem, chosen.guarantee.who, plan.budget.draws);
}

Claims claims_of(const Budget& budget, const Guarantee& guarantee, const RunFacts& facts);

/// Whether a problem counts people instead of rows.
bool counts_people(const auto& problem) {
  if constexpr (requires { problem.of_people(); }) {
    return problem.of_people();
  } else {
    return false;
  }
}

/// The certificate of a run of the plan's chosen offer by this program; `analysis` is that of the
/// plan.
template <class Kind>
CertificateOf<Kind> certify(const typename Kind::Plan& plan, const RunFacts& facts,
                            std::optional<Analysis> analysis = {},
                            const typename Kind::Extra& extra = {}) {
  const auto& chosen = chosen_of(plan);
  Claims claims = claims_of(plan.budget, chosen.guarantee, facts);
  claims.people = counts_people(plan.problem);
  return {std::move(claims), extra, plan.problem, chosen.mechanism, std::move(analysis)};
}

/// Makes Releases: from a run, or from a file.
struct ReleaseAccess {
  template <class Kind>
  static ReleaseOf<Kind> make(typename Kind::Model model, CertificateOf<Kind> certificate) {
    return {std::move(model), std::move(certificate)};
  }
};

}  // namespace gibbsite
