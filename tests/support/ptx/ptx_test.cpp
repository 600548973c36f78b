// The GPU in software finds what it is there to find, in small kernels written by hand; and what it
// must
// not take for an error. Kernels of nvcc with planted defects: tests/kernels/ptx_mutations.py.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/ptx/fat_binary.hpp"
#include "support/ptx/global_memory.hpp"
#include "support/ptx/program.hpp"

namespace gibbsite::ptx {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// 64 words of global memory, which are the parameter of every kernel here.
class Words {
 public:
  Words() { global_memory().add(address(), sizeof(values_)); }
  ~Words() { global_memory().remove(address()); }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  u32& operator[](std::size_t i) { return values_[i]; }
  [[nodiscard]] u64 address() const { return reinterpret_cast<u64>(values_.data()); }

 private:
  alignas(256) std::array<u32, 64> values_{};
};

struct Shape {
  u32 blocks = 1, threads = 32;
  bool cooperative = false;
};

// %rd1: the address of the words; %r1: the thread; %r2: the block.
std::string kernel_text(const std::string& body, const std::string& module_scope = "") {
  return fmt::format(R"(.version 9.0
.target sm_90a
.address_size 64
{}
.visible .entry k(.param .u64 k_param_0)
{{
  .reg .pred %p<10>;
  .reg .b32 %r<80>;
  .reg .f32 %f<40>;
  .reg .f64 %fd<20>;
  .reg .b64 %rd<20>;
  .shared .align 16 .b8 pool[1024];
  ld.param.u64 %rd1, [k_param_0];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
{}
  ret;
}}
)",
                     module_scope, body);
}
void run_kernel(Words& words, const std::string& body, const Shape& shape = {}) {
  Module module("test.ptx", kernel_text(body));
  Kernel& kernel = module.kernel("k");
  const u64 parameter = words.address();
  std::array<u8, 16> parameters{};
  std::memcpy(parameters.data(), &parameter, sizeof parameter);
  Launch launch;
  launch.grid = {shape.blocks, 1, 1};
  launch.block = {shape.threads, 1, 1};
  launch.cooperative = shape.cooperative;
  launch.parameters = parameters.data();
  run(kernel, launch);
}
#define EXPECT_FAULT(body, shape, words_of_it)                              \
  do {                                                                      \
    Words words;                                                            \
    EXPECT_THAT([&] { run_kernel(words, body, shape); },                    \
                ThrowsMessage<std::runtime_error>(HasSubstr(words_of_it))); \
  } while (false)
#define EXPECT_NO_FAULT(body, shape)                 \
  do {                                               \
    Words words;                                     \
    EXPECT_NO_THROW(run_kernel(words, body, shape)); \
  } while (false)

// Word `block` of its own.
const std::string own_word = R"(
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  setp.ne.u32 %p1, %r1, 0;
)";
const std::string next_word = R"(
  add.u32 %r10, %r2, 1;
  and.b32 %r10, %r10, 3;
  mul.wide.u32 %rd4, %r10, 4;
  add.s64 %rd5, %rd1, %rd4;
)";
// Thread 3 of every block writes its word; thread 0 comes to the barrier at word 32, a counter.
std::string grid_barrier(const std::string& before, const std::string& arrive,
                         const std::string& wait, const std::string& after) {
  return own_word + next_word + R"(
  setp.ne.u32 %p2, %r1, 3;
  @%p2 bra arrived;
  st.global.u32 [%rd3], %r2;
arrived:
)" + before +
         R"(
  @%p1 bra behind;
)" + arrive +
         R"(
again:
)" + wait +
         R"(
  setp.ne.u32 %p3, %r11, 4;
  @%p3 bra again;
behind:
)" + after +
         R"(
  ld.global.u32 %r12, [%rd5];
)";
}
const char* const block_barrier = "bar.sync 0;";
const char* const release = "red.release.gpu.global.add.u32 [%rd1+128], 1;";
const char* const acquire = "ld.acquire.gpu.u32 %r11, [%rd1+128];";
constexpr Shape four_blocks{4, 32, true};

TEST(GlobalRaces, AreFoundBetweenBlocks) {
  EXPECT_FAULT("st.global.u32 [%rd1], %r2;", (Shape{2, 1}), "race: write of global");
  EXPECT_FAULT(own_word + next_word +
                   "@%p1 bra done; st.global.u32 [%rd3], %r2; ld.global.u32 %r3, [%rd5]; done:",
               four_blocks, "race: ");
}
TEST(GlobalRaces, AreFoundBetweenThreads) {
  EXPECT_FAULT("st.global.u32 [%rd1], %r1;", Shape{}, "race: write of global");
}
TEST(GlobalRaces, AreNoneOfWordsOrBytesOfOnesOwn) {
  EXPECT_NO_FAULT(own_word + "@%p1 bra done; st.global.u32 [%rd3], %r2; done:", four_blocks);
  EXPECT_NO_FAULT("cvt.u64.u32 %rd2, %r2; add.s64 %rd3, %rd1, %rd2; st.global.u8 [%rd3], %r2;",
                  (Shape{4, 1}));
  EXPECT_NO_FAULT("ld.global.u32 %r3, [%rd1];", (Shape{4, 64}));
}
TEST(GlobalRaces, AreNoneOfAtomics) {
  Words words;
  run_kernel(words, "red.global.add.u32 [%rd1], 1;", {4, 64});
  EXPECT_EQ(words[0], 256U);
}
TEST(GlobalRaces, AGridBarrierOrders) {
  EXPECT_NO_FAULT(grid_barrier(block_barrier, release, acquire, block_barrier), four_blocks);
  EXPECT_NO_FAULT(
      grid_barrier(block_barrier,
                   "fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%rd1+128], 1;",
                   "ld.volatile.global.u32 %r11, [%rd1+128]; membar.gl;", block_barrier),
      four_blocks);
}
TEST(GlobalRaces, AGridBarrierThatLacksAPartDoesNot) {
  EXPECT_FAULT(grid_barrier("", release, acquire, block_barrier), four_blocks,
               "race: read of global");
  EXPECT_FAULT(grid_barrier(block_barrier, release, acquire, ""), four_blocks,
               "race: read of global");
  EXPECT_FAULT(grid_barrier(block_barrier, "red.relaxed.gpu.global.add.u32 [%rd1+128], 1;", acquire,
                            block_barrier),
               four_blocks, "race: read of global");
  EXPECT_FAULT(grid_barrier(block_barrier, release, "ld.relaxed.gpu.global.u32 %r11, [%rd1+128];",
                            block_barrier),
               four_blocks, "race: read of global");
  EXPECT_FAULT(
      grid_barrier(block_barrier, "membar.cta; red.relaxed.gpu.global.add.u32 [%rd1+128], 1;",
                   acquire, block_barrier),
      four_blocks, "race: read of global");
}

TEST(SharedMemory, RacesAreFound) {
  const std::string exchange = R"(
  mov.u32 %r3, pool;
  shl.b32 %r4, %r1, 2;
  add.u32 %r5, %r3, %r4;
  xor.b32 %r6, %r5, 128;
  st.shared.u32 [%r5], %r1;
  {}
  ld.shared.u32 %r7, [%r6];
)";
  const Shape two_warps{1, 64};
  EXPECT_NO_FAULT(fmt::format(fmt::runtime(exchange), "bar.sync 0;"), two_warps);
  EXPECT_FAULT(fmt::format(fmt::runtime(exchange), "bar.warp.sync -1;"), two_warps, "shared");
}
TEST(SharedMemory, IsWrittenBeforeItIsRead) {
  EXPECT_FAULT("mov.u32 %r3, pool; ld.shared.u32 %r4, [%r3+4];", Shape{},
               "is read before it is written");
}
TEST(Addresses, AreAlignedAndInside) {
  EXPECT_FAULT("ld.global.u32 %r3, [%rd1+2];", Shape{}, "misaligned");
  EXPECT_FAULT("ld.global.u32 %r3, [%rd1+256];", Shape{}, "is in no allocation");
  EXPECT_FAULT("mov.u32 %r3, pool; st.shared.u32 [%r3+4096], %r1;", Shape{}, "is outside");
}
TEST(Barriers, DeadlocksAreFound) {
  EXPECT_FAULT("setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 1, 64;", (Shape{1, 64}), "deadlock");
  EXPECT_FAULT(
      "setp.eq.u32 %p1, %r1, 0; @%p1 bra one; bar.warp.sync -1; bra done; one: bar.warp.sync 1; bar.sync 0; done:",
      Shape{}, "lanes of a warp wait for each other");
}

// ---- What is refused

TEST(Refusals, NameTheLineAndTheInstruction) {
  EXPECT_FAULT("fma.rz.f64 %fd1, %fd2, %fd3, %fd4;", Shape{},
               "test.ptx:16: the modifier .rz is not modelled: fma.rz.f64");
  EXPECT_FAULT("tanh.approx.f32 %f1, %f2;", Shape{}, "the instruction is not modelled: tanh");
  EXPECT_FAULT("ld.global.u32 %r3, [%rd1+4+4];", Shape{}, "is no number");
}
std::string mma(const std::string& layouts) {
  return "mma.sync.aligned.m8n8k4." + layouts +
         ".f64.f64.f64.f64 {%fd1, %fd2}, {%fd3}, {%fd4}, {%fd5, %fd6};";
}
TEST(Refusals, MmaIsRowColAlone) {
  EXPECT_NO_FAULT(mma("row.col"), Shape{});
  for (const char* layouts : {"col.row", "row.row", "col.col", "row.col.row"}) {
    EXPECT_FAULT(mma(layouts), Shape{}, ".row.col.");
  }
}
// A descriptor's bits, of A as of B: reads 2 kB of shared memory.
std::string wgmma(u64 descriptor_bits) {
  return fmt::format(R"(
  mov.u32 %r3, pool;
  shr.u32 %r4, %r3, 4;
  cvt.u64.u32 %rd2, %r4;
  or.b64 %rd2, %rd2, {};
  setp.ne.u32 %p1, %r1, %r1;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%f1, %f2, %f3, %f4}}, %rd2, %rd2, %p1, 1, 1, 0, 0;
)",
                     descriptor_bits);
}
TEST(Refusals, SwizzledDescriptors) {
  for (const u64 mode : {1U, 2U, 3U}) {
    EXPECT_FAULT(wgmma(mode << 62), (Shape{1, 128}),
                 "a descriptor of a swizzled matrix is not modelled");
  }
  EXPECT_FAULT(wgmma(u64{1} << 49), (Shape{1, 128}), "base offset");
  EXPECT_FAULT(wgmma(u64{1} << 15), (Shape{1, 128}), "reserved bits");
  EXPECT_FAULT(wgmma(0), (Shape{1, 128}), "never written");
}

// ---- Arithmetic

u32 result_of(const std::string& body) {
  Words words;
  run_kernel(words, body + "st.global.u32 [%rd1], %r10;", {1, 1});
  return words[0];
}
TEST(Arithmetic, OfIntegers) {
  EXPECT_EQ(result_of("prmt.b32 %r10, 0x44332211, 0x88776655, 0x7531;"), 0x88664422U);
  EXPECT_EQ(result_of("mov.u32 %r3, 0xf0; bfe.s32 %r10, %r3, 4, 4;"), 0xffffffffU);
  EXPECT_EQ(result_of("mov.u32 %r3, 0xf0; bfe.u32 %r10, %r3, 4, 4;"), 15U);
  EXPECT_EQ(result_of("bfi.b32 %r10, 0xff, 0, 8, 4;"), 0xf00U);
  EXPECT_EQ(result_of("shf.l.wrap.b32 %r10, 0x80000000, 1, 1;"), 3U);
  EXPECT_EQ(result_of("mul.hi.u32 %r10, 0xffffffff, 0xffffffff;"), 0xfffffffeU);
  EXPECT_EQ(result_of("mul.hi.s32 %r10, -1, 2;"), 0xffffffffU);
  EXPECT_EQ(result_of("shl.b32 %r10, 1, 32;"), 0U);
  EXPECT_EQ(result_of("shr.s32 %r10, -4, 40;"), 0xffffffffU);
  EXPECT_EQ(result_of("lop3.b32 %r10, 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0x96;"), 0x96969696U);
  EXPECT_EQ(result_of("add.cc.u32 %r3, 0xffffffff, 1; addc.u32 %r10, 5, 6;"), 12U);
  EXPECT_EQ(result_of("sub.cc.u32 %r3, 0, 1; subc.u32 %r10, 5, 6;"), 0xfffffffeU);
  EXPECT_EQ(result_of("clz.b32 %r10, 0x00010000;"), 15U);
  EXPECT_EQ(result_of("brev.b32 %r10, 1;"), 0x80000000U);
  EXPECT_EQ(result_of("popc.b32 %r10, 0xff00ff;"), 16U);
}
float float_of(const std::string& body) {
  return std::bit_cast<float>(result_of(body + "mov.b32 %r10, %f10;"));
}
TEST(Arithmetic, OfFloats) {
  EXPECT_EQ(result_of("cvt.rzi.s32.f32 %r10, 0f4F800000;"), 0x7fffffffU);  // 2^32
  EXPECT_EQ(result_of("cvt.rni.s32.f32 %r10, 0f40200000;"), 2U);           // 2.5
  EXPECT_EQ(result_of("cvt.rn.bf16x2.f32 %r10, 0f3F808000, 0f3F818000;"), 0x3f803f82U);
  EXPECT_EQ(float_of("copysign.f32 %f10, 0fBF800000, 0f40000000;"), -2.0F);
  EXPECT_TRUE(std::signbit(float_of("min.f32 %f10, 0f00000000, 0f80000000;")));
  EXPECT_EQ(float_of("max.f32 %f10, 0f7FC00000, 0f40000000;"), 2.0F);
  EXPECT_TRUE(std::isnan(float_of("max.NaN.f32 %f10, 0f7FC00000, 0f40000000;")));
  // 1 + 2^-30 rounded down is 1, 1 - 2^-30 the number below 1.
  EXPECT_EQ(float_of("fma.rm.f32 %f10, 0f30800000, 0f3F800000, 0f3F800000;"), 1.0F);
  EXPECT_EQ(float_of("fma.rm.f32 %f10, 0fB0800000, 0f3F800000, 0f3F800000;"),
            std::nextafterf(1.0F, 0.0F));
}

// ---- Fat binaries

TEST(FatBinaries, Lz4BlocksAreRead) {
  using namespace std::string_literals;
  const std::string block = "\x35"s + "abc" + "\x03\x00"s + "\x10"s + "x";
  EXPECT_EQ(decompress_lz4(block, 13), "abcabcabcabcx");
  const auto broken = ThrowsMessage<std::runtime_error>(HasSubstr("--no-compress"));
  EXPECT_THAT([&] { decompress_lz4(block, 12); }, broken);
  EXPECT_THAT([&] { decompress_lz4("\x35"s + "abc" + "\x00\x00"s + "\x10"s + "x", 13); }, broken);
  EXPECT_THAT([&] { decompress_lz4(block.substr(0, 3), 13); }, broken);
}
TEST(FatBinaries, ZstdFramesAreRead) {
  const std::string plain(10000, 'x');
  std::string frame(ZSTD_compressBound(plain.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), plain.data(), plain.size(), 3));
  EXPECT_EQ(decompress_zstd(frame, plain.size()), plain);
  EXPECT_THAT([&] { decompress_zstd(frame.substr(0, frame.size() / 2), plain.size()); },
              ThrowsMessage<std::runtime_error>(HasSubstr("--no-compress")));
}

template <class T>
void put(std::string& data, std::size_t at, T value) {
  std::memcpy(data.data() + at, &value, sizeof value);
}
// A container with one part of PTX.
std::string container(const std::string& content, u64 flags, u64 plain_size) {
  constexpr u32 part_header = 64, header = 16;
  std::string data(header + part_header, '\0');
  put(data, 0, u32{0xBA55ED50});
  put(data, 6, u16{header});
  put(data, 8, u64{part_header + content.size()});
  put(data, header, u16{1});
  put(data, header + 4, u32{part_header});
  put(data, header + 8, u64{content.size()});
  put(data, header + 16, static_cast<u32>(content.size()));
  put(data, header + 40, flags);
  put(data, header + 56, plain_size);
  return data + content;
}
FatBinary read(const std::string& data) {
  return read_fat_binary(reinterpret_cast<const u8*>(data.data()));
}
TEST(FatBinaries, AreReadPlainAndCompressed) {
  const std::string ptx = ".version 9.0\n" + std::string(200, ' ');
  std::string frame(ZSTD_compressBound(ptx.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), ptx.data(), ptx.size(), 3));
  EXPECT_EQ(read(container(ptx, 0x11, 0)).ptx.at(0), ptx);
  EXPECT_EQ(read(container(frame, 0x8011, ptx.size())).ptx.at(0), ptx);
}
TEST(FatBinaries, AnotherCompressionIsRefused) {
  EXPECT_THAT(
      [] { read(container("?", 0x4011, 100)); },
      ThrowsMessage<std::runtime_error>(HasSubstr("compile with nvcc's option --no-compress")));
  EXPECT_THAT([] { read(std::string(64, 'x')); },
              ThrowsMessage<std::runtime_error>(HasSubstr("no fat binary")));
}

}  // namespace
}  // namespace gibbsite::ptx
