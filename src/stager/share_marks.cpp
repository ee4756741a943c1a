#include "stager/share_marks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace weir::stager {
namespace {

constexpr std::string_view waits = "waits";
constexpr std::string_view stored = "stored";
constexpr std::string_view written_there = "written";

std::string digits_of(const transport::SessionId& session) {
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  std::string digits;
  digits.reserve(2 * session.size());
  for (const std::byte one : session) {
    digits += hexadecimal[std::to_integer<std::size_t>(one >> 4)];
    digits += hexadecimal[std::to_integer<std::size_t>(one & std::byte{15})];
  }
  return digits;
}

}  // namespace

bool ShareMarks::Line::is_of_step(const transport::StepShare& step) const {
  return ticket == step.ticket && session == digits_of(step.session);
}

bool ShareMarks::Line::is_of(const transport::StepShare& share) const {
  return number == share.number && is_of_step(share);
}

ShareMarks::ShareMarks(const std::string& shares, const std::string& written)
    : shares_(lines_in(shares)), written_(lines_in(written)) {}

ShareMarks::Lines ShareMarks::lines_in(const std::string& text) {
  Lines lines;
  std::istringstream all(text);
  for (std::string one; std::getline(all, one);) {
    std::istringstream words(one);
    Line line;
    words >> line.session >> line.ticket >> line.number >> line.stagers >> line.time_ns >>
        line.state;
    const bool is_known =
        line.state == waits || line.state == stored || line.state == written_there;
    if (words && is_known) lines.push_back(std::move(line));
  }
  return lines;
}

std::string ShareMarks::text_of(const Lines& lines) {
  std::string text;
  for (const Line& one : lines) {
    text += fmt::format("{} {} {} {} {} {}\n", one.session, one.ticket, one.number, one.stagers,
                        one.time_ns, one.state);
  }
  return text;
}

ShareMarks::Line ShareMarks::line_of(const transport::StepShare& share, std::int64_t time_ns,
                                     std::string_view state) {
  return {.session = digits_of(share.session),
          .ticket = share.ticket,
          .number = share.number,
          .stagers = share.hosts.size(),
          .time_ns = time_ns,
          .state = std::string(state)};
}

std::vector<std::uint64_t> ShareMarks::missing_in(const Lines& lines,
                                                  const transport::StepShare& step) {
  std::set<std::uint64_t> there;
  for (const Line& one : lines) {
    if (one.is_of_step(step)) there.insert(one.number);
  }
  std::vector<std::uint64_t> missing;
  for (std::uint64_t number = 0; number < step.hosts.size(); ++number) {
    if (!there.contains(number)) missing.push_back(number);
  }
  return missing;
}

std::vector<std::uint64_t> ShareMarks::absent(const transport::StepShare& step) const {
  return missing_in(shares_, step);
}

std::vector<std::uint64_t> ShareMarks::unwritten(const transport::StepShare& step) const {
  return missing_in(written_, step);
}

bool ShareMarks::is_stored(const transport::StepShare& share) const {
  return std::ranges::any_of(
      shares_, [&](const Line& one) { return one.is_of(share) && one.state == stored; });
}

bool ShareMarks::are_others_untold(const transport::StepShare& share) const {
  return std::ranges::any_of(shares_, [&](const Line& one) {
    return one.is_of_step(share) && one.number != share.number && one.state == waits;
  });
}

bool ShareMarks::is_superseded(const transport::StepShare& share, std::int64_t time_ns) const {
  std::map<std::pair<std::string, std::uint64_t>, std::set<std::uint64_t>> later;
  for (const Line& one : shares_) {
    if (one.is_of_step(share) || one.time_ns <= time_ns || one.state != waits) continue;
    std::set<std::uint64_t>& there = later[{one.session, one.ticket}];
    there.insert(one.number);
    if (there.size() >= one.stagers) return true;
  }
  return false;
}

void ShareMarks::note_waiting(const transport::StepShare& share, std::int64_t time_ns) {
  std::erase_if(shares_, [&](const Line& one) { return one.is_of(share); });
  shares_.push_back(line_of(share, time_ns, waits));
}

// The bytes of another step may have been where these are now.
void ShareMarks::note_written(const transport::StepShare& share, std::int64_t time_ns) {
  std::erase_if(written_,
                [&](const Line& one) { return one.is_of(share) || !one.is_of_step(share); });
  written_.push_back(line_of(share, time_ns, written_there));
}

void ShareMarks::note_stored(const transport::StepShare& share) {
  for (Line& one : shares_) {
    if (one.is_of_step(share) && one.number != share.number) one.state = stored;
  }
}

void ShareMarks::forget(const transport::StepShare& share) {
  std::erase_if(shares_, [&](const Line& one) { return one.is_of(share); });
  std::erase_if(written_, [&](const Line& one) { return one.is_of(share); });
}

ShareTask next_task(storage::CommitProgress progress, const ShareMarks& marks,
                    const transport::StepShare& share, std::int64_t time_ns) {
  using storage::CommitProgress;
  const auto has = [&](const std::vector<std::uint64_t>& missing) {
    return std::ranges::find(missing, share.number) == missing.end();
  };
  if (marks.is_stored(share)) return ShareTask::remove;
  if (progress == CommitProgress::is_foreign) return ShareTask::lay_aside_foreign;
  if (progress == CommitProgress::is_done) {
    return marks.are_others_untold(share) ? ShareTask::tell_others : ShareTask::remove;
  }
  if (progress == CommitProgress::lacks_end) return ShareTask::commit;
  if (marks.is_superseded(share, time_ns)) return ShareTask::lay_aside_earlier;
  const std::vector<std::uint64_t> absent = marks.absent(share);
  if (!has(absent)) return ShareTask::note;
  if (!absent.empty()) return ShareTask::wait_for_journals;
  const std::vector<std::uint64_t> unwritten = marks.unwritten(share);
  if (!has(unwritten)) return ShareTask::write;
  return unwritten.empty() ? ShareTask::commit : ShareTask::wait_for_bytes;
}

}  // namespace weir::stager
