// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <limits.h>
#include <pthread.h>

#include "base/fail.h"
#include "support/tap.h"

TEST("fail: the code comes back and the text is told")
{
    is_int(fail(GAIT_ERR_FORMAT, "frame %d ends past the file", 3), GAIT_ERR_FORMAT);
    is_str(fail_text(), "frame 3 ends past the file");
    is_int(fail(GAIT_ERR_IO, "other"), GAIT_ERR_IO);
    is_str(fail_text(), "other");
}

TEST("fail: each cause stands in front of the ones below it")
{
    (void)fail(GAIT_ERR_FORMAT, "frame 3 ends past the file");
    is_int(fail_because(GAIT_ERR_FORMAT, "shard '%s'", "a.gait"), GAIT_ERR_FORMAT);
    is_int(fail_because(GAIT_ERR_IO, "cannot open"), GAIT_ERR_IO);
    is_str(fail_text(), "cannot open: shard 'a.gait': frame 3 ends past the file");
}

TEST("fail: a cause without a story is the story")
{
    fail_clear();
    is_str(fail_text(), "");
    (void)fail_because(GAIT_ERR_IO, "cannot open");
    is_str(fail_text(), "cannot open");
}

TEST("fail: the story may be an argument of the next one")
{
    (void)fail(GAIT_ERR_IO, "inner");
    (void)fail(GAIT_ERR_IO, "outer (%s)", fail_text());
    is_str(fail_text(), "outer (inner)");
}

TEST("fail: what is too long loses its end, never half a character")
{
    char words[3000];

    // Every offset of a two-byte character against the limit, by one byte more
    // in front each time.
    for (size_t shift = 0; shift < 8; shift++) {
        memset(words, 'x', shift);
        for (size_t i = shift; i + 2 < sizeof words; i += 2)
            memcpy(words + i, "\xc3\xa9", 3);
        (void)fail(GAIT_ERR_IO, "%s", words);
        const size_t length = strlen(fail_text());
        ok(length > 500 && length < sizeof words);
        is_int((unsigned char)fail_text()[length - 1], 0xa9);
        is_int((int)((length - shift) % 2), 0);
        ok(memcmp(fail_text(), words, length) == 0);
    }
    (void)fail(GAIT_ERR_IO, "end");
    (void)fail_because(GAIT_ERR_IO, "%s", words);
    ok(strlen(fail_text()) < sizeof words);
}

TEST("fail: errno stays as it was")
{
    errno = ENOSPC;
    (void)fail(GAIT_ERR_IO, "%s", strerror(errno));
    is_int(errno, ENOSPC);
}

static void *fail_elsewhere(void *unused)
{
    (void)unused;
    is_str(fail_text(), "");
    (void)fail(GAIT_ERR_MEMORY, "theirs");
    is_str(fail_text(), "theirs");
    return NULL;
}

TEST("fail: every thread has a story of its own, and takes it along")
{
    pthread_t thread;

    (void)fail(GAIT_ERR_IO, "ours");
    for (int i = 0; i < 50; i++) {
        if (!is_int(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0))
            return;
        pthread_join(thread, NULL);
    }
    is_str(fail_text(), "ours");
}

TEST("error: every code has its words, and any int is answered")
{
    const int codes[] = {GAIT_OK,         GAIT_ERR_ARGUMENT, GAIT_ERR_MEMORY, GAIT_ERR_IO,
                         GAIT_ERR_FORMAT, GAIT_ERR_STATE,    GAIT_ERR_MISSING};
    const int strangers[] = {1, INT_MAX, INT_MIN, GAIT_ERR_MISSING - 1, -1000};
    const size_t count = sizeof codes / sizeof codes[0];

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            ok(strcmp(gait_error_text(codes[i]), gait_error_text(codes[j])) != 0);
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++)
        is_str(gait_error_text(strangers[i]), "unknown error");
    is_str(gait_error_text(GAIT_ERR_FORMAT), "bad format");
}
