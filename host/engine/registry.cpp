#include "core/format_message.hpp"
#include "engine/cpu/cpu.hpp"
#include "engine/cuda/cuda.hpp"
#include "engine/cuda/why_not.hpp"
#include "engine/reference/reference.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/automatic.hpp"
#include "gibbsite/engine/engine.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite {
namespace {

BackendInfo cuda_info() {
  try {
    return {"cuda", true, make_backend("cuda")->description()};
  } catch (const BackendUnavailable& error) {
    return {"cuda", false, error.wrong() + "; " + error.hint()};
  }
}

// The other backends have one design; reference computes in double, cpu also in float.
void require_plain(std::string_view name, const BackendOptions& options) {
  if (options.arithmetic == Arithmetic::bfloat16 ||
      (options.arithmetic == Arithmetic::float32 && name != "cpu")) {
    throw BadInput(format_message("{} {}", Field{"backend"}, name),
                   fmt::format("does not compute in {}", to_string(options.arithmetic)),
                   format_message("use {} cuda", Field{"backend"}));
  }
  if (options.design != "auto") {
    throw BadInput(
        Field{"design"},
        format_message("'{}' is of {} cuda, not of {}", options.design, Field{"backend"}, name),
        "leave it out");
  }
  if (options.noise != NoiseSource::streams) {
    throw BadInput(Field{"noise"},
                   format_message("cuRAND is of {} cuda, not of {}", Field{"backend"}, name),
                   "leave it out");
  }
}

}  // namespace

std::string_view to_string(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::float64:
      return "double";
    case Arithmetic::float32:
      return "float";
    case Arithmetic::bfloat16:
      return "bfloat16";
  }
  return "";
}

std::vector<BackendInfo> list_backends() {
  return {{"reference", true, make_reference_backend()->description()},
          {"cpu", true, make_cpu_backend()->description()},
          cuda_info()};
}

std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options) {
  return make_backend(name, options, nullptr);
}

std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options,
                                      Note note) {
  if (name == "cuda") return cuda::make_cuda_backend(cuda::make_device(), options);
  if (name == "auto") {
    // A GPU that is there and works, else the CPU; which one it is is printed by whoever asks.
    const auto cpu = [options] { return make_backend("cpu", options); };
    try {
      return make_automatic_backend(make_backend("cuda", options), cuda::why_no_kernels, cpu,
                                    std::move(note));
    } catch (const BackendUnavailable&) {
      return cpu();
    }
  }
  if (name == "cpu") {
    require_plain(name, options);
    if (options.threads > ThreadPool::most_members) {
      throw BadInput(
          Field{"threads"},
          fmt::format("must be at most {}, got {}", ThreadPool::most_members, options.threads),
          "give fewer, or 0");
    }
    return make_cpu_backend(options.arithmetic, options.threads);
  }
  if (name == "reference") {
    require_plain(name, options);
    return make_reference_backend();
  }
  throw BadInput(Field{"backend"}, fmt::format("no backend is called '{}'", name),
                 "there is: auto, reference, cpu, cuda");
}

}  // namespace gibbsite
