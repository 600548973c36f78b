#include "support/ptx/fat_binary.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace gibbsite::ptx {
namespace {

constexpr u32 container_magic = 0xBA55ED50;
constexpr u16 kind_ptx = 1, kind_elf = 2;
constexpr u64 flag_lz4 = 0x2000, flag_zstd = 0x8000;

template <class T>
T read_at(std::string_view data, std::size_t at) {
  if (at > data.size() || data.size() - at < sizeof(T))
    throw std::runtime_error("ptx: a fat binary ends early");
  T value;
  std::memcpy(&value, data.data() + at, sizeof value);
  return value;
}

// The header of a part. Numbers are offsets in it.
struct Part {
  u16 kind = 0;
  u32 architecture = 0;  // 90
  std::string content;
  std::size_t bytes = 0;  // of header and content
};
Part read_part(std::string_view data) {
  Part part;
  part.kind = read_at<u16>(data, 0);
  part.architecture = read_at<u32>(data, 28);
  const u32 header = read_at<u32>(data, 4);
  const u64 size = read_at<u64>(data, 8), flags = read_at<u64>(data, 40),
            plain = read_at<u64>(data, 56);
  const u32 compressed = read_at<u32>(data, 16);
  part.bytes = header + size;
  if (part.bytes > data.size()) throw std::runtime_error("ptx: a fat binary ends early");
  const std::string_view content = data.substr(header, size);
  if ((flags & flag_zstd) != 0)
    part.content = decompress_zstd(content.substr(0, compressed), plain);
  else if ((flags & flag_lz4) != 0)
    part.content = decompress_lz4(content.substr(0, compressed), plain);
  else if ((flags & 0xf000) == 0)
    part.content = std::string(content);
  else
    throw std::runtime_error(fmt::format(
        "ptx: a fat binary is compressed in a way that is not known (flags {:#x}); compile with nvcc's option --no-compress",
        flags));
  return part;
}

}  // namespace

std::string decompress_zstd(std::string_view data, std::size_t size) {
  std::string plain(size, '\0');
  const std::size_t written = ZSTD_decompress(plain.data(), size, data.data(), data.size());
  if (ZSTD_isError(written) != 0 || written != size)
    throw std::runtime_error(
        "ptx: a fat binary's zstd frame is broken; compile with nvcc's option --no-compress");
  return plain;
}

// A block of LZ4: literals, then a copy of what came before, over and over.
std::string decompress_lz4(std::string_view data, std::size_t size) {
  const auto broken = [](bool is) {
    if (is)
      throw std::runtime_error(
          "ptx: a fat binary's LZ4 block is broken; compile with nvcc's option --no-compress");
  };
  std::string plain;
  std::size_t at = 0;
  const auto length = [&](unsigned first) {
    std::size_t total = first;
    for (u8 more = first == 15 ? 255 : 0; more == 255; total += more) {
      broken(at >= data.size());
      more = static_cast<u8>(data[at++]);
    }
    return total;
  };
  while (at < data.size()) {
    const u8 token = static_cast<u8>(data[at++]);
    const std::size_t literals = length(token >> 4);
    broken(literals > data.size() - at);
    plain.append(data.substr(at, literals));
    at += literals;
    if (at == data.size()) break;  // the last sequence has no copy
    broken(data.size() - at < 2);
    const std::size_t distance = static_cast<u8>(data[at]) + 256U * static_cast<u8>(data[at + 1]);
    at += 2;
    const std::size_t copied = length(token & 15) + 4;
    broken(distance == 0 || distance > plain.size() || plain.size() + copied > size);
    for (std::size_t i = 0; i < copied; ++i) plain.push_back(plain[plain.size() - distance]);
  }
  broken(plain.size() != size);
  return plain;
}

namespace {

std::vector<Elf64_Shdr> read_sections(std::string_view elf) {
  const auto header = read_at<Elf64_Ehdr>(elf, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    throw std::runtime_error("ptx: machine code in a fat binary is no ELF file");
  std::vector<Elf64_Shdr> sections;
  for (u64 i = 0; i < header.e_shnum; ++i)
    sections.push_back(read_at<Elf64_Shdr>(elf, header.e_shoff + i * sizeof(Elf64_Shdr)));
  return sections;
}
const char* text_at(std::string_view elf, const Elf64_Shdr& strings, u32 at) {
  if (strings.sh_offset + at >= elf.size())
    throw std::runtime_error("ptx: a fat binary ends early");
  return elf.data() + strings.sh_offset + at;
}

}  // namespace

std::map<std::string, u32> read_registers(std::string_view elf) {
  constexpr u8 sized = 4, register_count = 0x2f;
  std::map<std::string, u32> registers;
  const std::vector<Elf64_Shdr> sections = read_sections(elf);
  const auto header = read_at<Elf64_Ehdr>(elf, 0);
  const Elf64_Shdr& names = sections.at(header.e_shstrndx);
  const auto is_info = [&](const Elf64_Shdr& s) {
    return std::string_view(text_at(elf, names, s.sh_name)) == ".nv.info";
  };
  const auto info = std::find_if(sections.begin(), sections.end(), is_info);
  const auto symbols = std::find_if(sections.begin(), sections.end(),
                                    [](const Elf64_Shdr& s) { return s.sh_type == SHT_SYMTAB; });
  if (info == sections.end() || symbols == sections.end()) return registers;
  const Elf64_Shdr& strings = sections.at(symbols->sh_link);
  for (u64 at = info->sh_offset; at + 4 <= info->sh_offset + info->sh_size;) {
    const u8 format = read_at<u8>(elf, at), attribute = read_at<u8>(elf, at + 1);
    const u16 size = read_at<u16>(elf, at + 2);
    if (format == sized && attribute == register_count) {
      const u32 index = read_at<u32>(elf, at + 4), count = read_at<u32>(elf, at + 8);
      const auto symbol = read_at<Elf64_Sym>(elf, symbols->sh_offset + index * sizeof(Elf64_Sym));
      registers[text_at(elf, strings, symbol.st_name)] = count;
    }
    at += 4 + (format == sized ? size : 0U);
  }
  return registers;
}

FatBinary read_fat_binary(const u8* data) {
  const std::string_view head(reinterpret_cast<const char*>(data), 16);
  if (read_at<u32>(head, 0) != container_magic)
    throw std::runtime_error("ptx: what nvcc embedded is no fat binary that is known");
  const u16 header = read_at<u16>(head, 6);
  const u64 size = read_at<u64>(head, 8);
  std::string_view rest(reinterpret_cast<const char*>(data) + header, size);
  FatBinary binary;
  u32 latest = 0;
  while (!rest.empty()) {
    Part part = read_part(rest);
    rest.remove_prefix(part.bytes);
    if (part.kind == kind_ptx) {
      part.content.resize(std::min(part.content.find('\0'), part.content.size()));
      binary.ptx.push_back(std::move(part.content));
    } else if (part.kind == kind_elf && part.architecture > latest) {
      latest = part.architecture;
      binary.registers = read_registers(part.content);
    }
  }
  return binary;
}

}  // namespace gibbsite::ptx
