#pragma once
/* What libgibbsite_mpi.so exports, and gibbsite looks up by that name: no other symbol passes
   between them. The number changes with the arguments. */
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All but send, receive, share and abort are collective. Each of the first five returns 0, or
   another number and one line in error [512]. Counts are of bytes, one for each rank. */
struct gibbsite_mpi_functions_2 {
  size_t rank, size;
  int (*gather)(const void* mine, size_t bytes, const size_t* counts, void* out, char* error);
  int (*broadcast)(void* bytes, size_t count, size_t root, char* error);
  int (*exchange)(const void* mine, const size_t* to, void* received, const size_t* from,
                  char* error);
  int (*send)(const void* bytes, size_t count, size_t to, char* error);
  int (*receive)(void* bytes, size_t count, size_t from, char* error);
  /* Not collective. From here on is_set(flag) of one rank has set(flag) called at all, by a thread
     of this library, where it has one. */
  void (*share)(void* flag, int (*is_set)(void*), void (*set)(void*));
  void (*abort)(int status);
  void (*close)(void);
};

/* Begins MPI where it was not begun, and fills *out. */
int gibbsite_mpi_open_2(struct gibbsite_mpi_functions_2* out, char* error);

#ifdef __cplusplus
}
#endif
