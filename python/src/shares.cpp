// Rows of partitions, and shares of a table that answer questions: what runs on a worker.
#include "shares.hpp"

#include <utility>

#include "data/encoder.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/sharded.hpp"

namespace gibbsite::python {
namespace {

using Slices = std::vector<std::tuple<const HeldRows*, std::uint64_t, std::uint64_t>>;

HeldRows joined(const Slices& slices) {
  std::vector<Slice> all;
  for (const auto& [rows, first, last] : slices) all.push_back({rows, first, last});
  return join(all);
}

}  // namespace

void bind_shares(nb::module_& m) {
  nb::class_<HeldRows>(m, "_Rows", "Encoded rows of a partition, with labels. Private.")
      .def(
          "__init__",
          [](HeldRows* self, Dataset& data) { new (self) HeldRows(hold(std::move(data))); },
          "data"_a, "Takes the rows out of a Dataset, which must not be used afterwards.")
      .def_static(
          "none",
          [](const Schema& schema, bool sparse) {
            HeldRows out;
            out.columns = schema.features();
            if (sparse) out.storage = SparseTable{};
            return out;
          },
          "schema"_a, "sparse"_a)
      .def_prop_ro("rows", &HeldRows::rows)
      .def_prop_ro("entries", &HeldRows::entries)
      .def_prop_ro("digest", &HeldRows::digest)
      .def("__sizeof__", &HeldRows::memory_bytes)  // by which Dask spills and moves
      .def("__getstate__", [](const HeldRows& r) { return to_bytes(r.bytes()); })
      .def("__setstate__", [](HeldRows& r, const nb::bytes& bytes) {
        new (&r) HeldRows(HeldRows::parse({bytes.c_str(), bytes.size()}));
      });
  m.def(
      "_begins_sparse",
      [](const Slices& slices) {
        const HeldRows head = joined(slices);
        return is_sparse_by_head(head.view().sparse, head.columns);
      },
      "slices"_a, "Whether a table that begins with these rows is kept sparse.");
  m.attr("_rows_that_choose") = rows_that_choose;
  m.def("_share_bounds", &share_bounds, "rows"_a, "shares"_a);
  nb::class_<Share>(m, "_Share",
                    "Whole blocks of a table's rows, which answer questions about them. Private.")
      .def(
          "__init__",
          [](Share* self, const Slices& slices, std::uint64_t first_row, std::uint64_t table_rows,
             std::uint64_t table_entries, const std::string& loss) {
            const nb::gil_scoped_release unlocked;
            new (self) Share(joined(slices), {first_row, table_rows, table_entries}, loss);
          },
          "slices"_a, nb::kw_only(), "first_row"_a, "table_rows"_a, "table_entries"_a, "loss"_a)
      .def("__sizeof__", [](const Share& s) { return s.rows().memory_bytes(); })
      .def_prop_ro("digest", [](const Share& s) { return to_bytes(s.digest()); })
      .def(
          "answer",
          [](const Share& s, const nb::bytes& question, const nb::bytes& before) {
            std::string out;
            {
              const std::string asked = of_bytes(question), behind = of_bytes(before);
              const nb::gil_scoped_release unlocked;
              out = s.answer(asked, behind);
            }
            return to_bytes(out);
          },
          "question"_a, "before"_a)
      .def("__getstate__", [](const Share& s) { return to_bytes(s.bytes()); })
      .def("__setstate__", [](Share& s, const nb::bytes& bytes) {
        new (&s) Share(Share::parse({bytes.c_str(), bytes.size()}));
      });
}

}  // namespace gibbsite::python
