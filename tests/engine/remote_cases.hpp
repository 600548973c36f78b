#pragma once
// Shares of a table in this process, as Dask's workers keep them.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/sharded_cases.hpp"
#include "gibbsite/engine/remote.hpp"

namespace gibbsite::sharded_cases {

// Shares in this process, each a copy of its own made of bytes before every question: as a worker
// has it that gets one for the first time.
class Carrier final : public ShareCarrier {
 public:
  explicit Carrier(const std::vector<Share>& shares) {
    for (const Share& share : shares) bytes.push_back(share.bytes());
  }
  std::vector<std::string> ask(const std::string& question) override {
    std::vector<std::string> out;
    for (const std::string& share : bytes) out.push_back(Share::parse(share).answer(question, ""));
    return out;
  }
  std::string relay(const std::string& question, const std::string& before) override {
    std::string state = before;
    for (const std::string& share : bytes) state = Share::parse(share).answer(question, state);
    return state;
  }

  std::vector<std::string> bytes;
};

// Rows [first, last) as a worker keeps them.
inline HeldRows held(const Table& t, std::size_t first, std::size_t last) {
  const Rows x = t.part(first, last);
  HeldRows out;
  out.columns = x.cols;
  if (x.is_sparse()) out.storage = SparseTable{};
  append_rows(out.storage, x);
  const auto labels = std::span(t.rows.y).subspan(first, last - first);
  out.y.assign(labels.begin(), labels.end());
  if (x.offset != nullptr) out.offset.assign(x.offset, x.offset + x.rows);
  if (x.weight != nullptr) out.weight.assign(x.weight, x.weight + x.rows);
  return out;
}

struct Elsewhere {
  // Partitions of `rows` rows, whose slices become shares of whole blocks.
  Elsewhere(const Case& c, const Table& t, std::vector<std::uint64_t> bounds, std::size_t rows) {
    for (std::size_t first = 0; first < c.n; first += rows) {
      partitions.push_back(held(t, first, std::min(first + rows, c.n)));
    }
    table.bounds = std::move(bounds);
    for (const HeldRows& part : partitions) table.entries += part.entries();
    table.is_sparse = c.kept == Kept::entries;
    for (std::size_t p = 0; p + 1 < table.bounds.size(); ++p) {
      std::vector<Slice> slices;
      for (std::size_t k = 0; k < partitions.size(); ++k) {
        const std::uint64_t begin = std::uint64_t{k} * rows, end = begin + partitions[k].rows();
        const std::uint64_t first = std::clamp(table.bounds[p], begin, end);
        const std::uint64_t last = std::clamp(table.bounds[p + 1], begin, end);
        slices.push_back({&partitions[k], first - begin, last - begin});
      }
      shares.emplace_back(join(slices), SharePlace{table.bounds[p], c.n, table.entries},
                          std::string(t.loss.name()));
      table.digests.push_back(shares.back().digest());
    }
  }
  std::vector<HeldRows> partitions;
  std::vector<Share> shares;
  RemoteTable table;
};

}  // namespace gibbsite::sharded_cases
