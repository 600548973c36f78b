/* Columns of R as a stream of Arrow's C interface, whose structs are the library's header's. */
#ifndef GIBBSITE_R_ARROW_H
#define GIBBSITE_R_ARROW_H

#include <Rinternals.h>
#include <gibbsite/data/arrow_abi.hpp> /* plain C too */

/* A stream of one batch of `columns`, a named list of vectors of one length: logical, integer,
   double, character in UTF-8, and Date of doubles. It reads numbers where R has them, so the list
   must be alive until the stream is released. Gives 0 where memory ran out, and then no stream. */
int stream_of(SEXP columns, struct ArrowArrayStream *out);

#endif
