// SPDX-License-Identifier: Apache-2.0
// A multi-layer perceptron for two classes: dense layers with tanh between
// them, one logit at the end, binary cross-entropy, Adam.
#ifndef NETWORK_H
#define NETWORK_H

#include <stdint.h>

enum {
    NETWORK_INPUTS = 8,
    NETWORK_ROWS = 128, // samples that go through at once
    NETWORK_LAYERS = 4,
    NETWORK_WIDTH = 96, // of the widest layer
    NETWORK_PARAMETERS = NETWORK_LAYERS * (NETWORK_WIDTH + 1) * NETWORK_WIDTH, // at most
};

// One dense layer. Its weights [inputs][outputs], then its biases, lie in the
// network's arrays from `first` on.
struct layer {
    int inputs, outputs, first;
    uint32_t forward_site, backward_site;
    float output[NETWORK_ROWS][NETWORK_WIDTH];
    float delta[NETWORK_ROWS][NETWORK_WIDTH]; // d loss / d output
};

struct network {
    struct layer layers[NETWORK_LAYERS];
    int parameter_count, updates;
    float parameters[NETWORK_PARAMETERS], gradients[NETWORK_PARAMETERS];
    float mean[NETWORK_PARAMETERS], variance[NETWORK_PARAMETERS]; // Adam's
    float logits[NETWORK_ROWS];
};

struct batch {
    uint64_t number; // from 1, as the steps
    float inputs[NETWORK_ROWS][NETWORK_INPUTS];
    float labels[NETWORK_ROWS]; // 0 or 1
};

void network_init(struct network *network, uint64_t seed);
void network_forward(struct network *network, const struct batch *batch); // fills logits
// The mean loss of the batch that went forward last; fills the gradients.
double network_backward(struct network *network, const struct batch *batch);
void network_update(struct network *network, float rate);
int network_count_correct(const struct network *network, const struct batch *batch);
// Writes the parameters to `path`, whole or not at all. Bytes, or -1.
long network_save(const struct network *network, const char *path);

#endif
