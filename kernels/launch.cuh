#pragma once
// Defines `launch` for one family; included last by kernels/NAME.cu.
#include "kernels/block.cuh"
#include "kernels/launch.hpp"

namespace gibbsite::kernels {

template <class Params>
void launch(const Params& params, CUstream_st* stream) {
  with_body(params,
            [&]<class Body>() { launch_body<Body>(Body::shape(params), params, stream); });
}

template <class Params>
std::size_t blocks_at_once(const Params& params) {
  std::size_t blocks = 0;
  with_body(params, [&]<class Body>() { blocks = occupancy<Body>(Body::shape(params)); });
  return blocks;
}

}  // namespace gibbsite::kernels

#define GIBBSITE_LAUNCH(PARAMS)                                                         \
  template void gibbsite::kernels::launch<gibbsite::kernels::PARAMS>(                   \
      const gibbsite::kernels::PARAMS&, CUstream_st*);
#define GIBBSITE_BLOCKS_AT_ONCE(PARAMS)                                                    \
  template std::size_t gibbsite::kernels::blocks_at_once<gibbsite::kernels::PARAMS>(       \
      const gibbsite::kernels::PARAMS&);
