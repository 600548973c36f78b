#include "data/person_ids.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <stdexcept>

#include "data/text.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {
namespace {

std::uint64_t low_bits(unsigned count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

}  // namespace

float share_of_rows_down(std::uint64_t k, std::uint64_t m) {
  if (m <= k) return 1;
  const auto held = static_cast<double>(k), rows = static_cast<double>(m);
  auto out = static_cast<float>(held / rows);
  // Rounded once, so its sign is that of the exact difference.
  while (std::fma(static_cast<double>(out), rows, -held) > 0) out = std::nextafter(out, 0.0F);
  return out;
}

float product_down(float a, float b) {
  const double exact = static_cast<double>(a) * static_cast<double>(b);
  const auto near = static_cast<float>(exact);
  return static_cast<double>(near) > exact ? std::nextafter(near, 0.0F) : near;
}

std::string person_id(std::string_view cell, char decimal) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::string text = composed(cell);
  std::string_view one = text;
  one.remove_prefix(std::min(one.find_first_not_of(blanks), one.size()));
  one.remove_suffix(one.size() - (one.find_last_not_of(blanks) + 1));
  return std::string(whole_number(one, decimal));
}

PersonIds::PersonIds(unsigned bits) : PersonIds(key_from_os(), bits) {}

PersonIds::PersonIds(const Key& key, unsigned bits)
    : key_(key), kept_bits_{low_bits(bits), low_bits(bits > 64 ? bits - 64 : 0)} {
  grow();
}

PersonIds::Key PersonIds::key_from_os() {
  if (sodium_init() < 0) throw std::runtime_error("libsodium could not be initialized");
  Key key{};
  randombytes_buf(key.data(), key.size());
  return key;
}

PersonIds::~PersonIds() { sodium_memzero(key_.data(), key_.size()); }

PersonIds::Hash PersonIds::hash_of(std::string_view id) const {
  static_assert(sizeof(Hash) == crypto_shorthash_siphashx24_BYTES);
  std::array<unsigned char, sizeof(Hash)> bytes{};
  crypto_shorthash_siphashx24(bytes.data(), reinterpret_cast<const unsigned char*>(id.data()),
                              id.size(), key_.data());
  Hash out = std::bit_cast<Hash>(bytes);
  for (std::size_t k = 0; k < out.size(); ++k) out[k] &= kept_bits_[k];
  return out;
}

template <class T>
PersonIds::Pages<T> PersonIds::pages(std::size_t count) {
  const std::size_t bytes = (count * sizeof(T) + page_bytes - 1) / page_bytes * page_bytes;
  void* const memory = std::aligned_alloc(page_bytes, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  ::madvise(memory, bytes, MADV_HUGEPAGE);  // as much as the system likes to
  return Pages<T>(static_cast<T*>(memory));
}

std::size_t PersonIds::slot_of(const Hash& hash) const {
  const std::size_t mask = slot_count_ - 1;
  std::size_t at = hash[0] & mask;
  while (slots_[at] != empty && this->hash(slots_[at]) != hash) at = (at + 1) & mask;
  return at;
}

void PersonIds::grow() {
  const std::size_t count = std::max<std::size_t>(2 * slot_count_, 1024);
  slots_.reset();  // before there are more
  slots_ = pages<std::uint32_t>(count);
  slot_count_ = count;
  std::fill_n(slots_.get(), count, empty);
  for (std::uint32_t place = 0; place < size_; ++place) slots_[slot_of(hash(place))] = place;
}

std::uint32_t PersonIds::place(const Hash& hash) {
  std::size_t at = slot_of(hash);
  if (slots_[at] != empty) return slots_[at];
  if (size_ == most)
    throw BadInput("people: there are more than 2^32 - 2 ids; give a table of fewer");
  if (5 * (size_ + 1) > 4 * slot_count_) {
    grow();
    at = slot_of(hash);
  }
  if (size_ % chunk == 0) chunks_.push_back(pages<Hash>(chunk));
  chunks_.back()[size_ % chunk] = hash;
  slots_[at] = static_cast<std::uint32_t>(size_);
  return static_cast<std::uint32_t>(size_++);
}

}  // namespace gibbsite
