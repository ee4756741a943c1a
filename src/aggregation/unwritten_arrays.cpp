#include "aggregation/unwritten_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace weir::aggregation {
namespace {

constexpr std::size_t names_in_error = 5;

}  // namespace

UnwrittenArrays::UnwrittenArrays(OpenArrays arrays, bool is_first) {
  std::int64_t number = 0;
  for (const auto& one : arrays) {
    const bool is_in_step = one->origin().grows || is_first;
    if (is_in_step && !one->is_written_by_all() && one->shape().elements() > 0) {
      numbers_.push_back(number);
      if (one->is_written_alone()) written_alone_.push_back(number);
    }
    ++number;
  }
}

Status UnwrittenArrays::gather(CollectiveState& state) {
  if (numbers_.empty()) return {};  // on all ranks alike
  auto gathered = gather_at_rank_0(state, written_alone_, "the arrays that ranks wrote alone");
  if (!gathered) return gathered.error();
  if (state.rank != 0) return {};
  written_alone_ = std::move(gathered).value();
  std::sort(written_alone_.begin(), written_alone_.end());
  written_alone_.erase(std::unique(written_alone_.begin(), written_alone_.end()),
                       written_alone_.end());
  remove(written_alone_);
  return {};
}

Status UnwrittenArrays::check(OpenArrays arrays, std::int64_t step) const {
  if (numbers_.empty()) return {};
  const std::size_t named = std::min(numbers_.size(), names_in_error);
  std::string names;
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) names += i + 1 == numbers_.size() ? " and " : ", ";
    names += fmt::format("\"{}\"", arrays[static_cast<std::size_t>(numbers_[i])]->name());
  }
  if (const std::size_t more = numbers_.size() - named; more > 0) {
    names += fmt::format(" and {} more", more);
  }
  return invalid_argument(
      fmt::format("step {} is not committed, because no rank wrote {} in it ({} of {} arrays): "
                  "write every array in each step, or leave the option `unwritten` at \"fill\"",
                  step, names, numbers_.size(), arrays.size()));
}

std::string UnwrittenArrays::message() const {
  std::string bytes(written_alone_.size() * sizeof(std::int64_t), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), written_alone_.data(), bytes.size());
  return bytes;
}

void UnwrittenArrays::take(const std::string& message) {
  std::vector<std::int64_t> written(message.size() / sizeof(std::int64_t));
  if (!written.empty()) std::memcpy(written.data(), message.data(), message.size());
  remove(written);
}

// `written` must be in order.
void UnwrittenArrays::remove(const std::vector<std::int64_t>& written) {
  std::vector<std::int64_t> left;
  std::set_difference(numbers_.begin(), numbers_.end(), written.begin(), written.end(),
                      std::back_inserter(left));
  numbers_ = std::move(left);
}

}  // namespace weir::aggregation
