// SPDX-License-Identifier: Apache-2.0
// Values of a Chrome trace as parts of a form: arguments, and the fields of an event that
// have no column (docs/decisions/0018-import.md).
#ifndef GAIT_INGEST_CHROME_PARTS_H
#define GAIT_INGEST_CHROME_PARTS_H

#include "ingest/event_store.h"
#include "ingest/json_scan.h"

// X(identifier, "name"): fields of an event by the name that they have in the file.
#define CHROME_FIELDS(X)                                                                           \
    X(PH, "ph")                                                                                    \
    X(CAT, "cat")                                                                                  \
    X(NAME, "name")                                                                                \
    X(PID, "pid")                                                                                  \
    X(TID, "tid")                                                                                  \
    X(TS, "ts")                                                                                    \
    X(DUR, "dur")                                                                                  \
    X(ID, "id")                                                                                    \
    X(ARGS, "args")                                                                                \
    X(ECHO, "gait.echo")                                                                           \
    X(UNFINISHED, "gait.unfinished")

enum chrome_field {
#define X(identifier, name) FIELD_##identifier,
    CHROME_FIELDS(X)
#undef X
        FIELD_COUNT
};

struct chrome_parts {
    struct event_store *store;
    struct repairs *repairs;
    struct buffer room; // scratch for texts
    struct form_part parts[FORM_MOST_PARTS];
    struct slice numbers[FORM_MOST_PARTS]; // where the value stands, if it is a number
    size_t count;
    uint8_t *json_states; // by string id: 0 not known, else whether it is JSON
    size_t json_room;
    uint32_t field_ids[FIELD_COUNT];
};

GAIT_CHECK int chrome_parts_init(struct chrome_parts *parts, struct event_store *store,
                                 struct repairs *repairs);
void chrome_parts_finish(struct chrome_parts *parts);

// The id of what a string says.
uint32_t chrome_parts_string(struct chrome_parts *parts, const struct json_value *value);

// Adds an argument, or a field, of that key. One that stood before is replaced.
GAIT_CHECK int chrome_parts_add(struct chrome_parts *parts, uint32_t key, bool is_field,
                                const struct json_value *value);

// Adds all members of an object; where they are too many, the object as a field.
GAIT_CHECK int chrome_parts_add_args(struct chrome_parts *parts, const struct json_value *object);

// Says what a field was in the file, where its column says less; NULL: it was not there.
GAIT_CHECK int chrome_parts_field(struct chrome_parts *parts, enum chrome_field field,
                                  const struct json_value *value);

#endif
