#pragma once
// What a run of chains keeps on the GPU besides X.
#include "engine/cuda/arena.hpp"
#include "engine/cuda/source.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite::cuda {

struct Work {
  View<float> labels;            ///< [n]
  View<double> theta, gradient;  ///< [C x d]
  View<double> normals;          ///< [C x d], an even number of them: cuRAND's
  View<double> centers;          ///< [C x d]
  View<kernels::Chain> chain;    ///< [C]
  View<std::uint64_t> clock;     ///< [1]
  View<double> sums;             ///< [chunks x C x d], streamed runs
  View<std::byte> partials;      ///< of one chunk
  View<std::byte> scratch;       ///< the source's
  View<double> values;           ///< [leaves x C], loss values

  static Work in(Parts& parts, const Shape& s, const GradientSource& source, std::size_t chunk_rows,
                 std::size_t chunks, bool library_noise) {
    Work w;
    const std::size_t cells = s.chains * s.features;
    w.labels = parts.take<float>(s.rows + 4);
    w.theta = parts.take<double>(cells);
    w.gradient = parts.take<double>(cells);
    w.normals = parts.take<double>(library_noise ? kernels::round_up_to(cells, 2) : 0);
    w.centers = parts.take<double>(cells);
    w.chain = parts.take<kernels::Chain>(s.chains);
    w.clock = parts.take<std::uint64_t>(1);
    w.sums = parts.take<double>(chunks > 1 ? chunks * cells : 0);
    w.partials = parts.take<std::byte>(source.partials(chunk_rows) * cells *
                                       (source.single_partials() ? sizeof(float) : sizeof(double)));
    w.scratch = parts.take<std::byte>(source.scratch_bytes(chunk_rows));
    w.values = parts.take<double>(kernels::ceil_div(chunk_rows, row_block) * s.chains);
    return w;
  }

  /// The last kernel of a step over `count` partials, floats where `single`: into `into`, or
  /// moving the chains when that is empty.
  [[nodiscard]] kernels::Finish finish(const Shape& s, std::size_t count, bool single,
                                       View<double> into) const {
    const std::size_t cells = count * s.chains * s.features;
    return {.partials = {reinterpret_cast<const double*>(partials.data), single ? 0 : cells},
            .partials_single = {reinterpret_cast<const float*>(partials.data), single ? cells : 0},
            .count = count,
            .chains = s.chains,
            .features = s.features,
            .gradient = into,
            .theta = theta,
            .chain = chain,
            .centers = centers,
            .clock = clock,
            .normals = normals};
  }
};

/// What is there besides where the rows are one of several ranks' shares (kernels/shares.hpp).
struct Exchange {
  View<double> packet;          ///< [cells + 1], cells = C x d
  View<double> packets;         ///< [ranks x (cells + 1)]
  View<double> total;           ///< [cells]
  View<std::uint64_t> strange;  ///< [1]

  static Exchange in(Parts& parts, const Shape& s, std::size_t ranks) {
    if (ranks <= 1) return {};
    const std::size_t cells = s.chains * s.features;
    Exchange e;
    e.packet = parts.take<double>(cells + 1);
    e.packets = parts.take<double>(ranks * (cells + 1));
    e.total = parts.take<double>(cells);
    e.strange = parts.take<std::uint64_t>(1);
    return e;
  }
};

}  // namespace gibbsite::cuda
