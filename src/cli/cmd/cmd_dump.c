// SPDX-License-Identifier: Apache-2.0
// `gait dump`: what every thread of a Python program does at the moment, asked
// from outside. Of a process that hangs, too.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/json_writer.h"
#include "cli/frame/command.h"
#include "render/plain.h"
#include "sample/cpython/frame_locals.h"
#include "sample/look/python_process.h"
#include "sample/look/thread_id.h"

enum { ROUNDS = 20, OUTPUT_BYTES = 65536, SAME_SHOWN = 3 };

struct dump_values {
    bool is_json, has_locals;
};

// What is asked of each frame beside its line. Of one thread at a time.
struct locals_reader {
    struct object_reader reader;
    struct frame_chain chain;
    struct frame_locals locals;
    const struct python_thread *thread;
    uint32_t inside; // frames of states of the thread that stand on this one
};

// Rounds until one told of every thread; a busy one may be torn once. Of one that was
// stopped while it made a frame no stack is certain, ever: the last round shows it as it is.
static int take(struct python_process *process)
{
    int status = 0;
    for (int i = 0; i < ROUNDS && status == 0; i++) {
        bool is_torn = false;
        process->takes_doubtful = i == ROUNDS - 1;
        status = python_process_round(process, clock_steady_ns());
        for (size_t k = 0; k < process->thread_count; k++)
            is_torn = is_torn || process->threads[k]->flags & SAMPLE_TORN;
        if (!is_torn && process->thread_count)
            break;
    }
    return status;
}

// Of many threads that sleep only the first is asked: as a rule all are stopped, or
// none is.
static bool is_stopped(const struct python_process *process, struct python_thread *thread)
{
    return (process->is_stopped || thread->state != SAMPLE_BLOCKED) &&
           thread_probe_is_stopped(thread, &process->target);
}

static const char *state_words(const struct python_process *process, struct python_thread *thread)
{
    if (is_stopped(process, thread))
        return python_process_holds_lock(process, thread) ? "stopped, holds the interpreter lock"
                                                          : "stopped";
    switch ((enum sample_state)thread->state) {
    case SAMPLE_PYTHON:
        return "running, holds the interpreter lock";
    case SAMPLE_WAITING:
        return "waiting for the interpreter lock";
    case SAMPLE_BLOCKED:
        return "blocked in the system";
    case SAMPLE_NATIVE:
        return "running native code";
    default:
        return "state not known";
    }
}

static void put_version(const struct target *target, char *out, size_t room)
{
    if (target->patch >= 0)
        snprintf(out, room, "3.%d.%d", target->minor, target->patch);
    else
        snprintf(out, room, "3.%d", target->minor);
}

static int by_thread(const void *a, const void *b)
{
    const struct python_thread *const *x = a, *const *y = b;
    return ((*x)->tid > (*y)->tid) - ((*x)->tid < (*y)->tid);
}

static void begin_state(struct locals_reader *variables, const struct python_thread *thread)
{
    variables->thread = thread;
    frame_chain_read(&variables->chain, &variables->reader, thread->address);
}

static void begin_thread(struct locals_reader *variables, const struct python_thread *thread)
{
    if (!variables)
        return;
    variables->inside = 0;
    begin_state(variables, thread);
}

// On to the state that has the frame with so many inside it; how many of those are its
// own in `inner`. False: it is nobody's.
static bool find_state(struct locals_reader *variables, uint32_t *inner)
{
    while (*inner - variables->inside >= variables->thread->frame_count) {
        if (!variables->thread->below)
            return false;
        variables->inside += variables->thread->frame_count;
        begin_state(variables, variables->thread->below);
    }
    *inner -= variables->inside;
    return true;
}

// The variables of the frame with so many inside it; NULL where that ended
// before they were read, or where the stack was only remembered.
static const struct frame_reading *locals_of(struct locals_reader *variables, uint32_t inner)
{
    const struct python_thread *thread = variables->thread;
    const uint64_t code = thread->frames[inner].code;
    const uint32_t outer = thread->frame_count - 1 - inner;
    const uint64_t frame = frame_chain_find(&variables->chain, outer, code);
    if (!frame || !frame_locals_read(&variables->locals, &variables->chain, frame, code))
        return NULL;
    return &variables->locals.found;
}

static void put_locals_text(struct locals_reader *variables, uint32_t inner)
{
    if (!variables || !find_state(variables, &inner))
        return;
    const struct frame_reading *read = locals_of(variables, inner);
    if (!read) {
        puts("        (the frame ended before its variables were read)");
        return;
    }
    for (size_t i = 0; i < read->count; i++) {
        fputs("        ", stdout);
        plain_put_all(stdout, read->items[i].name);
        fputs(" = ", stdout);
        plain_put_all(stdout, read->items[i].value);
        puts(read->items[i].is_certain ? "" : "  (changed while it was read)");
    }
    if (read->left_out)
        printf("        (%" PRIu64 " more)\n", read->left_out);
}

static void put_frame_text(const struct frame_site *site, int32_t line)
{
    fputs("    ", stdout);
    plain_put_all(stdout, site->name);
    if (*site->file) {
        fputs(" (", stdout);
        plain_put_all(stdout, site->file);
        printf(":%" PRId32 ")", line);
    }
    putchar('\n');
}

// The last of the frames from `node` on that are the same as it, and how many there
// are: a function that calls itself fills screens.
static uint32_t last_same(const struct stack_trie *trie, uint32_t node, uint32_t *ret_count)
{
    const struct stack_node *first = &trie->nodes[node];
    for (*ret_count = 1;; ++*ret_count, node = trie->nodes[node].parent) {
        const struct stack_node *next = &trie->nodes[trie->nodes[node].parent];
        if (!trie->nodes[node].parent || next->site != first->site || next->line != first->line)
            return node;
    }
}

static void put_stack_text(const struct stack_trie *trie, uint32_t node,
                           struct locals_reader *variables)
{
    uint32_t inner = 0, count = 1;
    for (; node; node = trie->nodes[node].parent) {
        const uint32_t last = variables ? node : last_same(trie, node, &count);
        const uint32_t shown = count > SAME_SHOWN + 1 ? SAME_SHOWN : count;
        for (uint32_t i = 0; i < shown; i++)
            put_frame_text(&trie->sites[trie->nodes[node].site], trie->nodes[node].line);
        if (shown < count)
            printf("    (the same %" PRIu32 " times more)\n", count - shown);
        put_locals_text(variables, inner++);
        node = last;
    }
}

static void put_thread_text(struct python_process *process, struct python_thread *thread,
                            struct locals_reader *variables)
{
    char name[PYTHON_THREAD_NAME];
    thread_id_name(thread, &process->target, name, sizeof name);
    printf("\nthread %" PRId64 "%s", thread->tid, *name ? " " : "");
    plain_put_all(stdout, name);
    printf(": %s%s%s\n", state_words(process, thread),
           thread->flags & SAMPLE_COLLECTING ? ", collecting garbage" : "",
           thread->flags & SAMPLE_TORN ? " (stack not certain)" : "");
    begin_thread(variables, thread);
    put_stack_text(process->trie, thread->node, variables);
}

static void put_text(struct python_process *process, struct locals_reader *variables)
{
    char version[32];
    put_version(&process->target, version, sizeof version);
    printf("process %" PRId64 ", Python %s, ", process->target.pid, version);
    plain_put_all(stdout, process->target.file);
    putchar('\n');
    for (size_t i = 0; i < process->thread_count; i++)
        if (!process->threads[i]->is_covered)
            put_thread_text(process, process->threads[i], variables);
}

static void put_locals_json(struct json_writer *json, struct locals_reader *variables,
                            uint32_t inner)
{
    if (!variables || !find_state(variables, &inner))
        return;
    const struct frame_reading *read = locals_of(variables, inner);
    json_key(json, "locals");
    if (!read) {
        json_null(json);
        return;
    }
    json_array(json);
    for (size_t i = 0; i < read->count; i++) {
        json_object(json);
        json_put_text(json, "name", read->items[i].name);
        json_put_text(json, "type", read->items[i].type);
        json_put_text(json, "value", read->items[i].value);
        json_put_bool(json, "is_certain", read->items[i].is_certain);
        json_close(json);
    }
    json_close(json);
    json_put_uint(json, "locals_left_out", read->left_out);
}

static void put_frames(struct json_writer *json, const struct stack_trie *trie, uint32_t node,
                       struct locals_reader *variables)
{
    json_key(json, "frames");
    json_array(json);
    for (uint32_t inner = 0; node; node = trie->nodes[node].parent, inner++) {
        const struct frame_site *site = &trie->sites[trie->nodes[node].site];
        json_object(json);
        json_put_text(json, "name", site->name);
        json_put_text(json, "file", site->file);
        json_put_int(json, "line", trie->nodes[node].line);
        json_put_int(json, "first_line", site->line);
        put_locals_json(json, variables, inner);
        json_close(json);
    }
    json_close(json);
}

static void put_json(struct python_process *process, struct locals_reader *variables)
{
    struct json_writer json = {.out = stdout, .line_depth = 3, .indent = 2};
    char version[32], name[PYTHON_THREAD_NAME];
    put_version(&process->target, version, sizeof version);
    json_object(&json);
    json_put_int(&json, "pid", process->target.pid);
    json_put_text(&json, "python", version);
    json_put_text(&json, "file", process->target.file);
    json_key(&json, "threads");
    json_array(&json);
    for (size_t i = 0; i < process->thread_count; i++) {
        struct python_thread *thread = process->threads[i];
        const bool is_held = is_stopped(process, thread);
        if (thread->is_covered)
            continue;
        thread_id_name(thread, &process->target, name, sizeof name);
        json_object(&json);
        json_put_int(&json, "tid", thread->tid);
        json_put_uint(&json, "ident", thread->ident);
        json_put_text(&json, "name", name);
        thread_id_system_name(thread, &process->target, name, sizeof name);
        json_put_text(&json, "system_name", name);
        json_put_text(&json, "state",
                      is_held ? "stopped" : sample_state_name((enum sample_state)thread->state));
        json_put_bool(&json, "holds_lock", python_process_holds_lock(process, thread));
        json_put_bool(&json, "is_certain", !(thread->flags & SAMPLE_TORN));
        json_put_bool(&json, "is_collecting", thread->flags & SAMPLE_COLLECTING);
        begin_thread(variables, thread);
        put_frames(&json, process->trie, thread->node, variables);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

static int put(struct python_process *process, const struct dump_values *values)
{
    struct locals_reader *variables = NULL;
    if (values->has_locals) {
        variables = malloc(sizeof *variables);
        if (!variables)
            return fail(GAIT_ERR_MEMORY, "no memory for the variables");
        object_reader_init(&variables->reader, &process->target.memory, &process->target.layout);
    }
    qsort(process->threads, process->thread_count, sizeof(void *), by_thread);
    if (process->thread_count && !process->is_stopped)
        process->is_stopped = thread_probe_is_stopped(process->threads[0], &process->target);
    if (values->is_json)
        put_json(process, variables);
    else
        put_text(process, variables);
    free(variables);
    return 0;
}

static int dump(const struct target *target, const struct dump_values *values)
{
    static char buffer[OUTPUT_BYTES]; // stdout's, which outlives this function
    struct stack_trie trie;
    struct python_process process;
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    int status = stack_trie_init(&trie);
    if (status)
        return status;
    status = python_process_init(&process, target, &trie);
    if (status == 0)
        status = take(&process);
    if (status == 0)
        status = put(&process, values);
    python_process_finish(&process);
    stack_trie_finish(&trie);
    return status;
}

static int run(const void *given, const struct operands *operands)
{
    const struct dump_values *values = given;
    struct target target;
    int64_t pid;
    int status = command_process(operands, &pid);
    if (status == 0)
        status = attach_open(&target, pid);
    if (status == ATTACH_NOT_YET)
        status = fail(GAIT_ERR_STATE,
                      "process %" PRId64 " has not begun to run Python, or has ended it; try again",
                      pid);
    if (status == 0)
        status = dump(&target, values);
    return status ? command_refuse(&cmd_dump) : command_finish_output(&cmd_dump);
}

static const struct option options[] = {
    {.letter = 'l',
     .name = "locals",
     .kind = OPTION_FLAG,
     .help = "the variables of each frame, too",
     .offset = offsetof(struct dump_values, has_locals)},
    COMMAND_JSON_OPTION(struct dump_values, "answer in JSON"),
};

static const char *const about[] = {
    "The process is not stopped and nothing in it is changed; its memory is read. CPython 3.8 to "
    "3.15 on x86-64, also in another container, also when it hangs or was stopped.",
    "The state tells who runs Python (holds the interpreter's lock, the GIL), who waits for it, "
    "who runs native code beside it, who is blocked in the system, and who was stopped, by a "
    "signal (SIGSTOP, ^Z) or a debugger; with kill -CONT such a process goes on.",
    "Threads have the names that Python's threading has for them, else the system's, which "
    "--json gives as system_name beside those.",
    "With --locals each frame is followed by its variables: numbers, texts and containers of them "
    "as Python writes them, cut where they are long; a tensor of torch by its dtype, shape and "
    "device; others by their type and address. Of a module those are its names. A variable that "
    "changed while it was read says so.",
    "It needs the right to trace the process: the same user where kernel.yama.ptrace_scope is 0, "
    "else CAP_SYS_PTRACE (sudo). Where it is missing, the sentence names what is.",
    NULL,
};

static const struct example examples[] = {
    {"gait dump 4711", "The stacks of process 4711."},
    {"gait dump --locals 4711", "What its functions hold in their variables, too."},
    {NULL, NULL},
};

const struct command cmd_dump = {
    .name = "dump",
    .purpose = "show what every thread of a Python program does now",
    .summary = "Prints the stack, state and line of every thread of process PID, innermost frame "
               "first.",
    .about = about,
    .examples = examples,
    .exit_status = "0: printed. 2: wrong usage, or a process that cannot be read.",
    .line = {.command = "dump",
             OPTIONS_ARE(options),
             .min_operands = 1,
             .max_operands = 1,
             .operands = "PID"},
    .usage_status = EXIT_USAGE,
    .run = run,
};
