#include "support/ptx/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <stdexcept>

#include "support/ptx/fat_binary.hpp"

namespace gibbsite::ptx {
namespace {

struct Mutation {
  std::string key, format;
  std::regex pattern;
  int which = 0;
};
Mutation read_mutation(const char* path) {
  std::ifstream file(path);
  std::string key, pattern, format, which;
  std::getline(file, key);
  std::getline(file, pattern);
  std::getline(file, format);
  std::getline(file, which);
  if (key.empty() || which.empty())
    throw std::runtime_error(fmt::format("GIBBSITE_PTX_MUTATION: {} has not four lines", path));
  return {key, format, std::regex(pattern), std::stoi(which)};
}

}  // namespace

std::string mutated(std::string ptx) {
  const char* path = std::getenv("GIBBSITE_PTX_MUTATION");
  if (path == nullptr) return ptx;
  const Mutation mutation = read_mutation(path);
  std::string result;
  int seen = 0, changed = 0;
  for (std::size_t begin = 0; begin < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', begin), ptx.size());
    std::string line = ptx.substr(begin, end - begin);
    if (line.find(".entry") != std::string::npos) seen = 0;
    if (line.find(mutation.key) != std::string::npos &&
        (++seen == mutation.which || mutation.which == 0)) {
      line = std::regex_replace(line, mutation.pattern, mutation.format);
      ++changed;
    }
    result += line + "\n";
    begin = end + 1;
  }
  if (changed != 0) std::fprintf(stderr, "PTX in software: mutated %d lines\n", changed);
  return result;
}

Binary* Registry::add(const u8* fat_binary) {
  binaries_.push_back(std::make_unique<Binary>());
  Binary& binary = *binaries_.back();
  try {
    FatBinary read = read_fat_binary(fat_binary);
    binary.registers = std::move(read.registers);
    for (std::string& text : read.ptx) {
      const std::string name =
          fmt::format("module{}.{}.ptx", binaries_.size(), binary.modules.size());
      text = mutated(std::move(text));
      if (const char* folder = std::getenv("GIBBSITE_PTX_DUMP"))
        std::ofstream(fmt::format("{}/{}", folder, name)) << text;
      binary.modules.push_back(std::make_unique<Module>(name, std::move(text)));
    }
  } catch (const std::exception& error) {
    binary.error = error.what();
  }
  return &binary;
}

void Registry::add_variable(const void* host, Binary* binary, std::string name) {
  variables_[host] = {binary, std::move(name)};
}

Function* Registry::find(const void* host) {
  const auto found = functions_.find(host);
  return found == functions_.end() ? nullptr : &found->second;
}

u8* Registry::find_variable(const void* host) {
  const auto found = variables_.find(host);
  if (found == variables_.end()) return nullptr;
  for (const auto& module : found->second.binary->modules) {
    const auto variable = module->variables.find(found->second.name);
    if (variable != module->variables.end()) return variable->second.memory;
  }
  return nullptr;
}

Kernel& Function::kernel() const {
  if (!binary->error.empty()) throw std::runtime_error(binary->error);
  for (const auto& module : binary->modules) {
    if (module->entries.contains(name)) return module->kernel(name);
  }
  throw std::runtime_error(fmt::format(
      "ptx: there is no PTX of {}; compile for an architecture that embeds it, such as 90", name));
}

u32 Function::registers() const {
  const auto found = binary->registers.find(name);
  if (found == binary->registers.end()) {
    throw std::runtime_error(fmt::format(
        "ptx: there is no machine code of {}, whose registers occupancy asks for; compile for an architecture that embeds it, such as 90",
        name));
  }
  return found->second;
}

void Registry::write_coverage(const std::string& path) const {
  std::ofstream file(path, std::ios::app);
  for (const auto& binary : binaries_) {
    for (const auto& module : binary->modules) {
      for (const auto& [name, range] : module->entries) {
        const auto registers = binary->registers.find(name);
        std::size_t executed = 0, instructions = 0;
        const auto kernel = module->kernels.find(name);
        if (kernel != module->kernels.end() && kernel->second != nullptr) {
          const std::vector<u32>& times = kernel->second->executed;
          instructions = times.size();
          executed =
              instructions - static_cast<std::size_t>(std::count(times.begin(), times.end(), 0U));
        }
        file << name << ' ' << executed << ' ' << instructions << ' '
             << (registers == binary->registers.end() ? 0 : registers->second) << '\n';
      }
    }
  }
}

}  // namespace gibbsite::ptx
