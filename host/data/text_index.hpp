#pragma once
// Where records of a text begin, found piece by piece: by several threads, or by several processes
// that each look at some of the pieces.
#include <cstdint>
#include <string>
#include <vector>

namespace gibbsite {

/// What ends a record, and which lines are none.
struct TextRules {
  bool csv = true;         ///< quotes hide line ends, CR ends a line; else LIBSVM
  char separator = ',';    ///< of CSV: a tab is no blank where it is this
  std::uint64_t from = 0;  ///< the first byte: behind a byte order mark
  /// Every line that begins from here on is a record, even a blank one: those behind the header of
  /// a CSV of one column, all lines of LIBSVM. Before it, lines of CSV that are not blank.
  std::uint64_t all_lines_from = ~std::uint64_t{0};
};

/// A piece of the text: what a scan finds in it. A record is of the piece that its line begins in.
struct TextPiece {
  std::uint64_t newlines = 0;  ///< '\n'
  std::uint64_t records = 0;
  bool odd_quotes = false;  ///< whether a quoted cell that is open where it begins is closed after
};

/// A text file, open.
class TextFile {
 public:
  /// Throws BadInput when it cannot be opened.
  TextFile(std::string path, TextRules rules);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  /// Newlines and quotes of the bytes [first, last).
  [[nodiscard]] TextPiece count_marks(std::uint64_t first, std::uint64_t last) const;
  /// Records of the lines that begin in [first, last); `quoted`: whether a cell is open at `first`.
  [[nodiscard]] std::uint64_t count_records(std::uint64_t first, std::uint64_t last,
                                            bool quoted) const;
  /// Where the line of record `index` of those begins.
  struct Place {
    std::uint64_t byte = 0, newlines = 0;  ///< '\n' in [first, byte)
  };
  [[nodiscard]] Place find_record(std::uint64_t first, std::uint64_t last, bool quoted,
                                  std::uint64_t index) const;

 private:
  template <class Found>
  void scan(std::uint64_t first, std::uint64_t last, bool quoted, const Found& found) const;
  std::size_t read(std::uint64_t at, char* out, std::size_t n) const;

  std::string path_;
  TextRules rules_;
  int fd_ = -1;
};

}  // namespace gibbsite
