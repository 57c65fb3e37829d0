// SPDX-License-Identifier: Apache-2.0
// gzip output is read back with zlib's own reader, failures come from pipes
// without a reader and from /dev/full.
#define _GNU_SOURCE
#include "export/output/output_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <zlib.h>

#include "base/fail.h"
#include "support/tap.h"

#define FILE_BYTES 3000000

static int new_file(char path[64])
{
    snprintf(path, 64, "/tmp/gait-test-XXXXXX");
    return mkstemp(path);
}

static char byte_at(size_t i)
{
    return (char)('a' + i * i % 23);
}

static void write_bytes(struct output_stream *out, size_t count)
{
    static char bytes[700000];
    for (size_t at = 0, step = 1; at < count; at += step, step = step * 3 % 700000 + 1) {
        step = step < count - at ? step : count - at;
        for (size_t i = 0; i < step; i++)
            bytes[i] = byte_at(at + i);
        output_write(out, bytes, step);
    }
}

// gzread() gives plain bytes when the file is not gzip.
static bool reads_back(const char *path, size_t count, bool is_gzip)
{
    static char bytes[FILE_BYTES + 1];
    gzFile file = gzopen(path, "rb");
    if (!file)
        return false;
    int got = gzread(file, bytes, sizeof(bytes));
    bool same = got == (int)count && gzdirect(file) == !is_gzip;
    gzclose(file);
    for (size_t i = 0; i < count && same; i++)
        same = bytes[i] == byte_at(i);
    return same;
}

TEST("output: what is written in pieces of all sizes is in the file")
{
    char path[64];
    struct output_stream out;
    int fd = new_file(path);
    ok(output_open(&out, fd, path, false) == GAIT_OK);
    write_bytes(&out, FILE_BYTES);
    is_int(output_close(&out), 0);
    ok(reads_back(path, FILE_BYTES, false));
    close(fd);
    unlink(path);
}

TEST("output: gzip reads back the same, also when nothing was written")
{
    char path[64];
    struct output_stream out;
    int fd = new_file(path);
    ok(output_open(&out, fd, path, true) == GAIT_OK);
    write_bytes(&out, FILE_BYTES);
    is_int(output_close(&out), 0);
    ok(reads_back(path, FILE_BYTES, true));
    ok(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    ok(output_open(&out, fd, path, true) == GAIT_OK);
    is_int(output_close(&out), 0);
    ok(reads_back(path, 0, true));
    close(fd);
    unlink(path);
}

TEST("output: room that was reserved counts up to where it was used")
{
    char path[64];
    struct output_stream out;
    int fd = new_file(path);
    ok(output_open(&out, fd, path, false) == GAIT_OK);
    for (size_t i = 0; i < FILE_BYTES; i++) {
        char *put = output_reserve(&out, OUTPUT_RESERVE_MAX);
        *put = byte_at(i);
        output_advance(&out, put + 1);
    }
    is_int(output_close(&out), 0);
    ok(reads_back(path, FILE_BYTES, false));
    close(fd);
    unlink(path);
}

static void check_full_disk(bool is_gzip)
{
    struct output_stream out;
    int fd = open("/dev/full", O_WRONLY);
    if (fd < 0) {
        skip("no /dev/full");
        return;
    }
    ok(output_open(&out, fd, "the disk", is_gzip) == GAIT_OK);
    write_bytes(&out, FILE_BYTES);
    is_int(output_close(&out), GAIT_ERR_IO);
    is_str(fail_text(), "cannot write 'the disk': No space left on device");
    close(fd);
}

TEST("output: a full disk is one sentence")
{
    check_full_disk(false);
}

TEST("output: a full disk is one sentence under gzip too")
{
    check_full_disk(true);
}

TEST("output: a pipe that nobody reads is one sentence")
{
    int ends[2];
    struct output_stream out;
    signal(SIGPIPE, SIG_IGN);
    ok(pipe(ends) == 0);
    close(ends[0]);
    ok(output_open(&out, ends[1], "standard output", false) == GAIT_OK);
    write_bytes(&out, FILE_BYTES);
    is_int(out.status, GAIT_ERR_IO);
    is_int(output_close(&out), GAIT_ERR_IO);
    is_str(fail_text(), "cannot write 'standard output': Broken pipe");
    close(ends[1]);
}

static void *read_slowly(void *context)
{
    static char bytes[5000];
    int fd = *(int *)context;
    size_t total = 0;
    ssize_t got;
    while ((got = read(fd, bytes, sizeof(bytes))) > 0)
        total += (size_t)got;
    return (void *)total;
}

TEST("output: a pipe that does not block is waited for")
{
    int ends[2];
    struct output_stream out;
    pthread_t reader;
    void *total = NULL;
    ok(pipe2(ends, O_NONBLOCK) == 0);
    fcntl(ends[0], F_SETFL, 0);
    ok(output_open(&out, ends[1], "a pipe", false) == GAIT_OK);
    ok(pthread_create(&reader, NULL, read_slowly, &ends[0]) == 0);
    write_bytes(&out, FILE_BYTES);
    is_int(output_close(&out), 0);
    close(ends[1]);
    pthread_join(reader, &total);
    is_u64((size_t)total, FILE_BYTES);
    close(ends[0]);
}
