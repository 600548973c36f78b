#pragma once
// A mechanism is its public settings: a plain struct with a name, the page of its theorem and its
// fields, and functions found by overload (CONTRIBUTING.md, "add a mechanism").
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "gibbsite/mechanism/averaged.hpp"
#include "gibbsite/mechanism/dalalyan.hpp"
#include "gibbsite/mechanism/defaults.hpp"
#include "gibbsite/mechanism/in_metric.hpp"
#include "gibbsite/mechanism/objective.hpp"
#include "gibbsite/mechanism/output.hpp"
#include "gibbsite/mechanism/path.hpp"
#include "gibbsite/mechanism/proximal.hpp"
#include "gibbsite/mechanism/whitened.hpp"

namespace gibbsite {

/// Whoever claims a calibration says who checks it.
template <class M>
concept ClaimsCalibration = requires(const M& m) {
  m.calibration;
};

struct IgnoreFields {
  void operator()(std::string_view /*name*/, const auto&... /*setting, legal*/) const {}
};

/// What a mechanism's header says of it, for itself: only what says all of it is let into the
/// variant. Nothing that privacy rests on has a default; mechanism/defaults.hpp has those of the
/// rest.
template <class M>
concept Described = (ClaimsCalibration<M> ==
                     (M::takes.posterior_calibration || M::takes.objective_calibration)) &&
                    requires(const M& m, const Problem& problem, const Budget& budget,
                             const PlanOptions& plan_options, const Neighbors& who,
                             const Cost& cost) {
  { M::name } -> std::convertible_to<std::string_view>;
  { M::theorem } -> std::convertible_to<std::string_view>;
  { M::takes } -> std::convertible_to<SupportedOptions>;
  M::fields(m, IgnoreFields{});
  requires std::same_as<decltype(candidate(std::type_identity<M>{}, problem, budget, plan_options)),
                        Candidate>;
  { analyze(m, problem, who, std::uint64_t{1}) } -> std::same_as<Analysis>;
  { assumption_of(m) } -> std::same_as<std::string>;
  { run_time_tells(m) } -> std::same_as<std::string_view>;
  { basis_of(m) } -> std::same_as<std::string>;
  { procedure_of(m, cost) } -> std::same_as<std::string>;
  { coefficient_noise_up(m, problem) } -> std::same_as<std::optional<double>>;
};

/// One by one, so that the compiler names the mechanism and what it lacks.
template <Described M>
using Let = M;
template <class... M>
using VariantOf = std::variant<Let<M>...>;

using Mechanism = VariantOf<Whitened, MetricPath, Path, Rejection, Proximal, MetricProximal,
                            Averaged, Dalalyan, OutputPerturbation, PureOutputPerturbation,
                            ObjectivePerturbation, PureObjectivePerturbation>;

/// "path", "rejection", ...
std::string_view name_of(const Mechanism& mechanism);
/// All names, in the order of the variant.
std::vector<std::string_view> mechanism_names();
/// The mechanism of that name, its settings zero. Throws BadInput listing the names.
Mechanism mechanism_named(std::string_view name);
/// Which wishes it takes.
const SupportedOptions& taken_by(const Mechanism& mechanism);
/// "docs/theory/path.md": the page that proves its guarantee.
std::string_view theorem_of(const Mechanism& mechanism);

/// Calls visit(name, setting) or visit(name, setting, Legal) for every setting, in one order: what
/// JSON, fingerprints, tables and tests go by. `mechanism` may be const.
template <class Variant, class Visit>
void visit_fields(Variant& mechanism, Visit&& visit) {
  std::visit([&](auto& m) { std::decay_t<decltype(m)>::fields(m, visit); }, mechanism);
}

/// A setting that is a number, by its name; none where this mechanism has no such one.
std::optional<double> setting(const Mechanism& mechanism, std::string_view name);

/// Whether sup |f'| is finite wherever it runs: of the squared loss only for path in a ball.
bool bounds_derivatives(const Mechanism& mechanism, const Problem& problem);

/// Why it does not take people, whom weights hold to their rows (SupportedOptions::people).
std::string no_people(const Mechanism& mechanism);
/// What the settings imply, for `draws` draws. Throws BadInput when a setting is out of range, and
/// where the mechanism does not bound slopes.
Analysis analyze(const Mechanism& mechanism, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws);

/// beta <= what the calibration allows at that budget; true where the mechanism has none, or gdp.
/// The other calibrations bound beta for one exact draw: k rows multiply L, draws compose.
bool calibration_allows(const Mechanism& mechanism, const Problem& problem, const Budget& budget,
                        const Analysis& analysis);

/// What a reader has to believe of this mechanism beside what all ask; "" for nothing.
std::string assumption_of(const Mechanism& mechanism);
/// What in the data decides how long a run takes; "" where nothing does.
std::string_view run_time_tells(const Mechanism& mechanism);
/// Where the guarantee comes from, a half sentence for people: "It holds whether or not ...".
std::string basis_of(const Mechanism& mechanism);
/// How it goes about it, for people: "1,000 steps of 0.01". Of a run at that cost.
std::string procedure_of(const Mechanism& mechanism, const Cost& cost);

/// s such that every coefficient of a draw is an s-Lipschitz function of standard normals, rounded
/// up (docs/theory/path.md, What the noise does to a coefficient). So it lies within t s of the
/// median of its law with a probability of at least 2 Phi(t) - 1; for a TV certificate less its
/// tv_gap. path: sqrt(2h (1 - c^2T)/(1 - c^2)); output: sigma; else 1/sqrt(m). Of exact arithmetic;
/// rounding is below the release grid. None for whitened and in a metric, where it depends on what
/// was released before, nor for output-pure and objective-pure, whose noise is a product of
/// normals. objective: sqrt(sigma^2/Lambda^2 + sigma_out^2), less than which the data leave of it.
/// Throws BadInput on a TV certificate without strong convexity.
std::optional<double> coefficient_noise_up(const Mechanism& mechanism, const Problem& problem);

}  // namespace gibbsite
