#include "formats/hdf5/read_elsewhere.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "formats/hdf5/add_steps.hpp"
#include "formats/hdf5/library.hpp"
#include "formats/hdf5/read_file.hpp"

namespace weir::storage {
namespace {

constexpr std::string_view unfinished_word = "unfinished";

std::string word_of(Hdf5Question question) {
  return std::string(question == Hdf5Question::unfinished ? unfinished_word : "");
}

}  // namespace

Result<std::string> answer_about_hdf5_file(const std::string& path, const std::string& word) {
  if (word != unfinished_word) return read_hdf5_message(path);
  const auto lines = unfinished_hdf5_steps(path);
  if (!lines) return lines.error();
  return fmt::format("{}", fmt::join(lines.value(), "\n"));
}

Result<std::string> read_hdf5_elsewhere(const std::optional<std::string>& program,
                                        const std::string& path, Hdf5Question question,
                                        const SandboxLimits& limits) {
  const std::string word = word_of(question);
  if (program) {
    if (auto answer = read_by_program(*program, path, limits, word)) return std::move(*answer);
  }
  // This lock ensures that no other thread is in the library when the child gets a copy of it. The
  // child inherits the lock as held by this thread, of which the child's only thread is a copy.
  const Hdf5Silence silence;
  return read_by_fork([&] { return answer_about_hdf5_file(path, word); }, path, limits);
}

}  // namespace weir::storage
