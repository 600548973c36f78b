#pragma once
// Places of people, found behind the one who reads their rows.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "data/person_ids.hpp"

namespace gibbsite {

/// Hashes of ids wait in a block, and are looked up, in the order in which they came, by another
/// thread while the next block fills. Places do not depend on that. All calls come from one thread;
/// nobody else asks the table until `finish`.
class PersonLookup {
 public:
  /// A block takes 28 bytes an id, and there are two.
  static constexpr std::size_t block = 8192;

  /// `has_helper`: whether another thread may be used. Without one, also where the system gives
  /// none or it has no processor, the caller looks ids up itself, which gives the same places.
  PersonLookup(PersonIds& ids, bool has_helper);
  PersonLookup(const PersonLookup&) = delete;
  PersonLookup& operator=(const PersonLookup&) = delete;
  ~PersonLookup();

  /// Lets an id wait for its place; returns its number among those of the block.
  std::size_t add(std::string_view id) {
    filling_->hashes.push_back(ids_.hash_of(id));
    return filling_->hashes.size() - 1;
  }
  /// Notes that the place of a row, for now the number of an id, waits.
  void add_row(std::uint64_t row) { filling_->rows.push_back(row); }
  [[nodiscard]] bool is_full() const { return filling_->hashes.size() >= block; }
  /// Begins another block. Rows of the one before now have their places in `person` [rows]. Throws
  /// BadInput on more people than a table has room for, as `finish` and `place_now` do.
  void next_block(std::span<std::uint32_t> person);
  /// Gives every row that waits its place.
  void finish(std::span<std::uint32_t> person);
  /// The place of an id by its number, at once.
  std::uint32_t place_now(std::size_t number);

 private:
  struct Block {
    std::vector<PersonIds::Hash> hashes;
    std::vector<std::uint32_t> places;  // of the first of them
    std::vector<std::uint64_t> rows;    // whose place is the number of one of these
  };
  enum class Turn : std::uint8_t { none, offered, taken, stop };

  void look_up(Block& of);
  /// Looks up the block of before, or waits for the helper, which has begun it.
  void end_block();
  void offer_block();
  void help();
  static void settle(Block& of, std::span<std::uint32_t> person);

  PersonIds& ids_;
  bool has_helper_;
  std::unique_ptr<Block> filling_ = std::make_unique<Block>(), before_ = std::make_unique<Block>();
  std::atomic<Turn> turn_ = Turn::none;  // of the block before
  std::exception_ptr refusal_;           // of the helper
  std::thread helper_;
};

}  // namespace gibbsite
