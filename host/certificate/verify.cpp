// verify: read the primary numbers of a certificate, recompute everything that follows from them,
// write the certificate that this program would write, and compare it with the claim.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "certificate/certify.hpp"
#include "certificate/model_json.hpp"
#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/core/backend_names.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/mechanism/path.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

// The claim, and what the primary numbers in it imply.
struct Claim {
  Plan plan;  // one certificate; its derived numbers are recomputed, epsilon, delta, tv as claimed
  RunFacts facts;
  double recomputed_mu = 0;
  double recomputed_tv = 0;
};

class Verifier {
 public:
  explicit Verifier(Verification& out) : out_(out) {}

  void check(bool holds, const std::string& line) {
    (holds ? out_.checks : out_.failures).push_back(line);
  }

  /// Runs one group of checks; whatever it throws is a failure of that group.
  template <class F>
  void guarded(const char* what, F checks) {
    try {
      checks();
    } catch (const std::exception& error) {
      out_.failures.push_back(fmt::format("{}: {}", what, error.what()));
    }
  }

  /// Every leaf of `expected` is in `claimed` with the same value, and nothing else is.
  void same(const std::string& path, const json& expected, const json& claimed) {
    if (expected.is_object() && claimed.is_object()) {
      const std::string prefix = path.empty() ? "" : path + ".";
      for (const auto& item : expected.items()) {
        const std::string name = prefix + item.key();
        if (claimed.contains(item.key())) {
          same(name, item.value(), claimed.at(item.key()));
        } else {
          check(false, name + ": is missing");
        }
      }
      for (const auto& item : claimed.items()) {
        if (!expected.contains(item.key())) {
          check(false, prefix + item.key() + ": is no field that belongs there");
        }
      }
    } else if (expected.is_array() && claimed.is_array() && expected.size() == claimed.size()) {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        same(fmt::format("{}[{}]", path, i), expected[i], claimed[i]);
      }
    } else if (expected == claimed) {
      check(true, fmt::format("{} = {}", path, claimed.dump()));
    } else {
      check(false,
            fmt::format("{}: claimed {}, recomputed {}", path, claimed.dump(), expected.dump()));
    }
  }

 private:
  Verification& out_;
};

double above_zero(const json& object, const char* name, const std::string& source) {
  const double value = number_field(object, name, source);
  require_finite_positive(value, source + "." + name);
  return value;
}

Claim read_claim(const json& certificate) {
  Claim claim;
  const json& guarantee = field(certificate, "guarantee", "certificate");
  const json& mechanism = field(certificate, "mechanism", "certificate");
  const json& constants = field(certificate, "constants", "certificate");
  const json& numerics = field(certificate, "numerics", "certificate");
  const json& software = field(certificate, "software", "certificate");

  const std::string noise = text_field(numerics, "noise", "numerics");
  if (noise != to_string(NoiseKind::chacha20) && noise != to_string(NoiseKind::philox)) {
    throw BadInput("numerics.noise: must be chacha20, for a guarantee, or philox");
  }
  const bool seeded = noise == to_string(NoiseKind::philox);
  claim.facts.noise = seeded ? NoiseKind::philox : NoiseKind::chacha20;
  claim.facts.backend = text_field(software, "backend", "software");

  Budget& budget = claim.plan.budget;
  budget.adjacency = adjacency_from_string(text_field(guarantee, "adjacency", "guarantee"));
  budget.rows_per_person = count_field(guarantee, "rows_per_person", "guarantee");
  budget.draws = count_field(mechanism, "draws", "mechanism");
  if (!seeded) {  // a void run claims none
    budget.epsilon = number_field(guarantee, "epsilon", "guarantee");
    budget.delta = number_field(guarantee, "delta", "guarantee");
  }
  budget.validate();

  Problem& c = claim.plan.constants;
  c.rows = count_field(constants, "rows", "constants");
  c.features = count_field(constants, "features", "constants");
  c.row_norm = number_field(constants, "row_norm", "constants");
  c.intercept = flag_field(constants, "intercept", "constants");
  const Loss& loss = loss_named(text_field(constants, "loss", "constants"));
  c.loss = loss.name();
  c.max_abs_residual = loss.max_abs_residual();
  c.curvature = loss.curvature();
  c.drop_from_zero = loss.drop_from_zero();
  if (constants.contains("center_norm")) {
    c.center_norm = above_zero(constants, "center_norm", "constants");
  }
  c.validate();

  CertificatePlan& p = claim.plan.certificates.emplace_back();
  p.kind = certificate_from_string(text_field(mechanism, "certificate", "mechanism"));
  p.calibration = calibration_from_string(text_field(mechanism, "calibration", "mechanism"));
  p.beta = above_zero(mechanism, "beta", "mechanism");
  p.prior_precision = number_field(mechanism, "prior_precision", "mechanism");
  require_finite_nonnegative(p.prior_precision, "mechanism.prior_precision");
  const bool rejection = p.kind == CertificateKind::rejection;
  p.step_size = rejection ? number_field(mechanism, "step_size", "mechanism")
                          : above_zero(mechanism, "step_size", "mechanism");
  p.iterations = static_cast<double>(count_field(mechanism, "iterations", "mechanism"));
  require_at_least(p.iterations, 1, "mechanism.iterations");
  if (rejection && (p.step_size != 0 || p.iterations != 1)) {
    throw BadInput("mechanism: rejection has no step size and one iteration");
  }
  p.tv_gap = number_field(mechanism, "tv_gap", "mechanism");
  p.epsilon = budget.epsilon;
  p.delta = budget.delta;
  if (rejection || p.kind == CertificateKind::proximal) {
    const auto count = [&](const char* name) {
      const auto value = static_cast<double>(count_field(mechanism, name, "mechanism"));
      require_at_least(value, 1, fmt::format("mechanism.{}", name));
      return value;
    };
    p.proposals = count("proposals");
    p.rounds = count("rounds");
    p.residual = above_zero(mechanism, "residual", "mechanism");
    if (mechanism.contains("gradients") && !rejection) p.gradients = count("gradients");
  }
  // A TV certificate rests on it, unless its start is public.
  if ((p.kind != CertificateKind::path && !(p.gradients > 0)) ||
      mechanism.contains("start_gradient_norm")) {
    p.start_gradient_norm = above_zero(mechanism, "start_gradient_norm", "mechanism");
  }
  return claim;
}

double over_draws_up(double value, const Wide& factor, std::uint64_t draws) {
  return draws == 1 ? value : round_up(Wide(value) * factor);
}

// Fills S, M, e, mu and the TV gap from beta, m, h, T and the constants.
void recompute(Claim& claim) {
  const Problem& c = claim.plan.constants;
  const Budget& budget = claim.plan.budget;
  CertificatePlan& p = claim.plan.certificates[0];
  double mu = 0;
  if (p.kind == CertificateKind::path) {
    const PathCertificate found =
        path_certificate(c, budget, p.beta, p.prior_precision, p.step_size, p.iterations);
    p.sensitivity = found.sensitivity;
    p.smoothness = found.smoothness;
    p.map_error = found.map_error;
    mu = found.mu;
    if (p.start_gradient_norm != 0) throw BadInput("mechanism.start_gradient_norm: path has none");
  } else if (p.kind != CertificateKind::automatic) {
    require_finite_positive(p.prior_precision, "mechanism.prior_precision");
    p.sensitivity = c.sensitivity_up(p.beta, budget.adjacency, budget.rows_per_person);
    p.smoothness = c.smoothness_up(p.beta, p.prior_precision);
    mu = round_up(Wide(p.sensitivity) / sqrt(Wide(p.prior_precision)));
    const TvError error = tv_error(c, p);
    p.map_error = error.map_error;
    claim.recomputed_tv = over_draws_up(error.total, Wide(budget.draws), budget.draws);
  } else {
    throw BadInput("mechanism.certificate: must name a certificate, not auto");
  }
  claim.recomputed_mu = over_draws_up(mu, sqrt(Wide(budget.draws)), budget.draws);
  const NoiseCost cost = noise_cost_up(c, p, budget.draws);
  p.noise_tv = cost.tv;
  p.release_epsilon = cost.epsilon;
}

// The one-sided claims: they may be weaker than what is true, never stronger.
void verify_guarantee(Verifier& v, Claim& claim, const json& guarantee) {
  CertificatePlan& p = claim.plan.certificates[0];
  p.mu = number_field(guarantee, "gdp_mu", "guarantee");
  v.check(p.mu >= claim.recomputed_mu,
          fmt::format("guarantee.gdp_mu: claimed {}, recomputed {}", p.mu, claim.recomputed_mu));
  v.check(
      p.kind == CertificateKind::path ? p.tv_gap == 0 : p.tv_gap >= claim.recomputed_tv,
      fmt::format("mechanism.tv_gap: claimed {}, recomputed {}", p.tv_gap, claim.recomputed_tv));
  const double delta = delta_up(p, claim.recomputed_mu);
  v.check(delta <= p.delta,
          fmt::format("guarantee.delta: claimed {} at epsilon = {}, recomputed {}", p.delta,
                      p.epsilon, delta));
  if (p.calibration == Calibration::gdp) return;
  // The seeds' calibrations bound beta for one exact draw; k rows multiply L, draws compose.
  const Budget& budget = claim.plan.budget;
  const double share =
      round_down(Wide(p.delta) - (1 + exp(Wide(p.epsilon))) * (Wide(p.tv_gap) + Wide(p.noise_tv)));
  const double one = calibrate_beta_down(
      p.calibration, round_down(Wide(p.epsilon) - Wide(p.release_epsilon)), share,
      round_up(Wide(claim.plan.constants.lipschitz_up()) * Wide(budget.rows_per_person)),
      p.prior_precision, budget.adjacency);
  const double beta = budget.draws == 1 ? one : round_down(Wide(one) / sqrt(Wide(budget.draws)));
  v.check(p.beta <= beta, fmt::format("mechanism.beta: claimed {}, {} allows {}", p.beta,
                                      to_string(p.calibration), beta));
}

// Of a model part that cannot be read, which fails elsewhere: that it does.
bool refuses_cells(const json& file) {
  const json::json_pointer invalid("/model/preprocessing/invalid");
  return !file.contains(invalid) || file.at(invalid) != "middle";
}

void verify_certificate(Verifier& v, Verification& out, const json& file) {
  const json& certificate = field(file, "certificate", "file");
  Claim claim = read_claim(certificate);
  claim.facts.refuses_cells = refuses_cells(file);
  out.void_run = claim.facts.noise != NoiseKind::chacha20;
  recompute(claim);
  if (out.void_run) {
    v.check(false, "guarantee: void by its own account: the noise follows from a seed");
    claim.plan.certificates[0].mu = claim.recomputed_mu;
  } else {
    verify_guarantee(v, claim, field(certificate, "guarantee", "certificate"));
  }
  v.check(is_backend_name(claim.facts.backend), "software.backend = " + claim.facts.backend);

  json expected = certificate_json(claim.plan, claim.facts);
  expected["digest"] = field(certificate, "digest", "certificate");  // checked with the model
  // A file of another version stands if this version comes to the same numbers and words.
  expected["software"]["version"] = text_field(certificate.at("software"), "version", "software");
  v.same("", expected, certificate);
}

// The model is the one that the certificate speaks of.
void verify_model(Verifier& v, const json& file) {
  const Release release = release_from_json(file, "model");
  const LinearModel& linear = release.model();
  const json& certificate = file.at("certificate");
  const json& model = file.at("model");
  v.same("model", model_json(linear), model);
  v.check(certificate.contains("digest") && certificate["digest"] == file_digest(file),
          "digest of the file = " + file_digest(file));

  const json& constants = field(certificate, "constants", "certificate");
  const FeatureSpace space = linear.schema;
  v.check(count_field(constants, "features", "constants") == space.features,
          fmt::format("constants.features: the schema has {}", space.features));
  v.check(number_field(constants, "row_norm", "constants") == space.row_norm,
          fmt::format("constants.row_norm: the schema has {}", space.row_norm));
  v.check(flag_field(constants, "intercept", "constants") == space.intercept,
          fmt::format("constants.intercept: the schema has {}", space.intercept));
  v.check(text_field(constants, "loss", "constants") == linear.loss,
          "constants.loss: the model has " + linear.loss);
  const json& mechanism = field(certificate, "mechanism", "certificate");
  v.check(count_field(mechanism, "draws", "mechanism") == linear.draws.size(),
          fmt::format("mechanism.draws: the model has {}", linear.draws.size()));

  const double grid =
      number_field(field(certificate, "numerics", "certificate"), "release_grid", "numerics");
  std::size_t off = 0;
  for (const auto& draw : linear.draws) {
    for (const double value : draw) off += std::remainder(value, grid) != 0;
  }
  v.check(off == 0, fmt::format("model.coefficients: {} off the release grid {}", off, grid));
}

}  // namespace

Verification verify(const json& model) {
  Verification out;
  Verifier v(out);
  v.check(model.is_object() && model.contains("format") && model["format"] == release_format,
          fmt::format("format = {}", release_format));
  if (model.is_object()) {
    for (const auto& item : model.items()) {
      const bool known =
          item.key() == "format" || item.key() == "model" || item.key() == "certificate";
      if (!known) v.check(false, item.key() + ": is no field of a model file");
    }
    v.guarded("certificate", [&] { verify_certificate(v, out, model); });
    v.guarded("model", [&] { verify_model(v, model); });
  }
  out.valid = out.failures.empty();
  return out;
}

}  // namespace gibbsite
