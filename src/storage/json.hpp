// JSON as documents of Zarr and raw files have it: members in the order in which they are written,
// found without looking at all before them, and no deeper in each other than any document needs.
//
// The texts are untrusted. Functions of the JSON library that copy or print a value call themselves
// for what is inside it, so that 100 KB of brackets would be more than a stack has.
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

// The number of a name that nobody outside this process can foretell, so that no document can have
// names that are all alike in it.
[[nodiscard]] std::uint64_t secret_hash(std::string_view name);

// The members of an object, in order of their insertion. It is the library's own container for
// that, which looks for a name from the front, with a table of places behind more than a few
// members. Only what the library and Weir call is here.
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
  // Fewer are looked at one after the other.
  static constexpr std::size_t few = 16;

  // size() where there is none of this name.
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

  // Where a name's member is, plus 1, from the place on that its number names; 0: nothing. More
  // than half of them are 0. Empty where members are few.
  std::vector<std::size_t> places_;
};

using Json = nlohmann::basic_json<IndexedMembers>;

// Objects and lists in each other; documents of other writers have up to about ten.
inline constexpr int most_json_levels = 64;

// Nothing for what is no JSON, or is deeper than most_json_levels.
[[nodiscard]] std::optional<Json> parse_json(std::string_view text);

// The member `name`; null where `from` is null, is no object, or has no such member.
[[nodiscard]] const Json* json_member(const Json* from, std::string_view name);
[[nodiscard]] inline const Json* json_member(const Json& from, std::string_view name) {
  return json_member(&from, name);
}
// The text that `value` is; "" where it is null or no text.
[[nodiscard]] std::string json_text(const Json* value);

}  // namespace weir::storage
