#pragma once
// Rows that nobody keeps: made by block each time that a sum over them is asked for. For tables
// made up to measure with, larger than memory; a table that somebody has is read
// (data/dataset.hpp).
#include <cstdint>
#include <memory>
#include <span>

#include "gibbsite/engine/engine.hpp"
#include "gibbsite/machine/communicator.hpp"

namespace gibbsite {

/// A table whose rows follow from their place alone, so that nobody keeps them.
class RowMaker {
 public:
  virtual ~RowMaker() = default;
  /// n, the number of rows of all ranks.
  [[nodiscard]] virtual std::uint64_t rows() const = 0;
  /// Number of columns of a row.
  [[nodiscard]] virtual std::size_t features() const = 0;
  /// Makes rows [first, last): x [(last - first) x features()], y [last - first]. A row does not
  /// depend on what else is made; several threads call this.
  virtual void make(std::uint64_t first, std::uint64_t last, std::span<float> x,
                    std::span<float> y) const = 0;
};

/// A backend whose engines have the maker's rows on all ranks, each its share by `share_bounds`
/// (engine/sharded.hpp). They keep no row, so memory does not grow with their number. `load`
/// takes no rows; a fit is told of them by FitOptions::rows_elsewhere. The engine answers
/// gradients, second moments, capped gradients and `first_fault`, with the bits of an engine of
/// `local` that holds all rows. It throws BadInput on other questions. `threads` tasks run at a
/// time, each with its own engine: `local` should have one thread. `maker` and `ranks` must outlive
/// it.
[[nodiscard]] std::unique_ptr<Backend> make_rows(std::unique_ptr<Backend> local,
                                                 const RowMaker& maker, Communicator& ranks,
                                                 std::size_t threads);

}  // namespace gibbsite
