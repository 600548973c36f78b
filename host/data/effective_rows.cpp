#include "gibbsite/data/effective_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/model/label.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {
namespace {

void add(double w, EffectiveRows& sums) {
  sums.sum += w;
  sums.squares += w * w;
}

}  // namespace

EffectiveRows effective_rows_of(const Dataset& data) {
  const std::unique_ptr<Communicator> alone = one_process();
  return effective_rows_of(data, *alone);
}

EffectiveRows effective_rows_of(const Dataset& share, Communicator& ranks) {
  const Rows rows = share.view();
  const std::vector<float> of_classes = scaled_class_weights(share.schema.label);
  const auto counts_of = [&](std::size_t i) {
    const double w = rows.weight_of(i);
    return of_classes.empty() ? w : w * static_cast<double>(class_weight(of_classes, share.y[i]));
  };
  const std::size_t rank = ranks.rank(), last = ranks.size() - 1;
  const bool known = share.people > 0 && share.person.size() == rows.rows;
  EffectiveRows out;
  if (std::ranges::min(ranks.gather(std::uint64_t{known})) == 1) {
    std::uint64_t places = 0;
    for (const std::uint32_t place : share.person)
      if (place != Dataset::nobody) places = std::max(places, std::uint64_t{place} + 1);
    std::vector<double> counts(std::ranges::max(ranks.gather(places)));
    if (rank > 0) ranks.receive(std::as_writable_bytes(std::span(counts)), rank - 1);
    for (std::size_t i = 0; i < rows.rows; ++i)
      if (share.person[i] != Dataset::nobody) counts[share.person[i]] += counts_of(i);
    if (rank < last) ranks.send(std::as_bytes(std::span(counts)), rank + 1);
    for (const double w : counts) add(w, out);
    out.units = static_cast<double>(share.people);
  } else {
    if (rank > 0) ranks.receive(std::as_writable_bytes(std::span(&out, 1)), rank - 1);
    for (std::size_t i = 0; i < rows.rows; ++i) add(counts_of(i), out);
    out.units += static_cast<double>(rows.rows);
    if (rank < last) ranks.send(std::as_bytes(std::span(&out, 1)), rank + 1);
  }
  ranks.broadcast(std::as_writable_bytes(std::span(&out, 1)), last);
  return out;
}

}  // namespace gibbsite
