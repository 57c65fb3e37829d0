// SPDX-License-Identifier: Apache-2.0
// Numbers of all that is said, for those who choose; the words are in sentences.def.
#ifndef GAIT_ANALYSE_SENTENCES_H
#define GAIT_ANALYSE_SENTENCES_H

#define WORK(name, id, words) WORK_##name,
#define BASE(name, id, words)
#define VERDICT(name, id, label)
#define NOTE(name, words)
#define FINDING(name, id, words)
enum work_kind {
#include "analyse/verdict/sentences.def"
    WORK_KINDS
};

#define WORK(name, id, words)
#define BASE(name, id, words) BASE_##name,
#define VERDICT(name, id, label)
#define NOTE(name, words)
#define FINDING(name, id, words)
enum verdict_base {
#include "analyse/verdict/sentences.def"
    BASE_NUMBERS
};

#define WORK(name, id, words)
#define BASE(name, id, words)
#define VERDICT(name, id, label) VERDICT_##name,
#define NOTE(name, words)
#define FINDING(name, id, words)
enum verdict_number {
#include "analyse/verdict/sentences.def"
    VERDICT_NUMBERS
};

#define WORK(name, id, words)
#define BASE(name, id, words)
#define VERDICT(name, id, label)
#define NOTE(name, words) NOTE_##name,
#define FINDING(name, id, words)
enum note {
#include "analyse/verdict/sentences.def"
    NOTE_NUMBERS
};

#define WORK(name, id, words)
#define BASE(name, id, words)
#define VERDICT(name, id, label)
#define NOTE(name, words)
#define FINDING(name, id, words) FINDING_##name,
enum finding_number {
#include "analyse/verdict/sentences.def"
    FINDING_NUMBERS
};

#endif
