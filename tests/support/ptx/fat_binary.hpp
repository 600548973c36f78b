#pragma once
// What nvcc embeds in an object: machine code and PTX of a translation unit, for each architecture.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/ptx/program.hpp"

namespace gibbsite::ptx {

struct FatBinary {
  std::vector<std::string> ptx;
  std::map<std::string, u32>
      registers;  // of a thread, by kernel: ptxas's, of the latest architecture
};

/// Reads the container of nvcc 12 and 13; its parts are plain, or compressed by zstd or LZ4.
/// Throws std::runtime_error: not one, broken, or compressed in another way.
FatBinary read_fat_binary(const u8* data);

/// The parts that read_fat_binary decompresses. Throw std::runtime_error where the data is broken.
std::string decompress_zstd(std::string_view data, std::size_t size);
std::string decompress_lz4(std::string_view data, std::size_t size);

/// Registers a thread, by kernel, of an ELF file of machine code (.nv.info, EIATTR_REGCOUNT).
std::map<std::string, u32> read_registers(std::string_view elf);

}  // namespace gibbsite::ptx
