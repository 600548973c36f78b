#pragma once
// The matrix unit of a Hopper block (kernels/matrix_unit.hpp): wgmma, mbarriers and bulk copies.
// Compiled for sm_90a alone.
#include <cuda_runtime.h>

#include "kernels/block.cuh"
#include "kernels/matrix_unit.hpp"

namespace gibbsite::kernels {
namespace wgmma {

// Accumulator operands %0 .. %(N/2 - 1) of m64nNk16, as text and as constraints.
// clang-format off

#define GIBBSITE_TEXT_16 "%0, %1, %2, %3, %4, %5, %6, %7"
#define GIBBSITE_OUT_16 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define GIBBSITE_TEXT_32 GIBBSITE_TEXT_16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define GIBBSITE_OUT_32 GIBBSITE_OUT_16, "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define GIBBSITE_TEXT_48 GIBBSITE_TEXT_32 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define GIBBSITE_OUT_48 GIBBSITE_OUT_32, "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define GIBBSITE_TEXT_64 GIBBSITE_TEXT_48 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define GIBBSITE_OUT_64 GIBBSITE_OUT_48, "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define GIBBSITE_TEXT_80 GIBBSITE_TEXT_64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define GIBBSITE_OUT_80 GIBBSITE_OUT_64, "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define GIBBSITE_TEXT_96 GIBBSITE_TEXT_80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define GIBBSITE_OUT_96 GIBBSITE_OUT_80, "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define GIBBSITE_TEXT_112 GIBBSITE_TEXT_96 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define GIBBSITE_OUT_112 GIBBSITE_OUT_96, "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define GIBBSITE_TEXT_128 GIBBSITE_TEXT_112 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define GIBBSITE_OUT_128 GIBBSITE_OUT_112, "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define GIBBSITE_TEXT_144 GIBBSITE_TEXT_128 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define GIBBSITE_OUT_144 GIBBSITE_OUT_128, "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define GIBBSITE_TEXT_160 GIBBSITE_TEXT_144 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define GIBBSITE_OUT_160 GIBBSITE_OUT_144, "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define GIBBSITE_TEXT_176 GIBBSITE_TEXT_160 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define GIBBSITE_OUT_176 GIBBSITE_OUT_160, "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define GIBBSITE_TEXT_192 GIBBSITE_TEXT_176 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define GIBBSITE_OUT_192 GIBBSITE_OUT_176, "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define GIBBSITE_TEXT_208 GIBBSITE_TEXT_192 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define GIBBSITE_OUT_208 GIBBSITE_OUT_192, "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define GIBBSITE_TEXT_224 GIBBSITE_TEXT_208 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define GIBBSITE_OUT_224 GIBBSITE_OUT_208, "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define GIBBSITE_TEXT_240 GIBBSITE_TEXT_224 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define GIBBSITE_OUT_240 GIBBSITE_OUT_224, "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define GIBBSITE_TEXT_256 GIBBSITE_TEXT_240 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define GIBBSITE_OUT_256 GIBBSITE_OUT_240, "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])

template <unsigned N>
struct Instruction;

// A from registers; B transposed (MN-major).
#define GIBBSITE_FRAGMENT(N, A0, A1, A2, A3, B, ADD)                                             \
  static __device__ __forceinline__ void fragment(float (&d)[N / 2], const std::uint32_t* a,     \
                                                  std::uint64_t b, int add) {                    \
    asm volatile(                                                                                \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %" #ADD ", 0;\n"                                       \
        "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 {" GIBBSITE_TEXT_##N "}, "     \
        "{%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B ", p, 1, 1, 1;\n}\n"                    \
        : GIBBSITE_OUT_##N                                                                       \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));                         \
  }
// Both from shared memory, K-major.
#define GIBBSITE_SHARED(N, A, B, ADD)                                                            \
  static __device__ __forceinline__ void shared(float (&d)[N / 2], std::uint64_t a,              \
                                                std::uint64_t b, int add) {                      \
    asm volatile(                                                                                \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %" #ADD ", 0;\n"                                       \
        "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 {" GIBBSITE_TEXT_##N "}, "     \
        "%" #A ", %" #B ", p, 1, 1, 0, 0;\n}\n"                                                  \
        : GIBBSITE_OUT_##N                                                                       \
        : "l"(a), "l"(b), "r"(add));                                                             \
  }

template <> struct Instruction<16> { GIBBSITE_FRAGMENT(16, 8, 9, 10, 11, 12, 13) };
template <> struct Instruction<32> { GIBBSITE_FRAGMENT(32, 16, 17, 18, 19, 20, 21) };
template <> struct Instruction<48> { GIBBSITE_FRAGMENT(48, 24, 25, 26, 27, 28, 29) };
template <> struct Instruction<64> { GIBBSITE_FRAGMENT(64, 32, 33, 34, 35, 36, 37) GIBBSITE_SHARED(64, 32, 33, 34) };
template <> struct Instruction<80> { GIBBSITE_FRAGMENT(80, 40, 41, 42, 43, 44, 45) };
template <> struct Instruction<96> { GIBBSITE_FRAGMENT(96, 48, 49, 50, 51, 52, 53) };
template <> struct Instruction<112> { GIBBSITE_FRAGMENT(112, 56, 57, 58, 59, 60, 61) };
template <> struct Instruction<128> { GIBBSITE_FRAGMENT(128, 64, 65, 66, 67, 68, 69) GIBBSITE_SHARED(128, 64, 65, 66) };
template <> struct Instruction<144> { GIBBSITE_FRAGMENT(144, 72, 73, 74, 75, 76, 77) };
template <> struct Instruction<160> { GIBBSITE_FRAGMENT(160, 80, 81, 82, 83, 84, 85) };
template <> struct Instruction<176> { GIBBSITE_FRAGMENT(176, 88, 89, 90, 91, 92, 93) };
template <> struct Instruction<192> { GIBBSITE_FRAGMENT(192, 96, 97, 98, 99, 100, 101) };
template <> struct Instruction<208> { GIBBSITE_FRAGMENT(208, 104, 105, 106, 107, 108, 109) };
template <> struct Instruction<224> { GIBBSITE_FRAGMENT(224, 112, 113, 114, 115, 116, 117) };
template <> struct Instruction<240> { GIBBSITE_FRAGMENT(240, 120, 121, 122, 123, 124, 125) };
template <> struct Instruction<256> { GIBBSITE_FRAGMENT(256, 128, 129, 130, 131, 132, 133) };
// clang-format on

#undef GIBBSITE_FRAGMENT
#undef GIBBSITE_SHARED

}  // namespace wgmma

class DeviceMatrixUnit {
 public:
  __device__ explicit DeviceMatrixUnit(DeviceBlock& block) : block_(block) {}

  __device__ std::uint32_t reserve(std::uint32_t bytes) {
    return static_cast<std::uint32_t>(
        __cvta_generic_to_shared(block_.shared<unsigned char>(bytes)));
  }
  __device__ void store(std::uint32_t address, const Line& line) {
    const uint4 bits = *reinterpret_cast<const uint4*>(&line);
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(bits.x),
                 "r"(bits.y), "r"(bits.z), "r"(bits.w)
                 : "memory");
  }
  __device__ RowLogitPair load_logits(std::uint32_t address) {
    RowLogitPair pair;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(pair.row[0].logit), "=f"(pair.row[0].label), "=f"(pair.row[1].logit),
                   "=f"(pair.row[1].label)
                 : "r"(address)
                 : "memory");
    return pair;
  }
  // Stores and barriers of this thread, to the copies and matrix instructions that follow a sync().
  __device__ void publish() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }

  // Loads of this thread come before the bulk copies that follow an arrival of its warp: copies are
  // of another proxy, which a barrier alone does not order (PTX ISA, "Async proxy").
  __device__ void finish_loads() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

  __device__ void start_barrier(std::uint32_t barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
  }
  __device__ void expect(std::uint32_t barrier, std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
  }
  __device__ void arrive(std::uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
  }
  __device__ void await(std::uint32_t barrier, unsigned parity) {
    asm volatile(
        "{\n.reg .pred p;\n"
        "again:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
        "@p bra done;\nbra again;\ndone:\n}\n" ::"r"(barrier),
        "r"(parity)
        : "memory");
  }
  template <class T>
  __device__ void copy(std::uint32_t to, const View<const T>& from, std::size_t first,
                       std::size_t count, std::uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(to),
        "l"(__cvta_generic_to_global(from.data + first)),
        "r"(static_cast<std::uint32_t>(count * sizeof(T))), "r"(barrier)
        : "memory");
  }

  __device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
  __device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
  template <int N, unsigned Registers>
  __device__ void wait(float (&d)[Registers]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
    pin(d);  // no read of d above the wait
  }
  // The compiler moves neither reads nor writes of d over it. Writes that it sank below a fence
  // would not be ordered before the product that adds to d.
  template <unsigned Registers>
  __device__ void pin(float (&d)[Registers]) {
    GIBBSITE_UNROLL
    for (unsigned r = 0; r < Registers; ++r) asm volatile("" : "+f"(d[r])::"memory");
  }
  template <unsigned N>
  __device__ void leave_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
  }
  template <unsigned N>
  __device__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
  }
  template <unsigned N>
  __device__ void multiply_shared(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, bool add) {
    wgmma::Instruction<N>::shared(d, a, b, add ? 1 : 0);
  }
  template <unsigned N>
  __device__ void multiply_fragment(float (&d)[N / 2], const std::uint32_t* a, std::uint64_t b,
                                    bool add) {
    wgmma::Instruction<N>::fragment(d, a, b, add ? 1 : 0);
  }

 private:
  DeviceBlock& block_;
};

__device__ inline DeviceMatrixUnit matrix_unit(DeviceBlock& block) {
  return DeviceMatrixUnit(block);
}

}  // namespace gibbsite::kernels
