#pragma once
// Files for one test, and what every error must look like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/data/dataset.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite::test {

/// A folder that goes with the test; `write` puts a file in it and returns its path.
class DataTest : public ::testing::Test {
 public:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] std::string write(const std::string& name, std::string_view bytes) const {
    std::filesystem::remove(path(name));  // ext4 syncs a file that is emptied and written anew
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  gibbsite::testing::TempDir folder_;
};

/// The message of the BadInput that `call` throws: one line that contains every one of `parts`.
template <class Call>
void expect_bad_input(Call&& call, const std::vector<std::string>& parts) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected: " << ::testing::PrintToString(parts);
  } catch (const BadInput& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    for (const std::string& part : parts) EXPECT_THAT(what, ::testing::HasSubstr(part));
  }
}

/// The bytes of a .npy file of version 1.
inline std::string npy(const std::string& descr, const std::string& shape, std::string_view values,
                       const std::string& fortran = "False") {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  return out + header + std::string(values);
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string out(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

}  // namespace gibbsite::test
