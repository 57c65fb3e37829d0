// SPDX-License-Identifier: Apache-2.0
// Decodes one frame of events. Columns share one piece of memory that only
// grows, so that frame after frame costs no allocation.
#include "load/order/event_frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define CELL_LIMIT ((size_t)(ROLE_NUMBERS + 2) * FRAME_MAX_ROWS)
#define FRAME_BYTES_LIMIT (FRAME_MAX_PAYLOAD + 2 * FRAME_HEADER_BYTES)
#define TEXT_LIMIT (FRAME_MAX_RAW + 64)
#define BLOCK_ROWS 1024 // converted while they are in the first cache

struct time_columns {
    int64_t *starts, *durations;
};

int event_decoder_init(struct event_decoder *decoder)
{
    memset(decoder, 0, sizeof(*decoder));
    buffer_init(&decoder->payload, FRAME_BYTES_LIMIT);
    return table_reader_init(&decoder->reader);
}

void event_decoder_finish(struct event_decoder *decoder)
{
    if (!decoder)
        return;
    table_reader_finish(&decoder->reader);
    buffer_finish(&decoder->payload);
    free(decoder->order);
    free(decoder->moved);
}

void event_frame_init(struct event_frame *frame)
{
    memset(frame, 0, sizeof(*frame));
    buffer_init(&frame->text, TEXT_LIMIT);
}

void event_frame_finish(struct event_frame *frame)
{
    if (!frame)
        return;
    buffer_finish(&frame->text);
    free(frame->cells);
    free(frame->bytes);
    frame->cells = NULL;
    frame->bytes = NULL;
    frame->cell_capacity = frame->slice_capacity = 0;
}

size_t event_frame_bytes(const struct event_frame *frame)
{
    return frame->cell_capacity * sizeof(*frame->cells) +
           frame->slice_capacity * sizeof(*frame->bytes) + frame->text.capacity;
}

// Columns that hold something, times in nanoseconds included.
static size_t count_columns(const struct event_frame *frame)
{
    size_t count = (frame->start_ns != NULL) + (frame->duration_ns != NULL);

    for (int role = 0; role < ROLE_NUMBERS; role++)
        count += frame->numbers[role] != NULL;
    return count;
}

size_t event_frame_needs(const struct event_frame *frame)
{
    size_t row_bytes = count_columns(frame) * sizeof(*frame->cells) +
                       (frame->has_bytes ? sizeof(*frame->bytes) : 0);

    return frame->rows * row_bytes + (frame->has_bytes ? frame->text.used : 0);
}

static uint64_t *copy_cells(uint64_t **next, const void *column, size_t first, size_t count)
{
    uint64_t *copy = *next;

    if (!column)
        return NULL;
    memcpy(copy, (const uint64_t *)column + first, count * sizeof(*copy));
    *next += count;
    return copy;
}

static int copy_bytes(struct event_frame *frame, const struct event_frame *from, size_t first,
                      size_t count)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++)
        used += from->bytes[first + i].count;
    frame->bytes = malloc((count + 1) * sizeof(*frame->bytes));
    uint8_t *text = buffer_reserve(&frame->text, used + 1);
    if (!frame->bytes || !text)
        return fail(GAIT_ERR_MEMORY, "no memory for the texts of %zu rows", count);
    frame->slice_capacity = count;
    for (size_t i = 0; i < count; i++) {
        struct slice slice = from->bytes[first + i];

        if (slice.count)
            memcpy(text, slice.bytes, slice.count);
        frame->bytes[i] = (struct slice){text, slice.count};
        text += slice.count;
    }
    frame->text.used = used;
    return 0;
}

int event_frame_copy_rows(struct event_frame *frame, const struct event_frame *from, size_t first,
                          size_t count)
{
    size_t cells = count * count_columns(from);

    event_frame_finish(frame);
    event_frame_init(frame);
    frame->cells = malloc((cells ? cells : 1) * sizeof(*frame->cells));
    if (!frame->cells)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu rows", count);
    frame->cell_capacity = cells ? cells : 1;
    uint64_t *next = frame->cells;
    for (int role = 0; role < ROLE_NUMBERS; role++)
        frame->numbers[role] = copy_cells(&next, from->numbers[role], first, count);
    frame->start_ns = (int64_t *)copy_cells(&next, from->start_ns, first, count);
    frame->duration_ns = (int64_t *)copy_cells(&next, from->duration_ns, first, count);
    frame->table = from->table;
    frame->track = from->track;
    frame->all_rows = from->all_rows;
    frame->first_row = from->first_row + first;
    frame->rows = count;
    frame->has_bytes = from->has_bytes;
    return frame->has_bytes && count ? copy_bytes(frame, from, first, count) : 0;
}

static bool is_asked(const struct event_frame *frame, const struct event_ask *ask,
                     enum event_role role)
{
    return ask->roles & ROLE_BIT(role) && event_table_column(frame->table, role);
}

// Where a part stands in the frame, or SCHEMA_MAP_ABSENT.
static uint8_t place_of(const struct event_frame *frame, const struct event_decoder *decoder,
                        const struct event_ask *ask, enum event_role role)
{
    const struct schema_map *schema = &ask->shard->dictionary.schema;

    return schema->places[decoder->view.header.table][event_table_column(frame->table, role) - 1];
}

// Most frames have no column of a foreign trace: those are given no room.
static bool is_placed(const struct event_frame *frame, const struct event_decoder *decoder,
                      const struct event_ask *ask, enum event_role role)
{
    if (!is_asked(frame, ask, role))
        return false;
    if (role < ROLE_LINK || role > ROLE_FORM)
        return true;
    const uint8_t place = place_of(frame, decoder, ask, role);
    return place != SCHEMA_MAP_ABSENT && decoder->view.columns[place].present;
}

// Gives every column that is asked for its place in the cells.
static int place_columns(struct event_frame *frame, const struct event_decoder *decoder,
                         const struct event_ask *ask)
{
    size_t used = 2 * frame->rows;

    for (int role = 0; role < ROLE_NUMBERS; role++)
        used += is_placed(frame, decoder, ask, role) ? frame->rows : 0;
    int status = ARRAY_RESERVE(frame->cells, frame->cell_capacity, used ? used : 1, CELL_LIMIT);
    frame->has_bytes = is_asked(frame, ask, ROLE_BYTES);
    // at least one: a frame may have no rows, memset() wants a place
    if (!status && frame->has_bytes)
        status = ARRAY_RESERVE(frame->bytes, frame->slice_capacity, frame->rows ? frame->rows : 1,
                               FRAME_MAX_ROWS);
    if (status)
        return status;
    used = 0;
    for (int role = 0; role < ROLE_NUMBERS; role++) {
        const bool is_there = is_placed(frame, decoder, ask, role);
        frame->numbers[role] = is_there ? frame->cells + used : NULL;
        used += is_there ? frame->rows : 0;
    }
    frame->start_ns = is_asked(frame, ask, ROLE_START) ? (int64_t *)(frame->cells + used) : NULL;
    frame->duration_ns =
        is_asked(frame, ask, ROLE_DURATION) ? (int64_t *)(frame->cells + used + frame->rows) : NULL;
    return 0;
}

static int read_numbers(struct event_frame *frame, struct event_decoder *decoder,
                        const struct event_ask *ask, enum event_role role)
{
    const uint8_t place = place_of(frame, decoder, ask, role);

    if (place != SCHEMA_MAP_ABSENT)
        return table_read(&decoder->reader, &decoder->view, place, frame->numbers[role]);
    memset(frame->numbers[role], 0, frame->rows * sizeof(uint64_t));
    return 0;
}

static int read_columns(struct event_frame *frame, struct event_decoder *decoder,
                        const struct event_ask *ask)
{
    int status = 0;

    for (int role = 0; !status && role < ROLE_NUMBERS; role++)
        if (frame->numbers[role])
            status = read_numbers(frame, decoder, ask, role);
    if (status || !frame->has_bytes)
        return status;
    uint8_t place = place_of(frame, decoder, ask, ROLE_BYTES);
    if (place != SCHEMA_MAP_ABSENT)
        return table_read_bytes(&decoder->reader, &decoder->view, place, &frame->text,
                                frame->bytes);
    memset(frame->bytes, 0, frame->rows * sizeof(*frame->bytes));
    return 0;
}

static bool is_sorted(const uint64_t *starts, size_t rows)
{
    uint64_t wrong = 0;

    for (size_t i = 1; i < rows; i++) // no early way out: this way it is vectorised
        wrong |= starts[i] < starts[i - 1];
    return !wrong;
}

static bool are_parents_first(const uint64_t *starts, const uint64_t *depths, size_t rows)
{
    uint64_t wrong = 0;

    for (size_t i = 1; i < rows; i++)
        wrong |= (uint64_t)(starts[i] == starts[i - 1]) & (uint64_t)(depths[i] < depths[i - 1]);
    return !wrong;
}

struct sort_key {
    uint64_t start;
    uint32_t depth, row;
};

static int compare_keys(const void *left, const void *right)
{
    const struct sort_key *a = left;
    const struct sort_key *b = right;

    RETURN_IF_APART(a->start, b->start);
    RETURN_IF_APART(a->depth, b->depth);
    return a->row < b->row ? -1 : a->row > b->row;
}

static int find_order(const struct event_frame *frame, struct event_decoder *decoder,
                      const uint64_t *depths)
{
    struct array_shape keys = {sizeof(struct sort_key), FRAME_MAX_ROWS};
    int status = array_reserve(&decoder->moved, &decoder->moved_capacity, frame->rows, keys);

    if (!status)
        status =
            ARRAY_RESERVE(decoder->order, decoder->order_capacity, frame->rows, FRAME_MAX_ROWS);
    if (status)
        return status;
    struct sort_key *key = decoder->moved;
    for (size_t i = 0; i < frame->rows; i++)
        key[i] = (struct sort_key){.start = frame->numbers[ROLE_START][i],
                                   .depth = depths ? (uint32_t)depths[i] : 0,
                                   .row = (uint32_t)i};
    qsort(key, frame->rows, sizeof(*key), compare_keys);
    for (size_t i = 0; i < frame->rows; i++)
        decoder->order[i] = key[i].row;
    return 0;
}

// Brings all columns into order of start, and of depth if there are depths. The
// keys' memory serves for the columns too: a key is as large as the largest cell.
static int sort_rows(struct event_frame *frame, struct event_decoder *decoder,
                     const uint64_t *depths)
{
    int status = find_order(frame, decoder, depths);
    uint64_t *numbers = decoder->moved;
    struct slice *slices = decoder->moved;

    if (status)
        return status;
    for (int role = 0; role < ROLE_NUMBERS; role++) {
        if (!frame->numbers[role])
            continue;
        for (size_t i = 0; i < frame->rows; i++)
            numbers[i] = frame->numbers[role][decoder->order[i]];
        memcpy(frame->numbers[role], numbers, frame->rows * sizeof(*numbers));
    }
    if (!frame->has_bytes)
        return 0;
    for (size_t i = 0; i < frame->rows; i++)
        slices[i] = frame->bytes[decoder->order[i]];
    memcpy(frame->bytes, slices, frame->rows * sizeof(*slices));
    return 0;
}

static void convert_block(const struct clock_map *map, const uint64_t *starts,
                          const uint64_t *durations, size_t rows, struct time_columns *ret)
{
    uint64_t ends[BLOCK_ROWS];

    clock_map_column(map, starts, rows, ret->starts);
    if (!durations)
        return;
    for (size_t i = 0; i < rows; i++) { // past the last tick there is no time
        const uint64_t end = starts[i] + durations[i];
        ends[i] = end | -(uint64_t)(end < starts[i]);
    }
    clock_map_column(map, ends, rows, (int64_t *)ends);
    for (size_t i = 0; i < rows; i++) {
        const uint64_t length = ends[i] - (uint64_t)ret->starts[i];
        ret->durations[i] = length > INT64_MAX ? INT64_MAX : (int64_t)length;
    }
}

// In blocks that stay in the first cache.
static void convert_times(struct event_frame *frame, const struct clock_map *map)
{
    const uint64_t *starts = frame->numbers[ROLE_START];
    const uint64_t *durations = frame->numbers[ROLE_DURATION];
    const size_t rows = frame->rows;

    for (size_t row = 0; starts && row < rows; row += BLOCK_ROWS) {
        struct time_columns to = {frame->start_ns + row, NULL};
        if (durations)
            to.durations = frame->duration_ns + row;
        convert_block(map, starts + row, durations ? durations + row : NULL,
                      rows - row < BLOCK_ROWS ? rows - row : BLOCK_ROWS, &to);
    }
}

// Nearly all ids stand on the first page of the map.
static void number_ids(uint64_t *ids, size_t rows, const struct id_map *map, uint32_t lost)
{
    const uint32_t *page = map->page_count ? map->pages[0] : NULL;

    for (size_t i = 0; i < rows; i++) {
        uint32_t number = page && ids[i] < ID_MAP_PAGE ? page[ids[i]] : id_map_get(map, ids[i]);

        ids[i] = number ? number - 1 : ids[i] ? lost : 0;
    }
}

static void number_sites(struct event_frame *frame, const struct dictionary *dictionary)
{
    const struct id_map *map =
        frame->table->site_is_stack ? &dictionary->stacks : &dictionary->sites;

    if (frame->numbers[ROLE_SITE])
        number_ids(frame->numbers[ROLE_SITE], frame->rows, map, dictionary->lost_site);
}

static int decode(struct event_frame *frame, struct event_decoder *decoder,
                  const struct event_ask *ask)
{
    int status = place_columns(frame, decoder, ask);

    if (!status)
        status = read_columns(frame, decoder, ask);
    if (!status && frame->rows && frame->start_ns) {
        const uint64_t *starts = frame->numbers[ROLE_START];
        const uint64_t *depths = ask->parents_first ? frame->numbers[ROLE_DEPTH] : NULL;

        if (!is_sorted(starts, frame->rows) ||
            (depths && !are_parents_first(starts, depths, frame->rows)))
            status = sort_rows(frame, decoder, depths);
        // the merge relies on it
        if (!status && frame->numbers[ROLE_START][0] < decoder->view.header.first)
            status = fail(GAIT_ERR_FORMAT, "rows begin before the start time in the header");
    }
    return status;
}

int event_frame_decode(struct event_frame *frame, struct event_decoder *decoder,
                       const struct event_ask *ask)
{
    struct shard *shard = &ask->shard->shard;
    const struct dictionary *dictionary = &ask->shard->dictionary;
    struct frame_entry *entry = &shard->list.entries[ask->frame];

    entry->decodes += entry->decodes < UINT8_MAX;
    frame->rows = 0;
    frame->table = event_table_of(entry->table);
    if (!frame->table)
        return fail(GAIT_ERR_ARGUMENT, "table %u holds no events", entry->table);
    frame->track = id_map_get(&dictionary->tracks, entry->track) - 1; // known since opening
    int status = shard_read(shard, ask->frame, &decoder->payload, &decoder->view);
    if (status)
        return status;
    frame->rows = frame->all_rows = decoder->view.header.rows;
    frame->first_row = 0;
    status = decode(frame, decoder, ask);
    if (status && status != GAIT_ERR_MEMORY)
        status = shard_reject(shard, ask->frame, fail_text());
    if (status) {
        frame->rows = 0;
        return status;
    }
    convert_times(frame, ask->tracks->tracks[frame->track].map);
    number_sites(frame, dictionary);
    return 0;
}
