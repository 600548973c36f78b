#pragma once
// The instruction set of the vector kernels, where a user chooses it.
#include <string_view>

namespace gibbsite {

/// The environment variable that names it: sse4, avx2 or avx512. Unset or empty: the best one that
/// the machine has.
inline constexpr const char* instructions_variable = "GIBBSITE_INSTRUCTIONS";

/// Limits all vector kernels of the process to the set that the variable names. Reads the variable
/// once; later calls cost nothing. Returns the value, "" where nothing is forced. Throws BadInput
/// where the machine lacks the set, or the value names none.
std::string_view force_instructions();

/// What a value of the variable leaves of `supported` (bits of Highway's targets). Throws BadInput
/// as above, naming the values that `supported` allows.
long long instructions_of(std::string_view value, long long supported);

}  // namespace gibbsite
