#pragma once
// Errors: one line that names the file, line or parameter, what is wrong, and what to do.
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gibbsite/core/message.hpp"

namespace gibbsite {

/// Process exit status of the command line (docs/reference/command-line.md).
enum class Status : int {
  ok = 0,
  bad_input = 2,            ///< usage or bad input
  backend_unavailable = 3,  ///< the backend asked for is not compiled, has no device, or failed
  infeasible = 4,           ///< the guarantee asked for cannot be given
  budget_spent = 5,         ///< the budget in the ledger is spent
  interrupted = 130,        ///< stopped by the user (128 + SIGINT)
};

/// Base of every error gibbsite throws on purpose: what it is about (a field, a place in a file, or
/// words), what is wrong with it, and what to do. `what()` is "ABOUT: WRONG; HINT", one line
/// without the program's name and safe to show. A front end writes `message()` with fields as its
/// users type them; nobody reads them out of a text.
class Error : public std::runtime_error {
 public:
  Error(Status status, const Message& message) : Error(status, {}, message, {}) {}
  Error(Status status, const Message& about, const Message& wrong, const Message& hint);
  [[nodiscard]] Status status() const noexcept { return status_; }
  [[nodiscard]] const Message& message() const noexcept { return parts_->all; }
  [[nodiscard]] const Message& about() const noexcept { return parts_->about; }
  [[nodiscard]] const Message& wrong() const noexcept { return parts_->wrong; }
  [[nodiscard]] const Message& hint() const noexcept { return parts_->hint; }
  /// The name of the argument that it is about, such as rows_cap; "" where it is about none.
  [[nodiscard]] std::string field() const;

 private:
  struct Parts {
    Message all, about, wrong, hint;
  };
  Status status_;
  std::shared_ptr<const Parts> parts_;  // copying an exception must not throw
};

/// An error of one status, made of one message or of (about, wrong, hint).
template <Status status_of_all>
struct ErrorOf : Error {
  explicit ErrorOf(const Message& message) : Error(status_of_all, message) {}
  ErrorOf(const Message& about, const Message& wrong, const Message& hint = {})
      : Error(status_of_all, about, wrong, hint) {}
};

/// Usage or bad input: "FILE:LINE: what is wrong; what to do".
struct BadInput : ErrorOf<Status::bad_input> {
  using ErrorOf::ErrorOf;
};

/// The guarantee asked for cannot be given.
struct Infeasible : ErrorOf<Status::infeasible> {
  using ErrorOf::ErrorOf;
};

/// The budget in the ledger is spent.
struct BudgetSpent : ErrorOf<Status::budget_spent> {
  using ErrorOf::ErrorOf;
};

/// Several things are wrong at once. what() is the first and how many more there are.
struct BadInputs : BadInput {
  explicit BadInputs(std::vector<Message> all)
      : BadInput(all.front() + (all.size() == 1
                                    ? ""
                                    : " (and " + std::to_string(all.size() - 1) + " more errors)")),
        lines(std::move(all)) {}
  std::vector<Message> lines;  ///< each a message of its own, at least one
};

/// The run was stopped before its end; nothing but a checkpoint (if one was asked for) is left.
struct Interrupted : ErrorOf<Status::interrupted> {
  using ErrorOf::ErrorOf;
};

/// A backend cannot be used; the three derived types say why.
struct BackendUnavailable : ErrorOf<Status::backend_unavailable> {
  using ErrorOf::ErrorOf;
};
struct NotCompiled : BackendUnavailable {
  using BackendUnavailable::BackendUnavailable;
};
struct NoDevice : BackendUnavailable {
  using BackendUnavailable::BackendUnavailable;
};
struct CudaError : BackendUnavailable {
  using BackendUnavailable::BackendUnavailable;
};

/// What validators call their number. It costs nothing where the number is as it must be.
class Name {
 public:
  Name(const char* text) : text_(text) {}                           // NOLINT
  Name(const std::string& text) : text_(text) {}                    // NOLINT
  Name(std::string_view text) : text_(text) {}                      // NOLINT
  Name(const Field& field) : text_(field.name), is_field_(true) {}  // NOLINT
  [[nodiscard]] Message message() const;

 private:
  std::string_view text_;
  bool is_field_ = false;
};

// Validators: throw BadInput "NAME: must be ..., got V; ...".
void require_finite_positive(double value, const Name& name);
void require_finite_nonnegative(double value, const Name& name);
/// lo < value < hi, both open.
void require_between(double value, double lo, double hi, const Name& name);
void require_at_least(double value, double lo, const Name& name);

}  // namespace gibbsite
