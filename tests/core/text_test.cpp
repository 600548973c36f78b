#include "gibbsite/core/text.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace gibbsite {
namespace text_test {

TEST(Shown, LeavesTextAsItIs) {
  for (const char* text :
       {"", "age", "Straße", "\xe2\x82\xac 5", "日本", "\xf0\x9f\x98\x80", "a\\b \"c\"", "μ → β"})
    EXPECT_EQ(shown(text), text);
}

TEST(Shown, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(shown("\x1b[2J\x07\r\n\t\x7f"), "\\x1b[2J\\x07\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(shown(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(shown("\xc2\x9b"
                  "31m"),
            "\\u{009b}31m");  // CSI as one code point
  EXPECT_EQ(shown("\xc2\x80\xc2\x9f\xc2\xa0"), "\\u{0080}\\u{009f}\xc2\xa0");
  EXPECT_EQ(shown("\xe2\x80\xaegpj\xe2\x81\xa6\xe2\x81\xa9"), "\\u{202e}gpj\\u{2066}\\u{2069}");
  EXPECT_EQ(shown("\xd8\x9c\xe2\x80\x8f\xe2\x80\x8b\xe2\x80\xa8\xef\xbb\xbf"),
            "\\u{061c}\\u{200f}\\u{200b}\\u{2028}\\u{feff}");
  EXPECT_EQ(shown("\xf3\xa0\x81\x81"), "\\u{e0041}");
}

TEST(Shown, EscapesBytesThatAreNotUtf8) {
  for (const auto& [text, expected] : {std::pair{"\xff", "\\xff"},
                                       {"\x9b", "\\x9b"},  // CSI of an 8-bit terminal
                                       {"caf\xe9!", "caf\\xe9!"},
                                       {"\xc0\x9b", "\\xc0\\x9b"},           // overlong ESC
                                       {"\xe0\x80\x9b", "\\xe0\\x80\\x9b"},  // the same
                                       {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // a surrogate
                                       {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
                                       {"\xe2\x82", "\\xe2\\x82"}})
    EXPECT_EQ(shown(text), expected);
}

// Whatever the bytes: printable UTF-8, and nothing more to escape.
TEST(Shown, OfRandomBytesIsHarmlessAndStays) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text;
    for (std::uint64_t i = random() % 12; i > 0; --i) {
      const char* const parts[] = {"\xc2", "\xe2\x80", "\x9b", "\x1b", "\xae", "a", "\xf3\xa0"};
      text += random() % 2 == 0 ? std::string(1, static_cast<char>(random()))
                                : std::string(parts[random() % std::size(parts)]);
    }
    const std::string out = shown(text);
    EXPECT_EQ(shown(out), out);
    for (const char c : out) EXPECT_FALSE((c >= 0 && c < 0x20) || c == 0x7f);
    EXPECT_EQ(out.find("\xc2\x9b"), std::string::npos);
    EXPECT_EQ(out.find("\xe2\x80\xae"), std::string::npos);
  }
}

}  // namespace text_test
}  // namespace gibbsite
