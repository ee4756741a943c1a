// A rank of another node and a stager show each other who they are, each in one message: by a
// cookie that both know, or by credentials of MUNGE that say whose process each is.
//
// clang-format off
//     cookie    the proof (proof.hpp), of which the key is secret
//     munge     a credential that has the proof as its payload
// clang-format on
//
// Either is bound by the proof to one connection. A credential is looked at by its user, too: a
// stager writes with the rights of its own user, so both sides have to be processes of that user.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "transport/credentials.hpp"
#include "transport/messages.hpp"

namespace weir::transport {

enum class Authentication : std::uint8_t { cookie, munge };

[[nodiscard]] std::string_view word_of(Authentication authentication);
[[nodiscard]] std::optional<Authentication> parse_authentication(std::string_view word);

// Several threads may use one. With MUNGE, each function waits for munged, for about 10 s at most.
class Authenticator {
 public:
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;
  virtual ~Authenticator() = default;

  // Returns what this side sends to show that the proof is its own.
  [[nodiscard]] virtual Result<std::vector<std::byte>> show(const Proof& proof) const = 0;
  // Fails unless the other side has shown this proof.
  [[nodiscard]] virtual Status check(std::span<const std::byte> shown,
                                     const Proof& proof) const = 0;

 protected:
  Authenticator() = default;
};

[[nodiscard]] std::unique_ptr<Authenticator> make_cookie_authenticator();
// Takes credentials of `user` alone.
[[nodiscard]] std::unique_ptr<Authenticator> make_munge_authenticator(
    std::unique_ptr<Credentials> credentials, uid_t user);
// Returns that of this process and its user. Fails if it would need MUNGE and there is none.
[[nodiscard]] Result<std::unique_ptr<Authenticator>> make_authenticator(
    Authentication authentication);

}  // namespace weir::transport
