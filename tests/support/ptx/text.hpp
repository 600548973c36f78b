#pragma once
// Small tools for reading PTX text.
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "support/ptx/program.hpp"

namespace gibbsite::ptx {

inline bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
inline bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// A character of an identifier, a register or a directive.
inline bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

std::string trimmed(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);
/// Splits at commas that are in no bracket.
std::vector<std::string> split_operands(std::string_view text);
/// The end of the word that begins at `at`.
std::size_t word_end(std::string_view text, std::size_t at);
std::size_t skip_space(std::string_view text, std::size_t at);

/// A declared name: `.align 8 .b8 name[24]`.
struct Declaration {
  std::string name;
  u32 align = 8;    // bytes; of an element where none is said
  u32 element = 1;  // bytes
  u64 count = 1;    // elements, 0 for `name[]`
  [[nodiscard]] u64 size() const { return element * count; }
};
Declaration read_declaration(std::string_view text);

/// Bytes of a type such as u32 or bf16x2. Throws std::runtime_error for another word.
u32 size_of_type(std::string_view type);

}  // namespace gibbsite::ptx
