// SPDX-License-Identifier: Apache-2.0
// The figures that a verdict or a finding rests on, by name and with their unit.
// Its sentence is filled from them, and so is what JSON has beside it.
#ifndef GAIT_ANALYSE_EVIDENCE_H
#define GAIT_ANALYSE_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

enum evidence_unit {
    EVIDENCE_COUNT,
    EVIDENCE_NUMBER, // of a step, a rank: it counts nothing
    EVIDENCE_NS,
    EVIDENCE_BYTES,
    EVIDENCE_SHARE, // 0.25 is 25 %
    EVIDENCE_TIMES,
    EVIDENCE_TEXT,
    EVIDENCE_WORK, // enum work_kind
    EVIDENCE_BASE, // enum verdict_base
    EVIDENCE_STEPS,
};

enum { EVIDENCE_MOST = 24 };

// Which steps: of many the first ones.
enum { STEP_NUMBERS_MOST = 16 };
struct step_numbers {
    uint64_t count, first[STEP_NUMBERS_MOST];
};

static inline void step_numbers_add(struct step_numbers *numbers, uint64_t number)
{
    if (numbers->count++ < STEP_NUMBERS_MOST)
        numbers->first[numbers->count - 1] = number;
}

struct evidence_row {
    const char *key; // kept: scripts look for it
    enum evidence_unit unit;
    union {
        uint64_t number; // of things, of ns or bytes, of a kind of work or a base
        double ratio;    // a share, a multiple
        const char *text;
        const struct step_numbers *steps;
    };
};

struct evidence {
    struct evidence_row rows[EVIDENCE_MOST];
    size_t count;
};

// What there is no room for is left out.
void evidence_count(struct evidence *evidence, const char *key, uint64_t count);
void evidence_number(struct evidence *evidence, const char *key, uint64_t number);
void evidence_ns(struct evidence *evidence, const char *key, uint64_t ns);
void evidence_bytes(struct evidence *evidence, const char *key, uint64_t bytes);
void evidence_share(struct evidence *evidence, const char *key, uint64_t part, uint64_t whole);
void evidence_times(struct evidence *evidence, const char *key, double times);
void evidence_text(struct evidence *evidence, const char *key,
                   const char *text); // is kept by others
void evidence_work(struct evidence *evidence, const char *key, unsigned work);
void evidence_base(struct evidence *evidence, const char *key, unsigned base);

// As `steps`, and how many there are as `step_count`; they are kept by others.
void evidence_steps(struct evidence *evidence, const struct step_numbers *steps);

// The row with that key, which may end where a '}' or ':' stands; NULL: there is none.
const struct evidence_row *evidence_find(const struct evidence *evidence, const char *key,
                                         size_t length);

#endif
