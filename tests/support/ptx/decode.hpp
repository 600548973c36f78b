#pragma once
// From the words of a PTX statement to an instruction of the interpreter.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/ptx/program.hpp"

namespace gibbsite::ptx {

struct Operand {
  enum class Kind { missing, reg, predicate, immediate, vector, address, special, symbol };
  Kind kind = Kind::missing;  // `_` too
  int id = 0;                 // register
  bool negated = false;
  s64 offset = 0;         // of an address
  bool has_base = false;  // of an address: in register `id`
  u64 value = 0;          // of an immediate
  Space space = Space::generic;
  std::string name;
  std::vector<Operand> vector;  // `{a, b}`, or the second destination of `a|b`
};

/// The immediate operands of a kernel, each once.
class Constants {
 public:
  explicit Constants(std::vector<u64>& values) : values_(values) {}
  /// The operand that stands for that value.
  int of(u64 value);
  /// One of its own, whose value is set later.
  int placeholder();

 private:
  std::vector<u64>& values_;
  std::map<u64, int> index_;
};

/// `ld.global.v4.f32` and its operands.
struct Opcode {
  explicit Opcode(std::string_view text);
  [[nodiscard]] bool has(std::string_view modifier) const;
  /// Throws std::runtime_error for a modifier that is not one of these.
  void allow_only(std::initializer_list<std::string_view> modifiers) const;
  [[nodiscard]] const std::string& name() const { return words.front(); }
  [[nodiscard]] const std::string& type() const { return words.back(); }
  std::vector<std::string> words;
};

/// What a decoder gets; the families below return false for an opcode that is not theirs, and throw
/// std::runtime_error for a form of it that is not modelled.
struct Decoding {
  const Opcode& op;
  const std::vector<Operand>& operands;
  Constants& constants;
  Instruction& out;

  [[nodiscard]] const Operand& operand(std::size_t index) const;
  /// Source: a register, or a constant.
  [[nodiscard]] int source(std::size_t index) const { return source(operand(index)); }
  [[nodiscard]] int source(const Operand& operand) const;
  [[nodiscard]] int immediate_source(u64 value) const { return constants.of(value); }
  /// Sets d and s[0..] from operands 0, 1 .. `sources`, and wants no more.
  void take(std::size_t sources) const;
  /// Sets s[0] and immediate from an address.
  void take_address(std::size_t index) const;
  void execute(Execute function) const;
};
int destination(const Operand& operand);
int predicate(const Operand& operand);

bool decode_arithmetic(const Decoding& in);
bool decode_conversion(const Decoding& in);
bool decode_move(const Decoding& in);
bool decode_memory(const Decoding& in);
bool decode_warp(const Decoding& in);
bool decode_copy(const Decoding& in);
bool decode_matrix(const Decoding& in);

/// Throws std::runtime_error: what is not modelled.
void decode(const Decoding& in);

}  // namespace gibbsite::ptx
