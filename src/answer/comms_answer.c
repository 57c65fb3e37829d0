// SPDX-License-Identifier: Apache-2.0
// `gait comms`: collectives over the ranks of a run, what they moved and who kept whom waiting.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analyse/device/collectives.h"
#include "answer/answers.h"
#include "answer/modules/comm_debug_answer.h"
#include "base/fail.h"
#include "base/units.h"
#include "load/choice.h"

struct comms_values {
    const char *debug; // a digit, or NULL
};

static const struct column columns[] = {
    {.key = "name", .label = "", .flags = COLUMN_LEFT, .width = 17},
    {.key = "calls", .label = "calls", .unit = UNIT_COUNT, .width = 7},
    {.key = "bytes", .label = "data", .unit = UNIT_BYTES, .width = 9},
    {.key = "transfer_ns", .label = "transfer", .unit = UNIT_NS, .width = 10},
    {.key = "waiting_ns", .label = "waiting", .unit = UNIT_NS, .width = 10},
    {.key = "busbw", .label = "busbw/s", .unit = UNIT_BYTES, .width = 10},
    {.key = "last_rank", .label = "last", .width = 6},
    {.key = "last_calls", .label = "times", .unit = UNIT_COUNT, .width = 7},
    {.key = "algbw"},
    {.key = "dtype"},
    {.key = "group"},
    {.key = "group_size"},
    {.key = "ranks"},
    {.key = "unmatched"},
    {.key = "device_ns"},
};
static const struct table table = {.key = "collectives",
                                   .heading = "Collectives",
                                   COLUMNS_ARE(columns),
                                   .most = 40,
                                   .more = "smaller"};

static struct value bytes_or_none(double bytes)
{
    const bool is_known = isfinite(bytes) && bytes < 9e18;
    return value_if(is_known, value_uint(is_known ? (uint64_t)bytes : 0));
}

static struct value text_or_none(const char *text)
{
    return value_if(*text, value_text(text));
}

static void put_sum(struct sheet *sheet, const struct collective_sum *sum)
{
    const struct collective_kind *kind = sum->kind;
    const struct value cells[] = {
        value_text(kind->name),
        value_uint(sum->calls),
        value_if(sum->bytes > 0, value_uint(sum->bytes)),
        value_if(sum->ranks > 1 || kind->group_size == 1, value_uint(sum->transfer_ns)),
        value_if(sum->ranks > 1, value_uint(sum->waiting_ns)),
        bytes_or_none(collective_bus_bandwidth(sum)),
        value_rank(sum->last_rank),
        value_if(sum->last_rank >= 0, value_uint(sum->last_calls)),
        bytes_or_none(collective_algorithm_bandwidth(sum)),
        text_or_none(kind->dtype),
        text_or_none(kind->group),
        value_if(kind->group_size > 0, value_uint(kind->group_size)),
        value_uint(sum->ranks),
        value_uint(sum->unmatched),
        value_uint(sum->device_ns),
    };
    sheet_row(sheet, cells, 0);
}

static void say_limits(struct sheet *sheet, const struct collectives *found)
{
    uint64_t unmatched = 0;
    bool is_alone = found->count > 0;
    char text[200];
    for (size_t i = 0; i < found->count; i++) {
        unmatched += found->sums[i].unmatched;
        is_alone &= found->sums[i].ranks < 2;
    }
    if (is_alone)
        sheet_say(sheet, SAY_PARAGRAPH,
                  "One rank alone is on record: how long it waited for others cannot be told, and "
                  "bandwidths are lower bounds.");
    if (unmatched) {
        snprintf(text, sizeof text, "%s call%s not on record on all of the ranks.",
                 units_count(unmatched).text, unmatched == 1 ? " is" : "s are");
        sheet_say(sheet, SAY_PARAGRAPH, text);
    }
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    const struct comms_values *values = asked->values;
    struct collectives found;
    uint64_t calls = 0;
    char text[100];
    if (values->debug && asked->chosen)
        return fail(GAIT_ERR_ARGUMENT, "--debug shows all of a rank: leave out --steps, --from, "
                                       "--to and --phase");
    if (values->debug)
        return comm_debug_answer_put(sheet, asked, (enum comm_noise)(*values->debug - '0'));
    int status = collectives_make(&found, asked->trace, asked->chosen);
    if (status)
        return status;
    for (size_t i = 0; i < found.count; i++)
        calls += found.sums[i].calls;
    if (calls)
        snprintf(text, sizeof text, "%s collective%s of %zu kind%s", units_count(calls).text,
                 units_plural(calls), found.count, units_plural(found.count));
    else
        snprintf(text, sizeof text, "No collective of a device is on record");
    sheet_title(sheet, asked->path, text);
    sheet_table(sheet, &table);
    for (size_t i = 0; i < found.count; i++)
        put_sum(sheet, &found.sums[i]);
    sheet_end(sheet);
    say_limits(sheet, &found);
    collectives_finish(&found);
    return GAIT_OK;
}

static const char *const noises[] = {"0", "1", "2", "3", NULL};

#define AT(field) offsetof(struct comms_values, field)
static const struct option options[] = {
    {CHOICE_ROW(
        0, "debug", "LEVEL", noises, AT(debug),
        "what each module communicated: 0 collectives, 1 classes too, 2 ops too, 3 all ops")},
};

const struct answer comms_answer = {
    .summary = "Lists the collectives that devices ran: calls, data, bandwidth, transfer and "
               "waiting over the ranks, and the rank that came last.",
    .about = {"The k-th collective of a kind in a group of ranks is one, wherever it is on record. "
              "A kernel of a collective begins when its rank is there and ends when all are done: "
              "the shortest over the ranks is what the transfer took, the rest of each was "
              "waiting, and the rank of the shortest came last. No clock is compared with "
              "another.",
              "busbw is the bandwidth that the links must have had, as nccl-tests counts it.",
              "--debug shows the tree of modules of one rank with the collectives that its host "
              "called in each, forward, backward and where checkpointing computes anew, in the "
              "form of torch's CommDebugMode, with bytes and times. As there, a collective counts "
              "for all modules around it, up to Global, and an op for its own. A record says "
              "nothing of sharding (DTensor): level 1 adds the classes of modules alone.",
              CHOICE_COUNTS,
              "A collective has its number before any is left out, so ranks still agree; where a "
              "time begins or ends between them, it is not on record on all."},
    .examples = {{"gait comms run1", "Collectives, bandwidths, and which rank came last."},
                 {"gait comms --debug 1 trace.json",
                  "Which modules communicate, forward and backward."}},
    OPTIONS_ARE(options),
    .choice = CHOICE_STEPS | CHOICE_TIME | CHOICE_RANKS | CHOICE_RANK | CHOICE_PHASE,
    .is_rare = true,
    .put = put,
};
