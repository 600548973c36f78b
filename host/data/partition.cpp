#include "data/partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>

#include "data/arrow_stream.hpp"
#include "data/text.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/date.hpp"
#include "model/column_type.hpp"

namespace gibbsite {

namespace {

namespace partition_fs = std::filesystem;

constexpr std::string_view missing_partition = "__HIVE_DEFAULT_PARTITION__";
constexpr std::size_t deepest = 32;

bool is_passed_over(const std::string& name) {
  return name.starts_with('.') || name.starts_with('_');
}

bool names_partition(const std::string& name) {
  const std::size_t at = name.find('=');
  return !is_passed_over(name) && at != std::string::npos && at > 0;
}

std::string percent_decoded(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? digit(text[i + 1]) : -1;
    const int low = high >= 0 ? digit(text[i + 2]) : -1;
    if (low < 0) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(16 * high + low);
    i += 2;
  }
  return out;
}

void collect_files(const partition_fs::path& folder, std::size_t depth,
                   std::vector<std::string>& files) {
  if (depth > deepest)
    throw BadInput(fmt::format("{}: lies {} folders deep; give the folder of the table itself",
                               folder.string(), depth));
  std::vector<std::string> folders, plain;
  std::error_code error;
  for (partition_fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (is_passed_over(name)) continue;
    std::error_code ignored;
    (partition_fs::is_directory(at->path(), ignored) ? folders : plain)
        .push_back(at->path().string());
  }
  if (error)
    throw BadInput(
        fmt::format("{}: cannot be read: {}; check the folder", folder.string(), error.message()));
  const auto is_partition = [](const std::string& path) {
    return names_partition(partition_fs::path(path).filename().string());
  };
  if (std::ranges::none_of(folders, is_partition)) {
    if (depth > 0) files.insert(files.end(), plain.begin(), plain.end());
    return;
  }
  for (const std::string& other : folders)
    if (!is_partition(other))
      throw BadInput(other +
                     ": lies beside folders called key=value, which hold the table's parts; move "
                     "it away");
  if (!plain.empty())
    throw BadInput(plain.front() +
                   ": lies beside folders called key=value, which hold the table's parts; move it "
                   "into one of them, or away");
  for (const std::string& one : folders) collect_files(one, depth + 1, files);
}

}  // namespace

std::vector<std::string> partitioned_files(const std::string& folder) {
  std::vector<std::string> files;
  collect_files(folder, 0, files);
  return files;
}

std::vector<PartitionColumn> partition_columns(const std::string& root, const std::string& part,
                                               const Schema& schema) {
  std::vector<PartitionColumn> out;
  std::error_code error;
  if (!partition_fs::is_directory(root, error)) return out;
  const partition_fs::path between =
      partition_fs::path(part).parent_path().lexically_relative(root);
  std::set<std::string> seen;
  for (const partition_fs::path& folder : between) {
    const std::string name = folder.string();
    if (!names_partition(name)) continue;
    const std::size_t at = name.find('=');
    PartitionColumn column{percent_decoded(std::string_view(name).substr(0, at)), {}};
    const std::string value = percent_decoded(std::string_view(name).substr(at + 1));
    if (value != missing_partition) column.value = value;
    if (!seen.insert(column.name).second)
      throw BadInput(fmt::format("{}: two folders give column {}; rename one", part,
                                 gibbsite::quoted(column.name)));
    const auto of_schema = std::ranges::find(schema.columns, column.name, &Column::name);
    const bool is_number = column.name == schema.label_name
                               ? number_of(schema.label) != nullptr
                               : of_schema != schema.columns.end() && has_range(of_schema->type);
    double number = 0;
    const char point = of_schema == schema.columns.end() ? schema.text.decimal
                                                         : schema.numbers_of(*of_schema).decimal;
    if (is_number && point != '.' && column.value && parse_number(*column.value, number))
      std::ranges::replace(*column.value, '.', point);
    // Folders have days as ISO 8601 writes them, whatever cells do.
    const auto dated = std::ranges::find_if(schema.columns, [&](const Column& c) {
      return !c.date.empty() && c.cell_name() == column.name;
    });
    if (dated != schema.columns.end() && column.value) {
      if (const auto day = parse_date(*column.value)) *column.value = date_text(*day, dated->date);
    }
    out.push_back(std::move(column));
  }
  return out;
}

void require_same_partition(const std::string& part, const std::vector<PartitionColumn>& of_part,
                            const std::vector<PartitionColumn>& of_first) {
  const bool same =
      std::ranges::equal(of_part, of_first, {}, &PartitionColumn::name, &PartitionColumn::name);
  if (same) return;
  const auto words = [](const std::vector<PartitionColumn>& columns) {
    std::string out;
    for (const PartitionColumn& column : columns)
      out += (out.empty() ? "" : "/") + gibbsite::quoted(column.name);
    return out.empty() ? std::string("no column") : out;
  };
  throw BadInput(
      fmt::format("{}: its folders give {} where those of the first part give {}; give "
                  "every part the same",
                  part, words(of_part), words(of_first)));
}

void require_not_in_file(const std::string& part, const std::vector<PartitionColumn>& columns,
                         const std::vector<std::string>& names) {
  for (const PartitionColumn& column : columns)
    if (std::ranges::find(names, column.name) != names.end())
      throw BadInput(
          fmt::format("{}: column {} is in the file and in the name of its folder; leave one out",
                      part, gibbsite::quoted(column.name)));
}

namespace {

/// Batches of another stream with columns of one value behind theirs. Each batch and each column
/// that it lends keeps what it needs alive.
class PartitionStream final : public arrow_rows::StreamOver {
 public:
  PartitionStream(ArrowArrayStream inner, std::vector<PartitionColumn> columns)
      : StreamOver(inner), columns_(std::move(columns)) {}

 private:
  // A schema or batch whose children are the other's, then ours.
  template <class T>
  struct Lent {
    T inner{};
    std::vector<T*> children;
    std::vector<std::unique_ptr<T>> own, dictionaries;
    std::vector<std::string> names;
    std::vector<std::int32_t> zeros;                 // indices
    std::vector<unsigned char> no_value{0};          // validity of a dictionary of one null
    std::vector<std::vector<std::int32_t>> offsets;  // of a dictionary's text
    std::vector<std::string> texts;
    std::vector<std::vector<const void*>> buffers;
  };
  template <class T>
  static void release_lent(T* self) {
    auto* const lent = static_cast<Lent<T>*>(self->private_data);
    if (lent->inner.release != nullptr) lent->inner.release(&lent->inner);
    delete lent;
    self->release = nullptr;
  }
  // The other's struct with all children.
  template <class T>
  static T lend(std::unique_ptr<Lent<T>> lent) {
    T out = lent->inner;
    out.n_children = static_cast<std::int64_t>(lent->children.size());
    out.children = lent->children.data();
    out.release = release_lent<T>;
    out.private_data = lent.release();
    return out;
  }
  // Their memory goes with the batch, whose release is the only one that is called.
  template <class T>
  static void release_nothing(T* self) {
    self->release = nullptr;
  }

  int schema(ArrowSchema& out) override {
    auto lent = std::make_unique<Lent<ArrowSchema>>();
    if (const int error = inner_.get_schema(&inner_, &lent->inner); error != 0) return error;
    const ArrowSchema& inner = lent->inner;
    if (inner.n_children < 0 || (inner.n_children > 0 && inner.children == nullptr)) return EINVAL;
    lent->children.assign(inner.children, inner.children + inner.n_children);
    lent->names.reserve(columns_.size());
    for (const PartitionColumn& column : columns_) {
      lent->names.push_back(column.name);
      auto text = std::make_unique<ArrowSchema>(), indices = std::make_unique<ArrowSchema>();
      *text = {};
      text->format = "u";
      text->name = "";
      text->flags = ARROW_FLAG_NULLABLE;
      text->release = release_nothing<ArrowSchema>;
      *indices = {};
      indices->format = "i";
      indices->name = lent->names.back().c_str();
      indices->dictionary = text.get();
      indices->release = release_nothing<ArrowSchema>;
      lent->children.push_back(indices.get());
      lent->own.push_back(std::move(indices));
      lent->dictionaries.push_back(std::move(text));
    }
    out = lend(std::move(lent));
    return 0;
  }

  int next(ArrowArray& out) override {
    auto lent = std::make_unique<Lent<ArrowArray>>();
    if (const int error = inner_.get_next(&inner_, &lent->inner); error != 0) return error;
    const ArrowArray& inner = lent->inner;
    if (inner.release == nullptr) {
      out = {};
      return 0;
    }
    if (inner.n_children < 0 || (inner.n_children > 0 && inner.children == nullptr) ||
        inner.length < 0 || inner.offset < 0)
      return EINVAL;
    const std::int64_t rows = inner.offset + inner.length;
    lent->children.assign(inner.children, inner.children + inner.n_children);
    lent->zeros.assign(static_cast<std::size_t>(rows), 0);
    lent->buffers.reserve(2 * columns_.size());
    lent->offsets.reserve(columns_.size());
    lent->texts.reserve(columns_.size());
    for (const PartitionColumn& column : columns_) {
      lent->texts.push_back(column.value.value_or(""));
      lent->offsets.push_back({0, static_cast<std::int32_t>(lent->texts.back().size())});
      lent->buffers.push_back({column.value ? nullptr : lent->no_value.data(),
                               lent->offsets.back().data(), lent->texts.back().data()});
      auto text = std::make_unique<ArrowArray>(), indices = std::make_unique<ArrowArray>();
      *text = {};
      text->length = 1;
      text->null_count = column.value ? 0 : 1;
      text->n_buffers = 3;
      text->buffers = lent->buffers.back().data();
      text->release = release_nothing<ArrowArray>;
      lent->buffers.push_back({nullptr, lent->zeros.data()});
      *indices = {};
      indices->length = rows;
      indices->n_buffers = 2;
      indices->buffers = lent->buffers.back().data();
      indices->dictionary = text.get();
      indices->release = release_nothing<ArrowArray>;
      lent->children.push_back(indices.get());
      lent->own.push_back(std::move(indices));
      lent->dictionaries.push_back(std::move(text));
    }
    out = lend(std::move(lent));
    return 0;
  }

  std::vector<PartitionColumn> columns_;
};

}  // namespace

ArrowArrayStream with_partition(ArrowArrayStream inner,
                                const std::vector<PartitionColumn>& columns) {
  return columns.empty() ? inner
                         : arrow_rows::StreamOver::handed_over(
                               std::make_unique<PartitionStream>(inner, columns));
}

}  // namespace gibbsite
