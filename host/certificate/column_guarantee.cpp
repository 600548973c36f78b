#include "gibbsite/certificate/column_guarantee.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "certificate/model_json.hpp"
#include "certificate/release_of.hpp"
#include "core/format_message.hpp"
#include "gibbsite/core/rounded_text.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/mechanism/column_change.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

// The columns of that name, or of those cells, and all that read the same cells.
std::vector<std::uint32_t> columns_of(std::span<const Column> all, const std::string& name) {
  const auto named =
      std::ranges::find_if(all, [&](const Column& column) { return column.name == name; });
  const std::string cells = named == all.end() ? name : named->cell_name();
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (all[i].cell_name() == cells) out.push_back(i);
  if (!out.empty()) return out;
  std::vector<std::string> names;
  for (const Column& column : all) names.push_back(gibbsite::quoted(column.name));
  constexpr std::size_t shown_names = 8;
  const bool cut = names.size() > shown_names;
  if (cut) names.resize(shown_names);
  throw BadInput(
      Field{"column"},
      fmt::format("the release has no column {} that is counted", gibbsite::quoted(name)),
      fmt::format("give one of {}{}", fmt::join(names, ", "), cut ? ", ..." : ""));
}

void require_no_counting(const Schema& schema, const std::string& name) {
  for (const Column* column : {schema.weight(), schema.person()}) {
    if (column == nullptr || column->name != name) continue;
    throw BadInput(
        Field{"column"},
        fmt::format("{} says how rows count, so every table depends on it", gibbsite::quoted(name)),
        "read the certificate's own guarantee");
  }
}

ColumnPrice price_in(const NetworkRelease& release, std::span<const std::uint32_t> columns,
                     const std::optional<double>& moves_by) {
  const NetworkCertificate& c = release.certificate();
  if (moves_by) {
    throw BadInput(Field{"moves_by"},
                   "columns of a network are counted by levels, and the smallest move may lead to "
                   "another one",
                   "leave it out");
  }
  return column_price(c.mechanism, c.problem, c.claimed, c.draws, columns);
}

ColumnPrice price_in(const CovarianceRelease& release, std::span<const std::uint32_t> columns,
                     const std::optional<double>& moves_by) {
  const CovarianceCertificate& c = release.certificate();
  if (columns.size() > 1) {
    throw BadInput(Field{"column"}, "several columns of the release read the same cells",
                   "read the certificate's own guarantee");
  }
  const Column& column = release.model().schema.columns[columns.front()];
  const double part = moves_by ? std::min(1.0, *moves_by / (column.hi - column.lo)) : 1;
  return column_price(c.mechanism, c.problem, c.claimed, part);
}

ColumnPrice price_in(const FamilyRelease& release, std::span<const std::uint32_t> /*columns*/,
                     const std::optional<double>& moves_by) {
  const FamilyCertificate& c = release.certificate();
  if (!moves_by) return {c.claimed};
  return column_price(c.mechanism, c.problem, c.claimed, c.draws, *moves_by);
}

std::span<const Column> counted_columns(const NetworkModel& model) {
  return node_columns(model.schema);
}
std::span<const Column> counted_columns(const auto& model) { return model.schema.columns; }

template <class Kind>
ColumnGuarantee guarantee_in(const json& file, const std::string& name,
                             const std::optional<double>& moves_by) {
  const ReleaseOf<Kind> release = release_from_json<Kind>(file, "file");
  const CertificateOf<Kind>& c = release.certificate();
  if constexpr (requires { c.bought; }) {
    if (c.bought)
      throw BadInput(Field{"column"}, "the same budget bought the schema from the column's cells",
                     "read the certificate's own guarantee");
  }
  require_no_counting(release.model().schema, name);
  if (moves_by) require_finite_positive(*moves_by, Field{"moves_by"});
  const std::vector<std::uint32_t> columns = columns_of(counted_columns(release.model()), name);
  const ColumnPrice price = price_in(release, columns, moves_by);
  ColumnGuarantee out{.column = name, .moves_by = moves_by, .who = c.claimed.who};
  out.delta = c.delta;
  out.epsilon = column_epsilon_up(price, c.delta);
  out.mu = price.delta || price.guarantee.delta0 > 0 ? std::numeric_limits<double>::quiet_NaN()
                                                     : price.guarantee.mu;
  out.guess_percent = column_guess_percent(price);
  if constexpr (std::is_same_v<Kind, ConjugateKind>) {
    out.guess_percent =
        std::min(out.guess_percent, best_guess_percent(c.mechanism, c.problem, c.claimed, c.draws));
  }
  // A person who is replaced covers every column; one who is added does not.
  if (c.claimed.who.adjacency == Adjacency::replace_one && !(out.epsilon < c.epsilon)) {
    out.is_whole = true;
    out.epsilon = c.epsilon;
  }
  return out;
}

template <class Kind>
constexpr bool has_column_guarantee =
    std::is_same_v<Kind, GraphicalKind> || std::is_same_v<Kind, CovarianceKind> ||
    std::is_same_v<Kind, ConjugateKind>;

}  // namespace

ColumnGuarantee column_guarantee(const json& file, const std::string& column,
                                 const std::optional<double>& moves_by) {
  const json& certificate = field(file, "certificate", "file");
  return with_kind(certificate, [&]<class Kind>(std::type_identity<Kind>) -> ColumnGuarantee {
    if constexpr (!has_column_guarantee<Kind>) {
      throw BadInput(Field{"column"},
                     fmt::format("{} has no guarantee of one column: each of its numbers depends "
                                 "on whole rows",
                                 Kind::holds),
                     "ask of a network, a table of counts, covariances or draws of a family");
    } else {
      const json& guarantee = field(certificate, "guarantee", "certificate");
      if (guarantee.is_object() && guarantee.contains("void"))
        throw BadInput(Field{"column"}, "the release is void and guarantees nothing",
                       "run it again without a seed");
      return guarantee_in<Kind>(file, column, moves_by);
    }
  });
}

std::string in_words(const ColumnGuarantee& of) {
  std::string out = fmt::format("Of the column {} alone", shown(of.column));
  if (of.moves_by) out += fmt::format(", for values at most {} apart", text_up(*of.moves_by));
  out += fmt::format(
      ": (ε, δ) = ({}, {}){}.\nSomebody who knows every other row and all else of a person, asked "
      "which of two values the person has there,\nis right at most {:.1f} % of the time, at even "
      "odds.\n",
      std::isfinite(of.epsilon) ? text_up(of.epsilon) : "none", text_up(of.delta),
      std::isfinite(of.mu) ? fmt::format(", μ = {}", text_up(of.mu)) : "", of.guess_percent);
  if (of.is_whole) out += "No theorem has a smaller number than the certificate's own here.\n";
  out +=
      "This is a weaker unit, not a stronger guarantee: all columns of a person together may tell as "
      "much as the certificate says.\nIt is derived from the certificate; nothing was run again, and a "
      "ledger counts the certificate's own.\n";
  return out;
}

}  // namespace gibbsite
