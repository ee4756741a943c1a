// Checks what ranks of other nodes have shown of themselves, by threads of its own: munged may take
// its time, and the state machine waits for nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/status.hpp"
#include "stager/events.hpp"
#include "stager/workers.hpp"
#include "transport/authenticator.hpp"

namespace weir::stager {

class ProofChecks {
 public:
  // Other threads call both functions. `done` gets a ProofChecked for each begin().
  ProofChecks(std::unique_ptr<transport::Authenticator> authenticator,
              std::function<void(Event)> done, std::function<void(const std::string&)> say);

  // Begins to check what came from this address.
  void begin(CheckProof asked, std::string from);

 private:
  std::unique_ptr<transport::Authenticator> authenticator_;
  std::function<void(Event)> done_;
  std::function<void(const std::string&)> say_;
  Workers workers_;  // ends first
};

// Fails if this process could show nothing, so that a stager that could serve nobody does not
// start.
[[nodiscard]] Result<std::unique_ptr<transport::Authenticator>> open_authenticator(
    transport::Authentication authentication);

}  // namespace weir::stager
