#pragma once
// Runs a program and keeps what it wrote.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/temp_dir.hpp"

namespace gibbsite::testing {

struct Outcome {
  int status = -1;  ///< exit status; 128 + signal when one ended it
  std::string out, err;
};

/// A running program, its output in files of its own (so no pipe can fill up). `folder` is its
/// working directory; `file_limit` in bytes, when not 0, is its RLIMIT_FSIZE.
class Process {
 public:
  Process(const std::vector<std::string>& command, const std::string& folder, rlim_t file_limit = 0)
      : files_(new TempDir) {
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const std::string out = files_->path("out"), err = files_->path("err");
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ == 0) {
      const int in_fd = open("/dev/null", O_RDONLY);
      const int out_fd = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      const int err_fd = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      if (chdir(folder.c_str()) != 0 || dup2(in_fd, 0) < 0 || dup2(out_fd, 1) < 0 ||
          dup2(err_fd, 2) < 0) {
        _exit(126);
      }
      if (file_limit != 0) {
        const rlimit limit{file_limit, file_limit};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(126);
      }
      execvp(argv[0], argv.data());
      _exit(127);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (!waited_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  void send(int signal) const { kill(pid_, signal); }
  [[nodiscard]] std::string err_so_far() const { return files_->read("err"); }
  [[nodiscard]] std::string out_so_far() const { return files_->read("out"); }
  /// Polls until `condition` holds; false after `seconds` or when the program has ended.
  bool wait_until(const std::function<bool()>& condition, double seconds = 60) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
      if (condition()) return true;
      if (waitpid(pid_, &status_, WNOHANG) == pid_) {
        waited_ = true;
        return condition();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  Outcome wait() {
    if (!waited_) waitpid(pid_, &status_, 0);
    waited_ = true;
    const int status = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
    return {status, files_->read("out"), files_->read("err")};
  }

 private:
  std::unique_ptr<TempDir> files_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool waited_ = false;
};

inline Outcome run(const std::vector<std::string>& command, const std::string& folder = ".",
                   rlim_t file_limit = 0) {
  return Process(command, folder, file_limit).wait();
}

}  // namespace gibbsite::testing
