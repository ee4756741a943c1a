// Simulated ranks have sim/library/processor_ticks.cpp instead.
#include "measurement/processor_ticks.hpp"

#include <filesystem>
#include <string>

#include "measurement/system_text.hpp"

namespace weir::bench {

std::optional<ProcessorTicks> processor_ticks_now() {
  const std::optional<std::string> stat = read_text("/proc/stat");
  return stat ? parse_processor_ticks(*stat) : std::nullopt;
}

std::int64_t kernel_thread_ticks_now() {
  std::int64_t ticks = 0;
  std::error_code error;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry("/proc", error); !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path& process = entry->path();
    if (!parse_integer(process.filename().string())) continue;
    // A process may end while the folder is read; it then adds nothing.
    if (const auto stat = read_text(process / "stat")) ticks += kernel_thread_ticks(*stat);
  }
  return ticks;
}

}  // namespace weir::bench
