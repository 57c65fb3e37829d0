// SPDX-License-Identifier: Apache-2.0
#include "load/stack_label.h"

#include "load/stack_rows.h"
#include "support/tap.h"

static enum frame_kind owner(const char *category, const char *name, const char *file)
{
    const struct gait_site_info site = {.category = category, .name = name, .file = file};
    return stack_rows_owner(&site);
}

TEST("stack_rows: the category says what a frame stands for, not its name")
{
    is_int(owner("process", "anything", ""), FRAME_PROCESS);
    is_int(owner("thread", "anything", ""), FRAME_THREAD);
    is_int(owner("python", "thread (1): f", "a.py"), FRAME_NONE);
    is_int(owner("python", "thread (1): f", ""), FRAME_NONE);
    is_int(owner("process", "f", "a.py"), FRAME_NONE);
}

TEST("stack_rows: a recording from before that category is read by its texts")
{
    is_int(owner("", "process 4711:\"python train.py\"", ""), FRAME_PROCESS);
    is_int(owner("", "process 4711:\"\"", ""), FRAME_PROCESS);
    is_int(owner("", "thread (4711): main", ""), FRAME_THREAD);
    is_int(owner("", "thread (0x7f12)", ""), FRAME_THREAD);
    is_int(owner("", "(outermost frames left out)", ""), FRAME_NONE);
    is_int(owner("", "process of it", ""), FRAME_NONE);
    is_int(owner("", "thread (", ""), FRAME_NONE);
}

TEST("stack_label: the process of a label")
{
    is_int(stack_label_pid("process 4711:\"python train.py\""), 4711);
    is_int(stack_label_pid("process one"), -1);
    is_int(stack_label_pid(""), -1);
}
