// SPDX-License-Identifier: Apache-2.0
#include "facts/fact_cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "load/shard_owner.h"

// --- sites -----------------------------------------------------------------------------

static uint32_t shard_at(const struct fact_sites *sites, uint32_t number)
{
    if (!number)
        return sites->owner;
    uint32_t shard = shard_owned_first(sites->run, sites->owner);
    while (--number && shard != RUN_NO_SHARD)
        shard = shard_owned_next(sites->run, shard);
    return shard;
}

static void learn(uint64_t *places, uint32_t number, const struct id_map *map)
{
    for (uint64_t id = 0; id < (uint64_t)map->page_count * ID_MAP_PAGE; id++) {
        const uint32_t found = id_map_get(map, id);
        if (found && !places[found - 1])
            places[found - 1] = ((uint64_t)number << 32 | id) + 1;
    }
}

int fact_sites_init(struct fact_sites *sites, const struct run *run, uint32_t owner)
{
    uint32_t shard;
    *sites = (struct fact_sites){.run = run,
                                 .owner = owner,
                                 .places = calloc(run->sites.count + 1, sizeof *sites->places),
                                 .track_places =
                                     calloc(run->tracks.count + 1, sizeof *sites->track_places)};
    if (!sites->places || !sites->track_places)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu names", run->sites.count);
    for (uint32_t i = 0; (shard = shard_at(sites, i)) != RUN_NO_SHARD; i++) {
        learn(sites->places, i, &run->shards[shard]->dictionary.sites);
        learn(sites->track_places, i, &run->shards[shard]->dictionary.tracks);
    }
    return GAIT_OK;
}

void fact_sites_finish(struct fact_sites *sites)
{
    free(sites->places);
    free(sites->track_places);
}

// 0: none.
static uint64_t place_of(const struct fact_sites *sites, uint32_t site)
{
    return site < sites->run->sites.count ? sites->places[site] : 0;
}

// The shard in which such a place is; RUN_NO_SHARD: in none of the rank.
static uint32_t shard_of(const struct fact_sites *sites, uint64_t place)
{
    return (place - 1) >> 32 > sites->run->shard_count
               ? RUN_NO_SHARD
               : shard_at(sites, (uint32_t)((place - 1) >> 32));
}

static bool site_of(const struct fact_sites *sites, uint64_t place, uint32_t *ret_site)
{
    *ret_site = GAIT_NO_SITE;
    if (!place)
        return true;
    const uint32_t shard = shard_of(sites, place);
    if (shard == RUN_NO_SHARD)
        return false;
    const struct id_map *map = &sites->run->shards[shard]->dictionary.sites;
    const uint32_t site = id_map_get(map, (uint32_t)(place - 1));
    *ret_site = site - 1;
    return site != 0;
}

static uint64_t place_of_track(const struct fact_sites *sites, uint32_t track)
{
    return track < sites->run->tracks.count ? sites->track_places[track] : 0;
}

static bool track_of(const struct fact_sites *sites, uint64_t place, uint32_t *ret_track)
{
    const uint32_t shard = place ? shard_of(sites, place) : RUN_NO_SHARD;
    if (shard == RUN_NO_SHARD)
        return false;
    const struct id_map *map = &sites->run->shards[shard]->dictionary.tracks;
    const uint32_t track = id_map_get(map, (uint32_t)(place - 1));
    *ret_track = track - 1;
    return track != 0;
}

// --- columns ---------------------------------------------------------------------------

static const size_t bytes_of[] = {
    [FACT_NUMBER] = 8, [FACT_WORD] = 4,  [FACT_SMALL] = 4, [FACT_TRUTH] = sizeof(bool),
    [FACT_REAL] = 8,   [FACT_WIDE] = 16, [FACT_SITE] = 4,  [FACT_TEXT] = sizeof(char *),
    [FACT_TRACK] = 4,
};

void fact_cells_used(const struct fact_list *list, unsigned *ret_numbers, unsigned *ret_texts)
{
    *ret_numbers = *ret_texts = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct fact_field *field = &list->fields[i];
        const unsigned count = (unsigned)field->count;
        *(field->type == FACT_TEXT ? ret_texts : ret_numbers) +=
            field->type == FACT_WIDE ? 2 * count : count;
    }
}

static uint64_t number_at(const struct fact_sites *sites, enum fact_type type, const char *at)
{
    uint64_t number = 0;
    uint32_t word;
    bool truth;
    switch (type) {
    case FACT_WORD:
    case FACT_SITE:
        memcpy(&word, at, sizeof word);
        return type == FACT_SITE ? place_of(sites, word) : word;
    case FACT_TRACK:
        memcpy(&word, at, sizeof word);
        return place_of_track(sites, word);
    case FACT_SMALL:
        memcpy(&word, at, sizeof word);
        return (uint64_t)(int64_t)(int32_t)word;
    case FACT_TRUTH:
        memcpy(&truth, at, sizeof truth);
        return truth;
    default:
        memcpy(&number, at, sizeof number);
        return number;
    }
}

static bool put_number(const struct fact_sites *sites, enum fact_type type, char *at,
                       uint64_t number)
{
    uint32_t word = (uint32_t)number;
    const bool truth = number != 0;
    switch (type) {
    case FACT_SITE:
        if (!site_of(sites, number, &word))
            return false;
        memcpy(at, &word, sizeof word);
        return true;
    case FACT_TRACK:
        if (!track_of(sites, number, &word))
            return false;
        memcpy(at, &word, sizeof word);
        return true;
    case FACT_WORD:
        memcpy(at, &word, sizeof word);
        return number <= UINT32_MAX;
    case FACT_SMALL:
        memcpy(at, &word, sizeof word);
        return (uint64_t)(int64_t)(int32_t)word == number;
    case FACT_TRUTH:
        memcpy(at, &truth, sizeof truth);
        return number <= 1;
    default:
        memcpy(at, &number, sizeof number);
        return true;
    }
}

// One member of a struct, one of several in a row or half of a wide one.
struct member {
    enum fact_type type;
    size_t offset;
};

static size_t list_members(const struct fact_list *list, bool of_texts, struct member *members,
                           size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct fact_field *field = &list->fields[i];
        const unsigned parts = field->type == FACT_WIDE ? 2 : 1;
        if ((field->type == FACT_TEXT) != of_texts)
            continue;
        for (size_t k = 0; k < parts * field->count && count < most; k++)
            members[count++] =
                (struct member){field->type, field->offset + k * (bytes_of[field->type] / parts)};
    }
    return count;
}

void fact_cells_fill(struct fact_cells *cells, const struct fact_list *list, const void *rows,
                     size_t count)
{
    struct member members[FACT_NUMBERS];
    const size_t numbers = list_members(list, false, members, FACT_NUMBERS);
    for (size_t k = 0; k < numbers; k++)
        for (size_t i = 0; i < count; i++)
            cells->numbers[k][i] =
                number_at(cells->sites, members[k].type,
                          (const char *)rows + i * list->row_bytes + members[k].offset);
    const size_t texts = list_members(list, true, members, FACT_TEXTS);
    for (size_t k = 0; k < texts; k++)
        for (size_t i = 0; i < count; i++) {
            const char *text;
            memcpy(&text, (const char *)rows + i * list->row_bytes + members[k].offset,
                   sizeof text);
            cells->texts[k][i] = slice_of(text ? text : "");
        }
}

// Each text stands behind a byte, so that its place is never 0.
static bool keep_text(struct buffer *texts, struct slice text, uintptr_t *ret_place)
{
    *ret_place = 0;
    if ((text.count && memchr(text.bytes, 0, text.count)) || buffer_append(texts, "", 1))
        return false;
    *ret_place = texts->used;
    return !(text.count && buffer_append(texts, text.bytes, text.count)) &&
           !buffer_append(texts, "", 1);
}

bool fact_cells_read(const struct fact_cells *cells, const struct fact_list *list, void *rows,
                     size_t count, struct buffer *texts)
{
    struct member members[FACT_NUMBERS];
    const size_t numbers = list_members(list, false, members, FACT_NUMBERS);
    bool is_good = true;
    for (size_t k = 0; k < numbers; k++)
        for (size_t i = 0; i < count; i++)
            is_good &= put_number(cells->sites, members[k].type,
                                  (char *)rows + i * list->row_bytes + members[k].offset,
                                  cells->numbers[k][i]);
    const size_t kinds = list_members(list, true, members, FACT_TEXTS);
    for (size_t k = 0; k < kinds; k++)
        for (size_t i = 0; i < count && is_good; i++) {
            uintptr_t place;
            is_good = keep_text(texts, cells->texts[k][i], &place);
            memcpy((char *)rows + i * list->row_bytes + members[k].offset, &place, sizeof place);
        }
    return is_good;
}

void fact_cells_place(const struct fact_list *list, void *rows, size_t count, const char *texts)
{
    struct member members[FACT_TEXTS];
    const size_t kinds = list_members(list, true, members, FACT_TEXTS);
    for (size_t k = 0; k < kinds; k++)
        for (size_t i = 0; i < count; i++) {
            char *at = (char *)rows + i * list->row_bytes + members[k].offset;
            uintptr_t place;
            memcpy(&place, at, sizeof place);
            const char *text = texts + place;
            memcpy(at, &text, sizeof text);
        }
}
