#include "interfaces/service_stagers.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "system/network_address.hpp"
#include "transport/rendezvous.hpp"

namespace weir::bench {

Result<std::int64_t> stagers_on_this_node(const std::string& rendezvous) {
  const auto stagers = transport::read_rendezvous(rendezvous);
  if (!stagers) return stagers.error();
  std::vector<std::string> own{"127.0.0.1", "::1"};
  for (const storage::NetworkAddress& one : storage::own_addresses()) own.push_back(one.host());
  const auto is_here = [&](const std::string& address) {
    const auto place = storage::NetworkAddress::parse(address);
    return place && std::ranges::find(own, place.value().host()) != own.end();
  };
  const bool all_here = std::ranges::all_of(stagers.value(), [&](const auto& stager) {
    return std::ranges::any_of(stager.addresses, is_here);
  });
  return all_here ? std::ssize(stagers.value()) : 0;
}

}  // namespace weir::bench
