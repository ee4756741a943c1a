// MADbench2's parameters and the rules that they must satisfy (Borrill et al., section 2.3).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "common/status.hpp"
#include "interfaces/interface.hpp"

namespace weir::bench::madbench {

struct Size {
  std::int64_t no_pe = 0;       // ranks of the job
  std::int64_t no_pix = 0;      // rows and columns of a matrix
  std::int64_t no_bin = 0;      // matrices
  std::int64_t no_gang = 0;     // gangs of the second gang level
  std::int64_t sblocksize = 0;  // rows and columns of a ScaLAPACK block
  std::int64_t fblocksize = 0;  // bytes; every matrix share starts at a multiple of it
  std::int64_t rmod = 0;        // one in rmod consecutive ranks reads at a time
  std::int64_t wmod = 0;
};

inline constexpr std::int64_t most_pixels = (std::int64_t{1} << 30) - 1;  // 2^63 bytes in a matrix

enum class Mode { sync, async, none };
enum class FileType { unique, shared };

struct Variant {
  const Interface* method = interface_named("posix");
  Mode mode = Mode::sync;
  FileType file_type = FileType::unique;
};

// Returns the title of an interface; that of MPI-IO is MPI, as the original prints it.
[[nodiscard]] std::string_view method_name(const Interface* method);
[[nodiscard]] std::string_view name_of(Mode mode);
[[nodiscard]] std::string_view name_of(FileType file_type);
[[nodiscard]] std::string label_of(const Variant& variant);  // "POSIX UNIQUE SYNC"
[[nodiscard]] std::string slug_of(const Variant& variant);   // "posix-unique-sync"

[[nodiscard]] FieldSettings<Size> size_table();
// Returns the settings that differ between configurations.
[[nodiscard]] FieldSettings<Variant> variant_table();

// Returns the bytes of memory that are available to each rank of the job.
using MemoryOfRank = std::function<std::int64_t()>;

// Returns the size from resolved settings. Calls `memory` only if NO_PIX asks to fill memory
// (filling.hpp). Fails with the broken rule and the values.
[[nodiscard]] Result<Size> size_of(const Settings& settings, std::int64_t ranks,
                                   const MemoryOfRank& memory);

// Checks every rule between the parameters. The error names the first broken rule with its values.
[[nodiscard]] Status validate(const Size& size);

// Returns the integer square root if `value` is a square, otherwise nothing.
[[nodiscard]] std::optional<std::int64_t> exact_square_root(std::int64_t value);

}  // namespace weir::bench::madbench
