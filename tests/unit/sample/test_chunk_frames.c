// SPDX-License-Identifier: Apache-2.0
// One copy of a chunk in the middle of calls and returns: which of its frames runs?
#include "sample/look/chunk_frames.h"

#include "support/fake_code.h"
#include "support/random_values.h"
#include "support/tap.h"

#define STATE (FAKE_BASE + 0x1000)
#define LOCK (FAKE_BASE + 0x2000)
#define CFRAME (FAKE_BASE + 0x3000) // on the C stack (3.11 and 3.12)
#define SHIM (FAKE_BASE + 0x3400)   // too: the interpreter's own frame of a call from C code
#define CHUNK (FAKE_BASE + 0x4000)
#define CHUNK_BYTES 16384u
#define FIRST (CHUNK + 24)
#define DONE 3u // a stacktop of one that does not run
#define RUNNING UINT32_MAX

// Functions by the words that their frames have behind the fixed 72 bytes of all three versions.
enum { MAIN, CALLER, SHORT, ALIKE, LONG, HUGE, FUNCTIONS, UNKNOWN };
static const uint32_t words_of[FUNCTIONS] = {10, 6, 4, 4, 16, 200};

static const int minors[] = {11, 12, 13};
#define EACH_VERSION(i) for (size_t i = 0; i < 3; i++)

static struct target target;
static struct snapshot_read gather;
static struct code_cache codes;
static struct stack_trie trie;
static struct python_thread *thread;

static void begin(int minor)
{
    struct code_place place;
    fake_init(&target, minor);
    target.gil = LOCK;
    fake_put(STATE + (uint64_t)target.layout.thread_chunk, CHUNK);
    fake_put(STATE + (uint64_t)target.layout.thread_top, FIRST + 4096);
    if (target.layout.thread_cframe >= 0)
        fake_put(STATE + (uint64_t)target.layout.thread_cframe, CFRAME);
    fake_put(CHUNK + (uint64_t)target.layout.chunk_size, CHUNK_BYTES);
    ok(snapshot_read_init(&gather, &target) == 0);
    gather.slow_ns = gather.delay_ns = UINT64_MAX / 2; // a busy machine is none of these cases
    ok(stack_trie_init(&trie) == 0);
    ok(code_cache_init(&codes, &target, &trie) == 0);
    for (uint32_t n = 0; n < FUNCTIONS; n++) {
        fake_code(&target, n, words_of[n]);
        is_int(code_cache_place(&codes, FAKE_CODE(n), 0, &place), 0);
    }
    fake_code(&target, UNKNOWN, 4); // there, though nobody looked at it yet
    ok(python_thread_create(STATE, &thread) == 0);
    python_thread_expect(thread, &target);
}

static void end(void)
{
    python_thread_destroy(thread);
    code_cache_finish(&codes);
    stack_trie_finish(&trie);
    snapshot_read_finish(&gather);
}

static void put_top(uint64_t frame, uint32_t top)
{
    fake_put32(frame + (uint64_t)target.layout.frame_top, top);
}

static void put_previous(uint64_t frame, uint64_t previous)
{
    fake_put(frame + (uint64_t)target.layout.frame_previous, previous);
}

static void put_entry(uint64_t frame, bool is_entry)
{
    if (target.layout.frame_entry >= 0) // 3.11
        fake.bytes[frame - FAKE_BASE + (uint64_t)target.layout.frame_entry] = is_entry;
}

// The frame of a function right above its caller's; 0: the outermost.
static uint64_t put_frame(uint64_t caller, uint32_t function, enum fake_unit unit, uint32_t top)
{
    const struct layout *layout = &target.layout;
    uint64_t at = FIRST;
    if (caller) {
        uint64_t code;
        memcpy(&code, fake.bytes + (caller - FAKE_BASE) + layout->frame_code, 8);
        const uint32_t n = (uint32_t)(code - FAKE_CODE(0)) / 512;
        at = caller + 72 + 8u * (n < FUNCTIONS ? words_of[n] : 4);
    }
    put_previous(at, caller ? caller : layout->minor >= 12 ? SHIM : 0);
    put_entry(at, !caller);
    fake_put(at + (uint64_t)layout->frame_code, FAKE_CODE(function));
    fake_put(at + (uint64_t)layout->frame_instruction, fake_instruction(layout, function, unit));
    put_top(at, top);
    return at;
}

// Called by way of C code, which runs in the caller.
static void came_from_c(uint64_t frame, uint64_t caller)
{
    put_top(caller, RUNNING);
    put_entry(frame, true);
    put_previous(frame, target.layout.minor >= 12 ? SHIM : caller);
}

static struct chunk_frames look(void)
{
    snapshot_read_begin(&gather);
    snapshot_read_add(&gather, thread, true);
    is_int(snapshot_read_all(&gather), SNAPSHOT_READ_DONE);
    return (struct chunk_frames){&gather, &codes, python_thread_chunk(thread, FIRST)};
}

static uint64_t running(uint64_t current)
{
    const struct chunk_frames frames = look();
    return chunk_frames_running(&frames, current);
}

// Two callers that wait, one above the other.
static uint64_t put_callers(void)
{
    return put_frame(put_frame(0, MAIN, UNIT_CALL, DONE), CALLER, UNIT_CALL, DONE);
}

TEST("chunk_frames: the current frame runs as a rule, wherever it stands")
{
    static const enum fake_unit units[] = {UNIT_BEGIN, UNIT_LOAD, UNIT_CALL, UNIT_RETURN};
    EACH_VERSION(i)
    for (size_t unit = 0; unit < 4; unit++) {
        begin(minors[i]);
        const uint64_t leaf = put_frame(put_callers(), SHORT, units[unit], RUNNING);
        is_u64(running(leaf), leaf);
        end();
    }
}

TEST("chunk_frames: a function met for the first time runs, too")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t leaf = put_frame(put_callers(), UNKNOWN, UNIT_LOAD, RUNNING);
        is_u64(running(leaf), leaf);
        end();
    }
}

TEST("chunk_frames: the current one returned, and its caller goes on")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t caller = put_callers();
        const uint64_t leaf = put_frame(caller, SHORT, UNIT_RETURN, DONE);
        put_top(caller, RUNNING);
        is_u64(running(leaf), caller);
        end();
    }
}

TEST("chunk_frames: a caller that called another at the same place is not told for it")
{
    static const uint32_t others[] = {ALIKE, LONG}; // of the same size, of another
    EACH_VERSION(i)
    for (size_t other = 0; other < 2; other++) {
        begin(minors[i]);
        const uint64_t caller = put_callers();
        const uint64_t place = put_frame(caller, SHORT, UNIT_CALL, DONE);
        const uint64_t old = put_frame(place, SHORT, UNIT_RETURN, DONE); // was current
        put_frame(caller, others[other], UNIT_LOAD, RUNNING);
        is_u64(running(old), place);
        is_u64(running(place), place);
        const uint64_t leaf = put_frame(place, SHORT, UNIT_LOAD, RUNNING); // it calls, in turn
        put_top(place, DONE);
        is_u64(running(place), leaf);
        end();
    }
}

TEST("chunk_frames: the current one called others since, the last of them runs")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t current = put_frame(put_callers(), LONG, UNIT_CALL, DONE);
        const uint64_t called = put_frame(current, SHORT, UNIT_CALL, DONE);
        const uint64_t leaf = put_frame(called, ALIKE, UNIT_LOAD, RUNNING);
        is_u64(running(current), leaf);
        is_u64(running(called), leaf);
        end();
    }
}

TEST("chunk_frames: so it is where C code was between")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t current = put_frame(put_callers(), LONG, UNIT_CALL, DONE);
        const uint64_t called = put_frame(current, SHORT, UNIT_LOAD, RUNNING);
        came_from_c(called, current);
        is_u64(running(current), called);
        const uint64_t leaf = put_frame(called, ALIKE, UNIT_LOAD, RUNNING);
        put_top(called, DONE);
        is_u64(running(current), leaf);
        end();
    }
}

TEST("chunk_frames: what is left above of another's calls is no callee")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t caller = put_callers();
        const uint64_t current = put_frame(caller, SHORT, UNIT_LOAD, RUNNING);
        const uint64_t old = put_frame(current, ALIKE, UNIT_RETURN, DONE);
        put_frame(old, LONG, UNIT_RETURN, DONE);
        is_u64(running(current), current);
        is_u64(running(old), current); // two returns since
        put_previous(old, caller);     // its bytes may say anything
        put_top(old, RUNNING);
        is_u64(running(current), current);
        end();
    }
}

TEST("chunk_frames: nobody runs: one at a return is on its way out, its caller is told")
{
    static const enum fake_unit units[] = {UNIT_RETURN, UNIT_RETURN_CONST};
    EACH_VERSION(i)
    for (size_t unit = 0; unit < (minors[i] == 11 ? 1 : 2); unit++) {
        begin(minors[i]);
        const uint64_t caller = put_callers();
        is_u64(running(put_frame(caller, SHORT, units[unit], DONE)), caller);
        end();
    }
}

TEST("chunk_frames: nobody runs: one that waits at a call clears its callee or makes one")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t current = put_frame(put_callers(), SHORT, UNIT_CALL, DONE);
        is_u64(running(current), current);
        const uint64_t old = put_frame(current, LONG, UNIT_RETURN, DONE);
        is_u64(running(current), current);
        is_u64(running(old), current);
        end();
    }
}

TEST("chunk_frames: nobody runs: one at its first instruction is just being made")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t caller = put_callers();
        const uint64_t current = put_frame(caller, SHORT, UNIT_BEGIN, DONE);
        is_u64(running(current), caller);
        // up to 3.12 it stands in front of that
        fake_put(current + (uint64_t)target.layout.frame_instruction,
                 fake_instruction(&target.layout, SHORT, UNIT_BEGIN) - 2);
        is_u64(running(current), caller);
        end();
    }
}

TEST("chunk_frames: one that an exception ended looks as if it waited, but its caller goes on")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t caller = put_callers();
        const uint64_t current = put_frame(caller, SHORT, UNIT_POP, DONE);
        put_top(caller, RUNNING);
        is_u64(running(current), caller);
        end();
    }
}

TEST("chunk_frames: one that waits and was called by C code has a caller that runs that")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t caller = put_callers();
        const uint64_t current = put_frame(caller, SHORT, UNIT_CALL, DONE);
        came_from_c(current, caller);
        is_u64(running(current), current);
        end();
    }
}

TEST("chunk_frames: links that are half written are none; who lies right below is the caller")
{
    static const uint64_t garbage[] = {0, 1, UINT64_MAX, 0x5555555555555555, FIRST + 8, STATE};
    EACH_VERSION(i)
    for (size_t link = 0; link < sizeof garbage / sizeof garbage[0]; link++) {
        begin(minors[i]);
        const uint64_t caller = put_callers();
        const uint64_t current = put_frame(caller, SHORT, UNIT_BEGIN, DONE);
        put_previous(current, garbage[link]);
        const struct chunk_frames frames = look();
        is_u64(chunk_frames_below(&frames, current), caller);
        is_u64(chunk_frames_running(&frames, current), caller);
        put_previous(current, current);
        is_u64(running(current), caller);
        put_previous(current, caller - 8);
        is_u64(running(current), caller);
        end();
    }
}

TEST("chunk_frames: below lies also one that C code called, and no code object in a variable")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t caller = put_frame(0, LONG, UNIT_CALL, DONE);
        const uint64_t current = put_frame(caller, SHORT, UNIT_BEGIN, DONE);
        for (uint64_t at = caller + 72; at < current; at += 8)
            fake_put(at, FAKE_CODE(HUGE));
        put_previous(current, 0);
        const struct chunk_frames frames = look();
        is_u64(chunk_frames_below(&frames, current), caller);
        is_u64(chunk_frames_running(&frames, current), caller);
        end();
    }
}

TEST("chunk_frames: below is who ends there; of one that is none any more, who runs, by its own "
     "link")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t caller = put_callers();
        const uint64_t place = put_frame(caller, LONG, UNIT_CALL, DONE);
        const uint64_t old = put_frame(place, SHORT, UNIT_RETURN, DONE);
        put_frame(caller, SHORT, UNIT_CALL, DONE); // it ends below what is left up there
        for (uint64_t at = place + 72 + 8 * 4; at < old; at += 8)
            fake_put(at, FAKE_CODE(HUGE)); // variables of the one before
        const struct chunk_frames frames = look();
        is_u64(chunk_frames_below(&frames, old), 0);
        is_u64(chunk_frames_running(&frames, old), place);
        end();
    }
}

TEST("chunk_frames: nobody is taken for the caller over one that is not known yet")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t unknown = put_frame(put_callers(), UNKNOWN, UNIT_CALL, DONE);
        const uint64_t current = put_frame(unknown, SHORT, UNIT_BEGIN, DONE);
        struct code_place place;
        put_previous(current, 0);
        const struct chunk_frames frames = look();
        is_u64(chunk_frames_below(&frames, current), 0);
        is_int(code_cache_place(&codes, FAKE_CODE(UNKNOWN), 0, &place), 0);
        is_u64(chunk_frames_below(&frames, current), unknown);
        end();
    }
}

TEST("chunk_frames: far below only a link leads, and the outermost has nobody below")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t caller = put_frame(0, HUGE, UNIT_CALL, DONE);
        const uint64_t current = put_frame(caller, SHORT, UNIT_RETURN, DONE);
        struct chunk_frames frames = look();
        is_u64(chunk_frames_below(&frames, current), caller);
        is_u64(chunk_frames_below(&frames, caller), 0);
        put_previous(current, 0);
        frames = look();
        is_u64(chunk_frames_below(&frames, current), 0);
        is_u64(chunk_frames_running(&frames, current), current);
        is_u64(chunk_frames_below(&frames, STATE), 0); // not read
        end();
    }
}

TEST("chunk_frames: who adjoins ends exactly there, and is of a known function")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t low = put_callers();
        const uint64_t high = put_frame(low, UNKNOWN, UNIT_LOAD, RUNNING);
        const struct chunk_frames frames = look();
        ok(chunk_frames_adjoin(&frames, low, high));
        ok(!chunk_frames_adjoin(&frames, low, high - 8));
        ok(!chunk_frames_adjoin(&frames, low, high + 8));
        ok(!chunk_frames_adjoin(&frames, high, low));
        ok(!chunk_frames_adjoin(&frames, high, high + 72 + 8 * 4));
        ok(!chunk_frames_adjoin(&frames, STATE, low));
        ok(!chunk_frames_adjoin(&frames, 0, UINT64_MAX));
        end();
    }
}

TEST("chunk_frames: one waits that neither runs nor begins nor returns")
{
    static const bool can_wait[FAKE_UNITS] = {[UNIT_LOAD] = true,
                                              [UNIT_CALL] = true,
                                              [UNIT_POP] = true,
                                              [UNIT_DATA] = true,
                                              [UNIT_LAST] = true};
    EACH_VERSION(i)
    for (int unit = 0; unit < FAKE_UNITS; unit++) {
        begin(minors[i]);
        const uint64_t at = put_frame(put_callers(), SHORT, (enum fake_unit)unit, DONE);
        const bool wanted = can_wait[unit] || (unit == UNIT_RETURN_CONST && minors[i] == 11);
        struct chunk_frames frames = look();
        is_int(chunk_frames_can_wait(&frames, at), wanted);
        put_top(at, RUNNING);
        frames = look();
        ok(!chunk_frames_can_wait(&frames, at));
        end();
    }
}

TEST("chunk_frames: of calls that ended in a row not all are gone back, nor for ever")
{
    EACH_VERSION(i)
    {
        uint64_t frames[12];
        begin(minors[i]);
        frames[0] = put_frame(put_callers(), SHORT, UNIT_LOAD, RUNNING);
        for (int n = 1; n < 12; n++)
            frames[n] = put_frame(frames[n - 1], SHORT, UNIT_RETURN, DONE);
        is_u64(running(frames[3]), frames[0]);
        is_u64(running(frames[11]), frames[11]); // more than a moment's
        for (int n = 0; n < 12; n++)
            put_top(frames[n], DONE);
        for (int n = 1; n < 12; n++)
            put_frame(frames[n - 1], SHORT, UNIT_CALL, n == 11 ? RUNNING : DONE);
        is_u64(running(frames[8]), frames[11]);
        end();
    }
}

TEST("chunk_frames: memory that holds no frames gives the current one, and an end")
{
    static const uint8_t fills[] = {0, 0x55, 0xfe};
    EACH_VERSION(i)
    for (size_t fill = 0; fill < sizeof fills; fill++) {
        begin(minors[i]);
        memset(fake.bytes + (FIRST - FAKE_BASE), fills[fill], CHUNK_BYTES - 64);
        is_u64(running(FIRST + 1000), FIRST + 1000);
        is_u64(running(FIRST), FIRST);
        const uint64_t last = CHUNK + thread->chunks[0].bytes - 72; // of what is read
        is_u64(running(last), last);
        end();
    }
}

// A word that a chunk could hold: an address of one of its frames, a function's, any.
static uint64_t any_word(struct random_values *random)
{
    const uint64_t number = random_next(random) >> 33;
    switch (number % 4) {
    case 0:
        return FAKE_CODE(number / 4 % FUNCTIONS);
    case 1:
        return fake_instruction(&target.layout, number / 4 % FUNCTIONS,
                                (enum fake_unit)(number / 64 % FAKE_UNITS));
    case 2:
        return FIRST + number / 4 % 768 * 8;
    default:
        return number % 3 ? UINT64_MAX : number;
    }
}

TEST("chunk_frames: whatever a chunk holds, what is told of it is a frame that was read")
{
    struct random_values random = {7};
    for (int round = 0; round < 300; round++) {
        begin(minors[round % 3]);
        for (uint64_t at = FIRST; at < FIRST + 6144; at += 8)
            fake_put(at, any_word(&random));
        const struct chunk_frames frames = look();
        for (uint64_t at = FIRST; at < FIRST + 4096; at += 8) {
            const uint64_t found = chunk_frames_running(&frames, at);
            if (!snapshot_read_near(&gather, frames.chunk, found))
                ok(!"a frame that was not read");
        }
        end();
    }
}

// A recursion that an exception ends: its frames lie there as if they waited. Returns
// the innermost of so many above the one at `place`.
static uint64_t put_left(uint64_t place, int count)
{
    uint64_t at = place;
    for (int i = 0; i < count; i++)
        at = put_frame(at, SHORT, UNIT_CALL, DONE);
    return at;
}

TEST("chunk_frames: frames that an exception ended do not wait above one that runs, or is done")
{
    static const enum fake_unit units[] = {UNIT_LOAD, UNIT_RETURN};
    EACH_VERSION(i)
    for (int is_done = 0; is_done < 2; is_done++) {
        begin(minors[i]);
        const uint64_t caller = put_callers();
        const uint64_t place = put_frame(caller, SHORT, UNIT_CALL, DONE);
        const uint64_t left = put_left(place, 20);
        is_u64(running(left), left); // as long as all wait
        put_frame(caller, ALIKE, units[is_done], is_done ? DONE : RUNNING);
        if (is_done)
            put_top(caller, RUNNING);
        is_u64(running(left), is_done ? caller : place);
        end();
    }
}

TEST("chunk_frames: who waits for C code is no sign of an exception")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t caller = put_callers();
        const uint64_t called = put_frame(caller, SHORT, UNIT_CALL, DONE);
        came_from_c(called, caller);
        const uint64_t waits = put_left(called, 3);
        is_u64(running(waits), waits);
        end();
    }
}

TEST("chunk_frames: who runs was not left for the frame above, but by way of C code")
{
    EACH_VERSION(i)
    {
        begin(minors[i]);
        const uint64_t current = put_frame(put_callers(), SHORT, UNIT_CALL, RUNNING);
        const uint64_t left = put_frame(current, SHORT, UNIT_CALL, RUNNING);
        is_u64(running(current), current);
        came_from_c(left, current);
        is_u64(running(current), left);
        end();
    }
}
