// Expected failures as values: Error and Result<T>.
//
// Result<T> has the interface of C++23's std::expected<T, Error>. No function of xflow throws across its
// public interface.
#pragma once

#include <xflow/export.h>

#include <cassert>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace xflow {

// The kinds of errors. Functions document which of them they return. Exit codes are those of the program
// `xflow`.
enum class ErrorCode {
  unreadable,        // invalid input: truncated, not a protobuf, a cycle, a missing file. Exit code 2.
  invalid_argument,  // a meaningless request: unknown option, malformed shape. Exit code 64.
  ill_typed,         // operands or attributes do not fit the operator; the message says what was expected.
  syntax,            // a rule text does not parse; `where` is file:line:column.
  unsupported,       // a valid request that this build or this device cannot execute. Exit code 3.
  io,                // the operating system refused an access; the message has its reason. Exit code 3.
  limit,             // a documented limit was reached: time, steps, memory, nesting. Exit code 3.
  not_proved,        // a rule has no proof and therefore may not be applied. Exit code 1.
  internal,          // a bug in xflow: an invariant does not hold; please report it. Exit code 3.
};

// An error: its kind, a message and a place. The message is one lowercase line: what was found, what was
// expected, what to do.
struct Error {
  ErrorCode code = ErrorCode::internal;  // the kind
  std::string message;                   // what was found, what was expected, what to do
  std::string where;                     // a file, node, rule or line:column; may be empty

  // "where: message", or the message alone if there is no place.
  std::string text() const { return where.empty() ? message : where + ": " + message; }

  friend bool operator==(const Error&, const Error&) = default;  // compares all members
};

// An Error that converts to any Result<T>.
struct Unexpected {
  Error error;  // of the call that failed
};

// Makes an error to return from a function with a Result.
inline Unexpected fail(ErrorCode code, std::string message, std::string where = {}) {
  return Unexpected{Error{code, std::move(message), std::move(where)}};
}
// Returns the same error from a function with another type of result.
inline Unexpected fail(Error error) { return Unexpected{std::move(error)}; }

// For programs: the Error that describes the current exception, without the texts of the standard library.
// Call it in a catch block.
XFLOW_API Error error_of_exception();

// A value of type T, or an Error. value(), `*` and `->` require has_value(); error() requires !has_value().
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;      // of the value
  using error_type = Error;  // of the error

  // NOLINTBEGIN(google-explicit-constructor): as std::expected
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}                           // a success
  Result(Unexpected unexpected) : state_(std::in_place_index<1>, std::move(unexpected.error)) {}  // a failure
  // NOLINTEND(google-explicit-constructor)

  bool has_value() const { return state_.index() == 0; }  // whether the call succeeded
  explicit operator bool() const { return has_value(); }  // has_value()

  T& value() & { return *std::get_if<0>(check_value()); }               // the value
  const T& value() const& { return *std::get_if<0>(check_value()); }    // the value
  T&& value() && { return std::move(*std::get_if<0>(check_value())); }  // the value, to be moved from
  T& operator*() & { return value(); }                                  // the value
  const T& operator*() const& { return value(); }                       // the value
  T&& operator*() && { return std::move(*this).value(); }               // the value, to be moved from
  T* operator->() { return &value(); }                                  // a member of the value
  const T* operator->() const { return &value(); }                      // a member of the value

  Error& error() & { return *std::get_if<1>(check_error()); }               // why the call failed
  const Error& error() const& { return *std::get_if<1>(check_error()); }    // why the call failed
  Error&& error() && { return std::move(*std::get_if<1>(check_error())); }  // why the call failed, to be moved from

  // The value, or `other` after a failure.
  template <typename U>
  T value_or(U&& other) const& {
    return has_value() ? value() : static_cast<T>(std::forward<U>(other));
  }

 private:
  auto check_value() {
    assert(has_value());
    return &state_;
  }
  auto check_value() const {
    assert(has_value());
    return &state_;
  }
  auto check_error() {
    assert(!has_value());
    return &state_;
  }
  auto check_error() const {
    assert(!has_value());
    return &state_;
  }

  std::variant<T, Error> state_;
};

// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;   // there is no value
  using error_type = Error;  // of the error

  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as std::expected
  Result(Unexpected unexpected) : error_(std::move(unexpected.error)), ok_(false) {}  // a failure

  bool has_value() const { return ok_; }          // whether the call succeeded
  explicit operator bool() const { return ok_; }  // has_value()
  void value() const { assert(ok_); }             // requires has_value()

  // Why the call failed; requires !has_value().
  Error& error() & {
    assert(!ok_);
    return error_;
  }
  // Why the call failed; requires !has_value().
  const Error& error() const& {
    assert(!ok_);
    return error_;
  }
  // Why the call failed, to be moved from; requires !has_value().
  Error&& error() && {
    assert(!ok_);
    return std::move(error_);
  }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace xflow

// XFLOW_TRY(declaration, expression) evaluates the Result `expression`. On failure it returns the error from
// the enclosing function, otherwise it binds the value to `declaration`. XFLOW_CHECK(expression) only
// returns the error.
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses.
#define XFLOW_CONCAT_(a, b) a##b
// Joins two tokens after they are expanded.
#define XFLOW_CONCAT(a, b) XFLOW_CONCAT_(a, b)
// The statements of XFLOW_TRY; `temporary` names the result.
#define XFLOW_TRY_(temporary, declaration, expression)                \
  auto temporary = (expression);                                      \
  if (!temporary) return ::xflow::fail(std::move(temporary).error()); \
  declaration = *std::move(temporary)
// Binds the value of a Result to a declaration, or returns its error from the enclosing function.
#define XFLOW_TRY(declaration, expression) XFLOW_TRY_(XFLOW_CONCAT(xflow_result_, __LINE__), declaration, expression)
// Returns the error of a Result from the enclosing function, if there is one.
#define XFLOW_CHECK(expression)                                                                                 \
  do {                                                                                                          \
    if (auto xflow_result = (expression); !xflow_result) return ::xflow::fail(std::move(xflow_result).error()); \
  } while (false)
// NOLINTEND(bugprone-macro-parentheses)
