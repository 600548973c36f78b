#include "arrow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Both are made at once, on R's own thread: who reads the stream may be another. */
typedef struct {
  struct ArrowSchema schema;
  struct ArrowArray batch;
} Table;

static const char *name_of(SEXP columns, R_xlen_t k) {
  return Rf_translateCharUTF8(STRING_ELT(Rf_getAttrib(columns, R_NamesSymbol), k));
}

static const char *format_of(SEXP column) {
  if (Rf_inherits(column, "Date")) return "tdD";
  switch (TYPEOF(column)) {
    case LGLSXP: return "b";
    case INTSXP: return "i";
    case REALSXP: return "g";
    default: return "U";
  }
}

/* ---- The schema ---- */

static void release_leaf_schema(struct ArrowSchema *schema) {
  free((void *)schema->name);
  schema->release = NULL;
}

static void release_schema(struct ArrowSchema *schema) {
  for (int64_t k = 0; k < schema->n_children; ++k) {
    if (schema->children[k] == NULL) continue;
    if (schema->children[k]->release != NULL) schema->children[k]->release(schema->children[k]);
    free(schema->children[k]);
  }
  free(schema->children);
  schema->release = NULL;
}

/* 0 where memory ran out; what was made is released with the schema. */
static int make_schema(SEXP columns, struct ArrowSchema *out) {
  const R_xlen_t count = Rf_xlength(columns);
  out->children = calloc((size_t)count + 1, sizeof *out->children);
  if (out->children == NULL) return 0;
  out->format = "+s";
  out->name = "";
  out->n_children = count;
  out->release = release_schema;
  for (R_xlen_t k = 0; k < count; ++k) {
    struct ArrowSchema *const child = out->children[k] = calloc(1, sizeof *child);
    const char *const name = name_of(columns, k);
    char *const copy = malloc(strlen(name) + 1);
    if (child == NULL || copy == NULL) {
      free(copy);
      return 0;
    }
    strcpy(copy, name);
    child->format = format_of(VECTOR_ELT(columns, k));
    child->name = copy;
    child->flags = 2; /* nullable */
    child->release = release_leaf_schema;
  }
  return 1;
}

/* ---- The batch ---- */

/* buffers: validity, values or ends, texts; `own` says which of them are this array's. */
typedef struct {
  const void *buffers[3];
  int own[3];
} Buffers;

static void release_leaf(struct ArrowArray *array) {
  Buffers *const of = array->private_data;
  for (int b = 0; b < 3; ++b)
    if (of->own[b]) free((void *)of->buffers[b]);
  free(of);
  array->release = NULL;
}

static void *own(Buffers *of, int b, size_t bytes) {
  void *const out = calloc(bytes + 8, 1);
  of->buffers[b] = out;
  of->own[b] = out != NULL;
  return out;
}

static void set_bit(uint8_t *bits, R_xlen_t i) { bits[i / 8] |= (uint8_t)(1u << (i % 8)); }

/* The column as an Arrow array; 0 where memory ran out, and then nothing is held. */
static int make_leaf(SEXP column, struct ArrowArray *out) {
  const R_xlen_t n = Rf_xlength(column);
  Buffers *const of = calloc(1, sizeof *of);
  if (of == NULL) return 0;
  memset(out, 0, sizeof *out);
  out->length = n;
  out->n_buffers = 2;
  out->buffers = of->buffers;
  out->private_data = of;
  out->release = release_leaf;
  uint8_t *const valid = own(of, 0, (size_t)n / 8 + 1);
  int whole = valid != NULL;
  if (whole && Rf_inherits(column, "Date")) {
    const double *const days = REAL(column);
    int32_t *const values = own(of, 1, (size_t)n * sizeof *values);
    whole = values != NULL;
    for (R_xlen_t i = 0; whole && i < n; ++i) {
      if (!(fabs(days[i]) < 2e9)) continue; /* NA, and what is no day */
      values[i] = (int32_t)floor(days[i]);
      set_bit(valid, i);
    }
  } else if (whole && TYPEOF(column) == LGLSXP) {
    const int *const truths = LOGICAL(column);
    uint8_t *const values = own(of, 1, (size_t)n / 8 + 1);
    whole = values != NULL;
    for (R_xlen_t i = 0; whole && i < n; ++i) {
      if (truths[i] == NA_LOGICAL) continue;
      if (truths[i]) set_bit(values, i);
      set_bit(valid, i);
    }
  } else if (whole && TYPEOF(column) == INTSXP) {
    of->buffers[1] = INTEGER(column);
    for (R_xlen_t i = 0; i < n; ++i)
      if (INTEGER(column)[i] != NA_INTEGER) set_bit(valid, i);
  } else if (whole && TYPEOF(column) == REALSXP) {
    of->buffers[1] = REAL(column);
    for (R_xlen_t i = 0; i < n; ++i)
      if (!R_IsNA(REAL(column)[i])) set_bit(valid, i);
  } else if (whole) {
    int64_t *const ends = own(of, 1, ((size_t)n + 1) * sizeof *ends);
    whole = ends != NULL;
    for (R_xlen_t i = 0; whole && i < n; ++i) {
      const SEXP text = STRING_ELT(column, i);
      ends[i + 1] = ends[i] + (text == NA_STRING ? 0 : (int64_t)LENGTH(text));
      if (text != NA_STRING) set_bit(valid, i);
    }
    char *const texts = whole ? own(of, 2, (size_t)ends[n] + 1) : NULL;
    whole = texts != NULL;
    for (R_xlen_t i = 0; whole && i < n; ++i)
      if (STRING_ELT(column, i) != NA_STRING)
        memcpy(texts + ends[i], CHAR(STRING_ELT(column, i)), (size_t)(ends[i + 1] - ends[i]));
    out->n_buffers = 3;
  }
  if (whole) {
    out->null_count = -1;
    return 1;
  }
  out->release(out);
  return 0;
}

static void release_batch(struct ArrowArray *array) {
  for (int64_t k = 0; k < array->n_children; ++k) {
    if (array->children[k] == NULL) continue;
    if (array->children[k]->release != NULL) array->children[k]->release(array->children[k]);
    free(array->children[k]);
  }
  free(array->children);
  array->release = NULL;
}

/* As make_schema. */
static int make_batch(SEXP columns, struct ArrowArray *out) {
  static const void *no_buffers[] = {NULL};
  const R_xlen_t count = Rf_xlength(columns);
  out->children = calloc((size_t)count + 1, sizeof *out->children);
  if (out->children == NULL) return 0;
  out->length = count == 0 ? 0 : Rf_xlength(VECTOR_ELT(columns, 0));
  out->n_buffers = 1;
  out->buffers = no_buffers;
  out->n_children = count;
  out->release = release_batch;
  for (R_xlen_t k = 0; k < count; ++k) {
    struct ArrowArray *const child = out->children[k] = calloc(1, sizeof *child);
    if (child == NULL || !make_leaf(VECTOR_ELT(columns, k), child)) return 0;
  }
  return 1;
}

/* ---- The stream: it hands both over, once ---- */

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  Table *const table = stream->private_data;
  *out = table->schema;
  memset(&table->schema, 0, sizeof table->schema);
  return out->release == NULL ? EINVAL : 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  Table *const table = stream->private_data;
  *out = table->batch;
  memset(&table->batch, 0, sizeof table->batch);
  return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return "its schema was read before";
}

static void release_stream(struct ArrowArrayStream *stream) {
  Table *const table = stream->private_data;
  if (table->schema.release != NULL) table->schema.release(&table->schema);
  if (table->batch.release != NULL) table->batch.release(&table->batch);
  free(table);
  stream->release = NULL;
}

int stream_of(SEXP columns, struct ArrowArrayStream *out) {
  Table *const table = calloc(1, sizeof *table);
  if (table == NULL) return 0;
  out->get_schema = get_schema;
  out->get_next = get_next;
  out->get_last_error = get_last_error;
  out->release = release_stream;
  out->private_data = table;
  if (make_schema(columns, &table->schema) && make_batch(columns, &table->batch)) return 1;
  release_stream(out);
  return 0;
}
