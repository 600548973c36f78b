#include "support/ptx/decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "support/ptx/text.hpp"

namespace gibbsite::ptx {

int Constants::of(u64 value) {
  const auto [at, is_new] = index_.emplace(value, static_cast<int>(values_.size()));
  if (is_new) values_.push_back(value);
  return ~at->second;
}

int Constants::placeholder() {
  values_.push_back(0);
  return ~static_cast<int>(values_.size() - 1);
}

Opcode::Opcode(std::string_view text) : words(split(text, '.')) {}

bool Opcode::has(std::string_view modifier) const {
  return std::find(words.begin() + 1, words.end(), modifier) != words.end();
}

void Opcode::allow_only(std::initializer_list<std::string_view> modifiers) const {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (std::find(modifiers.begin(), modifiers.end(), words[i]) == modifiers.end()) {
      throw std::runtime_error(fmt::format("the modifier .{} is not modelled", words[i]));
    }
  }
}

const Operand& Decoding::operand(std::size_t index) const {
  if (index >= operands.size()) throw std::runtime_error("an operand is missing");
  return operands[index];
}

int Decoding::source(const Operand& operand) const {
  if (operand.kind == Operand::Kind::reg) return operand.id;
  if (operand.kind == Operand::Kind::immediate) return constants.of(operand.value);
  throw std::runtime_error("a source is no register and no number");
}

void Decoding::take(std::size_t sources) const {
  if (operands.size() != sources + 1)
    throw std::runtime_error("the number of operands is not modelled");
  out.d = destination(operands[0]);
  for (std::size_t i = 0; i < sources; ++i) out.s[i] = source(i + 1);
}

void Decoding::take_address(std::size_t index) const {
  const Operand& address = operand(index);
  if (address.kind != Operand::Kind::address) throw std::runtime_error("an address is missing");
  out.immediate = address.offset;
  if (address.has_base) out.s[0] = address.id;
  if (address.space == Space::local && out.space == Space::param) out.space = Space::local;
}

void Decoding::execute(Execute function) const {
  if (function == nullptr) throw std::runtime_error("the type is not modelled");
  out.execute = function;
}

int destination(const Operand& operand) {
  if (operand.kind != Operand::Kind::reg) throw std::runtime_error("a destination is no register");
  return operand.id;
}

int predicate(const Operand& operand) {
  if (operand.kind != Operand::Kind::predicate) throw std::runtime_error("a predicate is missing");
  return operand.id;
}

void decode(const Decoding& in) {
  const bool known = decode_arithmetic(in) || decode_conversion(in) || decode_move(in) ||
                     decode_memory(in) || decode_warp(in) || decode_copy(in) || decode_matrix(in);
  if (!known) throw std::runtime_error("the instruction is not modelled");
}

}  // namespace gibbsite::ptx
