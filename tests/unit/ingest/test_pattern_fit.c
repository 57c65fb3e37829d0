// SPDX-License-Identifier: Apache-2.0
// Every way to compare an event with a pattern says the same; the numbers are those that
// printf() wrote.
#include "ingest/pattern/pattern_fit.h"
#include "ingest/pattern/pattern_walk.h"

#include <inttypes.h>
#include <stdio.h>

#include "support/random_values.h"
#include "support/tap.h"

enum { EVENTS = 20000, ROOM = 1024 };

struct written {
    char text[ROOM];
    size_t count;
    uint64_t start_ns, duration_ns, id, tenths;
    int64_t integer;
    size_t at[5], bytes[5]; // of its numbers
};

// An event as Kineto writes it, with padding behind it that may be read.
static void write_event(struct written *event, struct random_values *random, const char *name)
{
    static const uint64_t limits[] = {UINT64_C(10000000000000000), UINT64_C(1000000000),
                                      UINT64_C(1000000000000000000)};
    char numbers[5][40];
    *event = (struct written){.start_ns = random_below(random, limits[0] / 4) * 1000,
                              .duration_ns = random_below(random, limits[1]),
                              .id = random_magnitude(random) % limits[2],
                              .tenths = 1 + random_below(random, 100000),
                              .integer = (int64_t)(random_magnitude(random) % limits[2])};
    event->start_ns += random_below(random, 1000);
    event->integer *= random_below(random, 2) ? -1 : 1;
    snprintf(numbers[0], 40, "%" PRIu64 ".%03" PRIu64, event->start_ns / 1000,
             event->start_ns % 1000);
    snprintf(numbers[1], 40, "%" PRIu64 ".%03" PRIu64, event->duration_ns / 1000,
             event->duration_ns % 1000);
    snprintf(numbers[2], 40, "%" PRIu64, event->id);
    snprintf(numbers[3], 40, "%" PRId64, event->integer);
    snprintf(numbers[4], 40, "%" PRIu64 ".%" PRIu64, event->tenths / 10, event->tenths % 10);
    const char *const parts[] = {"\", \"pid\": 7, \"ts\": ", ", \"dur\": ", ", \"id\": ",
                                 ", \"args\": {\"n\": ", ", \"r\": "};
    event->count = (size_t)snprintf(event->text, ROOM, "{\"ph\": \"X\", \"name\": \"%s", name);
    for (int i = 0; i < 5; i++) {
        event->count +=
            (size_t)snprintf(event->text + event->count, ROOM - event->count, "%s", parts[i]);
        event->at[i] = event->count;
        event->count +=
            (size_t)snprintf(event->text + event->count, ROOM - event->count, "%s", numbers[i]);
        event->bytes[i] = event->count - event->at[i];
    }
    event->count += (size_t)snprintf(event->text + event->count, ROOM - event->count, "}}");
}

static void learn(struct pattern_table *table, const struct written *event)
{
    static const uint8_t kinds[] = {HOLE_START, HOLE_DURATION, HOLE_ID, HOLE_INTEGER, HOLE_DECIMAL};
    struct pattern_draft draft = {.text = {(const uint8_t *)event->text, event->count},
                                  .hole_count = 5};
    for (unsigned i = 0; i < 5; i++)
        draft.holes[i] = (struct draft_hole){.at = (uint32_t)event->at[i],
                                             .bytes = (uint32_t)event->bytes[i],
                                             .kind = kinds[i],
                                             .blank = i == 3 ? BLANK_LINK : BLANK_VALUE,
                                             .digits = i == 4};
    is_u64(pattern_table_learn(table, &draft, &(struct pattern_branch){.from = 0}), 1);
}

struct tried {
    const uint8_t *end;
    struct row row;
    struct pattern_miss miss;
};

static struct tried try(const struct pattern_fitter *fitter, const struct pattern *pattern,
                        const struct written *event)
{
    struct tried tried = {.row = pattern->row};
    tried.end = fitter->fit(pattern, (const uint8_t *)event->text, &tried.row, &tried.miss);
    return tried;
}

static bool is_alike(const struct tried *a, const struct tried *b)
{
    return a->end == b->end && (a->end ? memcmp(&a->row, &b->row, sizeof a->row) == 0
                                       : a->miss.at == b->miss.at && a->miss.byte == b->miss.byte);
}

// The numbers of an event that fits, as they were when it was written.
static bool is_as_written(const struct tried *tried, const struct written *event)
{
    return tried->end == (const uint8_t *)event->text + event->count &&
           (uint64_t)tried->row.start == event->start_ns &&
           tried->row.duration == event->duration_ns && tried->row.id == event->id &&
           tried->row.form.values[BLANK_LINK] == (uint64_t)event->integer &&
           tried->row.form.values[BLANK_VALUE] == event->tenths;
}

static void check(const char *name, bool is_spoilt)
{
    const struct pattern_fitter *portable = &pattern_fitters[PATTERN_FITTERS - 1];
    struct random_values random = {7};
    struct pattern_table table;
    struct written event;
    unsigned bad = 0, fits = 0;
    pattern_table_init(&table);
    write_event(&event, &random, name);
    learn(&table, &event);
    for (int i = 0; i < EVENTS; i++) {
        write_event(&event, &random, name);
        if (is_spoilt)
            event.text[random_below(&random, event.count)] = (char)random_below(&random, 256);
        const struct tried told = try(portable, table.patterns[0], &event);
        fits += told.end != NULL;
        bad += !is_spoilt && !is_as_written(&told, &event);
        for (int k = 0; k < PATTERN_FITTERS - 1; k++) {
            const struct tried same = pattern_fitters[k].is_here()
                                          ? try(&pattern_fitters[k], table.patterns[0], &event)
                                          : told;
            bad += !is_alike(&told, &same);
        }
    }
    is_u64(bad, 0);
    ok(is_spoilt ? fits < EVENTS / 2 : fits == EVENTS);
    pattern_table_finish(&table);
}

TEST("pattern_fit: numbers are what was written, in every way to read them")
{
    check("a", false);
    check("void a_kernel_with_a_name<that, is, longer, than, a, vector>(of, sixty-four, bytes)",
          false);
}

TEST("pattern_fit: of an event that does not fit, every way says where")
{
    check("a", true);
    check("void a_kernel_with_a_name<that, is, longer, than, a, vector>(of, sixty-four, bytes)",
          true);
}

TEST("pattern_fit: microseconds since 1970 and ids of 18 digits fit")
{
    struct random_values random = {1};
    struct pattern_table table;
    struct written event;
    const struct pattern *pattern;
    struct row row;
    struct pattern_walk walk;
    pattern_table_init(&table);
    pattern_walk_init(&walk, &table);
    write_event(&event, &random, "a");
    learn(&table, &event);
    char text[ROOM] = "{\"ph\": \"X\", \"name\": \"a\", \"pid\": 7, \"ts\": 1689179752427128, "
                      "\"dur\": 2, \"id\": 123456789012345678, \"args\": {\"n\": -5, \"r\": 0.3}}";
    ok(pattern_walk_match(&walk, (struct slice){(const uint8_t *)text, sizeof text}, &pattern,
                          &row) == strlen(text));
    ok(row.start == INT64_C(1689179752427128000));
    is_u64(row.id, UINT64_C(123456789012345678));
    // what does not fit 64 bits, or a number of another kind, is read the long way
    memcpy(strstr(text, "1689"), "9999", 4);
    is_u64(pattern_walk_match(&walk, (struct slice){(const uint8_t *)text, sizeof text}, &pattern,
                              &row),
           0);
    pattern_walk_finish(&walk);
    pattern_table_finish(&table);
}
