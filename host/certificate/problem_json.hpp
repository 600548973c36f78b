#pragma once
// Between the "constants" of a certificate and the problem that they are of: every name once, for
// both ways. Internal to the certificate module.
#include <nlohmann/json.hpp>

#include "gibbsite/core/family_problem.hpp"
#include "gibbsite/core/network.hpp"
#include "gibbsite/core/problem.hpp"
#include "gibbsite/mechanism/bought_schema.hpp"
#include "gibbsite/mechanism/covariance.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/mechanism/histogram.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/mechanism/select.hpp"

namespace gibbsite {

/// A problem's fields, and what follows from them and the mechanism.
nlohmann::json problem_json(const Problem& problem, const Mechanism& mechanism);
nlohmann::json problem_json(const FamilyProblem& problem, const FamilyMechanism& mechanism);
nlohmann::json problem_json(const NetworkProblem& problem, const NetworkMechanism& mechanism);
nlohmann::json problem_json(const HistogramProblem& problem, const HistogramMechanism& mechanism);
nlohmann::json problem_json(const SchemaProblem& problem, const SchemaMechanism& mechanism);
nlohmann::json problem_json(const SelectProblem& problem, const SelectMechanism& mechanism);
nlohmann::json problem_json(const CovarianceProblem& problem, const CovarianceMechanism& mechanism);

/// Back from it. Throws BadInput naming the field that is missing, ill-typed or out of range.
Problem problem_from_json(const nlohmann::json& constants, const Mechanism& mechanism);
FamilyProblem problem_from_json(const nlohmann::json& constants, const FamilyMechanism& mechanism);
NetworkProblem problem_from_json(const nlohmann::json& constants,
                                 const NetworkMechanism& mechanism);
HistogramProblem problem_from_json(const nlohmann::json& constants,
                                   const HistogramMechanism& mechanism);
SchemaProblem problem_from_json(const nlohmann::json& constants, const SchemaMechanism& mechanism);
SelectProblem problem_from_json(const nlohmann::json& constants, const SelectMechanism& mechanism);
CovarianceProblem problem_from_json(const nlohmann::json& constants,
                                    const CovarianceMechanism& mechanism);

}  // namespace gibbsite
