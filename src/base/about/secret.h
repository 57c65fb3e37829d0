// SPDX-License-Identifier: Apache-2.0
// Command lines hold passwords and tokens; what is written down of one has none of them.
#ifndef GAIT_BASE_SECRET_H
#define GAIT_BASE_SECRET_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/slice.h"

// Whether a name looks like that of a secret: "--api-key", "HF_TOKEN", "db.password".
bool secret_is_name(struct slice name);

// A command line: arguments with a 0 behind each. Values of those whose names look like a
// secret's are "***": of "--token X", "--token=X", "TOKEN=X", "token: X", "token: Bearer X" and
// "https://user:X@host", and so are words that begin as tokens do ("ghp_X"). A long argument is
// cut, and so is a long line.
struct secret_line {
    struct slice left;
    size_t count;   // of arguments that were taken
    bool is_secret; // the next one is
};
enum { SECRET_SHOWN_BYTES = 1032 };
bool secret_line_next(struct secret_line *line, char shown[SECRET_SHOWN_BYTES]);

// Appends all of them as a JSON array.
GAIT_CHECK int secret_line_json(struct slice line, struct buffer *out);

#endif
