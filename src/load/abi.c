// SPDX-License-Identifier: Apache-2.0
// Only structs that the Python package has a mirror of. One that is missing here, or a
// member, is one that a test there does not find.
#include <gait/internal/abi.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <gait/export.h>
#include <gait/internal/configuration.h>
#include <gait/internal/import.h>
#include <gait/internal/ops.h>
#include <gait/trace.h>

struct member {
    const char *name; // of a struct with "struct " before it
    size_t offset, bytes;
};

#define STRUCT(name) {"struct " #name, 0, sizeof(struct name)},
#define MEMBER(of, name) {#name, offsetof(struct of, name), sizeof(((struct of *)NULL)->name)},

// clang-format off
static const struct member members[] = {
    STRUCT(gait_shard_info)
    MEMBER(gait_shard_info, path) MEMBER(gait_shard_info, host) MEMBER(gait_shard_info, role)
    MEMBER(gait_shard_info, run_id) MEMBER(gait_shard_info, pid) MEMBER(gait_shard_info, rank)
    MEMBER(gait_shard_info, subject_pid) MEMBER(gait_shard_info, start_ns)
    MEMBER(gait_shard_info, end_ns) MEMBER(gait_shard_info, events)
    MEMBER(gait_shard_info, dropped) MEMBER(gait_shard_info, bytes)
    MEMBER(gait_shard_info, overhead_cpu_ns) MEMBER(gait_shard_info, format_version)
    MEMBER(gait_shard_info, complete)
    STRUCT(gait_track_info)
    MEMBER(gait_track_info, shard) MEMBER(gait_track_info, kind) MEMBER(gait_track_info, key)
    MEMBER(gait_track_info, name) MEMBER(gait_track_info, tid) MEMBER(gait_track_info, events)
    MEMBER(gait_track_info, dropped) MEMBER(gait_track_info, internal)
    MEMBER(gait_track_info, parent)
    STRUCT(gait_damage_info)
    MEMBER(gait_damage_info, path) MEMBER(gait_damage_info, offset)
    MEMBER(gait_damage_info, bytes) MEMBER(gait_damage_info, what)
    STRUCT(gait_arg)
    MEMBER(gait_arg, key) MEMBER(gait_arg, kind) MEMBER(gait_arg, integer) MEMBER(gait_arg, real)
    MEMBER(gait_arg, text) MEMBER(gait_arg, text_bytes)
    STRUCT(gait_event)
    MEMBER(gait_event, kind) MEMBER(gait_event, track) MEMBER(gait_event, site)
    MEMBER(gait_event, depth) MEMBER(gait_event, category) MEMBER(gait_event, name)
    MEMBER(gait_event, start_ns) MEMBER(gait_event, duration_ns) MEMBER(gait_event, id)
    MEMBER(gait_event, value) MEMBER(gait_event, real) MEMBER(gait_event, is_real)
    MEMBER(gait_event, phase) MEMBER(gait_event, args) MEMBER(gait_event, fields)
    MEMBER(gait_event, arg_count) MEMBER(gait_event, field_count) MEMBER(gait_event, link)
    MEMBER(gait_event, op) MEMBER(gait_event, bytes)
    STRUCT(gait_query)
    MEMBER(gait_query, size) MEMBER(gait_query, kinds) MEMBER(gait_query, since_ns)
    MEMBER(gait_query, until_ns) MEMBER(gait_query, tracks) MEMBER(gait_query, track_count)
    MEMBER(gait_query, internal)
    STRUCT(gait_export_step)
    MEMBER(gait_export_step, number) MEMBER(gait_export_step, begin_ns)
    MEMBER(gait_export_step, end_ns)
    STRUCT(gait_export_options)
    MEMBER(gait_export_options, size) MEMBER(gait_export_options, format)
    MEMBER(gait_export_options, gzip) MEMBER(gait_export_options, internal)
    MEMBER(gait_export_options, since_ns) MEMBER(gait_export_options, until_ns)
    MEMBER(gait_export_options, more) MEMBER(gait_export_options, more_context)
    MEMBER(gait_export_options, process) MEMBER(gait_export_options, steps)
    MEMBER(gait_export_options, step_count) MEMBER(gait_export_options, step_track)
    MEMBER(gait_export_options, metadata) MEMBER(gait_export_options, distributed)
    MEMBER(gait_export_options, has_strides) MEMBER(gait_export_options, max_bytes)
    MEMBER(gait_export_options, ret_is_partial)
    STRUCT(gait_device_import)
    MEMBER(gait_device_import, size) MEMBER(gait_device_import, trace)
    MEMBER(gait_device_import, shard) MEMBER(gait_device_import, owner)
    MEMBER(gait_device_import, pid) MEMBER(gait_device_import, rank)
    MEMBER(gait_device_import, since_ns) MEMBER(gait_device_import, until_ns)
    STRUCT(gait_op)
    MEMBER(gait_op, start_us) MEMBER(gait_op, end_us) MEMBER(gait_op, kernel_us)
    MEMBER(gait_op, thread) MEMBER(gait_op, fwd_thread) MEMBER(gait_op, seq)
    MEMBER(gait_op, cpu_bytes) MEMBER(gait_op, device_bytes) MEMBER(gait_op, flops)
    MEMBER(gait_op, name) MEMBER(gait_op, node) MEMBER(gait_op, key) MEMBER(gait_op, overload)
    MEMBER(gait_op, shapes) MEMBER(gait_op, stack) MEMBER(gait_op, flags) MEMBER(gait_op, called)
    STRUCT(gait_ops_query)
    MEMBER(gait_ops_query, size) MEMBER(gait_ops_query, pid) MEMBER(gait_ops_query, since_ns)
    MEMBER(gait_ops_query, until_ns) MEMBER(gait_ops_query, origin_ns)
    MEMBER(gait_ops_query, without_shapes) MEMBER(gait_ops_query, with_memory)
    MEMBER(gait_ops_query, with_flops) MEMBER(gait_ops_query, with_stacks)
    MEMBER(gait_ops_query, with_device_ranges) MEMBER(gait_ops_query, only_shard)
    MEMBER(gait_ops_query, without_functions)
    STRUCT(gait_op_sums)
    MEMBER(gait_op_sums, count) MEMBER(gait_op_sums, cpu_us) MEMBER(gait_op_sums, self_cpu_us)
    MEMBER(gait_op_sums, device_us) MEMBER(gait_op_sums, self_device_us)
    MEMBER(gait_op_sums, cpu_bytes) MEMBER(gait_op_sums, self_cpu_bytes)
    MEMBER(gait_op_sums, device_bytes) MEMBER(gait_op_sums, self_device_bytes)
    MEMBER(gait_op_sums, flops_low) MEMBER(gait_op_sums, flops_high) MEMBER(gait_op_sums, first)
    MEMBER(gait_op_sums, parent) MEMBER(gait_op_sums, stack) MEMBER(gait_op_sums, reserved)
    STRUCT(gait_grouping)
    MEMBER(gait_grouping, size) MEMBER(gait_grouping, by_shapes)
    MEMBER(gait_grouping, by_overload) MEMBER(gait_grouping, stacks)
    MEMBER(gait_grouping, stack_count)
    STRUCT(gait_config_request)
    MEMBER(gait_config_request, size) MEMBER(gait_config_request, file)
    MEMBER(gait_config_request, arguments) MEMBER(gait_config_request, argument_count)
    MEMBER(gait_config_request, arguments_from) MEMBER(gait_config_request, has_no_file)
    MEMBER(gait_config_request, has_no_variables) MEMBER(gait_config_request, is_strict)
    MEMBER(gait_config_request, is_section)
};
// clang-format on

static char text[8192];

static void write_text(void)
{
    size_t used = 0;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && used < sizeof(text); i++) {
        const struct member *member = &members[i];
        const bool is_struct = strncmp(member->name, "struct ", 7) == 0;
        const int bytes =
            snprintf(text + used, sizeof(text) - used, is_struct ? "%s %zu\n" : "%s %zu %zu\n",
                     member->name, is_struct ? member->bytes : member->offset, member->bytes);
        used += bytes > 0 ? (size_t)bytes : 0;
    }
}

const char *gait_abi_layout(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, write_text);
    return text;
}
