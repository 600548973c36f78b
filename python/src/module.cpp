// gibbsite._core: the library for Python. Every name here is public in the package.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bind.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/version.hpp"

namespace gibbsite::python {
namespace {

struct Errors {
  PyObject *base, *bad_input, *infeasible, *budget_spent, *unavailable;
};
Errors errors{};  // NOLINT: live as long as the interpreter

PyObject* add_error(nb::module_& m, const char* name, PyObject* base, PyObject* other,
                    const char* doc) {
  const nb::object bases = other == nullptr ? nb::make_tuple(nb::handle(base))
                                            : nb::make_tuple(nb::handle(base), nb::handle(other));
  const std::string full = std::string("gibbsite.") + name;
  PyObject* const type = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr);
  if (type == nullptr) throw nb::python_error();
  m.attr(name) = nb::handle(type);
  return type;
}

// An exception of that type with the attributes `field` and `hint`.
void raise(PyObject* type, const Error& error, const std::string& text) {
  const std::string field = error.field();
  const nb::object raised = nb::borrow(nb::handle(type))(text);
  raised.attr("field") = field.empty() ? nb::none() : nb::cast(field);
  raised.attr("hint") = in_arguments(error.hint());
  PyErr_SetObject(type, raised.ptr());
}

void translate(const std::exception_ptr& thrown, void* /*data*/) {
  const auto raise_one = [](PyObject* type, const Error& error) {
    raise(type, error, shown(in_arguments(error.message())));
  };
  try {
    std::rethrow_exception(thrown);
  } catch (const CannotWrite& e) {
    if (e.error != EEXIST) return raise_one(PyExc_OSError, e);
    std::string text = shown(in_arguments(e.message()));
    if (text.ends_with("choose another path")) text += ", or give replace=True";
    raise(PyExc_FileExistsError, e, text);
  } catch (const BadInputs& e) {
    std::string all;
    for (const Message& line : e.lines)
      all += (all.empty() ? "" : "\n") + shown(in_arguments(line));
    raise(errors.bad_input, e, all);
  } catch (const BadInput& e) {
    raise_one(errors.bad_input, e);
  } catch (const Infeasible& e) {
    raise_one(errors.infeasible, e);
  } catch (const BudgetSpent& e) {
    raise_one(errors.budget_spent, e);
  } catch (const BackendUnavailable& e) {
    raise_one(errors.unavailable, e);
  } catch (const Interrupted& e) {
    raise_one(PyExc_KeyboardInterrupt, e);
  } catch (const Error& e) {
    raise_one(errors.base, e);
  }
}

}  // namespace

void bind_errors(nb::module_& m) {
  errors.base = add_error(m, "Error", PyExc_Exception, nullptr,
                          "The base of every error that gibbsite raises itself.");
  errors.bad_input = add_error(
      m, "BadInput", errors.base, PyExc_ValueError,
      "An argument, a file or a cell is not as it must be; the message names it. field: the "
      "argument's name or None, hint: what to do.");
  errors.infeasible = add_error(m, "Infeasible", errors.base, PyExc_ValueError,
                                "No mechanism can give the guarantee that was asked for.");
  errors.budget_spent =
      add_error(m, "BudgetSpent", errors.base, nullptr, "The ledger has no room for this release.");
  errors.unavailable = add_error(m, "BackendUnavailable", errors.base, PyExc_RuntimeError,
                                 "The backend is not compiled in, has no device, or failed.");
  nb::register_exception_translator(translate);
}

Numbers to_numpy(std::vector<double> values, const std::vector<std::size_t>& shape) {
  auto* const held = new std::vector<double>(std::move(values));
  const nb::capsule owner(held,
                          [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return Numbers(held->data(), shape.size(), shape.data(), owner);
}

nb::object to_python(const nlohmann::json& json) {
  return nb::module_::import_("json").attr("loads")(json.dump());
}

std::size_t threads_of(std::optional<std::int64_t> n_jobs) {
  if (!n_jobs || *n_jobs == -1) return 0;
  if (*n_jobs < 0) {
    throw BadInput(
        fmt::format("n_jobs: must be -1, None or a number of threads, got {}; give one", *n_jobs));
  }
  return static_cast<std::size_t>(*n_jobs);
}

std::unique_ptr<Backend> make_warning_backend(const std::string& name,
                                              std::optional<std::int64_t> n_jobs,
                                              BackendOptions options) {
  options.threads = threads_of(n_jobs);
  return make_backend(name, options, [](const Message& line) {
    const nb::gil_scoped_acquire locked;
    if (PyErr_WarnEx(PyExc_UserWarning, in_arguments(line).c_str(), 1) != 0)
      throw nb::python_error();
  });
}

}  // namespace gibbsite::python

NB_MODULE(_core, m) {
  using namespace gibbsite::python;
  m.doc() = "Models fitted on private data, with certificates of their differential privacy.";
  m.attr("__version__") = GIBBSITE_VERSION;
  bind_errors(m);
  bind_data(m);
  bind_fit(m);
  bind_price(m);
  bind_bought(m);
  bind_family(m);
  bind_network(m);
  bind_shares(m);
  bind_select(m);
  bind_covariance(m);
  bind_evaluation(m);
  bind_ledger(m);
  bind_posterior(m);
  bind_audit(m);
  bind_bench(m);
  bind_command(m);
}
