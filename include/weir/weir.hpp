// Weir's C++ interface: weir.h with destructors, exceptions and spans. weir.h says what each call
// does, which arguments must be alike on all ranks, and what every rank gets when a call fails.
//
// Failures are thrown as weir::Failure, on every rank alike. Arrays, distributions and requests end
// with their object or with the session, whichever ends first. Closing is collective, so all ranks
// must destroy these objects in the same order. A destructor cannot report a failure: call close()
// if failures matter. A session whose scope is left by an exception is abandoned, because the other
// ranks may be elsewhere in the program; they are informed at once. Call abandon(reason) before to
// give them the reason. A request whose scope is left by an exception is detached
// (weir_request_detach): its memory may be freed, and the request is still carried out if the
// session is used on. Destroy a Session before MPI_Finalize: give it a block of its own in main().
//
// The shortest useful program is examples/02_write_and_read.cpp.
#ifndef WEIR_WEIR_HPP
#define WEIR_WEIR_HPP

#if __cplusplus < 202002L
#error "weir/weir.hpp is C++20: compile with -std=c++20, or link CMake's target weir::weir"
#endif

#include <weir/weir.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace weir {

// Describes a failed call by its code in weir.h and its line of text.
class Failure : public std::runtime_error {
 public:
  explicit Failure(int code) : std::runtime_error(weir_last_error()), code_(code) {}
  [[nodiscard]] int code() const { return code_; }

 private:
  int code_;
};

// Returns the version of the library, such as "0.1.0".
[[nodiscard]] inline std::string version() { return weir_version(); }

using Extents = std::vector<std::int64_t>;

// Returns the name of a C++ type as an element type. Structures that can be copied byte by byte are
// records. char is int8 on every machine, whether its compiler makes it signed (x86) or unsigned
// (ARM, POWER), so that files do not differ.
template <typename Element>
[[nodiscard]] std::string element_type_of() {
  if constexpr (std::is_same_v<Element, bool>) {
    return "bool";
  } else if constexpr (std::is_same_v<Element, char>) {
    return "int8";
  } else if constexpr (std::is_same_v<Element, std::complex<float>>) {
    return "complex64";
  } else if constexpr (std::is_same_v<Element, std::complex<double>>) {
    return "complex128";
  } else if constexpr (std::is_integral_v<Element>) {
    return (std::is_signed_v<Element> ? "int" : "uint") + std::to_string(8 * sizeof(Element));
  } else if constexpr (std::is_same_v<Element, float> || std::is_same_v<Element, double>) {
    return "float" + std::to_string(8 * sizeof(Element));
  } else {
    static_assert(std::is_trivially_copyable_v<Element>, "an element is copied byte by byte");
    return "record[" + std::to_string(sizeof(Element)) + "]";
  }
}

// Describes the layout of a rank's part in its memory (weir_memory). Empty vectors stand for null.
struct Memory {
  std::int32_t order = WEIR_ROW_MAJOR;
  Extents ghost_lower = {};
  Extents ghost_upper = {};
  Extents strides = {};  // bytes
};

// Describes a box, with strides, of an array's index space (weir_section).
struct Section {
  Extents start;
  Extents count;
  Extents stride = {};  // empty: 1 along every dimension
};

// Describes how weir_distribution_create arranges the ranks. If extents are empty, Weir chooses.
struct Grid {
  Extents extents = {};
  std::int32_t order = WEIR_ROW_MAJOR;
};

// A box of extent[d] elements along each dimension d, beginning at index lower[d].
struct Box {
  Extents lower;
  Extents extent;
};

// The region that one rank writes or reads of an array, see weir_region: the elements lower[d] + k
// * stride[d], 0 <= k < extent[d]. A rank whose region has no numbers takes no part.
struct Region {
  Extents lower = {};
  Extents extent = {};
  Extents stride = {};  // empty: 1 along every dimension
};

namespace detail {

inline std::int64_t checked(std::int64_t code) {
  if (code < 0) throw Failure(static_cast<int>(code));
  return code;
}

// Tells whether a scope is being left by an exception, and not merely used by a destructor that
// runs while an exception is under way.
class Scope {
 public:
  [[nodiscard]] bool is_left_by_exception() const {
    return std::uncaught_exceptions() > exceptions_when_made_;
  }

 private:
  int exceptions_when_made_ = std::uncaught_exceptions();
};

inline const std::int64_t* or_null(const Extents& numbers) {
  return numbers.empty() ? nullptr : numbers.data();
}

// An open session. It ends with its last owner: the Session object or an object that was made in
// it.
class OpenSession {
 public:
  explicit OpenSession(weir_session* handle) : handle_(handle) {}
  OpenSession(const OpenSession&) = delete;
  OpenSession& operator=(const OpenSession&) = delete;
  ~OpenSession() {
    if (scope_.is_left_by_exception()) {
      abandon_left();
    } else if (handle_ != nullptr) {
      weir_session_close(&handle_);
    }
  }
  [[nodiscard]] weir_session* get() const { return handle_; }
  void close() { checked(weir_session_close(&handle_)); }
  void abandon(const std::string& reason) {
    weir_session_abandon_because(&handle_, reason.empty() ? nullptr : reason.c_str());
  }

 private:
  // A failed collective call ends on each rank when its vote reaches that rank. A rank that is left
  // by an exception ends the waits of the others, and their calls, if it is first. The reason that
  // they get therefore includes the error of the call.
  void abandon_left() {
    const char* const reason = "it was left by a C++ exception";
    try {
      const std::string failed = weir_last_error();
      abandon(failed.empty() ? reason : reason + ("; the latest call that failed: " + failed));
    } catch (const std::bad_alloc&) {
      weir_session_abandon_because(&handle_, reason);
    }
  }

  weir_session* handle_;
  Scope scope_;
};

// The function ends nothing: the handle that an exception leaves behind stays open until its
// session is closed.
template <typename Handle>
int leave_open(Handle** /*handle*/) {
  return WEIR_OK;
}

// A handle together with its session. The destructor calls `end` if the session is still open, or
// `leave`, which is local, if an exception leaves the object's scope.
template <typename Handle, auto end, auto leave = leave_open<Handle>>
class InSession {
 public:
  InSession() = default;
  InSession(std::shared_ptr<OpenSession> session, Handle* handle)
      : session_(std::move(session)), handle_(handle) {}
  InSession(InSession&& other) noexcept { swap(other); }
  InSession& operator=(InSession&& other) noexcept {
    InSession(std::move(other)).swap(*this);
    return *this;
  }
  InSession(const InSession&) = delete;
  InSession& operator=(const InSession&) = delete;
  ~InSession() {
    if (get() == nullptr) return;
    static_cast<void>(scope_.is_left_by_exception() ? leave(&handle_) : end(&handle_));
  }
  // Returns null if the handle or its session was closed.
  [[nodiscard]] Handle* get() const {
    return session_ != nullptr && session_->get() != nullptr ? handle_ : nullptr;
  }
  int close() {
    Handle* open = get();
    handle_ = nullptr;
    return end(&open);
  }
  // Returns null if the session was closed.
  [[nodiscard]] weir_session* session() const {
    return session_ != nullptr ? session_->get() : nullptr;
  }
  [[nodiscard]] const std::shared_ptr<OpenSession>& open_session() const { return session_; }
  void forget() { handle_ = nullptr; }

 private:
  void swap(InSession& other) noexcept {
    std::swap(session_, other.session_);
    std::swap(handle_, other.handle_);
  }

  std::shared_ptr<OpenSession> session_;
  Handle* handle_ = nullptr;
  Scope scope_;  // the scope of this object, not of an object that it was moved from
};

}  // namespace detail

// A distribution says which elements each rank holds in memory.
class Distribution {
 public:
  // Return properties of this rank's part: the number of elements, the number of pieces, the
  // extents of a piece.
  [[nodiscard]] std::size_t elements() const {
    return static_cast<std::size_t>(detail::checked(weir_distribution_elements(get())));
  }
  [[nodiscard]] std::int64_t pieces() const {
    return detail::checked(weir_distribution_pieces(get()));
  }
  [[nodiscard]] Extents shape(std::int64_t piece = 0) const {
    Extents extents(dimensions_);
    detail::checked(weir_distribution_piece_shape(get(), piece, extents.data()));
    return extents;
  }
  // Returns the index in the whole array of the element at index `local` of a piece.
  [[nodiscard]] Extents global_index(const Extents& local, std::int64_t piece = 0) const {
    if (local.size() != dimensions_) throw std::invalid_argument("one index per dimension");
    Extents global(dimensions_);
    detail::checked(weir_distribution_global_index(get(), piece, local.data(), global.data()));
    return global;
  }
  [[nodiscard]] weir_distribution* get() const { return handle_.get(); }

 private:
  friend class Session;
  static int end(weir_distribution** handle) {
    weir_distribution_free(handle);
    return WEIR_OK;
  }
  Distribution(std::shared_ptr<detail::OpenSession> session, weir_distribution* handle,
               std::size_t dimensions)
      : handle_(std::move(session), handle), dimensions_(dimensions) {}

  detail::InSession<weir_distribution, &Distribution::end, &Distribution::end> handle_;
  std::size_t dimensions_ = 0;
};

// The memory of a request is contiguous, with elements that are copied byte by byte.
template <typename Data>
concept Elements = std::ranges::contiguous_range<Data> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<Data>>;

class Request;

// An open array. If it is a file of its own, it is closed with its object; an array of a File is
// closed with the File.
class Array {
 public:
  Array(Array&&) noexcept = default;
  Array& operator=(Array&&) noexcept = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() {
    if (in_file_) handle_.forget();
  }

  [[nodiscard]] std::size_t dimensions() const {
    return static_cast<std::size_t>(detail::checked(weir_array_dimensions(get())));
  }
  [[nodiscard]] Extents shape() const {
    Extents extents(dimensions());
    detail::checked(weir_array_shape(get(), extents.data()));
    return extents;
  }
  [[nodiscard]] std::string element_type() const {
    const char* const name = weir_array_element_type(get());
    if (name == nullptr) throw Failure(WEIR_E_ARGUMENT);
    return name;
  }
  [[nodiscard]] std::int64_t element_bytes() const {
    return detail::checked(weir_array_element_bytes(get()));
  }

  // Write or read this rank's whole part of the array, `data`, whose layout is `memory`.
  template <Elements Data>
  void write(const Distribution& distribution, const Data& data, const Memory& memory = {},
             const std::optional<Section>& section = {});
  template <Elements Data>
  void read(const Distribution& distribution, Data&& data, const Memory& memory = {},
            const std::optional<Section>& section = {});

  // Write or read this rank's own region by all ranks together; `data` has the shape of the region.
  // See weir_write_region.
  template <Elements Data>
  void write_region(const Region& region, const Data& data, const Memory& memory = {});
  template <Elements Data>
  void read_region(const Region& region, Data&& data, const Memory& memory = {});
  // Begin such a transfer: `data` must live until the request has ended.
  template <Elements Data>
  [[nodiscard]] Request write_region_begin(const Region& region, const Data& data,
                                           const Memory& memory = {});
  template <Elements Data>
  [[nodiscard]] Request read_region_begin(const Region& region, Data&& data,
                                          const Memory& memory = {});
  // Write or read a region by this rank alone, at once; see weir_write_region_independent. Local.
  template <Elements Data>
  void write_region_independent(const Region& region, const Data& data, const Memory& memory = {});
  template <Elements Data>
  void read_region_independent(const Region& region, Data&& data, const Memory& memory = {});

  void sync() const { detail::checked(weir_array_sync(get())); }
  void close() { detail::checked(handle_.close()); }
  [[nodiscard]] weir_array* get() const { return handle_.get(); }

  // Return whether an array in a file has steps, and the names of its dimensions.
  [[nodiscard]] bool has_steps() const { return detail::checked(weir_array_has_steps(get())) != 0; }
  [[nodiscard]] std::vector<std::string> dimension_names() const {
    std::vector<std::string> names;
    const auto dimensions = static_cast<std::int32_t>(this->dimensions());
    names.reserve(this->dimensions());
    for (std::int32_t d = 0; d < dimensions; ++d) {
      const char* const name = weir_array_dimension_name(get(), d);
      if (name == nullptr) throw Failure(WEIR_E_ARGUMENT);
      names.emplace_back(name);
    }
    return names;
  }

 private:
  friend class Session;
  friend class File;
  Array(std::shared_ptr<detail::OpenSession> session, weir_array* handle, bool in_file = false)
      : handle_(std::move(session), handle), in_file_(in_file) {}
  template <bool is_written, typename Call, typename Data, typename... More>
  void move_region(Call call, const Region& region, Data&& data, const Memory& memory,
                   More... more) const;

  detail::InSession<weir_array, weir_array_close> handle_;
  bool in_file_ = false;
};

// The value of an attribute is a text, integers, reals, uint64 numbers, which int64 may not hold,
// or a list of texts.
using AttributeValue = std::variant<std::string, std::vector<std::int64_t>, std::vector<double>,
                                    std::vector<std::uint64_t>, std::vector<std::string>>;

// A file of a standard format: arrays, attributes and steps. weir.h gives the order of the calls.
class File {
 public:
  [[nodiscard]] Array define(const std::string& name, const Extents& shape,
                             const std::string& element_type,
                             const weir_define_options& options = {}) {
    weir_array* handle = nullptr;
    detail::checked(weir_file_define(get(), name.c_str(), static_cast<std::int32_t>(shape.size()),
                                     shape.data(), element_type.c_str(), &options, &handle));
    return {session_, handle, true};
  }
  template <typename Element>
  [[nodiscard]] Array define(const std::string& name, const Extents& shape,
                             const weir_define_options& options = {}) {
    return define(name, shape, element_type_of<Element>(), options);
  }
  // `owner`: an array, a group, or "" for the file.
  void attribute(const std::string& owner, const std::string& name, const std::string& text) const {
    detail::checked(weir_file_attribute_text(get(), owner.c_str(), name.c_str(), text.c_str()));
  }
  void attribute(const std::string& owner, const std::string& name,
                 std::span<const std::int64_t> numbers) const {
    detail::checked(weir_file_attribute_integers(get(), owner.c_str(), name.c_str(),
                                                 static_cast<std::int64_t>(numbers.size()),
                                                 numbers.data()));
  }
  void attribute(const std::string& owner, const std::string& name,
                 std::span<const double> numbers) const {
    detail::checked(weir_file_attribute_reals(get(), owner.c_str(), name.c_str(),
                                              static_cast<std::int64_t>(numbers.size()),
                                              numbers.data()));
  }
  // Gives an attribute of numbers that keep their type: integers of 8 to 64 bits, float, double,
  // bool.
  template <Elements List>
  void attribute_numbers(const std::string& owner, const std::string& name,
                         const List& numbers) const {
    const std::span elements(numbers);
    using Number = std::remove_cv_t<std::remove_pointer_t<decltype(elements.data())>>;
    detail::checked(weir_file_attribute_numbers(
        get(), owner.c_str(), name.c_str(), element_type_of<Number>().c_str(),
        static_cast<std::int64_t>(elements.size()), elements.data()));
  }
  void attribute(const std::string& owner, const std::string& name,
                 const std::vector<std::string>& texts) const {
    std::vector<const char*> places;
    places.reserve(texts.size());
    for (const std::string& one : texts) places.push_back(one.c_str());
    detail::checked(weir_file_attribute_texts(get(), owner.c_str(), name.c_str(),
                                              static_cast<std::int64_t>(places.size()),
                                              places.data()));
  }

  // Returns all attributes of an owner, by their names.
  [[nodiscard]] std::map<std::string, AttributeValue> attributes(const std::string& owner) const {
    std::map<std::string, AttributeValue> found;
    const char* const whose = owner.c_str();
    const std::int64_t number_of = detail::checked(weir_file_attributes(get(), whose));
    for (std::int64_t number = 0; number < number_of; ++number) {
      const char* name = nullptr;
      std::int32_t kind = 0;
      std::int64_t count = 0;
      detail::checked(weir_file_attribute(get(), whose, number, &name, &kind, &count));
      if (kind == WEIR_TEXT) {
        const char* text = nullptr;
        detail::checked(weir_file_get_text(get(), whose, name, &text));
        found[name] = std::string(text);
      } else if (kind == WEIR_TEXTS) {
        std::vector<const char*> places(static_cast<std::size_t>(count));
        detail::checked(weir_file_get_texts(get(), whose, name, count, places.data()));
        found[name] = std::vector<std::string>(places.begin(), places.end());
      } else if (weir_file_attribute_type(get(), whose, name) == std::string_view("uint64")) {
        std::vector<std::uint64_t> values(static_cast<std::size_t>(count));
        detail::checked(weir_file_get_numbers(
            get(), whose, name, count * std::int64_t{sizeof(std::uint64_t)}, values.data()));
        found[name] = std::move(values);
      } else if (kind == WEIR_INTEGERS) {
        std::vector<std::int64_t> values(static_cast<std::size_t>(count));
        detail::checked(weir_file_get_integers(get(), whose, name, count, values.data()));
        found[name] = std::move(values);
      } else {
        std::vector<double> values(static_cast<std::size_t>(count));
        detail::checked(weir_file_get_reals(get(), whose, name, count, values.data()));
        found[name] = std::move(values);
      }
    }
    return found;
  }

  // Adds to the file what was defined since it was laid out or opened. begin_step() also does this.
  void extend() const { detail::checked(weir_file_extend(get())); }
  void begin_step() const { detail::checked(weir_file_step_begin(get())); }
  void end_step() const { detail::checked(weir_file_step_end(get())); }
  // Wait until the step that ended last is on storage; see weir_file_step_wait().
  void wait_for_step(double seconds) const { detail::checked(weir_file_step_wait(get(), seconds)); }
  [[nodiscard]] bool is_step_stored() const {
    std::int32_t stored = 0;
    detail::checked(weir_file_step_test(get(), &stored));
    return stored != 0;
  }
  // Returns the names of the arrays that no rank wrote in the step that ended last.
  [[nodiscard]] std::vector<std::string> unwritten() const {
    std::vector<std::string> names;
    const std::int64_t count = detail::checked(weir_file_unwritten(get()));
    names.reserve(static_cast<std::size_t>(count));
    for (std::int64_t n = 0; n < count; ++n) {
      names.emplace_back(weir_file_unwritten_name(get(), n));
    }
    return names;
  }
  // Gives up the step. The other ranks get the reason in the exceptions that their calls throw.
  void abort_step(const std::string& reason = {}) const {
    detail::checked(weir_file_step_abort(get(), reason.c_str()));
  }
  // Keeps the first `steps` steps.
  void drop_steps(std::int64_t steps) const { detail::checked(weir_file_drop_steps(get(), steps)); }
  [[nodiscard]] bool in_step() const { return detail::checked(weir_file_in_step(get())) != 0; }
  [[nodiscard]] std::int64_t steps() const { return detail::checked(weir_file_steps(get())); }
  void select_step(std::int64_t step) const { detail::checked(weir_file_select_step(get(), step)); }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    const std::int64_t arrays = detail::checked(weir_file_arrays(get()));
    names.reserve(static_cast<std::size_t>(arrays));
    for (std::int64_t n = 0; n < arrays; ++n) {
      names.emplace_back(weir_file_array_name(get(), n));
    }
    return names;
  }
  [[nodiscard]] Array array(const std::string& name) {
    weir_array* handle = nullptr;
    detail::checked(weir_file_array(get(), name.c_str(), &handle));
    return {session_, handle, true};
  }

  void close() { detail::checked(handle_.close()); }
  [[nodiscard]] weir_file* get() const { return handle_.get(); }

 private:
  friend class Session;
  File(std::shared_ptr<detail::OpenSession> session, weir_file* handle)
      : session_(session), handle_(std::move(session), handle) {}

  std::shared_ptr<detail::OpenSession> session_;
  detail::InSession<weir_file, weir_file_close> handle_;
};

// One array of a request, with this rank's part in memory. The memory must live until the request
// has ended, the array and the distribution until it has begun.
template <bool is_written>
class Transfer {
 public:
  template <Elements Data>
  Transfer(const Array& array, const Distribution& distribution, Data&& data,
           const Memory& memory = {}, const std::optional<Section>& section = {}) {
    const std::span elements(data);
    using Element = std::remove_pointer_t<decltype(elements.data())>;
    static_assert(is_written || !std::is_const_v<Element>, "memory that is read into is not const");
    static const std::string type = element_type_of<std::remove_cv_t<Element>>();
    transfer_.data_type = type.c_str();
    transfer_.array = array.get();
    transfer_.distribution = distribution.get();
    // Writing does not change the memory. An empty range gives null, which is an error if the rank
    // has elements; data_bytes alone would not show it, because 0 means unspecified.
    const void* const start = elements.empty() ? nullptr : elements.data();
    transfer_.data = const_cast<void*>(start);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    transfer_.data_bytes = static_cast<std::int64_t>(elements.size_bytes());
    const bool is_plain = memory.order == WEIR_ROW_MAJOR && memory.ghost_lower.empty() &&
                          memory.ghost_upper.empty() && memory.strides.empty() && !section;
    if (!is_plain) described_ = std::make_shared<Described>(Described{memory, section, {}, {}});
  }

 private:
  friend class Session;
  friend class Array;

  // Data that most transfers do without, even in a request of thousands.
  struct Described {
    Memory memory;
    std::optional<Section> section;
    weir_memory c_memory = {};
    weir_section c_section = {};
  };

  // Returns the C structs. They point into `described_`, which does not move meanwhile.
  [[nodiscard]] const weir_transfer& refer() {
    if (described_ == nullptr) return transfer_;
    Described& all = *described_;
    all.c_memory.order = all.memory.order;
    all.c_memory.ghost_lower = numbers(all.memory.ghost_lower);
    all.c_memory.ghost_upper = numbers(all.memory.ghost_upper);
    all.c_memory.strides = numbers(all.memory.strides);
    transfer_.memory = &all.c_memory;
    if (all.section) {
      all.c_section = {numbers(all.section->start), numbers(all.section->count),
                       numbers(all.section->stride)};
      transfer_.section = &all.c_section;
    }
    return transfer_;
  }
  // If vectors differ in size the number of dimensions is -1, which all ranks refuse alike.
  const std::int64_t* numbers(const Extents& given) {
    if (given.empty()) return nullptr;
    const auto size = static_cast<std::int32_t>(given.size());
    transfer_.dimensions = transfer_.dimensions == 0 || transfer_.dimensions == size ? size : -1;
    return given.data();
  }

  std::shared_ptr<Described> described_;  // null: packed row-major memory of the whole array
  weir_transfer transfer_ = {};
};
using Outgoing = Transfer<true>;
using Incoming = Transfer<false>;

// A write or read under way. The destructor waits for it, or detaches it if an exception leaves its
// scope, so that it never uses memory that has been freed.
class Request {
 public:
  // Waits, and throws what the blocking call would have thrown. Does nothing after the request has
  // ended.
  void wait() {
    if (handle_.get() != nullptr) detail::checked(handle_.close());
  }
  // Moves on without waiting and returns whether the request has ended. Throws if it failed.
  [[nodiscard]] bool test() {
    weir_request* handle = handle_.get();
    if (handle == nullptr) return true;
    std::int32_t complete = 0;
    const int code = weir_test(&handle, &complete);
    if (handle == nullptr) handle_.forget();
    detail::checked(code);
    return complete != 0;
  }
  // Gives the memory back at once. The request goes on from a copy, and its outcome is not
  // reported. Local.
  void detach() {
    weir_request* handle = handle_.get();
    handle_.forget();
    if (handle != nullptr) detail::checked(weir_request_detach(&handle));
  }

 private:
  friend class Session;
  friend class Array;
  Request(std::shared_ptr<detail::OpenSession> session, weir_request* handle)
      : handle_(std::move(session), handle) {}

  detail::InSession<weir_request, weir_wait, weir_request_detach> handle_;
};

// Sets apart the ranks in whose place stagers run, see weir_init_staging. On such a rank the
// constructor returns when the stager has ended, and program() is MPI_COMM_NULL. Sessions on
// program() must end before this object.
class Staging {
 public:
  explicit Staging(MPI_Comm communicator, const weir_session_options& options = {}) {
    detail::checked(weir_init_staging(communicator, &options, &program_));
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  // An exception may have left the other ranks elsewhere: the communicator is kept then.
  ~Staging() {
    if (!scope_.is_left_by_exception()) weir_finalize_staging(&program_);
  }
  [[nodiscard]] MPI_Comm program() const { return program_; }

 private:
  MPI_Comm program_ = MPI_COMM_NULL;
  detail::Scope scope_;
};

// A session is the ranks of a communicator that do I/O together.
class Session {
 public:
  explicit Session(MPI_Comm communicator, const weir_session_options& options = {}) {
    weir_session* handle = nullptr;
    detail::checked(weir_session_open(communicator, &options, &handle));
    session_ = std::make_shared<detail::OpenSession>(handle);
  }

  [[nodiscard]] Distribution distribution(const Extents& shape, const std::string& formats,
                                          const Grid& grid = {}) {
    weir_distribution_options options = {};
    options.grid = detail::or_null(grid.extents);
    options.grid_order = grid.order;
    weir_distribution* handle = nullptr;
    detail::checked(weir_distribution_create(
        get(), dimensions_of(shape, grid.extents.empty() ? shape : grid.extents), shape.data(),
        formats.c_str(), &options, &handle));
    return {session_, handle, shape.size()};
  }
  // Creates a distribution from this rank's boxes.
  [[nodiscard]] Distribution distribution_from_boxes(const Extents& shape,
                                                     const std::vector<Box>& boxes) {
    Extents lower;
    Extents extent;
    std::int32_t dimensions = dimensions_of(shape, shape);
    for (const Box& box : boxes) {
      if (dimensions_of(shape, box.lower) == 0 || dimensions_of(shape, box.extent) == 0) {
        dimensions = 0;
      }
      lower.insert(lower.end(), box.lower.begin(), box.lower.end());
      extent.insert(extent.end(), box.extent.begin(), box.extent.end());
    }
    weir_distribution* handle = nullptr;
    detail::checked(weir_distribution_from_boxes(get(), dimensions, shape.data(),
                                                 static_cast<std::int64_t>(boxes.size()),
                                                 lower.data(), extent.data(), &handle));
    return {session_, handle, shape.size()};
  }

  [[nodiscard]] Array create(const std::string& path, const Extents& shape,
                             const std::string& element_type,
                             const weir_array_options& options = {}) {
    weir_array* handle = nullptr;
    detail::checked(weir_array_create(get(), path.c_str(), dimensions_of(shape, shape),
                                      shape.data(), element_type.c_str(), &options, &handle));
    return {session_, handle};
  }
  template <typename Element>
  [[nodiscard]] Array create(const std::string& path, const Extents& shape,
                             const weir_array_options& options = {}) {
    return create(path, shape, element_type_of<Element>(), options);
  }
  [[nodiscard]] Array open(const std::string& path, const weir_open_options& options = {}) {
    weir_array* handle = nullptr;
    detail::checked(weir_array_open(get(), path.c_str(), &options, &handle));
    return {session_, handle};
  }

  [[nodiscard]] File create_file(const std::string& path, const weir_file_options& options = {}) {
    weir_file* handle = nullptr;
    detail::checked(weir_file_create(get(), path.c_str(), &options, &handle));
    return {session_, handle};
  }
  [[nodiscard]] File open_file(const std::string& path,
                               const weir_file_open_options& options = {}) {
    weir_file* handle = nullptr;
    detail::checked(weir_file_open(get(), path.c_str(), &options, &handle));
    return {session_, handle};
  }

  void write_many(std::vector<Outgoing> transfers) { blocking(weir_write_many, transfers); }
  void read_many(std::vector<Incoming> transfers) { blocking(weir_read_many, transfers); }
  [[nodiscard]] Request write_begin(std::vector<Outgoing> transfers) {
    return begun(weir_write_begin, transfers);
  }
  [[nodiscard]] Request read_begin(std::vector<Incoming> transfers) {
    return begun(weir_read_begin, transfers);
  }

  // Describe what write_many or read_many would do with these transfers, and why, in lines for
  // people that are the same on every rank. Moves nothing. Local.
  [[nodiscard]] std::string explain_write(std::vector<Outgoing> transfers) const {
    return explained(WEIR_WRITE, transfers);
  }
  [[nodiscard]] std::string explain_read(std::vector<Incoming> transfers) const {
    return explained(WEIR_READ, transfers);
  }
  [[nodiscard]] weir_figures figures() const {
    weir_figures figures = {};
    detail::checked(weir_session_figures(get(), &figures));
    return figures;
  }
  void close() { session_->close(); }
  // Gives the session up without waiting for any other rank, and informs the others of the reason
  // if there is one; see weir_session_abandon_because. Local.
  void abandon(const std::string& reason = "") { session_->abandon(reason); }
  [[nodiscard]] weir_session* get() const { return session_->get(); }

 private:
  // Returns the number of dimensions, or 0, which all ranks refuse alike, if there are more or
  // fewer numbers.
  static std::int32_t dimensions_of(const Extents& shape, const Extents& numbers) {
    return shape.size() == numbers.size() ? static_cast<std::int32_t>(shape.size()) : 0;
  }
  template <typename One>
  static std::vector<weir_transfer> in_c(std::vector<One>& transfers) {
    std::vector<weir_transfer> structs;
    structs.reserve(transfers.size());
    for (One& transfer : transfers) structs.push_back(transfer.refer());
    return structs;
  }
  template <typename Call, typename One>
  void blocking(Call call, std::vector<One>& transfers) {
    const auto structs = in_c(transfers);
    detail::checked(call(get(), static_cast<std::int32_t>(structs.size()), structs.data()));
  }
  template <typename One>
  std::string explained(std::int32_t direction, std::vector<One>& transfers) const {
    const auto structs = in_c(transfers);
    const char* text = nullptr;
    detail::checked(weir_session_explain(
        get(), direction, static_cast<std::int32_t>(structs.size()), structs.data(), &text));
    return text;
  }
  template <typename Call, typename One>
  Request begun(Call begin, std::vector<One>& transfers) {
    const auto structs = in_c(transfers);
    weir_request* handle = nullptr;
    detail::checked(
        begin(get(), static_cast<std::int32_t>(structs.size()), structs.data(), &handle));
    return {session_, handle};
  }

  std::shared_ptr<detail::OpenSession> session_;
};

template <Elements Data>
void Array::write(const Distribution& distribution, const Data& data, const Memory& memory,
                  const std::optional<Section>& section) {
  Outgoing transfer(*this, distribution, data, memory, section);
  detail::checked(weir_write_many(handle_.session(), 1, &transfer.refer()));
}

template <Elements Data>
void Array::read(const Distribution& distribution, Data&& data, const Memory& memory,
                 const std::optional<Section>& section) {
  Incoming transfer(*this, distribution, data, memory, section);
  detail::checked(weir_read_many(handle_.session(), 1, &transfer.refer()));
}

// `more` are the arguments that the call takes after the region.
template <bool is_written, typename Call, typename Data, typename... More>
void Array::move_region(Call call, const Region& region, Data&& data, const Memory& memory,
                        More... more) const {
  const std::span elements(data);
  using Element = std::remove_pointer_t<decltype(elements.data())>;
  static_assert(is_written || !std::is_const_v<Element>, "memory that is read into is not const");
  const std::string type = element_type_of<std::remove_cv_t<Element>>();
  weir_region given = {};
  // If vectors differ in size the number of dimensions is -1, which all ranks refuse alike.
  for (const Extents* numbers : {&region.lower, &region.extent, &region.stride, &memory.ghost_lower,
                                 &memory.ghost_upper, &memory.strides}) {
    const auto size = static_cast<std::int32_t>(numbers->size());
    if (size == 0) continue;
    given.dimensions = given.dimensions == 0 || given.dimensions == size ? size : -1;
  }
  weir_memory c_memory = {};
  c_memory.order = memory.order;
  c_memory.ghost_lower = detail::or_null(memory.ghost_lower);
  c_memory.ghost_upper = detail::or_null(memory.ghost_upper);
  c_memory.strides = detail::or_null(memory.strides);
  given.lower = detail::or_null(region.lower);
  given.extent = detail::or_null(region.extent);
  given.stride = detail::or_null(region.stride);
  // Writing does not change the memory. An empty range gives null, which is an error if the rank
  // has elements; data_bytes alone would not show it, because 0 means unspecified.
  const void* const start = elements.empty() ? nullptr : elements.data();
  given.data = const_cast<void*>(start);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  given.memory = &c_memory;
  given.data_bytes = static_cast<std::int64_t>(elements.size_bytes());
  given.data_type = type.c_str();
  const bool takes_part = !region.lower.empty() || !region.extent.empty();
  detail::checked(call(get(), takes_part ? &given : nullptr, more...));
}

template <Elements Data>
void Array::write_region(const Region& region, const Data& data, const Memory& memory) {
  move_region<true>(weir_write_region, region, data, memory);
}

template <Elements Data>
void Array::read_region(const Region& region, Data&& data, const Memory& memory) {
  move_region<false>(weir_read_region, region, data, memory);
}

template <Elements Data>
Request Array::write_region_begin(const Region& region, const Data& data, const Memory& memory) {
  weir_request* handle = nullptr;
  move_region<true>(weir_write_region_begin, region, data, memory, &handle);
  return {handle_.open_session(), handle};
}

template <Elements Data>
Request Array::read_region_begin(const Region& region, Data&& data, const Memory& memory) {
  weir_request* handle = nullptr;
  move_region<false>(weir_read_region_begin, region, data, memory, &handle);
  return {handle_.open_session(), handle};
}

template <Elements Data>
void Array::write_region_independent(const Region& region, const Data& data, const Memory& memory) {
  move_region<true>(weir_write_region_independent, region, data, memory);
}

template <Elements Data>
void Array::read_region_independent(const Region& region, Data&& data, const Memory& memory) {
  move_region<false>(weir_read_region_independent, region, data, memory);
}

}  // namespace weir

#endif
