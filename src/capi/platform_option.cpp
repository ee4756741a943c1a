#include "capi/platform_option.hpp"

#include <string>

#include "common/settings.hpp"
#include "system/text_file.hpp"

namespace weir::capi {

Outcome read_platform(Ranks& ranks, const char* path, plan::PlatformDescription& platform) {
  std::string source;
  std::string text;
  Outcome read;
  if (ranks.rank() == 0) {
    source = path != nullptr ? path : process_environment("WEIR_PLATFORM").value_or("");
    if (!source.empty()) {
      auto document = storage::read_text_file(source, plan::most_description_bytes);
      if (document) {
        text = std::move(document).value();
      } else {
        read = outcome_of(document.error(), path != nullptr ? "options.platform" : "WEIR_PLATFORM");
      }
    }
  }
  if (auto agreed = ranks.agree({.possible = status_of(read)}); !agreed.ok()) return agreed;
  if (auto shared = ranks.share(source); !shared.ok()) return shared;
  if (source.empty()) return {};
  if (auto shared = ranks.share(text); !shared.ok()) return shared;
  auto described = plan::parse_platform_description(text, source);
  if (!described) return outcome_of(described.error(), "platform");
  platform = std::move(described).value();
  return {};
}

}  // namespace weir::capi
