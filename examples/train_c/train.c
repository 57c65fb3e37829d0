// SPDX-License-Identifier: Apache-2.0
// A small real training, on record: learns to tell two spirals apart. All it
// knows of gait is <gait/record.h>; README.md beside it walks through.
#include <gait/record.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"
#include "network.h"

enum { HELD_OUT_BATCHES = 8, EVALUATE_EVERY = 100, CHECKPOINT_EVERY = 500, SEED = 7 };

struct training {
    uint64_t steps;
    int is_quiet;
    const char *checkpoint;
    struct network network;
    struct batches batches;
    struct batch held_out[HELD_OUT_BATCHES];
    double loss_sum; // since the last line printed
};

// Accuracy on samples that the network never learns from, in percent.
static double evaluate(struct training *training)
{
    int correct = 0;
    double accuracy;

    for (int i = 0; i < HELD_OUT_BATCHES; i++) {
        network_forward(&training->network, &training->held_out[i]);
        correct += network_count_correct(&training->network, &training->held_out[i]);
    }
    accuracy = 100.0 * correct / (HELD_OUT_BATCHES * NETWORK_ROWS);
    gait_count_real(GAIT_SITE("train", "accuracy"), accuracy);
    return accuracy;
}

static void report(struct training *training, uint64_t step)
{
    double accuracy = evaluate(training);

    if (!training->is_quiet)
        printf("step %5llu   loss %.6f   accuracy %5.1f %%\n", (unsigned long long)step,
               training->loss_sum / EVALUATE_EVERY, accuracy);
    training->loss_sum = 0;
}

static int save(struct training *training)
{
    long bytes = network_save(&training->network, training->checkpoint);

    if (bytes < 0) {
        fprintf(stderr, "train_c: cannot write '%s': %s\n", training->checkpoint, strerror(errno));
        return -1;
    }
    gait_arg_int(gait_key("bytes"), bytes);
    gait_arg_text(gait_key("path"), training->checkpoint);
    return 0;
}

// The phases of a step follow each other without a gap, so a boundary is one
// gait_next: on one timestamp one phase ends and another begins.
static int run_step(struct training *training, uint64_t step)
{
    struct network *network = &training->network;
    const struct batch *batch;
    double loss;
    int result = 0;

    gait_step_begin(step);
    gait_begin(GAIT_SITE("phase", "input"));
    batch = batches_take(&training->batches);
    gait_next(GAIT_SITE("phase", "forward"));
    network_forward(network, batch);
    gait_next(GAIT_SITE("phase", "backward"));
    loss = network_backward(network, batch);
    batches_release(&training->batches);
    gait_next(GAIT_SITE("phase", "optimizer"));
    network_update(network, 0.002f);
    gait_count_real(GAIT_SITE("train", "loss"), loss);
    training->loss_sum += loss;
    if (step % EVALUATE_EVERY == 0) {
        gait_next(GAIT_SITE("phase", "evaluation"));
        report(training, step);
    }
    if (step % CHECKPOINT_EVERY == 0) {
        gait_next(GAIT_SITE("phase", "checkpoint"));
        result = save(training);
    }
    gait_end();
    gait_step_end();
    return result;
}

static int train(struct training *training)
{
    int result = 0;

    for (int i = 0; i < HELD_OUT_BATCHES; i++)
        batches_fill_held_out(&training->held_out[i], SEED + 2 + (uint64_t)i);
    network_init(&training->network, SEED);
    if (batches_start(&training->batches, training->steps, SEED + 1)) {
        fprintf(stderr, "train_c: cannot start the data thread\n");
        return -1;
    }
    for (uint64_t step = 1; step <= training->steps; step++)
        result |= run_step(training, step);
    batches_stop(&training->batches);
    printf("trained %llu steps, accuracy %.1f %%\n", (unsigned long long)training->steps,
           evaluate(training));
    return result;
}

static int parse_options(struct training *training, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = argv[i + 1]; // NULL after the last

        if (!strcmp(argv[i], "--quiet")) {
            training->is_quiet = 1;
            continue;
        }
        if (!value || !*value)
            return -1;
        if (!strcmp(argv[i], "--steps") && !value[strspn(value, "0123456789")])
            training->steps = strtoull(value, NULL, 10);
        else if (!strcmp(argv[i], "--checkpoint"))
            training->checkpoint = value;
        else
            return -1;
        i++;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct training training = {.steps = 1500, .checkpoint = "train_c.checkpoint"};
    int result;

    if (parse_options(&training, argc, argv)) {
        fprintf(stderr, "usage: train_c [--steps N] [--quiet] [--checkpoint PATH]\n");
        return 2;
    }
    // a training that cannot be recorded is still a training: say so, go on
    if (gait_start(NULL))
        fprintf(stderr, "train_c: not on record: %s\n", gait_record_error());
    gait_thread_name("trainer");
    gait_metadata("hyperparameters", "{\"rate\": 0.002, \"batch\": 128, \"seed\": 7}");
    result = train(&training);
    gait_stop();
    return result ? 1 : 0;
}
