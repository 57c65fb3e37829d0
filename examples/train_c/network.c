// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the training, each layer a span. Sites are interned once,
// when a layer is made; the loop only names them by number.
#define _POSIX_C_SOURCE 200809L
#include "network.h"

#include <gait/record.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "random.h"

static const int widths[NETWORK_LAYERS + 1] = {NETWORK_INPUTS, 96, 96, 48, 1};

static uint32_t layer_site(int number, const char *direction)
{
    char name[32];

    snprintf(name, sizeof name, "dense %d %s", number, direction);
    return gait_site("layer", name);
}

void network_init(struct network *network, uint64_t seed)
{
    struct random random = {.state = seed};

    memset(network, 0, sizeof *network);
    for (int i = 0; i < NETWORK_LAYERS; i++) {
        struct layer *layer = &network->layers[i];
        float limit = sqrtf(6.0f / (float)(widths[i] + widths[i + 1])); // Glorot

        layer->inputs = widths[i];
        layer->outputs = widths[i + 1];
        layer->first = network->parameter_count;
        layer->forward_site = layer_site(i + 1, "forward");
        layer->backward_site = layer_site(i + 1, "backward");
        for (int w = 0; w < layer->inputs * layer->outputs; w++)
            network->parameters[layer->first + w] = limit * random_signed(&random);
        network->parameter_count += (layer->inputs + 1) * layer->outputs;
    }
}

static void row_forward(const struct layer *layer, const float *weight, const float *in, float *out)
{
    memcpy(out, weight + layer->inputs * layer->outputs, (size_t)layer->outputs * sizeof *out);
    for (int i = 0; i < layer->inputs; i++)
        for (int o = 0; o < layer->outputs; o++)
            out[o] += in[i] * weight[i * layer->outputs + o];
    for (int o = 0; o < layer->outputs && layer->outputs > 1; o++)
        out[o] = tanhf(out[o]);
}

static const float *layer_input(const struct network *network, int layer, int row,
                                const struct batch *batch)
{
    return layer > 0 ? network->layers[layer - 1].output[row] : batch->inputs[row];
}

void network_forward(struct network *network, const struct batch *batch)
{
    for (int i = 0; i < NETWORK_LAYERS; i++) {
        struct layer *layer = &network->layers[i];

        gait_begin(layer->forward_site);
        for (int row = 0; row < NETWORK_ROWS; row++)
            row_forward(layer, network->parameters + layer->first,
                        layer_input(network, i, row, batch), layer->output[row]);
        gait_end();
    }
    for (int row = 0; row < NETWORK_ROWS; row++)
        network->logits[row] = network->layers[NETWORK_LAYERS - 1].output[row][0];
}

// The loss of a logit z with label y is log(1 + e^z) - y z, written so that no
// exponential overflows.
static double loss_and_delta(struct network *network, const struct batch *batch)
{
    double sum = 0;

    for (int row = 0; row < NETWORK_ROWS; row++) {
        float z = network->logits[row], y = batch->labels[row];
        float small = expf(-fabsf(z));
        float probability = (z >= 0 ? 1.0f : small) / (1.0f + small);

        sum += (double)(log1pf(small) + fmaxf(z, 0.0f) - y * z);
        network->layers[NETWORK_LAYERS - 1].delta[row][0] = (probability - y) / NETWORK_ROWS;
    }
    return sum / NETWORK_ROWS;
}

// Adds one row to the layer's gradients; `before`, where there is a layer
// before this one, becomes d loss / d its output, through its tanh.
static void row_backward(struct network *network, const struct layer *layer, int row,
                         const float *in, float *before)
{
    const float *weight = network->parameters + layer->first, *delta = layer->delta[row];
    float *gradient = network->gradients + layer->first;

    for (int i = 0; i < layer->inputs; i++) {
        float sum = 0;

        for (int o = 0; o < layer->outputs; o++) {
            gradient[i * layer->outputs + o] += in[i] * delta[o];
            sum += weight[i * layer->outputs + o] * delta[o];
        }
        if (before)
            before[i] = sum * (1.0f - in[i] * in[i]);
    }
    for (int o = 0; o < layer->outputs; o++)
        gradient[layer->inputs * layer->outputs + o] += delta[o];
}

double network_backward(struct network *network, const struct batch *batch)
{
    double loss = loss_and_delta(network, batch);

    memset(network->gradients, 0, sizeof network->gradients);
    for (int i = NETWORK_LAYERS - 1; i >= 0; i--) {
        gait_begin(network->layers[i].backward_site);
        for (int row = 0; row < NETWORK_ROWS; row++)
            row_backward(network, &network->layers[i], row, layer_input(network, i, row, batch),
                         i > 0 ? network->layers[i - 1].delta[row] : NULL);
        gait_end();
    }
    return loss;
}

void network_update(struct network *network, float rate)
{
    const float keep_mean = 0.9f, keep_variance = 0.999f;
    float age = (float)++network->updates;
    float mean_scale = 1.0f / (1.0f - powf(keep_mean, age));
    float variance_scale = 1.0f / (1.0f - powf(keep_variance, age));

    for (int p = 0; p < network->parameter_count; p++) {
        float gradient = network->gradients[p];
        float *mean = &network->mean[p], *variance = &network->variance[p];

        *mean += (1.0f - keep_mean) * (gradient - *mean);
        *variance += (1.0f - keep_variance) * (gradient * gradient - *variance);
        network->parameters[p] -=
            rate * *mean * mean_scale / (sqrtf(*variance * variance_scale) + 1e-8f);
    }
}

int network_count_correct(const struct network *network, const struct batch *batch)
{
    int correct = 0;

    for (int row = 0; row < NETWORK_ROWS; row++)
        correct += (network->logits[row] > 0) == (batch->labels[row] > 0.5f);
    return correct;
}

// To a file beside it first: a run that dies here leaves the older checkpoint.
long network_save(const struct network *network, const char *path)
{
    char partial[4096];
    size_t count = (size_t)network->parameter_count;
    int length = snprintf(partial, sizeof partial, "%s.part", path);
    FILE *file = (size_t)length < sizeof partial ? fopen(partial, "wb") : NULL;
    int is_written;

    if (!file)
        return -1;
    is_written = fwrite(network->parameters, sizeof(float), count, file) == count &&
                 !fflush(file) && !fsync(fileno(file));
    if (fclose(file) || !is_written || rename(partial, path)) {
        remove(partial);
        return -1;
    }
    return (long)(count * sizeof(float));
}
