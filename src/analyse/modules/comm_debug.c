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
#include "base/slice.h"
#include "load/arg_keys.h"

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
    struct arg_keys args;
};

enum { SHAPES, COLLECTIVE, ELEMENTS_IN, ELEMENTS_OUT, DTYPE, GROUP, KEYS };
static const char *const key_names[KEYS] = {"Input Dims",    "Collective name",
                                            "In msg nelems", "Out msg nelems",
                                            "dtype",         "Process Group Name"};

// --- names -----------------------------------------------------------------------------

// What moves data, by how the names begin that c10d, its functional ops and
// record_param_comms have: all_reduce, allreduce_, _allgather_base, reduce_scatter ...
static bool moves(const char *name)
{
    static const char *const names[] = {"all",       "_all",   "reduce",  "_reduce",
                                        "broadcast", "gather", "scatter", "send",
                                        "recv",      "isend",  "irecv",   "coalesced"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (slice_starts_with(slice_of(name), names[i]))
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
        if (slice_starts_with(slice_of(name), spaces[i]))
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

// NULL: there is none, or no memory for it, which only makes the answer shorter.
static const char *text_of(struct comm_debug *debug, const struct gait_arg *arg)
{
    if (arg->kind != GAIT_ARG_TEXT && arg->kind != GAIT_ARG_JSON)
        return NULL;
    return intern_text(&debug->texts, (struct slice){(const uint8_t *)arg->text, arg->text_bytes});
}

static uint64_t count_of(const struct gait_arg *arg)
{
    return arg->kind == GAIT_ARG_INT && arg->integer > 0 ? (uint64_t)arg->integer : 0;
}

// --- entries ---------------------------------------------------------------------------

// The entry like that one, which is added where there is none yet.
static int find_entry(struct looking *looking, const struct comm_entry *like, uint32_t *ret_entry)
{
    struct comm_debug *debug = looking->debug;
    const uint64_t key[3] = {like->node, like->pass, (uintptr_t)like->name};
    int status = tuple_map_add(&looking->keys, key, ret_entry);
    if (status || *ret_entry < debug->count)
        return status;
    const struct comm_entry added = *like; // which may be among those that move
    return ARRAY_ADD(debug->entries, debug->count, debug->room, MOST_ENTRIES, &added);
}

// Its shapes are those of the first call.
static int add_entry(struct looking *looking, const struct module_op *op, const char *name,
                     uint32_t *ret_entry)
{
    struct comm_debug *debug = looking->debug;
    const size_t known = debug->count;
    const struct comm_entry like = {
        .name = intern_text(&debug->texts, slice_of(name)),
        .node = op->node,
        .pass = op->pass,
        .is_trivial = is_trivial(name),
    };
    struct gait_arg args[KEYS];
    int status = like.name ? find_entry(looking, &like, ret_entry)
                           : fail(GAIT_ERR_MEMORY, "no memory for the ops of modules");
    if (status)
        return status;
    debug->entries[*ret_entry].calls++;
    debug->entries[*ret_entry].ns += op->ns;
    if (debug->count == known)
        return GAIT_OK;
    status = fact_args(op->slice, op->row, &looking->args, args);
    if (!status)
        debug->entries[*ret_entry].shapes = text_of(debug, &args[SHAPES]);
    return status;
}

// The larger side of what went in and came out, once for each collective.
static void add_bytes(struct looking *looking, struct open_collective *open,
                      const struct gait_arg *args)
{
    struct comm_entry *entry = &looking->debug->entries[open->entry];
    const uint64_t in = count_of(&args[ELEMENTS_IN]), out = count_of(&args[ELEMENTS_OUT]);
    const char *dtype = text_of(looking->debug, &args[DTYPE]);
    if (open->has_bytes || !dtype)
        return;
    const uint64_t elements = in > out ? in : out, size = collective_element_bytes(dtype);
    if (elements < UINT64_MAX / 16 && entry->bytes < UINT64_MAX / 2)
        entry->bytes += elements * size;
    entry->dtype = entry->dtype ? entry->dtype : dtype;
    if (!entry->group)
        entry->group = text_of(looking->debug, &args[GROUP]);
    open->has_bytes = true;
}

static int begin_collective(struct looking *looking, const struct module_op *op)
{
    struct open_collective *open = &looking->tracks[op->track];
    struct gait_arg args[KEYS];
    int status = fact_args(op->slice, op->row, &looking->args, args);
    if (status)
        return status;
    const char *told = text_of(looking->debug, &args[COLLECTIVE]);
    const bool is_bare = strcmp(op->name, "record_param_comms") == 0;
    if (is_bare && (!told || !moves(told)))
        return GAIT_OK;
    *open = (struct open_collective){.is_open = true, .end_ns = op->row->end_ns};
    status = add_entry(looking, op, is_bare ? told : op->name, &open->entry);
    if (!status)
        looking->debug->entries[open->entry].is_collective = true;
    return status;
}

// Marks are those of the collective around, + 1.
static int see_op(struct looking *looking, struct module_op *op)
{
    struct open_collective *open = &looking->tracks[op->track];
    const bool is_op = op->role == ROLE_OP;
    struct gait_arg args[KEYS];
    uint32_t entry;
    int status = GAIT_OK;
    if (open->is_open && op->row->start_ns >= open->end_ns)
        open->is_open = false;
    if (is_op && !open->is_open && is_collective(op->name))
        status = begin_collective(looking, op);
    else if (is_op)
        status = add_entry(looking, op, op->name, &entry);
    if (status || !open->is_open)
        return status;
    op->mark = open->entry + 1;
    status = fact_args(op->slice, op->row, &looking->args, args);
    if (!status)
        add_bytes(looking, open, args);
    return status;
}

static int see(struct module_op *op, void *context)
{
    struct looking *looking = context;
    if (!op->is_kernel)
        return see_op(looking, op);
    if (op->mark)
        looking->debug->entries[op->mark - 1].device_ns += op->ns;
    return GAIT_OK;
}

// --- all -------------------------------------------------------------------------------

static int by_place(const void *left, const void *right)
{
    const struct comm_entry *a = left, *b = right;
    RETURN_IF_APART(a->node, b->node);
    RETURN_IF_APART(a->pass, b->pass);
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
    arg_keys_init(&looking.args, key_names, KEYS);
    looking.tracks = calloc((size_t)gait_trace_track_count(trace) + 1, sizeof *looking.tracks);
    int status = looking.tracks ? module_tree_make(&debug->tree, trace, &wish)
                                : fail(GAIT_ERR_MEMORY, "no memory for the ops of modules");
    if (!status)
        status = add_to_parents(&looking);
    if (!status && debug->count)
        qsort(debug->entries, debug->count, sizeof *debug->entries, by_place);
    tuple_map_finish(&looking.keys);
    arg_keys_finish(&looking.args);
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
