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

/// What is wrong with it, for people: "must be ..., got ...; ..."; empty where nothing is.
std::string fault_of(const PositiveShare& share);

/// Throws BadInput "NAME: ..." unless 0 < low <= high < 1.
void require_positive_share(const PositiveShare& share, const std::string& name);

/// 4 share (1 - share) at the end of the bounds where it is least, in (0, 1]: 1 where classes are
/// of like size. A row's label tells that much as one of such a table does.
double least_evenness(const PositiveShare& share);

}  // namespace gibbsite
