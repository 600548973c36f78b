#pragma once
// The columns of a network by a bought schema: what its answers say of bins. It follows from
// released answers and public numbers alone (docs/theory/bought-schema.md).
#include "gibbsite/model/bought_schema.hpp"

namespace gibbsite {

/// How narrow a bin of whole numbers may be: one number, or a thousandth of the range (files that
/// were written before).
enum class WholeBins { of_one, of_a_thousandth };

/// The schema of a network (network_schema) that follows from the answers, legal whatever they say:
/// at least one column, at most most_network_columns of at most most_network_levels levels. Numbers
/// have about default_bins bins whose edges lie at noisy quantiles of the last question about their
/// range, whole numbers as far as the levels say so (`decimals` = 0). Dates are left out. A column
/// that is nearly constant has one level. If no column can be used, the first one that was asked
/// about is a number from 0 to 1. The answers have no label.
Schema bought_network_schema(const BoughtSchema& answers, WholeBins rule = WholeBins::of_one);

}  // namespace gibbsite
