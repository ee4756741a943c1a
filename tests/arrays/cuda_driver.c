/* Stands for the driver of CUDA, libcuda.so.1: some memory of its own is a GPU's or managed, and
 * it knows of no other. */
#include <stdint.h>

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): what a test writes to */
char weir_test_device_memory[4096];
char weir_test_managed_memory[4096];
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* NOLINTNEXTLINE(readability-identifier-naming): the driver's name */
int cuPointerGetAttribute(void* value, int attribute, unsigned long long address) {
  const uintptr_t device = (uintptr_t)weir_test_device_memory;
  const uintptr_t managed = (uintptr_t)weir_test_managed_memory;
  const int is_device = address >= device && address < device + sizeof weir_test_device_memory;
  const int is_managed = address >= managed && address < managed + sizeof weir_test_managed_memory;
  if (!is_device && !is_managed) return 1;
  if (attribute == 2) *(unsigned*)value = 2; /* a device's memory, managed or not */
  if (attribute == 8) *(unsigned*)value = (unsigned)is_managed;
  return attribute == 2 || attribute == 8 ? 0 : 1;
}
