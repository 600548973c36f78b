#include "support/ptx/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "support/ptx/decode.hpp"
#include "support/ptx/races.hpp"

namespace gibbsite::ptx {
namespace {

void need_all_lanes(const Warp& warp, u32 lanes, const char* what) {
  if (lanes != all_lanes || warp.alive != all_lanes)
    fault(warp, fmt::format("{} without all lanes of the warp", what));
}

// ---- mma.f64. PTX ISA, "Matrix Fragments for mma.m8n8k4 / m16n8k4, k8, k16 with .f64": lane 4g +
// t.

struct DoubleShape {
  u32 rows, depth;
  [[nodiscard]] u32 of_a() const { return rows * depth / warp_size; }
  [[nodiscard]] u32 of_b() const { return depth * 8 / warp_size; }
  [[nodiscard]] u32 of_c() const { return rows * 8 / warp_size; }
};
struct Place {
  u32 row, column;
};
Place place_in_a(const DoubleShape& shape, u32 lane, u32 i) {
  const u32 row_blocks = shape.rows / 8;
  return {lane / 4 + 8 * (i % row_blocks), lane % 4 + 4 * (i / row_blocks)};
}
Place place_in_b(u32 lane, u32 i) { return {lane % 4 + 4 * i, lane / 4}; }
Place place_in_c(u32 lane, u32 i) { return {lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2}; }

// option: rows; option2: depth. v: D; w: A, B, C.
void multiply_doubles(Warp& warp, const Instruction& in, u32 lanes) {
  need_all_lanes(warp, lanes, "mma");
  const DoubleShape shape{in.option, in.option2};
  double a[16][16], b[16][8], c[16][8];
  for (u32 lane = 0; lane < warp_size; ++lane) {
    std::size_t next = 0;
    const auto element = [&] { return from_bits<double>(warp.source(in.w[next++])[lane]); };
    for (u32 i = 0; i < shape.of_a(); ++i) {
      const Place at = place_in_a(shape, lane, i);
      a[at.row][at.column] = element();
    }
    for (u32 i = 0; i < shape.of_b(); ++i) {
      const Place at = place_in_b(lane, i);
      b[at.row][at.column] = element();
    }
    for (u32 i = 0; i < shape.of_c(); ++i) {
      const Place at = place_in_c(lane, i);
      c[at.row][at.column] = element();
    }
  }
  // PTX leaves the order of the sum open.
  const bool descending = options().approximations && (options().seed & 1) != 0;
  for (u32 row = 0; row < shape.rows; ++row) {
    for (u32 column = 0; column < 8; ++column) {
      double& sum = c[row][column];
      for (u32 i = 0; i < shape.depth; ++i) {
        const u32 k = descending ? shape.depth - 1 - i : i;
        sum = std::fma(a[row][k], b[k][column], sum);
      }
    }
  }
  for (u32 lane = 0; lane < warp_size; ++lane) {
    for (u32 i = 0; i < shape.of_c(); ++i) {
      const Place at = place_in_c(lane, i);
      warp.destination(in.v[i])[lane] = to_bits<double>(c[at.row][at.column]);
    }
  }
}

// ---- wgmma. PTX ISA, "Asynchronous warpgroup matrix multiply-accumulate", matrices without
// swizzle.

constexpr u32 wgmma_depth = 16;

// A matrix descriptor of shared memory: "Matrix Descriptor Format".
struct Descriptor {
  u64 bits;
  bool transposed;  // rows (of A) or columns (of B) lie next to each other
  [[nodiscard]] u32 start() const { return static_cast<u32>(bits & 0x3fff) << 4; }
  [[nodiscard]] u32 leading() const { return static_cast<u32>(bits >> 16 & 0x3fff) << 4; }
  [[nodiscard]] u32 stride() const { return static_cast<u32>(bits >> 32 & 0x3fff) << 4; }
  // Core matrices are 8 times 16 bytes.
  [[nodiscard]] u32 address(u32 across, u32 k) const {
    const u32 core = start() + across / 8 * stride() + k / 8 * leading();
    return transposed ? core + k % 8 * 16 + across % 8 * 2 : core + across % 8 * 16 + k % 8 * 2;
  }
};
void check_descriptor(Warp& warp, const Descriptor& descriptor) {
  constexpr u64 known =
      u64{0x3fff} | u64{0x3fff} << 16 | u64{0x3fff} << 32 | u64{7} << 49 | u64{3} << 62;
  if (descriptor.bits >> 62 != 0) {
    fault(
        warp,
        "wgmma: a descriptor of a swizzled matrix is not modelled; matrices without swizzle are (bits 62, 63 are 0)");
  }
  if ((descriptor.bits & ~known) != 0) fault(warp, "wgmma: reserved bits of a descriptor are set");
  if ((descriptor.bits >> 49 & 7) != 0)
    fault(warp, "wgmma: a base offset without swizzle is not modelled");
}

float bf16_value(u32 bits) { return std::bit_cast<float>(bits << 16); }

float read_bf16(Warp& warp, u32 address) {
  shared_at(warp, address, 2, -1);
  for (u32 i = 0; i < 2; ++i) {
    const ByteState state = warp.block->state[address + i];
    if (state == ByteState::copying) fault(warp, "wgmma reads what is still being copied");
    if (state == ByteState::unwritten) fault(warp, "wgmma reads what was never written");
    if (state == ByteState::mbarrier) fault(warp, "wgmma reads an mbarrier");
  }
  u16 bits = 0;
  std::memcpy(&bits, warp.block->shared.data() + address, 2);
  return bf16_value(bits);
}

// Reads [first, first + count) by 16 elements: values[k * count + i]. Its bytes are in use until
// the wait.
void read_matrix(Warp& warp, const Descriptor& descriptor, u32 first, u32 count,
                 std::vector<float>& values) {
  check_descriptor(warp, descriptor);
  values.resize(std::size_t{wgmma_depth} * count);
  u32 from = UINT32_MAX, to = 0;
  for (u32 i = 0; i < count; ++i) {
    for (u32 k = 0; k < wgmma_depth; ++k) {
      const u32 address = descriptor.address(first + i, k);
      values[std::size_t{k} * count + i] = read_bf16(warp, address);
      if (address % 16 != 0) continue;  // once for each row of a core matrix
      check_matrix_read(warp, address, 16, warp.thread(0));
      from = std::min(from, address);
      to = std::max(to, address + 16);
    }
  }
  warp.matrix.reads.push_back({warp.matrix.open, from, to});
}

// A of this warp's 16 rows in registers: "Register Fragments for wgmma.mma_async.m64nNk16".
void read_fragment(const Warp& warp, const std::vector<int>& registers,
                   std::vector<float>& values) {
  values.resize(std::size_t{wgmma_depth} * 16);
  for (u32 lane = 0; lane < warp_size; ++lane) {
    for (u32 i = 0; i < 4; ++i) {
      const u32 pair = static_cast<u32>(warp.source(registers[i])[lane]);
      const u32 row = lane / 4 + 8 * (i % 2), k = 2 * (lane % 4) + 8 * (i / 2);
      values[std::size_t{k} * 16 + row] = bf16_value(pair & 0xffff);
      values[std::size_t{k + 1} * 16 + row] = bf16_value(pair >> 16);
    }
  }
}

bool is_under_way(const MatrixRegisters& matrix, int r) {
  return matrix.group[static_cast<std::size_t>(r)] > matrix.completed;
}
void check_registers(Warp& warp, const Instruction& in) {
  const MatrixRegisters& matrix = warp.matrix;
  if (!matrix.fenced) fault(warp, "wgmma: no wgmma.fence came before");
  for (const int r : in.v) {
    const auto i = static_cast<std::size_t>(r);
    if (matrix.written[i] != 0)
      fault(warp, "wgmma: an accumulator was written and no wgmma.fence came after");
    if (is_under_way(matrix, r) && matrix.accumulates[i] == 0)
      fault(warp, "wgmma: an accumulator is another one's operand under way");
  }
  for (const int r : in.w) {
    const auto i = static_cast<std::size_t>(r);
    if (matrix.written[i] != 0)
      fault(warp, "wgmma: a register of A was written and no wgmma.fence came after");
    if (is_under_way(matrix, r) && matrix.accumulates[i] != 0)
      fault(warp, "wgmma: A is an accumulator under way");
  }
}
void use_registers(Warp& warp, const std::vector<int>& registers, bool accumulate) {
  for (const int r : registers) {
    warp.matrix.group[static_cast<std::size_t>(r)] = warp.matrix.open;
    warp.matrix.accumulates[static_cast<std::size_t>(r)] = accumulate ? 1 : 0;
  }
}
// The four warps of a group execute the same ones.
void log_wgmma(Warp& warp, const Instruction& in, const MatrixLog& entry) {
  if (warp.id / 4 * 4 + 4 > warp.block->warp_count())
    fault(warp, "wgmma in a part of a warp group");
  std::vector<MatrixLog>& log = warp.block->matrix_log[warp.id / 4];
  const u32 index = warp.matrix.executed++;
  if (index == log.size()) {
    log.push_back(entry);
    return;
  }
  const MatrixLog& first = log[index];
  if (first.at != &in || first.a != entry.a || first.b != entry.b || first.adds != entry.adds) {
    fault(warp, "wgmma: warps of a group execute different ones");
  }
}
u64 uniform(Warp& warp, int operand) {
  const u64* values = warp.source(operand);
  if (std::any_of(values, values + warp_size, [&](u64 value) { return value != values[0]; })) {
    fault(warp, "wgmma: a descriptor differs between lanes");
  }
  return values[0];
}

// D = A B (+ D): products of one instruction are added in double and rounded once.
void accumulate(Warp& warp, const Instruction& in, u32 columns, bool adds,
                const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<double> sums(columns);
  for (u32 row = 0; row < 16; ++row) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (u32 k = 0; k < wgmma_depth; ++k) {
      const double factor = a[k * 16 + row];
      const float* from = &b[std::size_t{k} * columns];
      for (u32 column = 0; column < columns; ++column)
        sums[column] += factor * static_cast<double>(from[column]);
    }
    for (u32 column = 0; column < columns; ++column) {
      const u32 lane = row % 8 * 4 + column % 8 / 2, i = column / 8 * 4 + row / 8 * 2 + column % 2;
      u64& d = warp.destination(in.v[i])[lane];
      const double sum = sums[column] + (adds ? static_cast<double>(from_bits<float>(d)) : 0.0);
      float rounded = static_cast<float>(sum);
      // A GPU may cut off instead of rounding.
      if (options().approximations && std::isfinite(rounded) &&
          std::fabs(static_cast<double>(rounded)) > std::fabs(sum)) {
        rounded = std::nextafterf(rounded, 0.0F);
      }
      d = to_bits<float>(rounded);
    }
  }
}

// option2: columns / 8; immediate: bit 0 transposes A, bit 1 B. v: D; w: A in registers.
void wgmma(Warp& warp, const Instruction& in, u32 lanes) {
  need_all_lanes(warp, lanes, "wgmma");
  const u32 columns = in.option2 * 8U, scale = warp.predicate(in.p);
  if (scale != 0 && scale != all_lanes) fault(warp, "wgmma: scale-d differs between lanes");
  const bool in_registers = !in.w.empty();
  const u64 a_bits = in_registers ? 0 : uniform(warp, in.s[0]), b_bits = uniform(warp, in.s[1]);
  log_wgmma(warp, in, {&in, a_bits, b_bits, scale != 0});
  check_registers(warp, in);
  static thread_local std::vector<float> a, b;
  read_matrix(warp, {b_bits, (in.immediate & 2) != 0}, 0, columns, b);
  if (in_registers)
    read_fragment(warp, in.w, a);
  else
    read_matrix(warp, {a_bits, (in.immediate & 1) != 0}, warp.id % 4 * 16, 16, a);
  accumulate(warp, in, columns, scale != 0, a, b);
  use_registers(warp, in.v, true);
  use_registers(warp, in.w, false);
}

void matrix_fence(Warp& warp, const Instruction&, u32 lanes) {
  need_all_lanes(warp, lanes, "wgmma.fence");
  std::fill(warp.matrix.written.begin(), warp.matrix.written.end(), u8{0});
  warp.matrix.fenced = true;
}
void matrix_commit(Warp& warp, const Instruction&, u32) { ++warp.matrix.open; }
// immediate: groups that may stay under way.
void matrix_wait(Warp& warp, const Instruction& in, u32) {
  MatrixRegisters& matrix = warp.matrix;
  const u32 committed = matrix.open - 1, left = static_cast<u32>(in.immediate);
  matrix.completed = std::max(matrix.completed, committed > left ? committed - left : 0);
  std::erase_if(matrix.reads, [&](const MatrixRead& read) {
    if (read.group > matrix.completed) return false;
    record_matrix_read(warp, read.from, read.to);
    return true;
  });
}
void set_register_count(Warp& warp, const Instruction& in, u32) {
  if (in.immediate % 8 != 0 || in.immediate < 24 || in.immediate > 256)
    fault(warp, "setmaxnreg: the count is out of range");
}

// ---- Decoding

void take_fragment(const Decoding& in, std::size_t index, u32 count, std::vector<int>& to,
                   bool is_destination) {
  const Operand& operand = in.operand(index);
  if (operand.kind != Operand::Kind::vector || operand.vector.size() != count) {
    throw std::runtime_error(fmt::format("operand {} has not {} registers", index, count));
  }
  for (const Operand& element : operand.vector) {
    to.push_back(is_destination ? destination(element) : in.source(element));
  }
}
void decode_mma(const Decoding& in) {
  static const std::map<std::string, DoubleShape> shapes = {
      {"m8n8k4", {8, 4}}, {"m16n8k4", {16, 4}}, {"m16n8k8", {16, 8}}, {"m16n8k16", {16, 16}}};
  const auto shape = shapes.find(in.op.words.at(3));
  const std::vector<std::string> form = {"mma", "sync", "aligned", in.op.words[3], "row",
                                         "col", "f64",  "f64",     "f64",          "f64"};
  if (shape == shapes.end() || in.op.words != form) {
    throw std::runtime_error(
        "mma is modelled as .sync.aligned.SHAPE.row.col.f64.f64.f64.f64 alone");
  }
  const DoubleShape& s = shape->second;
  in.out.option = static_cast<u8>(s.rows);
  in.out.option2 = static_cast<u8>(s.depth);
  in.out.control = Control::converge_all;
  take_fragment(in, 0, s.of_c(), in.out.v, true);
  take_fragment(in, 1, s.of_a(), in.out.w, false);
  take_fragment(in, 2, s.of_b(), in.out.w, false);
  take_fragment(in, 3, s.of_c(), in.out.w, false);
  in.execute(multiply_doubles);
}
s64 immediate_of(const Decoding& in, std::size_t index) {
  if (in.operand(index).kind != Operand::Kind::immediate)
    throw std::runtime_error("an immediate is missing");
  return static_cast<s64>(in.operand(index).value);
}
u32 columns_of(const std::string& shape) {
  if (shape.rfind("m64n", 0) == 0 && shape.size() > 7 && shape.substr(shape.size() - 3) == "k16") {
    const u32 columns = static_cast<u32>(std::stoul(shape.substr(4)));
    if (columns % 8 == 0 && columns >= 8 && columns <= 256) return columns;
  }
  throw std::runtime_error("the shape of wgmma is not modelled");
}
void decode_mma_async(const Decoding& in) {
  const std::vector<std::string> form = {"wgmma",           "mma_async", "sync", "aligned",
                                         in.op.words.at(4), "f32",       "bf16", "bf16"};
  if (in.op.words != form)
    throw std::runtime_error(
        "wgmma is modelled as .mma_async.sync.aligned.SHAPE.f32.bf16.bf16 alone");
  const u32 columns = columns_of(in.op.words[4]);
  in.out.option2 = static_cast<u8>(columns / 8);
  take_fragment(in, 0, columns / 2, in.out.v, true);
  if (std::set<int>(in.out.v.begin(), in.out.v.end()).size() != in.out.v.size())
    throw std::runtime_error("an accumulator stands twice");
  const bool in_registers = in.operand(1).kind == Operand::Kind::vector;
  if (in_registers)
    take_fragment(in, 1, 4, in.out.w, false);
  else
    in.out.s[0] = in.source(1);
  in.out.s[1] = in.source(2);
  in.out.p = predicate(in.operand(3));
  if (immediate_of(in, 4) != 1 || immediate_of(in, 5) != 1)
    throw std::runtime_error("a scale of wgmma other than 1 is not modelled");
  if (in.operands.size() != (in_registers ? 7U : 8U))
    throw std::runtime_error("wgmma has another number of operands");
  in.out.immediate =
      in_registers ? immediate_of(in, 6) << 1 : immediate_of(in, 6) | immediate_of(in, 7) << 1;
  in.out.role = Role::wgmma;
  in.execute(wgmma);
}
void decode_wgmma(const Decoding& in) {
  in.out.control = Control::converge_all;
  const std::string& what = in.op.words.at(1);
  if (what == "mma_async") return decode_mma_async(in);
  in.op.allow_only({"fence", "commit_group", "wait_group", "sync", "aligned"});
  if (what == "fence") return in.execute(matrix_fence);
  if (what == "commit_group") return in.execute(matrix_commit);
  in.out.immediate = immediate_of(in, 0);
  in.execute(matrix_wait);
}

}  // namespace

void track_matrix_registers(Warp& warp, const Instruction& in) {
  MatrixRegisters& matrix = warp.matrix;
  const auto is_followed = [&](int r) {
    return r >= 0 && warp.kernel->of_wgmma[static_cast<std::size_t>(r)] != 0;
  };
  const bool is_copy = in.role == Role::move && is_followed(in.d) && is_followed(in.s[0]);
  const auto read = [&](int r) {
    if (!is_followed(r) || !is_under_way(matrix, r) ||
        matrix.accumulates[static_cast<std::size_t>(r)] == 0)
      return;
    fault(warp, "wgmma: an accumulator is read before wgmma.wait_group");
  };
  const auto write = [&](int r) {
    if (!is_followed(r)) return;
    if (is_under_way(matrix, r)) fault(warp, "wgmma: a register under way is written");
    matrix.written[static_cast<std::size_t>(r)] = 1;
    matrix.group[static_cast<std::size_t>(r)] = 0;
  };
  if (is_copy) {  // ptxas gives both one register
    const auto to = static_cast<std::size_t>(in.d), from = static_cast<std::size_t>(in.s[0]);
    if (is_under_way(matrix, in.d)) fault(warp, "wgmma: a register under way is written");
    matrix.written[to] = matrix.written[from];
    matrix.group[to] = matrix.group[from];
    matrix.accumulates[to] = matrix.accumulates[from];
    return;
  }
  const bool writes_vector = in.role == Role::load || in.role == Role::unpack;
  for (const int r : in.s) read(r);
  if (!writes_vector) {
    for (const int r : in.v) read(r);
    for (const int r : in.w) read(r);
  }
  if (!in.sets_predicate) write(in.d);
  if (writes_vector) {
    for (const int r : in.v) write(r);
  }
}

bool decode_matrix(const Decoding& in) {
  if (in.op.name() == "mma")
    decode_mma(in);
  else if (in.op.name() == "wgmma")
    decode_wgmma(in);
  else if (in.op.name() == "setmaxnreg") {
    in.out.control = Control::converge_all;
    in.out.immediate = immediate_of(in, 0);
    in.execute(set_register_count);
  } else
    return false;
  return true;
}

}  // namespace gibbsite::ptx
