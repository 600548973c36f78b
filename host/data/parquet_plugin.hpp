#pragma once
/* What libgibbsite_parquet.so exports, and gibbsite looks up by that name: no other symbol passes
   between them. The number changes with the arguments. */
#include <stddef.h>

#include "gibbsite/data/arrow_abi.hpp"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills *out with a stream of the columns of these names, in the file's order (count 0: all of
   them), which reads no row before the first get_next, and *rows with the number of rows, 0 where
   the file does not say. Returns 0, or another number and one line in error. */
int gibbsite_parquet_open_1(const char* path, const char* const* columns, size_t count,
                            struct ArrowArrayStream* out, uint64_t* rows, char* error,
                            size_t error_bytes);

#ifdef __cplusplus
}
#endif
