#pragma once
// What this machine has room for.
#include <cstddef>
#include <cstdint>

namespace gibbsite {

/// Bytes of memory that this process may still use, or 0 when unknown.
std::uint64_t available_memory();
/// Bytes that all processes of this machine, or of this container, may still use together; 0 when
/// unknown.
std::uint64_t available_memory_of_machine();

/// Asks for pages of 2 MiB in place of 4 KiB where that much memory is large: they are given and
/// found in less time. A wish, without effect on what is in it.
void prefer_huge_pages(void* memory, std::size_t bytes);

}  // namespace gibbsite
