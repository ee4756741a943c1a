// A content is what a program writes in turn with its computing: kinds of files, and the arrays in
// them. A workload derives from Content; everything else about such programs is the same
// (execute.hpp, output_run.hpp, workload.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/direction.hpp"
#include "interfaces/array_part.hpp"
#include "interfaces/interface.hpp"

namespace weir::bench::output {

// A kind of files. An output step writes one of each kind, as long as there are any.
struct Kind {
  const char* name = "";     // in results
  std::int8_t function = 0;  // in events
  std::int64_t files = 0;    // of a repetition, at least 1
};

struct FileArray {
  ArrayBox box;
  // The number of the variable, from 0 on. Its elements are a payload. -1: the array has what
  // Content::elements() returns.
  std::int64_t variable = -1;
  int meaning = 0;  // of such an array, for Content::elements()
};

// A form in which the files of a kind are written, or read back.
struct Form {
  std::size_t kind = 0;  // its place in Content::kinds()
  bool netcdf = false;
  Direction direction = Direction::write;

  friend auto operator<=>(const Form&, const Form&) = default;
};

class Content {
 public:
  Content() = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  virtual ~Content() = default;

  // Returns the kinds in the order in which a step writes their files.
  [[nodiscard]] virtual std::vector<Kind> kinds() const = 0;
  // Returns how many variables there are; a file may lack some.
  [[nodiscard]] virtual std::int64_t variables() const = 0;
  // Returns the name of a file of a kind, unlike that of any other file by the interface.
  [[nodiscard]] virtual std::string file_name(std::size_t kind, std::int64_t number,
                                              const Interface& api) const = 0;
  // Returns the arrays of a file, with the boxes of one rank. Only the boxes depend on the rank.
  [[nodiscard]] virtual std::vector<FileArray> arrays(const Form& form,
                                                      std::int64_t rank) const = 0;
  // Returns whether ranks read other boxes back than they wrote.
  [[nodiscard]] virtual bool redivides() const { return false; }
  // Returns a rank whose boxes take as much memory as those of any rank.
  [[nodiscard]] virtual std::int64_t fullest_rank() const = 0;

  // Makes what elements() needs, which takes `memory_bytes()` of a rank's memory. Local.
  virtual void prepare(std::int64_t /*rank*/) {}
  [[nodiscard]] virtual std::int64_t memory_bytes() const { return 0; }
  // Returns the elements of a rank's box of an array that is no variable.
  [[nodiscard]] virtual std::vector<std::byte> elements(const Form& /*form*/,
                                                        const FileArray& /*array*/,
                                                        std::int64_t /*rank*/) const {
    return {};
  }

  // Returns the fields of "outputs" in run.json that are this workload's own.
  [[nodiscard]] virtual nlohmann::ordered_json facts() const = 0;
  // Returns the first line of what is printed at the end.
  [[nodiscard]] virtual std::string headline() const = 0;
};

// Returns the output steps of a repetition: there are as many as files of the most numerous kind.
[[nodiscard]] std::int64_t steps_of(const std::vector<Kind>& kinds);

// Returns the bytes of the elements of a whole file.
[[nodiscard]] std::int64_t bytes_of_file(const Content& content, std::size_t kind, bool netcdf);

// Returns the forms that an interface uses.
[[nodiscard]] std::vector<Form> forms_of(const Content& content, bool netcdf);

// Returns where the variables of a file lie in one buffer, page by page: a number of bytes for each
// array, and after the last one the size of the buffer.
[[nodiscard]] std::vector<std::int64_t> places_of(const std::vector<FileArray>& arrays);

// Returns the bytes of the largest buffer that a rank needs.
[[nodiscard]] std::int64_t buffer_bytes(const Content& content, std::int64_t rank);

}  // namespace weir::bench::output
