// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "answer/report/report_ends.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "analyse/report/run_report.h"
#include "answer/answer_parts.h"
#include "answer/sheet.h"
#include "base/buffer.h"
#include "base/json_reader.h"
#include "load/run.h"
#include "vocabulary/metadata.h"

enum {
    MOST_ENDS = 3,
    MOST_FAILURE = 100000, // bytes of a text in it
    SHORT_FAILURE = 300,   // of them on a screen
};

// What `gait run` noted of a process that did not end well, in words.
static void describe_end(const char *noted, char *out, size_t room)
{
    struct json_token token;
    double number;
    if (json_member_real(noted, "signal", &number))
        snprintf(out, room, "was killed by signal %.0f", number);
    else if (json_member_real(noted, "code", &number))
        snprintf(out, room, "ended with exit code %.0f", number);
    else if (json_member(noted, "unclosed", &token))
        snprintf(out, room, "did not end normally: it was killed, or it called os._exit()");
    else
        snprintf(out, room, "ended with %.80s", noted);
}

// NULL: it ended well, or nobody noted how.
static const char *bad_end(const struct gait_trace *trace, uint32_t shard,
                           struct gait_shard_info *ret_info)
{
    const char *noted = gait_trace_metadata(trace, shard, meta.exit);
    double code;
    const bool is_good = !noted || (json_member_real(noted, "code", &code) && code == 0);
    return !is_good && !gait_trace_shard(trace, shard, ret_info) ? noted : NULL;
}

// Where the command ended well, workers of a pool, and whatever else is no rank, were ended by
// those who had begun them, or left by os._exit().
static bool is_usual_end(const struct run_report *report, const struct gait_trace *trace,
                         const struct gait_shard_info *shard, const char *noted)
{
    const struct run_outcome *command = &trace->run.outcome;
    return command->is_known && !command->code && !command->signal && shard->rank < 0 &&
           report->process_count > 1 && !run_outcome_parse(noted).is_known;
}

void report_ends_say(struct sheet *sheet, const struct run_report *report,
                     const struct gait_trace *trace)
{
    char text[300];
    unsigned ends = 0;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        struct gait_shard_info shard;
        char rank[32] = "", how[120];
        const char *noted = bad_end(trace, i, &shard);
        if (!noted || is_usual_end(report, trace, &shard, noted) || ++ends > MOST_ENDS)
            continue;
        describe_end(noted, how, sizeof how);
        if (shard.rank >= 0)
            snprintf(rank, sizeof rank, "rank %" PRId64 ", ", shard.rank);
        snprintf(text, sizeof text, "%sprocess %" PRId64 " on %.60s %s", rank, shard.pid,
                 shard.host, how);
        sheet_say(sheet, SAY_ALERT, text);
    }
    if (ends > MOST_ENDS) {
        snprintf(text, sizeof text, "(%u more failed: see --json)", ends - MOST_ENDS);
        sheet_say(sheet, SAY_ALERT, text);
    }
}

void report_ends_list(struct sheet *sheet, const struct gait_trace *trace)
{
    static const struct column columns[] = {
        {.key = "host"}, {.key = "pid"}, {.key = "rank"}, {.key = "exit"}};
    static const struct table table = {.key = "ends", .columns = columns, .count = 4};
    sheet_table(sheet, &table);
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        struct gait_shard_info shard;
        const char *noted = bad_end(trace, i, &shard);
        if (!noted)
            continue;
        SHEET_ROW(sheet, value_text(shard.host), value_int(shard.pid), value_rank(shard.rank),
                  value_json(noted));
    }
    sheet_end(sheet);
}

// --- the failure ------------------------------------------------------------------------

// A member of the recorded failure as text; "": there is none.
static const char *failure_text(const char *failure, const char *key, struct buffer *room)
{
    struct json_token token;
    char *quoted = NULL;
    room->used = 0;
    if (json_member(failure, key, &token) == JSON_TEXT)
        quoted = strndup((const char *)token.text.bytes, token.text.count);
    const bool is_read = quoted && !json_decode(quoted, room);
    free(quoted);
    return is_read ? (const char *)room->bytes : "";
}

// What a screen has of a text of any length: one line, without what steers a terminal.
static void put_short(FILE *out, const char *text)
{
    size_t count = 0;
    bool is_blank = false;
    for (; *text && count < SHORT_FAILURE; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (byte == 0x1b && text[1] == '[') { // to its letter
            text += 2 + strspn(text + 2, "0123456789;");
            if (!*text)
                break;
            continue;
        }
        if (byte > ' ') {
            count += (size_t)fprintf(out, "%s%c", is_blank && count ? " " : "", byte);
            is_blank = false;
        } else {
            is_blank = true;
        }
    }
    while (((unsigned char)*text & 0xc0) == 0x80) // the rest of a character
        fputc(*text++, out);
    if (*text)
        fputs(" ...", out);
}

// "RuntimeError: shapes do not fit", and "at train.py:7 in forward"
static void say_exception(struct sheet *sheet, const char *failure)
{
    struct buffer type, text, file, function;
    struct buffer *const buffers[] = {&type, &text, &file, &function};
    static const char *const keys[] = {"type", "text", "file", "function"};
    const char *words[4];
    char line[40] = "", *sentence = NULL;
    size_t bytes;
    double number;
    for (size_t i = 0; i < 4; i++) {
        buffer_init(buffers[i], MOST_FAILURE);
        words[i] = failure_text(failure, keys[i], buffers[i]);
    }
    if (json_member_real(failure, "line", &number))
        snprintf(line, sizeof line, ":%.0f", number);
    FILE *out = open_memstream(&sentence, &bytes);
    if (out) {
        put_short(out, words[0]);
        fputs(*words[1] ? ": " : "", out);
        put_short(out, words[1]);
        if (!fclose(out))
            sheet_say(sheet, SAY_ITEM, sentence);
        free(sentence);
    }
    if (*words[2] &&
        asprintf(&sentence, "at %s%s%s%s", words[2], line, *words[3] ? " in " : "", words[3]) > 0) {
        sheet_say(sheet, SAY_ITEM, sentence);
        free(sentence);
    }
    for (size_t i = 0; i < 4; i++)
        buffer_finish(buffers[i]);
}

// How the program ended, where it did not end well; what its recording says of that.
void report_ends_failure(struct sheet *sheet, const struct run_report *report,
                         const struct gait_trace *trace)
{
    static const char *const keys[] = {"type", "text", "file", "line", "function", "phase"};
    const struct failure *failure = &report->verdict.failure;
    struct json_token token;
    if (!failure->is_known)
        return;
    const char *noted = failure->shard != FAILURE_OF_NOBODY
                            ? gait_trace_metadata(trace, failure->shard, meta.failure)
                            : NULL;
    sheet_object(sheet, "failure");
    sheet_put(sheet, "exit_code", value_if(!failure->signal, value_uint(failure->code)));
    sheet_put(sheet, "signal", value_if(failure->signal, value_uint(failure->signal)));
    sheet_put(sheet, "rank", value_if(failure->rank >= 0, value_int(failure->rank)));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char *text = noted && json_member(noted, keys[i], &token) != JSON_BROKEN
                         ? strndup((const char *)token.text.bytes, token.text.count)
                         : NULL;
        sheet_put(sheet, keys[i], value_json(text));
        free(text);
    }
    sheet_put(sheet, "step", value_if(report->steps.count, value_uint(report->steps.count)));
    sheet_end(sheet);
    if (noted)
        say_exception(sheet, noted);
}
