#include "system/process_name.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

namespace weir::storage {

std::string host_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) return "?";
  return host.data();
}

std::string process_name() { return fmt::format("process {} on {}", ::getpid(), host_name()); }

}  // namespace weir::storage
