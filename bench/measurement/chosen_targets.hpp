// Files on chosen storage targets. Only Lustre lets a program choose them, with the option -o of
// `lfs setstripe`: a list of indices, in the order of the stripes. The layout of a folder applies
// to all files that are created in it, whatever interface creates them.
//
// A server may give a file other targets than its folder asks for. Therefore the layout of each new
// file is read back: its objects in the attribute "lustre.lov" (system/lustre_layout.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "system/mounts.hpp"

namespace weir::bench {

struct ChosenTargets {
  std::vector<std::int32_t> indices;  // stripe i of a file is on number i mod size; empty: any
  std::int64_t stripe_bytes = 0;      // contiguous bytes on one target; 0: the folder's

  [[nodiscard]] bool empty() const { return indices.empty(); }
  // Returns the indices as `lfs` reads them: "0,1,2".
  [[nodiscard]] std::string list() const;

  friend bool operator==(const ChosenTargets&, const ChosenTargets&) = default;
};

// Reads a list of indices and ranges, such as "0,4-7". Fails if it is not one, if an index is given
// twice, is more than 65534, or if there are more than 2000: the most stripes of a Lustre file.
[[nodiscard]] Result<std::vector<std::int32_t>> parse_targets(const std::string& text);

// Fails with `unsupported` and the type of the file system if the targets of files in the folder
// cannot be chosen.
[[nodiscard]] Status check_targets_can_be_chosen(
    const std::string& folder, const std::string& mounts = storage::mounts_of_this_process);
// Puts all files that are created from now on in the folder on the targets. Does nothing if none
// are chosen.
[[nodiscard]] Status put_folder_on_targets(
    const std::string& path, const ChosenTargets& chosen,
    const std::string& mounts = storage::mounts_of_this_process);
// Fails if the new file is not striped over the chosen targets, in their order. Does nothing if
// none are chosen.
[[nodiscard]] Status check_file_is_on_targets(const std::string& path, const ChosenTargets& chosen);
// Compares as check_file_is_on_targets() does. `attribute` is the value of "lustre.lov".
[[nodiscard]] Status compare_targets(std::span<const std::byte> attribute,
                                     const ChosenTargets& chosen, const std::string& path);

}  // namespace weir::bench
