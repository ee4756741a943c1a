// An engine whose operations take the time of a simulated machine. It drops what is written, and
// reads nothing.
#pragma once

#include <memory>

#include "description.hpp"
#include "engines/engine.hpp"
#include "flows.hpp"
#include "operations.hpp"

namespace weir::sim {

// `client`: this rank on the machine; null if the plan has no operations of it, which then fail.
[[nodiscard]] std::unique_ptr<storage::Engine> make_storage_engine(const Description& asked,
                                                                   Operations& operations,
                                                                   const Client* client);

}  // namespace weir::sim
