#include "stager/proof_checks.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "stager/scarce_memory.hpp"

namespace weir::stager {
namespace {

constexpr int checkers = 2;
// What a client has shown may wait so long for its turn: a munged that does not answer takes 10 s
// of a thread for each.
constexpr std::int64_t longest_unchecked_ns = 10'000'000'000;

Result<std::vector<std::byte>> check(const transport::Authenticator& authenticator,
                                     const CheckProof& asked, std::int64_t asked_ns) {
  if (monotonic_ns() - asked_ns > longest_unchecked_ns) {
    return Error(ErrorCode::deadline, "what was shown could not be checked within 10 s");
  }
  Status checked = authenticator.check(asked.shown, asked.awaited);
  return checked.ok() ? authenticator.show(asked.own) : checked.error();
}

}  // namespace

ProofChecks::ProofChecks(std::unique_ptr<transport::Authenticator> authenticator,
                         std::function<void(Event)> done,
                         std::function<void(const std::string&)> say)
    : authenticator_(std::move(authenticator)),
      done_(std::move(done)),
      say_(std::move(say)),
      workers_(checkers) {}

void ProofChecks::begin(CheckProof asked, std::string from) {
  workers_.add([one = std::move(asked), from = std::move(from), asked_ns = monotonic_ns(), this] {
    auto shown = with_memory([&] { return check(*authenticator_, one, asked_ns); });
    const PatientMemory patient;
    if (!shown) say_(fmt::format("{} was refused: {}", from, shown.error().message));
    done_(ProofChecked{one.client, std::move(shown)});
  });
}

Result<std::unique_ptr<transport::Authenticator>> open_authenticator(
    transport::Authentication authentication) {
  auto made = transport::make_authenticator(authentication);
  const auto shown = made ? made.value()->show({}) : made.error();
  const Status checked = shown ? made.value()->check(shown.value(), {}) : Status(shown.error());
  if (checked.ok()) return made;
  Error why = checked.error();
  why.message = fmt::format("{}; --auth cookie needs no MUNGE", why.message);
  return why;
}

}  // namespace weir::stager
