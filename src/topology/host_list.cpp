#include "topology/host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topology/whole_number.hpp"

namespace weir::topology {
namespace {

bool is_letter_of_name(char one) {
  return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') ||
         one == '.' || one == '_' || one == '-';
}

}  // namespace

Result<std::vector<HostList::Range>> HostList::parse_numbers(std::string_view text) {
  std::vector<Range> ranges;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view one = text.substr(begin, end - begin);
    const std::string_view low = one.substr(0, one.find('-'));
    const std::string_view high = low.size() == one.size() ? low : one.substr(low.size() + 1);
    const auto first = whole_number(low, 0, INT64_MAX);
    const auto last = whole_number(high, 0, INT64_MAX);
    if (!first || !last || low.size() > most_digits || high.size() > most_digits) {
      return invalid_argument("a bracket has something else than numbers and ranges such as 0-3");
    }
    if (*last < *first) return invalid_argument("a range ends before it begins");
    ranges.push_back({*first, *last, low.size()});
    begin = end + 1;
  }
  return ranges;
}

Result<HostList::Part> HostList::parse_part(std::string_view text) {
  Part part;
  std::size_t brackets = 0;
  while (!text.empty()) {
    Piece piece;
    const std::size_t open = std::min(text.find('['), text.size());
    piece.letters = text.substr(0, open);
    if (!std::all_of(piece.letters.begin(), piece.letters.end(), is_letter_of_name)) break;
    text.remove_prefix(open);
    if (!text.empty()) {
      if (++brackets > most_brackets) {
        return invalid_argument(fmt::format("a name has more than {} brackets", most_brackets));
      }
      const std::size_t close = text.find(']');
      if (close == std::string_view::npos) return invalid_argument("brackets do not match");
      auto numbers = parse_numbers(text.substr(1, close - 1));
      if (!numbers) return numbers.error();
      piece.numbers = std::move(numbers).value();
      text.remove_prefix(close + 1);
    }
    part.push_back(std::move(piece));
  }
  if (text.empty() && !part.empty()) return part;
  return invalid_argument("a name is empty or has other characters than letters, digits, . _ -");
}

Result<HostList> HostList::parse(std::string_view text) {
  HostList list;
  std::size_t begin = 0;
  bool in_bracket = false;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '[') in_bracket = true;
    if (at < text.size() && text[at] == ']') in_bracket = false;
    if (at < text.size() && (text[at] != ',' || in_bracket)) continue;
    auto part = parse_part(text.substr(begin, at - begin));
    if (!part) return part.error();
    std::int64_t hosts = 1;
    for (const Piece& piece : part.value()) {
      std::int64_t numbers = 0;
      for (const Range& range : piece.numbers) {
        numbers = std::min(numbers + range.last - range.first + 1, most_listed_hosts + 1);
      }
      if (!piece.numbers.empty()) hosts = std::min(hosts * numbers, most_listed_hosts + 1);
    }
    list.hosts_ += hosts;
    if (list.hosts_ > most_listed_hosts) {
      return invalid_argument(fmt::format("there are more than {} hosts", most_listed_hosts));
    }
    list.parts_.push_back(std::move(part).value());
    begin = at + 1;
  }
  return list;
}

// Several brackets next to each other may divide a name's digits in more than one way. The lengths
// of the beginnings of the name that the pieces so far can make are therefore kept, and not one.
bool HostList::matches(const Part& part, std::string_view host) {
  std::vector<std::size_t> lengths{0};
  for (const Piece& piece : part) {
    std::vector<std::size_t> next;
    for (const std::size_t length : lengths) {
      const std::string_view rest = host.substr(length);
      if (!rest.starts_with(piece.letters)) continue;
      const std::size_t begin = length + piece.letters.size();
      if (piece.numbers.empty()) next.push_back(begin);
      for (const Range& range : piece.numbers) {
        for (std::size_t digits = range.digits; digits <= most_digits; ++digits) {
          if (begin + digits > host.size()) break;
          const std::string_view written = host.substr(begin, digits);
          // Numbers longer than their range's first one begin with another digit than 0.
          if (digits > range.digits && written.front() == '0') break;
          if (whole_number(written, range.first, range.last)) next.push_back(begin + digits);
        }
      }
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    lengths = std::move(next);
  }
  return std::find(lengths.begin(), lengths.end(), host.size()) != lengths.end();
}

bool HostList::has(std::string_view host) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [host](const Part& part) { return matches(part, host); });
}

bool HostList::visit_names(const Part& part, std::size_t piece, const std::string& begun,
                           const std::function<bool(const std::string&)>& visit) {
  if (piece == part.size()) return visit(begun);
  const std::string before = begun + part[piece].letters;
  if (part[piece].numbers.empty()) return visit_names(part, piece + 1, before, visit);
  for (const Range& range : part[piece].numbers) {
    for (std::int64_t number = range.first; number <= range.last; ++number) {
      const std::string name = before + fmt::format("{:0{}}", number, range.digits);
      if (!visit_names(part, piece + 1, name, visit)) return false;
    }
  }
  return true;
}

void HostList::each(const std::function<bool(const std::string&)>& visit) const {
  for (const Part& part : parts_) {
    if (!visit_names(part, 0, "", visit)) return;
  }
}

}  // namespace weir::topology
