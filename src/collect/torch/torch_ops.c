// SPDX-License-Identifier: Apache-2.0
// Called some thousand times a millisecond in the worst case, so everything here
// is a look-up in what the thread keeps; a lock is taken where a name or a shape
// is new to the thread, and nowhere else. Names are looked up by a hash of their
// text: many lie in memory that holds another one a moment later.
//
// An end is matched with its start by the function's address: a range may end in
// another thread, or after one that was begun inside it. Spans of a thread are
// nested, so an end takes with it what was begun inside and not ended.
#define _GNU_SOURCE
#include "collect/torch/torch_ops.h"

#include <gait/record.h>
#include <string.h>

#include "collect/torch/torch_layout.h"
#include "collect/torch/torch_library.h"
#include "collect/torch/torch_shapes.h"
#include "collect/torch/torch_thread.h"
#include "record/op.h"
#include "vocabulary/roles.h"

#define RARE(condition) __builtin_expect(!!(condition), 0)
// Beside a site: a convolution's work follows from its strides and groups, too. Of
// other ops numbers are not told: some change each step, and each makes a text.
#define HAS_VALUES (1u << 31)
#define PAGE 4096u // at least; a word that does not cross one can be read

// What each op needs, in one line: places in RecordFunction, -1 where not known.
static struct {
    const char *(*name_of)(const void *);
    bool (*is_async)(const void *);
    int scope, async, seq, fwd_thread;
    bool is_armed, has_shapes;
} hot __attribute__((aligned(64)));

void torch_ops_init(void)
{
    hot.name_of = torch_library.name_of;
    hot.is_async = torch_library.is_async;
    hot.scope = torch_layout[FIELD_SCOPE].place;
    hot.async = torch_layout[FIELD_ASYNC].place;
    hot.seq = torch_layout[FIELD_SEQ].place;
    hot.fwd_thread = torch_layout[FIELD_FWD_THREAD].place;
}

void torch_ops_arm(bool is_on)
{
    __atomic_store_n(&hot.is_armed, is_on, __ATOMIC_RELEASE);
}

void torch_ops_set_shapes(bool is_on)
{
    __atomic_store_n(&hot.has_shapes, is_on, __ATOMIC_RELEASE);
}

// --- names --------------------------------------------------------------------------

// By words of eight bytes, of which the last may reach behind the text but not
// into a page that may not be there.
__attribute__((no_sanitize("address"))) static uint64_t hash_of(const char *text, uint64_t hash)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    for (;; text += 8) {
        uint64_t word = 0;
        if (RARE(((uintptr_t)text & (PAGE - 1)) > PAGE - 8))
            memcpy(&word, text, strnlen(text, 8));
        else
            __builtin_memcpy(&word, text, 8);
        const uint64_t zeros = (word - ones) & ~word & highs; // above the first, more may be
        if (zeros)
            return torch_mix(hash, word & (((zeros & -zeros) >> 7) - 1));
        hash = torch_mix(hash, word);
    }
}

__attribute__((noinline, cold)) static uint32_t learn_name(struct torch_set *set, uint64_t hash,
                                                           const char *name, uint32_t scope)
{
    const bool is_range = scope == TORCH_SCOPE_USER;
    uint32_t site = gait_site(role_category(is_range ? ROLE_ANNOTATION : ROLE_OP), name);
    if (site && !is_range && strstr(name, "conv"))
        site |= HAS_VALUES;
    torch_set_add(set, hash, site);
    return site;
}

static inline uint32_t site_of(struct torch_thread *thread, const void *function, uint32_t scope)
{
    const char *name = hot.name_of(function);
    if (RARE(!name))
        return 0;
    const uint64_t hash = hash_of(name, scope + 1);
    struct torch_set *set = &thread->names[hash % TORCH_NAME_SETS];
    const struct torch_known *known = torch_set_find(set, hash);
    return known ? known->id : learn_name(set, hash, name, scope);
}

static inline uint32_t scope_of(const void *function)
{
    return hot.scope >= 0 ? torch_byte_at(function, hot.scope) : 0;
}

static inline bool is_async(const void *function)
{
    if (!RARE(hot.async < 0))
        return torch_byte_at(function, hot.async);
    return hot.is_async && hot.is_async(function);
}

// --- open ops -----------------------------------------------------------------------

// False when too many are open: then it is not recorded. Spans of another
// session have no end in this one.
static inline bool push_open(struct torch_thread *thread, const void *function)
{
    const uint64_t session = op_session();
    if (RARE(thread->session != session))
        thread->open_count = 0;
    thread->session = session;
    if (RARE(thread->open_count == TORCH_OPEN_MAX))
        return false;
    thread->open[thread->open_count++] = function;
    return true;
}

// How many spans end with this function, 0 if it was not begun here.
static uint32_t pop_open(struct torch_thread *thread, const void *function)
{
    if (RARE(thread->session != op_session()))
        return 0;
    for (uint32_t i = thread->open_count; i > 0; i--) {
        if (thread->open[i - 1] != function)
            continue;
        const uint32_t ended = thread->open_count - (i - 1);
        thread->open_count = i - 1;
        return ended;
    }
    return 0;
}

// --- the callbacks ------------------------------------------------------------------

static inline struct slot_op about_of(struct torch_thread *thread, const void *function,
                                      uint32_t scope, bool has_values)
{
    struct slot_op op = {.scope = (uint8_t)scope};
    const int64_t seq = hot.seq >= 0 ? (int64_t)torch_word_at(function, hot.seq) : -1;
    if (seq >= 0) {
        const uint64_t number = hot.fwd_thread >= 0 ? torch_word_at(function, hot.fwd_thread) : 0;
        op.seq_above = (uint64_t)seq + 1;
        op.fwd_thread = number > UINT32_MAX ? 0 : (uint32_t)number;
    }
    if (__atomic_load_n(&hot.has_shapes, __ATOMIC_RELAXED))
        op.shapes = torch_shapes_of(thread, function, has_values);
    return op;
}

__attribute__((hot)) void *torch_ops_start(void **context, const void *function)
{
    *context = NULL;
    if (RARE(!__atomic_load_n(&hot.is_armed, __ATOMIC_RELAXED) ||
             !__atomic_load_n(&gait_recording, __ATOMIC_RELAXED)))
        return context;
    struct torch_thread *thread = torch_thread_get();
    if (RARE(!thread))
        return context;
    const uint32_t scope = scope_of(function);
    const uint32_t named = site_of(thread, function, scope), site = named & ~HAS_VALUES;
    if (RARE(is_async(function))) {
        gait_async_begin(site, (uint64_t)(uintptr_t)function);
        return context;
    }
    const struct slot_op op = about_of(thread, function, scope, named & HAS_VALUES);
    if (push_open(thread, function))
        op_begin(site, &op);
    return context;
}

// In another thread than the start's, perhaps.
__attribute__((noinline, cold)) static void end_async(const void *function)
{
    struct torch_thread *thread = torch_thread_get();
    if (thread)
        gait_async_end(site_of(thread, function, scope_of(function)) & ~HAS_VALUES,
                       (uint64_t)(uintptr_t)function);
}

__attribute__((hot)) void torch_ops_end(const void *function, void *context)
{
    struct torch_thread *thread = torch_thread_self;
    (void)context;
    if (RARE(!__atomic_load_n(&gait_recording, __ATOMIC_RELAXED)))
        return;
    if (RARE(is_async(function))) {
        end_async(function);
        return;
    }
    if (RARE(!thread))
        return;
    for (uint32_t ended = pop_open(thread, function); ended; ended--) {
        op_end();
    }
}
