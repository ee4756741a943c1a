// A socket that passes open files between processes of one node (SCM_RIGHTS).
//
// Each process has one datagram socket with an abstract name that the kernel chooses. The name does
// not exist in the file system and disappears with the process. Sending never waits; it fails if
// the receiver has no room for a message. A receiver drops every message that does not come from a
// process of the same user that knows the secret, so that no other process can cause bytes to be
// written to a file of its choice. The sender cannot identify the receiver: after a process has
// ended, another process of the machine can take its name, and then receives what is sent to this
// name until the ranks of the node end too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "system/file.hpp"

namespace weir::storage {

// Identifies the file that a message passes.
struct PassedName {
  std::uint64_t file = 0;
  std::int32_t user = 0;
  bool write = false;
  bool direct = false;
  std::string path;

  friend auto operator<=>(const PassedName&, const PassedName&) = default;
};

struct PassedFile {
  PassedName name;
  File file;
};

class DescriptorSocket {
 public:
  // The type is trivially copyable because addresses lie in memory that processes share.
  struct Address {
    std::array<char, 15> name{};
    std::uint8_t bytes = 0;  // 0: no socket

    friend bool operator==(const Address&, const Address&) = default;
  };
  using Secret = std::array<std::byte, 16>;
  static constexpr std::size_t longest_path = 4096;

  static Result<DescriptorSocket> create();
  DescriptorSocket(DescriptorSocket&& other) noexcept;
  DescriptorSocket& operator=(DescriptorSocket&& other) noexcept;
  DescriptorSocket(const DescriptorSocket&) = delete;
  DescriptorSocket& operator=(const DescriptorSocket&) = delete;
  ~DescriptorSocket();

  [[nodiscard]] const Address& address() const { return address_; }

  enum class Sent : std::uint8_t { yes, no_room, nobody_there };
  // Passes `file` together with its description(). The path has at most longest_path bytes.
  [[nodiscard]] Sent send(const Address& to, const Secret& secret, const PassedName& name,
                          const File& file) const;
  // Returns the next file that has arrived, or nothing if there is none.
  [[nodiscard]] std::optional<PassedFile> receive(const Secret& secret) const;

 private:
  DescriptorSocket(int descriptor, const Address& address)
      : descriptor_(descriptor), address_(address) {}

  int descriptor_ = -1;
  Address address_;
};

// Returns a random secret. Fails if the system cannot provide random numbers.
[[nodiscard]] Result<DescriptorSocket::Secret> new_secret();

}  // namespace weir::storage
