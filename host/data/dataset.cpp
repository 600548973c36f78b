#include "gibbsite/data/dataset.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

std::uint64_t Dataset::rows() const {
  const std::uint64_t d = features();
  return d == 0 ? 0 : x.size() / d;
}

MatrixView<const float> Dataset::view() const { return {x.data(), rows(), features()}; }

Dataset read_table(const std::string& path, const Schema& schema, const ReadOptions& options) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (extension == ".npy") return read_npy(path, schema, options);
  if (!options.label_path.empty())
    throw BadInput(options.label_path +
                   ": a file of labels goes with a .npy table only; this table has its own");
  constexpr std::array libsvm = {".svm", ".libsvm", ".svmlight"};
  if (std::find(libsvm.begin(), libsvm.end(), extension) != libsvm.end())
    return read_libsvm(path, schema, options);
  return read_csv(path, schema, options);
}

}  // namespace gibbsite
