#include "gibbsite/data/shares.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/digest.hpp"
#include "core/format_message.hpp"
#include "data/cache.hpp"
#include "data/compressed.hpp"
#include "data/csv.hpp"
#include "data/encoder.hpp"
#include "data/input.hpp"
#include "data/parts.hpp"
#include "data/person_ids.hpp"
#include "data/shared_people.hpp"
#include "data/shares_pieces.hpp"
#include "data/text.hpp"
#include "data/text_index.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/machine/memory.hpp"
#include "machine/processors.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite {
namespace {

namespace fs = std::filesystem;

std::uint64_t least_piece_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t most_pieces = std::uint64_t{1} << 15;

std::uint64_t piece_bytes_of(std::uint64_t all_bytes) {
  return std::max(least_piece_bytes, (all_bytes + most_pieces - 1) / most_pieces);
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// What every rank found for its piece, in the order of ranks.
template <class T>
std::vector<T> gathered(Communicator& ranks, const std::vector<T>& mine) {
  std::vector<T> out;
  for (const std::string& bytes : ranks.gather(bytes_of(mine))) {
    if (bytes.empty()) continue;
    const std::size_t before = out.size();
    out.resize(before + bytes.size() / sizeof(T));
    std::memcpy(static_cast<void*>(out.data() + before), bytes.data(), bytes.size());
  }
  return out;
}

/// f(task) of so many tasks, by threads; throws what one of them threw.
template <class F>
void each_task(std::size_t tasks, std::size_t threads, const F& f) {
  const std::size_t members =
      std::min({tasks, ThreadPool::most_members,
                threads > 0 ? threads : static_cast<std::size_t>(usable_processors())});
  if (members <= 1) {
    for (std::size_t task = 0; task < tasks; ++task) f(task);
    return;
  }
  ThreadPool pool(members);
  std::vector<std::exception_ptr> errors(pool.members());
  for (std::size_t first = 0; first < tasks; first += ThreadPool::most_tasks / 2) {
    pool.each(std::min(tasks - first, ThreadPool::most_tasks / 2),
              [&](std::size_t k, std::size_t member) {
                if (errors[member]) return;
                try {
                  f(first + k);
                } catch (...) {
                  errors[member] = std::current_exception();
                }
              });
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

Digest digest_of_bytes(const std::string& path, std::uint64_t first, std::uint64_t last) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw BadInput(cannot_open(path, errno));
  Digest digest;
  std::vector<char> buffer(chunk_bytes);
  while (first < last) {
    const ssize_t got =
        ::pread(fd, buffer.data(), std::min<std::uint64_t>(buffer.size(), last - first),
                static_cast<off_t>(first));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    digest.add(buffer.data(), static_cast<std::size_t>(got));
    first += static_cast<std::uint64_t>(got);
  }
  ::close(fd);
  return digest;
}

std::uint64_t size_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) && !error && fs::exists(path, error)) {
    throw BadInput(path +
                   ": is no regular file, of which a share could be read; give one, or a folder "
                   "or "
                   "pattern of them");
  }
  const std::uint64_t size = error ? 0 : fs::file_size(path, error);
  if (error) throw BadInput(cannot_open(path, error.value()));
  if (size == 0)
    throw BadInput(path +
                   ": the file is empty (0 bytes): Spark leaves such a part where there were no "
                   "rows; move it away, or write the table again");
  return size;
}

}  // namespace

std::uint64_t set_least_piece_bytes(std::uint64_t bytes) {
  return std::exchange(least_piece_bytes, bytes);
}

namespace {

/// What a Dataset has beside its rows: b's behind a's.
void append_beside_rows(Dataset& a, Dataset& b, std::uint64_t rows_of_a) {
  for (const UnreadableCell& cell : b.unreadable)
    a.unreadable.push_back({rows_of_a + cell.row, cell.column});
  for (const auto of : beside_rows) (a.*of).insert((a.*of).end(), (b.*of).begin(), (b.*of).end());
  a.person.insert(a.person.end(), b.person.begin(), b.person.end());
  const std::vector<std::uint64_t*> sums = a.counts.numbers(), those = b.counts.numbers();
  for (std::size_t k = 0; k < sums.size(); ++k) *sums[k] += *those[k];
}

}  // namespace

namespace {

/// Places of people read apart are not of the same people, whose rows would count twice.
void require_people_of_one_table(const Dataset& a, const Dataset& b) {
  const auto has_people = [](const Dataset& of) {
    return !of.person.empty() || of.rows_of_person != 0;
  };
  if (!has_people(a) && !has_people(b)) return;
  // Ranks' shares of a table, held to k rows over all of them.
  const bool held = a.rows_of_person != 0 && a.rows_of_person == b.rows_of_person &&
                    a.people == b.people && a.rows_counted == b.rows_counted &&
                    a.rows_counted >= a.rows() + b.rows();
  if (!held)
    throw BadInput(
        "data: people of tables that were read apart cannot be told to be the same; read "
        "the tables as one, of several files");
}

void join_rows(Dataset& a, Dataset&& b) {
  if (b.rows() == 0) return;
  if (a.rows() == 0) {
    a = std::move(b);
    return;
  }
  const std::uint64_t rows_of_a = a.rows();
  append_rows(a.storage, b.view());
  append_beside_rows(a, b, rows_of_a);
}

}  // namespace

void append_rows(Dataset& a, Dataset&& b) {
  if (a.rows() > 0 && b.rows() > 0) require_people_of_one_table(a, b);
  join_rows(a, std::move(b));
}

struct SharedTable::Files {
  // A piece of a file: bytes [first, last) of it.
  struct Piece {
    std::uint32_t file = 0;
    std::uint64_t first = 0, last = 0;
  };
  struct Part {
    std::string path, labels;
    std::uint64_t bytes = 0;
    std::size_t first_piece = 0, last_piece = 0;
    std::uint64_t records = 0;  // of a text, with a header
    std::uint64_t first_row = 0, rows = 0;
    std::optional<TextRules> rules;        // of a text
    bool compressed = false;               // read from its start, whichever rows are wanted
    std::vector<PartitionColumn> columns;  // of its folders' names
  };
  using Raw = std::array<unsigned char, Digest::bytes>;
  // Bytes of a file: its header [0, header_end), and some rows [first, last).
  struct Reach {
    std::uint64_t header_end = 0, first = 0, last = 0;
  };

  std::string path;
  Schema schema;
  ReadOptions options;
  Communicator& ranks;
  TableKind kind = TableKind::csv;
  std::vector<std::string> names;  // of all files: the parts, then their labels
  std::vector<Part> parts;
  std::vector<Piece> pieces;  // of all files
  std::vector<Raw> digests;   // of the pieces; empty for one rank
  // What lies before each piece of a text in its file.
  std::vector<std::uint64_t> newlines_before, records_before;
  std::vector<unsigned char> quoted;
  std::vector<std::string> header;  // of the first part of several of CSV, sorted
  std::string digest;
  std::uint64_t rows = 0;
  ReadOptions::Layout layout = ReadOptions::Layout::automatic;
  double entries_per_row = 0;  // of the first rows

  Files(const std::string& table, const Schema& domain, const ReadOptions& wanted,
        Communicator& communicator)
      : path(table), schema(domain), options(wanted), ranks(communicator) {}

  void name_files();
  void cut_into_pieces();
  void compare_files();
  void scan();
  void count_rows();
  void choose_layout();

  void digest_pieces();
  void count_compressed();
  template <class T>
  [[nodiscard]] std::vector<T> in_order(const std::vector<T>& mine) const;
  [[nodiscard]] std::string cache() const {
    return cache_of_share(path, ranks.rank(), ranks.size());
  }
  [[nodiscard]] bool reads_people() const {
    return schema.person() != nullptr && options.reads_weights(schema);
  }
  [[nodiscard]] bool is_short_of_memory(RowRange range) const;
  [[nodiscard]] bool goes_to_files(RowRange range) const;
  [[nodiscard]] Dataset read_or_open(RowRange range, ReadOptions wanted) const;
  void tell(const std::vector<Message>& notes) const;

  [[nodiscard]] std::pair<std::size_t, std::size_t> turn(std::size_t rank) const;
  [[nodiscard]] TextRange find(const Part& part, RowRange range) const;
  [[nodiscard]] TextFile::Place find(const Part& part, std::uint64_t row) const;
  [[nodiscard]] Dataset read(const Part& part, RowRange range, const ReadOptions& wanted) const;
  [[nodiscard]] Dataset read(RowRange range, const ReadOptions& wanted) const;
  [[nodiscard]] Dataset no_rows() const;
  void require_same_columns(const Part& part) const;
  [[nodiscard]] Reach reach(std::size_t file, RowRange range) const;
  void require_same_bytes(RowRange range) const;
};

void SharedTable::Files::name_files() {
  const std::vector<std::string> files = parts_of(path);
  kind = table_kind(files.front());
  std::vector<std::string> labels;
  if (!options.label_path.empty()) {
    if (kind != TableKind::npy)
      throw BadInput(options.label_path +
                     ": a file of labels goes with a .npy table only; this table has its own");
    labels = parts_of(options.label_path);
    if (labels.size() != files.size())
      throw BadInput(fmt::format("{}: {} files of labels for {} of rows; give one for each",
                                 options.label_path, labels.size(), files.size()));
  }
  for (std::size_t k = 0; k < files.size(); ++k) {
    Part part;
    part.path = files[k];
    if (!labels.empty()) part.labels = labels[k];
    part.bytes = size_of(part.path);
    part.compressed = kind == TableKind::csv && is_compressed_file(part.path);
    if (kind == TableKind::libsvm && without_compression(part.path) != part.path)
      throw BadInput(part.path +
                     ": is compressed LIBSVM text, of which no share or part can be read; "
                     "decompress it first: gzip -d or zstd -d");
    part.columns = partition_columns(path, part.path, schema);
    if (!part.columns.empty() && (kind == TableKind::npy || kind == TableKind::libsvm))
      throw BadInput(part.path +
                     ": its folder's name gives a column, and the file's columns have no names; "
                     "write the table as CSV, Parquet or Arrow");
    parts.push_back(std::move(part));
    require_same_partition(parts.back().path, parts.back().columns, parts.front().columns);
  }
  names = files;
  names.insert(names.end(), labels.begin(), labels.end());
}

void SharedTable::Files::cut_into_pieces() {
  std::uint64_t all = 0;
  for (const std::string& name : names) all += size_of(name);
  const std::uint64_t most = piece_bytes_of(all);
  for (std::size_t f = 0; f < names.size(); ++f) {
    if (f < parts.size()) parts[f].first_piece = pieces.size();
    const std::uint64_t bytes = size_of(names[f]);
    for (std::uint64_t at = 0; at < bytes; at += most)
      pieces.push_back({static_cast<std::uint32_t>(f), at, std::min(at + most, bytes)});
    if (f < parts.size()) parts[f].last_piece = pieces.size();
  }
}

/// Names and sizes, before anything is looked at by turns.
void SharedTable::Files::compare_files() {
  std::string mine;
  for (const std::string& name : names) mine += fmt::format("{}\t{}\n", name, size_of(name));
  const std::vector<std::string> all = ranks.gather(mine);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw BadInput(
        fmt::format("rank {}: {}: is not the table of rank 0: another name, number or size of "
                    "files; give every "
                    "rank the same",
                    rank, path));
  }
}

/// The pieces that a rank looks at: those of the next rank's rows, about.
std::pair<std::size_t, std::size_t> SharedTable::Files::turn(std::size_t rank) const {
  const std::size_t size = ranks.size(), other = (rank + 1) % size, n = pieces.size();
  return {n * other / size, n * (other + 1) / size};
}

/// What ranks found in their turns, in the order of pieces.
template <class T>
std::vector<T> SharedTable::Files::in_order(const std::vector<T>& mine) const {
  std::vector<T> all = gathered(ranks, mine), out(pieces.size());
  std::size_t at = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto [from, to] = turn(rank);
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(at), to - from,
                out.begin() + static_cast<std::ptrdiff_t>(from));
    at += to - from;
  }
  return out;
}

void SharedTable::Files::digest_pieces() {
  const auto [first, last] = turn(ranks.rank());
  std::vector<Raw> own(last - first);
  ranks.together([&, first = first] {
    each_task(own.size(), options.threads, [&](std::size_t k) {
      const Piece& p = pieces[first + k];
      own[k] = digest_of_bytes(names[p.file], p.first, p.last).raw();
    });
  });
  digests = in_order(own);
  Digest all;
  for (const Raw& d : digests) all.add(d.data(), d.size());
  for (const Part& part : parts)
    for (const PartitionColumn& column : part.columns) {
      const std::string text =
          fmt::format("{}:{}{}:{}", column.name.size(), column.name,
                      column.value ? column.value->size() + 1 : 0, column.value.value_or(""));
      all.add(text.data(), text.size());
    }
  digest = all.hex();
}

void SharedTable::Files::scan() {
  const bool text = kind == TableKind::csv || kind == TableKind::libsvm;
  const auto [first, last] = turn(ranks.rank());
  const std::size_t mine = last - first;
  if (ranks.size() > 1) digest_pieces();
  if (!text) return;

  std::vector<std::unique_ptr<TextFile>> files(parts.size());
  ranks.together([&] {
    for (std::size_t f = 0; f < parts.size(); ++f) {
      if (parts[f].compressed) continue;
      parts[f].rules =
          kind == TableKind::libsvm ? libsvm_rules(parts[f].path) : csv_rules(parts[f].path);
      files[f] = std::make_unique<TextFile>(parts[f].path, *parts[f].rules);
    }
  });
  if (kind == TableKind::csv && parts.size() > 1) {
    ranks.together([&] {
      header = read_csv_header(parts.front().path);
      std::ranges::sort(header);
    });
  }
  std::vector<TextPiece> marks(mine);
  ranks.together([&, first = first] {
    each_task(mine, options.threads, [&](std::size_t k) {
      const Piece& p = pieces[first + k];
      if (p.file < parts.size() && files[p.file])
        marks[k] = files[p.file]->count_marks(p.first, p.last);
    });
  });
  std::vector<std::uint64_t> newlines(mine), odd(mine), records(mine);
  for (std::size_t k = 0; k < mine; ++k) {
    newlines[k] = marks[k].newlines;
    odd[k] = marks[k].odd_quotes ? 1 : 0;
  }
  const std::vector<std::uint64_t> all_newlines = in_order(newlines), all_odd = in_order(odd);
  quoted.assign(pieces.size() + 1, 0);
  newlines_before.assign(pieces.size() + 1, 0);
  records_before.assign(pieces.size() + 1, 0);
  const auto starts_file = [&](std::size_t k) { return pieces[k].first == 0; };
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (starts_file(k)) quoted[k] = 0, newlines_before[k] = 0;
    quoted[k + 1] = static_cast<unsigned char>(quoted[k] ^ all_odd[k]);
    newlines_before[k + 1] = newlines_before[k] + all_newlines[k];
  }
  ranks.together([&, first = first] {
    each_task(mine, options.threads, [&](std::size_t k) {
      const Piece& p = pieces[first + k];
      if (p.file < parts.size() && files[p.file])
        records[k] = files[p.file]->count_records(p.first, p.last, quoted[first + k] != 0);
    });
  });
  const std::vector<std::uint64_t> all_records = in_order(records);
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (starts_file(k)) records_before[k] = 0;
    records_before[k + 1] = records_before[k] + all_records[k];
    if (pieces[k].file < parts.size()) parts[pieces[k].file].records = records_before[k + 1];
  }
  count_compressed();
}

/// Rows of parts that are compressed: each rank counts some of them.
void SharedTable::Files::count_compressed() {
  std::vector<std::size_t> mine;
  for (std::size_t f = ranks.rank(); f < parts.size(); f += ranks.size())
    if (parts[f].compressed) mine.push_back(f);
  std::vector<std::uint64_t> counts(2 * mine.size());  // a part and its records
  ranks.together([&] {
    each_task(mine.size(), options.threads, [&](std::size_t k) {
      counts[2 * k] = mine[k];
      counts[2 * k + 1] = compressed_csv_rows(parts[mine[k]].path) + 1;
    });
  });
  const std::vector<std::uint64_t> all = gathered(ranks, counts);
  for (std::size_t k = 0; k + 1 < all.size(); k += 2) parts[all[k]].records = all[k + 1];
}

void SharedTable::Files::count_rows() {
  for (Part& part : parts) {
    if (kind == TableKind::npy) {
      part.rows = npy_rows(part.path);
    } else if (kind == TableKind::arrow) {
      part.rows = arrow_file_rows(part.path);
    } else {
      part.rows = part.records;
      if (kind == TableKind::csv) {
        if (part.rows == 0) throw BadInput(part.path + ": no header line; give a table with one");
        --part.rows;
      }
    }
    part.first_row = rows;
    rows += part.rows;
  }
  if (rows == 0 && !options.may_be_empty)
    throw BadInput(path + ": the table has no rows; give at least one");
}

/// As all ranks decide by the same rows, none needs to be told.
void SharedTable::Files::choose_layout() {
  if (rows == 0) return;
  ReadOptions wanted = options;
  wanted.layout = ReadOptions::Layout::sparse;
  wanted.progress = {};
  const Dataset data = read({0, std::min(rows, rows_that_choose)}, wanted);
  const SparseRows head = data.sparse().view();
  entries_per_row = static_cast<double>(head.entries()) / static_cast<double>(head.rows);
  layout = is_sparse_by_head(head, schema.features()) ? ReadOptions::Layout::sparse
                                                      : ReadOptions::Layout::dense;
}

/// Where a row's line begins, and how many lines are before it.
TextFile::Place SharedTable::Files::find(const Part& part, std::uint64_t row) const {
  const std::uint64_t record = row + (kind == TableKind::csv ? 1 : 0);
  // The last piece before which there are not more records than that.
  std::size_t k = part.first_piece;
  for (std::size_t count = part.last_piece - part.first_piece; count > 1;) {
    const std::size_t half = count / 2;
    if (records_before[k + half] <= record) {
      k += half;
      count -= half;
    } else {
      count = half;
    }
  }
  const TextFile file(part.path, *part.rules);
  TextFile::Place place =
      file.find_record(pieces[k].first, pieces[k].last, quoted[k] != 0, record - records_before[k]);
  place.newlines += newlines_before[k];
  return place;
}

TextRange SharedTable::Files::find(const Part& part, RowRange range) const {
  const TextFile::Place begin = find(part, range.first);
  return {begin.byte, range.last == part.rows ? part.bytes : find(part, range.last).byte,
          begin.newlines + 1, range.rows()};
}

/// Before its cells are looked at: where the first line is a row, no message shows it.
void SharedTable::Files::require_same_columns(const Part& part) const {
  if (header.empty()) return;
  std::vector<std::string> columns;
  try {
    columns = read_csv_header(part.path);
  } catch (const BadInput&) {
  }
  std::ranges::sort(columns);
  if (columns == header) return;
  throw BadInput(
      fmt::format("{}: its first line does not name the columns of {}; give every part "
                  "the same header",
                  part.path, parts.front().path));
}

Dataset SharedTable::Files::read(const Part& part, RowRange range,
                                 const ReadOptions& wanted) const {
  if (&part != parts.data()) require_same_columns(part);
  ReadOptions own = wanted;
  own.cache = ReadOptions::Cache::never;
  own.label_path = part.labels;
  const std::uint64_t before = own.to_files != nullptr ? own.to_files->rows() : 0;
  Dataset data =
      kind == TableKind::npy     ? read_npy_part(part.path, schema, own, range)
      : kind == TableKind::arrow ? read_arrow_file_part(part.path, schema, own, range, part.columns)
      : part.compressed ? read_compressed_csv_part(part.path, schema, own, range, part.columns)
      : kind == TableKind::libsvm
          ? read_libsvm_part(part.path, schema, own, find(part, range))
          : read_csv_part(part.path, schema, own, find(part, range), part.columns);
  const std::uint64_t got = own.to_files != nullptr ? own.to_files->rows() - before : data.rows();
  if (got != range.rows() || size_of(part.path) != part.bytes) {
    throw BadInput(
        fmt::format("{}: the file changed while it was read; read it again when it is "
                    "whole",
                    part.path));
  }
  return data;
}

Dataset SharedTable::Files::read(RowRange range, const ReadOptions& wanted) const {
  Dataset data = no_rows();
  for (const Part& part : parts) {
    const std::uint64_t first = std::max(range.first, part.first_row),
                        last = std::min(range.last, part.first_row + part.rows);
    if (first >= last) continue;
    Dataset more = read(part, {first - part.first_row, last - part.first_row}, wanted);
    if (wanted.to_files != nullptr) {
      append_beside_rows(data, more, first - range.first);
    } else {
      join_rows(data, std::move(more));
    }
  }
  return data;
}

/// Whether this rank's machine cannot hold its ranks' rows, or this process its own. Collective.
bool SharedTable::Files::is_short_of_memory(RowRange range) const {
  const double row_bytes =
      4 + (layout == ReadOptions::Layout::sparse ? 8 * entries_per_row + 8
                                                 : 4 * static_cast<double>(schema.features()));
  const auto mine = static_cast<std::uint64_t>(row_bytes * static_cast<double>(range.rows()));
  std::string machine;  // the same in all containers of one
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), machine);
  const std::vector<std::string> machines = ranks.gather(machine);
  const std::vector<std::uint64_t> bytes = ranks.gather(mine);
  std::uint64_t here = 0;
  for (std::size_t rank = 0; rank < bytes.size(); ++rank)
    if (machines[rank] == machine) here += bytes[rank];
  constexpr std::uint64_t little = 1 << 16;  // not worth asking the system
  const auto exceeds = [](std::uint64_t needed, std::uint64_t available) {
    return needed > little && available > 0 && needed > available;
  };
  return exceeds(mine, available_memory()) || exceeds(here, available_memory_of_machine());
}

/// Whether rows go to files or are in them: the same at all ranks, as engines of one table are.
bool SharedTable::Files::goes_to_files(RowRange range) const {
  if (options.cache == ReadOptions::Cache::never) return false;
  bool wanted = options.cache == ReadOptions::Cache::always, is_foreign = false;
  ranks.together([&] {
    if (range.rows() == 0) return;
    const bool own = has_cache(cache(), options);
    wanted = own || wanted;
    is_foreign = !own && fs::exists(cache());
  });
  const bool is_short = is_short_of_memory(range);
  const std::vector<std::uint64_t> all = ranks.gather(
      std::uint64_t{wanted} | std::uint64_t{is_short} << 1 | std::uint64_t{is_foreign} << 2);
  const auto some = [&all](std::uint64_t bit) {
    return std::ranges::find_if(all, [bit](std::uint64_t v) { return (v & bit) != 0; });
  };
  const auto short_one = some(2);
  // Where another user's bars the way of one, all do without while memory is enough.
  if (options.cache == ReadOptions::Cache::automatic && short_one == all.end() &&
      some(4) != all.end())
    return false;
  if (short_one != all.end() && options.cache == ReadOptions::Cache::automatic)
    note(options,
         fmt::format("{}: memory cannot hold the rows{}: they go to files on disk", path,
                     ranks.size() == 1 ? "" : fmt::format(" of rank {}", short_one - all.begin())));
  return some(1) != all.end() || short_one != all.end();
}

/// This rank's rows by the files of its cache, made where they are not of these rows.
Dataset SharedTable::Files::read_or_open(RowRange range, ReadOptions wanted) const {
  if (range.rows() == 0) {  // an old one is of another table
    remove_cache_folder(cache());
    return no_rows();
  }
  wanted.cache = ReadOptions::Cache::always;
  CacheOrigin origin{.input = digest, .input_bytes = 0, .label_file = "", .share = range};
  for (const std::string& name : names) origin.input_bytes += size_of(name);
  if (!reads_people() && has_cache(cache(), wanted)) {  // no file says whose rows are
    if (std::optional<Dataset> data = open_cache(cache(), schema, wanted, origin))
      return std::move(*data);
  }
  CacheWriter writer(cache());
  wanted.to_files = &writer;
  Dataset data = read(range, wanted);
  require_same_bytes(range);
  data.storage = writer.finish(data, layout == ReadOptions::Layout::sparse, origin, wanted);
  return data;
}

Dataset SharedTable::Files::no_rows() const {
  Dataset data;
  data.schema = schema;
  data.counts.columns.resize(schema.columns.size());
  return data;
}

SharedTable::Files::Reach SharedTable::Files::reach(std::size_t file, RowRange range) const {
  const Part& part = parts[file % parts.size()];  // its labels lie behind all parts
  const std::uint64_t first = std::max(range.first, part.first_row),
                      last = std::min(range.last, part.first_row + part.rows);
  if (first >= last) return {};
  const RowRange rows_of_part{first - part.first_row, last - part.first_row};
  if (part.rules) {
    const TextRange text = find(part, rows_of_part);
    return {find(part, 0).byte, text.first, text.last};
  }
  const std::uint64_t size = size_of(names[file]);
  if (kind != TableKind::npy) return {size, 0, size};
  // Rows from the end, as their header is short beside them.
  const double bytes_of_row = static_cast<double>(size) / static_cast<double>(part.rows);
  return {1, static_cast<std::uint64_t>(static_cast<double>(rows_of_part.first) * bytes_of_row),
          static_cast<std::uint64_t>(static_cast<double>(rows_of_part.last) * bytes_of_row) + 4097};
}

/// Compares the pieces that these rows and their headers lie in with what another rank found there.
void SharedTable::Files::require_same_bytes(RowRange range) const {
  if (digests.empty() || range.rows() == 0) return;
  std::vector<std::size_t> mine;
  Reach found;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const Piece& p = pieces[k];
    if (p.first == 0) found = reach(p.file, range);
    if (p.first < found.header_end || (p.last > found.first && p.first < found.last))
      mine.push_back(k);
  }
  each_task(mine.size(), options.threads, [&](std::size_t k) {
    const Piece& p = pieces[mine[k]];
    if (digest_of_bytes(names[p.file], p.first, p.last).raw() != digests[mine[k]]) {
      throw BadInput(
          fmt::format("{}: bytes {} to {} are not those that another rank reads; give every rank "
                      "the same file, "
                      "and one that does not change",
                      names[p.file], p.first, p.last));
    }
  });
}

/// What ranks noted, to the first one's reader: of all alike one line.
void SharedTable::Files::tell(const std::vector<Message>& notes) const {
  if (ranks.size() == 1) return;
  Message mine;  // a piece for each
  for (const Message& line : notes)
    if (!line.text().starts_with("private: ")) mine.append({Message::Kind::word, line.packed()});
  const std::vector<std::string> all = ranks.gather(mine.packed());
  if (ranks.rank() != 0) return;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const Message said = Message::unpacked(all[rank]);
    for (const Message::Piece& line : said.pieces())
      note(options, format_message("rank {}: {}", rank, Message::unpacked(line.text)));
  }
  note(options,
       format_message(
           "private: {}.K-of-{} of each rank K holds its rows (for this user only); {} removes it",
           cache_of(path), ranks.size(), Field{"remove_cache"}));
}

SharedTable::SharedTable(const std::string& path, const Schema& schema, const ReadOptions& options,
                         Communicator& ranks) {
  auto files = std::make_unique<Files>(path, schema, options, ranks);
  ranks.together([&] {
    files->name_files();
    files->cut_into_pieces();
  });
  files->compare_files();
  files->scan();
  ranks.together([&] {
    files->count_rows();
    files->choose_layout();
  });
  // What each found for itself: by its own headers and by what its own files say.
  std::vector<std::uint64_t> found{files->layout == ReadOptions::Layout::sparse ? 1U : 0U};
  for (const Files::Part& part : files->parts) found.push_back(part.rows);
  const std::vector<std::string> all = ranks.gather(bytes_of(found));
  if (std::ranges::adjacent_find(all, std::ranges::not_equal_to{}) != all.end())
    throw BadInput(path + ": ranks find different rows; give every rank the same file");
  files_ = std::move(files);
}

SharedTable::~SharedTable() = default;

std::uint64_t SharedTable::rows() const { return files_->rows; }
const std::string& SharedTable::digest() const { return files_->digest; }

Dataset SharedTable::read(RowRange range) const {
  const StandardArithmetic arithmetic;
  Files& files = *files_;
  Dataset data = files.no_rows();
  files.ranks.together([&] {
    if (range.first > range.last || range.last > files.rows)
      throw BadInput(fmt::format("rows: [{}, {}) are not of a table of {}", range.first, range.last,
                                 files.rows));
  });
  const bool in_files = files.goes_to_files(range);
  if (in_files && files.digest.empty()) files.digest_pieces();
  std::vector<Message> notes;
  std::optional<PersonIds> people;
  if (files.reads_people()) make_shared_ids(people, files.ranks);
  files.ranks.together([&] {
    ReadOptions wanted = files.options;
    wanted.layout = files.layout;
    wanted.people = people ? &*people : nullptr;
    if (files.ranks.size() > 1)
      wanted.note = [&notes](const Message& line) { notes.push_back(line); };
    data = in_files ? files.read_or_open(range, wanted) : files.read(range, wanted);
    if (data.rows() != range.rows())
      throw BadInput(
          fmt::format("{}: {} rows were read where {} are", files.path, data.rows(), range.rows()));
    if (people && data.person.size() != range.rows())
      throw BadInput(files.path + ": not every row says whose it is; report this");
    if (!in_files) files.require_same_bytes(range);
  });
  if (in_files) files.tell(notes);
  // Each row once, at one rank.
  const std::vector<std::uint64_t> ends =
      files.ranks.gather(std::vector<std::uint64_t>{range.first, range.last});
  std::uint64_t next = 0;
  for (std::size_t rank = 0; rank < files.ranks.size(); ++rank) {
    const bool empty = ends[2 * rank] == ends[2 * rank + 1];
    if (!empty && ends[2 * rank] != next) {
      throw BadInput(fmt::format(
          "{}: rank {} read from row {} on where {} is the next; every row is to be read once",
          files.path, rank, ends[2 * rank] + 1, next + 1));
    }
    if (!empty) next = ends[2 * rank + 1];
  }
  if (next != files.rows)
    throw BadInput(
        fmt::format("{}: rows {} to {} were read by no rank; every row is to be read "
                    "once",
                    files.path, next + 1, files.rows));
  if (people) number_people(data.person, *people, files.rows, files.ranks);
  return data;
}

}  // namespace gibbsite
