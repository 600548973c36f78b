#include "data/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include "data/csv.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/machine/memory.hpp"

namespace gibbsite {

namespace {

std::int64_t changed_at(const struct stat& info) {
  return std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

/// Sums of bytes over short blocks, which fill whole vector registers.
std::uint64_t count_newlines(std::string_view text) {
  constexpr std::size_t block = 128;
  std::uint64_t lines = 0;
  for (; text.size() >= block; text.remove_prefix(block)) {
    std::uint8_t part = 0;
    for (std::size_t k = 0; k < block; ++k)
      part = static_cast<std::uint8_t>(part + (text[k] == '\n' ? 1 : 0));
    lines += part;
  }
  return lines + static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

void refuse_other_formats(const std::string& path, std::string_view head) {
  // LIBSVM has no header: its first bytes are a person's label.
  if (table_kind(path) == TableKind::libsvm) return;
  struct Format {
    std::string_view magic, what;
  };
  using namespace std::string_view_literals;
  const bool of_r = path.ends_with(".rds") || path.ends_with(".RData") || path.ends_with(".rda");
  const std::string_view compressed =
      of_r
          ? "is of R; write the table as CSV: write.csv(d, FILE, row.names = FALSE)"sv
          : "is compressed, and only CSV and LIBSVM text by gzip or zstd is read so; decompress it "
            "first, or into a pipe that is read as standard input: gzip -dc, zstd -dc, xz -dc or "
            "bzip2 -dc"sv;
  const bool workbook =
      path.ends_with(".xlsx") || path.ends_with(".xlsm") || path.ends_with(".ods");
  constexpr std::string_view stata =
      "is a Stata file; write the table as CSV (Stata: export delimited using FILE, nolabel)";
  constexpr std::string_view spss =
      "is an SPSS file; write the table as CSV (SPSS: SAVE TRANSLATE /TYPE=CSV /FIELDNAMES)";
  constexpr std::string_view pickle =
      "is a pickle of Python; write the table as CSV or Parquet (pandas: to_csv(FILE, "
      "index=False))";
  constexpr std::string_view json =
      "is JSON; write the table as CSV with a line of names (Python: pandas.read_json(FILE), "
      "lines=True for one record a line, then .to_csv(CSV, index=False))";
  // Stata's older files begin with their version: 113 to 115, and a byte order of 1 or 2.
  if (path.ends_with(".dta") && head.size() > 1 && head[0] >= 'h' && head[0] <= 's' &&
      (head[1] == 1 || head[1] == 2))
    throw BadInput(fmt::format("{}: the file {}", path, stata));
  for (
      const Format& format : std::initializer_list<Format>{
          {"PAR1"sv,
           "is a Parquet file; let its name end in .parquet, or write it as CSV, in Python with "
           "pandas.read_parquet(FILE).to_csv(CSV, index=False)"},
          {"ARROW1"sv,
           "is an Arrow file; let its name end in .arrow, or write it as CSV, in Python with "
           "pandas.read_feather(FILE).to_csv(CSV, index=False)"},
          {"\xd0\xcf\x11\xe0"sv, "is an old Excel workbook; save the sheet as CSV UTF-8"},
          {"\x89HDF"sv, "is an HDF5 file; write the table as CSV or .npy"},
          {"SQLite format 3"sv, "is an SQLite database; export the table as CSV"},
          {"PK\x03\x04"sv,
           workbook ? "is a workbook (Excel, LibreOffice); save the sheet as CSV UTF-8"sv
           : path.ends_with(".npz")
               ? "is an archive of arrays (.npz); save X and y with numpy.save, each in its .npy"sv
               : "is compressed (zip, or a workbook); decompress it first, or save the sheet as "
                 "CSV UTF-8"sv},
          {"\x1f\x8b"sv, compressed},
          {"\x28\xb5\x2f\xfd"sv, compressed},
          {"FEA1"sv,
           "is of Feather's first version; write it as Arrow, in Python with to_feather of a newer "
           "pandas, or as CSV"},
          {"<stata_dta>"sv, stata},
          {"$FL2"sv, spss},
          {"$FL3"sv, spss},
          {"ORC"sv, "is an ORC file; write the table as Parquet or CSV"},
          {"Obj\x01"sv, "is an Avro file; write the table as Parquet or CSV"},
          {"RDX2"sv, "is of R; write the table as CSV: write.csv(d, FILE, row.names = FALSE)"},
          {"RDX3"sv, "is of R; write the table as CSV: write.csv(d, FILE, row.names = FALSE)"},
          {"\x80\x04\x95"sv, pickle},
          {"\x80\x05\x95"sv, pickle},
          {"%PDF"sv, "is a PDF; export the table as CSV"},
          {"<?xml"sv, "is XML; export the table as CSV"},
          {"<!DOCTYPE"sv, "is a page of the web; download the table itself, as CSV"},
          {"<html"sv, "is a page of the web; download the table itself, as CSV"},
          {"{\""sv, json},
          {"{\n"sv, json},
          {"{\r\n"sv, json},
          {"[{"sv, json},
          {"[\n"sv, json},
          {"[["sv, json},
          {"\xfd"
           "7zXZ"sv,
           compressed},
          {"BZh"sv, compressed},
          {"\xff\xfe"sv, "is UTF-16 text; save it as UTF-8"},
          {"\xfe\xff"sv, "is UTF-16 text; save it as UTF-8"}}) {
    if (head.starts_with(format.magic)) {
      throw BadInput(fmt::format("{}: the file {}", path, format.what));
    }
  }
}
}  // namespace

std::string cannot_open(const std::string& path, int error) {
  if (error == ENOENT) return path + ": there is no such file; check the path";
  return fmt::format("{}: cannot be opened: {}; check the path and its permissions", path,
                     std::generic_category().message(error));
}

Input::Input(const std::string& path, Progress progress, Compressed compressed)
    : path_(path == "-" ? "standard input" : path),
      progress_(std::move(progress)),
      chunk_(chunk_bytes) {
  const bool standard = path == "-";
  fd_ =
      standard ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);  // NOLINT: POSIX
  if (fd_ < 0) throw BadInput(cannot_open(path_, errno));
  try {
    struct stat info {};
    if (!standard && ::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode)) {
      size_ = static_cast<std::uint64_t>(info.st_size);
      changed_ = changed_at(info);
    }
    if (!fill())
      throw BadInput(path_ + (standard ? ": the file is empty; check the command before the pipe"
                                       : ": the file is empty (0 bytes); write the table again, or "
                                         "check the path"));
    const std::string_view head(first_, static_cast<std::size_t>(last_ - first_));
    const bool of_r = path.ends_with(".rds") || path.ends_with(".RData") || path.ends_with(".rda");
    if (compressed == Compressed::text && !of_r) decompressor_ = decompressor_of(head);
    if (decompressor_) {
      raw_.assign(chunk_bytes, '\0');
      raw_.insert(raw_.begin(), head.begin(), head.end());
      raw_last_ = head.size();
      if (!fill()) throw BadInput(path_ + ": the file holds no text; write the table again");
    }
    refuse_other_formats(path_, {first_, static_cast<std::size_t>(last_ - first_)});
    if (peek().starts_with("\xef\xbb\xbf")) first_ += (text_begin_ = 3);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

Input::~Input() { ::close(fd_); }

std::size_t Input::read_some(std::size_t held) {
  char* const out = chunk_.data() + held;
  const std::size_t room = chunk_.size() - held;
  if (!decompressor_) return read_file(out, std::min<std::uint64_t>(room, end_ - bytes_read_));
  for (;;) {
    bool ended = false;
    if (raw_first_ == raw_last_) {
      raw_first_ = 0;
      raw_last_ = read_file(raw_.data(), raw_.size());
      ended = raw_last_ == 0;
    }
    Decompressor::Step step;
    try {
      step = decompressor_->step(raw_.data() + raw_first_, raw_last_ - raw_first_, out, room);
    } catch (const DamagedFile& damaged) {
      throw BadInput(path_ + ": " + damaged.why);
    }
    raw_first_ += step.taken;
    made_ += step.made;
    if (made_ - made_reported_ >= progress_bytes) report();
    if (step.made > 0) return step.made;
    if (!ended) continue;
    if (!decompressor_->may_end())
      throw BadInput(path_ + ": the compressed file is cut off; copy it whole, or write it again");
    return 0;
  }
}

/// The file's own bytes.
std::size_t Input::read_file(char* out, std::uint64_t most) {
  ssize_t got = 0;
  do {
    got = ::read(fd_, out, most);
  } while (got < 0 && errno == EINTR);
  if (got < 0)
    throw BadInput(fmt::format("{}: cannot read: {}; check the file", path_, std::strerror(errno)));
  bytes_read_ += static_cast<std::uint64_t>(got);
  if (digest_) digest_->add(out, static_cast<std::size_t>(got));
  if (got == 0 || bytes_read_ - reported_ >= progress_bytes) report();
  return static_cast<std::size_t>(got);
}

void Input::report() {
  reported_ = bytes_read_;
  made_reported_ = made_;
  if (progress_ && !progress_(bytes_read_ - begin_, std::min(size_, end_) - begin_))
    throw Interrupted(path_ + ": reading was stopped");
}

bool Input::fill() {
  const std::size_t got = read_some(0);
  first_ = chunk_.data();
  last_ = first_ + got;
  return got > 0;
}

std::string_view Input::peek() {
  const auto rest = [&] {
    return std::string_view(first_, static_cast<std::size_t>(last_ - first_));
  };
  // A pipe may give a line in parts; nothing of the chunk was handed out yet.
  const auto whole_line = [&] {
    const std::size_t start = rest().find_first_not_of("\r\n ");
    return start != std::string_view::npos &&
           rest().find_first_of("\r\n", start) != std::string_view::npos;
  };
  while (!whole_line() && last_ != chunk_.data() + chunk_.size()) {
    const std::size_t got = read_some(static_cast<std::size_t>(last_ - chunk_.data()));
    if (got == 0) break;
    last_ += got;
  }
  return rest();
}

std::string Input::peek_all() const {
  if (decompressor_) return {chunk_.data(), last_};
  std::string text(chunk_bytes, '\0');
  const ssize_t got = size_ > 0 ? ::pread(fd_, text.data(), text.size(), 0) : 0;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::string_view Input::next_piece() {
  if (first_ == last_ && !fill()) return {};
  const auto left = static_cast<std::size_t>(last_ - first_);
  const auto* const newline = static_cast<const char*>(std::memchr(first_, '\n', left));
  const std::string_view piece(
      first_, newline != nullptr ? static_cast<std::size_t>(newline - first_) + 1 : left);
  first_ += piece.size();
  return piece;
}

std::size_t Input::read(char* out, std::size_t n) {
  std::size_t done = 0;
  while (done < n && (first_ != last_ || fill())) {
    const std::size_t part = std::min(n - done, static_cast<std::size_t>(last_ - first_));
    std::memcpy(out + done, first_, part);
    first_ += part;
    done += part;
  }
  return done;
}

std::size_t Input::read_ahead(std::uint64_t ahead, char* out, std::size_t n) const {
  const std::uint64_t at = bytes_read_ - static_cast<std::uint64_t>(last_ - first_) + ahead;
  std::size_t done = 0;
  while (done < n) {
    const ssize_t got = ::pread(fd_, out + done, n - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void Input::skip(std::uint64_t n) {
  const auto left = static_cast<std::uint64_t>(last_ - first_);
  if (n <= left) {
    first_ += n;
    return;
  }
  bytes_read_ += n - left;
  first_ = last_;
  if (::lseek(fd_, static_cast<off_t>(bytes_read_), SEEK_SET) < 0)
    throw BadInput(fmt::format("{}: cannot read: {}; check the file", path_, std::strerror(errno)));
  report();
}

void Input::restrict(std::uint64_t first, std::uint64_t last) {
  if (::lseek(fd_, static_cast<off_t>(first), SEEK_SET) < 0)
    throw BadInput(fmt::format("{}: cannot read: {}; check the file", path_, std::strerror(errno)));
  begin_ = reported_ = bytes_read_ = first;
  end_ = last;
  first_ = last_ = nullptr;
}

void Input::start_digest() {
  digest_.emplace();
  std::vector<char> buffer(chunk_bytes);
  for (std::uint64_t at = 0; at < bytes_read_;) {
    const std::size_t want = std::min<std::uint64_t>(buffer.size(), bytes_read_ - at);
    const ssize_t got = ::pread(fd_, buffer.data(), want, static_cast<off_t>(at));
    if (got <= 0)
      throw BadInput(path_ + ": cannot be read a second time; give a file that does not change");
    digest_->add(buffer.data(), static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
}

std::string Input::digest() {
  while (fill()) {
  }
  struct stat info {};
  if (::fstat(fd_, &info) != 0 || changed_at(info) != changed_ || bytes_read_ != size_)
    throw BadInput(path_ + ": the file changed while it was read; read it again when it is whole");
  return digest_->hex();
}

std::uint64_t Input::count_lines() const {
  if (size_ == 0 || decompressor_) return 0;
  std::uint64_t lines = 1;  // the last one may lack its newline
  std::vector<char> buffer(chunk_bytes);
  for (std::uint64_t at = 0;;) {
    const ssize_t got = ::pread(fd_, buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (got <= 0) return lines;  // a read error comes up again in fill()
    lines += count_newlines({buffer.data(), static_cast<std::size_t>(got)});
    at += static_cast<std::uint64_t>(got);
  }
}

std::string memory_shortage(const std::string& path, std::uint64_t rows, std::uint64_t features,
                            double row_bytes) {
  const double needed = static_cast<double>(rows) * row_bytes;
  if (needed <= 1 << 16) return {};  // not worth asking the system
  const std::uint64_t available = available_memory();
  constexpr double gib = 1024.0 * 1024 * 1024;
  if (needed <= static_cast<double>(std::numeric_limits<std::ptrdiff_t>::max()) &&
      (available == 0 || needed <= static_cast<double>(available)))
    return {};
  return fmt::format(
      "{}: {} rows (private under add-remove) of {} features need {:.1f} GiB of memory and {:.1f} "
      "GiB are available",
      path, rows, features, needed / gib, static_cast<double>(available) / gib);
}

}  // namespace gibbsite
