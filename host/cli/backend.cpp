#include "backend.hpp"

#include <fmt/format.h>

#include <cstdio>

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

}  // namespace gibbsite::cli
