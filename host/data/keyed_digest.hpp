#pragma once
// BLAKE2b-256 of a table, keyed.
#include <span>
#include <string>
#include <string_view>

#include "gibbsite/data/dataset.hpp"
#include "gibbsite/machine/communicator.hpp"

namespace gibbsite {

/// 32 bytes, keyed: of a text, then of rows, labels, weights and whose rows they are, the same in
/// memory and in files.
std::string keyed_digest(std::span<const unsigned char> key, std::string_view text,
                         const Dataset& data);
/// The digest, on all ranks, of rows that lie on these ranks one after another: the text of rank 0;
/// the state of the hash goes from rank to rank.
std::string keyed_digest(std::span<const unsigned char> key, std::string_view text,
                         const Dataset& data, Communicator& ranks);

}  // namespace gibbsite
