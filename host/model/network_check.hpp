#pragma once
// What is wrong with a schema's [network].
#include <string>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

struct NetworkFault {
  std::string node;  ///< whose parents
  std::string message;
};
/// Faults of [network] among the label and the columns that are not ignored: unknown names, a
/// column that is its own parent or has one twice, cycles. Empty for a schema without [network].
std::vector<NetworkFault> network_faults(const Schema& schema);

}  // namespace gibbsite
