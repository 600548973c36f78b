#pragma once
#include <memory>

#include "gibbsite/machine/device_ranks.hpp"
#include "machine/nccl_plugin.hpp"

namespace gibbsite {

/// Opens that library; null if it is not there. `make_device_ranks` finds it first.
std::unique_ptr<DeviceRanks> open_device_ranks(Communicator& ranks,
                                               const gibbsite_nccl_functions_2* library);

}  // namespace gibbsite
