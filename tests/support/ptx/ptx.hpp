// A PTX interpreter: strict, warp-wide registers, independent thread scheduling.
#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
namespace ptx {
using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s32 = int32_t;
using s64 = int64_t;
struct Warp;
struct I;
struct Block;
struct Kernel;
using Fn = void (*)(Warp&, const I&, u32);
enum Kind : u8 { Normal, Bra, Exit, Bar, ConvAll, ConvMask, Trap };
enum Space : u8 { Generic, Global, Shared, Local, Param, Const };
struct I {
  Fn fn = nullptr;
  Kind kind = Normal;
  Space space = Generic;
  u8 bytes = 0, vec = 1, flag = 0, flag2 = 0;
  bool neg = false;
  int guard = -1;       // predicate register
  int d = -1, d2 = -1;  // destination, destination predicate
  int s[4] = {INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN};
  int p = -1;  // source predicate
  bool pneg = false;
  s64 imm = 0;
  int target = -1;
  int line = 0;
  std::vector<int> v, w;  // vector operands
  const std::string* text = nullptr;
  bool tracked = false;  // writes a register that a wgmma uses
};
struct Module;
struct Kernel {
  std::string name;
  Module* module = nullptr;
  std::vector<I> code;
  int registers = 0, predicates = 0;
  std::vector<u64> constants;  // splat to 32
  u32 param_bytes = 0;
  std::vector<std::pair<u32, u32>> params;  // offset, size
  u32 local_bytes = 0, static_shared = 0;
  u32 maxntid = 0, minnctapersm = 0;
  bool has_dynamic = false;
  u32 dynamic_align = 16;
  u32 dynamic_at = 0;
  std::vector<u8> wgmma_reg;
  bool uses_wgmma = false;
  std::vector<u32> count;  // executions, of a warp, by instruction (coverage)
};
struct Launch {
  u32 grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  u32 dynamic_shared = 0;
  bool cooperative = false;
  const u8* params = nullptr;
};
struct Module {
  std::string name, text, target;
  std::map<std::string, std::pair<size_t, size_t>> entries, funcs;  // name -> [from, to)
  struct Var {
    Space space;
    u32 align;
    u64 size;
    u8* host = nullptr;
    u32 offset = 0;
    bool external = false;
  };
  std::map<std::string, Var> vars;
  std::vector<size_t> line_at;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
  explicit Module(std::string name, std::string text);
  Kernel& kernel(const std::string& name);
  int line(size_t at) const;
};
// Runs a grid to its end; throws std::runtime_error with the PTX line.
void run(Kernel&, const Launch&);
struct Allocation {
  u64 at, size;
};
void add_allocation(u64 at, u64 size);
void remove_allocation(u64 at);
bool find_allocation(u64 at, u64 size);
struct Stats {
  u64 launches = 0, warp_instructions = 0, lane_instructions = 0;
};
extern Stats stats;
struct Options {
  bool lanes = false;   // run lanes apart until they must meet, in random order
  bool approx = false;  // perturb approximations within what PTX allows
  u64 seed = 1;
  int blocks_at_once = 4;
};
extern Options options;
// operand of an instruction
struct Operand {
  enum K { Reg, Pred, Imm, Vec, Addr, Label, Special, Symbol, Under } kind = Under;
  int id = 0;
  bool neg = false;
  s64 off = 0;
  u64 value = 0;
  std::string name;
  std::vector<Operand> vec;
  Space space = Generic;
  bool has_base = false;
  bool isfloat = false;
};
}  // namespace ptx
