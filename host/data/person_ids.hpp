#pragma once
// Whose rows are: places of people by a keyed hash of their ids, which are not kept.
#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// What each of m rows counts of a person who counts as k rows at most, min(1, k/m) rounded down: m
/// times it is at most k, exactly. 1 <= m, k <= 2^53.
float share_of_rows_down(std::uint64_t k, std::uint64_t m);
/// a b rounded down, of numbers in [0, 1].
float product_down(float a, float b);

/// The id of a cell's text, in one spelling whatever the column's type and the file's writer:
/// accents in form C, no blanks about it, "true", "false" and UUIDs in lower case, whole numbers as
/// their digits, others as the shortest text of their double, with "." for the fraction or as they
/// are `written`. Two people of one id count together as one, which is safe; one of two ids would
/// count twice. So what may have been rounded elsewhere has none. Empty: nobody's.
std::string person_id(std::string_view cell, const NumberText& written = {});
/// The id of a double, as its text has it: "" of one from 2^53 on, which several whole numbers may
/// have been rounded to, and of one that as a float would be a whole number.
std::string person_id(double value);

/// A table of hashes of ids: SipHash-2-4 of 128 bits under a key of its own from the operating
/// system, so that no id can be chosen to meet another's. n ids of which any two meet have a
/// probability of n^2/2^129, below 2^-65 of the most that there may be. 16 to 26 bytes a person.
class PersonIds {
 public:
  static constexpr std::uint32_t most = ~std::uint32_t{0} - 1;
  using Hash = std::array<std::uint64_t, 2>;
  using Key = std::array<unsigned char, crypto_shorthash_siphashx24_KEYBYTES>;

  /// Draws a key of its own. `bits`: how many bits of a hash tell people apart, fewer than 128 for
  /// tests alone.
  explicit PersonIds(unsigned bits = 128);
  /// Takes a key that several processes share.
  explicit PersonIds(const Key& key, unsigned bits = 128);
  static Key key_from_os();
  PersonIds(const PersonIds&) = delete;
  PersonIds& operator=(const PersonIds&) = delete;
  ~PersonIds();

  /// The place of a person, from 0 in the order in which they came. Throws BadInput on more than
  /// `most` people.
  std::uint32_t place(std::string_view id) { return place(hash_of(id)); }
  std::uint32_t place(const Hash& hash);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// The hash of a person's id.
  [[nodiscard]] const Hash& hash(std::uint32_t place) const {
    return chunks_[place / chunk].get()[place % chunk];
  }

 private:
  static constexpr std::uint32_t empty = ~std::uint32_t{0};
  // A huge page of hashes: rows come in any order of people, and each would miss small pages too.
  static constexpr std::size_t page_bytes = std::size_t{1} << 21, chunk = page_bytes / sizeof(Hash);
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  template <class T>
  using Pages = std::unique_ptr<T[], Free>;
  template <class T>
  static Pages<T> pages(std::size_t count);

  [[nodiscard]] Hash hash_of(std::string_view id) const;
  /// Where a hash is among the slots, or would be.
  [[nodiscard]] std::size_t slot_of(const Hash& hash) const;
  void grow();

  Key key_;
  Hash kept_bits_;
  std::uint64_t size_ = 0;
  std::vector<Pages<Hash>> chunks_;  // hashes of people [size]; none is copied when there are more
  Pages<std::uint32_t> slots_;       // places, a power of two of them, at most 4/5 in use
  std::size_t slot_count_ = 0;
};

}  // namespace gibbsite
