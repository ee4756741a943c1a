#include "transport/messages.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "common/numbers_in_bytes.hpp"

namespace weir::transport {
namespace {

using storage::DocumentReplacement;
using storage::DurabilityPoint;
using storage::FileEnd;
using storage::HeaderChange;
using storage::HeaderUpdate;
using storage::HeaderWrite;
using storage::Publication;
using storage::SidecarReplacement;

// Items of a list are larger in memory than in a message, so their number is limited.
constexpr std::size_t most_items = std::size_t{1} << 20;

// The two visitors of a message's fields: Writer appends them, Reader takes them. Each message
// lists its fields once, in fields() below.
class Writer {
 public:
  static constexpr bool reads = false;

  explicit Writer(std::vector<std::byte>& to) : to_(to) {}

  template <typename Number>
  requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  void operator()(const Number& number) {
    const std::size_t at = to_.size();
    to_.resize(at + sizeof number);
    storage::put_number(to_, at, number);
  }
  void operator()(const std::string& text) {
    (*this)(std::uint64_t{text.size()});
    const auto* const first = reinterpret_cast<const std::byte*>(text.data());
    to_.insert(to_.end(), first, first + text.size());
  }
  void operator()(const std::vector<std::byte>& bytes) {
    (*this)(std::uint64_t{bytes.size()});
    to_.insert(to_.end(), bytes.begin(), bytes.end());
  }
  template <typename Item>
  void operator()(const std::vector<Item>& items);

 private:
  std::vector<std::byte>& to_;
};

class Reader {
 public:
  static constexpr bool reads = true;

  explicit Reader(std::span<const std::byte> from) : from_(from) {}

  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void operator()(Number& number) {
    number = Number{};
    if (from_.size() < sizeof number) {
      fail();
      return;
    }
    number = storage::number_at<Number>(from_);
    from_ = from_.subspan(sizeof number);
  }
  void operator()(bool& flag) {
    std::uint8_t number = 0;
    (*this)(number);
    if (number > 1) fail();
    flag = number == 1;
  }
  void operator()(std::string& text) {
    const std::size_t bytes = length();
    text.assign(reinterpret_cast<const char*>(from_.data()), bytes);
    from_ = from_.subspan(bytes);
  }
  void operator()(std::vector<std::byte>& all) {
    const std::size_t bytes = length();
    all.assign(from_.begin(), from_.begin() + static_cast<std::ptrdiff_t>(bytes));
    from_ = from_.subspan(bytes);
  }
  template <typename Item>
  void operator()(std::vector<Item>& items);
  // Reads a number that is at most `most`.
  std::uint8_t choice(std::uint8_t most) {
    std::uint8_t number = 0;
    (*this)(number);
    if (number > most) fail();
    return failed_ ? std::uint8_t{0} : number;
  }
  void fail() {
    failed_ = true;
    from_ = {};
  }
  [[nodiscard]] bool is_complete() const { return !failed_ && from_.empty(); }

 private:
  // Reads a length. No text or list is longer than the rest of the message.
  std::size_t length() {
    std::uint64_t items = 0;
    (*this)(items);
    if (items > from_.size()) {
      fail();
      return 0;
    }
    return static_cast<std::size_t>(items);
  }

  std::span<const std::byte> from_;
  bool failed_ = false;
};

template <typename Visitor>
void fields(Visitor& visit, HeaderWrite::Kept& kept) {
  std::uint64_t first = kept.first;
  std::uint64_t count = kept.count;
  visit(first);
  visit(count);
  kept = {static_cast<std::size_t>(first), static_cast<std::size_t>(count)};
}
template <typename Visitor>
void fields(Visitor& visit, std::string& text) {
  visit(text);
}
template <typename Visitor>
void fields(Visitor& visit, std::int64_t& number) {
  visit(number);
}
template <typename Visitor>
void fields(Visitor& visit, HeaderWrite& change) {
  visit(change.offset);
  visit(change.bytes);
  visit(change.kept);
  if constexpr (Visitor::reads) {
    for (const HeaderWrite::Kept& part : change.kept) {
      if (part.first > change.bytes.size() || part.count > change.bytes.size() - part.first) {
        visit.fail();
      }
    }
  }
}
template <typename Visitor>
void fields(Visitor& visit, DocumentReplacement& change) {
  visit(change.name);
  visit(change.text);
  visit(change.announced);
}
template <typename Visitor>
void fields(Visitor& visit, SidecarReplacement& change) {
  visit(change.suffix);
  visit(change.text);
}
template <typename Visitor>
void fields(Visitor& visit, FileEnd& change) {
  visit(change.bytes);
  visit(change.drops_steps);
}
template <typename Visitor>
void fields(Visitor& /*visit*/, DurabilityPoint& /*change*/) {}
template <typename Visitor>
void fields(Visitor& /*visit*/, Publication& /*change*/) {}

// Visits the alternative of a variant: its number, then its fields.
template <std::size_t Number = 0, typename Visitor, typename... Alternatives>
void alternative(Visitor& visit, std::variant<Alternatives...>& value, std::size_t number) {
  if constexpr (Number < sizeof...(Alternatives)) {
    if (number != Number) {
      alternative<Number + 1>(visit, value, number);
      return;
    }
    if constexpr (Visitor::reads) value.template emplace<Number>();
    fields(visit, *std::get_if<Number>(&value));
  }
}

template <typename Visitor>
void fields(Visitor& visit, HeaderChange& change) {
  std::uint8_t number = static_cast<std::uint8_t>(change.index());
  if constexpr (Visitor::reads) {
    number = visit.choice(std::variant_size_v<HeaderChange> - 1);
  } else {
    visit(number);
  }
  alternative(visit, change, number);
}
template <typename Visitor>
void fields(Visitor& visit, HeaderUpdate& update) {
  visit(update.made);
  visit(update.changes);
}

template <typename Enum>
void enumeration(Writer& visit, Enum& value, Enum /*last*/) {
  visit(static_cast<std::uint8_t>(value));
}
template <typename Enum>
void enumeration(Reader& visit, Enum& value, Enum last) {
  value = static_cast<Enum>(visit.choice(static_cast<std::uint8_t>(last)));
}

template <typename Visitor>
void fields(Visitor& visit, Outcome& outcome) {
  bool failed = !outcome.status.ok();
  visit(failed);
  if (!failed) {
    outcome.status = {};
    return;
  }
  Error error = outcome.status.ok() ? Error() : outcome.status.error();
  enumeration(visit, error.code, ErrorCode::interrupted);
  visit(error.message);
  visit(error.operation);
  visit(error.file);
  visit(error.offset);
  visit(error.system_error);
  visit(error.rank);
  outcome.status = std::move(error);
}

template <typename Visitor, std::size_t Bytes>
void fields(Visitor& visit, std::array<std::byte, Bytes>& bytes) {
  for (std::byte& one : bytes) {
    auto number = std::to_integer<std::uint8_t>(one);
    visit(number);
    one = std::byte{number};
  }
}
template <typename Visitor>
void fields(Visitor& visit, Knock& message) {
  fields(visit, message.nonce);
}
template <typename Visitor>
void fields(Visitor& visit, Prove& message) {
  visit(message.shown);
}
template <typename Visitor>
void fields(Visitor& visit, Hello& message) {
  fields(visit, message.session);
  visit(message.rank);
  visit(message.program);
}
template <typename Visitor>
void fields(Visitor& visit, NameFile& message) {
  visit(message.file);
  visit(message.path);
  visit(message.bytes_when_made);
  visit(message.encoded);
  visit(message.places.step);
  visit(message.places.free_from);
  visit(message.places.stagers);
  visit(message.places.own);
  visit(message.places.region_bytes);
  visit(message.at_once);
  visit(message.may_wait);
  bool is_known = message.known.has_value();
  visit(is_known);
  if (!is_known) {
    message.known.reset();
    return;
  }
  if (!message.known) message.known.emplace();
  visit(message.known->path);
  visit(message.known->identity.inode);
  visit(message.known->identity.birth_seconds);
  visit(message.known->identity.birth_nanoseconds);
}
template <typename Visitor>
void fields(Visitor& visit, ForgetFile& message) {
  visit(message.file);
}
template <typename Visitor>
void fields(Visitor& visit, Reserve& message) {
  visit(message.blocks);
}
template <typename Visitor>
void fields(Visitor& visit, BlockBytes& message) {
  visit(message.block);
  visit(message.at_end);
  visit(message.bytes);
}
template <typename Visitor>
void fields(Visitor& visit, Attach& message) {
  visit(message.address);
}
template <typename Visitor>
void fields(Visitor& visit, FilledBlock& message) {
  visit(message.block);
  visit(message.extents);
}
template <typename Visitor>
void fields(Visitor& visit, Flush& message) {
  visit(message.waited_ns);
}
template <typename Visitor>
void fields(Visitor& visit, HandOver& message) {
  visit(message.waited_ns);
  visit(message.blocks);
}
template <typename Visitor>
void fields(Visitor& visit, LockFile& message) {
  visit(message.path);
}
template <typename Visitor>
void fields(Visitor& visit, TakeLock& message) {
  visit(message.path);
}
template <typename Visitor>
void fields(Visitor& visit, CommitStep& message) {
  visit(message.path);
  enumeration(visit, message.durability, storage::StepDurability::operation);
  visit(message.names_sums);
  visit(message.seal);
  visit(message.chunks.step);
  visit(message.chunks.format);
  visit(message.chunks.steps);
  visit(message.chunks.has_leftovers);
  fields(visit, message.update);
}
template <typename Visitor>
void fields(Visitor& visit, UnlockFile& message) {
  visit(message.path);
}
template <typename Visitor>
void fields(Visitor& visit, Await& message) {
  visit(message.ticket);
}
template <typename Visitor>
void fields(Visitor& visit, Challenge& message) {
  fields(visit, message.nonce);
  fields(visit, message.proof);
}
template <typename Visitor>
void fields(Visitor& visit, Vouch& message) {
  visit(message.shown);
}
template <typename Visitor>
void fields(Visitor& visit, Welcome& message) {
  visit(message.blocks);
  visit(message.block_bytes);
  visit(message.stager);
  visit(message.ucx);
  visit(message.has_journal);
}
template <typename Visitor>
void fields(Visitor& visit, Refused& message) {
  visit(message.reason);
}
template <typename Visitor>
void fields(Visitor& visit, Granted& message) {
  visit(message.blocks);
}
template <typename Visitor>
void fields(Visitor& visit, Attached& message) {
  fields(visit, message.outcome);
  visit(message.address);
  fields(visit, message.token);
}
template <typename Visitor>
void fields(Visitor& visit, Brought& message) {
  visit(message.block);
  visit(message.bytes);
}
template <typename Visitor>
void fields(Visitor& visit, Flushed& message) {
  fields(visit, message.outcome);
}
template <typename Visitor>
void fields(Visitor& visit, Locked& message) {
  fields(visit, message.outcome);
}
template <typename Visitor>
void fields(Visitor& visit, Accepted& message) {
  visit(message.ticket);
  fields(visit, message.outcome);
  visit(message.in_journal);
}
template <typename Visitor>
void fields(Visitor& visit, Stored& message) {
  visit(message.ticket);
  fields(visit, message.outcome);
}
template <typename Visitor>
void fields(Visitor& visit, Drained& message) {
  fields(visit, message.outcome);
}
template <typename Visitor>
void fields(Visitor& visit, Alive& message) {
  visit(message.reason);
}
template <typename Visitor>
void fields(Visitor& visit, Report& message) {
  visit(message.json);
}
template <typename Visitor>
void fields(Visitor& visit, Listening& message) {
  visit(message.addresses);
  visit(message.secret);
}
template <typename Visitor>
void fields(Visitor& visit, JoinHome& message) {
  visit(message.addresses);
  visit(message.secret);
  visit(message.keep_journals);
}
template <typename Visitor>
void fields(Visitor& visit, SealStep& message) {
  visit(message.seal);
  enumeration(visit, message.durability, storage::StepDurability::operation);
  visit(message.chunk_step);
}
template <typename Visitor>
void fields(Visitor& visit, Peer& message) {
  fields(visit, message.session);
  visit(message.secret);
  visit(message.host);
  visit(message.keep_journals);
}
template <typename Visitor>
void fields(Visitor& visit, Joined& message) {
  fields(visit, message.outcome);
}
template <typename Visitor>
void fields(Visitor& visit, Sealed& message) {
  visit(message.seal);
}
template <typename Visitor>
void fields(Visitor& visit, storage::EncodedTable::Entry& entry) {
  visit(entry.chunk);
  visit(entry.place.file);
  visit(entry.place.offset);
  visit(entry.place.bytes);
  visit(entry.place.skipped);
}
template <typename Visitor>
void fields(Visitor& visit, EncodedChunks& message) {
  visit(message.seal);
  visit(message.encoded);
  visit(message.chunks);
}
template <typename Visitor>
void fields(Visitor& visit, SessionFailed& message) {
  fields(visit, message.reason);
}
template <typename Visitor>
void fields(Visitor& visit, RecordShare& message) {
  fields(visit, message.share.session);
  visit(message.share.ticket);
  visit(message.share.number);
  visit(message.share.hosts);
  fields(visit, message.step);
}
template <typename Visitor>
void fields(Visitor& visit, ShareRecorded& message) {
  visit(message.ticket);
  fields(visit, message.outcome);
}
template <typename Visitor>
void fields(Visitor& visit, Published& message) {
  visit(message.ticket);
}
template <typename Visitor, typename Empty>
requires std::is_empty_v<Empty>
void fields(Visitor& /*visit*/, Empty& /*message*/) {}

template <typename Item>
void Writer::operator()(const std::vector<Item>& items) {
  (*this)(std::uint64_t{items.size()});
  for (Item one : items) fields(*this, one);
}

template <typename Item>
void Reader::operator()(std::vector<Item>& items) {
  const std::size_t count = length();
  if (count > most_items) fail();
  items.clear();
  for (std::size_t i = 0; i < count && !failed_; ++i) {
    items.emplace_back();
    fields(*this, items.back());
  }
}

}  // namespace

std::vector<std::byte> encode(const Message& message) {
  std::vector<std::byte> bytes;
  Writer write(bytes);
  write(static_cast<std::uint16_t>(message.index()));
  write(protocol_version);
  Message copy = message;
  std::visit([&](auto& one) { fields(write, one); }, copy);
  return bytes;
}

Result<Message> parse(std::span<const std::byte> bytes) {
  Reader read(bytes);
  std::uint16_t kind = 0;
  std::uint16_t version = 0;
  read(kind);
  read(version);
  if (version != protocol_version) {
    return Error(
        ErrorCode::unsupported,
        "the stager and the program use different versions of Weir: use the same for both");
  }
  Message message;
  if (kind >= std::variant_size_v<Message>) read.fail();
  alternative(read, message, kind);
  if (read.is_complete()) return message;
  return Error(ErrorCode::corrupt, "a message between program and stager is damaged");
}

}  // namespace weir::transport
