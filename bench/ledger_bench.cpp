// An entry in a ledger of so many, beside the least that a lasting file costs: 256 bytes written
// and synced, and a file renamed into place. TMPDIR names the disk.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "gibbsite/core/file.hpp"
#include "gibbsite/ledger/ledger.hpp"

namespace gibbsite {
namespace {

class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "gibbsite-bench-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

Ledger::Release release(std::int64_t number) {
  const std::string name = std::to_string(number);
  return {"fit whitened", {.mu = 1e-6, .tv = 1e-16}, "key " + name, "digest " + name};
}

void enter(benchmark::State& state) {
  const Folder folder;
  LedgerOptions options;
  options.memory = folder.file("memory");
  const Ledger ledger = Ledger::create(folder.file("ledger"), 1, 1e-6, {}, {}, options);
  std::int64_t number = 0;
  while (number < state.range(0)) static_cast<void>(ledger.enter(release(number++)));
  for (auto _ : state) static_cast<void>(ledger.enter(release(number++)));
}
BENCHMARK(enter)->Arg(0)->Arg(100)->Arg(300)->Unit(benchmark::kMillisecond);

void read(benchmark::State& state) {
  const Folder folder;
  LedgerOptions options;
  options.memory = folder.file("memory");
  const Ledger ledger = Ledger::create(folder.file("ledger"), 1, 1e-6, {}, {}, options);
  for (std::int64_t i = 0; i < state.range(0); ++i) static_cast<void>(ledger.enter(release(i)));
  for (auto _ : state) benchmark::DoNotOptimize(ledger.read());
}
BENCHMARK(read)->Arg(0)->Arg(300)->Unit(benchmark::kMillisecond);

void synced_file(benchmark::State& state) {
  const Folder folder;
  const std::string text(256, 'x');
  for (auto _ : state) write_file_atomically(folder.file("file"), text);
}
BENCHMARK(synced_file)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gibbsite

BENCHMARK_MAIN();
