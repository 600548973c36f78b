#include "machine/instructions.hpp"

#include <fmt/format.h>
#include <hwy/targets.h>

#include <cstdlib>
#include <string>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {
namespace {

struct Named {
  const char* name;
  std::int64_t targets;
};
// Highway has several targets for AVX-512, in the bits up to HWY_AVX3.
constexpr Named named[] = {{"sse4", HWY_SSE4}, {"avx2", HWY_AVX2}, {"avx512", 2 * HWY_AVX3 - 1}};

std::string force() {
  const char* const value = std::getenv(instructions_variable);  // NOLINT: nothing sets it
  if (value == nullptr || *value == 0) return {};
  hwy::DisableTargets(~instructions_of(value, hwy::SupportedTargets() & HWY_TARGETS));
  return value;
}

}  // namespace

long long instructions_of(std::string_view value, long long supported) {
  std::string available;
  for (const auto& [name, targets] : named) {
    if ((targets & supported) == 0) continue;
    if (value == name) return targets & supported;
    available += fmt::format("{}{}", available.empty() ? "" : ", ", name);
  }
  throw BadInput(
      fmt::format("{}={}: this machine and build have {}; choose one of them, or unset it",
                  instructions_variable, shown(value),
                  available.empty() ? "none that can be chosen" : available));
}

std::string_view force_instructions() {
  static const std::string forced = force();
  return forced;
}

}  // namespace gibbsite
