#pragma once
// A model of a Hopper block's matrix unit (kernels/matrix_unit.hpp): the instructions do what the
// maps of that header say, as late as the hardware may, so that what does not wait reads the wrong
// thing.
//   - shared memory begins as NaN (BF16 and float); a bulk copy makes its target NaN at once and
//     brings the bytes at some later poll of a barrier;
//   - a store is seen by the matrix unit after publish();
//   - a matrix instruction runs when its group is waited for: only then it reads its registers and
//     its shared memory, and only then it writes its accumulator;
//   - a bulk copy into memory that some thread loaded from and did not finish_loads() since is a
//     fault: the two are of different proxies;
//   - a sum of an instruction is cut to a float, not rounded to the nearest: PTX promises neither;
//   - an instruction without a fence since the last wait, a copy or a matrix operand out of its
//     reserved memory, a barrier that is not started, overrun or never completed are faults.
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/matrix_unit.hpp"
#include "support/emulator.hpp"

namespace gibbsite::support::emulator {

struct SharedMemoryModel {
  struct Barrier {
    std::uint32_t address;
    unsigned arrivals;         // that end a phase
    unsigned pending;          // still to come in this one
    long long bytes = 0;       // expected less brought, in this one
    std::uint64_t phases = 0;  // over
  };
  struct Copy {
    std::uint32_t to;
    const unsigned char* from;
    std::uint32_t bytes, barrier;
  };
  // Addresses begin here, so that 0 is not one.
  static constexpr std::uint32_t origin = 1024;

  std::vector<unsigned char> bytes;
  std::vector<std::uint32_t> reserved;  // addresses, by call
  std::vector<Barrier> barriers;
  std::vector<Copy> copies;
  std::vector<std::vector<std::uint32_t>> loads;  // [thread] addresses since finish_loads()
  std::mt19937 random{1};

  unsigned char* at(std::uint32_t address, std::size_t count) {
    if (address < origin || address - origin + count > bytes.size()) {
      throw KernelFault("matrix unit: shared address " + std::to_string(address) +
                        " is not reserved");
    }
    return &bytes[address - origin];
  }
  Barrier& barrier(std::uint32_t address) {
    for (Barrier& b : barriers) {
      if (b.address == address) return b;
    }
    throw KernelFault("matrix unit: no barrier was started at " + std::to_string(address));
  }
  void end_phase_if_done(Barrier& b) {
    if (b.pending != 0 || b.bytes != 0) return;
    ++b.phases;
    b.pending = b.arrivals;
  }
  // Brings what one copy, at random, has on its way.
  void progress() {
    if (copies.empty() || random() % 4 != 0) return;
    std::swap(copies[random() % copies.size()], copies.back());
    const Copy copy = copies.back();
    copies.pop_back();
    std::memcpy(at(copy.to, copy.bytes), copy.from, copy.bytes);
    Barrier& b = barrier(copy.barrier);
    b.bytes -= copy.bytes;
    end_phase_if_done(b);
  }
};

class EmulatedMatrixUnit {
 public:
  explicit EmulatedMatrixUnit(EmulatedBlock& block)
      : block_(block), memory_(block.hardware<SharedMemoryModel>()) {}
  ~EmulatedMatrixUnit() = default;
  EmulatedMatrixUnit(const EmulatedMatrixUnit&) = delete;
  EmulatedMatrixUnit& operator=(const EmulatedMatrixUnit&) = delete;

  std::uint32_t reserve(std::uint32_t count) {
    if (calls_ == memory_.reserved.size()) {
      block_.reserve_shared(count);
      memory_.reserved.push_back(SharedMemoryModel::origin +
                                 static_cast<std::uint32_t>(memory_.bytes.size()));
      memory_.bytes.resize(memory_.bytes.size() + kernels::round_up_to(count, 128), 0xFF);
    }
    return memory_.reserved[calls_++];
  }

  void store(std::uint32_t address, const kernels::Line& line) {
    if (address % 16 != 0) throw KernelFault("matrix unit: a line that is not aligned");
    stores_.push_back({address, line});
  }
  void publish() {
    for (const auto& [address, line] : stores_) {
      std::memcpy(memory_.at(address, sizeof(line)), &line, sizeof(line));
    }
    stores_.clear();
  }
  kernels::RowLogitPair load_logits(std::uint32_t address) {
    kernels::RowLogitPair pair;
    if (address % sizeof(pair) != 0) throw KernelFault("matrix unit: logits that are not aligned");
    std::memcpy(&pair, memory_.at(address, sizeof(pair)), sizeof(pair));
    memory_.loads.resize(block_.threads());
    memory_.loads[block_.thread()].push_back(address);
    return pair;
  }
  void finish_loads() {
    if (block_.thread() < memory_.loads.size()) memory_.loads[block_.thread()].clear();
  }

  void start_barrier(std::uint32_t barrier, unsigned arrivals) {
    if (barrier % 8 != 0) throw KernelFault("matrix unit: a barrier that is not aligned");
    memory_.at(barrier, 8);
    memory_.barriers.push_back({barrier, arrivals, arrivals});
  }
  void expect(std::uint32_t barrier, std::uint32_t bytes) {
    memory_.barrier(barrier).bytes += bytes;
    arrive(barrier);
  }
  void arrive(std::uint32_t barrier) {
    auto& b = memory_.barrier(barrier);
    if (b.pending == 0) throw KernelFault("matrix unit: more arrivals than a phase has");
    --b.pending;
    memory_.end_phase_if_done(b);
  }
  // The phase of that parity is over when the one that runs has the other parity.
  void await(std::uint32_t barrier, unsigned parity) {
    for (unsigned polls = 0; memory_.barrier(barrier).phases % 2 == parity; ++polls) {
      if (polls == 1'000'000) throw KernelFault("matrix unit: waits for a phase that never ends");
      memory_.progress();
      block_.give_way();
    }
  }
  template <class T>
  void copy(std::uint32_t to, const kernels::View<const T>& from, std::size_t first,
            std::size_t count, std::uint32_t barrier) {
    const auto part = from.part(first, count);
    const auto* const source = reinterpret_cast<const unsigned char*>(part.data);
    const auto bytes = static_cast<std::uint32_t>(count * sizeof(T));
    if (to % 16 != 0 || bytes % 16 != 0 || reinterpret_cast<std::uintptr_t>(source) % 16 != 0) {
      throw KernelFault("matrix unit: a bulk copy that is not aligned");
    }
    for (const auto& loads : memory_.loads) {
      for (const std::uint32_t address : loads) {
        if (address + sizeof(kernels::RowLogitPair) <= to || address >= to + bytes) continue;
        throw KernelFault("matrix unit: a bulk copy over what was loaded, without a fence between");
      }
    }
    std::memset(memory_.at(to, bytes), 0xFF, bytes);
    memory_.copies.push_back({to, source, bytes, barrier});
  }

  template <unsigned N>
  void leave_registers() {
    static_assert(N % 8 == 0 && N >= 24 && N <= 256);
  }
  template <unsigned N>
  void take_registers() {
    static_assert(N % 8 == 0 && N >= 24 && N <= 256);
  }

  void fence() { fenced_ = true; }
  void commit() {
    groups_.push_back(std::move(open_));
    open_.clear();
  }
  template <int N, unsigned Registers>
  void wait(float (&)[Registers]) {
    while (groups_.size() > N) {
      for (const auto& instruction : groups_.front()) instruction();
      groups_.erase(groups_.begin());
    }
    fenced_ = false;
  }
  template <unsigned Registers>
  void pin(float (&)[Registers]) {}  // for compilers that move code; tests/kernels/fences.py

  template <unsigned N>
  void multiply_shared(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, bool add) {
    require_fence();
    open_.push_back([this, &d, a, b, add] {
      float rows[2][kernels::matrix_inner];  // of A that this thread needs
      for (unsigned r = 0; r < 4; r += 2) {
        for (unsigned k = 0; k < kernels::matrix_inner; ++k) {
          rows[r / 2][k] = operand(a, kernels::Major::k, kernels::accumulator_row(thread(), r), k);
        }
      }
      multiply<N>(d, rows, b, kernels::Major::k, add);
    });
  }
  template <unsigned N>
  void multiply_fragment(float (&d)[N / 2], const std::uint32_t* a, std::uint64_t b, bool add) {
    require_fence();
    open_.push_back([this, &d, a, b, add] {
      // Four lanes hold a row of A: each gives its fragment.
      struct Fragment {
        std::uint32_t v[4];
      };
      const Fragment mine{{a[0], a[1], a[2], a[3]}};
      float rows[2][kernels::matrix_inner];
      for (unsigned other = 0; other < 4; ++other) {
        const unsigned lane = block_.lane() / 4 * 4 + other;
        const Fragment theirs = block_.shuffle(mine, lane);
        const unsigned holder = thread() / 32 * 32 + lane;
        for (unsigned h = 0; h < 8; ++h) {
          const bool upper =
              kernels::fragment_row(holder, h) != kernels::accumulator_row(thread(), 0);
          rows[upper][kernels::fragment_column(holder, h)] = kernels::float_of_bfloat16(
              static_cast<std::uint16_t>(theirs.v[h / 2] >> (h % 2 * 16)));
        }
      }
      multiply<N>(d, rows, b, kernels::Major::mn, add);
    });
  }

 private:
  [[nodiscard]] unsigned thread() const { return block_.thread() % kernels::warp_group; }
  void require_fence() const {
    if (!fenced_) throw KernelFault("matrix unit: an instruction without a fence before it");
  }
  static float toward_zero(double value) {
    const auto nearest = static_cast<float>(value);
    return std::fabs(static_cast<double>(nearest)) > std::fabs(value) ? std::nextafterf(nearest, 0)
                                                                      : nearest;
  }
  float operand(std::uint64_t descriptor, kernels::Major major, unsigned mn, unsigned k) {
    std::uint16_t half;
    std::memcpy(&half, memory_.at(kernels::operand_address(descriptor, major, mn, k), 2), 2);
    return kernels::float_of_bfloat16(half);
  }
  template <unsigned N>
  void multiply(float (&d)[N / 2], const float (&rows)[2][kernels::matrix_inner], std::uint64_t b,
                kernels::Major major, bool add) {
    for (unsigned r = 0; r < N / 2; r += 4) {
      for (unsigned pair = 0; pair < 2; ++pair) {
        const unsigned n = kernels::accumulator_column(thread(), r + pair);
        double low = add ? d[r + pair] : 0.0f, high = add ? d[r + pair + 2] : 0.0f;
        for (unsigned k = 0; k < kernels::matrix_inner; ++k) {
          const double value = operand(b, major, n, k);
          low += rows[0][k] * value;
          high += rows[1][k] * value;
        }
        d[r + pair] = toward_zero(low);
        d[r + pair + 2] = toward_zero(high);
      }
    }
  }

  EmulatedBlock& block_;
  SharedMemoryModel& memory_;
  std::size_t calls_ = 0;
  std::vector<std::pair<std::uint32_t, kernels::Line>> stores_;
  std::vector<std::vector<std::function<void()>>> groups_;  // committed
  std::vector<std::function<void()>> open_;
  bool fenced_ = false;
};

inline EmulatedMatrixUnit matrix_unit(EmulatedBlock& block) { return EmulatedMatrixUnit(block); }

}  // namespace gibbsite::support::emulator
