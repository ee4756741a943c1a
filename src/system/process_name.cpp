#include "system/process_name.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

namespace weir::storage {

std::string process_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return fmt::format("process {} on {}", ::getpid(), host.data());
}

}  // namespace weir::storage
