// SPDX-License-Identifier: Apache-2.0
// The builder against a plain model: random rings, taken and flushed in random
// portions, must give the rows a simple stack gives over the whole.
#include "format/args.h"
#include "format/span_builder.h"
#include "format/table_reader.h"
#include "support/tap.h"

enum { RING = 1 << 14, MAX_ROWS = 1 << 15 };

struct row {
    uint64_t start, duration, site, depth, arg_sum;
};

struct rows {
    struct row rows[MAX_ROWS];
    uint32_t count;
};

static uint64_t seed;

static uint32_t random_below(uint32_t bound)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed % bound);
}

// --- the model: one stack over all slots -------------------------------------------

static struct rows wanted_spans, wanted_counts, wanted_steps, wanted_blocks;
static struct slot ring[RING];
static uint64_t ring_end;

static void add(struct rows *rows, struct row row)
{
    rows->rows[rows->count++] = row;
}

static void put(struct slot slot)
{
    ring[ring_end++ & (RING - 1)] = slot;
}

static struct slot span_slot(uint64_t tick, enum slot_class class, uint32_t site)
{
    return (struct slot){(uint32_t)tick, (uint32_t)(tick >> 32) | slot_class_bits(class), site,
                         random_below(UINT32_MAX)};
}

static struct row open_model[RING];
static uint32_t open_count;

static void model_end(uint64_t tick)
{
    if (open_count == 0)
        return;
    struct row row = open_model[--open_count];
    row.duration = tick - row.start;
    add(&wanted_spans, row);
}

static void model_begin(uint64_t tick, uint32_t site)
{
    open_model[open_count] = (struct row){tick, 0, site, open_count, 0};
    open_count++;
}

static void put_pair(uint64_t tick, enum slot_kind kind, uint32_t site, uint64_t value)
{
    struct slot payload = {(uint32_t)value, (uint32_t)(value >> 32), 0, 0};
    put(slot_other(tick, kind, site, 0, 2));
    put(payload);
}

static void add_model_arg(bool is_there, uint64_t value)
{
    if (is_there && open_count)
        open_model[open_count - 1].arg_sum = open_model[open_count - 1].arg_sum * 31 + value;
}

static void make_op(void)
{
    const struct slot_op op = {
        .seq_above = random_below(2) ? 0 : (uint64_t)random_below(UINT32_MAX) << random_below(8),
        .fwd_thread = random_below(3) ? 0 : random_below(1 << 22),
        .shapes = random_below(2) ? 0 : random_below(UINT32_MAX),
        .scope = (uint8_t)random_below(8)};
    put(slot_of_op(&op));
    add_model_arg(op.shapes, op.shapes);
    add_model_arg(op.scope, op.scope);
    add_model_arg(op.fwd_thread, op.fwd_thread);
    add_model_arg(op.seq_above, op.seq_above - 1);
}

static void make_op_begin(uint64_t tick, uint32_t site)
{
    const uint32_t shapes = 1 + random_below(SLOT_OP_SHAPES_MAX);
    struct slot slot = span_slot(tick, SLOT_CLASS_OTHER, site);
    slot.about = slot_about_op_begin(shapes);
    put(slot);
    model_begin(tick, site);
    add_model_arg(true, shapes);
}

static void make_block(uint64_t tick, uint32_t site, uint64_t value)
{
    const uint32_t kind = 1 + random_below(2);
    const uint64_t payload[4] = {value, 0 - value / 3, value * 5};
    put(slot_other(tick, SLOT_MEMORY, site, kind, 3));
    struct slot slots[2];
    memcpy(slots, payload, sizeof(slots));
    put(slots[0]);
    put(slots[1]);
    add(&wanted_blocks, (struct row){tick, payload[0] ^ payload[1], site, kind, payload[2]});
}

static void make_record(uint64_t tick, uint32_t bias)
{
    uint32_t site = 1 + random_below(50), what = random_below(100);
    uint64_t value = seed >> 7;
    if (what < 6) {
        make_op_begin(tick, site);
    } else if (what < 40 + bias) {
        put(span_slot(tick, SLOT_CLASS_BEGIN, site));
        model_begin(tick, site);
    } else if (what < 84) {
        put(span_slot(tick, SLOT_CLASS_END, site));
        model_end(tick);
    } else if (what < 90) {
        put(span_slot(tick, SLOT_CLASS_NEXT, site));
        model_end(tick);
        model_begin(tick, site);
    } else if (what < 94) {
        put_pair(tick, SLOT_COUNT, site, value);
        add(&wanted_counts, (struct row){tick, value, site, 0, 0});
    } else if (what < 96) {
        put_pair(0, SLOT_ARG_INT, site, value);
        add_model_arg(true, value);
    } else if (what < 98) {
        make_op();
    } else if (what < 99) {
        make_block(tick, site, value);
    } else {
        put(slot_other(0, SLOT_PAD, 0, 0, 1));
    }
}

static void make_ring(uint64_t first_seed, uint32_t bias, uint64_t start)
{
    seed = first_seed;
    wanted_spans.count = wanted_counts.count = wanted_steps.count = wanted_blocks.count = 0;
    open_count = 0;
    ring_end = start;
    uint64_t tick = UINT64_C(1) << 33;
    while (ring_end - start < RING - 8) {
        make_record(tick += random_below(5000), bias);
    }
}

// --- what the builder wrote -------------------------------------------------------------

static struct rows got_spans, got_counts, got_blocks;
static uint64_t columns[6][SPAN_BUILDER_MAX_SLOTS];
static struct slice texts[SPAN_BUILDER_MAX_SLOTS];

static uint64_t sum_args(struct slice args)
{
    uint64_t sum = 0;
    struct args_item item;
    while (args_next(&args, &item) > 0) {
        sum = sum * 31 + (uint64_t)item.integer;
    }
    return sum;
}

static void read_spans(struct table_reader *reader, const struct table_view *view)
{
    struct buffer text;
    buffer_init(&text, 64 << 20);
    for (uint16_t c = 0; c < 4; c++) {
        ok(table_read(reader, view, c, columns[c]) == 0);
    }
    ok(table_read_bytes(reader, view, 4, &text, texts) == 0);
    bool is_sorted = true;
    for (uint32_t i = 0; i < view->header.rows; i++) {
        add(&got_spans, (struct row){columns[0][i], columns[1][i], columns[2][i], columns[3][i],
                                     sum_args(texts[i])});
        is_sorted &= i == 0 || columns[0][i] >= columns[0][i - 1];
    }
    ok(is_sorted);
    is_u64(view->header.first, columns[0][0]);
    buffer_finish(&text);
}

static void read_counts(struct table_reader *reader, const struct table_view *view)
{
    for (uint16_t c = 0; c < 3; c++) {
        ok(table_read(reader, view, c, columns[c]) == 0);
    }
    for (uint32_t i = 0; i < view->header.rows; i++) {
        add(&got_counts, (struct row){columns[0][i], columns[2][i], columns[1][i], 0, 0});
    }
}

static void read_blocks(struct table_reader *reader, const struct table_view *view)
{
    for (uint16_t c = 0; c < 6; c++) {
        ok(table_read(reader, view, c, columns[c]) == 0);
    }
    for (uint32_t i = 0; i < view->header.rows; i++) {
        add(&got_blocks, (struct row){columns[0][i], columns[2][i] ^ columns[3][i], columns[5][i],
                                      columns[1][i], columns[4][i]});
    }
}

static void read_frames(const struct buffer *frames)
{
    struct table_reader reader;
    struct frame_header header;
    struct table_view view;
    got_spans.count = got_counts.count = got_blocks.count = 0;
    ok(table_reader_init(&reader) == 0);
    for (size_t at = 0; at < frames->used; at += FRAME_HEADER_BYTES + header.stored_bytes) {
        if (!ok(frame_header_read(frames->bytes + at, &header) == 0))
            break;
        const uint8_t *payload = frames->bytes + at + FRAME_HEADER_BYTES;
        if (!ok(table_view_init(&view, &header, payload) == 0))
            break;
        if (header.table == TABLE_SPAN)
            read_spans(&reader, &view);
        if (header.table == TABLE_COUNTER)
            read_counts(&reader, &view);
        if (header.table == TABLE_MEMORY)
            read_blocks(&reader, &view);
    }
    table_reader_finish(&reader);
}

static int by_start(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->depth != y->depth ? (x->depth < y->depth ? -1 : 1)
                                : (x->site > y->site) - (x->site < y->site);
}

static bool same_rows(struct rows *got, struct rows *wanted)
{
    if (!is_u64(got->count, wanted->count))
        return false;
    qsort(got->rows, got->count, sizeof(struct row), by_start);
    qsort(wanted->rows, wanted->count, sizeof(struct row), by_start);
    for (uint32_t i = 0; i < got->count; i++) {
        if (memcmp(&got->rows[i], &wanted->rows[i], sizeof(struct row)))
            return is_u64(got->rows[i].start, wanted->rows[i].start) && ok(!"same row");
    }
    return true;
}

// Takes and flushes in portions of up to `portion` slots.
static void build_all(uint64_t start, uint32_t portion)
{
    struct buffer frames;
    struct table_writer writer;
    struct span_builder *builder;
    struct span_builder_track track;
    buffer_init(&frames, 64 << 20);
    ok(table_writer_init(&writer, &frames, SPAN_BUILDER_MAX_SLOTS, 8 << 20) == 0);
    ok(span_builder_create(&writer, SPAN_BUILDER_MAX_SLOTS, &builder) == 0);
    span_builder_track_init(&track, 7, start);
    for (uint64_t until = start, before = start - 1;
         until < ring_end || track.position != before;) {
        before = track.position;
        until += 1 + random_below(portion);
        until = until < ring_end ? until : ring_end;
        if (!ok(span_builder_take(builder, &track, ring, RING - 1, until) == 0))
            break;
        if (random_below(2) || until == ring_end)
            ok(span_builder_flush(builder, &track, NULL) == 0);
    }
    is_u64(track.position, ring_end);
    is_u64(track.open_count, open_count);
    for (uint32_t i = 0; i < open_count && i < track.open_count; i++) {
        is_u64(track.open[i].start, open_model[i].start);
        is_u64(sum_args((struct slice){track.open[i].args.bytes, track.open[i].args.used}),
               open_model[i].arg_sum);
    }
    read_frames(&frames);
    span_builder_track_finish(&track);
    span_builder_destroy(builder);
    table_writer_finish(&writer);
    buffer_finish(&frames);
}

TEST("builder: spans, counters, blocks and arguments equal the model, however they are portioned")
{
    static const uint32_t portions[] = {1, 3, 50, 1000, 100000};
    for (uint32_t i = 0; i < 25; i++) {
        make_ring(88172645463325252u + i, i % 3, i * 977);
        build_all(i * 977, portions[i % 5]);
        if (!same_rows(&got_spans, &wanted_spans) || !same_rows(&got_counts, &wanted_counts) ||
            !same_rows(&got_blocks, &wanted_blocks))
            return;
    }
}

TEST("builder: nesting deeper than the quick loop's stack stays exact")
{
    make_ring(99, 45, 0);
    ok(open_count > 4096);
    build_all(0, 5000);
    same_rows(&got_spans, &wanted_spans);
}

TEST("builder: many spans carried over frames all end")
{
    const uint32_t depth = 3000; // more than one frame has headroom for
    seed = 5;
    wanted_spans.count = wanted_counts.count = open_count = 0;
    ring_end = 0;
    for (uint32_t i = 0; i < depth; i++) {
        put(span_slot(100 + i, SLOT_CLASS_BEGIN, i + 1));
        model_begin(100 + i, i + 1);
    }
    for (uint32_t i = 0; i < depth; i++) {
        put(span_slot(9000 + i, SLOT_CLASS_END, 0));
        model_end(9000 + i);
    }
    build_all(0, 10);
    same_rows(&got_spans, &wanted_spans);
}

TEST("builder: ends without a begin are passed over and counted")
{
    struct buffer frames;
    struct table_writer writer;
    struct span_builder *builder;
    struct span_builder_track track;
    buffer_init(&frames, 1 << 20);
    ok(table_writer_init(&writer, &frames, SPAN_BUILDER_MAX_SLOTS, 8 << 20) == 0);
    ok(span_builder_create(&writer, SPAN_BUILDER_MAX_SLOTS, &builder) == 0);
    span_builder_track_init(&track, 7, 0);
    ring_end = 0;
    put(span_slot(10, SLOT_CLASS_END, 0));
    put(span_slot(11, SLOT_CLASS_BEGIN, 4));
    put(span_slot(12, SLOT_CLASS_END, 0));
    put(span_slot(13, SLOT_CLASS_END, 0));
    ok(span_builder_take(builder, &track, ring, RING - 1, ring_end) == 0);
    uint64_t events = 0;
    ok(span_builder_flush(builder, &track, &events) == 0);
    is_u64(events, 1);
    is_u64(track.unbalanced, 2);
    span_builder_track_finish(&track);
    span_builder_destroy(builder);
    table_writer_finish(&writer);
    buffer_finish(&frames);
}

TEST("builder: a slot that is no record is refused, what stood before it is kept")
{
    struct buffer frames;
    struct table_writer writer;
    struct span_builder *builder;
    struct span_builder_track track;
    buffer_init(&frames, 1 << 20);
    ok(table_writer_init(&writer, &frames, SPAN_BUILDER_MAX_SLOTS, 8 << 20) == 0);
    ok(span_builder_create(&writer, SPAN_BUILDER_MAX_SLOTS, &builder) == 0);
    span_builder_track_init(&track, 7, 0);
    ring_end = 0;
    put(span_slot(11, SLOT_CLASS_BEGIN, 4));
    put((struct slot){1, slot_class_bits(SLOT_CLASS_OTHER), 0, 0xfe});
    ok(span_builder_take(builder, &track, ring, RING - 1, ring_end) == GAIT_ERR_FORMAT);
    is_u64(track.position, 1);
    is_u64(track.open_count, 1);
    span_builder_track_finish(&track);
    span_builder_destroy(builder);
    table_writer_finish(&writer);
    buffer_finish(&frames);
}
