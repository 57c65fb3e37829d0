// SPDX-License-Identifier: Apache-2.0
// Asks a run all that gait answers. The input is no file: it drives a builder of shards, which
// are well-formed, whatever it says; times, depths, names, roles, numbers and tracks are hostile.
//
//     answer and format to ask for (0: all), options, shards; then records, see put_record()
//
// A number is a byte below 192, or else so many bytes that follow.
#define _GNU_SOURCE
#include <unistd.h>

#include "analyse/report/run_report.h"
#include "analyse/steps/chosen.h"
#include "answer/answers.h"
#include "answer/report/report_answer.h"
#include "base/fail.h"
#include "format/columns.h"
#include "fuzz/ask_everything.h"
#include "fuzz/print_sheet.h"
#include "support/shard_builder.h"

enum { MOST_SHARDS = 3, MOST_EVENTS = 256, TRACKS = 8, STACKS = 8, FIRST_STRING = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// --- words ---------------------------------------------------------------------

static const char *const categories[] = {
#define ROLE(identifier, category, name, what) category,
#define ALIAS(identifier, category, name) category,
#include "vocabulary/roles.def"
};

static const char *const names[] = {
#define ROLE(identifier, category, name, what) name,
#include "vocabulary/roles.def"
#define PHASE(identifier, name, lasts) name,
#include "vocabulary/phases.def"
    "ProfilerStep#3",
    "ProfilerStep#18446744073709551616",
    "aten::mm",
    "aten::convolution",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)",
    "c10d::allreduce_",
    "record_param_comms",
    "Memcpy HtoD (Pageable -> Device)",
    "cudaLaunchKernel",
    "cudaStreamSynchronize",
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "Optimizer.step#SGD.step",
    "Optimizer.zero_grad#SGD.zero_grad",
    "nn.Module: Linear_0",
    "autograd::engine::evaluate_function: MmBackward0",
    "allreduce",
    "[[2, 3], [3, 4]]",
    "[[9223372036854775807, 2], []]",
    "float",
    "train.py(3): step",
    "",
    "\x1b[31m<b>&'\"\\,;\n",
    "\xff\xc3",
};

static const char *const keys[] = {
    "Collective name",
    "Process Group Name",
    "dtype",
    "In msg nelems",
    "Out msg nelems",
    "Group size",
    "stream",
    "device",
    "correlation",
    "External id",
    "Input Dims",
    "Input type",
    "Input Strides",
    "Concrete Inputs",
    "Call stack",
    "Python id",
    "Python parent id",
    "Python module id",
    "Fwd thread id",
    "Sequence number",
    "grid",
    "block",
    "Bytes",
    "Total Allocated",
    "Addr",
    "Device Id",
    "Device Type",
    "Ev Idx",
    "kind",
    "path",
};

static const char *const facts[] = {
#define META(identifier, key, type, what) key,
#include "vocabulary/metadata.def"
    "trace.distributedInfo",
    "trace.deviceProperties",
};

static const char *const values[] = {
    "0",
    "1",
    "18446744073709551615",
    "-1.5e300",
    "true",
    "\"program\"",
    "\"worker\"",
    "\"sampler\"",
    "\"meter\"",
    "\"devices\"",
    "\"launcher\"",
    "\"s0.gait\"",
    "\"dropped\"",
    "\"NVIDIA H100\"",
    "{\"version\": \"2.9\"}",
    "{\"rank\": 1, \"world_size\": 2, \"pg_count\": 1}",
    "{\"cpu_op\": 110.5, \"phase\": 1e300, \"step\": -1}",
    "{\"signal\": 9}",
    "[{\"id\": 0, \"name\": \"NVIDIA H100\", \"numSms\": 132}]",
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define STRING_OF_NAME(at) (FIRST_STRING + (at))
#define STRING_OF_CATEGORY(at) (FIRST_STRING + COUNT(names) + (at))
#define SITE_OF_STACK(at) ((at) * 11 + 1)
#define STRING_OF_KEY(at) (FIRST_STRING + COUNT(names) + COUNT(categories) + (at))

// --- what the input says ---------------------------------------------------------

static uint8_t take(struct slice *input)
{
    if (!input->count)
        return 0;
    input->count--;
    return *input->bytes++;
}

static uint64_t take_number(struct slice *input)
{
    const uint8_t first = take(input);
    uint64_t number = 0;
    if (first < 192)
        return first;
    for (int i = 0; i <= first % 8; i++)
        number |= (uint64_t)take(input) << 8 * i;
    return number;
}

struct event {
    uint8_t table, track;
    uint64_t start, duration, site, depth;
    uint64_t number, value, phase; // number: id, address or stack
    uint64_t foreign[BLANK_COUNT];
    size_t args, arg_bytes; // in the scene's
};

struct scene {
    char directory[40], paths[MOST_SHARDS][64];
    struct shard_builder builder; // of the shard that is being built
    struct event events[MOST_EVENTS];
    size_t count;
    uint64_t now; // what starts count from
    struct buffer args;
};

static const uint8_t tables[] = {TABLE_SPAN,    TABLE_SPAN,         TABLE_SPAN, TABLE_SPAN,
                                 TABLE_STEP,    TABLE_MARK,         TABLE_FLOW, TABLE_ASYNC,
                                 TABLE_COUNTER, TABLE_COUNTER_REAL, TABLE_DROP, TABLE_COST,
                                 TABLE_SAMPLE,  TABLE_MEMORY,       TABLE_SPAN, TABLE_STEP};

static void take_args(struct scene *scene, struct slice *input, struct event *event)
{
    const size_t count = take(input) % 4;
    event->args = scene->args.used;
    for (size_t i = 0; i < count; i++) {
        struct args_item item = {.key = (uint32_t)STRING_OF_KEY(take(input) % COUNT(keys)),
                                 .kind = (enum args_kind)(take(input) % ARGS_JSON + 1)};
        const uint64_t number = take_number(input);
        const size_t name = number % COUNT(names);
        item.integer = item.kind == ARGS_INT ? (int64_t)number : (int64_t)STRING_OF_NAME(name);
        item.text = slice_of(item.kind == ARGS_RAW || !names[name] ? "7" : names[name]);
        memcpy(&item.real, &number, sizeof number);
        builder_must(args_append(&scene->args, &item), "arguments");
    }
    event->arg_bytes = scene->args.used - event->args;
}

static void take_event(struct scene *scene, struct slice *input, uint8_t what)
{
    if (scene->count == MOST_EVENTS)
        return;
    struct event *event = &scene->events[scene->count++];
    *event = (struct event){.table = tables[what & 15], .track = take(input) % TRACKS};
    const size_t category = take(input) % COUNT(categories);
    event->site = category * COUNT(names) + take(input) % COUNT(names) + 1;
    event->start = scene->now + take_number(input);
    event->duration = take_number(input);
    if (what & 16)
        scene->now = event->start;
    if (!(what & 32))
        return;
    event->depth = take_number(input);
    event->number = take_number(input);
    event->value = take_number(input);
    event->phase = take(input) % 4;
    for (size_t i = 0; i < BLANK_VALUE; i++)
        event->foreign[i] = take_number(input);
    take_args(scene, input, event);
}

// A track or a fact beside those that every shard has.
static void take_word(struct scene *scene, struct slice *input, uint8_t what)
{
    uint64_t id = take(input) % TRACKS + 1u, clock = 1, kind = take(input) % 5,
             parent = take(input) % (TRACKS + 2), os_id = take_number(input);
    const char *key = names[os_id % COUNT(names)];
    struct slice texts[2] = {slice_of(key ? key : ""), slice_of(values[os_id % COUNT(values)])};
    if (what & 1) {
        builder_meta(&scene->builder, facts[parent * TRACKS % COUNT(facts)],
                     values[os_id % COUNT(values)]);
        return;
    }
    builder_put(&scene->builder, TABLE_TRACK, 0, 1,
                &(struct builder_rows){.columns = {&id, &kind, NULL, NULL, &clock, &parent, &os_id},
                                       .bytes = {NULL, NULL, &texts[0], &texts[1]}});
}

static void take_records(struct scene *scene, struct slice *input)
{
    while (input->count) {
        const uint8_t what = take(input);
        if (what >> 6 == 3) // the next shard begins
            return;
        if (what >> 6 == 2)
            take_word(scene, input, what);
        else
            take_event(scene, input, what);
    }
}

// --- the shard -------------------------------------------------------------------

static void put_strings(struct shard_builder *builder, uint64_t first, const char *const *texts,
                        size_t count)
{
    uint64_t ids[COUNT(names) + COUNT(categories) + COUNT(keys)];
    struct slice slices[COUNT(ids)];
    for (size_t i = 0; i < count; i++) {
        ids[i] = first + i;
        slices[i] = slice_of(texts[i] ? texts[i] : "");
    }
    builder_put(builder, TABLE_STRING, 0, (uint32_t)count,
                &(struct builder_rows){.columns = {ids}, .bytes = {NULL, slices}});
}

// A site is a name in a category: those that events and stacks have. All 2500 took most of the
// time of a run.
static void put_sites(struct scene *scene)
{
    uint64_t ids[MOST_EVENTS + STACKS], of_category[COUNT(ids)], of_name[COUNT(ids)];
    bool has[COUNT(categories) * COUNT(names) + 1] = {false};
    uint32_t count = 0;
    for (size_t i = 0; i < scene->count + STACKS; i++) {
        const uint64_t site =
            i < scene->count ? scene->events[i].site : SITE_OF_STACK(i - scene->count);
        if (has[site])
            continue;
        has[site] = true;
        ids[count] = site;
        of_category[count] = STRING_OF_CATEGORY((site - 1) / COUNT(names));
        of_name[count++] = STRING_OF_NAME((site - 1) % COUNT(names));
    }
    builder_put(&scene->builder, TABLE_SITE, 0, count,
                &(struct builder_rows){.columns = {ids, of_category, of_name}});
}

static void put_stacks(struct shard_builder *builder)
{
    uint64_t ids[STACKS], parents[STACKS], sites[STACKS], lines[STACKS];
    for (size_t i = 0; i < STACKS; i++) {
        ids[i] = i + 1;
        parents[i] = i;
        sites[i] = SITE_OF_STACK(i);
        lines[i] = i;
    }
    builder_put(builder, TABLE_STACK, 0, STACKS,
                &(struct builder_rows){.columns = {ids, parents, sites, lines}});
}

// Two threads of a process with two devices, as an import writes them.
static void put_tracks(struct shard_builder *builder)
{
    uint64_t ids[TRACKS], kinds[TRACKS] = {1, 1, 4, 2, 2, 4, 2, 3}, clocks[TRACKS],
                          parents[TRACKS] = {0, 0, 0, 3, 3, 0, 6, 0}, os_ids[TRACKS];
    static const char *const texts[TRACKS] = {
        "main", "thread (pt_autograd_0)", "0", "7", "20", "1", "7", "GPU 0"};
    struct slice slices[TRACKS];
    for (size_t i = 0; i < TRACKS; i++) {
        ids[i] = i + 1;
        clocks[i] = 1;
        os_ids[i] = i + 42;
        slices[i] = slice_of(texts[i]);
    }
    builder_put(builder, TABLE_TRACK, 0, TRACKS,
                &(struct builder_rows){.columns = {ids, kinds, NULL, NULL, clocks, parents, os_ids},
                                       .bytes = {NULL, NULL, slices, slices}});
}

static void begin_shard(struct scene *scene, struct slice *input, size_t shard)
{
    const uint8_t what = take(input);
    const uint64_t tick = take_number(input), ns = take_number(input);
    struct shard_builder *builder = &scene->builder;
    *builder = (struct shard_builder){0};
    scene->count = scene->args.used = 0;
    scene->now = 0;
    builder_init(builder);
    builder_meta(builder, "pid", shard ? "43" : "42");
    builder_meta(builder, "role", what & 1 ? "\"program\"" : "\"devices\"");
    if (what & 2)
        builder_meta(builder, "torch", "{\"version\": \"2.9.1\"}");
    if (what & 4)
        builder_meta(builder, "rank", values[shard % COUNT(values)]);
    if (what & 8)
        builder_meta(builder, "import", "{\"reader\": \"kineto\", \"repairs\": {}}");
    put_strings(builder, STRING_OF_NAME(0), names, COUNT(names));
    put_strings(builder, STRING_OF_CATEGORY(0), categories, COUNT(categories));
    put_strings(builder, STRING_OF_KEY(0), keys, COUNT(keys));
    put_stacks(builder);
    put_tracks(builder);
    builder_anchor(builder, 0, ns, ns);
    builder_anchor(builder, tick, ns + tick, ns + tick);
}

static int compare(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

// What a column of that name says of an event.
static uint64_t number_of(const struct event *event, const char *column)
{
    const struct {
        const char *name;
        uint64_t number;
    } of_name[] = {
        {"start", event->start},
        {"duration", event->duration},
        {"site", event->site},
        {"depth", event->depth},
        {"id", event->number},
        {"number", event->number},
        {"address", event->number},
        {"cpu_ns", event->number},
        {"stack", event->number % (STACKS + 1)},
        {"events", event->number},
        {"reason", event->phase},
        {"value", event->value},
        {"total", event->value},
        {"weight", event->value},
        {"phase", event->phase},
        {"kind", event->phase},
        {"state", event->number},
        {"link", event->foreign[BLANK_LINK]},
        {"op", event->foreign[BLANK_OP]},
        {"bytes", event->foreign[BLANK_BYTES]},
    };
    for (size_t i = 0; i < COUNT(of_name); i++)
        if (!strcmp(of_name[i].name, column))
            return of_name[i].number;
    return 0;
}

// Events of one table and track, in order.
static void put_frame(struct scene *scene, const struct event *events, size_t count)
{
    static uint64_t numbers[SCHEMA_MAX_COLUMNS][MOST_EVENTS];
    static struct slice slices[MOST_EVENTS];
    const struct table_schema *schema = schema_table(events->table);
    struct builder_rows rows = {.first = events->start};
    for (size_t i = 0; i < count; i++) {
        const uint64_t room = UINT64_MAX - events[i].start;
        const uint64_t lasts = events[i].duration < room ? events[i].duration : room;
        rows.last = events[i].start + lasts > rows.last ? events[i].start + lasts : rows.last;
        rows.events += events->table != TABLE_ASYNC || !events[i].phase;
        slices[i] = (struct slice){0};
        if (events[i].arg_bytes)
            slices[i] = (struct slice){scene->args.bytes + events[i].args, events[i].arg_bytes};
        for (uint16_t column = 0; column < schema->column_count; column++)
            numbers[column][i] = number_of(&events[i], schema->columns[column].name);
    }
    for (uint16_t column = 0; column < schema->column_count; column++) {
        if (schema->columns[column].type == COLUMN_ARGS)
            rows.bytes[column] = slices;
        else if (!schema_holds_bytes(schema->columns[column].type))
            rows.columns[column] = numbers[column];
    }
    if (!schema->is_event)
        rows.events = 0;
    builder_put(&scene->builder, (enum table_id)events->table, events->track + 1u, (uint32_t)count,
                &rows);
}

static void end_shard(struct scene *scene, size_t shard)
{
    size_t last;
    put_sites(scene);
    qsort(scene->events, scene->count, sizeof scene->events[0], compare);
    for (size_t first = 0; first < scene->count; first = last) {
        for (last = first; last < scene->count; last++)
            if (scene->events[last].table != scene->events[first].table ||
                scene->events[last].track != scene->events[first].track)
                break;
        put_frame(scene, &scene->events[first], last - first);
    }
    builder_close(&scene->builder);
    (void)snprintf(scene->paths[shard], sizeof scene->paths[0], "%s/s%zu.gait", scene->directory,
                   shard);
    builder_save(&scene->builder, scene->paths[shard]);
    builder_finish(&scene->builder);
}

// --- questions -------------------------------------------------------------------

static const struct answer *const answers[] = {
#define ANSWER(name, purpose) &name##_answer,
#include "answer/answers.def"
};

// Fills an option or leaves it, as the bit says.
static void fill(uint8_t *into, const struct option *option, uint8_t choice)
{
    static const char *const texts[] = {"1", "0.5", "forward", "ddp", "DE"};
    const struct option_texts scales = {{"*=0.5", "nccl*=0", "kernel=2"}, 3};
    const char *text = texts[choice % COUNT(texts)];
    const int64_t number = option->low + (option->high > option->low ? choice % 4 : 0);
    size_t count = 0;
    while (option->choices && option->choices[count])
        count++;
    if (count)
        text = option->choices[choice % count];
    if (option->kind == OPTION_FLAG)
        into[option->offset] = true;
    else if (option->kind == OPTION_TEXT || option->kind == OPTION_CHOICE)
        memcpy(into + option->offset, &text, sizeof text);
    else if (option->kind == OPTION_TEXTS)
        memcpy(into + option->offset, &scales, sizeof scales);
    else if (option->kind == OPTION_NUMBER)
        memcpy(into + option->offset, &number, sizeof number);
}

static void print_one(struct sheet *sheet, int status)
{
    if (!status)
        status = sheet_status(sheet);
    if (!status)
        print_sheet(sheet);
    else if (!fail_text()[0] || strchr(fail_text(), '\n'))
        abort(); // what cannot be answered has one sentence
    sheet_drop(sheet);
    fail_clear();
}

static void ask(struct gait_trace *trace, const struct answer *answer, uint8_t choice)
{
    _Alignas(16) uint8_t filled[1024] = {0};
    const bool is_whole = answer->choice & CHOICE_WHOLE;
    const struct choice part = {
        .shows_steps = choice & 1,
        .is_whole = is_whole,
        .has_steps = is_whole || choice & 2,
        .steps = {choice >> 4, choice & 8 ? UINT64_MAX : choice >> 3},
        .from = {.is_given = choice & 4, .ns = (int64_t)choice << 20},
        .texts = {.phase = choice & 16 && !is_whole ? "forward" : NULL, .from = "", .to = ""}};
    struct asked asked = {.trace = trace, .path = "fuzz", .values = filled, .choice = &part};
    struct chosen chosen = {.times = NULL};
    struct sheet *sheet = NULL;
    if (answer->choice & CHOICE_TIME && choice_is_of_times(&part) &&
        !chosen_find(&chosen, trace, &part))
        asked.chosen = &chosen;
    for (size_t i = 0; i < answer->count; i++)
        if (choice >> i % 8 & 1)
            fill(filled, &answer->options[i], choice);
    if (!sheet_new(&sheet))
        print_one(sheet, answer->put(sheet, &asked));
    chosen_finish(&chosen);
}

static void ask_report(struct gait_trace *trace)
{
    struct run_report report;
    struct sheet *sheet = NULL;
    int status = run_report_make(&report, trace);
    if (!status)
        status = report_answer_make(&report, trace, "fuzz", &sheet);
    print_one(sheet, status);
    run_report_finish(&report);
}

static void ask_all(struct scene *scene, uint8_t which, uint8_t choice)
{
    struct gait_trace trace;
    if (run_open(&trace.run, scene->directory))
        abort();
    if (gait_trace_damage_count(&trace))
        abort(); // the shards are well-formed
    for (size_t i = 0; i < COUNT(answers); i++)
        if (!which || which % (COUNT(answers) + 2) == i + 1)
            ask(&trace, answers[i], choice);
    if (!which || which % (COUNT(answers) + 2) == 0)
        ask_report(&trace);
    if (!which || which % (COUNT(answers) + 2) == COUNT(answers) + 1)
        ask_for_all(&trace);
    run_close(&trace.run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct scene scene;
    const char *memory = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    struct slice input = {data, size};
    const uint8_t which = take(&input), choice = take(&input);
    size_t shards = 0;
    buffer_init(&scene.args, 1 << 20);
    (void)snprintf(scene.directory, sizeof scene.directory, "%s/gait-fuzz-XXXXXX", memory);
    builder_must(!mkdtemp(scene.directory), "a directory");
    do {
        begin_shard(&scene, &input, shards);
        take_records(&scene, &input);
        end_shard(&scene, shards++);
    } while (input.count && shards < MOST_SHARDS);
    ask_all(&scene, which, choice);
    for (size_t i = 0; i < shards; i++)
        unlink(scene.paths[i]);
    rmdir(scene.directory);
    buffer_finish(&scene.args);
    fail_clear();
    return 0;
}
