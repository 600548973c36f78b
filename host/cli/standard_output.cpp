#include "standard_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <string_view>

#include "gibbsite/core/error.hpp"

namespace gibbsite::cli {
namespace {

// The descriptor that standard output has while prints go to standard error; -1: they do not.
int descriptor = -1;
std::string owner;  // the option whose file it is

std::string path_of_descriptor() { return fmt::format("/dev/fd/{}", descriptor); }

bool names_standard_output(std::string_view path) {
  constexpr std::array<std::string_view, 4> names{"-", "/dev/stdout", "/dev/fd/1",
                                                  "/proc/self/fd/1"};
  if (std::ranges::find(names, path) != names.end()) return true;
  // Another spelling or a link.
  struct stat of_path = {}, of_output = {};
  return ::stat(std::string(path).c_str(), &of_path) == 0 &&
         ::fstat(STDOUT_FILENO, &of_output) == 0 && of_path.st_dev == of_output.st_dev &&
         of_path.st_ino == of_output.st_ino;
}

void flush() {
  std::cout.flush();
  std::fflush(stdout);
}

// Moves standard output to another descriptor and lets prints go to standard error.
std::string taken(const std::string& option) {
  if (descriptor >= 0) {
    throw BadInput(fmt::format("{}: standard output is taken by {}; give a file", option, owner));
  }
  flush();
  descriptor = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (descriptor < 0) throw BadInput(option + ": standard output is closed; give a file");
  if (::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    // Standard error is closed: what is for people is for nobody.
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    const bool moved = nowhere >= 0 && ::dup2(nowhere, STDOUT_FILENO) >= 0;
    if (nowhere >= 0) ::close(nowhere);
    if (!moved) throw BadInput(option + ": standard error is closed; give a file");
  }
  owner = option;
  return path_of_descriptor();
}

}  // namespace

CLI::Option* add_output(CLI::App& app, const std::string& name, std::string& path,
                        const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [name, &path](const std::string& text) {
            path = names_standard_output(text) ? taken(name) : text;
          },
          help)
      ->type_name("FILE");
}

StandardOutput::~StandardOutput() {
  if (descriptor < 0) return;
  flush();
  ::dup2(descriptor, STDOUT_FILENO);
  ::close(descriptor);
  descriptor = -1;
}

std::string StandardOutput::named(std::string text, const std::string& name) {
  if (descriptor < 0) return text;
  const std::string path = path_of_descriptor();
  for (std::size_t at = 0; (at = text.find(path, at)) != std::string::npos; at += name.size())
    text.replace(at, path.size(), name);
  return text;
}

}  // namespace gibbsite::cli
