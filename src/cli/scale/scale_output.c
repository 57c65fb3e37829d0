// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/scale/scale_output.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "answer/sheet_nodes.h"
#include "base/fail.h"
#include "base/own_file.h"
#include "cli/scale/png_file.h"
#include "launch/say.h"
#include "render/sheet_svg.h"
#include "shard/folders.h"

enum { FOLDER_MODE = 0777, MOST_BACKUPS = 1000 };

// --- plots ------------------------------------------------------------------------------

struct picture {
    const struct sheet *sheet;
    const char *key;
};

static int print_svg(FILE *out, void *context)
{
    const struct picture *picture = context;
    return sheet_put_svg(picture->sheet, picture->key, out);
}

static bool is_drawn(const struct sheet *sheet, const char *key)
{
    size_t count;
    const struct node *nodes = sheet_nodes(sheet, &count);
    for (size_t i = 0; i < count; i++)
        if (nodes[i].kind == NODE_PLOT && !strcmp(nodes[i].key, key))
            return true;
    return false;
}

static int write_plot(const struct sheet *sheet, const char *key, const char *folder, bool is_png)
{
    char svg[PATH_MAX], path[PATH_MAX], salt[OWN_FILE_SALT];
    struct picture picture = {sheet, key};
    int status = own_file_salt(salt);
    if (status)
        return status;
    const int length =
        snprintf(path, sizeof path, "%s/%s%s", folder, key, is_png ? ".png" : ".svg");
    const int other = snprintf(svg, sizeof svg, "%s/.%s.%s.svg", folder, key, salt);
    if (length >= PATH_MAX || other >= PATH_MAX)
        return fail(GAIT_ERR_ARGUMENT, "the path '%.200s' is too long", folder);
    status = own_file_print(is_png ? svg : path, print_svg, &picture);
    if (!status && is_png) {
        status = png_file_make(svg, path);
        own_file_remove(svg);
    }
    if (!status)
        say("%s", path);
    return status;
}

int scale_output_plots(const struct scale_asked *asked, const char *folder, const char *suffix)
{
    const char *ending = suffix && *suffix == '.' ? suffix + 1 : suffix ? suffix : "svg";
    const bool is_png = !strcmp(ending, "png");
    struct sheet *sheet = NULL;
    if (!is_png && strcmp(ending, "svg") != 0)
        return fail(GAIT_ERR_ARGUMENT, "plots are written as .svg or .png, not as '%.40s'", suffix);
    int status = is_png ? png_file_check() : GAIT_OK;
    if (!status)
        status = folders_make(folder, FOLDER_MODE);
    if (!status)
        status = sheet_new(&sheet);
    if (!status) {
        scale_plots_put(sheet, asked);
        status = sheet_status(sheet);
    }
    for (const char *const *name = scale_plot_names; !status && *name; name++)
        if (is_drawn(sheet, *name))
            status = write_plot(sheet, *name, folder, is_png);
    sheet_drop(sheet);
    return status;
}

// --- backup -----------------------------------------------------------------------------

static int copy_text(FILE *out, void *context)
{
    const char *from = context;
    char bytes[1 << 14];
    size_t count;
    FILE *file = fopen(from, "rb");
    if (!file)
        return fail(GAIT_ERR_IO, "'%s' cannot be read: %s", from, strerror(errno));
    while ((count = fread(bytes, 1, sizeof bytes, file)) > 0)
        fwrite(bytes, 1, count, out);
    const bool is_whole = !ferror(file);
    fclose(file);
    return is_whole ? GAIT_OK : fail(GAIT_ERR_IO, "'%s' cannot be read to its end", from);
}

static int print_epochs(FILE *out, void *context)
{
    const struct scale_run *run = context;
    fputs("epoch_id,time,name,nodes\n", out);
    for (size_t i = 0; i < run->epoch_count; i++)
        fprintf(out, "%zu,%.9f,%s,%g\n", i + 1, run->epochs_s[i], run->strategy, run->nodes);
    return GAIT_OK;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

// The name of a run in the backup: of runs whose folders have one name, each gets a number.
static void name_run(char out[NAME_MAX + 1], const struct scale_set *set, const char *id)
{
    unsigned before = 0;
    for (size_t i = 0; i < set->count && strcmp(set->runs[i].id, id) != 0; i++) {
        bool is_new = !strcmp(last_name(set->runs[i].id), last_name(id));
        for (size_t k = 0; k < i; k++)
            is_new = is_new && strcmp(set->runs[k].id, set->runs[i].id) != 0;
        before += is_new;
    }
    if (before)
        snprintf(out, NAME_MAX + 1, "%.200s-%u", last_name(id), before + 1);
    else
        snprintf(out, NAME_MAX + 1, "%.200s", last_name(id));
}

static int write_copy(const char *path, own_file_printer *print, void *context)
{
    const int status = folders_make_above(path);
    return status ? status : own_file_print(path, print, context);
}

static int backup_table(const struct scale_set *set, const char *folder,
                        const struct scale_table *table)
{
    char path[PATH_MAX], from[PATH_MAX], run[NAME_MAX + 1], kind[PATH_MAX];
    snprintf(from, sizeof from, "%s", table->path);
    snprintf(kind, sizeof kind, "%.*s", (int)(strlen(table->path) - strlen(last_name(table->path))),
             table->path);
    for (size_t end = strlen(kind); end && kind[end - 1] == '/'; end--)
        kind[end - 1] = '\0';
    name_run(run, set, table->run);
    if (snprintf(path, sizeof path, "%s/%s/%s/%s", folder, run, *kind ? last_name(kind) : "tables",
                 last_name(table->path)) >= PATH_MAX)
        return fail(GAIT_ERR_ARGUMENT, "the path '%.200s' is too long", folder);
    return write_copy(path, copy_text, from);
}

static int backup_epochs(const struct scale_set *set, const char *folder, struct scale_run *run)
{
    char path[PATH_MAX], name[NAME_MAX + 1];
    name_run(name, set, run->id);
    if (snprintf(path, sizeof path, "%s/%s/epoch-time/epochtime_%s_%gN.csv", folder, name,
                 run->strategy, run->nodes) >= PATH_MAX)
        return fail(GAIT_ERR_ARGUMENT, "the path '%.200s' is too long", folder);
    return write_copy(path, print_epochs, run);
}

// A folder by the time of day that is not there yet.
static int make_folder(char out[PATH_MAX], const char *root)
{
    char now[32];
    struct tm parts;
    const time_t seconds = time(NULL);
    int status = folders_make(root, FOLDER_MODE);
    if (!localtime_r(&seconds, &parts) || !strftime(now, sizeof now, "%Y%m%d_%H%M%S", &parts))
        snprintf(now, sizeof now, "backup");
    for (int i = 0; !status && i < MOST_BACKUPS; i++) {
        char number[16] = "";
        if (i)
            snprintf(number, sizeof number, "_%d", i + 1);
        if (snprintf(out, PATH_MAX, "%s/%s%s", root, now, number) >= PATH_MAX)
            return fail(GAIT_ERR_ARGUMENT, "the path '%.200s' is too long", root);
        const int error = own_folder_make(out, FOLDER_MODE);
        if (!error)
            return GAIT_OK;
        if (error != EEXIST && error != OWN_FILE_PLANTED)
            return fail(GAIT_ERR_IO, "cannot make the folder '%s': %s", out, strerror(error));
    }
    return status ? status : fail(GAIT_ERR_IO, "'%s' has too many backups of one second", root);
}

int scale_output_backup(const struct scale_input *input, const char *root)
{
    char folder[PATH_MAX];
    int status = make_folder(folder, root);
    for (size_t i = 0; !status && i < input->table_count; i++)
        status = backup_table(input->set, folder, &input->tables[i]);
    for (size_t i = 0; !status && i < input->set->count; i++) {
        struct scale_run *run = &input->set->runs[i];
        if (run->source != SCALE_OF_ITWINAI && run->epoch_count)
            status = backup_epochs(input->set, folder, run);
    }
    if (!status)
        say("a backup is in '%s'", folder);
    return status;
}
