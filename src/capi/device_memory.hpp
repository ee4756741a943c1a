// Detects memory of a GPU, which a processor must not touch: a program that passes such memory by
// mistake would be ended by a signal in the middle of a request. CUDA's driver knows to which
// device an address belongs.
#pragma once

#include <cstdint>
#include <span>

#include "aggregation/collective.hpp"
#include "capi/outcome.hpp"

namespace weir::capi {

class DeviceMemory {
 public:
  // Looks for the driver among the libraries that the program has loaded, and loads nothing.
  // Without the driver all memory counts as the host's.
  DeviceMemory();
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
