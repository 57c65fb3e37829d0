// SPDX-License-Identifier: Apache-2.0
#include "base/fail.h"
#include "base/suggest.h"
#include "cli/frame/options.h"
#include "support/tap.h"

struct values {
    const char *output, *format;
    int64_t count, bytes;
    double seconds;
    bool is_quiet, is_all;
};

static const char *const formats[] = {"chrome", "csv", "perfetto", NULL};
static const struct option options[] = {
    {'o', false, OPTION_TEXT, "output", "FILE", "", offsetof(struct values, output), 0, 0, NULL},
    {'f', false, OPTION_CHOICE, "format", "F", "", offsetof(struct values, format), 0, 0, formats},
    {'n', false, OPTION_NUMBER, "count", "N", "", offsetof(struct values, count), -5, 100, NULL},
    {0, false, OPTION_SIZE, "ring", "BYTES", "", offsetof(struct values, bytes), 1, INT64_MAX,
     NULL},
    {'d', false, OPTION_SECONDS, "for", "SEC", "", offsetof(struct values, seconds), 1, 3600000,
     NULL},
    {'q', false, OPTION_FLAG, "quiet", NULL, "", offsetof(struct values, is_quiet), 0, 0, NULL},
    {'a', false, OPTION_FLAG, "all", NULL, "", offsetof(struct values, is_all), 0, 0, NULL},
};

static struct option_table table = {.command = "test",
                                    .options = options,
                                    .count = 7,
                                    .max_operands = 9,
                                    .operands = "[PATH ...]",
                                    .has_settings = true};
static struct values values;
static struct operands operands;
static char words[12][64];
static char *arguments[12];

// Parses the words of `line`, which blanks separate.
static int parse(const char *line)
{
    int count = 0;
    memset(&values, 0, sizeof values);
    while (*line) {
        size_t length = strcspn(line, " ");
        snprintf(words[count], sizeof words[0], "%.*s", (int)length, line);
        arguments[count] = words[count];
        count++;
        line += length;
        line += *line == ' ';
    }
    return options_parse(&table, count, arguments, &values, &operands);
}

TEST("options: a value may stand behind, after = or in the next word")
{
    is_int(parse("-o a"), 0);
    is_str(values.output, "a");
    is_int(parse("-oab"), 0);
    is_str(values.output, "ab");
    is_int(parse("--output=a=b"), 0);
    is_str(values.output, "a=b");
    is_int(parse("--output --quiet"), 0);
    is_str(values.output, "--quiet");
    ok(!values.is_quiet);
}

TEST("options: letters may be joined, the last with its value")
{
    is_int(parse("-qan7"), 0);
    ok(values.is_quiet && values.is_all);
    is_int(values.count, 7);
    is_int(parse("-n -5 x"), 0);
    is_int(values.count, -5);
}

TEST("options: operands may stand anywhere, and after -- all are")
{
    is_int(parse("x -q y -- -z --all"), 0);
    is_int(operands.count, 4);
    is_str(operands.texts[0], "x");
    is_str(operands.texts[3], "--all");
    ok(values.is_quiet && !values.is_all);
    is_int(parse("-"), 0);
    is_str(operands.texts[0], "-");
}

TEST("options: where -- parts two sides, options may stand behind it")
{
    table.has_sides = true;
    ok(!parse("a -- -n 4 b -q"));
    ok(operands.count == 2 && operands.divided_at == 1 && values.is_quiet && values.count == 4);
    ok(parse("a -- b -- c") < 0);
    is_str(fail_text(), "'--' stands twice");
    table.has_sides = false;
}

TEST("options: a command's own options are left alone")
{
    table.stops_at_operand = true;
    is_int(parse("-q python -o x"), 0);
    is_int(operands.count, 3);
    ok(!values.output);
    is_int(parse("-- -q"), 0);
    is_str(operands.texts[0], "-q");
    table.stops_at_operand = false;
}

TEST("options: numbers are checked to the last character and for their range")
{
    static const char *const bad[] = {"-n 101", "-n -6", "-n 7x",    "-n x",
                                      "-n 1e3", "-n",    "--count=", "-n 99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (!is_int(parse(bad[i]), GAIT_ERR_ARGUMENT))
            printf("# %s\n", bad[i]);
    is_int(parse("-n 101"), GAIT_ERR_ARGUMENT);
    is_str(fail_text(), "'--count' must be between -5 and 100, not '101'");
}

TEST("options: sizes take a unit and cannot overflow")
{
    is_int(parse("--ring 64K"), 0);
    is_int(values.bytes, 65536);
    is_int(parse("--ring 3MiB"), 0);
    is_int(values.bytes, 3 << 20);
    is_int(parse("--ring 1g"), 0);
    is_int(values.bytes, 1 << 30);
    is_int(parse("--ring 17"), 0);
    is_int(values.bytes, 17);
    is_int(parse("--ring 9999999T"), GAIT_ERR_ARGUMENT);
    is_int(parse("--ring 16Q"), GAIT_ERR_ARGUMENT);
    is_int(parse("--ring 0"), GAIT_ERR_ARGUMENT);
    is_int(parse("--ring K"), GAIT_ERR_ARGUMENT);
    is_int(parse("--ring 1MX"), GAIT_ERR_ARGUMENT);
}

TEST("options: lengths of time take fractions and a unit, and are born with bounds")
{
    is_int(parse("-d 0.5"), 0);
    ok(values.seconds == 0.5);
    is_int(parse("-d1h"), 0);
    ok(values.seconds == 3600);
    is_int(parse("--for=1ms"), 0);
    ok(values.seconds == 0.001);
    const char *const beyond[] = {"-d 0", "-d 0.0009", "-d 3601", "-d 1e300", "-d 1e400"};
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++)
        is_int(parse(beyond[i]), GAIT_ERR_ARGUMENT);
    is_str(fail_text(), "'--for' must be between 0.001 and 3600 seconds, not '1e400'");
    const char *const nonsense[] = {"-d -1", "-d nan", "-d inf", "--for=", "-d 0x1", "-d 5x"};
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++)
        is_int(parse(nonsense[i]), GAIT_ERR_ARGUMENT);
    is_str(fail_text(), "'--for' takes a time such as 10, 0.5, 500ms, 2m or 1.5h, not '5x'");
}

TEST("options: a refusal names what would have been right")
{
    is_int(parse("--outptu x"), GAIT_ERR_ARGUMENT);
    is_str(fail_text(), "unknown option '--outptu'; did you mean '--output'?");
    is_int(parse("--quit"), GAIT_ERR_ARGUMENT);
    is_str(fail_text(), "unknown option '--quit'; did you mean '--quiet'?");
    is_int(parse("--zebra"), GAIT_ERR_ARGUMENT);
    is_str(fail_text(), "unknown option '--zebra'; see 'gait help test'");
    is_int(parse("-z"), GAIT_ERR_ARGUMENT);
    is_str(fail_text(), "unknown option '-z'; see 'gait help test'");
    is_int(parse("-f crome"), GAIT_ERR_ARGUMENT);
    is_str(fail_text(), "'--format' cannot be 'crome'; did you mean 'chrome'?");
    is_int(parse("-f xml"), GAIT_ERR_ARGUMENT);
    is_str(fail_text(), "'--format' cannot be 'xml'; it is one of: chrome, csv, perfetto");
    is_int(parse("--quiet=yes"), GAIT_ERR_ARGUMENT);
    is_str(fail_text(), "'--quiet' takes no value");
    is_int(parse("-o"), GAIT_ERR_ARGUMENT);
    is_str(fail_text(), "'--output' needs a FILE");
    is_int(parse("--output="), GAIT_ERR_ARGUMENT);
}

TEST("options: too few and too many operands are told")
{
    table.min_operands = table.max_operands = 1;
    is_int(parse("-q"), GAIT_ERR_ARGUMENT);
    is_str(fail_text(), "PATH is missing; see 'gait help test'");
    is_int(parse("a b"), GAIT_ERR_ARGUMENT);
    is_str(fail_text(), "'b' is an extra argument; see 'gait help test'");
    is_int(parse("a -h"), OPTIONS_HELP);
    is_int(parse("--help"), OPTIONS_HELP);
    table.min_operands = 0;
    table.max_operands = 9;
}

TEST("suggest: near words are found, far ones are not")
{
    static const char *const names[] = {"report", "run", "export", "info", NULL};
    is_str(suggest_nearest("reprot", names), "report");
    is_str(suggest_nearest("exprt", names), "export");
    is_str(suggest_nearest("rep", names), "report");
    is_str(suggest_nearest("rnu", names), "run");
    is_str(suggest_nearest("flamegraph", names), NULL);
    is_str(suggest_nearest("", names), NULL);
    is_str(suggest_nearest("a-word-that-is-far-longer-than-any-command-could-be", names), NULL);
}
