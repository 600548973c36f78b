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

}  // namespace gibbsite::kernels

#define GIBBSITE_LAUNCH(PARAMS)                                                         \
  template void gibbsite::kernels::launch<gibbsite::kernels::PARAMS>(                   \
      const gibbsite::kernels::PARAMS&, CUstream_st*);
