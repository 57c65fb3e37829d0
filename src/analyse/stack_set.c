// SPDX-License-Identifier: Apache-2.0
// A frame ends at a semicolon outside of brackets and quotes: names of native
// functions and command lines may hold both.
#include "analyse/stack_set.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/phase_times.h"
#include "base/array.h"
#include "base/fail.h"
#include "load/clock_map.h"

#define ARENA_LIMIT ((size_t)4 << 30)
#define ID_LIMIT ((size_t)1 << 30)
#define ENTRY_LIMIT ((size_t)1 << 28)
#define FRAME_LIMIT ((size_t)1 << 26)
#define FIRST_SLOTS 4096u
#define LINE_LIMIT (4u << 20)
#define DEPTH_LIMIT 65536u

int stack_set_init(struct stack_set *set)
{
    memset(set, 0, sizeof *set);
    arena_init(&set->arena, ARENA_LIMIT);
    intern_init(&set->texts, &set->arena);
    set->slot_count = FIRST_SLOTS;
    set->frame_slots = calloc(set->slot_count, sizeof *set->frame_slots);
    return set->frame_slots ? 0 : fail(GAIT_ERR_MEMORY, "no memory for stacks");
}

void stack_set_finish(struct stack_set *set)
{
    free(set->frames);
    free(set->frame_slots);
    free(set->ids);
    free(set->entries);
    intern_finish(&set->texts);
    arena_finish(&set->arena);
    memset(set, 0, sizeof *set);
}

static size_t slot_of(const struct stack_set *set, const struct stack_frame *frame)
{
    uint64_t hash = (uintptr_t)frame->name * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= (uintptr_t)frame->path * UINT64_C(0xc2b2ae3d27d4eb4f) ^ (uint32_t)frame->line;
    hash ^= hash >> 31;
    size_t at = (size_t)(hash * UINT64_C(0x165667b19e3779f9) >> 24) & (set->slot_count - 1);
    for (; set->frame_slots[at]; at = (at + 1) & (set->slot_count - 1)) {
        const struct stack_frame *other = &set->frames[set->frame_slots[at] - 1];
        if (other->name == frame->name && other->path == frame->path &&
            other->line == frame->line && other->kind == frame->kind)
            break;
    }
    return at;
}

static int grow_slots(struct stack_set *set)
{
    uint32_t *slots = calloc(set->slot_count * 2, sizeof *slots);
    if (!slots)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu functions", set->frame_count);
    free(set->frame_slots);
    set->frame_slots = slots;
    set->slot_count *= 2;
    for (size_t i = 0; i < set->frame_count; i++)
        set->frame_slots[slot_of(set, &set->frames[i])] = (uint32_t)i + 1;
    return 0;
}

static int number_of(struct stack_set *set, struct stack_frame *frame, uint32_t *ret_id)
{
    if (frame->path && strstr(frame->path, "frozen importlib")) {
        frame->path = intern_text(&set->texts, slice_of("built-in"));
        frame->line = -1;
    }
    if (!frame->name || !frame->path)
        return GAIT_ERR_MEMORY; // the story is told
    int status = set->frame_count * 2 >= set->slot_count ? grow_slots(set) : 0;
    if (status)
        return status;
    const size_t slot = slot_of(set, frame);
    if (!set->frame_slots[slot]) {
        status = array_reserve((void **)&set->frames, &set->frame_capacity, set->frame_count + 1,
                               (struct array_shape){sizeof *set->frames, FRAME_LIMIT});
        if (status)
            return status;
        set->frames[set->frame_count++] = *frame;
        set->frame_slots[slot] = (uint32_t)set->frame_count;
    }
    *ret_id = set->frame_slots[slot] - 1;
    return 0;
}

static bool begins(struct slice text, const char *words)
{
    const size_t bytes = strlen(words);
    return text.count >= bytes && memcmp(text.bytes, words, bytes) == 0;
}

// The last " (" of a text that ends with ")": where the place begins. 0: none.
static size_t place_of(struct slice text)
{
    if (text.count < 4 || text.bytes[text.count - 1] != ')')
        return 0;
    for (size_t at = text.count - 2; at > 0; at--)
        if (text.bytes[at] == '(' && text.bytes[at - 1] == ' ')
            return at + 1;
    return 0;
}

// "path:12" -> 12 and the path alone; 0 where no number is.
static int32_t take_line(struct slice *place)
{
    size_t at = place->count;
    int64_t line = 0, unit = 1;
    while (at > 0 && place->bytes[at - 1] >= '0' && place->bytes[at - 1] <= '9' &&
           place->count - at < 9) {
        line += (place->bytes[--at] - '0') * unit;
        unit *= 10;
    }
    if (at == place->count || at == 0 || place->bytes[at - 1] != ':')
        return 0;
    place->count = at - 1;
    return (int32_t)line;
}

// A frame's text as folded lines have it; a line of its own is not counted.
static int number_frame(struct stack_set *set, struct slice text, uint32_t *ret_id)
{
    struct stack_frame frame = {.kind = STACK_FRAME_CODE};
    struct slice path = {text.bytes, 0};
    if (begins(text, "process ") && memchr(text.bytes, ':', text.count))
        frame.kind = STACK_FRAME_PROCESS;
    else if (begins(text, "thread ("))
        frame.kind = STACK_FRAME_THREAD;
    const size_t place = frame.kind == STACK_FRAME_CODE ? place_of(text) : 0;
    if (place) {
        path = (struct slice){text.bytes + place, text.count - place - 1};
        frame.line = take_line(&path);
        text.count = place - 2;
    }
    frame.name = intern_text(&set->texts, text);
    frame.path = intern_text(&set->texts, path);
    return number_of(set, &frame, ret_id);
}

// Bytes of the first frame of `text`, up to its semicolon or the end.
static size_t frame_length(struct slice text)
{
    long open = 0;
    bool is_quoted = false;
    const bool has_quotes = begins(text, "process ");
    size_t plain = text.count; // the first semicolon, for brackets that never close
    for (size_t i = 0; i < text.count; i++) {
        const uint8_t c = text.bytes[i];
        if (c == '"' && has_quotes)
            is_quoted = !is_quoted;
        else if (c == '(')
            open++;
        else if (c == ')')
            open -= open > 0;
        else if (c == ';' && open == 0 && !is_quoted)
            return i;
        else if (c == ';' && plain == text.count)
            plain = i;
    }
    return open || is_quoted ? plain : text.count;
}

// The count behind the last blank; -1: there is none.
static int64_t take_count(struct slice *line)
{
    int64_t count = 0;
    while (line->count && strchr(" \t\r", line->bytes[line->count - 1]) &&
           line->bytes[line->count - 1])
        line->count--;
    size_t at = line->count;
    while (at > 0 && line->bytes[at - 1] >= '0' && line->bytes[at - 1] <= '9')
        at--;
    if (at == line->count || line->count - at > 18 || (at && line->bytes[at - 1] != ' '))
        return -1;
    for (size_t i = at; i < line->count; i++)
        count = count * 10 + (line->bytes[i] - '0');
    while (at && line->bytes[at - 1] == ' ')
        at--;
    line->count = at;
    return count;
}

static int push_id(struct stack_set *set, uint32_t id)
{
    int status = array_reserve((void **)&set->ids, &set->id_capacity, set->id_count + 1,
                               (struct array_shape){sizeof *set->ids, ID_LIMIT});
    if (status == 0)
        set->ids[set->id_count++] = id;
    return status;
}

// As much of a count as is taken: no sum of any entries wraps then.
static uint64_t take_samples(struct stack_set *set, uint64_t count)
{
    const uint64_t left = INT64_MAX - set->samples;
    if (count > left)
        count = left;
    set->samples += count;
    return count;
}

static int push_entry(struct stack_set *set, const struct stack_entry *entry)
{
    int status = array_reserve((void **)&set->entries, &set->entry_capacity, set->entry_count + 1,
                               (struct array_shape){sizeof *set->entries, ENTRY_LIMIT});
    if (status)
        return status;
    set->entries[set->entry_count] = *entry;
    set->entries[set->entry_count++].count = take_samples(set, entry->count);
    return 0;
}

static bool is_text(struct slice line)
{
    return line.count <= LINE_LIMIT && !memchr(line.bytes, '\0', line.count);
}

int stack_set_add_line(struct stack_set *set, struct slice line)
{
    struct stack_entry entry = {.first = set->id_count, .process = "", .thread = "", .rank = -1};
    int status = 0;
    set->lines++;
    const int64_t count = is_text(line) ? take_count(&line) : -1;
    while (count > 0 && line.count && status == 0 && entry.depth < DEPTH_LIMIT) {
        const size_t bytes = frame_length(line), step = bytes < line.count ? bytes + 1 : bytes;
        uint32_t id;
        if (bytes) {
            status = number_frame(set, (struct slice){line.bytes, bytes}, &id);
            if (status == 0)
                status = push_id(set, id);
            if (status)
                break;
            entry.depth++;
            if (set->frames[id].kind == STACK_FRAME_PROCESS)
                entry.process = set->frames[id].name;
            else if (set->frames[id].kind == STACK_FRAME_THREAD)
                entry.thread = set->frames[id].name;
        }
        line = (struct slice){line.bytes + step, line.count - step};
    }
    entry.count = count > 0 ? (uint64_t)count : 0;
    if (status || (count == 0 && line.count))
        return status; // a stack that was never seen is no fault
    if (!entry.depth) {
        set->bad_lines++;
        return 0;
    }
    return push_entry(set, &entry);
}

int stack_set_add_lines(struct stack_set *set, struct slice text)
{
    int status = 0;
    while (text.count && status == 0) {
        const uint8_t *end = memchr(text.bytes, '\n', text.count);
        const size_t bytes = end ? (size_t)(end - text.bytes) : text.count;
        const size_t step = end ? bytes + 1 : bytes;
        if (bytes)
            status = stack_set_add_line(set, (struct slice){text.bytes, bytes});
        text = (struct slice){text.bytes + step, text.count - step};
    }
    return status;
}

// A sample that waits for the next one of its thread, which tells how long it lasted.
struct waiting {
    struct stack_sample sample; // weight 0: none waits
    int64_t start_ns;
};

struct taking {
    struct stack_set *set;
    struct run *run;
    const struct stack_rows *stacks;
    uint32_t *numbers;               // of the set's frames + 1, by stack id
    uint32_t **by_track;             // entries + 1 by track and stack id: equal samples become one
    const struct phase_times *times; // that are asked for, NULL: all
    struct waiting *waiting;         // of a track
    size_t track_count;
    const char *host;
    double period_ns;
    int64_t rank;
};

static int frame_of_site(struct taking *taking, uint32_t stack, uint32_t *ret_id)
{
    const struct stack_row *row = &taking->stacks->rows[stack];
    const struct gait_site_info *site = &taking->run->sites.sites[row->site];
    struct stack_frame frame = {intern_text(&taking->set->texts, slice_of(site->name)),
                                intern_text(&taking->set->texts, slice_of(site->file)),
                                (int32_t)row->line, stack_rows_kind(site)};
    return number_of(taking->set, &frame, ret_id);
}

static const char *track_words(struct stack_set *set, const struct gait_track_info *info)
{
    char words[300];
    const int used = snprintf(words, sizeof words, "%lld%s%.200s", (long long)info->tid,
                              *info->name ? " " : "", info->name);
    const char *text = intern_text(&set->texts, (struct slice){(uint8_t *)words, (size_t)used});
    return text ? text : "";
}

static int add_stack(struct taking *taking, const struct stack_sample *sample)
{
    struct stack_set *set = taking->set;
    struct stack_entry entry = {
        .first = set->id_count, .count = sample->weight, .process = "", .thread = ""};
    for (uint32_t at = sample->stack; at && entry.depth < DEPTH_LIMIT;
         at = taking->stacks->rows[at].parent) {
        uint32_t id = 0;
        int status = taking->numbers[at] ? 0 : frame_of_site(taking, at, &id);
        if (status == 0 && !taking->numbers[at])
            taking->numbers[at] = id + 1;
        if (status == 0)
            status = push_id(set, taking->numbers[at] - 1);
        if (status)
            return status;
        if (set->frames[taking->numbers[at] - 1].kind == STACK_FRAME_PROCESS)
            entry.process = set->frames[taking->numbers[at] - 1].name;
        entry.depth++;
    }
    for (size_t low = entry.first, high = set->id_count - 1; low < high; low++, high--) {
        const uint32_t id = set->ids[low];
        set->ids[low] = set->ids[high];
        set->ids[high] = id;
    }
    const struct track *track = &taking->run->tracks.tracks[sample->track];
    entry.rank = taking->rank;
    entry.thread = track_words(set, &track->info);
    return push_entry(set, &entry);
}

static int take_sample(void *context, const struct stack_sample *sample)
{
    struct taking *taking = context;
    if (!sample->stack || sample->stack >= taking->stacks->count || !sample->weight)
        return 0;
    uint32_t **slots = &taking->by_track[sample->track];
    if (!*slots)
        *slots = calloc(taking->stacks->count, sizeof **slots);
    if (!*slots)
        return fail(GAIT_ERR_MEMORY, "no memory for stacks");
    if ((*slots)[sample->stack]) {
        taking->set->entries[(*slots)[sample->stack] - 1].count +=
            take_samples(taking->set, sample->weight);
        return 0;
    }
    int status = add_stack(taking, sample);
    if (status == 0)
        (*slots)[sample->stack] = (uint32_t)taking->set->entry_count;
    return status;
}

// When its last round was: the next sample tells. A border of a phase mostly changes the
// stack, so it lies behind that round, and a gap with a border in it is a long one.
static int64_t last_look(const struct taking *taking, const struct waiting *waiting,
                         int64_t next_ns)
{
    const double rounds = (double)waiting->sample.weight, period = taking->period_ns;
    double length = (double)next_ns - (double)waiting->start_ns;
    if (!stack_rows_is_next(waiting->sample.weight, length, period))
        length = rounds * period;
    length = fmin(fmax(length - 3 * period, 0), 1e18);
    int64_t last_ns;
    return __builtin_add_overflow(waiting->start_ns, (int64_t)length, &last_ns) ? INT64_MAX
                                                                                : last_ns;
}

// Adds those of the waiting sample's rounds that were in the phase.
static int settle(struct taking *taking, struct waiting *waiting, int64_t next_ns)
{
    struct stack_sample sample = waiting->sample;
    if (!sample.weight)
        return 0;
    const struct phase_looks looks = {waiting->start_ns, last_look(taking, waiting, next_ns),
                                      sample.weight};
    const int64_t tid = taking->run->tracks.tracks[sample.track].info.tid;
    sample.weight = phase_times_hit(phase_times_of(taking->times, taking->host, tid), &looks);
    waiting->sample.weight = 0;
    return take_sample(taking, &sample);
}

static int take_timed(void *context, const struct stack_sample *sample)
{
    struct taking *taking = context;
    if (sample->track >= taking->track_count)
        return 0;
    struct waiting *waiting = &taking->waiting[sample->track];
    const int64_t start_ns =
        clock_map_ns(taking->run->tracks.tracks[sample->track].map, sample->tick);
    int status = settle(taking, waiting, start_ns);
    *waiting = (struct waiting){*sample, start_ns};
    return status;
}

static int take_all_timed(struct taking *taking, uint32_t index)
{
    int status = stack_rows_samples(taking->run, index, take_timed, taking);
    for (size_t i = 0; i < taking->track_count && status == 0; i++)
        status = settle(taking, &taking->waiting[i], INT64_MAX);
    return status;
}

static int add_shard(struct stack_set *set, struct run *run, uint32_t index,
                     const struct phase_times *times)
{
    struct stack_rows stacks;
    int status = stack_rows_load(&stacks, run, index);
    if (status)
        return status;
    // reading samples may make up tracks, one a frame at most
    const size_t tracks = run->tracks.count + run->shards[index]->shard.list.count;
    struct taking taking = {.set = set,
                            .run = run,
                            .stacks = &stacks,
                            .numbers = calloc(stacks.count + 1, sizeof(uint32_t)),
                            .by_track = calloc(tracks + 1, sizeof(uint32_t *)),
                            .times = times,
                            .waiting = calloc(times ? tracks + 1 : 1, sizeof(struct waiting)),
                            .track_count = tracks,
                            .host = run->shards[index]->info.host,
                            .period_ns = stack_rows_period(run->shards[index]),
                            .rank = run->shards[index]->info.rank};
    if (!taking.numbers || !taking.by_track || !taking.waiting)
        status = fail(GAIT_ERR_MEMORY, "no memory for stacks");
    else
        status = times ? take_all_timed(&taking, index)
                       : stack_rows_samples(run, index, take_sample, &taking);
    for (size_t i = 0; taking.by_track && i < tracks; i++)
        free(taking.by_track[i]);
    free(taking.waiting);
    free(taking.by_track);
    free(taking.numbers);
    stack_rows_finish(&stacks);
    return status;
}

int stack_set_add_run(struct stack_set *set, struct run *run)
{
    int status = 0;
    for (uint32_t i = 0; i < run->shard_count && status == 0; i++)
        status = add_shard(set, run, i, NULL);
    return status;
}

int stack_set_add_phase(struct stack_set *set, struct gait_trace *trace, const char *phase)
{
    struct phase_times times;
    int status = phase_times_find(&times, trace, phase);
    if (status)
        return status;
    for (uint32_t i = 0; i < trace->run.shard_count && status == 0; i++)
        status = add_shard(set, &trace->run, i, &times);
    phase_times_finish(&times);
    return status;
}
