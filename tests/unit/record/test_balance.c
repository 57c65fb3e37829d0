// SPDX-License-Identifier: Apache-2.0
// One thread makes records at random while a model notes what it made. Whatever
// the ring took must be in the shard once, in order, rightly nested and with its
// own values; the rest must be counted, to the last event.
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>

#include "base/clock.h"
#include "record/recorder.h"
#include "support/recording.h"
#include "support/tap.h"

enum { MAX_EVENTS = 60000, MAX_OPS = 4 * MAX_EVENTS, MAX_DEPTH = 600 };

struct made {
    enum gait_kind kind;
    uint32_t op, end_op; // end_op 0: not ended
    long parent;         // the span around it, -1 without
    uint32_t depth;
    bool has_int;
    uint32_t args, text_bytes;
    uint64_t text_hash;
};

struct plan {
    const char *policy;
    uint64_t ring_bytes, seed;
    uint32_t events, dive_depth, text_max;
    bool has_stray_ends, has_flushes, stays_open;
};

static struct made made[MAX_EVENTS];
static long open_spans[MAX_DEPTH];
static uint32_t made_count, open_count, op;
static long open_step;
static uint64_t seed;
static uint32_t sites[MAX_EVENTS], key;

static uint32_t random_below(uint32_t bound)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 11) % bound);
}

static uint32_t site_of(uint32_t number)
{
    if (!sites[number]) {
        char name[24];
        snprintf(name, sizeof name, "s%u", number);
        sites[number] = gait_site("test", name);
    }
    return sites[number];
}

// --- what the program does ----------------------------------------------------------

static uint32_t add(enum gait_kind kind)
{
    made[made_count] = (struct made){.kind = kind,
                                     .op = op,
                                     .parent = open_count ? open_spans[open_count - 1] : -1,
                                     .depth = open_count};
    return made_count++;
}

static void begin_one(void)
{
    uint32_t number = add(GAIT_KIND_SPAN);
    open_spans[open_count++] = number;
    gait_begin(site_of(number));
}

static void end_one(void)
{
    if (open_count)
        made[open_spans[--open_count]].end_op = op;
    gait_end();
}

static void next_one(void)
{
    if (open_count)
        made[open_spans[--open_count]].end_op = op;
    uint32_t number = add(GAIT_KIND_SPAN);
    open_spans[open_count++] = number;
    gait_next(site_of(number));
}

static void step_one(void)
{
    if (open_step >= 0)
        made[open_step].end_op = op;
    open_step = -1;
    if (random_below(2)) {
        gait_step_end();
        return;
    }
    open_step = add(GAIT_KIND_STEP);
    gait_step_begin((uint64_t)open_step);
}

static void note_text(struct made *span, const char *text, uint32_t bytes)
{
    span->args++;
    span->text_bytes += bytes;
    for (uint32_t i = 0; i < bytes; i++)
        span->text_hash = (span->text_hash ^ (uint8_t)text[i]) * 1099511628211u;
}

// Texts are noted back to front, as recording_take_args() reads them.
static void arg_one(const struct plan *plan)
{
    char text[4001];
    if (!open_count)
        return;
    struct made *span = &made[open_spans[open_count - 1]];
    if (!span->has_int && !span->text_bytes) {
        span->has_int = true;
        span->args++;
        gait_arg_int(key, open_spans[open_count - 1]);
    } else if (!span->text_bytes) {
        uint32_t bytes = 1 + random_below(plan->text_max);
        memset(text, 'a' + (int)random_below(26), bytes);
        text[bytes] = '\0';
        note_text(span, text, bytes);
        gait_arg_text(key, text);
    }
}

static void point_one(void)
{
    uint32_t kind = random_below(5);
    static const enum gait_kind kinds[] = {GAIT_KIND_MARK, GAIT_KIND_COUNTER, GAIT_KIND_COUNTER,
                                           GAIT_KIND_ASYNC, GAIT_KIND_FLOW};
    uint32_t number = add(kinds[kind]);
    uint32_t site = site_of(number);
    if (kind == 0)
        gait_mark(site);
    else if (kind == 1)
        gait_count(site, (int64_t)number * -7);
    else if (kind == 2)
        gait_count_real(site, number + 0.5);
    else if (kind == 3)
        gait_async_begin(site, number);
    else
        gait_flow_step(site, number);
}

static void do_one(const struct plan *plan, bool dives)
{
    uint32_t dice = random_below(100);
    op++;
    if (dice < (dives ? 60u : 32u))
        open_count < plan->dive_depth ? begin_one() : end_one();
    else if (dice < 66)
        open_count || plan->has_stray_ends ? end_one() : begin_one();
    else if (dice < 74)
        open_count || plan->has_stray_ends ? next_one() : begin_one();
    else if (dice < 86)
        point_one();
    else if (dice < 89)
        step_one();
    else
        arg_one(plan);
    if (plan->has_flushes && random_below(3000) == 0)
        gait_flush();
}

static void make_all(const struct plan *plan, uint32_t count)
{
    bool dives = false;
    made_count = open_count = op = 0;
    open_step = -1;
    while (made_count + 1 < count) {
        if (random_below(300) == 0)
            dives = !dives;
        do_one(plan, dives);
    }
    while (open_count && !plan->stays_open) {
        op++;
        end_one();
    }
}

// --- what the shard says ------------------------------------------------------------

static const struct recorded_event *found[MAX_EVENTS];

static void check_values(const struct recorded_event *event, long number)
{
    const struct made *want = &made[number];
    bool is_real = event->real != 0;
    is_int(event->kind, want->kind);
    if (event->kind == GAIT_KIND_COUNTER && is_real)
        ok(fabs(event->real - (double)number - 0.5) < 1e-9);
    else if (event->kind == GAIT_KIND_COUNTER)
        is_int(event->value, number * -7);
    if (event->kind == GAIT_KIND_FLOW || event->kind == GAIT_KIND_ASYNC)
        is_int((int64_t)event->id, number);
    if (event->kind == GAIT_KIND_STEP || event->kind == GAIT_KIND_SPAN)
        is_int(event->duration < 0, want->end_op == 0);
    if (event->arg != -1)
        is_int(event->arg, number);
    ok(event->arg_count <= want->args);
    if (event->arg_count == want->args)
        is_u64(event->text_hash, want->text_hash);
}

static uint32_t find_all(const struct recorded *recorded)
{
    uint32_t count = 0;
    memset(found, 0, sizeof found);
    for (size_t i = 0; i < recorded->count; i++) {
        const struct recorded_event *event = &recorded->events[i];
        long number = event->kind == GAIT_KIND_STEP ? (long)event->id : event->number;
        if (!ok(number >= 0 && number < made_count) || !ok(!found[number]))
            return count;
        found[number] = event;
        check_values(event, number);
        count++;
    }
    return count;
}

static uint32_t depth_on_record(long number)
{
    uint32_t depth = 0;
    for (long up = made[number].parent; up >= 0; up = made[up].parent)
        depth += found[up] != NULL;
    return depth;
}

// Begins and ends on record must follow each other in time as they were made.
static void check_order(void)
{
    static int64_t first[MAX_OPS], last[MAX_OPS];
    int64_t before = 0;
    for (uint32_t i = 0; i <= op; i++) {
        first[i] = INT64_MAX;
        last[i] = 0;
    }
    for (uint32_t i = 0; i < made_count; i++) {
        if (!found[i])
            continue;
        int64_t start = found[i]->start, end = start + found[i]->duration;
        first[made[i].op] = start < first[made[i].op] ? start : first[made[i].op];
        last[made[i].op] = start > last[made[i].op] ? start : last[made[i].op];
        if (!made[i].end_op)
            continue;
        first[made[i].end_op] = end < first[made[i].end_op] ? end : first[made[i].end_op];
        last[made[i].end_op] = end > last[made[i].end_op] ? end : last[made[i].end_op];
    }
    for (uint32_t i = 0; i <= op; i++) {
        if (first[i] == INT64_MAX)
            continue;
        // what happens at one call carries one time, but for rounding and a step
        if (!ok(first[i] >= before))
            printf("# call %u at %lld, before %lld\n", i, (long long)first[i], (long long)before);
        before = last[i];
    }
}

static void check_nesting(const struct plan *plan)
{
    bool keeps_depth = !strcmp(plan->policy, "overwrite");
    for (uint32_t i = 0; i < made_count; i++) {
        if (found[i] && found[i]->kind == GAIT_KIND_SPAN)
            is_int(found[i]->depth, keeps_depth ? made[i].depth : depth_on_record(i));
    }
}

static uint64_t run(const struct plan *plan)
{
    struct recorded recorded;
    uint64_t lost;
    seed = plan->seed;
    recording_start(plan->policy, plan->ring_bytes);
    key = gait_key("key");
    make_all(plan, plan->events / RECORDING_FACTOR);
    recording_stop(&recorded);
    is_u64(recorded.damage_count, 0);
    is_u64(recorded.info.events, find_all(&recorded));
    is_u64(recorded.info.events + recorded.info.dropped, made_count);
    if (!plan->has_stray_ends)
        check_nesting(plan);
    if (!plan->has_stray_ends)
        check_order();
    lost = recorded.info.dropped;
    printf("# %s, ring %llu: %u made, %llu dropped\n", plan->policy,
           (unsigned long long)plan->ring_bytes, made_count, (unsigned long long)lost);
    recorded_finish(&recorded);
    return lost;
}

// Block: nothing that fits may be missing, arguments neither.
static void run_whole(const struct plan *plan)
{
    is_u64(run(plan), 0);
    for (uint32_t i = 0; i < made_count; i++)
        ok(found[i] != NULL);
}

TEST("block: every record of a ring of 4 KiB is on record, rightly nested")
{
    for (uint64_t i = 1; i <= 4; i++) {
        struct plan plan = {"block", 4096, i * 77, 30000, 100, 1000, false, false, i % 2};
        run_whole(&plan);
    }
}

TEST("block: a larger ring that wraps many times")
{
    struct plan plan = {"block", 65536, 99, 60000, 200, 4000, false, true, true};
    run_whole(&plan);
}

TEST("block: what is nested deeper than the ring is dropped and counted, not waited for")
{
    struct plan plan = {"block", 4096, 5, 30000, 500, 1000, false, false, false};
    ok(run(&plan) > 0);
}

TEST("drop: every event is on record or counted; what is there is rightly nested")
{
    for (uint64_t i = 1; i <= 8; i++) {
        struct plan plan = {"drop", 4096,  i * 31, 60000,     50 + (uint32_t)i * 60,
                            4000,   false, i % 2,  i % 3 == 0};
        run(&plan);
    }
}

TEST("overwrite: the newest is there, what was lost is counted, depths are true")
{
    for (uint64_t i = 1; i <= 8; i++) {
        struct plan plan = {"overwrite",
                            i < 5 ? 4096 : 65536,
                            i * 13,
                            60000,
                            20 + (uint32_t)i * 30,
                            1000,
                            false,
                            i % 2,
                            i % 3 == 0};
        run(&plan);
        ok(found[made_count - 1] != NULL);
    }
}

TEST("ends without a begin: nothing is counted twice or forgotten, under any policy")
{
    static const char *const policies[] = {"block", "drop", "overwrite"};
    for (uint64_t i = 0; i < 9; i++) {
        struct plan plan = {policies[i % 3], 4096, 1000 + i, 40000, 100, 500, true, i % 2, false};
        run(&plan);
    }
}

enum { TOO_MANY = 50 };

// Ends without a begin, of which the drainer, who is kept from looking, knows
// nothing: they eat the slots that are kept for the ends of spans. Notes how long
// the spans can have taken, and comes back when twice that time is over.
static void *make_more_ends_than_fit(void *ret_longest_ns)
{
    uint64_t *longest_ns = ret_longest_ns;
    gait_mark(gait_site("test", "first")); // wants the lock once
    for (uint32_t i = 0; i < TOO_MANY; i++)
        site_of(i);
    pthread_mutex_lock(&recorder_state.lock);
    for (int i = 0; i < TOO_MANY; i++)
        gait_end();
    const uint64_t start_ns = clock_raw_ns();
    for (uint32_t i = 0; i < TOO_MANY; i++)
        gait_begin(site_of(i));
    while (!WRITER_GET(writer_self->ring->lost))
        gait_mark(site_of(0));
    for (int i = 0; i < TOO_MANY; i++)
        gait_end();
    *longest_ns = clock_raw_ns() - start_ns;
    ok(writer_self->owed > 0 && writer_self->owed <= WRITER_OWED);
    while (clock_raw_ns() - start_ns < 2 * *longest_ns)
        ;
    pthread_mutex_unlock(&recorder_state.lock);
    return NULL;
}

// All have ended, none before the one within it, in the time that there was.
static void check_all_ended(const struct recorded *recorded, uint64_t longest_ns)
{
    int64_t before = INT64_MAX;
    uint32_t spans = 0;
    for (size_t i = 0; i < recorded->count; i++) {
        const struct recorded_event *event = &recorded->events[i];
        if (event->kind != GAIT_KIND_SPAN)
            continue;
        spans++;
        ok(event->duration >= 0 && (uint64_t)event->duration <= longest_ns);
        ok(event->start + event->duration <= before);
        before = event->start + event->duration;
    }
    is_u64(spans, TOO_MANY);
}

TEST("ends that found no room are written when recording stops, with their own time")
{
    struct recorded recorded;
    uint64_t longest_ns;
    recording_start("drop", 8192);
    make_more_ends_than_fit(&longest_ns);
    recording_stop(&recorded);
    check_all_ended(&recorded, longest_ns);
    recorded_finish(&recorded);
}

TEST("ends that found no room are written when their thread has ended")
{
    struct recorded recorded;
    uint64_t longest_ns;
    pthread_t thread;
    recording_start("drop", 8192);
    recording_must(!pthread_create(&thread, NULL, make_more_ends_than_fit, &longest_ns), "thread");
    pthread_join(thread, NULL);
    for (int i = 0; i < 4; i++)
        is_int(gait_flush(), 0);
    ok(!recorder_state.writers); // the drainer let go of it
    recording_stop(&recorded);
    check_all_ended(&recorded, longest_ns);
    recorded_finish(&recorded);
}

TEST("open spans with twenty megabytes of arguments between them harm no batch")
{
    struct recorded recorded;
    char text[4001];
    recording_start("block", 1u << 20);
    key = gait_key("key");
    seed = 1;
    for (uint32_t i = 0; i < 320; i++) {
        gait_begin(site_of(i));
        for (int j = 0; j < 16; j++) {
            for (int at = 0; at < 4000; at++)
                text[at] = (char)(1 + random_below(255));
            text[4000] = '\0';
            gait_arg_text(key, text);
        }
    }
    is_int(gait_flush(), 0);
    gait_mark(site_of(400));
    is_int(gait_flush(), 0);
    recording_stop(&recorded);
    is_u64(recorded.info.events, 321);
    is_u64(recorded.info.dropped, 0);
    is_u64(recorded.damage_count, 0);
    is_u64(recorded.events[0].text_bytes, 16 * 4000);
    is_u64(recorded.events[319].text_bytes, 16 * 4000);
    recorded_finish(&recorded);
}

// Everything goes the long way round then.
TEST("the raw clock: the same under every policy")
{
    static const char *const policies[] = {"block", "drop", "overwrite"};
    setenv("GAIT_CLOCK", "raw", 1);
    clock_setup();
    ok(!clock_has_ticks);
    for (uint64_t i = 0; i < 6; i++) {
        struct plan plan = {
            policies[i % 3], i < 3 ? 4096 : 65536, 500 + i, 30000, 100, 500, false, false, false};
        uint64_t lost = run(&plan);
        ok(i % 3 || lost == 0);
        ok(i % 3 != 2 || found[made_count - 1]);
        // the flight recorder keeps most of its buffer, not only its newest block
        ok(i != 5 || lost < made_count - 400);
    }
    unsetenv("GAIT_CLOCK");
    clock_setup();
}
