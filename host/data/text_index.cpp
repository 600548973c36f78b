#include "data/text_index.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "data/input.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite {

TextFile::TextFile(std::string path, TextRules rules)
    : path_(std::move(path)), rules_(rules), fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) {
    throw BadInput(cannot_open(path_, errno));
  }
}

TextFile::~TextFile() { ::close(fd_); }

std::size_t TextFile::read(std::uint64_t at, char* out, std::size_t n) const {
  for (;;) {
    const ssize_t got = ::pread(fd_, out, n, static_cast<off_t>(at));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    throw BadInput(fmt::format("{}: cannot read: {}; check the file", path_,
                               std::generic_category().message(errno)));
  }
}

TextPiece TextFile::count_marks(std::uint64_t first, std::uint64_t last) const {
  TextPiece out;
  std::vector<char> buffer(chunk_bytes);
  for (std::uint64_t at = first; at < last;) {
    const std::size_t got =
        read(at, buffer.data(), std::min<std::uint64_t>(buffer.size(), last - at));
    if (got == 0) break;
    const auto end = buffer.begin() + static_cast<std::ptrdiff_t>(got);
    out.newlines += static_cast<std::uint64_t>(std::count(buffer.begin(), end, '\n'));
    if (rules_.csv) out.odd_quotes ^= std::count(buffer.begin(), end, '"') % 2 != 0;
    at += got;
  }
  return out;
}

/// found(byte where the line begins, newlines before it from `first` on) of each record, until it
/// returns false. libcsv drops records in which nothing but blanks stands, and takes LF, CRLF, CR.
template <class Found>
void TextFile::scan(std::uint64_t first, std::uint64_t last, bool quoted,
                    const Found& found) const {
  std::vector<char> buffer(chunk_bytes);
  bool begins = false;  // nothing but blanks so far in a line that may be a record
  std::uint64_t begin = 0, newlines = 0, newlines_at_begin = 0;
  char before = 0;  // the byte before
  const auto start_line = [&](std::uint64_t at) {
    begins = rules_.csv || at >= rules_.all_lines_from, begin = at, newlines_at_begin = newlines;
  };
  const auto ends_line = [&](char c) { return c == '\n' || (rules_.csv && c == '\r'); };
  const auto is_blank = [&](char c) {
    return c == ' ' || (c == '\t' && !(rules_.csv && rules_.separator == '\t'));
  };
  first = std::max(first, rules_.from);
  if (first >= last) return;
  const auto follows_a_line = [&] {
    return read(first - 1, &before, 1) == 1 && !quoted && ends_line(before);
  };
  if (first == rules_.from || follows_a_line()) start_line(first);
  // Behind `last` only until it is known whether the line that begins before it is blank.
  for (std::uint64_t at = first; at < last || begins;) {
    const std::uint64_t most = at < last ? last - at : 64;
    const std::size_t got = read(at, buffer.data(), std::min<std::uint64_t>(buffer.size(), most));
    if (got == 0) return;
    for (std::size_t k = 0; k < got; ++k) {
      const char c = buffer[k], previous = std::exchange(before, c);
      if (!quoted && ends_line(c)) {
        const bool ends_crlf = c == '\n' && previous == '\r' && begin == at + k;
        if (begins && begin >= rules_.all_lines_from && !ends_crlf &&
            !found(begin, newlines_at_begin))
          return;
        newlines += c == '\n' ? 1 : 0;
        if (at + k + 1 >= last) return;
        start_line(at + k + 1);
        continue;
      }
      newlines += c == '\n' ? 1 : 0;
      if (begins && !is_blank(c)) {
        begins = false;
        if (!found(begin, newlines_at_begin)) return;
        if (at + k >= last) return;
      }
      if (rules_.csv && c == '"') quoted = !quoted;
    }
    at += got;
  }
}

std::uint64_t TextFile::count_records(std::uint64_t first, std::uint64_t last, bool quoted) const {
  std::uint64_t records = 0;
  scan(first, last, quoted, [&](std::uint64_t, std::uint64_t) {
    ++records;
    return true;
  });
  return records;
}

TextFile::Place TextFile::find_record(std::uint64_t first, std::uint64_t last, bool quoted,
                                      std::uint64_t index) const {
  Place place;
  bool there = false;
  scan(first, last, quoted, [&](std::uint64_t byte, std::uint64_t newlines) {
    if (index-- > 0) return true;
    place = {byte, newlines};
    there = true;
    return false;
  });
  if (!there)
    throw BadInput(path_ + ": the file changed while it was read; give one that does not");
  return place;
}

}  // namespace gibbsite
