// SPDX-License-Identifier: Apache-2.0
#include "ingest/names/used_names.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"

static int init_ids(struct used_ids *ids, size_t most)
{
    ids->most = most;
    ids->has = calloc(most / 8 + 1, 1);
    return ids->has ? 0 : fail(GAIT_ERR_MEMORY, "no memory for the names of a trace");
}

int used_names_init(struct used_names *used, const struct event_store *store)
{
    const size_t forms = store->forms.packed.texts.count;
    *used = (struct used_names){.store = store};
    int status = init_ids(&used->strings, store->strings.texts.count);
    if (!status)
        status = init_ids(&used->sites, store->site_names.texts.count);
    if (!status)
        status = init_ids(&used->forms, forms);
    used->text_blanks = status ? NULL : calloc(forms + 1, sizeof *used->text_blanks);
    if (!status && !used->text_blanks)
        status = fail(GAIT_ERR_MEMORY, "no memory for the names of a trace");
    return status;
}

void used_names_finish(struct used_names *used)
{
    struct used_ids *const all[] = {&used->strings, &used->sites, &used->forms};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]->has);
        free(all[i]->ids);
    }
    free(used->text_blanks);
}

// Sets `ret_is_new` where it was not there.
static int add_id(struct used_ids *ids, uint64_t id, bool *ret_is_new)
{
    *ret_is_new = false;
    if (!id || id > ids->most || ids->has[id / 8] >> id % 8 & 1)
        return 0;
    int status = ARRAY_RESERVE(ids->ids, ids->capacity, ids->count + 1, ids->most);
    if (status)
        return status;
    ids->has[id / 8] |= (uint8_t)(1u << id % 8);
    ids->ids[ids->count++] = (uint32_t)id;
    *ret_is_new = true;
    return 0;
}

static int add_string(struct used_names *used, uint64_t id)
{
    bool is_new;
    return add_id(&used->strings, id, &is_new);
}

static int add_items(struct used_names *used, struct slice args, uint16_t *text_blanks)
{
    struct args_item item;
    int status = 0;
    while (!status && args_next(&args, &item) == 1) {
        status = add_string(used, item.key);
        if (!status && (item.kind == ARGS_STRING || item.kind == ARGS_JSON))
            status = add_string(used, (uint64_t)item.integer);
        if (item.kind == ARGS_BLANK_STRING || item.kind == ARGS_BLANK_JSON)
            *text_blanks |= (uint16_t)(1u << item.blank);
    }
    return status;
}

static int add_form(struct used_names *used, uint32_t form)
{
    struct slice args, fields;
    form_table_bytes(&used->store->forms, form, &args, &fields);
    int status = add_items(used, args, &used->text_blanks[form]);
    return status ? status : add_items(used, fields, &used->text_blanks[form]);
}

static int add_site(struct used_names *used, const struct store_site *site)
{
    const int status = add_string(used, site->category);
    return status ? status : add_string(used, site->name);
}

int used_names_add(struct used_names *used, const struct row *row)
{
    bool is_new;
    int status = add_id(&used->sites, row->site, &is_new);
    if (!status && is_new)
        status = add_site(used, &used->store->sites[row->site - 1]);
    if (!status)
        status = add_id(&used->forms, row->form.form, &is_new);
    if (!status && is_new)
        status = add_form(used, row->form.form);
    if (status || !row->form.form)
        return status;
    const unsigned blanks = used->text_blanks[row->form.form] & row->form.mask;
    for (unsigned i = 0; !status && blanks >> i; i++)
        if (blanks >> i & 1)
            status = add_string(used, row->form.values[i]);
    return status;
}

static int compare(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

void used_names_sort(struct used_names *used)
{
    struct used_ids *const all[] = {&used->strings, &used->sites, &used->forms};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ARRAY_SORT(all[i]->ids, all[i]->count, compare);
}
