#include "gibbsite/certificate/certificate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "certificate/bought_json.hpp"
#include "certificate/model_json.hpp"
#include "certificate/problem_json.hpp"
#include "certificate/release_of.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/mechanism/excess_loss.hpp"
#include "gibbsite/version.hpp"

namespace gibbsite {

using nlohmann::json;

json whole(double value) {
  const bool is_whole = value >= 0 && value <= 0x1p53 && value == std::floor(value);
  return is_whole ? json(static_cast<std::uint64_t>(value)) : json(value);
}

bool adds_up(const Claims& c) {
  const Neighbors& who = c.claimed.who;
  return !c.schema_bought ||
         c.schema_bought->adds_to(to_string(who.adjacency), who.rows_per_person);
}

json assumptions_json(const Claims& c, const std::string& own, std::string_view made,
                      const std::string& choices) {
  const std::uint64_t k = c.claimed.who.rows_per_person;
  json out = json::array();
  if (c.people) {
    out.push_back(fmt::format(
        "every person has one id, that of every row of theirs, in the column of "
        "model.preprocessing.columns of type person: however many rows bear it, they count as at "
        "most {} {} together, and rows without one count 0",
        k, k == 1 ? "row" : "rows"));
    out.push_back(
        "no two ids of a table have the same hash of 128 bits under a key that the run drew for it "
        "(their chance is below 2^-65), and a table has at most 2^40 rows");
  } else {
    out.push_back(
        fmt::format("one person has at most {} {} of the table", k, k == 1 ? "row" : "rows"));
  }
  if (c.people && c.claimed.who.adjacency == Adjacency::replace_one) {
    out.push_back(
        "neighboring tables have the same number of people, which is public; one person's rows are "
        "replaced by any others, any number of them");
  } else if (c.people) {
    out.push_back(
        "neighboring tables differ by the presence of one person with all rows; constants.people is "
        "a cap that was chosen without looking at the table");
    out.push_back(
        "every table that comes into question has from 1 to constants.people people: any other is "
        "refused, which tells that it is one");
  } else if (c.claimed.who.adjacency == Adjacency::replace_one) {
    out.push_back(
        "neighboring tables have the same number of rows, which is public; one person's rows are "
        "replaced by any others");
  } else {
    out.push_back(
        "neighboring tables differ by the presence of one person; constants.rows is a cap that "
        "was chosen without looking at the table");
    out.push_back(
        "every table that comes into question has from 1 to constants.rows rows: any other is "
        "refused, "
        "which tells that it is one");
  }
  if (c.schema_bought) {
    out.push_back(fmt::format(
        "the schema was bought with ({:.10g}, {:.10g}) of its own{}, by the certificate {}: that "
        "release {}, and what was changed in the schema since, the budget and "
        "every option were chosen without looking at the table",
        c.schema_bought->epsilon, c.schema_bought->delta, c.schema_bought->people_words(),
        c.schema_bought->certificate,
        adds_up(c) ? "composes with this one"
                   : "has other neighbors (" + c.schema_bought->neighbors_words() +
                         "), so its guarantee does not add up with this one"));
  } else {
    out.push_back(choices +
                  ", the budget and every option were chosen without looking at the table");
  }
  if (c.schema_public) {
    out.push_back(fmt::format(
        "{}, SHA-256 {}, which the schema's ranges, levels and typical values come from, is public, "
        "as whoever published the schema says: nothing here protects people in it; no table that "
        "comes into question is that table itself, of which nothing is published",
        gibbsite::quoted(c.schema_public->file), c.schema_public->sha256));
  }
  if (c.refuses_cells) {
    out.push_back(
        fmt::format("every table that comes into question can be read under the schema: a cell or "
                    "a label that cannot is refused, so that whether there is {} tells about it "
                    "(model.preprocessing.invalid = \"middle\" refuses none)",
                    made));
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
  if (!c.is_void()) {
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
  if (!own.empty()) out.push_back(own);
  return out;
}

Claims claims_of(const Budget& budget, const Guarantee& guarantee, const RunFacts& facts) {
  return {.draws = budget.draws,
          .epsilon = budget.epsilon,
          .delta = budget.delta,
          .claimed = guarantee,
          .noise = facts.noise,
          .refuses_cells = facts.refuses_cells,
          .schema_bought = facts.schema_bought,
          .schema_public = facts.schema_public,
          .backend = facts.backend,
          .version = GIBBSITE_VERSION};
}

json guarantee_json(const Claims& c) {
  const auto claim = [&](double value) { return c.is_void() ? json(nullptr) : json(value); };
  json guarantee = {{"epsilon", claim(c.epsilon)},
                    {"delta", claim(c.delta)},
                    {"adjacency", to_string(c.claimed.who.adjacency)},
                    {"rows_per_person", c.claimed.who.rows_per_person}};
  Guarantee::fields(c.claimed,
                    [&](const char* name, double value) { guarantee[name] = claim(value); });
  if (c.is_void()) {
    guarantee["void"] = true;
    guarantee["reason"] =
        "the noise follows from a user's seed, so whoever knows or guesses it can remove it; fit "
        "without --seed for a guarantee";
  }
  return guarantee;
}

json numerics_json(const Claims& c, const Analysis& found) {
  return {{"arithmetic", "double"},
          {"map_error", found.map_error},
          {"noise", to_string(c.noise)},
          {"noise_tv", found.noise.tv},
          {"release_epsilon", found.noise.epsilon},
          {"release_grid", found.release_grid}};
}

void SettingsReader::operator()(const char* name, double& value, Legal legal) const {
  if (legal == Legal::positive_or_absent && !object.contains(name)) return;  // stays 0
  const std::string path = std::string("mechanism.") + name;
  if (is_count(legal)) {
    value = static_cast<double>(count_field(object, name, "mechanism"));
    if (legal == Legal::count) require_at_least(value, 1, path);
    return;
  }
  value = number_field(object, name, "mechanism");
  if (legal == Legal::positive || legal == Legal::positive_or_absent) {
    require_finite_positive(value, path);
  }
  if (legal == Legal::nonnegative) require_finite_nonnegative(value, path);
}

void SettingsReader::operator()(const char* name, Calibration& value) const {
  value = calibration_from_string(text_field(object, name, "mechanism"));
}

namespace {

void put_numbers(json& out, const Guarantee& guarantee) {
  Guarantee::fields(guarantee, [&](const char* name, double value) { out[name] = value; });
}

// What a program calls itself, and no place for anything else: "1.2.3", "1.2.3.dev4+g5678".
bool is_version(std::string_view text) {
  constexpr std::size_t longest = 40;
  constexpr std::string_view signs =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+-";
  return !text.empty() && text.size() <= longest && text[0] >= '0' && text[0] <= '9' &&
         text.find_first_not_of(signs) == text.npos;
}

}  // namespace

Claims claims_from_json(const json& object) {
  const std::string source = "certificate";
  const json& guarantee = field(object, "guarantee", source);
  const json& mechanism = field(object, "mechanism", source);
  const json& numerics = field(object, "numerics", source);
  const json& software = field(object, "software", source);
  Claims c;
  if (object.contains("schema_bought"))
    c.schema_bought = bought_apart_from_json(object["schema_bought"], "schema_bought");
  if (object.contains("schema_public"))
    c.schema_public = public_table_from_json(object["schema_public"], "schema_public");
  const std::string noise = text_field(numerics, "noise", "numerics");
  if (noise != to_string(NoiseKind::chacha20) && noise != to_string(NoiseKind::philox)) {
    throw BadInput("numerics.noise: must be chacha20, for a guarantee, or philox");
  }
  c.noise = noise == to_string(NoiseKind::philox) ? NoiseKind::philox : NoiseKind::chacha20;
  c.backend = text_field(software, "backend", "software");
  c.version = text_field(software, "version", "software");
  if (!is_version(c.version)) {
    throw BadInput(
        "software.version: must be a version such as 1.2.3; use the file as it was written");
  }
  c.claimed.who.adjacency = adjacency_from_string(text_field(guarantee, "adjacency", "guarantee"));
  c.claimed.who.rows_per_person = count_field(guarantee, "rows_per_person", "guarantee");
  c.draws = count_field(mechanism, "draws", "mechanism");
  Budget budget{.adjacency = c.claimed.who.adjacency,
                .rows_per_person = c.claimed.who.rows_per_person,
                .draws = c.draws};
  if (!c.is_void()) {  // a void run claims nothing
    budget.epsilon = c.epsilon = number_field(guarantee, "epsilon", "guarantee");
    budget.delta = c.delta = number_field(guarantee, "delta", "guarantee");
    Guarantee::fields(c.claimed, [&](const char* name, double& value) {
      value = number_field(guarantee, name, "guarantee");
      require_finite_nonnegative(value, std::string("guarantee.") + name);
    });
  }
  budget.validate();
  return c;
}

namespace {

std::optional<ExcessLoss> excess_of(const Candidate& candidate, const Plan& plan) {
  if (!candidate.feasible) return std::nullopt;
  return excess_loss_up(candidate.mechanism, plan.problem, plan.budget.neighbors());
}

}  // namespace

json plan_json(const Plan& plan) {
  json candidates = json::array();
  for (const Candidate& candidate : plan.candidates) {
    json out = settings_json(candidate.mechanism);
    out["guarantee"] = {{"epsilon", plan.budget.epsilon}, {"delta", plan.budget.delta}};
    put_numbers(out["guarantee"], candidate.guarantee);
    out["passes"] = whole(std::floor(candidate.cost.passes));
    out["feasible"] = candidate.feasible;
    out["why"] = candidate.why.plain();
    if (const auto excess = excess_of(candidate, plan))
      out["excess_loss"] = {{"noise", excess->noise}, {"ridge", excess->ridge}};
    candidates.push_back(std::move(out));
  }
  json constants = problem_json(plan.problem, plan.candidate().mechanism);
  constants["features"] = plan.problem.row_features();
  constants["outputs"] = plan.problem.outputs;
  return {{"constants", std::move(constants)},
          {"offers", candidates},
          {"chosen", name_of(plan.candidate().mechanism)}};
}

json plan_json(const FamilyPlan& plan) {
  json candidate = settings_json(plan.mechanism);
  candidate["guarantee"] = {{"epsilon", plan.budget.epsilon}, {"delta", plan.budget.delta}};
  put_numbers(candidate["guarantee"], plan.guarantee);
  candidate["feasible"] = true;
  candidate["estimate_deviation"] = plan.deviation;
  candidate["sample_deviation"] = plan.sample_deviation;
  return {{"constants", problem_json(plan.problem, plan.mechanism)},
          {"offers", json::array({candidate})},
          {"chosen", name_of(plan.mechanism)}};
}

json plan_json(const NetworkPlan& plan) {
  json candidates = json::array();
  for (const NetworkCandidate& candidate : plan.candidates) {
    json out = settings_json(candidate.mechanism);
    out["guarantee"] = {{"epsilon", plan.budget.epsilon}, {"delta", plan.budget.delta}};
    put_numbers(out["guarantee"], candidate.guarantee);
    out["deviation"] = candidate.feasible ? json(candidate.deviation) : json(nullptr);
    out["feasible"] = candidate.feasible;
    out["why"] = candidate.why.plain();
    candidates.push_back(std::move(out));
  }
  const NetworkProblem& p = plan.problem;
  const NetworkMechanism& chosen = plan.candidate().mechanism;
  json tables = json::array();
  if (p.parents) {
    const Network network = p.network();
    const std::vector<double> noise = table_deviations(plan.candidate(), network);
    for (std::size_t i = 0; i < network.size(); ++i) {
      const std::uint64_t cells = network.cells(i);
      tables.push_back({{"column", i},
                        {"parents", network.parents[i]},
                        {"cells", cells},
                        {"rows_per_cell", static_cast<double>(p.rows) / static_cast<double>(cells)},
                        {"deviation", noise[i]}});
    }
  }
  return {{"constants", problem_json(p, chosen)},
          {"offers", candidates},
          {"chosen", name_of(chosen)},
          {"tables", tables}};
}

}  // namespace gibbsite
