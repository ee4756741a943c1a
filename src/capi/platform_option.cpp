#include "capi/platform_option.hpp"

#include <string>
#include <utility>

#include "capi/shared_file.hpp"
#include "common/settings.hpp"

namespace weir::capi {

Outcome read_platform(Ranks& ranks, const char* path, plan::PlatformDescription& platform) {
  std::string source;
  if (ranks.rank() == 0) {
    source = path != nullptr ? path : process_environment("WEIR_PLATFORM").value_or("");
  }
  std::string text;
  if (auto shared = share_file(ranks, source, plan::most_description_bytes,
                               path != nullptr ? "options.platform" : "WEIR_PLATFORM", text);
      !shared.ok()) {
    return shared;
  }
  if (auto shared = ranks.share(source); !shared.ok()) return shared;
  if (source.empty()) return {};
  auto described = plan::parse_platform_description(text, source);
  if (!described) return outcome_of(described.error(), "platform");
  platform = std::move(described).value();
  return {};
}

}  // namespace weir::capi
