// Reads the content of a file in another process, because the library may crash or loop on a file
// of another program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "formats/sandbox_process.hpp"

namespace weir::storage {

enum class Hdf5Question : std::uint8_t {
  header,     // the file's map, as a message of file_map_message.hpp
  unfinished  // the lines of Format::unfinished()
};

// Returns the answer of `program` (find_sandbox_program()), or of a fork of this process if
// `program` is nothing or cannot run.
[[nodiscard]] Result<std::string> read_hdf5_elsewhere(const std::optional<std::string>& program,
                                                      const std::string& path,
                                                      Hdf5Question question = Hdf5Question::header,
                                                      const SandboxLimits& limits = {});

// Runs in that process: answers the question that read_hdf5_elsewhere() asks by a word.
[[nodiscard]] Result<std::string> answer_about_hdf5_file(const std::string& path,
                                                         const std::string& word);

}  // namespace weir::storage
