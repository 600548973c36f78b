#pragma once
#include "core/crew.hpp"
#include "engine/cpu/table.hpp"

namespace gibbsite::cpu {

/// out[c] = sum_i f(x_i . theta_c, y_i) in double. Reads X from memory once: a block stays in cache
/// for all chains, few_chains at a time.
void loss_values(const Table& table, Crew& crew, const LossChoice& loss,
                 MatrixView<const double> theta, std::span<double> out);

}  // namespace gibbsite::cpu
