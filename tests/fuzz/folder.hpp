#pragma once
// A folder in memory for the harnesses that need names; goes at the end.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz.hpp"

namespace gibbsite::fuzz {

class Folder {
 public:
  Folder() {
    std::error_code error;
    const bool memory = std::filesystem::is_directory("/dev/shm", error);
    path_ = std::string(memory ? "/dev/shm" : "/tmp") + "/gibbsite-fuzz-XXXXXX";
    require(::mkdtemp(path_.data()) != nullptr, "mkdtemp");
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name), std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

}  // namespace gibbsite::fuzz
