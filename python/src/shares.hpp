#pragma once
// Shares that Python carries questions to (gibbsite.dask).
#include <string>
#include <vector>

#include "bind.hpp"
#include "gibbsite/engine/remote.hpp"

namespace gibbsite::python {

inline nb::bytes to_bytes(const std::string& bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}
inline std::string of_bytes(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

/// ask(bytes) gives a list of bytes, relay(bytes, bytes) bytes; called on the thread of the fit.
class PythonCarrier final : public ShareCarrier {
 public:
  PythonCarrier(const nb::object& ask, const nb::object& relay) : ask_(ask), relay_(relay) {}

  std::vector<std::string> ask(const std::string& question) override {
    const nb::gil_scoped_acquire locked;
    std::vector<std::string> out;
    for (const nb::handle answer : nb::cast<nb::list>(ask_(to_bytes(question)))) {
      out.push_back(of_bytes(nb::cast<nb::bytes>(answer)));
    }
    return out;
  }
  std::string relay(const std::string& question, const std::string& before) override {
    const nb::gil_scoped_acquire locked;
    return of_bytes(nb::cast<nb::bytes>(relay_(to_bytes(question), to_bytes(before))));
  }

 private:
  const nb::object& ask_;
  const nb::object& relay_;
};

}  // namespace gibbsite::python
