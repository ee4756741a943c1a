#include "transport/authenticator.hpp"

#include <unistd.h>

#include <utility>

#include "transport/munge.hpp"

namespace weir::transport {

std::string_view word_of(Authentication authentication) {
  return authentication == Authentication::munge ? "munge" : "cookie";
}

std::optional<Authentication> parse_authentication(std::string_view word) {
  for (const Authentication one : {Authentication::cookie, Authentication::munge}) {
    if (word == word_of(one)) return one;
  }
  return std::nullopt;
}

Result<std::unique_ptr<Authenticator>> make_authenticator(Authentication authentication) {
  if (authentication == Authentication::cookie) return make_cookie_authenticator();
  auto credentials = open_munge();
  if (!credentials) return credentials.error();
  return make_munge_authenticator(std::move(credentials).value(), ::geteuid());
}

}  // namespace weir::transport
