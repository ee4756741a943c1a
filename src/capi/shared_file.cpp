#include "capi/shared_file.hpp"

#include <utility>

#include "system/text_file.hpp"

namespace weir::capi {

Outcome share_file(Ranks& ranks, const std::string& path, std::size_t most_bytes,
                   const std::string& option, std::string& text,
                   const std::function<Status(std::string&)>& prepare) {
  text.clear();
  Outcome read;
  if (ranks.rank() == 0 && !path.empty()) {
    read = outcome_without_throwing([&]() -> Outcome {
      auto document = storage::read_text_file(path, most_bytes);
      if (!document) return outcome_of(document.error(), option);
      text = std::move(document).value();
      return prepare ? outcome_of(prepare(text), option) : Outcome{};
    });
  }
  if (auto agreed = ranks.agree({.possible = status_of(read)}); !agreed.ok()) return agreed;
  return ranks.share(text);
}

}  // namespace weir::capi
