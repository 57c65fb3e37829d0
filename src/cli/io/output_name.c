// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/io/output_name.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "format/frame.h"

int output_name_spare_recording(const char *path)
{
    uint8_t head[FRAME_HEADER_BYTES];
    struct frame_header header;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t got = fd >= 0 ? read(fd, head, sizeof head) : 0;
    if (fd >= 0)
        close(fd);
    if (got < (ssize_t)sizeof head || frame_header_read(head, &header)) {
        fail_clear();
        return 0;
    }
    return fail(GAIT_ERR_STATE, "'%s' is already a recording; choose another name", path);
}

int output_name_spare_input(const char *path, const char *input)
{
    struct stat output, read;
    if (!input || stat(path, &output) || stat(input, &read) || !S_ISREG(output.st_mode) ||
        output.st_dev != read.st_dev || output.st_ino != read.st_ino)
        return 0;
    return fail(GAIT_ERR_ARGUMENT, "'%s' is the input file; choose another name", path);
}

int output_name_spare_promise(const char *path, const char *const *formats)
{
    static const char *const foreign[] = {"pdf", "png",  "jpg", "jpeg", "gif",     "webp", "ps",
                                          "eps", "xlsx", "xls", "ods",  "parquet", "docx", "odt",
                                          "xml", "yaml", "yml", "tsv",  "pptx",    "doc",  NULL};
    const char *name = strrchr(path, '/');
    const char *ending = strrchr(name ? name : path, '.');
    bool is_foreign = false;
    for (size_t i = 0; ending && foreign[i] && !is_foreign; i++)
        is_foreign = !strcasecmp(ending + 1, foreign[i]);
    char list[200] = "";
    for (size_t i = 0; is_foreign && formats[i]; i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", formats[i]);
    }
    return is_foreign ? fail(GAIT_ERR_ARGUMENT,
                             "'%s': gait does not write '%s' here; its formats are %s (--format)",
                             path, ending, list)
                      : GAIT_OK;
}
