#include "backend.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "ranks.hpp"
#include "text.hpp"

namespace gibbsite::cli {

namespace {

Note noted(bool quiet) {
  return [quiet](const Message& line) {
    if (!quiet) fmt::print(stderr, "gibbsite: {}\n", in_options(line));
  };
}

}  // namespace

std::unique_ptr<Backend> make_noted_backend(const std::string& name, bool quiet,
                                            const BackendOptions& options) {
  return make_backend(name, options, noted(quiet));
}

std::unique_ptr<Backend> make_backend_of_ranks(const std::string& name, bool quiet,
                                               const std::string& design,
                                               const std::atomic<bool>* stop) {
  BackendOptions options;
  options.design = design;
  return make_backend(name, options, ranks(), noted(quiet), stop);
}

}  // namespace gibbsite::cli
