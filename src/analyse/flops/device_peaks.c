// SPDX-License-Identifier: Apache-2.0
// Vendors' datasheets, in TFLOP/s without sparsity (their figures with it are
// twice these). Names as drivers tell them.
#include "analyse/flops/device_peaks.h"

#include <stddef.h>
#include <string.h>

static const struct device_peaks table[] = {
    {"Tesla V100-SXM2-16GB", {125, 0, 0, 15.7}},
    {"Tesla V100-SXM2-32GB", {125, 0, 0, 15.7}},
    {"Tesla T4", {65, 0, 0, 8.1}},
    {"NVIDIA A100-SXM4-40GB", {312, 156, 0, 19.5}},
    {"NVIDIA A100-PCIE-40GB", {312, 156, 0, 19.5}},
    {"NVIDIA A100-SXM4-80GB", {312, 156, 0, 19.5}},
    {"NVIDIA A100 80GB PCIe", {312, 156, 0, 19.5}},
    {"NVIDIA A10", {125, 62.5, 0, 31.2}},
    {"NVIDIA L40S", {362, 183, 733, 91.6}},
    {"NVIDIA L4", {121, 60, 242, 30.3}},
    {"NVIDIA GeForce RTX 4090", {165, 82.6, 330, 82.6}},
    {"NVIDIA RTX A6000", {154.8, 77.4, 0, 38.7}},
    {"NVIDIA H100 80GB HBM3", {989, 494, 1979, 67}},
    {"NVIDIA H100 PCIe", {756, 378, 1513, 51}},
    {"NVIDIA H100 NVL", {835, 417, 1671, 60}},
    {"NVIDIA H200", {989, 494, 1979, 67}},
    {"NVIDIA H20", {148, 74, 296, 44}},
    {"NVIDIA B200", {2250, 1125, 4500, 75}},
    {"NVIDIA GB200", {2500, 1250, 5000, 80}},
    {"AMD Instinct MI250X", {191.5, 0, 0, 47.9}},
    {"AMD Instinct MI300X", {1307, 654, 2615, 163}},
    {"AMD Instinct MI325X", {1307, 654, 2615, 163}},
    {"AMD Instinct MI355X", {2500, 0, 5000, 157}},
};

const struct device_peaks *device_peaks_of(const char *device)
{
    for (size_t i = 0; device && i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, device) == 0)
            return &table[i];
    }
    return NULL;
}
