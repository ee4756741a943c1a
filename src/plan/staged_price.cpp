#include "plan/staged_price.hpp"

#include <fmt/format.h>

namespace weir::plan {
namespace {

std::string text_of(const Stagers& stagers) {
  const std::string some =
      stagers.count == 1 ? "a stager" : fmt::format("{} stagers", stagers.count);
  const std::string where = stagers.on_other_nodes ? some + " of other nodes" : some;
  return stagers.exist ? where : where + " (WEIR_STAGING=node)";
}

std::string worth_text(const StagedPrice& price, std::string_view unstaged) {
  const std::string alone =
      fmt::format("the ranks' own write takes {:.3g} s ({})", price.unstaged_seconds, unstaged);
  if (!price.may_be_worth_it()) return alone + ", so staging is not worth it here";
  if (price.least_computing_seconds() <= 0) return alone + ", so staging is worth it";
  return fmt::format("{}, so staging is worth it if they compute for {:.3g} s between two writes",
                     alone, price.least_computing_seconds());
}

}  // namespace

std::string text_of(const StagedPrice& price, std::string_view unstaged) {
  return fmt::format(
      "with {}, the ranks are blocked for {:.3g} s (copies {:.3g} s, links {:.3g} s), and storing "
      "goes on for {:.3g} s behind them; {}",
      text_of(price.stagers), price.blocked_seconds(), price.copy_seconds, price.link_seconds,
      price.store_seconds, worth_text(price, unstaged));
}

}  // namespace weir::plan
