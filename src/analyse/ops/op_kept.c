// SPDX-License-Identifier: Apache-2.0
#include "analyse/ops/op_kept.h"

#include <stdlib.h>

#include "analyse/ops/op_list.h"
#include "base/fail.h"
#include "facts/facts_file.h"

struct kept_op {
    const char *name, *shapes;
    uint32_t kind; // the last two bits of a key
    uint32_t flags;
    struct gait_op_sums sums;
};

static const struct fact_field fields[] = {
    FACT_FIELD(TEXT, kept_op, name),
    FACT_FIELD(TEXT, kept_op, shapes),
    FACT_FIELD(WORD, kept_op, kind),
    FACT_FIELD(WORD, kept_op, flags),
    FACT_FIELD(NUMBER, kept_op, sums.count),
    FACT_FIELD(REAL, kept_op, sums.cpu_us),
    FACT_FIELD(REAL, kept_op, sums.self_cpu_us),
    FACT_FIELD(REAL, kept_op, sums.device_us),
    FACT_FIELD(REAL, kept_op, sums.self_device_us),
    FACT_FIELD(NUMBER, kept_op, sums.cpu_bytes),
    FACT_FIELD(NUMBER, kept_op, sums.self_cpu_bytes),
    FACT_FIELD(NUMBER, kept_op, sums.device_bytes),
    FACT_FIELD(NUMBER, kept_op, sums.self_device_bytes),
    FACT_FIELD(NUMBER, kept_op, sums.flops_low),
    FACT_FIELD(NUMBER, kept_op, sums.flops_high),
};
static const struct fact_list list = FACT_LIST(OPS, kept_op, fields);

static int add(struct gait_ops *ops, const struct kept_op *kept)
{
    struct gait_op op = {.flags = kept->flags};
    int status = op_texts_add(&ops->texts, slice_of(kept->name), &op.name);
    if (!status)
        status = op_texts_add(&ops->texts, slice_of(kept->shapes), &op.shapes);
    if (status)
        return status;
    op.called = op.name;
    op.key = op.name * 4 + (kept->kind & 3);
    ops->rows[ops->row_count] = kept->sums;
    ops->rows[ops->row_count].first = (uint32_t)ops->count;
    ops->rows[ops->row_count].parent = GAIT_OP_NO_PARENT;
    ops->row_count++;
    return gait_ops_add(ops, &op, 1);
}

int op_kept_load(struct gait_ops *ops, struct facts_file *file)
{
    struct kept_op *kept;
    size_t count;
    int status = facts_file_take(file, &list, (void **)&kept, &count);
    if (status != 1)
        return status;
    ops->rows = malloc((count + 1) * sizeof *ops->rows);
    status = ops->rows ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for %zu rows", count);
    for (size_t i = 0; i < count && !status; i++)
        status = add(ops, &kept[i]);
    free(kept);
    return status ? status : 1;
}

bool op_kept_is_there(const struct facts_file *file)
{
    return facts_file_has(file, &list);
}

int op_kept_save(const struct gait_ops *ops, struct facts_file *file)
{
    struct kept_op *kept = calloc(ops->row_count + 1, sizeof *kept);
    if (!kept)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu rows", ops->row_count);
    for (size_t i = 0; i < ops->row_count; i++) {
        const struct gait_op *op = &ops->ops[ops->rows[i].first];
        kept[i] = (struct kept_op){op_texts_get(&ops->texts, op->name),
                                   op_texts_get(&ops->texts, op->shapes), op->key & 3, op->flags,
                                   ops->rows[i]};
    }
    const int status = facts_file_put(file, &list, kept, ops->row_count);
    free(kept);
    return status;
}
