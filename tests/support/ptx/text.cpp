#include "support/ptx/text.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace gibbsite::ptx {

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> split_operands(std::string_view text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  return parts;
}

std::size_t word_end(std::string_view text, std::size_t at) {
  while (at < text.size() && is_word(text[at])) ++at;
  return at;
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

u32 size_of_type(std::string_view type) {
  const std::size_t digits = type.find_first_of("0123456789");
  const std::string_view kind = type.substr(0, digits);
  const std::string_view bits = digits == std::string_view::npos ? "" : type.substr(digits);
  if (type == "bf16x2" || type == "f16x2") return 4;
  if (kind == "b" || kind == "u" || kind == "s" || kind == "f" || kind == "bf") {
    if (bits == "8") return 1;
    if (bits == "16") return 2;
    if (bits == "32") return 4;
    if (bits == "64") return 8;
  }
  throw std::runtime_error(fmt::format("the type .{} is not modelled", type));
}

Declaration read_declaration(std::string_view text) {
  Declaration declared;
  bool aligned = false, pointee = false;
  const std::size_t bracket = text.find('[');
  const std::string head = trimmed(text.substr(0, bracket));
  for (std::size_t at = 0; at < head.size();) {
    at = skip_space(head, at);
    const std::size_t end = word_end(head, at);
    if (end == at) break;
    const std::string word = head.substr(at, end - at);
    at = end;
    if (word == ".ptr") pointee = true;  // what follows is of what it points to
    if (word == ".align") {
      if (!pointee) declared.align = static_cast<u32>(std::stoul(head.substr(at)));
      at = word_end(head, skip_space(head, at));
      aligned = !pointee;
    } else if (word.size() > 2 && word[0] == '.' && is_digit(word.back())) {
      declared.element = size_of_type(std::string_view(word).substr(1));
    } else if (word[0] != '.') {
      declared.name = word;
    }
  }
  if (bracket != std::string_view::npos) {
    const std::string inside(text.substr(bracket + 1, text.find(']', bracket) - bracket - 1));
    declared.count = trimmed(inside).empty() ? 0 : std::stoull(inside);
  }
  if (!aligned) declared.align = declared.element;
  return declared;
}

}  // namespace gibbsite::ptx
