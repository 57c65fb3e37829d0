// SPDX-License-Identifier: Apache-2.0
// Command lines hold passwords and tokens; what is written down of one has none of them.
#ifndef GAIT_BASE_SECRET_H
#define GAIT_BASE_SECRET_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/slice.h"

// Whether a name looks like that of a secret: "--api-key", "HF_TOKEN", "db.password".
bool secret_is_name(struct slice name);

// Appends the arguments of a command line, each with a 0 behind it, as a JSON array. Values of
// arguments whose names look like a secret's are "***": of "--token X", "--token=X",
// "TOKEN=X", "token: X" and "https://user:X@host". A long argument is cut, and so is a long line.
GAIT_CHECK int secret_line_json(struct slice line, struct buffer *out);

#endif
