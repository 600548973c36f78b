// libgibbsite_nccl.so: bytes between the GPUs of ranks by NCCL. It adds nothing: sums are made by
// who gathers their parts, in an order of their own.
#include <nccl.h>

#include <cstdio>
#include <cstring>
#include <new>

#include "machine/nccl_plugin.hpp"

namespace {

static_assert(sizeof(ncclUniqueId) == gibbsite_nccl_id_bytes);
constexpr std::size_t error_bytes = 512;

int said(ncclResult_t result, char* error) {
  if (result == ncclSuccess) return 0;
  std::snprintf(error, error_bytes, "%s", ncclGetErrorString(result));
  return 1;
}

int make_id(unsigned char id[gibbsite_nccl_id_bytes], char* error) {
  ncclUniqueId made;
  const int failed = said(ncclGetUniqueId(&made), error);
  if (failed == 0) std::memcpy(id, &made, sizeof made);
  return failed;
}

int open(const unsigned char id[gibbsite_nccl_id_bytes], size_t rank, size_t size, void** state,
         char* error) {
  ncclUniqueId of_all;
  std::memcpy(&of_all, id, sizeof of_all);
  ncclComm_t ranks = nullptr;
  const int failed =
      said(ncclCommInitRank(&ranks, static_cast<int>(size), of_all, static_cast<int>(rank)), error);
  *state = ranks;
  return failed;
}

int gather(void* state, const void* mine, void* all, size_t bytes, void* stream, char* error) {
  return said(ncclAllGather(mine, all, bytes, ncclInt8, static_cast<ncclComm_t>(state),
                            static_cast<cudaStream_t>(stream)),
              error);
}

int broadcast(void* state, void* data, size_t bytes, void* stream, char* error) {
  return said(ncclBroadcast(data, data, bytes, ncclInt8, 0, static_cast<ncclComm_t>(state),
                            static_cast<cudaStream_t>(stream)),
              error);
}

void close(void* state, int failed) {
  const auto ranks = static_cast<ncclComm_t>(state);
  if (failed == 0) {
    ncclCommDestroy(ranks);
  } else {
    ncclCommAbort(ranks);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void gibbsite_nccl_2(
    gibbsite_nccl_functions_2* out) {
  *out = {make_id, open, gather, broadcast, close};
}
