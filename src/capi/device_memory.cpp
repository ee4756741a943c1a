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

struct Search {
  const char* driver = nullptr;    // path
  unsigned long long changes = 0;  // how often the program has loaded or unloaded a library
  unsigned long long not_found_after = 0;
};

int look_at_library(dl_phdr_info* library, std::size_t /*bytes*/, void* of_search) {
  auto& search = *static_cast<Search*>(of_search);
  search.changes = library->dlpi_adds + library->dlpi_subs;
  if (search.changes == search.not_found_after) return 1;
  const std::string_view path(library->dlpi_name);
  if (!path.substr(path.rfind('/') + 1).starts_with("libcuda.so")) return 0;
  search.driver = library->dlpi_name;
  return 1;
}

}  // namespace

DeviceMemory::DeviceMemory(DriverSearch& last) {
  Search search{.not_found_after = last.not_found_after};
  ::dl_iterate_phdr(look_at_library, &search);
  if (search.driver == nullptr) {
    last.not_found_after = search.changes;
    return;
  }
  driver_ = ::dlopen(search.driver, RTLD_LAZY | RTLD_NOLOAD);
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
