// Rows that are kept, cut, put together and sent.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/digest.hpp"
#include "engine/remote/wire.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/remote.hpp"

namespace gibbsite {
namespace {

// Calls f with each array, in the order in which they are sent.
template <class Held, class F>
void for_each_array(Held& rows, const F& f) {
  if (auto* const x = std::get_if<DenseTable>(&rows.storage)) f(*x);
  if (auto* const entries = std::get_if<SparseTable>(&rows.storage)) {
    f(entries->begin);
    f(entries->feature);
    f(entries->value);
  }
  for (const auto of : beside_rows) f(rows.*of);
}

HeldRows none_like(const HeldRows& rows) {
  HeldRows out;
  out.columns = rows.columns;
  if (std::holds_alternative<SparseTable>(rows.storage)) out.storage = SparseTable{};
  return out;
}

}  // namespace

std::uint64_t HeldRows::entries() const { return view().nonzeros(); }

std::uint64_t HeldRows::memory_bytes() const {
  std::uint64_t out = 0;
  const auto add = [&out](const auto& values) { out += values.size() * sizeof(values[0]); };
  for_each_array(*this, add);
  return out;
}

Rows HeldRows::view() const {
  Rows out = view_of(storage, columns);
  add_to(out);
  return out;
}

std::string HeldRows::digest() const { return digest_of(bytes()); }

std::string HeldRows::bytes() const {
  remote::Writer out;
  out.add(columns).add(std::uint64_t{storage.index()});
  for_each_array(*this, [&out](const auto& values) { out.add_all(values); });
  return out.take();
}

HeldRows HeldRows::parse(std::string_view bytes) {
  HeldRows out;
  std::uint64_t kind = 0;
  remote::Reader reader(bytes);
  reader.get(out.columns).get(kind);
  if (kind == 1) out.storage = SparseTable{};
  for_each_array(out, [&reader](auto& values) { reader.get_all(values); });
  reader.end();
  const auto* const x = std::get_if<DenseTable>(&out.storage);
  const auto* const sparse = std::get_if<SparseTable>(&out.storage);
  bool fits = kind < 2 && (sparse == nullptr ? out.columns > 0 && x->size() % out.columns == 0
                                             : !sparse->begin.empty() &&
                                                   sparse->begin.back() == sparse->value.size() &&
                                                   sparse->feature.size() == sparse->value.size());
  for (const auto of : beside_rows)
    fits = fits && ((out.*of).empty() || (out.*of).size() == out.rows());
  if (!fits || out.view().rows != out.rows())
    throw BadInput("shares: these bytes are no rows; run the same gibbsite everywhere");
  if (out.rows() > 0) out.view().validate();
  return out;
}

HeldRows hold(Dataset data) {
  HeldRows out;
  out.columns = data.features();
  if (auto* const x = std::get_if<DenseTable>(&data.storage)) {
    out.storage = std::move(*x);
  } else if (auto* const sparse = std::get_if<SparseTable>(&data.storage)) {
    out.storage = std::move(*sparse);
  } else {
    throw BadInput("data: its rows are in the files of a cache; read it without one");
  }
  for (const auto of : beside_rows) out.*of = std::move(data.*of);
  if (out.view().rows != out.rows())
    throw BadInput("data: has no labels; give a table with the label column");
  return out;
}

HeldRows join(std::span<const Slice> slices) {
  if (slices.empty()) return {};
  const auto some = std::ranges::find_if(slices, [](const Slice& s) { return s.first != s.last; });
  const HeldRows& like = *(some == slices.end() ? slices.front() : *some).rows;
  HeldRows out = none_like(like);
  for (const Slice& slice : slices) {
    const HeldRows& from = *slice.rows;
    if (slice.first > slice.last || slice.last > from.rows()) {
      throw BadInput(fmt::format("shares: rows {} to {} of {}; a partition changed", slice.first,
                                 slice.last, from.rows()));
    }
    if (slice.first == slice.last) continue;
    bool alike = from.columns == like.columns && from.storage.index() == like.storage.index();
    for (const auto of : beside_rows) alike = alike && (from.*of).empty() == (like.*of).empty();
    if (!alike) throw BadInput("shares: partitions are kept in several ways; give all one schema");
    append_rows(out.storage, from.view().part(slice.first, slice.last));
    for (const auto of : beside_rows) {
      if ((from.*of).empty()) continue;
      const auto begin = (from.*of).begin();
      (out.*of).insert((out.*of).end(), begin + static_cast<std::ptrdiff_t>(slice.first),
                       begin + static_cast<std::ptrdiff_t>(slice.last));
    }
  }
  return out;
}

}  // namespace gibbsite
