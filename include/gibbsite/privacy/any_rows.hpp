#pragma once
// A ledger's neighbors where the unit is a person, whatever rows they have.
#include <cstdint>

#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// k of neighbors that differ in all rows of one person, any number of them. Only ledgers have it:
/// weights hold such a person to k rows, and the price of a release is of that k already.
inline constexpr std::uint64_t any_rows = ~std::uint64_t{0};

inline bool of_people(const Neighbors& who) { return who.rows_per_person == any_rows; }

}  // namespace gibbsite
