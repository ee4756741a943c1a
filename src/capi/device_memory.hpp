// Detects memory of a GPU, which a processor must not touch: a program that passes such memory by
// mistake would be ended by a signal in the middle of a request. CUDA's driver knows to which
// device an address belongs.
#pragma once

#include <cstdint>
#include <span>

#include "aggregation/collective.hpp"
#include "capi/outcome.hpp"

namespace weir::capi {

// Says what a session remembers of its searches. Each look at all libraries would read memory that
// is in no cache, in every request.
struct DriverSearch {
  // The number of times that the program had loaded or unloaded a library when the driver was not
  // found last.
  unsigned long long not_found_after = 0;
};

class DeviceMemory {
 public:
  // Looks for the driver among the libraries that the program has loaded since the last search, and
  // loads nothing. Without the driver all memory counts as the host's.
  explicit DeviceMemory(DriverSearch& last);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  // Fails if a processor must not touch one of the pieces. Managed memory may be touched.
  [[nodiscard]] Outcome refuse(std::span<const aggregation::MemoryPiece> pieces) const;

 private:
  using GetAttribute = int (*)(void* value, int attribute, std::uintptr_t address);
  [[nodiscard]] bool holds(const void* address) const;

  void* driver_ = nullptr;
  GetAttribute get_attribute_ = nullptr;
};

}  // namespace weir::capi
