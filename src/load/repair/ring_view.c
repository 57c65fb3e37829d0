// SPDX-License-Identifier: Apache-2.0
// A ring file seen from outside.
#define _GNU_SOURCE
#include "load/repair/ring_view.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/process.h"

#define SLOTS_LIMIT (UINT64_C(1) << 27) // 2 GiB: more than any setting allows
#define HEAD_TRIES 100
#define JOURNAL_LIMIT (UINT64_C(1) << 30)

// The name of a ring file tells its session, and no other file is opened on a
// shard's word.
static bool is_ring_name(const char *path, const char *session)
{
    const char *slash = strrchr(path, '/');
    char wanted[64];

    if (strlen(session) != 32 || strspn(session, "0123456789abcdef") != 32)
        return false;
    (void)snprintf(wanted, sizeof(wanted), "gait-%s.ring", session);
    return !strcmp(slash ? slash + 1 : path, wanted);
}

// Whether this very process writes the file. Opening it here and closing it
// again would give up the lock that tells others we are alive.
static bool is_mapped_here(const char *path)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t capacity = 0;
    bool is_here = false;

    while (maps && !is_here && getline(&line, &capacity, maps) > 0)
        is_here = strstr(line, path) != NULL;
    free(line);
    if (maps)
        (void)fclose(maps);
    return is_here;
}

// The process holds a lock on its ring file as long as it lives, unless it
// closed every descriptor it found, ours with its own.
bool ring_view_is_locked(int descriptor)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return !fcntl(descriptor, F_GETLK, &lock) && lock.l_type != F_UNLCK;
}

static bool is_session(const struct ring_file_header *header, const char *session)
{
    char hex[33];

    for (size_t i = 0; i < sizeof(header->session); i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", header->session[i]);
    return !strcmp(hex, session);
}

static int read_header(struct ring_view *view, const char *session)
{
    int status = file_source_read(&view->source, 0, &view->header, sizeof(view->header));

    if (status)
        return status;
    if (view->header.magic != RING_FILE_MAGIC || view->header.version != RING_FILE_VERSION ||
        !is_session(&view->header, session))
        return fail(GAIT_ERR_FORMAT, "'%s' is not the ring file of this shard", view->source.path);
    return 0;
}

int ring_view_open(struct ring_view *view, const char *path, const char *session)
{
    *view = (struct ring_view){.next = RING_FILE_HEADER_BYTES};
    view->source.descriptor = -1;
    if (!is_ring_name(path, session))
        return fail(GAIT_ERR_MISSING, "the shard names no ring file");
    if (access(path, F_OK))
        return fail(GAIT_ERR_MISSING, "'%s' is gone", path);
    if (is_mapped_here(path))
        return fail(GAIT_ERR_STATE, "'%s' is being written by this process", path);
    int status = file_source_open(&view->source, NULL, path);
    if (!status)
        status = read_header(view, session);
    if (status) {
        ring_view_close(view);
        return status;
    }
    view->is_live =
        ring_view_is_locked(view->source.descriptor) ||
        process_lives_in(view->header.pid_namespace, view->header.pid, view->header.process_start);
    return 0;
}

void ring_view_close(struct ring_view *view)
{
    if (view)
        file_source_close(&view->source);
}

static bool makes_sense(const struct ring_view *view, const struct ring_region *region)
{
    uint64_t end = view->header.used_bytes;

    if (end > view->source.bytes)
        end = view->source.bytes;
    return region->magic == RING_REGION_MAGIC && region->region_bytes >= sizeof(*region) &&
           region->region_bytes % 8 == 0 && region->region_bytes <= end - view->next;
}

int ring_view_next(struct ring_view *view, struct ring_region *ret_region, uint64_t *ret_offset)
{
    struct ring_region region;

    for (;;) {
        if (view->next >= view->header.used_bytes || view->next >= view->source.bytes ||
            view->source.bytes - view->next < sizeof(region) ||
            view->header.used_bytes - view->next < sizeof(region))
            return 0;
        if (file_source_read(&view->source, view->next, &region, sizeof(region)) ||
            !makes_sense(view, &region)) {
            fail_clear();
            return 0;
        }
        *ret_offset = view->next;
        view->next += region.region_bytes;
        if (region.kind == RING_REGION_JOURNAL || (region.kind == RING_REGION_RING && region.track))
            break;
    }
    *ret_region = region;
    return 1;
}

// The position is told by `next` and the tail together. While the process
// lives they may move between our looks at them: the tail is read before and
// after, until it stands still.
static int read_head(struct ring_view *view, uint64_t offset, struct ring_head *ret_head)
{
    int status = file_source_read(&view->source, offset, ret_head, sizeof(*ret_head));

    for (int i = 0; !status && view->is_live && i < HEAD_TRIES; i++) {
        uint64_t tail = ret_head->tail;
        status = file_source_read(&view->source, offset, ret_head, sizeof(*ret_head));
        if (!status && ret_head->tail == tail)
            return 0;
    }
    if (!status && view->is_live)
        return fail(GAIT_ERR_STATE, "the ring changed while gait read it");
    return status;
}

int ring_view_head(struct ring_view *view, uint64_t offset, struct ring_head *ret_head)
{
    struct ring_head head;
    const struct ring_region *region = &head.region;
    int status = read_head(view, offset, &head);

    if (status)
        return status;
    if (region->kind != RING_REGION_RING || !region->capacity ||
        region->capacity & (region->capacity - 1) || region->capacity > SLOTS_LIMIT ||
        region->region_bytes < sizeof(head) + region->capacity * sizeof(struct slot) ||
        head.next < head.slots_address)
        return fail(GAIT_ERR_FORMAT, "the ring of track %" PRIu32 " is invalid", region->track);
    *ret_head = head;
    return 0;
}

uint64_t ring_view_position(const struct ring_head *head)
{
    return ring_head_position(head->next, head->slots_address, head->tail, head->region.capacity);
}

static int copy_journal(struct ring_view *view, uint64_t offset, struct journal_head *ret_head,
                        struct buffer *ret_entries)
{
    struct journal_head head;
    int status = file_source_read(&view->source, offset, &head, sizeof(head));

    if (status)
        return status;
    if (head.tail > head.head || head.head > head.region.capacity ||
        head.region.capacity > JOURNAL_LIMIT ||
        head.region.region_bytes < sizeof(head) + head.region.capacity)
        return fail(GAIT_ERR_FORMAT, "the journal is invalid");
    ret_entries->used = 0;
    uint8_t *bytes = buffer_reserve(ret_entries, head.head - head.tail + 1);
    if (!bytes)
        return fail(GAIT_ERR_MEMORY, "no memory for the journal");
    ret_entries->used = head.head - head.tail;
    *ret_head = head;
    return file_source_read(&view->source, offset + sizeof(head) + head.tail, bytes,
                            ret_entries->used);
}

int ring_view_journal(struct ring_view *view, uint64_t offset, struct buffer *ret_entries)
{
    struct journal_head before = {0};
    struct journal_head after;
    int status = copy_journal(view, offset, &before, ret_entries);

    if (status || !view->is_live)
        return status;
    status = file_source_read(&view->source, offset, &after, sizeof(after));
    if (!status && (after.tail != before.tail || after.head < before.head))
        ret_entries->used = 0; // what it held is in the file by now
    return status;
}

int ring_view_slots(struct ring_view *view, uint64_t offset, const struct ring_head *head,
                    uint64_t from, struct buffer *ret_slots)
{
    uint64_t capacity = head->region.capacity;
    uint64_t first = from & (capacity - 1);
    uint64_t count = ring_view_position(head) - from;
    uint64_t straight = count < capacity - first ? count : capacity - first;
    struct slot *slots;

    ret_slots->used = 0;
    if (count > capacity) // its two tails disagree
        return fail(GAIT_ERR_FORMAT, "the ring of track %" PRIu32 " holds more than fits into it",
                    head->region.track);
    slots = (struct slot *)(void *)buffer_reserve(ret_slots, capacity * sizeof(*slots));
    if (!slots)
        return fail(GAIT_ERR_MEMORY, "no memory for a ring of %" PRIu64 " slots", capacity);
    offset += sizeof(*head);
    int status = file_source_read(&view->source, offset + first * sizeof(*slots), slots + first,
                                  straight * sizeof(*slots));
    if (status || straight == count)
        return status;
    return file_source_read(&view->source, offset, slots, (count - straight) * sizeof(*slots));
}
