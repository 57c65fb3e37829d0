// SPDX-License-Identifier: Apache-2.0
// What the variables of CUDA and ROCm leave visible, by their documentation.
#include "meter/visible.h"

#include <stdio.h>
#include <string.h>

#include "support/tap.h"

enum { GPUS = 4 };

// Of the last GPU a part is used: it has two MIG devices.
static const struct visible_gpu gpus[GPUS] = {
    {.uuid = "GPU-aaaa0000-1111-2222-3333-444444444444"},
    {.uuid = "GPU-aaaa1111-1111-2222-3333-444444444444"},
    {.uuid = "GPU-bbbb0000-1111-2222-3333-444444444444"},
    {.uuid = "GPU-cccc0000-1111-2222-3333-444444444444",
     .parts = {"MIG-dddd0000-5555", "MIG-eeee0000-5555"},
     .part_count = 2},
};

struct row {
    const char *words, *use; // w: whole, p: a part, -: not
};

static void is_used(const char *words, const char *want, const enum visible_use *use)
{
    char got[GPUS + 1] = "";
    for (size_t i = 0; i < GPUS; i++)
        got[i] = "-wp"[use[i]];
    if (!is_str(got, want))
        printf("# of '%s'\n", words ? words : "(unset)");
}

TEST("visible: CUDA_VISIBLE_DEVICES in twelve ways")
{
    static const struct row rows[] = {
        {NULL, "wwwp"},                                       // unset: all
        {"", "----"},                                         // empty: none
        {"0,2", "w-w-"},                                      // by number
        {" 2 , 0", "w-w-"},                                   // in any order, with blanks
        {"1,-1,0", "-w--"},                                   // up to the first that is none
        {"0,9,1", "w---"},                                    // which may be too large
        {"GPU-bbbb0000-1111-2222-3333-444444444444", "--w-"}, // by UUID
        {"GPU-b", "--w-"},                                    // or its beginning
        {"GPU-aaaa", "----"},                                 // that must mean one alone
        {"MIG-eeee0000-5555", "---p"},                        // a MIG device
        {"MIG-GPU-cccc0000-1111-2222-3333-444444444444/1/0", "---p"}, // the older name of one
        {"NoDevFiles", "----"},                                       // a word of batch systems
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum visible_use use[GPUS];
        visible_of_cuda(&(struct visible_words){.cuda = rows[i].words}, gpus, GPUS, use);
        is_used(rows[i].words, rows[i].use, use);
    }
}

TEST("visible: HIP numbers what ROCR left, and reads CUDA's variable where its own is unset")
{
    static const struct {
        struct visible_words words;
        const char *use;
    } rows[] = {
        {{NULL, NULL, NULL}, "wwww"}, {{NULL, "1", NULL}, "-w--"},  {{NULL, NULL, "2,0"}, "w-w-"},
        {{NULL, "0", "2,0"}, "--w-"}, {{"1", NULL, "2,0"}, "w---"}, {{"1", "0", NULL}, "w---"},
        {{NULL, "", NULL}, "----"},   {{NULL, "2", "2,0"}, "----"}, {{NULL, NULL, "GPU-b"}, "--w-"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum visible_use use[GPUS];
        visible_of_rocm(&rows[i].words, gpus, GPUS, use);
        is_used(rows[i].words.hip, rows[i].use, use);
    }
}

TEST("visible: a GPU that is named twice is used once, and hostile words end the list")
{
    enum visible_use use[GPUS];
    char endless[4000];
    visible_of_cuda(&(struct visible_words){.cuda = "1,1,1"}, gpus, GPUS, use);
    is_used("1,1,1", "-w--", use);
    memset(endless, '9', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    visible_of_cuda(&(struct visible_words){.cuda = endless}, gpus, GPUS, use);
    is_used("9...", "----", use);
    visible_of_cuda(&(struct visible_words){.cuda = "0,,1"}, gpus, GPUS, use);
    is_used("0,,1", "w---", use);
    visible_of_cuda(&(struct visible_words){.cuda = "MIG-,GPU-"}, gpus, GPUS, use);
    is_used("MIG-,GPU-", "----", use);
}
