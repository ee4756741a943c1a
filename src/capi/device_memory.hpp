// Memory of a GPU, which a processor must not touch: a program that passes it by mistake would end
// by a signal in the middle of a request. The driver of CUDA knows whose memory an address is.
#pragma once

#include <cstdint>
#include <span>

#include "aggregation/collective.hpp"
#include "capi/outcome.hpp"

namespace weir::capi {

class DeviceMemory {
 public:
  // Looks for the driver among the libraries that the program has loaded. Nothing is loaded here,
  // and without the driver all memory is the host's.
  DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  // Fails when a processor must not touch one of them. Managed memory may be touched.
  [[nodiscard]] Outcome refuse(std::span<const aggregation::MemoryPiece> pieces) const;

 private:
  using GetAttribute = int (*)(void* value, int attribute, std::uintptr_t address);
  [[nodiscard]] bool holds(const void* address) const;

  void* driver_ = nullptr;
  GetAttribute get_attribute_ = nullptr;
};

}  // namespace weir::capi
