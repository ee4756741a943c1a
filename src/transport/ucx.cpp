#include "transport/ucx.hpp"

#include <fmt/format.h>
#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdarg>
#include <list>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

#include "system/loaded_library.hpp"
#include "transport/proof.hpp"

namespace weir::transport {
namespace {

constexpr unsigned piece_id = 1;  // of the active message
// Rounds of progress after which others get their turn.
constexpr int most_rounds = 64;
// Rounds in which what is closed may end.
constexpr int most_last_rounds = 1000;

// True while this thread is in a call of UCX that Weir has made: UCX tells the function that gets
// its lines nothing else of the caller.
thread_local bool is_in_ucx = false;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

class InUcx {
 public:
  InUcx() : before_(std::exchange(is_in_ucx, true)) {}
  InUcx(const InUcx&) = delete;
  InUcx& operator=(const InUcx&) = delete;
  ~InUcx() { is_in_ucx = before_; }

 private:
  bool before_;
};

// UCX prints its warnings to standard output, which is the program's. Those of an MPI library in
// the same process are left as they are.
ucs_log_func_rc_t drop_lines(const char* /*file*/, unsigned /*line*/, const char* /*function*/,
                             ucs_log_level_t /*level*/,
                             const ucs_log_component_config_t* /*component*/,
                             const char* /*message*/, va_list /*parameters*/) {
  return is_in_ucx ? UCS_LOG_FUNC_RC_STOP : UCS_LOG_FUNC_RC_CONTINUE;
}

// UCX's library sets handlers for signals when it is loaded. Those of the program stay.
class SignalsKept {
 public:
  SignalsKept() {
    for (int number = 1; Kept & one : kept_) {
      one.is_known = ::sigaction(number++, nullptr, &one.action) == 0;
    }
  }
  SignalsKept(const SignalsKept&) = delete;
  SignalsKept& operator=(const SignalsKept&) = delete;
  ~SignalsKept() {
    for (int number = 0; const Kept& one : kept_) {
      ++number;
      struct sigaction now {};
      if (!one.is_known || ::sigaction(number, nullptr, &now) != 0) continue;
      const bool is_same =
          now.sa_flags == one.action.sa_flags &&
          ((now.sa_flags & SA_SIGINFO) != 0 ? now.sa_sigaction == one.action.sa_sigaction
                                            : now.sa_handler == one.action.sa_handler);
      if (!is_same) (void)::sigaction(number, &one.action, nullptr);
    }
  }

 private:
  struct Kept {
    struct sigaction action {};
    bool is_known = false;
  };

  std::array<Kept, NSIG - 1> kept_{};  // of the signals from 1 on
};

// The functions of UCX that are used.
struct Ucp {
  decltype(&::ucp_get_version) get_version = nullptr;
  decltype(&::ucp_config_read) config_read = nullptr;
  decltype(&::ucp_config_modify) config_modify = nullptr;
  decltype(&::ucp_config_release) config_release = nullptr;
  decltype(&::ucp_init_version) init_version = nullptr;
  decltype(&::ucp_cleanup) cleanup = nullptr;
  decltype(&::ucp_worker_create) worker_create = nullptr;
  decltype(&::ucp_worker_destroy) worker_destroy = nullptr;
  decltype(&::ucp_worker_get_address) worker_get_address = nullptr;
  decltype(&::ucp_worker_release_address) worker_release_address = nullptr;
  decltype(&::ucp_worker_get_efd) worker_get_efd = nullptr;
  decltype(&::ucp_worker_arm) worker_arm = nullptr;
  decltype(&::ucp_worker_progress) worker_progress = nullptr;
  decltype(&::ucp_worker_set_am_recv_handler) set_am_recv_handler = nullptr;
  decltype(&::ucp_ep_create) ep_create = nullptr;
  decltype(&::ucp_ep_close_nbx) ep_close_nbx = nullptr;
  decltype(&::ucp_am_send_nbx) am_send_nbx = nullptr;
  decltype(&::ucp_request_check_status) request_check_status = nullptr;
  decltype(&::ucp_request_free) request_free = nullptr;
  decltype(&::ucs_status_string) status_string = nullptr;
  decltype(&::ucs_log_push_handler) log_push_handler = nullptr;
};

Result<Ucp> load() {
  const SignalsKept signals;
  auto opened = storage::LoadedLibrary::load("UCX", "libucp.so.0");
  if (!opened) return opened.error();
  storage::LoadedLibrary& library = opened.value();
  Ucp ucp;
  library.find(ucp.get_version, "ucp_get_version");
  library.find(ucp.config_read, "ucp_config_read");
  library.find(ucp.config_modify, "ucp_config_modify");
  library.find(ucp.config_release, "ucp_config_release");
  library.find(ucp.init_version, "ucp_init_version");
  library.find(ucp.cleanup, "ucp_cleanup");
  library.find(ucp.worker_create, "ucp_worker_create");
  library.find(ucp.worker_destroy, "ucp_worker_destroy");
  library.find(ucp.worker_get_address, "ucp_worker_get_address");
  library.find(ucp.worker_release_address, "ucp_worker_release_address");
  library.find(ucp.worker_get_efd, "ucp_worker_get_efd");
  library.find(ucp.worker_arm, "ucp_worker_arm");
  library.find(ucp.worker_progress, "ucp_worker_progress");
  library.find(ucp.set_am_recv_handler, "ucp_worker_set_am_recv_handler");
  library.find(ucp.ep_create, "ucp_ep_create");
  library.find(ucp.ep_close_nbx, "ucp_ep_close_nbx");
  library.find(ucp.am_send_nbx, "ucp_am_send_nbx");
  library.find(ucp.request_check_status, "ucp_request_check_status");
  library.find(ucp.request_free, "ucp_request_free");
  library.find(ucp.status_string, "ucs_status_string");
  library.find(ucp.log_push_handler, "ucs_log_push_handler");
  if (Status complete = library.has_all(); !complete.ok()) return complete.error();
  ucp.log_push_handler(drop_lines);
  return ucp;
}

const Result<Ucp>& library() {
  static const Result<Ucp> loaded = load();
  return loaded;
}

Error failure(const Ucp& ucp, const char* operation, ucs_status_t status) {
  return Error(ErrorCode::io,
               fmt::format("UCX: {} failed: {}", operation, ucp.status_string(status)));
}

// A context of its own, with one worker.
class Worker {
 public:
  explicit Worker(const Ucp& ucp) : ucp_(ucp) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    const InUcx inside;
    if (worker_ != nullptr) ucp_.worker_destroy(worker_);
    if (context_ != nullptr) ucp_.cleanup(context_);
  }

  Status open() {
    const InUcx inside;
    ucp_config_t* config = nullptr;
    if (const auto read = ucp_.config_read(nullptr, nullptr, &config); read != UCS_OK) {
      return failure(ucp_, "ucp_config_read", read);
    }
    // ucx.hpp says why TCP is not among the transports; of shared memory, only POSIX's can tell
    // that the other side has ended, if it is asked to. What is sent is copied into memory that UCX
    // has registered for itself: the program's is not, so that UCX need not follow its calls of
    // mmap() and munmap().
    // Versions of UCX differ in the names of the settings of a transport: it warns of unknown ones.
    for (const auto& [name, value] :
         {std::pair("TLS", "ib,posix"), std::pair("ZCOPY_THRESH", "inf"),
          std::pair("MM_ERROR_HANDLING", "y"), std::pair("POSIX_ERROR_HANDLING", "y"),
          std::pair("REG_METHODS", "direct"), std::pair("IB_REG_METHODS", "direct")}) {
      if (const auto set = ucp_.config_modify(config, name, value); set != UCS_OK) {
        ucp_.config_release(config);
        return failure(ucp_, name, set);
      }
    }
    ucp_params_t about{};
    about.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    about.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    const auto begun = ucp_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &about, config, &context_);
    ucp_.config_release(config);
    if (begun != UCS_OK) return failure(ucp_, "ucp_init", begun);
    ucp_worker_params_t how{};
    how.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    how.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // a program may call from one thread or another
    if (const auto made = ucp_.worker_create(context_, &how, &worker_); made != UCS_OK) {
      return failure(ucp_, "ucp_worker_create", made);
    }
    if (const auto got = ucp_.worker_get_efd(worker_, &descriptor_); got != UCS_OK) {
      return failure(ucp_, "ucp_worker_get_efd", got);
    }
    ucp_address_t* address = nullptr;
    std::size_t bytes = 0;
    if (const auto got = ucp_.worker_get_address(worker_, &address, &bytes); got != UCS_OK) {
      return failure(ucp_, "ucp_worker_get_address", got);
    }
    const auto* const first = reinterpret_cast<const std::byte*>(address);
    address_.assign(first, first + bytes);
    ucp_.worker_release_address(worker_, address);
    return {};
  }

  Result<ucp_ep_h> connect(std::span<const std::byte> address, ucp_err_handler_cb_t lost,
                           void* argument) {
    if (address.empty()) return Error(ErrorCode::corrupt, "the other side has no address of UCX");
    const InUcx inside;
    ucp_ep_params_t how{};
    how.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                     UCP_EP_PARAM_FIELD_ERR_HANDLER;
    how.address = reinterpret_cast<const ucp_address_t*>(address.data());
    how.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    how.err_handler = {lost, argument};
    ucp_ep_h made = nullptr;
    const auto status = ucp_.ep_create(worker_, &how, &made);
    if (status != UCS_OK) return failure(ucp_, "ucp_ep_create", status);
    return made;
  }

  // Begins to close a connection without asking the other side. Returns the request, if there is
  // one.
  void* close(ucp_ep_h connection) const {
    const InUcx inside;
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    how.flags = UCP_EP_CLOSE_FLAG_FORCE;
    void* const request = ucp_.ep_close_nbx(connection, &how);
    return UCS_PTR_IS_PTR(request) ? request : nullptr;
  }
  // Returns how a request has ended, and frees it; nothing: it has not.
  std::optional<ucs_status_t> ended(void* request) const {
    const InUcx inside;
    const auto status = ucp_.request_check_status(request);
    if (status == UCS_INPROGRESS) return std::nullopt;
    ucp_.request_free(request);
    return status;
  }
  // Returns whether anything has happened.
  bool progress() {
    const InUcx inside;
    return ucp_.worker_progress(worker_) != 0;
  }
  // See UcxSender::arm().
  bool arm() {
    const InUcx inside;
    return ucp_.worker_arm(worker_) == UCS_OK;
  }

  [[nodiscard]] const Ucp& ucp() const { return ucp_; }
  [[nodiscard]] ucp_worker_h handle() const { return worker_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::vector<std::byte>& address() const { return address_; }

 private:
  const Ucp& ucp_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;
  std::vector<std::byte> address_;
};

class Sender final : public UcxSender {
 public:
  explicit Sender(const Ucp& ucp) : worker_(ucp) {}
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  ~Sender() override {
    if (connection_ == nullptr) return;
    void* const closing = worker_.close(connection_);
    if (closing != nullptr) sendings_.push_back({{}, closing});
    for (int i = 0; i < most_last_rounds && !sendings_.empty(); ++i) (void)progress();
  }
  Status start() { return worker_.open(); }

  [[nodiscard]] const std::vector<std::byte>& address() const override { return worker_.address(); }
  Status connect(std::span<const std::byte> stager) override {
    auto made = worker_.connect(stager, &Sender::note_lost, this);
    if (!made) return made.error();
    connection_ = made.value();
    return {};
  }
  Status send(const UcxPiece& piece, std::span<const std::byte> bytes) override {
    const InUcx inside;
    Sending& sending = sendings_.emplace_back(Sending{header_of(piece), nullptr});
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    how.flags = UCP_AM_SEND_FLAG_EAGER;
    void* const request =
        worker_.ucp().am_send_nbx(connection_, piece_id, sending.header.data(),
                                  sending.header.size(), bytes.data(), bytes.size(), &how);
    if (UCS_PTR_IS_PTR(request)) {
      sending.request = request;
      return {};
    }
    sendings_.pop_back();
    if (request == nullptr) return {};
    return failure(worker_.ucp(), "ucp_am_send_nbx", UCS_PTR_STATUS(request));
  }
  Status progress() override {
    for (int i = 0; i < most_rounds && worker_.progress(); ++i) {
    }
    std::erase_if(sendings_, [&](const Sending& one) {
      const auto status = worker_.ended(one.request);
      if (status && *status != UCS_OK && lost_ == UCS_OK) lost_ = *status;
      return status.has_value();
    });
    if (lost_ == UCS_OK) return {};
    return failure(worker_.ucp(), "the connection to the stager", lost_);
  }
  [[nodiscard]] std::size_t unsent() const override { return sendings_.size(); }
  bool arm() override {
    for (int i = 0; i < most_rounds; ++i) {
      if (worker_.arm()) return true;
      if (!worker_.progress()) return false;
    }
    return false;
  }
  [[nodiscard]] int descriptor() const override { return worker_.descriptor(); }

 private:
  struct Sending {
    UcxHeader header{};  // UCX reads it until the request has ended
    void* request = nullptr;
  };

  static void note_lost(void* self, ucp_ep_h /*connection*/, ucs_status_t status) {
    static_cast<Sender*>(self)->lost_ = status;
  }

  Worker worker_;
  ucp_ep_h connection_ = nullptr;
  std::list<Sending> sendings_;
  ucs_status_t lost_ = UCS_OK;
};

class Receiver final : public UcxReceiver {
 public:
  explicit Receiver(const Ucp& ucp) : worker_(ucp) {}
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  ~Receiver() override {
    tokens_.clear();
    while (!peers_.empty()) detach(peers_.begin()->first);
    for (int i = 0; i < most_last_rounds; ++i) {
      end_closing();
      if (closing_.empty()) return;
      (void)worker_.progress();
    }
  }
  Status start() {
    if (Status opened = worker_.open(); !opened.ok()) return opened;
    const InUcx inside;
    ucp_am_handler_param_t how{};
    how.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                     UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    how.id = piece_id;
    how.flags = UCP_AM_FLAG_WHOLE_MSG;
    how.cb = &Receiver::note_piece;
    how.arg = this;
    const auto set = worker_.ucp().set_am_recv_handler(worker_.handle(), &how);
    return set == UCS_OK ? Status() : failure(worker_.ucp(), "ucp_worker_set_am_recv_handler", set);
  }

  [[nodiscard]] const std::vector<std::byte>& address() const override { return worker_.address(); }
  Result<Nonce> attach(Client client, std::span<const std::byte> address) override {
    const auto token = new_nonce();
    if (!token) return token.error();
    auto peer = std::make_unique<Peer>(Peer{this, client, token.value()});
    auto made = worker_.connect(address, &Receiver::note_lost, peer.get());
    if (!made) return made.error();
    peer->connection = made.value();
    tokens_[token.value()] = client;
    peers_[client] = std::move(peer);
    return token.value();
  }
  // A connection is closed by the next progress(), since this may be called within one.
  void detach(Client client) override {
    const auto found = peers_.find(client);
    if (found == peers_.end()) return;
    tokens_.erase(found->second->token);
    closing_.push_back(std::move(found->second));
    peers_.erase(found);
  }
  std::vector<Client> progress(const Take& take) override {
    take_ = &take;
    for (int i = 0; i < most_rounds && worker_.progress(); ++i) {
    }
    take_ = nullptr;
    std::vector<Client> lost = std::exchange(lost_, {});
    for (const Client one : lost) detach(one);
    end_closing();
    return lost;
  }
  bool arm() override { return worker_.arm() && closing_.empty() && lost_.empty(); }
  [[nodiscard]] int descriptor() const override { return worker_.descriptor(); }

 private:
  struct Peer {
    Receiver* receiver = nullptr;
    Client client = 0;
    Nonce token{};
    ucp_ep_h connection = nullptr;  // null: it is being closed
    void* request = nullptr;        // that closes it
  };

  static void note_lost(void* peer, ucp_ep_h /*connection*/, ucs_status_t /*status*/) {
    const Peer& one = *static_cast<const Peer*>(peer);
    one.receiver->lost_.push_back(one.client);
  }
  // Whoever offers a rendezvous gets no answer but that nobody wants it.
  static ucs_status_t note_piece(void* self, const void* header, std::size_t length, void* data,
                                 std::size_t bytes, const ucp_am_recv_param_t* how) {
    Receiver& receiver = *static_cast<Receiver*>(self);
    if ((how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_OK;
    const auto piece = piece_of({static_cast<const std::byte*>(header), length});
    if (!piece) return UCS_OK;
    const auto known = receiver.tokens_.find(piece->token);
    if (known == receiver.tokens_.end() || receiver.take_ == nullptr) return UCS_OK;
    (*receiver.take_)(known->second, *piece, {static_cast<const std::byte*>(data), bytes});
    return UCS_OK;
  }
  void end_closing() {
    std::erase_if(closing_, [&](const std::unique_ptr<Peer>& one) {
      if (one->connection != nullptr) {
        one->request = worker_.close(std::exchange(one->connection, nullptr));
      }
      return one->request == nullptr || worker_.ended(one->request).has_value();
    });
  }

  Worker worker_;
  const Take* take_ = nullptr;  // null outside of progress()
  std::map<Nonce, Client> tokens_;
  std::map<Client, std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<Peer>> closing_;
  std::vector<Client> lost_;
};

template <typename Opened, typename Interface>
Result<std::unique_ptr<Interface>> opened() {
  const Result<Ucp>& ucp = library();
  if (!ucp) return ucp.error();
  auto made = std::make_unique<Opened>(ucp.value());
  if (Status begun = made->start(); !begun.ok()) return begun.error();
  return std::unique_ptr<Interface>(std::move(made));
}

}  // namespace

Result<std::string> ucx_version() {
  const Result<Ucp>& ucp = library();
  if (!ucp) return ucp.error();
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp.value().get_version(&major, &minor, &release);
  return fmt::format("{}.{}", major, minor);
}

Result<std::unique_ptr<UcxSender>> UcxSender::open() { return opened<Sender, UcxSender>(); }

Result<std::unique_ptr<UcxReceiver>> UcxReceiver::open() { return opened<Receiver, UcxReceiver>(); }

}  // namespace weir::transport
