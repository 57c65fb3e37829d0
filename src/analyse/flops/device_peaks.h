// SPDX-License-Identifier: Apache-2.0
// What devices can do at most, dense, by their exact names. A device that is not
// in the table has no peak: it is never guessed.
#ifndef GAIT_ANALYSE_DEVICE_PEAKS_H
#define GAIT_ANALYSE_DEVICE_PEAKS_H

enum peak_kind { PEAK_16_BIT, PEAK_TF32, PEAK_FP8, PEAK_FP32, PEAK_KINDS };

struct device_peaks {
    const char *name;
    double tflops[PEAK_KINDS]; // 0: it has none, or nobody tells
};

const struct device_peaks *device_peaks_of(const char *device); // or NULL

#endif
