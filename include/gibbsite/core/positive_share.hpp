#pragma once
// How many rows are of the positive class, as a person knows it without the table.
#include <string>

namespace gibbsite {

/// Public bounds on the share of the rows that are of the positive class. It is no part of a
/// Problem, so no plan depends on it: it chooses what people are told of a plan, and no noise.
struct PositiveShare {
  double low = 0.5, high = 0.5;  ///< 0 < low <= high < 1

  bool operator==(const PositiveShare&) const = default;
};

/// What is wrong with the bounds, for people: "must be ..., got ...; ...". Empty if nothing is.
std::string fault_of(const PositiveShare& share);

/// Throws BadInput "NAME: ..." unless 0 < low <= high < 1.
void require_positive_share(const PositiveShare& share, const std::string& name);

/// The smallest evenness within the bounds: 4 share (1 - share), in (0, 1]; it is 1 for classes of
/// equal size. A row of such a table says this part of what a row of even classes says.
double least_evenness(const PositiveShare& share);

}  // namespace gibbsite
