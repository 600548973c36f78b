#pragma once
// Highway's choice of instruction set, one after another.
#include <hwy/targets.h>

#include <cstdint>
#include <string>

namespace gibbsite::support {

/// Calls f(name) for every instruction set that was compiled and that this machine can run.
template <class F>
void on_every_instruction_set(F&& f) {
  const std::int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  for (std::int64_t rest = supported; rest != 0; rest &= rest - 1) {
    hwy::SetSupportedTargetsForTest(rest & -rest);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    f(std::string(hwy::TargetName(rest & -rest)));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace gibbsite::support
