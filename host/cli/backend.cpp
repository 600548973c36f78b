#include "backend.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "ranks.hpp"
#include "text.hpp"

namespace gibbsite::cli {

std::unique_ptr<Backend> make_noted_backend(const std::string& name, bool quiet,
                                            const std::string& design) {
  BackendOptions options;
  options.design = design;
  return make_backend(name, options, [quiet](const std::string& line) {
    if (!quiet) fmt::print(stderr, "gibbsite: {}\n", in_options(line));
  });
}

void require_cpu_of_ranks(const std::string& name, const std::string& design) {
  if (ranks().size() == 1 || (name != "cuda" && design == "auto")) return;
  throw BadInput(
      fmt::format("--{}: rows on several ranks are for the CPU; leave it out, or start one process",
                  design != "auto" ? "design" : "backend cuda"));
}

std::unique_ptr<Backend> make_backend_of_ranks(const std::string& name, bool quiet,
                                               const std::string& design,
                                               const std::atomic<bool>* stop) {
  if (ranks().size() == 1) return make_noted_backend(name, quiet, design);
  require_cpu_of_ranks(name, design);
  return shard(make_noted_backend(name == "auto" ? "cpu" : name, quiet), ranks(), stop);
}

}  // namespace gibbsite::cli
