// How a run of chains is laid out in a GPU's memory.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/format_message.hpp"
#include "engine/cuda/placed_rows.hpp"
#include "engine/cuda/work.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite::cuda {

std::size_t summation_depth(const GradientSource& source, const Layout& layout) {
  const std::size_t in_source = source.depth(layout.chunk_rows);
  if (in_source == 0) return 0;
  return in_source + kernels::finish_depth(source.partials(layout.chunk_rows)) +
         (layout.chunks > 1 ? kernels::finish_depth(layout.chunks) : 0);
}

std::size_t depth_left(const Rows& x) {
  const std::uint64_t rows = std::max<std::uint64_t>(x.whole.rows, x.rows);
  return accumulation_depth(rows) - static_cast<std::size_t>(std::bit_width(x.whole.parts - 1));
}

Layout plan_layout(const Shape& shape, const GradientSource& source, std::size_t free_bytes) {
  return plan_layout(shape, source, free_bytes, accumulation_depth(shape.rows));
}

Layout plan_layout(const Shape& shape, const GradientSource& source, std::size_t free_bytes,
                   std::size_t most_depth) {
  // The driver and the libraries keep some; asking for the last byte fails.
  const std::size_t reserve = std::min<std::size_t>(free_bytes / 16, std::size_t{512} << 20);
  const auto layout_of = [&](std::size_t chunk_rows, bool streamed) {
    Layout layout{.chunk_rows = chunk_rows,
                  .chunks = kernels::ceil_div(shape.rows, chunk_rows),
                  .streamed = streamed,
                  .row_bytes = bytes_of_rows(streamed ? chunk_rows : shape.rows, shape.features),
                  .work_bytes = 0};
    Parts parts;
    Work::in(parts, shape, source, layout.chunk_rows, layout.chunks, true);
    layout.work_bytes = parts.used;
    return layout;
  };
  const auto bytes = [](const Layout& layout) {
    return PlacedRows::buffers(layout) * layout.row_bytes + layout.work_bytes;
  };
  const auto usable = [&](const Layout& layout) {
    return bytes(layout) <= free_bytes - reserve && summation_depth(source, layout) <= most_depth;
  };
  if (const Layout whole = layout_of(shape.rows, false); usable(whole)) return whole;
  for (const bool streamed : {false, true}) {
    for (std::size_t rows = std::bit_floor(shape.rows); rows >= row_block; rows /= 2) {
      if (const Layout layout = layout_of(rows, streamed); usable(layout)) return layout;
    }
  }
  const auto mib = [&](const Layout& layout) { return (bytes(layout) >> 20) + 1; };
  throw CudaError(
      format_message("{} cuda", Field{"backend"}),
      fmt::format(
          "{} rows x {} features and {} chains{} need {} MiB on the card, or {} MiB when X is "
          "streamed, and {} MiB are free",
          shape.rows, shape.features, shape.chains / shape.outputs,
          shape.outputs > 1 ? fmt::format(" of {} outputs", shape.outputs) : "",
          mib(layout_of(shape.rows, false)),
          mib(layout_of(std::min<std::size_t>(shape.rows, row_block), true)), free_bytes >> 20),
      format_message("free the card, use fewer chains or {} cpu", Field{"backend"}));
}

}  // namespace gibbsite::cuda
