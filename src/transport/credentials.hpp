// Texts that say, to whoever shares a key with their maker's node, whose process made them and what
// for. MUNGE has such credentials (munge.hpp).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"

namespace weir::transport {

struct Credential {
  uid_t user = 0;  // of the process that made it
  std::vector<std::byte> payload;
};

// Several threads may use one.
class Credentials {
 public:
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;
  virtual ~Credentials() = default;

  // Returns a credential of this process.
  [[nodiscard]] virtual Result<std::string> make(std::span<const std::byte> payload) const = 0;
  // Fails if the text is no credential, was opened before on this node, or is too old.
  [[nodiscard]] virtual Result<Credential> open(const std::string& text) const = 0;

 protected:
  Credentials() = default;
};

}  // namespace weir::transport
