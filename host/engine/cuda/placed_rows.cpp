#include "engine/cuda/placed_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/machine/memory.hpp"

namespace gibbsite::cuda {
namespace {

// The bus takes 64 GB/s (PCIe 5, 16 lanes), a thread copies some 8 to the memory that it reads.
constexpr std::size_t most_copiers = 8, bytes_of_task = std::size_t{1} << 20;

std::size_t copiers() {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, most_copiers);
}

void copy(ThreadPool& pool, std::byte* to, const void* from, std::size_t bytes) {
  const std::size_t each =  // a thread pool has a limit of tasks
      std::max(bytes_of_task, kernels::ceil_div(bytes, ThreadPool::most_tasks - 1));
  pool.each(kernels::ceil_div(bytes, each), [&](std::size_t task, std::size_t) {
    const std::size_t first = task * each;
    std::memcpy(to + first, static_cast<const std::byte*>(from) + first,
                std::min(each, bytes - first));
  });
}

}  // namespace

std::size_t bytes_of_rows(std::size_t rows, std::size_t features) {
  return aligned((rows * features + 4) * sizeof(float));
}

std::vector<float> written_out(const Rows& x) {
  if (!x.is_sparse()) return {};
  const double bytes = static_cast<double>(x.rows) * static_cast<double>(x.cols) * sizeof(float);
  const auto available = static_cast<double>(available_memory());
  constexpr double gib = 1 << 30;
  if (bytes > (available > 0 ? available : 1e18)) {
    throw BadInput(
        format_message("{} cuda", Field{"backend"}),
        fmt::format(
            "takes dense rows, and {} rows of {} features need {:.1f} GiB of memory, {:.1f} GiB "
            "are available",
            x.rows, x.cols, bytes / gib, available / gib),
        format_message("use {} cpu, which takes them as they are", Field{"backend"}));
  }
  std::vector<float> dense(x.rows * x.cols);
  for (std::size_t i = 0; i < x.rows; ++i) {
    x.for_each(i, [&](std::size_t j, float v) { dense[i * x.cols + j] = v; });
  }
  return dense;
}

PlacedRows::PlacedRows(Device& device, MatrixView<const float> x, const Layout& layout,
                       std::byte* at, View<float> labels)
    : device_(&device), x_(x), layout_(layout), labels_(labels) {
  for (std::size_t b = 0; b < buffers(layout); ++b) rows_[b] = at + b * layout.row_bytes;
  if (!layout.streamed) return;
  copiers_ = std::make_unique<ThreadPool>(copiers());
  for (auto& staging : staging_) {
    staging = std::make_unique<Memory>(device, layout.row_bytes, true);
  }
}

void PlacedRows::fill(std::span<const float> y, bool rows_are_there) {
  device_->copy_in(Queue::compute, bytes_of(labels_), y.data(), y.size_bytes());
  if (layout_.streamed || rows_are_there) return;
  device_->copy_in(Queue::compute, rows_[0], x_.data, x_.rows * x_.cols * sizeof(float));
}

Chunk PlacedRows::all() const {
  return {{reinterpret_cast<const float*>(rows_[0]), layout_.row_bytes / sizeof(float)},
          labels_,
          x_.rows};
}

void PlacedRows::for_each_chunk(const std::function<void(const Chunk&, std::size_t)>& work) {
  const std::size_t d = x_.cols;
  const auto rows_of = [&](std::size_t k) {
    return std::min(layout_.chunk_rows, x_.rows - k * layout_.chunk_rows);
  };
  if (!layout_.streamed) {
    const Chunk whole = all();
    for (std::size_t k = 0; k < layout_.chunks; ++k) {
      const std::size_t first = k * layout_.chunk_rows;
      work(Chunk{whole.x.part(first * d, whole.x.size - first * d), whole.y.part(first, rows_of(k)),
                 rows_of(k)},
           k);
    }
    return;
  }
  const auto bring = [&](std::size_t k) {
    const std::size_t b = k % 2, bytes = rows_of(k) * d * sizeof(float);
    if (copied_[b]) device_->wait_host(*copied_[b]);  // the staging buffer is free again
    copy(*copiers_, staging_[b]->data, x_.data + k * layout_.chunk_rows * d, bytes);
    if (computed_[b]) device_->wait(Queue::copy, *computed_[b]);
    device_->copy_in(Queue::copy, rows_[b], staging_[b]->data, bytes);
    copied_[b] = device_->record(Queue::copy);
  };
  for (std::size_t b = 0; b < 2; ++b) {
    copied_[b].reset();
    computed_[b].reset();
  }
  bring(0);
  for (std::size_t k = 0; k < layout_.chunks; ++k) {
    const std::size_t b = k % 2;
    device_->wait(Queue::compute, *copied_[b]);
    work(Chunk{{reinterpret_cast<const float*>(rows_[b]), layout_.row_bytes / sizeof(float)},
               labels_.part(k * layout_.chunk_rows, rows_of(k)),
               rows_of(k)},
         k);
    computed_[b] = device_->record(Queue::compute);
    if (k + 1 < layout_.chunks) bring(k + 1);
  }
  device_->synchronize();
}

}  // namespace gibbsite::cuda
