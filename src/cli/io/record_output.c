// SPDX-License-Identifier: Apache-2.0
// A text format counts stacks, so it cannot grow: it is written under another
// name and put in place, every now and then. A pipe is written once, at the end,
// and nobody who does not read from it can hold the recording up.
#define _GNU_SOURCE
#include "cli/io/record_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <gait/export.h>

#include "analyse/stacks/stack_set.h"
#include "base/fail.h"
#include "base/own_file.h"
#include "base/slice.h"
#include "cli/io/output_name.h"
#include "cli/io/stack_pprof.h"
#include "render/picture/flame_svg.h"
#include "shard/folders.h"

#define PIPE_WAIT_MS 5000

const char *const record_formats[] = {"gait",   "raw",   "flamegraph", "speedscope",
                                      "chrome", "pprof", NULL};

static const char *const endings[] = {".gait",       ".txt",  ".svg", ".speedscope.json",
                                      ".trace.json", ".pb.gz"};

// What else tells the format; of two that fit, the longer stands first.
static const struct {
    const char *text;
    enum record_format format;
} suffixes[] = {
    {".txt", RECORD_RAW},           {".raw", RECORD_RAW},         {".svg", RECORD_FLAMEGRAPH},
    {".trace.json", RECORD_CHROME}, {".json", RECORD_SPEEDSCOPE}, {".pb.gz", RECORD_PPROF},
    {".pprof", RECORD_PPROF},
};

static enum record_format format_of(const char *path, const char *format)
{
    for (int i = 0; format && record_formats[i]; i++)
        if (!strcmp(format, record_formats[i]))
            return (enum record_format)i;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (slice_ends_with(slice_of(path), suffixes[i].text))
            return suffixes[i].format;
    return RECORD_GAIT;
}

static void make_name(struct record_output *output)
{
    const time_t now = time(NULL);
    struct tm utc;
    char stamp[32] = "";
    if (gmtime_r(&now, &utc))
        strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
    snprintf(output->path, sizeof output->path, "gait-samples-%s-%ld%s", stamp, (long)getpid(),
             endings[output->format]);
}

// True for a pipe, a terminal, /dev/stdout: what is written from front to back. What
// /dev has is never replaced, even where a file stands behind it.
static bool is_stream(const char *path)
{
    struct stat about;
    if (!strncmp(path, "/dev/std", 8) || !strncmp(path, "/dev/fd/", 8))
        return true;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

static int open_stream(struct record_output *output)
{
    if (output->format == RECORD_GAIT)
        return fail(GAIT_ERR_ARGUMENT, "format gait needs a file, but '%s' is not a file",
                    output->path);
    struct stat about;
    const bool is_stdout = !strcmp(output->path, "/dev/stdout");
    if (is_stdout && fstat(STDOUT_FILENO, &about) == 0 && S_ISREG(about.st_mode))
        output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0); // behind what the program wrote
    else
        output->fd = open(output->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (output->fd < 0)
        return fail(GAIT_ERR_IO, "cannot write to '%s': %s", output->path,
                    errno == ENXIO ? "no process reads from this pipe" : strerror(errno));
    return 0;
}

// Better now than after an hour of samples. What a link of the user's leads to is replaced.
static int try_file(struct record_output *output)
{
    struct own_file file;
    int status = own_file_begin(&file, output->path);
    if (!status)
        own_file_drop(&file);
    return status;
}

static int follow_link(struct record_output *output)
{
    char *real = own_file_target(output->path);
    if (!real)
        return fail(GAIT_ERR_IO, "cannot write '%s': %s", output->path, strerror(errno));
    const bool fits = strlen(real) + 8 <= sizeof output->path;
    if (fits)
        snprintf(output->path, sizeof output->path, "%s", real);
    free(real);
    return fits ? 0 : fail(GAIT_ERR_ARGUMENT, "the name of the output is too long");
}

static int open_file(struct record_output *output, struct stack_trie *trie)
{
    if (output->format == RECORD_GAIT) {
        int status = sample_shard_open(&output->shard, output->path, trie);
        return status == GAIT_ERR_STATE
                   ? fail(status, "'%s' already exists; choose another name", output->path)
                   : status;
    }
    // a file of counted stacks is replaced by the new one, as elsewhere
    int status = output_name_spare_recording(output->path);
    if (status)
        return status;
    struct own_file file;
    output->is_made = access(output->path, F_OK) != 0; // a link to nowhere, too
    if (output->is_made)
        status = own_file_open(&file, output->path);
    if (!status && output->is_made)
        status = own_file_keep(&file);
    if (!status)
        status = follow_link(output);
    return status || output->is_made ? status : try_file(output);
}

// "START<digits that nobody can guess>ENDING".
static int name_salted(char out[PATH_MAX], const char *start, const char *ending)
{
    char salt[OWN_FILE_SALT];
    const int status = own_file_salt(salt);
    if (!status && snprintf(out, PATH_MAX, "%s%s%s", start, salt, ending) >= PATH_MAX)
        return fail(GAIT_ERR_ARGUMENT, "the name of the output is too long");
    return status;
}

static int name_temporary(char out[PATH_MAX], const char *ending)
{
    const char *folder = getenv("TMPDIR");
    char start[PATH_MAX];
    snprintf(start, sizeof start, "%.3800s/gait-samples-", folder && *folder ? folder : "/tmp");
    return name_salted(out, start, ending);
}

// Beside the output, where room is looked after; of a pipe among temporary files.
static int open_draft(struct record_output *output, struct stack_trie *trie)
{
    char beside[PATH_MAX + 16];
    snprintf(beside, sizeof beside, "%s.samples-", output->path);
    int status = output->fd >= 0 ? name_temporary(output->draft, ".gait")
                                 : name_salted(output->draft, beside, ".gait");
    if (!status)
        status = sample_shard_open(&output->shard, output->draft, trie);
    if (status)
        output->draft[0] = '\0';
    return status;
}

int record_output_open(struct record_output *output, const char *path, const char *format,
                       struct stack_trie *trie)
{
    memset(output, 0, sizeof *output);
    output->fd = -1;
    output->format = format_of(path, format);
    if (path && !strcmp(path, "-"))
        path = "/dev/stdout";
    if (path && strlen(path) + 8 > sizeof output->path)
        return fail(GAIT_ERR_ARGUMENT, "the name of the output is too long");
    if (path)
        snprintf(output->path, sizeof output->path, "%s", path);
    else
        make_name(output);
    output->start_ns = clock_read_anchor().real_ns;
    int status = folders_make_above(output->path);
    if (status == 0 && output->format == RECORD_CHROME &&
        slice_ends_with(slice_of(output->path), ".gait"))
        status = fail(GAIT_ERR_ARGUMENT,
                      "'%s' has the ending of a recording; name a chart otherwise: %s.json",
                      output->path, output->path);
    if (status == 0)
        status = is_stream(output->path) ? open_stream(output) : open_file(output, trie);
    if (status == 0 && output->format == RECORD_CHROME)
        status = open_draft(output, trie);
    if (status && output->is_made)
        own_file_remove(output->path);
    return status;
}

static int write_stream(struct record_output *output, const char *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        struct pollfd wait = {.fd = output->fd, .events = POLLOUT};
        const ssize_t wrote = write(output->fd, bytes + done, count - done);
        if (wrote > 0)
            done += (size_t)wrote;
        else if (errno == EINTR)
            continue;
        else if (errno != EAGAIN)
            return fail(GAIT_ERR_IO, "cannot write to '%s': %s", output->path, strerror(errno));
        else if (poll(&wait, 1, PIPE_WAIT_MS) == 0)
            return fail(GAIT_ERR_IO, "cannot write to '%s': no process reads from it",
                        output->path);
    }
    return 0;
}

static int put_profile(const struct record_output *output, const struct stack_set *set,
                       const struct sampler *sampler, FILE *out)
{
    const double seconds = sampler->totals.seconds;
    const double asked_s = 1 / sampler->options.rate_hz;
    const double made_s = sampler->totals.rounds ? seconds / (double)sampler->totals.rounds : 0;
    const struct stack_pprof profile = {
        .set = set,
        .period_ns = (int64_t)(1e9 * (made_s > asked_s ? made_s : asked_s)),
        .start_ns = output->start_ns,
        .duration_ns = (int64_t)(1e9 * seconds),
    };
    return stack_pprof_put(out, &profile);
}

// Through folded text: the way that a graph of any other file takes.
static int put_graph(struct record_output *output, const struct stack_set *set, FILE *out)
{
    const struct flame_options options = {.narrowest = FLAME_SVG_NARROWEST};
    const struct flame_svg look = {.title = "Samples"};
    struct flame_tree tree;
    if (output->format == RECORD_SPEEDSCOPE) {
        flame_svg_put_speedscope(out, set, look.title);
        return 0;
    }
    if (!set->entry_count)
        return 0; // nothing yet
    int status = flame_tree_make(set, NULL, &options, &tree);
    if (status)
        return status;
    flame_svg_put(out, &tree, &look);
    flame_tree_finish(&tree);
    return 0;
}

static int put_stacks(struct record_output *output, const struct sampler *sampler, FILE *out)
{
    char *bytes = NULL;
    size_t count = 0;
    struct stack_set set;
    if (output->format == RECORD_RAW) {
        folded_text_write(&output->text, &sampler->trie, out);
        return 0;
    }
    FILE *text = open_memstream(&bytes, &count);
    if (!text)
        return fail(GAIT_ERR_MEMORY, "no memory for the output");
    folded_text_write(&output->text, &sampler->trie, text);
    int status = fclose(text) ? fail(GAIT_ERR_MEMORY, "no memory for the output") : 0;
    if (status == 0) {
        stack_set_init(&set);
        status = stack_set_add_lines(&set, (struct slice){(uint8_t *)bytes, count});
        if (status == 0)
            status = output->format == RECORD_PPROF ? put_profile(output, &set, sampler, out)
                                                    : put_graph(output, &set, out);
        stack_set_finish(&set);
    }
    free(bytes);
    return status;
}

static int to_stream(struct record_output *output, const struct sampler *sampler)
{
    char *bytes = NULL;
    size_t count = 0;
    FILE *text = open_memstream(&bytes, &count);
    if (!text)
        return fail(GAIT_ERR_MEMORY, "no memory for the output");
    int status = put_stacks(output, sampler, text);
    if (fclose(text) && status == 0)
        status = fail(GAIT_ERR_MEMORY, "no memory for the output");
    if (status == 0)
        status = write_stream(output, bytes, count);
    free(bytes);
    return status;
}

struct printing {
    struct record_output *output;
    const struct sampler *sampler;
};

static int print_stacks(FILE *out, void *context)
{
    const struct printing *printing = context;
    return put_stacks(printing->output, printing->sampler, out);
}

static int to_file(struct record_output *output, const struct sampler *sampler)
{
    struct printing printing = {output, sampler};
    return own_file_replace(output->path, print_stacks, &printing);
}

static int draft_to_stream(struct record_output *output, struct gait_trace *trace,
                           const struct gait_export_options *options)
{
    char copy[PATH_MAX + 8], bytes[65536];
    size_t got;
    snprintf(copy, sizeof copy, "%s.json", output->draft);
    int status = gait_export(trace, options, copy);
    FILE *file = status ? NULL : fopen(copy, "re");
    while (file && status == 0 && (got = fread(bytes, 1, sizeof bytes, file)) > 0)
        status = write_stream(output, bytes, got);
    if (status == 0 && (!file || ferror(file)))
        status = fail(GAIT_ERR_IO, "cannot read '%s': %s", copy, strerror(errno));
    if (file)
        fclose(file);
    own_file_remove(copy);
    return status;
}

static int write_chart(struct record_output *output)
{
    const struct gait_export_options options = {.size = sizeof options, .format = "stacks"};
    struct gait_trace *trace;
    int status = sample_shard_seal(&output->shard);
    if (status == 0)
        status = gait_trace_open(output->draft, &trace);
    if (status)
        return status;
    status = output->fd >= 0 ? draft_to_stream(output, trace, &options)
                             : gait_export(trace, &options, output->path);
    gait_trace_close(trace);
    return status;
}

// What was made at the beginning, to see that it can be, is no answer.
static void drop_empty(const struct record_output *output, const char *path)
{
    struct stat about;
    if (output->is_made && stat(path, &about) == 0 && about.st_size == 0)
        own_file_remove(path);
}

// The draft stays when it could not be turned into what was asked for.
static int draft_to_chart(struct record_output *output)
{
    int status = write_chart(output);
    if (status) {
        drop_empty(output, output->path);
        return fail_because(status, "its samples are in '%s'", output->draft);
    }
    own_file_remove(output->draft);
    output->draft[0] = '\0';
    return 0;
}

// The samples are in memory alone: a place that is full or gone by now is not the
// end of them.
static int to_some_file(struct record_output *output, const struct sampler *sampler)
{
    char wanted[PATH_MAX];
    const int status = to_file(output, sampler);
    if (status != GAIT_ERR_IO)
        return status;
    char *why = strdup(fail_text());
    snprintf(wanted, sizeof wanted, "%s", output->path);
    const bool is_named = name_temporary(output->path, endings[output->format]) == 0;
    drop_empty(output, wanted);
    const bool is_saved = is_named && to_file(output, sampler) == 0;
    if (is_saved)
        fail(status, "%s; its samples are in '%s'", why ? why : "cannot write", output->path);
    else
        fail(status, "%s", why ? why : "cannot write");
    if (!is_saved)
        snprintf(output->path, sizeof output->path, "%s", wanted);
    free(why);
    return status;
}

int record_output_refresh(struct record_output *output, const struct sampler *sampler, bool is_last)
{
    if (output->format == RECORD_GAIT)
        return is_last ? sample_shard_seal(&output->shard) : 0;
    if (output->format == RECORD_CHROME)
        return is_last ? draft_to_chart(output) : 0;
    if (output->fd >= 0)
        return is_last ? to_stream(output, sampler) : 0;
    if (!sampler->totals.rounds && !output->is_made)
        return 0; // a file of another run is not replaced by nothing
    return is_last ? to_some_file(output, sampler) : to_file(output, sampler);
}

void record_output_drop(struct record_output *output)
{
    if (record_output_has_shard(output))
        shard_out_remove(&output->shard.writer);
    if (output->is_made)
        own_file_remove(output->path);
}

void record_output_finish(struct record_output *output)
{
    if (output->fd >= 0)
        close(output->fd);
    folded_text_finish(&output->text);
    sample_shard_finish(&output->shard);
}
