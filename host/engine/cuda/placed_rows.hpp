#pragma once
// Rows in a GPU's memory: all of them, or chunks of them that are copied through two buffers, the
// next one while one is computed with.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/cuda/arena.hpp"
#include "engine/cuda/engine.hpp"
#include "engine/cuda/source.hpp"
#include "gibbsite/core/matrix_view.hpp"
#include "gibbsite/data/rows.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite::cuda {

/// Bytes of so many rows, padded so that 16-byte accesses stay inside.
std::size_t bytes_of_rows(std::size_t rows, std::size_t features);

/// Sparse rows with their zeros [n x d]; nothing of dense ones. Throws BadInput where memory has no
/// room for them.
std::vector<float> written_out(const Rows& x);

class PlacedRows {
 public:
  PlacedRows() = default;
  /// `at`: `buffers(layout)` times layout.row_bytes of the GPU; labels [n] of the GPU too.
  PlacedRows(Device& device, MatrixView<const float> x, const Layout& layout, std::byte* at,
             View<float> labels);
  static std::size_t buffers(const Layout& layout) { return layout.streamed ? 2 : 1; }

  /// Enqueues the copies of the labels, and of rows that stay, unless they are there.
  void fill(std::span<const float> y, bool rows_are_there = false);
  /// All rows, where they stay.
  [[nodiscard]] Chunk all() const;
  /// Calls work(chunk, index) for every chunk in order: what it enqueues comes after the chunk's
  /// copy. Returns when all of it is done where rows are streamed.
  void for_each_chunk(const std::function<void(const Chunk&, std::size_t)>& work);

 private:
  Device* device_ = nullptr;
  MatrixView<const float> x_;  // of the host
  Layout layout_;
  std::byte* rows_[2] = {};
  View<float> labels_;
  std::unique_ptr<Memory> staging_[2];
  std::unique_ptr<ThreadPool> copiers_;  // of what is streamed
  std::optional<Event> copied_[2], computed_[2];
};

}  // namespace gibbsite::cuda
