// SPDX-License-Identifier: Apache-2.0
// Vendors' datasheets, in TFLOP/s without sparsity (their figures with it are
// twice these) and TB/s. Names as drivers tell them.
#include "analyse/peaks.h"

#include <stddef.h>
#include <string.h>

static const struct peaks table[] = {
    {"Tesla V100-SXM2-16GB", {125, 0, 0, 15.7}, 0.90},
    {"Tesla V100-SXM2-32GB", {125, 0, 0, 15.7}, 0.90},
    {"Tesla T4", {65, 0, 0, 8.1}, 0.32},
    {"NVIDIA A100-SXM4-40GB", {312, 156, 0, 19.5}, 1.56},
    {"NVIDIA A100-PCIE-40GB", {312, 156, 0, 19.5}, 1.56},
    {"NVIDIA A100-SXM4-80GB", {312, 156, 0, 19.5}, 2.04},
    {"NVIDIA A100 80GB PCIe", {312, 156, 0, 19.5}, 2.04},
    {"NVIDIA A10", {125, 62.5, 0, 31.2}, 0.60},
    {"NVIDIA L40S", {362, 183, 733, 91.6}, 0.86},
    {"NVIDIA L4", {121, 60, 242, 30.3}, 0.30},
    {"NVIDIA GeForce RTX 4090", {165, 82.6, 330, 82.6}, 1.01},
    {"NVIDIA RTX A6000", {154.8, 77.4, 0, 38.7}, 0.77},
    {"NVIDIA H100 80GB HBM3", {989, 494, 1979, 67}, 3.35},
    {"NVIDIA H100 PCIe", {756, 378, 1513, 51}, 2.0},
    {"NVIDIA H100 NVL", {835, 417, 1671, 60}, 3.9},
    {"NVIDIA H200", {989, 494, 1979, 67}, 4.8},
    {"NVIDIA H20", {148, 74, 296, 44}, 4.0},
    {"NVIDIA B200", {2250, 1125, 4500, 75}, 8.0},
    {"NVIDIA GB200", {2500, 1250, 5000, 80}, 8.0},
    {"AMD Instinct MI250X", {191.5, 0, 0, 47.9}, 1.64},
    {"AMD Instinct MI300X", {1307, 654, 2615, 163}, 5.3},
    {"AMD Instinct MI325X", {1307, 654, 2615, 163}, 6.0},
    {"AMD Instinct MI355X", {2500, 0, 5000, 157}, 8.0},
};

const struct peaks *peaks_of(const char *device)
{
    for (size_t i = 0; device && i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, device) == 0)
            return &table[i];
    }
    return NULL;
}

const char *peaks_kind_name(enum peak_kind kind)
{
    static const char *const names[PEAK_KINDS] = {"16-bit", "tf32", "fp8", "fp32"};
    return names[kind];
}
