// This file takes the place of ucx.cpp where Weir is built without UCX.
#include "transport/ucx.hpp"

namespace weir::transport {
namespace {

Error absent() {
  return Error(ErrorCode::unsupported,
               "Weir was built without UCX, which is experimental (CMake: -D WEIR_WITH_UCX=ON)");
}

}  // namespace

Result<std::string> ucx_version() { return absent(); }
Result<std::unique_ptr<UcxSender>> UcxSender::open() { return absent(); }
Result<std::unique_ptr<UcxReceiver>> UcxReceiver::open() { return absent(); }

}  // namespace weir::transport
