#include "engine/cpu/packed_chains.hpp"

#include <algorithm>

#include "engine/cpu/kernels.hpp"
#include "engine/cpu/noise.hpp"

namespace gibbsite::cpu {

template <class T>
PackedChains<T>::PackedChains(const Work& work)
    : layout_(lay_out<T>(work)),
      features_(work.features),
      outputs_(work.outputs),
      sparse_(work.sparse),
      theta_(layout_.all),
      center_(layout_.few ? 0 : layout_.all),
      gradient_row_(outputs_ * features_),
      noise_(outputs_ * features_),
      words_(features_ + features_ % 2) {
  if (layout_.few || single) packed_ = Aligned<T>(layout_.all);
}

template <class T>
const T* PackedChains<T>::theta(const Group& group) const {
  if constexpr (!single) {
    if (in_place(group)) return theta_.data() + group.offset;
  }
  return packed_.data() + group.offset;
}

template <class T>
void PackedChains<T>::round(const Group& group) {
  if (in_place(group)) return;
  if (group.panels.empty()) {
    for (std::size_t a = 0; a < group.chains.size(); ++a) round(a);
  } else {
    std::transform(theta_.data() + group.offset, theta_.data() + group.offset + group.size,
                   packed_.data() + group.offset, [](double v) { return static_cast<T>(v); });
  }
}

template <class T>
void PackedChains<T>::round(std::size_t a) {
  const std::span<const double> from(theta_.data() + a * features_, features_);
  T* const to = packed_.data() + a * layout_.packed_size;
  if (sparse_) {
    std::ranges::transform(from, to, [](double v) { return static_cast<T>(v); });
  } else {
    pack<T>(from, to);
  }
}

template <class T>
void PackedChains<T>::unpack_sums(const double* sums, std::span<double> gradient) const {
  if (sparse_) {
    std::copy_n(sums, features_, gradient.begin());
  } else {
    unpack<T>(sums, gradient);
  }
}

template <class T>
void PackedChains<T>::set_moves(const Ensemble& ensemble, std::span<const std::size_t> active) {
  active_ = active;
  const auto centered = [&](std::size_t c) { return !ensemble.specs[c].center.empty(); };
  centered_ = std::ranges::any_of(active_, centered);
  for (Group& group : layout_.groups) {
    for (Panel& panel : group.panels) {
      panel.moves.clear();
      double* const center = center_.data() + group.offset + panel.offset;
      if (centered_) std::fill_n(center, panel.width * features_, 0.0);
      for (std::size_t lane = 0; lane < panel.chains.size(); ++lane) {
        const std::size_t a = panel.chains.first + lane, output = a % outputs_;
        const std::size_t c = active_[a / outputs_];
        const std::uint32_t stream = output_stream(ensemble.specs[c].stream, outputs_, output);
        panel.moves.set(lane, ensemble.specs[c], ensemble.step[c], stream);
        if (!centered(c)) continue;
        for (std::size_t j = 0; j < features_; ++j) {
          center[j * panel.width + lane] = ensemble.specs[c].center[output * features_ + j];
        }
      }
    }
  }
}

template <class T>
void PackedChains<T>::update(const Ensemble& ensemble, const Group& group, const double* sums,
                             std::uint64_t k, std::size_t p, std::size_t parts) {
  const std::size_t d = features_;
  for (const Panel& panel : group.panels) {
    const std::size_t at = group.offset + panel.offset;
    const std::size_t n_blocks = (d + block_coordinates - 1) / block_coordinates;
    const Range range = part(n_blocks, p, parts);
    float* rounded = nullptr;
    if constexpr (single) rounded = packed_.data() + at;
    langevin_panel({.blocks = {&panel.moves, k, d, range.first, range.last},
                    .gradient = sums + panel.offset,
                    .center = centered_ ? center_.data() + at : nullptr,
                    .theta = theta_.data() + at,
                    .rounded = rounded});
  }
  if (!group.panels.empty()) return;
  for (std::size_t a = 0; a < group.chains.size(); a += outputs_) {
    for (std::size_t output = 0; output < outputs_; ++output) {
      unpack_sums(sums + (a + output) * layout_.packed_size,
                  std::span(gradient_row_).subspan(output * d, d));
    }
    move(ensemble, a, k);
  }
}

template <class T>
void PackedChains<T>::move(const Ensemble& ensemble, std::size_t a, std::uint64_t k) {
  const std::size_t d = features_, c = active_[a / outputs_];
  const ChainSpec& spec = ensemble.specs[c];
  for (std::size_t output = 0; output < outputs_; ++output) {
    fill_words(spec.key, output_stream(spec.stream, outputs_, output), ensemble.step[c] + k,
               words_);
    normals(words_, std::span(noise_).subspan(output * d, d));
  }
  langevin_update(spec, gradient_row_, noise_, {theta_.data() + a * d, outputs_ * d});
  for (std::size_t output = 0; output < outputs_; ++output) round(a + output);
}

template class PackedChains<float>;
template class PackedChains<double>;

}  // namespace gibbsite::cpu
