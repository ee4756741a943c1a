// Credentials as munged makes and opens them, for tests: a realm stands for the nodes that share a
// key, its clock is moved by the test, and a process is any user.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "transport/credentials.hpp"

namespace weir::transport {

struct TestRealm {
  struct Made {
    Credential credential;
    std::int64_t at = 0;
    bool was_opened = false;
  };

  static constexpr std::int64_t seconds_to_live = 300;
  std::map<std::string, Made> made;
  std::int64_t now = 0;
  std::int64_t asked = 0;  // times that one was to be opened
  bool answers = true;
};

class TestCredentials final : public Credentials {
 public:
  TestCredentials(TestRealm* realm, uid_t user) : realm_(realm), user_(user) {}

  [[nodiscard]] Result<std::string> make(std::span<const std::byte> payload) const override {
    if (!realm_->answers) return Error(ErrorCode::io, "MUNGE does not answer");
    std::string text = fmt::format("MUNGE:{}:", realm_->made.size());
    realm_->made[text] = {{user_, {payload.begin(), payload.end()}}, realm_->now};
    return text;
  }
  [[nodiscard]] Result<Credential> open(const std::string& text) const override {
    ++realm_->asked;
    if (!realm_->answers) return Error(ErrorCode::io, "MUNGE does not answer");
    const auto found = realm_->made.find(text);
    if (found == realm_->made.end()) return invalid_argument("invalid");
    if (realm_->now - found->second.at > TestRealm::seconds_to_live) {
      return invalid_argument("expired");
    }
    if (std::exchange(found->second.was_opened, true)) return invalid_argument("replayed");
    return found->second.credential;
  }

 private:
  TestRealm* realm_;
  uid_t user_;
};

}  // namespace weir::transport
