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
  c.def_static(
       "read", of_path(&read_release<Kind>), "path"_a,
       "Reads a model.json that is unchanged since it was written. Raises BadInput on any other file.")
      .def_static("from_json", &parse_release<Kind>, "text"_a, "source"_a = "model",
                  "Reads the text of a model.json; `source` names it in errors. Raises BadInput.")
      .def(
          "to_json", [](const R& r) { return to_json(r).dump(2) + "\n"; },
          "Returns the text of model.json.")
      .def(
          "write",
          [](const R& r, const Path& path, bool replace) {
            write_release(path.string(), r, replace ? Existing::replaced : Existing::kept);
          },
          "path"_a, "replace"_a = false,
          "Writes model.json, whole or not at all. Raises FileExistsError if there is one, unless replace.")
      .def_prop_ro(
          "certificate", [](const R& r) { return to_python(to_json(r.certificate())); },
          "The certificate of model.json as a dict.")
      .def(
          "in_words", [](const R& r) { return in_words(r.certificate()); },
          "Returns the certificate in words for a person.")
      .def(
          "verify", [](const R& r) { return verify(r); },
          "Recomputes every claim from its public numbers and returns a Verification.");
}

}  // namespace gibbsite::python
