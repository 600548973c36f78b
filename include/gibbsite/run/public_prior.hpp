#pragma once
// Public rows as part of a family's prior (docs/theory/public-prior.md).
#include <optional>
#include <string>

#include "gibbsite/core/family_problem.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// One column of a public table, and the record of its file.
struct PublicColumn {
  Dataset data;
  PublicTable table;
};

/// Reads a public file by a schema, without a cache. Throws BadInput as read_table does, in words
/// that call no cell private.
Dataset read_public_rows(const std::string& public_path, const Schema& schema);

/// Reads the column of a public file. Throws BadInput as read_table does, on a file that changes
/// meanwhile, and where it is byte for byte the private one ("" names none).
PublicColumn read_public_column(const std::string& public_path, const std::string& private_path,
                                const Schema& column);

/// What a public row counts unless somebody says so: 1, or less where there are more of them than
/// private ones, so that they count no more together. Both numbers are public under replace-one.
double default_public_weight(std::uint64_t private_rows, std::uint64_t public_rows);

/// The pseudo-counts that those rows add to the prior of `problem`, each row counted `weight` times
/// (a power prior, Ibrahim and Chen 2000). No private row is read. `of` is the record of their
/// table; none: they are a frame's, whose digest is that of the counts of whole rows. Throws
/// BadInput on a weight that is not in (0, 1], and where the column is not the problem's.
PublicCounts public_counts(const Dataset& rows, const FamilyProblem& problem,
                           std::optional<double> weight = {},
                           const std::optional<PublicTable>& of = {});

}  // namespace gibbsite
