#pragma once
// Reading, writing and verifying a release: the same of every kind.
#include <nlohmann/json.hpp>

#include "bind.hpp"
#include "gibbsite/certificate/rdp.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/release/report.hpp"

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
      .def(
          "report",
          [](const R& r, const std::optional<Path>& words) {
            return html_report(
                to_json(r).dump(2) + "\n", "model",
                words ? read_report_template(words->string()) : default_report_template());
          },
          "template"_a = nb::none(),
          "Returns a page about the release and its guarantee, for people who do not run the "
          "program: the text of an HTML file (docs/how-to/report.md). template: a file of words in "
          "place of the program's (docs/reference/report-template.md). Raises BadInput for a kind of "
          "release without a page, or a template that uses unknown names, Infeasible if the "
          "certificate does not verify.")
      .def_prop_ro(
          "certificate", [](const R& r) { return to_python(to_json(r.certificate())); },
          "The certificate of model.json as a dict.")
      .def(
          "in_words", [](const R& r) { return in_words(r.certificate()); },
          "Returns the certificate in words for a person.")
      .def(
          "rdp", [](const R& r, double order) { return renyi_up(r.certificate(), order); },
          "order"_a,
          "Returns the Renyi epsilon of all draws at an order above 1, for accountants of RDP; "
          "inf where it is not defined, or the certificate is void. It does not hold the "
          "certificate's reveal and tv, which add to the delta of the sum (docs/theory/rdp.md). "
          "Raises BadInput on another order.")
      .def_prop_ro(
          "zcdp",
          [](const R& r) {
            const ZeroConcentrated z = zero_concentrated_up(r.certificate());
            return nb::make_tuple(z.rho, z.xi, z.failure);
          },
          "(rho, xi, delta): the release is delta-approximately (xi, rho)-zCDP (Bun and Steinke "
          "2016), all rounded up. xi and delta are next to 0 where all noise is Gaussian. "
          "(inf, inf, 1) if void.")
      .def(
          "verify", [](const R& r) { return verify(r); },
          "Recomputes every claim from its public numbers and returns a Verification.");
}

}  // namespace gibbsite::python
