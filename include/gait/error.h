// SPDX-License-Identifier: Apache-2.0
// What can go wrong, as numbers. Every function of gait that can fail returns
// 0 or one of these (all negative); the sentence that belongs to a failure is
// asked from the library that failed: gait_record_error(), gait_trace_error().
#ifndef GAIT_ERROR_H
#define GAIT_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#define GAIT_API __attribute__((visibility("default")))
#define GAIT_CHECK __attribute__((warn_unused_result))

enum gait_error {
    GAIT_OK = 0,
    GAIT_ERR_ARGUMENT = -1, // the caller asked for something impossible
    GAIT_ERR_MEMORY = -2,   // no memory left, or a built-in maximum reached
    GAIT_ERR_IO = -3,       // the system refused to open, read or write
    GAIT_ERR_FORMAT = -4,   // the bytes are not what FORMAT.md promises
    GAIT_ERR_STATE = -5,    // not now: already started, not started, stopped
    GAIT_ERR_MISSING = -6,  // no such thing: file, track, shard, library
};

// A few words for a code ("bad format"), for any int; never NULL.
GAIT_API const char *gait_error_text(int code);

#ifdef __cplusplus
}
#endif
#endif
