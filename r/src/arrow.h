/* The Arrow C data and C stream interface, as its specification asks to copy it
   (https://arrow.apache.org/docs/format/CDataInterface.html), and columns of R as such a stream. */
#ifndef GIBBSITE_R_ARROW_H
#define GIBBSITE_R_ARROW_H

#include <Rinternals.h>
#include <stdint.h>

struct ArrowSchema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct ArrowSchema **children, *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};
struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct ArrowArray **children, *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

/* A stream of one batch of `columns`, a named list of vectors of one length: logical, integer,
   double, character in UTF-8, and Date of doubles. It reads numbers where R has them, so the list
   must be alive until the stream is released. Gives 0 where memory ran out, and then no stream. */
int stream_of(SEXP columns, struct ArrowArrayStream *out);

#endif
