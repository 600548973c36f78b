#pragma once
// HTML, written front to back: what is a text is escaped, unless it says that it is markup.
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "gibbsite/core/text.hpp"

namespace gibbsite {

/// For text and for attributes in quotes of either kind. What HTML has no sign for, or what turns
/// the direction of text, is written as shown() writes it.
inline std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : shown(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// Text that is HTML already.
struct Markup {
  std::string text;
};

class Html {
  static std::string safe(const Markup& value) { return value.text; }
  static std::string safe(std::string_view value) { return escaped_html(value); }
  template <class T>
  requires std::is_arithmetic_v<T>
  static T safe(T value) { return value; }

 public:
  /// Numbers and Markup as they are, texts escaped.
  template <class... T>
  void put(fmt::format_string<decltype(safe(std::declval<const T&>()))...> text,
           const T&... values) {
    fmt::format_to(std::back_inserter(out_), text, safe(values)...);
  }
  [[nodiscard]] const std::string& text() const { return out_; }
  [[nodiscard]] Markup markup() const { return {out_}; }

 private:
  std::string out_;
};

}  // namespace gibbsite
