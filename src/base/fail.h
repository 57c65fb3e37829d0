// SPDX-License-Identifier: Apache-2.0
// Failures as a code and a story: fail() starts the per-thread chain of causes,
// fail_because() puts a caller's view in front of it ("cannot open 'x': frame 3
// ends past the file"). Only the tool and Python show the story to people.
#ifndef GAIT_BASE_FAIL_H
#define GAIT_BASE_FAIL_H

#include <gait/error.h>

// Sets this thread's story and returns `code`, so that it can be returned.
int fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Puts `format: ` in front of the story and returns `code`.
int fail_because(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Static analysis does not see into fail.c: the code comes back as it went in.
#ifdef __clang_analyzer__
#define fail(code, ...) ((void)(fail)(code, __VA_ARGS__), (code))
#define fail_because(code, ...) ((void)(fail_because)(code, __VA_ARGS__), (code))
#endif

// An argument of a public function that must not be NULL: leaves the function where it is.
#define GAIT_REQUIRE(pointer)                                                                      \
    do {                                                                                           \
        if (!(pointer))                                                                            \
            return fail(GAIT_ERR_ARGUMENT, "%s: " #pointer " must not be NULL", __func__);         \
    } while (0)

// The story so far, "" if none; valid until this thread's next failure.
const char *fail_text(void);
void fail_clear(void);

#endif
