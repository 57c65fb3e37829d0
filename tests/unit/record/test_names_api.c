// SPDX-License-Identifier: Apache-2.0
// What things are called: empty and endless names, tables that overflow, metadata
// that is no JSON, settings that make no sense.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>

#include "support/recording.h"
#include "support/tap.h"

static const char *metadata(const struct recorded *recorded, const char *key)
{
    const char *value = gait_trace_metadata(recorded->trace, 0, key);
    return value ? value : "(none)";
}

static bool has_name(const struct recorded *recorded, const char *category, const char *name)
{
    struct gait_site_info site;
    for (uint32_t i = 0; i < gait_trace_site_count(recorded->trace); i++) {
        if (gait_trace_site(recorded->trace, i, &site) == 0 && !strcmp(site.name, name) &&
            !strcmp(site.category, category))
            return true;
    }
    return false;
}

static char *long_name(size_t bytes, char letter)
{
    char *name = malloc(bytes + 1);
    recording_must(name != NULL, "no memory");
    memset(name, letter, bytes);
    name[bytes] = '\0';
    return name;
}

// Letters that no compressor makes much shorter.
static char *random_name(size_t bytes)
{
    static uint64_t seed = 1;
    char *name = long_name(bytes, 'x');
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        name[i] = (char)(1 + (seed >> 33) % 255);
    }
    return name;
}

TEST("names: of 0 and of 100,000 bytes, of bytes that are no text, given and missing")
{
    struct recorded recorded;
    char *name = long_name(100000, 'n'), *category = long_name(100000, 'c');
    recording_start("block", 65536);
    gait_mark(gait_site("", ""));
    gait_mark(gait_site(NULL, NULL));
    gait_mark(gait_site(category, name));
    gait_mark(gait_site("\xff\xfe", "\x01\n\"\xc3"));
    gait_mark(0);
    gait_mark(4000000000u); // a site that nobody made
    is_int((int)gait_site(category, name), (int)gait_site(category, name));
    gait_begin(gait_site(name, category));
    gait_arg_text(gait_key(name), category);
    gait_end();
    is_int(gait_thread_name(name), 0);
    recording_stop(&recorded);
    is_u64(recorded.info.events, 7);
    is_u64(recorded.damage_count, 0);
    ok(has_name(&recorded, category, name) && has_name(&recorded, name, category));
    ok(has_name(&recorded, "\xff\xfe", "\x01\n\"\xc3"));
    is_u64(recorded.events[6].text_bytes, 4000);
    struct gait_track_info track = {.name = ""};
    bool has_track = false;
    for (uint32_t i = 0; i < gait_trace_track_count(recorded.trace); i++)
        has_track |= !gait_trace_track(recorded.trace, i, &track) && !strcmp(track.name, name);
    ok(has_track);
    recorded_finish(&recorded);
    free(name);
    free(category);
}

TEST("names: a thread's last name counts, however late; 100 long ones all fit")
{
    struct recorded recorded;
    struct gait_track_info track;
    int found = 0;
    recording_start("drop", 65536);
    gait_mark(gait_site("a", "b"));
    for (int i = 0; i < 100; i++) {
        char *name = random_name(240000);
        is_int(gait_thread_name(name), 0);
        gait_key(name);
        free(name);
    }
    is_int(gait_thread_name("worker 3"), 0);
    recording_stop(&recorded);
    for (uint32_t i = 0; i < gait_trace_track_count(recorded.trace); i++)
        found += !gait_trace_track(recorded.trace, i, &track) && !strcmp(track.name, "worker 3");
    is_int(found, 1);
    recorded_finish(&recorded);
    // all names again, at once, at the head of the next shard
    recording_start("drop", 65536);
    gait_mark(gait_site("a", "b"));
    recording_stop(&recorded);
    is_u64(recorded.info.events, 1);
    is_u64(recorded.damage_count, 0);
    recorded_finish(&recorded);
}

struct other {
    pthread_barrier_t barrier;
    int64_t number;
    const char *own_name;
};

static int began;

static void note_begun(void)
{
    __atomic_add_fetch(&began, 1, __ATOMIC_RELAXED);
}

static void *mark_and_wait(void *argument)
{
    struct other *other = argument;
    gait_mark(gait_site("a", "b"));
    gait_mark(gait_site("a", "b"));
    if (other->own_name)
        gait_thread_name(other->own_name);
    other->number = gettid();
    pthread_barrier_wait(&other->barrier);
    pthread_barrier_wait(&other->barrier);
    return NULL;
}

static bool has_track(const struct recorded *recorded, const char *name)
{
    struct gait_track_info track;
    for (uint32_t i = 0; i < gait_trace_track_count(recorded->trace); i++)
        if (!gait_trace_track(recorded->trace, i, &track) && !strcmp(track.name, name))
            return true;
    return false;
}

// The name that `given` leads to for a thread that names itself `own_name`.
static void name_another(const char *own_name, const char *given)
{
    struct other other = {.own_name = own_name};
    pthread_t thread;
    pthread_barrier_init(&other.barrier, NULL, 2);
    pthread_create(&thread, NULL, mark_and_wait, &other);
    pthread_barrier_wait(&other.barrier);
    is_int(gait_thread_name_of(other.number, given), 0);
    is_int(gait_thread_name_of(other.number + 1000000, "nobody"), 0);
    pthread_barrier_wait(&other.barrier);
    pthread_join(thread, NULL);
    is_int(gait_thread_name_of(other.number, "too late"), 0);
    pthread_barrier_destroy(&other.barrier);
}

TEST("names: a thread is named by another one, but for a name of its own")
{
    struct recorded recorded;
    began = 0;
    gait_on_thread(note_begun);
    recording_start("drop", 65536);
    is_int(gait_thread_name_of(0, "this one"), 0);
    name_another(NULL, "given");
    name_another(NULL, "");
    name_another("own", "not this");
    recording_stop(&recorded);
    gait_on_thread(NULL);
    is_int(began, 4);
    ok(has_track(&recorded, "this one") && has_track(&recorded, "given"));
    ok(has_track(&recorded, "own") && !has_track(&recorded, "not this"));
    ok(!has_track(&recorded, "nobody") && !has_track(&recorded, "too late"));
    recorded_finish(&recorded);
    is_int(gait_thread_name_of(0, "not recording"), 0);
}

TEST("metadata: the last value of a key counts; what is no JSON harms nobody")
{
    static const char *const odd[] = {"{",        "nan",          "{\"a\":1}{\"b\":2}",
                                      "\"\xff\"", "[[[[[[[[[",    "\x01\x02",
                                      " ",        "\"unfinished", "01"};
    struct recorded recorded;
    char key[16], *large = long_name(900000, '7');
    recording_start("drop", 65536);
    is_int(gait_metadata("lr", "0.1"), 0);
    is_int(gait_metadata("lr", "0.01"), 0);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        snprintf(key, sizeof key, "odd%zu", i);
        is_int(gait_metadata(key, odd[i]), 0);
    }
    is_int(gait_metadata("large", large), 0); // larger than the journal
    is_int(gait_metadata("", "1"), GAIT_ERR_ARGUMENT);
    is_int(gait_metadata(NULL, "1"), GAIT_ERR_ARGUMENT);
    is_int(gait_metadata("a", NULL), GAIT_ERR_ARGUMENT);
    is_int(gait_metadata("a", ""), GAIT_ERR_ARGUMENT);
    is_int(gait_rank(-2), GAIT_ERR_ARGUMENT);
    is_int(gait_rank(3), 0);
    gait_mark(gait_site("a", "b"));
    recording_stop(&recorded);
    is_str(metadata(&recorded, "lr"), "0.01");
    is_str(metadata(&recorded, "odd1"), "nan");
    is_int((int64_t)strlen(metadata(&recorded, "large")), 900000);
    is_int(recorded.info.rank, 3);
    is_u64(recorded.info.events, 1);
    recorded_finish(&recorded);
    free(large);
}

TEST("metadata: more than there is room for is refused in one sentence")
{
    struct recorded recorded;
    char key[32], *large = long_name(1000000, '7');
    int refused = 0;
    recording_start("drop", 65536);
    for (int i = 0; i < 6; i++) {
        snprintf(key, sizeof key, "large%d", i);
        refused += gait_metadata(key, large) == GAIT_ERR_MEMORY;
    }
    is_int(refused, 2); // 4 MiB in all
    ok(strstr(gait_record_error(), "metadata"));
    recording_stop(&recorded);
    is_int((int64_t)strlen(metadata(&recorded, "large3")), 1000000);
    is_str(metadata(&recorded, "large4"), "(none)");
    recorded_finish(&recorded);
    free(large);
}

// --- settings --------------------------------------------------------------------------

static void refuses(const struct gait_options *options, const char *words)
{
    is_int(gait_start(options), GAIT_ERR_ARGUMENT);
    if (!ok(strstr(gait_record_error(), words)))
        printf("# %s\n", gait_record_error());
    ok(gait_shard_path() == NULL && gait_recording == 0);
    gait_mark(gait_site("a", "b"));
}

TEST("settings: options that make no sense are refused with a sentence")
{
    const struct gait_options good = {.size = sizeof good, .directory = recording_make_directory()};
    struct gait_options options = good;
    options.overflow = "keep";
    refuses(&options, "options.overflow: 'keep' is not drop, block or overwrite");
    options = good;
    options.ring_bytes = 1;
    refuses(&options, "a ring of 1 bytes is not between 4K and 1G");
    options = good;
    options.role = "boss";
    refuses(&options, "options.role: 'boss' is not program, worker");
    options = good;
    options.size = 3;
    refuses(&options, "size");
}

// Records under a variable that makes no sense: the default is taken, and the
// file says so.
static void shrugs(const char *name, const char *value, const char *words)
{
    struct recorded recorded;
    setenv(name, value, 1);
    recording_start(NULL, 0);
    gait_mark(gait_site("a", "b"));
    recording_stop(&recorded);
    is_int(recorded.info.events, 1);
    is_str(metadata(&recorded, "overflow"), "\"drop\"");
    is_str(metadata(&recorded, "ring_bytes"), "1048576");
    is_str(metadata(&recorded, "role"), "\"program\"");
    is_str(metadata(&recorded, "settings_ignored"), words);
    recorded_finish(&recorded);
    unsetenv(name);
}

#define NO_POLICY " is not drop, block or overwrite: drop is used\""
#define NO_SIZE " is not a size such as 65536, 64K or 16M: 1M is used\""
#define NO_RANGE " is not between 4K and 1G: 1M is used\""

TEST("settings: nonsense in the environment costs no recording, and is told")
{
    shrugs("GAIT_OVERFLOW", "keep", "\"GAIT_OVERFLOW 'keep'" NO_POLICY);
    shrugs("GAIT_OVERFLOW", "DROP", "\"GAIT_OVERFLOW 'DROP'" NO_POLICY);
    shrugs("GAIT_RING", "many", "\"GAIT_RING 'many'" NO_SIZE);
    shrugs("GAIT_RING", "-1", "\"GAIT_RING '-1'" NO_SIZE);
    shrugs("GAIT_RING", "1E9G", "\"GAIT_RING '1E9G'" NO_SIZE);
    shrugs("GAIT_RING", "0x10000", "\"GAIT_RING '0x10000'" NO_SIZE);
    shrugs("GAIT_RING", "1", "\"GAIT_RING '1'" NO_RANGE);
    shrugs("GAIT_RING", "2G", "\"GAIT_RING '2G'" NO_RANGE);
    shrugs("GAIT_RING", "16T", "\"GAIT_RING '16T'" NO_RANGE);
    shrugs("GAIT_RING", "99999999999999999999", "\"GAIT_RING '99999999999999999999'" NO_RANGE);
    shrugs("GAIT_RING", "17179869184G", "\"GAIT_RING '17179869184G'" NO_RANGE);
    shrugs("GAIT_ROLE", "boss",
           "\"GAIT_ROLE 'boss' is not program, worker, launcher or sampler: program is used\"");
    setenv("GAIT_OVERFLOW", "x", 1);
    shrugs("GAIT_RING", "y",
           "\"GAIT_OVERFLOW 'x' is not drop, block or overwrite: drop is used; "
           "GAIT_RING 'y'" NO_SIZE);
    unsetenv("GAIT_OVERFLOW");
    setenv("GAIT_RING", "", 1); // as good as not set
    struct recorded recorded;
    recording_start(NULL, 0);
    recording_stop(&recorded);
    ok(!gait_trace_metadata(recorded.trace, 0, "settings_ignored"));
    recorded_finish(&recorded);
    unsetenv("GAIT_RING");
}

TEST("settings: GAIT_ENABLE=0 is a start that succeeds and records nothing")
{
    const struct gait_options options = {.size = sizeof options, .directory = "/proc/none"};
    setenv("GAIT_ENABLE", "0", 1);
    setenv("GAIT_RING", "nonsense", 1);
    is_int(gait_start(&options), 0);
    ok(gait_shard_path() == NULL && gait_recording == 0);
    gait_begin(gait_site("a", "b"));
    gait_end();
    is_int(gait_flush(), 0);
    is_int(gait_stop(), 0);
    unsetenv("GAIT_ENABLE");
    unsetenv("GAIT_RING");
}

TEST("settings: sizes with K, M and G, lower case too")
{
    static const char *const sizes[][2] = {
        {"4096", "4096"}, {"4k", "4096"}, {"5000", "8192"}, {"1M", "1048576"}, {"64KiB", "65536"}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct recorded recorded;
        setenv("GAIT_RING", sizes[i][0], 1);
        recording_start("drop", 0);
        gait_mark(gait_site("a", "b"));
        recording_stop(&recorded);
        is_str(metadata(&recorded, "ring_bytes"), sizes[i][1]);
        recorded_finish(&recorded);
    }
    unsetenv("GAIT_RING");
}

// --- last, for it fills the tables of this process -----------------------------------------

TEST("names: tables that overflow give site 0, count what found no room, and go on")
{
    struct recorded recorded;
    char name[32];
    uint32_t anonymous = 0;
    recording_start("block", 65536);
    for (int i = 0; i < 70000; i++) {
        snprintf(name, sizeof name, "site %d", i);
        anonymous += gait_site("many", name) == 0;
    }
    ok(anonymous >= 70000 - 65536);
    for (int i = 0; i < 70000; i++) {
        snprintf(name, sizeof name, "key %d", i);
        anonymous += gait_key(name) == 0;
    }
    ok(anonymous >= 140000 - 131072);
    gait_mark(gait_site("many", "site 69999"));
    gait_mark(gait_site("many", "site 17"));
    recording_stop(&recorded);
    is_u64(recorded.info.events, 2);
    is_u64(recorded.damage_count, 0);
    ok(has_name(&recorded, "many", "site 17") && has_name(&recorded, "many", "site 60000"));
    // the look-up of "site 69999" is one more
    is_u64(strtoull(metadata(&recorded, "names_lost"), NULL, 10), anonymous + 1);
    recorded_finish(&recorded);
}
