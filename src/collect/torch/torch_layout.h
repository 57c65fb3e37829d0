// SPDX-License-Identifier: Apache-2.0
// Where at::RecordFunction and c10::IValue keep what no exported function tells:
// learned by putting known values in and looking for them. A field that is not
// found exactly once is off; the others stay.
#ifndef GAIT_COLLECT_TORCH_LAYOUT_H
#define GAIT_COLLECT_TORCH_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum torch_field {
    FIELD_SEQ,        // of RecordFunction: i64, -1 for none
    FIELD_SCOPE,      // u8
    FIELD_THREAD,     // u64, torch's number of the thread
    FIELD_INPUTS,     // pointer to IValues, and their number behind it
    FIELD_ASYNC,      // u8
    FIELD_HANDLE,     // u64, only a landmark
    FIELD_FWD_THREAD, // u64, in front of the handle
    FIELD_TENSOR_TAG, // no place but the number that says tensor
    FIELD_KEYS,       // of TensorImpl: u64, the dispatch keys
    FIELD_INT_TAG,    // numbers like the tensor's
    FIELD_DOUBLE_TAG,
    FIELD_COMPLEX_TAG,
    FIELD_BOOL_TAG,
    FIELD_LIST_TAG,
    FIELD_LIST, // of a list: pointers to its first IValue and behind its last
    FIELD_COUNT,
};

#define TORCH_IVALUE_BYTES 16u // the payload, then the tag as u32
#define TORCH_IVALUE_TAG 8u

struct torch_found {
    int place;   // -1: off
    int matches; // how many places would do
    bool is_tried;
};
extern struct torch_found torch_layout[FIELD_COUNT];

// Looks for all fields up to FIELD_TENSOR_TAG. Needs torch_library.
void torch_layout_learn(void);

// FIELD_KEYS, from a tensor whose keys are known; true once it is unique.
bool torch_layout_learn_keys(const void *tensor, uint64_t keys);

const char *torch_layout_name(enum torch_field field);

// Another place where a field was found, and that all were looked for: what was
// found more or less than once is off.
void torch_layout_note(enum torch_field field, int place);
void torch_layout_decide(enum torch_field field);

static inline bool torch_layout_has(enum torch_field field)
{
    return torch_layout[field].place >= 0;
}

static inline uint64_t torch_word_at(const void *object, int place)
{
    uint64_t word;
    memcpy(&word, (const char *)object + place, sizeof(word));
    return word;
}

static inline uint32_t torch_half_at(const void *object, int place)
{
    uint32_t half;
    memcpy(&half, (const char *)object + place, sizeof(half));
    return half;
}

static inline uint8_t torch_byte_at(const void *object, int place)
{
    return ((const uint8_t *)object)[place];
}

#endif
