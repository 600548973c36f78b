#pragma once
/* What libgibbsite_nccl.so exports, and gibbsite looks up by that name: no other symbol passes
   between them. The number changes with the arguments. */
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { gibbsite_nccl_id_bytes = 128 };

/* Each function returns 0, or another number and one line in error [512]. */
struct gibbsite_nccl_functions_2 {
  /* By one rank; all others are to have it. */
  int (*make_id)(unsigned char id[gibbsite_nccl_id_bytes], char* error);
  /* Collective, by rank `rank` of `size`, on the GPU of the calling thread's own. */
  int (*open)(const unsigned char id[gibbsite_nccl_id_bytes], size_t rank, size_t size,
              void** state, char* error);
  /* Collective: all [size x bytes] = what the ranks have, in their order; on that stream. Memory of
     the GPU; nothing is added. */
  int (*gather)(void* state, const void* mine, void* all, size_t bytes, void* stream, char* error);
  /* Collective: data [bytes] = what rank 0 has there; on that stream. */
  int (*broadcast)(void* state, void* data, size_t bytes, void* stream, char* error);
  /* `failed`: what other ranks wait for is given up, and nobody is waited for. */
  void (*close)(void* state, int failed);
};

void gibbsite_nccl_2(struct gibbsite_nccl_functions_2* out);

#ifdef __cplusplus
}
#endif
