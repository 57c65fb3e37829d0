// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/scale/png_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/own_file.h"

// Twice as fine as the picture's own 900 by 434.
enum { MOST_SECONDS = 60, CANNOT_RUN = 127 };

static const struct converter {
    const char *program;
    bool is_browser;
} converters[] = {{"rsvg-convert", false},
                  {"chromium", true},
                  {"chromium-browser", true},
                  {"google-chrome", true}};

static bool is_there(const char *program)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        char path[PATH_MAX];
        const size_t length = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)length, at, program);
        if (length && !access(path, X_OK))
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static const struct converter *find_converter(void)
{
    for (size_t i = 0; i < sizeof converters / sizeof converters[0]; i++)
        if (is_there(converters[i].program))
            return &converters[i];
    return NULL;
}

int png_file_check(void)
{
    return find_converter() ? GAIT_OK
                            : fail(GAIT_ERR_MISSING,
                                   "PNG needs rsvg-convert (package librsvg2-bin) or chromium, "
                                   "and neither is here: take .svg, or install one");
}

// What is made of what: `picture` is the option that names the result.
struct job {
    const struct converter *converter;
    char picture[PATH_MAX + 32], source[PATH_MAX + 32];
};

// Its words are nobody's, and it does not live for ever.
static void become(const struct job *job)
{
    const char *program = job->converter->program;
    const int nowhere = open("/dev/null", O_RDWR);
    for (int fd = 0; nowhere >= 0 && fd <= 2; fd++)
        (void)dup2(nowhere, fd);
    alarm(MOST_SECONDS);
    if (job->converter->is_browser)
        execlp(program, program, "--headless", "--disable-gpu", "--hide-scrollbars",
               "--force-device-scale-factor=2", "--window-size=900,434", job->picture,
               geteuid() ? "--no-first-run" : "--no-sandbox", job->source, (char *)NULL);
    else
        execlp(program, program, "--zoom=2", "--format=png", job->picture, job->source,
               (char *)NULL);
    _exit(CANNOT_RUN);
}

static int run(const struct job *job)
{
    const char *program = job->converter->program;
    int how = 0;
    const pid_t child = fork();
    if (child < 0)
        return fail(GAIT_ERR_IO, "cannot start %s: %s", program, strerror(errno));
    if (!child)
        become(job);
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(how))
        return fail(GAIT_ERR_IO, "%s was ended by signal %d", program, WTERMSIG(how));
    return WEXITSTATUS(how)
               ? fail(GAIT_ERR_IO, "%s failed with exit code %d", program, WEXITSTATUS(how))
               : GAIT_OK;
}

// A browser writes pictures only under names that end in .png.
static int name_draft(char draft[PATH_MAX], const char *svg)
{
    if (!realpath(svg, draft))
        return fail(GAIT_ERR_IO, "'%s': %s", svg, strerror(errno));
    const size_t used = strlen(draft);
    return used + sizeof ".png" <= PATH_MAX && memcpy(draft + used, ".png", sizeof ".png")
               ? GAIT_OK
               : fail(GAIT_ERR_ARGUMENT, "the path '%.200s' is too long", svg);
}

static int convert(const struct converter *converter, const char *svg, const char *png)
{
    struct job job = {.converter = converter};
    snprintf(job.picture, sizeof job.picture,
             converter->is_browser ? "--screenshot=%s" : "--output=%s", png);
    snprintf(job.source, sizeof job.source, converter->is_browser ? "file://%s" : "%s", svg);
    return run(&job);
}

int png_file_make(const char *svg, const char *png)
{
    const struct converter *converter = find_converter();
    char draft[PATH_MAX], source[PATH_MAX];
    struct stat about;
    if (!converter)
        return png_file_check();
    int status = name_draft(draft, svg);
    if (status)
        return status;
    snprintf(source, sizeof source, "%.*s", (int)(strlen(draft) - strlen(".png")), draft);
    status = convert(converter, source, draft);
    if (!status && (stat(draft, &about) || !about.st_size))
        status = fail(GAIT_ERR_IO, "%s wrote no picture '%s'", converter->program, png);
    const int error = status ? 0 : own_file_move(draft, png);
    if (error)
        status = fail(GAIT_ERR_IO, "cannot write '%s': %s", png, strerror(error));
    if (status)
        own_file_remove(draft);
    return status;
}
