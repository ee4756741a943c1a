#include "workloads/metadata/open_calls.hpp"

#include <algorithm>
#include <utility>

#include "workloads/metadata/visit_order.hpp"

namespace weir::bench::metadata {

FileContent::FileContent(std::int64_t largest, std::uint64_t seed)
    : content_(static_cast<std::size_t>(std::min(largest, most_at_once))),
      buffer_(content_.size()) {
  for (std::size_t i = 0; i < content_.size(); ++i) {
    content_[i] = static_cast<char>(mixed(seed, i / 8) >> (8 * (i % 8)));
  }
}

Result<OpenCalls> OpenCalls::open(const Interface& interface, const SessionSettings& settings,
                                  FileContent& content, NameCallSet needed) {
  auto session = open_session(interface, settings);
  if (!session) return session.error();
  auto calls = session.value()->name_calls(content.memory(), needed);
  if (!calls) return calls.error();
  return OpenCalls{std::move(session).value(), std::move(calls).value()};
}

}  // namespace weir::bench::metadata
