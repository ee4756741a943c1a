// JSON documents of Zarr and raw files. Members keep the order in which they are written, a look-up
// of a member is not a linear search, and the nesting depth is limited.
//
// The texts are untrusted. The JSON library copies and prints values recursively, so 100 KB of
// nested brackets would overflow the stack.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::storage {

// Returns a hash of a name that cannot be predicted outside this process, so that no document can
// contain names that all collide.
[[nodiscard]] std::uint64_t secret_hash(std::string_view name);

// The members of an object, in the order of their insertion. The class extends the library's
// ordered container, which searches linearly for a name, by a hash table that is used for more than
// a few members. It has only the functions that the library and Weir call.
template <typename Key, typename Value, typename Less = std::less<Key>,
          typename Allocator = std::allocator<std::pair<const Key, Value>>>
class IndexedMembers : public nlohmann::ordered_map<Key, Value, Less, Allocator> {
  using Base = nlohmann::ordered_map<Key, Value, Less, Allocator>;

 public:
  using typename Base::const_iterator;
  using typename Base::iterator;
  using typename Base::size_type;
  using typename Base::value_type;

  IndexedMembers() = default;
  explicit IndexedMembers(const Allocator& /*allocator*/) {}
  template <typename Iterator>
  IndexedMembers(Iterator first, Iterator last, const Allocator& /*allocator*/ = Allocator()) {
    insert(first, last);
  }
  IndexedMembers(std::initializer_list<value_type> members,
                 const Allocator& /*allocator*/ = Allocator()) {
    insert(members.begin(), members.end());
  }

  [[nodiscard]] iterator find(std::string_view name) {
    return this->begin() + static_cast<std::ptrdiff_t>(place_of(name));
  }
  [[nodiscard]] const_iterator find(std::string_view name) const {
    return this->begin() + static_cast<std::ptrdiff_t>(place_of(name));
  }
  [[nodiscard]] size_type count(std::string_view name) const {
    return place_of(name) < this->size() ? 1 : 0;
  }
  template <typename Name>
  std::pair<iterator, bool> emplace(Name&& name, Value&& value) {
    const std::size_t at = place_of(std::string_view(name));
    if (at < this->size()) return {this->begin() + static_cast<std::ptrdiff_t>(at), false};
    this->push_back(value_type(Key(std::forward<Name>(name)), std::move(value)));
    enter_last();
    return {std::prev(this->end()), true};
  }
  std::pair<iterator, bool> insert(const value_type& member) {
    return emplace(member.first, Value(member.second));
  }
  std::pair<iterator, bool> insert(value_type&& member) {
    return emplace(member.first, std::move(member.second));
  }
  template <typename Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) insert(*first);
  }
  template <typename Name>
  Value& operator[](Name&& name) {
    return emplace(std::forward<Name>(name), Value()).first->second;
  }
  template <typename Name>
  const Value& operator[](Name&& name) const {
    return at(std::string_view(name));
  }
  [[nodiscard]] Value& at(std::string_view name) {
    const auto found = find(name);
    if (found == this->end()) throw std::out_of_range("key not found");
    return found->second;
  }
  [[nodiscard]] const Value& at(std::string_view name) const {
    const auto found = find(name);
    if (found == this->end()) throw std::out_of_range("key not found");
    return found->second;
  }
  size_type erase(std::string_view name) {
    const auto found = find(name);
    if (found == this->end()) return 0;
    erase(found);
    return 1;
  }
  iterator erase(iterator member) { return erase(member, std::next(member)); }
  iterator erase(iterator first, iterator last) {
    const iterator behind = Base::erase(first, last);
    enter_all();
    return behind;
  }
  void clear() {
    Base::clear();
    places_.clear();
  }

 private:
  // Up to this many members are searched linearly.
  static constexpr std::size_t few = 16;

  // Returns the position of the member `name`, or size() if there is none.
  [[nodiscard]] std::size_t place_of(std::string_view name) const {
    if (places_.empty()) {
      std::size_t at = 0;
      while (at < this->size() && (*this->begin_at(at)).first != name) ++at;
      return at;
    }
    for (std::size_t slot = secret_hash(name) % places_.size();;
         slot = (slot + 1) % places_.size()) {
      if (places_[slot] == 0) return this->size();
      const std::size_t at = places_[slot] - 1;
      if ((*this->begin_at(at)).first == name) return at;
    }
  }
  [[nodiscard]] const_iterator begin_at(std::size_t at) const {
    return this->begin() + static_cast<std::ptrdiff_t>(at);
  }
  void enter_last() {
    if (this->size() <= few) return;
    if (places_.size() < 2 * this->size()) return enter_all();
    enter(this->size() - 1);
  }
  void enter_all() {
    places_.clear();
    if (this->size() <= few) return;
    places_.resize(4 * this->size());
    for (std::size_t at = 0; at < this->size(); ++at) enter(at);
  }
  void enter(std::size_t at) {
    std::size_t slot = secret_hash((*begin_at(at)).first) % places_.size();
    while (places_[slot] != 0) slot = (slot + 1) % places_.size();
    places_[slot] = at + 1;
  }

  // A hash table with linear probing. An entry is the position of a member plus 1, or 0 if it is
  // free; at least half of the entries are free. The table is empty if there are few members.
  std::vector<std::size_t> places_;
};

using Json = nlohmann::basic_json<IndexedMembers>;

// Maximum nesting depth of objects and lists. Documents of other writers have up to about ten
// levels.
inline constexpr int most_json_levels = 64;

// Returns nothing if `text` is not JSON or is nested deeper than most_json_levels.
[[nodiscard]] std::optional<Json> parse_json(std::string_view text);

// Returns the member `name`, or null if `from` is null, is not an object, or has no such member.
[[nodiscard]] const Json* json_member(const Json* from, std::string_view name);
[[nodiscard]] inline const Json* json_member(const Json& from, std::string_view name) {
  return json_member(&from, name);
}
// Returns the string `value`, or "" if `value` is null or not a string.
[[nodiscard]] std::string json_text(const Json* value);

}  // namespace weir::storage
