// verify: read the primary numbers of a certificate, recompute everything that follows from them,
// write the certificate that this program would write, and compare it with the claim.
#include "gibbsite/certificate/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "certificate/certify.hpp"
#include "certificate/model_json.hpp"
#include "certificate/problem_json.hpp"
#include "core/backend_names.hpp"
#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/model.hpp"
#include "mechanism/moments_question.hpp"
#include "mechanism/whitened_losses.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

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
      const std::string_view said = error.what();
      out_.failures.push_back(said.starts_with(fmt::format("{}: ", what))
                                  ? std::string(said)
                                  : fmt::format("{}: {}", what, said));
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

// The one-sided claims: they may be weaker than what is true, never stronger.
void verify_guarantee(Verifier& v, const Claims& c, const Analysis& found) {
  std::vector<double> recomputed;
  Guarantee::fields(found.guarantee,
                    [&](const char*, double value) { recomputed.push_back(value); });
  auto least = recomputed.begin();
  Guarantee::fields(c.claimed, [&](const char* name, double claimed) {
    v.check(claimed >= *least,
            fmt::format("guarantee.{}: claimed {}, recomputed {}", name, claimed, *least));
    ++least;
  });
  const double delta = delta_up(found.guarantee, c.epsilon);
  v.check(delta <= c.delta,
          fmt::format("guarantee.delta: claimed {} at epsilon = {}, recomputed {}", c.delta,
                      c.epsilon, delta));
}

void verify_guarantee(Verifier& v, const Certificate& c, const Analysis& found) {
  verify_guarantee(v, static_cast<const Claims&>(c), found);
  if (const auto promised = setting(c.mechanism, "tv_gap")) {
    v.check(*promised >= found.tv_gap,
            fmt::format("mechanism.tv_gap: claimed {}, recomputed {}", *promised, found.tv_gap));
  }
  const Budget budget{c.epsilon, c.delta, c.claimed.who.adjacency, c.claimed.who.rows_per_person,
                      c.draws};
  v.check(calibration_allows(c.mechanism, c.problem, budget, found),
          "mechanism.beta: what its calibration allows");
}

// Of a model part that cannot be read, which fails elsewhere: that it does.
bool refuses_cells(const json& file) {
  const json::json_pointer invalid("/model/preprocessing/invalid");
  return !file.contains(invalid) || file.at(invalid) != "middle";
}

// Returns the analysis that its numbers were compared with.
template <class C>
Analysis verify_numbers(Verifier& v, Verification& out, const json& file, C& c) {
  c.refuses_cells = refuses_cells(file);
  out.void_run = c.is_void();
  Analysis found = analyze(c.mechanism, c.problem, c.claimed.who, c.draws);
  if (out.void_run) {
    v.check(false, "guarantee: void by its own account: the noise follows from a seed");
  } else {
    verify_guarantee(v, c, found);
  }
  v.check(is_backend_name(c.backend), "software.backend = " + c.backend);
  return found;
}

void verify_certificate(Verifier& v, Verification& out, const json& file) {
  const json& certificate = field(file, "certificate", "file");
  Certificate c = certificate_from_json(certificate);
  const Analysis found = verify_numbers(v, out, file, c);
  // A file of another version stands if this version comes to the same numbers and words.
  json expected = to_json(c, found);
  expected["digest"] = field(certificate, "digest", "certificate");  // checked with the model
  v.same("", expected, certificate);
}

// Released answers: as many questions as the settings have, each with the noise of its share at
// least, clipped where the settings and the link of format 2 say; without a link at one clip, of
// what kappa allows; with intervals one block at that clip, one information at its limit and of
// amounts one matrix of scores at the clip. Of a small budget the lengths, within the ends that the
// schema has, and two of moments or one and a start. (What rounding added to the noise cannot be seen here,
// nor the clip between first moments and gradients.)
void verify_answers(Verifier& v, const Whitened& s, const Certificate& c,
                    const LinearModel& model) {
  const std::optional<LegacyCappedLink>& link = model.legacy_link;
  const std::vector<NoisyAnswer>& answers = model.answers;
  const auto gradient =
      std::ranges::find_if(answers, [](const NoisyAnswer& a) { return a.question == "gradient"; });
  const double clip = link ? link->clip : gradient != answers.end() ? gradient->clip : 0;
  const Neighbors& who = c.claimed.who;
  const auto T = static_cast<std::uint64_t>(s.iterations);
  const double longest = std::sqrt(information_limit(s)) * clip;  // of a row in the information
  std::uint64_t moments = 0, gradients = 0, curvatures = 0, blocks = 0, informations = 0,
                scores = 0, lengths = 0, starts = 0;
  const RowLengths of_schema = row_lengths(model.schema);
  // Logarithms of another library may differ in the last place.
  const auto is_nearly = [](double is, double expected) {
    return std::fabs(is - expected) <= 1e-12 * std::max(1.0, std::fabs(expected));
  };
  bool noisy = true, clipped = true, held = true;
  for (const NoisyAnswer& a : answers) {
    double least = 0;
    clipped =
        clipped && (a.question == "lengths"       ? is_nearly(a.clip, of_schema.half())
                    : a.question == "moments"     ? moments > 0 || a.clip == s.first_clip
                    : a.question == "information" ? std::fabs(a.clip - longest) <= 1e-12 * longest
                    : a.question != "curvature"   ? a.clip == clip
                                                  : a.clip == 0);
    if (a.question == "lengths") {
      ++lengths;
      held = held && a.at.size() == 2 && is_nearly(a.at[0], of_schema.low) &&
             is_nearly(a.at[1], of_schema.high);
      least = is_small_budget(s) ? length_deviation_up(s, who, a.clip, 0) : 0;
    } else if (a.question == "start") {
      ++starts;
      held = held && std::ranges::all_of(a.at, [](double at) { return at == 0; });
      least = is_small_budget(s) ? start_deviation_up(s, who, a.clip, 0) : 0;
    } else if (a.question == "moments") {
      least = moment_deviation_up(s, who, moments++ > 0, a.clip, 0);
    } else if (a.question == "gradient") {
      least = gradient_deviation_up(s, who, ++gradients, a.clip, 0);
    } else if (a.question == "block") {
      ++blocks;
      least = s.block_share > 0 ? gradient_deviation_up(s, who, T + 1, a.clip, 0) : 0;
    } else if (a.question == "information") {
      ++informations;
      least = s.information_share > 0 ? information_deviation_up(s, who, a.clip, 0) : 0;
    } else if (a.question == "scores") {
      ++scores;
      least = s.score_share > 0 ? score_deviation_up(s, who, a.clip, 0) : 0;
    } else {
      ++curvatures;
      least = curvature_deviation_up(s, who, largest_trace(c.problem), 0);
    }
    noisy = noisy && a.deviation >= least;
  }
  v.check(noisy, "model.answers: each has at least the noise of its share");
  v.check(clipped, link ? "model.answers: first moments have the clip of the settings, gradients "
                          "the link's"
                        : "model.answers: first moments have the clip of the settings, gradients "
                          "one clip");
  if (!link) {  // d_eff is at most the number of coordinates
    const std::size_t numbers = gradient != answers.end() ? gradient->values.size() : 0;
    const double most =
        gradient_clip(s, static_cast<double>(numbers) / static_cast<double>(c.problem.outputs));
    v.check(clip > 0 && clip <= most * (1 + 1e-12),
            "model.answers: gradients' clip is at most kappa sqrt(k)");
  }
  const std::uint64_t of_intervals = s.information_share > 0 ? 1 : 0;
  v.check(blocks == of_intervals && informations == of_intervals,
          fmt::format("model.answers: {} block and {} information", blocks, informations));
  v.check(scores == (s.score_share > 0 ? 1U : 0U),
          fmt::format("model.answers: {} second moments of scores", scores));
  const bool small = is_small_budget(s);
  v.check(lengths == (small ? 1U : 0U) && (small || starts == 0) && starts <= 1 && held,
          fmt::format("model.answers: {} of lengths within the schema's, {} start at 0", lengths,
                      starts));
  v.check(moments + starts == (s.second_moment_share > 0 ? 2U : 1U) && moments >= 1 &&
              gradients == T && curvatures == T,
          fmt::format("model.answers: {} of moments, {} gradients, {} curvatures", moments,
                      gradients, curvatures));
}

template <class Chain>
void verify_answers(Verifier& v, const InMetric<Chain>& s, const Certificate& c,
                    const LinearModel& model) {
  const std::vector<NoisyAnswer>& answers = model.answers;
  const bool one = answers.size() == 1 && answers[0].question == "moments";
  v.check(one, fmt::format("model.answers: {}, moments", answers.size()));
  if (!one) return;
  v.check(answers[0].clip == s.first_clip, "model.answers: has the clip of the settings");
  v.check(answers[0].deviation >=
              moment_deviation_up(Wide(s.moments_mu), c.claimed.who, s.first_clip, 0),
          "model.answers: has at least the noise that it is paid for with");
}

// No other mechanism releases any.
void verify_answers(Verifier& v, const auto& /*settings*/, const Certificate& /*c*/,
                    const LinearModel& /*model*/) {
  v.check(false, "model.answers: belong to a mechanism that asks for moments");
}

void verify_digest(Verifier& v, const json& file) {
  const json& certificate = file.at("certificate");
  const std::string digest = file_digest(file);
  if (certificate.contains("digest") && certificate["digest"] == digest)
    return v.check(true, "digest of the file = " + digest);
  v.check(false,
          std::string("certificate.digest: the file was changed after it was written: this is not "
                      "the digest of its contents") +
              (digest.starts_with(digest_of_spelling)
                   ? " (this older kind is of how numbers are spelled: a program that wrote the "
                     "file anew, 1.0 as 1, breaks it without another change)"
                   : ""));
}

// The certificate's problem is that of the model, which holds what is the certificate's alone too.
template <class C>
void same_problem(Verifier& v, const decltype(C::problem)& of_model, const C& c) {
  const json model = problem_json(of_model, c.mechanism);
  const json claimed = problem_json(c.problem, c.mechanism);
  json all = claimed;
  all.update(model);
  for (const auto& item : all.items()) {
    const json has = model.value(item.key(), json()), says = claimed.value(item.key(), json());
    if (has != says) {
      v.check(false, fmt::format("constants.{}: claimed {}, the model has {}", item.key(),
                                 says.dump(), has.dump()));
    }
  }
  if (model == claimed) v.check(true, "constants: those of the model");
}

void same_draws(Verifier& v, std::size_t of_model, const Claims& c) {
  v.check(c.draws == of_model, fmt::format("mechanism.draws: the model has {}", of_model));
}

// The model is the one that the certificate speaks of.
void verify_model(Verifier& v, const json& file) {
  const LinearModel linear = model_from_json(field(file, "model", "file"), "model");
  const json& certificate = file.at("certificate");
  const json& model = file.at("model");
  v.same("model", model_json(linear), model);
  verify_digest(v, file);

  const Certificate c = certificate_from_json(certificate);
  Problem of_model = glm(linear.loss).constants(linear.schema, c.problem.rows);
  of_model.center_norm = c.problem.center_norm;
  same_problem(v, of_model, c);
  same_draws(v, linear.draws.size(), c);

  const bool capped = format_of(file) == legacy_link_format && taken_by(c.mechanism).intervals &&
                      is_two_class_logistic(c.problem.loss);
  v.check(linear.legacy_link.has_value() == capped,
          capped ? "model.link: capped-logistic, in a whitened logistic model of this format"
                 : "model.link: not capped-logistic, which is of whitened logistic models of "
                   "gibbsite-release/2");
  const std::optional<double> information = setting(c.mechanism, "information_share");
  v.check(!linear.estimates || information.value_or(0) > 0,
          "model.estimates: only where the settings have an information_share");
  if (!linear.answers.empty()) {
    std::visit([&](const auto& m) { verify_answers(v, m, c, linear); }, c.mechanism);
  }

  const double grid =
      number_field(field(certificate, "numerics", "certificate"), "release_grid", "numerics");
  std::size_t off = 0;
  for (const auto& draw : linear.draws) {
    for (const double value : draw) off += std::remainder(value, grid) != 0;
  }
  v.check(off == 0, fmt::format("model.coefficients: {} off the release grid {}", off, grid));
  if (const auto ball = setting(c.mechanism, "ball")) {
    const auto inside = [&](const auto& draw) { return in_ball(draw, *ball); };
    v.check(std::ranges::all_of(linear.draws, inside),
            fmt::format("model.coefficients: in the ball of radius {}", *ball));
  }
}

// Of what is no table's model of one outcome.
template <class C>
void verify_certificate_of(Verifier& v, Verification& out, const json& file,
                           C (*certificate_from)(const json&)) {
  const json& certificate = file.at("certificate");
  C c = certificate_from(certificate);
  const Analysis found = verify_numbers(v, out, file, c);
  json expected = to_json(c, found);
  expected["digest"] = field(certificate, "digest", "certificate");  // checked with the model
  v.same("", expected, certificate);
}

// The draws are of the family and the column that the certificate speaks of, within their bounds.
void verify_family_model(Verifier& v, const json& file) {
  const FamilyModel model = family_model_from_json(field(file, "model", "file"), "model");
  const FamilyCertificate c = family_certificate_from_json(file.at("certificate"));
  const FamilyProblem& p = c.problem;
  v.same("model", model_json(model), file.at("model"));
  verify_digest(v, file);
  FamilyProblem of_model = family_problem(model.schema, model.family, p.rows);
  of_model.prior = p.prior;
  of_model.variance = p.variance;
  of_model.trim = p.trim;
  same_problem(v, of_model, c);
  same_draws(v, model.draws.size(), c);
  const auto [low, high] = p.reach();
  const double grid = family_grid(p);
  std::size_t off = 0;
  for (const auto& draw : model.draws) {
    double sum = 0;
    bool inside = true;
    for (const double value : draw) {
      sum += value;
      inside = inside && value >= low && value <= high &&
               (p.levels > 2 || std::remainder(value, grid) == 0);
    }
    if (p.has_levels() && draw.size() != p.levels) {
      inside = false;  // another family's, or column's: there is nothing to split
    } else if (p.trim && p.has_levels()) {
      for_each_split(0, p.levels,
                     [&](std::uint64_t first, std::uint64_t middle, std::uint64_t last) {
                       double share = 0, whole = 0;
                       for (std::uint64_t i = first; i < last; ++i)
                         (i < middle ? share : whole) += draw[i];
                       const auto [least, most] = split_trim(p, first, middle, last);
                       share /= share + whole;
                       inside = inside && share >= least - 1e-9 && share <= most + 1e-9;
                     });
    }
    off += !inside || (p.has_levels() && std::abs(sum - 1) > 1e-12);
  }
  v.check(off == 0,
          fmt::format("model.draws: {} off the release grid {} or out of reach", off, grid));
}

// Counts have the noise that they are paid for with, and tables follow from them.
void verify_tables(Verifier& v, const NetworkCounts& s, const NetworkProblem& p,
                   const NetworkModel& model) {
  if (model.counts.empty()) {
    v.check(false, "model.nodes: counts are missing");
    return;
  }
  v.check(model.noise == table_deviations(s.noise, model.network),
          "model.nodes: each has the noise that follows from mechanism.noise");
  std::size_t off = 0, beyond = 0;
  for (std::size_t i = 0; i < model.counts.size(); ++i) {
    const double grid = answer_grid(model.noise[i]);
    const double noise = answer_reach(model.noise[i]);
    for (const double count : model.counts[i]) {
      off += std::remainder(count, grid) != 0;
      beyond += !(count >= -noise && count <= static_cast<double>(p.rows) + noise);
    }
  }
  v.check(off == 0, fmt::format("model.nodes: {} counts off the grid of their noise", off));
  v.check(beyond == 0, fmt::format("model.nodes: {} counts that no noise leads to", beyond));
  const auto tables = tables_of_counts(model.network, model.counts, model.noise);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    for (std::size_t j = 0; j < tables[i].size(); ++j) {
      wrong += !(std::abs(tables[i][j] - model.tables[0][i][j]) <= 1e-9);  // no number is wrong too
    }
  }
  v.check(wrong == 0, fmt::format("model.nodes: {} shares do not follow from the counts", wrong));
}

void verify_draws(Verifier& v, const NetworkProblem& p, const NetworkModel& model) {
  v.check(model.counts.empty(), "model.nodes: drawn tables have no counts");
  if (!p.trim) return;
  std::size_t below = 0;
  for (const auto& draw : model.tables) {
    for (std::size_t i = 0; i < draw.size(); ++i) {
      const std::uint64_t levels = model.network.levels[i];
      for (std::size_t first = 0; first < draw[i].size(); first += levels) {
        const auto share = [&](std::uint64_t from, std::uint64_t to) {
          double sum = 0;
          for (std::uint64_t l = from; l < to; ++l) sum += draw[i][first + l];
          return sum;
        };
        for_each_split(0, levels, [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
          const double chosen = share(a, b) / share(a, c);
          const auto [least, most] = split_trim(*p.trim, a, b, c);
          below += !(chosen >= least - 1e-9 && chosen <= most + 1e-9);
        });
      }
    }
  }
  v.check(below == 0, fmt::format("model.nodes: {} splits outside of the trim {}", below, *p.trim));
}

void verify_tables(Verifier& v, const NetworkTrimmed& /*settings*/, const NetworkProblem& p,
                   const NetworkModel& model) {
  verify_draws(v, p, model);
}
void verify_tables(Verifier& v, const NetworkConjugate& /*settings*/, const NetworkProblem& p,
                   const NetworkModel& model) {
  verify_draws(v, p, model);
}

// The tables are of the columns and the structure that the certificate speaks of.
void verify_network_model(Verifier& v, const json& file) {
  const NetworkModel model = network_model_from_json(field(file, "model", "file"), "model");
  const NetworkCertificate c = network_certificate_from_json(file.at("certificate"));
  const NetworkProblem& p = c.problem;
  v.same("model", model_json(model), file.at("model"));
  verify_digest(v, file);
  NetworkProblem of_model = p;
  of_model.levels = model.network.levels;
  if (p.parents) of_model.parents = model.network.parents;
  same_problem(v, of_model, c);
  if (!p.parents) {
    bool within = true;
    for (std::size_t i = 0; i < model.network.size(); ++i) {
      within = within && model.network.parents[i].size() <= p.limits.parents &&
               model.network.cells(i) <= p.limits.cells;
    }
    v.check(within, "constants.limits: every table of the model is within them");
  }
  same_draws(v, model.tables.size(), c);
  std::visit([&](const auto& s) { verify_tables(v, s, p, model); }, c.mechanism);
}

// Whether numbers are within 2e-6, which is two of the last decimals, and the rest is the same.
bool alike(const json& a, const json& b) {
  if (a.is_number() && b.is_number()) {
    return std::abs(a.get<double>() - b.get<double>()) <= 2e-6 * (1 + std::abs(a.get<double>()));
  }
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), alike);
  if (!a.is_object()) return a == b;
  return std::ranges::all_of(a.items(), [&](const auto& item) {
    return b.contains(item.key()) && alike(item.value(), b.at(item.key()));
  });
}

// The counts have the noise that they are paid for with, and the figures follow from them.
void verify_evaluation_model(Verifier& v, const json& file) {
  const json& claimed = field(file, "model", "file");
  const EvaluationModel model = evaluation_model_from_json(claimed, "model");
  const EvaluationCertificate c = evaluation_certificate_from_json(file.at("certificate"));
  json expected = model_json(model);
  v.check(alike(expected.at("figures"), field(claimed, "figures", "model")),
          "model.figures: follow from the counts");
  expected["figures"] = claimed.at("figures");
  v.same("model", expected, claimed);
  verify_digest(v, file);
  HistogramProblem of_model = c.problem;
  of_model.cells = model.counts.size();
  same_problem(v, of_model, c);
  const bool is_public = c.claimed.who.adjacency == Adjacency::replace_one;
  v.check(model.rows == (is_public ? std::optional(c.problem.rows) : std::nullopt),
          "model.rows: constants.rows where those are public, and there only");
  v.check(model.of_void == c.of_void, "model.of_void: the certificate says the same");
  v.check(model.rows_per_person == c.claimed.who.rows_per_person,
          "model.rows_per_person: those of the guarantee");
  v.check(model.noise == histogram_deviation(c.mechanism, c.problem),
          "model.noise: follows from mechanism.noise");
  const double grid = answer_grid(model.noise);
  const double noise = answer_reach(model.noise);
  std::size_t off = 0, beyond = 0;
  double sum = 0;
  for (const double count : model.counts) {
    sum += count;
    off += std::remainder(count, grid) != 0;
    beyond += !(count >= -noise && count <= static_cast<double>(c.problem.rows) + noise);
  }
  v.check(off == 0, fmt::format("model.counts: {} off the grid of their noise", off));
  v.check(beyond == 0, fmt::format("model.counts: {} that no noise leads to", beyond));
  // A normal beyond 13.9 of its deviations, the grid's rounding aside: a chance below 1e-43.
  const auto rows = static_cast<double>(c.problem.rows);
  const double slack = 14 * model.noise * std::sqrt(static_cast<double>(model.counts.size()));
  v.check(sum >= (is_public ? rows : 0) - slack && sum <= rows + slack,
          "model.counts: their sum is that of the rows, and noise");
}

}  // namespace

Verification verify(const json& model) {
  const StandardArithmetic arithmetic;
  Verification out;
  Verifier v(out);
  v.check(is_release(model),
          is_release(model)
              ? fmt::format("format = {}", format_names[format_of(model)])
              : fmt::format("format: none of gibbsite-release/{} to {}", oldest_format,
                                Claims::newest_format));
  if (model.is_object()) {
    for (const auto& item : model.items()) {
      const bool known =
          item.key() == "format" || item.key() == "model" || item.key() == "certificate";
      if (!known) v.check(false, item.key() + ": is no field of a model file");
    }
    if (model.contains("certificate") && is_of_family(model["certificate"])) {
      v.guarded("certificate",
                [&] { verify_certificate_of(v, out, model, family_certificate_from_json); });
      v.guarded("model", [&] { verify_family_model(v, model); });
    } else if (model.contains("certificate") && is_of_network(model["certificate"])) {
      v.guarded("certificate",
                [&] { verify_certificate_of(v, out, model, network_certificate_from_json); });
      v.guarded("model", [&] { verify_network_model(v, model); });
    } else if (model.contains("certificate") && is_of_evaluation(model["certificate"])) {
      v.guarded("certificate",
                [&] { verify_certificate_of(v, out, model, evaluation_certificate_from_json); });
      v.guarded("model", [&] { verify_evaluation_model(v, model); });
    } else {
      v.guarded("certificate", [&] { verify_certificate(v, out, model); });
      v.guarded("model", [&] { verify_model(v, model); });
    }
  }
  out.valid = out.failures.empty();
  return out;
}

Verification verify(const Release& release) { return verify(to_json(release)); }
Verification verify(const FamilyRelease& release) { return verify(to_json(release)); }
Verification verify(const NetworkRelease& release) { return verify(to_json(release)); }
Verification verify(const EvaluationRelease& release) { return verify(to_json(release)); }

}  // namespace gibbsite
