// Errors as values. A Status says whether an operation succeeded; a Result also carries its value.
//
// An Error is built where the failure is first seen, with the operation, file and offset known
// there; callers add what they know (the rank) and pass it on. Its one-line text is what the user
// reads: what was wrong, where, and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace weir {

enum class ErrorCode {
  invalid_argument,  // the request is invalid; nothing was started
  mismatch,        // ranks made different calls, or passed different arguments; nothing was started
  given_up,        // a rank has given up what the call belongs to; nothing was started
  io,              // the system refused an operation; system_error holds errno
  short_transfer,  // fewer bytes were moved than requested
  corrupt,         // data read back are not the data written
  deadline,        // a wait exceeded its deadline
  insufficient,    // not enough memory or disk for the run
  unsupported,     // the system lacks the requested mechanism
  peer,            // another rank failed; its own report has the cause
  communication,   // MPI failed to move a message between ranks
  interrupted,     // a signal asked the run to stop
};

struct Error {
  Error() = default;
  Error(ErrorCode what, std::string text, std::string path = {}, std::int64_t place = -1)
      : code(what), message(std::move(text)), file(std::move(path)), offset(place) {}

  ErrorCode code = ErrorCode::io;
  std::string message;       // one line, no trailing newline
  std::string operation;     // "write", "fsync", "open", …; empty if none
  std::string file;          // path; empty if none
  std::int64_t offset = -1;  // bytes from the start of the file; -1 if none
  int system_error = 0;      // errno; 0 if none
  int rank = -1;             // rank in the job's world; -1 if unknown

  // Returns the line for the user: "rank 2: write failed: No space left on device (file /x, offset
  // 4096)".
  [[nodiscard]] std::string text() const;
};

// Builds an Error of code `io` from the errno value `system_error`.
[[nodiscard]] Error system_failure(std::string_view operation, std::string_view file,
                                   std::int64_t offset, int system_error);
[[nodiscard]] Error invalid_argument(std::string message, std::string file = {});
// Returns the error, with its file set to `file` if it names none.
[[nodiscard]] Error with_file(Error error, const std::string& file);

class [[nodiscard]] Status {
 public:
  Status() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): `return error;`
  Status(Error error) : error_(std::move(error)), ok_(false) {}

  [[nodiscard]] bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  // Valid only when !ok().
  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] Error& error() { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTBEGIN(google-explicit-constructor): `return value;` and `return error;`
  Result(T value) : content_(std::move(value)) {}
  Result(Error error) : content_(std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return std::holds_alternative<T>(content_); }
  explicit operator bool() const { return ok(); }
  // value() is valid only if ok(), error() only if not.
  [[nodiscard]] T& value() & { return std::get<T>(content_); }
  [[nodiscard]] const T& value() const& { return std::get<T>(content_); }
  [[nodiscard]] T&& value() && { return std::get<T>(std::move(content_)); }
  [[nodiscard]] const Error& error() const { return std::get<Error>(content_); }

 private:
  std::variant<T, Error> content_;
};

}  // namespace weir
