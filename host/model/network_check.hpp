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
/// Of the columns that are not ignored, and the label: unknown names, a column that is its own
/// parent or has one twice, cycles. Of a schema without [network] none.
std::vector<NetworkFault> network_faults(const Schema& schema);

}  // namespace gibbsite
