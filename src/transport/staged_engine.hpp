// An engine whose writes go to a stager: the bytes have left the caller's memory when a write
// returns, and reach the files later. It reads nothing.
#pragma once

#include <memory>

#include "engines/engine.hpp"
#include "transport/stager_client.hpp"

namespace weir::transport {

// The stager makes durable what the step that contains it requests, so a sync has nothing to do.
[[nodiscard]] std::unique_ptr<storage::Engine> make_staged_engine(
    std::shared_ptr<StagerClient> client, StagedHandling handling = {});

}  // namespace weir::transport
