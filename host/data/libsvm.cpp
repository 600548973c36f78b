// LIBSVM / svmlight text: "label index:value ... # comment", indices from 1 and increasing. No cell
// makes its row vanish: each line behind the comments at the top is a row, and one that is blank or
// begins with # lacks its label.
#include <fmt/format.h>

#include <charconv>
#include <utility>

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

/// What a line above the first that is surely a row may be.
enum class Top {
  row,      ///< it has a label or an index
  comment,  ///< # first of all, and a word behind that no row has there
  unsure    ///< blank, or a row whose label begins with #, if no sure comment follows
};
Top top_of(std::string_view line) {
  const bool marked = line.starts_with('#');  // an empty label leaves a blank before a comment
  std::string_view word = next_word(line);
  if (!word.empty() && word.front() != '#') return Top::row;
  word = next_word(line);
  const std::size_t digits = word.find_first_not_of("0123456789");
  const bool is_index = digits > 0 && digits < word.size() && word[digits] == ':';
  return marked && !word.empty() && word.front() != '#' && !is_index ? Top::comment : Top::unsure;
}

/// Gives f each line with its end, where it has one, until f returns false. Throws BadInput
/// "WHERE: ..." on one that no row is as long as.
template <class F, class Where>
void each_line(Input& input, const Where& where, const F& f) {
  std::string joined;  // a line that does not lie in one chunk
  for (std::string_view piece = input.next_piece(); !piece.empty(); piece = input.next_piece()) {
    const bool whole = piece.back() == '\n';
    if (whole && joined.empty()) {
      if (!f(piece)) return;
      continue;
    }
    joined += piece;
    if (joined.size() > longest_line)
      throw BadInput(where() + ": the line is longer than 256 MiB; is it LIBSVM text?");
    if (!whole) continue;
    if (!f(std::string_view(joined))) return;
    joined.clear();
  }
  if (!joined.empty()) f(std::string_view(joined));
}

class LibsvmReader {
 public:
  LibsvmReader(Input& input, const Schema& schema, const ReadOptions& options)
      : input_(input), rows_(schema, options, &input, [this] { return where(); }) {
    rows_.compare_labels_as_numbers();
    rows_.absent_is(0);
  }

  /// rows: about how many there are; line: the number of the first; top: whether it is the file's.
  Dataset read(std::uint64_t rows, std::uint64_t line, bool top) {
    rows_.expect(rows);
    line_ = line;
    std::uint64_t unsure = 0;  // lines at the top that are rows, unless a sure comment follows
    bool ended = true, has_rows = !top;
    each_line(
        input_, [this] { return where(); },
        [&](std::string_view text) {
          ended = text.back() == '\n';
          if (top) {
            const Top kind = top_of(text);
            if (kind != Top::row) {
              unsure = kind == Top::unsure ? unsure + 1 : 0;
              ++line_;
              return true;
            }
            top = false;
            read_blank_lines(std::exchange(unsure, 0));
          }
          has_rows = true;
          read_line(text);
          return true;
        });
    if (unsure > 0) {
      has_rows = true;
      read_blank_lines(unsure);
    }
    if (has_rows && !ended) {
      --line_;
      rows_.fail(
          "the last line has no line end, and a last row without a label and entries would be no "
          "line without one; end the line");
    }
    return rows_.finish();
  }

 private:
  [[nodiscard]] std::string where() const { return fmt::format("{}:{}", input_.path(), line_); }

  /// Those before the present one.
  void read_blank_lines(std::uint64_t count) {
    for (line_ -= count; count > 0; --count) read_line({});
  }

  void read_line(std::string_view line) {
    line = line.substr(0, line.find('#'));
    std::string_view word = next_word(line);
    if (word.empty()) {
      rows_.set_label_missing(
          "the line is blank or a comment, so its row has no label; remove the line, put comments "
          "above the first row, or set invalid = \"middle\" in the schema");
    } else if (word.find(':') != std::string_view::npos) {
      rows_.set_label_missing(
          "the line has no label before its first index; add it, or set invalid = \"middle\" in "
          "the schema");
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
  Input input(path, options.progress);
  return LibsvmReader(input, schema, options).read(input.count_lines(), 1, true);
}

TextRules libsvm_rules(const std::string& path) {
  Input input(path, {});
  TextRules rules{false, ' ', input.text_begin(), input.text_begin()};
  std::uint64_t end = rules.from, line = 0;
  each_line(
      input, [&] { return fmt::format("{}:{}", path, line + 1); },
      [&](std::string_view text) {
        ++line;
        end += text.size();
        const Top kind = top_of(text);
        if (kind == Top::comment) rules.all_lines_from = end;
        return kind != Top::row;
      });
  return rules;
}

Dataset read_libsvm_part(const std::string& path, const Schema& schema, const ReadOptions& options,
                         const TextRange& part) {
  Input input(path, options.progress);
  input.restrict(part.first, part.last);
  return LibsvmReader(input, schema, options).read(part.rows, part.line, false);
}

}  // namespace gibbsite
