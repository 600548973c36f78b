#include "gibbsite/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace gibbsite {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 0: the text does not begin with UTF-8
};

// The Unicode Standard, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
CodePoint first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead < 0xC2   ? 0
                            : lead < 0xE0 ? 2
                            : lead < 0xF0 ? 3
                            : lead < 0xF5 ? 4
                                          : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  std::uint32_t value = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  if (value < least[bytes] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  return {value, bytes};
}

bool misleads(std::uint32_t c) {
  constexpr std::array<std::array<std::uint32_t, 2>, 10> ranges{{{0, 0x1F},
                                                                 {0x7F, 0x9F},
                                                                 {0x61C, 0x61C},
                                                                 {0x200B, 0x200B},
                                                                 {0x200E, 0x200F},
                                                                 {0x2028, 0x202E},
                                                                 {0x2060, 0x2064},
                                                                 {0x2066, 0x2069},
                                                                 {0xFEFF, 0xFEFF},
                                                                 {0xE0000, 0xE007F}}};
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](const auto& range) { return c >= range[0] && c <= range[1]; });
}

std::string as_escape(std::uint32_t code, bool is_byte) {
  const bool byte = is_byte || code < 0x80;
  return byte ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{{{:04x}}}", code);
}

}  // namespace

std::string shown(std::string_view text) { return shown(text, as_escape); }

std::string shown(std::string_view text, std::string (*escape)(std::uint32_t, bool)) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = first_of(text);
    const std::size_t bytes = std::max<std::size_t>(c.bytes, 1);
    if (c.bytes == 0) {
      out += escape(static_cast<std::uint8_t>(text[0]), true);
    } else if (misleads(c.value)) {
      out += escape(c.value, false);
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::size_t end = std::min(longest, text.size());  // not within a character
  while (end < text.size() && end > longest - 4 &&
         (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  const std::string_view head = text.substr(0, end);
  return fmt::format("'{}{}'", shown(head), text.size() > longest ? "..." : "");
}

namespace {

// Single-character edits from one word to the other (Levenshtein).
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  // A name in other case comes before one with other letters.
  const auto distance = [&](const std::string& name) {
    const std::size_t shorter = std::min(word.size(), name.size()),
                      longer = std::max(word.size(), name.size());
    // Too far, however its letters run: a cell may be long, and there may be many names.
    if (3 * (longer - shorter) > name.size()) return std::pair(longer + 1, longer + 1);
    return std::pair(edits(lower(word), lower(name)), edits(word, name));
  };
  const auto near = std::ranges::min_element(names, {}, distance);
  if (near == names.end() || 3 * distance(*near).first > near->size()) return "";
  return fmt::format(", did you mean {}?", shown(*near));
}

std::string short_list(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string out;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    out += (i > 0 ? ", " : "") + gibbsite::quoted(names[i]);
  return names.size() > most ? out + fmt::format(" and {} more", names.size() - most) : out;
}

std::string with_paths_of_pages(std::string_view text) {
  constexpr std::string_view folder = "docs/", end = ".md";
  std::string out;
  for (std::size_t at = 0; (at = text.find(folder)) != std::string_view::npos;) {
    at += folder.size();
    const std::size_t length = text.substr(at).find_first_not_of("abcdefghijklmnopqrstuvwxyz-");
    out += text.substr(0, at);
    text.remove_prefix(at);
    if (length != std::string_view::npos && text.substr(length).starts_with(end)) out += "theory/";
  }
  return out += text;
}

std::string number_text(double value) {
  if (std::abs(value) < 0x1p53 && value == std::trunc(value))
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

}  // namespace gibbsite
