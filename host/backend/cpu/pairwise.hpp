#pragma once
// Sums of block vectors in the shape of one fixed binary tree over all blocks.
//
// Node (level, k) of the tree covers blocks [k 2^level, (k+1) 2^level). Two neighbouring sums are
// added only when they are siblings, and what is left at the end is added from right to left, so
// the result does not depend on which worker summed which blocks; at most ceil(log2(blocks))
// additions lie above a block.
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

namespace gibbsite::cpu {

/// Cache-line aligned numbers.
template <class T>
class Aligned {
 public:
  Aligned() = default;
  explicit Aligned(std::size_t size)
      : data_(hwy::AllocateAligned<T>(std::max<std::size_t>(size, 1))) {}
  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }

 private:
  hwy::AlignedFreeUniquePtr<T[]> data_;
};

/// The sum of a contiguous range of blocks, as the fewest nodes of the tree.
class PairwiseSum {
 public:
  PairwiseSum() = default;
  /// Vectors of at most `size` doubles, blocks [first, last).
  PairwiseSum(std::size_t size, std::size_t first, std::size_t last)
      : size_(size), first_(first), next_(first) {
    // A range from 0 is a binary counter; any other climbs and descends.
    const auto bits = static_cast<std::size_t>(std::bit_width(last - first));
    capacity_ = (first == 0 ? bits : 2 * bits) + 1;
    storage_ = Aligned<double>(capacity_ * size);
    nodes_.reserve(64 * capacity_);
  }

  /// Begins sums of vectors of `size` doubles.
  void clear(std::size_t size) {
    size_ = size;
    nodes_.clear();
    next_ = first_;
  }
  /// Zeros for the sum of the next block; fill them, then call close().
  double* open() {
    double* sum = storage_.data() + nodes_.size() * size_;
    std::fill_n(sum, size_, 0.0);
    nodes_.push_back({next_++, 0, sum});
    return sum;
  }
  void close() { merge_siblings(); }

  /// Appends the blocks that follow, which stay where they are until both are cleared.
  void append(const PairwiseSum& following) {
    for (const Node& node : following.nodes_) {
      nodes_.push_back(node);
      merge_siblings();
    }
  }
  /// The sum of everything [size].
  const double* total() {
    while (nodes_.size() > 1) merge_last_two();
    return nodes_.front().sum;
  }

 private:
  struct Node {
    std::size_t first;
    unsigned level;
    double* sum;  // [size]
  };

  void merge_siblings() {
    while (nodes_.size() > 1) {
      const Node& left = nodes_[nodes_.size() - 2];
      if (left.level != nodes_.back().level || (left.first >> left.level) % 2 != 0) return;
      merge_last_two();
      ++nodes_.back().level;
    }
  }
  void merge_last_two() {
    const double* right = nodes_.back().sum;
    nodes_.pop_back();
    double* left = nodes_.back().sum;
    for (std::size_t i = 0; i < size_; ++i) left[i] += right[i];
  }

  std::size_t size_ = 0, first_ = 0, next_ = 0, capacity_ = 0;
  Aligned<double> storage_;
  std::vector<Node> nodes_;
};

}  // namespace gibbsite::cpu
