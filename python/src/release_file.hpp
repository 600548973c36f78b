#pragma once
// Reading, writing and verifying a release: the same of every kind.
#include <nlohmann/json.hpp>

#include "bind.hpp"
#include "gibbsite/certificate/verify.hpp"

namespace gibbsite::python {

/// What every kind of release has.
template <class Kind>
void bind_release_file(nb::class_<ReleaseOf<Kind>>& c) {
  using R = ReleaseOf<Kind>;
  c.def_static("read", of_path(&read_release<Kind>), "path"_a,
               "From a model.json, unchanged since it was written.")
      .def_static("from_json", &parse_release<Kind>, "text"_a, "source"_a = "model",
                  "From its text; `source` names it in errors.")
      .def(
          "to_json", [](const R& r) { return to_json(r).dump(2) + "\n"; },
          "The text of model.json.")
      .def(
          "write",
          [](const R& r, const Path& path, bool replace) {
            write_release(path.string(), r, replace ? Existing::replaced : Existing::kept);
          },
          "path"_a, "replace"_a = false,
          "model.json, whole or not at all; FileExistsError where there is one, unless replace.")
      .def_prop_ro(
          "certificate", [](const R& r) { return to_python(to_json(r.certificate())); },
          "The certificate of model.json, as a dict.")
      .def(
          "in_words", [](const R& r) { return in_words(r.certificate()); },
          "The certificate for a person.")
      .def(
          "verify", [](const R& r) { return verify(r); },
          "Recomputes every claim from its public numbers.");
}

}  // namespace gibbsite::python
