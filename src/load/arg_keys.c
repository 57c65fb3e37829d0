// SPDX-License-Identifier: Apache-2.0
#include "load/arg_keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { MOST_PLANS = 1 << 14, FIRST_ROOM = 64 };

void arg_keys_init(struct arg_keys *keys, const char *const *names, size_t count)
{
    *keys = (struct arg_keys){.keys = names, .count = count};
    arg_list_init(&keys->list);
}

void arg_keys_finish(struct arg_keys *keys)
{
    hash_index_finish(&keys->index);
    free(keys->plans);
    arg_list_finish(&keys->list);
}

// The number of the key, or how many there are.
static size_t number_of(const struct arg_keys *keys, const char *key)
{
    size_t i = 0;
    while (i < keys->count && strcmp(keys->keys[i], key) != 0)
        i++;
    return i;
}

static struct arg_plan make_plan(const struct arg_keys *keys, const struct dictionary *dictionary,
                                 uint64_t form, struct slice args)
{
    struct arg_plan plan = {.dictionary = dictionary, .form = form, .is_simple = true};
    struct args_item item;
    while (args_next(&args, &item) == 1) { // what stands in front of nonsense is kept
        const size_t at = number_of(keys, dictionary_text(dictionary, item.key));
        if (at == keys->count)
            continue;
        plan.is_there[at] = true;
        plan.items[at] = item;
        plan.is_simple = plan.is_simple && item.kind != ARGS_TEXT && item.kind != ARGS_RAW;
    }
    return plan;
}

static int find_plan(struct arg_keys *keys, const struct dictionary *dictionary, uint64_t form,
                     struct slice args, const struct arg_plan **ret_plan)
{
    const uint32_t hash = (uint32_t)hash_mix((uint64_t)(uintptr_t)dictionary, form);
    if (keys->plan_count == MOST_PLANS) { // a form an event: nothing is gained by keeping them
        keys->plan_count = 0;
        hash_index_clear(&keys->index);
    }
    int status = hash_index_reserve(&keys->index, FIRST_ROOM);
    if (!status)
        status = ARRAY_RESERVE(keys->plans, keys->plan_capacity, keys->plan_count + 1, MOST_PLANS);
    if (status)
        return status;
    size_t at = hash_index_first(&keys->index, hash);
    for (; keys->index.places[at].row; at = hash_index_next(&keys->index, at)) {
        *ret_plan = &keys->plans[keys->index.places[at].row - 1];
        if ((*ret_plan)->form == form && (*ret_plan)->dictionary == dictionary)
            return GAIT_OK;
    }
    hash_index_put(&keys->index, at, hash, (uint32_t)keys->plan_count);
    keys->plans[keys->plan_count] = make_plan(keys, dictionary, form, args);
    *ret_plan = &keys->plans[keys->plan_count++];
    return GAIT_OK;
}

static int read_all(struct arg_keys *keys, const struct dictionary *dictionary,
                    const struct arg_source *source, struct gait_arg *ret_args)
{
    const int status = arg_list_unpack(&keys->list, source, dictionary);
    for (size_t i = 0; i < keys->list.count; i++) {
        const size_t at = number_of(keys, keys->list.args[i].key);
        if (at < keys->count)
            ret_args[at] = keys->list.args[i];
    }
    return status == GAIT_ERR_FORMAT ? GAIT_OK : status;
}

int arg_keys_read(struct arg_keys *keys, const struct dictionary *dictionary, uint64_t form,
                  const struct arg_source *source, struct gait_arg *ret_args)
{
    const struct arg_plan *plan = NULL;
    memset(ret_args, 0, keys->count * sizeof *ret_args);
    if (!source->form.count && !source->packed.count)
        return GAIT_OK;
    const int status =
        source->packed.count ? GAIT_OK : find_plan(keys, dictionary, form, source->form, &plan);
    if (status)
        return status;
    if (!plan || !plan->is_simple)
        return read_all(keys, dictionary, source, ret_args);
    for (size_t i = 0; i < keys->count; i++)
        if (plan->is_there[i])
            arg_list_value(&ret_args[i], &plan->items[i], source, dictionary);
    return GAIT_OK;
}
