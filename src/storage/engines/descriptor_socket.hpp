// Open files passed between processes of one node (SCM_RIGHTS).
//
// Each process has one socket of datagrams, under an abstract name that the kernel chose: nothing
// lies in the file system, and the name ends with the process. Sending never waits; it fails where
// the receiver has no room for a message. What does not come from a process of the same user that
// knows the secret is dropped, so nobody else can have bytes written to a file of his choice. The
// sender does not see who receives: after a process has ended, another of the machine can take its
// name, and gets what is sent to it until its node's ranks end too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "storage/engines/file.hpp"

namespace weir::storage {

// The name of the file that a message brings.
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
  // Plain, as it lies in memory that processes share.
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
  // Passes `file`, whose description() goes with it; the path is of at most longest_path bytes.
  [[nodiscard]] Sent send(const Address& to, const Secret& secret, const PassedName& name,
                          const File& file) const;
  // The next one that has come; nothing: there is none.
  [[nodiscard]] std::optional<PassedFile> receive(const Secret& secret) const;

 private:
  DescriptorSocket(int descriptor, const Address& address)
      : descriptor_(descriptor), address_(address) {}

  int descriptor_ = -1;
  Address address_;
};

// Random. Fails where the system has no random numbers.
[[nodiscard]] Result<DescriptorSocket::Secret> new_secret();

}  // namespace weir::storage
