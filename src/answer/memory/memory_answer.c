// SPDX-License-Identifier: Apache-2.0
// `gait memory`: what was held over time, by whom at the peak, and what was never given back.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/memory/memory_life.h"
#include "answer/answers.h"
#include "base/array.h"
#include "base/fail.h"
#include "base/units.h"
#include "load/choice.h"

enum { MOST_PATH = 16384 };

static const struct column device_columns[] = {
    {.key = "device", .label = "", .flags = COLUMN_LEFT, .width = 12},
    {.key = "rank", .label = "rank", .width = 6},
    {.key = "peak_bytes", .label = "peak", .unit = UNIT_BYTES, .width = 9},
    {.key = "peak_after_ns", .label = "after", .unit = UNIT_NS, .width = 10},
    {.key = "peak_reserved_bytes", .label = "reserved", .unit = UNIT_BYTES, .width = 10},
    {.key = "end_bytes", .label = "at the end", .unit = UNIT_BYTES, .width = 11},
    {.key = "allocations", .label = "taken", .unit = UNIT_COUNT, .width = 9},
    {.key = "never_freed_bytes", .label = "kept", .unit = UNIT_BYTES, .width = 9},
    {.key = "never_freed"},
    {.key = "releases"},
    {.key = "before_bytes"},
    {.key = "older_releases"},
    {.key = "failures"},
    {.key = "failed_bytes"},
    {.key = "pid"},
    {.key = "start_ns"},
    {.key = "peak_ns"},
    {.key = "end_ns"},
};
static const struct table device_table = {.key = "devices",
                                          .heading = "Devices",
                                          COLUMNS_ARE(device_columns),
                                          .most = 20,
                                          .more = "more"},
                          no_devices = {.key = "devices", COLUMNS_ARE(device_columns)};

static const struct column category_columns[] = {
    {.key = "category", .label = "", .flags = COLUMN_LEFT, .width = 24},
    {.key = "bytes", .label = "at the peak", .unit = UNIT_BYTES, .width = 13, .flags = COLUMN_SUMS},
    {.key = "share", .label = "share", .unit = UNIT_SHARE, .width = 9},
    {.label = "", .unit = UNIT_BYTES, .width = 12, .flags = COLUMN_BAR},
    {.key = "device"},
    {.key = "rank"},
};
static const struct table category_table = {.key = "categories",
                                            .heading = "Held at the peak",
                                            COLUMNS_ARE(category_columns)},
                          category_data = {.key = "categories", COLUMNS_ARE(category_columns)};

static const struct column owner_columns[] = {
    {.key = "name", .label = "", .flags = COLUMN_LEFT, .width = 32},
    {.key = "peak_bytes", .label = "at the peak", .unit = UNIT_BYTES, .width = 12},
    {.key = "peak_blocks", .label = "blocks", .unit = UNIT_COUNT, .width = 7},
    {.key = "never_freed_bytes", .label = "kept", .unit = UNIT_BYTES, .width = 9},
    {.key = "category", .label = "category", .flags = COLUMN_LEFT, .width = 14},
    {.key = "device"},
    {.key = "rank"},
    {.key = "allocations"},
    {.key = "allocated_bytes"},
    {.key = "never_freed"},
    {.key = "stack"},
};
static const struct table owner_table = {.key = "owners",
                                         .heading = "Owners at the peak",
                                         COLUMNS_ARE(owner_columns),
                                         .most = 15,
                                         .more = "smaller"};
// The same where no addresses tell which block is which.
static const struct column taker_columns[] = {
    {.key = "name", .label = "", .flags = COLUMN_LEFT, .width = 36},
    {.key = "peak_bytes"},
    {.key = "peak_blocks"},
    {.key = "never_freed_bytes"},
    {.key = "category", .label = "category", .flags = COLUMN_LEFT, .width = 16},
    {.key = "device"},
    {.key = "rank"},
    {.key = "allocations", .label = "times", .unit = UNIT_COUNT, .width = 9},
    {.key = "allocated_bytes", .label = "bytes", .unit = UNIT_BYTES, .width = 10},
    {.key = "never_freed"},
    {.key = "stack"},
};
static const struct table taker_table = {.key = "owners",
                                         .heading = "Taken, and given back again or not",
                                         COLUMNS_ARE(taker_columns),
                                         .most = 15,
                                         .more = "smaller"};

static const struct column kept_columns[] = {
    {.label = "", .flags = COLUMN_LEFT, .width = 32},
    {.label = "bytes", .unit = UNIT_BYTES, .width = 12, .flags = COLUMN_SUMS},
    {.label = "blocks", .unit = UNIT_COUNT, .width = 9, .flags = COLUMN_SUMS},
    {.label = "category", .flags = COLUMN_LEFT, .width = 16},
};
static const struct table kept_table = {.heading = "Never given back",
                                        COLUMNS_ARE(kept_columns),
                                        .most = 10,
                                        .more = "smaller"},
                          part_table = {.heading = "Taken, and not given back by the end",
                                        COLUMNS_ARE(kept_columns),
                                        .most = 10,
                                        .more = "smaller"};

static const struct column point_columns[] = {
    {.key = "at_ns"},
    {.key = "allocated_bytes"},
    {.key = "reserved_bytes"},
#define X(identifier, word_key, word) {.key = word_key},
    MEMORY_CATEGORIES(X)
#undef X
        {.key = "device"},
    {.key = "rank"},
};
static const struct table point_table = {.key = "curve", COLUMNS_ARE(point_columns)};

static uint64_t natural(int64_t bytes)
{
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static void put_device(struct sheet *sheet, const struct memory_device *device)
{
    const bool has_blocks = device->has_addresses;
    const struct value cells[] = {
        value_text(device->name),
        value_rank(device->shard.rank),
        value_int(device->peak_bytes),
        value_int(device->peak_ns - device->start_ns),
        value_if(device->peak_reserved > 0, value_int(device->peak_reserved)),
        value_int(device->end_bytes),
        value_if(!device->is_process, value_uint(device->allocations)),
        value_if(has_blocks, value_uint(device->kept_bytes)),
        value_if(has_blocks, value_uint(device->kept_count)),
        value_if(!device->is_process, value_uint(device->releases)),
        value_int(device->before_bytes),
        value_if(has_blocks, value_uint(device->older_releases)),
        value_uint(device->failures),
        value_if(device->failures > 0, value_int(device->failed_bytes)),
        value_int(device->shard.pid),
        value_int(device->start_ns),
        value_int(device->peak_ns),
        value_int(device->end_ns),
    };
    sheet_row(sheet, cells, 0);
}

static void put_categories(struct sheet *sheet, const struct memory_life *life,
                           const struct memory_device *shown)
{
    sheet_table(sheet, shown->has_addresses ? &category_table : &category_data);
    for (size_t i = 0; i < life->device_count; i++) {
        const struct memory_device *device = &life->devices[i];
        int64_t left = device->peak_bytes;
        for (int k = 0; k <= MEMORY_CATEGORY_COUNT && device->has_addresses; k++) {
            const bool is_rest = k == MEMORY_CATEGORY_COUNT; // from before the record
            const int64_t bytes = is_rest ? left : device->at_peak[k];
            left -= is_rest ? 0 : bytes;
            const struct value cells[] = {
                value_text(is_rest ? "from before" : memory_category_word(k)),
                value_int(bytes),
                value_share(natural(bytes), natural(device->peak_bytes)),
                value_int(bytes),
                value_text(device->name),
                value_rank(device->shard.rank),
            };
            if (bytes > 0)
                sheet_row(sheet, cells, device == shown ? 0 : ROW_HIDDEN);
        }
    }
    sheet_end(sheet);
}

static void put_owner(struct sheet *sheet, const struct memory_life *life,
                      const struct memory_holder *holder, unsigned flags)
{
    const struct memory_device *device = &life->devices[holder->device];
    char path[MOST_PATH];
    memory_owners_path(&life->owners, holder->place, path, sizeof path);
    const struct value cells[] = {
        value_text(holder->name[0] ? holder->name : "not known"),
        value_if(device->has_addresses, value_uint(holder->peak_bytes)),
        value_if(device->has_addresses, value_uint(holder->peak_count)),
        value_if(device->has_addresses, value_uint(holder->kept_bytes)),
        value_text(memory_category_word(holder->category)),
        value_text(device->name),
        value_rank(device->shard.rank),
        value_uint(holder->allocations),
        value_uint(holder->allocated_bytes),
        value_if(device->has_addresses, value_uint(holder->kept_count)),
        value_if(path[0] != '\0', value_text(path)),
    };
    sheet_row(sheet, cells, flags);
}

static void put_owners(struct sheet *sheet, const struct memory_life *life,
                       const struct memory_device *shown)
{
    static const struct table data = {.key = "owners", COLUMNS_ARE(owner_columns)};
    const struct table *seen = shown->has_addresses ? &owner_table : &taker_table;
    sheet_table(sheet, shown->is_process ? &data : seen);
    for (size_t i = 0; i < life->holder_count; i++) {
        const struct memory_holder *holder = &life->holders[i];
        const bool is_seen = &life->devices[holder->device] == shown &&
                             (holder->peak_bytes > 0 || !shown->has_addresses);
        put_owner(sheet, life, holder, is_seen ? 0 : ROW_HIDDEN);
    }
    sheet_end(sheet);
}

static int by_kept(const void *left, const void *right)
{
    const struct memory_holder *a = *(const struct memory_holder *const *)left,
                               *b = *(const struct memory_holder *const *)right;
    RETURN_IF_APART(b->kept_bytes, a->kept_bytes);
    return a < b ? -1 : a > b;
}

static int put_kept(struct sheet *sheet, const struct memory_life *life,
                    const struct memory_device *shown, bool is_part)
{
    const struct memory_holder **kept = calloc(life->holder_count + 1, sizeof(void *));
    size_t count = 0;
    if (!kept)
        return fail(GAIT_ERR_MEMORY, "no memory for what was kept");
    for (size_t i = 0; i < life->holder_count; i++)
        if (life->holders[i].kept_count && &life->devices[life->holders[i].device] == shown)
            kept[count++] = &life->holders[i];
    qsort(kept, count, sizeof(void *), by_kept);
    if (count)
        sheet_table(sheet, is_part ? &part_table : &kept_table);
    for (size_t i = 0; i < count; i++) {
        SHEET_ROW(sheet, value_text(kept[i]->name[0] ? kept[i]->name : "not known"),
                  value_uint(kept[i]->kept_bytes), value_uint(kept[i]->kept_count),
                  value_text(memory_category_word(kept[i]->category)));
    }
    if (count)
        sheet_end(sheet);
    free(kept);
    return GAIT_OK;
}

// --- curves -------------------------------------------------------------------------

static void put_curves(struct sheet *sheet, const struct memory_device *shown)
{
    static const struct series series[] = {
        {.heading = "Allocated", .x_unit = UNIT_NS, .y_unit = UNIT_BYTES, .x_noun = ""},
        {.heading = "Reserved", .x_unit = UNIT_NS, .y_unit = UNIT_BYTES, .x_noun = ""},
    };
    struct point points[MEMORY_MOST_POINTS];
    const struct memory_curve *curve = shown->curve;
    for (size_t kind = 0; kind < 2 && curve->count > 1; kind++) {
        for (size_t i = 0; i < curve->count; i++)
            points[i] =
                (struct point){curve->points[i].at_ns - shown->start_ns,
                               kind ? curve->points[i].reserved : curve->points[i].allocated};
        if (!kind || shown->peak_reserved > 0)
            sheet_series(sheet, &series[kind], points, curve->count);
    }
}

static void put_points(struct sheet *sheet, const struct memory_life *life)
{
    sheet_table(sheet, &point_table);
    for (size_t i = 0; i < life->device_count; i++) {
        const struct memory_device *device = &life->devices[i];
        for (size_t k = 0; k < device->curve->count; k++) {
            const struct memory_point *point = &device->curve->points[k];
            struct value cells[sizeof point_columns / sizeof point_columns[0]];
            size_t at = 0;
            cells[at++] = value_int(point->at_ns);
            cells[at++] = value_int(point->allocated);
            cells[at++] = value_if(device->peak_reserved > 0, value_int(point->reserved));
            for (int c = 0; c < MEMORY_CATEGORY_COUNT; c++)
                cells[at++] = value_if(device->has_addresses, value_int(point->categories[c]));
            cells[at++] = value_text(device->name);
            cells[at++] = value_rank(device->shard.rank);
            sheet_row(sheet, cells, 0);
        }
    }
    sheet_end(sheet);
}

// --- words --------------------------------------------------------------------------

static void put_title(struct sheet *sheet, const struct asked *asked,
                      const struct memory_life *life, const struct memory_device *shown)
{
    char text[400], of[60] = "";
    if (!shown) {
        sheet_title(sheet, asked->path,
                    asked->chosen ? "Of what is chosen no memory is on record"
                                  : "No memory is on record");
        return;
    }
    if (shown->peak_reserved > 0)
        snprintf(of, sizeof of, " of %s reserved", units_bytes(natural(shown->peak_reserved)).text);
    snprintf(text, sizeof text, "At most %s%s on %s, after %s",
             units_bytes(natural(shown->peak_bytes)).text, of, shown->name,
             units_ns(shown->peak_ns - shown->start_ns).text);
    sheet_title(sheet, asked->path, text);
    for (size_t i = 0; i < life->device_count; i++) {
        const struct memory_device *device = &life->devices[i];
        char room[80] = "";
        if (!device->failures)
            continue;
        if (device->failed_free_bytes >= 0)
            snprintf(room, sizeof room, " with %s free",
                     units_bytes(natural(device->failed_free_bytes)).text);
        snprintf(text, sizeof text, "%s was out of memory: %s were asked for%s, %s after the begin",
                 device->name, units_bytes(natural(device->failed_bytes)).text, room,
                 units_ns(device->failed_ns - device->start_ns).text);
        sheet_say(sheet, SAY_ALERT, text);
    }
}

static void say_limits(struct sheet *sheet, const struct memory_device *shown)
{
    char text[300];
    if (!shown)
        sheet_say(sheet, SAY_PARAGRAPH,
                  "gait's runs have it where ops were recorded, torch.profiler's traces with "
                  "profile_memory=True; torch.cuda.memory._dump_snapshot() writes it all.");
    else if (!shown->has_addresses && !shown->is_process)
        sheet_say(sheet, SAY_PARAGRAPH,
                  "The record has no addresses: which block was given back cannot be told, so "
                  "neither who held memory at the peak nor what was kept.");
    if (!shown || !shown->has_addresses || shown->before_bytes <= 0)
        return;
    snprintf(text, sizeof text, "%s were held before the record began.",
             units_bytes(natural(shown->before_bytes)).text);
    sheet_say(sheet, SAY_PARAGRAPH, text);
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    struct memory_life life;
    int status = memory_life_make(&life, asked->trace, asked->chosen);
    if (status)
        return status;
    const struct memory_device *shown = memory_life_fullest(&life);
    put_title(sheet, asked, &life, shown);
    sheet_table(sheet, shown ? &device_table : &no_devices);
    for (size_t i = 0; i < life.device_count; i++)
        put_device(sheet, &life.devices[i]);
    sheet_end(sheet);
    if (shown) {
        put_curves(sheet, shown);
        put_categories(sheet, &life, shown);
        put_owners(sheet, &life, shown);
        status = put_kept(sheet, &life, shown, asked->chosen != NULL);
        put_points(sheet, &life);
    }
    say_limits(sheet, shown);
    memory_life_finish(&life);
    return status;
}

const struct answer memory_answer = {
    .summary = "Shows how much memory a training held over time, who held it when it was most, "
               "and what was never given back.",
    .about =
        {"Takes memory snapshots of PyTorch (torch.cuda.memory._dump_snapshot), traces that "
         "torch.profiler made with profile_memory=True, and gait's runs, which have allocations in "
         "the "
         "windows in which ops are recorded and the memory of the process at each step.",
         "Of several devices the text shows the fullest; JSON and CSV have all. An owner is the "
         "innermost op that does more than take memory, or the innermost line of a stack that is "
         "not "
         "PyTorch's own. Its category follows from where memory was taken: in an optimizer, in the "
         "backward pass, in a module's forward, and so on. What is kept was taken in the record "
         "and "
         "not given back in it. Of gait's windows the one with the highest peak counts.",
         "Of chosen steps, times or a phase the peak is the most that was held in them: what is "
         "alive "
         "when they begin counts as held, by who took it before. Taken, given back and out of "
         "memory is "
         "what happens in them. Kept was taken in them, and not given back before the last of them "
         "ended. A device of which nothing is known there is left out."},
    .examples = {{"gait memory snapshot.pickle", "Who held memory at the peak of a snapshot."},
                 {"gait memory run1 -o memory.html", "The same of a run, with its curves."}},
    .is_rare = true,
    .choice = CHOICE_STEPS | CHOICE_TIME | CHOICE_RANKS | CHOICE_RANK | CHOICE_PHASE,
    .put = put,
};
