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
#include <vector>

#include "gibbsite/data/dataset.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite {

/// Rows of a table as a model sees them, with their labels: what is kept of a partition.
struct HeldRows {
  std::uint64_t columns = 0;  ///< features of a row
  bool is_sparse = false;
  UnsetFloats x;                ///< [n x columns] where they are dense
  SparseTable sparse;           ///< where they are not
  std::vector<float> y;         ///< [n]
  std::vector<float> offset{};  ///< [n], or none

  [[nodiscard]] std::uint64_t rows() const { return y.size(); }
  /// That are not 0.
  [[nodiscard]] std::uint64_t entries() const;
  /// What they take up.
  [[nodiscard]] std::uint64_t memory_bytes() const;
  [[nodiscard]] Rows view() const;
  /// BLAKE2b-256 of all of it, in hexadecimal digits.
  [[nodiscard]] std::string digest() const;
  /// Bytes that `parse` reads, on machines of the same byte order; BadInput of others.
  [[nodiscard]] std::string bytes() const;
  static HeldRows parse(std::string_view bytes);
};

/// Takes over a table with labels, in memory. Throws BadInput on another one.
HeldRows hold(Dataset data);

/// Rows [first, last) of some.
struct Slice {
  const HeldRows* rows;
  std::uint64_t first, last;
};
/// One after another. Throws BadInput where a slice is beyond its rows, or they are kept in several
/// ways.
HeldRows join(std::span<const Slice> slices);

/// Where a share is in its table.
struct SharePlace {
  std::uint64_t first_row = 0;   ///< a multiple of 1024
  std::uint64_t table_rows = 0;  ///< of all shares
  std::uint64_t table_entries = 0;
};

/// Some rows of a table and the loss that they are asked about: whole blocks of 1024 rows, but the
/// table's last one.
class Share {
 public:
  /// Throws BadInput where the rows do not fit the place or the loss.
  Share(HeldRows rows, const SharePlace& place, const std::string& loss);
  Share(Share&&) noexcept;
  ~Share();
  [[nodiscard]] const HeldRows& rows() const;
  /// Digest of the rows, their place and the loss, which every answer repeats.
  [[nodiscard]] std::string digest() const;
  /// A function of the share and these bytes alone; what was found for a question before may be
  /// kept for the next. `before`: what the share before it answered, of a question that goes from
  /// share to share; else empty. One thread, and one question at a time: others wait. Throws
  /// BadInput where bytes are no question.
  [[nodiscard]] std::string answer(std::string_view question, std::string_view before) const;
  [[nodiscard]] std::string bytes() const;
  static Share parse(std::string_view bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Who carries questions to shares. What either throws ends the question and is thrown on.
class ShareCarrier {
 public:
  virtual ~ShareCarrier() = default;
  /// What each share answers, in their order.
  virtual std::vector<std::string> ask(const std::string& question) = 0;
  /// answer(question, before) of the first share; of the next one, with that as what is before it;
  /// and so on: what the last one answers.
  virtual std::string relay(const std::string& question, const std::string& before) = 0;
};

/// The table that shares are of.
struct RemoteTable {
  std::vector<std::uint64_t> bounds;  ///< [shares + 1] rows before each, and all
  std::vector<std::string> digests;   ///< [shares]
  std::uint64_t entries = 0;
  bool is_sparse = false;
};

/// A backend whose engine has these rows and nothing else: `load` takes no rows of its own. All
/// questions but `clipped_rows` and `weighted_loss_gradients` (BadInput) have the bits that `local`
/// (cpu) has of the whole table, and chains move in this process. A share with other rows than its
/// digest, another version or instruction set, or an answer to another question is BadInput.
/// `carrier` must outlive it and its engines.
[[nodiscard]] std::unique_ptr<Backend> make_remote_backend(std::unique_ptr<Backend> local,
                                                           RemoteTable table,
                                                           ShareCarrier& carrier);

}  // namespace gibbsite
