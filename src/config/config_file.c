// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "config/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fail.h"
#include "base/file_name.h"
#include "config/setting_value.h"

static int read_bytes(int file, const char *path, struct buffer *bytes)
{
    for (;;) {
        uint8_t *place = buffer_reserve(bytes, 4096);
        if (!place)
            return fail(GAIT_ERR_ARGUMENT, "'%s' is larger than 1 MB: is it a configuration?",
                        path);
        ssize_t got = read(file, place, 4096);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(GAIT_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
        if (got == 0)
            return GAIT_OK;
        bytes->used += (size_t)got;
    }
}

static int read_file(const char *path, struct buffer *bytes)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return fail(errno == ENOENT ? GAIT_ERR_MISSING : GAIT_ERR_IO, "cannot read '%s': %s", path,
                    strerror(errno));
    int outcome = GAIT_OK;
    if (fstat(file, &status) || !S_ISREG(status.st_mode))
        outcome = fail(GAIT_ERR_ARGUMENT, "'%s' is not a regular file", path);
    else if (status.st_size > CONFIG_FILE_MAX_BYTES)
        outcome = fail(GAIT_ERR_ARGUMENT, "'%s' is larger than 1 MB: is it a configuration?", path);
    else
        outcome = read_bytes(file, path, bytes);
    close(file);
    return outcome;
}

static bool is_gait_yaml(const char *path)
{
    const char *name = file_name_of(path);
    return !strcmp(name, "gait.yaml") || !strcmp(name, "gait.yml");
}

int config_file_read(struct config *config, const char *named)
{
    char path[PATH_MAX];
    struct buffer bytes;
    const char *hash = strrchr(named, '#');
    size_t length = hash ? (size_t)(hash - named) : strlen(named);
    if (!length || length >= sizeof path || (hash && (!hash[1] || strlen(hash) > 128)))
        return fail(GAIT_ERR_ARGUMENT, "'%s' is neither a file nor FILE#SECTION",
                    setting_value_show(named));
    memcpy(path, named, length);
    path[length] = '\0';
    struct yaml_source source = {
        .path = path, .section = hash ? hash + 1 : "profiling", .is_gait_yaml = is_gait_yaml(path)};
    buffer_init(&bytes, CONFIG_FILE_MAX_BYTES + 4096);
    int status = read_file(path, &bytes);
    source.bytes = (struct slice){bytes.bytes, bytes.used};
    config->file = config_print(config, "%s", path);
    config->is_own_file = source.is_gait_yaml;
    if (!status)
        status = yaml_settings_read(config, &source);
    buffer_finish(&bytes);
    return status;
}
