// SPDX-License-Identifier: Apache-2.0
// The source `perfetto`: track events of a .pftrace file: slices, instants, counters, flows and
// their annotations. Packets of other kinds (of the scheduler, of the heap) are passed over.
#include <math.h>
#include <stdlib.h>

#include <zlib.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "ingest/source.h"
#include "ingest/sources/pf_state.h"

#define MOST_PACKET ((size_t)256 << 20)
#define MOST_JSON ((size_t)16 << 20)
#define MOST_DEPTH ((size_t)1 << 16)
enum { MOST_NESTING = 32, MOST_FLOWS = 16, STATE_CLEARED = 1 };

enum packet_field {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_CLEARED = 41,
    PACKET_COMPRESSED = 50,
    PACKET_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
};

enum event_type { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };

struct pftrace {
    struct pf_state state;
    struct repairs *repairs;
    struct buffer json;
};

// A track event with its names found.
struct pf_event {
    int64_t time;
    uint64_t type, track_uuid;
    struct store_site site;
    bool has_track, is_real;
    uint64_t value; // of a counter
    uint64_t flows[MOST_FLOWS];
    bool ends[MOST_FLOWS];
    size_t flow_count;
};

static const uint8_t known_fields[] = {
    PACKET_CLOCK_SNAPSHOT,
    PACKET_TIMESTAMP,
    PACKET_SEQUENCE,
    PACKET_EVENT,
    PACKET_INTERNED,
    PACKET_FLAGS,
    PACKET_COMPRESSED,
    PACKET_CLOCK,
    PACKET_DEFAULTS,
    PACKET_TRACK,
    33,
    35,
    36,
    PACKET_CLEARED,
    1,
    2,
    43,
    44,
    45,
    89,
};

static unsigned probe(struct slice head)
{
    struct protobuf_field field;
    uint64_t bytes;
    unsigned known = 0;
    if (head.count < 3 || head.bytes[0] != 0x0a)
        return 0;
    struct slice rest = {head.bytes + 1, head.count - 1};
    if (!protobuf_varint(&rest, &bytes) || !bytes || bytes > MOST_PACKET)
        return 0;
    rest.count = bytes < rest.count ? (size_t)bytes : rest.count;
    while (protobuf_next(&rest, &field) == 1) {
        const bool is_known =
            field.number < 128 && memchr(known_fields, (int)field.number, sizeof known_fields);
        if (!is_known && field.number < 120)
            return 0;
        known += is_known;
    }
    return known ? 60 : 0;
}

// --- annotations --------------------------------------------------------------------

struct annotation {
    uint32_t key;
    struct protobuf_field value; // number 0: none
    struct slice entries;        // of a dictionary or a list: where they begin
};

static struct annotation annotation_of(struct pftrace *trace, const struct pf_sequence *sequence,
                                       struct slice bytes)
{
    struct annotation annotation = {.entries = bytes};
    struct protobuf_field field;
    while (protobuf_next(&bytes, &field) == 1) {
        if (field.number == 1)
            annotation.key = pf_names_find(&trace->state, sequence, PF_KEY, field.value);
        else if (field.number == 10)
            annotation.key = event_draft_string(&trace->state.draft, field.bytes);
        else if ((field.number >= 2 && field.number <= 12) || field.number == 17)
            annotation.value = field;
    }
    return annotation;
}

enum annotation_kind {
    OF_BOOL = 2,
    OF_UINT = 3,
    OF_INT = 4,
    OF_DOUBLE = 5,
    OF_TEXT = 6,
    OF_POINTER = 7,
    OF_JSON = 9,
    OF_ENTRIES = 11,
    OF_LIST = 12,
    OF_INTERNED = 17,
};

static int append_text(struct buffer *json, struct slice text)
{
    return utf8_append_json(json, (const char *)text.bytes, text.count);
}

static int append_value(struct pftrace *trace, const struct pf_sequence *sequence,
                        const struct annotation *annotation, unsigned depth);

static int append_entries(struct pftrace *trace, const struct pf_sequence *sequence,
                          const struct annotation *of, unsigned depth)
{
    const bool is_dict = of->value.number == OF_ENTRIES;
    const struct name_index *strings = &trace->state.draft.store->strings;
    struct slice rest = of->entries;
    struct protobuf_field field;
    const char *comma = "";
    int status = buffer_append(&trace->json, is_dict ? "{" : "[", 1);
    while (!status && protobuf_next(&rest, &field) == 1) {
        if (field.number != of->value.number || field.wire != WIRE_BYTES)
            continue;
        const struct annotation entry = annotation_of(trace, sequence, field.bytes);
        status = buffer_printf(&trace->json, "%s", comma);
        if (!status && is_dict)
            status = append_text(&trace->json, name_index_get(strings, entry.key));
        if (!status && is_dict)
            status = buffer_append(&trace->json, ":", 1);
        if (!status)
            status = append_value(trace, sequence, &entry, depth + 1);
        comma = ",";
    }
    return status ? status : buffer_append(&trace->json, is_dict ? "}" : "]", 1);
}

// A value in a list or dictionary, as JSON. What lies too deep is null.
static int append_value(struct pftrace *trace, const struct pf_sequence *sequence,
                        const struct annotation *annotation, unsigned depth)
{
    const struct protobuf_field *value = &annotation->value;
    const struct name_index *strings = &trace->state.draft.store->strings;
    struct buffer *json = &trace->json;
    if (depth > MOST_NESTING)
        return buffer_printf(json, "null");
    switch (value->number) {
    case OF_BOOL:
        return buffer_printf(json, value->value ? "true" : "false");
    case OF_UINT:
    case OF_POINTER:
        return buffer_printf(json, "%llu", (unsigned long long)value->value);
    case OF_INT:
        return buffer_printf(json, "%lld", (long long)value->value);
    case OF_DOUBLE:
        if (!isfinite(protobuf_double_of(value)))
            return buffer_printf(json, "null");
        return buffer_printf(json, "%.17g", protobuf_double_of(value));
    case OF_JSON:
        if (json_is_valid(value->bytes))
            return buffer_append(json, value->bytes.bytes, value->bytes.count);
        return append_text(json, value->bytes);
    case OF_TEXT:
        return append_text(json, value->bytes);
    case OF_INTERNED:
        return append_text(json, name_index_get(strings, pf_names_find(&trace->state, sequence,
                                                                       PF_VALUE, value->value)));
    case OF_ENTRIES:
    case OF_LIST:
        return append_entries(trace, sequence, annotation, depth);
    default:
        return buffer_printf(json, "null");
    }
}

static int add_json(struct pftrace *trace, const struct pf_sequence *sequence,
                    const struct annotation *annotation)
{
    struct event_draft *draft = &trace->state.draft;
    trace->json.used = 0;
    const int status = append_value(trace, sequence, annotation, 0);
    const struct slice text = {trace->json.bytes, trace->json.used};
    if (!status)
        event_draft_add(draft,
                        (struct args_item){.key = annotation->key,
                                           .kind = ARGS_JSON,
                                           .integer = event_store_string(draft->store, text)});
    return status;
}

static int add_annotation(struct pftrace *trace, const struct pf_sequence *sequence,
                          struct slice bytes)
{
    struct event_draft *draft = &trace->state.draft;
    const struct annotation annotation = annotation_of(trace, sequence, bytes);
    const struct protobuf_field *value = &annotation.value;
    struct args_item item = {.key = annotation.key, .kind = ARGS_STRING};
    if (!annotation.key)
        return 0;
    if (value->number == OF_TEXT)
        item.integer = event_draft_string(draft, value->bytes);
    else if (value->number == OF_INTERNED)
        item.integer = pf_names_find(&trace->state, sequence, PF_VALUE, value->value);
    else if (value->number == OF_DOUBLE)
        item = (struct args_item){
            .key = annotation.key, .kind = ARGS_REAL, .real = protobuf_double_of(value)};
    else if (value->number == OF_INT || value->number == OF_POINTER ||
             (value->number == OF_UINT && value->value <= INT64_MAX))
        item = (struct args_item){
            .key = annotation.key, .kind = ARGS_INT, .integer = (int64_t)value->value};
    else
        return add_json(trace, sequence, &annotation);
    event_draft_add(draft, item);
    return 0;
}

static int add_annotations(struct pftrace *trace, const struct pf_sequence *sequence,
                           struct slice event)
{
    struct protobuf_field field;
    int status = 0;
    while (!status && protobuf_next(&event, &field) == 1)
        if (field.number == 4 && field.wire == WIRE_BYTES)
            status = add_annotation(trace, sequence, field.bytes);
    return status;
}

// --- events -------------------------------------------------------------------------

static void add_flow(struct pf_event *event, const struct protobuf_field *field)
{
    if (event->flow_count == MOST_FLOWS)
        return;
    event->flows[event->flow_count] = field->value;
    event->ends[event->flow_count++] = field->number == 48 || field->number == 42;
}

static struct pf_event event_of(struct pftrace *trace, const struct pf_sequence *sequence,
                                struct slice bytes)
{
    struct pf_event event = {.track_uuid = sequence->track};
    struct protobuf_field field;
    while (protobuf_next(&bytes, &field) == 1) {
        switch (field.number) {
        case 9:
            event.type = field.value;
            break;
        case 11:
            event.track_uuid = field.value;
            break;
        case 3:
            if (!event.site.category && field.wire == WIRE_VARINT)
                event.site.category =
                    pf_names_find(&trace->state, sequence, PF_CATEGORY, field.value);
            break;
        case 22:
            if (!event.site.category)
                event.site.category = event_draft_string(&trace->state.draft, field.bytes);
            break;
        case 10:
            event.site.name = pf_names_find(&trace->state, sequence, PF_NAME, field.value);
            break;
        case 23:
            event.site.name = event_draft_string(&trace->state.draft, field.bytes);
            break;
        case 30:
        case 44:
            event.value = field.value;
            event.is_real = field.number == 44;
            break;
        case 36:
        case 42:
        case 47:
        case 48:
            add_flow(&event, &field);
            break;
        default:
            break;
        }
    }
    return event;
}

static bool is_on_device(const struct pftrace *trace, uint32_t category)
{
    static const char *const words[] = {"kernel", "gpu_memcpy", "gpu_memset"};
    const struct slice text = name_index_get(&trace->state.draft.store->strings, category);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (slice_is(text, words[i]))
            return true;
    return false;
}

static int put_flows(struct pftrace *trace, const struct pf_event *event, uint32_t track,
                     bool has_args)
{
    struct event_draft *draft = &trace->state.draft;
    int status = 0;
    for (size_t i = 0; i < event->flow_count && !status; i++) {
        if (!has_args || i)
            event_draft_begin(draft, TABLE_FLOW, track, &event->site);
        draft->row.start = event->time;
        draft->row.id = event->flows[i];
        draft->row.phase = event->ends[i] ? 2 : 0;
        status = event_draft_put(draft);
    }
    return status;
}

static int put_instant(struct pftrace *trace, const struct pf_sequence *sequence,
                       const struct pf_event *event, struct slice bytes, uint32_t track)
{
    struct event_draft *draft = &trace->state.draft;
    event_draft_begin(draft, event->flow_count ? TABLE_FLOW : TABLE_MARK, track, &event->site);
    draft->row.start = event->time;
    const int status = add_annotations(trace, sequence, bytes);
    if (status)
        return status;
    return event->flow_count ? put_flows(trace, event, track, true) : event_draft_put(draft);
}

static int begin_slice(struct pftrace *trace, const struct pf_sequence *sequence,
                       const struct pf_event *event, struct slice bytes, struct pf_track *track)
{
    struct event_draft *draft = &trace->state.draft;
    int status = ARRAY_RESERVE(track->open, track->room, track->depth + 1, MOST_DEPTH);
    if (status)
        return status;
    event_draft_begin(draft, TABLE_SPAN, track->track, &event->site);
    status = add_annotations(trace, sequence, bytes);
    struct form_part *parts = status ? NULL : malloc((draft->count + 1) * sizeof *parts);
    if (!parts)
        return status ? status : fail(GAIT_ERR_MEMORY, "no memory for slices that have not ended");
    memcpy(parts, draft->parts, draft->count * sizeof *parts);
    track->open[track->depth++] = (struct pf_open){event->time, event->site, parts, draft->count};
    return put_flows(trace, event, track->track, false);
}

// Its arguments may come with its begin or with its end.
static int end_slice(struct pftrace *trace, const struct pf_sequence *sequence, int64_t time,
                     struct slice bytes, struct pf_track *track)
{
    struct event_draft *draft = &trace->state.draft;
    if (!track->depth) {
        trace->repairs->counts[REPAIR_UNPAIRED]++;
        return 0;
    }
    struct pf_open *open = &track->open[--track->depth];
    event_draft_begin(draft, TABLE_SPAN, track->track, &open->site);
    memcpy(draft->parts, open->parts, open->part_count * sizeof *draft->parts);
    draft->count = open->part_count;
    free(open->parts);
    draft->row.start = open->start;
    draft->row.duration = time > open->start ? (uint64_t)time - (uint64_t)open->start : 0;
    if (is_on_device(trace, open->site.category))
        draft->store->tracks[track->track].kind = GAIT_TRACK_STREAM;
    const int status = sequence ? add_annotations(trace, sequence, bytes) : 0;
    return status ? status : event_draft_put(draft);
}

static int put_counter(struct pftrace *trace, const struct pf_event *event, struct pf_track *track)
{
    struct event_draft *draft = &trace->state.draft;
    const struct store_site site = {event->site.category, track->name};
    int64_t value = (int64_t)(event->value * (uint64_t)track->multiplier);
    if (track->is_incremental && !event->is_real)
        value = track->sum = (int64_t)((uint64_t)track->sum + (uint64_t)value);
    event_draft_begin(draft, event->is_real ? TABLE_COUNTER_REAL : TABLE_COUNTER, track->track,
                      &site);
    draft->row.start = event->time;
    draft->row.id = event->is_real ? event->value : (uint64_t)value;
    double real;
    memcpy(&real, &event->value, sizeof real);
    if (event->is_real)
        event_draft_real(draft, "value", real);
    else
        event_draft_int(draft, "value", value);
    return event_draft_put(draft);
}

static int take_event(struct pftrace *trace, const struct pf_sequence *sequence, int64_t time,
                      struct slice bytes)
{
    struct pf_event event = event_of(trace, sequence, bytes);
    struct pf_track *track;
    const int status = pf_tracks_find(&trace->state, event.track_uuid, &track);
    if (status)
        return status;
    event.time = time;
    switch (event.type) {
    case TYPE_BEGIN:
        return begin_slice(trace, sequence, &event, bytes, track);
    case TYPE_END:
        return end_slice(trace, sequence, time, bytes, track);
    case TYPE_INSTANT:
        return put_instant(trace, sequence, &event, bytes, track->track);
    case TYPE_COUNTER:
        return put_counter(trace, &event, track);
    default:
        trace->repairs->counts[REPAIR_LOST]++;
        return 0;
    }
}

// --- packets ------------------------------------------------------------------------

struct packet {
    struct slice event, interned, clocks, defaults, track, compressed;
    uint64_t timestamp, sequence, clock;
    bool is_cleared, is_event;
};

static bool parse_packet(struct slice bytes, struct packet *packet)
{
    struct protobuf_field field;
    int got;
    *packet = (struct packet){.timestamp = 0};
    while ((got = protobuf_next(&bytes, &field)) == 1) {
        struct slice *const parts[128] = {
            [PACKET_CLOCK_SNAPSHOT] = &packet->clocks, [PACKET_EVENT] = &packet->event,
            [PACKET_INTERNED] = &packet->interned,     [PACKET_COMPRESSED] = &packet->compressed,
            [PACKET_DEFAULTS] = &packet->defaults,     [PACKET_TRACK] = &packet->track};
        uint64_t *const numbers[128] = {[PACKET_TIMESTAMP] = &packet->timestamp,
                                        [PACKET_SEQUENCE] = &packet->sequence,
                                        [PACKET_CLOCK] = &packet->clock};
        if (field.number >= 128)
            continue;
        if (parts[field.number] && field.wire == WIRE_BYTES)
            *parts[field.number] = field.bytes;
        if (numbers[field.number])
            *numbers[field.number] = field.value;
        packet->is_event |= field.number == PACKET_EVENT && field.wire == WIRE_BYTES;
        packet->is_cleared |= (field.number == PACKET_FLAGS && field.value & STATE_CLEARED) ||
                              (field.number == PACKET_CLEARED && field.value);
    }
    return got == 0;
}

static void learn_defaults(struct pf_sequence *sequence, struct slice bytes)
{
    struct protobuf_field field, inner;
    while (protobuf_next(&bytes, &field) == 1) {
        if (field.number == PACKET_CLOCK)
            sequence->clock = field.value;
        while (field.number == 11 && protobuf_next(&field.bytes, &inner) == 1)
            sequence->track = inner.number == 11 ? inner.value : sequence->track;
    }
}

static int take_packets(struct pftrace *trace, struct slice bytes);

// Packets that another one holds compressed; none of them holds more.
static int take_compressed(struct pftrace *trace, struct slice packed)
{
    struct buffer bytes;
    z_stream stream = {.next_in = (uint8_t *)(uintptr_t)packed.bytes,
                       .avail_in = (unsigned)packed.count};
    if (inflateInit(&stream) != Z_OK)
        return fail(GAIT_ERR_MEMORY, "no memory to unpack a trace");
    buffer_init(&bytes, MOST_PACKET);
    int got = Z_OK;
    while (got == Z_OK) {
        uint8_t *room = buffer_reserve(&bytes, (size_t)1 << 16);
        if (!room)
            break;
        stream.next_out = room;
        stream.avail_out = 1u << 16;
        got = inflate(&stream, Z_NO_FLUSH);
        bytes.used += ((size_t)1 << 16) - stream.avail_out;
    }
    inflateEnd(&stream);
    trace->repairs->counts[REPAIR_GZIP] += got != Z_STREAM_END;
    const int status = take_packets(trace, (struct slice){bytes.bytes, bytes.used});
    buffer_finish(&bytes);
    return status;
}

static int take_packet(struct pftrace *trace, struct slice bytes, bool is_inner)
{
    struct pf_sequence *sequence;
    struct packet packet;
    if (!parse_packet(bytes, &packet)) {
        trace->repairs->counts[REPAIR_LOST]++;
        return 0;
    }
    if (packet.compressed.count && !is_inner)
        return take_compressed(trace, packet.compressed);
    int status = pf_sequence_find(&trace->state, packet.sequence, &sequence);
    if (status)
        return status;
    if (packet.is_cleared) {
        sequence->generation++;
        sequence->track = sequence->clock = 0;
    }
    learn_defaults(sequence, packet.defaults);
    if (packet.clocks.count)
        status = pf_clocks_learn(&trace->state, sequence->id, packet.clocks);
    if (!status)
        status = pf_names_learn(&trace->state, sequence, packet.interned);
    if (!status && packet.track.count)
        status = pf_tracks_learn(&trace->state, packet.track);
    if (status || !packet.is_event)
        return status;
    const int64_t time = pf_clocks_time(
        &trace->state, sequence, packet.clock ? packet.clock : sequence->clock, packet.timestamp);
    return take_event(trace, sequence, time, packet.event);
}

static int take_packets(struct pftrace *trace, struct slice bytes)
{
    struct protobuf_field field;
    int status = 0, got = 1;
    while (!status && (got = protobuf_next(&bytes, &field)) == 1)
        if (field.number == 1 && field.wire == WIRE_BYTES)
            status = take_packet(trace, field.bytes, true);
    trace->repairs->counts[REPAIR_LOST] += !status && got < 0;
    return status;
}

// The next packet of the file: 1, 0 at its end, or an error.
static int next_packet(struct pftrace *trace, struct intake *intake)
{
    uint64_t bytes = 0;
    int got = intake_need(intake, 2);
    if (got != 1)
        return got;
    got = intake_need(intake, 11);
    if (got < 0)
        return got;
    struct slice rest = intake_rest(intake);
    const size_t all = rest.count;
    if (rest.bytes[0] != 0x0a) {
        trace->repairs->counts[REPAIR_JUNK] += all;
        return 0;
    }
    rest = (struct slice){rest.bytes + 1, rest.count - 1};
    if (!protobuf_varint(&rest, &bytes) || bytes > MOST_PACKET) {
        trace->repairs->counts[REPAIR_JUNK] += all;
        return 0;
    }
    const size_t head = all - rest.count;
    got = intake_need(intake, head + (size_t)bytes);
    if (got != 1) {
        trace->repairs->counts[REPAIR_TRUNCATED] += !got;
        return got;
    }
    const struct slice packet = {intake_rest(intake).bytes + head, (size_t)bytes};
    const int status = take_packet(trace, packet, false);
    intake->at += head + (size_t)bytes;
    return status ? status : 1;
}

// What is still open lasts to the end of the trace.
static int end_all(struct pftrace *trace)
{
    struct pf_state *state = &trace->state;
    int status = 0;
    for (size_t i = 0; i < state->uuids.texts.count && !status; i++)
        while (state->tracks[i].depth && !status) {
            const struct pf_track *track = &state->tracks[i];
            const int64_t start = track->open[track->depth - 1].start;
            const int64_t last = state->draft.store->last_ns;
            trace->repairs->counts[REPAIR_UNFINISHED]++;
            status = end_slice(trace, NULL, last > start ? last : start, (struct slice){NULL, 0},
                               &state->tracks[i]);
        }
    return status;
}

static int read_pftrace(struct intake *intake, struct event_store *store,
                        struct source_facts *ret_facts)
{
    struct pftrace trace = {.repairs = intake->repairs};
    buffer_init(&trace.json, MOST_JSON);
    pf_state_init(&trace.state);
    int status = event_draft_init(&trace.state.draft, store);
    int got = status ? status : 1;
    while (got == 1)
        got = next_packet(&trace, intake);
    status = got < 0 ? got : end_all(&trace);
    if (!status && !store->events)
        status = fail(GAIT_ERR_FORMAT, "it is a Perfetto trace without any track event");
    if (!status)
        *ret_facts = (struct source_facts){.rank = source_rank_of(intake->path),
                                           .main_process = store->tracks[0].process};
    pf_state_finish(&trace.state);
    buffer_finish(&trace.json);
    return status;
}

const struct source source_perfetto = {.name = "perfetto", .probe = probe, .read = read_pftrace};
