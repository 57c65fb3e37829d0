// SPDX-License-Identifier: Apache-2.0
#include "base/fail.h"
#include "format/table_reader.h"
#include "format/table_writer.h"
#include "support/random_values.h"
#include "support/tap.h"

enum { MAX_ROWS = 20000, TABLE_STRANGE = 300 };

static uint64_t values[MAX_ROWS], got[MAX_ROWS];
static struct slice slices[MAX_ROWS], got_slices[MAX_ROWS];

// One writer, one reader and what is between them.
struct bench {
    struct buffer out, text;
    struct table_writer writer;
    struct table_reader reader;
    struct table_view view;
};

static bool bench_init(struct bench *bench)
{
    buffer_init(&bench->out, 64 << 20);
    buffer_init(&bench->text, FRAME_MAX_RAW);
    return ok(table_writer_init(&bench->writer, &bench->out, MAX_ROWS, 1 << 20) == 0) &&
           ok(table_reader_init(&bench->reader) == 0);
}

static void bench_finish(struct bench *bench)
{
    table_writer_finish(&bench->writer);
    table_reader_finish(&bench->reader);
    buffer_finish(&bench->out);
    buffer_finish(&bench->text);
}

// Ends the frame in the making and looks at it.
static bool close_and_view(struct bench *bench)
{
    struct frame_header header;

    bench->out.used = 0;
    return is_int(table_end(&bench->writer, &(struct table_about){0}, NULL), 0) &&
           is_int(frame_header_read(bench->out.bytes, &header), 0) &&
           ok(frame_payload_is_intact(&header, bench->out.bytes + FRAME_HEADER_BYTES)) &&
           is_int(table_view_init(&bench->view, &header, bench->out.bytes + FRAME_HEADER_BYTES), 0);
}

// Shapes that columns have in life, and some they should never have.
static void fill(struct random_values *random, unsigned shape, size_t rows)
{
    uint64_t last = random_magnitude(random);

    for (size_t row = 0; row < rows; row++) {
        const uint64_t noise = random_next(random);
        switch (shape) {
        case 0:
            values[row] = random_magnitude(random);
            break;
        case 1:
            values[row] = last += noise % 5000;
            break;
        case 2:
            values[row] = last += noise % 5000 - 2500;
            break;
        case 3:
            values[row] = noise % 16;
            break;
        case 4:
            values[row] = last;
            break;
        case 5:
            values[row] = (row + 1) * last;
            break;
        case 6:
            values[row] = 0;
            break;
        case 7:
            values[row] = row == rows - 1;
            break;
        case 8:
            values[row] = noise;
            break;
        default:
            values[row] = 17 + row % 400;
            break;
        }
    }
}

TEST("table: numbers of every shape, transform and level come back")
{
    struct random_values random = {8};
    struct bench bench;

    if (!bench_init(&bench))
        return;
    for (int round = 0; round < 600; round++) {
        const size_t rows = random_below(&random, round % 8 ? 200 : 16384 + 1); // however few bytes
        const unsigned shape = (unsigned)random_below(&random, 10);
        const enum column_transform transform = (enum column_transform)random_below(&random, 4);
        fill(&random, shape, rows);
        bench.writer.level = round % 3 ? 1 : 0;
        table_begin(&bench.writer, TABLE_SPAN, 1, (uint32_t)rows);
        table_put(&bench.writer, (uint16_t)(round % 4), transform, values);
        if (!close_and_view(&bench))
            break;
        if (!is_int(table_read(&bench.reader, &bench.view, (uint16_t)(round % 4), got), 0) ||
            !ok(memcmp(values, got, rows * sizeof *got) == 0)) {
            printf("# shape %u, transform %d, %zu rows: %s\n", shape, (int)transform, rows,
                   fail_text());
            break;
        }
    }
    bench_finish(&bench);
}

TEST("table: rows of bytes come back, empty ones and long ones")
{
    struct random_values random = {9};
    struct bench bench;
    static char texts[3000];

    if (!bench_init(&bench))
        return;
    for (size_t i = 0; i < sizeof texts; i++)
        texts[i] = (char)(i % 3 ? 'a' : random_next(&random));
    for (int round = 0; round < 300; round++) {
        const size_t rows = random_below(&random, 300);
        const size_t longest = 1ull << random_below(&random, 11);
        for (size_t row = 0; row < rows; row++)
            slices[row] = (struct slice){(const uint8_t *)texts + random_below(&random, 900),
                                         random_below(&random, longest)};
        bench.writer.level = round % 3 ? 1 : 0;
        table_begin(&bench.writer, TABLE_LOG, 1, (uint32_t)rows);
        table_put_bytes(&bench.writer, 2, slices);
        if (!close_and_view(&bench) ||
            !is_int(table_read_bytes(&bench.reader, &bench.view, 2, &bench.text, got_slices), 0))
            break;
        for (size_t row = 0; row < rows; row++)
            ok(slices[row].count == got_slices[row].count &&
               (!slices[row].count ||
                memcmp(slices[row].bytes, got_slices[row].bytes, slices[row].count) == 0));
    }
    bench_finish(&bench);
}

TEST("table: reals come back bit by bit")
{
    struct bench bench;
    const double reals[] = {0.0, -0.0, 1.5, -1e300, 5e-324, __builtin_inf(), -__builtin_nan("7")};
    double back[7];

    if (!bench_init(&bench))
        return;
    table_begin(&bench.writer, TABLE_COUNTER_REAL, 1, 7);
    table_put_real(&bench.writer, 2, reals);
    if (close_and_view(&bench)) {
        is_int(table_read(&bench.reader, &bench.view, 2, (uint64_t *)(void *)back), 0);
        ok(memcmp(reals, back, sizeof reals) == 0);
    }
    table_begin(&bench.writer, TABLE_COUNTER_REAL, 1, 1);
    table_put_real(&bench.writer, 2, reals + 1); // -0.0 is not left out
    if (close_and_view(&bench))
        ok(bench.view.columns[2].present);
    bench_finish(&bench);
}

TEST("table: zeros cost nothing, constants and ids in a row eight bytes")
{
    struct bench bench;

    if (!bench_init(&bench))
        return;
    table_begin(&bench.writer, TABLE_SPAN, 1, 1000);
    fill(&(struct random_values){1}, 6, 1000);
    table_put(&bench.writer, 0, TRANSFORM_DELTA, values);
    fill(&(struct random_values){1}, 4, 1000);
    table_put(&bench.writer, 1, TRANSFORM_DELTA, values);
    fill(&(struct random_values){1}, 5, 1000);
    table_put(&bench.writer, 2, TRANSFORM_DELTA, values);
    table_put_constant(&bench.writer, 3, 0);
    slices[0] = (struct slice){0};
    for (int row = 1; row < 1000; row++)
        slices[row] = slices[0];
    table_put_bytes(&bench.writer, 4, slices);
    if (close_and_view(&bench)) {
        is_u64(bench.out.used, FRAME_HEADER_BYTES + 8 + 2 * 16 + 2 * 8);
        is_int(table_read(&bench.reader, &bench.view, 2, got), 0);
        ok(memcmp(values, got, 1000 * sizeof *got) == 0);
        is_int(table_read(&bench.reader, &bench.view, 0, got), 0);
        ok(got[0] == 0 && got[999] == 0);
        is_int(table_read_bytes(&bench.reader, &bench.view, 4, &bench.text, got_slices), 0);
        ok(got_slices[999].count == 0);
    }
    bench_finish(&bench);
}

TEST("table: the transform that was wished for gives way to a better one")
{
    struct random_values random = {15};
    struct bench bench;
    const enum column_transform expected[] = {TRANSFORM_RISE, TRANSFORM_DELTA};

    if (!bench_init(&bench))
        return;
    for (unsigned shape = 1; shape <= 2; shape++) { // never falling, falling
        fill(&random, shape, 1000);
        table_begin(&bench.writer, TABLE_SPAN, 1, 1000);
        table_put(&bench.writer, 0, TRANSFORM_DELTA, values);
        if (close_and_view(&bench)) {
            is_int(bench.view.columns[0].transform, expected[shape - 1]);
            ok(bench.view.columns[0].raw_bytes < 2300);
        }
    }
    bench_finish(&bench);
}

// Columns 0 and 1 of the view, in either order, with and without what the
// first of the two left behind.
static bool holds_spans(struct bench *bench, const uint64_t *starts, const uint64_t *durations)
{
    const size_t bytes = bench->view.header.rows * sizeof *got;
    const uint64_t *columns[2] = {starts, durations};
    const uint16_t asked[] = {0, 1, 1, 0, 0, 1, 0};

    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        memset(got, 0x55, bytes);
        if (!is_int(table_read(&bench->reader, &bench->view, asked[i], got), 0) ||
            !ok(memcmp(got, columns[asked[i]], bytes) == 0))
            return false;
    }
    return true;
}

TEST("table: nested spans come back, whatever their times are")
{
    struct random_values random = {31};
    struct bench bench;
    static uint64_t durations[MAX_ROWS], depths[MAX_ROWS];

    if (!bench_init(&bench))
        return;
    for (int round = 0; round < 300; round++) {
        const size_t rows = 1 + random_below(&random, round % 8 ? 200 : MAX_ROWS);
        const bool is_flat = round % 4 == 0;
        const struct table_about about = {random_magnitude(&random), UINT64_MAX, 0};
        struct frame_header header;
        fill(&random, (unsigned)random_below(&random, 10), rows);
        memcpy(durations, values, rows * sizeof *values);
        fill(&random, (unsigned)random_below(&random, 10), rows);
        for (size_t row = 0; row < rows; row++)
            depths[row] = random_below(&random, round % 3 ? 5 : 2000);
        bench.out.used = 0;
        table_begin(&bench.writer, is_flat ? TABLE_STEP : TABLE_SPAN, 1, (uint32_t)rows);
        table_count_from(&bench.writer, about.first);
        table_put_nested(&bench.writer, values, durations, is_flat ? NULL : depths);
        if (!is_int(table_end(&bench.writer, &about, &header), 0) ||
            !is_int(table_view_init(&bench.view, &header, bench.out.bytes + FRAME_HEADER_BYTES),
                    0) ||
            !holds_spans(&bench, values, durations))
            break;
    }
    bench_finish(&bench);
}

TEST("table: what one view's nest left behind is not served to another")
{
    struct bench bench;
    const uint64_t starts[2][3] = {{5, 7, 9}, {6, 70, 90}},
                   durations[2][3] = {{1, 1, 2}, {9, 8, 7}};
    struct frame_header header;
    uint8_t payload[512];

    if (!bench_init(&bench))
        return;
    for (int round = 0; round < 6; round++) { // the same view, the same bytes, other content
        bench.out.used = 0;
        table_begin(&bench.writer, TABLE_STEP, 1, 3);
        table_put_nested(&bench.writer, starts[round % 2], durations[round % 2], NULL);
        is_int(table_end(&bench.writer, &(struct table_about){0}, &header), 0);
        memcpy(payload, bench.out.bytes + FRAME_HEADER_BYTES, header.stored_bytes);
        is_int(table_view_init(&bench.view, &header, payload), 0);
        is_int(table_read(&bench.reader, &bench.view, round / 2 % 2, got), 0);
        ok(memcmp(got, round / 2 % 2 ? durations[round % 2] : starts[round % 2], 24) == 0);
    }
    bench_finish(&bench);
}

TEST("table: times count from where the frame begins, and only there")
{
    struct bench bench;
    const uint64_t first = 1ull << 60;
    const struct table_about about = {first, UINT64_MAX, 0};
    struct frame_header header;

    if (!bench_init(&bench))
        return;
    for (size_t row = 0; row < 100; row++)
        values[row] = first + 1000 * row * row;
    table_begin(&bench.writer, TABLE_MARK, 1, 100);
    table_count_from(&bench.writer, first);
    table_put(&bench.writer, 0, TRANSFORM_DELTA, values);
    table_put(&bench.writer, 1, TRANSFORM_DELTA, values);
    is_int(table_end(&bench.writer, &about, &header), 0);
    is_int(table_view_init(&bench.view, &header, bench.out.bytes + FRAME_HEADER_BYTES), 0);
    is_int(bench.view.columns[0].transform, TRANSFORM_CLIMB);
    is_int(bench.view.columns[0].packing, PACKING_QUAD4);
    is_int(bench.view.columns[1].transform, TRANSFORM_RISE);
    is_int(bench.view.columns[1].packing, PACKING_QUAD);
    for (uint16_t column = 0; column < 2; column++) {
        is_int(table_read(&bench.reader, &bench.view, column, got), 0);
        ok(memcmp(got, values, 100 * sizeof *got) == 0);
    }
    values[0] = first - 1; // begins before: 0 serves
    table_begin(&bench.writer, TABLE_MARK, 1, 100);
    table_count_from(&bench.writer, first);
    table_put(&bench.writer, 0, TRANSFORM_DELTA, values);
    bench.out.used = 0;
    is_int(table_end(&bench.writer, &about, &header), 0);
    is_int(table_view_init(&bench.view, &header, bench.out.bytes + FRAME_HEADER_BYTES), 0);
    is_int(table_read(&bench.reader, &bench.view, 0, got), 0);
    ok(memcmp(got, values, 100 * sizeof *got) == 0);
    table_begin(&bench.writer, TABLE_MARK, 1, 100);
    table_count_from(&bench.writer, first + 1); // not what the header will say
    table_put(&bench.writer, 0, TRANSFORM_DELTA, values);
    is_int(table_end(&bench.writer, &about, &header), GAIT_ERR_ARGUMENT);
    bench_finish(&bench);
}

TEST("table: a frame of the most rows comes back, one more is refused")
{
    struct bench bench;
    uint64_t *many = malloc(FRAME_MAX_ROWS * sizeof *many);
    uint64_t *back = malloc(FRAME_MAX_ROWS * sizeof *back);

    if (!bench_init(&bench) || !ok(many && back))
        return;
    for (size_t row = 0; row < FRAME_MAX_ROWS; row++)
        many[row] = row * row;
    table_begin(&bench.writer, TABLE_SPAN, 1, FRAME_MAX_ROWS);
    table_put(&bench.writer, 0, TRANSFORM_DELTA, many);
    if (close_and_view(&bench)) {
        is_int(table_read(&bench.reader, &bench.view, 0, back), 0);
        ok(memcmp(many, back, FRAME_MAX_ROWS * sizeof *many) == 0);
    }
    table_begin(&bench.writer, TABLE_SPAN, 1, FRAME_MAX_ROWS + 1);
    is_int(table_end(&bench.writer, &(struct table_about){0}, NULL), GAIT_ERR_ARGUMENT);
    struct table_writer other;
    is_int(table_writer_init(&other, &bench.out, FRAME_MAX_ROWS + 1, 0), GAIT_ERR_ARGUMENT);
    table_writer_finish(&other);
    free(many);
    free(back);
    bench_finish(&bench);
}

TEST("table: wrong puts fail the frame, which then leaves no trace")
{
    struct bench bench;
    struct frame_header header;

    if (!bench_init(&bench))
        return;
    fill(&(struct random_values){3}, 0, 10);
    for (int mistake = 0; mistake < 5; mistake++) {
        table_begin(&bench.writer, TABLE_SPAN, 1, 10);
        table_put(&bench.writer, 0, TRANSFORM_DELTA, values);
        if (mistake == 0)
            table_put(&bench.writer, 0, TRANSFORM_DELTA, values);
        if (mistake == 1)
            table_put(&bench.writer, 4, TRANSFORM_NONE, values);
        if (mistake == 2)
            table_put_bytes(&bench.writer, 1, slices);
        if (mistake == 3)
            table_put(&bench.writer, SCHEMA_MAX_COLUMNS, TRANSFORM_NONE, values);
        const struct table_about about = {.first = mistake == 4, .last = 0};
        is_int(table_end(&bench.writer, &about, NULL), GAIT_ERR_ARGUMENT);
        is_u64(bench.out.used, 0);
    }
    // The writer is as good as new, and no sequence number was used up.
    table_begin(&bench.writer, TABLE_SPAN, 1, 10);
    is_int(table_end(&bench.writer, &(struct table_about){0}, &header), 0);
    is_u64(header.sequence, 0);
    bench_finish(&bench);
}

TEST("table: a full output buffer is said, and the next frame is whole again")
{
    struct buffer out;
    struct table_writer writer;
    struct frame_header header;

    buffer_init(&out, 100);
    if (!is_int(table_writer_init(&writer, &out, 100, 100), 0))
        return;
    fill(&(struct random_values){4}, 8, 100);
    table_begin(&writer, TABLE_SPAN, 1, 100);
    table_put(&writer, 0, TRANSFORM_NONE, values);
    is_int(table_end(&writer, &(struct table_about){0}, &header), GAIT_ERR_MEMORY);
    is_u64(out.used, 0);
    table_begin(&writer, TABLE_SPAN, 1, 100);
    is_int(table_end(&writer, &(struct table_about){0}, &header), 0);
    is_u64(out.used, FRAME_HEADER_BYTES + 8);
    table_writer_finish(&writer);
    buffer_finish(&out);
}

TEST("table: a frame above 16 MiB is refused, one below is not")
{
    struct bench bench;
    uint8_t *noise = malloc(FRAME_MAX_PAYLOAD);
    struct random_values random = {10};

    if (!bench_init(&bench) || !ok(noise))
        return;
    for (size_t i = 0; i < FRAME_MAX_PAYLOAD; i += 8)
        memcpy(noise + i, (uint64_t[]){random_next(&random)}, 8);
    slices[0] = (struct slice){noise, FRAME_MAX_PAYLOAD - 64};
    table_begin(&bench.writer, TABLE_LOG, 1, 1);
    table_put_bytes(&bench.writer, 2, slices);
    if (close_and_view(&bench)) {
        is_int(table_read_bytes(&bench.reader, &bench.view, 2, &bench.text, got_slices), 0);
        ok(got_slices[0].count == slices[0].count &&
           memcmp(got_slices[0].bytes, noise, slices[0].count) == 0);
    }
    bench.out.used = 0;
    slices[0].count = FRAME_MAX_PAYLOAD;
    table_begin(&bench.writer, TABLE_LOG, 1, 1);
    table_put_bytes(&bench.writer, 2, slices);
    is_int(table_end(&bench.writer, &(struct table_about){0}, NULL), GAIT_ERR_MEMORY);
    is_u64(bench.out.used, 0);
    slices[0].count = (size_t)FRAME_MAX_RAW + 1;
    table_begin(&bench.writer, TABLE_LOG, 1, 1);
    table_put_bytes(&bench.writer, 2, slices);
    is_int(table_end(&bench.writer, &(struct table_about){0}, NULL), GAIT_ERR_MEMORY);
    free(noise);
    bench_finish(&bench);
}

TEST("table: within its promised size a writer allocates only once")
{
    struct random_values random = {11};
    struct bench bench;

    if (!bench_init(&bench))
        return;
    const uint8_t *payload = bench.writer.payload.bytes, *scratch = bench.writer.scratch.bytes;
    for (unsigned shape = 0; shape < 10; shape++) {
        fill(&random, shape == 4 ? 8 : shape, MAX_ROWS);
        bench.out.used = 0;
        table_begin(&bench.writer, TABLE_INDEX, 0, MAX_ROWS);
        for (uint16_t column = 0; column < 8; column++)
            table_put(&bench.writer, column, TRANSFORM_NONE, values);
        is_int(table_end(&bench.writer, &(struct table_about){0}, NULL), 0);
    }
    ok(payload == bench.writer.payload.bytes && scratch == bench.writer.scratch.bytes);
    bench_finish(&bench);
}

TEST("table: a reader takes memory for its largest column once")
{
    struct random_values random = {16};
    struct bench bench;
    const uint8_t *before = NULL;

    if (!bench_init(&bench))
        return;
    for (unsigned frame = 0; frame < 20; frame++) {
        fill(&random, 1, frame ? 1000 * (1 + frame % 5) : MAX_ROWS);
        table_begin(&bench.writer, TABLE_SPAN, 1, frame ? 1000 * (1 + frame % 5) : MAX_ROWS);
        table_put(&bench.writer, 0, TRANSFORM_DELTA, values);
        if (!close_and_view(&bench) || !is_int(table_read(&bench.reader, &bench.view, 0, got), 0))
            break;
        ok(frame == 0 || before == bench.reader.raw.bytes);
        before = bench.reader.raw.bytes;
    }
    bench_finish(&bench);
}

TEST("table: noise is stored as it is and not tried again at once")
{
    struct random_values random = {12};
    struct bench bench;

    if (!bench_init(&bench))
        return;
    fill(&random, 8, MAX_ROWS);
    for (int frame = 0; frame < 3; frame++) {
        table_begin(&bench.writer, TABLE_MEMORY, 1, MAX_ROWS);
        table_put(&bench.writer, 2, TRANSFORM_NONE, values);
        if (!close_and_view(&bench))
            break;
        is_int(bench.view.columns[2].compression, COMPRESSION_NONE);
        is_int(bench.view.columns[2].packing, PACKING_FIXED64);
        is_int(bench.writer.rests[TABLE_MEMORY][2], 16 - frame);
    }
    bench_finish(&bench);
}

static void check_schema(bool is_foreign)
{
    struct bench bench;
    static uint64_t tables[300], indexes[300];
    static struct slice names[300], columns[300], types[300];
    struct buffer texts[3];
    uint32_t row = 0;

    if (!bench_init(&bench) || !is_int(is_foreign ? table_write_schema_foreign(&bench.writer)
                                                  : table_write_schema(&bench.writer),
                                       0))
        return;
    struct frame_header header;
    is_int(frame_header_read(bench.out.bytes, &header), 0);
    is_int(table_view_init(&bench.view, &header, bench.out.bytes + FRAME_HEADER_BYTES), 0);
    for (int i = 0; i < 3; i++)
        buffer_init(&texts[i], 1 << 16);
    is_int(table_read(&bench.reader, &bench.view, 0, tables), 0);
    is_int(table_read_bytes(&bench.reader, &bench.view, 1, &texts[0], names), 0);
    is_int(table_read(&bench.reader, &bench.view, 2, indexes), 0);
    is_int(table_read_bytes(&bench.reader, &bench.view, 3, &texts[1], columns), 0);
    is_int(table_read_bytes(&bench.reader, &bench.view, 4, &texts[2], types), 0);
    for (uint32_t table = 0; table < TABLE_COUNT; table++) {
        const struct table_schema *schema = schema_table(table);
        const bool is_all = is_foreign && table != TABLE_FACT; // which no trace has
        const uint32_t count = is_all ? schema->column_count : schema->own_count;
        for (uint32_t i = 0; i < count; i++, row++) {
            ok(tables[row] == table && indexes[row] == i);
            ok(names[row].count == strlen(schema->name) &&
               memcmp(names[row].bytes, schema->name, names[row].count) == 0);
            ok(columns[row].count == strlen(schema->columns[i].name) &&
               memcmp(columns[row].bytes, schema->columns[i].name, columns[row].count) == 0);
            is_int(schema_type_by_name((const char *)types[row].bytes, types[row].count),
                   schema->columns[i].type);
        }
    }
    is_u64(header.rows, row);
    for (int i = 0; i < 3; i++)
        buffer_finish(&texts[i]);
    bench_finish(&bench);
}

TEST("table: the schema frame describes every column of every table of a trace")
{
    check_schema(true);
}

TEST("table: a recorder's schema leaves out what only foreign traces have")
{
    is_u64(schema_table(TABLE_FORM)->own_count, 0);
    is_u64(schema_table(TABLE_SPAN)->own_count, 5);
    check_schema(false);
}

TEST("table: tables and columns nobody knows are written and read all the same")
{
    struct bench bench;

    if (!bench_init(&bench))
        return;
    fill(&(struct random_values){5}, 0, 50);
    slices[0] = slice_of("extra");
    for (int row = 1; row < 50; row++)
        slices[row] = (struct slice){0};
    table_begin(&bench.writer, (enum table_id)TABLE_STRANGE, 1, 50);
    table_put(&bench.writer, 0, TRANSFORM_NONE, values);
    table_put_bytes(&bench.writer, 31, slices);
    if (close_and_view(&bench)) {
        is_int(table_read(&bench.reader, &bench.view, 0, got), 0);
        ok(memcmp(values, got, 50 * sizeof *got) == 0);
        is_int(table_read_bytes(&bench.reader, &bench.view, 31, &bench.text, got_slices), 0);
        is_u64(got_slices[0].count, 5);
    }
    bench_finish(&bench);
}

TEST("table: finishing takes NULL and what never began")
{
    struct table_writer writer = {0};
    struct table_reader reader = {0};

    table_writer_finish(NULL);
    table_reader_finish(NULL);
    table_writer_finish(&writer);
    table_reader_finish(&reader);
    ok(writer.zstd == NULL && reader.zstd == NULL);
}
