// SPDX-License-Identifier: Apache-2.0
// Verdicts and findings in words: the notes of analyse/verdict/sentences.def, filled in
// from the evidence.
#ifndef GAIT_ANSWER_SENTENCE_TEXT_H
#define GAIT_ANSWER_SENTENCE_TEXT_H

#include <stddef.h>

struct evidence;
struct finding;
struct verdict;

enum { SENTENCE_BYTES = 640 }; // enough for what is said of a verdict or a finding

const char *sentence_label(const struct verdict *verdict);       // "INPUT-BOUND"
const char *sentence_verdict_id(const struct verdict *verdict);  // "input-bound"
const char *sentence_front_label(const struct verdict *verdict); // "MACHINE BUSY"; or NULL
const char *sentence_front_id(const struct verdict *verdict);
const char *sentence_finding_id(const struct finding *finding); // "input_waits"

// Of an enum note without figures; NULL for NOTE_NONE.
const char *sentence_note(unsigned note);

// Sentences without full stop. What there is no room for is left out.
void sentence_why(const struct verdict *verdict, char *out, size_t room);
void sentence_say(const struct evidence *evidence, unsigned note, char *out, size_t room);
void sentence_finding(const struct finding *finding, char *out, size_t room);

// Of an enum work_kind: "input", "waiting for input".
const char *sentence_work_id(unsigned work);
const char *sentence_work(unsigned work);

// Of an enum verdict_base: "loop".
const char *sentence_base_id(unsigned base);

#endif
