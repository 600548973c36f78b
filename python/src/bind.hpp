#pragma once
// The parts of the module gibbsite._core; each binds what one module of the library offers.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gibbsite/core/message.hpp"
#include "gibbsite/engine/automatic.hpp"
#include "watch.hpp"

namespace gibbsite::python {

using namespace nanobind::literals;

/// What Python names a file by: text, or an object of pathlib.
using Path = std::filesystem::path;
/// Wraps a function of text so that Python may pass a path.
template <class Out>
auto of_path(Out (*f)(const std::string&)) {
  return [f](const Path& path) { return f(path.string()); };
}

void bind_errors(nb::module_& m);
void bind_data(nb::module_& m);
void bind_fit(nb::module_& m);
void bind_price(nb::module_& m);
void bind_bought(nb::module_& m);
void bind_family(nb::module_& m);
void bind_network(nb::module_& m);
void bind_shares(nb::module_& m);
void bind_select(nb::module_& m);
void bind_covariance(nb::module_& m);
void bind_evaluation(nb::module_& m);
void bind_ledger(nb::module_& m);
void bind_posterior(nb::module_& m);
void bind_audit(nb::module_& m);
void bind_bench(nb::module_& m);
void bind_command(nb::module_& m);

/// Numbers handed to NumPy, which owns them from then on.
using Numbers = nb::ndarray<nb::numpy, double>;
Numbers to_numpy(std::vector<double> values, const std::vector<std::size_t>& shape);
/// What json.loads makes of it.
nb::object to_python(const nlohmann::json& json);

/// A message of the library: its fields are arguments here, and have their names.
inline std::string in_arguments(const Message& message) { return message.plain(); }
/// -1, None: 0, as many threads as may run. Throws BadInput on other numbers below 0.
std::size_t threads_of(std::optional<std::int64_t> n_jobs);
/// make_backend, and where "auto" takes another than the fastest there is, a UserWarning.
std::unique_ptr<Backend> make_warning_backend(const std::string& name,
                                              std::optional<std::int64_t> n_jobs = {},
                                              BackendOptions options = {});

}  // namespace gibbsite::python
