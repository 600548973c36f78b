#pragma once
// What this machine has room for.
#include <cstddef>
#include <cstdint>

namespace gibbsite {

/// Bytes of memory that this process may still use; 0 if unknown.
std::uint64_t available_memory();
/// Bytes of memory that all processes of this machine, or of this container, may still use
/// together; 0 if unknown.
std::uint64_t available_memory_of_machine();

/// Asks the system for pages of 2 MiB in place of 4 KiB, if the memory is that large: they are
/// allocated and found faster. It is a hint, which does not change the contents.
void prefer_huge_pages(void* memory, std::size_t bytes);

}  // namespace gibbsite
