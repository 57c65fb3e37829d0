// SPDX-License-Identifier: Apache-2.0
// A frame is a location, a name with its file is a function; what stands for a
// process or a thread is a label. Texts are held once, so addresses stand for them.
#include "cli/io/stack_pprof.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "export/output/gzip_bytes.h"
#include "export/perfetto/protobuf_writer.h"

#define PROFILE_LIMIT ((size_t)1 << 30)

// Fields of profile.proto.
enum { PROFILE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5 };
enum { PROFILE_TEXT = 6, PROFILE_TIME = 9, PROFILE_DURATION = 10, PROFILE_PERIOD_TYPE = 11 };
enum { PROFILE_PERIOD = 12 };
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

static const char *const words[] = {"",        "samples", "count", "time", "nanoseconds",
                                    "process", "thread"};
enum { WORD_SAMPLES = 1, WORD_COUNT, WORD_TIME, WORD_NANOSECONDS, WORD_PROCESS, WORD_THREAD };
enum { WORDS = sizeof words / sizeof words[0] };

struct function {
    const char *name, *path;
    uint32_t frame;
};

struct making {
    const struct stack_pprof *profile;
    struct protobuf_writer out;
    const char **texts; // sorted by address, each once; text i has number i + WORDS
    size_t text_count;
    struct function *functions; // of frames that are code, sorted
    size_t function_count;
    uint32_t *function_ids; // by frame, from 1
};

static int compare_addresses(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return ((uintptr_t)*x > (uintptr_t)*y) - ((uintptr_t)*x < (uintptr_t)*y);
}

static int compare_functions(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    const int order = compare_addresses(&x->name, &y->name);
    return order ? order : compare_addresses(&x->path, &y->path);
}

static uint64_t text_number(const struct making *making, const char *text)
{
    if (!*text)
        return 0;
    const char **found =
        bsearch(&text, making->texts, making->text_count, sizeof *making->texts, compare_addresses);
    return found ? (uint64_t)(found - making->texts) + WORDS : 0;
}

static int gather_names(struct making *making)
{
    const struct stack_set *set = making->profile->set;
    making->texts = calloc(2 * set->frame_count + 1, sizeof *making->texts);
    making->functions = calloc(set->frame_count + 1, sizeof *making->functions);
    making->function_ids = calloc(set->frame_count + 1, sizeof *making->function_ids);
    if (!making->texts || !making->functions || !making->function_ids)
        return fail(GAIT_ERR_MEMORY, "no memory for a profile");
    size_t count = 0;
    for (size_t i = 0; i < set->frame_count; i++) {
        const struct stack_frame *frame = &set->frames[i];
        making->texts[count++] = frame->name;
        making->texts[count++] = frame->path;
        if (frame->kind == FRAME_NONE)
            making->functions[making->function_count++] =
                (struct function){frame->name, frame->path, (uint32_t)i};
    }
    qsort(making->texts, count, sizeof *making->texts, compare_addresses);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || making->texts[i] != making->texts[i - 1])
            making->texts[making->text_count++] = making->texts[i];
    qsort(making->functions, making->function_count, sizeof *making->functions, compare_functions);
    uint32_t id = 0;
    for (size_t i = 0; i < making->function_count; i++) {
        if (i == 0 || compare_functions(&making->functions[i], &making->functions[i - 1]) != 0)
            id++;
        making->function_ids[making->functions[i].frame] = id;
    }
    return 0;
}

static void put_type(struct protobuf_writer *out, uint32_t field, uint64_t type, uint64_t unit)
{
    const size_t begun = protobuf_begin(out, field);
    protobuf_uint(out, TYPE_TYPE, type);
    protobuf_uint(out, TYPE_UNIT, unit);
    protobuf_end(out, begun);
}

static void put_label(struct making *making, uint64_t key, const char *text)
{
    const size_t begun = protobuf_begin(&making->out, SAMPLE_LABEL);
    protobuf_uint(&making->out, LABEL_KEY, key);
    protobuf_uint(&making->out, LABEL_TEXT, text_number(making, text));
    protobuf_end(&making->out, begun);
}

static void put_sample(struct making *making, const struct stack_entry *entry)
{
    const struct stack_set *set = making->profile->set;
    const size_t begun = protobuf_begin(&making->out, PROFILE_SAMPLE);
    uint64_t time_ns;
    for (uint32_t depth = entry->depth; depth-- > 0;)
        if (stack_set_at(set, entry, depth)->kind == FRAME_NONE)
            protobuf_uint(&making->out, SAMPLE_LOCATION,
                          (uint64_t)set->ids[entry->first + depth] + 1);
    protobuf_uint(&making->out, SAMPLE_VALUE, entry->count);
    if (__builtin_mul_overflow(entry->count, (uint64_t)making->profile->period_ns, &time_ns) ||
        time_ns > INT64_MAX)
        time_ns = INT64_MAX;
    if (making->profile->period_ns)
        protobuf_uint(&making->out, SAMPLE_VALUE, time_ns);
    for (uint32_t depth = 0; depth < entry->depth; depth++) {
        const struct stack_frame *frame = stack_set_at(set, entry, depth);
        if (frame->kind != FRAME_NONE)
            put_label(making, frame->kind == FRAME_PROCESS ? WORD_PROCESS : WORD_THREAD,
                      frame->name);
    }
    protobuf_end(&making->out, begun);
}

static void put_location(struct making *making, size_t index)
{
    const struct stack_frame *frame = &making->profile->set->frames[index];
    const size_t begun = protobuf_begin(&making->out, PROFILE_LOCATION);
    protobuf_uint(&making->out, LOCATION_ID, index + 1);
    const size_t line = protobuf_begin(&making->out, LOCATION_LINE);
    protobuf_uint(&making->out, LINE_FUNCTION, making->function_ids[index]);
    if (frame->line > 0)
        protobuf_uint(&making->out, LINE_LINE, (uint64_t)frame->line);
    protobuf_end(&making->out, line);
    protobuf_end(&making->out, begun);
}

static void put_function(struct making *making, const struct function *function)
{
    const size_t begun = protobuf_begin(&making->out, PROFILE_FUNCTION);
    protobuf_uint(&making->out, FUNCTION_ID, making->function_ids[function->frame]);
    protobuf_uint(&making->out, FUNCTION_NAME, text_number(making, function->name));
    protobuf_uint(&making->out, FUNCTION_SYSTEM_NAME, text_number(making, function->name));
    protobuf_uint(&making->out, FUNCTION_FILE, text_number(making, function->path));
    protobuf_end(&making->out, begun);
}

static void put_head(struct making *making)
{
    const struct stack_pprof *profile = making->profile;
    struct protobuf_writer *out = &making->out;
    put_type(out, PROFILE_TYPE, WORD_SAMPLES, WORD_COUNT);
    if (profile->period_ns) {
        put_type(out, PROFILE_TYPE, WORD_TIME, WORD_NANOSECONDS);
        put_type(out, PROFILE_PERIOD_TYPE, WORD_TIME, WORD_NANOSECONDS);
        protobuf_uint(out, PROFILE_PERIOD, (uint64_t)profile->period_ns);
    }
    if (profile->start_ns)
        protobuf_uint(out, PROFILE_TIME, (uint64_t)profile->start_ns);
    if (profile->duration_ns)
        protobuf_uint(out, PROFILE_DURATION, (uint64_t)profile->duration_ns);
    for (size_t i = 0; i < WORDS; i++)
        protobuf_string(out, PROFILE_TEXT, words[i], strlen(words[i]));
    for (size_t i = 0; i < making->text_count; i++)
        protobuf_string(out, PROFILE_TEXT, making->texts[i], strlen(making->texts[i]));
}

static void put_all(struct making *making)
{
    const struct stack_set *set = making->profile->set;
    put_head(making);
    for (size_t i = 0; i < set->entry_count; i++)
        put_sample(making, &set->entries[i]);
    for (size_t i = 0; i < set->frame_count; i++)
        if (set->frames[i].kind == FRAME_NONE)
            put_location(making, i);
    for (size_t i = 0; i < making->function_count; i++)
        if (i == 0 || compare_functions(&making->functions[i], &making->functions[i - 1]) != 0)
            put_function(making, &making->functions[i]);
}

int stack_pprof_put(FILE *out, const struct stack_pprof *profile)
{
    struct making making = {.profile = profile};
    struct buffer packed;
    buffer_init(&packed, PROFILE_LIMIT);
    protobuf_init(&making.out, PROFILE_LIMIT);
    int status = gather_names(&making);
    if (status == 0) {
        put_all(&making);
        status = making.out.status;
    }
    if (status == 0)
        status = gzip_bytes((struct slice){making.out.bytes.bytes, making.out.bytes.used}, &packed);
    if (status == 0)
        fwrite(packed.bytes, 1, packed.used, out);
    protobuf_finish(&making.out);
    buffer_finish(&packed);
    free(making.texts);
    free(making.functions);
    free(making.function_ids);
    return status;
}
