#include "data/person_ids.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>

#include "data/text.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {
namespace {

static_assert(std::endian::native == std::endian::little, "slots are read as they lie");

std::uint64_t low_bits(std::size_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

std::uint64_t high_bits(unsigned count) { return ~low_bits(64 - std::min(count, 64U)); }

std::uint64_t load(const unsigned char* bytes) {
  std::uint64_t out = 0;
  std::memcpy(&out, bytes, sizeof out);
  return out;
}

// The bytes of a hash behind its tag, in a record: 7, then its second half.
constexpr std::size_t rest_bytes = 7;
std::uint64_t rest_in(const unsigned char* record) {
  return load(record) & low_bits(8 * rest_bytes);
}
std::uint64_t second_in(const unsigned char* record) { return load(record + rest_bytes); }

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

constexpr std::string_view uuid_form = "00000000-0000-0000-0000-000000000000";
constexpr std::size_t uuid_size = uuid_form.size();

bool is_uuid(std::string_view text) {
  return std::ranges::equal(text, uuid_form, [](char c, char of) {
    return of == '-' ? c == '-'
                     : std::string_view("0123456789abcdef").find(c) != std::string_view::npos;
  });
}

// What most ids are: whole digits, but for zeros before them, or ASCII that begins with a letter
// and is no word and no UUID. None: `spelled` says.
std::optional<std::string_view> plain_id(std::string_view cell) {
  if (cell.empty()) return {};
  unsigned bits = 0;
  bool is_whole = true;
  for (const char c : cell) {
    bits |= static_cast<unsigned char>(c);
    is_whole = is_whole && c >= '0' && c <= '9';
  }
  if (is_whole) {
    cell.remove_prefix(std::min(cell.find_first_not_of('0'), cell.size() - 1));
    return cell;
  }
  const char first = cell.front(), last = cell.back();
  const bool has_letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  if (bits > 0x7f || !has_letter || last <= ' ' || last > '~' || cell.size() == uuid_size)
    return {};
  // "infinity", "nan", "true", "false", however they are written.
  constexpr std::size_t longest_word = 8;
  const bool may_be_word = std::string_view("fintFINT").find(first) != std::string_view::npos;
  if (may_be_word && cell.size() <= longest_word) return {};
  return cell;
}

std::string spelled(std::string_view cell, const NumberText& written) {
  if (!is_utf8(cell)) return {};  // another part may have it as UTF-8
  const std::string text = composed(cell);
  const std::string_view one = trimmed(text);
  if (std::optional<std::string> number = number_id(one, written)) return *std::move(number);
  if (one.size() > uuid_size) return std::string(one);
  std::string lower(one);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::string_view word =
      std::string_view(lower).substr(std::min(lower.find_first_not_of("+-"), lower.size()));
  if (word == "inf" || word == "infinity" || word == "nan") return {};
  return lower == "true" || lower == "false" || is_uuid(lower) ? lower : std::string(one);
}

}  // namespace

std::string person_id(double value) { return id_below(value, end_of_doubles); }

std::string_view person_id(std::string_view cell, const NumberText& written, std::string& room) {
  if (const std::optional<std::string_view> plain = plain_id(cell)) return *plain;
  return room = spelled(cell, written);
}

std::string person_id(std::string_view cell, const NumberText& written) {
  std::string room;
  return std::string(person_id(cell, written, room));
}

PersonIds::PersonIds(unsigned bits) : PersonIds(key_from_os(), bits) {}

PersonIds::PersonIds(const Key& key, unsigned bits)
    : key_(key), kept_bits_{high_bits(bits), high_bits(bits > 64 ? bits - 64 : 0)} {
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

PersonIds::Pages PersonIds::pages(std::size_t bytes) {
  const std::size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  void* const memory = std::aligned_alloc(page_bytes, whole);
  if (memory == nullptr) throw std::bad_alloc();
  ::madvise(memory, whole, MADV_HUGEPAGE);  // as much as the system likes to
  return Pages(static_cast<unsigned char*>(memory));
}

void PersonIds::put_slot(std::size_t at, std::uint64_t place, std::uint64_t tag) {
  const std::uint64_t slot = place << tag_bits | tag;
  std::memcpy(slots_.get() + at * width_, &slot, width_);
}

inline std::size_t PersonIds::find(const Hash& hash, std::size_t at) const {
  for (;; at = next(at)) {
    at = candidate(at, hash[0] & most_tag);
    const std::uint64_t here = slot(at);
    if (here == empty_) return at;
    const unsigned char* const found = record(here >> tag_bits);
    if (rest_in(found) == hash[0] >> tag_bits && second_in(found) == hash[1]) return at;
  }
}

void PersonIds::grow() {
  std::vector<unsigned char> tags(size_);
  for (std::size_t at = 0; at < slot_count_; ++at)
    if (const std::uint64_t here = slot(at); here != empty_)
      tags[here >> tag_bits] = static_cast<unsigned char>(here);
  slots_.reset();  // before there are more
  slot_count_ = slot_count_ == 0 ? 1024 : slot_count_ + slot_count_ / 4;
  room_ = slot_count_ / 20 * 17;
  for (width_ = 3; room_ > low_bits(8 * (width_ - 1));) ++width_;
  empty_ = low_bits(8 * width_);
  slots_ = pages(slot_bytes());
  std::memset(slots_.get(), 0xff, slot_bytes());
  std::array<std::size_t, at_once> wanted{};
  for (std::uint64_t first = 0; first < size_; first += at_once) {
    const std::size_t some = std::min<std::uint64_t>(at_once, size_ - first);
    for (std::size_t i = 0; i < some; ++i) {
      wanted[i] = home(rest_in(record(first + i)));
      __builtin_prefetch(slots_.get() + wanted[i] * width_, 1);
    }
    for (std::size_t i = 0; i < some; ++i) {
      std::size_t at = wanted[i];
      while (slot(at) != empty_) at = next(at);
      put_slot(at, first + i, tags[first + i]);
    }
  }
}

std::uint32_t PersonIds::place(const Hash& hash, std::size_t at) {
  at = find(hash, at);
  if (const std::uint64_t here = slot(at); here != empty_)
    return static_cast<std::uint32_t>(here >> tag_bits);
  if (size_ == most)
    throw BadInput("people: there are more than 2^32 - 2 ids; give a table of fewer");
  const std::uint64_t rest = hash[0] >> tag_bits;
  if (size_ == room_) {
    grow();
    at = find(hash, home(rest));
  }
  if (size_ % chunk == 0) chunks_.push_back(pages(chunk * record_bytes));
  unsigned char* const own = record(size_);
  std::memcpy(own, &rest, rest_bytes);
  std::memcpy(own + rest_bytes, &hash[1], sizeof hash[1]);
  put_slot(at, size_, hash[0] & most_tag);
  return static_cast<std::uint32_t>(size_++);
}

void PersonIds::places(std::span<const Hash> hashes, std::span<std::uint32_t> out) {
  std::array<std::size_t, at_once> at{};
  for (std::size_t first = 0; first < hashes.size(); first += at_once) {
    const auto some = hashes.subspan(first, std::min(at_once, hashes.size() - first));
    for (std::size_t i = 0; i < some.size(); ++i) {
      at[i] = home(some[i][0] >> tag_bits);
      __builtin_prefetch(slots_.get() + at[i] * width_);
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      at[i] = candidate(at[i], some[i][0] & most_tag);
      if (const std::uint64_t here = slot(at[i]); here != empty_)
        __builtin_prefetch(record(here >> tag_bits));
    }
    // One after another: a person may be new, and come twice. Slots from there on stay where they
    // are and only fill up, until they grow.
    const std::size_t slots = slot_count_;
    for (std::size_t i = 0; i < some.size(); ++i)
      out[first + i] = slot_count_ == slots ? place(some[i], at[i]) : place(some[i]);
  }
}

PersonIds::Hash PersonIds::hash(std::uint32_t place) const {
  const unsigned char* const own = record(place);
  std::size_t at = home(rest_in(own));
  while (slot(at) >> tag_bits != place) at = next(at);
  return {rest_in(own) << tag_bits | (slot(at) & most_tag), second_in(own)};
}

std::uint64_t PersonIds::second_half(std::uint32_t place) const { return second_in(record(place)); }

std::uint64_t PersonIds::bytes() const {
  return chunks_.size() * page_bytes + (slot_bytes() + page_bytes - 1) / page_bytes * page_bytes;
}

}  // namespace gibbsite
