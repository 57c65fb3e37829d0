// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/breakdown.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/device/activity.h"
#include "analyse/device/device_run.h"
#include "analyse/device/device_sweep.h"
#include "base/array.h"
#include "base/fail.h"
#include "base/index/min_heap.h"
#include "facts/facts_file.h"
#include "vocabulary/metadata.h"

enum { MOST_ROWS = 1 << 28, MOST_DEVICES = 64 };
#define MOST_STEP_BYTES ((size_t)1 << 32)

uint64_t breakdown_time(const struct breakdown *breakdown, unsigned with, unsigned without)
{
    uint64_t sum_ns = 0;
    for (unsigned state = 0; state < DEVICE_STATES; state++)
        if ((state & with) == with && !(state & without))
            sum_ns += breakdown->state_ns[state];
    return sum_ns;
}

void breakdown_add(struct breakdown *to, const struct breakdown *sums, bool is_minus)
{
    const uint64_t *from = (const uint64_t *)sums;
    uint64_t *words = (uint64_t *)to;
    _Static_assert(sizeof *to == BREAKDOWN_WORDS * sizeof *words, "a breakdown is all sums");
    for (size_t i = 0; i < BREAKDOWN_WORDS; i++)
        words[i] += is_minus ? -from[i] : from[i];
}

void breakdown_rank_finish(struct breakdown_rank *rank)
{
    if (!rank)
        return;
    free(rank->steps);
    free(rank->devices);
    *rank = (struct breakdown_rank){.steps = NULL};
}

// --- one rank at a time -----------------------------------------------------------------------

// What is due at a time: value of the heap is the number of the step or of the window, and this.
enum { DUE_BEGIN, DUE_END, DUE_WINDOW, DUE_CHOSEN, DUE_LEFT, DUE_KINDS };

// A time with devices on record; of an imported trace there is one.
struct window {
    uint32_t shard;
    int64_t end_ns; // of the last device event so far
    bool is_due;
};

struct device {
    int32_t number;
    uint64_t events[LANE_COUNT];
    struct device_sweep *sweep; // NULL: that of the rank, as long as it has one device
};

struct seen_track {          // of the slice's
    uint32_t device, window; // + 1, once they are known
};

struct part {
    struct breakdown_rank rank;
    const struct gait_trace *trace;
    uint32_t shard;
    bool is_imported; // a rank then, whatever it has
    bool has_own_steps;
    const struct chosen *chosen; // its times are the windows then
    uint8_t *kinds;
    struct feed feed;
    struct device_sweep all, blank; // blank: as a device that did nothing so far
    struct device devices[MOST_DEVICES];
    size_t device_count; // more than there is room for: they are not told apart
    struct window *windows;
    size_t window_count, window_capacity;
    struct min_heap dues;
    struct arena steps; // they must not move
    struct breakdown_step **step_list;
    size_t step_count, step_capacity;
    struct seen_track *tracks;
    size_t track_capacity;
};

// --- steps --------------------------------------------------------------------------------------

static int add_step(struct part *part, const struct device_step *step, bool is_now)
{
    struct breakdown_step *made = arena_take(&part->steps, sizeof *made);
    if (!made)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu steps", part->step_count + 1);
    *made = (struct breakdown_step){.name = step->name, .start_ns = step->start_ns};
    int status =
        ARRAY_RESERVE(part->step_list, part->step_capacity, part->step_count + 1, MOST_ROWS);
    if (status)
        return status;
    part->step_list[part->step_count++] = made;
    const uint64_t value = (part->step_count - 1) * DUE_KINDS;
    status = is_now ? device_sweep_begin(&part->all, &made->breakdown)
                    : min_heap_put(&part->dues, step->start_ns, value + DUE_BEGIN);
    return status ? status : min_heap_put(&part->dues, step->end_ns, value + DUE_END);
}

static int by_start_name(const void *left, const void *right)
{
    const struct breakdown_step *a = *(struct breakdown_step *const *)left,
                                *b = *(struct breakdown_step *const *)right;
    RETURN_IF_APART(a->start_ns, b->start_ns);
    const int names = strcmp(a->name, b->name);
    if (names)
        return names;
    const uint64_t span_a = a->breakdown.span_ns, span_b = b->breakdown.span_ns;
    return span_a > span_b ? -1 : span_a < span_b;
}

// One may be there as an op and as an annotation: the longer counts.
static bool is_repeated(const struct breakdown_step *step, const struct breakdown_step *before)
{
    return step->start_ns == before->start_ns && !strcmp(step->name, before->name);
}

static int take_steps(struct part *part)
{
    struct breakdown_rank *rank = &part->rank;
    rank->steps = calloc(part->step_count + 1, sizeof *rank->steps);
    if (!rank->steps)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu steps", part->step_count);
    ARRAY_SORT(part->step_list, part->step_count, by_start_name);
    for (size_t i = 0; i < part->step_count; i++)
        if ((!i || !is_repeated(part->step_list[i], part->step_list[i - 1])) &&
            chosen_has(part->chosen, part->shard, part->step_list[i]->start_ns))
            rank->steps[rank->step_count++] = *part->step_list[i];
    return GAIT_OK;
}

// --- devices ------------------------------------------------------------------------------------

static int give_sweep(struct device *device, const struct device_sweep *from)
{
    device->sweep = calloc(1, sizeof *device->sweep);
    if (!device->sweep)
        return fail(GAIT_ERR_MEMORY, "no memory for one more device");
    return device_sweep_copy(device->sweep, from);
}

// All that was done so far was done by the first, as long as there is no second.
static int add_device(struct part *part, int32_t number, int64_t at_ns)
{
    struct device *device = &part->devices[part->device_count++];
    *device = (struct device){.number = number};
    if (part->device_count == 1)
        return GAIT_OK;
    device_sweep_until(&part->blank, at_ns);
    int status = part->device_count == 2 ? give_sweep(&part->devices[0], &part->all) : GAIT_OK;
    return status ? status : give_sweep(device, &part->blank);
}

static int find_device(struct part *part, uint32_t track, int64_t at_ns, uint32_t *ret_device)
{
    const int32_t number = activity_device(part->trace, track);
    size_t at = 0;
    const size_t count = part->device_count < MOST_DEVICES ? part->device_count : MOST_DEVICES;
    while (at < count && part->devices[at].number != number)
        at++;
    *ret_device = (uint32_t)at + 1;
    if (at < count)
        return GAIT_OK;
    if (at < MOST_DEVICES)
        return add_device(part, number, at_ns);
    part->device_count = MOST_DEVICES + 1;
    *ret_device = MOST_DEVICES;
    return GAIT_OK;
}

ARRAY_BY1(by_device, struct breakdown_device, device)

static int take_devices(struct part *part)
{
    struct breakdown_rank *rank = &part->rank;
    if (part->device_count < 2 || part->device_count > MOST_DEVICES)
        return GAIT_OK; // it is the rank
    rank->devices = calloc(part->device_count, sizeof *rank->devices);
    if (!rank->devices)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu devices", part->device_count);
    for (size_t i = 0; i < part->device_count; i++) {
        struct device *device = &part->devices[i];
        struct breakdown_device *made = &rank->devices[rank->device_count++];
        device_sweep_until(device->sweep, part->all.sweep.now_ns);
        device_sweep_finish(device->sweep);
        *made = (struct breakdown_device){.device = device->number, .whole = device->sweep->whole};
        memcpy(made->events, device->events, sizeof made->events);
    }
    qsort(rank->devices, rank->device_count, sizeof *rank->devices, by_device);
    return GAIT_OK;
}

// --- windows ------------------------------------------------------------------------------------

// All sweeps that windows are measured by.
static int each_sweep(struct part *part, uint32_t window,
                      int (*what)(struct device_sweep *, uint32_t))
{
    device_sweep_until(&part->blank, part->all.sweep.now_ns);
    int status = what(&part->all, window);
    if (!status)
        status = what(&part->blank, window);
    for (size_t i = 0; i < part->device_count && i < MOST_DEVICES && !status; i++) {
        struct device_sweep *sweep = part->devices[i].sweep;
        if (!sweep)
            continue;
        device_sweep_until(sweep, part->all.sweep.now_ns);
        status = what(sweep, window);
    }
    return status;
}

static int open_window(struct device_sweep *sweep, uint32_t window)
{
    (void)window;
    return device_sweep_open(sweep);
}

static int begin_chosen(struct device_sweep *sweep, uint32_t window)
{
    (void)window;
    return device_sweep_begin(sweep, &sweep->whole);
}

static int end_chosen(struct device_sweep *sweep, uint32_t window)
{
    (void)window;
    return device_sweep_end(sweep, &sweep->whole);
}

static int find_window(struct part *part, uint32_t shard, uint32_t *ret_window)
{
    size_t at = 0;
    while (at < part->window_count && part->windows[at].shard != shard)
        at++;
    *ret_window = (uint32_t)at + 1;
    if (at < part->window_count)
        return GAIT_OK;
    int status = ARRAY_RESERVE(part->windows, part->window_capacity, at + 1, MOST_ROWS);
    if (status)
        return status;
    part->windows[part->window_count++] = (struct window){.shard = shard, .end_ns = INT64_MIN};
    return each_sweep(part, (uint32_t)at, open_window);
}

static int reach(struct part *part, uint32_t number, int64_t end_ns)
{
    struct window *window = &part->windows[number];
    window->end_ns = end_ns > window->end_ns ? end_ns : window->end_ns;
    if (window->is_due)
        return GAIT_OK;
    window->is_due = true;
    return min_heap_put(&part->dues, window->end_ns, (uint64_t)number * DUE_KINDS + DUE_WINDOW);
}

static int leave_window(struct part *part, uint32_t number, int64_t at_ns)
{
    struct window *window = &part->windows[number];
    window->is_due = false;
    return window->end_ns > at_ns ? reach(part, number, window->end_ns)
                                  : each_sweep(part, number, device_sweep_last);
}

// --- rows ---------------------------------------------------------------------------------------

static int meet(struct part *part, unsigned due, size_t number, int64_t at_ns)
{
    switch (due) {
    case DUE_WINDOW:
        return leave_window(part, (uint32_t)number, at_ns);
    case DUE_CHOSEN:
    case DUE_LEFT:
        return each_sweep(part, 0, due == DUE_CHOSEN ? begin_chosen : end_chosen);
    default:
        return (due == DUE_END ? device_sweep_end : device_sweep_begin)(
            &part->all, &part->step_list[number]->breakdown);
    }
}

static int pass_time(struct part *part, int64_t until_ns)
{
    int status = GAIT_OK;
    while (part->dues.count && part->dues.pairs[0].key <= until_ns && !status) {
        const struct heap_pair due = min_heap_take(&part->dues);
        device_sweep_until(&part->all, due.key);
        status = meet(part, due.value % DUE_KINDS, due.value / DUE_KINDS, due.key);
    }
    if (until_ns != INT64_MAX)
        device_sweep_until(&part->all, until_ns);
    return status;
}

// Work that findings are about: no state of devices tells it.
static void count_special(struct part *part, const struct device_work *work, uint32_t number)
{
    const uint64_t ns = (uint64_t)work->end_ns - (uint64_t)work->start_ns;
    struct breakdown_rank *rank = &part->rank;
    struct gait_site_info site;
    if (work->lane == LANE_COMPUTE && ns < SMALL_KERNEL_NS) {
        rank->small++;
        rank->small_ns += ns;
    } else if (work->lane == LANE_COPY && !gait_trace_site(part->trace, number, &site) &&
               strstr(site.name, "Pageable")) { // as CUPTI's users write it
        rank->pageable++;
        rank->pageable_ns += ns;
    }
}

static int add_work(struct part *part, const struct fact_slice *slice, const struct feed_head *head)
{
    struct seen_track *track = &part->tracks[head->track - slice->tracks];
    const struct device_work work = {
        head->start_ns, head->end_ns, (enum device_lane)head->kind,
        launches_find(slice->launches, head->track->shard, head->row->link, head->start_ns)};
    int status = GAIT_OK;
    if (!part->all.has_work)
        part->rank.start_ns = work.start_ns;
    if (!track->window && !part->chosen)
        status = find_window(part, head->track->shard, &track->window);
    if (!status && !track->device)
        status = find_device(part, head->track->track, work.start_ns, &track->device);
    if (status)
        return status;
    struct device *device = &part->devices[track->device - 1];
    part->rank.events[work.lane]++;
    count_special(part, &work, head->row->site);
    device->events[work.lane]++;
    device_sweep_add(&part->all, &work);
    if (device->sweep) {
        device_sweep_until(device->sweep, work.start_ns);
        device_sweep_add(device->sweep, &work);
    }
    return part->chosen ? GAIT_OK : reach(part, track->window - 1, work.end_ns);
}

static void add_wait(struct part *part, const struct feed_head *head)
{
    const enum device_wait wait = head->kind == ACTIVITY_INPUT ? WAIT_INPUT : WAIT_DEVICE;
    device_sweep_wait(&part->all, wait, head->end_ns);
    device_sweep_until(&part->blank, head->start_ns);
    device_sweep_wait(&part->blank, wait, head->end_ns);
    for (size_t i = 0; i < part->device_count && i < MOST_DEVICES; i++)
        if (part->devices[i].sweep) {
            device_sweep_until(part->devices[i].sweep, head->start_ns);
            device_sweep_wait(part->devices[i].sweep, wait, head->end_ns);
        }
}

static int add_row(struct part *part, const struct fact_slice *slice, const struct feed_head *head)
{
    struct gait_site_info site;
    if (head->end_ns == FACT_OPEN)
        return GAIT_OK; // there is no saying how long it took
    int status = pass_time(part, head->start_ns);
    if (status)
        return status;
    if (head->kind < LANE_NONE)
        return add_work(part, slice, head);
    if (head->kind != ACTIVITY_STEP) {
        if (activity_of_row(head) != ACTIVITY_LAUNCH)
            add_wait(part, head);
        return GAIT_OK;
    }
    status = gait_trace_site(part->trace, head->row->site, &site);
    if (status || part->has_own_steps)
        return status;
    return add_step(part, &(struct device_step){head->start_ns, head->end_ns, site.name}, true);
}

static int add_slice(void *made, const struct fact_slice *slice)
{
    struct part *part = made;
    const struct feed_head *head;
    int status = ARRAY_RESERVE(part->tracks, part->track_capacity, slice->count + 1, MOST_ROWS);
    if (status)
        return status;
    memset(part->tracks, 0, slice->count * sizeof *part->tracks);
    status = feed_begin(&part->feed, slice, part->kinds);
    while (!status && (head = feed_next(&part->feed)))
        status = add_row(part, slice, head);
    return status;
}

// --- ranks --------------------------------------------------------------------------------------

// Of the host only what it waits in.
static int find_kinds(const struct gait_trace *trace, uint8_t **ret_kinds)
{
    const int status = activities_find(trace, ret_kinds);
    for (uint32_t i = 0; !status && i < gait_trace_site_count(trace); i++) {
        uint8_t *kind = &(*ret_kinds)[i];
        if (*kind >= LANE_NONE && *kind != ACTIVITY_INPUT && *kind != ACTIVITY_BLOCKING &&
            *kind != ACTIVITY_COPY_CALL && *kind != ACTIVITY_STEP)
            *kind = FEED_NO_KIND;
    }
    return status;
}

static int add_chosen(struct part *part, const struct intervals *times)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < times->count && !status; i++) {
        status = min_heap_put(&part->dues, times->rows[i].start_ns, DUE_CHOSEN);
        if (!status)
            status = min_heap_put(&part->dues, times->rows[i].end_ns, DUE_LEFT);
    }
    return status;
}

static int begin(void *made, const struct gait_trace *trace, uint32_t shard, void *answer)
{
    struct part *part = made;
    const struct device_run *run = answer;
    size_t own_count;
    part->trace = trace;
    part->shard = shard;
    part->is_imported = gait_trace_metadata(trace, shard, meta.source) != NULL;
    arena_init(&part->steps, MOST_STEP_BYTES);
    device_sweep_init(&part->all);
    device_sweep_init(&part->blank);
    int status = find_kinds(trace, &part->kinds);
    const struct recorded_step *own = recorded_steps_of(&run->turns.recorded, shard, &own_count);
    for (size_t i = 0; i < own_count && !status; i++)
        if (own[i].has_devices) {
            part->has_own_steps = true;
            status = add_step(part, &own[i].step, false);
        }
    part->chosen = run->chosen;
    return status || !run->chosen ? status : add_chosen(part, &run->times[shard]);
}

static int end(void *made)
{
    struct part *part = made;
    int status = pass_time(part, INT64_MAX);
    if (status)
        return status;
    device_sweep_finish(&part->all);
    part->rank.shard = part->shard;
    part->rank.has_device = part->all.has_work;
    part->rank.whole = part->all.whole;
    status = take_steps(part);
    return status ? status : take_devices(part);
}

static int merge(void *answer, void *made)
{
    enum { MOST_RANKS = 1 << 20 };
    struct device_run *run = answer;
    struct part *part = made;
    if (!part->is_imported && !part->rank.has_device && !part->rank.step_count)
        return GAIT_OK;
    int status = ARRAY_RESERVE(run->ranks, run->capacity, run->count + 1, MOST_RANKS);
    if (!status) {
        run->ranks[run->count++] = part->rank;
        part->rank = (struct breakdown_rank){.steps = NULL};
    }
    return status;
}

// --- what is kept ----------------------------------------------------------------------

static const struct fact_field rank_fields[] = {
    FACT_FIELD(TRUTH, breakdown_rank, has_device),
    FACT_FIELD(NUMBER, breakdown_rank, start_ns),
    FACT_FIELDS(NUMBER, breakdown_rank, events, LANE_COUNT),
    FACT_FIELD(NUMBER, breakdown_rank, small),
    FACT_FIELD(NUMBER, breakdown_rank, small_ns),
    FACT_FIELD(NUMBER, breakdown_rank, pageable),
    FACT_FIELD(NUMBER, breakdown_rank, pageable_ns),
    FACT_FIELDS(NUMBER, breakdown_rank, whole, BREAKDOWN_WORDS),
};
static const struct fact_field step_fields[] = {
    FACT_FIELD(TEXT, breakdown_step, name),
    FACT_FIELD(NUMBER, breakdown_step, start_ns),
    FACT_FIELDS(NUMBER, breakdown_step, breakdown, BREAKDOWN_WORDS),
};
static const struct fact_field device_fields[] = {
    FACT_FIELD(SMALL, breakdown_device, device),
    FACT_FIELDS(NUMBER, breakdown_device, events, LANE_COUNT),
    FACT_FIELDS(NUMBER, breakdown_device, whole, BREAKDOWN_WORDS),
};
static const struct fact_list rank_list = FACT_LIST(BREAKDOWN, breakdown_rank, rank_fields),
                              step_list = FACT_LIST(BREAKDOWN_STEPS, breakdown_step, step_fields),
                              device_list =
                                  FACT_LIST(BREAKDOWN_DEVICES, breakdown_device, device_fields);

// Steps that the report works out depend on the other ranks.
static bool is_whole(const void *answer)
{
    const struct device_run *run = answer;
    return !run->chosen && !run->turns.recorded.count;
}

static int save(const void *made, struct facts_file *file)
{
    const struct breakdown_rank *rank = &((const struct part *)made)->rank;
    int status = facts_file_put(file, &rank_list, rank, 1);
    if (!status)
        status = facts_file_put(file, &step_list, rank->steps, rank->step_count);
    return status ? status : facts_file_put(file, &device_list, rank->devices, rank->device_count);
}

static int load(void *made, struct facts_file *file)
{
    struct part *part = made;
    struct breakdown_rank *rank = &part->rank;
    int status = facts_file_take_one(file, &rank_list, rank);
    rank->shard = part->shard;
    if (status == 1)
        status = facts_file_take(file, &step_list, (void **)&rank->steps, &rank->step_count);
    return status == 1
               ? facts_file_take(file, &device_list, (void **)&rank->devices, &rank->device_count)
               : status;
}

static void drop(void *made)
{
    struct part *part = made;
    for (size_t i = 0; i < part->device_count && i < MOST_DEVICES; i++)
        if (part->devices[i].sweep) {
            device_sweep_free(part->devices[i].sweep);
            free(part->devices[i].sweep);
        }
    device_sweep_free(&part->all);
    device_sweep_free(&part->blank);
    breakdown_rank_finish(&part->rank);
    feed_finish(&part->feed);
    arena_finish(&part->steps);
    free(part->kinds);
    free(part->windows);
    min_heap_finish(&part->dues);
    free(part->step_list);
    free(part->tracks);
}

const struct fact_consumer breakdown_consumer = {
    .name = "devices",
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
