// A proof binds what each side of a connection over a network shows (authenticator.hpp) to this
// connection and this stager: it is HMAC-SHA-256 (RFC 2104) over random bytes of both sides, with
// the key of the rendezvous file. What one connection shows is worth nothing on another one, and
// what one side shows is not what the other side has to show. Where the key is secret, it is not
// told.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/status.hpp"
#include "transport/messages.hpp"

namespace weir::transport {

enum class Side : std::uint8_t { rank, stager };

// Returns what `side` shows.
[[nodiscard]] Proof proof_of(Side side, const std::string& key, const Nonce& of_rank,
                             const Nonce& of_stager);
// Compares all bytes, so that the time it takes does not tell how many are right.
[[nodiscard]] bool is_same(std::span<const std::byte> one, std::span<const std::byte> other);
// Returns random bytes. Fails if the system cannot provide random numbers.
[[nodiscard]] Result<Nonce> new_nonce();

[[nodiscard]] Proof hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> text);

}  // namespace weir::transport
