// LIBSVM / svmlight text: "label index:value ... # comment", indices from 1 and increasing. No cell
// makes its row vanish: each line is a row, also the first ones, and one that is blank or begins
// with # lacks its label.
#include <fmt/format.h>

#include <charconv>

#include "data/columns.hpp"
#include "data/encoder.hpp"
#include "data/input.hpp"
#include "data/parts.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";
constexpr std::size_t longest_line = std::size_t{1} << 28;

/// The next word of `line`, which loses it; empty at the end.
std::string_view next_word(std::string_view& line) {
  const std::size_t start = std::min(line.find_first_not_of(blanks), line.size());
  const std::size_t end = std::min(line.find_first_of(blanks, start), line.size());
  const std::string_view word = line.substr(start, end - start);
  line.remove_prefix(end);
  return word;
}

class LibsvmReader {
 public:
  LibsvmReader(Input& input, const Schema& schema, const ReadOptions& options)
      : input_(input), rows_(schema, options, &input, [this] { return position(); }) {
    require_no_parts(rows_);
    rows_.compare_labels_as_numbers();
    rows_.absent_is(0);
  }

  /// rows: about how many there are; line: the number of the first.
  Dataset read(std::uint64_t rows, std::uint64_t line) {
    rows_.expect(rows);
    line_ = line;
    bool ended = true;
    each_line([&](std::string_view text) {
      ended = text.back() == '\n';
      read_line(text);
    });
    if (!ended) {
      --line_;
      rows_.fail(
          "the last line has no line end, and a last row without a label and entries would be no "
          "line without one; end the line");
    }
    return rows_.finish();
  }

 private:
  [[nodiscard]] FilePosition position() const { return {input_.path(), line_}; }
  [[nodiscard]] std::string where() const { return fmt::format("{}:{}", input_.path(), line_); }

  /// Gives f each line with its end, where it has one.
  template <class F>
  void each_line(const F& f) {
    std::string joined;  // a line that does not lie in one chunk
    for (std::string_view piece = input_.next_piece(); !piece.empty();
         piece = input_.next_piece()) {
      const bool whole = piece.back() == '\n';
      if (whole && joined.empty()) {
        f(piece);
        continue;
      }
      joined += piece;
      if (joined.size() > longest_line)
        rows_.fail("the line is longer than 256 MiB; is it LIBSVM text?");
      if (!whole) continue;
      f(std::string_view(joined));
      joined.clear();
    }
    if (!joined.empty()) f(std::string_view(joined));
  }

  void read_line(std::string_view line) {
    line = line.substr(0, line.find('#'));
    std::string_view word = next_word(line);
    if (word.empty()) {
      rows_.set_label_missing(
          "the line is blank or a comment, and each line is a row: this one has no label; remove "
          "the line, or where it is a row, set invalid = \"middle\" in the schema (private: this "
          "line tells about the table)");
    } else if (word.find(':') != std::string_view::npos) {
      rows_.set_label_missing(
          "the line has no label before its first index; add it, or set invalid = \"middle\" in "
          "the schema (private: this line tells about the table)");
    } else {
      rows_.set_label(word);
      word = next_word(line);
    }
    for (std::uint64_t last = 0; !word.empty(); word = next_word(line))
      last = read_pair(word, last);
    rows_.end_row();
    ++line_;
  }

  /// Reads "index:value" after index `last`; returns the index.
  std::uint64_t read_pair(std::string_view word, std::uint64_t last) {
    const std::size_t colon = word.find(':');
    const char* const end = word.data() + std::min(colon, word.size());
    std::uint64_t index = 0;
    const auto [stop, error] = std::from_chars(word.data(), end, index);
    if (word.starts_with("qid:"))
      rows_.fail("qid marks a ranking problem, which is not supported; remove it");
    if (colon == std::string_view::npos || stop != end || error != std::errc())
      rows_.fail_quoting(gibbsite::quoted(word) + " is not index:value; fix the line");
    if (index <= last)
      rows_.fail(fmt::format("index {} is out of order; indices start at 1 and increase", index));
    const std::vector<Encoding>& columns = rows_.encodings();
    if (index > columns.size())
      rows_.fail(
          fmt::format("index {} is beyond the {} columns of the schema; add columns "
                      "(count = N) or fix the line",
                      index, columns.size()));
    const Encoding& column = columns[index - 1];
    if (column.type == ColumnType::ignore) return index;
    const std::string_view text = word.substr(colon + 1);
    double value = 0;
    if (parse_number(text, value))
      rows_.set_present(column, value);
    else
      rows_.set_present_unreadable(column, text);
    return index;
  }

  Input& input_;
  std::uint64_t line_ = 1;
  CellEncoder rows_;
};

}  // namespace

Dataset read_libsvm(const std::string& path, const Schema& schema, const ReadOptions& options) {
  // Told by the name: the first bytes are somebody's label.
  const bool compressed = without_compression(path) != path;
  Input input(path, options.progress,
              compressed ? Input::Compressed::text : Input::Compressed::refused);
  return LibsvmReader(input, schema, options).read(input.count_lines(), 1);
}

TextRules libsvm_rules(const std::string& path) {
  const Input input(path, {});
  return {false, ' ', input.text_begin(), input.text_begin()};
}

Dataset read_libsvm_part(const std::string& path, const Schema& schema, const ReadOptions& options,
                         const TextRange& part) {
  Input input(path, options.progress);
  input.restrict(part.first, part.last);
  return LibsvmReader(input, schema, options).read(part.rows, part.line);
}

}  // namespace gibbsite
