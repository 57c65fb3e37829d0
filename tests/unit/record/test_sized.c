// SPDX-License-Identifier: Apache-2.0
// Programs compiled with an older or a newer header than the library's.
#define _GNU_SOURCE
#include <gait/internal/abi.h>
#include <stddef.h>

#include "support/recording.h"
#include "support/tap.h"

// One event and one shard on record; the event is asked of a new cursor each time.
static struct recorded one_event(void)
{
    struct recorded recorded;
    recording_start("drop", 65536);
    gait_mark(gait_site("a", "b"));
    recording_stop(&recorded);
    return recorded;
}

static int next_sized(const struct recorded *recorded, void *event, size_t size)
{
    struct gait_query query = {.size = sizeof query};
    struct gait_cursor *cursor;
    recording_must(gait_cursor_open(recorded->trace, &query, &cursor) == 0, "no cursor");
    const int status = gait_cursor_next_sized(cursor, event, size);
    gait_cursor_close(cursor);
    return status;
}

TEST("sized: an older program's struct is filled, and not a byte behind it")
{
    struct recorded recorded = one_event();
    union {
        struct gait_event event;
        unsigned char bytes[sizeof(struct gait_event) + 16];
    } older;
    const size_t known = offsetof(struct gait_event, args); // as if args had come later
    memset(&older, 0xa5, sizeof older);
    is_int(next_sized(&recorded, &older, known), 1);
    is_int(older.event.kind, GAIT_KIND_MARK);
    is_str(older.event.name, "b");
    bool is_untouched = true;
    for (size_t i = known; i < sizeof older; i++)
        is_untouched &= older.bytes[i] == 0xa5;
    ok(is_untouched);
    recorded_finish(&recorded);
}

TEST("sized: a newer program finds 0 in what the library does not know")
{
    struct recorded recorded = one_event();
    struct {
        struct gait_event event;
        uint64_t later[4];
        uint64_t behind;
    } newer;
    struct {
        struct gait_shard_info info;
        uint64_t later;
    } shard;
    memset(&newer, 0xa5, sizeof newer);
    memset(&shard, 0xa5, sizeof shard);
    is_int(next_sized(&recorded, &newer, offsetof(__typeof__(newer), behind)), 1);
    is_str(newer.event.category, "a");
    is_u64(newer.later[0] | newer.later[3], 0);
    is_u64(newer.behind, UINT64_C(0xa5a5a5a5a5a5a5a5));
    is_int(gait_trace_shard_sized(recorded.trace, 0, &shard.info, sizeof shard), 0);
    is_u64(shard.info.events, 1);
    is_u64(shard.later, 0);
    recorded_finish(&recorded);
}

TEST("sized: the layout that bindings compare with is the compiler's")
{
    char line[80];
    snprintf(line, sizeof line, "\nstruct gait_event %zu\nkind 0 %zu\ntrack %zu 4\n",
             sizeof(struct gait_event), sizeof(enum gait_kind), offsetof(struct gait_event, track));
    ok(strstr(gait_abi_layout(), line));
    snprintf(line, sizeof line, "\nstart_ns %zu 8\n", offsetof(struct gait_event, start_ns));
    ok(strstr(gait_abi_layout(), line));
    ok(strlen(gait_abi_layout()) < 8000); // else it is cut
}
