// The folder TABLE.gibbsite-cache/, mode 0700, its files 0600. Arrays are little-endian numbers
// without a header: x.f32 [n x d] row-major, or begin.u64 [n + 1], feature.u32 and value.f32
// [entries]; labels.f32 [n], or empty; offsets.f32 [n] and weights.f32 [n] where there is an
// exposure or a weight. cache.json has format, software, layout ("dense" or "sparse"), rows,
// features, counts, input and input_bytes, label_file, encoding (of the schema and of what is
// asked of the labels), arrays (by name), and digest of the other fields, all digests in hex.
// For a folder, a pattern or a rank's share there is also share, the rows [first, last) that
// are there; input is then the digest of the digests of all files' pieces, labels among them.
#include "data/cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "core/format_message.hpp"
#include "data/input.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/cache_folder.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/version.hpp"

namespace gibbsite {

static_assert(std::endian::native == std::endian::little, "numbers are mapped as they lie");

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view format = "gibbsite-cache/3";
constexpr std::string_view description = "cache.json";
constexpr std::array<const char*, 7> array_names = {
    "x.f32", "begin.u64", "feature.u32", "value.f32", "labels.f32", "offsets.f32", "weights.f32"};

/// Why a cache cannot be used.
struct Unusable {
  std::string why;
};

/// A regular file, mapped. Without advice: MADV_SEQUENTIAL measured no faster from disk.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)) {
    const std::string name = fs::path(path).filename();
    struct stat info {};
    if (fd_ < 0 || ::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
      close();
      throw Unusable{name + " is not there"};
    }
    size_ = static_cast<std::size_t>(info.st_size);
    if (size_ == 0) return;
    data_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_, 0);
    if (data_ == MAP_FAILED) {
      close();
      throw BadInput(fmt::format("{}: cannot be mapped: {}; raise the limit on address space", path,
                                 std::generic_category().message(errno)));
    }
  }
  ~MappedFile() {
    if (size_ > 0) ::munmap(data_, size_);
    close();
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  template <class T>
  [[nodiscard]] const T* numbers() const {
    return static_cast<const T*>(data_);
  }
  [[nodiscard]] int descriptor() const { return fd_; }

 private:
  void close() const {
    if (fd_ >= 0) ::close(fd_);
  }

  int fd_ = -1;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// What names a share, "2-of-4", at the start of "2-of-4" or "2-of-4.tmp-PID-N"; else nothing.
std::string share_in(std::string_view name) {
  const std::string_view share = name.substr(0, name.find('.'));
  const std::size_t of = share.find("-of-");
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const bool is_share = of != std::string_view::npos && is_number(share.substr(0, of)) &&
                        is_number(share.substr(of + 4));
  return is_share ? std::string(share) : "";
}

json share_json(const CacheOrigin& origin) {
  return origin.share ? json{origin.share->first, origin.share->last} : json();
}

/// Counts the bytes that digests read.
class Reading {
 public:
  Reading(const ReadOptions& options, std::uint64_t total) : options_(options), total_(total) {}

  /// Digest of all bytes of an open file. Throws Interrupted.
  std::string digest(int fd, const std::string& path) {
    Digest digest;
    std::vector<char> buffer(4 * chunk_bytes);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    for (std::uint64_t at = 0;;) {
      const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0)
        throw BadInput(fmt::format("{}: cannot read: {}; check the disk", path,
                                   std::generic_category().message(errno)));
      if (got == 0) return digest.hex();
      digest.add(buffer.data(), static_cast<std::size_t>(got));
      at += static_cast<std::uint64_t>(got);
      done_ += static_cast<std::uint64_t>(got);
      if (options_.progress && !options_.progress(done_, total_))
        throw Interrupted(path + ": reading was stopped");
    }
  }
  std::string digest(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw BadInput(cannot_open(path, errno));
    try {
      std::string hex = digest(fd, path);
      ::close(fd);
      return hex;
    } catch (...) {
      ::close(fd);
      throw;
    }
  }

 private:
  const ReadOptions& options_;
  std::uint64_t total_, done_ = 0;
};

/// What rows depend on beside the input.
std::string encoding_of(const Schema& schema, const ReadOptions& options) {
  return digest_of(fmt::format("{} {}\n{}", static_cast<int>(options.labels),
                               options.ignore_extra_columns, to_toml(schema)));
}

/// The description's own digest, of all its other fields.
std::string seal_of(json description_json) {
  description_json.erase("digest");
  return digest_of(description_json.dump());
}

/// (json gives a number below 0 or of 1e300 as some count, too.)
std::uint64_t count_of(const json& value) {
  if (!value.is_number_unsigned()) throw Unusable{"cache.json is damaged"};
  return value.get<std::uint64_t>();
}

/// Counts of the columns that were changed: [column, clamped, missing, other, invalid].
json counts_json(const IngestCounts& counts) {
  json columns = json::array();
  for (std::size_t j = 0; j < counts.columns.size(); ++j) {
    const CellCounts& c = counts.columns[j];
    if (c.sum() > 0) columns.push_back({j, c.clamped, c.missing, c.other, c.invalid});
  }
  return {{"clamped_cells", counts.clamped_cells},
          {"missing_cells", counts.missing_cells},
          {"other_cells", counts.other_cells},
          {"invalid_cells", counts.invalid_cells},
          {"invalid_labels", counts.invalid_labels},
          {"unlisted_labels", counts.unlisted_labels},
          {"clamped_labels", counts.clamped_labels},
          {"clipped_rows", counts.clipped_rows},
          {"columns", columns}};
}

IngestCounts counts_from_json(const json& counts, std::size_t columns) {
  const auto count = [&](const char* name) { return count_of(counts.at(name)); };
  IngestCounts out{
      count("clamped_cells"),  count("missing_cells"),  count("other_cells"),
      count("invalid_cells"),  count("invalid_labels"), count("unlisted_labels"),
      count("clamped_labels"), count("clipped_rows"),   std::vector<CellCounts>(columns)};
  for (const json& c : counts.at("columns")) {
    const auto j = count_of(c.at(0));
    if (j >= columns) throw Unusable{"cache.json is damaged"};
    out.columns[j] = {count_of(c.at(1)), count_of(c.at(2)), count_of(c.at(3)), count_of(c.at(4))};
  }
  return out;
}

/// Files of a cache and the rows that lie in them.
struct Mapping {
  std::array<std::unique_ptr<MappedFile>, array_names.size()> files;
  Rows rows;

  Mapping(const std::string& folder, std::uint64_t n, std::uint64_t d, bool sparse) {
    // What no file can hold would pass for less once its bytes are counted.
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max() / sizeof(double);
    if (d == 0 || n >= (sparse ? most : most / d)) throw Unusable{"cache.json is damaged"};
    const auto map = [&](CacheWriter::Array a) {
      files[a] = std::make_unique<MappedFile>(fmt::format("{}/{}", folder, array_names[a]));
    };
    if (sparse) {
      map(CacheWriter::begin);
      map(CacheWriter::feature);
      map(CacheWriter::value);
      rows = Rows(SparseRows{of<std::uint64_t>(CacheWriter::begin, n + 1), nullptr, nullptr, n}, d);
      const std::uint64_t entries = rows.sparse.begin[n];
      if (rows.sparse.begin[0] != 0 || entries >= most ||
          !std::is_sorted(rows.sparse.begin, rows.sparse.begin + n + 1))
        throw Unusable{"begin.u64 is damaged"};
      rows.sparse.feature = of<std::uint32_t>(CacheWriter::feature, entries);
      rows.sparse.value = of<float>(CacheWriter::value, entries);
    } else {
      map(CacheWriter::x);
      rows = Rows(of<float>(CacheWriter::x, n * d), n, d);
    }
    rows.in_memory = false;
  }

 private:
  template <class T>
  const T* of(CacheWriter::Array array, std::uint64_t count) const {
    const MappedFile& file = *files[array];
    if (file.size() != count * sizeof(T))
      throw Unusable{fmt::format("{} has {} bytes where {} belong", array_names[array], file.size(),
                                 count * sizeof(T))};
    return file.numbers<T>();
  }
};

std::shared_ptr<const Rows> rows_of(const std::shared_ptr<const Mapping>& mapping) {
  return {mapping, &mapping->rows};
}

/// Whether a folder of this name is there; throws BadInput when it is something else.
bool is_folder(const std::string& cache, struct stat& info) {
  if (::lstat(cache.c_str(), &info) != 0) return false;
  if (!S_ISDIR(info.st_mode))
    throw BadInput(FilePosition{cache}, "is in the place of the table's cache",
                   format_message("move it, or use {} never", Field{"cache"}));
  return true;
}

[[noreturn]] void fail_foreign(const std::string& cache) {
  throw BadInput(FilePosition{cache}, "belongs to another user",
                 format_message("work on a copy of the table, or use {} never", Field{"cache"}));
}

bool remove_folder(const std::string& folder) {
  std::error_code error;
  const bool removed = fs::remove_all(folder, error) > 0;
  if (error)
    throw BadInput(
        fmt::format("{}: cannot be removed: {}; remove it yourself, it holds private rows", folder,
                    error.message()));
  return removed;
}

}  // namespace

namespace {

std::string& chosen_cache_folder() {
  static std::string folder;
  return folder;
}

/// Empty: beside the table.
std::string cache_folder() {
  if (!chosen_cache_folder().empty()) return chosen_cache_folder();
  const char* const folder = std::getenv("GIBBSITE_CACHE_DIR");  // NOLINT: nothing sets it
  return folder == nullptr ? "" : folder;
}

}  // namespace

void set_cache_folder(std::string folder) { chosen_cache_folder() = std::move(folder); }

std::string cache_of(const std::string& table) {
  std::string place = table;
  if (is_in_parts(table)) {
    std::error_code error;
    const std::size_t sign =
        fs::is_directory(table, error) ? table.size() : table.find_first_of("*?[");
    const std::size_t slash = table.substr(0, sign).find_last_of('/');
    for (std::size_t k = slash == std::string::npos ? 0 : slash + 1;
         sign < table.size() && k < place.size(); ++k)
      if (std::string_view("*?[]/").find(place[k]) != std::string_view::npos) place[k] = '_';
    while (place.size() > 1 && place.ends_with('/')) place.pop_back();
  }
  const std::string folder = cache_folder();
  if (folder.empty()) return place + ".gibbsite-cache";
  std::error_code error;
  const std::string whole = fs::absolute(place, error).lexically_normal().string();
  Digest digest;
  digest.add(whole.data(), whole.size());
  constexpr std::size_t digits = 16;
  return fmt::format("{}/{}-{}.gibbsite-cache", folder, fs::path(whole).filename().string(),
                     digest.hex().substr(0, digits));
}

std::string cache_of_share(const std::string& table, std::size_t rank, std::size_t ranks) {
  return ranks == 1 ? cache_of(table)
                    : fmt::format("{}.{}-of-{}", cache_of(table), rank + 1, ranks);
}

std::string digest_of_file(const std::string& path) { return Reading({}, 0).digest(path); }

bool has_cache(const std::string& cache, const ReadOptions& options) {
  struct stat info {};
  if (!is_folder(cache, info)) return false;
  if (info.st_uid == ::geteuid()) return true;
  if (options.cache == ReadOptions::Cache::always) fail_foreign(cache);
  note(options, cache + ": belongs to another user; it is not used");
  return false;
}

namespace {

/// `near(description)` throws Unusable where it tells already that the cache is of another table,
/// and returns the bytes that `far(description, reading)` reads to tell surely.
template <class Near, class Far>
std::optional<Dataset> opened(const std::string& cache, const Schema& schema,
                              const ReadOptions& options, const Near& near, const Far& far) {
  try {
    struct stat info {};
    if (::lstat(cache.c_str(), &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
      throw Unusable{"others than its owner may open it"};
    const MappedFile file(fmt::format("{}/{}", cache, description));
    const std::string_view text(file.numbers<char>(), file.size());
    // The parser would stop at a NUL byte and not read what follows.
    if (text.find('\0') != text.npos) throw Unusable{"cache.json is damaged"};
    const json d = json::parse(text);
    if (d.at("format") != format || d.at("software") != GIBBSITE_VERSION)
      throw Unusable{"another version of gibbsite made it"};
    if (d.at("digest") != seal_of(d)) throw Unusable{"cache.json is damaged"};
    if (d.at("encoding") != encoding_of(schema, options))
      throw Unusable{"the schema or what is asked of the labels has changed"};
    std::uint64_t total = near(d);

    const auto rows = count_of(d.at("rows"));
    auto mapping =
        std::make_shared<const Mapping>(cache, rows, schema.features(), d.at("layout") == "sparse");
    const json& arrays = d.at("arrays");
    const MappedFile labels(cache + "/labels.f32");
    if (labels.size() != 0 && labels.size() != rows * sizeof(float))
      throw Unusable{"labels.f32 is damaged"};
    const auto beside = [&](const Column* column, const std::string& name) {
      std::unique_ptr<const MappedFile> out;
      if (column == nullptr) return out;
      out = std::make_unique<MappedFile>(cache + "/" + name);
      if (out->size() != rows * sizeof(float)) throw Unusable{name + " is damaged"};
      total += out->size();
      return out;
    };
    const std::unique_ptr<const MappedFile> offsets = beside(schema.exposure(), "offsets.f32"),
                                            weights = beside(schema.weight(), "weights.f32");
    total += labels.size();
    for (const auto& part : mapping->files)
      if (part != nullptr) total += part->size();
    Reading reading(options, total);
    far(d, reading);
    const auto require_whole = [&](const MappedFile& part, const char* name) {
      if (arrays.at(name) != reading.digest(part.descriptor(), cache + "/" + name))
        throw Unusable{std::string(name) + " is damaged"};
    };
    for (std::size_t a = 0; a < array_names.size(); ++a)
      if (mapping->files[a] != nullptr) require_whole(*mapping->files[a], array_names[a]);
    require_whole(labels, "labels.f32");
    if (offsets) require_whole(*offsets, "offsets.f32");
    if (weights) require_whole(*weights, "weights.f32");

    Dataset data;
    data.schema = schema;
    data.storage = rows_of(mapping);
    data.y.assign(labels.numbers<float>(), labels.numbers<float>() + labels.size() / sizeof(float));
    if (offsets) data.offset.assign(offsets->numbers<float>(), offsets->numbers<float>() + rows);
    if (weights) data.weight.assign(weights->numbers<float>(), weights->numbers<float>() + rows);
    data.counts = counts_from_json(d.at("counts"), schema.columns.size());
    note(options,
         format_message(
             "private: rows from {}, which agrees with the table and the schema; {} removes it",
             cache, Field{"remove_cache"}));
    return data;
  } catch (const Unusable& unusable) {
    note(options, fmt::format("{}: {}; it is made anew", cache, unusable.why));
  } catch (const json::exception&) {
    note(options, cache + ": cache.json is damaged; it is made anew");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Dataset> open_cache(const std::string& table, const Schema& schema,
                                  const ReadOptions& options) {
  std::error_code absent;  // said by who reads it
  const bool has_labels = !options.label_path.empty();
  const auto near = [&](const json& d) {
    const std::uint64_t bytes = fs::file_size(table, absent);
    if (d.at("input_bytes") != bytes ||
        d.at("label_file").get_ref<const std::string&>().empty() == has_labels)
      throw Unusable{"the table has changed"};
    return bytes + (has_labels ? fs::file_size(options.label_path, absent) : 0);
  };
  const auto far = [&](const json& d, Reading& reading) {
    if (d.at("input") != reading.digest(table) ||
        (has_labels && d.at("label_file") != reading.digest(options.label_path)))
      throw Unusable{"the table has changed"};
  };
  return opened(cache_of(table), schema, options, near, far);
}

std::optional<Dataset> open_cache(const std::string& cache, const Schema& schema,
                                  const ReadOptions& options, const CacheOrigin& origin) {
  const auto near = [&](const json& d) {
    if (d.at("input") != origin.input || d.at("input_bytes") != origin.input_bytes)
      throw Unusable{"the table has changed"};
    if (d.value("share", json()) != share_json(origin))
      throw Unusable{"it is of other rows of the table"};
    return std::uint64_t{0};
  };
  return opened(cache, schema, options, near, [](const json&, Reading&) {});
}

CacheWriter::CacheWriter(std::string cache) : cache_(std::move(cache)) {
  struct stat info {};
  if (is_folder(cache_, info)) {
    if (info.st_uid != ::geteuid()) fail_foreign(cache_);
    remove_folder(cache_);
  }
  const std::string folder = cache_folder();
  if (!folder.empty() && ::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw BadInput(FilePosition{folder},
                   "cannot make this folder for caches: " + std::generic_category().message(errno),
                   format_message("give {} (GIBBSITE_CACHE_DIR) a folder that you may write to",
                                  Field{"cache_dir"}));
  try {
    folder_.emplace(cache_, Temporary::Kind::folder, 0700);
  } catch (const CannotWrite& failure) {
    throw BadInput(
        FilePosition{cache_},
        "cannot make this folder for the rows: " + std::generic_category().message(failure.error),
        folder.empty()
            ? format_message(
                  "give {} (GIBBSITE_CACHE_DIR) a folder that you may write to, make the folder "
                  "of the table writable, or use {} never with more memory",
                  Field{"cache_dir"}, Field{"cache"})
            : format_message(
                  "give {} (GIBBSITE_CACHE_DIR) another folder, or use {} never with more memory",
                  Field{"cache_dir"}, Field{"cache"}));
  }
}

void CacheWriter::append(Array array, const void* bytes, std::size_t count) {
  Part& part = parts_[array];
  if (part.file == nullptr)
    part.file = std::make_unique<NewFile>(folder_->name() + "/" + array_names[array], 0600);
  part.file->append(bytes, count);
  part.digest.add(bytes, count);
  part.bytes += count;
}

std::shared_ptr<const Rows> CacheWriter::finish(const Dataset& data, bool sparse,
                                                const CacheOrigin& origin,
                                                const ReadOptions& options) {
  append(labels, std::span<const float>(data.y));
  if (!data.offset.empty()) append(offsets, std::span<const float>(data.offset));
  if (!data.weight.empty()) append(weights, std::span<const float>(data.weight));
  json d{{"format", format},
         {"software", GIBBSITE_VERSION},
         {"private", "rows of the table beside this folder"},
         {"layout", sparse ? "sparse" : "dense"},
         {"rows", rows_},
         {"features", data.features()},
         {"counts", counts_json(data.counts)},
         {"input", origin.input},
         {"input_bytes", origin.input_bytes},
         {"label_file", origin.label_file},
         {"encoding", encoding_of(data.schema, options)},
         {"arrays", json::object()}};
  if (origin.share) d["share"] = share_json(origin);
  std::uint64_t bytes = 0;
  for (std::size_t a = 0; a < parts_.size(); ++a) {
    Part& part = parts_[a];
    if (part.file == nullptr) continue;
    part.file->sync();
    part.file.reset();
    d["arrays"][array_names[a]] = part.digest.hex();
    bytes += part.bytes;
  }
  d["digest"] = seal_of(d);
  write_file_atomically(fmt::format("{}/{}", folder_->name(), description), d.dump(2) + "\n",
                        private_file);
  sync_folder(folder_->name());
  if (const int error = folder_->rename(); error != 0)
    throw BadInput(
        fmt::format("{}: cannot take its place: {}; is another fit on this table at work?", cache_,
                    std::generic_category().message(error)));
  note(options,
       format_message("private: {} holds the rows ({:.1f} MiB, for this user only); {} removes it",
                      cache_, static_cast<double>(bytes) / (1 << 20), Field{"remove_cache"}));
  try {
    return rows_of(std::make_shared<const Mapping>(cache_, rows_, data.features(), sparse));
  } catch (const Unusable& unusable) {
    throw BadInput(fmt::format("{}: {}; check the disk and run again", cache_, unusable.why));
  }
}

bool remove_cache_folder(const std::string& cache) {
  struct stat info {};
  const bool removed = is_folder(cache, info) && remove_folder(cache);
  return remove_abandoned(cache) || removed;
}

bool remove_cache_of_share(const std::string& table, std::size_t rank, std::size_t ranks) {
  return remove_cache_folder(cache_of_share(table, rank, ranks));
}

bool remove_cache(const std::string& table) {
  const std::string cache = cache_of(table);
  const fs::path folder = fs::path(cache).parent_path();
  const std::string prefix = fs::path(cache).filename().string() + ".";
  std::set<std::string> caches{cache};
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const std::string share = share_in(std::string_view(name).substr(prefix.size()));
    if (!share.empty()) caches.insert((folder / (prefix + share)).string());
  }
  bool removed = false;
  for (const std::string& one : caches) removed = remove_cache_folder(one) || removed;
  return removed;
}

}  // namespace gibbsite
