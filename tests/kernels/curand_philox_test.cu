// Our Philox against cuRAND's own, on the device. Compiled into the test program of the real GPU.
#include <curand_kernel.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "gibbsite/core/random_bits.hpp"

namespace {

__global__ void both(std::uint32_t key0, std::uint32_t key1, uint4* theirs, gibbsite::Philox4* ours) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint4 counter = make_uint4(i, i * 2654435761u, ~i, i ^ 0x9e3779b9u);
  theirs[i] = curand_Philox4x32_10(counter, make_uint2(key0, key1));
  ours[i] = gibbsite::philox4x32_10_block({{counter.x, counter.y, counter.z, counter.w}}, key0, key1);
}

TEST(CurandPhilox, IsOurPhilox) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    if (std::getenv("GIBBSITE_REQUIRE_GPU") != nullptr) FAIL() << "GIBBSITE_REQUIRE_GPU is set";
    GTEST_SKIP() << "no GPU";
  }
  constexpr unsigned count = 1 << 16;
  uint4* theirs = nullptr;
  gibbsite::Philox4* ours = nullptr;
  ASSERT_EQ(cudaMalloc(&theirs, count * sizeof(uint4)), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&ours, count * sizeof(gibbsite::Philox4)), cudaSuccess);
  both<<<count / 256, 256>>>(0x12345678u, 0x9abcdef0u, theirs, ours);
  std::vector<uint4> a(count);
  std::vector<gibbsite::Philox4> b(count);
  ASSERT_EQ(cudaMemcpy(a.data(), theirs, count * sizeof(uint4), cudaMemcpyDeviceToHost),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpy(b.data(), ours, count * sizeof(gibbsite::Philox4), cudaMemcpyDeviceToHost),
            cudaSuccess);
  cudaFree(theirs);
  cudaFree(ours);
  for (unsigned i = 0; i < count; ++i) {
    ASSERT_EQ(a[i].x, b[i].word[0]) << i;
    ASSERT_EQ(a[i].y, b[i].word[1]) << i;
    ASSERT_EQ(a[i].z, b[i].word[2]) << i;
    ASSERT_EQ(a[i].w, b[i].word[3]) << i;
  }
}

}  // namespace
