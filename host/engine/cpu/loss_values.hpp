#pragma once
#include <vector>

#include "engine/cpu/table.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite::cpu {

/// [blocks x C] sum_i f(x_i . theta_c, y_i) of each block, in double. Reads X from memory once: a
/// block stays in cache for all chains, few_chains at a time.
std::vector<double> loss_terms(const Table& table, ThreadPool& pool, const LossChoice& loss,
                               MatrixView<const double> theta);

}  // namespace gibbsite::cpu
