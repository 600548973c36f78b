#include "gibbsite/model/selection.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {

void SelectionModel::validate() const {
  constexpr std::size_t longest = 256;
  const std::set<std::string> names(candidates.begin(), candidates.end());
  if (candidates.size() < 2) {
    throw BadInput(Field{"candidates"},
                   fmt::format("there must be two at least, got {}", candidates.size()));
  }
  if (names.size() != candidates.size()) {
    throw BadInput(Field{"candidates"}, "one is named twice", "give each a name of its own");
  }
  for (const std::string& name : candidates) {
    if (name.empty() || name.size() > longest || shown(name) != name) {
      throw BadInput(Field{"candidates"},
                     fmt::format("a name must be plain text of 1 to {} bytes, got {}", longest,
                                 gibbsite::quoted(name)));
    }
  }
  if (!of.empty() && of.size() != candidates.size()) {
    throw BadInput("of: must be a digest for each candidate; use the file as it was written");
  }
  if (score != "given" && score != "accuracy" && score != "brier") {
    throw BadInput(Field{"score"},
                   fmt::format("{} is none of accuracy, brier", gibbsite::quoted(score)));
  }
  if ((score == "given") != of.empty()) {
    throw BadInput("of: is of candidates that are models; use the file as it was written");
  }
  if (!(std::isfinite(lo) && std::isfinite(hi) && lo < hi && std::isfinite(hi - lo))) {
    throw BadInput(Field{"range"}, fmt::format("must be two rising numbers, got {}, {}", lo, hi));
  }
  if (chosen >= candidates.size()) {
    throw BadInput("chosen: is none of the candidates; use the file as it was written");
  }
}

}  // namespace gibbsite
