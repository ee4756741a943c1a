// The calls on names that a run makes by one interface, and the memory that they share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/status.hpp"
#include "interfaces/interface.hpp"

namespace weir::bench::metadata {

// Says what is written to files, which follows from a seed, and where it is read.
class FileContent {
 public:
  // A larger file is moved in pieces of this size.
  static constexpr std::int64_t most_at_once = std::int64_t{1} << 20U;

  // `largest` is the size of the largest file that will be written or read.
  FileContent(std::int64_t largest, std::uint64_t seed);
  [[nodiscard]] NameMemory memory() { return {content_, buffer_}; }

 private:
  std::vector<char> content_;
  std::vector<char> buffer_;
};

struct OpenCalls {
  std::unique_ptr<Session> session;
  std::unique_ptr<NameCalls> calls;

  // `needed` are the calls that will be made. The content must outlive the calls. Collective if the
  // interface's open_session() is.
  static Result<OpenCalls> open(const Interface& interface, const SessionSettings& settings,
                                FileContent& content, NameCallSet needed);
};

}  // namespace weir::bench::metadata
