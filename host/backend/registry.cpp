#include "backend/cpu/cpu.hpp"
#include "backend/reference/reference.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/sampler/backend.hpp"

namespace gibbsite {

std::vector<BackendInfo> list_backends() {
  return {{"reference", true, make_reference_backend()->description()},
          {"cpu", true, make_cpu_backend()->description()},
          {"cuda", false, "not compiled into this build"}};
}

std::unique_ptr<Backend> make_backend(std::string_view name) {
  if (name == "auto" || name == "cpu") return make_cpu_backend();
  if (name == "reference") return make_reference_backend();
  if (name == "cuda") {
    throw NotCompiled("--backend cuda: not compiled into this build; use --backend cpu or auto");
  }
  throw BadInput("--backend: no backend is called '" + std::string(name) +
                 "'; there is: auto, reference, cpu, cuda");
}

}  // namespace gibbsite
