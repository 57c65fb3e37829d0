// SPDX-License-Identifier: Apache-2.0
// The source `chrome`: Chrome's Trace Event Format, and what torch.profiler's Kineto makes
// of it. An object with the list traceEvents, or that list alone.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "ingest/chrome_event.h"
#include "ingest/source.h"

struct reading {
    struct intake *intake;
    struct chrome_reader reader;
    struct json_scan scan;     // over what is at hand
    const uint8_t *from;       // where it was when the intake's place was told
    bool has_events, is_lines; // is_lines: events stand in a row, and in no list
};

static bool holds(struct slice head, const char *word)
{
    return memmem(head.bytes, head.count, word, strlen(word)) != NULL;
}

static unsigned probe(struct slice head)
{
    size_t at = head.count >= 3 && memcmp(head.bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < head.count && strchr(" \t\r\n", head.bytes[at]) && head.bytes[at])
        at++;
    if (at == head.count || (head.bytes[at] != '{' && head.bytes[at] != '['))
        return 0;
    if (holds(head, "\"traceEvents\"") || holds(head, "\"ph\""))
        return 90;
    return head.bytes[at] == '{' && holds(head, "\"schemaVersion\"") ? 80 : 5;
}

static void look(struct reading *reading)
{
    const struct slice rest = intake_rest(reading->intake);
    const uint8_t *bytes = reading->intake->bytes.bytes; // NULL: nothing was read
    reading->from = rest.bytes;
    reading->scan =
        (struct json_scan){rest.bytes, rest.bytes + rest.count, reading->intake->repairs};
    reading->reader.notes = reading->intake->notes;
    reading->reader.noted_from = bytes ? bytes + reading->intake->noted_from : rest.bytes;
}

// What is before the scan is done with.
static void settle(struct reading *reading)
{
    reading->intake->at += (size_t)(reading->scan.at - reading->from);
    reading->from = reading->scan.at;
}

// More of the file behind what is at hand: 1, 0 at its end, or an error.
static int more(struct reading *reading)
{
    if (reading->intake->is_end)
        return 0;
    const int status = intake_more(reading->intake);
    look(reading);
    return status ? status : 1;
}

// Twice as much as is at hand, for what is tried again from its begin: in all it is read twice
// then. A stretch at a time, a string of 40 MB was read 40 times, and one of 1 GB is as small.
static int twice(struct reading *reading)
{
    const size_t before = intake_rest(reading->intake).count;
    if (reading->intake->is_end)
        return 0;
    const int status = intake_need(reading->intake, before < SIZE_MAX / 2 ? 2 * before : before);
    look(reading);
    return status < 0 ? status : intake_rest(reading->intake).count > before;
}

static inline bool is_between(uint8_t byte)
{
    return byte == ' ' || byte == '\n' || byte == ',' || byte == '\r' || byte == '\t';
}

// The next byte that is no blank and no comma: 1, or 0 at the end of the file.
static int next_byte(struct reading *reading)
{
    struct json_scan *scan = &reading->scan;
    for (;;) {
        while (scan->at < scan->end && is_between(*scan->at))
            scan->at++;
        settle(reading);
        if (scan->at < scan->end)
            return 1;
        const int status = more(reading);
        if (status != 1)
            return status;
    }
}

// Past an event that cannot be read, to the next place where one may begin.
static int skip_broken(struct reading *reading)
{
    struct json_scan *scan = &reading->scan;
    reading->scan.repairs->counts[REPAIR_LOST]++;
    scan->at++;
    for (;;) {
        const uint8_t *at = scan->at, *found = NULL;
        while (!found && at < scan->end && (at = memchr(at, '{', (size_t)(scan->end - at)))) {
            const uint8_t *back = at;
            while (back > scan->at && is_between(back[-1]))
                back--;
            if (back > scan->at && back[-1] == '}' && back < at)
                found = at;
            at++;
        }
        if (found) {
            scan->at = found;
            settle(reading);
            return 1;
        }
        const int status = twice(reading);
        if (status == 1)
            continue;
        scan->at = scan->end;
        settle(reading);
        return status;
    }
}

static int take_event(struct reading *reading)
{
    for (;;) {
        const int got = chrome_reader_event(&reading->reader, &reading->scan);
        if (got == 1) {
            reading->has_events = true;
            settle(reading);
            return 1;
        }
        if (got < 0)
            return got;
        look(reading);
        if (got == SCAN_BROKEN)
            return skip_broken(reading);
        const int status = twice(reading);
        if (status == 1)
            continue;
        if (!status) {
            reading->scan.repairs->counts[REPAIR_TRUNCATED]++;
            reading->scan.at = reading->scan.end;
            settle(reading);
        }
        return status;
    }
}

// Tries a step of the scan until enough of the file is at hand: its answer, or 0 at the end.
typedef int step(struct json_scan *scan, struct json_value *ret_value);

static int with_more(struct reading *reading, step *try, struct json_value *ret_value)
{
    for (;;) {
        const int got = try(&reading->scan, ret_value);
        if (got != SCAN_CUT)
            return got ? got : SCAN_BROKEN;
        look(reading);
        const int status = twice(reading);
        if (status != 1)
            return status;
    }
}

// Past a list among the events, whose end is not theirs; past its first byte where it has none.
static int skip_list(struct reading *reading)
{
    struct json_value list;
    const int got = with_more(reading, json_scan_value, &list);
    if (got < 0)
        return got;
    if (got == 1) {
        reading->scan.repairs->counts[REPAIR_LOST]++;
    } else {
        look(reading);
        reading->scan.at++;
        reading->scan.repairs->counts[REPAIR_JUNK]++;
    }
    settle(reading);
    return 1;
}

// All events of the list that was entered: 1 behind its end, 0 at the end of the file.
static int take_events(struct reading *reading)
{
    int status;
    while ((status = next_byte(reading)) == 1) {
        const uint8_t byte = *reading->scan.at;
        if (byte == ']') {
            reading->scan.at++;
            settle(reading);
            return 1;
        }
        if (byte == '{' || byte == '[') {
            status = byte == '{' ? take_event(reading) : skip_list(reading);
            if (status != 1)
                return status;
            continue;
        }
        reading->scan.at++;
        reading->scan.repairs->counts[REPAIR_JUNK]++;
    }
    if (!status && !reading->is_lines)
        reading->scan.repairs->counts[REPAIR_TRUNCATED] += reading->has_events;
    return status;
}

static int take_fact(struct reading *reading, struct slice key)
{
    struct json_value value;
    bool is_again = false;
    const int got = with_more(reading, json_scan_value, &value);
    if (got != 1)
        return got;
    struct slice json = value.text;
    if (value.type == SCAN_STRING) // with its quotes
        json = (struct slice){json.bytes - 1, json.count + 2};
    const int status = event_store_fact(reading->reader.parts.store, key, json, &is_again);
    reading->scan.repairs->counts[REPAIR_DUPLICATE] += is_again;
    settle(reading);
    return status ? status : 1;
}

static int take_member(struct reading *reading)
{
    struct json_value key;
    int got = with_more(reading, json_scan_key, &key);
    if (got != 1)
        return got;
    char *name = strndup((const char *)key.text.bytes, key.text.count);
    if (!name)
        return fail(GAIT_ERR_MEMORY, "no memory for what a trace says of itself");
    settle(reading);
    got = next_byte(reading);
    if (got == 1 && *reading->scan.at == '[' && !strcmp(name, "traceEvents")) {
        reading->scan.at++;
        got = take_events(reading);
    } else if (got == 1) {
        got = take_fact(reading, slice_of(name));
    }
    free(name);
    return got;
}

// Members of the object that was entered: 1 behind its end.
static int take_members(struct reading *reading)
{
    int got;
    while ((got = next_byte(reading)) == 1) {
        if (*reading->scan.at == '}') {
            reading->scan.at++;
            settle(reading);
            return 1;
        }
        got = take_member(reading);
        if (got == SCAN_BROKEN) { // past the byte that nobody expects
            look(reading);
            reading->scan.at += reading->scan.at < reading->scan.end;
            reading->scan.repairs->counts[REPAIR_JUNK]++;
            settle(reading);
        } else if (got != 1) {
            break;
        }
    }
    if (!got && !reading->scan.repairs->counts[REPAIR_TRUNCATED])
        reading->scan.repairs->counts[REPAIR_TRUNCATED]++;
    return got;
}

// Whether the object at hand is an event, or a line before others, and no trace.
static bool is_line(struct json_scan scan)
{
    struct repairs none = {{0}};
    struct json_value key, value;
    bool is_event = false;
    int got;
    scan.repairs = &none;
    if (!json_scan_enter(&scan, '{'))
        return false;
    while ((got = json_scan_key(&scan, &key)) == 1) {
        if (json_is(&key, "traceEvents") || json_scan_value(&scan, &value) != 1)
            return false;
        is_event |= json_is(&key, "ph");
    }
    json_scan_blanks(&scan);
    return !got && (is_event || (scan.at < scan.end && *scan.at == '{'));
}

static int take_root(struct reading *reading)
{
    const struct slice rest = intake_rest(reading->intake);
    if (rest.count >= 3 && memcmp(rest.bytes, "\xef\xbb\xbf", 3) == 0)
        reading->intake->at += 3;
    look(reading);
    int status = next_byte(reading);
    if (status != 1)
        return status;
    const uint8_t first = *reading->scan.at;
    if (first != '{' && first != '[')
        return fail(GAIT_ERR_FORMAT, "it is no JSON");
    reading->is_lines = is_line(reading->scan);
    if (reading->is_lines)
        return take_events(reading);
    reading->scan.at++;
    settle(reading);
    status = first == '{' ? take_members(reading) : take_events(reading);
    while (status == 1) { // nothing should follow
        status = next_byte(reading);
        if (status == 1)
            reading->scan.repairs->counts[REPAIR_TRAILING] +=
                (uint64_t)(reading->scan.end - reading->scan.at);
        reading->scan.at = reading->scan.end;
        settle(reading);
    }
    return status;
}

// --- what is true of the whole ----------------------------------------------

static int64_t integer_of(const struct store_fact *fact, int64_t otherwise)
{
    struct json_decimal decimal;
    if (!fact || !json_decimal_of(fact->json, &decimal) || decimal.places)
        return otherwise;
    return decimal.digits;
}

// A member of a fact that is an object.
static bool member_of(const struct store_fact *fact, const char *name, struct json_value *ret_value)
{
    struct repairs none = {{0}};
    struct json_value key;
    if (!fact)
        return false;
    struct json_scan scan = {fact->json.bytes, fact->json.bytes + fact->json.count, &none};
    if (!json_scan_enter(&scan, '{'))
        return false;
    while (json_scan_member(&scan, &key, ret_value) == 1)
        if (json_is(&key, name))
            return true;
    return false;
}

// The process that has most of the rows and is no device.
static uint32_t find_main(const struct event_store *store)
{
    uint64_t most = 0;
    uint32_t main = 0;
    for (uint32_t i = 0; i < store->track_count; i++) {
        uint64_t rows = 0;
        if (store->tracks[i].key)
            continue;
        for (uint32_t at = i + 1; at; at = store->tracks[at - 1].next)
            rows += event_store_host_rows(store, at - 1);
        if (rows <= most)
            continue;
        most = rows;
        main = store->tracks[i].process;
    }
    return main ? main : store->track_count ? store->tracks[0].process : 0;
}

static void tell(const struct reading *reading, struct source_facts *facts)
{
    const struct event_store *store = reading->reader.parts.store;
    struct json_value value;
    struct json_decimal rank;
    facts->base_ns = integer_of(event_store_fact_of(store, "baseTimeNanoseconds"), 0);
    facts->rank = -1;
    if (member_of(event_store_fact_of(store, "distributedInfo"), "rank", &value) &&
        json_decimal_of(value.text, &rank) && !rank.places)
        facts->rank = rank.digits;
    facts->is_one_process = reading->reader.has_devices ||
                            event_store_fact_of(store, "schemaVersion") ||
                            event_store_fact_of(store, "distributedInfo") ||
                            event_store_fact_of(store, "deviceProperties");
    facts->main_process = find_main(store);
}

// `scout` must live until intake_stop_ahead().
static void let_look(struct intake *intake, struct pattern_walk *scout)
{
    intake->look = chrome_scout_look;
    intake->look_context = scout;
    intake->notes_bytes = sizeof(struct chrome_notes);
}

static int read_trace(struct intake *intake, struct event_store *store,
                      struct source_facts *ret_facts)
{
    struct reading reading = {.intake = intake};
    struct pattern_walk scout;
    int status = chrome_reader_init(&reading.reader, store, intake->repairs);
    pattern_walk_init(&scout, &reading.reader.patterns);
    let_look(intake, &scout);
    if (!status)
        status = take_root(&reading);
    intake_stop_ahead(intake);
    pattern_walk_finish(&scout);
    if (!status)
        status = chrome_reader_end(&reading.reader);
    if (!status && !store->events && !store->naming.texts.count)
        status = fail(GAIT_ERR_FORMAT, "it is JSON, but no trace: there is no event in it");
    if (!status)
        tell(&reading, ret_facts);
    chrome_reader_finish(&reading.reader);
    return status;
}

const struct source source_chrome = {.name = "chrome", .probe = probe, .read = read_trace};
