#pragma once
// Text of a file, as a person may safely see it.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gibbsite {

/// UTF-8 of one line that changes nothing on a terminal but by its letters. Escaped are: control
/// characters (ESC and line ends included) and bytes that are not UTF-8 as \xNN; C1 controls
/// (U+0080 to U+009F), line and paragraph separators, marks that turn the direction of text
/// (U+061C, U+200E/F, U+202A to U+202E, U+2066 to U+2069) and what has no width (U+200B, U+2060 to
/// U+2064, U+FEFF, tags) as \u{NNNN}. Backslashes stay, so that shown(shown(t)) = shown(t).
std::string shown(std::string_view text);
/// `shown` with another way to escape: `escape` gets a code point, or a byte that is not UTF-8
/// (is_byte).
std::string shown(std::string_view text, std::string (*escape)(std::uint32_t code, bool is_byte));

/// Text in quotes for an error message: as shown(), with long text cut.
std::string quoted(std::string_view text);

/// Returns ", did you mean NAME?" for the nearest of `names`, if at most a third of it differs
/// (Levenshtein distance, upper and lower case of ASCII letters being one), else "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

/// "'A', 'B' and 3 more": the first few of `names`, each as quoted().
std::string short_list(const std::vector<std::string>& names);

/// Certificates name a page of docs/theory without its shelf, docs/NAME.md. Returns the text with
/// the paths of today.
std::string with_paths_of_pages(std::string_view text);

/// Shortest text of a number: "3", "-1", "0.5"; -0 is "0".
std::string number_text(double value);

}  // namespace gibbsite
