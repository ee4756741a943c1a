// Ranks of other nodes find stagers by a file that each stager writes when it listens, and removes
// at its end. With a cookie, its key is a secret, and only its user may read it; with MUNGE, others
// may.
//
// clang-format off
//     line      "weir-stager", version of the protocol, addresses, how both show who they are, key
//     example   weir-stager 10 10.0.0.1:4711,[fd00::1]:4711 cookie 00112233445566778899aabbccddeeff
// clang-format on
//
// A file may have a line for each of several stagers. A folder stands for all files in it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/status.hpp"
#include "system/file.hpp"
#include "transport/authenticator.hpp"

namespace weir::transport {

struct Rendezvous {
  std::vector<std::string> addresses;  // such as "10.0.0.1:4711", tried in this order
  std::string key;  // 16 bytes that no other stager has: the cookie; with MUNGE, no secret
  Authentication authentication = Authentication::cookie;
  friend bool operator==(const Rendezvous&, const Rendezvous&) = default;
};

// The place of a stager: the path of its socket on this node, or an address on another one.
using StagerPlace = std::variant<std::string, Rendezvous>;

// Returns a line for each of the stagers, as a file has them.
[[nodiscard]] std::string text_of(const std::vector<Rendezvous>& stagers);
// Reads such lines; `path` is named in errors. Fails if there is none.
[[nodiscard]] Result<std::vector<Rendezvous>> parse_rendezvous(const std::string& text,
                                                               const std::string& path);
// Reads a file, or all files of a folder in the order of their names. Fails if one of them does not
// belong to this user, or if other users may write it, or may read a cookie.
[[nodiscard]] Result<std::vector<Rendezvous>> read_rendezvous(const std::string& path);

// The file that a stager writes.
class RendezvousFile {
 public:
  // Writes the file. In a folder, it gets the name of this host and process. Fails if another
  // stager, which has not ended, has written it.
  static Result<RendezvousFile> write(const std::string& path, const Rendezvous& stager);
  RendezvousFile(RendezvousFile&& other) noexcept : file_(std::move(other.file_)) {
    other.file_.reset();
  }
  RendezvousFile(const RendezvousFile&) = delete;
  RendezvousFile& operator=(RendezvousFile&&) = delete;
  RendezvousFile& operator=(const RendezvousFile&) = delete;
  ~RendezvousFile();  // removes it

 private:
  explicit RendezvousFile(storage::File file) : file_(std::move(file)) {}

  std::optional<storage::File> file_;  // locked as long as the stager runs
};

}  // namespace weir::transport
