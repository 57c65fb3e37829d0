// SPDX-License-Identifier: Apache-2.0
// Each rule is one function; the order is that of the sentences people get.
#include "config/config_check.h"

#include <gait/internal/schedule.h>

#include <string.h>

#include "base/fail.h"

// "'wait_steps' (config.yaml:4)"
#define SPELLED "'%s' (%s)"
#define SPELLING(entry) (entry)->spelled, (entry)->where

// Traces are stored of what is recorded: without it the wish is a mistake. An
// `enabled: false` that is stronger only switches off what the file asks for.
static int check_store(struct config *config)
{
    const struct config_entry *store = config_entry_of(config, SETTING_STORE_TRACES);
    const struct config_entry *enabled = config_entry_of(config, SETTING_ENABLED);
    bool is_asked = store->level > CONFIG_DEFAULT && config_flag(config, SETTING_STORE_TRACES);
    if (!is_asked || config_flag(config, SETTING_ENABLED) || enabled->level > store->level)
        return GAIT_OK;
    const char *fix = strncmp(store->spelled, "store_torch", 11) ? "enabled: true"
                                                                 : "enable_torch_profiling: True";
    if (enabled->level == CONFIG_DEFAULT)
        return fail(
            GAIT_ERR_ARGUMENT,
            "%s: '%s' stores nothing while profiling is off: add '%s' or remove the setting",
            store->where, store->spelled, fix);
    return fail(GAIT_ERR_ARGUMENT,
                "%s: '%s' stores nothing while profiling is off: write '%s' where " SPELLED
                " is false, or take it away",
                store->where, store->spelled, fix, SPELLING(enabled));
}

// `wait_steps` beside `unit: epoch`, or beside `warmup_epochs`.
static int check_units(struct config *config)
{
    static const enum setting_id counted[] = {SETTING_WAIT, SETTING_WARMUP, SETTING_ACTIVE,
                                              SETTING_EVERY_N_STEPS};
    const struct config_entry *unit = config_entry_of(config, SETTING_UNIT);
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        const struct config_entry *entry = config_entry_of(config, counted[i]);
        if (entry->unit && strcmp(entry->unit, unit->text) != 0)
            return fail(GAIT_ERR_ARGUMENT,
                        "%s: '%s' counts %ss, but the unit is %s by " SPELLED
                        ": use one unit for all",
                        entry->where, entry->spelled, entry->unit, unit->text, SPELLING(unit));
    }
    return GAIT_OK;
}

static int settle_epochs(struct config *config, const struct config_entry *epochs,
                         const int64_t values[3])
{
    static const enum setting_id ids[] = {SETTING_WAIT, SETTING_WARMUP, SETTING_ACTIVE};
    const struct config_entry because = *epochs;
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < 3; i++) {
        const char *text = config_print(config, "%lld", (long long)values[i]);
        if (config_number(config, ids[i]) != values[i])
            status = config_settle(config, ids[i], text, &because);
    }
    return status;
}

// A length that only the trainer says shortens a plan that does not fit, and itwinai's, of which
// the length is a part.
static bool does_length_count(const struct config *config, const struct config_entry *epochs)
{
    const char *enabled = config_entry_of(config, SETTING_ENABLED)->spelled;
    const int64_t needs =
        config_number(config, SETTING_SKIP_FIRST) + config_number(config, SETTING_WAIT) +
        config_number(config, SETTING_WARMUP) + config_number(config, SETTING_ACTIVE);
    return !epochs->is_implied || needs > config_number(config, SETTING_EPOCHS) ||
           (enabled && strstr(enabled, "torch_profiling"));
}

// itwinai's rule, see gait/internal/schedule.h, for a training whose length is said.
static int clamp_to_epochs(struct config *config)
{
    const struct config_entry *epochs = config_entry_of(config, SETTING_EPOCHS);
    int64_t count = config_number(config, SETTING_EPOCHS);
    struct gait_schedule schedule = {.size = sizeof schedule,
                                     .wait = config_number(config, SETTING_WAIT),
                                     .warmup = config_number(config, SETTING_WARMUP),
                                     .active = 1,
                                     .unit = GAIT_UNIT_EPOCH};
    if (!count || strcmp(config_text(config, SETTING_UNIT), "epoch") != 0 ||
        !config_is_default(config, SETTING_ACTIVE) || !does_length_count(config, epochs))
        return GAIT_OK;
    int given_way =
        gait_schedule_clamp(&schedule, count - config_number(config, SETTING_SKIP_FIRST));
    if (given_way < 0)
        return fail(GAIT_ERR_ARGUMENT, "%s: '%s' leaves no epoch to record", epochs->where,
                    epochs->spelled);
    if (given_way)
        config_notice(config,
                      "%s epochs are too few for wait %s and warmup %s: they are %lld and "
                      "%lld",
                      epochs->text, config_text(config, SETTING_WAIT),
                      config_text(config, SETTING_WARMUP), (long long)schedule.wait,
                      (long long)schedule.warmup);
    return settle_epochs(config, epochs,
                         (int64_t[]){schedule.wait, schedule.warmup, schedule.active});
}

static int check_cycle(struct config *config)
{
    const struct config_entry *every = config_entry_of(config, SETTING_EVERY_N_STEPS);
    int64_t cycle = config_number(config, SETTING_WAIT) + config_number(config, SETTING_WARMUP) +
                    config_number(config, SETTING_ACTIVE);
    int64_t length = config_number(config, SETTING_EVERY_N_STEPS);
    if (length && length < cycle)
        return fail(GAIT_ERR_ARGUMENT,
                    "%s: '%s' is %lld, but wait + warmup + active are %lld: "
                    "make it %lld or more, or 0",
                    every->where, every->spelled, (long long)length, (long long)cycle,
                    (long long)cycle);
    if (!config_number(config, SETTING_WARMUP) && config_flag(config, SETTING_ENABLED))
        config_notice(
            config,
            "warmup is 0: the first recorded %s includes the cost of starting the recording",
            config_text(config, SETTING_UNIT));
    return GAIT_OK;
}

static int check_table(struct config *config)
{
    const struct config_entry *shapes = config_entry_of(config, SETTING_GROUP_BY_INPUT_SHAPE);
    const struct config_entry *stacks = config_entry_of(config, SETTING_GROUP_BY_STACK_N);
    if (config_flag(config, SETTING_GROUP_BY_INPUT_SHAPE) &&
        !config_flag(config, SETTING_RECORD_SHAPES))
        return fail(GAIT_ERR_ARGUMENT, "%s: '%s' needs shapes: add 'record_shapes: true'",
                    shapes->where, shapes->spelled);
    if (config_number(config, SETTING_GROUP_BY_STACK_N) && !config_flag(config, SETTING_WITH_STACK))
        return fail(GAIT_ERR_ARGUMENT, "%s: '%s' needs stacks: add 'with_stack: true'",
                    stacks->where, stacks->spelled);
    if (!config_flag(config, SETTING_RECORD_SHAPES) && config_flag(config, SETTING_WITH_FLOPS) &&
        config_flag(config, SETTING_ENABLED))
        config_notice(config, "gait computes FLOPs from shapes: set record_shapes to get them");
    return GAIT_OK;
}

static void tell_profiler(struct config *config)
{
    const struct config_entry *profiler = config_entry_of(config, SETTING_PROFILER);
    if (!strcmp(profiler->text, "xla"))
        config_notice(config,
                      "%s: '%s' is 'xla', which gait does not support yet: meanwhile use "
                      "Lightning's XLAProfiler",
                      profiler->where, profiler->spelled);
}

static bool is_said(const struct config *config, enum setting_id id)
{
    const struct config_entry *entry = config_entry_of(config, id);
    return entry->level > CONFIG_DEFAULT && strcmp(entry->text, setting_table[id].standard) != 0;
}

// What is asked for and not there yet, one sentence each.
static void tell_later(struct config *config)
{
    tell_profiler(config);
    const char *devices = config_text(config, SETTING_ACTIVITIES);
    if (strcmp(devices, "cpu") != 0)
        config_notice(config,
                      "activities %s: gait records the calls that launch device kernels, but not "
                      "yet the kernels; meanwhile use torch.profiler beside gait to record those",
                      devices);
}

// The first setting of ops that was said.
static const struct config_entry *said_of_ops(const struct config *config)
{
    for (int i = SETTING_UNIT; i <= SETTING_GROUP_BY_STACK_N; i++) {
        bool is_of_any = i == SETTING_OUTPUT_DIR || i == SETTING_WORKER_NAME;
        const struct config_entry *entry = config_entry_of(config, (enum setting_id)i);
        if (!is_of_any && !entry->is_implied && is_said(config, (enum setting_id)i))
            return entry;
    }
    return NULL;
}

// Another profiler than that of ops: its settings do not ask for ops.
static int check_profiler(struct config *config)
{
    const struct config_entry *enabled = config_entry_of(config, SETTING_ENABLED);
    const struct config_entry profiler = *config_entry_of(config, SETTING_PROFILER);
    if (!strcmp(profiler.text, "pytorch") || !enabled->is_implied)
        return GAIT_OK;
    const struct config_entry *said = said_of_ops(config);
    if (said)
        config_notice(config,
                      SPELLED
                      " records no ops while 'profiler' is %s: add 'enabled: true' to get both",
                      SPELLING(said), profiler.text);
    return config_settle(config, SETTING_ENABLED, "false", &profiler);
}

// A section that is there asks for ops; one that asks for samples, and says nothing of ops, does
// not.
static int check_py_spy(struct config *config)
{
    const struct config_entry *enabled = config_entry_of(config, SETTING_ENABLED);
    const struct config_entry py_spy = *config_entry_of(config, SETTING_PY_SPY);
    if (!config_flag(config, SETTING_PY_SPY) || !enabled->is_implied || said_of_ops(config) ||
        is_said(config, SETTING_PROFILER))
        return GAIT_OK;
    return config_settle(config, SETTING_ENABLED, "false", &py_spy);
}

// What was said and has no effect, because what would use it is off.
static void tell_unused(struct config *config)
{
    static const struct {
        enum setting_id id, user;
        const char *needs; // of the user
    } unused[] = {{SETTING_PY_SPY_RATE, SETTING_PY_SPY, "true"},
                  {SETTING_NSIGHT_OUTPUT, SETTING_NSIGHT_ENABLED, "true"},
                  {SETTING_METRIC, SETTING_EXPORT_TO_FLAME_GRAPH, "true"},
                  {SETTING_USE_GZIP, SETTING_STORE_TRACES, "true"},
                  {SETTING_MAX_TRACE_SIZE, SETTING_STORE_TRACES, "true"},
                  {SETTING_OUTPUT_DIR, SETTING_STORE_TRACES, "true"},
                  {SETTING_WORKER_NAME, SETTING_STORE_TRACES, "true"},
                  {SETTING_EPOCHS, SETTING_UNIT, "epoch"},
                  {SETTING_SORT_BY, SETTING_TABLE, "true"},
                  {SETTING_ROW_LIMIT, SETTING_TABLE, "true"},
                  {SETTING_GROUP_BY_INPUT_SHAPE, SETTING_TABLE, "true"},
                  {SETTING_GROUP_BY_STACK_N, SETTING_TABLE, "true"},
                  {SETTING_LINE_COUNT_RESTRICTION, SETTING_PROFILER, "advanced"},
                  {SETTING_DUMP_STATS, SETTING_PROFILER, "advanced"},
                  {SETTING_EXTENDED, SETTING_PROFILER, "simple"}};
    for (size_t i = 0; i < sizeof unused / sizeof unused[0]; i++) {
        const struct config_entry *entry = config_entry_of(config, unused[i].id);
        const char *user = config_text(config, unused[i].user);
        if (!entry->is_implied && is_said(config, unused[i].id) &&
            strcmp(user, unused[i].needs) != 0)
            config_notice(config, SPELLED " does nothing while '%s' is %s", SPELLING(entry),
                          setting_key(&setting_table[unused[i].user]), user);
    }
    const struct config_entry *first = config_entry_of(config, SETTING_SKIP_FIRST_WAIT);
    if (config_number(config, SETTING_SKIP_FIRST_WAIT) && !config_number(config, SETTING_WAIT))
        config_notice(config, SPELLED " does nothing while 'wait' is 0", SPELLING(first));
    const struct config_entry *epochs = config_entry_of(config, SETTING_MEASURE_EPOCH_TIME);
    if (!config_flag(config, SETTING_MEASURE_EPOCH_TIME))
        config_notice(config, SPELLED ": gait times epochs in any case, at no cost",
                      SPELLING(epochs));
}

int config_check(struct config *config)
{
    int (*const rules[])(struct config *) = {check_profiler, check_py_spy,    check_store,
                                             check_units,    clamp_to_epochs, check_cycle,
                                             check_table};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        int status = rules[i](config);
        if (status)
            return status;
    }
    tell_later(config);
    tell_unused(config);
    const struct config_entry *windows = config_entry_of(config, SETTING_WINDOWS);
    if (config_flag(config, SETTING_ENABLED) && windows->level > CONFIG_DEFAULT)
        config_notice(config,
                      "%s: 'windows' is ignored: the schedule in the profiling section decides "
                      "when ops are recorded",
                      windows->where);
    return GAIT_OK;
}
