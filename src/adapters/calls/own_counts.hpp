// Lets a program that runs with libweir_calls query its own calls while it runs. The program finds
// these functions by name (dlsym), since it may also run without the library.
#pragma once

#include <cstdint>

extern "C" {

// Begins or ends counting. If WEIR_CALLS_FOLDER requests a record, counting never ends.
void weir_calls_count(int on);

// Returns how often each operation was counted so far, in the order of weir::calls::Operation.
// `inside` counts operations on `folder` (absolute, without a slash at its end) and on files below
// it; `elsewhere` counts all others. Writes `room` numbers to each. The return value is the number
// of operations, so that a program built for a different set does not misread them.
int weir_calls_read(const char* folder, std::uint64_t* inside, std::uint64_t* elsewhere, int room);

}  // extern "C"
