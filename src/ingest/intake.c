// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "ingest/intake.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "ingest/bytes/gunzip.h"
#include "ingest/bytes/utf16.h"

#define STRETCH ((size_t)1 << 20)
#define MOST_STRETCH ((size_t)1 << 30) // what one value may take
// ... of a packed file: it may hold a thousand times its bytes, and real traces hold twenty
#define PACKED_FREE ((size_t)64 << 20)
#define PACKED_EACH 256
#define AHEAD_STRETCH ((size_t)512 << 10)
#define AHEAD_FRONT ((size_t)64 << 10)  // for an event that one stretch begins and another ends
#define LEAST_AHEAD ((uint64_t)4 << 20) // a file below that is read before a thread has begun
#define PACKED_STRETCH ((size_t)1 << 18)

struct intake_packing {
    struct gunzip gunzip;
    bool is_ended; // a member is, or the data are damaged
    uint8_t in[PACKED_STRETCH];
};

static int read_file(struct intake *intake, uint8_t *out, size_t room, size_t *ret_count)
{
    ssize_t got;
    if (!intake->path) {
        *ret_count = intake->memory.count < room ? intake->memory.count : room;
        if (*ret_count)
            memcpy(out, intake->memory.bytes, *ret_count);
        intake->memory.bytes += *ret_count;
        intake->memory.count -= *ret_count;
        return 0;
    }
    do
        got = read(intake->fd, out, room);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fail(GAIT_ERR_IO, "cannot read '%s': %s", intake->path, strerror(errno));
    *ret_count = (size_t)got;
    __atomic_fetch_add(&intake->taken_bytes, (uint64_t)got, __ATOMIC_RELAXED);
    return 0;
}

static int refill(struct intake *intake, bool *ret_is_end)
{
    struct intake_packing *packing = intake->packing;
    size_t got = 0;
    *ret_is_end = false;
    if (packing->gunzip.in_count)
        return 0;
    const int status = read_file(intake, packing->in, sizeof packing->in, &got);
    packing->gunzip.in = packing->in;
    packing->gunzip.in_count = got;
    *ret_is_end = !got;
    return status;
}

static void note_damage(struct intake *intake)
{
    intake->repairs->counts[REPAIR_GZIP]++;
}

// Behind a member another one may follow; anything else there is left out.
static bool begin_member(struct intake *intake)
{
    struct gunzip *gunzip = &intake->packing->gunzip;
    if (gunzip->in[0] == 0x1f) {
        gunzip_reset(gunzip);
        return true;
    }
    for (size_t i = 0; i < gunzip->in_count; i++)
        if (gunzip->in[i]) {
            intake->repairs->counts[REPAIR_TRAILING] += gunzip->in_count - i;
            break;
        }
    return false;
}

static int unpack(struct intake *intake, uint8_t *out, size_t room, size_t *ret_count)
{
    struct intake_packing *packing = intake->packing;
    struct gunzip *gunzip = &packing->gunzip;
    bool is_end = false;
    gunzip->out = out;
    gunzip->room = room;
    while (gunzip->room && !intake->is_end) {
        const int status = refill(intake, &is_end);
        if (status)
            return status;
        if (is_end) {
            if (!packing->is_ended)
                note_damage(intake); // cut in the middle
            intake->is_end = true;
            break;
        }
        if (packing->is_ended && !begin_member(intake)) {
            intake->is_end = true;
            break;
        }
        const enum gunzip_result got = gunzip_step(gunzip);
        packing->is_ended = got == GUNZIP_MEMBER_ENDS;
        if (got != GUNZIP_DAMAGED)
            continue;
        note_damage(intake); // what came so far counts
        intake->is_end = true;
    }
    *ret_count = room - gunzip->room;
    return 0;
}

static int read_plain(struct intake *intake, uint8_t *out, size_t room, size_t *ret_count)
{
    if (intake->packing)
        return unpack(intake, out, room, ret_count);
    const int status = read_file(intake, out, room, ret_count);
    intake->is_end |= !*ret_count;
    return status;
}

static int read_wide(struct intake *intake, uint8_t *out, size_t room, size_t *ret_count)
{
    struct utf16 *wide = intake->wide;
    int status = 0;
    *ret_count = 0;
    while (!status && !*ret_count && !intake->is_end) {
        size_t got = 0;
        status = read_plain(intake, wide->in + wide->used, utf16_wants(wide, room), &got);
        wide->used += got;
        *ret_count = utf16_convert(wide, intake->is_end, out);
    }
    intake->repairs->counts[REPAIR_UTF8] += wide->broken;
    wide->broken = 0;
    return status;
}

static int read_stretch(struct intake *intake, uint8_t *out, size_t *ret_count)
{
    return intake->wide ? read_wide(intake, out, intake->stretch, ret_count)
                        : read_plain(intake, out, intake->stretch, ret_count);
}

static int make_stretch(void *context, uint8_t *out, size_t *ret_count, bool *ret_is_end)
{
    struct intake *ahead = context;
    const int status = read_stretch(ahead, out, ret_count);
    *ret_is_end = ahead->is_end;
    return status;
}

static bool has_processors(void)
{
    cpu_set_t usable;
    return !sched_getaffinity(0, sizeof usable, &usable) && CPU_COUNT(&usable) > 1;
}

// From the second stretch on another thread reads, while this one works on what came before.
static void go_ahead(struct intake *intake)
{
    struct intake *ahead = calloc(1, sizeof *ahead);
    struct repairs *repairs = calloc(1, sizeof *repairs);
    if (ahead && repairs) {
        *ahead = *intake;
        ahead->repairs = repairs;
        ahead->stretch = AHEAD_STRETCH;
        intake->ahead =
            read_ahead_start(&(struct read_ahead_plan){.make = make_stretch,
                                                       .make_context = ahead,
                                                       .stretch = ahead->stretch,
                                                       .front = AHEAD_FRONT,
                                                       .look = intake->look,
                                                       .look_context = intake->look_context,
                                                       .notes_bytes = intake->notes_bytes});
    }
    intake->reads_ahead = ahead;
    if (intake->ahead)
        return;
    free(ahead);
    free(repairs);
    intake->reads_ahead = NULL;
}

// What the thread found wrong is known once it has ended.
static void end_ahead(struct intake *intake)
{
    if (!intake->reads_ahead)
        return;
    read_ahead_stop(intake->ahead);
    repairs_add(intake->repairs, intake->reads_ahead->repairs);
    free(intake->reads_ahead->repairs);
    free(intake->reads_ahead);
    intake->reads_ahead = NULL;
}

void intake_stop_ahead(struct intake *intake)
{
    end_ahead(intake);
    intake->look = NULL;
    intake->notes = NULL;
}

static void tell(struct intake *intake)
{
    if (intake->progress && intake->taken_bytes > intake->told_bytes)
        intake->progress(intake->progress_context, intake->taken_bytes - intake->told_bytes);
    intake->told_bytes = intake->taken_bytes;
}

static int fail_for_room(const struct intake *intake)
{
    return fail(GAIT_ERR_MEMORY, "one value takes more than %zu bytes", intake->own.limit);
}

// Puts what is at hand to the front of `own`, and so many bytes of room behind it.
static uint8_t *make_room(struct intake *intake, size_t bytes)
{
    const struct slice rest = intake_rest(intake);
    const bool is_own = intake->bytes.bytes == intake->own.bytes;
    if (is_own && intake->own.bytes && rest.bytes != intake->own.bytes && rest.count)
        memmove(intake->own.bytes, rest.bytes, rest.count);
    intake->own.used = is_own ? rest.count : 0;
    if (!is_own && buffer_append(&intake->own, rest.bytes, rest.count))
        return NULL;
    uint8_t *room = buffer_reserve(&intake->own, bytes);
    intake->bytes = (struct intake_view){intake->own.bytes, intake->own.used};
    intake->at = 0;
    return room;
}

// A stretch that was read ahead: what is left goes into the room in front of it.
static int take_ahead(struct intake *intake)
{
    struct read_ahead_stretch stretch;
    const struct slice rest = intake_rest(intake);
    const int status = read_ahead_take(intake->ahead, &stretch);
    intake->is_end = stretch.is_end;
    intake->taken_bytes = __atomic_load_n(&intake->reads_ahead->taken_bytes, __ATOMIC_RELAXED);
    if (rest.count <= AHEAD_FRONT) {
        if (rest.count)
            memcpy(stretch.bytes - rest.count, rest.bytes, rest.count);
        intake->bytes =
            (struct intake_view){stretch.bytes - rest.count, rest.count + stretch.count};
        intake->at = 0;
    } else {
        uint8_t *room = make_room(intake, stretch.count);
        if (!room)
            return fail_for_room(intake);
        memcpy(room, stretch.bytes, stretch.count);
        intake->bytes.used = intake->own.used += stretch.count;
    }
    intake->notes = stretch.notes;
    intake->noted_from = rest.count;
    if (intake->is_end)
        end_ahead(intake);
    return status;
}

static int take(struct intake *intake)
{
    size_t got = 0;
    uint8_t *room = make_room(intake, intake->stretch);
    if (!room)
        return fail_for_room(intake);
    const int status = read_stretch(intake, room, &got);
    intake->bytes.used = intake->own.used += got;
    return status;
}

int intake_more(struct intake *intake)
{
    if (intake->is_end)
        return 0;
    const bool is_worth_it = intake->packing || intake->file_bytes >= LEAST_AHEAD;
    if (!intake->ahead && intake->path && is_worth_it && has_processors())
        go_ahead(intake);
    const int status = intake->ahead ? take_ahead(intake) : take(intake);
    tell(intake);
    return status;
}

int intake_need(struct intake *intake, size_t bytes)
{
    while (intake->bytes.used - intake->at < bytes) {
        if (intake->is_end)
            return 0;
        const int status = intake_more(intake);
        if (status)
            return status;
    }
    return 1;
}

static int begin_unpacking(struct intake *intake, const uint8_t magic[2])
{
    if (magic[0] != 0x1f || magic[1] != 0x8b)
        return 0;
    intake->packing = calloc(1, sizeof *intake->packing);
    if (intake->packing)
        gunzip_init(&intake->packing->gunzip);
    if (!intake->packing || !intake->packing->gunzip.state)
        return fail(GAIT_ERR_MEMORY, "no memory to unpack a trace");
    return 0;
}

// What was read first is UTF-16 or UTF-32: from here on all comes as UTF-8.
static int begin_wide(struct intake *intake, const struct utf16_form *form)
{
    const struct slice text = intake_rest(intake);
    struct buffer wide = intake->own;
    int status = 0;
    intake->wide = malloc(sizeof *intake->wide);
    if (!intake->wide)
        return fail(GAIT_ERR_MEMORY, "no memory for a trace in UTF-16 or UTF-32");
    intake->wide->form = form;
    intake->wide->used = intake->wide->broken = 0;
    intake->stretch = intake->stretch < UTF16_LEAST ? UTF16_LEAST : intake->stretch;
    buffer_init(&intake->own, wide.limit);
    for (size_t at = form->mark_bytes; at < text.count && !status;) {
        const size_t room = UTF16_STRETCH - intake->wide->used;
        const size_t count = text.count - at < room ? text.count - at : room;
        memcpy(intake->wide->in + intake->wide->used, text.bytes + at, count);
        intake->wide->used += count;
        at += count;
        uint8_t *out = buffer_reserve(&intake->own, 2 * UTF16_STRETCH);
        if (!out)
            status = fail_for_room(intake);
        else
            intake->own.used +=
                utf16_convert(intake->wide, intake->is_end && at == text.count, out);
    }
    buffer_finish(&wide);
    intake->bytes = (struct intake_view){intake->own.bytes, intake->own.used};
    intake->at = 0;
    return status;
}

static int take_first(struct intake *intake)
{
    int status = take(intake);
    while (!status && !intake->is_end && intake->bytes.used < UTF16_HEAD)
        status = take(intake);
    const struct utf16_form *form = status ? NULL : utf16_begins(intake_rest(intake));
    return form ? begin_wide(intake, form) : status;
}

int intake_open(struct intake *intake, const char *path, struct repairs *repairs)
{
    struct stat about;
    uint8_t magic[2] = {0};
    *intake = (struct intake){.path = path, .repairs = repairs, .stretch = STRETCH};
    buffer_init(&intake->own, MOST_STRETCH);
    intake->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (intake->fd < 0)
        return fail(errno == ENOENT ? GAIT_ERR_MISSING : GAIT_ERR_IO, "cannot open '%s': %s", path,
                    strerror(errno));
    int status = 0;
    if (fstat(intake->fd, &about))
        status = fail(GAIT_ERR_IO, "cannot look at '%s': %s", path, strerror(errno));
    else if (!S_ISREG(about.st_mode))
        status = fail(GAIT_ERR_FORMAT, "'%s' is no regular file", path);
    intake->file_bytes = status ? 0 : (uint64_t)about.st_size;
    if (!status && pread(intake->fd, magic, 2, 0) == 2)
        status = begin_unpacking(intake, magic);
    if (intake->packing && intake->file_bytes < (MOST_STRETCH - PACKED_FREE) / PACKED_EACH)
        buffer_init(&intake->own, PACKED_FREE + PACKED_EACH * (size_t)intake->file_bytes);
    if (!status)
        status = take_first(intake);
    if (status)
        intake_close(intake);
    return status;
}

int intake_open_memory(struct intake *intake, struct slice bytes, size_t stretch,
                       struct repairs *repairs)
{
    *intake = (struct intake){.memory = bytes,
                              .repairs = repairs,
                              .stretch = stretch,
                              .fd = -1,
                              .file_bytes = bytes.count};
    buffer_init(&intake->own, MOST_STRETCH);
    int status = bytes.count < 2 ? 0 : begin_unpacking(intake, bytes.bytes);
    if (!status)
        status = take_first(intake);
    if (status)
        intake_close(intake);
    return status;
}

void intake_close(struct intake *intake)
{
    end_ahead(intake);
    if (intake->packing)
        gunzip_finish(&intake->packing->gunzip);
    free(intake->packing);
    intake->packing = NULL;
    free(intake->wide);
    intake->wide = NULL;
    read_ahead_free(intake->ahead);
    intake->ahead = NULL;
    buffer_finish(&intake->own);
    intake->bytes = (struct intake_view){NULL, 0};
    if (intake->fd >= 0)
        close(intake->fd);
    intake->fd = -1;
}
