// SPDX-License-Identifier: Apache-2.0
// Options of the commands that sample: how often, and how long.
#ifndef GAIT_CLI_SAMPLE_OPTIONS_H
#define GAIT_CLI_SAMPLE_OPTIONS_H

#define SAMPLE_RATE_USUAL 1000

// An int64_t `rate`, 0 where none is given.
#define SAMPLE_RATE_OPTION(values)                                                                 \
    {NUMBER_ROW('r', "rate", "HZ", 1, 1000000000, offsetof(values, rate),                          \
                "samples a second, at random times (default: 1000)")}

// A double `seconds`, 0 where none is given; a century is for ever.
#define SAMPLE_DURATION_OPTION(values, words)                                                      \
    {SECONDS_ROW('d', "duration", "SEC", 1, 100 * 366 * 86400000ll, offsetof(values, seconds),     \
                 words)}

#endif
