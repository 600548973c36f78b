#include "engine/cuda/cuda.hpp"

#include <fmt/format.h>

#include "core/format_message.hpp"
#include "engine/cuda/engine.hpp"
#include "engine/cuda/memory.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite::cuda {
namespace {

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::shared_ptr<Device> device, const EngineOptions& options)
      : device_(std::move(device)), options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "cuda"; }
  [[nodiscard]] std::string description() const override {
    const Gpu gpu = device_->gpu();
    return fmt::format("{} on float storage; {}; {} GiB", to_string(options_.arithmetic), gpu.name,
                       gpu.total_bytes >> 30);
  }
  std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y, const Loss& loss) override {
    return make_engine(device_, x, y, loss, options_);
  }

 private:
  std::shared_ptr<Device> device_;
  EngineOptions options_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(std::shared_ptr<Device> device,
                                           const BackendOptions& options) {
  EngineOptions engine{.arithmetic = options.arithmetic, .design = {}, .noise = options.noise};
  if (options.design != "auto") engine.design = design_named(options.design);
  return std::make_unique<CudaBackend>(std::move(device), engine);
}

#ifndef GIBBSITE_HAS_CUDA
bool compiled() { return false; }
std::unique_ptr<Device> make_device() {
  throw NotCompiled(format_message("{} cuda", Field{"backend"}), "not compiled into this build",
                    format_message("build with nvcc and -DGIBBSITE_CUDA=ON, or use {} cpu or auto",
                                   Field{"backend"}));
}
std::unique_ptr<Device> make_device(int) { return make_device(); }
std::vector<VisibleGpu> usable_gpus() {
  (void)make_device();
  return {};
}
void require_on_device(int, const void*) { (void)make_device(); }
void copy_from_device(int, std::byte*, const std::byte*, std::size_t, std::size_t, std::size_t) {
  (void)make_device();
}
#endif

}  // namespace gibbsite::cuda
