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
    static const char *const names[] = {"--token",     "HF_TOKEN",      "--hf-token",
                                        "db.password", "--api-key",     "api_key",
                                        "APIKEY",      "--Secret",      "client_secret",
                                        "--key",       "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY",
                                        "--passwd",    "MYSQL_PWD",     "--authToken",
                                        "--auth",      "--credentials", "Authorization"};
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
