// System calls of the program itself that fail when they are told to. They stand before the C
// library's because the program is looked at first.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// The next `call` ("unlinkat") on something whose path holds `path_part` fails with `error`. Both
// texts must live until then.
void fail_next(const char* call, const char* path_part, int error);
// Returns whether that call has come since; from now on none fails.
int has_failed(void);

#ifdef __cplusplus
}
#endif
