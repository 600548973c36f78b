// host/engine/cuda/libraries.cpp beside the functions it stands for; no GPU is needed.
#include <cublasLt.h>
#include <curand.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

/// Null where the library is not loaded yet.
void* loaded(const std::string& name) { return ::dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD); }
const std::string cublaslt = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
const std::string curand = "libcurand.so." + std::to_string(CURAND_VER_MAJOR);

template <class Function>
Function* of(void* library, const char* name) {
  auto* const found = reinterpret_cast<Function*>(::dlsym(library, name));
  EXPECT_NE(found, nullptr) << name;
  return found;
}

TEST(CudaLibraries, CublasIsLoadedAtItsFirstCallWhichIsPassedOn) {
  ASSERT_EQ(loaded(cublaslt), nullptr);
  const std::string said = cublasLtGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED);
  void* const library = loaded(cublaslt);
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(said, of<decltype(cublasLtGetStatusString)>(
                      library, "cublasLtGetStatusString")(CUBLAS_STATUS_NOT_SUPPORTED));

  cublasLtMatrixLayout_t layout = nullptr;
  ASSERT_EQ(cublasLtMatrixLayoutCreate(&layout, CUDA_R_64F, 7, 5, 9), CUBLAS_STATUS_SUCCESS);
  const std::int32_t batch = 3;
  ASSERT_EQ(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                             sizeof(batch)),
            CUBLAS_STATUS_SUCCESS);
  const auto get =
      of<decltype(cublasLtMatrixLayoutGetAttribute)>(library, "cublasLtMatrixLayoutGetAttribute");
  const auto read = [&](auto value, cublasLtMatrixLayoutAttribute_t attribute) {
    std::size_t written = 0;
    EXPECT_EQ(get(layout, attribute, &value, sizeof(value), &written), CUBLAS_STATUS_SUCCESS);
    return value;
  };
  EXPECT_EQ(read(std::uint32_t{0}, CUBLASLT_MATRIX_LAYOUT_TYPE), CUDA_R_64F);
  EXPECT_EQ(read(std::uint64_t{0}, CUBLASLT_MATRIX_LAYOUT_ROWS), 7U);
  EXPECT_EQ(read(std::uint64_t{0}, CUBLASLT_MATRIX_LAYOUT_COLS), 5U);
  EXPECT_EQ(read(std::int64_t{0}, CUBLASLT_MATRIX_LAYOUT_LD), 9);
  EXPECT_EQ(read(std::int32_t{0}, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT), 3);
  EXPECT_EQ(cublasLtMatrixLayoutDestroy(layout), CUBLAS_STATUS_SUCCESS);

  cublasLtMatmulDesc_t product = nullptr;
  ASSERT_EQ(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            CUBLAS_STATUS_SUCCESS);
  const cublasOperation_t op = CUBLAS_OP_T;
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof(op)),
            CUBLAS_STATUS_SUCCESS);
  const auto get_product =
      of<decltype(cublasLtMatmulDescGetAttribute)>(library, "cublasLtMatmulDescGetAttribute");
  std::int32_t value = 0;
  std::size_t written = 0;
  EXPECT_EQ(get_product(product, CUBLASLT_MATMUL_DESC_TRANSA, &value, sizeof(value), &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(value, CUBLAS_OP_T);
  EXPECT_EQ(
      get_product(product, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &value, sizeof(value), &written),
      CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(value, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(cublasLtMatmulDescDestroy(product), CUBLAS_STATUS_SUCCESS);

  cublasLtMatmulPreference_t preference = nullptr;
  ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
  const std::uint64_t workspace = 4321;
  ASSERT_EQ(
      cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                           &workspace, sizeof(workspace)),
      CUBLAS_STATUS_SUCCESS);
  std::uint64_t kept = 0;
  EXPECT_EQ(
      of<decltype(cublasLtMatmulPreferenceGetAttribute)>(library,
                                                         "cublasLtMatmulPreferenceGetAttribute")(
          preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kept, sizeof(kept), &written),
      CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(kept, workspace);
  EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference), CUBLAS_STATUS_SUCCESS);
}

TEST(CudaLibraries, CurandDrawsWhatItDrawsByItself) {
  ASSERT_EQ(loaded(curand), nullptr);
  curandGenerator_t of_a_gpu = nullptr;
  if (curandCreateGenerator(&of_a_gpu, CURAND_RNG_PSEUDO_PHILOX4_32_10) == CURAND_STATUS_SUCCESS) {
    EXPECT_EQ(curandDestroyGenerator(of_a_gpu), CURAND_STATUS_SUCCESS);
  }
  void* const library = loaded(curand);
  ASSERT_NE(library, nullptr);
  const auto draw = [&](auto set_seed, auto set_offset, auto draw_normals) {
    curandGenerator_t generator = nullptr;
    EXPECT_EQ(of<decltype(curandCreateGeneratorHost)>(library, "curandCreateGeneratorHost")(
                  &generator, CURAND_RNG_PSEUDO_PHILOX4_32_10),
              CURAND_STATUS_SUCCESS);
    EXPECT_EQ(set_seed(generator, 77), CURAND_STATUS_SUCCESS);
    EXPECT_EQ(set_offset(generator, 12), CURAND_STATUS_SUCCESS);
    std::vector<double> out(64);
    EXPECT_EQ(draw_normals(generator, out.data(), out.size(), 2, 0.5), CURAND_STATUS_SUCCESS);
    EXPECT_EQ(curandDestroyGenerator(generator), CURAND_STATUS_SUCCESS);
    return out;
  };
  EXPECT_EQ(draw(curandSetPseudoRandomGeneratorSeed, curandSetGeneratorOffset,
                 curandGenerateNormalDouble),
            draw(of<decltype(curandSetPseudoRandomGeneratorSeed)>(
                     library, "curandSetPseudoRandomGeneratorSeed"),
                 of<decltype(curandSetGeneratorOffset)>(library, "curandSetGeneratorOffset"),
                 of<decltype(curandGenerateNormalDouble)>(library, "curandGenerateNormalDouble")));
}

// cuRAND's offset counts normals, not the words they are made of: 2N from offset 0 end in N from
// offset N. Its generator on the host, the same library; DeviceNoise.LibraryOffsetsCountNormals
// asks a GPU's.
TEST(CudaLibraries, CurandOffsetsCountNormals) {
  curandGenerator_t none = nullptr;
  curandSetGeneratorOffset(none, 0);  // loads it
  void* const library = loaded(curand);
  ASSERT_NE(library, nullptr);
  const auto draw = [&](std::size_t count, unsigned long long offset) {
    curandGenerator_t generator = nullptr;
    EXPECT_EQ(of<decltype(curandCreateGeneratorHost)>(library, "curandCreateGeneratorHost")(
                  &generator, CURAND_RNG_PSEUDO_PHILOX4_32_10),
              CURAND_STATUS_SUCCESS);
    EXPECT_EQ(curandSetPseudoRandomGeneratorSeed(generator, 77), CURAND_STATUS_SUCCESS);
    EXPECT_EQ(curandSetGeneratorOffset(generator, offset), CURAND_STATUS_SUCCESS);
    std::vector<double> out(count);
    EXPECT_EQ(curandGenerateNormalDouble(generator, out.data(), out.size(), 0, 1),
              CURAND_STATUS_SUCCESS);
    EXPECT_EQ(curandDestroyGenerator(generator), CURAND_STATUS_SUCCESS);
    return out;
  };
  for (const std::size_t n : {2ul, 6ul, 64ul, 1000ul, 4098ul, 70'000ul}) {
    const std::vector<double> both = draw(2 * n, 0);
    EXPECT_EQ(draw(n, n),
              std::vector<double>(both.end() - static_cast<std::ptrdiff_t>(n), both.end()))
        << n;
    EXPECT_NE(draw(n, n / 2), draw(n, n)) << n;
  }
}

}  // namespace
