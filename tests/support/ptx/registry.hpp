#pragma once
// What a program's objects register at its start: fat binaries, kernels, variables.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/ptx/program.hpp"

namespace gibbsite::ptx {

/// A fat binary that was registered, or why it could not be read.
struct Binary {
  std::vector<std::unique_ptr<Module>> modules;
  std::map<std::string, u32> registers;  // by kernel, of ptxas
  std::string error;
};

/// A kernel as host code knows it.
struct Function {
  Binary* binary = nullptr;
  std::string name;
  u32 most_dynamic_shared = 48 * 1024;

  /// Parses it at the first use. Throws std::runtime_error: no PTX, or what is not modelled.
  [[nodiscard]] Kernel& kernel() const;
  /// Registers of a thread: what ptxas gave the kernel in the machine code beside the PTX.
  [[nodiscard]] u32 registers() const;
};

class Registry {
 public:
  Binary* add(const u8* fat_binary);
  void add_function(const void* host, Function function) { functions_[host] = std::move(function); }
  void add_variable(const void* host, Binary* binary, std::string name);

  /// Null: not registered.
  Function* find(const void* host);
  u8* find_variable(const void* host);
  /// Appends `KERNEL EXECUTED INSTRUCTIONS REGISTERS` of every kernel to the file. Executed:
  /// instructions
  /// that some warp came to, 0 where it never ran.
  void write_coverage(const std::string& path) const;

 private:
  struct Variable {
    Binary* binary;
    std::string name;
  };
  std::vector<std::unique_ptr<Binary>> binaries_;
  std::map<const void*, Function> functions_;
  std::map<const void*, Variable> variables_;
};

/// GIBBSITE_PTX_MUTATION, for tests: a file of four lines, KEY, REGEX, FORMAT, N. In lines that
/// contain
/// KEY what matches REGEX becomes FORMAT; N > 0: in the N-th such line of each kernel alone.
std::string mutated(std::string ptx);

}  // namespace gibbsite::ptx
