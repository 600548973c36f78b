#pragma once
// People whose rows lie on several ranks: places that all ranks share, from hashes of ids that they
// exchange (docs/theory/row-weights.md, "Ranks").
#include <cstdint>
#include <optional>
#include <span>

#include "data/person_ids.hpp"
#include "gibbsite/machine/communicator.hpp"

namespace gibbsite {

/// Makes a table of ids of one key on all ranks: rank 0 draws it from the operating system.
/// Collective.
void make_shared_ids(std::optional<PersonIds>& ids, Communicator& ranks);

/// Replaces the places of this rank's rows [n], which are those of `ids`, by places among the
/// people of all ranks: from 0 in the order in which they come in the table, where ranks' rows
/// follow one another. Hashes of ids are partitioned among ranks, and each rank finds which of
/// those that it is sent are one person's. `rows`: how many all ranks have. Collective; throws
/// BadInput on all ranks if one of them is sent what no rank of this program sends.
void number_people(std::span<std::uint32_t> person, const PersonIds& ids, std::uint64_t rows,
                   Communicator& ranks);

/// Sets how many numbers all ranks send at once at most, for tests of several turns; returns what
/// it was.
std::size_t set_most_sent(std::size_t numbers);

}  // namespace gibbsite
