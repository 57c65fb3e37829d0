// SPDX-License-Identifier: Apache-2.0
// Writes the golden files of the format's version into a folder. What stands
// there already is never touched: golden files are kept for ever, and every
// later gait must read them. Contents are fixed; only zstd's choices may differ
// from machine to machine.
//
// usage: make_golden FOLDER
#include "golden.h"

#include "support/random_values.h"

// One frame, in a line or two: table, track and rows, then what else there is.
#define FRAME(table_, track_, rows_, ...)                                                          \
    golden_frame(golden, &(struct golden_spec){                                                    \
                             .table = (table_), .track = (track_), .rows = (rows_), __VA_ARGS__})
#define WHEN(first_, last_, events_) .first = (first_), .last = (last_), .events = (events_)
#define COLUMNS(...) .columns = {__VA_ARGS__}

static void write_all_tables(struct golden *golden);
static void write_encodings(struct golden *golden);
static void write_nests(struct golden *golden);
static void write_names(struct golden *golden);
static void write_arguments(struct golden *golden);
static void write_text_ids(struct golden *golden);
static void write_clocks(struct golden *golden);
static void write_open(struct golden *golden);
static void write_unknown(struct golden *golden);
static void write_chain(struct golden *golden);
static void write_empty(struct golden *golden);

static const struct golden_file {
    const char *name;
    void (*write)(struct golden *golden);
    void (*harm)(struct golden *golden); // after writing, or NULL
    bool is_closed;                      // with an index and a trailer
} files[] = {
    {"all_tables", write_all_tables, NULL, true},
    {"encodings", write_encodings, NULL, true},
    {"nests", write_nests, NULL, true},
    {"names", write_names, NULL, true},
    {"arguments", write_arguments, NULL, true},
    {"text_ids", write_text_ids, NULL, true},
    {"clocks", write_clocks, NULL, true},
    {"open", write_open, NULL, false},
    {"unknown", write_unknown, NULL, true},
    {"chain", write_chain, NULL, true},
    {"empty", write_empty, NULL, true},
    {"no_trailer", write_all_tables, NULL, false},
    {"truncated", write_all_tables, golden_truncate, true},
    {"flipped_payload", write_all_tables, golden_flip_payload, true},
    {"flipped_header", write_all_tables, golden_flip_header, true},
    {"missing_frame", write_all_tables, golden_cut_frame, true},
    {"foreign_bytes", write_all_tables, golden_insert_bytes, true},
};

#define TICK 1000000000000ull // a first tick, in no way special

static void write_dictionaries(struct golden *golden)
{
    golden_meta(golden, "format_version", "1");
    golden_meta(golden, "host", "\"golden\"");
    golden_meta(golden, "pid", "4711");
    golden_meta(golden, "role", "\"program\"");
    golden_meta(golden, "run_id", "\"0123456789abcdef\"");
    golden_meta(golden, "rank", "3");
    FRAME(TABLE_STRING, 0, 9,
          COLUMNS(U(1, 2, 3, 4, 5, 6, 7, 8, 9), T("train", "forward", "backward", "loss", "data",
                                                  "main.c", "ring full", "size", "load")));
    FRAME(TABLE_SITE, 0, 5,
          COLUMNS(U(1, 2, 3, 4, 5), U(1, 1, 1, 5, 5), U(2, 3, 4, 9, 5), U(6, 6, 0, 0, 6),
                  U(10, 20, 0, 0, 4294967295)));
    FRAME(TABLE_TRACK, 0, 5,
          COLUMNS(U(1, 2, 3, 4, 5), U(1, 1, 2, 3, 4), T("4711", "4712", "7.1", "gpu0", "4711"),
                  T("main", "loader", "", "", "gait"), U(1, 1, 0, 1, 1), U(0, 0, 4, 0, 0),
                  U(4711, 4712, 0, 0, 4711), U(0, 0, 0, 0, 1)));
    FRAME(TABLE_CLOCK, 0, 2,
          COLUMNS(U(1, 1), U(TICK, TICK + 2600000000), U(5000, 1000005000),
                  U(1700000000000000000, 1700000001000000000), U(40, 50)));
}

static void write_events(struct golden *golden)
{
    FRAME(TABLE_SPAN, 1, 4, WHEN(TICK + 100, TICK + 5000, 4), .is_nested = true,
          COLUMNS(U(TICK + 100, TICK + 200, TICK + 300, TICK + 1000), U(4900, 600, 50, 3000),
                  U(1, 2, 4, 3), U(0, 1, 2, 1)));
    FRAME(TABLE_MARK, 1, 2, WHEN(TICK + 150, TICK + 4000, 2),
          COLUMNS(U(TICK + 150, TICK + 4000), U(3, 3)));
    FRAME(TABLE_COUNTER, 4, 3, WHEN(TICK, TICK + 20, 3),
          COLUMNS(U(TICK, TICK + 10, TICK + 20), U(5, 5, 5), U(7, I(-7), INT64_MAX)));
    FRAME(
        TABLE_COUNTER_REAL, 4, 4, WHEN(TICK, TICK + 30, 4),
        COLUMNS(U(TICK, TICK + 10, TICK + 20, TICK + 30), U(3, 3, 3, 3), R(0.5, -0.0, 1e300, 0.1)));
    FRAME(TABLE_ASYNC, 2, 5, WHEN(TICK + 5, TICK + 90, 3),
          COLUMNS(U(TICK + 5, TICK + 6, TICK + 50, TICK + 60, TICK + 90), U(4, 4, 4, 4, 4),
                  U(1, 2, 1, 1, 1), U(0, 0, 0, 1, 1)));
    FRAME(TABLE_FLOW, 1, 3, WHEN(TICK + 7, TICK + 70, 3),
          COLUMNS(U(TICK + 7, TICK + 8, TICK + 70), U(4, 4, 4), U(UINT64_MAX, UINT64_MAX, 9),
                  U(0, 1, 2)));
    FRAME(TABLE_STEP, 1, 2, WHEN(TICK + 90, TICK + 9000, 2), .is_nested = true,
          COLUMNS(U(TICK + 90, TICK + 5010), U(4915, 3990), U(0, 1)));
    FRAME(TABLE_DROP, 2, 1, WHEN(TICK + 500, TICK + 600, 0),
          COLUMNS(U(TICK + 500), U(100), U(12), U(7)));
    // Late: before the spans of the frame above. On a stream in ns since the
    // epoch, out of order and overlapping.
    FRAME(TABLE_SPAN, 1, 2, WHEN(TICK - 800, TICK + 20, 2), .is_nested = true,
          COLUMNS(U(TICK - 800, TICK - 700), U(820, 10), U(5, 2), U(0, 1)));
    FRAME(TABLE_SPAN, 3, 3, WHEN(1700000000000000100, 1700000000000000700, 3), .is_nested = true,
          COLUMNS(U(1700000000000000300, 1700000000000000100, 1700000000000000200), U(400, 500, 10),
                  U(2, 3, 2), U(0, 0, 0)));
    FRAME(TABLE_SPAN, 5, 1, WHEN(TICK + 1, TICK + 2, 0), COLUMNS(U(TICK + 1), U(1), U(5)));
}

static void write_all_tables(struct golden *golden)
{
    write_dictionaries(golden);
    write_events(golden);
    FRAME(TABLE_COST, 0, 1, WHEN(TICK + 10, TICK + 10, 0),
          COLUMNS(U(TICK + 10), U(123456), U(7890)));
    FRAME(TABLE_STACK, 0, 3, COLUMNS(U(1, 2, 3), U(0, 1, 1), U(1, 2, 3), U(11, 0, 22)));
    FRAME(TABLE_SAMPLE, 1, 3, WHEN(TICK + 250, TICK + 450, 3),
          COLUMNS(U(TICK + 250, TICK + 350, TICK + 450), U(2, 3, 2), U(1, 1, 5), U(1, 2, 3)));
    FRAME(TABLE_MEMORY, 1, 2, WHEN(TICK + 260, TICK + 460, 2),
          COLUMNS(U(TICK + 260, TICK + 460), U(1, 2), U(0x7f0000001000, 0x7f0000001000),
                  U(4096, I(-4096)), U(4096, 0), U(2, 2)));
    FRAME(TABLE_LOG, 2, 2, WHEN(TICK + 11, TICK + 12, 2),
          COLUMNS(U(TICK + 11, TICK + 12), U(30, 40), T("epoch 1", "done")));
    FRAME(TABLE_LOD, 1, 2, WHEN(TICK + 100, TICK + 5000, 0),
          COLUMNS(U(0, 1), U(TICK + 100, TICK + 100), U(4900, 4900), U(4, 4), U(8550, 8550),
                  U(4900, 4900), U(1, 1)));
    FRAME(TABLE_COMMIT, 0, 2, COLUMNS(U(1, 2), U(64, 32), U(0, 12), U(20, 4)));
    // Rows that came late: a name for a thread, the rank corrected.
    FRAME(TABLE_TRACK, 0, 1,
          COLUMNS(U(2), U(1), T("4712"), T("prefetch"), U(1), U(0), U(4712), U(0)));
    golden_meta(golden, "rank", "5");
}

// Every packing with every transform, compressed and not; the longest also in
// several zstd frames.
static void write_encoding(struct golden *golden, uint32_t shape, uint32_t rows, int level)
{
    enum { MOST_ROWS = 1500 };
    static uint64_t values[MOST_ROWS], sites[MOST_ROWS], numbers[MOST_ROWS];

    golden_fill(shape, values, rows);
    for (uint32_t row = 0; row < rows; row++) {
        sites[row] = 1 + row % 5;
        numbers[row] = values[row] * 3;
    }
    golden->writer.level = level;
    FRAME(TABLE_FLOW, 1, rows, WHEN(0, UINT64_MAX, rows),
          .transforms = {shape % 4, 0, (shape + rows) % 4}, .counts_from_first = rows % 2,
          COLUMNS({.numbers = values}, {.numbers = sites}, {.numbers = numbers}));
}

// Spans and steps that nest well, nest with holes (every third row left out),
// do not nest at all, nest deeper than the depths count.
static void write_nest(struct golden *golden, uint32_t kind, uint32_t rows, int level)
{
    enum { MOST_ROWS = 300, DEPTHS = 5 };
    static uint64_t starts[MOST_ROWS], durations[MOST_ROWS], depths[MOST_ROWS], sites[MOST_ROWS],
        points[MOST_ROWS];
    struct random_values random = {kind * 2000 + rows + 1};
    const uint64_t first = kind == 1 ? 0 : TICK;
    uint64_t now = TICK;

    for (uint32_t row = 0; row < rows; row++) {
        now += 1 + random_below(&random, 1ull << (row % 40));
        starts[row] = kind == 2 ? random_magnitude(&random) : now;
        depths[row] = kind == 3 ? 1021 + row % DEPTHS : row % DEPTHS * (kind == 1 ? 3 : 1);
        durations[row] =
            kind == 2 ? random_magnitude(&random) : (DEPTHS - row % DEPTHS) * (1ull << (rows % 40));
        sites[row] = 1 + row % 5;
        points[row] = TICK + 1000 * row + row % 3;
    }
    golden->writer.level = level;
    FRAME(TABLE_SPAN, 1, rows, WHEN(kind == 2 ? 0 : first, UINT64_MAX, rows), .is_nested = true,
          COLUMNS({.numbers = starts}, {.numbers = durations}, {.numbers = sites},
                  {.numbers = depths}));
    FRAME(TABLE_STEP, 2, rows, WHEN(kind == 2 ? 0 : first, UINT64_MAX, rows), .is_nested = true,
          COLUMNS({.numbers = starts}, {.numbers = durations}, {.numbers = sites}));
    FRAME(TABLE_MARK, 2, rows, WHEN(kind == 2 ? 0 : first, UINT64_MAX, rows),
          .transforms = {TRANSFORM_DELTA}, .counts_from_first = true,
          COLUMNS({.numbers = points}, {.numbers = sites}));
}

static void write_nests(struct golden *golden)
{
    const uint32_t counts[] = {0, 1, 2, 3, 4, 5, 9, 64, 300};

    write_dictionaries(golden);
    for (uint32_t kind = 0; kind < 4; kind++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            write_nest(golden, kind, counts[i], i % 3 != 0);
}

static void write_encodings(struct golden *golden)
{
    const uint32_t counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65};

    write_dictionaries(golden);
    for (uint32_t shape = 0; shape < GOLDEN_SHAPES; shape++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            write_encoding(golden, shape, counts[i], i % 3 != 0);
    write_encoding(golden, 0, 1500, 1);
    write_encoding(golden, 1, 1500, 1);
}

static void write_names(struct golden *golden)
{
    static char long_name[100001];

    memset(long_name, 'x', sizeof long_name - 1);
    memcpy(long_name + 50000, "\xf0\x9f\x94\xa5", 4);
    golden_meta(golden, "pid", "1");
    golden_meta(golden, "subject", "{\"nested\":[1,2.5,null,\"\\u00e9\"]}");
    golden_frame(
        golden,
        &(struct golden_spec){
            .table = TABLE_STRING,
            .rows = 12,
            .columns = {U(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
                        T("", "quote\" comma, back\\slash", "line\nfeed\r\ttab", "\x01\x1f\x7f",
                          "\xff\xfe not utf-8 \xc3", "\xed\xa0\x80 surrogate \xc0\x80",
                          "\xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x94\xa5", "</script>&amp;", long_name,
                          " lead and trail ", "\xe2\x80\xa8\xe2\x80\xa9", "=1+1")}});
    FRAME(TABLE_SITE, 0, 12,
          COLUMNS(U(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), U(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6),
                  U(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), U(0), U(0)));
    FRAME(TABLE_TRACK, 0, 2,
          COLUMNS(U(1, 2), U(1, 2), T("1", "stream \"7\""), T("m\xc3\xa4in\n", "\xff"), U(0, 0),
                  U(0, 0), U(1, 0), U(0, 0)));
    FRAME(TABLE_MARK, 1, 12, WHEN(1, 12, 12),
          COLUMNS(U(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
                  U(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)));
    FRAME(TABLE_LOG, 2, 3, WHEN(20, 22, 3),
          COLUMNS(U(20, 21, 22), U(10, 20, 50), T("", "a\nb", "\xf0\x9f\x94 cut")));
}

static void write_arguments(struct golden *golden)
{
    const struct args_item items[] = {
        {.key = 8, .kind = ARGS_INT, .integer = INT64_MIN},
        {.key = 8, .kind = ARGS_INT, .integer = INT64_MAX},
        {.key = 4, .kind = ARGS_REAL, .real = 0.1},
        {.key = 4, .kind = ARGS_REAL, .real = __builtin_inf()},
        {.key = 5, .kind = ARGS_TEXT, .text = slice_of("text \"quoted\" \xc3\xa9 \xff")},
        {.key = 5, .kind = ARGS_TEXT, .text = {(const uint8_t *)"nul\0inside", 10}},
        {.key = 1, .kind = ARGS_RAW, .text = slice_of("123456789012345678901234567890")},
        {.key = 0, .kind = ARGS_RAW, .text = slice_of("-1.5e+400")},
        {.key = 300, .kind = ARGS_INT, .integer = -1},
    };
    struct slice rows[11] = {{0}};
    struct buffer all;

    write_dictionaries(golden);
    FRAME(TABLE_STRING, 0, 1,
          COLUMNS(U(300), T("late \xc3\xbc"
                            "ber")));
    buffer_init(&all, 4096);
    golden_check(buffer_reserve(&all, 4096) ? 0 : GAIT_ERR_MEMORY);
    for (size_t i = 0; i < 9; i++) { // row i + 1: argument i; row 10: all of them
        rows[i + 1] = (struct slice){all.bytes + all.used, all.used};
        golden_check(args_append(&all, &items[i]));
        rows[i + 1].count = all.used - rows[i + 1].count;
    }
    rows[10] = (struct slice){all.bytes, all.used};
    FRAME(TABLE_MARK, 1, 11, WHEN(TICK, TICK + 10, 11),
          COLUMNS(U(TICK, TICK + 1, TICK + 2, TICK + 3, TICK + 4, TICK + 5, TICK + 6, TICK + 7,
                    TICK + 8, TICK + 9, TICK + 10),
                  U(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), {.texts = rows}));
    rows[0] = slice_of("\x08\x01\x02"
                       "\x08\x07 unknown kind"); // one good argument, then nonsense
    FRAME(TABLE_SPAN, 1, 1, WHEN(TICK, TICK + 9, 1),
          COLUMNS(U(TICK), U(9), U(1), U(0), {.texts = rows}));
    buffer_finish(&all);
}

// Arguments whose text is in the string table: one before its row stands, the
// empty one, one that is lost, one among other kinds, one too wide.
static void write_text_ids(struct golden *golden)
{
    static const struct args_item items[] = {{.key = 8, .kind = ARGS_STRING, .integer = 300},
                                             {.key = 8, .kind = ARGS_STRING},
                                             {.key = 8, .kind = ARGS_STRING, .integer = 999},
                                             {.key = 4, .kind = ARGS_INT, .integer = 7},
                                             {.key = 8, .kind = ARGS_STRING, .integer = 6},
                                             {.key = 5, .kind = ARGS_INT, .integer = 1}};
    struct slice rows[5];
    struct buffer all;

    write_dictionaries(golden);
    buffer_init(&all, 4096);
    golden_check(buffer_reserve(&all, 4096) ? 0 : GAIT_ERR_MEMORY);
    for (size_t i = 0; i < 6; i++) { // rows 0 to 2: argument i; row 3: the others
        if (i < 4)
            rows[i] = (struct slice){all.bytes + all.used, all.used};
        golden_check(args_append(&all, &items[i]));
        rows[i < 4 ? i : 3].count = all.used - (size_t)(rows[i < 4 ? i : 3].bytes - all.bytes);
    }
    rows[4] = slice_of("\x08\x05\x06"
                       "\x08\x05\xff\xff\xff\xff\x1f");
    FRAME(TABLE_SPAN, 1, 5, WHEN(TICK, TICK + 45, 5), .is_nested = true,
          COLUMNS(U(TICK, TICK + 10, TICK + 20, TICK + 30, TICK + 40), U(5, 5, 5, 5, 5),
                  U(1, 2, 3, 2, 1), U(0, 0, 0, 0, 0), {.texts = rows}));
    FRAME(TABLE_STRING, 0, 1, COLUMNS(U(300), T("f32[8,16] f32[16] - i64[]")));
    buffer_finish(&all);
}

// Clock 1 as a recorder writes it, with a step of the wall clock and anchors
// that do not count; 2 with one anchor; 3 with none; 4 running slow.
static void write_clocks(struct golden *golden)
{
    golden_meta(golden, "pid", "2");
    golden_meta(golden, "tick_hz", "2600000000");
    FRAME(TABLE_TRACK, 0, 5,
          COLUMNS(U(1, 2, 3, 4, 5), U(1, 2, 2, 2, 2), T("1", "two", "three", "four", "zero"),
                  T("", "", "", "", ""), U(1, 2, 3, 4, 0), U(0), U(1, 0, 0, 0, 0), U(0)));
    golden_frame(
        golden,
        &(struct golden_spec){
            .table = TABLE_CLOCK,
            .rows = 7,
            .columns = {U(1, 1, 1, 1, 1, 2, 4),
                        U(1000, 1000 + 26000000, 900, 1000 + 262000000, 1000 + 265000000, 77, 10),
                        U(500, 500 + 10000000, 500 + 20000000, 500 + 100000003, 500 + 101000000,
                          9000, 1000),
                        U(1700000000000000500, 1700000000010000500, 1700000000020000500,
                          1600000000000000000, 1600000000001000000, 1700000000000009000, 1000),
                        U(30, 31, 32, 33, 34, 35, 36)}});
    FRAME(TABLE_CLOCK, 0, 2,
          COLUMNS(U(4, 4), U(13, 17), U(1000000001000, 3000000001000), U(0, 0), U(0, 0)));
    for (uint32_t track = 1; track <= 5; track++)
        FRAME(TABLE_STEP, track, 9, WHEN(0, UINT64_MAX, 9),
              COLUMNS(U(0, 11, 999, 1001, 26001001, 262001000, 265000999, 270000000, UINT64_MAX),
                      U(11, 1, 3, 1000000, 1, 3000000, 1, UINT64_MAX, 5),
                      U(1, 2, 3, 4, 5, 6, 7, 8, 9)));
}

// No trailer: what is open at the end is told by the last commits.
static void write_open(struct golden *golden)
{
    write_dictionaries(golden);
    FRAME(TABLE_OPEN, 0, 3,
          COLUMNS(U(1, 1, 2), U(TICK + 1, TICK + 2, TICK + 3), U(1, 2, 5), U(0, 1, 0)));
    FRAME(TABLE_COMMIT, 0, 2, COLUMNS(U(1, 2), U(10, 20), U(0, 0), U(2, 1)));
    FRAME(TABLE_SPAN, 1, 1, WHEN(TICK + 2, TICK + 9, 1), COLUMNS(U(TICK + 2), U(7), U(2), U(1)));
    FRAME(TABLE_OPEN, 0, 3,
          COLUMNS(U(1, 1, 1), U(TICK + 1, TICK + 20, TICK + 21), U(1, 0, 3), U(0, 0, 1),
                  U(0, 42, 0), U(0, 1, 0), T("", "", "\x08\x01\x54")));
    FRAME(TABLE_COMMIT, 0, 1, COLUMNS(U(1), U(30), U(0), U(5)));
}

// A table and columns that this version does not know, described by rows of
// their own; one of the columns is encoded in a way of tomorrow.
static void write_unknown(struct golden *golden)
{
    write_dictionaries(golden);
    golden_frame(
        golden,
        &(struct golden_spec){
            .table = TABLE_SCHEMA,
            .rows = 6,
            .columns = {U(300, 300, 300, 6, 6, 6),
                        T("power", "power", "power", "span", "span", "span"), U(0, 1, 2, 8, 9, 10),
                        T("start", "watts", "note", "device", "remark", "later"),
                        T("time", "real", "bytes", "uint", "bytes", "quaternion")}});
    FRAME((enum table_id)300, 4, 3, WHEN(TICK, TICK + 2, 0),
          COLUMNS(U(TICK, TICK + 1, TICK + 2), R(250.5, 300.0, 0.0), T("on", "", "off")));
    FRAME(TABLE_SPAN, 1, 2, WHEN(TICK, TICK + 10, 2),
          COLUMNS(U(TICK, TICK + 5), U(10, 5), U(1, 2), U(0, 1), {0}, {0}, {0}, {0}, U(6, 7),
                  T("a", "b"), U(1, 2)));
    golden_patch_encoding(golden, 10, 9);
}

static void write_chain(struct golden *golden)
{
    golden->index_every = 4;
    write_dictionaries(golden);
    for (uint64_t i = 0; i < 13; i++)
        FRAME(TABLE_MARK, 1, 1, WHEN(TICK + i, TICK + i, 1), COLUMNS(U(TICK + i), U(1)));
}

static void write_empty(struct golden *golden)
{
    golden_meta(golden, "pid", "3");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_golden FOLDER\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct golden golden;
        golden_begin(&golden);
        files[i].write(&golden);
        if (files[i].is_closed)
            golden_close(&golden);
        if (files[i].harm)
            files[i].harm(&golden);
        golden_save(&golden, argv[1], files[i].name);
    }
    return 0;
}
