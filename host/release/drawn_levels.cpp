#include "gibbsite/release/drawn_levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

constexpr std::uint64_t most_rows = 1'000'000'000;  // places and counts are of 32 bits

// Whole numbers below a bound from 32 bits each (Lemire 2019, without the last rejection: off by
// 2^-32 of a share at most).
class Words {
 public:
  Words(const StreamKey& stream, std::uint32_t chain, std::uint64_t part, std::size_t count)
      : stream_(stream),
        chain_(chain),
        part_(part),
        words_(std::min<std::size_t>(4096, count / 2 + 1)),
        at_(2 * words_.size()) {}
  std::uint32_t next() {
    if (at_ == 2 * words_.size()) {
      fill_words(stream_, chain_, part_ << 32 | block_++, words_);
      at_ = 0;
    }
    const std::uint64_t word = words_[at_ / 2];
    return static_cast<std::uint32_t>(at_++ % 2 == 0 ? word : word >> 32);
  }
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(std::uint64_t{next()} * bound >> 32);
  }

 private:
  const StreamKey& stream_;
  std::uint32_t chain_;
  std::uint64_t part_, block_ = 0;
  std::vector<std::uint64_t> words_;
  std::size_t at_;
};

}  // namespace

std::vector<std::vector<std::uint32_t>> drawn_levels(const Network& network,
                                                     std::span<const std::vector<double>> shares,
                                                     std::uint64_t rows, const StreamKey& stream,
                                                     std::uint64_t part) {
  if (rows > most_rows)
    throw BadInput(fmt::format("rows: at most {} are drawn at once, got {}", most_rows, rows));
  std::vector<std::vector<std::uint32_t>> out(network.size());
  const auto count = static_cast<std::size_t>(rows);
  std::vector<std::uint32_t> cell(count), order(count), picked(count), begins;
  std::vector<std::uint32_t> shuffled(count);
  std::iota(shuffled.begin(), shuffled.end(), 0U);
  for (const std::uint32_t k : network.order()) {
    Words words(stream, k, part, count);
    // The rows in a new random order, then by configuration of the parents, so that a column's
    // levels within a configuration are in random order.
    for (std::size_t i = count; i > 1; --i)
      std::swap(shuffled[i - 1], shuffled[words.below(static_cast<std::uint32_t>(i))]);
    const auto configurations = static_cast<std::size_t>(network.configurations(k));
    std::ranges::fill(cell, 0U);
    for (const std::uint32_t parent : network.parents[k]) {
      const auto levels = static_cast<std::uint32_t>(network.levels[parent]);
      const std::uint32_t* const of = out[parent].data();
      for (std::size_t i = 0; i < count; ++i) cell[i] = cell[i] * levels + of[i];
    }
    begins.assign(configurations + 1, 0U);
    for (std::size_t i = 0; i < count; ++i) ++begins[cell[i] + 1];
    for (std::size_t c = 0; c < configurations; ++c) begins[c + 1] += begins[c];
    std::vector<std::uint32_t> ends(begins.begin(), begins.end() - 1);
    for (const std::uint32_t i : shuffled) order[ends[cell[i]]++] = i;
    // The first point of each configuration is a step of the golden ratio from the last one's.
    constexpr std::uint32_t golden = 0x9e3779b9;
    std::uint32_t u = words.next();
    const auto levels = static_cast<std::size_t>(network.levels[k]);
    out[k].resize(count);
    for (std::size_t c = 0; c < configurations; ++c) {
      const std::size_t m = begins[c + 1] - begins[c];
      if (m == 0) continue;
      const double* const row = shares[k].data() + c * levels;
      const double first = (static_cast<double>(u) + 0.5) * 0x1p-32;
      u += golden;
      double sum = 0;
      std::size_t last = 0;  // rounding gives no row to a level without a share
      for (std::size_t l = 0; l < levels; ++l) {
        sum += row[l];
        if (row[l] > 0) last = l;
      }
      const double scale = static_cast<double>(m) / sum;
      std::size_t level = 0;
      double reached = row[0] * scale;  // points below it have this level
      for (std::size_t i = 0; i < m; ++i) {
        const double point = first + static_cast<double>(i);
        while (point >= reached && level < last) reached += row[++level] * scale;
        out[k][order[begins[c] + i]] = static_cast<std::uint32_t>(level);
      }
    }
  }
  return out;
}

}  // namespace gibbsite
