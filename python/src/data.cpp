// Schemas and tables.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "arguments.hpp"
#include "bind.hpp"
#include "data/person_ids.hpp"
#include "dlpack.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/array.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/group_rows.hpp"
#include "gibbsite/data/reading_warnings.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/network_model.hpp"
#include "stream.hpp"

namespace gibbsite::python {
namespace {

using Labels = std::optional<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;
using Floats = nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;

std::span<const double> span_of(const Labels& labels) {
  return labels ? std::span<const double>(labels->data(), labels->size())
                : std::span<const double>();
}

// The number of rows, if the table knows it, else 0. A relation of DuckDB would have to run for it.
// Its columns are attributes too, so only a number is believed.
std::uint64_t rows_of(const nb::object& table) {
  for (const char* const name : {"num_rows", "height"}) {
    std::uint64_t rows = 0;
    if (nb::hasattr(table, name) && nb::try_cast(table.attr(name), rows)) return rows;
  }
  if (nb::hasattr(table, "iloc")) return nb::len(nb::object(table.attr("index")));
  return 0;
}

/// Those that readers have in common. `unseen` is what `predict --unseen` says: "" as the schema
/// has it.
ReadOptions options_of(Arguments& given) {
  using Unreadable = ReadOptions::Unreadable;
  ReadOptions options;
  if (given.take("labels_optional", false)) options.labels = ReadOptions::Labels::optional;
  options.ignore_extra_columns = given.take("ignore_extra_columns", false);
  options.threads = threads_of(given.take<std::int64_t>("n_jobs"));
  const auto unseen = given.take<std::string>("unseen", "");
  if (unseen.empty()) return options;
  if (unseen != "middle" && unseen != "refuse") {
    throw BadInput(Field{"unseen"}, fmt::format("'{}' is neither middle nor refuse", shown(unseen)),
                   "give one, or leave it out");
  }
  options.unreadable = unseen == "middle" ? Unreadable::marked : Unreadable::refused;
  options.may_be_empty = true;
  return options;
}

/// Holds the people of a column of people to so many rows each.
// Before a row is read: the reader's own advice is the command line's.
void require_rows_per_person(const Schema& schema, const ReadOptions& options) {
  const Column* const person = schema.person();
  if (person == nullptr || options.holds_people || !options.reads_weights(schema)) return;
  throw BadInput(
      Field{"schema"},
      fmt::format("column {} says whose a row is, and this counts rows, each as one",
                  gibbsite::quoted(person->name)),
      "give rows_per_person=1, the most rows that one person counts as; an estimator's fit holds "
      "them itself. Only where no guarantee is asked for ignore the column");
}

Dataset held_to(Dataset data, std::optional<std::uint64_t> rows_per_person) {
  if (rows_per_person && data.schema.person() != nullptr) data.hold_people(*rows_per_person);
  return data;
}

ReadOptions options_of(bool labels_optional, std::optional<std::int64_t> n_jobs) {
  ReadOptions options;
  if (labels_optional) options.labels = ReadOptions::Labels::optional;
  options.threads = threads_of(n_jobs);
  return options;
}

constexpr const char* unseen_doc =
    "Encodes the table of a file and returns a Dataset (docs/reference/data.md).\n"
    "\n"
    "The extension says the format: CSV, .svm, .npy (with labels=PATH), .parquet or .arrow. "
    "labels_optional and ignore_extra_columns say whether a table may lack the label, or have "
    "columns that the schema does not name. n_jobs: threads, None for all; no bit depends on "
    "it. progress is called as progress(bytes done, in all).\n"
    "\n"
    "unseen is for rows to predict. \"middle\" reads a cell that the schema cannot read as "
    "another level or a missing one, and lists it in Dataset.unseen. \"refuse\" raises an "
    "error for such a cell. With either, a table may have no rows. By default the schema's "
    "`invalid` decides.\n"
    "\n"
    "rows_per_person: what all rows of one person count at most, where the schema has a column of "
    "people (for fit_network).\n"
    "\n"
    "Raises BadInput if the file, a header or a cell is not as it must be.";

void watch_reading(ReadOptions& options, Watch& watch) {
  options.progress = [&watch](std::uint64_t done, std::uint64_t total) {
    watch.report(done, total);
    return !watch.stopped();
  };
}

template <class Number>
ArrayView view_of(const nb::ndarray<const Number, nb::ndim<2>, nb::device::cpu>& x) {
  constexpr auto type =
      sizeof(Number) == sizeof(float) ? ArrayView::Type::float32 : ArrayView::Type::float64;
  const auto bytes = static_cast<std::ptrdiff_t>(sizeof(Number));
  return {x.data(), type, x.shape(0), x.shape(1), x.stride(0) * bytes, x.stride(1) * bytes};
}

template <class Number>
Dataset read_numbers(const nb::ndarray<const Number, nb::ndim<2>, nb::device::cpu>& x,
                     const Labels& labels, const Schema& schema, bool labels_optional,
                     std::optional<std::int64_t> n_jobs, const nb::object& progress) {
  ReadOptions options = options_of(labels_optional, n_jobs);
  const ArrayView view = view_of(x);
  return watched(progress, [&](Watch& watch) {
    watch_reading(options, watch);
    return read_array(view, span_of(labels), schema, options);
  });
}

nb::dict counts_of(const Dataset& data) {
  const IngestCounts& c = data.counts;
  nb::dict out;
  out["clamped_cells"] = c.clamped_cells;
  out["missing_cells"] = c.missing_cells;
  out["other_cells"] = c.other_cells;
  out["invalid_cells"] = c.invalid_cells;
  out["invalid_labels"] = c.invalid_labels;
  out["unlisted_labels"] = c.unlisted_labels;
  out["clamped_labels"] = c.clamped_labels;
  out["clipped_rows"] = c.clipped_rows;
  return out;
}

/// Reads an array that is not in the CPU's memory. Others are left to the next overload.
Dataset read_device(const nb::object& x, const nb::object& given, const Schema& schema,
                    bool labels_optional, std::optional<std::int64_t> n_jobs,
                    const nb::object& progress) {
  if (!DeviceArray::is_one(x)) throw nb::next_overload();
  Labels labels;  // converted here, so that x is asked for nothing on the way
  if (!given.is_none() && !nb::try_cast(given, labels)) throw nb::next_overload();
  ReadOptions options = options_of(labels_optional, n_jobs);
  const DeviceArray array(x, "array", 2);
  return watched(progress, [&](Watch& watch) {
    watch_reading(options, watch);
    return array.memory() == nullptr
               ? read_array(array.view(), span_of(labels), schema, options)
               : read_array(array.view(), *array.memory(), span_of(labels), schema, options);
  });
}

/// Reads memory of this process.
class OwnMemory final : public RemoteMemory {
 public:
  void copy(std::byte* out, const std::byte* at, std::size_t pitch, std::size_t width,
            std::size_t height) override {
    for (std::size_t i = 0; i < height; ++i) std::copy_n(at + i * pitch, width, out + i * width);
  }
};

nb::tuple read_device_labels(const nb::object& y) {
  const DeviceArray array(y, "y", 1);
  OwnMemory own;
  std::vector<double> values =
      read_column(array.view(), array.memory() == nullptr ? own : *array.memory());
  using Type = ArrayView::Type;
  const Type type = array.view().type;
  const char* const kind = type == Type::boolean ? "b"
                           : type == Type::float32 || type == Type::float64 || type == Type::float16
                               ? "f"
                               : "i";
  const std::size_t rows = values.size();
  return nb::make_tuple(to_numpy(std::move(values), {rows}), kind);
}

constexpr const char* array_doc =
    "read_array(X, labels, schema, *, labels_optional=False, n_jobs=None, progress=None)\n"
    "\n"
    "Encodes an array of numbers and returns a Dataset. X [n, k] is float32 or float64, with "
    "column j of the schema in column j and any strides. labels [n] float64 are -1 or +1, "
    "places in the schema's classes, or the amounts themselves; None with labels_optional. X is "
    "read once and not copied. An array on a GPU (DLPack), also of integers, is copied in "
    "blocks if the module is built with CUDA. n_jobs: threads, None for all; no bit depends on "
    "it. progress is called as progress(bytes done, in all). Raises BadInput if a shape is "
    "wrong, or a cell or label cannot be read.";

/// Empty names where the label is another.
TwoClasses two_classes(const Schema& schema) {
  const TwoClasses* const two = std::get_if<TwoClasses>(&schema.label);
  return two == nullptr ? TwoClasses{} : *two;
}

void bind_schema(nb::module_& m) {
  nb::class_<Schema>(m, "Schema",
                     "What is public about a table, as a person writes it: ranges, levels, "
                     "classes, the largest norm of a row (docs/reference/data.md).")
      .def_static("read", of_path(&read_schema), "path"_a,
                  "Reads a schema from a TOML file. Raises BadInput, which names file and line.")
      .def_static("parse", &parse_schema, "toml"_a, "source"_a = "schema",
                  "Reads a schema from TOML text. `source` names the text in errors. Raises "
                  "BadInput.")
      .def_static(
          "read_column",
          [](const Path& path, const std::string& column) {
            return read_column_schema(path.string(), column);
          },
          "path"_a, "column"_a,
          "Reads the schema of one column alone from a TOML file, for fit_family. It needs "
          "no label.")
      .def_static(
          "parse_column", &parse_column_schema, "toml"_a, "source"_a, "column"_a,
          "Reads the schema of one column alone from TOML text. `source` names the text in errors.")
      .def_static(
          "read_covariance",
          [](const Path& path, const std::vector<std::string>& columns,
             const std::string& adjacency) {
            return read_covariance_schema(path.string(), columns, adjacency_from_string(adjacency));
          },
          "path"_a, "columns"_a, "adjacency"_a = "replace-one",
          "Reads the schema of `columns` of numbers from a TOML file, for fit_covariance. It needs "
          "no label.")
      .def_static("read_network", of_path(&read_network_schema), "path"_a,
                  "Reads the schema of a network from a TOML file, for fit_network. The label's "
                  "column is one of its columns, and none is needed.")
      .def_static(
          "parse_network", &parse_network_schema, "toml"_a, "source"_a = "schema",
          "Reads the schema of a network from TOML text. `source` names the text in errors.")
      .def_static(
          "parse_cross_table",
          [](const std::string& text, const std::vector<std::string>& columns) {
            return parse_table_schema(text, "schema", columns);
          },
          "text"_a, "columns"_a, "As read_cross_table, of TOML text. Raises BadInput.")
      .def_static(
          "read_cross_table",
          [](const Path& path, const std::vector<std::string>& columns) {
            return read_table_schema(path.string(), columns);
          },
          "path"_a, "columns"_a,
          "Reads the schema of a cross table of `columns`, in that order, from a TOML file. It "
          "is a network that is a chain of them, and needs no label.")
      .def("cross_table", &table_schema, "columns"_a,
           "Returns the schema of a cross table of these columns of this schema, in that order.")
      .def("to_toml", &to_toml, "Returns TOML text that `parse` reads back to an equal schema.")
      .def_prop_ro("features", &Schema::features,
                   "Number of features of an encoded row, the intercept included.")
      .def_prop_ro("feature_names", &Schema::feature_names,
                   "Names of the features: 'age', 'job=clerk', ..., '(intercept)'.")
      .def_prop_ro(
          "columns",
          [](const Schema& s) {
            std::vector<std::string> names;
            for (const Column& c : s.columns) names.push_back(c.name);
            return names;
          },
          "Names of the columns in the schema's order, without the label's.")
      .def_prop_ro(
          "used_columns",
          [](const Schema& s) {
            std::vector<std::string> names;
            for (const Column& c : s.columns)
              if (c.type != ColumnType::ignore) names.push_back(c.name);
            return names;
          },
          "Names of the columns that are not ignored.")
      .def_ro("label", &Schema::label_name, "Name of the column to predict.")
      .def_prop_ro(
          "positive", [](const Schema& s) { return two_classes(s).positive; },
          "Name of the positive class of two, else empty.")
      .def_prop_ro(
          "classes",
          [](const Schema& s) {
            return is<Classes>(s.label) ? class_names(s.label) : std::vector<std::string>{};
          },
          "Names of three classes or more, else empty.")
      .def_prop_ro(
          "negative", [](const Schema& s) { return two_classes(s).negative_name(); },
          "Name of the negative class of two, or 'not POSITIVE'.")
      .def_prop_ro(
          "names_both", [](const Schema& s) { return !two_classes(s).negative.empty(); },
          "Whether the negative class has a name of its own.")
      .def_prop_ro(
          "refuses_unlisted_label", [](const Schema& s) { return two_classes(s).refuses_unlisted; },
          "Whether a label that is none of the classes is an error.")
      .def_prop_ro(
          "refuses_cells", [](const Schema& s) { return s.invalid == Invalid::refuse; },
          "Whether a cell that cannot be read is an error.")
      .def_ro("row_norm", &Schema::row_norm,
              "The largest Euclidean norm of an encoded row; longer rows are scaled down to it.")
      .def_ro("intercept", &Schema::intercept, "Whether a constant 1 is the last feature of a row.")
      .def("__eq__", [](const Schema& a, const Schema& b) { return a == b; })
      .def("__getstate__", [](const Schema& s) { return to_toml(s); })
      .def(
          "__setstate__",
          [](Schema& s, const std::string& toml) { new (&s) Schema(parse_schema(toml, "schema")); })
      .def("__repr__", [](const Schema& s) {
        return fmt::format("<gibbsite.Schema: {} columns, {} features, label {}>", s.columns.size(),
                           s.features(), shown(s.label_name));
      });
}

}  // namespace

void bind_data(nb::module_& m) {
  bind_schema(m);
  nb::class_<Dataset>(m, "Dataset",
                      "The rows of a table as a model sees them: scaled, encoded and clipped. "
                      "Private. `read_table`, `read_arrow` and `read_array` make one.")
      .def_prop_ro("rows", &Dataset::rows, "Number of rows.")
      .def_prop_ro("features", &Dataset::features, "Number of features of a row.")
      .def_prop_ro("labeled", &Dataset::labeled, "Whether the rows have labels.")
      .def_prop_ro(
          "positive",
          [](const Dataset& d) {
            std::vector<double> out;
            for (const float y : d.y) out.push_back(y > 0 ? 1 : 0);
            const std::size_t n = out.size();
            return to_numpy(std::move(out), {n});
          },
          nb::rv_policy::automatic,
          "1 for each row of the positive class and 0 for the others [n], with two classes. "
          "Private.")
      .def_prop_ro(
          "labels",
          [](const Dataset& d) {
            std::vector<double> out;
            for (const float y : d.y)
              out.push_back(label_middle(d.schema.label) +
                            label_unit(d.schema.label) * static_cast<double>(y));
            const std::size_t n = out.size();
            return to_numpy(std::move(out), {n});
          },
          nb::rv_policy::automatic,
          "The labels as rows keep them [n]: -1 or +1, places from 0 in the list of several "
          "classes, or amounts clamped to their range. Private.")
      .def(
          "_weigh",
          [](Dataset& d, const nb::ndarray<const double, nb::ndim<1>, nb::c_contig>& weights,
             double highest) {
            d.weigh({weights.data(), weights.size()}, highest);
          },
          "weights"_a, "highest"_a,
          "Gives rows weights [n] that the table does not hold: a row counts its part of highest.")
      .def(
          "_group",
          [](Dataset& d, const std::vector<std::optional<std::string>>& ids,
             const nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig>& rows,
             std::uint64_t k) {
            group_rows(d, ids, {rows.data(), rows.size()});
            d.hold_people(k);
          },
          "ids"_a, "rows"_a, "k"_a,
          "Gives rows people: places [n] in a list of ids, None of nobody, and holds each person to "
          "at most k rows.")
      .def_prop_ro("counted", &Dataset::counted,
                   "People where the schema has a column of them, else rows: what a plan counts.")
      .def_prop_ro("counts", &counts_of,
                   "How many cells, labels and rows reading changed, by kind. Private: for the "
                   "curator, never released.")
      .def_prop_ro(
          "column_counts",
          [](const Dataset& d) {
            nb::dict out;
            for (std::size_t j = 0; j < d.counts.columns.size(); ++j) {
              const CellCounts& cells = d.counts.columns[j];
              nb::dict of_column;
              of_column["clamped"] = cells.clamped;
              of_column["missing"] = cells.missing;
              of_column["other"] = cells.other;
              of_column["invalid"] = cells.invalid;
              out[d.schema.columns[j].name.c_str()] = of_column;
            }
            return out;
          },
          "How many cells of each column reading changed: {column: {kind: number}}. Private.")
      .def_prop_ro(
          "unseen",
          [](const Dataset& d) {
            std::vector<std::pair<std::uint64_t, std::string>> out;
            for (const UnreadableCell& cell : d.unreadable)
              out.emplace_back(cell.row, d.schema.columns[cell.column].name);
            return out;
          },
          "The cells that were read as another, with unseen=\"middle\": a list of (row from 0, "
          "column). Private.")
      .def_prop_ro(
          "unseen_words", [](const Dataset& d) { return unreadable_words(d); },
          "How many rows have such cells, and in which columns, in words; empty if there are none. "
          "Private.")
      .def_ro("schema", &Dataset::schema, "The schema that the rows were read by.")
      .def("__repr__", [](const Dataset& d) {
        return fmt::format("<gibbsite.Dataset: {} rows, {} features, private>", d.rows(),
                           d.features());
      });

  m.def(
      "read_table",
      [](const Path& path, const Schema& schema, const nb::kwargs& arguments) {
        Arguments given("read_table", arguments);
        ReadOptions options = options_of(given);
        options.label_path = given.take<Path>("labels", "").string();
        const auto held = given.take<std::uint64_t>("rows_per_person");
        options.holds_people = held.has_value();
        const auto progress = given.take<nb::object>("progress", nb::none());
        given.finish();
        return watched(progress, [&](Watch& watch) {
          watch_reading(options, watch);
          require_rows_per_person(schema, options);
          return held_to(read_table(path.string(), schema, options), held);
        });
      },
      "path"_a, "schema"_a, "arguments"_a,
      nb::sig("def read_table(path: str | os.PathLike, schema: Schema, *, "
              "labels: str | os.PathLike = '', labels_optional: bool = False, "
              "ignore_extra_columns: bool = False, n_jobs: int | None = None, "
              "progress: object | None = None, unseen: str = '', "
              "rows_per_person: int | None = None) -> Dataset"),
      unseen_doc);
  m.def(
      "read_arrow",
      [](const nb::object& table, const Schema& schema, const nb::kwargs& arguments) {
        Arguments given("read_arrow", arguments);
        ReadOptions options = options_of(given);
        const Labels labels = given.take<Labels::value_type>("labels");
        const auto sparse = given.take<bool>("_sparse");
        const auto held = given.take<std::uint64_t>("rows_per_person");
        options.holds_people = held.has_value();
        const auto progress = given.take<nb::object>("progress", nb::none());
        given.finish();
        options.expected_rows = rows_of(table);
        if (sparse)
          options.layout = *sparse ? ReadOptions::Layout::sparse : ReadOptions::Layout::dense;
        Stream stream(table);
        return watched(progress, [&](Watch& watch) {
          watch_reading(options, watch);
          require_rows_per_person(schema, options);
          return held_to(read_arrow(stream.get(), schema, options, span_of(labels)), held);
        });
      },
      "table"_a, "schema"_a, "arguments"_a,
      nb::sig("def read_arrow(table: object, schema: Schema, *, "
              "labels: numpy.typing.NDArray | None = None, labels_optional: bool = False, "
              "ignore_extra_columns: bool = False, n_jobs: int | None = None, "
              "progress: object | None = None, _sparse: bool | None = None, unseen: str = '', "
              "rows_per_person: int | None = None) -> Dataset"),
      "Encodes a table with __arrow_c_stream__ (pandas, polars, pyarrow, DuckDB) and returns a "
      "Dataset. labels [n] float64 take the place of the label's column: -1 or +1, places in "
      "schema.classes, or the amounts themselves. unseen and rows_per_person are as in read_table. progress is "
      "called as progress(bytes done, 0). Raises BadInput.");
  m.def("read_array", &read_device, "X"_a, "labels"_a.none(), "schema"_a, nb::kw_only(),
        "labels_optional"_a = false, "n_jobs"_a = nb::none(), "progress"_a = nb::none(), array_doc);
  m.def("read_array", &read_numbers<float>, "X"_a.noconvert(), "labels"_a.none(), "schema"_a,
        nb::kw_only(), "labels_optional"_a = false, "n_jobs"_a = nb::none(),
        "progress"_a = nb::none(), array_doc);
  m.def("read_array", &read_numbers<double>, "X"_a.noconvert(), "labels"_a.none(), "schema"_a,
        nb::kw_only(), "labels_optional"_a = false, "n_jobs"_a = nb::none(),
        "progress"_a = nb::none(), array_doc);
  m.def(
      "person_id", [](const std::string& text) { return person_id(text); }, "text"_a,
      "The text of an id in the one spelling that columns of people have; '' of nobody's.");
  m.def("_is_on_device", &DeviceArray::is_one, "array"_a);
  m.def("_read_device_labels", &read_device_labels, "y"_a,
        "(values [n] float64, \"b\", \"i\" or \"f\") of labels that are not in the CPU's memory.");
  m.def("_set_device_copy", &set_device_copy, "copy"_a.none());
  m.def(
      "schema_template",
      [](const Path& path, bool header) {
        return schema_template(path.string(), header ? Header::given : Header::unknown);
      },
      "path"_a, "header"_a = false,
      "Returns the TOML text of a schema to fill in, from a table's header line alone. "
      "header=True: the first line names the columns, whatever it looks like. Raises BadInput "
      "if there is no such line.");
  m.def(
      "set_arrow_opener",
      [](const nb::callable& open) {
        // Lives as long as the process: the library keeps it beyond the interpreter.
        PyObject* const kept = open.inc_ref().ptr();
        set_arrow_opener([kept](const std::string& path, const std::vector<std::string>& columns,
                                ArrowArrayStream* out) {
          const nb::gil_scoped_acquire locked;
          try {
            const nb::object opened = nb::borrow(kept)(path, columns);
            Stream stream(opened[0]);
            const auto rows = nb::cast<std::uint64_t>(opened[1]);
            *out = stream.release();
            return rows;
          } catch (nb::python_error& e) {
            std::string what = nb::cast<std::string>(nb::str(e.value()));
            if (const auto end = what.find('\n'); end != std::string::npos) what.resize(end);
            const bool ours = what.starts_with(path);
            throw BadInput(ours ? what : fmt::format("{}: {}", path, shown(what)));
          }
        });
      },
      "open"_a, "open(path, columns) gives (stream, rows) of a .parquet or .arrow file.");
}

}  // namespace gibbsite::python
