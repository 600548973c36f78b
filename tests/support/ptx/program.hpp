#pragma once
// PTX programs as the interpreter holds them: modules, kernels, decoded instructions.
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gibbsite::ptx {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
__extension__ using s128 = __int128;
__extension__ using u128 = unsigned __int128;

constexpr u32 warp_size = 32;
constexpr u32 all_lanes = ~0u;

struct Warp;
struct Instruction;
struct Module;

/// Executes an instruction for the lanes of a mask.
using Execute = void (*)(Warp&, const Instruction&, u32 lanes);

/// What the scheduler does with an instruction.
enum class Control : u8 {
  normal,
  branch,
  exit,
  trap,
  barrier,        // waits for warps of the block
  converge_all,   // needs every lane that has not left the kernel (.aligned)
  converge_mask,  // needs the lanes of its member mask (.sync)
};

enum class Space : u8 { generic, global, shared, local, param };

/// What the rules of wgmma's registers have to know of an instruction. `predicates`: it has none.
enum class Role : u8 { other, wgmma, move, load, unpack, predicates };

/// An operand that is not there.
constexpr int none = INT_MIN;

/// A decoded instruction. A register operand r >= 0 is a register; r < 0 is constant ~r of the
/// kernel.
struct Instruction {
  Execute execute = nullptr;
  Control control = Control::normal;
  Role role = Role::other;
  Space space = Space::generic;
  u8 bytes = 0;     // of an element
  u8 elements = 1;  // of a vector access
  u8 option = 0;    // what the opcode's modifiers say beyond that; its execute function names them
  u8 option2 = 0;
  bool strong = false;   // relaxed, volatile or stronger: no data race with another strong access
  bool acquire = false;  // memory order
  bool release = false;
  bool sets_predicate = false;  // d is a predicate
  bool tracked = false;         // reads or writes a register that a wgmma uses
  bool guard_negated = false;
  bool p_negated = false;
  int guard = -1;  // predicate register of @p
  int d = -1;      // destination: register or predicate
  int d2 = -1;     // second destination: predicate
  int p = -1;      // source predicate
  std::array<int, 4> s{none, none, none, none};
  s64 immediate = 0;
  int target = -1;        // index of the instruction that a branch goes to
  int line = 0;           // of the PTX text
  std::vector<int> v, w;  // registers of vectors and fragments
};

/// A kernel (.entry) with every function that it calls laid into it.
struct Kernel {
  struct Parameter {
    u32 offset, size;
  };
  std::string name;
  Module* module = nullptr;
  std::vector<Instruction> code;
  int registers = 0, predicates = 0;
  std::vector<u64> constants;
  std::vector<u64> lane_constants;  // each of them for every lane
  u32 parameter_bytes = 0;
  std::vector<Parameter> parameters;
  u32 local_bytes = 0, static_shared = 0;
  u32 most_threads = 0;      // .maxntid, 0: not said
  u32 dynamic_align = 16;    // of extern shared memory
  u32 dynamic_at = 0;        // its address
  std::vector<u8> of_wgmma;  // by register: a wgmma reads or writes it
  bool uses_wgmma = false;
  std::vector<u32> executed;  // warp instructions, by instruction
};

/// A grid of blocks of threads with its parameters.
struct Launch {
  std::array<u32, 3> grid{1, 1, 1}, block{1, 1, 1};
  u32 dynamic_shared = 0;
  bool cooperative = false;
  const u8* parameters = nullptr;
};

/// The PTX of one translation unit.
struct Module {
  struct Range {
    std::size_t begin, end;
  };
  struct Variable {
    Space space = Space::global;
    u32 align = 8;
    u64 size = 0;
    bool external = false;
    u8* memory = nullptr;   // of a global or constant variable
    u32 shared_offset = 0;  // in the kernel that is being parsed, 0: none yet
  };

  /// Finds functions and variables of the text. Throws std::runtime_error naming the line.
  Module(std::string module_name, std::string ptx);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  /// Decodes that kernel at its first use. Throws std::runtime_error naming the line.
  Kernel& kernel(const std::string& entry);
  [[nodiscard]] int line(std::size_t at) const;

  std::string name, text;
  std::map<std::string, Range> entries, functions;
  std::map<std::string, Variable> variables;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
  std::map<std::string, u32>
      machine_registers;  // by kernel, of ptxas's machine code beside the PTX
  std::vector<std::size_t> line_starts;
};

/// Shared memory begins there, so that address 0 is none of it.
constexpr u32 shared_base = 1024;

/// Runs a grid to its end. Throws std::runtime_error: what a rule of PTX forbids, with the PTX
/// line.
void run(Kernel& kernel, const Launch& launch);

/// Instructions that have run.
struct Counts {
  u64 launches = 0, warp_instructions = 0;
};
Counts& counts();

/// How a run is disturbed. Results that depend on any of it depend on what PTX leaves open.
struct Options {
  bool lanes_apart = false;  // lanes of a warp run apart, in random order, until they must meet
  bool approximations =
      false;     // ex2, rcp, rsqrt and sums of matrix units are off by what PTX allows
  u64 seed = 1;  // of the order of warps, blocks and copies
  std::size_t blocks_at_once = 4;
  u64 most_instructions = 20'000'000'000;  // of a launch; more is taken for a loop without end
};
Options& options();

}  // namespace gibbsite::ptx
