/* The C interface of gibbsite (libgibbsite.so.0): models fitted on private data, with certificates
   of their differential privacy. Plain C11. docs/reference/c.md has a program that uses it.

   Every function that can fail returns a status and never ends the process. A status other than
   GIBBSITE_OK comes with a line of text in *error (if error is not NULL), which gibbsite_free
   frees; *error is NULL otherwise. A function that fails leaves its other out-parameters NULL or 0.
   Texts are UTF-8 that ends in 0. A NULL that is not said to be allowed is an error, and freeing
   NULL does nothing. Handles may be used by one thread at a time.

   What a model's JSON, its effects and its predictions say may be published. Messages about the
   rows of a table may quote a cell: they are private. */
#ifndef GIBBSITE_H
#define GIBBSITE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GIBBSITE_API __attribute__((visibility("default")))
#else
#define GIBBSITE_API
#endif

/* The statuses are the program's (docs/reference/command-line.md), but for 1. */
typedef enum gibbsite_status {
  GIBBSITE_OK = 0,
  GIBBSITE_FAILED = 1,              /* memory ran out, or an error of the library itself */
  GIBBSITE_BAD_INPUT = 2,           /* an argument, a file or a cell is not as it must be */
  GIBBSITE_BACKEND_UNAVAILABLE = 3, /* it is not compiled in, has no device, or failed */
  GIBBSITE_INFEASIBLE = 4,          /* the guarantee asked for cannot be given */
  GIBBSITE_BUDGET_SPENT = 5,        /* the ledger has no room for this release */
  GIBBSITE_INTERRUPTED = 130        /* the progress function asked to stop */
} gibbsite_status;

typedef struct gibbsite_schema gibbsite_schema;
typedef struct gibbsite_settings gibbsite_settings;
typedef struct gibbsite_ledger gibbsite_ledger;
typedef struct gibbsite_model gibbsite_model;
/* A table by the Arrow C stream interface. Functions that take one use it up and release it, also
   when they fail. */
struct ArrowArrayStream;

/* The version of the library, such as "0.2.0"; not to be freed. */
GIBBSITE_API const char *gibbsite_version(void);
/* Frees a text or an array of numbers that a function below gave. */
GIBBSITE_API void gibbsite_free(void *memory);

/* ---- Schemas: what is public about a table (docs/reference/data.md) ---- */

typedef enum gibbsite_kind {
  GIBBSITE_ROWS = 0,   /* a model of rows: a regression of a label */
  GIBBSITE_NETWORK = 1 /* a Bayesian network over all columns, which needs no label */
} gibbsite_kind;

/* Reads a schema from TOML text. kind: a gibbsite_kind, as an int, so that any value is refused and
   none is undefined. */
GIBBSITE_API gibbsite_status gibbsite_schema_parse(const char *toml, int kind,
                                                   gibbsite_schema **schema, char **error);
/* Reads a schema from a file; errors name file and line. */
GIBBSITE_API gibbsite_status gibbsite_schema_read(const char *path, int kind,
                                                  gibbsite_schema **schema, char **error);
/* A schema of rows with the terms of a formula alone: columns that no term names are ignored, but
   for weights and exposures. `terms` is a JSON list. A term is a column "age", a curve
   {"curve": "age"} whose knots are chosen from public numbers, one of 8 knots
   {"curve": "age", "knots": 8}, or an interaction ["age", "sex"]. */
GIBBSITE_API gibbsite_status gibbsite_schema_select(const gibbsite_schema *schema,
                                                    const char *terms, int intercept,
                                                    gibbsite_schema **selected, char **error);
/* TOML text that gibbsite_schema_parse reads back. */
GIBBSITE_API gibbsite_status gibbsite_schema_toml(const gibbsite_schema *schema, char **toml,
                                                  char **error);
/* The "preprocessing" object of a model file: label, columns, ranges, levels. */
GIBBSITE_API gibbsite_status gibbsite_schema_json(const gibbsite_schema *schema, char **json,
                                                  char **error);
GIBBSITE_API void gibbsite_schema_free(gibbsite_schema *schema);

/* ---- Settings ---- */

GIBBSITE_API gibbsite_status gibbsite_settings_new(gibbsite_settings **settings, char **error);
/* Sets an option of the command line's `fit` by its name, with _ for -, as text: epsilon and delta
   (needed), adjacency, rows_cap, rows_per_person, draws, model, mechanism, calibration,
   prior_precision, loss_cap, tv, step_size, ball, iterations, padded, intervals, positive_share;
   of networks prior, trim, structure, structure_share, parents, cells; of runs backend, threads,
   release_moments. A flag is "true" or "false", a list "1,2". Where the schema is bought, also
   label and schema_share, and what the label holds: positive, classes (a JSON list), range ("0,9"),
   tolerance, counts; person, the column of ids, weight with weight_range ("0,9") and exposure with
   exposure_range ("0.1,10"), which a schema that is given says itself; date_parts
   ("hired=year,month", once a column); and public, the path of a public table that the schema
   follows from instead. With a column of people all rows of one count as at most rows_per_person;
   without, nothing enforces rows_per_person. There is no seed: noise is keyed by the operating
   system, so that every certificate holds. */
GIBBSITE_API gibbsite_status gibbsite_settings_set(gibbsite_settings *settings, const char *name,
                                                   const char *value, char **error);
/* Called now and then while a table is read or a model fitted, from any thread but one at a time,
   with what is done and what there is in all (0: unknown). Another return value than 0 stops. A fit
   that buys its schema, and one of a network's tree, is then entered in the ledger all the same:
   its progress tells of noisy answers. */
typedef int (*gibbsite_progress)(void *user, uint64_t done, uint64_t all);
GIBBSITE_API gibbsite_status gibbsite_settings_progress(gibbsite_settings *settings,
                                                        gibbsite_progress progress, void *user,
                                                        char **error);
/* Called by a plan and a fit, from its caller's thread, with each line that a curator should read:
   warnings of the budget and of what looks wrong with the table. A line that begins with "private: " tells about
   the rows. Without it nothing is said. */
typedef void (*gibbsite_log)(void *user, const char *line);
GIBBSITE_API gibbsite_status gibbsite_settings_log(gibbsite_settings *settings, gibbsite_log log,
                                                   void *user, char **error);
GIBBSITE_API void gibbsite_settings_free(gibbsite_settings *settings);

/* ---- Ledgers: the account of all releases about the same people (docs/how-to/ledger.md) ---- */

/* In place of rows_per_person: the ledger counts people, whatever rows they have, and takes fits with
   a column of people alone. */
#define GIBBSITE_ANY_ROWS UINT64_MAX
/* Makes a ledger file; a file that is there is an error. adjacency: NULL for "replace-one". */
GIBBSITE_API gibbsite_status gibbsite_ledger_create(const char *path, double epsilon, double delta,
                                                    const char *adjacency, uint64_t rows_per_person,
                                                    char **error);
GIBBSITE_API gibbsite_status gibbsite_ledger_open(const char *path, gibbsite_ledger **ledger,
                                                  char **error);
/* What `gibbsite ledger export` writes: caps, what is spent, every release. */
GIBBSITE_API gibbsite_status gibbsite_ledger_json(const gibbsite_ledger *ledger, char **json,
                                                  char **error);
/* The delta of all that is spent so far, at that epsilon, rounded up. It is information: the
   guarantee is the ledger's own, as releases may be chosen in the light of earlier ones. */
GIBBSITE_API gibbsite_status gibbsite_ledger_total(const gibbsite_ledger *ledger, double epsilon,
                                                   double *delta, char **error);
GIBBSITE_API void gibbsite_ledger_free(gibbsite_ledger *ledger);

/* ---- Plans and fits ---- */

/* What every mechanism would do with the budget, and which one is chosen, as JSON (`gibbsite plan
   --json`): a function of public numbers alone. rows: 0 under adjacency add-remove; with a column
   of people, how many there are of them. */
GIBBSITE_API gibbsite_status gibbsite_plan(const gibbsite_schema *schema,
                                           const gibbsite_settings *settings, uint64_t rows,
                                           char **json, char **error);
/* Fits a model to a file (CSV, and what docs/reference/data.md lists) or an Arrow table, and
   certifies it. schema: NULL where it is bought with a part of the budget, of a network if the
   setting model is "network". ledger: NULL, or where
   the release is entered before this returns; a ledger without room refuses it. A model that was
   entered is paid for, whether or not it is written. */
GIBBSITE_API gibbsite_status gibbsite_fit_file(const char *path, const gibbsite_schema *schema,
                                               const gibbsite_settings *settings,
                                               const gibbsite_ledger *ledger,
                                               gibbsite_model **model, char **error);
GIBBSITE_API gibbsite_status gibbsite_fit_arrow(struct ArrowArrayStream *table,
                                                const gibbsite_schema *schema,
                                                const gibbsite_settings *settings,
                                                const gibbsite_ledger *ledger,
                                                gibbsite_model **model, char **error);

/* ---- Models: models of rows and networks, which may be published ---- */

GIBBSITE_API gibbsite_status gibbsite_model_read(const char *path, gibbsite_model **model,
                                                 char **error);
GIBBSITE_API gibbsite_status gibbsite_model_parse(const char *json, gibbsite_model **model,
                                                  char **error);
/* Writes model.json, whole or not at all. replace: 0 keeps a file that is there, an error. */
GIBBSITE_API gibbsite_status gibbsite_model_write(const gibbsite_model *model, const char *path,
                                                  int replace, char **error);
/* The text of model.json. */
GIBBSITE_API gibbsite_status gibbsite_model_json(const gibbsite_model *model, char **json,
                                                 char **error);
/* The certificate in words for a person. */
GIBBSITE_API gibbsite_status gibbsite_model_words(const gibbsite_model *model, char **words,
                                                  char **error);
GIBBSITE_API gibbsite_status gibbsite_model_kind(const gibbsite_model *model, int *kind,
                                                 char **error);
GIBBSITE_API void gibbsite_model_free(gibbsite_model *model);

/* Recomputes every claim of a model file's text, of any kind, from its public numbers. *valid is 1
   if all hold and the noise came from no seed. *report (NULL: not wanted) is JSON: valid, void,
   checks, failures. A claim that does not hold is no error. */
GIBBSITE_API gibbsite_status gibbsite_verify(const char *json, int *valid, char **report,
                                             char **error);
GIBBSITE_API gibbsite_status gibbsite_verify_file(const char *path, int *valid, char **report,
                                                  char **error);

/* The table of effects as CSV (docs/how-to/report.md): estimates in the units of the columns, and,
   if the model has them, standard errors, 95 % intervals and p-values. references: NULL, or `count`
   texts "column=level" that other levels are compared with. */
GIBBSITE_API gibbsite_status gibbsite_effects(const gibbsite_model *model,
                                              const char *const *references, size_t count,
                                              char **csv, char **error);
/* Whether each column has an effect at all, as CSV: column, chi_squared, degrees_of_freedom, p_value;
   GIBBSITE_BAD_INPUT if the model has no intervals (docs/theory/intervals.md, "A whole column"). */
GIBBSITE_API gibbsite_status gibbsite_column_tests(const gibbsite_model *model, char **csv,
                                                   char **error);
/* What the 95 % intervals of the effects hold, and how often, in a sentence for people; "" where the
   model has none. */
GIBBSITE_API gibbsite_status gibbsite_interval_words(const gibbsite_model *model, char **words,
                                                     char **error);
/* Asks a network "P(income = >50K | sex = Female)", or a model with intervals about an effect
   "age*10 - sex=Male"; of several classes, of_class and against name the classes (else NULL).
   The answer is an object of JSON; of a network it has "warnings" where the columns asked about are
   not joined, or what they share is inferred. Costs no privacy. */
GIBBSITE_API gibbsite_status gibbsite_query(const gibbsite_model *model, const char *question,
                                            const char *of_class, const char *against, char **json,
                                            char **error);
/* Draws people from a network as the text of a CSV table. rows: 0 for as many as the certificate
   counts. seed: NULL for another table at every call; it is no secret. */
GIBBSITE_API gibbsite_status gibbsite_synthesize(const gibbsite_model *model, uint64_t rows,
                                                 const uint64_t *seed, char **csv, char **error);

typedef enum gibbsite_prediction {
  /* Two classes: P(positive class) [rows x 1]; several: of each [rows x classes]; amounts and
     counts: the prediction in the label's unit [rows x 1]. */
  GIBBSITE_RESPONSE = 0,
  /* The 95 % intervals of these: low and high of each [rows x 2], or [rows x 2 classes]. */
  GIBBSITE_INTERVALS = 1
} gibbsite_prediction;
/* Numbers of rows [rows x columns], row-major; gibbsite_free frees `values`. */
typedef struct gibbsite_numbers {
  double *values;
  size_t rows, columns;
} gibbsite_numbers;
/* Called by predictions and evaluations, as gibbsite_settings_log is by fits: of cells that the model
   cannot read, and of what looks wrong with the table. Every line begins with "private: ". */
GIBBSITE_API gibbsite_status gibbsite_model_log(gibbsite_model *model, gibbsite_log log, void *user,
                                                char **error);
/* Predicts rows, whose label is not needed and whose columns that the model does not use are
   skipped. A cell that the model cannot read counts as another level or a missing one. what: a
   gibbsite_prediction. */
GIBBSITE_API gibbsite_status gibbsite_predict_file(const gibbsite_model *model, const char *path,
                                                   int what, gibbsite_numbers *out, char **error);
GIBBSITE_API gibbsite_status gibbsite_predict_arrow(const gibbsite_model *model,
                                                    struct ArrowArrayStream *table, int what,
                                                    gibbsite_numbers *out, char **error);
/* Scores predictions of rows that have labels, as JSON (`gibbsite evaluate --json`): of classes
   accuracy, log_loss, auc, confusion and more; of amounts rmse, mae, r2. PRIVATE: it reads the labels,
   and no certificate covers it. threshold, from 0 to 1: the least probability for which the
   positive of two classes is predicted, such as 0.5; of other labels it has no meaning. Rows of one
   person count together as one. */
GIBBSITE_API gibbsite_status gibbsite_evaluate_file(const gibbsite_model *model, const char *path,
                                                    double threshold, char **json, char **error);
GIBBSITE_API gibbsite_status gibbsite_evaluate_arrow(const gibbsite_model *model,
                                                     struct ArrowArrayStream *table,
                                                     double threshold, char **json, char **error);

#ifdef __cplusplus
}
#endif

#endif
