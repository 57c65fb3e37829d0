// SPDX-License-Identifier: Apache-2.0
// A collective is the outermost op that names one: what it calls (record_param_comms, c10d's
// own op below a functional one) says how many bytes it moved and which kernel it began.
#include "analyse/modules/comm_debug.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/device/collectives.h"
#include "analyse/ops/tuple_map.h"
#include "base/array.h"
#include "base/fail.h"

#define ENTRY_NONE UINT32_MAX

enum { MOST_ENTRIES = 1 << 22, MOST_TEXT = 1 << 26 };

// The collective that is open on a track.
struct open_collective {
    int64_t end_ns;
    uint32_t entry;
    bool is_open, has_bytes;
};

struct looking {
    struct comm_debug *debug;
    struct open_collective *tracks;
    struct tuple_map keys; // node, pass, name
    uint32_t *op_entries;  // of each op: the collective around it
    size_t op_count, op_room;
};

// --- names -----------------------------------------------------------------------------

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// What moves data, by how the names begin that c10d, its functional ops and
// record_param_comms have: all_reduce, allreduce_, _allgather_base, reduce_scatter ...
static bool moves(const char *name)
{
    static const char *const names[] = {"all",       "_all",   "reduce",  "_reduce",
                                        "broadcast", "gather", "scatter", "send",
                                        "recv",      "isend",  "irecv",   "coalesced"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (begins(name, names[i]))
            return true;
    return false;
}

static bool is_collective(const char *name)
{
    static const char *const spaces[] = {
        "c10d::", "_c10d_functional::", "c10d_functional::", "_c10d_functional_autograd::"};
    if (strcmp(name, "record_param_comms") == 0)
        return true;
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
        if (begins(name, spaces[i]))
            return moves(name + strlen(spaces[i]));
    return false;
}

// As torch's CommDebugMode has them.
static bool is_trivial(const char *name)
{
    static const char *const names[] = {"aten::detach",   "aten::t",          "aten::view",
                                        "aten::_to_copy", "aten::as_strided", "aten::transpose"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static const struct gait_arg *arg_of(const struct gait_event *event, const char *key)
{
    for (size_t i = 0; i < event->arg_count; i++)
        if (strcmp(event->args[i].key, key) == 0)
            return &event->args[i];
    return NULL;
}

// NULL: there is none, or no memory for it, which only makes the answer shorter.
static const char *text_of(struct comm_debug *debug, const struct gait_event *event,
                           const char *key)
{
    const struct gait_arg *arg = arg_of(event, key);
    if (!arg || (arg->kind != GAIT_ARG_TEXT && arg->kind != GAIT_ARG_JSON))
        return NULL;
    return intern_text(&debug->texts, (struct slice){(const uint8_t *)arg->text, arg->text_bytes});
}

static uint64_t count_of(const struct gait_event *event, const char *key)
{
    const struct gait_arg *arg = arg_of(event, key);
    return arg && arg->kind == GAIT_ARG_INT && arg->integer > 0 ? (uint64_t)arg->integer : 0;
}

// --- entries ---------------------------------------------------------------------------

// The entry like that one, which is added where there is none yet.
static int find_entry(struct looking *looking, const struct comm_entry *like, uint32_t *ret_entry)
{
    struct comm_debug *debug = looking->debug;
    const struct array_shape shape = {sizeof *debug->entries, MOST_ENTRIES};
    const uint64_t key[3] = {like->node, like->pass, (uintptr_t)like->name};
    int status = tuple_map_add(&looking->keys, key, ret_entry);
    if (status || *ret_entry < debug->count)
        return status;
    const struct comm_entry added = *like; // which may be among those that move
    status = array_reserve((void **)&debug->entries, &debug->room, debug->count + 1, shape);
    if (!status)
        debug->entries[debug->count++] = added;
    return status;
}

static int add_entry(struct looking *looking, const struct module_op *op, const char *name,
                     uint32_t *ret_entry)
{
    struct comm_debug *debug = looking->debug;
    const struct comm_entry like = {
        .name = intern_text(&debug->texts, slice_of(name)),
        .node = op->node,
        .pass = op->pass,
        .is_trivial = is_trivial(name),
        .shapes = text_of(debug, op->event, "Input Dims"),
    };
    return like.name ? find_entry(looking, &like, ret_entry)
                     : fail(GAIT_ERR_MEMORY, "no memory for the ops of modules");
}

// Ops come in the order of their numbers.
static int note_entry(struct looking *looking, uint32_t entry)
{
    const struct array_shape shape = {sizeof *looking->op_entries, LAUNCH_NONE};
    int status = array_reserve((void **)&looking->op_entries, &looking->op_room,
                               looking->op_count + 1, shape);
    if (!status)
        looking->op_entries[looking->op_count++] = entry;
    return status;
}

static void add_times(struct comm_entry *entry, const struct gait_event *event)
{
    entry->calls++;
    entry->ns += event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0;
}

// The larger side of what went in and came out, once for each collective.
static void add_bytes(struct looking *looking, struct open_collective *open,
                      const struct gait_event *event)
{
    struct comm_entry *entry = &looking->debug->entries[open->entry];
    const uint64_t in = count_of(event, "In msg nelems"), out = count_of(event, "Out msg nelems");
    const char *dtype = text_of(looking->debug, event, "dtype");
    if (open->has_bytes || !dtype)
        return;
    const uint64_t elements = in > out ? in : out, size = collective_element_bytes(dtype);
    if (elements < UINT64_MAX / 16 && entry->bytes < UINT64_MAX / 2)
        entry->bytes += elements * size;
    entry->dtype = entry->dtype ? entry->dtype : dtype;
    if (!entry->group)
        entry->group = text_of(looking->debug, event, "Process Group Name");
    open->has_bytes = true;
}

static int begin_collective(struct looking *looking, const struct module_op *op)
{
    struct open_collective *open = &looking->tracks[op->event->track];
    const char *told = text_of(looking->debug, op->event, "Collective name");
    const bool is_bare = strcmp(op->event->name, "record_param_comms") == 0;
    if (is_bare && (!told || !moves(told)))
        return GAIT_OK;
    *open = (struct open_collective){.is_open = true};
    int status = add_entry(looking, op, is_bare ? told : op->event->name, &open->entry);
    if (status)
        return status;
    if (__builtin_add_overflow(op->event->start_ns, op->event->duration_ns, &open->end_ns))
        open->end_ns = INT64_MAX;
    looking->debug->entries[open->entry].is_collective = true;
    add_times(&looking->debug->entries[open->entry], op->event);
    return GAIT_OK;
}

static void add_kernel(struct looking *looking, const struct module_op *kernel)
{
    const uint32_t entry =
        kernel->number < looking->op_count ? looking->op_entries[kernel->number] : ENTRY_NONE;
    if (entry != ENTRY_NONE)
        looking->debug->entries[entry].device_ns += kernel->duration_ns;
}

static int see_op(struct looking *looking, const struct module_op *op)
{
    struct open_collective *open = &looking->tracks[op->event->track];
    const bool is_op = op->role == ROLE_OP;
    uint32_t entry;
    int status = GAIT_OK;
    if (open->is_open && op->event->start_ns >= open->end_ns)
        open->is_open = false;
    if (is_op && !open->is_open && is_collective(op->event->name)) {
        status = begin_collective(looking, op);
    } else if (is_op) {
        status = add_entry(looking, op, op->event->name, &entry);
        if (!status)
            add_times(&looking->debug->entries[entry], op->event);
    }
    if (!status && open->is_open)
        add_bytes(looking, open, op->event);
    return status ? status : note_entry(looking, open->is_open ? open->entry : ENTRY_NONE);
}

static int see(const struct module_op *op, void *context)
{
    struct looking *looking = context;
    if (op->event)
        return see_op(looking, op);
    add_kernel(looking, op);
    return GAIT_OK;
}

// --- all -------------------------------------------------------------------------------

static int by_place(const void *left, const void *right)
{
    const struct comm_entry *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->pass != b->pass)
        return a->pass < b->pass ? -1 : 1;
    if (a->is_collective != b->is_collective)
        return a->is_collective ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int add_upwards(struct looking *looking, const struct comm_entry *own)
{
    struct comm_debug *debug = looking->debug;
    struct comm_entry like = *own;
    int status = GAIT_OK;
    like.calls = like.ns = like.bytes = like.device_ns = like.own_calls = 0;
    while (!status && like.node != MODULE_NONE) {
        uint32_t place;
        like.node = debug->tree.nodes[like.node].parent;
        status = find_entry(looking, &like, &place);
        if (status)
            break;
        debug->entries[place].calls += own->calls;
        debug->entries[place].ns += own->ns;
        debug->entries[place].bytes += own->bytes;
        debug->entries[place].device_ns += own->device_ns;
    }
    return status;
}

// A collective is one of all modules around it.
static int add_to_parents(struct looking *looking)
{
    const size_t count = looking->debug->count;
    struct comm_entry *owns = malloc((count + 1) * sizeof *owns);
    int status = owns ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for the ops of modules");
    for (size_t i = 0; !status && i < count; i++) {
        struct comm_entry *entry = &looking->debug->entries[i];
        entry->own_calls = entry->calls;
        owns[i] = *entry;
    }
    for (size_t i = 0; !status && i < count; i++)
        if (owns[i].is_collective)
            status = add_upwards(looking, &owns[i]);
    free(owns);
    return status;
}

int comm_debug_make(struct comm_debug *debug, struct gait_trace *trace, uint32_t shard)
{
    struct looking looking = {.debug = debug};
    const struct module_wish wish = {.shard = shard, .visit = see, .context = &looking};
    *debug = (struct comm_debug){.count = 0};
    arena_init(&debug->arena, MOST_TEXT);
    intern_init(&debug->texts, &debug->arena);
    tuple_map_init(&looking.keys, 3);
    looking.tracks = calloc((size_t)gait_trace_track_count(trace) + 1, sizeof *looking.tracks);
    int status = looking.tracks ? module_tree_make(&debug->tree, trace, &wish)
                                : fail(GAIT_ERR_MEMORY, "no memory for the ops of modules");
    if (!status)
        status = add_to_parents(&looking);
    if (!status && debug->count)
        qsort(debug->entries, debug->count, sizeof *debug->entries, by_place);
    tuple_map_finish(&looking.keys);
    free(looking.op_entries);
    free(looking.tracks);
    return status;
}

void comm_debug_finish(struct comm_debug *debug)
{
    module_tree_finish(&debug->tree);
    free(debug->entries);
    intern_finish(&debug->texts);
    arena_finish(&debug->arena);
}

// Where entries of that node and pass begin, or would.
static size_t place_of(const struct comm_debug *debug, uint64_t node, unsigned pass)
{
    size_t low = 0, high = debug->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct comm_entry *entry = &debug->entries[middle];
        if (entry->node < node || (entry->node == node && entry->pass < pass))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void comm_debug_of(const struct comm_debug *debug, uint32_t node, enum module_pass pass,
                   const struct comm_entry *ret_range[2])
{
    ret_range[0] = ret_range[1] = NULL;
    if (!debug->count)
        return;
    ret_range[0] = debug->entries + place_of(debug, node, pass);
    ret_range[1] = debug->entries + place_of(debug, node, pass + 1u);
}
