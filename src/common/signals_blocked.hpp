// Threads of the library let no signal in, so that a signal meant to stop the program reaches one
// of the program's own.
#pragma once

#include <pthread.h>

#include <csignal>

namespace weir {

// Blocks all signals in this thread, and so in threads it creates, for as long as it lives.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace weir
