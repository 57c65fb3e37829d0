// SPDX-License-Identifier: Apache-2.0
// Rows come in order of time, the launches' too; each thread has a row of its open spans. An op
// is known to launches by its owner: module, pass and mark, which the work of devices has then.
#include "analyse/modules/module_tree.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/ops/tuple_map.h"
#include "base/array.h"
#include "base/fail.h"
#include "base/slice.h"
#include "facts/launches.h"
#include "facts/rank_stream.h"
#include "load/arg_keys.h"
#include "load/shard_owner.h"
#include "load/site_role.h"

enum { MOST_OPEN = 1 << 16, MOST_NODES = 1 << 20, MOST_TEXT = 1 << 26 };

#define FOREIGN_MODULE "nn.Module: "    // "nn.Module: Conv2d_0"
#define LIGHTNING_MODULE "[pl][module]" // "[pl][module]torch.nn.modules.linear.Linear: layer1.0"
#define EVALUATES "autograd::engine::evaluate_function"

enum site_kind { SITE_OTHER, SITE_MODULE, SITE_OP, SITE_STEP, SITE_DEVICE };

enum { SEQ, FOREIGN_SEQ, SCOPE, FORWARD_THREAD, CLASS, KEYS };
static const char *const key_names[KEYS] = {"seq", "Sequence number", "scope", "Fwd thread id",
                                            "class"};

struct known_site {
    enum site_kind kind;
    enum role role;
    const char *name, *class; // of a module
    bool is_path, is_backward;
    bool wants_class; // the first event tells it
};

struct open_span {
    int64_t end_ns;
    uint32_t node;
    enum module_pass pass;
    bool is_backward;
    bool is_chosen;   // the call of the module
    bool has_counted; // the time of a backward that is open, of the module `counted`
    bool is_counted;  // : it was chosen
    uint32_t counted;
};

struct open_row {
    struct open_span *spans;
    size_t count, room;
    uint32_t owner; // of the last op
};

struct walking {
    struct module_tree *tree;
    const struct module_wish *wish;
    const struct gait_trace *trace;
    uint32_t owner; // of its shard
    struct known_site *sites;
    struct open_row *tracks;
    struct tuple_map keys; // parent and site, of the nodes behind the root
    struct tuple_map seqs; // of autograd nodes
    uint32_t *seq_nodes;   // of each, the module of its forward
    size_t seq_room;
    struct tuple_map owners; // of ops: node, pass and mark; the first of what is nowhere known
    struct launches launches;
    struct arg_keys args;
};

// --- sites -----------------------------------------------------------------------------

static int learn_class(struct module_tree *tree, const char *text, size_t bytes,
                       struct known_site *site)
{
    site->class = arena_text(&tree->arena, text, bytes);
    return site->class ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for modules");
}

static int learn_site(struct module_tree *tree, const char *name, struct known_site *site)
{
    static const enum site_kind kinds[ROLE_COUNT] = {[ROLE_MODULE] = SITE_MODULE,
                                                     [ROLE_OP] = SITE_OP,
                                                     [ROLE_ANNOTATION] = SITE_OP,
                                                     [ROLE_STEP] = SITE_STEP};
    const enum role role = site->role;
    const struct slice text = slice_of(name);
    site->kind = role_is_device_work(role) ? SITE_DEVICE : kinds[role];
    site->name = name;
    site->is_path = true;
    site->is_backward =
        slice_starts_with(text, EVALUATES) || slice_starts_with(text, "torch::autograd::");
    site->wants_class = role == ROLE_MODULE;
    if (role == ROLE_ANNOTATION && slice_starts_with(text, LIGHTNING_MODULE)) {
        const char *words = name + strlen(LIGHTNING_MODULE), *end = strstr(words, ": ");
        site->kind = SITE_MODULE;
        site->name = end ? end + 2 : words;
        return end ? learn_class(tree, words, (size_t)(end - words), site) : GAIT_OK;
    }
    if (role == ROLE_PYTHON && slice_starts_with(text, FOREIGN_MODULE)) {
        const char *words = name + strlen(FOREIGN_MODULE), *end = strrchr(words, '_');
        site->kind = SITE_MODULE;
        site->is_path = false;
        site->name = words;
        return end ? learn_class(tree, words, (size_t)(end - words), site) : GAIT_OK;
    }
    return GAIT_OK;
}

// Ranges launch as ops do.
static int learn_sites(struct walking *walking)
{
    static const uint8_t kinds[] = {[SITE_OTHER] = FEED_NO_KIND,
                                    [SITE_MODULE] = LAUNCH_BESIDE,
                                    [SITE_OP] = LAUNCH_OP,
                                    [SITE_STEP] = LAUNCH_BESIDE,
                                    [SITE_DEVICE] = FEED_NO_KIND};
    const uint32_t count = gait_trace_site_count(walking->trace);
    int status = GAIT_OK;
    walking->sites = calloc((size_t)count + 1, sizeof *walking->sites);
    if (!walking->sites)
        return fail(GAIT_ERR_MEMORY, "no memory to read modules");
    for (uint32_t i = 0; i < count && !status; i++) {
        struct known_site *site = &walking->sites[i];
        struct gait_site_info info;
        site->role = site_role(walking->trace, i);
        status = gait_trace_site(walking->trace, i, &info);
        if (!status)
            status = learn_site(walking->tree, info.name, site);
        if (site->role != ROLE_RUNTIME)
            walking->launches.kinds[i] = kinds[site->kind];
    }
    return status;
}

// --- nodes -----------------------------------------------------------------------------

static int add_node(struct module_tree *tree, struct module_node node)
{
    return ARRAY_ADD(tree->nodes, tree->count, tree->room, MOST_NODES, &node);
}

static void adopt(struct module_tree *tree, uint32_t parent, uint32_t child)
{
    struct module_node *node = &tree->nodes[parent];
    *(node->first_child ? &tree->nodes[node->last_child].next : &node->first_child) = child;
    node->last_child = child;
}

static int find_node(struct walking *walking, uint32_t parent, uint32_t site, uint32_t *ret_node)
{
    struct module_tree *tree = walking->tree;
    const uint64_t key[2] = {parent, site};
    const size_t known = walking->keys.count;
    uint32_t index;
    int status = tuple_map_add(&walking->keys, key, &index);
    if (status)
        return status;
    *ret_node = index + 1;
    if (walking->keys.count == known)
        return GAIT_OK;
    const struct module_node node = {.name = walking->sites[site].name,
                                     .kind = walking->sites[site].class,
                                     .is_path = walking->sites[site].is_path,
                                     .parent = parent,
                                     .depth = tree->nodes[parent].depth + 1};
    status = add_node(tree, node);
    if (!status)
        adopt(tree, parent, *ret_node);
    return status;
}

uint32_t module_tree_next(const struct module_tree *tree, uint32_t node)
{
    if (tree->nodes[node].first_child)
        return tree->nodes[node].first_child;
    while (node && !tree->nodes[node].next)
        node = tree->nodes[node].parent;
    return node ? tree->nodes[node].next : MODULE_NONE;
}

// --- spans -----------------------------------------------------------------------------

static int64_t number_of(const struct gait_arg *arg, int64_t otherwise)
{
    return arg->kind == GAIT_ARG_INT ? arg->integer : otherwise;
}

static uint64_t length_of(const struct fact_row *row)
{
    return row->end_ns == FACT_OPEN ? 0 : (uint64_t)row->end_ns - (uint64_t)row->start_ns;
}

static struct open_span innermost(struct open_row *row, int64_t now_ns)
{
    while (row->count && row->spans[row->count - 1].end_ns <= now_ns)
        row->count--;
    if (row->count)
        return row->spans[row->count - 1];
    return (struct open_span){.node = MODULE_NONE};
}

static bool is_chosen(const struct walking *walking, int64_t at_ns)
{
    return chosen_has(walking->wish->chosen, walking->owner, at_ns);
}

static int open_span(struct open_row *row, struct open_span span)
{
    return ARRAY_ADD(row->spans, row->count, row->room, MOST_OPEN, &span);
}

static int see_module(struct walking *walking, struct open_row *open, const struct fact_row *row)
{
    struct module_tree *tree = walking->tree;
    struct open_span span = innermost(open, row->start_ns);
    const uint32_t parent = span.node;
    const bool is_parent_chosen = span.is_chosen;
    int status = find_node(walking, parent, row->site, &span.node);
    if (status)
        return status;
    const enum module_pass pass = span.is_backward ? MODULE_CHECKPOINT : span.pass;
    span.is_chosen = is_chosen(walking, row->start_ns);
    if (span.is_chosen) {
        tree->nodes[span.node].calls[pass]++;
        tree->nodes[span.node].ns[pass] += length_of(row);
    }
    if (pass == MODULE_FORWARD && is_parent_chosen)
        tree->nodes[parent].inside_ns += length_of(row);
    span.pass = pass;
    span.end_ns = row->end_ns;
    span.is_backward = false;
    return open_span(open, span);
}

static int note_forward(struct walking *walking, int64_t seq, uint32_t node)
{
    const uint64_t key = (uint64_t)seq;
    uint32_t index;
    int status = tuple_map_add(&walking->seqs, &key, &index);
    if (!status)
        status =
            ARRAY_RESERVE(walking->seq_nodes, walking->seq_room, walking->seqs.count, UINT32_MAX);
    if (!status)
        walking->seq_nodes[index] = node;
    return status;
}

// Most ops have the owner of the one before on their thread.
static int find_owner(struct walking *walking, struct open_row *open, const struct module_op *op,
                      uint32_t *ret_owner)
{
    const uint64_t key[3] = {op->node, op->pass, op->mark};
    int status = GAIT_OK;
    if (memcmp(&walking->owners.tuples[3 * (size_t)open->owner], key, sizeof key) != 0)
        status = tuple_map_add(&walking->owners, key, &open->owner);
    *ret_owner = open->owner;
    return status;
}

// The time of a backward is its module's; one inside of another, of another module, is taken
// off the outer one.
static void see_backward(struct walking *walking, const struct module_op *op, int64_t seq,
                         struct open_span *span)
{
    struct module_node *nodes = walking->tree->nodes;
    const uint64_t key = (uint64_t)seq;
    const uint32_t index = seq < 0 ? TUPLE_NONE : tuple_map_find(&walking->seqs, &key);
    const bool is_counted = is_chosen(walking, op->row->start_ns);
    span->is_backward = true;
    span->pass = MODULE_BACKWARD;
    if (index != TUPLE_NONE)
        span->node = walking->seq_nodes[index];
    if (span->has_counted && (index == TUPLE_NONE || span->counted == span->node))
        return;
    if (span->has_counted && span->is_counted)
        nodes[span->counted].ns[MODULE_BACKWARD] -= op->ns;
    if (is_counted)
        nodes[span->node].ns[MODULE_BACKWARD] += op->ns;
    span->has_counted = true;
    span->is_counted = is_counted;
    span->counted = span->node;
}

static int see_op(struct walking *walking, struct module_op *op, const struct gait_arg *args,
                  uint32_t *ret_owner)
{
    const struct known_site *site = &walking->sites[op->row->site];
    const int64_t seq = number_of(&args[SEQ], number_of(&args[FOREIGN_SEQ], -1));
    const bool is_backward = site->is_backward || number_of(&args[SCOPE], 0) == 1 ||
                             number_of(&args[FORWARD_THREAD], 0) > 0;
    struct open_row *open = &walking->tracks[op->track];
    struct open_span span = innermost(open, op->row->start_ns);
    int status = GAIT_OK;
    if (is_backward)
        see_backward(walking, op, seq, &span);
    else if (seq >= 0 && !span.is_backward)
        status = note_forward(walking, seq, span.node);
    walking->tree->nodes[span.node].ops += is_chosen(walking, op->row->start_ns);
    op->node = span.node;
    op->pass = span.pass;
    if (!status && walking->wish->visit)
        status = walking->wish->visit(op, walking->wish->context);
    if (!status)
        status = find_owner(walking, open, op, ret_owner);
    span.end_ns = op->row->end_ns;
    return status ? status : open_span(open, span);
}

// --- rows ------------------------------------------------------------------------------

static struct module_op op_of(const struct walking *walking, const struct fact_slice *slice,
                              const struct fact_rows *track, const struct fact_row *row)
{
    return (struct module_op){.slice = slice,
                              .row = row,
                              .track = track->track,
                              .name = walking->sites[row->site].name,
                              .role = walking->sites[row->site].role,
                              .ns = length_of(row)};
}

static void note_time(struct module_tree *tree, const struct fact_row *row)
{
    if (row->start_ns < tree->begin_ns)
        tree->begin_ns = row->start_ns;
    if (row->end_ns != FACT_OPEN && row->end_ns > tree->end_ns)
        tree->end_ns = row->end_ns;
}

static int see(void *context, const struct fact_slice *slice, const struct feed_head *head,
               uint32_t *ret_owner)
{
    struct walking *walking = context;
    struct module_tree *tree = walking->tree;
    const struct fact_row *row = head->row;
    struct known_site *site = &walking->sites[row->site];
    struct gait_arg args[KEYS] = {{.key = NULL}};
    int status = GAIT_OK;
    const bool is_taken = is_chosen(walking, row->start_ns);
    if (head->kind == LAUNCH_CALL)
        return GAIT_OK;
    if (site->kind == SITE_STEP) {
        tree->step_ns += is_taken ? length_of(row) : 0;
        tree->step_count += is_taken && length_of(row) > 0;
        return GAIT_OK;
    }
    const bool is_module = site->kind == SITE_MODULE;
    if (is_taken)
        note_time(tree, row);
    if (!is_module || site->wants_class)
        status = fact_args(slice, row, &walking->args, args);
    if (!status && site->wants_class && args[CLASS].kind == GAIT_ARG_TEXT)
        status = learn_class(tree, args[CLASS].text, args[CLASS].text_bytes, site);
    site->wants_class = false;
    if (status)
        return status;
    if (is_module)
        return see_module(walking, &walking->tracks[head->track->track], row);
    struct module_op op = op_of(walking, slice, head->track, row);
    return see_op(walking, &op, args, ret_owner);
}

static int see_device(struct walking *walking, const struct fact_slice *slice,
                      const struct fact_rows *track, const struct fact_row *row)
{
    const struct launch *launch =
        launches_find(&walking->launches, track->shard, row->link, row->start_ns);
    const uint32_t owner = launch && launch->op != GAIT_NO_SITE ? launch->op : 0;
    const uint64_t *tuple = walking->owners.tuples + 3 * (size_t)owner;
    struct module_op kernel = op_of(walking, slice, track, row);
    kernel.is_kernel = true;
    kernel.node = (uint32_t)tuple[0];
    kernel.pass = (enum module_pass)tuple[1];
    kernel.mark = (uint32_t)tuple[2];
    walking->tree->has_device = true;
    if (is_chosen(walking, launch ? launch->start_ns : row->start_ns))
        walking->tree->nodes[kernel.node].device_ns[kernel.pass] += kernel.ns;
    return kernel.role == ROLE_COLLECTIVE && kernel.ns && walking->wish->visit
               ? walking->wish->visit(&kernel, walking->wish->context)
               : GAIT_OK;
}

static int see_devices(struct walking *walking, const struct fact_slice *slice)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < slice->count; i++) {
        const struct fact_rows *track = &slice->tracks[i];
        for (size_t at = 0; at < track->count && !status; at++)
            if (walking->sites[track->rows[at].site].kind == SITE_DEVICE)
                status = see_device(walking, slice, track, &track->rows[at]);
    }
    return status;
}

// --- all -------------------------------------------------------------------------------

static void sum_up(struct module_tree *tree)
{
    for (size_t i = tree->count; i-- > 0;) {
        struct module_node *node = &tree->nodes[i], *parent = &tree->nodes[node->parent];
        node->backward_ns += node->ns[MODULE_BACKWARD];
        for (unsigned pass = 0; pass < MODULE_PASSES; pass++) {
            node->all_device_ns += node->device_ns[pass];
            node->is_told |= node->calls[pass] || node->ns[pass];
        }
        node->is_told |= node->ops || node->all_device_ns;
        if (!i)
            break;
        parent->backward_ns += node->backward_ns;
        parent->all_device_ns += node->all_device_ns;
        parent->is_told |= node->is_told;
    }
}

static int read_slices(struct walking *walking, struct rank_stream *stream)
{
    struct fact_slice slice;
    int status = GAIT_OK, is_more;
    while (!status && (is_more = rank_stream_next(stream, &slice))) {
        status = is_more == 1 ? launches_add(&walking->launches, &slice) : is_more;
        if (!status)
            status = see_devices(walking, &slice);
    }
    return status;
}

static int make(struct walking *walking, struct gait_trace *trace)
{
    static const uint64_t nowhere[3] = {MODULE_NONE, MODULE_FORWARD, 0};
    struct rank_stream *stream = NULL;
    uint32_t owner;
    int status = launches_init(&walking->launches, trace, walking->wish->shard, 0);
    if (!status)
        status = learn_sites(walking);
    walking->launches.visit = see;
    walking->launches.context = walking;
    walking->tracks = calloc((size_t)gait_trace_track_count(trace) + 1, sizeof *walking->tracks);
    if (!status && !walking->tracks)
        status = fail(GAIT_ERR_MEMORY, "no memory to read modules");
    if (!status)
        status = add_node(walking->tree, (struct module_node){.name = ""});
    if (!status)
        status = tuple_map_add(&walking->owners, nowhere, &owner);
    if (!status)
        status = rank_stream_open(&stream, trace, walking->wish->shard,
                                  &(struct stream_wish){.columns = FACT_LINKS | FACT_ARGS});
    if (!status)
        status = launches_survey(&walking->launches, stream);
    if (!status)
        status = read_slices(walking, stream);
    rank_stream_close(stream);
    if (!status)
        sum_up(walking->tree);
    return status;
}

int module_tree_make(struct module_tree *tree, struct gait_trace *trace,
                     const struct module_wish *wish)
{
    struct walking walking = {
        .tree = tree, .wish = wish, .trace = trace, .owner = shard_owner(trace, wish->shard)};
    *tree = (struct module_tree){.begin_ns = INT64_MAX, .end_ns = INT64_MIN};
    arena_init(&tree->arena, MOST_TEXT);
    tuple_map_init(&walking.keys, 2);
    tuple_map_init(&walking.seqs, 1);
    tuple_map_init(&walking.owners, 3);
    arg_keys_init(&walking.args, key_names, KEYS);
    int status = make(&walking, trace);
    tuple_map_finish(&walking.keys);
    tuple_map_finish(&walking.seqs);
    tuple_map_finish(&walking.owners);
    launches_finish(&walking.launches);
    arg_keys_finish(&walking.args);
    for (uint32_t i = 0; walking.tracks && i < gait_trace_track_count(trace); i++)
        free(walking.tracks[i].spans);
    free(walking.tracks);
    free(walking.sites);
    free(walking.seq_nodes);
    return status;
}

void module_tree_finish(struct module_tree *tree)
{
    free(tree->nodes);
    arena_finish(&tree->arena);
}

int module_tree_first(const struct gait_trace *trace, uint32_t *ret_number,
                      struct gait_shard_info *ret_shard)
{
    int64_t lowest = INT64_MAX;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        struct gait_shard_info shard;
        int status = gait_trace_shard(trace, i, &shard);
        if (status)
            return status;
        const int64_t rank = shard.rank < 0 ? 0 : shard.rank;
        if (rank >= lowest)
            continue;
        lowest = rank;
        *ret_number = i;
        *ret_shard = shard;
    }
    return lowest < INT64_MAX ? GAIT_OK : fail(GAIT_ERR_MISSING, "no process is on record");
}
