#pragma once
// Errors: one line that names the file, line or parameter, what is wrong, and what to do.
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// Base of every error gibbsite throws on purpose. `what()` is one line, without the program's
/// name, and safe to show: what a file brought into the message is escaped (core/text.hpp). Fields
/// of the library's own structs stand in backquotes (`step_size`): a face writes them as its user
/// does.
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& message);
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/// Usage or bad input: "FILE:LINE: what is wrong; what to do".
struct BadInput : Error {
  explicit BadInput(const std::string& message) : Error(Status::bad_input, message) {}
};

/// The guarantee asked for cannot be given.
struct Infeasible : Error {
  explicit Infeasible(const std::string& message) : Error(Status::infeasible, message) {}
};

/// The budget in the ledger is spent.
struct BudgetSpent : Error {
  explicit BudgetSpent(const std::string& message) : Error(Status::budget_spent, message) {}
};

/// Several things are wrong at once. what() is the first and how many more there are.
struct BadInputs : BadInput {
  explicit BadInputs(std::vector<std::string> all)
      : BadInput(all.front() + (all.size() == 1
                                    ? ""
                                    : " (and " + std::to_string(all.size() - 1) + " more errors)")),
        lines(std::move(all)) {}
  std::vector<std::string> lines;  ///< each a message of its own, at least one
};

/// The run was stopped before its end; nothing but a checkpoint (if one was asked for) is left.
struct Interrupted : Error {
  explicit Interrupted(const std::string& message) : Error(Status::interrupted, message) {}
};

/// A backend cannot be used; the three derived types say why.
struct BackendUnavailable : Error {
  explicit BackendUnavailable(const std::string& message)
      : Error(Status::backend_unavailable, message) {}
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

// Validators: throw BadInput "NAME: must be ..., got V; ..." with `name` as the caller's user knows
// it.
void require_finite_positive(double value, std::string_view name);
void require_finite_nonnegative(double value, std::string_view name);
/// lo < value < hi, both open.
void require_between(double value, double lo, double hi, std::string_view name);
void require_at_least(double value, double lo, std::string_view name);

}  // namespace gibbsite
