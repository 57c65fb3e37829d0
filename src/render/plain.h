// SPDX-License-Identifier: Apache-2.0
// Names from a trace on a terminal: whatever bytes they hold, what is printed
// is UTF-8 without control characters, of known width.
#ifndef GAIT_RENDER_PLAIN_H
#define GAIT_RENDER_PLAIN_H

#include <stdio.h>

enum plain_side { PLAIN_LEFT, PLAIN_RIGHT, PLAIN_BARE };

// Writes `text` in exactly `columns` columns: padded on the right (PLAIN_LEFT)
// or on the left, cut with "..." where it is too long. PLAIN_BARE: in at most so
// many, not padded. What would move the
// cursor or turn the writing is shown as \xNN or \u{NNNN}.
void plain_put(FILE *out, const char *text, unsigned columns, enum plain_side side);

// The same, cut in the middle: of a path the end says most.
void plain_put_middle(FILE *out, const char *text, unsigned columns, enum plain_side side);

// How many columns plain_put_all() would take; stops counting behind `enough`.
unsigned plain_width(const char *text, unsigned enough);

// Writes `text`, made safe likewise; returns how many columns it took. What no sentence is
// as long as, a name of 100 kB, is cut in the middle; JSON has such names whole.
enum { PLAIN_MOST = 4000, PLAIN_MOST_OF_WORD = 400 };
unsigned plain_put_all(FILE *out, const char *text);

// Writes each line of `text` as plain_put_all() does, with `before` in front of it.
void plain_put_lines(FILE *out, const char *text, const char *before);

// Writes the words of `text`, made safe, on lines of PLAIN_COLUMNS; the first
// begins in column `at`, the others are indented. Ends the last line. A word longer than
// PLAIN_MOST_OF_WORD is cut in the middle.
enum { PLAIN_COLUMNS = 78 };
void plain_wrap(FILE *out, const char *text, unsigned indent, unsigned at);

// The same on lines of other length, and without the last one's end: the column that it reaches.
struct plain_room {
    unsigned columns, indent, at;
};
unsigned plain_flow(FILE *out, const char *text, struct plain_room room);

#endif
