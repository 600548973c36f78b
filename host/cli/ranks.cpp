#include "ranks.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "gibbsite/core/text.hpp"
#include "gibbsite/version.hpp"
#include "interrupt.hpp"

namespace gibbsite::cli {
namespace {

std::unique_ptr<Communicator>& held() {
  static std::unique_ptr<Communicator> one;
  return one;
}

// Where a rank that is not the first says why it ended; -1: it was not silenced.
int& kept_stderr() {
  static int fd = -1;
  return fd;
}

void be_silent() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  std::fflush(stdout);
  kept_stderr() = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

void speak_again() {
  if (kept_stderr() < 0) return;
  ::dup2(kept_stderr(), STDERR_FILENO);
  ::close(kept_stderr());
  kept_stderr() = -1;
}

// FNV-1a of the file that this function came from: the program, or a module of Python. It tells
// builds apart, not forgeries.
std::uint64_t hash_of_build() {
  Dl_info info{};
  std::string path = "/proc/self/exe";
  if (::dladdr(reinterpret_cast<const void*>(&hash_of_build), &info) != 0 &&
      info.dli_fname != nullptr &&
      std::string_view(info.dli_fname).find(".so") != std::string::npos)
    path = info.dli_fname;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(std::size_t{1} << 20);
  std::uint64_t hash = 0xcbf29ce484222325;
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0)
    for (std::streamsize k = 0; k < file.gcount(); ++k)
      hash =
          (hash ^ static_cast<unsigned char>(buffer[static_cast<std::size_t>(k)])) * 0x100000001b3;
  return hash;
}

// By what launchers say, before ranks can talk: "rank 1: ".
std::string rank_by_name() {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* const rank = std::getenv(name);  // NOLINT: before threads
    if (rank != nullptr) return fmt::format("rank {}: ", rank);
  }
  return "";
}

// Help in the one place where it is all that the command does.
bool is_done_by_ranks(int argc, char** argv) {
  if (argc < 2) return true;  // which all refuse
  const std::string_view command = argv[1], last = argv[argc - 1];
  const bool help = last == "--help" || last == "-h";
  const auto says_ranks = [&] {
    return std::any_of(argv + 2, argv + argc,
                       [](const char* word) { return std::string_view(word) == "--ranks"; });
  };
  return command == "fit" || command == "sample" || command == "evaluate" || command == "audit" ||
         command == "verify" || (command == "bench" && says_ranks()) ||
         (argc == 2 && (help || last == "--version")) || (argc == 3 && help);
}

// Where the words of a command differ.
std::string difference(const std::vector<std::string>& words,
                       const std::vector<std::string>& of_0) {
  const auto [a, b] = std::ranges::mismatch(words, of_0);
  const auto said = [](auto at, const auto& all) {
    return at == all.end() ? std::string("nothing") : gibbsite::quoted(*at);
  };
  return fmt::format("{} where rank 0 has {}", said(a, words), said(b, of_0));
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return out;
}

void require_same_program(int argc, char** argv) {
  Communicator& all = ranks();
  const std::vector<std::string> versions = all.gather(std::string(GIBBSITE_VERSION));
  const std::vector<std::uint64_t> builds = all.gather(hash_of_build());
  std::string mine;
  for (int k = 1; k < argc; ++k) mine += std::string(argv[k]) + '\0';
  const std::vector<std::string> words = all.gather(mine);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (versions[rank] != versions[0])
      throw BadInput(fmt::format("rank {}: is gibbsite {} where rank 0 is {}; install one version",
                                 rank, shown(versions[rank]), versions[0]));
    if (builds[rank] != builds[0])
      throw BadInput(fmt::format(
          "rank {}: is another build of gibbsite {} than rank 0's; install the same program", rank,
          versions[0]));
    if (words[rank] != words[0])
      throw BadInput(fmt::format("rank {}: was started with other words: {}; give all the same",
                                 rank, difference(words_of(words[rank]), words_of(words[0]))));
  }
}

}  // namespace

Communicator& ranks() {
  if (held() == nullptr) held() = one_process();
  return *held();
}

bool is_first_rank() { return ranks().rank() == 0; }

void meet_ranks(int argc, char** argv) {
  if (launcher().empty()) return;
  try {
    held() = make_communicator();
  } catch (const Error& error) {
    // Each says its own: the machine of one of them may be the only one that lacks something.
    throw Error(error.status(), rank_by_name() + error.message());
  }
  if (ranks().size() == 1) return;
  ranks().share(stop_flag());
  if (!is_first_rank()) be_silent();
  if (!is_done_by_ranks(argc, argv)) {
    throw BadInput(fmt::format(
        "gibbsite {}: is done by one process, and {} were started; leave out the launcher (`fit`, "
        "sample, evaluate and audit are done by several)",
        argv[1], ranks().size()));
  }
  require_same_program(argc, argv);
}

bool is_of_first_rank(int argc, char** argv) {
  return argc > 1 && std::string_view(argv[1]) == "verify";
}

void require_same_everywhere(const std::string& text, const std::string& what) {
  const std::vector<std::string> all = ranks().gather(text);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      throw BadInput(
          fmt::format("rank {}: {} differs from rank 0's; give all ranks the same", rank, what));
}

void end_ranks(const std::vector<std::string>& lines, Status status) {
  if (held() == nullptr || held()->size() == 1) return;
  if (!is_first_rank()) {
    // The first one, where it has something to say too, ends this process meanwhile: by a SIGTERM,
    // which may have come already.
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGINT, SIG_DFL);
    std::this_thread::sleep_for(std::chrono::seconds(stop_flag() ? 5 : 1));
    speak_again();
  }
  std::fflush(stdout);
  for (std::size_t k = 0; k + 1 < lines.size(); ++k)
    fmt::print(stderr, "gibbsite: rank {}: {}\n", held()->rank(), shown(lines[k]));
  held()->abort(lines.back(), status);
}

RanksOfCommand::~RanksOfCommand() { held() = nullptr; }

}  // namespace gibbsite::cli
