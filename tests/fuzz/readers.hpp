// What reads bytes that others wrote or sent, each reader as a function of bytes: for the fuzzer,
// which looks for bytes that break one, and for the test that gives each reader all that ever did.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::fuzz {

using Bytes = std::vector<std::byte>;

struct Reader {
  std::string_view name;
  // Reads the bytes; `folder` is an empty folder for files, which may be left there and are
  // replaced by the next call. Returns what is wrong with what was read: an array that has a byte
  // at no offset, a chunk outside the file. Refusing the bytes is never wrong.
  std::optional<std::string> (*read)(std::span<const std::byte> bytes, const std::string& folder);
  // Bytes that are good, to begin with.
  std::vector<Bytes> (*seeds)(const std::string& folder);
  // The bytes are JSON: the fuzzer changes them by their tokens, too (json_changes.hpp).
  bool is_json = false;

  // Bytes of the longest input that the fuzzer gives the reader. A document has to be long to be
  // nested deeply enough to overflow a stack, or to have more members than can be compared
  // pairwise.
  [[nodiscard]] constexpr std::size_t longest_input() const {
    return is_json ? std::size_t{1} << 19 : std::size_t{1} << 14;
  }
};

// The readers of this build, by name; hdf5 is among them if the library is.
[[nodiscard]] std::span<const Reader> all_readers();
[[nodiscard]] const Reader* find_reader(std::string_view name);

// The readers of what a stager is sent (stager_readers.cpp).
std::optional<std::string> read_message(std::span<const std::byte> bytes,
                                        const std::string& folder);
std::optional<std::string> read_filled_block(std::span<const std::byte> bytes,
                                             const std::string& folder);
std::optional<std::string> read_journal(std::span<const std::byte> bytes,
                                        const std::string& folder);
std::optional<std::string> read_conversation(std::span<const std::byte> bytes,
                                             const std::string& folder);

// Reads frames as they come over a network (frame_reader.cpp).
std::optional<std::string> read_frame(std::span<const std::byte> bytes, const std::string& folder);

// Reads a record as `weir bench replay` does (record_reader.cpp).
std::optional<std::string> read_record(std::span<const std::byte> bytes, const std::string& folder);

}  // namespace weir::fuzz
