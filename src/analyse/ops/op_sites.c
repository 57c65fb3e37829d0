// SPDX-License-Identifier: Apache-2.0
#include "analyse/ops/op_sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "load/site_role.h"

#define STEP_PREFIX "ProfilerStep#"

int op_sites_init(struct op_sites *sites, const struct gait_trace *trace,
                  const struct gait_ops_query *query, struct op_texts *texts)
{
    const uint32_t count = gait_trace_site_count(trace);
    *sites = (struct op_sites){.trace = trace,
                               .query = query,
                               .texts = texts,
                               .rows = calloc((size_t)count + 1, sizeof *sites->rows)};
    return sites->rows ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for %u names", count);
}

void op_sites_finish(struct op_sites *sites)
{
    free(sites->rows);
    *sites = (struct op_sites){.rows = NULL};
}

static bool is_left_out(const char *name)
{
    static const char *const names[] = {
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "aten::is_leaf",
        "aten::output_nr",
        "aten::_version",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static enum op_site_kind kind_of(const struct gait_ops_query *query, enum role role)
{
    static const uint8_t kinds[ROLE_COUNT] = {
        [ROLE_OP] = OP_SITE_OP,
        [ROLE_ANNOTATION] = OP_SITE_OP,
        [ROLE_STEP] = OP_SITE_OP,
        [ROLE_MODULE_BACKWARD] = OP_SITE_OP,
        [ROLE_PYTHON] = OP_SITE_PYTHON,
        [ROLE_RUNTIME] = OP_SITE_CALL,
        [ROLE_OVERHEAD] = OP_SITE_CALL,
        [ROLE_KERNEL] = OP_SITE_DEVICE,
        [ROLE_COLLECTIVE] = OP_SITE_DEVICE,
        [ROLE_COPY] = OP_SITE_DEVICE,
        [ROLE_SET] = OP_SITE_DEVICE,
        [ROLE_SYNC] = OP_SITE_DEVICE,
        [ROLE_DEVICE_ANNOTATION] = OP_SITE_DEVICE,
        [ROLE_MEMORY] = OP_SITE_MEMORY,
    };
    if (role == ROLE_PYTHON && !query->with_stacks)
        return OP_SITE_OTHER;
    if ((role == ROLE_DEVICE_ANNOTATION || role == ROLE_SYNC) && !query->with_device_ranges)
        return OP_SITE_OTHER;
    return kinds[role] == OP_SITE_UNKNOWN ? OP_SITE_OTHER : (enum op_site_kind)kinds[role];
}

static int learn(struct op_sites *sites, uint32_t number, struct op_site *site)
{
    const enum role role = site_role(sites->trace, number);
    struct gait_site_info info;
    int status = gait_trace_site(sites->trace, number, &info);
    if (status)
        return status;
    const bool is_step = strncmp(info.name, STEP_PREFIX, strlen(STEP_PREFIX)) == 0;
    site->kind = is_left_out(info.name) ? OP_SITE_OTHER : kind_of(sites->query, role);
    site->is_range =
        role_is_range(role) || role == ROLE_MODULE_BACKWARD || role == ROLE_DEVICE_ANNOTATION;
    if (site->kind == OP_SITE_OTHER || site->kind == OP_SITE_MEMORY)
        return GAIT_OK;
    status = op_texts_add(sites->texts, slice_of(info.name), &site->called);
    return status ? status
                  : op_texts_add(sites->texts, slice_of(is_step ? "ProfilerStep*" : info.name),
                                 &site->name);
}

int op_sites_get(struct op_sites *sites, uint32_t site, const struct op_site **ret_site)
{
    *ret_site = &sites->rows[site];
    return sites->rows[site].kind == OP_SITE_UNKNOWN ? learn(sites, site, &sites->rows[site])
                                                     : GAIT_OK;
}
