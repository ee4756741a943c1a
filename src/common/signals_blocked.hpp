// The library's threads block all signals, so that a signal meant to stop the program reaches one
// of the program's own threads.
#pragma once

#include <pthread.h>

#include <csignal>

namespace weir {

// Blocks all signals in the thread that creates it, and so in threads that this thread creates, as
// long as the object lives.
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
