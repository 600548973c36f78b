#pragma once
// The column of a family by a bought schema. It follows from released answers and public numbers
// alone (docs/theory/bought-schema.md).
#include "gibbsite/core/family_problem.hpp"
#include "gibbsite/model/bought_schema.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// The schema of the answers' one column for a family. Of levels: those that were released, at most
/// as many as a family has, and "(other)"; of bernoulli the most frequent one alone. Of numbers: a
/// range that the family takes, found or 0 to 1, with `center` within where the family has one; a
/// rate's is from 0, and waiting's from a hundredth of the highest on where less was found.
/// Throws BadInput on a column of dates, and where no text was released that could be a level.
Schema bought_family_schema(const BoughtSchema& answers, Family family, double center = 0);

}  // namespace gibbsite
