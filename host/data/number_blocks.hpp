#pragma once
// Many rows of numbers at a time, shared among threads piece by piece: for every reader of tables
// whose columns are all numbers.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "data/encoder.hpp"
#include "data/input.hpp"
#include "data/number_rows.hpp"
#include "machine/processors.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite {

class NumberBlocks {
 public:
  /// row_bytes: of a row as it is fetched. threads: 0 is one for each processor that may be used.
  NumberBlocks(CellEncoder& rows, NumberRows numbers, std::size_t row_bytes, std::size_t threads)
      : rows_(rows),
        numbers_(std::move(numbers)),
        row_bytes_(row_bytes),
        pool_(std::clamp<std::size_t>(
            threads > 0 ? threads : static_cast<std::size_t>(usable_processors()), 1,
            ThreadPool::most_members)),
        members_(pool_.members()) {}
  ~NumberBlocks() = default;
  NumberBlocks(const NumberBlocks&) = delete;
  NumberBlocks& operator=(const NumberBlocks&) = delete;

  /// Whether there are pieces to share: a row that is longer is read by parts.
  [[nodiscard]] bool may_read() const {
    const bool may_take = rows_.is_dense() || (rows_.is_decided() && numbers_.has_entries());
    return may_take && row_bytes_ <= piece_bytes;
  }
  [[nodiscard]] std::uint64_t most_rows() const { return pieces * piece_rows(); }

  /// The next rows, at most most_rows(), up to one that must be read alone: it holds a cell that is
  /// refused, or the table ends there. Returns how many. fetch(first, count, room, encode) returns
  /// encode(values, got): `got` of the rows [first, first + count) at `values`, which may be `room`
  /// for all of them. From any thread; it must not throw.
  template <class Fetch>
  std::size_t read(std::size_t rows, const Fetch& fetch) {
    const bool dense = rows_.is_dense();
    float* const out = dense ? rows_.extend(rows) : nullptr;
    std::array<std::size_t, pieces> done{};
    const std::size_t most = piece_rows(), tasks = (rows + most - 1) / most;
    pool_.each(tasks, [&](std::size_t piece, std::size_t member) {
      Member& own = members_[member];
      if (own.room == nullptr) own.room = std::make_unique_for_overwrite<std::byte[]>(piece_bytes);
      const std::size_t first = piece * most, count = std::min(most, rows - first);
      float* const to = dense ? out + first * numbers_.features() : nullptr;
      done[piece] = fetch(first, count, own.room.get(), [&](const auto* in, std::size_t got) {
        if (!numbers_.has_entries()) return numbers_.encode(in, got, to, own.tally);
        CellEncoder::SparseRowsMade& made = dense ? own.made : made_[piece];
        const std::size_t good = numbers_.encode(in, got, made, own.tally);
        if (dense) numbers_.lay_out(made, good, to);
        return good;
      });
    });
    std::size_t whole = 0;
    for (std::size_t piece = 0; piece < tasks; ++piece) {
      if (!dense) rows_.append(made_[piece], done[piece]);
      whole += done[piece];
      if (done[piece] < std::min(most, rows - piece * most)) break;
    }
    if (dense) rows_.end_rows(whole, rows);
    return whole;
  }

  /// After the last row.
  void add_counts() {
    for (const Member& own : members_) rows_.add_counts(own.tally.cells, own.tally.clipped_rows);
  }

 private:
  // Pieces fit in a core's second cache, and all of them between two reports of progress.
  static constexpr std::size_t pieces = 32, piece_bytes = progress_bytes / 2 / pieces;
  struct alignas(64) Member {
    std::unique_ptr<std::byte[]> room;
    NumberRows::Tally tally;
    CellEncoder::SparseRowsMade made;
  };

  [[nodiscard]] std::size_t piece_rows() const { return piece_bytes / row_bytes_; }

  CellEncoder& rows_;
  NumberRows numbers_;
  std::size_t row_bytes_;
  ThreadPool pool_;
  std::vector<Member> members_;
  std::array<CellEncoder::SparseRowsMade, pieces> made_;
};

}  // namespace gibbsite
