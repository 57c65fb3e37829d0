// SPDX-License-Identifier: Apache-2.0
#include "analyse/memory/memory_taking.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/time/wrap_add.h"
#include "base/array.h"
#include "base/fail.h"

#define MOST_BLOCKS ((size_t)1 << 27)

// The highest of a recording, beyond what was held when that began.
struct high {
    bool is_known;
    int64_t bytes, at_ns;
    uint64_t event;
    int64_t categories[MEMORY_CATEGORY_COUNT];
};

struct memory_taking {
    const struct intervals *times; // that are chosen; NULL: all
    size_t next;                   // of them, to be entered
    struct memory_block *blocks;
    size_t count, room;
    struct tuple_map addresses;
    size_t *live; // by address: a block + 1, 0: none
    size_t live_room;
    uint64_t event, peak_event, last_event; // numbers; last: of what is chosen
    uint32_t recording, peak_recording, last_recording;
    int64_t allocated, reserved;
    // Of this recording: the least and the most; what was given back, and taken before it.
    int64_t since_ns, least, older_bytes;
    struct high high;
    size_t first_point; // of the curve
    bool has_totals, has_any, has_peak;
    bool is_known; // what is held
    int64_t categories[MEMORY_CATEGORY_COUNT];
};

int memory_taking_begin(struct memory_device *device, const struct intervals *times)
{
    device->taking = calloc(1, sizeof *device->taking);
    device->curve = calloc(1, sizeof *device->curve);
    if (!device->taking || !device->curve)
        return fail(GAIT_ERR_MEMORY, "no memory to follow allocations");
    tuple_map_init(&device->taking->addresses, 1);
    device->curve->stretch = 1;
    device->taking->times = times;
    device->taking->since_ns = INT64_MIN;
    return GAIT_OK;
}

void memory_taking_drop(struct memory_device *device)
{
    struct memory_taking *taking = device->taking;
    if (!taking)
        return;
    tuple_map_finish(&taking->addresses);
    free(taking->blocks);
    free(taking->live);
    free(taking);
    device->taking = NULL;
}

// --- the curve ----------------------------------------------------------------------

// Of two points that become one the higher one stays.
static void halve(struct memory_device *device)
{
    struct memory_curve *curve = device->curve;
    for (size_t i = 0; i < curve->count / 2; i++) {
        const struct memory_point *pair = &curve->points[2 * i];
        curve->points[i] = pair[0].allocated >= pair[1].allocated ? pair[0] : pair[1];
    }
    curve->count /= 2;
    curve->held = curve->stretch *= 2;
    device->taking->first_point = (device->taking->first_point + 1) / 2;
}

static void add_point(struct memory_device *device, int64_t at_ns)
{
    const struct memory_taking *taking = device->taking;
    struct memory_curve *curve = device->curve;
    struct memory_point point = {
        .at_ns = at_ns, .allocated = taking->allocated, .reserved = taking->reserved};
    memcpy(point.categories, taking->categories, sizeof point.categories);
    if (curve->count && curve->held < curve->stretch) {
        curve->held++;
        if (point.allocated > curve->points[curve->count - 1].allocated)
            curve->points[curve->count - 1] = point;
    } else {
        if (curve->count == MEMORY_MOST_POINTS)
            halve(device);
        curve->points[curve->count++] = point;
        curve->held = 1;
    }
}

static bool is_chosen(const struct memory_device *device, int64_t at_ns)
{
    return !device->taking->times || intervals_cover(device->taking->times, at_ns);
}

// What is held at a moment that is chosen.
static void see_held(struct memory_device *device, int64_t at_ns)
{
    struct memory_taking *taking = device->taking;
    if (taking->reserved > device->peak_reserved)
        device->peak_reserved = taking->reserved;
    if (!taking->high.is_known || taking->allocated > taking->high.bytes) {
        taking->high = (struct high){true, taking->allocated, at_ns, taking->event, {0}};
        memcpy(taking->high.categories, taking->categories, sizeof taking->categories);
    }
    add_point(device, at_ns);
    device->end_bytes = taking->allocated;
    taking->last_event = taking->event;
    taking->last_recording = taking->recording;
}

static void note(struct memory_device *device, int64_t at_ns)
{
    struct memory_taking *taking = device->taking;
    if (!taking->has_any)
        device->start_ns = at_ns;
    taking->has_any = taking->is_known = true;
    taking->event++;
    device->end_ns = at_ns;
    if (taking->allocated < taking->least)
        taking->least = taking->allocated;
    if (is_chosen(device, at_ns))
        see_held(device, at_ns);
}

// What is held when chosen times begin, before `until_ns`, is held in them; what happens when they
// begin tells itself what is.
static void enter(struct memory_device *device, int64_t until_ns)
{
    struct memory_taking *taking = device->taking;
    const struct intervals *times = taking->times;
    for (; times && taking->next < times->count; taking->next++) {
        const int64_t at_ns = times->rows[taking->next].start_ns;
        if (at_ns > until_ns)
            return;
        if (taking->is_known && at_ns < until_ns)
            see_held(device, at_ns);
    }
}

// --- blocks -------------------------------------------------------------------------

static int live_at(struct memory_taking *taking, const struct memory_change *change,
                   size_t **ret_live)
{
    const uint64_t address = (uint64_t)change->address;
    const size_t known = taking->addresses.count;
    uint32_t index;
    int status = tuple_map_add(&taking->addresses, &address, &index);
    if (!status)
        status =
            ARRAY_RESERVE(taking->live, taking->live_room, taking->addresses.count, MOST_BLOCKS);
    if (status)
        return status;
    if (taking->addresses.count > known)
        taking->live[index] = 0;
    *ret_live = &taking->live[index];
    return GAIT_OK;
}

static int add_block(struct memory_device *device, const struct memory_change *change)
{
    struct memory_taking *taking = device->taking;
    const bool is_taken = !change->is_older && is_chosen(device, change->at_ns);
    const int status = ARRAY_RESERVE(taking->blocks, taking->room, taking->count + 1, MOST_BLOCKS);
    if (status)
        return status;
    taking->blocks[taking->count++] = (struct memory_block){.bytes = change->bytes,
                                                            .from = taking->event + 1,
                                                            .to = UINT64_MAX,
                                                            .place = change->place,
                                                            .category = change->category,
                                                            .recording = taking->recording,
                                                            .is_older = change->is_older,
                                                            .is_chosen = is_taken};
    taking->categories[change->category] =
        wrap_add(taking->categories[change->category], change->bytes);
    device->allocations += is_taken;
    return GAIT_OK;
}

static void end_block(struct memory_device *device, size_t *live,
                      const struct memory_change *change)
{
    struct memory_taking *taking = device->taking;
    if (!*live) {
        device->older_releases += is_chosen(device, change->at_ns);
        taking->older_bytes = wrap_subtract(taking->older_bytes, change->bytes);
        return;
    }
    struct memory_block *block = &taking->blocks[*live - 1];
    block->to = taking->event + 1;
    taking->categories[block->category] =
        wrap_subtract(taking->categories[block->category], block->bytes);
    *live = 0;
}

static int follow_block(struct memory_device *device, const struct memory_change *change)
{
    struct memory_taking *taking = device->taking;
    size_t *live;
    device->releases += change->bytes < 0 && is_chosen(device, change->at_ns);
    if (!change->has_address)
        return change->bytes > 0 ? add_block(device, change) : GAIT_OK;
    device->has_addresses = true;
    int status = live_at(taking, change, &live);
    if (status)
        return status;
    if (change->bytes < 0) {
        end_block(device, live, change);
        return GAIT_OK;
    }
    if (*live) // its release is not on record
        end_block(device, live, change);
    status = add_block(device, change);
    if (!status)
        *live = taking->count;
    return status;
}

int memory_taking_add(struct memory_device *device, const struct memory_change *change)
{
    struct memory_taking *taking = device->taking;
    if (!change->bytes)
        return GAIT_OK;
    enter(device, change->at_ns);
    const int status = follow_block(device, change);
    if (status)
        return status;
    if (!taking->has_any && change->has_allocated && !change->is_older)
        device->before_bytes = wrap_subtract(change->allocated, change->bytes);
    if (change->is_older)
        device->before_bytes = wrap_add(device->before_bytes, change->bytes);
    taking->has_totals |= change->has_allocated && change->allocated > 0;
    taking->allocated = taking->has_totals && change->has_allocated
                            ? change->allocated
                            : wrap_add(taking->allocated, change->bytes);
    if (change->has_reserved)
        taking->reserved = change->reserved;
    note(device, change->at_ns);
    if (change->is_older)
        device->start_ns = change->at_ns;
    return GAIT_OK;
}

void memory_taking_segment(struct memory_device *device, const struct memory_change *change,
                           bool is_failure)
{
    struct memory_taking *taking = device->taking;
    enter(device, change->at_ns);
    if (change->has_reserved)
        taking->reserved = change->reserved;
    if (change->has_allocated) {
        taking->allocated = change->allocated;
        taking->has_totals |= change->allocated > 0;
    }
    if (is_failure && is_chosen(device, change->at_ns)) {
        device->failures++;
        device->failed_bytes = change->bytes;
        device->failed_free_bytes = change->free_bytes;
        device->failed_ns = change->at_ns;
    }
    note(device, change->at_ns);
}

void memory_taking_gauge(struct memory_device *device, int64_t at_ns, int64_t bytes)
{
    enter(device, at_ns);
    device->taking->allocated = bytes;
    device->taking->has_totals = true;
    note(device, at_ns);
}

// What was given back without having been taken was there before; where no addresses tell,
// as much as it takes that nobody holds less than nothing.
static int64_t held_before(const struct memory_device *device)
{
    const struct memory_taking *taking = device->taking;
    const int64_t before = device->has_addresses ? taking->older_bytes : 0;
    if (taking->has_totals)
        return 0;
    const int64_t lacking = wrap_subtract(0, taking->least);
    return before < lacking ? lacking : before;
}

// The peak is the most that was held at a time in a recording, with what is known to have been
// there before it.
static void end_recording(struct memory_device *device, int64_t until_ns)
{
    struct memory_taking *taking = device->taking;
    const int64_t before = held_before(device);
    const int64_t bytes = wrap_add(taking->high.bytes, before);
    for (size_t i = taking->first_point; i < device->curve->count; i++) {
        int64_t *allocated = &device->curve->points[i].allocated;
        *allocated = wrap_add(*allocated, before);
    }
    if (taking->last_recording == taking->recording)
        device->end_bytes = wrap_add(device->end_bytes, before);
    if (!taking->high.is_known || (taking->has_peak && bytes <= device->peak_bytes))
        return;
    taking->has_peak = true;
    device->recording_start_ns = taking->since_ns;
    device->recording_end_ns = until_ns;
    device->peak_bytes = bytes;
    device->peak_ns = taking->high.at_ns;
    if (!taking->has_totals)
        device->before_bytes = before;
    taking->peak_event = taking->high.event;
    taking->peak_recording = taking->recording;
    memcpy(device->at_peak, taking->high.categories, sizeof device->at_peak);
}

void memory_taking_pause(struct memory_device *device, int64_t at_ns)
{
    if (device->is_process)
        return;
    enter(device, at_ns);
    device->taking->is_known = false;
}

void memory_taking_restart(struct memory_device *device, int64_t at_ns)
{
    struct memory_taking *taking = device->taking;
    if (device->is_process)
        return;
    memory_taking_pause(device, at_ns);
    end_recording(device, at_ns);
    taking->since_ns = at_ns;
    taking->high.is_known = false;
    taking->least = taking->older_bytes = 0;
    taking->first_point = device->curve->count;
    device->curve->held = device->curve->stretch; // the next point is one of its own
    if (taking->live)
        memset(taking->live, 0, taking->addresses.count * sizeof *taking->live);
    memset(taking->categories, 0, sizeof taking->categories);
    taking->allocated = 0;
    taking->recording++;
}

// --- the end ------------------------------------------------------------------------

// Taken in what is chosen, and not given back before that ended.
static bool is_kept(const struct memory_taking *taking, const struct memory_block *block)
{
    return block->is_chosen && block->to > taking->last_event;
}

void memory_taking_end(struct memory_device *device)
{
    struct memory_taking *taking = device->taking;
    enter(device, device->shard.end_ns);
    end_recording(device, INT64_MAX);
    if (!taking->times)
        device->end_bytes = wrap_add(taking->allocated, held_before(device));
    device->is_chosen = taking->has_peak;
    if (!device->has_addresses)
        return;
    for (size_t i = 0; i < taking->count; i++) {
        const struct memory_block *block = &taking->blocks[i];
        if (!is_kept(taking, block) || block->recording != taking->peak_recording)
            continue;
        device->kept_count++;
        device->kept_bytes += (uint64_t)block->bytes;
    }
}

static int put_holder(struct memory_life *life, const struct memory_holder *sum)
{
    const int status =
        ARRAY_RESERVE(life->holders, life->holder_room, life->holder_count + 1, MOST_BLOCKS);
    if (status)
        return status;
    struct memory_holder *holder = &life->holders[life->holder_count++];
    *holder = *sum;
    holder->place_bytes = holder->peak_bytes;
    holder->category = memory_owners_category(&life->owners, holder->place);
    memory_owners_name(&life->owners, holder->place, holder->name, sizeof holder->name);
    return GAIT_OK;
}

static void add_held(struct memory_holder *sum, const struct memory_block *block,
                     const struct memory_device *device)
{
    const struct memory_taking *taking = device->taking;
    const uint64_t bytes = (uint64_t)block->bytes;
    const bool is_at_peak = device->has_addresses && block->from <= taking->peak_event &&
                            block->to > taking->peak_event;
    sum->allocations += block->is_chosen;
    sum->allocated_bytes += block->is_chosen ? bytes : 0;
    sum->peak_count += is_at_peak;
    sum->peak_bytes += is_at_peak ? bytes : 0;
    if (!device->has_addresses || !is_kept(taking, block))
        return;
    sum->kept_count++;
    sum->kept_bytes += bytes;
}

int memory_holders_add(struct memory_life *life, uint32_t number)
{
    struct memory_device *device = &life->devices[number];
    const struct memory_taking *taking = device->taking;
    const size_t places = life->owners.places.count;
    struct memory_holder *sums = calloc(places + 1, sizeof *sums);
    if (!sums)
        return fail(GAIT_ERR_MEMORY, "no memory for who holds memory");
    for (size_t i = 0; i < taking->count; i++)
        if (taking->blocks[i].recording == taking->peak_recording)
            add_held(&sums[taking->blocks[i].place], &taking->blocks[i], device);
    int status = GAIT_OK;
    for (uint32_t place = 0; place < places && !status; place++) {
        sums[place].device = number;
        sums[place].place = place;
        if (sums[place].allocations || sums[place].peak_count)
            status = put_holder(life, &sums[place]);
    }
    free(sums);
    memory_taking_drop(device);
    return status;
}

static int by_name(const void *left, const void *right)
{
    const struct memory_holder *a = left, *b = right;
    RETURN_IF_APART(a->device, b->device);
    RETURN_IF_APART(a->category, b->category);
    return strcmp(a->name, b->name);
}

static int by_peak(const void *left, const void *right)
{
    const struct memory_holder *a = left, *b = right;
    RETURN_IF_APART(b->peak_bytes, a->peak_bytes);
    RETURN_IF_APART(b->allocated_bytes, a->allocated_bytes);
    return by_name(left, right);
}

static void merge(struct memory_holder *sum, const struct memory_holder *other)
{
    if (other->place_bytes > sum->place_bytes) {
        sum->place = other->place;
        sum->place_bytes = other->place_bytes;
    }
    sum->allocations += other->allocations;
    sum->allocated_bytes += other->allocated_bytes;
    sum->peak_count += other->peak_count;
    sum->peak_bytes += other->peak_bytes;
    sum->kept_count += other->kept_count;
    sum->kept_bytes += other->kept_bytes;
}

void memory_holders_sort(struct memory_life *life)
{
    size_t kept = 0;
    if (!life->holder_count)
        return;
    qsort(life->holders, life->holder_count, sizeof *life->holders, by_name);
    for (size_t i = 0; i < life->holder_count; i++) {
        if (kept && !by_name(&life->holders[kept - 1], &life->holders[i]))
            merge(&life->holders[kept - 1], &life->holders[i]);
        else
            life->holders[kept++] = life->holders[i];
    }
    life->holder_count = kept;
    qsort(life->holders, kept, sizeof *life->holders, by_peak);
}
