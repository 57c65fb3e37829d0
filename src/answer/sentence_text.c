// SPDX-License-Identifier: Apache-2.0
#include "answer/sentence_text.h"

#include <stdio.h>
#include <string.h>

#include "analyse/verdict/evidence.h"
#include "analyse/verdict/findings.h"
#include "analyse/verdict/sentences.h"
#include "analyse/verdict/verdict.h"
#include "base/units.h"

enum { NAME_BYTES = 48, NAMED_STEPS = 3 }; // of a phase's name in a sentence; of many steps

struct said {
    const char *id, *words;
};

#define WORK(name, id, words) {id, words},
#define BASE(name, id, words)
#define VERDICT(name, id, label)
#define NOTE(name, words)
#define FINDING(name, id, words)
static const struct said works[WORK_KINDS] = {
#include "analyse/verdict/sentences.def"
};

#define WORK(name, id, words)
#define BASE(name, id, words) {id, words},
#define VERDICT(name, id, label)
#define NOTE(name, words)
#define FINDING(name, id, words)
static const struct said bases[BASE_NUMBERS] = {
#include "analyse/verdict/sentences.def"
};

#define WORK(name, id, words)
#define BASE(name, id, words)
#define VERDICT(name, id, label) {id, label},
#define NOTE(name, words)
#define FINDING(name, id, words)
static const struct said verdicts[VERDICT_NUMBERS] = {
#include "analyse/verdict/sentences.def"
};

#define WORK(name, id, words)
#define BASE(name, id, words)
#define VERDICT(name, id, label)
#define NOTE(name, words) {NULL, words},
#define FINDING(name, id, words)
static const struct said notes[NOTE_NUMBERS] = {
#include "analyse/verdict/sentences.def"
};

#define WORK(name, id, words)
#define BASE(name, id, words)
#define VERDICT(name, id, label)
#define NOTE(name, words)
#define FINDING(name, id, words) {id, words},
static const struct said findings[FINDING_NUMBERS] = {
#include "analyse/verdict/sentences.def"
};

struct sentence {
    char *out;
    size_t used, room;
};

static void put(struct sentence *sentence, const char *text, size_t length)
{
    const size_t left = sentence->room - sentence->used - 1;
    length = length < left ? length : left;
    memcpy(sentence->out + sentence->used, text, length);
    sentence->used += length;
    sentence->out[sentence->used] = '\0';
}

static void put_text(struct sentence *sentence, const char *text)
{
    put(sentence, text, strlen(text));
}

static void put_name(struct sentence *sentence, const char *name)
{
    const size_t length = strlen(name);
    put(sentence, name, length < NAME_BYTES ? length : NAME_BYTES);
}

// A digit behind the point where the share is a small one.
static void put_share(struct sentence *sentence, double share)
{
    const double percent = share * 100;
    char text[48];
    if (percent > 0 && percent < 0.05)
        snprintf(text, sizeof text, "less than 0.1 %%");
    else
        snprintf(text, sizeof text, "%.*f %%", percent > 0 && percent < 2.95, percent);
    put_text(sentence, text);
}

// "step 3", "steps 3, 9 and 14", "steps 3, 9, 14 and 5 more"; one more has room, too
static void put_steps(struct sentence *sentence, const struct step_numbers *steps)
{
    const size_t seen = steps->count <= NAMED_STEPS + 1 ? (size_t)steps->count : NAMED_STEPS;
    char text[32];
    put_text(sentence, seen > 1 ? "steps" : "step");
    for (size_t i = 0; i < seen; i++) {
        const bool is_last = i && i + 1 == steps->count;
        snprintf(text, sizeof text, "%s %llu",
                 is_last ? " and"
                 : i     ? ","
                         : "",
                 (unsigned long long)steps->first[i]);
        put_text(sentence, text);
    }
    if (steps->count <= seen)
        return;
    put_text(sentence, " and ");
    put_text(sentence, units_count(steps->count - seen).text);
    put_text(sentence, " more");
}

static void put_figure(struct sentence *sentence, const struct evidence_row *row)
{
    char text[48] = "";
    switch (row->unit) {
    case EVIDENCE_COUNT:
        put_text(sentence, units_count(row->number).text);
        return;
    case EVIDENCE_NUMBER:
        snprintf(text, sizeof text, "%llu", (unsigned long long)row->number);
        break;
    case EVIDENCE_NS:
        put_text(sentence, units_ns((int64_t)row->number).text);
        return;
    case EVIDENCE_BYTES:
        put_text(sentence, units_bytes(row->number).text);
        return;
    case EVIDENCE_SHARE:
        put_share(sentence, row->ratio);
        return;
    case EVIDENCE_TIMES:
        snprintf(text, sizeof text, "%.*f times", row->ratio < 100, row->ratio);
        break;
    case EVIDENCE_TEXT:
        put_name(sentence, row->text);
        return;
    case EVIDENCE_WORK:
        put_text(sentence, works[row->number].words);
        return;
    case EVIDENCE_BASE:
        put_text(sentence, bases[row->number].words);
        return;
    case EVIDENCE_STEPS:
        put_steps(sentence, row->steps);
        return;
    }
    put_text(sentence, text);
}

// What stands between braces: a key, and maybe ":noun".
static void put_slot(struct sentence *sentence, const struct evidence *evidence, const char *slot,
                     size_t length)
{
    const char *colon = memchr(slot, ':', length);
    const size_t key = colon ? (size_t)(colon - slot) : length;
    const struct evidence_row *row = evidence_find(evidence, slot, key);
    if (!row)
        return;
    put_figure(sentence, row);
    if (!colon)
        return;
    put_text(sentence, " ");
    put(sentence, colon + 1, length - key - 1);
    put_text(sentence, units_plural(row->number));
}

static void put_words(struct sentence *sentence, const struct evidence *evidence, const char *words)
{
    for (const char *at = words; *at;) {
        const size_t plain = strcspn(at, "{");
        put(sentence, at, plain);
        at += plain;
        const char *end = strchr(at, '}');
        if (!*at || !end)
            continue;
        put_slot(sentence, evidence, at + 1, (size_t)(end - at - 1));
        at = end + 1;
    }
}

const char *sentence_label(const struct verdict *verdict)
{
    return verdicts[verdict->number].words;
}

const char *sentence_verdict_id(const struct verdict *verdict)
{
    return verdicts[verdict->number].id;
}

const char *sentence_front_id(const struct verdict *verdict)
{
    return verdict->front ? verdicts[verdict->front].id : NULL;
}

const char *sentence_front_label(const struct verdict *verdict)
{
    return verdict->front ? verdicts[verdict->front].words : NULL;
}

const char *sentence_base_id(unsigned base)
{
    return bases[base < BASE_NUMBERS ? base : BASE_RUN].id;
}

const char *sentence_finding_id(const struct finding *finding)
{
    return findings[finding->number].id;
}

const char *sentence_note(unsigned note)
{
    return note != NOTE_NONE && note < NOTE_NUMBERS ? notes[note].words : NULL;
}

// What is told beside the lead, with what leads where it is one of several.
static void put_parts(struct sentence *sentence, const struct verdict *verdict)
{
    for (size_t i = 0; i < verdict->part_count; i++) {
        const struct verdict_part *part = &verdict->parts[i];
        if (!verdict_is_beside(verdict, i))
            continue;
        put_text(sentence, i ? "; another " : "; ");
        put_share(sentence, (double)part->ns / (double)part->of_ns);
        put_text(sentence, " of ");
        put_text(sentence, bases[verdict->base].words);
        put_text(sentence, " is ");
        put_text(sentence, works[part->work].words);
    }
}

void sentence_why(const struct verdict *verdict, char *out, size_t room)
{
    struct sentence sentence = {out, 0, room};
    *out = '\0';
    for (size_t i = 0; i < verdict->why.count; i++) {
        put_text(&sentence, i ? "; " : "");
        put_words(&sentence, &verdict->evidence, notes[verdict->why.notes[i]].words);
    }
    put_parts(&sentence, verdict);
}

void sentence_say(const struct evidence *evidence, unsigned note, char *out, size_t room)
{
    struct sentence sentence = {out, 0, room};
    *out = '\0';
    put_words(&sentence, evidence, notes[note].words);
}

void sentence_finding(const struct finding *finding, char *out, size_t room)
{
    struct sentence sentence = {out, 0, room};
    *out = '\0';
    put_words(&sentence, &finding->evidence, findings[finding->number].words);
    for (size_t i = 0; i < finding->more_count; i++)
        put_words(&sentence, &finding->evidence, notes[finding->more[i]].words);
}

const char *sentence_work_id(unsigned work)
{
    return work < WORK_KINDS ? works[work].id : works[WORK_UNKNOWN].id;
}

const char *sentence_work(unsigned work)
{
    return works[work < WORK_KINDS ? work : WORK_UNKNOWN].words;
}
