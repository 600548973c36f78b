#pragma once
// Bytes that go between the process that asks and the shares that answer.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gibbsite/core/error.hpp"

namespace gibbsite::remote {

/// By whom it was answered: of its rows, of its program and instruction set, and of the question.
struct Stamp {
  std::array<unsigned char, 32> rows{}, program{}, question{};
};

struct Answer {
  std::vector<Stamp> stamps{};  // of the shares that it went through
  std::vector<double> numbers{};
};

class Writer {
 public:
  template <class T>
  Writer& add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  template <class Vector>
  Writer& add_all(const Vector& values) {
    add(std::uint64_t{values.size()});
    out_.append(reinterpret_cast<const char*>(values.data()),
                values.size() * sizeof(*values.data()));
    return *this;
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  template <class T>
  Reader& get(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(&value, cut(sizeof value), sizeof value);
    return *this;
  }
  template <class Vector>
  Reader& get_all(Vector& values) {
    std::uint64_t size = 0;
    get(size);
    constexpr std::size_t each = sizeof(*values.data());
    if (size > left_.size() / each) malformed();
    const char* const from = cut(size * each);
    values.resize(size);
    if (size > 0) std::memcpy(static_cast<void*>(values.data()), from, size * each);
    return *this;
  }
  void end() const {
    if (!left_.empty()) malformed();
  }

 private:
  [[noreturn]] static void malformed() {
    throw BadInput(
        "shares: bytes are cut off or of another version; run the same gibbsite on all workers");
  }
  const char* cut(std::size_t size) {
    if (size > left_.size()) malformed();
    const char* const at = left_.data();
    left_.remove_prefix(size);
    return at;
  }
  std::string_view left_;
};

inline std::string bytes_of(const Answer& a) {
  return Writer().add_all(a.stamps).add_all(a.numbers).take();
}
inline Answer answer_of(std::string_view bytes) {
  Answer a;
  Reader(bytes).get_all(a.stamps).get_all(a.numbers).end();
  return a;
}

}  // namespace gibbsite::remote
