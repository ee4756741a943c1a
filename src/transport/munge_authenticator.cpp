#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "transport/authenticator.hpp"
#include "transport/proof.hpp"

namespace weir::transport {
namespace {

// Bytes of a credential that munged is asked about. One of a proof has about 200.
constexpr std::size_t longest_credential = 4096;

class MungeAuthenticator final : public Authenticator {
 public:
  MungeAuthenticator(std::unique_ptr<Credentials> credentials, uid_t user)
      : credentials_(std::move(credentials)), user_(user) {}

  [[nodiscard]] Result<std::vector<std::byte>> show(const Proof& proof) const override {
    const auto made = credentials_->make(proof);
    if (!made) return made.error();
    const auto bytes = std::as_bytes(std::span(made.value()));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }

  [[nodiscard]] Status check(std::span<const std::byte> shown, const Proof& proof) const override {
    if (shown.size() > longest_credential) {
      return invalid_argument(fmt::format("a MUNGE credential of {} bytes is longer than {}",
                                          shown.size(), longest_credential));
    }
    // MUNGE takes a text that ends with its first 0.
    if (std::ranges::count(shown, std::byte{0}) > 0) {
      return invalid_argument("what was shown is no MUNGE credential");
    }
    const std::string text(reinterpret_cast<const char*>(shown.data()), shown.size());
    const auto opened = credentials_->open(text);
    if (!opened) return opened.error();
    if (opened.value().user != user_) {
      return invalid_argument(
          fmt::format("a MUNGE credential of user {} was shown, where one of user {} is needed",
                      opened.value().user, user_));
    }
    if (is_same(opened.value().payload, proof)) return {};
    return invalid_argument("a MUNGE credential was shown that was made for something else");
  }

 private:
  std::unique_ptr<Credentials> credentials_;
  uid_t user_;
};

}  // namespace

std::unique_ptr<Authenticator> make_munge_authenticator(std::unique_ptr<Credentials> credentials,
                                                        uid_t user) {
  return std::make_unique<MungeAuthenticator>(std::move(credentials), user);
}

}  // namespace weir::transport
