// Describes where and with what software a run was made, after the provenance list of Uselton (DASC
// 2009), section 4.
//
// A description is that of the calling rank's node, as far as any user may read it from /proc, /sys
// and the libraries. An unknown value is the text "unknown"; it is never an error and never left
// out. Numbers are in the unit that their name gives.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "system/mounts.hpp"

namespace weir::bench {

// Describes the hardware, the system software, and the file system of `directory`, which holds the
// files of the run, on this process's node. Call it after MPI_Init.
[[nodiscard]] nlohmann::json describe_node(const std::string& directory);
// Returns an `Environment` of run.json (python/weir/results/schema.py). `nodes` is the result of
// describe_nodes() on rank 0, `command` is the program with its arguments, and `quiet` is the
// result of judge_quiet().
[[nodiscard]] nlohmann::json describe_environment(nlohmann::json nodes,
                                                  const std::vector<std::string>& command,
                                                  nlohmann::json quiet);

// Describes the processor, the memory, and the block devices under `directory`.
[[nodiscard]] nlohmann::json describe_hardware(const std::string& directory);
// Describes the kernel, distribution, MPI, compiler and libraries, and the kernel's write-back
// settings.
[[nodiscard]] nlohmann::json describe_system_software();
// Describes how much unwritten data the kernel keeps, and how long, from its settings in `folder`
// (/proc/sys/vm).
// Each limit is given in the unit that is in effect; the kernel's setting in the other unit is then
// 0.
[[nodiscard]] nlohmann::json describe_write_back(const std::string& folder);
// Returns MPI's own description of its library, in one or more lines. Needs no MPI_Init.
[[nodiscard]] std::string mpi_library();
// Returns the `version` of a file system, and its `tunables` by their names, as far as files below
// `root` ("" for those of this node) tell them. Numbers have the unit that the system's name gives.
[[nodiscard]] nlohmann::json describe_tuning(const storage::Mount& mounted,
                                             const std::string& root);
// Describes the type, version, tuning, mount, layout and space of the file system that holds
// `directory`.
[[nodiscard]] nlohmann::json describe_file_system(const std::string& directory);
// Returns the versions of libraries of MPI, networks, file formats and codecs by name, as the names
// of their files have them. `maps` is /proc/self/maps: libraries that are loaded later are not
// among them.
[[nodiscard]] nlohmann::json describe_libraries(const std::string& maps);
// Describes network cards and InfiniBand adapters by name, from `classes` (/sys/class). Cards
// without a device are left out.
[[nodiscard]] nlohmann::json describe_network(const std::string& classes);
// Returns the scheduler's name, its job and what it gave the job, by its variables; "none" without
// a scheduler. `variable` looks a variable of the environment up.
[[nodiscard]] nlohmann::json describe_scheduler(const EnvironmentLookup& variable);
// Describes Weir's version, revision and build.
[[nodiscard]] nlohmann::json describe_test_application(const std::vector<std::string>& command);

// Returns the type of the file system that holds `directory`: "ext4", "lustre", "tmpfs", …, or
// "unknown".
[[nodiscard]] std::string file_system_type(const std::string& directory);
// Returns whether a file system of this type keeps its files in memory.
[[nodiscard]] bool is_memory_file_system(const std::string& type);
// Returns whether a file system of this type may serve reads from memory of this node other than
// the page cache, or through the page cache in spite of O_DIRECT. Examples are GPFS's page pool,
// ZFS's ARC and any FUSE file system.
[[nodiscard]] bool has_cache_of_its_own(const std::string& type);

}  // namespace weir::bench
