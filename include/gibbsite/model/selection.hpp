#pragma once
// A choice among candidates, as it is released.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/model/coefficient_ball.hpp"
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
  std::string score;      ///< what a row's score is: "given", "accuracy", "brier", "log-likelihood"
  double lo = 0, hi = 1;  ///< the range that scores are clamped to
  std::size_t chosen = 0;
  Reading schema{};
  std::optional<CoefficientBall> ball{};  ///< of log-likelihood: the candidates are its points

  /// The chosen coefficients [d], in the units of rows as they are scaled; none without a ball.
  [[nodiscard]] std::optional<std::vector<double>> coefficients() const;
  /// Throws BadInput naming the field that is out of range.
  void validate() const;
};

/// All points of a ball as candidates by their log-likelihood; `chosen` is the first.
SelectionModel selection_in_ball(const CoefficientBall& ball);

}  // namespace gibbsite
