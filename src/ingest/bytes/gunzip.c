// SPDX-License-Identifier: Apache-2.0
#include "ingest/bytes/gunzip.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include <zlib.h>

#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

#define GZIP_OR_ZLIB 47 // windowBits: the largest, and either header

static void zlib_init(struct gunzip *gunzip)
{
    gunzip->state = calloc(1, sizeof(z_stream));
    if (gunzip->state && inflateInit2((z_stream *)gunzip->state, GZIP_OR_ZLIB) != Z_OK) {
        free(gunzip->state);
        gunzip->state = NULL;
    }
}

static void zlib_finish(struct gunzip *gunzip)
{
    if (gunzip->state)
        inflateEnd(gunzip->state);
    free(gunzip->state);
    gunzip->state = NULL;
}

static void zlib_reset(struct gunzip *gunzip)
{
    (void)inflateReset(gunzip->state);
}

static enum gunzip_result zlib_step(struct gunzip *gunzip)
{
    z_stream *stream = gunzip->state;
    stream->next_in = (uint8_t *)(uintptr_t)gunzip->in; // it only reads
    stream->avail_in = (unsigned)gunzip->in_count;
    stream->next_out = gunzip->out;
    stream->avail_out = (unsigned)gunzip->room;
    const int got = inflate(stream, Z_NO_FLUSH);
    gunzip->in = stream->next_in;
    gunzip->in_count = stream->avail_in;
    gunzip->out = stream->next_out;
    gunzip->room = stream->avail_out;
    if (got == Z_STREAM_END)
        return GUNZIP_MEMBER_ENDS;
    return got == Z_OK || got == Z_BUF_ERROR ? GUNZIP_MORE : GUNZIP_DAMAGED;
}

// --- ISA-L, where the machine has it -----------------------------------------

#ifdef HAVE_ISAL

static struct {
    void (*init)(struct inflate_state *state);
    int (*inflate)(struct inflate_state *state);
} isal;

// It is loaded, not linked: who has no such library unpacks by zlib.
static void load(void)
{
    void *library = dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL);
    void *init = library ? dlsym(library, "isal_inflate_init") : NULL;
    void *inflate = library ? dlsym(library, "isal_inflate") : NULL;
    if (!init || !inflate)
        return;
    *(void **)&isal.init = init;
    *(void **)&isal.inflate = inflate;
}

static bool has_isal(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    return !pthread_once(&once, load) && isal.inflate;
}

static void isal_reset(struct gunzip *gunzip)
{
    struct inflate_state *state = gunzip->state;
    isal.init(state);
    state->crc_flag = ISAL_GZIP;
}

static void isal_init(struct gunzip *gunzip)
{
    gunzip->state = malloc(sizeof(struct inflate_state));
    if (gunzip->state)
        isal_reset(gunzip);
}

static enum gunzip_result isal_step(struct gunzip *gunzip)
{
    struct inflate_state *state = gunzip->state;
    state->next_in = (uint8_t *)(uintptr_t)gunzip->in; // it only reads
    state->avail_in = (uint32_t)gunzip->in_count;
    state->next_out = gunzip->out;
    state->avail_out = (uint32_t)gunzip->room;
    const int got = isal.inflate(state);
    // it may give back what it took in the call before, less than 8 bytes
    const int64_t taken = (int64_t)gunzip->in_count - (int64_t)state->avail_in;
    if (taken < -8) { // of a damaged file it took more than there is, and wrapped
        gunzip->in += gunzip->in_count;
        gunzip->in_count = 0;
        return GUNZIP_DAMAGED;
    }
    gunzip->in += taken;
    gunzip->in_count = state->avail_in;
    gunzip->out += gunzip->room - state->avail_out;
    gunzip->room = state->avail_out;
    if (got < 0)
        return GUNZIP_DAMAGED;
    return state->block_state == ISAL_BLOCK_FINISH ? GUNZIP_MEMBER_ENDS : GUNZIP_MORE;
}

#else

static bool has_isal(void)
{
    return false;
}

static void isal_init(struct gunzip *gunzip)
{
    gunzip->state = NULL;
}

static void isal_reset(struct gunzip *gunzip)
{
    (void)gunzip;
}

static enum gunzip_result isal_step(struct gunzip *gunzip)
{
    (void)gunzip;
    return GUNZIP_DAMAGED;
}

#endif

void gunzip_init(struct gunzip *gunzip)
{
    *gunzip = (struct gunzip){.is_isal = has_isal()};
    if (gunzip->is_isal)
        isal_init(gunzip);
    else
        zlib_init(gunzip);
}

void gunzip_finish(struct gunzip *gunzip)
{
    if (gunzip->is_isal)
        free(gunzip->state);
    else
        zlib_finish(gunzip);
    gunzip->state = NULL;
}

void gunzip_reset(struct gunzip *gunzip)
{
    if (gunzip->is_isal)
        isal_reset(gunzip);
    else
        zlib_reset(gunzip);
}

enum gunzip_result gunzip_step(struct gunzip *gunzip)
{
    return gunzip->is_isal ? isal_step(gunzip) : zlib_step(gunzip);
}
