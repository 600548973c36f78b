#pragma once
// What a release can be of. One struct names a kind's types, and what readers say of it:
// certificate, file, `verify` and the run of a plan are generic over it.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "gibbsite/core/message.hpp"
#include "gibbsite/mechanism/bought_schema.hpp"
#include "gibbsite/mechanism/covariance.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/mechanism/histogram.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/mechanism/select.hpp"

namespace gibbsite {

struct BoughtSchema;
struct CovarianceModel;
struct EvaluationModel;
struct FamilyModel;
struct LinearModel;
struct NetworkModel;
struct SelectionModel;

/// What most kinds have.
struct KindDefaults {
  /// What a certificate says beyond its problem and its mechanism. Read and written by the kind's
  /// `extra_from_json` and `put_extra`, and taken from the model by `extra_of`.
  struct Extra {};
  static Extra extra_of(const auto& /*model*/) { return {}; }
  static Extra extra_from_json(const nlohmann::json& /*constants*/) { return {}; }
  static void put_extra(const Extra& /*extra*/, nlohmann::json& /*constants*/) {}

  static constexpr std::string_view command = "fit";   ///< what a ledger calls its run
  static constexpr std::string_view made = "a model";  ///< what a run makes
  /// What a reader that wants this kind says of a file of another; empty: what to do with that one.
  static Message wanted() { return {}; }
  static constexpr int indent = 2;  ///< of its file
};

/// The questions that a model's schema was bought with.
struct BoughtTerms {
  std::uint64_t columns = 0;
  SchemaQuestions questions;
  std::uint64_t asked = newest_questions;  ///< SchemaProblem::questions
};

/// What a model has whose schema one budget may have paid for with it.
struct BoughtDefaults : KindDefaults {
  struct Extra {
    std::optional<BoughtTerms> bought{};  ///< one budget paid for the schema and the model
  };
  static Extra extra_from_json(const nlohmann::json& constants);
  static void put_extra(const Extra& extra, nlohmann::json& constants);
};

/// A model of rows by coefficients.
struct LinearKind : BoughtDefaults {
  using Problem = gibbsite::Problem;
  using Mechanism = gibbsite::Mechanism;
  using Plan = gibbsite::Plan;
  using Model = LinearModel;
  static Extra extra_of(const LinearModel& model);
  /// The field of a certificate's constants that tells the kind. A kind without one is what no
  /// other is.
  static constexpr std::string_view tag = "";
  static constexpr std::string_view holds = "a model of rows";  ///< what its file holds
  static constexpr std::string_view use = "predict with it instead";
  static constexpr std::string_view plan_maker = "plan()";
  /// Back from a file's "model". Throws BadInput "SOURCE: ..." on a missing or ill-typed field.
  static LinearModel model_from_json(const nlohmann::json& model, const std::string& source);
};

/// Draws of the parameters of a conjugate family.
struct ConjugateKind : BoughtDefaults {
  using Problem = FamilyProblem;
  using Mechanism = FamilyMechanism;
  using Plan = FamilyPlan;
  using Model = FamilyModel;
  static Extra extra_of(const FamilyModel& model);
  static constexpr std::string_view tag = "family";
  static constexpr std::string_view holds = "draws of a family";
  static constexpr std::string_view use = "query it for an expectation, a probability or utilities";
  static constexpr std::string_view plan_maker = "plan_family()";
  static FamilyModel model_from_json(const nlohmann::json& model, const std::string& source);
};

/// A Bayesian network's tables, and its structure where that was chosen from the table.
struct GraphicalKind : BoughtDefaults {
  using Problem = NetworkProblem;
  using Mechanism = NetworkMechanism;
  using Plan = NetworkPlan;
  using Model = NetworkModel;
  static Extra extra_of(const NetworkModel& model);
  static constexpr std::string_view tag = "network";
  static constexpr std::string_view holds = "a network";
  static constexpr std::string_view use = "query it as a network, or draw people from it";
  static constexpr std::string_view plan_maker = "plan_network()";
  static constexpr int indent = 1;  // thousands of cells: a line for each would be most of the file
  static NetworkModel model_from_json(const nlohmann::json& model, const std::string& source);
};

/// A model's evaluation on held-out rows.
struct EvaluationKind : KindDefaults {
  using Problem = HistogramProblem;
  using Mechanism = HistogramMechanism;
  using Plan = HistogramPlan;
  using Model = EvaluationModel;
  struct Extra {
    bool of_void = false;  ///< the model evaluated carries no guarantee
  };
  static Extra extra_of(const EvaluationModel& model);
  static Extra extra_from_json(const nlohmann::json& constants);
  static void put_extra(const Extra& extra, nlohmann::json& constants);
  static constexpr std::string_view command = "evaluate";
  static constexpr std::string_view made = "an evaluation";
  static Message wanted() {
    return Message("give the file of an evaluation released with ") + Field{"epsilon"};
  }
  static constexpr std::string_view tag = "histogram";
  static constexpr std::string_view holds = "the evaluation of a model";
  static constexpr std::string_view use = "give the model's file";
  static constexpr std::string_view plan_maker = "plan_histogram()";
  static constexpr int indent = 1;
  static EvaluationModel model_from_json(const nlohmann::json& model, const std::string& source);
};

/// A schema that was bought: the noisy answers that it follows from.
struct SchemaKind : KindDefaults {
  using Problem = SchemaProblem;
  using Mechanism = SchemaMechanism;
  using Plan = SchemaPlan;
  using Model = BoughtSchema;
  static constexpr std::string_view command = "schema";
  static constexpr std::string_view made = "a schema";
  static constexpr std::string_view tag = "asked_columns";
  static constexpr std::string_view holds = "a bought schema";
  static constexpr std::string_view use = "fit a model with the schema that was written beside it";
  static constexpr std::string_view plan_maker = "plan_schema()";
  static constexpr int indent = 1;
  static BoughtSchema model_from_json(const nlohmann::json& model, const std::string& source);
};

/// Noisy moments of several columns.
struct CovarianceKind : KindDefaults {
  using Problem = CovarianceProblem;
  using Mechanism = CovarianceMechanism;
  using Plan = CovariancePlan;
  using Model = CovarianceModel;
  static constexpr std::string_view tag = "covariance_columns";
  static constexpr std::string_view holds = "means and a covariance";
  static constexpr std::string_view use = "print it with coefficients";
  static constexpr std::string_view plan_maker = "plan_covariance()";
  static constexpr int indent = 1;
  static CovarianceModel model_from_json(const nlohmann::json& model, const std::string& source);
};

/// A choice among named candidates.
struct SelectKind : KindDefaults {
  using Problem = SelectProblem;
  using Mechanism = SelectMechanism;
  using Plan = SelectPlan;
  using Model = SelectionModel;
  static constexpr std::string_view command = "select";
  static constexpr std::string_view made = "a choice";
  static constexpr std::string_view tag = "candidates";
  static constexpr std::string_view holds = "a choice among candidates";
  static constexpr std::string_view use = "verify it; model.chosen in it is the choice";
  static constexpr std::string_view plan_maker = "plan_select()";
  static constexpr int indent = 1;
  static SelectionModel model_from_json(const nlohmann::json& model, const std::string& source);
};

}  // namespace gibbsite
