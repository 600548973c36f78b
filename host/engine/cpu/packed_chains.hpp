#pragma once
// Chains as the kernels read them and as the update writes them, group after group of a layout.
#include <span>
#include <vector>

#include "engine/cpu/layout.hpp"
#include "engine/cpu/pairwise.hpp"
#include "gibbsite/engine/ensemble.hpp"

namespace gibbsite::cpu {

/// For gradients in T: float or double. Chains are a layout's, but for the ensemble's.
template <class T>
class PackedChains {
 public:
  PackedChains() = default;
  /// Allocates everything that a step needs.
  explicit PackedChains(const Work& work);

  [[nodiscard]] const Layout& layout() const { return layout_; }

  /// theta of a group <- row(a) [d] of its chains, a their number in the layout.
  template <class Row>
  void put(const Group& group, const Row& row) {
    group.put(features_, theta_.data() + group.offset, row);
    round(group);
  }
  /// row(a) [d] <- theta of a group.
  template <class Row>
  void take(const Group& group, const Row& row) const {
    group.take(features_, theta_.data() + group.offset, row);
  }
  /// row(a) [d] <- sums [group.size] of gradients.
  template <class Row>
  void take_sums(const Group& group, const double* sums, const Row& row) const {
    if (!group.panels.empty()) return group.take(features_, sums, row);
    for (std::size_t a = 0; a < layout_.chains; ++a) {
      unpack_sums(sums + a * layout_.packed_size, row(a));
    }
  }
  /// theta [group.size] of a group as the kernels read it.
  [[nodiscard]] const T* theta(const Group& group) const;

  /// Chain a is from now on output a mod K of the ensemble's chain active[a / K], which is to live
  /// as long, and moves as that.
  void set_moves(const Ensemble& ensemble, std::span<const std::size_t> active);
  /// theta <- theta - h (beta g + m (theta - theta0)) + sqrt(2h) xi: step k since `set_moves` of
  /// part p of `parts` of a group, whose sums of gradients these are. Parts are coordinates of
  /// panels; few chains have one.
  void update(const Ensemble& ensemble, const Group& group, const double* sums, std::uint64_t k,
              std::size_t p, std::size_t parts);
  /// The first step since `set_moves`, by gradients row(a) [d].
  template <class Row>
  void update_by(const Ensemble& ensemble, const Group& group, const Row& row) {
    if (group.panels.empty()) {
      for (std::size_t a = 0; a < group.chains.size(); a += outputs_) {
        for (std::size_t k = 0; k < outputs_; ++k) {
          std::ranges::copy(row(a + k), gradient_row_.data() + k * features_);
        }
        move(ensemble, a, 0);
      }
      return;
    }
    rows_.resize(group.size);
    group.put(features_, rows_.data(), row);
    update(ensemble, group, rows_.data(), 0, 0, 1);
  }

 private:
  static constexpr bool single = sizeof(T) == sizeof(float);

  // Whether the kernels read theta where the update writes it.
  [[nodiscard]] static bool in_place(const Group& group) {
    return !single && !group.panels.empty();
  }
  void round(const Group& group);
  void round(std::size_t a);  // of one chain among few
  // Step k of the outputs from a on of a chain among few, by gradient_row_.
  void move(const Ensemble& ensemble, std::size_t a, std::uint64_t k);
  void unpack_sums(const double* sums, std::span<double> gradient) const;

  Layout layout_;
  std::size_t features_ = 0, outputs_ = 1;
  bool sparse_ = false;
  // Group after group: [C x d] of few chains, panels [d x width] of many.
  Aligned<double> theta_, center_;
  Aligned<T> packed_;  // theta_ as the kernels read it, where that is another thing
  std::span<const std::size_t> active_;       // places in the ensemble
  bool centered_ = false;                     // some of them not at 0
  std::vector<double> gradient_row_, noise_;  // few chains: [K x d]
  std::vector<std::uint64_t> words_;          // few chains: of the noise, an even number
  std::vector<double> rows_;                  // of update_by: [size] of a group
};

}  // namespace gibbsite::cpu
