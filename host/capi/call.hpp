#pragma once
// What every function of the C interface does: no exception leaves it, and errors become a status
// and a text. The handles are what they hold.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gibbsite.h"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/model/schema.hpp"
#include "gibbsite/run/request_text.hpp"

struct gibbsite_schema {
  gibbsite::Schema schema;
  int kind = GIBBSITE_ROWS;
};
struct gibbsite_settings {
  gibbsite::PlanRequest request{};
  gibbsite::LabelRequest label{};
  std::optional<double> schema_share{};
  std::vector<std::string> date_parts{};  ///< "hired=year,month"
  gibbsite::CountingRequest counting{};   ///< of a table whose schema is bought
  std::string public_table{};             ///< the path of a public table; empty: none
  std::string backend = "auto";
  std::size_t threads = 0;
  bool release_moments = false;
  gibbsite_progress progress = nullptr;
  void* user = nullptr;
  gibbsite_log log = nullptr;
  void* log_user = nullptr;
};
struct gibbsite_ledger {
  gibbsite::Ledger ledger;
};
struct gibbsite_model {
  std::variant<gibbsite::Release, gibbsite::NetworkRelease> release;
  gibbsite_log log = nullptr;
  void* log_user = nullptr;
};

namespace gibbsite::capi {

/// A copy that gibbsite_free frees. Throws bad_alloc.
inline char* copied(std::string_view text) {
  auto* const out = static_cast<char*>(std::malloc(text.size() + 1));  // NOLINT: for C
  if (out == nullptr) throw std::bad_alloc();
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
  return out;
}
inline char* json_copied(const nlohmann::json& json) {
  return copied(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// The argument behind a pointer. Throws BadInput "NAME: is NULL; give one".
template <class T>
T& given(T* argument, const char* name) {
  if (argument == nullptr) throw BadInput(Field{name}, "is NULL", "give one");
  return *argument;
}
inline std::string text_given(const char* argument, const char* name) {
  return {&given(argument, name)};
}
/// An out-parameter, emptied.
template <class T>
T& out_given(T* argument, const char* name) {
  return given(argument, name) = T{};
}

inline gibbsite_status failed(char** error, gibbsite_status status, std::string_view why) noexcept {
  if (error == nullptr) return status;
  try {
    *error = copied(why);
  } catch (...) {
    *error = nullptr;
  }
  return status;
}

/// f() in the floating-point environment that certificates assume; what it throws is told.
template <class F>
gibbsite_status call(char** error, F&& f) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    const StandardArithmetic arithmetic;
    std::forward<F>(f)();
    return GIBBSITE_OK;
  } catch (const BadInputs& all) {
    std::string lines;
    for (const Message& line : all.lines)
      lines += (lines.empty() ? "" : "\n") + shown(line.plain());
    return failed(error, GIBBSITE_BAD_INPUT, lines);
  } catch (const Interrupted& e) {  // also whether it is paid
    return failed(error, GIBBSITE_INTERRUPTED,
                  "interrupted: nothing was released (" + shown(e.message().plain()) + ")");
  } catch (const Error& e) {
    return failed(error, static_cast<gibbsite_status>(e.status()), shown(e.message().plain()));
  } catch (const std::bad_alloc&) {
    return failed(error, GIBBSITE_FAILED, "memory: there is not enough; give the process more");
  } catch (const std::exception& e) {
    return failed(error, GIBBSITE_FAILED, e.what());
  } catch (...) {
    return failed(error, GIBBSITE_FAILED, "gibbsite: an error without a text");
  }
}

}  // namespace gibbsite::capi
