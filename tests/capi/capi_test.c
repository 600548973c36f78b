/* The C interface as a program in C sees it: capi_test DATA_FOLDER SCRATCH_FOLDER. Under sanitizers
   every handle and text that is not freed ends it. */
#include <gibbsite.h>
#include <gibbsite/data/arrow_abi.hpp>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int checks = 0;

static void check(int holds, const char *what, int line) {
  ++checks;
  if (holds) return;
  fprintf(stderr, "capi_test.c:%d: %s\n", line, what);
  exit(1);
}
#define CHECK(holds) check((holds) != 0, #holds, __LINE__)

static char *error = NULL;

/* A call that must succeed. */
static void ok(gibbsite_status status, int line) {
  ++checks;
  if (status == GIBBSITE_OK && error == NULL) return;
  fprintf(stderr, "capi_test.c:%d: status %d: %s\n", line, (int)status, error ? error : "");
  exit(1);
}
#define OK(call) ok(call, __LINE__)

/* A call that must fail with that status and words. */
static void fails(gibbsite_status status, gibbsite_status expected, const char *words, int line) {
  ++checks;
  if (status == expected && error != NULL && strstr(error, words) != NULL) {
    gibbsite_free(error);
    error = NULL;
    return;
  }
  fprintf(stderr, "capi_test.c:%d: status %d, error '%s', not %d with '%s'\n", line, (int)status,
          error ? error : "", (int)expected, words);
  exit(1);
}
#define FAILS(call, expected, words) fails(call, expected, words, __LINE__)

static char path_of[4][1024];
static const char *path(const char *folder, const char *name) {
  static int at = 0;
  char *const out = path_of[at++ % 4];
  snprintf(out, sizeof path_of[0], "%s/%s", folder, name);
  return out;
}

static gibbsite_settings *settings_of(const char *epsilon) {
  gibbsite_settings *settings = NULL;
  OK(gibbsite_settings_new(&settings, &error));
  OK(gibbsite_settings_set(settings, "epsilon", epsilon, &error));
  OK(gibbsite_settings_set(settings, "delta", "1e-6", &error));
  return settings;
}

/* The table's first two rows as an Arrow stream of dictionaries and texts: gender and department. */
static int released = 0;

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void release_array(struct ArrowArray *array) { array->release = NULL; }

static const int32_t ends[] = {0, 4, 10}, letters[] = {0, 1, 2};
static const char genders[] = "MaleFemale", departments[] = "BC";
static struct ArrowSchema gender_schema = {"u", "gender", NULL, 2, 0, NULL, NULL, release_schema, NULL};
static struct ArrowSchema department_schema = {"u", "department", NULL, 2, 0, NULL, NULL, release_schema, NULL};
static struct ArrowSchema *schemas[] = {&gender_schema, &department_schema};
static const void *gender_buffers[] = {NULL, ends, genders}, *department_buffers[] = {NULL, letters, departments};
static const void *no_buffers[] = {NULL};
static struct ArrowArray gender_array = {2, 0, 0, 3, 0, gender_buffers, NULL, NULL, release_array, NULL};
static struct ArrowArray department_array = {2, 0, 0, 3, 0, department_buffers, NULL, NULL, release_array, NULL};
static struct ArrowArray *arrays[] = {&gender_array, &department_array};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  const struct ArrowSchema all = {"+s", "", NULL, 0, 2, schemas, NULL, release_schema, NULL};
  (void)stream;
  *out = all;
  return 0;
}
static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  const struct ArrowArray all = {2, 0, 0, 1, 2, no_buffers, arrays, NULL, release_array, NULL};
  const struct ArrowArray none = {0};
  *out = stream->private_data != NULL ? all : none;
  stream->private_data = NULL;
  return 0;
}
static const char *get_last_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return NULL;
}
static void release_stream(struct ArrowArrayStream *stream) {
  stream->release = NULL;
  ++released;
}
static struct ArrowArrayStream two_rows(void) {
  struct ArrowArrayStream out = {get_schema, get_next, get_last_error, release_stream, NULL};
  out.private_data = &released;
  return out;
}

static int stop_at_once(void *user, uint64_t done, uint64_t all) {
  (void)done;
  (void)all;
  ++*(int *)user;
  return 1;
}

static char said[4096];
static void keep_line(void *user, const char *line) {
  ++*(int *)user;
  strncat(said, line, sizeof said - strlen(said) - 2);
  strcat(said, "\n");
}

/* A fit's log has what the command line warns of: the budget first, what looks wrong with the rows last. */
static void test_log(const char *scratch) {
  gibbsite_schema *schema = NULL;
  gibbsite_model *model = NULL;
  gibbsite_settings *settings = settings_of("20");
  gibbsite_numbers values = {NULL, 0, 0};
  char *text = NULL;
  int lines = 0;
  FILE *odd = fopen(path(scratch, "odd.csv"), "w");

  CHECK(odd != NULL);
  fprintf(odd, "gender,department,admitted\n");
  for (int i = 0; i < 2000; ++i) fprintf(odd, "%s,%c,%s\n", i % 3 ? "f" : "Male", 'A' + i % 6, i % 2 ? "Admitted" : "Rejected");
  fclose(odd);
  FAILS(gibbsite_settings_log(NULL, keep_line, &lines, &error), GIBBSITE_BAD_INPUT, "settings: is NULL");
  OK(gibbsite_settings_log(settings, keep_line, &lines, &error));
  OK(gibbsite_settings_set(settings, "delta", "0.01", &error));
  OK(gibbsite_settings_set(settings, "rows_per_person", "2", &error));
  OK(gibbsite_schema_parse("label = \"admitted\"\npositive = \"Admitted\"\nnegative = \"Rejected\"\nrow_norm = \"auto\"\n"
                           "[columns]\ngender = { type = \"category\", levels = [\"Male\"], other = true }\n"
                           "department = { type = \"category\", levels = [\"A\", \"B\", \"C\", \"D\", \"E\", \"F\"] }\n",
                           GIBBSITE_ROWS, &schema, &error));
  OK(gibbsite_plan(schema, settings, 2000, &text, &error));
  gibbsite_free(text);
  CHECK(strstr(said, "epsilon: \316\265 = 20 by itself") != NULL && lines == 2);
  lines = 0, said[0] = '\0';
  OK(gibbsite_fit_file(path(scratch, "odd.csv"), schema, settings, NULL, &model, &error));
  CHECK(strstr(said, "rows_per_person: nothing enforces it") != NULL);
  CHECK(strstr(said, "epsilon: \316\265 = 20 by itself") != NULL);
  CHECK(strstr(said, "is not below 1/rows") != NULL);
  CHECK(strstr(said, "private: column 'gender': 1333 of 2000 cells are none of the levels") != NULL);
  CHECK(lines == 4);
  /* So does a prediction's: cells that the model cannot read were predicted in silence. */
  odd = fopen(path(scratch, "unseen.csv"), "w");
  CHECK(odd != NULL);
  fprintf(odd, "gender,department\nMale,A\nMale,Z\n");
  fclose(odd);
  FAILS(gibbsite_model_log(NULL, keep_line, &lines, &error), GIBBSITE_BAD_INPUT, "model: is NULL");
  OK(gibbsite_model_log(model, keep_line, &lines, &error));
  OK(gibbsite_predict_file(model, path(scratch, "unseen.csv"), GIBBSITE_RESPONSE, &values, &error));
  CHECK(strstr(said, "private: 1 of 2 rows have a cell that the model cannot read") != NULL && lines == 5);
  gibbsite_free(values.values);
  gibbsite_model_free(model);
  gibbsite_schema_free(schema);

  /* Nothing joins the columns of a question: the answer says so. */
  OK(gibbsite_schema_parse("[columns]\ngender = { type = \"category\", levels = [\"f\", \"Male\"] }\n"
                           "admitted = { type = \"category\", levels = [\"Admitted\", \"Rejected\"] }\n"
                           "[network]\ngender = []\nadmitted = []\n",
                           GIBBSITE_NETWORK, &schema, &error));
  OK(gibbsite_fit_file(path(scratch, "odd.csv"), schema, settings, NULL, &model, &error));
  OK(gibbsite_query(model, "P(gender = f | admitted = Admitted)", NULL, NULL, &text, &error));
  CHECK(strstr(text, "\"warnings\"") != NULL && strstr(text, "independent") != NULL);
  gibbsite_free(text);
  OK(gibbsite_query(model, "P(gender = f)", NULL, NULL, &text, &error));
  CHECK(strstr(text, "\"warnings\"") == NULL);
  gibbsite_free(text);
  gibbsite_model_free(model);
  gibbsite_schema_free(schema);
  gibbsite_settings_free(settings);
}

static void test_schemas(const char *data) {
  gibbsite_schema *schema = NULL, *selected = NULL, *again = NULL;
  char *text = NULL;
  FAILS(gibbsite_schema_parse("label = 1", GIBBSITE_ROWS, &schema, &error), GIBBSITE_BAD_INPUT, "schema:1");
  CHECK(schema == NULL);
  FAILS(gibbsite_schema_read("nowhere.toml", GIBBSITE_ROWS, &schema, &error), GIBBSITE_BAD_INPUT, "nowhere.toml");
  FAILS(gibbsite_schema_read(path(data, "berkeley.toml"), 7, &schema, &error), GIBBSITE_BAD_INPUT, "kind");
  FAILS(gibbsite_schema_parse(NULL, GIBBSITE_ROWS, &schema, &error), GIBBSITE_BAD_INPUT, "toml: is NULL");
  FAILS(gibbsite_schema_parse("", GIBBSITE_ROWS, NULL, &error), GIBBSITE_BAD_INPUT, "schema: is NULL");
  CHECK(gibbsite_schema_parse(NULL, GIBBSITE_ROWS, &schema, NULL) == GIBBSITE_BAD_INPUT);

  OK(gibbsite_schema_parse("label = \"y\"\nrange = [0, 9]\n[columns]\na = {type = \"number\", range = [0, 90]}\n"
                           "b = {type = \"category\", levels = [\"u\", \"v\"]}\nc = {type = \"number\", range = [0, 1]}\n",
                           GIBBSITE_ROWS, &schema, &error));
  OK(gibbsite_schema_select(schema, "[\"b\", {\"curve\": \"a\", \"knots\": 5}, [\"a\", \"b\"]]", 1, &selected, &error));
  OK(gibbsite_schema_toml(selected, &text, &error));
  OK(gibbsite_schema_parse(text, GIBBSITE_ROWS, &again, &error));
  gibbsite_free(text);
  OK(gibbsite_schema_json(again, &text, &error));
  CHECK(strstr(text, "\"ignore\"") != NULL && strstr(text, "knots") != NULL && strstr(text, "interaction") != NULL);
  gibbsite_free(text);
  gibbsite_schema_free(selected);
  FAILS(gibbsite_schema_select(schema, "[\"q\"]", 1, &selected, &error), GIBBSITE_BAD_INPUT, "has no column 'q'");
  FAILS(gibbsite_schema_select(schema, "[{\"curve\": \"b\"}]", 1, &selected, &error), GIBBSITE_BAD_INPUT, "no number");
  FAILS(gibbsite_schema_select(schema, "[[\"a\", \"b\"]]", 1, &selected, &error), GIBBSITE_BAD_INPUT, "no term itself");
  FAILS(gibbsite_schema_select(schema, "a + b", 1, &selected, &error), GIBBSITE_BAD_INPUT, "JSON list");
  CHECK(selected == NULL);
  gibbsite_schema_free(again);
  gibbsite_schema_free(schema);
  gibbsite_schema_free(NULL);
}

static void test_settings(void) {
  gibbsite_settings *settings = settings_of("1");
  FAILS(gibbsite_settings_set(settings, "seed", "1", &error), GIBBSITE_BAD_INPUT, "seed");
  FAILS(gibbsite_settings_set(settings, "epsilom", "1", &error), GIBBSITE_BAD_INPUT, "'epsilom' is no setting");
  FAILS(gibbsite_settings_set(settings, "epsilon", "much", &error), GIBBSITE_BAD_INPUT, "epsilon: 'much' is not a number");
  FAILS(gibbsite_settings_set(settings, "intervals", "yes", &error), GIBBSITE_BAD_INPUT, "true or false");
  FAILS(gibbsite_settings_set(NULL, "epsilon", "1", &error), GIBBSITE_BAD_INPUT, "settings: is NULL");
  FAILS(gibbsite_settings_set(settings, "classes", "A,B", &error), GIBBSITE_BAD_INPUT, "JSON list");
  gibbsite_settings_free(settings);
  gibbsite_settings_free(NULL);
}

static void test_rows(const char *data, const char *scratch) {
  const char *const references[] = {"gender=Female"};
  gibbsite_schema *schema = NULL;
  gibbsite_model *model = NULL, *again = NULL;
  gibbsite_settings *settings = settings_of("1");
  int kind = GIBBSITE_NETWORK;
  struct ArrowArrayStream stream = two_rows();
  struct stat file;
  char *text = NULL, *json = NULL;
  gibbsite_numbers values = {NULL, 0, 0}, from_file = values, ends_of = values;
  int valid = 0, asked = 0;

  OK(gibbsite_schema_read(path(data, "berkeley.toml"), GIBBSITE_ROWS, &schema, &error));
  OK(gibbsite_plan(schema, settings, 4526, &text, &error));
  CHECK(strstr(text, "whitened") != NULL);
  gibbsite_free(text);
  FAILS(gibbsite_plan(schema, settings, 0, &text, &error), GIBBSITE_BAD_INPUT, "rows: is missing");
  OK(gibbsite_settings_set(settings, "intervals", "true", &error));
  OK(gibbsite_fit_file(path(data, "berkeley.csv"), schema, settings, NULL, &model, &error));
  OK(gibbsite_model_kind(model, &kind, &error));
  CHECK(kind == GIBBSITE_ROWS);

  OK(gibbsite_model_write(model, path(scratch, "model.json"), 0, &error));
  FAILS(gibbsite_model_write(model, path(scratch, "model.json"), 0, &error), GIBBSITE_BAD_INPUT, "model.json");
  OK(gibbsite_model_write(model, path(scratch, "model.json"), 1, &error));
  CHECK(stat(path(scratch, "model.json"), &file) == 0);
  OK(gibbsite_verify_file(path(scratch, "model.json"), &valid, NULL, &error));
  CHECK(valid == 1);
  OK(gibbsite_model_read(path(scratch, "model.json"), &again, &error));
  OK(gibbsite_model_json(model, &json, &error));
  OK(gibbsite_model_json(again, &text, &error));
  CHECK(strcmp(json, text) == 0);
  CHECK((size_t)file.st_size == strlen(json));
  gibbsite_free(text);
  /* A stronger claim is no error, and not valid. */
  text = strstr(json, "\"epsilon\": 1.0");
  CHECK(text != NULL);
  text[11] = '0', text[13] = '5';
  OK(gibbsite_verify(json, &valid, &text, &error));
  CHECK(valid == 0 && strstr(text, "failures") != NULL);
  gibbsite_free(text);
  gibbsite_free(json);
  FAILS(gibbsite_verify("{}", &valid, NULL, &error), GIBBSITE_BAD_INPUT, "model");

  OK(gibbsite_effects(model, references, 1, &text, &error));
  CHECK(strstr(text, "gender=Male") != NULL && strstr(text, "vs_reference_lower") != NULL);
  gibbsite_free(text);
  FAILS(gibbsite_effects(model, NULL, 1, &text, &error), GIBBSITE_BAD_INPUT, "references: is NULL");
  OK(gibbsite_column_tests(model, &text, &error));
  CHECK(strncmp(text, "column,chi_squared,degrees_of_freedom,p_value\n", 46) == 0);
  CHECK(strstr(text, "\ngender,") != NULL && strstr(text, "\ndepartment,") != NULL);
  gibbsite_free(text);
  FAILS(gibbsite_column_tests(model, NULL, &error), GIBBSITE_BAD_INPUT, "csv: is NULL");
  OK(gibbsite_query(model, "department", NULL, NULL, &text, &error));
  CHECK(strstr(text, "chi_squared") != NULL);
  gibbsite_free(text);
  OK(gibbsite_interval_words(model, &text, &error));
  CHECK(strstr(text, "95 %") != NULL);
  gibbsite_free(text);
  OK(gibbsite_query(model, "gender=Female - gender=Male", NULL, NULL, &text, &error));
  CHECK(strstr(text, "odds_ratio") != NULL);
  gibbsite_free(text);
  OK(gibbsite_model_words(model, &text, &error));
  CHECK(strstr(text, "1e-06") != NULL || strstr(text, "differential") != NULL);
  gibbsite_free(text);
  FAILS(gibbsite_synthesize(model, 9, NULL, &text, &error), GIBBSITE_BAD_INPUT, "give a network");

  OK(gibbsite_predict_arrow(model, &stream, GIBBSITE_RESPONSE, &values, &error));
  CHECK(values.rows == 2 && values.columns == 1 && released == 1 && stream.release == NULL);
  FAILS(gibbsite_predict_arrow(model, &stream, GIBBSITE_RESPONSE, &ends_of, &error), GIBBSITE_BAD_INPUT,
        "read before");
  OK(gibbsite_predict_file(model, path(data, "berkeley.csv"), GIBBSITE_RESPONSE, &from_file, &error));
  CHECK(from_file.rows == 4526 && from_file.columns == 1);
  CHECK(memcmp(from_file.values, values.values, 2 * sizeof(double)) == 0);
  OK(gibbsite_predict_file(model, path(data, "berkeley.csv"), GIBBSITE_INTERVALS, &ends_of, &error));
  CHECK(ends_of.columns == 2 && ends_of.values[0] < from_file.values[0] && from_file.values[0] < ends_of.values[1]);
  OK(gibbsite_evaluate_file(model, path(data, "berkeley.csv"), 0.5, &text, &error));
  CHECK(strstr(text, "\"rows\": 4526") != NULL && strstr(text, "\"calibration\"") != NULL);
  gibbsite_free(text);
  OK(gibbsite_evaluate_file(model, path(data, "berkeley.csv"), 0, &text, &error));
  gibbsite_free(text);
  FAILS(gibbsite_evaluate_file(model, path(data, "berkeley.csv"), 1.5, &text, &error), GIBBSITE_BAD_INPUT, "threshold");
  FAILS(gibbsite_evaluate_arrow(model, &stream, 0.5, &text, &error), GIBBSITE_BAD_INPUT, "read before");
  gibbsite_free(values.values);
  gibbsite_free(from_file.values);
  gibbsite_free(ends_of.values);

  /* Errors leave nothing behind. */
  gibbsite_model_free(again);
  again = (gibbsite_model *)&valid;
  FAILS(gibbsite_fit_file("nowhere.csv", schema, settings, NULL, &again, &error), GIBBSITE_BAD_INPUT, "nowhere.csv");
  CHECK(again == NULL);
  FAILS(gibbsite_fit_file(path(data, "berkeley.csv"), NULL, settings, NULL, &again, &error), GIBBSITE_BAD_INPUT,
        "schema: is NULL");
  FAILS(gibbsite_fit_file(path(data, "berkeley.csv"), schema, NULL, NULL, &again, &error), GIBBSITE_BAD_INPUT,
        "settings: is NULL");
  OK(gibbsite_settings_set(settings, "mechanism", "dalalyan", &error));
  OK(gibbsite_settings_set(settings, "intervals", "false", &error));
  FAILS(gibbsite_fit_file(path(data, "berkeley.csv"), schema, settings, NULL, &again, &error), GIBBSITE_INFEASIBLE,
        "passes over the data");
  OK(gibbsite_settings_set(settings, "mechanism", "auto", &error));
  OK(gibbsite_settings_progress(settings, stop_at_once, &asked, &error));
  FAILS(gibbsite_fit_file(path(data, "berkeley.csv"), schema, settings, NULL, &again, &error), GIBBSITE_INTERRUPTED, "nothing was released");
  CHECK(asked > 0);
  gibbsite_settings_free(settings);
  gibbsite_schema_free(schema);
  gibbsite_model_free(model);
}

/* A release that the ledger has no room for leaves neither a model nor an entry. */
static void test_ledger(const char *data, const char *scratch) {
  gibbsite_schema *schema = NULL;
  gibbsite_ledger *ledger = NULL, *again = NULL;
  gibbsite_model *model = NULL;
  gibbsite_settings *settings = settings_of("1");
  char *before = NULL, *text = NULL;
  double delta = -1;

  FAILS(gibbsite_ledger_open(path(scratch, "none.ledger"), &ledger, &error), GIBBSITE_BAD_INPUT, "none.ledger");
  OK(gibbsite_ledger_create(path(scratch, "people.ledger"), 1.2, 1e-5, NULL, 1, &error));
  OK(gibbsite_ledger_open(path(scratch, "people.ledger"), &ledger, &error));
  FAILS(gibbsite_ledger_create(path(scratch, "people.ledger"), 1.2, 1e-5, NULL, 1, &error), GIBBSITE_BAD_INPUT,
        "people.ledger");
  OK(gibbsite_schema_read(path(data, "berkeley.toml"), GIBBSITE_ROWS, &schema, &error));
  OK(gibbsite_ledger_total(ledger, 1.2, &delta, &error));
  CHECK(delta >= 0 && delta < 1e-12);
  OK(gibbsite_fit_file(path(data, "berkeley.csv"), schema, settings, ledger, &model, &error));
  gibbsite_model_free(model);
  OK(gibbsite_ledger_total(ledger, 1.2, &delta, &error));
  CHECK(delta > 0 && delta < 1e-5);
  OK(gibbsite_ledger_json(ledger, &before, &error));
  CHECK(strstr(before, "\"fit whitened\"") != NULL);
  FAILS(gibbsite_fit_file(path(data, "berkeley.csv"), schema, settings, ledger, &model, &error), GIBBSITE_BUDGET_SPENT,
        "at this delta would fit");
  CHECK(model == NULL);
  OK(gibbsite_ledger_open(path(scratch, "people.ledger"), &again, &error));
  OK(gibbsite_ledger_json(again, &text, &error));
  CHECK(strcmp(before, text) == 0);
  gibbsite_free(before);
  gibbsite_free(text);
  FAILS(gibbsite_ledger_json(NULL, &text, &error), GIBBSITE_BAD_INPUT, "ledger: is NULL");
  gibbsite_ledger_free(again);
  gibbsite_ledger_free(ledger);
  gibbsite_schema_free(schema);
  gibbsite_settings_free(settings);
}

static void test_network(const char *data) {
  gibbsite_schema *schema = NULL;
  gibbsite_model *model = NULL;
  gibbsite_settings *settings = settings_of("1");
  const uint64_t seed = 7;
  uint64_t lines = 0;
  char *text = NULL, *again = NULL;

  OK(gibbsite_schema_read(path(data, "berkeley.toml"), GIBBSITE_NETWORK, &schema, &error));
  OK(gibbsite_settings_set(settings, "structure", "private", &error));
  OK(gibbsite_fit_file(path(data, "berkeley.csv"), schema, settings, NULL, &model, &error));
  OK(gibbsite_query(model, "P(admitted = Admitted | gender = Female)", NULL, NULL, &text, &error));
  CHECK(strstr(text, "\"probability\"") != NULL);
  gibbsite_free(text);
  FAILS(gibbsite_query(model, "P(age = 3)", NULL, NULL, &text, &error), GIBBSITE_BAD_INPUT, "age");
  OK(gibbsite_synthesize(model, 100, &seed, &text, &error));
  OK(gibbsite_synthesize(model, 100, &seed, &again, &error));
  CHECK(strcmp(text, again) == 0);
  for (const char *at = text; *at != '\0'; ++at) lines += *at == '\n';
  CHECK(lines == 101);
  gibbsite_free(text);
  gibbsite_free(again);
  FAILS(gibbsite_effects(model, NULL, 0, &text, &error), GIBBSITE_BAD_INPUT, "is a network");
  gibbsite_model_free(model);
  gibbsite_schema_free(schema);
  gibbsite_settings_free(settings);
}

/* One budget buys a schema and fits by it. */
static void test_bought(const char *data) {
  gibbsite_model *model = NULL;
  gibbsite_settings *settings = settings_of("2");
  char *text = NULL;
  int valid = 0;

  OK(gibbsite_settings_set(settings, "label", "admitted", &error));
  FAILS(gibbsite_fit_file(path(data, "berkeley.csv"), NULL, settings, NULL, &model, &error), GIBBSITE_BAD_INPUT,
        "positive: is missing");
  OK(gibbsite_settings_set(settings, "positive", "Admitted", &error));
  OK(gibbsite_fit_file(path(data, "berkeley.csv"), NULL, settings, NULL, &model, &error));
  OK(gibbsite_model_json(model, &text, &error));
  OK(gibbsite_verify(text, &valid, NULL, &error));
  CHECK(valid == 1);
  gibbsite_free(text);
  gibbsite_model_free(model);
  gibbsite_settings_free(settings);
}

/* A network and its schema of one budget; a schema of a public table; parts of a date. */
static void test_bought_more(const char *data, const char *scratch) {
  gibbsite_model *model = NULL;
  gibbsite_settings *settings = settings_of("2");
  char *text = NULL;
  int valid = 0, kind = -1;
  FILE *dates = fopen(path(scratch, "dates.csv"), "w"), *known = NULL;

  OK(gibbsite_settings_set(settings, "model", "network", &error));
  OK(gibbsite_fit_file(path(data, "berkeley.csv"), NULL, settings, NULL, &model, &error));
  OK(gibbsite_model_kind(model, &kind, &error));
  CHECK(kind == GIBBSITE_NETWORK);
  OK(gibbsite_model_json(model, &text, &error));
  OK(gibbsite_verify(text, &valid, NULL, &error));
  CHECK(valid == 1 && strstr(text, "\"bought\"") != NULL);
  gibbsite_free(text);
  gibbsite_model_free(model);
  OK(gibbsite_settings_set(settings, "label", "admitted", &error));
  FAILS(gibbsite_fit_file(path(data, "berkeley.csv"), NULL, settings, NULL, &model, &error), GIBBSITE_BAD_INPUT, "label");
  gibbsite_settings_free(settings);

  CHECK(dates != NULL);
  fprintf(dates, "hired,sex,y\n");
  for (int i = 0; i < 4000; ++i)
    fprintf(dates, "20%02d-%02d-%02d,%s,%s\n", 10 + i % 8, 1 + i % 12, 1 + i % 28, i % 3 ? "f" : "m", i % 12 < 4 ? "yes" : "no");
  fclose(dates);
  settings = settings_of("4");
  OK(gibbsite_settings_set(settings, "label", "y", &error));
  OK(gibbsite_settings_set(settings, "positive", "yes", &error));
  OK(gibbsite_settings_set(settings, "date_parts", "hired=day", &error));
  FAILS(gibbsite_fit_file(path(scratch, "dates.csv"), NULL, settings, NULL, &model, &error), GIBBSITE_BAD_INPUT, "names no parts");
  gibbsite_settings_free(settings);
  settings = settings_of("4");
  OK(gibbsite_settings_set(settings, "label", "y", &error));
  OK(gibbsite_settings_set(settings, "positive", "yes", &error));
  OK(gibbsite_settings_set(settings, "date_parts", "hired=month,weekday", &error));
  OK(gibbsite_fit_file(path(scratch, "dates.csv"), NULL, settings, NULL, &model, &error));
  OK(gibbsite_model_json(model, &text, &error));
  CHECK(strstr(text, "hired_month=Jan") != NULL && strstr(text, "hired_weekday=Sun") != NULL);
  OK(gibbsite_verify(text, &valid, NULL, &error));
  CHECK(valid == 1);
  gibbsite_free(text);
  gibbsite_model_free(model);

  known = fopen(path(scratch, "known.csv"), "w");
  CHECK(known != NULL);
  fprintf(known, "hired,sex,y\n");
  for (int i = 0; i < 500; ++i)
    fprintf(known, "20%02d-%02d-%02d,%s,%s\n", 10 + i % 8, 1 + i % 12, 1 + i % 27, i % 5 ? "f" : "m", i % 12 < 4 ? "yes" : "no");
  fclose(known);
  OK(gibbsite_settings_set(settings, "public", path(scratch, "known.csv"), &error));
  OK(gibbsite_fit_file(path(scratch, "dates.csv"), NULL, settings, NULL, &model, &error));
  OK(gibbsite_model_json(model, &text, &error));
  CHECK(strstr(text, "known.csv") != NULL && strstr(text, "\"bought\"") == NULL);
  OK(gibbsite_verify(text, &valid, NULL, &error));
  CHECK(valid == 1);
  gibbsite_free(text);
  gibbsite_model_free(model);
  FAILS(gibbsite_fit_file(path(scratch, "known.csv"), NULL, settings, NULL, &model, &error), GIBBSITE_BAD_INPUT,
        "is the private table itself");
  gibbsite_settings_free(settings);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  CHECK(strlen(gibbsite_version()) >= 5);
  gibbsite_free(NULL);
  test_schemas(argv[1]);
  test_settings();
  test_rows(argv[1], argv[2]);
  test_ledger(argv[1], argv[2]);
  test_log(argv[2]);
  test_network(argv[1]);
  test_bought(argv[1]);
  test_bought_more(argv[1], argv[2]);
  printf("%d checks by gibbsite %s\n", checks, gibbsite_version());
  return 0;
}
