/* Calls of the C interface for R. A model is its JSON and a schema its TOML text, so that what R
   keeps can be saved and copied as any other value. A call that fails gives a list of class
   gibbsite_failure; nothing jumps out while a handle is held, but where R's own memory runs out.
   It is .Call from C: cpp11 turns C++ exceptions into R's errors, none of which cross a C interface,
   and would ask for a C++ compiler. */
#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>
#include <gibbsite.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "arrow.h"

static pthread_t main_thread;

/* ---- What R gives and gets ---- */

/* NULL stands for an absent text. */
static const char *text(SEXP x) {
  return Rf_isNull(x) ? NULL : Rf_translateCharUTF8(STRING_ELT(x, 0));
}
static SEXP utf8(const char *x) {
  SEXP out = PROTECT(Rf_mkCharCE(x, CE_UTF8));
  out = Rf_ScalarString(out);
  UNPROTECT(1);
  return out;
}

static SEXP failure(gibbsite_status status, char *error) {
  const char *names[] = {"status", "message", ""};
  SEXP out = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(out, 0, Rf_ScalarInteger((int)status));
  SET_VECTOR_ELT(out, 1, utf8(error == NULL ? "memory ran out" : error));
  Rf_setAttrib(out, R_ClassSymbol, Rf_mkString("gibbsite_failure"));
  gibbsite_free(error);
  UNPROTECT(1);
  return out;
}
/* The text that a call gave, which is freed, or its failure. */
static SEXP answer(gibbsite_status status, char *given, char *error) {
  if (status != GIBBSITE_OK) return failure(status, error);
  SEXP out = PROTECT(utf8(given));
  gibbsite_free(given);
  UNPROTECT(1);
  return out;
}

/* ---- Schemas ---- */

static SEXP schema_text(gibbsite_status status, gibbsite_schema *schema, char *error) {
  char *toml = NULL;
  if (status == GIBBSITE_OK) status = gibbsite_schema_toml(schema, &toml, &error);
  gibbsite_schema_free(schema);
  return answer(status, toml, error);
}

static int kind_of(SEXP network) {
  return Rf_asLogical(network) == 1 ? GIBBSITE_NETWORK : GIBBSITE_ROWS;
}

static SEXP r_schema_read(SEXP path, SEXP network) {
  gibbsite_schema *schema = NULL;
  char *error = NULL;
  const gibbsite_status status =
      gibbsite_schema_read(text(path), kind_of(network), &schema, &error);
  return schema_text(status, schema, error);
}

static SEXP r_schema_parse(SEXP toml, SEXP network) {
  gibbsite_schema *schema = NULL;
  char *error = NULL;
  const gibbsite_status status =
      gibbsite_schema_parse(text(toml), kind_of(network), &schema, &error);
  return schema_text(status, schema, error);
}

static SEXP r_schema_json(SEXP toml, SEXP network) {
  gibbsite_schema *schema = NULL;
  char *json = NULL, *error = NULL;
  gibbsite_status status = gibbsite_schema_parse(text(toml), kind_of(network), &schema, &error);
  if (status == GIBBSITE_OK) status = gibbsite_schema_json(schema, &json, &error);
  gibbsite_schema_free(schema);
  return answer(status, json, error);
}

static SEXP r_schema_select(SEXP toml, SEXP terms, SEXP intercept) {
  gibbsite_schema *schema = NULL, *selected = NULL;
  char *error = NULL;
  gibbsite_status status = gibbsite_schema_parse(text(toml), GIBBSITE_ROWS, &schema, &error);
  if (status == GIBBSITE_OK)
    status = gibbsite_schema_select(schema, text(terms), Rf_asLogical(intercept) == 1, &selected,
                                    &error);
  gibbsite_schema_free(schema);
  return schema_text(status, selected, error);
}

/* ---- Fits ---- */

static void look_for_ctrl_c(void *unused) {
  (void)unused;
  R_CheckUserInterrupt();
}
/* R may be asked from its own thread alone. */
static int stop_on_ctrl_c(void *user, uint64_t done, uint64_t all) {
  int *const stopped = user;
  (void)done;
  (void)all;
  if (!*stopped && pthread_equal(pthread_self(), main_thread))
    *stopped = !R_ToplevelExec(look_for_ctrl_c, NULL);
  return *stopped;
}

/* Lines of a fit's log, each with its end. */
struct said {
  char *lines;
  size_t size;
};
static void keep_line(void *user, const char *line) {
  struct said *const all = user;
  const size_t more = strlen(line);
  char *const longer = realloc(all->lines, all->size + more + 2);
  if (longer == NULL) return;
  all->lines = longer;
  memcpy(longer + all->size, line, more);
  memcpy(longer + all->size + more, "\n", 2);
  all->size += more + 1;
}
/* The answer with those lines as its attribute "said". */
static SEXP with_said(SEXP given, struct said *all) {
  if (all->lines == NULL) return given;
  PROTECT(given);
  SEXP lines = PROTECT(utf8(all->lines));
  free(all->lines);
  Rf_setAttrib(given, Rf_install("said"), lines);
  UNPROTECT(2);
  return given;
}

/* A named character vector of settings. */
static gibbsite_status settings_of(SEXP given, gibbsite_settings **out, char **error) {
  const SEXP names = Rf_getAttrib(given, R_NamesSymbol);
  gibbsite_status status = gibbsite_settings_new(out, error);
  for (R_xlen_t k = 0; status == GIBBSITE_OK && k < Rf_xlength(given); ++k)
    status = gibbsite_settings_set(*out, Rf_translateCharUTF8(STRING_ELT(names, k)),
                                   Rf_translateCharUTF8(STRING_ELT(given, k)), error);
  return status;
}

static SEXP r_plan(SEXP toml, SEXP network, SEXP given, SEXP rows) {
  gibbsite_schema *schema = NULL;
  gibbsite_settings *settings = NULL;
  char *json = NULL, *error = NULL;
  struct said all = {NULL, 0};
  gibbsite_status status = gibbsite_schema_parse(text(toml), kind_of(network), &schema, &error);
  if (status == GIBBSITE_OK) status = settings_of(given, &settings, &error);
  if (status == GIBBSITE_OK) status = gibbsite_settings_log(settings, keep_line, &all, &error);
  if (status == GIBBSITE_OK)
    status = gibbsite_plan(schema, settings, (uint64_t)Rf_asReal(rows), &json, &error);
  gibbsite_settings_free(settings);
  gibbsite_schema_free(schema);
  return with_said(answer(status, json, error), &all);
}

/* table: a path, or a list of columns. toml: NULL for a schema that is bought. */
static SEXP r_fit(SEXP table, SEXP toml, SEXP network, SEXP given, SEXP ledger_path) {
  gibbsite_schema *schema = NULL;
  gibbsite_settings *settings = NULL;
  gibbsite_ledger *ledger = NULL;
  gibbsite_model *model = NULL;
  struct ArrowArrayStream stream;
  char *json = NULL, *error = NULL;
  int stopped = 0;
  struct said all = {NULL, 0};
  gibbsite_status status = settings_of(given, &settings, &error);
  if (status == GIBBSITE_OK) status = gibbsite_settings_log(settings, keep_line, &all, &error);
  if (status == GIBBSITE_OK)
    status = gibbsite_settings_progress(settings, stop_on_ctrl_c, &stopped, &error);
  if (status == GIBBSITE_OK && !Rf_isNull(toml))
    status = gibbsite_schema_parse(text(toml), kind_of(network), &schema, &error);
  if (status == GIBBSITE_OK && !Rf_isNull(ledger_path))
    status = gibbsite_ledger_open(text(ledger_path), &ledger, &error);
  if (status == GIBBSITE_OK) {
    if (Rf_isString(table)) {
      status = gibbsite_fit_file(text(table), schema, settings, ledger, &model, &error);
    } else if (stream_of(table, &stream)) {
      status = gibbsite_fit_arrow(&stream, schema, settings, ledger, &model, &error);
    } else {
      status = GIBBSITE_FAILED;
    }
  }
  if (status == GIBBSITE_OK) status = gibbsite_model_json(model, &json, &error);
  gibbsite_model_free(model);
  gibbsite_ledger_free(ledger);
  gibbsite_schema_free(schema);
  gibbsite_settings_free(settings);
  return with_said(answer(status, json, error), &all);
}

/* ---- Models ---- */

static SEXP r_model_read(SEXP path) {
  gibbsite_model *model = NULL;
  char *json = NULL, *error = NULL;
  gibbsite_status status = gibbsite_model_read(text(path), &model, &error);
  if (status == GIBBSITE_OK) status = gibbsite_model_json(model, &json, &error);
  gibbsite_model_free(model);
  return answer(status, json, error);
}

static SEXP r_model_write(SEXP model_json, SEXP path, SEXP replace) {
  gibbsite_model *model = NULL;
  char *error = NULL;
  gibbsite_status status = gibbsite_model_parse(text(model_json), &model, &error);
  if (status == GIBBSITE_OK)
    status = gibbsite_model_write(model, text(path), Rf_asLogical(replace) == 1, &error);
  gibbsite_model_free(model);
  return status == GIBBSITE_OK ? R_NilValue : failure(status, error);
}

/* What a function says of a model, as a text. */
static SEXP said_of(SEXP model_json,
                    gibbsite_status (*function)(const gibbsite_model *, char **, char **)) {
  gibbsite_model *model = NULL;
  char *out = NULL, *error = NULL;
  gibbsite_status status = gibbsite_model_parse(text(model_json), &model, &error);
  if (status == GIBBSITE_OK) status = function(model, &out, &error);
  gibbsite_model_free(model);
  return answer(status, out, error);
}

static SEXP r_model_words(SEXP model_json) { return said_of(model_json, gibbsite_model_words); }
static SEXP r_interval_words(SEXP model_json) {
  return said_of(model_json, gibbsite_interval_words);
}
static SEXP r_column_tests(SEXP model_json) { return said_of(model_json, gibbsite_column_tests); }

static SEXP r_verify(SEXP model_json) {
  char *report = NULL, *error = NULL;
  int valid = 0;
  const gibbsite_status status = gibbsite_verify(text(model_json), &valid, &report, &error);
  return answer(status, report, error);
}

static SEXP r_verify_file(SEXP path) {
  char *report = NULL, *error = NULL;
  int valid = 0;
  const gibbsite_status status = gibbsite_verify_file(text(path), &valid, &report, &error);
  return answer(status, report, error);
}

static SEXP r_effects(SEXP model_json, SEXP references) {
  const R_xlen_t count = Rf_xlength(references);
  const char **const texts = (const char **)R_alloc((size_t)count + 1, sizeof *texts);
  gibbsite_model *model = NULL;
  char *csv = NULL, *error = NULL;
  for (R_xlen_t k = 0; k < count; ++k)
    texts[k] = Rf_translateCharUTF8(STRING_ELT(references, k));
  gibbsite_status status = gibbsite_model_parse(text(model_json), &model, &error);
  if (status == GIBBSITE_OK)
    status = gibbsite_effects(model, texts, (size_t)count, &csv, &error);
  gibbsite_model_free(model);
  return answer(status, csv, error);
}

static SEXP r_query(SEXP model_json, SEXP question, SEXP of_class, SEXP against) {
  gibbsite_model *model = NULL;
  char *json = NULL, *error = NULL;
  gibbsite_status status = gibbsite_model_parse(text(model_json), &model, &error);
  if (status == GIBBSITE_OK)
    status = gibbsite_query(model, text(question), text(of_class), text(against), &json, &error);
  gibbsite_model_free(model);
  return answer(status, json, error);
}

static SEXP r_synthesize(SEXP model_json, SEXP rows, SEXP seed) {
  const uint64_t number = Rf_isNull(seed) ? 0 : (uint64_t)Rf_asReal(seed);
  gibbsite_model *model = NULL;
  char *csv = NULL, *error = NULL;
  gibbsite_status status = gibbsite_model_parse(text(model_json), &model, &error);
  if (status == GIBBSITE_OK)
    status = gibbsite_synthesize(model, (uint64_t)Rf_asReal(rows), Rf_isNull(seed) ? NULL : &number,
                                 &csv, &error);
  gibbsite_model_free(model);
  return answer(status, csv, error);
}

/* A matrix, a row for each of the table. */
static SEXP r_predict(SEXP model_json, SEXP table, SEXP intervals) {
  const int what =
      Rf_asLogical(intervals) == 1 ? GIBBSITE_INTERVALS : GIBBSITE_RESPONSE;
  gibbsite_model *model = NULL;
  struct ArrowArrayStream stream;
  gibbsite_numbers numbers = {NULL, 0, 0};
  struct said all = {NULL, 0};
  char *error = NULL;
  gibbsite_status status = gibbsite_model_parse(text(model_json), &model, &error);
  if (status == GIBBSITE_OK && what == GIBBSITE_RESPONSE) /* intervals are of the same rows */
    status = gibbsite_model_log(model, keep_line, &all, &error);
  if (status == GIBBSITE_OK) {
    if (Rf_isString(table)) {
      status = gibbsite_predict_file(model, text(table), what, &numbers, &error);
    } else if (stream_of(table, &stream)) {
      status = gibbsite_predict_arrow(model, &stream, what, &numbers, &error);
    } else {
      status = GIBBSITE_FAILED;
    }
  }
  gibbsite_model_free(model);
  if (status != GIBBSITE_OK) return with_said(failure(status, error), &all);
  const size_t rows = numbers.rows, columns = numbers.columns;
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)rows, (int)columns));
  for (size_t i = 0; i < rows; ++i)
    for (size_t k = 0; k < columns; ++k) REAL(out)[i + k * rows] = numbers.values[i * columns + k];
  gibbsite_free(numbers.values);
  out = with_said(out, &all);
  UNPROTECT(1);
  return out;
}

/* JSON of the scores of a table with labels. */
static SEXP r_evaluate(SEXP model_json, SEXP table, SEXP threshold) {
  gibbsite_model *model = NULL;
  struct ArrowArrayStream stream;
  struct said all = {NULL, 0};
  char *json = NULL, *error = NULL;
  const double least = Rf_asReal(threshold);
  gibbsite_status status = gibbsite_model_parse(text(model_json), &model, &error);
  if (status == GIBBSITE_OK) status = gibbsite_model_log(model, keep_line, &all, &error);
  if (status == GIBBSITE_OK) {
    if (Rf_isString(table)) {
      status = gibbsite_evaluate_file(model, text(table), least, &json, &error);
    } else if (stream_of(table, &stream)) {
      status = gibbsite_evaluate_arrow(model, &stream, least, &json, &error);
    } else {
      status = GIBBSITE_FAILED;
    }
  }
  gibbsite_model_free(model);
  return with_said(answer(status, json, error), &all);
}

/* ---- Ledgers ---- */

static SEXP r_ledger_create(SEXP path, SEXP epsilon, SEXP delta, SEXP adjacency, SEXP rows) {
  const double number = Rf_asReal(rows);
  const uint64_t held = number == R_PosInf ? GIBBSITE_ANY_ROWS : (uint64_t)number;
  char *error = NULL;
  const gibbsite_status status = gibbsite_ledger_create(
      text(path), Rf_asReal(epsilon), Rf_asReal(delta), text(adjacency), held, &error);
  return status == GIBBSITE_OK ? R_NilValue : failure(status, error);
}

static SEXP r_ledger_json(SEXP path) {
  gibbsite_ledger *ledger = NULL;
  char *json = NULL, *error = NULL;
  gibbsite_status status = gibbsite_ledger_open(text(path), &ledger, &error);
  if (status == GIBBSITE_OK) status = gibbsite_ledger_json(ledger, &json, &error);
  gibbsite_ledger_free(ledger);
  return answer(status, json, error);
}

static SEXP r_ledger_total(SEXP path, SEXP epsilon) {
  gibbsite_ledger *ledger = NULL;
  double delta = 0;
  char *error = NULL;
  gibbsite_status status = gibbsite_ledger_open(text(path), &ledger, &error);
  if (status == GIBBSITE_OK)
    status = gibbsite_ledger_total(ledger, Rf_asReal(epsilon), &delta, &error);
  gibbsite_ledger_free(ledger);
  return status == GIBBSITE_OK ? Rf_ScalarReal(delta) : failure(status, error);
}

static SEXP r_version(void) { return utf8(gibbsite_version()); }

#define CALL(name, count) {"C_" #name, (DL_FUNC)&r_##name, count}
static const R_CallMethodDef calls[] = {
    CALL(schema_read, 2),   CALL(schema_parse, 2),  CALL(schema_json, 2), CALL(schema_select, 3),
    CALL(plan, 4),          CALL(fit, 5),           CALL(model_read, 1),  CALL(model_write, 3),
    CALL(model_words, 1),   CALL(verify, 1),        CALL(verify_file, 1), CALL(effects, 2),
    CALL(query, 4),         CALL(synthesize, 3),    CALL(predict, 3),     CALL(ledger_create, 5),
    CALL(ledger_json, 1),   CALL(ledger_total, 2),  CALL(version, 0),
    CALL(interval_words, 1),     CALL(evaluate, 3), CALL(column_tests, 1),
    {NULL, NULL, 0}};

void R_init_gibbsite(DllInfo *library) {
  main_thread = pthread_self();
  R_registerRoutines(library, NULL, calls, NULL, NULL);
  R_useDynamicSymbols(library, FALSE);
  R_forceSymbols(library, TRUE);
}
