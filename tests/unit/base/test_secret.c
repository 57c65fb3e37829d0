// SPDX-License-Identifier: Apache-2.0
// Which arguments of a command line are written down, and which are not.
#include "base/about/secret.h"

#include <stdio.h>
#include <string.h>

#include "base/json_reader.h"
#include "support/tap.h"

static bool is_secret(const char *name)
{
    return secret_is_name(slice_of(name));
}

// `line` has '|' between its arguments.
static bool shows(const char *line, const char *json)
{
    char room[8192];
    struct buffer out;
    const int bytes = snprintf(room, sizeof room, "%s|", line);
    buffer_init(&out, 1 << 20);
    for (int i = 0; i < bytes; i++)
        room[i] = room[i] == '|' ? '\0' : room[i];
    const struct slice given = {(const uint8_t *)room, (size_t)bytes};
    const bool is_made = ok(!secret_line_json(given, &out) && !buffer_append(&out, "", 1));
    const bool is_same = is_made && ok(!strcmp((const char *)out.bytes, json));
    buffer_finish(&out);
    return is_same;
}

TEST("secret: names of secrets in the spellings people use")
{
    static const char *const names[] = {
        "--token",       "HF_TOKEN",      "--hf-token",    "db.password",
        "--api-key",     "api_key",       "APIKEY",        "--Secret",
        "client_secret", "--key",         "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY",
        "--passwd",      "MYSQL_PWD",     "--authToken",   "--auth",
        "--credentials", "Authorization", "--wandb-key",   "--ssh-key",
        "AccountKey",    "ssh_key",       "s3.key"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ok(is_secret(names[i]));
}

TEST("secret: names that only sound like it are none")
{
    static const char *const names[] = {"--tokenizer",
                                        "--max-tokens",
                                        "--lr",
                                        "--sort-keys",
                                        "--num_key_value_heads",
                                        "--author",
                                        "--passes",
                                        "--monkey",
                                        "--key-frames",
                                        "--hockey",
                                        "--output",
                                        "",
                                        "-",
                                        "num_tokens"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ok(!is_secret(names[i]));
}

TEST("secret: values of secrets are masked wherever they stand")
{
    ok(shows("train.py|--token|abc|--lr|0.1",
             "[\"train.py\", \"--token\", \"***\", \"--lr\", \"0.1\"]"));
    ok(shows("--api-key=abc", "[\"--api-key=***\"]"));
    ok(shows("env|HF_TOKEN=a b|python", "[\"env\", \"HF_TOKEN=***\", \"python\"]"));
    ok(shows("+logger.api_key='x'|lr=1", "[\"+logger.api_key=***\", \"lr=1\"]"));
    ok(shows("{\"a\": 1, \"token\": \"x\"}", "[\"{\\\"a\\\": 1, \\\"token\\\":***\"]"));
    ok(shows("https://me:pw@host/p|s3://b/p", "[\"https://***@host/p\", \"s3://b/p\"]"));
    ok(shows("https://host/p?token=x", "[\"https://host/p?token=***\"]"));
    ok(shows("--password|--lr|0.1", "[\"--password\", \"--lr\", \"0.1\"]"));
    ok(shows("--max-tokens|5|--tokenizer=bert", "[\"--max-tokens\", \"5\", \"--tokenizer=bert\"]"));
}

TEST("secret: each of several in an argument is masked")
{
    ok(shows("https://u:pw@h/x?token=qtok", "[\"https://***@h/x?token=***\"]"));
    ok(shows("https://u:a@h/x,https://v:b@h/y", "[\"https://***@h/x,https://***@h/y\"]"));
    ok(shows("postgres://u:p@ss@h/d@e", "[\"postgres://***@h/d@e\"]"));
    ok(shows("https://h/@scope/x and https://h", "[\"https://h/@scope/x and https://h\"]"));
    ok(shows("A=x;AccountKey=a==;B=y", "[\"A=x;AccountKey=***\"]"));
    ok(shows("--wandb-key|X|--ssh-key|Y|--key-frames|7",
             "[\"--wandb-key\", \"***\", \"--ssh-key\", \"***\", \"--key-frames\", \"7\"]"));
}

TEST("secret: a header's value is masked, in one argument or in three")
{
    static const char rest[] = "\"***\", \"***\", \"http://h\"]";
    char all[128];
    snprintf(all, sizeof all, "[\"-H\", \"Authorization:\", %s", rest);
    ok(shows("-H|Authorization:|Bearer|abc|http://h", all));
    ok(shows("-H|Authorization: Bearer abc|x", "[\"-H\", \"Authorization:***\", \"x\"]"));
    ok(shows("-H|Authorization: Bearer|abc|x", "[\"-H\", \"Authorization:***\", \"***\", \"x\"]"));
    ok(shows("--mode|basic|x", "[\"--mode\", \"basic\", \"x\"]"));
}

TEST("secret: words that begin as tokens do are masked, and names that do are not")
{
    static const char *const tokens[] = {
        "sk-proj-a1b2c3d4e5f6g7h8",        "ghp_0123456789abcdef",      "gho_0123456789abcdef",
        "github_pat_11ABCDEFG_0123456789", "AKIAIOSFODNN7EXAMPLE",      "xoxb-123456789012-abcdef",
        "hf_abcdefghijklmnop1234",         "sk-abcdefghijklmnopqrstuv", "ghp_abcdefghij",
        "glpat-abc_def-1234567890"};
    char line[128], json[128];
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        snprintf(line, sizeof line, "--x=%s,y|%s", tokens[i], tokens[i]);
        ok(shows(line, "[\"--x=***,y\", \"***\"]"));
    }
    static const char *const names[] = {"sk-learn", "hf_bert_base_uncased_v2", "task-1234567",
                                        "hf_transformers_checkpoint", "runs/hf_llama3_8b_instruct"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(json, sizeof json, "[\"%s\"]", names[i]);
        ok(shows(names[i], json));
    }
}

TEST("secret: a tail that is cut says so, and is no longer than any")
{
    char line[3000] = "https://u:p@h/", json[3100];
    memset(line + strlen(line), 'x', 2000);
    snprintf(json, sizeof json, "[\"https://***@h/%.*s…\"]", 1024 - 14, line + 14);
    ok(shows(line, json));
    int used = 0, told = snprintf(json, sizeof json, "[\"");
    for (int i = 0; i < 250; i++)
        used += snprintf(line + used, sizeof line - (size_t)used, "a://b@c/ ");
    for (int i = 0; i < 93; i++)
        told += snprintf(json + told, sizeof json - (size_t)told, "a://***@c/ ");
    snprintf(json + told, sizeof json - (size_t)told, "a…\"]");
    ok(shows(line, json));
}

TEST("secret: long lines and arguments are cut, and are JSON whatever they hold")
{
    static uint8_t bytes[70000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 % 251 < 2 ? 0 : i * 31 % 256);
    struct buffer out;
    buffer_init(&out, 1 << 22);
    ok(!secret_line_json((struct slice){bytes, sizeof bytes}, &out));
    ok(json_is_valid((struct slice){out.bytes, out.used}));
    out.used = 0;
    memset(bytes, 'x', sizeof bytes);
    ok(!secret_line_json((struct slice){bytes, sizeof bytes}, &out));
    ok(out.used < 1100 && json_is_valid((struct slice){out.bytes, out.used}));
    out.used = 0;
    ok(!secret_line_json((struct slice){NULL, 0}, &out) && out.used == 2);
    buffer_finish(&out);
}
