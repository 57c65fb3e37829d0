// SPDX-License-Identifier: Apache-2.0
// The test framework: a program is one .c file that includes this header and
// holds TEST("sentence") { … } blocks; it speaks TAP and needs no list of them.
//
//     TEST("ring: a full ring drops and counts")
//     {
//         ok(ring_push(&ring, slot));
//         is_u64(ring.dropped, 1);
//     }
//
// Checks return whether they held and carry on; any thread may make them.
// `if (!ok(file)) return;` leaves a case early. A case without a check fails.
// Words on the command line choose the cases that contain one of them.
#ifndef GAIT_TAP_H
#define GAIT_TAP_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAP_MAX_CASES = 500 };

struct tap_case {
    const char *sentence;
    void (*run)(void);
};

static struct {
    struct tap_case cases[TAP_MAX_CASES];
    size_t count;
    size_t printed; // cases reported so far
    atomic_int checks, failures;
    const char *skipped; // why the running case was skipped
} tap;

static inline void tap_add(const char *sentence, void (*run)(void))
{
    if (tap.count == TAP_MAX_CASES) {
        printf("Bail out! more than %d cases in one program\n", TAP_MAX_CASES);
        exit(1);
    }
    tap.cases[tap.count++] = (struct tap_case){sentence, run};
}

#define TAP_JOIN_(a, b) a##b
#define TAP_JOIN(a, b) TAP_JOIN_(a, b)
#define TEST(sentence)                                                                             \
    static void TAP_JOIN(tap_case_, __LINE__)(void);                                               \
    __attribute__((constructor)) static void TAP_JOIN(tap_register_, __LINE__)(void)               \
    {                                                                                              \
        tap_add(sentence, TAP_JOIN(tap_case_, __LINE__));                                          \
    }                                                                                              \
    static void TAP_JOIN(tap_case_, __LINE__)(void)

// The diagnostic of a check that did not hold: where, which, got and wanted.
__attribute__((format(printf, 5, 6))) static inline bool tap_check(bool held, const char *file,
                                                                   int line, const char *text,
                                                                   const char *format, ...)
{
    char detail[400];
    va_list args;

    tap.checks++;
    if (held)
        return true;
    tap.failures++;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    printf("# %s:%d: %s%s\n", file, line, text, detail);
    return false;
}

static inline bool tap_same_text(const char *got, const char *want)
{
    return got == want || (got && want && strcmp(got, want) == 0);
}

// A function: the text may be part of a value that lives as long as this call.
static inline bool tap_check_text(const char *got, const char *want, const char *file, int line,
                                  const char *text)
{
    return tap_check(tap_same_text(got, want), file, line, text, ": got '%s', wanted '%s'",
                     got ? got : "(null)", want ? want : "(null)");
}

#define TAP_AT(text) __FILE__, __LINE__, text
#define ok(condition)                                                                              \
    tap_check((condition) ? true : false, TAP_AT("not true: " #condition), "%s", "")
#define is_int(got, want)                                                                          \
    (__extension__({                                                                               \
        const int64_t got_ = (got), want_ = (want);                                                \
        tap_check(got_ == want_, TAP_AT(#got), ": got %lld, wanted %lld", (long long)got_,         \
                  (long long)want_);                                                               \
    }))
#define is_u64(got, want)                                                                          \
    (__extension__({                                                                               \
        const uint64_t got_ = (got), want_ = (want);                                               \
        tap_check(got_ == want_, TAP_AT(#got), ": got %llu, wanted %llu",                          \
                  (unsigned long long)got_, (unsigned long long)want_);                            \
    }))
#define is_str(got, want) tap_check_text(got, want, TAP_AT(#got))

// `{ skip("no GPU"); return; }` in a case.
static inline void skip(const char *why)
{
    tap.skipped = why;
}

// Nothing of this program can run here; call it before any case has ended.
static inline void skip_all(const char *why)
{
    printf("1..0 # SKIP %s\n", why);
    exit(0);
}

static inline bool tap_run(const struct tap_case *test)
{
    bool passed;

    tap.checks = tap.failures = 0;
    tap.skipped = NULL;
    test->run();
    if (!tap.skipped && tap.checks == 0)
        printf("# the case made no check\n");
    passed = tap.failures == 0 && (tap.checks > 0 || tap.skipped);
    printf("%sok %zu - %s", passed ? "" : "not ", ++tap.printed, test->sentence);
    printf("%s%s\n", tap.skipped ? " # SKIP " : "", tap.skipped ? tap.skipped : "");
    return passed;
}

int main(int argc, char **argv)
{
    bool passed = true;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < tap.count; i++) {
        bool chosen = argc < 2;
        for (int word = 1; word < argc; word++)
            chosen = chosen || strstr(tap.cases[i].sentence, argv[word]);
        if (chosen)
            passed = tap_run(&tap.cases[i]) && passed;
    }
    printf("1..%zu\n", tap.printed);
    return passed && tap.printed > 0 ? 0 : 1;
}

#endif
