#include "sections/texts.hpp"

namespace weir::storage {

void Texts::append(std::string_view text) {
  bytes.append(text);
  bytes += '\0';
  offsets.push_back(std::ssize(bytes));
}

std::string_view Texts::at(std::int64_t number) const {
  const auto i = static_cast<std::size_t>(number);
  const auto begin = static_cast<std::size_t>(offsets[i]);
  return std::string_view(bytes).substr(begin,
                                        static_cast<std::size_t>(offsets[i + 1]) - begin - 1);
}

void TextList::put(std::int64_t number, std::string_view text) {
  places_[static_cast<std::size_t>(number)] = {bytes_.size(), text.size()};
  bytes_.append(text);
}

std::span<std::byte> TextList::room_for(std::int64_t number, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  places_[static_cast<std::size_t>(number)] = {bytes_.size(), size};
  bytes_.resize(bytes_.size() + size);
  return std::as_writable_bytes(std::span(bytes_)).last(size);
}

Texts TextList::in_order(Zeros zeros) const {
  Texts texts;
  texts.offsets.reserve(places_.size() + 1);
  std::size_t bytes = places_.size();
  for (const Place& one : places_) bytes += one.bytes;
  texts.bytes.reserve(bytes);
  for (const Place& one : places_) {
    std::string_view text = std::string_view(bytes_).substr(one.offset, one.bytes);
    if (zeros == Zeros::end_texts) text = text.substr(0, text.find('\0'));
    texts.append(text);
  }
  return texts;
}

}  // namespace weir::storage
