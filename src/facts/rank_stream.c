// SPDX-License-Identifier: Apache-2.0
// A span stands in the frame in which it ended, so frames of a track overlap in time. They
// are begun in order of their first row, until enough rows wait; whatever starts before the
// first row of the next frame is whole then, and is the slice. On 38 traces at most 20 frames
// were begun at a time.
#include "facts/rank_stream.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/invariant.h"
#include "facts/run_merge.h"
#include "load/arg_keys.h"
#include "load/order/event_frame.h"
#include "load/pass/pass.h"
#include "load/shard/open_events.h"
#include "load/shard_owner.h"

// A slice costs a look at each frame that is open: of many that wait for long, such as two spans
// of each of 20,000 threads, a slice begins a 64th. 16 frames that were looked at have 16 MB at
// most.
enum { SLICE_ROWS = 1 << 13, MOST_FRAMES = 1 << 28, MOST_ROWS = 1 << 30, MOST_SEEN = 16 };
enum { FRAMES_A_SLICE = 64 };

struct stream_frame { // one that was not begun yet
    int64_t first_ns;
    uint32_t shard, frame, track;
};

struct stream_piece { // a decoded frame, or rows that were open when the recording ended
    struct event_frame frame;
    const struct open_event *open;
    uint32_t track, shard;
    uint32_t number;      // of the frame in its shard
    size_t at, end, rows; // rows [at, end) stand in the slice
};

struct fact_pieces {
    struct stream_piece **pieces;
    size_t count, capacity;
};

struct rank_stream {
    struct gait_trace *trace;
    struct stream_wish wish; // slice_rows: a frame is begun as long as fewer wait
    struct stream_frame *frames;
    size_t count, capacity, next;
    struct fact_pieces open, spare, seen; // seen: decoded, and not begun
    size_t rows_open;
    int64_t head_ns;  // no row that waits starts before
    int64_t since_ns; // the end of the slice before
    bool is_over;
    struct event_decoder decoder;
    struct fact_row *rows, *room;
    size_t row_capacity, room_capacity;
    size_t *ends;
    size_t end_capacity;
    struct fact_rows *tracks;
    size_t track_capacity;
};

// --- which frames ------------------------------------------------------------------------

static bool is_wanted(const struct rank_stream *stream, const struct run_shard *shard, size_t at,
                      uint32_t *ret_track)
{
    const struct frame_entry *entry = &shard->shard.list.entries[at];
    const struct event_table *table = event_table_of(entry->table);
    if (!table || table->kind != GAIT_KIND_SPAN || !shard_has_frame(&shard->shard, at))
        return false;
    *ret_track = id_map_get(&shard->dictionary.tracks, entry->track) - 1;
    const struct track *track = &stream->trace->run.tracks.tracks[*ret_track];
    return (stream->wish.has_internal || !track->info.internal) &&
           clock_map_ns(track->map, entry->last) >= stream->wish.since_ns &&
           clock_map_ns(track->map, entry->first) < stream->wish.until_ns;
}

static int add_frames(struct rank_stream *stream, uint32_t number)
{
    const struct run_shard *shard = stream->trace->run.shards[number];
    const struct frame_list *list = &shard->shard.list;
    int status = GAIT_OK;
    for (size_t i = 0; i < list->count && !status; i++) {
        uint32_t track;
        if (!is_wanted(stream, shard, i, &track))
            continue;
        status = ARRAY_RESERVE(stream->frames, stream->capacity, stream->count + 1, MOST_FRAMES);
        if (!status)
            stream->frames[stream->count++] = (struct stream_frame){
                .first_ns = clock_map_ns(stream->trace->run.tracks.tracks[track].map,
                                         list->entries[i].first),
                .shard = number,
                .frame = (uint32_t)i,
                .track = track};
    }
    return status;
}

static int by_first(const void *left, const void *right)
{
    const struct stream_frame *a = left, *b = right;
    RETURN_IF_APART(a->first_ns, b->first_ns);
    RETURN_IF_APART(a->shard, b->shard);
    return a->frame < b->frame ? -1 : a->frame > b->frame;
}

// --- pieces -------------------------------------------------------------------------------

static int add_piece(struct fact_pieces *pieces, struct stream_piece *piece)
{
    int status = ARRAY_RESERVE(pieces->pieces, pieces->capacity, pieces->count + 1, MOST_FRAMES);
    if (!status)
        pieces->pieces[pieces->count++] = piece;
    return status;
}

static void free_piece(struct stream_piece *piece)
{
    event_frame_finish(&piece->frame);
    free(piece);
}

static int take_piece(struct rank_stream *stream, struct stream_piece **ret_piece)
{
    struct stream_piece *piece;
    if (stream->spare.count)
        piece = stream->spare.pieces[--stream->spare.count];
    else {
        piece = calloc(1, sizeof *piece);
        if (!piece)
            return fail(GAIT_ERR_MEMORY, "no memory for a frame");
        event_frame_init(&piece->frame);
    }
    piece->open = NULL;
    piece->at = piece->end = 0;
    *ret_piece = piece;
    return GAIT_OK;
}

// A piece that is not kept is freed.
static int put_piece(struct fact_pieces *pieces, struct stream_piece *piece)
{
    const int status = add_piece(pieces, piece);
    if (status)
        free_piece(piece);
    return status;
}

static int64_t start_of(const struct stream_piece *piece, size_t row)
{
    return piece->open ? piece->open[row].start_ns : piece->frame.start_ns[row];
}

static int begin_rows(struct rank_stream *stream, struct stream_piece *piece)
{
    const int64_t start_ns = start_of(piece, 0);
    stream->head_ns = start_ns < stream->head_ns ? start_ns : stream->head_ns;
    stream->rows_open += piece->rows;
    return put_piece(&stream->open, piece);
}

// --- what was still open --------------------------------------------------------------------

static int add_open(struct rank_stream *stream, uint32_t number)
{
    const struct run *run = &stream->trace->run;
    const struct open_events *open = &run->shards[number]->open;
    int status = GAIT_OK;
    for (size_t i = 0, end; i < open->count && !status; i = end) {
        const struct open_event *event = &open->events[i];
        struct stream_piece *piece;
        end = open_events_group(open, i);
        if (event->is_step ||
            (!stream->wish.has_internal && run->tracks.tracks[event->track].info.internal))
            continue;
        status = take_piece(stream, &piece);
        if (status)
            break;
        piece->open = event;
        piece->track = event->track;
        piece->shard = number;
        piece->rows = end - i;
        status = begin_rows(stream, piece);
    }
    return status;
}

static int add_shard(struct rank_stream *stream, uint32_t shard)
{
    const int status = add_frames(stream, shard);
    return status ? status : add_open(stream, shard);
}

static int add_shards(struct rank_stream *stream, uint32_t shard)
{
    const struct run *run = &stream->trace->run;
    int status = add_shard(stream, shard);
    for (uint32_t i = shard_owned_first(run, shard); !status && i != RUN_NO_SHARD;
         i = shard_owned_next(run, i))
        status = add_shard(stream, i);
    ARRAY_SORT(stream->frames, stream->count, by_first);
    return status;
}

int rank_stream_open(struct rank_stream **ret_stream, struct gait_trace *trace, uint32_t shard,
                     const struct stream_wish *wish)
{
    struct rank_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return fail(GAIT_ERR_MEMORY, "no memory for the rows of a rank");
    *stream = (struct rank_stream){
        .trace = trace, .wish = *wish, .head_ns = INT64_MAX, .since_ns = INT64_MIN};
    if (!wish->since_ns && !wish->until_ns) {
        stream->wish.since_ns = INT64_MIN;
        stream->wish.until_ns = INT64_MAX;
    }
    if (!wish->slice_rows)
        stream->wish.slice_rows = SLICE_ROWS;
    int status = event_decoder_init(&stream->decoder);
    if (!status)
        status = add_shards(stream, shard);
    if (status)
        rank_stream_close(stream);
    else
        *ret_stream = stream;
    return status;
}

void rank_stream_close(struct rank_stream *stream)
{
    if (!stream)
        return;
    struct fact_pieces *all[] = {&stream->open, &stream->spare, &stream->seen};
    for (unsigned list = 0; list < sizeof all / sizeof all[0]; list++) {
        for (size_t i = 0; i < all[list]->count; i++)
            free_piece(all[list]->pieces[i]);
        free(all[list]->pieces);
    }
    event_decoder_finish(&stream->decoder);
    free(stream->frames);
    free(stream->rows);
    free(stream->room);
    free(stream->ends);
    free(stream->tracks);
    free(stream);
}

// --- the next slice -------------------------------------------------------------------------

static uint32_t roles_of(const struct rank_stream *stream)
{
    uint32_t roles =
        ROLE_BIT(ROLE_START) | ROLE_BIT(ROLE_DURATION) | ROLE_BIT(ROLE_SITE) | ROLE_BIT(ROLE_DEPTH);
    if (stream->wish.columns & FACT_LINKS)
        roles |= ROLE_BIT(ROLE_LINK);
    if (stream->wish.columns & FACT_ARGS)
        roles |= ROLE_BIT(ROLE_BYTES) | ROLES_FOREIGN;
    return stream->wish.tap ? roles | stream->wish.tap->roles : roles;
}

static int decode(struct rank_stream *stream, struct stream_piece *piece)
{
    struct run *run = &stream->trace->run;
    const struct event_ask ask = {.shard = run->shards[piece->shard],
                                  .tracks = &run->tracks,
                                  .frame = piece->number,
                                  .roles = roles_of(stream),
                                  .parents_first = true};
    return event_frame_decode(&piece->frame, &stream->decoder, &ask);
}

static int take_decoded(struct rank_stream *stream, uint32_t shard, uint32_t number,
                        struct stream_piece **ret_piece)
{
    struct fact_pieces *seen = &stream->seen;
    for (size_t i = 0; i < seen->count; i++) {
        struct stream_piece *piece = seen->pieces[i];
        if (piece->shard != shard || piece->number != number)
            continue;
        seen->pieces[i] = seen->pieces[--seen->count];
        *ret_piece = piece;
        return GAIT_OK;
    }
    int status = take_piece(stream, ret_piece);
    if (status)
        return status;
    (*ret_piece)->shard = shard;
    (*ret_piece)->number = number;
    status = decode(stream, *ret_piece);
    if (!status)
        return GAIT_OK;
    const int kept = put_piece(&stream->spare, *ret_piece);
    return kept ? kept : status;
}

int rank_stream_look(struct rank_stream *stream, uint32_t shard, size_t frame,
                     const struct event_frame **ret_frame)
{
    struct stream_piece *piece;
    int status = take_decoded(stream, shard, (uint32_t)frame, &piece);
    if (status)
        return status;
    *ret_frame = &piece->frame;
    return put_piece(stream->seen.count < MOST_SEEN ? &stream->seen : &stream->spare, piece);
}

static int begin_frame(struct rank_stream *stream, const struct stream_frame *due)
{
    struct stream_piece *piece;
    const int status = take_decoded(stream, due->shard, due->frame, &piece);
    if (status)
        return status == GAIT_ERR_FORMAT ? GAIT_OK : status;
    piece->track = due->track;
    piece->rows = piece->frame.rows;
    const struct pass_tap *tap = stream->wish.tap;
    const int shown = tap ? tap->show(tap->context, due->shard, &piece->frame) : GAIT_OK;
    if (!shown && piece->rows)
        return begin_rows(stream, piece);
    const int kept = put_piece(&stream->spare, piece);
    return shown ? shown : kept;
}

static int begin_due(struct rank_stream *stream, int64_t *ret_until_ns)
{
    const size_t before = stream->next;
    int status = GAIT_OK;
    *ret_until_ns = INT64_MAX;
    while (!status && stream->next < stream->count) {
        const struct stream_frame *due = &stream->frames[stream->next];
        const bool is_enough = stream->rows_open >= stream->wish.slice_rows &&
                               (stream->next - before) * FRAMES_A_SLICE >= stream->open.count;
        if (is_enough && due->first_ns > stream->head_ns) {
            *ret_until_ns = due->first_ns;
            break;
        }
        stream->next++;
        status = begin_frame(stream, due);
    }
    return status;
}

// What the slice before held is over.
static int drop_pieces(struct rank_stream *stream)
{
    size_t kept = 0;
    int status = GAIT_OK;
    stream->head_ns = INT64_MAX;
    for (size_t i = 0; i < stream->open.count; i++) {
        struct stream_piece *piece = stream->open.pieces[i];
        stream->rows_open -= piece->end - piece->at;
        piece->at = piece->end;
        if (piece->at == piece->rows) {
            const int put = put_piece(&stream->spare, piece);
            status = status ? status : put;
            continue;
        }
        const int64_t start_ns = start_of(piece, piece->at);
        stream->head_ns = start_ns < stream->head_ns ? start_ns : stream->head_ns;
        stream->open.pieces[kept++] = piece;
    }
    stream->open.count = kept;
    return status;
}

// The place of the first row that starts then or later.
static size_t end_of(const struct stream_piece *piece, int64_t until_ns)
{
    size_t low = piece->at, high = piece->rows;
    if (until_ns == INT64_MAX)
        return high;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (start_of(piece, middle) < until_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t end_ns_of(const struct event_frame *frame, size_t row)
{
    int64_t end_ns;
    return frame->duration_ns[row] < 0 ||
                   __builtin_add_overflow(frame->start_ns[row], frame->duration_ns[row], &end_ns)
               ? FACT_OPEN
               : end_ns;
}

static void fill_frame(struct fact_row *to, const struct stream_piece *piece, uint32_t number)
{
    const struct event_frame *frame = &piece->frame;
    const uint64_t *sites = frame->numbers[ROLE_SITE], *links = frame->numbers[ROLE_LINK],
                   *depths = frame->numbers[ROLE_DEPTH];
    for (size_t i = piece->at; i < piece->end; i++)
        *to++ = (struct fact_row){.start_ns = frame->start_ns[i],
                                  .end_ns = end_ns_of(frame, i),
                                  .link = links ? links[i] : 0,
                                  .site = (uint32_t)sites[i],
                                  .depth = depths ? (uint32_t)depths[i] : 0,
                                  .piece = number,
                                  .place = (uint32_t)i};
}

static void fill_open(struct fact_row *to, const struct stream_piece *piece, uint32_t number)
{
    for (size_t i = piece->at; i < piece->end; i++)
        *to++ = (struct fact_row){.start_ns = piece->open[i].start_ns,
                                  .end_ns = FACT_OPEN,
                                  .site = piece->open[i].site,
                                  .depth = piece->open[i].depth,
                                  .piece = number,
                                  .place = (uint32_t)i};
}

static int by_track(const void *left, const void *right)
{
    const struct stream_piece *a = *(struct stream_piece *const *)left,
                              *b = *(struct stream_piece *const *)right;
    RETURN_IF_APART(a->track, b->track);
    if (!a->open != !b->open) // what never ended is around the rest
        return a->open ? -1 : 1;
    const int64_t start_a = start_of(a, a->at), start_b = start_of(b, b->at);
    return start_a < start_b ? -1 : start_a > start_b;
}

static int reserve_slice(struct rank_stream *stream, size_t rows)
{
    const size_t pieces = stream->open.count;
    int status = ARRAY_RESERVE(stream->rows, stream->row_capacity, rows + 1, MOST_ROWS);
    if (!status)
        status = ARRAY_RESERVE(stream->ends, stream->end_capacity, pieces + 1, MOST_FRAMES);
    return status ? status
                  : ARRAY_RESERVE(stream->tracks, stream->track_capacity, pieces + 1, MOST_FRAMES);
}

// The rows of a track, whose pieces stand together from `*at` on, which moves behind them.
static int fill_track(struct rank_stream *stream, size_t *at, struct fact_row *rows,
                      struct fact_rows *track)
{
    struct stream_piece *const *pieces = stream->open.pieces;
    const size_t first = *at;
    size_t runs = 0, i = first;
    *track = (struct fact_rows){pieces[first]->track, pieces[first]->shard, rows, 0};
    for (; i < stream->open.count && pieces[i]->track == pieces[first]->track; i++) {
        (pieces[i]->open ? fill_open : fill_frame)(&rows[track->count], pieces[i], (uint32_t)i);
        track->count += pieces[i]->end - pieces[i]->at;
        stream->ends[runs++] = track->count;
    }
    *at = i;
    if (runs == 1)
        return GAIT_OK;
    const int status =
        ARRAY_RESERVE(stream->room, stream->room_capacity, track->count + 1, MOST_ROWS);
    if (!status)
        run_merge(rows, stream->room, stream->ends, runs);
    return status;
}

static bool is_in_order(const struct fact_rows *track, const struct fact_slice *slice,
                        int64_t since_ns)
{
    for (size_t i = 0; i < track->count; i++) {
        const struct fact_row *row = &track->rows[i];
        if (row->start_ns < (i ? track->rows[i - 1].start_ns : since_ns) ||
            (slice->until_ns != INT64_MAX && row->start_ns >= slice->until_ns) ||
            row->end_ns < row->start_ns)
            return false;
    }
    return true;
}

static int fill_slice(struct rank_stream *stream, struct fact_slice *slice)
{
    size_t rows = 0, filled = 0;
    for (size_t i = 0; i < stream->open.count; i++) {
        struct stream_piece *piece = stream->open.pieces[i];
        piece->end = end_of(piece, slice->until_ns);
        rows += piece->end - piece->at;
    }
    int status = reserve_slice(stream, rows);
    if (status)
        return status;
    ARRAY_SORT(stream->open.pieces, stream->open.count, by_track);
    slice->tracks = stream->tracks;
    for (size_t i = 0; i < stream->open.count;) {
        struct fact_rows *track = &stream->tracks[slice->count];
        status = fill_track(stream, &i, stream->rows + filled, track);
        if (status)
            return status;
        GAIT_ASSERT(is_in_order(track, slice, stream->since_ns));
        filled += track->count;
        slice->count += track->count > 0;
    }
    GAIT_ASSERT(filled == rows);
    slice->pieces = &stream->open;
    return GAIT_OK;
}

int rank_stream_next(struct rank_stream *stream, struct fact_slice *ret_slice)
{
    struct fact_slice slice = {.trace = stream->trace};
    if (stream->is_over)
        return 0;
    int status = drop_pieces(stream);
    if (!status)
        status = begin_due(stream, &slice.until_ns);
    if (!status)
        status = fill_slice(stream, &slice);
    stream->is_over = slice.until_ns == INT64_MAX;
    stream->since_ns = slice.until_ns;
    *ret_slice = slice;
    return status ? status : 1;
}

uint32_t fact_frame(const struct fact_slice *slice, const struct fact_row *row)
{
    const struct stream_piece *piece = slice->pieces->pieces[row->piece];
    return piece->open ? FACT_NO_FRAME : piece->number;
}

// --- arguments -------------------------------------------------------------------------------

static const struct dictionary *source_of(const struct fact_slice *slice,
                                          const struct fact_row *row, struct arg_source *source,
                                          uint64_t *ret_form)
{
    const struct stream_piece *piece = slice->pieces->pieces[row->piece];
    const struct dictionary *dictionary = &slice->trace->run.shards[piece->shard]->dictionary;
    const struct event_frame *frame = &piece->frame;
    *source = (struct arg_source){.row = row->place};
    *ret_form = 0;
    if (piece->open)
        source->packed = piece->open[row->place].args;
    else if (frame->has_bytes)
        source->packed = frame->bytes[row->place];
    if (!piece->open && frame->numbers[ROLE_FORM]) {
        *ret_form = frame->numbers[ROLE_FORM][row->place];
        source->form = dictionary_form(dictionary, *ret_form).args;
        source->columns = &frame->numbers[ROLE_LINK];
    }
    return dictionary;
}

int fact_args(const struct fact_slice *slice, const struct fact_row *row, struct arg_keys *keys,
              struct gait_arg *ret_args)
{
    struct arg_source source;
    uint64_t form;
    const struct dictionary *dictionary = source_of(slice, row, &source, &form);
    return arg_keys_read(keys, dictionary, form, &source, ret_args);
}

int fact_arg_list(const struct fact_slice *slice, const struct fact_row *row, struct arg_list *list)
{
    struct arg_source source;
    uint64_t form;
    const struct dictionary *dictionary = source_of(slice, row, &source, &form);
    const int status = arg_list_unpack(list, &source, dictionary);
    return status == GAIT_ERR_FORMAT ? GAIT_OK : status; // what stands in front of nonsense
}
