#include "capi/device_memory.hpp"

#include <dlfcn.h>
#include <link.h>

#include <string_view>

namespace weir::capi {
namespace {

// Values from cuda.h, which never change.
constexpr int success = 0;
constexpr int memory_type = 2;
constexpr int is_managed = 8;
constexpr unsigned of_device = 2;

// Sets `found` to the path of the driver.
int look_at_library(dl_phdr_info* library, std::size_t /*bytes*/, void* found) {
  const std::string_view path(library->dlpi_name);
  if (!path.substr(path.rfind('/') + 1).starts_with("libcuda.so")) return 0;
  *static_cast<const char**>(found) = library->dlpi_name;
  return 1;
}

}  // namespace

DeviceMemory::DeviceMemory() {
  const char* path = nullptr;
  if (::dl_iterate_phdr(look_at_library, static_cast<void*>(&path)) == 0) return;
  driver_ = ::dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (driver_ == nullptr) return;
  get_attribute_ = reinterpret_cast<GetAttribute>(::dlsym(driver_, "cuPointerGetAttribute"));
}

DeviceMemory::~DeviceMemory() {
  if (driver_ != nullptr) ::dlclose(driver_);
}

bool DeviceMemory::holds(const void* address) const {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  unsigned type = 0;
  // The driver's function fails for memory that the driver does not know.
  if (get_attribute_(&type, memory_type, number) != success || type != of_device) return false;
  unsigned managed = 0;
  return get_attribute_(&managed, is_managed, number) != success || managed == 0;
}

Outcome DeviceMemory::refuse(std::span<const aggregation::MemoryPiece> pieces) const {
  if (get_attribute_ == nullptr) return {};
  for (const aggregation::MemoryPiece& piece : pieces) {
    if (piece.data != nullptr && holds(piece.data)) {
      return bad_argument("data is in the memory of a GPU: give a copy in host memory");
    }
  }
  return {};
}

}  // namespace weir::capi
