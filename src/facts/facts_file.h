// SPDX-License-Identifier: Apache-2.0
// What was made of a rank, kept beside its shard (docs/FORMAT.md section 9). It holds nothing of
// its own: without it, or with one of another shard or of other rules, all is made anew.
//
//     facts_file_open(&file, trace, shard)
//     facts_file_take(file, &list, &rows, &count)      1: here they are; 0: not on record
//     facts_file_put(file, &list, rows, count)
//     facts_file_close(file)                           writes what was put, if it can
#ifndef GAIT_FACTS_FACTS_FILE_H
#define GAIT_FACTS_FACTS_FILE_H

#include <stdbool.h>

#include <gait/trace.h>

#include "facts/fact_list.h"

#define FACTS_SUFFIX "-facts" // behind the name of the shard

struct facts_file;

struct fact_taken {
    void *rows; // for free()
    size_t count;
};

// NULL where the rank has none and gets none: while it is recorded, after it was salvaged or found
// damaged, and as long as it has so few rows that to read them is as fast.
GAIT_CHECK int facts_file_open(struct facts_file **ret_file, struct gait_trace *trace,
                               uint32_t shard);

// Whether it is there at all, and whether it has that list.
bool facts_file_is_there(const struct facts_file *file);
bool facts_file_has(const struct facts_file *file, const struct fact_list *list);

// One block for free(), texts of the rows in it. What is wrong in the file is not on record.
GAIT_CHECK int facts_file_take(struct facts_file *file, const struct fact_list *list,
                               void **ret_rows, size_t *ret_count);
// The same of one frame of the list, the number-th; a list without texts, of which more are kept
// than anyone takes at once.
GAIT_CHECK int facts_file_take_frame(struct facts_file *file, const struct fact_list *list,
                                     size_t number, struct fact_taken *ret_taken);
// How many frames it has.
size_t facts_file_frames(const struct facts_file *file, const struct fact_list *list);

// A list of one row, without texts.
GAIT_CHECK int facts_file_take_one(struct facts_file *file, const struct fact_list *list,
                                   void *ret_row);
GAIT_CHECK int facts_file_put(struct facts_file *file, const struct fact_list *list,
                              const void *rows, size_t count);

// Takes NULL. A file that cannot be written is none: the answer is there.
void facts_file_close(struct facts_file *file);

#endif
