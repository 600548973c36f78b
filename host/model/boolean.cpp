#include "gibbsite/model/boolean.hpp"

#include <algorithm>
#include <array>

namespace gibbsite {
namespace {

std::vector<std::string> spelled(const std::array<std::string_view, 5>& words) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& word) {
    if (std::ranges::find(out, word) == out.end()) out.push_back(word);
  };
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; };
  for (const std::string_view word : words) {
    std::string titled(word), capital(word);
    titled[0] = upper(titled[0]);
    std::ranges::transform(capital, capital.begin(), upper);
    add(std::string(word));
    add(titled);
    add(capital);
  }
  return out;
}

}  // namespace

const std::vector<std::string>& boolean_spellings(bool value) {
  static const std::vector<std::string> no = spelled({"false", "f", "no", "n", "0"}),
                                        yes = spelled({"true", "t", "yes", "y", "1"});
  return value ? yes : no;
}

bool are_booleans(const std::vector<std::string>& texts) {
  std::array<std::size_t, 2> found{};
  for (const std::string& text : texts)
    for (const bool value : {false, true})
      found[value ? 1 : 0] +=
          static_cast<std::size_t>(std::ranges::count(boolean_spellings(value), text));
  return found[0] > 0 && found[1] > 0 && found[0] + found[1] == texts.size();
}

}  // namespace gibbsite
