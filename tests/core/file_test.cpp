#include "gibbsite/core/file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "gibbsite-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  static std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }
  static std::string error_of(const std::string& path, std::string_view text) {
    try {
      write_file_atomically(path, text);
    } catch (const BadInput& e) {
      return e.what();
    }
    return "no error";
  }

  fs::path folder;
};

TEST_F(File, WritesAndReplaces) {
  const auto path = folder / "out";
  write_file_atomically(path, "one");
  EXPECT_EQ(read(path), "one");
  write_file_atomically(path, "");
  EXPECT_EQ(read(path), "");
  const std::string long_text(3'000'000, 'x');
  write_file_atomically(path, long_text);
  EXPECT_EQ(read(path), long_text);
  EXPECT_EQ(files(), 1u);
}

TEST_F(File, ModeIsThatOfANewFile) {
  const mode_t old = ::umask(022);
  write_file_atomically(folder / "public", "x");
  write_file_atomically(folder / "secret", "x", 0600);
  write_file_atomically(folder / "public", "x", 0600);
  ::umask(old);
  struct stat status {};
  ASSERT_EQ(::stat((folder / "secret").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat((folder / "public").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(File, ASymbolicLinkStaysOne) {
  write_file_atomically(folder / "target", "old");
  fs::create_symlink("target", folder / "link");
  write_file_atomically(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read(folder / "target"), "new");
}

TEST_F(File, DeviceIsWrittenNotReplaced) {
  write_file_atomically("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  write_file_atomically("/dev/fd/" + std::to_string(ends[1]), "through a pipe");
  char text[64] = {};
  EXPECT_EQ(::read(ends[0], text, sizeof text), 14);
  EXPECT_STREQ(text, "through a pipe");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(File, FullDeviceIsOneClearLine) {
  EXPECT_EQ(error_of("/dev/full", "x"),
            "/dev/full: cannot write: No space left on device; free space or choose another path");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// A disk that fills up half way: the old file stays, the temporary one goes.
TEST_F(File, FullDiskLeavesTheOldFileAndNothingElse) {
  const auto path = folder / "out";
  write_file_atomically(path, "old");
  const std::string text(1 << 20, 'x');
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small = old;
  small.rlim_cur = 4096;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string replacing = error_of(path, text);
  const std::string creating = error_of(folder / "new", text);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(replacing, AllOf(StartsWith(path.string() + ": cannot write: "),
                               HasSubstr("; free space or choose another path")));
  EXPECT_THAT(creating, StartsWith((folder / "new").string() + ": cannot write: "));
  EXPECT_EQ(read(path), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(File, MissingFolderAndFolderAsFile) {
  EXPECT_THAT(error_of(folder / "no" / "out", "x"),
              AllOf(StartsWith((folder / "no" / "out").string() + ": cannot write: "),
                    HasSubstr("create the folder")));
  EXPECT_THAT(error_of(folder, "x"), HasSubstr("cannot write: Is a directory"));
  EXPECT_EQ(files(), 0u);
}

TEST_F(File, ANewFolderIsWholeOrAbsent) {
  const fs::path path = folder / "out";
  {
    NewFolder out(path, 0700);
    write_file_atomically(out.file("a"), "1");
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_EQ(files(), 0u);
  fs::create_directory(path);  // an empty one is taken
  {
    NewFolder out(path.string() + "/", 0700);
    write_file_atomically(out.file("a"), "1");
    out.commit();
  }
  EXPECT_EQ(read(path / "a"), "1");
  EXPECT_EQ(files(), 1u);
}

TEST_F(File, ANewFolderReplacesNothing) {
  const auto error = [](const fs::path& path) -> std::string {
    try {
      NewFolder::require_free(path);
      return "";
    } catch (const BadInput& e) {
      return e.what();
    }
  };
  write_file_atomically(folder / "file", "x");
  EXPECT_THAT(error(folder / "file"), HasSubstr("is a file; give a new folder"));
  EXPECT_THAT(error(folder), HasSubstr("is there and not empty"));
  EXPECT_THAT(error(folder / "no" / "out"), HasSubstr("create the folder"));
  EXPECT_THAT(error(folder / "file" / "out"), HasSubstr("cannot write: "));
  EXPECT_THAT(error(""), HasSubstr("cannot write"));
  EXPECT_EQ(error(folder / "new"), "");
  EXPECT_EQ(error("new"), "");  // relative
}

}  // namespace
}  // namespace gibbsite
