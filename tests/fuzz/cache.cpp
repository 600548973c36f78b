// A cache that was made is changed: the first byte says which and how; then a merge patch (RFC
// 7396) of cache.json, or the whole of it; then, behind a zero byte, each array's new bytes after a
// byte that counts them. Digests are made right again, so that what lies behind them is reached.
#include "data/cache.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "folder.hpp"
#include "table.hpp"

namespace gibbsite::fuzz {
namespace {

using nlohmann::json;

struct Table {
  const Folder folder;
  std::string path;
  json description;
  std::array<std::string, 5> arrays;

  static constexpr std::array<const char*, 5> names = {"x.f32", "begin.u64", "feature.u32",
                                                       "value.f32", "labels.f32"};

  explicit Table(const std::string& rows) : path(folder.write("table", rows)) {
    ReadOptions options;
    options.cache = ReadOptions::Cache::always;
    static_cast<void>(read_libsvm(path, schema_of(3), options));
    description = json::parse(folder.read("table.gibbsite-cache/cache.json"));
    for (std::size_t a = 0; a < names.size(); ++a) arrays[a] = folder.read(in_cache(names[a]));
  }
  static std::string in_cache(const std::string& name) { return "table.gibbsite-cache/" + name; }
};

}  // namespace

void run(std::string_view in) {
  static Table dense("1 1:1e300 2:3 3:1 4:5 5:2 6:1 7:1\n-1 1:1 2:1 3:2 9:4 11:1e299 12:1\n");
  static Table sparse("1 1:1e300\n-1 3:4\n1 40:-1e300\n");
  const unsigned byte = take_byte(in);
  Table& table = (byte & 1) != 0 ? dense : sparse;
  const std::size_t end = std::min(in.find('\0'), in.size());
  const std::string_view text = in.substr(0, end);
  in.remove_prefix(std::min(end + 1, in.size()));

  json description = table.description;
  for (std::size_t a = 0; a < Table::names.size(); ++a) {
    std::string bytes = table.arrays[a];
    if (!in.empty()) {
      const std::size_t size = take_byte(in);
      bytes = in.substr(0, size);
      in.remove_prefix(std::min(size, in.size()));
      description["arrays"][Table::names[a]] = digest_of(bytes);
    }
    table.folder.write(Table::in_cache(Table::names[a]), bytes);
  }
  std::string written(text);
  if ((byte & 2) == 0) {
    const json patch = json::parse(text, nullptr, false);
    if (!patch.is_object()) return;
    description.merge_patch(patch);
    description.erase("digest");
    description["digest"] = digest_of(description.dump());
    written = description.dump();
  }
  table.folder.write(Table::in_cache("cache.json"), written);

  ReadOptions options;
  options.note = [](const Message& line) { require_one_line(line.text()); };
  std::optional<Dataset> data;
  if (!accepts([&] { data = open_cache(table.path, schema_of(3), options); }) || !data) return;
  // What reads rows checks them first.
  accepts([&] {
    const Rows x = data->view();
    x.validate();
    for (std::size_t i = 0; i < x.rows; ++i) {
      x.for_each(i, [&](std::size_t j, float) { require(j < x.cols, "a feature"); });
    }
  });
}

}  // namespace gibbsite::fuzz
