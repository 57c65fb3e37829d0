// SPDX-License-Identifier: Apache-2.0
// One sweep over all of a rank's time; what a turn holds is the difference of the sums at its
// begin and at the begin of the next one. Where the last one ends is known only at the end:
// the sums are kept each time that time passes what is the end so far.
#include "analyse/device/turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/steps/trace_facts.h"
#include "base/array.h"
#include "base/fail.h"
#include "base/invariant.h"
#include "facts/facts_file.h"
#include "facts/launches.h"
#include "facts/sweep.h"
#include "load/arg_keys.h"
#include "vocabulary/metadata.h"

enum { MOST_ROWS = 1 << 28, MOST_DEVICES = 64, MOST_RANKS = 1 << 20 };

struct part {
    struct turn_rank rank;
    const struct gait_trace *trace;
    uint8_t *kinds;
    struct feed feed;
    struct sweep sweep;
    struct activity_sums sums;       // until now
    struct activity_sums begun;      // when the last turn began
    const struct recorded_step *own; // that did not begin yet
    size_t own_count;
    bool has_own, is_kept;
    size_t capacity;
    int64_t tail_ns;           // the end of the last turn, so far
    struct activity_sums tail; // the sums then, once that time has passed
    bool is_tail_kept;
    struct activity_window window;
    struct rank_activity activity;
    const struct chosen *chosen;
    struct fill_sums *filled, *fill_tails; // by device: of turns that are over; with the last one
    int64_t later_end_ns;                  // of work that was given behind the last step's end
    struct device_fill fills[MOST_DEVICES];
    size_t fill_count;
    uint32_t track; // of the last kernel, and its device
    int32_t device;
    struct arg_keys keys;
};

enum { BLOCKS, OCCUPANCY, KEYS };
static const char *const key_names[KEYS] = {"blocks per SM", "est. achieved occupancy %"};

// --- time passes ---------------------------------------------------------------------------

static void visit(void *context, unsigned state, int64_t from_ns, int64_t until_ns)
{
    struct part *part = context;
    activity_sums_take(&part->sums, state, (uint64_t)until_ns - (uint64_t)from_ns);
    if (part->window.is_open || part->window.times)
        activity_window_pass(&part->window, state, from_ns, until_ns);
}

static void sweep_to(struct part *part, int64_t at_ns)
{
    sweep_until(&part->sweep, at_ns, visit, part);
}

static bool is_filled(const struct turn *turn)
{
    return turn->has_devices && turn->is_chosen;
}

static void keep_tail(struct part *part)
{
    sweep_to(part, part->tail_ns);
    part->tail = part->sums;
    part->is_tail_kept = true;
    const bool is_told = is_filled(&part->rank.turns[part->rank.count - 1]);
    for (size_t i = 0; i < part->fill_count; i++) {
        device_fill_until(&part->fills[i], part->tail_ns);
        part->fill_tails[i] = part->filled[i];
        if (is_told)
            device_fill_show(&part->fills[i], &part->fill_tails[i]);
    }
}

static void reach(struct part *part, int64_t end_ns)
{
    if (end_ns <= part->tail_ns)
        return;
    part->tail_ns = end_ns;
    part->is_tail_kept = false;
}

// What devices did in the turn that ends counts where it is on record as a whole.
static void end_fills(struct part *part, bool is_told, int64_t at_ns)
{
    for (size_t i = 0; i < part->fill_count; i++) {
        device_fill_until(&part->fills[i], at_ns);
        if (is_told)
            device_fill_show(&part->fills[i], &part->filled[i]);
        part->fills[i].sums = (struct fill_sums){0};
    }
}

static uint64_t length(int64_t from_ns, int64_t until_ns)
{
    return (uint64_t)until_ns - (uint64_t)from_ns;
}

// Of idle time the host's side counts.
static void take_parts(struct turn_sums *parts, const struct activity_sums *sums)
{
    for (unsigned lane = 0; lane < LANE_COUNT; lane++)
        for (unsigned host = 0; host < ACTIVITY_HOSTS; host++)
            parts->ns[lane] += sums->ns[lane][host];
    for (unsigned host = 0; host < ACTIVITY_HOSTS; host++)
        parts->ns[LANE_COUNT + host] += sums->ns[ACTIVITY_IDLE][host];
}

// `sums` are those at its end.
static void end_turn(struct part *part, const struct activity_sums *sums, int64_t end_ns)
{
    struct turn_rank *rank = &part->rank;
    struct turn *turn = &rank->turns[rank->count - 1];
    struct activity_sums held = {0};
    activity_sums_add(&held, sums, &part->begun);
    take_parts(&turn->sums, &held);
    turn->end_ns = end_ns;
    GAIT_ASSERT(activity_sums_total(&held) == length(turn->start_ns, end_ns));
    if (!turn->is_chosen)
        return;
    rank->steps++;
    rank->total_ns += length(turn->start_ns, end_ns);
    rank->host_ns += length(turn->start_ns, turn->host_end_ns);
    if (!turn->has_devices)
        return;
    rank->told++;
    rank->told_ns += length(turn->start_ns, end_ns);
    take_parts(&rank->sums, &held);
    activity_sums_add(&part->activity.sums, &held, &(struct activity_sums){0});
}

// Time stands at its begin.
static int begin_turn(struct part *part, const struct turn *turn)
{
    struct turn_rank *rank = &part->rank;
    const struct turn *last = rank->count ? &rank->turns[rank->count - 1] : NULL;
    if (last && last->start_ns == turn->start_ns && !strcmp(last->name, turn->name))
        return GAIT_OK; // there as an op and as an annotation
    const int64_t reach_ns = last ? last->host_reach_ns : INT64_MIN;
    end_fills(part, last && is_filled(last), turn->start_ns);
    if (last)
        end_turn(part, &part->sums, turn->start_ns);
    const size_t at = part->is_kept ? rank->count : 0;
    const int status = ARRAY_RESERVE(rank->turns, part->capacity, at + 1, MOST_ROWS);
    if (status)
        return status;
    struct turn *made = &rank->turns[at];
    rank->count = at + 1;
    *made = *turn;
    made->host_reach_ns = turn->host_end_ns > reach_ns ? turn->host_end_ns : reach_ns;
    made->is_first = !last;
    made->is_chosen = chosen_has(part->chosen, rank->shard, turn->start_ns);
    made->sums = (struct turn_sums){{0}};
    part->begun = part->sums;
    part->window.is_open = false; // no more
    made->device_end_ns = part->later_end_ns;
    part->later_end_ns = INT64_MIN;
    part->tail_ns = turn->host_end_ns;
    part->is_tail_kept = false;
    return GAIT_OK;
}

static int begin_own(struct part *part)
{
    const struct recorded_step *own = part->own++;
    part->own_count--;
    return begin_turn(part, &(struct turn){.name = own->step.name,
                                           .number = own->number,
                                           .start_ns = own->step.start_ns,
                                           .host_end_ns = own->step.end_ns,
                                           .has_devices = own->has_devices});
}

static int pass_time(struct part *part, int64_t until_ns)
{
    int status = GAIT_OK;
    while (!status) {
        const int64_t own_ns = part->own_count ? part->own->step.start_ns : INT64_MAX;
        if (part->rank.count && !part->is_tail_kept && part->tail_ns <= until_ns &&
            part->tail_ns < own_ns) {
            keep_tail(part);
            continue;
        }
        if (!part->own_count || own_ns > until_ns)
            break;
        sweep_to(part, own_ns);
        status = begin_own(part);
    }
    if (until_ns != INT64_MAX)
        sweep_to(part, until_ns);
    return status;
}

// --- devices -------------------------------------------------------------------------------

static struct device_fill *fill_of(struct part *part, int32_t device, int64_t at_ns)
{
    size_t at = 0;
    while (at < part->fill_count && part->fills[at].device != device)
        at++;
    if (at == MOST_DEVICES)
        return NULL;
    if (at == part->fill_count)
        part->fills[part->fill_count++] =
            (struct device_fill){.device = device, .now_ns = at_ns, .busy_until_ns = at_ns};
    return &part->fills[at];
}

static int fill(struct part *part, const struct fact_slice *slice, const struct feed_head *head)
{
    struct fill_kernel kernel = {head->start_ns, head->end_ns, NAN, NAN};
    struct gait_arg args[KEYS];
    const int status = fact_args(slice, head->row, &part->keys, args);
    if (status)
        return status;
    if (!arg_list_number(&args[BLOCKS], &kernel.blocks))
        kernel.blocks = NAN;
    if (!arg_list_number(&args[OCCUPANCY], &kernel.occupancy))
        kernel.occupancy = NAN;
    if (part->track != head->track->track) {
        part->track = head->track->track;
        part->device = activity_device(part->trace, part->track);
    }
    struct device_fill *of = fill_of(part, part->device, head->start_ns);
    return of ? device_fill_add(of, &kernel) : GAIT_OK;
}

// The first step that had not ended when the work was given.
static struct turn *turn_of(const struct part *part, int64_t launched_ns)
{
    size_t low = 0, high = part->rank.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (part->rank.turns[middle].host_reach_ns < launched_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < part->rank.count ? &part->rank.turns[low] : NULL;
}

static void note_launch(struct part *part, const struct launch *launch, int64_t end_ns)
{
    struct turn *turn = turn_of(part, launch->start_ns);
    int64_t *device_end_ns = turn ? &turn->device_end_ns : &part->later_end_ns;
    *device_end_ns = end_ns > *device_end_ns ? end_ns : *device_end_ns;
    const struct turn *last = part->rank.count ? &part->rank.turns[part->rank.count - 1] : NULL;
    if (last && launch->start_ns >= last->start_ns && launch->start_ns <= last->host_end_ns)
        reach(part, end_ns);
}

static int add_work(struct part *part, const struct fact_slice *slice, const struct feed_head *head)
{
    const struct launch *launch =
        launches_find(slice->launches, head->track->shard, head->row->link, head->start_ns);
    part->rank.has_device = true;
    if (!part->rank.count && !part->has_own && part->rank.is_imported && !part->window.times)
        activity_window_work(&part->window, &part->sums);
    sweep_add(&part->sweep, head->kind, head->end_ns);
    if (launch)
        note_launch(part, launch, head->end_ns);
    return head->kind == LANE_COPY || !part->is_kept ? GAIT_OK : fill(part, slice, head);
}

// --- rows ----------------------------------------------------------------------------------

static int add_step(struct part *part, const struct feed_head *head)
{
    struct gait_site_info site;
    if (part->has_own)
        return GAIT_OK;
    const int status = gait_trace_site(part->trace, head->row->site, &site);
    if (status)
        return status;
    return begin_turn(part, &(struct turn){.name = site.name,
                                           .number = trace_hint_step(site.name),
                                           .start_ns = head->start_ns,
                                           .host_end_ns = head->end_ns,
                                           .has_devices = true});
}

// Of ops and functions those count that launch: what another thread does keeps no device idle.
static void add_activity(struct part *part, const struct fact_slice *slice,
                         const struct feed_head *head)
{
    const unsigned lane = activity_of_row(head);
    if ((lane == ACTIVITY_OP || lane == ACTIVITY_PYTHON) &&
        !launches_is_launching(slice->launches, (size_t)(head->track - slice->tracks)))
        return;
    sweep_add(&part->sweep, lane, head->end_ns);
}

static int add_slice(void *made, const struct fact_slice *slice)
{
    struct part *part = made;
    const struct feed_head *head;
    int status = feed_begin(&part->feed, slice, part->kinds);
    while (!status && (head = feed_next(&part->feed))) {
        if (head->end_ns == FACT_OPEN)
            continue; // there is no saying how long it took
        status = pass_time(part, head->start_ns);
        if (status)
            break;
        if (head->kind < LANE_NONE)
            status = add_work(part, slice, head);
        else if (head->kind == ACTIVITY_STEP)
            status = add_step(part, head);
        else
            add_activity(part, slice, head);
    }
    return status;
}

// --- ranks ---------------------------------------------------------------------------------

static int begin(void *made, const struct gait_trace *trace, uint32_t shard, void *answer)
{
    struct part *part = made;
    const struct turns *turns = answer;
    part->trace = trace;
    part->rank.shard = shard;
    part->chosen = turns->chosen;
    part->is_kept = turns->is_kept;
    part->window.times = turns->times ? &turns->times[shard] : NULL;
    part->rank.is_imported = gait_trace_metadata(trace, shard, meta.source) != NULL;
    part->own = recorded_steps_of(&turns->recorded, shard, &part->own_count);
    part->has_own = part->own_count > 0;
    part->sweep.lanes = ACTIVITY_COUNT;
    part->tail_ns = part->later_end_ns = INT64_MIN;
    part->track = GAIT_NO_TRACK;
    arg_keys_init(&part->keys, key_names, KEYS);
    part->feed.outermost = (1u << ACTIVITY_COUNT) - (1u << LANE_COUNT) + (1u << ACTIVITY_COPY_CALL);
    part->fill_tails = calloc(MOST_DEVICES, sizeof *part->fill_tails);
    part->filled = calloc(MOST_DEVICES, sizeof *part->filled);
    if (!part->fill_tails || !part->filled)
        return fail(GAIT_ERR_MEMORY, "no memory for devices");
    int status = activities_find(trace, &part->kinds);
    for (uint32_t i = 0; !status && i < gait_trace_site_count(trace); i++)
        if (part->kinds[i] == ACTIVITY_PHASE) // phases are told with the steps
            part->kinds[i] = FEED_NO_KIND;
    return status;
}

// A trace of another tool without work of a device tells nothing of devices.
static void settle_turns(struct turn_rank *rank, bool is_kept)
{
    const bool is_known = rank->has_device || !rank->is_imported;
    int64_t before_ns = INT64_MIN, reached_ns = INT64_MIN;
    size_t kept = 0;
    for (size_t i = 0; i < rank->count; i++) {
        struct turn *turn = &rank->turns[i];
        reached_ns = turn->host_end_ns > reached_ns ? turn->host_end_ns : reached_ns;
        reached_ns = turn->device_end_ns > reached_ns ? turn->device_end_ns : reached_ns;
        turn->period_ns = length(before_ns, reached_ns);
        before_ns = reached_ns;
        turn->has_devices &= is_known;
        if (turn->is_chosen)
            rank->turns[kept++] = *turn;
    }
    rank->count = kept;
    if (!is_kept)
        rank->count = 0; // the last one stood there
    if (is_known)
        return;
    rank->told = 0;
    rank->told_ns = 0;
    rank->sums = (struct turn_sums){0};
}

ARRAY_BY1(by_device, struct device_fill, device)

static int take_devices(struct part *part)
{
    struct turn_rank *rank = &part->rank;
    rank->devices = calloc(part->fill_count + 1, sizeof *rank->devices);
    if (!rank->devices)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu devices", part->fill_count);
    for (size_t i = 0; i < part->fill_count; i++)
        rank->devices[rank->device_count++] =
            (struct device_fill){.device = part->fills[i].device, .sums = part->fill_tails[i]};
    qsort(rank->devices, rank->device_count, sizeof *rank->devices, by_device);
    return GAIT_OK;
}

static void sweep_out(struct part *part)
{
    int64_t end_ns = part->sweep.now_ns;
    for (unsigned i = 0; i < part->sweep.lanes; i++)
        end_ns = time_later(end_ns, part->sweep.busy_until_ns[i]);
    if (part->sweep.is_begun)
        sweep_to(part, end_ns);
    activity_window_end(&part->window, &part->sums);
}

// Its turns, where it has some; else all of its time with devices on record.
static void take_activity(struct part *part)
{
    struct rank_activity *activity = &part->activity;
    const bool is_chosen = part->window.times != NULL;
    activity->steps = is_chosen ? 0 : part->rank.told;
    if (activity->steps)
        activity->base = ACTIVITY_OF_TURNS;
    else if (part->rank.has_device && (is_chosen || part->window.is_open)) {
        activity->base = is_chosen ? ACTIVITY_OF_CHOICE : ACTIVITY_OF_WINDOW;
        activity->sums = part->window.sums;
    }
}

static int end(void *made)
{
    struct part *part = made;
    int status = pass_time(part, INT64_MAX);
    if (status)
        return status;
    if (part->rank.count) {
        end_turn(part, &part->tail, part->tail_ns);
        settle_turns(&part->rank, part->is_kept);
        status = take_devices(part);
    }
    sweep_out(part);
    take_activity(part);
    return status;
}

static int merge_activity(struct turns *turns, const struct part *part)
{
    const size_t at = turns->activity_count;
    if (part->activity.base == ACTIVITY_OF_NOTHING)
        return GAIT_OK;
    const int status =
        ARRAY_RESERVE(turns->activities, turns->activity_capacity, at + 1, MOST_RANKS);
    if (status)
        return status;
    turns->activities[at] = part->activity;
    turns->activities[at].shard = part->rank.shard;
    turns->activity_count++;
    return GAIT_OK;
}

static int merge(void *answer, void *made)
{
    struct turns *turns = answer;
    struct part *part = made;
    int status = merge_activity(turns, part);
    if (status || !part->rank.steps)
        return status;
    status = ARRAY_RESERVE(turns->ranks, turns->capacity, turns->count + 1, MOST_RANKS);
    if (!status) {
        turns->ranks[turns->count++] = part->rank;
        part->rank = (struct turn_rank){.turns = NULL};
    }
    return status;
}

static void rank_finish(struct turn_rank *rank)
{
    free(rank->turns);
    free(rank->devices);
}

// --- what is kept ----------------------------------------------------------------------

struct kept_device {
    int32_t device;
    struct fill_sums sums;
};
struct kept_activity { // a row for each state of the devices
    uint32_t base;
    uint64_t steps, ns[ACTIVITY_HOSTS];
};

#define FILL_REALS (sizeof(struct fill_sums) / sizeof(double))
static const struct fact_field rank_fields[] = {
    FACT_FIELD(TRUTH, turn_rank, has_device), FACT_FIELD(TRUTH, turn_rank, is_imported),
    FACT_FIELD(NUMBER, turn_rank, steps),     FACT_FIELD(NUMBER, turn_rank, total_ns),
    FACT_FIELD(NUMBER, turn_rank, host_ns),   FACT_FIELD(NUMBER, turn_rank, told),
    FACT_FIELD(NUMBER, turn_rank, told_ns),   FACT_FIELDS(NUMBER, turn_rank, sums, TURN_PARTS),
};
static const struct fact_field activity_fields[] = {
    FACT_FIELD(WORD, kept_activity, base),
    FACT_FIELD(NUMBER, kept_activity, steps),
    FACT_FIELDS(NUMBER, kept_activity, ns, ACTIVITY_HOSTS),
};
static const struct fact_field turn_fields[] = {
    FACT_FIELD(TEXT, turn, name),
    FACT_FIELD(NUMBER, turn, number),
    FACT_FIELD(NUMBER, turn, start_ns),
    FACT_FIELD(NUMBER, turn, host_end_ns),
    FACT_FIELD(NUMBER, turn, end_ns),
    FACT_FIELD(NUMBER, turn, host_reach_ns),
    FACT_FIELD(NUMBER, turn, period_ns),
    FACT_FIELD(TRUTH, turn, has_devices),
    FACT_FIELD(TRUTH, turn, is_first),
    FACT_FIELD(TRUTH, turn, is_chosen),
    FACT_FIELDS(NUMBER, turn, sums, TURN_PARTS),
    FACT_FIELD(NUMBER, turn, device_end_ns),
};
static const struct fact_field device_fields[] = {
    FACT_FIELD(SMALL, kept_device, device),
    FACT_FIELDS(REAL, kept_device, sums, FILL_REALS),
};
static const struct fact_list rank_list = FACT_LIST(TURN_SUMS, turn_rank, rank_fields),
                              activity_list = FACT_LIST(ACTIVITY, kept_activity, activity_fields),
                              turn_list = FACT_LIST(TURNS, turn, turn_fields),
                              device_list = FACT_LIST(TURN_DEVICES, kept_device, device_fields);

// Steps that the report works out depend on the other ranks.
static bool is_whole(const void *answer)
{
    const struct turns *turns = answer;
    return !turns->chosen && !turns->recorded.count;
}

static int save_activity(const struct rank_activity *activity, struct facts_file *file)
{
    struct kept_activity kept[ACTIVITY_STATES];
    for (unsigned state = 0; state < ACTIVITY_STATES; state++) {
        kept[state] = (struct kept_activity){.base = activity->base, .steps = activity->steps};
        memcpy(kept[state].ns, activity->sums.ns[state], sizeof kept->ns);
    }
    return facts_file_put(file, &activity_list, kept, ACTIVITY_STATES);
}

static int load_activity(struct rank_activity *activity, struct facts_file *file)
{
    struct kept_activity *kept;
    size_t count;
    int status = facts_file_take(file, &activity_list, (void **)&kept, &count);
    if (status != 1)
        return status;
    status = count == ACTIVITY_STATES;
    for (unsigned state = 0; status && state < ACTIVITY_STATES; state++) {
        activity->base = kept[state].base;
        activity->steps = kept[state].steps;
        memcpy(activity->sums.ns[state], kept[state].ns, sizeof kept->ns);
    }
    if (status && activity->base > ACTIVITY_OF_CHOICE)
        status = 0;
    free(kept);
    return status;
}

static int save(const void *made, struct facts_file *file)
{
    const struct part *part = made;
    const struct turn_rank *rank = &part->rank;
    struct kept_device kept[MOST_DEVICES];
    int status = facts_file_put(file, &rank_list, rank, 1);
    if (!status)
        status = save_activity(&part->activity, file);
    if (status || !part->is_kept)
        return status;
    for (size_t i = 0; i < rank->device_count; i++)
        kept[i] = (struct kept_device){rank->devices[i].device, rank->devices[i].sums};
    status = facts_file_put(file, &turn_list, rank->turns, rank->count);
    return status ? status : facts_file_put(file, &device_list, kept, rank->device_count);
}

static int load_turns(struct turn_rank *rank, struct facts_file *file)
{
    struct kept_device *kept;
    int status = facts_file_take(file, &turn_list, (void **)&rank->turns, &rank->count);
    if (status != 1)
        return status;
    status = facts_file_take(file, &device_list, (void **)&kept, &rank->device_count);
    rank->devices = calloc(rank->device_count + 1, sizeof *rank->devices);
    if (!rank->devices)
        status = fail(GAIT_ERR_MEMORY, "no memory for %zu devices", rank->device_count);
    for (size_t i = 0; i < rank->device_count && status == 1; i++)
        rank->devices[i] = (struct device_fill){.device = kept[i].device, .sums = kept[i].sums};
    free(kept);
    return status;
}

static int load(void *made, struct facts_file *file)
{
    struct part *part = made;
    const uint32_t shard = part->rank.shard;
    int status = facts_file_take_one(file, &rank_list, &part->rank);
    part->rank.shard = shard;
    if (status == 1)
        status = load_activity(&part->activity, file);
    return status == 1 && part->is_kept ? load_turns(&part->rank, file) : status;
}

static void drop(void *made)
{
    struct part *part = made;
    rank_finish(&part->rank);
    feed_finish(&part->feed);
    for (size_t i = 0; i < part->fill_count; i++)
        device_fill_finish(&part->fills[i]);
    arg_keys_finish(&part->keys);
    free(part->fill_tails);
    free(part->filled);
    free(part->kinds);
}

const struct fact_consumer turns_consumer = {
    .name = "turns",
    .columns = FACT_LINKS,
    .roles = ROLES_OF_DEVICES | ROLE_BIT(ROLE_STEP),
    .part_bytes = sizeof(struct part),
    .begin = begin,
    .slice = add_slice,
    .end = end,
    .merge = merge,
    .drop = drop,
    .is_whole = is_whole,
    .save = save,
    .load = load,
};

int turns_make(struct turns *turns, struct gait_trace *trace, const struct chosen *chosen)
{
    struct fact_consumer consumer = turns_consumer;
    const struct fact_ask ask = {&consumer, turns};
    consumer.columns |= FACT_ARGS; // which say how full a device is
    *turns = (struct turns){.chosen = chosen, .is_kept = true};
    const int status = recorded_steps_find(&turns->recorded, trace, chosen, &ask, 1);
    if (status)
        turns_finish(turns);
    return status;
}

void turns_finish(struct turns *turns)
{
    for (size_t i = 0; i < turns->count; i++)
        rank_finish(&turns->ranks[i]);
    free(turns->ranks);
    free(turns->activities);
    recorded_steps_finish(&turns->recorded);
    *turns = (struct turns){.ranks = NULL};
}
