#pragma once
// What GPUs of several ranks make of each other's sums. A rank's packet is the sum of its share
// [cells] and a mark of the thetas that it was found at; all packets, gathered, are added in the
// tree over ranks (engine/sharded/tree.hpp with a rank for each block):
//
//   for step = 1, 2, 4, ...: packet p += packet p + step,  p a multiple of 2 step
//
// Where marks differ nothing is added: total = NaN, and the first rank that differs is kept.
//
// Traffic: P (cells + 1) doubles in, and as many out but one packet. ceil(log2 P) additions one
// after another.
#include <cmath>
#include <cstring>

#include "kernels/block.hpp"

namespace gibbsite::kernels {

/// mark[0] = a word for theta and the clock, whatever the order in which threads come to it: the
/// sum mod 2^64 of a mixed word of each number and its place.
struct MarkTheta {
  View<const double> theta;         ///< [cells]
  View<const std::uint64_t> clock;  ///< [1]
  View<double> mark;                ///< [1], bits of the word
  std::size_t cells = 0;
};

struct MarkThetaBody {
  using Params = MarkTheta;
  static constexpr unsigned threads = 256;
  static LaunchShape shape(const MarkTheta&) {
    return {1, threads, threads * sizeof(std::uint64_t), false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const MarkTheta& p) {
    std::uint64_t sum = block.thread() == 0 ? mixed(p.clock[0], 0) : 0;
    for (std::size_t i = block.thread(); i < p.cells; i += threads) {
      const double number = p.theta[i];
      std::uint64_t word = 0;
      std::memcpy(&word, &number, sizeof(word));
      sum += mixed(word, i + 1);
    }
    auto sums = block.template shared<std::uint64_t>(threads);
    sums[block.thread()] = sum;
    block.sync();
    if (block.thread() != 0) return;
    for (unsigned t = 1; t < threads; ++t) sum += sums[t];
    double mark = 0;
    std::memcpy(&mark, &sum, sizeof(mark));
    p.mark[0] = mark;
  }

 private:
  // SplitMix64's finalizer (Steele, Lea, Flood 2014).
  GIBBSITE_HD static std::uint64_t mixed(std::uint64_t word, std::uint64_t place) {
    word += (place + 1) * 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
  }
};

struct AddShares {
  View<double> packets;         ///< [P x (cells + 1)]; what is left there is nobody's
  View<double> total;           ///< [cells]
  View<std::uint64_t> strange;  ///< [1] the first rank whose mark was not rank 0's; 0: none yet
  std::size_t shares = 0, cells = 0;
};

struct AddSharesBody {
  using Params = AddShares;
  static constexpr unsigned threads = 128;
  static LaunchShape shape(const AddShares& p) {
    return {ceil_div(p.cells, threads), threads, 0, false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const AddShares& p) {
    const std::size_t i = block.block() * threads + block.thread(), stride = p.cells + 1;
    const std::size_t other = first_strange(p, stride);
    if (i == 0 && other != 0 && p.strange[0] == 0) p.strange[0] = other;
    if (i >= p.cells) return;
    if (other != 0) {
      p.total[i] = NAN;
      return;
    }
    for (std::size_t step = 1; step < p.shares; step *= 2) {
      for (std::size_t s = 0; s + step < p.shares; s += 2 * step) {
        p.packets[s * stride + i] += p.packets[(s + step) * stride + i];
      }
    }
    p.total[i] = p.packets[i];
  }

 private:
  GIBBSITE_HD static std::size_t first_strange(const AddShares& p, std::size_t stride) {
    std::uint64_t first = 0;
    for (std::size_t s = 0; s < p.shares; ++s) {
      const double mark = p.packets[s * stride + p.cells];
      std::uint64_t word = 0;
      std::memcpy(&word, &mark, sizeof(word));
      if (s == 0) first = word;
      if (word != first) return s;
    }
    return 0;
  }
};

template <class Visit>
void with_body(const MarkTheta&, Visit&& visit) {
  visit.template operator()<MarkThetaBody>();
}
template <class Visit>
void with_body(const AddShares&, Visit&& visit) {
  visit.template operator()<AddSharesBody>();
}

}  // namespace gibbsite::kernels
