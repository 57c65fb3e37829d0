// SPDX-License-Identifier: Apache-2.0
// `gait dump`: what every thread of a Python program does at the moment, asked
// from outside. Of a process that hangs, too.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "answer/sheet.h"
#include "base/clock.h"
#include "base/fail.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/sheet_output.h"
#include "render/plain.h"
#include "sample/cpython/frame_locals.h"
#include "sample/look/python_process.h"
#include "sample/look/thread_id.h"

enum { ROUNDS = 20, SAME_SHOWN = 3 };

struct dump_values {
    bool has_locals;
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

// People get lines, data gets rows, of one reading: the process goes on meanwhile.
struct dumped {
    struct sheet *sheet;
    FILE *lines;
    struct python_process *process;
    struct locals_reader *variables; // NULL: not asked for
};

static const struct column thread_columns[] = {
    {.key = "tid"},   {.key = "ident"},      {.key = "name"},       {.key = "system_name"},
    {.key = "state"}, {.key = "holds_lock"}, {.key = "is_certain"}, {.key = "is_collecting"},
};
static const struct column frame_columns[] = {
    {.key = "name"}, {.key = "file"}, {.key = "line"}, {.key = "first_line"}};
static const struct column local_columns[] = {
    {.key = "name"}, {.key = "type"}, {.key = "value"}, {.key = "is_certain"}};
static const struct table thread_table = {.key = "threads", COLUMNS_ARE(thread_columns)};
static const struct table frame_table = {.key = "frames", COLUMNS_ARE(frame_columns)};
static const struct table local_table = {.key = "locals", COLUMNS_ARE(local_columns)};

static void put_local(const struct dumped *dumped, const struct frame_reading *read, size_t index)
{
    FILE *out = dumped->lines;
    SHEET_ROW(dumped->sheet, value_text(read->items[index].name),
              value_text(read->items[index].type), value_text(read->items[index].value),
              value_bool(read->items[index].is_certain));
    fputs("        ", out);
    plain_put_all(out, read->items[index].name);
    fputs(" = ", out);
    plain_put_all(out, read->items[index].value);
    fputs(read->items[index].is_certain ? "\n" : "  (changed while it was read)\n", out);
}

static void put_locals(const struct dumped *dumped, uint32_t inner)
{
    if (!dumped->variables || !find_state(dumped->variables, &inner))
        return;
    const struct frame_reading *read = locals_of(dumped->variables, inner);
    if (!read) {
        sheet_put(dumped->sheet, "locals", value_none());
        fputs("        (the frame ended before its variables were read)\n", dumped->lines);
        return;
    }
    sheet_table(dumped->sheet, &local_table);
    for (size_t i = 0; i < read->count; i++)
        put_local(dumped, read, i);
    sheet_end(dumped->sheet);
    sheet_put(dumped->sheet, "locals_left_out", value_uint(read->left_out));
    if (read->left_out)
        fprintf(dumped->lines, "        (%" PRIu64 " more)\n", read->left_out);
}

static void print_frame(FILE *out, const struct frame_site *site, int32_t line)
{
    fputs("    ", out);
    plain_put_all(out, site->name);
    if (*site->file) {
        fputs(" (", out);
        plain_put_all(out, site->file);
        fprintf(out, ":%" PRId32 ")", line);
    }
    fputc('\n', out);
}

// How many frames from `node` on are the same as it: a function that calls itself fills
// screens.
static uint32_t count_same(const struct stack_trie *trie, uint32_t node)
{
    const struct stack_node *first = &trie->nodes[node];
    for (uint32_t count = 1;; count++) {
        node = trie->nodes[node].parent;
        const struct stack_node *next = &trie->nodes[node];
        if (!node || next->site != first->site || next->line != first->line)
            return count;
    }
}

static void put_stack(const struct dumped *dumped, uint32_t node)
{
    const struct stack_trie *trie = dumped->process->trie;
    uint32_t same = 0, at = 0; // frames that are alike, and which of them this is
    sheet_table(dumped->sheet, &frame_table);
    for (uint32_t inner = 0; node; node = trie->nodes[node].parent, inner++) {
        const struct stack_node *frame = &trie->nodes[node];
        const struct frame_site *site = &trie->sites[frame->site];
        const struct value cells[] = {value_text(site->name), value_text(site->file),
                                      value_int(frame->line), value_int(site->line)};
        if (at == same) {
            same = dumped->variables ? 1 : count_same(trie, node);
            at = 0;
        }
        if (same <= SAME_SHOWN + 1 || at < SAME_SHOWN)
            print_frame(dumped->lines, site, frame->line);
        else if (at == SAME_SHOWN)
            fprintf(dumped->lines, "    (the same %" PRIu32 " times more)\n", same - SAME_SHOWN);
        at++;
        sheet_row(dumped->sheet, cells, 0);
        put_locals(dumped, inner);
    }
    sheet_end(dumped->sheet);
}

static void put_thread(const struct dumped *dumped, struct python_thread *thread)
{
    struct python_process *process = dumped->process;
    const bool is_held = is_stopped(process, thread), is_torn = thread->flags & SAMPLE_TORN;
    const bool is_collecting = thread->flags & SAMPLE_COLLECTING;
    char name[PYTHON_THREAD_NAME], system[PYTHON_THREAD_NAME];
    thread_id_name(thread, &process->target, name, sizeof name);
    thread_id_system_name(thread, &process->target, system, sizeof system);
    const struct value cells[] = {
        value_int(thread->tid),
        value_uint(thread->ident),
        value_text(name),
        value_text(system),
        value_text(is_held ? "stopped" : sample_state_name((enum sample_state)thread->state)),
        value_bool(python_process_holds_lock(process, thread)),
        value_bool(!is_torn),
        value_bool(is_collecting),
    };
    sheet_row(dumped->sheet, cells, 0);
    fprintf(dumped->lines, "\nthread %" PRId64 "%s", thread->tid, *name ? " " : "");
    plain_put_all(dumped->lines, name);
    fprintf(dumped->lines, ": %s%s%s\n", state_words(process, thread),
            is_collecting ? ", collecting garbage" : "", is_torn ? " (stack not certain)" : "");
    begin_thread(dumped->variables, thread);
    put_stack(dumped, thread->node);
}

static void put_all(const struct dumped *dumped)
{
    const struct python_process *process = dumped->process;
    char version[32];
    put_version(&process->target, version, sizeof version);
    fprintf(dumped->lines, "process %" PRId64 ", Python %s, ", process->target.pid, version);
    plain_put_all(dumped->lines, process->target.file);
    fputc('\n', dumped->lines);
    sheet_put(dumped->sheet, "pid", value_int(process->target.pid));
    sheet_put(dumped->sheet, "python", value_text(version));
    sheet_put(dumped->sheet, "file", value_text(process->target.file));
    sheet_table(dumped->sheet, &thread_table);
    for (size_t i = 0; i < process->thread_count; i++)
        if (!process->threads[i]->is_covered)
            put_thread(dumped, process->threads[i]);
    sheet_end(dumped->sheet);
}

static int put(struct sheet *sheet, struct python_process *process, bool has_locals)
{
    struct dumped dumped = {.sheet = sheet, .process = process};
    char title[40];
    if (has_locals) {
        dumped.variables = malloc(sizeof *dumped.variables);
        if (!dumped.variables)
            return fail(GAIT_ERR_MEMORY, "no memory for the variables");
        object_reader_init(&dumped.variables->reader, &process->target.memory,
                           &process->target.layout);
    }
    qsort(process->threads, process->thread_count, sizeof(void *), by_thread);
    if (process->thread_count && !process->is_stopped)
        process->is_stopped = thread_probe_is_stopped(process->threads[0], &process->target);
    snprintf(title, sizeof title, "process %" PRId64, process->target.pid);
    sheet_title(sheet, title, NULL);
    dumped.lines = sheet_lines_begin(sheet);
    if (dumped.lines)
        put_all(&dumped);
    sheet_lines_end(sheet);
    free(dumped.variables);
    return GAIT_OK;
}

static int dump(struct sheet *sheet, const struct target *target, bool has_locals)
{
    struct stack_trie trie;
    struct python_process process;
    int status = stack_trie_init(&trie);
    if (status)
        return status;
    status = python_process_init(&process, target, &trie);
    if (status == 0)
        status = take(&process);
    if (status == 0)
        status = put(sheet, &process, has_locals);
    python_process_finish(&process);
    stack_trie_finish(&trie);
    return status;
}

static int run(const void *given, const struct operands *operands)
{
    const struct dump_values *values = given;
    struct sheet *sheet = NULL;
    struct target target;
    int64_t pid;
    int status = command_process(operands, &pid);
    if (status == 0)
        status = sheet_wish_check(&operands->wish, NULL);
    if (status == 0)
        status = attach_open(&target, pid);
    if (status == ATTACH_NOT_YET)
        status = fail(GAIT_ERR_STATE,
                      "process %" PRId64
                      " has not started Python yet, or has already ended it; try again",
                      pid);
    if (status == 0)
        status = sheet_new(&sheet);
    if (status == 0)
        status = dump(sheet, &target, values->has_locals);
    return sheet_answer(&cmd_dump, &operands->wish, sheet, status);
}

#define AT(field) offsetof(struct dump_values, field)
static const struct option options[] = {
    {FLAG_ROW('l', "locals", AT(has_locals), "also print the variables of each frame")},
};

const struct command cmd_dump = {
    .purpose = "show what every thread of a Python program does now",
    .summary = "Prints the stack, state and line of every thread of process PID, innermost frame "
               "first.",
    .about = {"gait reads the memory of the process. It does not stop the process and changes "
              "nothing in it. The process must be CPython 3.8 to 3.15 on x86-64; it may run in "
              "another container, hang, or be stopped.",
              "The state of a thread says whether it runs Python (it holds the interpreter's lock, "
              "the GIL), waits for the lock, runs native code without it, is blocked in the "
              "system, or was stopped by a signal (SIGSTOP, ^Z) or a debugger. kill -CONT "
              "continues a stopped process.",
              "Threads have the names of Python's threading module, or else those of the system. "
              "--json gives the latter as system_name too.",
              "With --locals the variables follow each frame. Numbers, texts and containers of "
              "them look as in Python, shortened if they are long. A torch tensor shows its dtype, "
              "shape and device, any other object its type and address. A module frame shows the "
              "module's names. A variable that changed while gait read it is marked.",
              "You need the right to trace the process: if kernel.yama.ptrace_scope is 0, be the "
              "same user; otherwise have CAP_SYS_PTRACE (sudo). If the right is missing, the "
              "message says which."},
    .examples = {{"gait dump 4711", "The stacks of process 4711."},
                 {"gait dump --locals 4711", "The same with the variables of each function."}},
    .exit_status = "0: success. 2: wrong usage, or a process that cannot be read.",
    .line = {.command = "dump",
             OPTIONS_ARE(options),
             .min_operands = 1,
             .max_operands = 1,
             .operands = "PID",
             .has_sheet = true},
    .is_rare = true,
    .run = run,
};
