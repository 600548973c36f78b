#pragma once
// Columns of yes and no, in whatever spelling.
#include <string>
#include <string_view>
#include <vector>

namespace gibbsite {

/// The levels of a boolean, in this order.
inline constexpr std::string_view boolean_levels[] = {"false", "true"};

/// The spellings of a level: true, t, yes, y and 1 (false, f, no, n and 0), in small letters, in
/// capital ones and with one capital letter first. As a category's, whole numbers match however
/// they are written.
const std::vector<std::string>& boolean_spellings(bool value);

/// Whether the texts are spellings of both levels, each of one of them.
bool are_booleans(const std::vector<std::string>& texts);

}  // namespace gibbsite
