// SPDX-License-Identifier: Apache-2.0
// Which frames stand in a file, by hopping from header to header. The index
// chain (index_chain.c) is the quicker way for files of very many frames; both
// must give the same list.
#include "load/file/frame_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"
#include "load/file/index_chain.h"

#define WINDOW_BYTES 4096        // read at a hop: small frames stand many in it
#define SEARCH_BYTES (1u << 20)  // read at most at a time while searching for a header
#define FRAME_LIMIT (256u << 20) // 16 GiB of list: longer than any file worth it

struct hop {
    struct frame_list *list;
    struct file_source *source;
    struct damage *damage;
    uint64_t at;       // where we stand
    uint64_t bad_from; // where unreadable bytes began; == at if there are none
    uint64_t window_at;
    size_t window_used;
    uint8_t window[WINDOW_BYTES];
};

int frame_list_add(struct frame_list *list, const struct frame_header *header, uint64_t offset)
{
    return ARRAY_ADD(list->entries, list->count, list->capacity, FRAME_LIMIT,
                     &(struct frame_entry){
                         .offset = offset,
                         .sequence = header->sequence,
                         .first = header->first,
                         .last = header->last,
                         .rows = header->rows,
                         .stored_bytes = header->stored_bytes,
                         .track = header->track,
                         .events = header->events,
                         .table = header->table,
                     });
}

bool frame_entry_matches(const struct frame_entry *entry, const struct frame_header *header)
{
    return entry->sequence == header->sequence && entry->table == header->table &&
           entry->rows == header->rows && entry->stored_bytes == header->stored_bytes &&
           entry->track == header->track && entry->events == header->events &&
           entry->first == header->first && entry->last == header->last;
}

void frame_list_finish(struct frame_list *list)
{
    if (!list)
        return;
    free(list->entries);
    *list = (struct frame_list){0};
}

// The bytes at `offset` (at least `count`, which must be within the file).
static int look(struct hop *hop, uint64_t offset, size_t count, const uint8_t **ret_bytes)
{
    uint64_t rest = hop->source->bytes - offset;

    if (offset < hop->window_at || offset + count > hop->window_at + hop->window_used) {
        hop->window_used = 0;
        hop->window_at = offset;
        if (rest > WINDOW_BYTES)
            rest = WINDOW_BYTES;
        int status = file_source_read(hop->source, offset, hop->window, (size_t)rest);
        if (status)
            return status;
        hop->window_used = (size_t)rest;
    }
    *ret_bytes = hop->window + (offset - hop->window_at);
    return 0;
}

static int note(struct hop *hop, const char *what)
{
    struct damage_range range = {.path = hop->source->path,
                                 .offset = hop->bad_from,
                                 .bytes = hop->at - hop->bad_from,
                                 .what = what};

    hop->bad_from = hop->at;
    return damage_add(hop->damage, &range);
}

// Names what lies between the last intact frame and the one of `sequence`.
static int note_gap(struct hop *hop, uint64_t sequence)
{
    uint64_t missing = sequence - hop->list->next_sequence;
    char what[120];

    if (!missing && hop->bad_from == hop->at)
        return 0;
    if (!missing)
        return note(hop, "bytes between two frames belong to no frame");
    if (hop->bad_from == hop->at)
        (void)snprintf(what, sizeof(what), "%" PRIu64 " frames that stood here are missing",
                       missing);
    else
        (void)snprintf(what, sizeof(what), "unreadable: %" PRIu64 " frames stood here", missing);
    if (missing == 1)
        return note(hop, hop->bad_from == hop->at ? "a frame that stood here is missing"
                                                  : "unreadable: a frame stood here");
    return note(hop, what);
}

// Goes on to the next offset where a header reads well, or to the end. Reads
// little at first: where headers stand side by side that belong nowhere, a
// search ends at the next one, and 1 MiB for each took 88 s for 25 MB of them.
static int search(struct hop *hop)
{
    uint64_t bytes = hop->source->bytes;
    uint64_t at = hop->at + 8;
    size_t room = WINDOW_BYTES;
    uint8_t *block = malloc(SEARCH_BYTES);
    int status = 0;

    if (!block)
        return fail(GAIT_ERR_MEMORY, "no memory to search '%s'", hop->source->path);
    hop->at = bytes;
    while (at + FRAME_HEADER_BYTES <= bytes) {
        size_t count = bytes - at < room ? (size_t)(bytes - at) : room;

        status = file_source_read(hop->source, at, block, count);
        if (status)
            break;
        size_t found = frame_find(block, count, 0);
        if (found + FRAME_HEADER_BYTES <= count) {
            hop->at = at + found;
            break;
        }
        if (at + count == bytes)
            break;
        at += count - FRAME_HEADER_BYTES; // stays a multiple of 8
        room = room < SEARCH_BYTES ? 4 * room : room;
    }
    free(block);
    return status;
}

static int hop_once(struct hop *hop)
{
    struct frame_header header;
    const uint8_t *bytes;
    int status = look(hop, hop->at, FRAME_HEADER_BYTES, &bytes);

    if (status)
        return status;
    if (frame_header_read(bytes, &header))
        return search(hop);
    uint64_t end = hop->at + FRAME_HEADER_BYTES + header.stored_bytes;
    if (end > hop->source->bytes || header.sequence < hop->list->next_sequence)
        return search(hop);
    status = note_gap(hop, header.sequence);
    if (status)
        return status;
    status = frame_list_add(hop->list, &header, hop->at);
    if (status)
        return status;
    hop->list->next_sequence = header.sequence + 1;
    hop->list->end = end;
    hop->at = hop->bad_from = end;
    return 0;
}

// What follows the last frame: the trailer, nothing, or the start of a frame
// that was never finished.
static int finish_hop(struct hop *hop)
{
    uint64_t bytes = hop->source->bytes;
    struct frame_trailer trailer;
    const uint8_t *tail;
    bool has_trailer = false;

    if (bytes >= FRAME_TRAILER_BYTES && bytes - FRAME_TRAILER_BYTES >= hop->bad_from) {
        int status = look(hop, bytes - FRAME_TRAILER_BYTES, FRAME_TRAILER_BYTES, &tail);
        if (status)
            return status;
        has_trailer = !frame_trailer_read(tail, &trailer);
    }
    hop->at = has_trailer ? bytes - FRAME_TRAILER_BYTES : bytes;
    hop->list->has_trailer = has_trailer;
    if (has_trailer && trailer.frame_count > hop->list->next_sequence)
        return note_gap(hop, trailer.frame_count);
    if (hop->bad_from == hop->at)
        return 0;
    return note(hop, "the bytes at the end are not a complete frame");
}

int frame_list_hop(struct frame_list *list, struct file_source *source, struct damage *damage)
{
    struct hop hop = {.list = list, .source = source, .damage = damage};
    int status = 0;

    *list = (struct frame_list){0};
    while (!status && source->bytes - hop.at >= FRAME_HEADER_BYTES)
        status = hop_once(&hop);
    if (!status)
        status = finish_hop(&hop);
    if (status) {
        frame_list_finish(list);
        return status;
    }
    fail_clear(); // damage was met and noted: no story is left to tell
    return 0;
}

int frame_list_load(struct frame_list *list, struct file_source *source, struct damage *damage)
{
    int status = index_chain_load(list, source);

    if (status != GAIT_ERR_FORMAT && status != GAIT_ERR_IO)
        return status;
    return frame_list_hop(list, source, damage);
}
