// Products of column-major matrices by plain loops; checks what it is told.
#include <cublasLt.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>
extern "C" {
void ptxsim_enqueue(cudaStream_t, std::function<void()>*);
int ptxsim_capturing(cudaStream_t);
}
struct Layout {
  int type;
  uint64_t rows, cols;
  int64_t ld;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct Desc {
  int compute, scale;
  int ta = 0, tb = 0;
};
struct Pref {
  uint64_t workspace = 0;
  uint32_t align[4] = {256, 256, 256, 256};
};
struct Algo {
  uint32_t align[4];
  uint64_t workspace;
  uint64_t magic;
};
#define OK CUBLAS_STATUS_SUCCESS
static cublasStatus_t bad(const char* w) {
  std::fprintf(stderr, "PTXSIM cublasLt: %s\n", w);
  return CUBLAS_STATUS_INVALID_VALUE;
}
extern "C" {
cublasStatus_t cublasLtCreate(cublasLtHandle_t* h) {
  *h = (cublasLtHandle_t) new int(1);
  return OK;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) {
  delete (int*)h;
  return OK;
}
const char* cublasLtGetStatusString(cublasStatus_t) { return "software cublasLt"; }
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* d, cublasComputeType_t c,
                                        cudaDataType_t s) {
  *d = (cublasLtMatmulDesc_t) new Desc{(int)c, (int)s};
  return OK;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) {
  delete (Desc*)d;
  return OK;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t a, const void* v,
                                              size_t n) {
  if (n != 4) return bad("size");
  if (a == CUBLASLT_MATMUL_DESC_TRANSA)
    std::memcpy(&((Desc*)d)->ta, v, 4);
  else if (a == CUBLASLT_MATMUL_DESC_TRANSB)
    std::memcpy(&((Desc*)d)->tb, v, 4);
  else
    return bad("desc attribute");
  return OK;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* l, cudaDataType t, uint64_t r,
                                          uint64_t c, int64_t ld) {
  *l = (cublasLtMatrixLayout_t) new Layout{(int)t, r, c, ld};
  return OK;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) {
  delete (Layout*)l;
  return OK;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l,
                                                cublasLtMatrixLayoutAttribute_t a, const void* v,
                                                size_t n) {
  auto* q = (Layout*)l;
  if (a == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && n == 4)
    std::memcpy(&q->batch, v, 4);
  else if (a == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && n == 8)
    std::memcpy(&q->stride, v, 8);
  else
    return bad("layout attribute");
  return OK;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* p) {
  *p = (cublasLtMatmulPreference_t) new Pref;
  return OK;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
  delete (Pref*)p;
  return OK;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t a,
                                                    const void* v, size_t n) {
  auto* q = (Pref*)p;
  int w = a == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES   ? 0
          : a == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES ? 1
          : a == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES ? 2
          : a == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES ? 3
                                                            : -1;
  if (w >= 0 && n == 4)
    std::memcpy(&q->align[w], v, 4);
  else if (a == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && n == 8)
    std::memcpy(&q->workspace, v, 8);
  else
    return bad("preference");
  return OK;
}
static cublasStatus_t consistent(const Desc& d, const Layout& a, const Layout& b, const Layout& c) {
  auto m = d.ta ? a.cols : a.rows, k = d.ta ? a.rows : a.cols, k2 = d.tb ? b.cols : b.rows,
       n = d.tb ? b.rows : b.cols;
  if (m != c.rows || n != c.cols || k != k2) return bad("shapes");
  if ((uint64_t)a.ld < a.rows || (uint64_t)b.ld < b.rows || (uint64_t)c.ld < c.rows)
    return bad("leading dimension");
  if (a.batch != b.batch || a.batch != c.batch) return bad("batch");
  if (a.type != b.type || a.type != c.type) return bad("types");
  if (m == 0 || n == 0 || k == 0) return bad("empty");
  return OK;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t d,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t p, int want,
                                              cublasLtMatmulHeuristicResult_t r[], int* found) {
  *found = 0;
  auto s = consistent(*(Desc*)d, *(Layout*)a, *(Layout*)b, *(Layout*)c);
  if (s != OK || want < 1) return s;
  Algo al{};
  auto* q = (Pref*)p;
  std::memcpy(al.align, q->align, sizeof al.align);
  al.workspace = q->workspace;
  al.magic = 0x5151;
  static_assert(sizeof(Algo) <= sizeof(cublasLtMatmulAlgo_t));
  std::memset(&r[0], 0, sizeof r[0]);
  std::memcpy(&r[0].algo, &al, sizeof al);
  r[0].state = OK;
  *found = 1;
  return OK;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t dd, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t la, const void* b,
                              cublasLtMatrixLayout_t lb, const void* beta, const void* c,
                              cublasLtMatrixLayout_t lc, void* out, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t* algo, void* ws, size_t wsn,
                              cudaStream_t st) {
  Desc d = *(Desc*)dd;
  Layout A = *(Layout*)la, B = *(Layout*)lb, C = *(Layout*)lc;
  if (auto s = consistent(d, A, B, C); s != OK) return s;
  Algo al;
  std::memcpy(&al, algo, sizeof al);
  if (al.magic != 0x5151) return bad("algorithm");
  if (wsn < al.workspace && al.workspace) return bad("workspace is smaller than was said");
  if (ws && (uintptr_t)ws % 16) return bad("workspace misaligned");
  auto aligned = [](const void* p, uint32_t n, const char* w) {
    if ((uintptr_t)p % n) {
      std::fprintf(stderr, "PTXSIM cublasLt: %s is not aligned to %u\n", w, n);
      return false;
    }
    return true;
  };
  if (!aligned(a, al.align[0], "A") || !aligned(b, al.align[1], "B") ||
      !aligned(c, al.align[2], "C") || !aligned(out, al.align[3], "D"))
    return CUBLAS_STATUS_INVALID_VALUE;
  bool f = C.type == CUDA_R_32F;
  double al_ = f ? *(const float*)alpha : *(const double*)alpha,
         be = f ? *(const float*)beta : *(const double*)beta;
  std::function<void()> fn = [=] {
    auto run = [&]<class T>(T) {
      uint64_t m = C.rows, n = C.cols, k = d.ta ? A.rows : A.cols;
      for (int32_t q = 0; q < C.batch; ++q) {
        auto* pa = (const T*)a + q * A.stride;
        auto* pb = (const T*)b + q * B.stride;
        auto* pc = (T*)out + q * C.stride;
        for (uint64_t j = 0; j < n; ++j)
          for (uint64_t i = 0; i < m; ++i) {
            T s = 0;
            for (uint64_t x = 0; x < k; ++x)
              s += (d.ta ? pa[i * (uint64_t)A.ld + x] : pa[x * (uint64_t)A.ld + i]) *
                   (d.tb ? pb[x * (uint64_t)B.ld + j] : pb[j * (uint64_t)B.ld + x]);
            T old = be == 0 ? T(0) : pc[j * (uint64_t)C.ld + i];
            pc[j * (uint64_t)C.ld + i] = T(al_) * s + T(be) * old;
          }
      }
    };
    if (f)
      run(float{});
    else
      run(double{});
  };
  ptxsim_enqueue(st, &fn);
  return OK;
}
}
