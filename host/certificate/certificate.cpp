#include "gibbsite/certificate/certificate.hpp"

#include <fmt/format.h>

#include <boost/math/special_functions/expm1.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "certificate/certify.hpp"
#include "certificate/model_json.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/version.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

// A whole number reads as one up to 2^53; beyond, a double does not count in ones.
json whole(double value) {
  return value <= 0x1p53 ? json(static_cast<std::uint64_t>(value)) : json(value);
}

json constants_json(const Problem& c) {
  json out = {{"rows", c.rows},           {"features", c.features},
              {"row_norm", c.row_norm},   {"intercept", c.intercept},
              {"loss", c.loss},           {"max_abs_residual", c.max_abs_residual},
              {"curvature", c.curvature}, {"lipschitz", c.lipschitz_up()}};
  if (c.center_norm != 0) out["center_norm"] = c.center_norm;
  return out;
}

// What a reader has to believe, because no program can check it.
json assumptions_json(const Plan& plan, const RunFacts& facts) {
  const std::uint64_t k = plan.budget.rows_per_person;
  json out = json::array();
  out.push_back(
      fmt::format("one person has at most {} {} of the table", k, k == 1 ? "row" : "rows"));
  if (plan.budget.adjacency == Adjacency::replace_one) {
    out.push_back(
        "neighbouring tables have the same number of rows, which is public; one person's rows are "
        "replaced by any others");
  } else {
    out.push_back(
        "neighbouring tables differ by the presence of one person; constants.rows is a cap that "
        "was chosen without looking at the table");
    out.push_back(
        "every table that comes into question has from 1 to constants.rows rows: any other is "
        "refused, "
        "which tells that it is one");
  }
  out.push_back(
      "the schema (columns, ranges, levels, classes, row norm), the budget and every option were "
      "chosen without looking at the table");
  if (facts.refuses_cells) {
    out.push_back(
        "every table that comes into question can be read under the schema: a cell or a label that "
        "cannot is refused, so that whether there is a model tells about it (model.preprocessing."
        "invalid = \"middle\" refuses none)");
  }
  out.push_back(
      "the rows of different people are independent: nobody's data decides whether or how another "
      "person's row is in the table");
  out.push_back(
      "nothing else about the run is released: no screen output, diagnostics, checkpoint or run "
      "time");
  out.push_back(
      "every other release about the same people composes with this one and is accounted for "
      "elsewhere");
  if (facts.noise == NoiseKind::chacha20) {
    out.push_back(
        "the noise key came from the operating system's generator, was never disclosed, and "
        "ChaCha20 cannot be told from uniform bits");
  } else {
    out.push_back("none of the above helps: the noise follows from a seed that somebody knows");
  }
  out.push_back(
      "the program computed what its documentation says, in IEEE 754 double precision rounding to "
      "nearest; rounding is paid for in numerics.map_error, the finite range and grid of the "
      "normals "
      "in numerics.noise_tv and numerics.release_epsilon");
  const CertificatePlan& c = plan.certificate();
  if (c.kind != CertificateKind::path && !(c.gradients > 0)) {
    out.push_back(
        "the run started from a minimiser whose gradient norm is at most "
        "mechanism.start_gradient_norm");
  }
  return out;
}

std::string theorem_page(CertificateKind kind) {
  const bool rejection = kind == CertificateKind::rejection;  // one step of the proximal sampler
  return fmt::format("docs/{}.md", to_string(rejection ? CertificateKind::proximal : kind));
}

// What the best guess, right that often (in %), makes of one person's privacy.
std::string_view grade(double percent) {
  if (percent <= 60) return "learns little about any one person";
  if (percent <= 75) return "learns something about a person, but cannot be sure of it";
  if (percent <= 90) return "may learn much about a person (this protection is weak)";
  if (percent <= 99) return "may be all but sure about a person (this hardly protects anybody)";
  return "may be certain about a person (this protects nobody)";
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

}  // namespace

json certificate_json(const Plan& plan, const RunFacts& facts) {
  const CertificatePlan& c = plan.certificate();
  const bool is_void = facts.noise != NoiseKind::chacha20;
  const auto claim = [&](double value) { return is_void ? json(nullptr) : json(value); };

  json guarantee = {{"epsilon", claim(c.epsilon)},
                    {"delta", claim(c.delta)},
                    {"gdp_mu", claim(c.mu)},
                    {"adjacency", to_string(plan.budget.adjacency)},
                    {"rows_per_person", plan.budget.rows_per_person}};
  if (is_void) {
    guarantee["void"] = true;
    guarantee["reason"] =
        "the noise follows from a user's seed, so whoever knows or guesses it can remove it; fit "
        "without --seed for a guarantee";
  }
  json mechanism = {{"certificate", to_string(c.kind)},
                    {"calibration", to_string(c.calibration)},
                    {"beta", c.beta},
                    {"prior_precision", c.prior_precision},
                    {"step_size", c.step_size},
                    {"iterations", whole(c.iterations)},
                    {"tv_gap", c.tv_gap},
                    {"draws", plan.budget.draws}};
  if (c.start_gradient_norm != 0) mechanism["start_gradient_norm"] = c.start_gradient_norm;
  if (c.kind == CertificateKind::proximal || c.kind == CertificateKind::rejection) {
    mechanism["proposals"] = whole(c.proposals);
    mechanism["rounds"] = whole(c.rounds);
    mechanism["residual"] = c.residual;
  }
  if (c.gradients > 0) mechanism["gradients"] = whole(c.gradients);
  json constants = constants_json(plan.constants);
  constants["sensitivity"] = c.sensitivity;
  constants["strong_convexity"] = c.prior_precision;
  constants["smoothness"] = c.smoothness;
  return {{"guarantee", guarantee},
          {"mechanism", mechanism},
          {"constants", constants},
          {"numerics",
           {{"arithmetic", "double"},
            {"map_error", c.map_error},
            {"noise", to_string(facts.noise)},
            {"noise_tv", c.noise_tv},
            {"release_epsilon", c.release_epsilon},
            {"release_grid", release_grid(c)}}},
          {"assumptions", assumptions_json(plan, facts)},
          {"theorem", theorem_page(c.kind)},
          {"software", {{"version", GIBBSITE_VERSION}, {"backend", facts.backend}}}};
}

json plan_json(const Plan& plan) {
  json certificates = json::array();
  for (const CertificatePlan& c : plan.certificates) {
    certificates.push_back({{"certificate", to_string(c.kind)},
                            {"calibration", to_string(c.calibration)},
                            {"beta", c.beta},
                            {"prior_precision", c.prior_precision},
                            {"step_size", c.step_size},
                            {"iterations", whole(c.iterations)},
                            {"gdp_mu", c.mu},
                            {"tv_gap", c.tv_gap},
                            {"epsilon", c.epsilon},
                            {"delta", c.delta},
                            {"passes", whole(c.passes)},
                            {"seconds", c.seconds},  // NaN is written as null
                            {"feasible", c.feasible},
                            {"why", c.why}});
  }
  return {{"constants", constants_json(plan.constants)},
          {"certificates", certificates},
          {"chosen", to_string(plan.certificate().kind)}};
}

double coefficient_noise_up(const CertificatePlan& c) {
  const Wide h = c.step_size, m = c.prior_precision;
  if (c.kind != CertificateKind::path) {
    require_finite_positive(c.prior_precision, "prior_precision");
    return round_up(1 / sqrt(m));
  }
  // c = max(|1 - hm|, |1 - hM|) = 1 - gap.
  const Wide gap = std::min(Wide(h * m), Wide(2 - h * Wide(c.smoothness)));
  if (!(gap > 0)) return round_up(sqrt(2 * h * Wide(c.iterations)));
  if (!(gap < 1)) return round_up(sqrt(2 * h));
  const Wide forgotten =
      -boost::math::expm1(Wide(2 * Wide(c.iterations) * boost::math::log1p(Wide(-gap))));
  return round_up(sqrt(2 * h * forgotten / (gap * (2 - gap))));
}

std::string large_delta(double delta) {
  return fmt::format(
      "δ = {:.4g} is not below 1/rows: publishing the row of one person picked at random would "
      "keep to "
      "it; give one far below",
      delta);
}

std::string in_words(const json& certificate) {
  const std::string source = "certificate";
  const json& guarantee = field(certificate, "guarantee", source);
  const json& mechanism = field(certificate, "mechanism", source);
  const json& constants = field(certificate, "constants", source);
  if (guarantee.contains("void")) {
    return "No guarantee: this model is void as a private release.\n" +
           shown(text_field(guarantee, "reason", source)) + ".\n";
  }
  const double epsilon = number_field(guarantee, "epsilon", source);
  const double delta = number_field(guarantee, "delta", source);
  const double mu = number_field(guarantee, "gdp_mu", source);
  const double tv = number_field(mechanism, "tv_gap", source);
  const std::uint64_t k = count_field(guarantee, "rows_per_person", source);
  const std::uint64_t draws = count_field(mechanism, "draws", source);
  const std::string adjacency = shown(text_field(guarantee, "adjacency", source));
  const std::string kind = text_field(mechanism, "certificate", source);
  const std::string rows = k == 1 ? "one row" : fmt::format("up to {} rows", k);
  const json& numerics = field(certificate, "numerics", source);
  const double noise = number_field(numerics, "noise_tv", source) +
                       number_field(numerics, "release_epsilon", source);
  // Equal prior odds: the best guess is right with probability 1/2 + TV/2, TV <= 2 Phi(mu/2) - 1 +
  // 2 gamma; and what computed noise adds. Percent, rounded up.
  const double guess = std::ceil(std::min(1.0, normal_cdf(mu / 2) + tv + noise) * 1000) / 10;
  std::string out = fmt::format(
      "(ε, δ) = ({:.4g}, {:.4g}), {}, {} per person.\n"
      "Whoever sees this model, even knowing every other row of the table, {}:\n",
      epsilon, delta, adjacency, rows, grade(guess));
  out += fmt::format(
      "asked {}, at even odds, the best possible\nguess is right at most {:.1f} % of the time; "
      "without the model it is right 50 % of the time.\n",
      adjacency == "replace-one" ? "which of two versions of that person's data was in the table"
                                 : "whether that person was in the table at all",
      guess);
  out +=
      kind == "path"
          ? fmt::format("It holds whether or not the chain of {:.10g} noisy steps has converged",
                        number_field(mechanism, "iterations", source))
          : fmt::format("It rests on a draw within {:.3g} (total variation) of the exact law", tv);
  out += draws == 1 ? ".\n" : fmt::format(", for all {} released draws together.\n", draws);
  const Budget budget{.epsilon = epsilon, .delta = delta};
  if (budget.delta_is_large(count_field(constants, "rows", source))) {
    out += large_delta(delta) + "\n";
  }
  out += fmt::format("Public, and so not protected: the schema, the options, and the {} {:.10g}.\n",
                     adjacency == "replace-one" ? "number of rows," : "cap on the number of rows,",
                     number_field(constants, "rows", source));
  out +=
      "Not covered: anything else that leaves the curator's hands (screen output, accuracy on the "
      "private table,\nrun time), and a schema or options chosen by looking at the data. Another "
      "model of the same people costs again.\n";
  return out;
}

}  // namespace gibbsite
