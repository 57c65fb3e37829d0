// SPDX-License-Identifier: Apache-2.0
// Precedence, spellings and contradictions; files are tested with the tool
// (tests/cli/test_config.py).
#include "base/fail.h"
#include "config/config.h"
#include "config/setting_value.h"
#include "support/tap.h"

static struct config config;

// Resolves the words of `line`, which blanks separate, as gait's own line.
static int resolve(const char *text)
{
    static char storage[512];
    static char *words[64];
    static struct setting_words settings;
    struct setting_line line = {words, 0, 0, true};
    snprintf(storage, sizeof storage, "%s", text);
    for (char *at = storage; *at;) {
        words[line.count++] = at;
        at += strcspn(at, " ");
        if (*at)
            *at++ = '\0';
    }
    settings.count = 0;
    config_finish(&config);
    config_init(&config);
    int status = 1;
    while (line.next < line.count && status == 1)
        status = setting_words_take(&settings, &line);
    if (status <= 0 && line.count)
        return status ? status : fail(GAIT_ERR_ARGUMENT, "stopped at '%s'", words[line.next]);
    const struct config_request request = {
        .size = sizeof request, .words = &settings, .has_no_file = true, .has_no_variables = true};
    return config_resolve(&config, &request);
}

TEST("config: every setting has a default that is legal and canonical, a variable and a sentence")
{
    char out[SETTING_VALUE_BYTES];
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &setting_table[i];
        if (!ok(setting->name && strchr(setting->name, '.') && setting->help))
            return;
        ok(setting->variable && !strncmp(setting->variable, "GAIT_", 5));
        ok(setting->help[strlen(setting->help) - 1] != '.');
        if (!*setting->standard)
            continue;
        is_int(setting_value_read(setting, "x", setting->standard, out), 0);
        is_str(out, setting->standard);
    }
}

TEST("config: no two settings or aliases share a name")
{
    for (unsigned i = 0; i < setting_alias_count; i++) {
        for (unsigned j = 0; j < i; j++)
            ok(strcmp(setting_aliases[i].name, setting_aliases[j].name) != 0);
    }
    for (int i = 0; i < SETTING_COUNT; i++)
        for (int j = 0; j < i; j++) {
            ok(strcmp(setting_table[i].name, setting_table[j].name) != 0);
            ok(strcmp(setting_table[i].variable, setting_table[j].variable) != 0);
        }
}

TEST("config: a value stands behind, after = or without dashes")
{
    is_int(resolve("--profiling.wait 4 --profiling.warmup=5 profiling.active=6"), 0);
    is_int(config_number(&config, SETTING_WAIT), 4);
    is_int(config_number(&config, SETTING_WARMUP), 5);
    is_int(config_number(&config, SETTING_ACTIVE), 6);
    is_int(config_number(&config, SETTING_REPEAT), 1);
}

TEST("config: any setting of the section enables it, unless enabled says otherwise")
{
    is_int(resolve(""), 0);
    ok(!config_flag(&config, SETTING_ENABLED));
    is_int(resolve("--profiling.wait 1"), 0);
    ok(config_flag(&config, SETTING_ENABLED));
    is_int(resolve("--profiling.enabled=false --profiling.wait 1"), 0);
    ok(!config_flag(&config, SETTING_ENABLED));
    is_int(resolve("--profiling.measure_epoch_time true"), 0);
    ok(!config_flag(&config, SETTING_ENABLED));
    is_int(resolve("--recording.windows all"), 0);
    ok(!config_flag(&config, SETTING_ENABLED));
}

TEST("config: truths have many spellings, and a switch may stand alone")
{
    static const char *const words[] = {"True", "true", "1", "yes", "on", "YES", "y"};
    char line[128];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        snprintf(line, sizeof line, "--profiling.with_modules %s", words[i]);
        is_int(resolve(line), 0);
        ok(config_flag(&config, SETTING_WITH_MODULES));
    }
    static const char *const denials[] = {"False", "false", "0", "no", "off", "NO", "n"};
    for (size_t i = 0; i < sizeof denials / sizeof denials[0]; i++) {
        snprintf(line, sizeof line, "--profiling.record_shapes %s", denials[i]);
        is_int(resolve(line), 0);
        ok(!config_flag(&config, SETTING_RECORD_SHAPES));
    }
    is_int(resolve("--profiling.with-modules --profiling.wait 7"), 0);
    ok(config_flag(&config, SETTING_WITH_MODULES));
    is_int(config_number(&config, SETTING_WAIT), 7);
}

TEST("config: the last of two counts, and somebody is told")
{
    is_int(resolve("profiler=simple profiler=pytorch"), 0);
    is_str(config_text(&config, SETTING_PROFILER), "pytorch");
    is_u64(config.notice_count, 1);
    ok(strstr(config.notices[0], "the last one counts") != NULL);
    ok(config_flag(&config, SETTING_ENABLED));
    is_int(resolve("profiler=advanced profiling.line_count_restriction=0.5"), 0);
    ok(!config_flag(&config, SETTING_ENABLED));
    is_int(resolve("profiler=advanced profiling.enabled=true"), 0);
    ok(config_flag(&config, SETTING_ENABLED));
    is_int(resolve("profiling.wait=2 profiling.wait=2"), 0);
    is_u64(config.notice_count, 0);
}

static void refused(const char *line, const char *sentence)
{
    ok(resolve(line) < 0);
    is_str(fail_text(), sentence);
}

TEST("config: a wrong name or value is refused with the nearest legal one")
{
    refused("--profiling.wiat 1",
            "unknown setting 'profiling.wiat'; did you mean 'profiling.wait'?");
    refused("profling.wait=1", "unknown setting 'profling.wait'; did you mean 'profiling.wait'?");
    refused("--a.b 1", "unknown setting 'a.b'; 'gait config list' shows all settings");
    refused("--profiling.wait one", "command line: 'profiling.wait' takes a number of units, 0 or "
                                    "more, not 'one'");
    refused("--profiling.wait -1", "command line: 'profiling.wait' takes a number of units, 0 or "
                                   "more, not '-1'");
    refused("--profiling.active 0", "command line: 'profiling.active' takes a number of units, 1 "
                                    "or more, not '0'");
    refused("--profiling.wait 99999999999999999999",
            "command line: 'profiling.wait' takes a number of units, 0 or more, not "
            "'99999999999999999999'");
    refused("--profiling.wait", "'--profiling.wait' needs a value");
    refused("--profiling.unit=stepp",
            "command line: 'profiling.unit' cannot be 'stepp'; did you mean 'step'?");
    refused("--profiling.with_stack=maybe",
            "command line: 'profiling.with_stack' takes true or false, not 'maybe'");
}

TEST("config: contradictions are refused with the way out")
{
    refused("--profiling.store_traces true --profiling.enabled false",
            "command line: 'profiling.store_traces' stores nothing while profiling is off: write "
            "'enabled: true' where 'profiling.enabled' (command line) is false, or take it away");
    refused("store_torch_profiling_traces=True",
            "command line: 'store_torch_profiling_traces' stores nothing while profiling is off: "
            "add 'enable_torch_profiling: True' or remove the setting");
    refused("profiling.wait_steps=1 profiling.warmup_epochs=2",
            "command line: 'profiling.wait_steps' counts steps, but the unit is epoch by "
            "'profiling.warmup_epochs' (command line): use one unit for all");
    refused("profiling.every_n_steps=4",
            "command line: 'profiling.every_n_steps' is 4, but wait + warmup + active are 5: make "
            "it 5 or more, or 0");
    refused("profiling.group_by_input_shape=1 profiling.record_shapes=0",
            "command line: 'profiling.group_by_input_shape' needs shapes: add 'record_shapes: "
            "true'");
    refused("profiling.group_by_stack_n=5 profiling.with_stack=0",
            "command line: 'profiling.group_by_stack_n' needs stacks: add 'with_stack: true'");
}

// (epochs, wait, warmup) → (wait, warmup, active), as itwinai's trainer has it.
TEST("config: what wait and warmup leave of the epochs is active")
{
    static const int table[][6] = {{2, 1, 2, 1, 0, 1},
                                   {1, 1, 1, 0, 0, 1},
                                   {3, 5, 1, 1, 1, 1},
                                   {10, 1, 2, 1, 2, 7},
                                   {4, 3, 3, 2, 1, 1}};
    char line[160];
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const int *row = table[i];
        snprintf(line, sizeof line,
                 "profiling.epochs=%d profiling_wait_epochs=%d profiling_warmup_epochs=%d "
                 "profiling.skip_first=0",
                 row[0], row[1], row[2]);
        is_int(resolve(line), 0);
        is_int(config_number(&config, SETTING_WAIT), row[3]);
        is_int(config_number(&config, SETTING_WARMUP), row[4]);
        is_int(config_number(&config, SETTING_ACTIVE), row[5]);
    }
}

TEST("config: only what bears our section or name is taken from another program's line")
{
    static char line_words[8][24] = {
        "--training.epochs", "10",   "--profiling.active", "2",
        "model=resnet",      "seed", "profiling.wait=3",   "--verbose"};
    struct setting_words words = {.count = 0};
    char *arguments[8];
    for (int i = 0; i < 8; i++)
        arguments[i] = line_words[i];
    struct setting_line line = {arguments, 8, 0, false};
    int taken = 0, left = 0;
    while (line.next < line.count) {
        int status = setting_words_take(&words, &line);
        ok(status >= 0);
        taken += status == 1;
        left += status == 0;
        line.next += status == 0;
    }
    is_int(taken, 2);
    is_int(left, 5);
    is_str(words.words[0].value, "2");
    is_str(words.words[1].value, "3");
}

TEST("config: what somebody typed is shown without what would move the cursor")
{
    is_str(setting_value_show("a\033[2Jb\n"), "a?[2Jb?");
    char long_text[200];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[199] = '\0';
    is_int((int)strlen(setting_value_show(long_text)), 63);
}
