#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "certificate/model_json.hpp"
#include "certificate/release_of.hpp"
#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/certificate/rdp.hpp"
#include "gibbsite/core/rounded_text.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {
namespace {

// What the best guess, right that often (in %), makes of one person's privacy.
std::string_view grade(double percent) {
  if (percent <= 60) return "learns little about any one person";
  if (percent <= 75) return "learns something about a person, but cannot be sure of it";
  if (percent <= 90) return "may learn much about a person (this protection is weak)";
  if (percent <= 99) return "may be all but sure about a person (this hardly protects anybody)";
  return "may be certain about a person (this protects nobody)";
}

std::string void_in_words(const std::string& reason, std::string_view what = "model") {
  return fmt::format("No guarantee: this {} is void as a private release.\n{}.\n", what,
                     shown(reason));
}

}  // namespace

std::string large_delta(double delta) {
  return fmt::format(
      "δ = {} is not below 1/rows: publishing the row of one person picked at random would "
      "keep to it; give one far below",
      text_up(delta));
}

template <class Kind>
std::string renyi_words(const CertificateOf<Kind>& c) {
  if (c.is_void()) return "";
  std::vector<std::string> ways;
  const double rho = zero_concentrated_up(c).rho;
  const bool exact = is_renyi_exact(c);
  if (std::isfinite(rho) && !exact) ways.push_back("zCDP ρ = " + text_up(rho));
  std::string orders;
  for (const int order : {2, 8, 32}) {
    const double epsilon = renyi_up(c, order);
    if (!std::isfinite(epsilon)) continue;
    orders += orders.empty() ? fmt::format("RDP ε = {} at order {}", text_up(epsilon), order)
                             : fmt::format(", {} at {}", text_up(epsilon), order);
  }
  if (!orders.empty()) ways.push_back(orders);
  if (ways.empty())
    return "Adds to others by ε and δ alone: it has no zCDP and no RDP of order 2.\n";
  std::string after;
  if (c.claimed.delta0 > 0 && !exact) after = text_up(c.claimed.delta0);
  if (c.claimed.tv > 0) {
    after += (after.empty() ? "(1 + e^ε) times " : " and (1 + e^ε) times ") + text_up(c.claimed.tv);
  }
  return fmt::format("Adds to others as {}{}.\n", fmt::join(ways, ", or "),
                     after.empty() ? "" : ";\nto the δ of the sum this one adds " + after);
}

template std::string renyi_words(const Certificate&);
template std::string renyi_words(const FamilyCertificate&);
template std::string renyi_words(const NetworkCertificate&);
template std::string renyi_words(const EvaluationCertificate&);
template std::string renyi_words(const SchemaCertificate&);
template std::string renyi_words(const SelectCertificate&);
template std::string renyi_words(const CovarianceCertificate&);

namespace {

std::string words_of(const auto& c, double guess, std::uint64_t table_rows,
                     const std::string& basis, std::string_view what = "model") {
  const bool is_model = what.starts_with("model"), evaluates = what == "evaluation",
             buys = what.ends_with("schema"), selects = what == "selection";
  if (c.is_void()) return void_in_words("the noise follows from a user's seed", what);
  const std::string_view chosen = buys      ? "the names of the columns"
                                  : selects ? "the candidates, the score"
                                            : "the schema";
  const bool replace = c.claimed.who.adjacency == Adjacency::replace_one;
  const std::uint64_t k = c.claimed.who.rows_per_person;
  const std::string rows = c.people ? fmt::format("any number of rows per person, counted as {}",
                                                  k == 1 ? "one" : fmt::format("at most {}", k))
                           : k == 1 ? "one row per person"
                                    : fmt::format("up to {} rows per person", k);
  std::string out = fmt::format(
      "(ε, δ) = ({}, {}), {}, {}.\n"
      "Whoever sees this {}, even knowing {}, {}:\n",
      text_up(c.epsilon), text_up(c.delta), to_string(c.claimed.who.adjacency), rows, what,
      c.people ? "all rows of everybody else" : "every other row of the table", grade(guess));
  out += fmt::format(
      "asked {}, at even odds, the best possible\nguess is right at most {:.1f} % of the time; "
      "without the {} it is right 50 % of the time.\n",
      replace ? "which of two versions of that person's data was in the table"
              : "whether that person was in the table at all",
      guess, what);
  out += basis;
  out += c.draws == 1 ? ".\n" : fmt::format(", for all {} released draws together.\n", c.draws);
  out += renyi_words(c);
  if (const auto& bought = c.schema_bought) {
    out += fmt::format(
        "The schema was bought with (ε, δ) = ({}, {}) of its own{}, certificate {}:\n{}.\n",
        text_up(bought->epsilon), text_up(bought->delta), bought->people_words(),
        shown(bought->certificate),
        adds_up(c) ? "whoever sees both has the sum of both guarantees, and a ledger adds them"
                   : "its neighbors, " + bought->neighbors_words() +
                         ", are others than here, so the two guarantees do not add up");
  }
  if (const auto& known = c.schema_public) {
    out += fmt::format(
        "Ranges, levels and typical values come from {} (SHA-256 {}),\nwhich the publisher says is "
        "public: the guarantee does not cover people in it.\n",
        shown(known->file), known->sha256);
  }
  const Budget budget{.epsilon = c.epsilon, .delta = c.delta};
  if (budget.delta_is_large(table_rows)) out += large_delta(c.delta) + "\n";
  out += fmt::format("Public, and so not protected: {}, the options, and the {} {:.10g}.\n", chosen,
                     c.people  ? replace ? "number of people," : "cap on the number of people,"
                     : replace ? "number of rows,"
                               : "cap on the number of rows,",
                     static_cast<double>(table_rows));
  out += fmt::format(
      "Not covered: anything else that leaves the curator's hands ({},\nrun time), and {} "
      "chosen by looking at the data. Another {} of the same people costs again.\n",
      evaluates || selects ? "other figures of these rows"
      : is_model           ? "screen output, accuracy on the private table"
                           : "screen output, memory",
      buys      ? "options"
      : selects ? "candidates or options"
                : "a schema or options",
      is_model ? std::string("model") : fmt::format("{} or model", what));
  return out;
}

// What a schema rests on that one budget paid for with its model.
std::string bought_words(const BoughtDefaults::Extra& of) {
  if (!of.bought) return "";
  return fmt::format(
      ", and on noise in {}counts of the cells of {} column{}, which the schema was bought with",
      of.bought->questions.rows_noise > 0 ? "what all rows count and in " : "", of.bought->columns,
      of.bought->columns == 1 ? "" : "s");
}

// Whose people a guarantee does not cover.
std::string public_words(const FamilyProblem& p) {
  if (!p.public_counts) return "";
  const PublicCounts& known = *p.public_counts;
  return fmt::format(
      "The prior counts {} row{} of {} (SHA-256 {}),\n{:.3g} each, which the publisher says {} "
      "public: the guarantee does not cover people in {}.\n",
      known.rows, known.rows == 1 ? "" : "s", shown(known.file), known.sha256, known.weight,
      known.rows == 1 ? "is" : "are", known.rows == 1 ? "it" : "them");
}

}  // namespace

std::string in_words(const Certificate& c) {
  std::string basis = basis_of(c.mechanism);
  if (c.problem.of_people()) {
    basis += fmt::format("; rows of one person count as at most {} together",
                         c.claimed.who.rows_per_person);
  } else if (c.problem.weighted || c.problem.loss != unweighted_name(c.problem.loss)) {
    basis += "; a row counts by its weight, at most as one row";
  }
  basis += bought_words(c);
  return words_of(c, best_guess_percent(c.claimed), c.problem.rows, basis,
                  c.bought ? "model and schema" : "model");
}

std::string in_words(const FamilyCertificate& c) {
  if (c.is_void()) return words_of(c, 100, c.problem.rows, "");
  // With a schema the best guess is that of both: what is known of draws alone is no bound on it.
  const double guess = c.bought ? best_guess_percent(c.claimed)
                                : best_guess_percent(c.mechanism, c.problem, c.claimed, c.draws);
  return words_of(c, guess, c.problem.rows, basis_of(c.mechanism, c.problem) + bought_words(c),
                  c.bought ? "model and schema" : "model") +
         public_words(c.problem);
}

std::string in_words(const NetworkCertificate& c) {
  if (c.is_void()) return words_of(c, 100, c.problem.rows, "");
  const Neighbors& who = c.claimed.who;
  const Analysis found = analysis_of(c);
  std::string basis = basis_of(c.mechanism, c.problem);
  const auto named = std::ranges::find_if(
      found.constants, [](const NamedNumber& n) { return n.name == "structure_mu"; });
  if (named != found.constants.end() && found.guarantee.mu > 0) {
    const double part = named->value / found.guarantee.mu;
    basis +=
        fmt::format(" (which take {:.3g} % of what is spent, as mu squared)", 100 * part * part);
  }
  if (!draws_tables(c.mechanism)) {
    const std::uint64_t k = who.rows_per_person;
    const std::string rows = k == 1 ? "one row" : fmt::format("{} rows", k);
    basis += c.problem.weighted
                 ? fmt::format("; what a person adds to each table counts as at most {}", rows)
             : who.adjacency == Adjacency::replace_one
                 ? fmt::format("; a person moves {} from one count to another in each table", rows)
                 : fmt::format("; a person adds {} to one count of each table", rows);
  }
  return words_of(c, best_guess_percent(c.claimed), c.problem.rows, basis + bought_words(c),
                  c.bought ? "model and schema" : "model");
}

std::string in_words(const EvaluationCertificate& c) {
  const std::string of_model =
      c.of_void
          ? "The model evaluated is void: what it tells of these rows, where it was fitted to "
            "some, is covered by nothing.\n"
          : "";
  if (c.is_void()) return words_of(c, 100, c.problem.rows, "", "evaluation") + of_model;
  const Neighbors& who = c.claimed.who;
  const std::uint64_t k = who.rows_per_person;
  const bool replaced = who.adjacency == Adjacency::replace_one;
  const std::string moved =
      k == 1 ? fmt::format("; a person {}",
                           replaced ? "moves one row from one to another" : "adds one row to one")
             : fmt::format("; a person {} up to {} rows, {}", replaced ? "moves" : "adds", k,
                           replaced ? "between any counts" : "to any counts");
  return words_of(c, best_guess_percent(c.claimed), c.problem.rows,
                  basis_of(c.mechanism, c.problem) + moved, "evaluation") +
         of_model;
}

std::string in_words(const SchemaCertificate& c) {
  return words_of(c, c.is_void() ? 100 : best_guess_percent(c.claimed), c.problem.rows,
                  basis_of(c.mechanism, c.problem), "schema");
}

std::string in_words(const CovarianceCertificate& c) {
  return words_of(c, c.is_void() ? 100 : best_guess_percent(c.claimed), c.problem.rows,
                  basis_of(c.mechanism, c.problem), "covariance");
}

// The best guess is that of the range, whose total variation is known.
std::string in_words(const SelectCertificate& c) {
  if (c.is_void()) return words_of(c, 100, c.problem.rows, "", "selection");
  const Guarantee cover = select_cover_up(c.mechanism, c.problem, c.claimed.who);
  return words_of(c, best_guess_percent(cover), c.problem.rows, basis_of(c.mechanism, c.problem),
                  "selection");
}

std::string in_words(const nlohmann::json& certificate) {
  const nlohmann::json& guarantee = field(certificate, "guarantee", "certificate");
  const bool is_other = is_of<EvaluationKind>(certificate) || is_of<SchemaKind>(certificate) ||
                        is_of<SelectKind>(certificate) || is_of<CovarianceKind>(certificate);
  if (guarantee.is_object() && guarantee.contains("void") && !is_other) {
    return void_in_words(text_field(guarantee, "reason", "certificate"));
  }
  return with_kind(certificate, [&]<class Kind>(std::type_identity<Kind>) {
    return in_words(certificate_from_json<Kind>(certificate));
  });
}

}  // namespace gibbsite
