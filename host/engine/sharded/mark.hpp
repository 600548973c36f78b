#pragma once
// What ranks compare, so that a rank that went another way ends the run.
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>

namespace gibbsite::sharded {

/// What ranks must agree on before they add: a question and its arguments.
class Mark {
 public:
  explicit Mark(std::uint64_t question) { add(question); }
  void add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 29;
  }
  void add(double number) { add(std::bit_cast<std::uint64_t>(number)); }
  void add(std::span<const double> numbers) {
    for (const double v : numbers) add(v);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }
  /// In place of a mark, from a rank that is asked to end.
  static constexpr std::uint64_t stop = 0;
  [[nodiscard]] std::uint64_t value_or_stop(const std::atomic<bool>* asked) const {
    return asked != nullptr && *asked ? stop : value_;
  }

 private:
  std::uint64_t value_ = 0x243f6a8885a308d3;
};

}  // namespace gibbsite::sharded
