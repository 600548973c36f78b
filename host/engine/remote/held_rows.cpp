// Rows that are kept, cut, put together and sent.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/digest.hpp"
#include "engine/remote/wire.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/remote.hpp"

namespace gibbsite {

std::uint64_t HeldRows::entries() const {
  if (is_sparse) return sparse.value.size();
  return x.size() - static_cast<std::uint64_t>(std::ranges::count(x, 0.0F));
}

std::uint64_t HeldRows::memory_bytes() const {
  return sizeof(float) *
             (x.size() + sparse.feature.size() + sparse.value.size() + y.size() + offset.size()) +
         sizeof(std::uint64_t) * sparse.begin.size();
}

Rows HeldRows::view() const {
  Rows out = is_sparse ? Rows(sparse.view(), columns) : Rows(x.data(), rows(), columns);
  if (!offset.empty()) out.offset = offset.data();
  return out;
}

std::string HeldRows::digest() const { return digest_of(bytes()); }

std::string HeldRows::bytes() const {
  return remote::Writer()
      .add(columns)
      .add(std::uint64_t{is_sparse})
      .add_all(x)
      .add_all(sparse.begin)
      .add_all(sparse.feature)
      .add_all(sparse.value)
      .add_all(y)
      .add_all(offset)
      .take();
}

HeldRows HeldRows::parse(std::string_view bytes) {
  HeldRows out;
  std::uint64_t sparse = 0;
  remote::Reader(bytes)
      .get(out.columns)
      .get(sparse)
      .get_all(out.x)
      .get_all(out.sparse.begin)
      .get_all(out.sparse.feature)
      .get_all(out.sparse.value)
      .get_all(out.y)
      .get_all(out.offset)
      .end();
  out.is_sparse = sparse != 0;
  const bool fits = (out.is_sparse ? out.sparse.begin.size() == out.rows() + 1 &&
                                         out.sparse.begin.back() == out.sparse.value.size() &&
                                         out.sparse.feature.size() == out.sparse.value.size()
                                   : out.columns > 0 && out.x.size() % out.columns == 0 &&
                                         out.x.size() / out.columns == out.rows()) &&
                    (out.offset.empty() || out.offset.size() == out.rows());
  if (!fits) throw BadInput("shares: these bytes are no rows; run the same gibbsite everywhere");
  if (out.rows() > 0) out.view().validate();
  return out;
}

HeldRows hold(Dataset data) {
  if (data.mapped != nullptr) {
    throw BadInput("data: its rows are in the files of a cache; read it without one");
  }
  HeldRows out;
  out.columns = data.features();
  out.is_sparse = data.x.empty();
  out.x = std::move(data.x);
  if (out.is_sparse) out.sparse = std::move(data.sparse);
  out.y = std::move(data.y);
  out.offset = std::move(data.offset);
  const std::uint64_t kept = out.is_sparse ? out.sparse.rows() : out.x.size() / out.columns;
  if (kept != out.y.size()) {
    throw BadInput("data: has no labels; give a table with the label column");
  }
  return out;
}

HeldRows join(std::span<const Slice> slices) {
  HeldRows out;
  bool first = true, offsets = false;
  for (const Slice& slice : slices) {
    const HeldRows& from = *slice.rows;
    if (slice.first > slice.last || slice.last > from.rows()) {
      throw BadInput(fmt::format("shares: rows {} to {} of {}; a partition changed", slice.first,
                                 slice.last, from.rows()));
    }
    if (slice.first == slice.last) continue;
    if (!first && (from.columns != out.columns || from.is_sparse != out.is_sparse ||
                   offsets == from.offset.empty())) {
      throw BadInput("shares: partitions are kept in several ways; give all one schema");
    }
    out.columns = from.columns;
    out.is_sparse = from.is_sparse;
    offsets = !from.offset.empty();
    first = false;
    const auto append = [](auto& to, const auto& all, std::uint64_t begin, std::uint64_t end) {
      const auto at = all.begin();
      to.insert(to.end(), at + static_cast<std::ptrdiff_t>(begin),
                at + static_cast<std::ptrdiff_t>(end));
    };
    if (from.is_sparse) {
      const std::uint64_t begin = from.sparse.begin[slice.first],
                          end = from.sparse.begin[slice.last], before = out.sparse.value.size();
      for (std::uint64_t i = slice.first; i < slice.last; ++i) {
        out.sparse.begin.push_back(from.sparse.begin[i + 1] - begin + before);
      }
      append(out.sparse.feature, from.sparse.feature, begin, end);
      append(out.sparse.value, from.sparse.value, begin, end);
    } else {
      append(out.x, from.x, slice.first * from.columns, slice.last * from.columns);
    }
    append(out.y, from.y, slice.first, slice.last);
    if (offsets) append(out.offset, from.offset, slice.first, slice.last);
  }
  if (first && !slices.empty()) {
    out.columns = slices.front().rows->columns;
    out.is_sparse = slices.front().rows->is_sparse;
  }
  return out;
}

}  // namespace gibbsite
