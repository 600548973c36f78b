#include "gibbsite/run/public_prior.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/family_model.hpp"
#include "gibbsite/run/public_schema.hpp"
#include "run/family_run.hpp"

namespace gibbsite {
namespace {

// In the order of FamilyProblem::prior, of rows that count w times: what they add to the numbers of
// the conjugate prior (docs/theory/conjugate.md, "The families").
std::vector<double> counts_of(const FamilyStatistic& found, const FamilyProblem& p, double rows,
                              double w) {
  if (p.has_levels()) {
    std::vector<double> out;
    for (const std::uint64_t count : found.sums) out.push_back(w * static_cast<double>(count));
    return out;
  }
  const auto [least, most] = p.values();
  const double units = static_cast<double>(found.sums[0]) / found.scale;
  const double sum = rows * least + (most - least) * units;
  switch (p.family) {
    case Family::rate:
      return {w * sum, w * rows};
    case Family::bounded_mean:
      return {w * units, w * (rows - units)};
    case Family::mean:
      return {w * rows / p.variance, std::clamp(sum / rows, p.lo, p.hi)};
    default:
      return {w * p.records() * rows, w * p.records() * sum};
  }
}

// The digest of their shortest digits, a line each.
std::string sha256_of_counts(const std::vector<double>& counts) {
  return sha256_of_text(fmt::format("{}\n", fmt::join(counts, "\n")));
}

// What the reader says of a cell of a private table, without that it is private.
Message not_private(const Message& message) {
  Message out;
  for (Message::Piece piece : message.pieces()) {
    const auto begin = piece.text.rfind(" (private: ");
    if (piece.kind == Message::Kind::text && begin != std::string::npos &&
        piece.text.ends_with(')'))
      piece.text.erase(begin);
    out.append(std::move(piece));
  }
  return out;
}

}  // namespace

Dataset read_public_rows(const std::string& public_path, const Schema& schema) {
  ReadOptions options;
  options.cache = ReadOptions::Cache::never;
  options.ignore_extra_columns = true;
  if (!has_label(schema)) options.labels = ReadOptions::Labels::optional;
  try {
    return read_table(public_path, schema, options);
  } catch (const BadInput& error) {
    throw BadInput(error.about().empty() ? error.about() : error.about() + " (the public table)",
                   not_private(error.wrong()), not_private(error.hint()));
  }
}

PublicColumn read_public_column(const std::string& public_path, const std::string& private_path,
                                const Schema& column) {
  PublicColumn out{.data = {}, .table = public_table_of_file(public_path, private_path)};
  out.data = read_public_rows(public_path, column);
  require_unchanged(public_path, out.table);
  out.table.rows = out.data.rows();
  return out;
}

double default_public_weight(std::uint64_t private_rows, std::uint64_t public_rows) {
  return std::min(1.0, static_cast<double>(private_rows) / static_cast<double>(public_rows));
}

PublicCounts public_counts(const Dataset& rows, const FamilyProblem& problem,
                           std::optional<double> weight, const std::optional<PublicTable>& of) {
  FamilyProblem of_public = problem;
  of_public.rows = rows.rows();
  require_planned_family(rows, of_public);
  const FamilyStatistic found = family_statistic(rows, of_public);
  const auto n = static_cast<double>(of_public.rows);
  PublicCounts out{.weight = weight.value_or(default_public_weight(problem.rows, of_public.rows)),
                   .file = of ? of->file : "frame",
                   .sha256 = of ? of->sha256 : sha256_of_counts(counts_of(found, of_public, n, 1)),
                   .rows = of_public.rows};
  out.counts = counts_of(found, of_public, n, out.weight);
  of_public.public_counts = out;
  of_public.validate();
  return out;
}

}  // namespace gibbsite
