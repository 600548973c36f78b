// Which files a folder or a pattern is, as the parts of one table.
#include <fmt/format.h>
#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "data/compressed.hpp"
#include "data/partition.hpp"
#include "data/text.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/shares.hpp"

namespace gibbsite {
namespace {

namespace fs = std::filesystem;

// What a folder's parts may be called by.
constexpr std::array known_extensions{".csv",   ".tsv",     ".txt",      ".npy",
                                      ".svm",   ".libsvm",  ".svmlight", ".parquet",
                                      ".arrow", ".feather", ".ipc"};

// That of "part.0001" numbers it and says nothing; of "part.csv.gz" both are the extension.
std::string extension_of_part(const std::string& path) {
  const std::string text = without_compression(path);
  const std::string extension = extension_of(text);
  if (extension.find_first_not_of(".0123456789") == std::string::npos) return "";
  return text == path ? extension : extension + extension_of(path);
}

bool is_known(const std::string& extension) {
  return std::ranges::find(known_extensions, without_compression(extension)) !=
         known_extensions.end();
}

/// Copies that an editor leaves would have their rows counted twice. What most parts are called by
/// is the table's; the error names one of the others.
void require_one_extension(const std::vector<std::string>& parts, bool folder) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& part : parts) {
    const std::string extension = extension_of_part(part);
    if (is_known(extension) || !folder) ++counts[extension];
  }
  if (counts.empty())
    throw BadInput(parts.front() +
                   ": is of no kind that a folder's parts are known by (.csv, .npy, "
                   ".parquet, ...); give a pattern of the parts");
  const auto most = std::ranges::max_element(counts, {}, [](const auto& count) {
    const bool text = count.first == ".txt";  // a README beside one part
    return std::pair(count.second, text ? 0 : 1);
  });
  for (const std::string& part : parts) {
    if (extension_of_part(part) == most->first) continue;
    throw BadInput(
        fmt::format("{}: is no part of a table of {} files; move it away or give a pattern{}", part,
                    most->first.empty() ? "nameless" : most->first, folder ? "" : " of one kind"));
  }
}

/// Throws BadInput where one file goes by two names: its rows would count twice.
void require_apart(const std::vector<std::string>& parts) {
  std::map<std::pair<dev_t, ino_t>, std::string> seen;
  for (const std::string& part : parts) {
    struct stat found {};
    if (::stat(part.c_str(), &found) != 0) continue;  // said where it is opened
    const auto [other, is_new] = seen.try_emplace({found.st_dev, found.st_ino}, part);
    if (is_new) continue;
    throw BadInput(
        fmt::format("{}: is the same file as {}, and every row is to be read once; move "
                    "one away",
                    part, other->second));
  }
}

bool has_pattern(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

std::vector<std::string> files_of_pattern(const std::string& pattern) {
  std::vector<std::string> files;
  glob_t found{};
  std::error_code error;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t k = 0; k < found.gl_pathc; ++k)
      if (!fs::is_directory(found.gl_pathv[k], error)) files.emplace_back(found.gl_pathv[k]);
  }
  ::globfree(&found);
  std::ranges::sort(files);
  return files;
}

/// Throws BadInput where a name that may be that of a file, as "data [2024].csv", would fall upon
/// others: a pattern has a * in it, or a ? and more than one file.
void require_meant(const std::string& path) {
  if (path.find('*') != std::string::npos) return;
  const std::vector<std::string> files = files_of_pattern(path);
  if (files.empty() || (path.find('?') != std::string::npos && files.size() > 1)) return;
  throw BadInput(fmt::format(
      "{}: no such file; as a pattern it would be {}{}: give that name, or a pattern with a *",
      path, files.front(), files.size() == 1 ? "" : fmt::format(" and {} more", files.size() - 1)));
}

}  // namespace

bool is_in_parts(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return true;
  if (!has_pattern(path) || fs::exists(path, error)) return false;
  require_meant(path);
  return true;
}

std::vector<std::string> parts_of(const std::string& path) {
  if (!is_in_parts(path)) return {path};
  std::vector<std::string> parts;
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  if (folder) parts = partitioned_files(path);
  if (!parts.empty()) {
    // Folders called key=value.
  } else if (folder) {
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (name.starts_with('.') || name.starts_with('_') || fs::is_directory(at->path())) continue;
      parts.push_back(at->path().string());
    }
    if (error)
      throw BadInput(
          fmt::format("{}: cannot be read: {}; check the folder", path, error.message()));
  } else {
    parts = files_of_pattern(path);
  }
  if (parts.empty()) {
    throw BadInput(fmt::format("{}: {}; give the files of a table", path,
                               folder ? "the folder holds no file" : "no file is of this pattern"));
  }
  std::ranges::sort(parts);
  require_one_extension(parts, folder);
  require_apart(parts);
  return parts;
}

bool would_be_part(const std::string& file, const std::string& path) {
  if (!is_in_parts(path)) return false;
  std::error_code error;
  const auto place = [&](const std::string& name) {
    return fs::weakly_canonical(fs::absolute(name, error), error);
  };
  const fs::path home = place(file).parent_path();
  if (fs::is_directory(path, error)) {
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      std::error_code other;  // a part may be a link to the file
      if (fs::equivalent(at->path(), file, other)) return true;
    }
    const fs::path below = home.lexically_relative(place(path));
    if (!below.empty() && below.begin()->string().find('=') != std::string::npos) return true;
    return fs::equivalent(home, path, error) ||
           fs::equivalent(fs::absolute(file).lexically_normal().parent_path(), path, error);
  }
  const auto is_of_pattern = [&](const fs::path& name) {
    return ::fnmatch(fs::absolute(path).lexically_normal().c_str(), name.c_str(), FNM_PATHNAME) ==
           0;
  };
  if (is_of_pattern(fs::absolute(file).lexically_normal()) || is_of_pattern(place(file)))
    return true;
  glob_t found{};
  bool is_part = false;
  if (::glob(path.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    for (std::size_t k = 0; k < found.gl_pathc; ++k)
      is_part = is_part || fs::equivalent(found.gl_pathv[k], file, error);
  ::globfree(&found);
  return is_part;
}

}  // namespace gibbsite
