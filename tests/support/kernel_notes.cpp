#include "support/kernel_notes.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <variant>

namespace gibbsite::support {
namespace {

// Writes the list at the end of the process. A list of an earlier process is removed at once, so
// that a process that dies leaves none.
class KernelNotes {
 public:
  KernelNotes() {
    if (const char* const path = std::getenv("GIBBSITE_KERNELS_RUN")) path_ = path;
    if (!path_.empty()) std::remove(path_.c_str());
  }
  KernelNotes(const KernelNotes&) = delete;
  KernelNotes& operator=(const KernelNotes&) = delete;
  ~KernelNotes() {
    if (path_.empty()) return;
    std::FILE* const file = std::fopen(path_.c_str(), "w");
    if (file == nullptr) return;  // census.py says that the file is missing
    for (const std::string& line : lines_) std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
  }

  void add(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.insert(line);
  }

 private:
  std::string path_;
  std::mutex mutex_;
  std::set<std::string> lines_;
};

KernelNotes notes;

class NotedDevice final : public cuda::Device {
 public:
  explicit NotedDevice(std::unique_ptr<cuda::Device> device) : device_(std::move(device)) {
    notes.add("card " + std::to_string(device_->gpu().capability));
  }

  [[nodiscard]] cuda::Gpu gpu() const override { return device_->gpu(); }
  std::byte* allocate(std::size_t bytes) override { return device_->allocate(bytes); }
  std::byte* allocate_pinned(std::size_t bytes) override { return device_->allocate_pinned(bytes); }
  void release(std::byte* memory) noexcept override { device_->release(memory); }
  void release_pinned(std::byte* memory) noexcept override { device_->release_pinned(memory); }
  void copy_in(cuda::Queue queue, std::byte* to, const void* from, std::size_t bytes) override {
    device_->copy_in(queue, to, from, bytes);
  }
  void copy_out(cuda::Queue queue, void* to, const std::byte* from, std::size_t bytes) override {
    device_->copy_out(queue, to, from, bytes);
  }
  void fill_zero(cuda::Queue queue, std::byte* to, std::size_t bytes) override {
    device_->fill_zero(queue, to, bytes);
  }
  std::size_t blocks_at_once(const kernels::Cooperative& kernel) override {
    return device_->blocks_at_once(kernel);
  }
  void launch(const cuda::Kernel& kernel) override {
    device_->launch(kernel);
    std::visit([](const auto& params) { note(params); }, kernel);
  }
  void gather(DeviceRanks& ranks, const std::byte* mine, std::byte* all,
              std::size_t bytes) override {
    device_->gather(ranks, mine, all, bytes);
  }
  void broadcast(DeviceRanks& ranks, std::byte* data, std::size_t bytes) override {
    device_->broadcast(ranks, data, bytes);
  }
  void fill_normals(kernels::View<double> out, std::uint64_t seed, std::uint64_t offset) override {
    device_->fill_normals(out, seed, offset);
  }
  cuda::Event record(cuda::Queue queue) override { return device_->record(queue); }
  void wait(cuda::Queue queue, cuda::Event event) override { device_->wait(queue, event); }
  void wait_host(cuda::Event event) override { device_->wait_host(event); }
  void synchronize() override { device_->synchronize(); }
  cuda::Graph capture(const std::function<void()>& enqueue) override {
    return device_->capture(enqueue);
  }
  void replay(cuda::Graph graph) override { device_->replay(graph); }
  void discard(cuda::Graph graph) noexcept override { device_->discard(graph); }

 private:
  template <class Params>
  static void note(const Params& params) {
    kernels::with_body(params, []<class Body>() { note_kernel<Body, RanOn::gpu>(); });
  }
  static void note(const kernels::Gemm& /*product*/) {}  // the library's

  std::unique_ptr<cuda::Device> device_;
};

}  // namespace

void note_kernel(const std::type_info& body, RanOn where) {
  notes.add(std::string(where == RanOn::gpu ? "gpu" : "emulated") + " _Z" + body.name());
}

std::unique_ptr<cuda::Device> make_noted_device(std::unique_ptr<cuda::Device> device) {
  return std::make_unique<NotedDevice>(std::move(device));
}

}  // namespace gibbsite::support
