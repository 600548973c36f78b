// Rows in blocks: the words of a block are those of the stream (column, block), its levels come
// from alias tables (Walker 1977; Vose 1991) column by column, its text goes to one buffer.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <system_error>
#include <thread>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/row_encoder.hpp"
#include "gibbsite/release/drawn_levels.hpp"
#include "gibbsite/release/network_query.hpp"
#include "machine/processors.hpp"

namespace gibbsite {
namespace {

__extension__ using Wide128 = unsigned __int128;

constexpr std::size_t block_rows = 4096;
// Rows whose counts are rounded together, of models on a junction tree.
constexpr std::uint64_t part_blocks = 64, part_rows = part_blocks * block_rows;

// One level of a configuration: itself where the fraction is below the threshold, else another.
struct AliasCell {
  std::uint32_t threshold;  // times 2^-32
  std::uint32_t other;
};

// shares [r] -> cells [r]: a word w picks the level floor(w r 2^-32), its fraction which of two.
// Every probability is met to 2^-32, one that is 0 exactly.
void lay_aliases(const double* shares, std::size_t r, AliasCell* cells) {
  const double sum = std::accumulate(shares, shares + r, 0.0);
  std::vector<double> scaled(r);
  std::vector<std::uint32_t> small, large;
  std::uint32_t likeliest = 0;
  for (std::uint32_t l = 0; l < r; ++l) {
    scaled[l] = shares[l] / sum * static_cast<double>(r);
    if (shares[l] > shares[likeliest]) likeliest = l;
    (scaled[l] < 1 ? small : large).push_back(l);
  }
  const auto put = [&](std::uint32_t l, std::uint32_t other) {
    const double threshold = std::clamp(std::round(scaled[l] * 0x1p32), 0.0, 0x1p32 - 1);
    cells[l] = {static_cast<std::uint32_t>(threshold), other};
  };
  while (!small.empty() && !large.empty()) {
    const std::uint32_t l = small.back(), from = large.back();
    small.pop_back();
    put(l, from);
    scaled[from] -= 1 - scaled[l];
    if (scaled[from] < 1) {
      large.pop_back();
      small.push_back(from);
    }
  }
  for (const std::uint32_t l : large) cells[l] = {0, l};
  // By rounding alone: nearly whole, or nearly nothing, which goes to one that has something.
  for (const std::uint32_t l : small) {
    if (scaled[l] > 0.5) {
      cells[l] = {0, l};
    } else {
      put(l, likeliest);
    }
  }
}

// A cell as a reader of CSV takes it: in quotes where it has a separator, of any kind, since the
// header tells which one is meant; a quote, a control character or a blank at an end.
std::string quoted_cell(const std::string& text) {
  bool needed = text.empty() || text.front() == ' ' || text.back() == ' ' ||
                static_cast<unsigned char>(text.front()) == 0xEF;  // of a byte order mark
  for (const char c : text)
    needed = needed || static_cast<unsigned char>(c) < 32 ||
             std::string_view("\",;|").find(c) != std::string_view::npos;
  if (!needed) return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2U : 1U, c);
  return out + '"';
}

// How a column's levels are written.
class CellText {
 public:
  CellText(const Schema& schema, const Column& column, LevelColumn levels, bool quotes)
      : column_(column), decimal_(schema.numbers_of(column).decimal) {
    missing_ = schema.missing_marks(column);
    if (column.has_missing_bin) {
      levels.edges.pop_back();
      missing_level_ = static_cast<std::uint32_t>(--levels.levels);
      const std::string mark = missing_.empty() ? "" : missing_.front();
      // A line of nothing is no row.
      const bool bare = !quotes || (mark.empty() && node_columns(schema).size() > 1);
      missing_cell_ = padded(bare ? mark : quoted_cell(mark));
    }
    if (!levels.is_number) {
      lay_levels(schema, levels.levels, quotes);
    } else if (!lay_numbers(levels, quotes)) {
      edges_ = levels.edges;
    }
    longest_ = std::max(longest_, missing_cell_.size);
  }

  [[nodiscard]] bool takes_words() const { return column_.type == ColumnType::number; }
  // At most so many bytes.
  [[nodiscard]] std::size_t longest() const { return longest_; }

  // Writes a cell of that level, up to `longest` + 16 bytes; `word` says which number of its bin.
  char* put(char* out, std::uint32_t level, std::uint64_t word) const {
    if (!takes_words()) return copy(out, texts_[level]);
    if (level == missing_level_) return copy(out, missing_cell_);
    if (!edges_.empty() || counts_.empty()) return put_double(out, level, word);
    auto k = static_cast<std::uint64_t>(Wide128{word} * counts_[level] >> 64);
    for (const std::uint64_t skipped : skipped_[level]) k += k >= skipped ? 1U : 0U;
    if (!texts_.empty()) return copy(out, texts_[places_[level] + k]);
    return put_fixed(out, firsts_[level] + static_cast<std::int64_t>(k));
  }

 private:
  // Sixteen bytes at once: most cells have no more.
  struct Text {
    std::string text;
    std::size_t size = 0;
  };
  static char* copy(char* out, const Text& of) {
    if (of.size <= 16) {
      std::memcpy(out, of.text.data(), 16);
    } else {
      std::memcpy(out, of.text.data(), of.size);
    }
    return out + of.size;
  }
  static Text padded(std::string text) {
    const std::size_t size = text.size();
    text.resize(std::max<std::size_t>(size, 16));
    return {std::move(text), size};
  }
  void add(std::string text) {
    texts_.push_back(padded(std::move(text)));
    longest_ = std::max(longest_, texts_.back().size);
  }

  void lay_levels(const Schema& schema, std::size_t levels, bool quotes) {
    std::vector<std::string> names = column_.levels;
    if (schema.has_missing_level(column_)) names.push_back(missing_.front());
    if (names.size() < levels) {  // (other): what no level is called
      std::string other = "(other)";
      while (std::ranges::find(names, other) != names.end() ||
             std::ranges::find(missing_, other) != missing_.end())
        other.insert(0, 1, '(').push_back(')');
      names.push_back(other);
    }
    for (std::string& name : names) add(quotes ? quoted_cell(name) : name);
  }

  // Numbers k 10^-decimals, by the reader's own rule for which bin one is in; false where they are
  // too large or too small for that.
  bool lay_numbers(const LevelColumn& levels, bool quotes) {
    const std::vector<double> ends = bin_ends(column_);
    double narrowest = ends.back() - ends.front();
    for (std::size_t i = 0; i + 1 < ends.size(); ++i)
      narrowest = std::min(narrowest, ends[i + 1] - ends[i]);
    const double largest = std::max(std::abs(ends.front()), std::abs(ends.back()));
    decimals_ = column_.decimals.value_or(
        std::max(0, static_cast<int>(std::min(400.0, std::ceil(2 - std::log10(narrowest))))));
    longest_ = 40;
    for (; decimals_ <= most_decimals; ++decimals_) {
      power_ = std::pow(10.0, decimals_);
      if (largest * power_ >= 0x1p53) break;
      if (lay_bins(levels, ends)) {
        quoted_ = quotes && decimal_ == ',' && decimals_ > 0;
        lay_known_texts();
        return true;
      }
    }
    firsts_.clear();
    counts_.clear();
    return false;
  }
  bool lay_bins(const LevelColumn& levels, const std::vector<double>& ends) {
    const auto scaled = [&](std::int64_t k) {
      const double inside = std::clamp(static_cast<double>(k) / power_, column_.lo, column_.hi);
      return static_cast<float>((inside - column_.lo) / (column_.hi - column_.lo));
    };
    // Those of the range, then the first of each bin.
    auto last = static_cast<std::int64_t>(std::floor(ends.back() * power_));
    auto first = static_cast<std::int64_t>(std::ceil(ends.front() * power_));
    while (static_cast<double>(first) / power_ < column_.lo) ++first;
    while (static_cast<double>(last) / power_ > column_.hi) --last;
    firsts_.assign(1, first);
    for (const float edge : levels.edges) {
      std::int64_t below = first - 1, from = last + 1;  // scaled(from) >= edge
      while (below + 1 < from) {
        const std::int64_t middle = below + (from - below) / 2;
        (scaled(middle) >= edge ? from : below) = middle;
      }
      firsts_.push_back(from);
    }
    counts_.clear();
    skipped_.clear();
    const std::vector<std::int64_t> missing = missing_numbers();
    for (std::size_t l = 0; l < firsts_.size(); ++l) {
      std::int64_t count = (l + 1 < firsts_.size() ? firsts_[l + 1] : last + 1) - firsts_[l];
      std::vector<std::uint64_t> skipped;
      for (const std::int64_t number : missing)
        if (number >= firsts_[l] && number < firsts_[l] + count)
          skipped.push_back(static_cast<std::uint64_t>(number - firsts_[l]));
      count -= static_cast<std::int64_t>(skipped.size());
      if (count <= 0) return false;
      counts_.push_back(static_cast<std::uint64_t>(count));
      skipped_.push_back(std::move(skipped));
    }
    return true;
  }
  // The numbers that a reader would take for a missing cell, ascending.
  [[nodiscard]] std::vector<std::int64_t> missing_numbers() const {
    std::vector<std::int64_t> out;
    for (const std::string& mark : missing_) {
      double value = 0;
      std::string text = mark;
      std::ranges::replace(text, decimal_, '.');
      if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
        continue;
      if (!(std::abs(value) * power_ < 0x1p53)) continue;
      const auto k = static_cast<std::int64_t>(std::llround(value * power_));
      if (static_cast<double>(k) / power_ == value) out.push_back(k);  // however it is written
    }
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  // Where there are few numbers in all.
  void lay_known_texts() {
    constexpr std::uint64_t most = 4096;
    const std::uint64_t all = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
    if (all > most || std::ranges::any_of(counts_, [&](std::uint64_t c) { return c > most; }))
      return;
    longest_ = 0;
    for (std::size_t l = 0; l < counts_.size(); ++l) {
      places_.push_back(texts_.size());
      for (std::uint64_t k = 0; k < counts_[l] + skipped_[l].size(); ++k) {
        char text[64];
        const char* const end = put_fixed(text, firsts_[l] + static_cast<std::int64_t>(k));
        add({text, static_cast<std::size_t>(end - text)});
      }
    }
  }

  char* put_fixed(char* out, std::int64_t k) const {
    if (quoted_) *out++ = '"';
    if (k < 0) *out++ = '-';
    std::uint64_t left = static_cast<std::uint64_t>(k < 0 ? -k : k);
    char digits[32];
    char* from = digits + sizeof digits;
    int written = 0;
    while (left > 0 || written <= decimals_) {
      if (decimals_ > 0 && written == decimals_) *--from = decimal_;
      *--from = static_cast<char>('0' + left % 10);
      left /= 10;
      ++written;
    }
    const auto size = static_cast<std::size_t>(digits + sizeof digits - from);
    std::memcpy(out, from, size);
    out += size;
    if (quoted_) *out++ = '"';
    return out;
  }
  // Any number of the bin, as many digits as tell it; its lower end where rounding left the bin.
  char* put_double(char* out, std::uint32_t level, std::uint64_t word) const {
    const std::vector<double> ends = bin_ends(column_);
    const double lo = ends[level], hi = ends[level + 1];
    double value = std::clamp(lo + (hi - lo) * (static_cast<double>(word >> 11) * 0x1p-53), lo, hi);
    const auto scaled = static_cast<float>((value - column_.lo) / (column_.hi - column_.lo));
    if (level < edges_.size() && scaled >= edges_[level]) value = lo;
    const auto marks_missing = [&] {
      return std::ranges::any_of(missing_, [&](const std::string& mark) {
        double number = 0;
        std::string plain = mark;
        std::ranges::replace(plain, decimal_, '.');
        const auto [end, error] =
            std::from_chars(plain.data(), plain.data() + plain.size(), number);
        return error == std::errc() && end == plain.data() + plain.size() && number == value;
      });
    };
    while (marks_missing()) value = std::nextafter(value, value < (lo + hi) / 2 ? hi : lo);
    std::string text = number_text(value);
    std::ranges::replace(text, '.', decimal_);
    if (decimal_ == ',' && text.find(',') != text.npos) text = quoted_cell(text);
    return std::ranges::copy(text, out).out;
  }

  const Column& column_;
  char decimal_;
  std::vector<std::string> missing_;  // marks of a missing cell
  std::size_t longest_ = 0;
  std::vector<Text> texts_;                          // of levels, or of every number
  std::vector<std::size_t> places_;                  // of a bin's first number among them
  std::vector<std::int64_t> firsts_;                 // k of a bin's first number
  std::vector<std::uint64_t> counts_;                // numbers of a bin that are written
  std::vector<std::vector<std::uint64_t>> skipped_;  // those among them that are not, ascending
  std::uint32_t missing_level_ = ~0U;  // of a number, behind its bins, where it has one
  Text missing_cell_;
  std::vector<float> edges_;  // where numbers are written as doubles
  double power_ = 1;
  int decimals_ = 0;
  bool quoted_ = false;
};

// f(task) once for each task, one a thread, as far as the system gives them.
template <class F>
void in_parallel(std::uint64_t tasks, const F& f) {
  std::atomic<std::uint64_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::uint64_t task = next++; task < tasks; task = next++) f(task);
    } catch (...) {
      const std::scoped_lock lock(mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  try {
    for (std::uint64_t i = 1; i < tasks; ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {  // fewer, then
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

// Rows of a network as levels and words, block by block.
class People {
 public:
  People(const NetworkModel& model, const StreamKey& stream, bool quotes)
      : network_(model.network),
        tables_(model.tables),
        stream_(stream),
        draws_(model.tables.size()),
        rounds_(model.tree.has_value()),
        order_(network_.order()) {
    const std::vector<LevelColumn> columns = level_columns(model.schema);
    for (std::size_t k = 0; k < network_.size(); ++k) {
      texts_.emplace_back(model.schema, model.schema.columns[k], columns[k], quotes);
      if (rounds_) continue;
      std::vector<AliasCell>& cells = aliases_.emplace_back(draws_ * network_.cells(k));
      const std::uint64_t levels = network_.levels[k];
      for (std::size_t d = 0; d < draws_; ++d)
        for (std::uint64_t c = 0; c < network_.configurations(k); ++c)
          lay_aliases(model.tables[d][k].data() + c * levels, levels,
                      cells.data() + d * network_.cells(k) + c * levels);
    }
  }

  struct Block {
    std::vector<std::vector<std::uint32_t>> levels;  // [K][rows]
    std::vector<std::vector<std::uint64_t>> words;   // [K][rows] of numbers
    std::vector<std::uint64_t> picks;                // [rows/2]
    std::vector<std::uint32_t> cells;                // [rows] where a configuration's cells begin
    std::size_t rows = 0;
  };

  // Whether rows are drawn in parts, by `draw`, before blocks of them are filled.
  [[nodiscard]] bool rounds() const { return rounds_; }
  // Parts first, first + 1, ... of so many rows in all, on threads.
  void draw(std::uint64_t first, std::uint64_t parts, std::uint64_t rows) {
    first_part_ = first;
    parts_.resize(parts);
    in_parallel(parts, [&](std::uint64_t p) {
      const std::uint64_t before = (first + p) * part_rows;
      parts_[p] = drawn_levels(network_, tables_.front(), std::min(part_rows, rows - before),
                               stream_, first + p);
    });
  }

  void fill(Block& block, std::uint64_t number, std::size_t rows) const {
    block.rows = rows;
    block.levels.resize(network_.size());
    block.words.resize(network_.size());
    const auto places = static_cast<std::uint32_t>(network_.size());
    if (rounds_) {
      const auto& part = parts_[number / part_blocks - first_part_];
      for (std::uint32_t k = 0; k < network_.size(); ++k) {
        const auto from =
            part[k].begin() + static_cast<std::ptrdiff_t>(number % part_blocks * block_rows);
        block.levels[k].assign(from, from + static_cast<std::ptrdiff_t>(rows));
        if (!texts_[k].takes_words()) continue;
        block.words[k].resize(rows);
        fill_words(stream_, places + k, number, block.words[k]);
      }
      return;
    }
    block.picks.resize((rows + 1) / 2);
    block.cells.resize(rows);
    for (const std::uint32_t k : order_) {
      const auto levels = static_cast<std::uint32_t>(network_.levels[k]);
      std::ranges::fill(block.cells, 0U);
      for (const std::uint32_t parent : network_.parents[k]) {
        const auto times = static_cast<std::uint32_t>(network_.levels[parent]);
        const std::uint32_t* const of = block.levels[parent].data();
        for (std::size_t i = 0; i < rows; ++i) block.cells[i] = block.cells[i] * times + of[i];
      }
      fill_words(stream_, k, number, block.picks);
      std::vector<std::uint32_t>& out = block.levels[k];
      out.resize(rows);
      const std::uint64_t per_draw = network_.cells(k);
      for (std::size_t i = 0; i < rows; ++i) {
        const auto word = static_cast<std::uint32_t>(block.picks[i / 2] >> (i % 2 * 32));
        const std::uint64_t wide = std::uint64_t{word} * levels;
        const auto l = static_cast<std::uint32_t>(wide >> 32);
        std::uint64_t at = std::uint64_t{block.cells[i]} * levels + l;
        if (draws_ > 1) at += (number * block_rows + i) % draws_ * per_draw;
        const AliasCell cell = aliases_[k][at];
        out[i] = static_cast<std::uint32_t>(wide) < cell.threshold ? l : cell.other;
      }
      if (texts_[k].takes_words()) {
        block.words[k].resize(rows);
        fill_words(stream_, places + k, number, block.words[k]);
      }
    }
  }

  // At most so many bytes a row.
  [[nodiscard]] std::size_t longest_row() const {
    std::size_t out = 1;
    for (const CellText& text : texts_) out += text.longest() + 1;
    return out;
  }
  char* put(char* out, const Block& block, std::size_t k, std::size_t i) const {
    return texts_[k].put(out, block.levels[k][i], texts_[k].takes_words() ? block.words[k][i] : 0);
  }
  // Lines of CSV; `text` grows to what it takes.
  [[nodiscard]] std::string_view lines(const Block& block, char delimiter,
                                       std::string& text) const {
    constexpr std::size_t copied = 16;
    text.resize(std::max(text.size(), block.rows * longest_row() + copied));
    char* out = text.data();
    const std::size_t columns = texts_.size();
    for (std::size_t i = 0; i < block.rows; ++i) {
      for (std::size_t k = 0; k < columns; ++k) {
        out = put(out, block, k, i);
        *out++ = delimiter;
      }
      out[-1] = '\n';
    }
    return {text.data(), static_cast<std::size_t>(out - text.data())};
  }

 private:
  const Network& network_;
  const std::vector<std::vector<std::vector<double>>>& tables_;
  StreamKey stream_;
  std::size_t draws_;
  bool rounds_;
  std::vector<std::vector<std::vector<std::uint32_t>>> parts_;  // [parts][K][rows]
  std::uint64_t first_part_ = 0;
  std::vector<std::uint32_t> order_;
  std::vector<std::vector<AliasCell>> aliases_;  // [K][draws x cells]
  std::vector<CellText> texts_;                  // [K]
};

void require_rows(std::uint64_t rows) {
  if (rows == 0) throw BadInput(Field{"rows"}, "must be at least 1, got 0", "ask for some people");
}

}  // namespace

void synthesize(const NetworkModel& model, std::uint64_t rows, const StreamKey& stream,
                const std::function<void(std::string_view)>& write,
                const SynthesisOptions& options) {
  require_rows(rows);
  if (std::string_view(",;\t|").find(options.delimiter) == std::string_view::npos) {
    throw BadInput(format_message(
        "{}: must be a comma, a semicolon, a tab or a bar; give one of them", Word{"delimiter"}));
  }
  People people(model, stream, true);
  std::string header;
  for (const std::string& name : model.names()) {
    if (!header.empty()) header += options.delimiter;
    header += quoted_cell(name);
  }
  write(header + '\n');

  const std::uint64_t blocks = (rows + block_rows - 1) / block_rows;
  const std::size_t threads = std::min<std::uint64_t>(
      options.threads > 0 ? options.threads : static_cast<std::size_t>(usable_processors()),
      blocks);
  // Blocks are made by whoever is free and written in their order.
  const auto write_blocks = [&](std::uint64_t first, std::uint64_t end) {
    std::atomic<std::uint64_t> next = first;
    std::uint64_t turn = first;
    std::exception_ptr failure;
    std::mutex mutex;
    std::condition_variable changed;
    in_parallel(threads, [&](std::uint64_t) {
      try {
        People::Block block;
        std::string text;
        for (std::uint64_t b = next++; b < end; b = next++) {
          const auto some = std::min<std::uint64_t>(block_rows, rows - b * block_rows);
          people.fill(block, b, some);
          const std::string_view lines = people.lines(block, options.delimiter, text);
          std::unique_lock lock(mutex);
          changed.wait(lock, [&] { return turn == b || failure; });
          if (failure) return;
          write(lines);
          const std::uint64_t done = b * block_rows + some;
          if (options.progress && !options.progress(done, rows)) {
            throw Interrupted("interrupted; nothing was written");
          }
          ++turn;
          changed.notify_all();
        }
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!failure) failure = std::current_exception();
        changed.notify_all();
      }
    });
    if (failure) std::rethrow_exception(failure);
  };
  if (!people.rounds()) return write_blocks(0, blocks);
  const std::uint64_t parts = (rows + part_rows - 1) / part_rows;
  for (std::uint64_t first = 0; first < parts; first += threads) {
    const std::uint64_t some = std::min<std::uint64_t>(threads, parts - first);
    people.draw(first, some, rows);
    write_blocks(first * part_blocks, std::min(blocks, (first + some) * part_blocks));
  }
}

Dataset synthetic_rows(const NetworkModel& model, std::uint64_t rows, const StreamKey& stream) {
  require_rows(rows);
  People people(model, stream, false);
  const std::vector<std::string> names = model.names();
  RowEncoder encoder(model.schema, names);
  encoder.expect(rows);
  People::Block block;
  std::string text;
  text.resize(people.longest_row() + 16);
  std::vector<std::string_view> cells(names.size());
  for (std::uint64_t first = 0; first < rows; first += block_rows) {
    if (people.rounds() && first % part_rows == 0) people.draw(first / part_rows, 1, rows);
    people.fill(block, first / block_rows, std::min<std::uint64_t>(block_rows, rows - first));
    for (std::size_t i = 0; i < block.rows; ++i) {
      char* out = text.data();
      for (std::size_t k = 0; k < names.size(); ++k) {
        char* const end = people.put(out, block, k, i);
        cells[k] = {out, static_cast<std::size_t>(end - out)};
        out = end;
      }
      encoder.add(cells);
    }
  }
  return encoder.finish();
}

Synthesis synthesis_of(const NetworkRelease& release, std::optional<std::uint64_t> rows,
                       std::optional<std::uint64_t> seed) {
  // What is drawn costs nothing and hides nothing: only that two tables differ asks for a seed. It
  // is one that every program's numbers hold.
  std::random_device device;
  const std::uint64_t fresh =
      (std::uint64_t{device()} << 21 ^ device()) & ((std::uint64_t{1} << 53) - 1);
  return {.rows = rows.value_or(release.certificate().problem.rows),
          .seed = seed.value_or(fresh),
          .options = {.delimiter = release.model().schema.has_decimal_comma() ? ';' : ','}};
}

void synthesize(const NetworkModel& model, const Synthesis& with,
                const std::function<void(std::string_view)>& write) {
  synthesize(model, with.rows, StreamKey::from_seed(with.seed), write, with.options);
}

}  // namespace gibbsite
