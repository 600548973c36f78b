#pragma once
// Rows that lie elsewhere, in shares that answer what they are asked (docs/how-to/cluster.md, "With
// Dask").
//
// An answer is a function of (share, question) alone, so that whoever carries them may ask a share
// again, or make a lost one anew from its rows, and no bit changes. All that is decided or drawn is
// so by the engine that asks, in one process: a worker knows no noise and no key.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gibbsite/data/dataset.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite {

/// Encoded rows of a partition, with their labels, which a worker keeps.
struct HeldRows : BesideRows {
  std::uint64_t columns = 0;  ///< features of a row
  std::variant<DenseTable, SparseTable> storage;

  [[nodiscard]] std::uint64_t rows() const { return y.size(); }
  /// Number of entries that are not 0.
  [[nodiscard]] std::uint64_t entries() const;
  /// Memory of the rows in bytes.
  [[nodiscard]] std::uint64_t memory_bytes() const;
  [[nodiscard]] Rows view() const;
  /// BLAKE2b-256 of rows and what stands beside them, in hexadecimal digits.
  [[nodiscard]] std::string digest() const;
  /// Serializes the rows to bytes that `parse` reads, on machines of the same byte order. `parse`
  /// throws BadInput on other bytes.
  [[nodiscard]] std::string bytes() const;
  static HeldRows parse(std::string_view bytes);
};

/// Takes over the rows of a table with labels, in memory. Throws BadInput on another table.
HeldRows hold(Dataset data);

/// Rows [first, last) of a partition.
struct Slice {
  const HeldRows* rows;
  std::uint64_t first, last;
};
/// Joins slices, one after another. Throws BadInput if a slice is beyond its rows, or layouts
/// differ.
HeldRows join(std::span<const Slice> slices);

/// The place of a share in its table.
struct SharePlace {
  std::uint64_t first_row = 0;   ///< a multiple of 1024
  std::uint64_t table_rows = 0;  ///< of all shares
  std::uint64_t table_entries = 0;
};

/// Rows of a table and the loss that they are asked about. They are whole blocks of 1024 rows,
/// except at the table's end.
class Share {
 public:
  /// Makes a share. Throws BadInput if the rows do not fit the place or the loss.
  Share(HeldRows rows, const SharePlace& place, const std::string& loss);
  Share(Share&&) noexcept;
  ~Share();
  [[nodiscard]] const HeldRows& rows() const;
  /// Digest of the rows, their place and the loss, which every answer repeats.
  [[nodiscard]] std::string digest() const;
  /// Answers a question; the answer is a function of the share and these bytes alone. Results for
  /// one question may be kept for the next. `before` is the answer of the share before, for a
  /// question that goes from share to share, else empty. It uses one thread and answers one
  /// question at a time: other callers wait. Throws BadInput if the bytes are no question.
  [[nodiscard]] std::string answer(std::string_view question, std::string_view before) const;
  [[nodiscard]] std::string bytes() const;
  static Share parse(std::string_view bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Carries questions to shares. An exception of either function ends the question and is passed on.
class ShareCarrier {
 public:
  virtual ~ShareCarrier() = default;
  /// The answers of all shares, in their order.
  virtual std::vector<std::string> ask(const std::string& question) = 0;
  /// Passes a question from share to share: the first gets `before`, each next one the answer of
  /// the one before it. Returns the last answer.
  virtual std::string relay(const std::string& question, const std::string& before) = 0;
};

/// The table that consists of the shares.
struct RemoteTable {
  std::vector<std::uint64_t> bounds;  ///< [shares + 1] rows before each, and all
  std::vector<std::string> digests;   ///< [shares]
  std::uint64_t entries = 0;
  bool is_sparse = false;
};

/// A backend whose engine has the rows of a remote table; `load` takes no rows of its own. All
/// questions but `clipped_rows` and `weighted_loss_gradients` (BadInput) have the bits that `local`
/// (cpu) has for the whole table. Chains move in this process. Throws BadInput if a share has other
/// rows than its digest says, or another version or instruction set, or answers another question.
/// `carrier` must outlive it and its engines.
[[nodiscard]] std::unique_ptr<Backend> make_remote_backend(std::unique_ptr<Backend> local,
                                                           RemoteTable table,
                                                           ShareCarrier& carrier);

}  // namespace gibbsite
