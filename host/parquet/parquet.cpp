// libgibbsite_parquet.so: Parquet and Arrow files through Arrow's C++ library, which nothing else
// of gibbsite links. Rows pass in batches by the C stream interface.
#include <arrow/c/bridge.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "data/parquet_plugin.hpp"

namespace {

using Batches = std::shared_ptr<arrow::RecordBatchReader>;
using Names = std::set<std::string>;

void check(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}
template <class T>
T check(arrow::Result<T> result) {
  check(result.status());
  return std::move(result).ValueUnsafe();
}

// Arrow's functions returned a status and wrote to a pointer before they returned a result.
template <class File>
std::unique_ptr<arrow::RecordBatchReader> read(File& file, const std::vector<int>& groups,
                                               const std::vector<int>& leaves) {
  if constexpr (requires { file.GetRecordBatchReader(groups, leaves); }) {
    return check(file.GetRecordBatchReader(groups, leaves));
  } else {
    std::unique_ptr<arrow::RecordBatchReader> out;
    check(file.GetRecordBatchReader(groups, leaves, &out));
    return out;
  }
}
template <class Builder>
std::unique_ptr<parquet::arrow::FileReader> build(Builder& builder) {
  if constexpr (requires { builder.Build(); }) {
    return check(builder.Build());
  } else {
    std::unique_ptr<parquet::arrow::FileReader> out;
    check(builder.Build(&out));
    return out;
  }
}

/// Batches of a Parquet file, which they need to be there.
class ParquetBatches final : public arrow::RecordBatchReader {
 public:
  ParquetBatches(std::unique_ptr<parquet::arrow::FileReader> file, const std::vector<int>& leaves)
      : file_(std::move(file)) {
    std::vector<int> groups(static_cast<std::size_t>(file_->num_row_groups()));
    std::iota(groups.begin(), groups.end(), 0);
    batches_ = read(*file_, groups, leaves);
  }
  [[nodiscard]] std::shared_ptr<arrow::Schema> schema() const override {
    return batches_->schema();
  }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    return batches_->ReadNext(out);
  }

 private:
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
};

/// Batches of an Arrow file, one after the other.
class FileBatches final : public arrow::RecordBatchReader {
 public:
  explicit FileBatches(std::shared_ptr<arrow::ipc::RecordBatchFileReader> file)
      : file_(std::move(file)) {}
  [[nodiscard]] std::shared_ptr<arrow::Schema> schema() const override { return file_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    out->reset();
    if (next_ == file_->num_record_batches()) return arrow::Status::OK();
    auto batch = file_->ReadRecordBatch(next_++);
    if (!batch.ok()) return batch.status();
    *out = std::move(batch).ValueUnsafe();
    return arrow::Status::OK();
  }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;
  int next_ = 0;
};

std::string magic_of(const std::string& path) {
  const auto file = check(arrow::io::ReadableFile::Open(path));
  std::string magic(6, '\0');
  const auto got = check(file->Read(6, magic.data()));
  magic.resize(static_cast<std::size_t>(got));
  return magic;
}

Batches open_parquet(const std::string& path, const Names& names, std::uint64_t& rows) {
  parquet::arrow::FileReaderBuilder builder;
  check(builder.OpenFile(path));
  parquet::ArrowReaderProperties properties;
  properties.set_pre_buffer(false);  // else all of the file is read at once
  properties.set_use_threads(true);
  builder.properties(properties);
  std::unique_ptr<parquet::arrow::FileReader> file = build(builder);
  const parquet::SchemaDescriptor& schema = *file->parquet_reader()->metadata()->schema();
  std::vector<int> leaves;
  for (int k = 0; k < schema.num_columns(); ++k)
    if (names.empty() || names.count(schema.GetColumnRoot(k)->name()) != 0) leaves.push_back(k);
  rows = static_cast<std::uint64_t>(file->parquet_reader()->metadata()->num_rows());
  return std::make_shared<ParquetBatches>(std::move(file), leaves);
}

arrow::ipc::IpcReadOptions fields_of(const arrow::Schema& schema, const Names& names) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  for (int k = 0; k < schema.num_fields(); ++k)
    if (names.count(schema.field(k)->name()) != 0) options.included_fields.push_back(k);
  return options;
}

Batches open_arrow(const std::string& path, const Names& names, bool is_stream,
                   std::uint64_t& rows) {
  const auto file = check(arrow::io::ReadableFile::Open(path));
  if (is_stream) {
    auto stream = check(arrow::ipc::RecordBatchStreamReader::Open(file));
    if (names.empty()) return stream;
    const auto options = fields_of(*stream->schema(), names);
    return check(arrow::ipc::RecordBatchStreamReader::Open(
        check(arrow::io::ReadableFile::Open(path)), options));
  }
  auto whole = check(arrow::ipc::RecordBatchFileReader::Open(file));
  if (!names.empty()) {
    const auto options = fields_of(*whole->schema(), names);
    whole = check(arrow::ipc::RecordBatchFileReader::Open(file, options));
  }
  rows = static_cast<std::uint64_t>(check(whole->CountRows()));
  return std::make_shared<FileBatches>(std::move(whole));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int gibbsite_parquet_open_1(
    const char* path, const char* const* columns, size_t count, ArrowArrayStream* out,
    uint64_t* rows, char* error, size_t error_bytes) {
  *rows = 0;
  try {
    const Names names(columns, columns + count);
    const std::string magic = magic_of(path);
    const Batches batches = magic.compare(0, 4, "PAR1") == 0
                                ? open_parquet(path, names, *rows)
                                : open_arrow(path, names, magic != "ARROW1", *rows);
    check(arrow::ExportRecordBatchReader(batches, out));
    return 0;
  } catch (const std::exception& failure) {
    std::snprintf(error, error_bytes, "%s", failure.what());
  } catch (...) {
    std::snprintf(error, error_bytes, "cannot be opened");
  }
  return 1;
}
