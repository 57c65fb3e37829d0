// SPDX-License-Identifier: Apache-2.0
// Options of the commands that sample: how often, and how long.
#ifndef GAIT_CLI_SAMPLE_OPTIONS_H
#define GAIT_CLI_SAMPLE_OPTIONS_H

#define SAMPLE_RATE_USUAL 1000

// An int64_t `rate`, 0 where none is given.
#define SAMPLE_RATE_OPTION(values)                                                                 \
    {.letter = 'r',                                                                                \
     .name = "rate",                                                                               \
     .kind = OPTION_NUMBER,                                                                        \
     .value = "HZ",                                                                                \
     .help = "samples a second, at random times (default: 1000)",                                  \
     .offset = offsetof(values, rate),                                                             \
     .low = 1,                                                                                     \
     .high = 1000000000}

// A double `seconds`, 0 where none is given; a century is for ever.
#define SAMPLE_DURATION_OPTION(values, words)                                                      \
    {.letter = 'd',                                                                                \
     .name = "duration",                                                                           \
     .kind = OPTION_SECONDS,                                                                       \
     .value = "SEC",                                                                               \
     .help = (words),                                                                              \
     .offset = offsetof(values, seconds),                                                          \
     .low = 1,                                                                                     \
     .high = 100 * 366 * 86400000ll}

#endif
