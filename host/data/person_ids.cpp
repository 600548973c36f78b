#include "data/person_ids.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <optional>
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

namespace {

// From here on a double is a whole number that may have been rounded: several people's one. With an
// exponent from where R, which writes 15 digits, rounds.
constexpr double end_of_doubles = 0x1p53, end_of_exponents = 1e15;

std::string id_below(double value, double end) {
  if (!(std::fabs(value) < end)) return {};
  const double off = std::fabs(value - std::nearbyint(value));
  // As a float, in another part of the table, it may be a whole number: somebody else's id.
  const bool may_be_whole = off <= std::fabs(value) * 0x1p-23 || std::fabs(value) < 0x1p-126;
  if (off != 0 && may_be_whole && std::fabs(value) <= 0x1p24) return {};
  return number_text(value);
}

// What a text is as a number with a decimal sign: nothing of another text, "" of nobody's.
std::optional<std::string> number_id(std::string_view text, char point) {
  std::string_view rest = text;
  const auto take = [&](std::string_view signs) {
    const bool found = !rest.empty() && signs.find(rest[0]) != std::string_view::npos;
    rest.remove_prefix(found ? 1 : 0);
    return found;
  };
  const auto digits = [&] {
    const std::string_view found =
        rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size()));
    rest.remove_prefix(found.size());
    return found;
  };
  take("+-");
  std::string_view whole = digits();
  const bool has_point = take({&point, 1});
  const std::string_view fraction = has_point ? digits() : std::string_view();
  if (whole.empty() && fraction.empty()) return {};
  const bool has_exponent = take("eE");
  if (has_exponent) take("+-");
  if ((has_exponent && digits().empty()) || !rest.empty()) return {};
  if (has_point || has_exponent) {
    double value = 0;
    if (!parse_number(text, value, point)) return {};
    return id_below(value, has_exponent ? end_of_exponents : end_of_doubles);
  }
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  if (whole.empty()) return "0";
  return (text[0] == '-' ? "-" : "") + std::string(whole);
}

// Likewise as numbers are written, and with ".", which folders and text in Arrow have beside them.
std::optional<std::string> number_id(std::string_view text, const NumberText& written) {
  std::optional<std::string> out = number_id(text, '.');
  if (!out && written.decimal != '.') out = number_id(text, written.decimal);
  double value = 0;
  if (!parse_grouped(text, value, written)) return out;
  const std::string grouped = person_id(value);
  return out && *out != grouped ? "" : grouped;  // "1.234" may be two numbers
}

// Without white space of Unicode at its ends.
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces[] = {" ",      "\t",     "\n",     "\v",     "\f",     "\r",
                                         "\x1c",   "\x1d",   "\x1e",   "\x1f",   "\u0085", "\u00a0",
                                         "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
                                         "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
                                         "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
  const auto is_letter = [](char c) { return c > ' ' && c <= '~'; };
  for (bool more = true; more;) {
    if (!text.empty() && is_letter(text.front()) && is_letter(text.back())) return text;
    more = false;
    for (const std::string_view space : spaces) {
      const bool first = text.starts_with(space), last = !first && text.ends_with(space);
      if (first) text.remove_prefix(space.size());
      if (last) text.remove_suffix(space.size());
      more = more || first || last;
    }
  }
  return text;
}

bool is_uuid(std::string_view text) {
  constexpr std::string_view form = "00000000-0000-0000-0000-000000000000";
  return std::ranges::equal(text, form, [](char c, char of) {
    return of == '-' ? c == '-'
                     : std::string_view("0123456789abcdef").find(c) != std::string_view::npos;
  });
}

}  // namespace

std::string person_id(double value) { return id_below(value, end_of_doubles); }

std::string person_id(std::string_view cell, const NumberText& written) {
  if (!is_utf8(cell)) return {};  // another part may have it as UTF-8
  const std::string text = composed(cell);
  const std::string_view one = trimmed(text);
  if (std::optional<std::string> number = number_id(one, written)) return *std::move(number);
  constexpr std::size_t longest_word = 36;  // a UUID
  if (one.size() > longest_word) return std::string(one);
  std::string lower(one);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::string_view word =
      std::string_view(lower).substr(std::min(lower.find_first_not_of("+-"), lower.size()));
  if (word == "inf" || word == "infinity" || word == "nan") return {};
  return lower == "true" || lower == "false" || is_uuid(lower) ? lower : std::string(one);
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
