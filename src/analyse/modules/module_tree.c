// SPDX-License-Identifier: Apache-2.0
// One reading in order of time; each thread has a row of its open spans. Work of devices is
// joined to ops by its launch once all are known: its clock is another one.
#include "analyse/modules/module_tree.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/ops/tuple_map.h"
#include "base/array.h"
#include "base/fail.h"
#include "load/shard_owner.h"
#include "load/site_role.h"

enum { MOST_OPEN = 1 << 16, MOST_NODES = 1 << 20, MOST_TEXT = 1 << 24 };

#define FOREIGN_MODULE "nn.Module: "
#define LIGHTNING_MODULE "[pl][module]"
#define EVALUATES "autograd::engine::evaluate_function"

enum site_kind {
    SITE_UNKNOWN,
    SITE_OTHER,
    SITE_MODULE,
    SITE_OP,
    SITE_STEP,
    SITE_CALL,
    SITE_DEVICE
};

struct known_site {
    enum site_kind kind;
    enum role role;
    const char *name, *class; // of a module
    bool is_path;
};

struct open_span {
    int64_t end_ns;
    uint32_t node, op_depth;
    enum module_pass pass;
    bool is_backward;
    bool has_counted; // the time of a backward that is open, of the module `counted`
    uint32_t counted;
};

struct open_row {
    struct open_span *spans;
    size_t count, room;
};

struct work {
    uint64_t link, ns;
    enum role role;
};

struct owner {
    uint32_t node;
    enum module_pass pass;
};

struct walking {
    struct module_tree *tree;
    const struct module_wish *wish;
    struct known_site *sites;
    struct open_row *tracks;
    uint32_t track_count;
    struct tuple_map keys; // parent and site, of the nodes behind the root
    struct tuple_map seqs; // of autograd nodes
    uint32_t *seq_nodes;   // of each, the module of its forward
    struct launch_ops launches;
    struct owner *owners; // of each op
    struct work *works;   // of devices
    size_t seq_room, owner_count, owner_room, work_count, work_room;
};

// --- sites -----------------------------------------------------------------------------

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// "[pl][module]torch.nn.modules.linear.Linear: layer1.0"
static int learn_lightning(struct module_tree *tree, const char *words, struct known_site *site)
{
    const char *end = strstr(words, ": ");
    site->name = end ? end + 2 : words;
    site->class = end ? arena_text(&tree->arena, words, (size_t)(end - words)) : NULL;
    return end && !site->class ? fail(GAIT_ERR_MEMORY, "no memory for modules") : GAIT_OK;
}

// "Conv2d_0"
static int learn_foreign(struct module_tree *tree, const char *words, struct known_site *site)
{
    const char *end = strrchr(words, '_');
    site->name = words;
    site->class = end ? arena_text(&tree->arena, words, (size_t)(end - words)) : NULL;
    return end && !site->class ? fail(GAIT_ERR_MEMORY, "no memory for modules") : GAIT_OK;
}

static int learn_module_class(struct module_tree *tree, const struct gait_event *event,
                              struct known_site *site)
{
    for (size_t i = 0; i < event->arg_count; i++) {
        const struct gait_arg *arg = &event->args[i];
        if (strcmp(arg->key, "class") != 0 || arg->kind != GAIT_ARG_TEXT)
            continue;
        site->class = arena_text(&tree->arena, arg->text, arg->text_bytes);
        return site->class ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for modules");
    }
    return GAIT_OK;
}

static int learn_site(struct walking *walking, const struct gait_event *event,
                      struct known_site *site)
{
    const enum role role = site_role(walking->launches.trace, event->site);
    site->role = role;
    site->kind = SITE_OTHER;
    site->name = event->name;
    site->is_path = true;
    if (role == ROLE_MODULE) {
        site->kind = SITE_MODULE;
        return learn_module_class(walking->tree, event, site);
    }
    if (role == ROLE_ANNOTATION && begins(event->name, LIGHTNING_MODULE)) {
        site->kind = SITE_MODULE;
        return learn_lightning(walking->tree, event->name + strlen(LIGHTNING_MODULE), site);
    }
    if (role == ROLE_PYTHON && begins(event->name, FOREIGN_MODULE)) {
        site->kind = SITE_MODULE;
        site->is_path = false;
        return learn_foreign(walking->tree, event->name + strlen(FOREIGN_MODULE), site);
    }
    if (role == ROLE_OP || role == ROLE_ANNOTATION) {
        site->kind = SITE_OP;
    } else if (role == ROLE_STEP) {
        site->kind = SITE_STEP;
    } else if (role == ROLE_RUNTIME) {
        site->kind = SITE_CALL;
    } else if (role_is_device_work(role)) {
        site->kind = SITE_DEVICE;
    }
    return GAIT_OK;
}

// --- nodes -----------------------------------------------------------------------------

static int add_node(struct module_tree *tree, struct module_node node)
{
    const struct array_shape shape = {sizeof *tree->nodes, MOST_NODES};
    int status = array_reserve((void **)&tree->nodes, &tree->room, tree->count + 1, shape);
    if (!status)
        tree->nodes[tree->count++] = node;
    return status;
}

// The last of a parent's children comes behind the others.
static void adopt(struct module_tree *tree, uint32_t parent, uint32_t child)
{
    uint32_t *place = &tree->nodes[parent].first_child;
    while (*place)
        place = &tree->nodes[*place].next;
    *place = child;
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

static int64_t number_of(const struct gait_event *event, const char *key, int64_t otherwise)
{
    for (size_t i = 0; i < event->arg_count; i++)
        if (event->args[i].kind == GAIT_ARG_INT && strcmp(event->args[i].key, key) == 0)
            return event->args[i].integer;
    return otherwise;
}

static int64_t end_of(const struct gait_event *event)
{
    int64_t end_ns;
    if (event->duration_ns < 0 ||
        __builtin_add_overflow(event->start_ns, event->duration_ns, &end_ns))
        return INT64_MAX;
    return end_ns;
}

static struct open_span innermost(struct open_row *row, int64_t now_ns)
{
    while (row->count && row->spans[row->count - 1].end_ns <= now_ns)
        row->count--;
    if (row->count)
        return row->spans[row->count - 1];
    return (struct open_span){.node = MODULE_NONE};
}

static int open_span(struct open_row *row, struct open_span span)
{
    const struct array_shape shape = {sizeof *row->spans, MOST_OPEN};
    int status = array_reserve((void **)&row->spans, &row->room, row->count + 1, shape);
    if (!status)
        row->spans[row->count++] = span;
    return status;
}

static int see_module(struct walking *walking, struct open_row *row, const struct gait_event *event)
{
    struct module_tree *tree = walking->tree;
    struct open_span span = innermost(row, event->start_ns);
    const uint64_t ns = event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0;
    const uint32_t parent = span.node;
    int status = find_node(walking, parent, event->site, &span.node);
    if (status)
        return status;
    const enum module_pass pass = span.is_backward ? MODULE_CHECKPOINT : span.pass;
    tree->nodes[span.node].calls[pass]++;
    tree->nodes[span.node].ns[pass] += ns;
    if (pass == MODULE_FORWARD)
        tree->nodes[parent].inside_ns += ns;
    span.pass = pass;
    span.end_ns = end_of(event);
    span.is_backward = false;
    return open_span(row, span);
}

static int note_forward(struct walking *walking, int64_t seq, uint32_t node)
{
    const struct array_shape shape = {sizeof *walking->seq_nodes, UINT32_MAX};
    const uint64_t key = (uint64_t)seq;
    uint32_t index;
    int status = tuple_map_add(&walking->seqs, &key, &index);
    if (!status)
        status = array_reserve((void **)&walking->seq_nodes, &walking->seq_room,
                               walking->seqs.count, shape);
    if (!status)
        walking->seq_nodes[index] = node;
    return status;
}

static int note_owner(struct walking *walking, const struct gait_event *event,
                      const struct open_span *span)
{
    const struct array_shape shape = {sizeof *walking->owners, LAUNCH_NONE};
    const uint32_t number = (uint32_t)walking->owner_count;
    int status = array_reserve((void **)&walking->owners, &walking->owner_room,
                               walking->owner_count + 1, shape);
    if (status)
        return status;
    walking->owners[walking->owner_count++] = (struct owner){span->node, span->pass};
    return launch_ops_add_op(&walking->launches, event->track, event->start_ns, event->duration_ns,
                             number);
}

static bool is_backward(const struct gait_event *event)
{
    return number_of(event, "scope", 0) == 1 || number_of(event, "Fwd thread id", 0) > 0 ||
           begins(event->name, EVALUATES) || begins(event->name, "torch::autograd::");
}

// The time of a backward is its module's; one inside of another, of another module, is taken
// off the outer one.
static void see_backward(struct walking *walking, const struct gait_event *event, int64_t seq,
                         struct open_span *span)
{
    struct module_node *nodes = walking->tree->nodes;
    const uint64_t key = (uint64_t)seq;
    const uint64_t ns = event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0;
    const uint32_t index = seq < 0 ? TUPLE_NONE : tuple_map_find(&walking->seqs, &key);
    span->is_backward = true;
    span->pass = MODULE_BACKWARD;
    if (index != TUPLE_NONE)
        span->node = walking->seq_nodes[index];
    if (span->has_counted && (index == TUPLE_NONE || span->counted == span->node))
        return;
    if (span->has_counted)
        nodes[span->counted].ns[MODULE_BACKWARD] -= ns;
    nodes[span->node].ns[MODULE_BACKWARD] += ns;
    span->has_counted = true;
    span->counted = span->node;
}

static int see_op(struct walking *walking, struct open_row *row, const struct gait_event *event)
{
    const int64_t seq = number_of(event, "seq", number_of(event, "Sequence number", -1));
    struct open_span span = innermost(row, event->start_ns);
    const uint32_t depth = span.op_depth;
    int status = GAIT_OK;
    if (is_backward(event))
        see_backward(walking, event, seq, &span);
    else if (seq >= 0 && !span.is_backward)
        status = note_forward(walking, seq, span.node);
    if (!status)
        status = note_owner(walking, event, &span);
    walking->tree->nodes[span.node].ops++;
    const struct module_op op = {.event = event,
                                 .role = walking->sites[event->site].role,
                                 .number = (uint32_t)walking->owner_count - 1,
                                 .node = span.node,
                                 .pass = span.pass,
                                 .depth = depth};
    if (!status && walking->wish->visit)
        status = walking->wish->visit(&op, walking->wish->context);
    span.end_ns = end_of(event);
    span.op_depth = depth + 1;
    return status ? status : open_span(row, span);
}

static int see_device(struct walking *walking, const struct gait_event *event)
{
    const struct array_shape shape = {sizeof *walking->works, UINT32_MAX};
    walking->tree->has_device = true;
    if (event->duration_ns <= 0)
        return GAIT_OK;
    int status = array_reserve((void **)&walking->works, &walking->work_room,
                               walking->work_count + 1, shape);
    if (!status)
        walking->works[walking->work_count++] =
            (struct work){launch_ops_link(&walking->launches, event->track, event->link),
                          (uint64_t)event->duration_ns, walking->sites[event->site].role};
    return status;
}

static void note_time(struct module_tree *tree, const struct gait_event *event)
{
    if (event->start_ns < tree->begin_ns)
        tree->begin_ns = event->start_ns;
    if (event->duration_ns >= 0 && end_of(event) > tree->end_ns)
        tree->end_ns = end_of(event);
}

static int see(struct walking *walking, const struct gait_event *event)
{
    struct known_site *site = &walking->sites[event->site];
    struct module_tree *tree = walking->tree;
    int status = site->kind == SITE_UNKNOWN ? learn_site(walking, event, site) : GAIT_OK;
    if (status)
        return status;
    if (site->kind == SITE_MODULE || site->kind == SITE_OP)
        note_time(tree, event);
    if (site->kind == SITE_MODULE)
        return see_module(walking, &walking->tracks[event->track], event);
    if (site->kind == SITE_OP)
        return see_op(walking, &walking->tracks[event->track], event);
    if (site->kind == SITE_CALL)
        return launch_ops_add_call(&walking->launches, event->track, event->start_ns, event->link);
    if (site->kind == SITE_DEVICE)
        return see_device(walking, event);
    if (site->kind == SITE_STEP && event->duration_ns > 0) {
        tree->step_ns += (uint64_t)event->duration_ns;
        tree->step_count++;
    }
    return GAIT_OK;
}

// --- all -------------------------------------------------------------------------------

static int read_events(struct walking *walking, struct gait_trace *trace,
                       const struct gait_query *query)
{
    struct gait_cursor *cursor = NULL;
    struct gait_event event;
    int status = gait_cursor_open(trace, query, &cursor);
    if (status)
        return status;
    while ((status = gait_cursor_next(cursor, &event)) == 1) {
        status = see(walking, &event);
        if (status)
            break;
    }
    gait_cursor_close(cursor);
    return status;
}

static int read_shard(struct walking *walking, struct gait_trace *trace)
{
    struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_SPAN};
    uint32_t *tracks = malloc(((size_t)walking->track_count + 1) * sizeof *tracks);
    if (!tracks)
        return fail(GAIT_ERR_MEMORY, "no memory to read modules");
    query.tracks = tracks;
    int status = GAIT_OK;
    for (uint32_t i = 0; !status && i < walking->track_count; i++) {
        struct gait_track_info info;
        status = gait_trace_track(trace, i, &info);
        if (!status && shard_owner(trace, info.shard) == walking->wish->shard && !info.internal)
            tracks[query.track_count++] = i;
    }
    if (!status && query.track_count)
        status = read_events(walking, trace, &query);
    free(tracks);
    return status;
}

// What is nowhere known belongs to the root.
static int join_devices(struct walking *walking)
{
    const struct module_wish *wish = walking->wish;
    int status = walking->work_count ? launch_ops_sort(&walking->launches) : GAIT_OK;
    for (size_t i = 0; i < walking->work_count && !status; i++) {
        const struct work *work = &walking->works[i];
        const uint32_t number = launch_ops_find(&walking->launches, work->link);
        const struct owner owner = number == LAUNCH_NONE
                                       ? (struct owner){MODULE_NONE, MODULE_FORWARD}
                                       : walking->owners[number];
        const struct module_op kernel = {
            .role = work->role, .number = number, .duration_ns = work->ns, .node = owner.node};
        walking->tree->nodes[owner.node].device_ns[owner.pass] += work->ns;
        if (work->role == ROLE_COLLECTIVE && wish->visit)
            status = wish->visit(&kernel, wish->context);
    }
    return status;
}

static void sum_up(struct module_tree *tree)
{
    for (size_t i = tree->count; i-- > 0;) {
        struct module_node *node = &tree->nodes[i], *parent = &tree->nodes[node->parent];
        node->backward_ns += node->ns[MODULE_BACKWARD];
        for (unsigned pass = 0; pass < MODULE_PASSES; pass++)
            node->all_device_ns += node->device_ns[pass];
        if (!i)
            break;
        parent->backward_ns += node->backward_ns;
        parent->all_device_ns += node->all_device_ns;
    }
}

static int make(struct walking *walking, struct gait_trace *trace)
{
    int status = GAIT_OK;
    walking->track_count = gait_trace_track_count(trace);
    walking->sites = calloc((size_t)gait_trace_site_count(trace) + 1, sizeof *walking->sites);
    walking->tracks = calloc((size_t)walking->track_count + 1, sizeof *walking->tracks);
    if (!walking->sites || !walking->tracks)
        status = fail(GAIT_ERR_MEMORY, "no memory to read modules");
    if (!status)
        status = add_node(walking->tree, (struct module_node){.name = ""});
    if (!status)
        status = read_shard(walking, trace);
    if (!status)
        status = join_devices(walking);
    if (!status)
        sum_up(walking->tree);
    return status;
}

int module_tree_make(struct module_tree *tree, struct gait_trace *trace,
                     const struct module_wish *wish)
{
    struct walking walking = {.tree = tree, .wish = wish};
    *tree = (struct module_tree){.begin_ns = INT64_MAX, .end_ns = INT64_MIN};
    arena_init(&tree->arena, MOST_TEXT);
    tuple_map_init(&walking.keys, 2);
    tuple_map_init(&walking.seqs, 1);
    launch_ops_init(&walking.launches, trace);
    int status = make(&walking, trace);
    tuple_map_finish(&walking.keys);
    tuple_map_finish(&walking.seqs);
    launch_ops_finish(&walking.launches);
    for (uint32_t i = 0; walking.tracks && i < walking.track_count; i++)
        free(walking.tracks[i].spans);
    free(walking.tracks);
    free(walking.sites);
    free(walking.seq_nodes);
    free(walking.owners);
    free(walking.works);
    return status;
}

void module_tree_finish(struct module_tree *tree)
{
    free(tree->nodes);
    arena_finish(&tree->arena);
}

int module_tree_shard(const struct gait_trace *trace, int64_t rank, uint32_t *ret_shard)
{
    int64_t lowest = INT64_MAX;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        struct gait_shard_info shard;
        int status = gait_trace_shard(trace, i, &shard);
        if (status)
            return status;
        const int64_t its = shard.rank < 0 ? 0 : shard.rank;
        if (its < rank || its >= lowest)
            continue;
        lowest = its;
        *ret_shard = i;
    }
    return lowest < INT64_MAX ? GAIT_OK : fail(GAIT_ERR_MISSING, "no process has a rank that high");
}
