// Where and with what a run was made: the provenance list of Uselton (DASC 2009), section 4.
//
// Describes the node of the calling rank, as any user may read it from /proc, /sys and the
// libraries. What cannot be known is the text "unknown", never an error and never left out. Numbers
// are in the unit of their name.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weir::bench {

// An `Environment` of run.json (python/weir/results/schema.py). `directory`: where the files of the
// run are; `command`: the program and its arguments; `quiet`: what judge_quiet() gave. Call on one
// rank, after MPI_Init.
[[nodiscard]] nlohmann::json describe_environment(const std::string& directory,
                                                  const std::vector<std::string>& command,
                                                  nlohmann::json quiet);

// The hardware: processor, memory, and the block devices under `directory`.
[[nodiscard]] nlohmann::json describe_hardware(const std::string& directory);
// Kernel, distribution, MPI, compiler, libraries, and the kernel's settings that govern write-back.
[[nodiscard]] nlohmann::json describe_system_software();
// How much unwritten data the kernel keeps, by its settings in `folder` (/proc/sys/vm): each limit
// in the one unit that is in effect, as the kernel's setting in the other unit is 0 then.
[[nodiscard]] nlohmann::json describe_write_back(const std::string& folder);
// What the MPI library says of itself, in one or more lines. Needs no MPI_Init.
[[nodiscard]] std::string mpi_library();
// Type, mount, layout and space of the file system that holds `directory`.
[[nodiscard]] nlohmann::json describe_file_system(const std::string& directory);
// Weir's version, revision and build.
[[nodiscard]] nlohmann::json describe_test_application(const std::vector<std::string>& command);

// The type of the file system that holds `directory`: "ext4", "lustre", "tmpfs", …; "unknown" when
// it cannot be told.
[[nodiscard]] std::string file_system_type(const std::string& directory);
// Whether a file system of this type keeps its files in memory.
[[nodiscard]] bool is_memory_file_system(const std::string& type);
// Whether one of this type may serve reads from memory of this node that is no page cache, or
// through the page cache in spite of O_DIRECT: GPFS's page pool, ZFS's ARC, whatever a FUSE file
// system does.
[[nodiscard]] bool has_cache_of_its_own(const std::string& type);

}  // namespace weir::bench
