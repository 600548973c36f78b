#pragma once
// Interactions: products of the features of two or three columns (docs/theory/curves.md).
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Where the hats of a number within an interaction are, if nobody lists them: at both ends of its
/// range if it is a straight line, at 4 of its knots if it is a curve, at `count` if that is given.
/// They are knots of its curve where that has so many, so that the curve holds what a sum over the
/// other columns would say. The schema alone decides them. Throws BadInput as placed_knots.
std::vector<double> interaction_knots(const Column& number, std::optional<std::size_t> count = {});

/// Where the cell of one column is among its features within an interaction: at `first`, and as
/// `next` of 2^24 parts at the one behind.
struct InteractionPlace {
  std::size_t first = 0;
  std::uint32_t next = 0;
};

/// Calls add(feature, value) for each product that is not 0, in the order of features, the first
/// column varying slowest. `sizes`: how many features each column has. A whole of 2^24 parts is
/// split among the places of one column after the other, each part in whole numbers: so values are
/// multiples of 2^-24 from 0 to 1, floats whose sum is exactly 1, and their norm is at most 1.
template <class Add>
void interaction_products(std::span<const InteractionPlace> places,
                          std::span<const std::size_t> sizes, const Add& add) {
  constexpr std::uint32_t bits = 24;
  struct Piece {
    std::size_t feature = 0;
    std::uint64_t parts = 0;
  };
  std::array<Piece, 1 << most_interacting> pieces{{{0, std::uint64_t{1} << bits}}}, split{};
  std::size_t count = 1;
  for (std::size_t c = 0; c < places.size(); ++c) {
    std::size_t made = 0;
    for (std::size_t p = 0; p < count; ++p) {
      const std::size_t feature = pieces[p].feature * sizes[c] + places[c].first;
      const std::uint64_t next = pieces[p].parts * places[c].next >> bits;
      if (next < pieces[p].parts) split[made++] = {feature, pieces[p].parts - next};
      if (next > 0) split[made++] = {feature + 1, next};
    }
    pieces = split;
    count = made;
  }
  for (std::size_t p = 0; p < count; ++p) {
    add(pieces[p].feature, static_cast<float>(pieces[p].parts) * 0x1p-24F);
  }
}

/// Coordinates of the features of an interaction whose columns always have a level: products over
/// its columns of contrasts (smooth ones of numbers) and of the constant 1/sqrt(m), two contrasts
/// at least. So it holds no main effect, and of three columns no pair that is an interaction of its
/// own.
class InteractionContrasts {
 public:
  InteractionContrasts(const Schema& schema, const Interaction& interaction);
  [[nodiscard]] std::size_t coordinates() const { return coordinates_.size(); }
  /// Entry of B at (feature, coordinate); `smooth`: as `smooth_contrasts`.basis, else .plain.
  [[nodiscard]] double at(std::size_t feature, std::size_t coordinate, bool smooth) const;
  /// Typical and largest squared norm of a row in these coordinates, both public.
  [[nodiscard]] double typical_square() const { return typical_; }
  [[nodiscard]] double largest_square() const { return largest_; }

 private:
  struct Factor {
    std::size_t levels = 0;
    const SmoothContrasts* hats = nullptr;  // of a number
    double typical = 0, largest = 0;        // squares of a cell in contrasts
  };
  static constexpr std::size_t constant = ~std::size_t{0};
  using Coordinate = std::array<std::size_t, most_interacting>;  // contrasts, or `constant`

  std::vector<Factor> factors_;
  std::vector<Coordinate> coordinates_;
  double typical_ = 0, largest_ = 0;
};

/// Sets, in a row [d], the features of an interaction to 1 at its feature j and 0 elsewhere, and
/// those of its columns to what a cell at that place has.
void put_product(const Schema& schema, std::size_t j, std::span<double> row);

/// Adds to the means of features of interactions [d], known in InteractionContrasts alone, what the
/// means of their columns' own features say of them.
void add_main_parts(const Schema& schema, std::span<double> means);

}  // namespace gibbsite
