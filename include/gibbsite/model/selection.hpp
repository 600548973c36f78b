#pragma once
// A choice among candidates, as it is released.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// The candidate that was chosen, and what it was chosen among. Everything but `chosen` is public.
struct SelectionModel {
  /// How rows were read.
  struct Reading {
    Invalid invalid = Invalid::middle;  ///< refuse: of models whose schema refuses cells
    std::optional<BoughtApart> bought{};
    std::optional<PublicTable> from_public{};
    bool operator==(const Reading&) const = default;
  };

  std::vector<std::string> candidates;  ///< names, each once
  std::vector<std::string> of{};        ///< digests of the candidates' files, where they are models
  std::string score;                    ///< what a row's score is: "given", "accuracy", "brier"
  double lo = 0, hi = 1;                ///< the range that scores are clamped to
  std::size_t chosen = 0;
  Reading schema{};

  /// Throws BadInput naming the field that is out of range.
  void validate() const;
};

}  // namespace gibbsite
