#include "gibbsite/core/file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace file_test {

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
  write_file_atomically(folder / "usual", "x");  // who publishes says so
  write_file_atomically(folder / "published", "x", public_file);
  StreamedFile(folder / "stream").commit();
  ::umask(old);
  struct stat status {};
  ASSERT_EQ(::stat((folder / "secret").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  for (const char* name : {"usual", "stream"}) {
    ASSERT_EQ(::stat((folder / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << name;
  }
  ASSERT_EQ(::stat((folder / "published").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
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

// System calls that a file system may lack; made so by a filter on this process, for good.
void refuse_calls(const std::vector<std::pair<unsigned, int>>& calls) {
  std::vector<sock_filter> filter{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offsetof(seccomp_data, nr)))};
  for (const auto& [call, error] : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(77);
}

// What came after the caller looked is kept, on every file system.
TEST_F(File, KeepsWhatCameSince) {
  const auto error = [](const fs::path& path) {
    try {
      write_file_atomically(path, "ours", 0644, Existing::kept);
      return 0;
    } catch (const CannotWrite& e) {
      return e.error;
    }
  };
  // Returns what of these went wrong, 0 for nothing.
  const auto check = [&](const std::string& name) {
    const fs::path path = folder / name, link = folder / (name + "-link"),
                   taken = folder / (name + "-taken");
    if (error(path) != 0 || read(path) != "ours") return 1;
    write_file_atomically(taken, "theirs");
    fs::create_symlink("nowhere", link);
    if (error(taken) != EEXIST || read(taken) != "theirs") return 2;
    if (error(link) != EEXIST || !fs::is_symlink(link) || fs::exists(folder / "nowhere")) return 3;
    {  // a writer that looked before the file came
      Temporary file(folder / (name + "-late"), Temporary::Kind::file, 0644);
      write_file_atomically(folder / (name + "-late"), "theirs");
      if (file.rename(Existing::kept) != EEXIST) return 4;
    }
    if (read(folder / (name + "-late")) != "theirs") return 5;
    const auto left = [](const fs::directory_entry& entry) {
      return entry.path().string().find(".tmp-") != std::string::npos;
    };
    const fs::directory_iterator entries(folder);
    return std::any_of(begin(entries), end(entries), left) ? 6 : 0;
  };
  EXPECT_EQ(check("usual"), 0);
  const auto without = [&](const std::string& name,
                           const std::vector<std::pair<unsigned, int>>& calls) {
    const pid_t child = ::fork();
    if (child == 0) {
      refuse_calls(calls);
      ::_exit(check(name));
    }
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const int linked = without("linked", {{__NR_renameat2, EINVAL}});
  if (linked == 77) GTEST_SKIP() << "this process may not filter its system calls";
  EXPECT_EQ(linked, 0);
  std::vector<std::pair<unsigned, int>> neither{{__NR_renameat2, ENOSYS}, {__NR_linkat, EPERM}};
#ifdef __NR_link
  neither.emplace_back(__NR_link, EPERM);
#endif
  EXPECT_EQ(without("claimed", neither), 0);
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

// What standard output may be, and cannot be opened by its name.
TEST_F(File, ASocketIsWrittenByItsDescriptor) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  for (const char* folder_of : {"/dev/fd/", "/proc/self/fd/"}) {
    write_file_atomically(folder_of + std::to_string(ends[1]), "to a socket");
    char text[64] = {};
    EXPECT_EQ(::read(ends[0], text, sizeof text), 11);
    EXPECT_STREQ(text, "to a socket");
  }
  EXPECT_THAT(error_of("/dev/fd/999", "x"), ::testing::HasSubstr("cannot write"));
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

// What a kill leaves goes with the next write, whoever has its process number now.
TEST_F(File, WhatKilledWritersLeftIsSwept) {
  const auto make = [&](const std::string& name) {
    const int fd = ::open((folder / name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    EXPECT_GE(fd, 0);
    EXPECT_EQ(::write(fd, "key", 3), 3);
    return fd;
  };
  for (const char* name : {"out.tmp-1-0", "out.tmp-999999999-12"}) ::close(make(name));
  fs::create_directory(folder / "out.tmp-2-0");
  ::close(make("out.tmp-2-0/x"));
  // Not ours: other names, a link, a pipe.
  for (const char* name : {"precious", "out.tmp-", "out.tmp-1", "out.tmp-old-0", "out.tmp-1-0x",
                           "other.tmp-1-0", "xout.tmp-1-0"}) {
    ::close(make(name));
  }
  fs::create_symlink("precious", folder / "out.tmp-3-0");
  ASSERT_EQ(::mkfifo((folder / "out.tmp-4-0").c_str(), 0600), 0);
  // A writer that lives.
  const int writer = make("out.tmp-5-0");
  ASSERT_EQ(::flock(writer, LOCK_EX | LOCK_NB), 0);

  write_file_atomically(folder / "out", "text");
  for (const char* name : {"out.tmp-1-0", "out.tmp-999999999-12", "out.tmp-2-0"}) {
    EXPECT_FALSE(fs::exists(folder / name)) << name;
  }
  EXPECT_EQ(files(), 11u);
  EXPECT_EQ(read(folder / "precious"), "key");
  EXPECT_FALSE(remove_abandoned(folder / "out"));
  ::close(writer);
  fs::create_symlink("out", folder / "link");  // temporaries lie beside what it points to
  EXPECT_TRUE(remove_abandoned(folder / "link"));
  EXPECT_FALSE(fs::exists(folder / "out.tmp-5-0"));
}

TEST_F(File, AKillBetweenOpeningAndRenamingIsSwept) {
  const auto path = folder / "out";
  write_file_atomically(path, "old");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Temporary file(path, Temporary::Kind::file, 0600);
    static_cast<void>(::write(file.descriptor(), "key", 3));
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(files(), 2u);
  EXPECT_EQ(read(path), "old");
  write_file_atomically(path, "new");
  EXPECT_EQ(files(), 1u);
}

// Writers of one path sweep all the time and never take each other's files.
TEST_F(File, LivingWritersAreLeftAlone) {
  const auto path = folder / "out";
  std::vector<std::thread> writers;
  std::atomic<int> failures = 0;
  for (char c = 'a'; c < 'e'; ++c) {
    writers.emplace_back([&, c] {
      for (int i = 0; i < 150; ++i) {
        try {
          write_file_atomically(path, std::string(1000, c));
        } catch (const BadInput&) {
          ++failures;
        }
      }
    });
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(failures, 0);
  const std::string text = read(path);
  EXPECT_EQ(text, std::string(1000, text.at(0)));
  EXPECT_EQ(files(), 1u);
}

TEST_F(File, AStreamIsWholeOrAbsent) {
  const std::string path = folder / "rows.csv";
  {
    StreamedFile file(path);
    file.append("half of it");
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_EQ(files(), 0U);
  {
    StreamedFile file(path);
    file.append("one ");
    file.append("two");
    file.commit(Existing::kept);
  }
  EXPECT_EQ(read(path), "one two");
  StreamedFile late(path);
  late.append("three");
  try {
    late.commit(Existing::kept);
    FAIL();
  } catch (const CannotWrite& e) {
    EXPECT_EQ(e.error, EEXIST);
  }
  EXPECT_EQ(read(path), "one two");
  StreamedFile after(path);
  after.append("three");
  after.commit();
  EXPECT_EQ(read(path), "three");
  StreamedFile full("/dev/full");
  EXPECT_THROW(full.append("x"), CannotWrite);
  EXPECT_THROW(StreamedFile(folder / "absent" / "rows.csv"), CannotWrite);
}

TEST_F(File, ANewFolderThatWasKilledIsSwept) {
  fs::create_directory(folder / "out.tmp-1-0");
  write_file_atomically(folder / "out.tmp-1-0" / "draws", "private");
  NewFolder(folder / "out", 0700).commit();
  EXPECT_EQ(files(), 1u);
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

}  // namespace file_test
}  // namespace gibbsite
