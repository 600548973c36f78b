#pragma once
// A model of a warp's double matrix instruction (kernels/double_unit.hpp): lanes hand in their
// registers, meet, and each makes its elements of D from what the maps of that header say. Lanes
// that meet do not order shared memory, as on a GPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/double_unit.hpp"
#include "support/emulator.hpp"

namespace gibbsite::support {

/// How the four products of an element are added: PTX promises no order, so tests try several.
enum class DoubleOrder {
  ascending,   ///< fused, k = 0, 1, 2, 3: what a GPU is thought to do
  descending,  ///< fused, k = 3, 2, 1, 0
  by_pairs,    ///< rounded products, (0 + 1) + (2 + 3), then D
};
inline thread_local DoubleOrder double_order = DoubleOrder::ascending;

namespace emulator {

struct DoubleUnitModel {
  struct Registers {
    double a[2], b;
  };
  // Two sets a warp in turn: a warp is at most one instruction ahead of its slowest lane.
  std::vector<std::array<std::array<Registers, kernels::warp_size>, 2>> warps;
  std::vector<unsigned> calls;  // of a thread
};

inline void multiply_double(EmulatedBlock& block, double (&d)[4], const double (&a)[2], double b) {
  auto& model = block.hardware<DoubleUnitModel>();
  if (model.calls.empty()) {
    model.calls.resize(block.threads());
    model.warps.resize(block.threads() / kernels::warp_size);
  }
  const auto set = model.calls[block.thread()]++ % 2;
  auto& lanes = model.warps[block.warp()][set];
  lanes[block.lane()] = {{a[0], a[1]}, b};
  block.meet_lanes();

  double full_a[kernels::double_rows][kernels::double_inner];
  double full_b[kernels::double_inner][kernels::double_columns];
  for (unsigned lane = 0; lane < kernels::warp_size; ++lane) {
    for (unsigned r = 0; r < 2; ++r) {
      full_a[kernels::double_a_row(lane, r)][kernels::double_a_column(lane)] = lanes[lane].a[r];
    }
    full_b[kernels::double_b_row(lane)][kernels::double_b_column(lane)] = lanes[lane].b;
  }
  for (unsigned r = 0; r < 4; ++r) {
    const double* const x = full_a[kernels::double_d_row(block.lane(), r)];
    const unsigned column = kernels::double_d_column(block.lane(), r);
    const auto fused = [&](unsigned k) { d[r] = std::fma(x[k], full_b[k][column], d[r]); };
    const auto product = [&](unsigned k) { return x[k] * full_b[k][column]; };
    switch (double_order) {
      case DoubleOrder::ascending:
        for (unsigned k = 0; k < kernels::double_inner; ++k) fused(k);
        break;
      case DoubleOrder::descending:
        for (unsigned k = kernels::double_inner; k-- > 0;) fused(k);
        break;
      case DoubleOrder::by_pairs:
        d[r] += (product(0) + product(1)) + (product(2) + product(3));
        break;
    }
  }
}

}  // namespace emulator
}  // namespace gibbsite::support
