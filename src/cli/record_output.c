// SPDX-License-Identifier: Apache-2.0
// A text format counts stacks, so it cannot grow: it is written under another
// name and put in place, every now and then. A pipe is written once, at the end,
// and nobody who does not read from it can hold the recording up.
#define _GNU_SOURCE
#include "cli/record_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyse/stack_set.h"
#include "base/fail.h"
#include "base/slice.h"
#include "render/flame_svg.h"

#define PIPE_WAIT_MS 5000

const char *const record_formats[] = {"gait", "raw", "flamegraph", "speedscope", NULL};

static const char *const endings[] = {".gait", ".txt", ".svg", ".speedscope.json"};

static int make_folders(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = folder + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(folder, 0777) && errno != EEXIST && errno != EROFS && errno != EISDIR)
            return fail(GAIT_ERR_IO, "cannot make the folder '%s': %s", folder, strerror(errno));
        *slash = '/';
    }
    return 0;
}

static enum record_format format_of(const char *path, const char *format)
{
    for (int i = 0; format && record_formats[i]; i++)
        if (!strcmp(format, record_formats[i]))
            return (enum record_format)i;
    const struct slice name = slice_of(path);
    if (slice_ends_with(name, ".txt") || slice_ends_with(name, ".raw"))
        return RECORD_RAW;
    if (slice_ends_with(name, ".svg"))
        return RECORD_FLAMEGRAPH;
    return slice_ends_with(name, ".json") ? RECORD_SPEEDSCOPE : RECORD_GAIT;
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

// True for a pipe, a terminal, /dev/stdout: what is written from front to back.
static bool is_stream(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

static int open_stream(struct record_output *output)
{
    if (output->format == RECORD_GAIT)
        return fail(GAIT_ERR_ARGUMENT, "format gait needs a file, and '%s' is none", output->path);
    output->fd = open(output->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (output->fd < 0)
        return fail(GAIT_ERR_IO, "cannot write to '%s': %s", output->path,
                    errno == ENXIO ? "nobody reads from this pipe" : strerror(errno));
    return 0;
}

static int open_file(struct record_output *output, struct stack_trie *trie)
{
    if (output->format == RECORD_GAIT) {
        int status = sample_shard_open(&output->shard, output->path, trie);
        return status == GAIT_ERR_STATE
                   ? fail_because(status, "a recording is there already; choose another name")
                   : status;
    }
    int fd = open(output->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(GAIT_ERR_IO, "cannot write '%s': %s", output->path, strerror(errno));
    close(fd);
    return 0;
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
    int status = make_folders(output->path);
    if (status)
        return status;
    return is_stream(output->path) ? open_stream(output) : open_file(output, trie);
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
            return fail(GAIT_ERR_IO, "cannot write to '%s': nobody reads from it", output->path);
    }
    return 0;
}

// Through folded text: the way that a graph of any other file takes.
static int put_graph(struct record_output *output, const struct stack_set *set, FILE *out)
{
    const struct flame_options options = {0};
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

static int put_stacks(struct record_output *output, const struct stack_trie *trie, FILE *out)
{
    char *bytes = NULL;
    size_t count = 0;
    struct stack_set set;
    if (output->format == RECORD_RAW) {
        folded_text_write(&output->text, trie, out);
        return 0;
    }
    FILE *text = open_memstream(&bytes, &count);
    if (!text)
        return fail(GAIT_ERR_MEMORY, "no memory for the output");
    folded_text_write(&output->text, trie, text);
    int status = fclose(text) ? fail(GAIT_ERR_MEMORY, "no memory for the output") : 0;
    if (status == 0)
        status = stack_set_init(&set);
    if (status == 0) {
        status = stack_set_add_lines(&set, (struct slice){(uint8_t *)bytes, count});
        if (status == 0)
            status = put_graph(output, &set, out);
        stack_set_finish(&set);
    }
    free(bytes);
    return status;
}

static int to_stream(struct record_output *output, const struct stack_trie *trie)
{
    char *bytes = NULL;
    size_t count = 0;
    FILE *text = open_memstream(&bytes, &count);
    if (!text)
        return fail(GAIT_ERR_MEMORY, "no memory for the output");
    int status = put_stacks(output, trie, text);
    if (fclose(text) && status == 0)
        status = fail(GAIT_ERR_MEMORY, "no memory for the output");
    if (status == 0)
        status = write_stream(output, bytes, count);
    free(bytes);
    return status;
}

static int to_file(struct record_output *output, const struct stack_trie *trie)
{
    char draft[PATH_MAX + 8];
    snprintf(draft, sizeof draft, "%s.new", output->path);
    FILE *text = fopen(draft, "we");
    if (!text)
        return fail(GAIT_ERR_IO, "cannot write '%s': %s", draft, strerror(errno));
    int status = put_stacks(output, trie, text);
    bool is_bad = ferror(text) != 0 || status;
    is_bad = fclose(text) != 0 || is_bad;
    if (!is_bad && rename(draft, output->path) == 0)
        return 0;
    const int error = errno;
    unlink(draft);
    return status ? status
                  : fail(GAIT_ERR_IO, "cannot write '%s': %s", output->path, strerror(error));
}

int record_output_refresh(struct record_output *output, const struct stack_trie *trie, bool is_last)
{
    if (output->format == RECORD_GAIT)
        return is_last ? sample_shard_seal(&output->shard) : 0;
    if (output->fd >= 0)
        return is_last ? to_stream(output, trie) : 0;
    return to_file(output, trie);
}

void record_output_finish(struct record_output *output)
{
    if (output->fd >= 0)
        close(output->fd);
    folded_text_finish(&output->text);
    sample_shard_finish(&output->shard);
}
