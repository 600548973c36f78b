// Files of Arrow and Parquet: a stream by whatever opens them, the Python package or the library
// libgibbsite_parquet.so (host/parquet), which is not part of this one.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "core/format_message.hpp"
#include "data/arrow.hpp"
#include "data/arrow_stream.hpp"
#include "data/columns.hpp"
#include "data/parquet_plugin.hpp"
#include "data/parts.hpp"
#include "data/text.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "machine/plugin.hpp"

namespace gibbsite {

namespace {

constexpr const char* plugin_name = "libgibbsite_parquet.so";

decltype(&gibbsite_parquet_open_1) load_plugin(const std::string& path) {
  return reinterpret_cast<decltype(&gibbsite_parquet_open_1)>(
      plugin_function(plugin_name, "gibbsite_parquet_open_1", RTLD_NOW | RTLD_LOCAL,
                      [&](const std::string&, const std::string& why) {
                        throw BadInput(
                            fmt::format("{}: what opens such files cannot be loaded: "
                                        "{}",
                                        path, shown(why)));
                      }));
}

/// Returns the number of rows, 0 where it is not known.
std::uint64_t open_with_plugin(const std::string& path, const std::vector<std::string>& columns,
                               ArrowArrayStream* out) {
  const auto open = load_plugin(path);
  if (open == nullptr)
    throw BadInput(format_message(
        "{}: nothing here opens Parquet and Arrow files; use the {} of the Python package with "
        "pyarrow installed, or build gibbsite where Arrow's C++ library is ({})",
        path, Word{"gibbsite"}, plugin_name));
  std::vector<const char*> names;
  for (const std::string& name : columns) names.push_back(name.c_str());
  std::array<char, 1024> error{};
  std::uint64_t rows = 0;
  if (open(path.c_str(), names.data(), names.size(), out, &rows, error.data(), error.size()) != 0)
    throw BadInput(fmt::format("{}: {}; check the file", path, shown(error.data())));
  return rows;
}

struct Opener {
  std::mutex mutex;
  ArrowOpener open;
};
Opener& opener() {
  static Opener one;
  return one;
}

std::uint64_t open_file(const std::string& path, const std::vector<std::string>& columns,
                        ArrowArrayStream& out) {
  ArrowOpener open;
  {
    const std::lock_guard lock(opener().mutex);
    open = opener().open;
  }
  out = {};
  if (!open) return open_with_plugin(path, columns, &out);
  return open(path, columns, &out);
}

}  // namespace

void set_arrow_opener(ArrowOpener open) {
  const std::lock_guard lock(opener().mutex);
  opener().open = std::move(open);
}

bool is_arrow_file(const std::string& path) {
  const std::string extension = extension_of(path);
  constexpr std::array known = {".parquet", ".arrow", ".feather", ".ipc"};
  return std::find(known.begin(), known.end(), extension) != known.end();
}

std::vector<std::string> read_arrow_file_names(const std::string& path) {
  ArrowArrayStream stream{};
  open_file(path, {}, stream);
  return arrow_names(stream, path);
}

CellSource cells_of_arrow_file(const std::string& path) {
  return cells_of_arrow(path, [path](const std::vector<std::string>& columns) {
    ArrowArrayStream stream{};
    open_file(path, columns, stream);
    return stream;
  });
}

namespace {

/// Some rows of a stream: batches are passed over, or cut by their own offset and length.
class CutStream final : public arrow_rows::StreamOver {
 public:
  CutStream(ArrowArrayStream inner, RowRange range)
      : StreamOver(inner), skip_(range.first), left_(range.rows()) {}

 private:
  int next(ArrowArray& batch) override {
    for (;;) {
      batch = {};
      if (left_ == 0) return 0;
      if (const int error = inner_.get_next(&inner_, &batch); error != 0) return error;
      if (batch.release == nullptr || batch.length < 0) return 0;
      const auto length = static_cast<std::uint64_t>(batch.length);
      const std::uint64_t skipped = std::min(skip_, length);
      skip_ -= skipped;
      const std::uint64_t kept = std::min(left_, length - skipped);
      if (kept == 0) {
        batch.release(&batch);
        continue;
      }
      left_ -= kept;
      if (kept < length) batch.null_count = batch.null_count == 0 ? 0 : -1;
      batch.offset += static_cast<std::int64_t>(skipped);
      batch.length = static_cast<std::int64_t>(kept);
      return 0;
    }
  }

  std::uint64_t skip_, left_;
};

Dataset read_range(const std::string& path, const Schema& schema, const ReadOptions& options,
                   const RowRange* range, const std::vector<PartitionColumn>& columns = {}) {
  const std::vector<std::string> names = read_arrow_file_names(path);
  require_not_in_file(path, columns, names);
  std::vector<std::string> all = names, wanted;
  for (const PartitionColumn& column : columns) all.push_back(column.name);
  {  // all names are matched, as in a CSV file's header, before columns are left out
    CellEncoder rows(
        schema, options, nullptr, [&] { return path; }, path);
    const std::vector<ColumnTarget> targets =
        match_columns(all, schema, options, "the table", false, rows);
    for (std::size_t j = 0; j < names.size(); ++j)
      if (targets[j].encoding != nullptr || targets[j].is_label) wanted.push_back(names[j]);
  }
  ArrowArrayStream stream{};
  ReadOptions counted = options;
  counted.expected_rows = std::max(options.expected_rows, open_file(path, wanted, stream));
  if (range != nullptr) {
    counted.rows_before = range->first;
    counted.expected_rows = range->rows();
    stream = arrow_rows::StreamOver::handed_over(std::make_unique<CutStream>(stream, *range));
  }
  stream = with_partition(stream, columns);
  return read_arrow(stream, schema, counted, {}, path);
}

}  // namespace

Dataset read_arrow_file(const std::string& path, const Schema& schema, const ReadOptions& options) {
  return read_range(path, schema, options, nullptr);
}

Dataset read_arrow_file_part(const std::string& path, const Schema& schema,
                             const ReadOptions& options, RowRange range,
                             const std::vector<PartitionColumn>& columns) {
  return read_range(path, schema, options, &range, columns);
}

std::uint64_t arrow_file_rows(const std::string& path) {
  const std::vector<std::string> names = read_arrow_file_names(path);
  ArrowArrayStream stream{};
  // One column, as all rows are met where the file does not say how many there are.
  std::uint64_t rows =
      open_file(path, {names.begin(), names.begin() + (names.empty() ? 0 : 1)}, stream);
  int error = 0;
  for (bool more = rows == 0; more;) {
    ArrowArray batch{};
    error = stream.get_next(&stream, &batch);
    more = error == 0 && batch.release != nullptr;
    if (!more) break;
    rows += static_cast<std::uint64_t>(std::max<std::int64_t>(batch.length, 0));
    batch.release(&batch);
  }
  if (stream.release != nullptr) stream.release(&stream);
  if (error != 0) throw BadInput(path + ": cannot be read; check the file");
  return rows;
}

}  // namespace gibbsite
