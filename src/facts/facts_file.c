// SPDX-License-Identifier: Apache-2.0
// A file of frames as a shard's, whose table `fact` has a list in each frame; the frame's track
// says which. It is made in memory, and takes its place when it is whole.
#define _GNU_SOURCE
#include "facts/facts_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/json_reader.h"
#include "base/own_file.h"
#include "facts/fact_cells.h"
#include "format/columns.h"
#include "load/shard_owner.h"
#include "shard/shard_out.h"
#include "shard/small_rows.h"
#include "vocabulary/metadata.h"

enum { WORTH_ROWS = 1 << 20, MOST_TAKEN = 1 << 20, MOST_LISTS = 64, KEY_BYTES = 17 };
enum { MOST_BYTES = 1 << 28 };
#define FIRST_TEXT ((uint16_t)COLUMN(FACT, t0))

struct facts_file {
    struct gait_trace *trace;
    uint32_t shard;
    char *path, key[KEY_BYTES];
    bool is_there; // `run` is the file, and fits
    struct run run;
    struct table_reader reader;
    struct buffer payload, texts[FACT_TEXTS];
    struct fact_sites sites;
    struct fact_cells *cells;
    struct shard_out out; // what is put
    bool is_writing, is_full;
    size_t damages; // that were known of the rank before it was read
    bool is_put[MOST_LISTS];
};

// --- what it is of ---------------------------------------------------------------------

static int tell_shard(struct buffer *told, const struct gait_trace *trace, uint32_t number)
{
    struct run_shard *shard = trace->run.shards[number];
    const char *session = dictionary_meta(&shard->dictionary, meta.session);
    const struct frame_list *list = &shard->shard.list;
    int status = buffer_printf(told, "%s %" PRIu64, session ? session : "", shard->info.bytes);
    for (size_t i = 0; i < list->count && !status; i++) {
        uint8_t header[FRAME_HEADER_BYTES]; // with the hash of what is behind it
        status =
            file_source_read(&shard->shard.source, list->entries[i].offset, header, sizeof header);
        if (!status)
            status = buffer_append(told, header, sizeof header);
    }
    const struct id_map *sites = &shard->dictionary.sites;
    for (uint64_t id = 0; id < (uint64_t)sites->page_count * ID_MAP_PAGE && !status; id++) {
        const uint32_t site = id_map_get(sites, id);
        if (site)
            status = buffer_append(told, &trace->run.sites.roles[site - 1], 1);
    }
    return status;
}

// Of the shards of the rank, and of what each name is taken for.
static int find_key(struct facts_file *file)
{
    const struct run *run = &file->trace->run;
    struct buffer told;
    buffer_init(&told, MOST_BYTES);
    int status = buffer_printf(&told, "%d", FACTS_VERSION);
    if (!status)
        status = tell_shard(&told, file->trace, file->shard);
    for (uint32_t i = shard_owned_first(run, file->shard); i != RUN_NO_SHARD && !status;
         i = shard_owned_next(run, i))
        status = tell_shard(&told, file->trace, i);
    if (!status)
        snprintf(file->key, sizeof file->key, "%016" PRIx64, frame_hash(told.bytes, told.used));
    buffer_finish(&told);
    return status;
}

static bool is_whole(const struct run *run, uint32_t number)
{
    const struct run_shard *shard = run->shards[number];
    return shard->info.complete && !shard->shard.is_live && !shard->shard.is_whole &&
           !shard->shard.salvaged.used && (!shard->shard.source.memory || run->facts.count);
}

// Whether the rank may have a file.
static bool may_have(const struct run *run, uint32_t number)
{
    bool is_good = is_whole(run, number) && !run->damage.count;
    for (uint32_t i = shard_owned_first(run, number); i != RUN_NO_SHARD && is_good;
         i = shard_owned_next(run, i))
        is_good = is_whole(run, i);
    return is_good;
}

// Whether it is worth one.
static bool is_long(const struct run *run, uint32_t number)
{
    uint64_t rows = run->shards[number]->info.events;
    for (uint32_t i = shard_owned_first(run, number); i != RUN_NO_SHARD;
         i = shard_owned_next(run, i))
        rows += run->shards[i]->info.events;
    return rows >= WORTH_ROWS || run->wants_facts;
}

// Of nobody but the user and who owns the shard.
static bool is_trusted(const char *path, const char *shard)
{
    struct stat about, of;
    return !lstat(path, &about) && S_ISREG(about.st_mode) && !stat(shard, &of) &&
           (about.st_uid == geteuid() || about.st_uid == of.st_uid);
}

// A file that does not fit is as good as none.
static int look(struct facts_file *file)
{
    char wanted[KEY_BYTES + 2];
    const struct slice facts = file->trace->run.facts;
    const int status =
        facts.count ? run_open_memory(&file->run, facts) : run_open_lazily(&file->run, file->path);
    if (status) {
        fail_clear();
        return status == GAIT_ERR_MEMORY ? status : GAIT_OK;
    }
    const struct run_shard *own = file->run.shards[0];
    const char *key = dictionary_meta(&own->dictionary, meta.facts_of);
    snprintf(wanted, sizeof wanted, "\"%s\"", file->key);
    file->is_there = own->info.complete && !file->run.damage.count &&
                     (facts.count || (key && !strcmp(key, wanted)));
    if (!file->is_there)
        run_close(&file->run);
    return GAIT_OK;
}

static int prepare(struct facts_file *file, bool is_there)
{
    buffer_init(&file->payload, FRAME_MAX_RAW);
    for (unsigned i = 0; i < FACT_TEXTS; i++)
        buffer_init(&file->texts[i], FRAME_MAX_RAW);
    file->cells = malloc(sizeof *file->cells);
    if (!file->cells)
        return fail(GAIT_ERR_MEMORY, "no memory for a file of facts");
    file->cells->sites = &file->sites;
    int status = table_reader_init(&file->reader);
    if (!status)
        status = fact_sites_init(&file->sites, &file->trace->run, file->shard);
    if (!status)
        status = find_key(file);
    return status || !is_there ? status : look(file);
}

int facts_file_open(struct facts_file **ret_file, struct gait_trace *trace, uint32_t shard)
{
    const struct run *run = &trace->run;
    const char *path = run->shards[shard]->info.path;
    *ret_file = NULL;
    if (!may_have(run, shard) || !strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6))
        return GAIT_OK;
    struct facts_file *file = calloc(1, sizeof *file);
    if (!file || asprintf(&file->path, "%s" FACTS_SUFFIX, path) < 0) {
        free(file);
        return fail(GAIT_ERR_MEMORY, "no memory for a file of facts");
    }
    file->trace = trace;
    file->shard = shard;
    file->damages = run->shards[shard]->shard.damage->count;
    const bool is_there = run->facts.count || is_trusted(file->path, path),
               is_made = !run->facts.count && is_long(run, shard);
    const int status = is_there || is_made ? prepare(file, is_there) : GAIT_OK;
    if (!status && (file->is_there || is_made)) {
        *ret_file = file;
        return GAIT_OK;
    }
    facts_file_close(file);
    if (status == GAIT_ERR_MEMORY)
        return status;
    fail_clear(); // of a shard that cannot be read the question tells
    return GAIT_OK;
}

// --- what is in it ---------------------------------------------------------------------

bool facts_file_is_there(const struct facts_file *file)
{
    return file->is_there;
}

static bool is_of(const struct facts_file *file, size_t frame, uint32_t number)
{
    const struct frame_entry *entry = &file->run.shards[0]->shard.list.entries[frame];
    return entry->table == TABLE_FACT && entry->track == number && entry->rows <= FACT_ROWS;
}

static bool read_cells(struct facts_file *file, size_t frame, unsigned numbers, unsigned texts)
{
    struct shard *shard = &file->run.shards[0]->shard;
    struct table_view view;
    bool is_good = !shard_read(shard, frame, &file->payload, &view);
    for (unsigned i = 0; i < numbers && is_good; i++)
        is_good = !table_read(&file->reader, &view, (uint16_t)i, file->cells->numbers[i]);
    for (unsigned i = 0; i < texts && is_good; i++)
        is_good = !table_read_bytes(&file->reader, &view, (uint16_t)(FIRST_TEXT + i),
                                    &file->texts[i], file->cells->texts[i]);
    return is_good;
}

size_t facts_file_frames(const struct facts_file *file, const struct fact_list *list)
{
    size_t count = 0;
    for (size_t i = 0; file->is_there && i < file->run.shards[0]->shard.list.count; i++)
        count += is_of(file, i, list->number);
    return count;
}

bool facts_file_has(const struct facts_file *file, const struct fact_list *list)
{
    return facts_file_frames(file, list) > 0;
}

struct taking {
    struct facts_file *file;
    const struct fact_list *list;
    char *rows;
    size_t count;
    struct buffer texts;
};

static bool take_frame(struct taking *taking, size_t frame)
{
    struct facts_file *file = taking->file;
    const uint32_t count = file->run.shards[0]->shard.list.entries[frame].rows;
    unsigned numbers, texts;
    fact_cells_used(taking->list, &numbers, &texts);
    if (!read_cells(file, frame, numbers, texts))
        return false;
    char *rows = taking->rows + taking->count * taking->list->row_bytes;
    taking->count += count;
    return fact_cells_read(file->cells, taking->list, rows, count, &taking->texts);
}

static bool take_all(struct taking *taking)
{
    const struct frame_list *frames = &taking->file->run.shards[0]->shard.list;
    size_t count = 0, found = 0;
    for (size_t i = 0; i < frames->count; i++)
        if (is_of(taking->file, i, taking->list->number)) {
            count += frames->entries[i].rows;
            found++;
        }
    const bool is_sane = found && count <= MOST_TAKEN;
    taking->rows = is_sane ? calloc(count + 1, taking->list->row_bytes) : NULL;
    bool is_good = taking->rows != NULL;
    for (size_t i = 0; i < frames->count && is_good; i++)
        if (is_of(taking->file, i, taking->list->number))
            is_good = take_frame(taking, i);
    if (!is_good || !taking->texts.used)
        return is_good;
    const size_t bytes = taking->count * taking->list->row_bytes;
    char *block = realloc(taking->rows, bytes + taking->texts.used);
    if (!block)
        return false;
    taking->rows = block;
    memcpy(block + bytes, taking->texts.bytes, taking->texts.used);
    fact_cells_place(taking->list, block, taking->count, block + bytes);
    return true;
}

int facts_file_take(struct facts_file *file, const struct fact_list *list, void **ret_rows,
                    size_t *ret_count)
{
    struct taking taking = {.file = file, .list = list};
    *ret_rows = NULL;
    *ret_count = 0;
    if (!file->is_there)
        return 0;
    buffer_init(&taking.texts, MOST_BYTES);
    const bool is_good = take_all(&taking);
    buffer_finish(&taking.texts);
    if (!is_good) {
        fail_clear();
        free(taking.rows);
        return 0;
    }
    *ret_rows = taking.rows;
    *ret_count = taking.count;
    return 1;
}

int facts_file_take_frame(struct facts_file *file, const struct fact_list *list, size_t number,
                          struct fact_taken *ret_taken)
{
    struct taking taking = {.file = file, .list = list};
    *ret_taken = (struct fact_taken){.rows = NULL};
    if (!file->is_there)
        return 0;
    const struct frame_list *frames = &file->run.shards[0]->shard.list;
    size_t i = 0;
    while (i < frames->count && (!is_of(file, i, list->number) || number--))
        i++;
    if (i == frames->count)
        return 0;
    taking.rows = calloc((size_t)frames->entries[i].rows + 1, list->row_bytes);
    if (!taking.rows || !take_frame(&taking, i)) {
        fail_clear();
        free(taking.rows);
        return 0;
    }
    *ret_taken = (struct fact_taken){taking.rows, taking.count};
    return 1;
}

int facts_file_take_one(struct facts_file *file, const struct fact_list *list, void *ret_row)
{
    void *rows;
    size_t count;
    int status = facts_file_take(file, list, &rows, &count);
    if (count == 1)
        memcpy(ret_row, rows, list->row_bytes);
    else if (status == 1)
        status = 0;
    free(rows);
    return status;
}

// --- what is put -----------------------------------------------------------------------

static int begin_writing(struct facts_file *file)
{
    struct small_rows metas;
    if (file->is_writing)
        return GAIT_OK;
    int status = shard_out_open_memory(&file->out);
    if (status)
        return status;
    file->is_writing = true;
    small_rows_init(&metas);
    small_rows_meta_text(&metas, meta.facts_of, file->key);
    status = table_write_schema_facts(&file->out.tables);
    if (!status)
        status = small_rows_write(&metas, &file->out.tables);
    small_rows_finish(&metas);
    return status ? status : shard_out_settle(&file->out);
}

static int put_cells(struct facts_file *file, uint32_t number, uint32_t count, unsigned numbers,
                     unsigned texts)
{
    struct table_writer *tables = &file->out.tables;
    table_begin(tables, TABLE_FACT, number, count);
    for (unsigned i = 0; i < numbers; i++)
        table_put(tables, (uint16_t)i, TRANSFORM_DELTA, file->cells->numbers[i]);
    for (unsigned i = 0; i < texts; i++)
        table_put_bytes(tables, (uint16_t)(FIRST_TEXT + i), file->cells->texts[i]);
    const int status = table_end(tables, &(struct table_about){0}, NULL);
    return status ? status : shard_out_settle(&file->out);
}

// A list of no rows has a frame of none: it is on record.
int facts_file_put(struct facts_file *file, const struct fact_list *list, const void *rows,
                   size_t count)
{
    unsigned numbers, texts;
    int status = begin_writing(file);
    fact_cells_used(list, &numbers, &texts);
    for (size_t at = 0; !status && (at < count || !at); at += FACT_ROWS) {
        const size_t left = count - at, some = left < FACT_ROWS ? left : FACT_ROWS;
        if (some)
            fact_cells_fill(file->cells, list, (const char *)rows + at * list->row_bytes, some);
        status = put_cells(file, list->number, (uint32_t)some, numbers, texts);
    }
    file->is_put[list->number] = true;
    file->is_full |= status != GAIT_OK;
    return status == GAIT_ERR_MEMORY ? status : GAIT_OK;
}

// Lists that nobody put again.
static int keep_rest(struct facts_file *file)
{
    int status = GAIT_OK;
    if (!file->is_there)
        return GAIT_OK;
    const struct frame_list *frames = &file->run.shards[0]->shard.list;
    for (size_t i = 0; i < frames->count && !status; i++) {
        const uint32_t number = frames->entries[i].track;
        if (number >= MOST_LISTS || file->is_put[number] || !is_of(file, i, number))
            continue;
        if (read_cells(file, i, FACT_NUMBERS, FACT_TEXTS))
            status = put_cells(file, number, frames->entries[i].rows, FACT_NUMBERS, FACT_TEXTS);
    }
    return status;
}

static int save(struct facts_file *file)
{
    struct own_file own;
    struct stat of;
    int status = keep_rest(file);
    if (!status)
        status = shard_out_seal(&file->out);
    if (!status && file->trace->run.facts.count)
        return GAIT_OK; // handed over in memory: the path is none
    if (!status)
        status = own_file_begin(&own, file->path);
    if (status)
        return status;
    if (!stat(file->trace->run.shards[file->shard]->info.path, &of))
        (void)!fchmod(own.fd, of.st_mode & 0666); // whoever may not read the shard reads no names
    const struct buffer *bytes = &file->out.memory;
    for (size_t done = 0; done < bytes->used;) {
        const ssize_t some = write(own.fd, bytes->bytes + done, bytes->used - done);
        if (some <= 0) {
            own_file_drop(&own);
            return fail(GAIT_ERR_IO, "cannot write '%s'", file->path);
        }
        done += (size_t)some;
    }
    return own_file_keep(&own);
}

void facts_file_close(struct facts_file *file)
{
    if (!file)
        return;
    const bool is_good = file->damages == file->trace->run.shards[file->shard]->shard.damage->count;
    if (file->is_writing && !file->is_full && is_good && save(file))
        fail_clear();
    if (file->is_writing)
        shard_out_finish(&file->out);
    if (file->is_there)
        run_close(&file->run);
    table_reader_finish(&file->reader);
    fact_sites_finish(&file->sites);
    buffer_finish(&file->payload);
    for (unsigned i = 0; i < FACT_TEXTS; i++)
        buffer_finish(&file->texts[i]);
    free(file->cells);
    free(file->path);
    free(file);
}
