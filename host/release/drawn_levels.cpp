#include "gibbsite/release/drawn_levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

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
        words_(std::min<std::size_t>(1024, count / 2 + 1)),
        at_(2 * words_.size()) {}
  std::uint32_t next() {
    if (at_ == 2 * words_.size()) refill();
    const std::uint64_t word = words_[at_ / 2];
    return static_cast<std::uint32_t>(at_++ % 2 == 0 ? word : word >> 32);
  }
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(std::uint64_t{next()} * bound >> 32);
  }

 private:
  void refill() {
    fill_words(stream_, chain_, part_ << 32 | block_++, words_);
    at_ = 0;
  }

  const StreamKey& stream_;
  std::uint32_t chain_;
  std::uint64_t part_, block_ = 0;
  std::vector<std::uint64_t> words_;
  std::size_t at_;
};

using Level = std::uint16_t;
static_assert(most_network_levels <= std::numeric_limits<Level>::max());

// The levels of m rows by these shares [levels], ascending: the points first + i of m.
void lay_levels(const double* shares, std::size_t levels, double first, std::span<Level> out) {
  double sum = 0;
  std::size_t last = 0;  // rounding gives no row to a level without a share
  for (std::size_t l = 0; l < levels; ++l) {
    sum += shares[l];
    if (shares[l] > 0) last = l;
  }
  const double scale = static_cast<double>(out.size()) / sum;
  std::size_t level = 0;
  double reached = shares[0] * scale;  // points below it have this level
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double point = first + static_cast<double>(i);
    while (point >= reached && level < last) reached += shares[++level] * scale;
    out[i] = static_cast<Level>(level);
  }
}

// Puts what is ascending into random order.
void shuffle(std::span<Level> levels, Words& words) {
  if (levels.front() == levels.back()) return;
  for (std::size_t i = levels.size(); i > 1; --i)
    std::swap(levels[i - 1], levels[words.below(static_cast<std::uint32_t>(i))]);
}

}  // namespace

std::vector<std::vector<std::uint32_t>> drawn_levels(const Network& network,
                                                     std::span<const std::vector<double>> shares,
                                                     std::uint64_t rows, const StreamKey& stream,
                                                     std::uint64_t part) {
  if (rows > most_rows)
    throw BadInput(fmt::format("rows: at most {} are drawn at once, got {}", most_rows, rows));
  std::vector<std::vector<std::uint32_t>> out(network.size());
  const auto count = static_cast<std::size_t>(rows);
  std::vector<std::uint32_t> cell(count), next;
  std::vector<Level> sorted(count);
  for (const std::uint32_t k : network.order()) {
    Words words(stream, k, part, count);
    const auto configurations = static_cast<std::size_t>(network.configurations(k));
    std::ranges::fill(cell, 0U);
    for (const std::uint32_t parent : network.parents[k]) {
      const auto levels = static_cast<std::uint32_t>(network.levels[parent]);
      const std::uint32_t* const of = out[parent].data();
      for (std::size_t i = 0; i < count; ++i) cell[i] = cell[i] * levels + of[i];
    }
    next.assign(configurations, 0U);
    for (const std::uint32_t c : cell) ++next[c];
    // The levels of each configuration's rows, in random order; `next` is where they begin.
    constexpr std::uint32_t golden = 0x9e3779b9;
    std::uint32_t u = words.next(), begin = 0;
    const auto levels = static_cast<std::size_t>(network.levels[k]);
    for (std::size_t c = 0; c < configurations; ++c) {
      const std::uint32_t m = next[c];
      next[c] = begin;
      if (m == 0) continue;
      // A configuration's first point is a step of the golden ratio from the last one's.
      const std::span<Level> of = std::span(sorted).subspan(begin, m);
      lay_levels(shares[k].data() + c * levels, levels, (static_cast<double>(u) + 0.5) * 0x1p-32,
                 of);
      shuffle(of, words);
      u += golden;
      begin += m;
    }
    out[k].resize(count);
    for (std::size_t i = 0; i < count; ++i) out[k][i] = sorted[next[cell[i]]++];
  }
  return out;
}

}  // namespace gibbsite
