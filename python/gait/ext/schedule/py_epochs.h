// SPDX-License-Identifier: Apache-2.0
// Counts epochs while they happen, as src/analyse/steps/torch_epochs.c does afterwards: an epoch
// begins where the training goes on with a new iterator and the old one is done. What
// an iterator is for is known when an optimizer has stepped on its batches; before that,
// by what became of the one made in the same place of the program before.
#ifndef GAIT_PY_EPOCHS_H
#define GAIT_PY_EPOCHS_H

#include "core/py_compat.h"

#include <stdbool.h>

// What follows says whether an epoch begins there. To be called on one thread, once it is
// known which; with the GIL held. An exception that is set stays.

// An iterator is about to be made, and is there; NULL: it failed.
bool py_epochs_making(PyObject *loader);
bool py_epochs_made(PyObject *iterator);

// A batch is about to be asked for, and has been.
bool py_epochs_asking(PyObject *iterator);
void py_epochs_asked(const PyObject *iterator, bool has_got);

// An optimizer has stepped.
bool py_epochs_stepped(void);

// Forgets what other threads than this one iterated: it is the one that trains.
void py_epochs_choose_thread(void);

// Whether there is a loop that epochs can be told by.
bool py_epochs_are_counted(void);

#endif
