#pragma once
// What objective perturbation leaves unspent of a large epsilon.
#include <span>
#include <string>

#include "gibbsite/mechanism/plan.hpp"

namespace gibbsite::cli {

/// Where a chosen objective or objective-pure spends less than 95 % of its epsilon, a line for
/// people that says what it spends and why more buys nothing; "" where all spend theirs.
std::string unspent_words(std::span<const Plan> plans);

}  // namespace gibbsite::cli
