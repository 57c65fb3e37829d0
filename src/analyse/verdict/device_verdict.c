// SPDX-License-Identifier: Apache-2.0
// A part that can be taken away leads from a quarter on, for without it steps are a third
// faster; else computing does where it is half. What is worth a word beside it is a tenth,
// by which runs differ on a machine in use.
#include "analyse/verdict/device_verdict.h"

#include "analyse/verdict/verdict.h"

enum { LEAD_PERCENT = 25, WORTH_PERCENT = 10, MOST_PERCENT = 50, NOTHING_PERCENT = 1, FEW = 5 };

static const struct rule {
    enum work_kind work;
    enum verdict_number number;
    enum note why, advice;
} removable[] = {
    {WORK_WAITING, VERDICT_WAITING, NOTE_DEVICE_WAITING, NOTE_TRY_EVEN_RANKS},
    {WORK_PEERS, VERDICT_PEERS_BOUND, NOTE_DEVICE_PEERS, NOTE_TRY_PEERS},
    {WORK_COPYING, VERDICT_COPYING_BOUND, NOTE_DEVICE_COPYING, NOTE_TRY_COPYING},
    {WORK_INPUT, VERDICT_INPUT_BOUND, NOTE_DEVICE_INPUT, NOTE_TRY_INPUT},
    {WORK_SYNC, VERDICT_SYNC_BOUND, NOTE_DEVICE_SYNC, NOTE_TRY_SYNC},
    {WORK_HOST, VERDICT_HOST_BOUND, NOTE_DEVICE_HOST, NOTE_TRY_HOST},
};
static const struct rule computing = {WORK_COMPUTING, VERDICT_COMPUTE_BOUND, NOTE_DEVICE_COMPUTING,
                                      NOTE_NONE};
enum { RULES = sizeof removable / sizeof removable[0] };

// The largest but one, or of all: of equal parts the first in the table.
static const struct rule *largest(const struct device_judged *devices, const struct rule *but)
{
    const struct rule *found = NULL;
    for (size_t i = 0; i < RULES; i++) {
        const struct rule *rule = &removable[i];
        if (rule != but && (!found || devices->by_work[rule->work] > devices->by_work[found->work]))
            found = rule;
    }
    return found;
}

static const struct rule *decide(const struct device_judged *devices)
{
    const struct rule *most = largest(devices, NULL);
    const uint64_t top = devices->by_work[most->work], work = devices->by_work[WORK_COMPUTING];
    if (verdict_percent(top, devices->total_ns) >= LEAD_PERCENT)
        return most;
    return verdict_percent(work, devices->total_ns) >= MOST_PERCENT || work >= top ? &computing
                                                                                   : most;
}

enum work_kind device_verdict_lead(const struct device_judged *devices)
{
    return decide(devices)->work;
}

static void rest_on(struct verdict *verdict, const struct device_judged *devices)
{
    evidence_text(&verdict->evidence, "of", devices->steps ? "steps" : "record");
    evidence_count(&verdict->evidence, "steps", devices->steps);
    evidence_ns(&verdict->evidence, "steps_ns", devices->total_ns);
}

// How much a step varies is known from a few on.
static void tell_few(struct verdict *verdict, const struct device_judged *devices)
{
    if (devices->steps < FEW)
        verdict_say(verdict, devices->steps ? NOTE_FEW : NOTE_NO_STEPS_MARKED);
}

static void judge(const struct verdict_facts *facts, const struct rule *lead,
                  struct verdict *verdict)
{
    const struct device_judged *devices = &facts->devices;
    const struct rule *also = largest(devices, lead);
    const uint64_t also_ns = devices->by_work[also->work];
    verdict->number = lead->number;
    verdict_put_parts(verdict, lead->work, devices->by_work, devices->total_ns);
    evidence_work(&verdict->evidence, "work", lead->work);
    evidence_share(&verdict->evidence, "share", devices->by_work[lead->work], devices->total_ns);
    verdict_say(verdict, lead->why);
    if (lead != &computing)
        verdict_advise(verdict, lead->work == WORK_INPUT ? verdict_advice_on_input(facts, verdict)
                                                         : lead->advice);
    else
        verdict_advise(verdict, verdict_advice_on_computing(facts));
    if (verdict_percent(also_ns, devices->total_ns) < WORTH_PERCENT)
        return;
    evidence_work(&verdict->evidence, "also_work", also->work);
    evidence_share(&verdict->evidence, "also_share", also_ns, devices->total_ns);
    verdict_say(verdict, NOTE_ALSO);
    if (also->work != WORK_INPUT)
        verdict_advise(verdict, also->advice);
}

bool device_verdict_make(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct device_judged *devices = &facts->devices;
    const uint64_t total_ns = devices->total_ns;
    if (!total_ns)
        return false;
    rest_on(verdict, devices);
    if (verdict_percent(devices->unlaunched_ns, total_ns) >= MOST_PERCENT) {
        verdict->number = VERDICT_UNKNOWN;
        evidence_share(&verdict->evidence, "share", devices->unlaunched_ns, total_ns);
        verdict_say(verdict, NOTE_NO_LAUNCHES);
        verdict_advise(verdict, NOTE_TRY_HOST_ROWS);
    } else if (devices->steps < 2 &&
               verdict_percent(devices->by_work[WORK_COMPUTING], total_ns) < NOTHING_PERCENT) {
        verdict->number = VERDICT_WARM_UP;
        evidence_share(&verdict->evidence, "share", devices->by_work[WORK_COMPUTING], total_ns);
        verdict_say(verdict, NOTE_WARM_UP);
        verdict_advise(verdict, NOTE_TRY_WARM);
    } else {
        judge(facts, decide(devices), verdict);
        tell_few(verdict, devices);
    }
    return true;
}
