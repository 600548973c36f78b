#pragma once
// Sums of block vectors in the shape of one fixed binary tree over all blocks.
//
// Node (level, k) of the tree covers blocks [k 2^level, (k+1) 2^level). Two neighboring sums are
// added only when they are siblings, and what is left at the end is added from right to left; at
// most ceil(log2(blocks)) additions lie above a block. A sum of 2^level blocks that begins at a
// multiple of 2^level is a node, and so may be made by itself (what is left of the last one is the
// right end of the tree): the result does not depend on who made which of them.
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

/// The sum of a node's blocks, one after another.
class PairwiseSum {
 public:
  PairwiseSum() = default;
  /// Vectors of at most `size` doubles, that many blocks.
  PairwiseSum(std::size_t size, std::size_t blocks)
      : storage_((static_cast<std::size_t>(std::bit_width(blocks)) + 1) * size) {
    nodes_.reserve(64);
  }

  /// Begins sums of vectors of `size` doubles.
  void clear(std::size_t size) {
    size_ = size;
    nodes_.clear();
    next_ = 0;
  }
  /// Zeros for the sum of the next block; fill them, then call close().
  double* open() {
    double* sum = storage_.data() + nodes_.size() * size_;
    std::fill_n(sum, size_, 0.0);
    nodes_.push_back({next_++, 0, sum});
    return sum;
  }
  void close() {
    while (nodes_.size() > 1) {
      const Node& left = nodes_[nodes_.size() - 2];
      if (left.level != nodes_.back().level || (left.first >> left.level) % 2 != 0) return;
      merge_last_two();
      ++nodes_.back().level;
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

  void merge_last_two() {
    const double* right = nodes_.back().sum;
    nodes_.pop_back();
    double* left = nodes_.back().sum;
    for (std::size_t i = 0; i < size_; ++i) left[i] += right[i];
  }

  std::size_t size_ = 0, next_ = 0;
  Aligned<double> storage_;
  std::vector<Node> nodes_;
};

/// The sum [size] of `count` nodes of one level, the last of which may be less; left in node 0.
template <class Sum>
double* sum_nodes(std::size_t count, std::size_t size, const Sum& node) {
  for (std::size_t stride = 1; stride < count; stride *= 2) {
    for (std::size_t k = 0; k + stride < count; k += 2 * stride) {
      double* const left = node(k);
      const double* const right = node(k + stride);
      for (std::size_t i = 0; i < size; ++i) left[i] += right[i];
    }
  }
  return node(0);
}

}  // namespace gibbsite::cpu
