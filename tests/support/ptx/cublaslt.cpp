// cuBLASLt in software: products of column-major matrices by plain loops, and what the library
// checks.
// Not modelled: its algorithms, whose sums have another order.
#include <cublasLt.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "support/ptx/runtime.hpp"

struct cublasLtContext {};

namespace {

struct Layout {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;  // dimension
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};
struct Product {
  std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
};
// Alignment of A, B, C, D in bytes.
struct Preference {
  std::uint64_t workspace = 0;
  std::uint32_t alignment[4] = {256, 256, 256, 256};
};
constexpr std::uint64_t algorithm_mark = 0x70747873696d;
struct Algorithm {
  std::uint64_t mark, workspace;
  std::uint32_t alignment[4];
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

// The library's handles are pointers to structures that it does not show.
template <class T, class Handle>
T& as(Handle handle) {
  return *reinterpret_cast<T*>(handle);
}

cublasStatus_t refuse(const char* what) {
  std::fprintf(stderr, "PTX in software: cuBLASLt: %s\n", what);
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t set(void* field, std::size_t size, const void* value, std::size_t given) {
  if (size != given) return refuse("an attribute has another size");
  std::memcpy(field, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t check(const Product& product, const Layout& a, const Layout& b, const Layout& c) {
  const std::uint64_t m = product.transpose_a ? a.columns : a.rows,
                      k = product.transpose_a ? a.rows : a.columns;
  const std::uint64_t of_b = product.transpose_b ? b.columns : b.rows,
                      n = product.transpose_b ? b.rows : b.columns;
  if (m != c.rows || n != c.columns || k != of_b) return refuse("the shapes do not fit");
  if (m == 0 || n == 0 || k == 0) return refuse("a matrix is empty");
  for (const Layout* layout : {&a, &b, &c}) {
    if (layout->leading < static_cast<std::int64_t>(layout->rows))
      return refuse("a leading dimension is too small");
    if (layout->batch != a.batch) return refuse("the batch counts differ");
    if (layout->type != a.type) return refuse("the types differ");
  }
  return CUBLAS_STATUS_SUCCESS;
}

// One matrix of a batch.
template <class T>
struct Matrix {
  T* data;
  std::int64_t leading;
  bool transposed;
  T& operator()(std::uint64_t row, std::uint64_t column) const {
    const auto r = static_cast<std::int64_t>(row), c = static_cast<std::int64_t>(column);
    return transposed ? data[r * leading + c] : data[c * leading + r];
  }
};

template <class T>
void multiply(const Product& product, const Layout& la, const Layout& lb, const Layout& lc,
              double alpha, double beta, const void* a, const void* b, void* d) {
  const std::uint64_t depth = product.transpose_a ? la.rows : la.columns;
  for (std::int32_t i = 0; i < lc.batch; ++i) {
    const Matrix<const T> of_a{static_cast<const T*>(a) + i * la.stride, la.leading,
                               product.transpose_a != 0};
    const Matrix<const T> of_b{static_cast<const T*>(b) + i * lb.stride, lb.leading,
                               product.transpose_b != 0};
    const Matrix<T> of_d{static_cast<T*>(d) + i * lc.stride, lc.leading, false};
    for (std::uint64_t column = 0; column < lc.columns; ++column) {
      for (std::uint64_t row = 0; row < lc.rows; ++row) {
        T sum = 0;
        for (std::uint64_t k = 0; k < depth; ++k) sum += of_a(row, k) * of_b(k, column);
        T& out = of_d(row, column);
        out = static_cast<T>(alpha) * sum + (beta == 0 ? T{0} : static_cast<T>(beta) * out);
      }
    }
  }
}

double scalar(const void* value, cudaDataType_t type) {
  return type == CUDA_R_32F ? static_cast<double>(*static_cast<const float*>(value))
                            : *static_cast<const double*>(value);
}
bool is_aligned(const void* pointer, std::uint32_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "cuBLASLt in software refused it";
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t,
                                        cudaDataType_t) {
  *product = reinterpret_cast<cublasLtMatmulDesc_t>(new Product);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete &as<Product>(product);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t size) {
  Product& product = as<Product>(handle);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA)
    return set(&product.transpose_a, sizeof product.transpose_a, value, size);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSB)
    return set(&product.transpose_b, sizeof product.transpose_b, value, size);
  return refuse("an attribute of a product is not modelled");
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &as<Layout>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t size) {
  Layout& layout = as<Layout>(handle);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    return set(&layout.batch, sizeof layout.batch, value, size);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
    return set(&layout.stride, sizeof layout.stride, value, size);
  return refuse("an attribute of a layout is not modelled");
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &as<Preference>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t size) {
  Preference& preference = as<Preference>(handle);
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return set(&preference.workspace, sizeof preference.workspace, value, size);
  const cublasLtMatmulPreferenceAttributes_t alignments[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  const auto* found = std::find(std::begin(alignments), std::end(alignments), attribute);
  if (found == std::end(alignments)) return refuse("a preference is not modelled");
  return set(&preference.alignment[found - std::begin(alignments)], sizeof(std::uint32_t), value,
             size);
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  *found = 0;
  const cublasStatus_t status =
      check(as<Product>(product), as<Layout>(a), as<Layout>(b), as<Layout>(c));
  if (status != CUBLAS_STATUS_SUCCESS || wanted < 1) return status;
  const Preference& promised = as<Preference>(preference);
  Algorithm algorithm{algorithm_mark, promised.workspace, {}};
  std::copy_n(promised.alignment, 4, algorithm.alignment);
  results[0] = {};
  std::memcpy(&results[0].algo, &algorithm, sizeof algorithm);
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t handle, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t* chosen, void* workspace,
                              std::size_t workspace_size, cudaStream_t stream) {
  const Product product = as<Product>(handle);
  const Layout la = as<Layout>(a_layout), lb = as<Layout>(b_layout), lc = as<Layout>(c_layout);
  if (const cublasStatus_t status = check(product, la, lb, lc); status != CUBLAS_STATUS_SUCCESS)
    return status;
  Algorithm algorithm{};
  std::memcpy(&algorithm, chosen, sizeof algorithm);
  if (algorithm.mark != algorithm_mark) return refuse("the algorithm is none that was offered");
  if (workspace_size < algorithm.workspace) return refuse("the workspace is smaller than was said");
  if (!is_aligned(workspace, 16)) return refuse("the workspace is misaligned");
  const void* const matrices[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (!is_aligned(matrices[i], algorithm.alignment[i]))
      return refuse("a matrix is less aligned than was said");
  }
  if (c != d) return refuse("C and D in different places are not modelled");
  const double of_product = scalar(alpha, lc.type), of_sum = scalar(beta, lc.type);
  gibbsite::ptx::enqueue(stream, [=] {
    const auto multiply_as = lc.type == CUDA_R_32F ? multiply<float> : multiply<double>;
    multiply_as(product, la, lb, lc, of_product, of_sum, a, b, d);
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
