#pragma once
// Whose rows are: places of people by a keyed hash of their ids, which are not kept.
#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
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
/// Likewise without a copy where the cell is spelled as its id is: a view of the cell, or of
/// `room`, which then holds the id.
std::string_view person_id(std::string_view cell, const NumberText& written, std::string& room);
/// The id of a double, as its text has it: "" of one from 2^53 on, which several whole numbers may
/// have been rounded to, and of one that as a float would be a whole number.
std::string person_id(double value);

/// A table of hashes of ids: SipHash-2-4 of 128 bits under a key of its own from the operating
/// system, so that no id can be chosen to meet another's. n ids of which any two meet have a
/// probability of n^2/2^129, below 2^-65 of the most that there may be. 19.7 to 20.9 bytes a person
/// of up to 2^24, 2 fewer of up to 2^16 and 1 more beyond.
///
/// A slot is a byte of a hash and the place of its person, by which slots that are another's are
/// told apart without a look at their people; the other 15 bytes are beside the place.
class PersonIds {
 public:
  static constexpr std::uint32_t most = ~std::uint32_t{0} - 1;
  /// How many people are looked up together: enough for all that memory serves at once.
  static constexpr std::size_t at_once = 64;
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

  [[nodiscard]] Hash hash_of(std::string_view id) const;
  /// The place of a person, from 0 in the order in which they came. Throws BadInput on more than
  /// `most` people.
  std::uint32_t place(std::string_view id) { return place(hash_of(id)); }
  std::uint32_t place(const Hash& hash) { return place(hash, home(hash[0] >> tag_bits)); }
  /// The places of several people, as `place` gives them one after another: what each waits for of
  /// memory comes at the same time.
  void places(std::span<const Hash> hashes, std::span<std::uint32_t> out);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// The hash of a person's id.
  [[nodiscard]] Hash hash(std::uint32_t place) const;
  /// The second half of that hash, which is at hand.
  [[nodiscard]] std::uint64_t second_half(std::uint32_t place) const;
  /// Memory of the table, in bytes.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  // A huge page of records: rows come in any order of people, and each would miss small pages too.
  static constexpr std::size_t page_bytes = std::size_t{1} << 21, record_bytes = 15,
                               chunk = page_bytes / record_bytes;
  // The bits of a hash that stand in a slot are its lowest ones.
  static constexpr unsigned tag_bits = 8;
  static constexpr std::uint64_t most_tag = (1U << tag_bits) - 1;
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  using Pages = std::unique_ptr<unsigned char[], Free>;
  static Pages pages(std::size_t bytes);

  [[nodiscard]] unsigned char* record(std::uint64_t place) const {
    return chunks_[place / chunk].get() + place % chunk * record_bytes;
  }
  // Here, as what a library exports is not inlined otherwise.
  [[nodiscard]] std::uint64_t slot(std::size_t at) const {
    std::uint64_t out = 0;
    std::memcpy(&out, slots_.get() + at * width_, sizeof out);
    return out & empty_;
  }
  [[nodiscard]] std::size_t next(std::size_t at) const {
    return at + 1 == slot_count_ ? 0 : at + 1;
  }
  /// The slot that a hash would like to have: of it without its tag.
  [[nodiscard]] std::size_t home(std::uint64_t rest) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::size_t>(Wide{rest} * slot_count_ >> (64 - tag_bits));
  }
  /// The first slot from `at` on that is empty or has the tag.
  [[nodiscard]] std::size_t candidate(std::size_t at, std::uint64_t tag) const {
    for (;; at = next(at)) {
      const std::uint64_t here = slot(at);
      if (here == empty_ || (here & most_tag) == tag) return at;
    }
  }
  /// Where a hash is among the slots from `at` on, or would be.
  [[nodiscard]] std::size_t find(const Hash& hash, std::size_t at) const;
  /// The place of a hash that no slot before `at` has.
  std::uint32_t place(const Hash& hash, std::size_t at);
  void put_slot(std::size_t at, std::uint64_t place, std::uint64_t tag);
  [[nodiscard]] std::size_t slot_bytes() const { return slot_count_ * width_ + sizeof empty_; }
  void grow();

  Key key_;
  Hash kept_bits_;
  std::uint64_t size_ = 0, room_ = 0;  // people; of them at most until slots grow
  std::vector<Pages> chunks_;  // records of people [size]; none is copied when there are more
  Pages slots_;                // [slot_count] of width_ bytes: a tag, then a place
  std::size_t slot_count_ = 0, width_ = 0;
  std::uint64_t empty_ = 0;  // a slot whose bits are all set
};

}  // namespace gibbsite
