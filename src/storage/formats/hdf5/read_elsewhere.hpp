// What is in a file, read by another process: the library may crash on a file of others, or not
// come to an end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "storage/formats/sandbox_process.hpp"

namespace weir::storage {

enum class Hdf5Question : std::uint8_t {
  header,     // the file's map, as a message of file_map_message.hpp
  unfinished  // what Format::unfinished() tells, a line each
};

// The answer, by `program` (find_sandbox_program()); by a fork of this process where that is
// nothing or cannot run.
[[nodiscard]] Result<std::string> read_hdf5_elsewhere(const std::optional<std::string>& program,
                                                      const std::string& path,
                                                      Hdf5Question question = Hdf5Question::header,
                                                      const SandboxLimits& limits = {});

// In that process: answers what read_hdf5_elsewhere() asks it by a word.
[[nodiscard]] Result<std::string> answer_about_hdf5_file(const std::string& path,
                                                         const std::string& word);

}  // namespace weir::storage
