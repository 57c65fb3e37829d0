// SPDX-License-Identifier: Apache-2.0
// Phases of a training step as spans on the thread that does the work: which
// there are, and which of them are hidden inside which. docs/TORCH.md says what
// they mean; what is hooked is in gait/torch/*.py.
#ifndef GAIT_PY_PHASE_H
#define GAIT_PY_PHASE_H

#include "core/py_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "core/py_phases.h"

#include "vocabulary/roles.h"

// Arguments of phases; their numbers are in py_phase_keys.
enum py_phase_key {
    KEY_LOADER,
    KEY_ITERATOR,
    KEY_ASKS,
    KEY_GOT,
    KEY_SAMPLES,
    KEY_TOKENS,
    KEY_MODULE,
    KEY_TRAINING,
    KEY_OPTIMIZER,
    KEY_STEPS,
    KEY_GENERATION,
    KEY_COLLECTIVE,
    KEY_GROUP,
    KEY_NUMBER,
    KEY_COUNT,
};

// What goes on on this thread. 12 bytes of static TLS, see py_thread.h.
struct py_phase_thread {
    uint32_t inside; // bits of the phases that are open
    uint32_t steps;  // optimizers that stepped inside the open optimizer phase
    uint16_t walk;   // Module.train() calls that are open: only the outermost counts
    uint8_t tail;    // of the open backward, see py_backward.c
    uint8_t zeroes;  // an optimizer's zero_grad() was called inside the open optimizer phase
};
extern _Thread_local struct py_phase_thread py_phase_self
    __attribute__((tls_model("initial-exec")));

extern uint32_t py_phase_keys[KEY_COUNT];

extern const struct py_phase_rule {
    enum role role;
    const char *name;   // of its site; NULL: the role has one
    uint32_t hidden_in; // bits of phases
    bool is_training;   // begins a record in a process that has none yet
} py_phase_rules[PHASE_COUNT];

// Asked for each layer of a model: no call.
static inline bool py_phase_is_hidden(enum py_phase phase)
{
    return py_phase_self.inside & py_phase_rules[phase].hidden_in;
}

// Asks the recorder for sites and keys, once a process.
void py_phase_init(void);

// Begins the phase on this thread. False when it is hidden, when nothing is on
// record, and where a process has so far shown no sign of a training while the
// phase is none either (a collection of garbage in some forked child).
// Exceptions that are set stay. After true, py_phase_end() must follow.
bool py_phase_begin(enum py_phase phase);
void py_phase_end(void);

void py_phase_arg(enum py_phase_key key, int64_t value);
void py_phase_arg_text(enum py_phase_key key, const char *text);
void py_phase_arg_object(enum py_phase_key key, const PyObject *object);

// The evaluation of a module as an asynchronous event: from eval() to train() or
// the next eval().
void py_phase_evaluation(const PyObject *module, bool begins);

// Around what a hook calls: its own work is over, and begins again. With the GIL held.
extern struct py_phase_timing {
    uint64_t begin, end; // since when; 0: this one is not timed
    uint64_t passed;     // calls of hooks that had nothing to do
} py_phase_timing;
void py_phase_time_call(void);
void py_phase_time_return(void);

static inline void py_phase_calls(void)
{
    if (__builtin_expect(py_phase_timing.begin != 0, 0))
        py_phase_time_call();
}

// Around what a hook calls while its phase is open: what was inside is put back.
static inline uint32_t py_phase_enter(enum py_phase phase)
{
    const uint32_t before = py_phase_self.inside;
    py_phase_self.inside = before | PHASE_BIT(phase);
    py_phase_calls();
    return before;
}

static inline void py_phase_leave(uint32_t before)
{
    py_phase_time_return();
    py_phase_self.inside = before;
}

// What a phase costs in this process, by timing the work of a hook now and then where
// it happens, and its share of the hooks that only pass a call on. call_ns: what the
// call of a hook costs beside its work, which cannot be seen from inside.
double py_phase_cost_ns(double call_ns);

// Functions of the module.
PyObject *py_phase_arm(PyObject *module, PyObject *starter);
PyObject *py_phase_wake(PyObject *module, PyObject *unused);
PyObject *py_phase_gc(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_phase_compile_begin(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_phase_compile_end(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
