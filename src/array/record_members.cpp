#include "array/record_members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace weir::array {
namespace {

Error refuse(const std::string& reason) {
  return invalid_argument(fmt::format("{} {}", record_members_attribute, reason));
}

Result<RecordMember> parse_member(std::string_view text, std::int64_t offset) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    return refuse(fmt::format("has '{}': give each member as NAME:TYPE", text));
  }
  const std::string name(text.substr(0, colon));
  const auto type = ElementType::parse(text.substr(colon + 1));
  if (!type) return refuse(fmt::format("has '{}': {}", name, type.error().message));
  const ElementKind kind = type.value().kind();
  if (kind == ElementKind::record || kind == ElementKind::utf32) {
    return refuse(fmt::format("has '{}' of type {}: a member is a number, a truth value or text",
                              name, type.value().name()));
  }
  return RecordMember{.name = name, .type = type.value(), .offset = offset};
}

}  // namespace

Result<std::vector<RecordMember>> parse_record_members(std::string_view text,
                                                       const ElementType& record) {
  std::vector<RecordMember> members;
  std::set<std::string> names;
  std::int64_t bytes = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (members.size() == most_record_members) {
      return refuse(fmt::format("has more than {} members", most_record_members));
    }
    auto member = parse_member(text.substr(at, end - at), bytes);
    if (!member) return member.error();
    if (!names.insert(member.value().name).second) {
      return refuse(fmt::format("has '{}' twice", member.value().name));
    }
    bytes += member.value().type.bytes();
    members.push_back(std::move(member).value());
    at = end + 1;
  }
  if (bytes != record.bytes()) {
    return refuse(
        fmt::format("has members of {} bytes, but the elements are {}", bytes, record.name()));
  }
  return members;
}

}  // namespace weir::array
