// CSV: libcsv finds the cells, fast_float the numbers; the text passes through in chunks.
#include "data/csv.hpp"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "data/columns.hpp"
#include "data/encoder.hpp"
#include "data/input.hpp"
#include "data/parts.hpp"
#include "data/text.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/csv_columns.hpp"
#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

namespace {

constexpr const char* blanks_between_cells =
    ":1: the names have blanks between them, as R's write.table writes them; write the table with "
    "commas (R: write.csv(d, FILE, row.names = FALSE))";
constexpr std::size_t longest_cell = std::size_t{1} << 20;
/// Cells of one record: more names than these would fill the memory, and are no table's.
constexpr std::size_t most_cells = std::size_t{1} << 24;

/// The separator (comma, semicolon, tab or bar) that the header has most often outside of quotes;
/// the first of them if that is no decision.
char separator_of(std::string_view text) {
  const std::size_t start = std::min(text.find_first_not_of("\r\n "), text.size());
  const std::string_view header = text.substr(start, text.find_first_of("\r\n", start) - start);
  constexpr std::string_view known = ",;\t|";
  std::array<std::size_t, known.size()> counts{};
  bool quoted = false;
  for (const char c : header) {
    quoted = quoted != (c == '"');
    const std::size_t k = known.find(c);
    if (!quoted && k != std::string_view::npos) ++counts[k];
  }
  return known[static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) -
                                        counts.begin())];
}

/// Feeds a file through libcsv line by line, so that the line of a record is known. Handler has
/// cell(string_view) and row(), which returns whether to go on. libcsv drops blanks around
/// unquoted cells, blank lines, and takes LF, CRLF and CR. Behind a header of one name a blank line
/// is a row whose cell is empty, so that no row is dropped: it is handed on here. Of more columns
/// no row is blank, as it has its separators.
template <class Handler>
class CsvReader {
 public:
  /// width: cells of the header where it is not what comes first, else 0.
  CsvReader(Input& input, Handler& handler, std::size_t width = 0)
      : input_(input), handler_(handler), width_(width) {
    csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI);  // strict: a stray quote is an error
    csv_set_blk_size(&parser_, std::size_t{1} << 16);
    csv_set_delim(&parser_, static_cast<unsigned char>(separator_of(input.peek())));
  }
  ~CsvReader() { csv_free(&parser_); }
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  /// From the line of this number on.
  void read(std::uint64_t line = 1) {
    for (std::string_view piece = input_.next_piece(); !piece.empty();
         piece = input_.next_piece()) {
      for (std::string_view rest = piece; !rest.empty();) {
        // Where blank lines may be rows, up to the next line end of any kind.
        const std::size_t end = width_ > 1 ? rest.size() : rest.find_first_of("\r\n");
        const std::string_view part = rest.substr(0, end < rest.size() ? end + 1 : end);
        rest.remove_prefix(part.size());
        if (between_rows_) line_ = line;
        width_ == 1 ? parse_line_of_one(part) : parse(part);
        if (!go_on_) return;
        last_ = part.back();
      }
      if (piece.back() == '\n') ++line;
    }
    const bool of_one = width_ == 1;
    const int status = csv_fini(&parser_, on_cell, on_row, this);
    if (error_) std::rethrow_exception(error_);
    if (status != 0)
      fail("a quoted cell has no closing quote before the end of the file; close it");
    if (of_one && go_on_ && last_ != '\n' && last_ != '\r')
      fail(
          "the last line has no line end, and in a table of one column an empty last cell would be "
          "no line without one; end the line");
  }

  /// "FILE:LINE" of the line where the current record starts.
  [[nodiscard]] FilePosition position() const { return {input_.path(), line_}; }
  [[nodiscard]] std::string where() const { return fmt::format("{}:{}", input_.path(), line_); }
  /// Fails with what is wrong with the line. Behind the header that tells of a row.
  [[noreturn]] void fail(const Message& what) const {
    throw BadInput(position(), line_ > 1 ? what + tells_of_row : what);
  }

 private:
  void parse(std::string_view text) {
    const std::size_t done = csv_parse(&parser_, text.data(), text.size(), on_cell, on_row, this);
    if (error_) std::rethrow_exception(error_);
    if (!go_on_) return;
    // A first cell in quotes that goes on in the next line began its row here.
    if (parser_.pstate != row_not_begun) between_rows_ = false;
    if (done != text.size())
      fail(
          "a quote inside an unquoted cell, or text after a closing quote; double the quotes "
          "inside a quoted cell");
    if (in_record_ > most_cells)
      fail("a line has more than 2^24 cells; is a line end missing, or is the file no table?");
    if (parser_.entry_pos > longest_cell)
      fail("a cell is longer than 1 MiB; is a closing quote missing?");
  }

  /// A line of a table of one column, or what of it lies in one piece.
  void parse_line_of_one(std::string_view text) {
    const std::size_t content = text.find_first_not_of(" \t");
    const bool ends = content < text.size() && (text[content] == '\n' || text[content] == '\r');
    if (!between_rows_ || (content < text.size() && !ends)) {
      between_rows_ = false;  // a cell that is quoted may go on in the next line
      parse(text);
    } else if (ends && !(text == "\n" && last_ == '\r')) {  // CRLF is one line end
      handler_.cell({});
      go_on_ = handler_.row();
    }
  }

  // No exception may pass through libcsv's C code: keep the first one until csv_parse returns.
  static void on_cell(void* text, std::size_t size, void* self_pointer) {
    auto& self = *static_cast<CsvReader*>(self_pointer);
    if (!self.go_on_) return;
    self.between_rows_ = false;
    ++self.cells_;
    ++self.in_record_;
    try {
      self.handler_.cell({static_cast<const char*>(text), size});
    } catch (...) {
      self.stop();
    }
  }
  static void on_row(int, void* self_pointer) {
    auto& self = *static_cast<CsvReader*>(self_pointer);
    if (!self.go_on_) return;
    self.between_rows_ = true;
    self.in_record_ = 0;
    if (self.width_ == 0) self.width_ = self.cells_;
    try {
      self.go_on_ = self.handler_.row();
    } catch (...) {
      self.stop();
    }
  }
  void stop() {
    error_ = std::current_exception();
    go_on_ = false;
  }

  static constexpr int row_not_begun = 0;  // libcsv's ROW_NOT_BEGUN

  Input& input_;
  Handler& handler_;
  csv_parser parser_{};
  std::exception_ptr error_;
  std::size_t width_ = 0, cells_ = 0, in_record_ = 0;  // of the header; so far; of this record
  bool go_on_ = true, between_rows_ = true;
  char last_ = 0;  // of what was parsed
  std::uint64_t line_ = 1;
};

struct HeaderLine {
  std::vector<std::string> names;  ///< empty: there is none
  std::string where;
};
HeaderLine header_of(const std::string& path) {
  struct Handler {
    std::vector<std::string> names;
    void cell(std::string_view text) { names.emplace_back(text); }
    static bool row() { return false; }
  };
  Input input(path, {}, Input::Compressed::text);
  Handler handler;
  CsvReader reader(input, handler);
  reader.read();
  return {std::move(handler.names), reader.where()};
}

/// The words of a line, without the quotes about them, by separators or by blanks.
std::vector<std::string> words_of_line(std::string_view line, std::string_view separators) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : line) {
    quoted = quoted != (c == '"');
    if (!quoted && separators.find(c) != std::string_view::npos)
      words.emplace_back();
    else if (c != '"' && (c != ' ' || quoted) && c != '\r')
      words.back() += c;
  }
  return words;
}

/// Where the schema's names are, near the top of a text.
struct HeaderPlace {
  std::size_t line = 0;  ///< from 1; 0: in no line
  bool blanks = false;   ///< with blanks between them
};
HeaderPlace find_header(std::string_view text, const Schema& schema) {
  constexpr std::size_t most_lines = 100;
  const auto names = [&](std::string_view line, std::string_view separators) {
    std::size_t count = 0;
    for (const std::string& word : words_of_line(line, separators))
      count += word == schema.label_name || std::ranges::find(schema.columns, word,
                                                              &Column::name) != schema.columns.end()
                   ? 1U
                   : 0U;
    return count > std::min<std::size_t>(schema.columns.size(), 1);  // two, or the only ones
  };
  for (std::size_t line = 1; line <= most_lines && !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view here = text.substr(0, end);
    if (names(here, ",;\t|")) return {line, false};
    if (names(here, " ")) return {line, true};
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

/// Throws BadInput where the names of the first line have blanks between them: quotes about them
/// would be stray ones.
void require_separators(Input& input, const Schema& schema) {
  const std::string_view text = input.peek();
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  if (line.find_first_of(",;\t|") != std::string_view::npos) return;
  const HeaderPlace place = find_header(line, schema);
  if (place.line == 1 && place.blanks) throw BadInput(input.path() + blanks_between_cells);
}

/// The first record names the columns, the others are rows.
class TableHandler {
 public:
  TableHandler(Input& input, const Schema& schema, const ReadOptions& options,
               const std::vector<PartitionColumn>& columns = {})
      : columns_(columns),
        input_(input),
        schema_(schema),
        options_(options),
        rows_(schema, options, &input, [this] { return where(); }) {}

  /// Reads these rows alone, in a reader that meets the rows before them too.
  void restrict(RowRange range) { range_ = range; }

  void cell(std::string_view text) {
    if (in_header_) {
      header_.emplace_back(text);
      return;
    }
    if (row_ < range_.first) return;
    const ColumnTarget target = cell_ < width_ ? targets_[cell_] : ColumnTarget();
    ++cell_;
    if (bad_cell_) return;
    try {
      if (target.encoding != nullptr)
        rows_.set_all(*target.encoding, text);
      else if (target.is_label)
        rows_.set_label(text);
    } catch (...) {
      bad_cell_ = std::current_exception();  // unless the row is ragged, which explains it
    }
  }

  bool row() {
    if (in_header_) {
      require_known_names();
      require_distinct(header_, where(), "the header");
      require_not_in_file(where(), columns_, header_);
      width_ = header_.size();
      for (const PartitionColumn& column : columns_) header_.push_back(column.name);
      targets_ = match_columns(header_, schema_, options_, "the header", false, rows_);
      in_header_ = false;
      return true;
    }
    if (row_++ < range_.first) return true;
    if (cell_ != width_)
      rows_.fail_telling(
          fmt::format("{} cells where the header has {}; fix the row (a cell with a separator "
                      "in it needs quotes)",
                      cell_, width_));
    if (bad_cell_) std::rethrow_exception(bad_cell_);
    for (std::size_t k = 0; k < columns_.size(); ++k)
      set_column(targets_[width_ + k], columns_[k].value);
    cell_ = 0;
    rows_.end_row();
    return row_ < range_.last;
  }

  CellEncoder& rows() { return rows_; }
  [[nodiscard]] bool has_header() const { return !in_header_; }
  std::function<std::string()> where;

 private:
  void set_column(const ColumnTarget& target, const std::optional<std::string>& value) {
    if (target.is_label)
      rows_.set_label(value ? std::string_view(*value) : std::string_view());
    else if (target.encoding != nullptr)
      rows_.set_all(*target.encoding, value ? std::optional<std::string_view>(*value)
                                            : std::optional<std::string_view>());
  }
  /// Throws BadInput where the first line names no column of the schema: it is then a row, which is
  /// not quoted, or a line above the header.
  void require_known_names() {
    const auto known = [&](const std::string& name) {
      return name == schema_.label_name ||
             std::ranges::find(schema_.columns, name, &Column::name) != schema_.columns.end();
    };
    if (schema_.columns.empty() || std::ranges::any_of(header_, known)) return;
    const HeaderPlace place = find_header(input_.peek_all(), schema_);
    const char* const none = "the first line names none of the schema's columns";
    if (place.line > 1)
      rows_.fail(fmt::format("{}, and line {} does: remove the lines above it", none, place.line));
    rows_.fail(
        fmt::format("{}; if it is a row, put a line of names above it; if lines stand above the "
                    "names, remove them; else write the names as the schema does ({}, ...)",
                    none, gibbsite::quoted(schema_.columns.front().name)));
  }

  std::vector<PartitionColumn> columns_;
  Input& input_;
  const Schema& schema_;
  const ReadOptions& options_;
  CellEncoder rows_;
  std::size_t width_ = 0;  // cells of a row of the file
  std::vector<std::string> header_;
  std::vector<ColumnTarget> targets_;
  bool in_header_ = true;
  std::size_t cell_ = 0;
  RowRange range_{0, ~std::uint64_t{0}};
  std::uint64_t row_ = 0;
  std::exception_ptr bad_cell_;
};

}  // namespace

std::vector<CsvRecord> read_csv_records(const std::string& path) {
  struct Handler {
    std::vector<CsvRecord> records;
    CsvRecord current;
    std::function<std::string()> where;
    void cell(std::string_view text) { current.cells.emplace_back(text); }
    bool row() {
      current.where = where();
      if (!records.empty() && current.cells.size() != records.front().cells.size()) {
        throw BadInput(fmt::format("{}: has {} cells, the header has {}; mend the line",
                                   current.where, current.cells.size(),
                                   records.front().cells.size()));
      }
      records.push_back(std::exchange(current, {}));
      return true;
    }
  };
  Input input(path, nullptr);
  Handler handler;
  CsvReader reader(input, handler);
  handler.where = [&] { return reader.where(); };
  reader.read();
  if (handler.records.empty()) throw BadInput(path + ": is empty; give a header line");
  require_distinct(handler.records.front().cells, handler.records.front().where, "the header");
  return std::move(handler.records);
}

void read_csv_columns(const std::string& path, const std::vector<std::string>& columns,
                      const std::function<void(std::span<const std::string>)>& row) {
  struct Handler {
    const std::vector<std::string>& columns;
    const std::function<void(std::span<const std::string>)>& give;
    std::function<std::string()> where = {};
    std::vector<std::string> cells = {}, kept = {};
    std::vector<std::size_t> places = {};  // of the columns in a row
    std::size_t width = 0, cell_count = 0;

    void cell(std::string_view text) {
      if (cell_count == cells.size()) cells.emplace_back();
      cells[cell_count++] = text;
    }
    bool row() {
      const std::size_t count = std::exchange(cell_count, 0);
      if (width == 0) {
        width = count;
        require_distinct(cells, where(), "the header");
        std::unordered_map<std::string_view, std::size_t> place_of;
        for (std::size_t k = 0; k < width; ++k) place_of.emplace(cells[k], k);
        for (const std::string& name : columns) {
          const auto found = place_of.find(name);
          if (found == place_of.end()) {
            throw BadInput(fmt::format("{}: the header has no column {}; give one of its names",
                                       where(), gibbsite::quoted(name)));
          }
          places.push_back(found->second);
        }
        kept.resize(columns.size());
        return true;
      }
      if (count != width) {
        throw BadInput(fmt::format("{}: {} cells where the header has {}; fix the row", where(),
                                   count, width));
      }
      for (std::size_t k = 0; k < places.size(); ++k) kept[k] = cells[places[k]];
      give(kept);
      return true;
    }
  };
  if (table_kind(path) != TableKind::csv)
    throw BadInput(path + ": is no CSV table, whose columns could be kept; write it as CSV");
  Input input(path, {}, Input::Compressed::text);
  Handler handler{columns, row};
  CsvReader reader(input, handler);
  handler.where = [&reader] { return reader.where(); };
  reader.read();
}

void require_csv_header_on_top(const std::string& path) {
  if (path == "-") return;
  constexpr std::size_t most_lines = 20;
  Input input(path, {}, Input::Compressed::text);
  const std::string top = input.peek_all();
  std::string_view text = top, first;
  for (std::size_t line = 0; line < most_lines && !text.empty();) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view here = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (here.find_first_not_of(" \r") == std::string_view::npos) continue;
    if (line++ == 0) first = here;
    const char separator = separator_of(here);
    const std::size_t cells = words_of_line(here, {&separator, 1}).size();
    const char of_first = separator_of(first);
    const bool one = words_of_line(first, {&of_first, 1}).size() == 1;
    if (line > 1 && cells > 1 && (one || first.starts_with("sep=")))
      throw BadInput(fmt::format(
          "{}:1: the first line {} and a line below has {} cells: is it a title or a comment? "
          "remove what stands above the names of the columns",
          path, one ? "has 1 cell" : "says what separates", cells));
  }
}

std::vector<std::string> read_csv_header(const std::string& path) {
  HeaderLine header = header_of(path);
  if (header.names.empty()) throw BadInput(path + ": no header line; give a table with one");
  try {
    require_distinct(header.names, header.where, "the header");
  } catch (const BadInput&) {  // the line may be a row: it is not quoted
    throw BadInput(
        header.where +
        ": a name occurs twice in the header; rename one, or, if this line is a row, put a "
        "line of names above it");
  }
  return std::move(header.names);
}

std::vector<std::string> read_csv_first_row(const std::string& path) {
  struct Handler {
    std::vector<std::string> cells;
    bool in_header = true;
    void cell(std::string_view text) {
      if (!in_header) cells.emplace_back(text);
    }
    bool row() { return std::exchange(in_header, false); }
  };
  Handler handler;
  try {
    Input input(path, {}, Input::Compressed::text);
    CsvReader reader(input, handler);
    reader.read();
  } catch (const BadInput&) {
    return {};  // who reads the table says so
  }
  return std::move(handler.cells);
}

TextRules csv_rules(const std::string& path) {
  Input input(path, {});
  TextRules rules{true, separator_of(input.peek()), input.text_begin()};
  if (header_of(path).names.size() != 1) return rules;
  rules.all_lines_from = rules.from;
  for (std::string_view piece = input.next_piece(); !piece.empty(); piece = input.next_piece()) {
    const std::size_t blank = piece.find_first_not_of(" \t\r\n");
    rules.all_lines_from += std::min(blank, piece.size());
    if (blank != std::string_view::npos) break;
  }
  ++rules.all_lines_from;  // the header's line begins before
  return rules;
}

Dataset read_csv_part(const std::string& path, const Schema& schema, const ReadOptions& options,
                      const TextRange& part, const std::vector<PartitionColumn>& columns) {
  Input input(path, options.progress);
  TableHandler table(input, schema, options, columns);
  const HeaderLine header = header_of(path);
  table.where = [&] { return header.where; };
  for (const std::string& name : header.names) table.cell(name);
  table.row();
  CsvReader reader(input, table, header.names.size());
  table.where = [&reader] { return reader.where(); };
  table.rows().expect(part.rows);
  input.restrict(part.first, part.last);
  reader.read(part.line);
  return table.rows().finish();
}

std::uint64_t compressed_csv_rows(const std::string& path) {
  struct Handler {
    std::uint64_t records = 0;
    static void cell(std::string_view) {}
    bool row() {
      ++records;
      return true;
    }
  };
  Input input(path, {}, Input::Compressed::text);
  Handler handler;
  CsvReader reader(input, handler);
  reader.read();
  if (handler.records == 0) throw BadInput(path + ": no header line; give a table with one");
  return handler.records - 1;
}

Dataset read_compressed_csv_part(const std::string& path, const Schema& schema,
                                 const ReadOptions& options, RowRange range,
                                 const std::vector<PartitionColumn>& columns) {
  Input input(path, options.progress, Input::Compressed::text);
  TableHandler table(input, schema, options, columns);
  table.restrict(range);
  CsvReader reader(input, table);
  table.where = [&reader] { return reader.where(); };
  table.rows().expect(range.rows());
  reader.read();
  return table.rows().finish();
}

Dataset read_csv(const std::string& path, const Schema& schema, const ReadOptions& options) {
  Input input(path, options.progress, Input::Compressed::text);
  require_separators(input, schema);
  TableHandler table(input, schema, options);
  CsvReader reader(input, table);
  table.where = [&reader] { return reader.where(); };
  table.rows().expect(input.count_lines());
  reader.read();
  if (!table.has_header()) throw BadInput(path + ": no header line; give a table with one");
  return table.rows().finish();
}

}  // namespace gibbsite
