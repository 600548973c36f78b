#pragma once
// What goes between the engine that asks and the shares that answer, as bytes.
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

enum class What : std::uint64_t {
  gradients,        // first: theta [rows x d]; of each node [rows x d], or in turn [rows x 2 d]
  values,           // first: theta [rows x d]; in turn [rows]
  moments,          // first: P [columns x rows], number: clip; of each node [rows (rows + 1) / 2]
  capped_gradient,  // first: theta [d], second: P [columns x rows] and the limit of information,
                    // number: clip; of each node [d + 1], or in turn [2 (d + 1)]
  information,      // the same; of several classes two of them behind theta [d + 2]; lower triangle
                    // [rows (rows + 1)/2] of each node
  score_moments,    // theta [K d]; P, clip: the lower triangle of `score_coordinates`
  lengths,          // first: weights [columns], second: centers [columns], base, low, high; of each
                    // node [1]
  plain_value,      // first: theta [d]; in turn [1]
  plain_gradient,   // the same; in turn [d]
  dense,            // first: theta [d], number: scale; in turn [d x d]
  diagonal,         // the same; in turn [d]
  product,          // the same, second: v [d]; in turn [d]
  logit,            // first: theta [d]; the largest [1]
  offset,           // the largest [1]
  difference,       // first: terms [rows x d], second: w [d]; in turn [4]
  norms,            // in turn [2]
  fault,            // first: limits of norm_squared, label, offset; rows: kind of label and
                    // intercept; {row of the table from 1 or 0, what} [2]
};

struct Question {
  What what{};
  std::uint64_t rows = 1;
  double number = 0;
  std::vector<double> first{}, second{};
};

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

inline std::string bytes_of(const Question& q) {
  return Writer().add(q.what).add(q.rows).add(q.number).add_all(q.first).add_all(q.second).take();
}
inline Question question_of(std::string_view bytes) {
  Question q;
  Reader(bytes).get(q.what).get(q.rows).get(q.number).get_all(q.first).get_all(q.second).end();
  return q;
}
inline std::string bytes_of(const Answer& a) {
  return Writer().add_all(a.stamps).add_all(a.numbers).take();
}
inline Answer answer_of(std::string_view bytes) {
  Answer a;
  Reader(bytes).get_all(a.stamps).get_all(a.numbers).end();
  return a;
}

}  // namespace gibbsite::remote
