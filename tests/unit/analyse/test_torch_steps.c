// SPDX-License-Identifier: Apache-2.0
// Scripts in, steps out. A script is a row of facts:
//
//     M  an iterator is made (M3: known to be iterator 3)
//     a1 iterator 1 is asked and gives a batch    e1 it is exhausted
//     f1 module 1 runs in training mode           F1 in evaluation mode
//     b  backward   s1 optimizer 1 steps   z1 its gradients are zeroed
//     p  some other phase   c  a checkpoint is saved   s1( … ) steps, with a closure inside
//     E1 module 1's eval()   T1 its train()
//     X  the script is over: what follows is the interpreter's
//
// and of what must be found: | a step begins with the next fact, ^ it begins
// where the last fact ended, / it ends with the next fact, ] it ended with the last
// one. A step without such an end lasts until the next one begins. { evaluation
// begins with the next fact, } ends with it, > ended with the last one.
#include "analyse/ledger/torch_phases.h"
#include "analyse/steps/training_thread.h"
#include "support/tap.h"

enum { MOST = 4000, FACT_NS = 10, GAP_NS = 1 };

struct script {
    struct training_thread thread;
    int64_t now_ns, last_end_ns, over_ns;
    int64_t starts[MOST], ends[MOST], evaluations[MOST];
    size_t start_count, evaluation_count;
    size_t open[16]; // facts that a bracket will end
    unsigned depth;
    int64_t modes[10]; // eval() of a module, 0: in training mode
};

static struct script script;

static void add_fact(const struct hook_fact *like, bool is_open)
{
    struct hook_fact fact = *like;
    fact.start_ns = script.now_ns;
    fact.end_ns = script.now_ns + FACT_NS;
    if (is_open)
        script.open[script.depth++] = script.thread.facts.count;
    else
        script.now_ns = script.last_end_ns = fact.end_ns;
    script.now_ns += GAP_NS;
    ok(!hook_facts_add(&script.thread.facts, &fact));
}

static void close_fact(void)
{
    script.thread.facts.rows[script.open[--script.depth]].end_ns = script.now_ns;
    script.last_end_ns = script.now_ns;
    script.now_ns += GAP_NS;
}

static void set_mode(unsigned module, bool is_training)
{
    int64_t *begin_ns = &script.modes[module % 10];
    const struct torch_mode mode = {*begin_ns, script.now_ns, module};
    if (*begin_ns)
        ok(!hook_facts_add_mode(&script.thread.facts, &mode));
    *begin_ns = is_training ? 0 : script.now_ns;
    script.now_ns += GAP_NS;
}

static const struct kind {
    char letter;
    struct hook_fact fact;
} kinds[] = {
    {'M', {.kind = TORCH_FACT_MAKE}},
    {'a', {.kind = TORCH_FACT_ASK, .samples = 4}},
    {'e', {.kind = TORCH_FACT_EMPTY}},
    {'f', {.kind = TORCH_FACT_FORWARD, .is_training = true}},
    {'F', {.kind = TORCH_FACT_FORWARD}},
    {'b', {.kind = TORCH_FACT_BACKWARD}},
    {'s', {.kind = TORCH_FACT_STEP}},
    {'z', {.kind = TORCH_FACT_ZERO}},
    {'p', {.kind = TORCH_FACT_PHASE, .phase = TORCH_LOGGING}},
    {'c', {.kind = TORCH_FACT_PHASE, .phase = TORCH_CHECKPOINT}},
};

static void expect_step(int64_t at_ns)
{
    int64_t *before = script.start_count ? &script.ends[script.start_count - 1] : NULL;
    if (before && !*before)
        *before = at_ns;
    script.starts[script.start_count++] = at_ns;
}

static void read_sign(const char *sign)
{
    bool has_id = sign[1] >= '0' && sign[1] <= '9';
    uint32_t id = has_id ? (uint32_t)(sign[1] - '0') : TORCH_NO_ID;
    if (*sign == '|' || *sign == '^')
        expect_step(*sign == '|' ? script.now_ns : script.last_end_ns);
    if ((*sign == '/' || *sign == ']') && script.start_count)
        script.ends[script.start_count - 1] = *sign == '/' ? script.now_ns : script.last_end_ns;
    if (*sign == '{' || *sign == '}' || *sign == '>')
        script.evaluations[script.evaluation_count++] =
            *sign == '>' ? script.last_end_ns : script.now_ns;
    if (*sign == 'E' || *sign == 'T')
        set_mode(id, *sign == 'T');
    if (*sign == 'X')
        script.over_ns = script.now_ns;
    if (*sign == ')')
        close_fact();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].letter != *sign)
            continue;
        struct hook_fact fact = kinds[i].fact;
        fact.id = id;
        add_fact(&fact, sign[1 + has_id] == '(');
    }
}

static void read_script(const char *text)
{
    memset(&script, 0, sizeof script);
    script.now_ns = 1000;
    training_thread_init(&script.thread);
    for (; *text; text++)
        read_sign(text);
    script.now_ns += 100;
    for (unsigned module = 0; module < 10; module++)
        if (script.modes[module])
            set_mode(module, true);
    script.thread.facts.end_ns = script.over_ns ? script.over_ns : script.now_ns;
    ok(!hook_facts_sort(&script.thread.facts));
    ok(!training_thread_derive(&script.thread));
}

// Finds steps and evaluations where the script has its signs.
static void check(const char *text)
{
    read_script(text);
    const struct torch_steps *steps = &script.thread.steps;
    const struct intervals *evaluation = &script.thread.evaluation;
    bool is_right = is_u64(steps->count, script.start_count);
    for (size_t i = 0; i < steps->count && i < script.start_count; i++)
        is_right &= is_int(steps->rows[i].start_ns, script.starts[i]);
    for (size_t i = 0; i < steps->count && i < script.start_count; i++)
        is_right &= is_int(steps->rows[i].end_ns, script.ends[i]);
    is_right &= is_u64(evaluation->count, (script.evaluation_count + 1) / 2);
    for (size_t i = 0; i < evaluation->count && i < script.evaluation_count / 2; i++) {
        is_right &= is_int(evaluation->rows[i].start_ns, script.evaluations[2 * i]);
        is_right &= is_int(evaluation->rows[i].end_ns, script.evaluations[2 * i + 1]);
    }
    if (!is_right)
        printf("# in: %s\n", text);
    training_thread_finish(&script.thread);
}

TEST("steps: a plain loop, from request to request")
{
    check("p |M a1 z1 f1 b s1 |a1 z1 f1 b s1 |a1 z1 f1 b s1 /e1 p");
    check("|M a1 f1 b s1 z1 |a1 f1 b s1 z1 p /e1");
}

TEST("steps: what lies between two epochs is in no step")
{
    check("|M a1 f1 b s1 |a1 f1 b s1 /e1 p |M a1 f1 b s1 |a1 f1 b s1 /e1 p");
    check("|M1 a1 f1 b s1 |a1 f1 b s1 /e1 p |M2 a2 f1 b s1 |a2 f1 b s1 /e2 p");
}

TEST("steps: an iterator made long before it is asked begins no step")
{
    check("M1 f1 p |a1 f1 b s1 |a1 f1 b s1 /e1");
}

TEST("steps: gradients gathered over several batches")
{
    check("|M a1 f1 b a1 f1 b s1 z1 |a1 f1 b a1 f1 b s1 z1 /e1");
    // what is left over at the end of a loop belongs to its last step
    check("|M a1 f1 b a1 f1 b s1 z1 a1 f1 b /e1 |M a1 f1 b a1 f1 b s1 z1 "
          "|a1 f1 b a1 f1 b s1 z1 /e1");
    check("|M a1 f1 b a1 f1 b s1 z1 a1 f1 b /e1 p");
    check("|M a1 f1 b a1 f1 b s1 z1 a1 f1 b] p");
    // a loop in which no optimizer stepped waits for the next one
    check("|M a1 f1 b a1 f1 b e1 M a1 f1 b s1 z1 a1 f1 b /e1");
    // a step on what was left over, behind the loop
    check("|M a1 f1 b a1 f1 b s1 |a1 f1 b e1 s1 z1] p |M a1 f1 b a1 f1 b s1 |a1 f1 b e1 s1 z1] p");
}

TEST("steps: AMP skips a step, and it is one all the same")
{
    check("|M a1 z1 f1 b |a1 z1 f1 b |a1 z1 f1 b s1 |a1 z1 f1 b s1 /e1");
    check("|M a1 f1 b z1 |a1 f1 b s1 z1 |a1 f1 b z1 |a1 f1 b s1 z1 /e1");
    check("|M a1 f1 b s1 z1 |a1 f1 b z1] p");
}

TEST("steps: a GAN with two optimizers makes one step a batch")
{
    check("|M a1 z1 f1 f2 b s1 z2 f1 f2 b s2 |a1 z1 f1 f2 b s1 z2 f1 f2 b s2 /e1");
    // each half frozen by eval() while the other learns
    check("|M a1 T1 E2 F2 f1 b s1 T2 E1 f2 F1 b s2 |a1 T1 E2 F2 f1 b s1 T2 E1 f2 F1 b s2 "
          "|a1 T1 E2 F2 f1 b s1 T2 E1 f2 F1 b s2 /e1");
}

TEST("steps: many critic steps on one batch, and some on their own")
{
    check("|M a1 f1 b s1 f1 b s1 f1 b s1 f2 b s2 |a1 f1 b s1 f1 b s1 f1 b s1 f2 b s2 /e1");
    check("|M a1 f1 b s1 |a1 f1 b s1 |a1 f1 b s1 f2 b s2 |a1 f1 b s1 |a1 f1 b s1 /e1");
    // the last batch before a break is like the others
    check("|M a1 f1 b s1 f1 b s1 f2 b s2 |a1 f1 b s1 f1 b s1 f2 b s2] p");
}

TEST("steps: closures run inside of the optimizer's step")
{
    check("|M a1 s1( z1 f1 b z1 f1 b z1 f1 b ) |a1 s1( z1 f1 b z1 f1 b ) /e1");
    check("|z1 s1( z1 f1 b f1 b ) ^ s1( z1 f1 b f1 b ) ^ s1( z1 f1 b )]");
}

TEST("steps: without a loader, from optimizer round to optimizer round")
{
    check("p |z1 f1 b s1 ^ z1 f1 b s1 ^ z1 f1 b s1] p");
    check("p |f1 b s1 ^ z1 f1 b s1 ^ z1 f1 b s1 z1] f1 z1 p");
    check("|f1 b s1 f2 b s2 ^ f1 b s1 f2 b s2 ^ f1 b s1 f2 b s2]");
}

TEST("steps: without a loader, evaluation and saves leave the loop")
{
    check("|f1 b s1 ^f1 b s1] {E1 F1 p } T1 p |f1 b s1 ^f1 b s1] p");
    check("|f1 b s1 ^f1 b s1] c p |f1 b s1 ^f1 b s1 z1] c");
    check("|f1 b s1] c {E1 F1 } T1 c |f1 b s1] M a1 f1 a1 f1 e1 |f1 b s1]");
    // a save between backward and step is inside of the body
    check("|f1 b c s1 ^f1 b c s1 ^f1 b c s1]");
    check("|M a1 e1 f1 b s1 ^ f1 b s1] c |f1 b s1 ^ f1 b s1]");
}

TEST("steps: an optimizer that makes its state before any work makes no step")
{
    check("c( s1 z1 ) |M a1 f1 b s1 |a1 f1 b s1 /e1");
    check("s1 |f1 b s1 ^f1 b s1]");
    check("|s1( f1 b ) ^s1( f1 b )]");
    check("|s1 ^s1 ^s1]"); // nothing tells of the model
}

TEST("steps: without a loader, one optimizer after the other")
{
    check("|f1 b s1 ^z1 f1 b s1 ^z1 f1 b s1 ^z2 f2 b s2 ^z2 f2 b s2]");
    check("|b s1 ^b s1 ^b s2 ^b s2 ^b s1 ^b s1 ^b s2 ^b s2]"); // and again
    check("|b s1 b s2 ^b s1 b s2 ^b s3 ^b s3]");
    check("|b s1 ^b s1 ^b s1 ^s2(z2 f1 b z2 f1 b)]"); // LBFGS ends it
    check("|a1 f1 b s1 ^f1 b s1 ^f2 b s2 ^f2 b s2 ^f3 b s3 ^f3 b s3]");
    check("|b s1 ^b s1 b s2 ^b s1 ^b s1 b s2]"); // one steps less often
    check("|b s1 b s2 ^b s2 ^b s2 b s1 ^b s2 ^b s2]");
    check("|b s1 ^b s1 b s2 ^b s1 ^b s1]");
}

TEST("steps: one batch for all steps")
{
    check("|M a1 f1 b s1 ^ f1 b s1 ^ f1 b s1 ^ f1 b s1]");
    check("|M a1 e1 f1 b s1 ^ f1 b s1 ^ f1 b s1 ^ f1 b s1]");
}

TEST("steps: a new iterator for every step")
{
    check("|M a1 f1 b s1 |M a1 f1 b s1 |M a1 f1 b s1 |M a1 f1 b s1]");
    check("|M a1 f1 b s1 f1 b s1 f2 b s2 |M a1 f1 b s1 f1 b s1 f2 b s2 "
          "|M a1 f1 b s1 f1 b s1 f2 b s2]");
    check("|M a1 M a2 f1 b s1 |M a1 M a2 f1 b s1 |M a1 M a2 f1 b s1]");
    check("|M a1 f1 b s1 |M a1 f1 b s1] c |M a1 f1 b s1 |M a1 f1 b s1] {E1 F1 p} T1");
}

TEST("steps: an iterator that goes round for ever")
{
    check("|M a1 f1 b s1 |a1 f1 b s1 /e1 |M a2 f1 b s1 |a2 f1 b s1 /e2 |M a1 f1 b s1] p");
}

TEST("steps: two loaders side by side")
{
    check("|M M a1 a2 f1 b s1 |a1 a2 f1 b s1 |a1 a2 f1 b s1 /e1");
    check("|M M a1 a2 f1 b s1 s1 s2 |a1 a2 f1 b s1 s1 s2 |a1 a2 f1 b s1 s1 s2 /e1");
    // what is left over belongs to the loop's last step here, too
    check("|M1 M2 a1 a2 f1 b a1 a2 f1 b s1 z1 a1 a2 f1 b /e1 "
          "|M3 M4 a3 a4 f1 b a3 a4 f1 b s1 z1 /e3");
}

TEST("steps: two loaders in turn")
{
    check("|M1 a1 f1 b s1 |M2 a2 f1 b s1 |a1 f1 b s1 |a2 f1 b s1 /e1 e2");
}

TEST("steps: a batch that is fetched ahead")
{
    check("|M a1 a1 f1 b s1 |a1 f1 b s1 |a1 f1 b s1 |e1 f1 b s1] p");
    check("|M a1 a1 f1 b s1 |a1 f1 b s1 |e1 f1 b s1 z1] {E1 M a2 F1 e2 } T1 "
          "|M a1 a1 f1 b s1 |a1 f1 b s1 |e1 f1 b s1 z1] {E1 M a2 F1 e2 } T1");
}

TEST("steps: batches kept in a list")
{
    check("M a1 a1 a1 e1 p |f1 b s1 ^ f1 b s1 ^ f1 b s1]");
}

TEST("steps: leaving a loop, and other loops after it")
{
    check("|M a1 f1 b s1 |a1 f1 b s1] p |M a1 f1 b s1 |a1 f1 b s1 /e1");
    // with a batch in hand that nothing is done with
    check("|M a1 f1 b s1 |a1 f1 b s1 /a1 p |M a2 f1 b s1 |a2 f1 b s1 /a2 e2");
    check("|M M a1 a2 f1 b s1 |a1 a2 f1 b s1 /a1 e2 |M M a3 a4 f1 b s1 |a3 a4 f1 b s1 /a3 e4");
    check("|M a1 f1 b s1 |a1 f1 b s1 /a1 {E1 M a2 F1 a2 F1 e2 > X");
    // two steps with a loader, then three of another optimizer without
    check("|M a1 f1 b s1 |a1 f1 b s1 ^ f1 b s2 ^ f1 b s2 ^ f1 b s2]");
    check("|M a1 f1 b s1 |a1 f1 b s1 |e1 f1 b s2 ^ f1 b s2 ^ f1 b s2]");
    check("|f1 b s1 ^ f1 b s1] p |M a1 f1 b s1 |a1 f1 b s1 /e1");
}

TEST("steps: a loop that was left ends with its optimizer, whatever follows")
{
    check("|M a1 f1 b s1 |a1 f1 b s1 z1] {E1 M a2 F1 a2 F1 e2 } T1 p |M a1 f1 b s1 |a1 f1 b s1] c");
    check("|M a1 f1 b s1 |a1 f1 b s1] p {E1 F1 >p X");
}

TEST("steps: a look at one batch before the loop")
{
    check("M a1 |M a2 f1 b s1 |a2 f1 b s1 |a2 f1 b s1 /e2");
    check("M a1 f1 p |M a2 f1 b s1 |a2 f1 b s1 |a2 f1 b s1 /e2");
}

TEST("steps: evaluation after an epoch is in no step")
{
    check("|M a1 f1 b s1 |a1 f1 b s1 /e1 {E1 M a2 F1 a2 F1 e2 } T1 |M a1 f1 b s1 |a1 f1 b s1 /e1 "
          "{E1 M a2 F1 e2 p } T1");
}

TEST("steps: evaluation that nobody ends is over with its last work")
{
    check("|M a1 f1 b s1 |a1 f1 b s1 /e1 {E1 M a2 F1 e2 > c X");
    check("|M a1 f1 b s1 |a1 f1 b s1 /e1 M a2 {F1 a2 F1 e2 > c X");
    check("{E1 M a1 F1 a1 F1 e1 } T1 |M a1 f1 b s1 |a1 f1 b s1 /e1 {E1 M a2 F1 e2 > X");
}

TEST("steps: evaluation in the midst of an epoch is inside of its step")
{
    check("|M a1 f1 b s1 {E1 M a2 F1 a2 F1 e2 } T1 |a1 f1 b s1 |a1 f1 b s1 /e1");
    check("|M a1 f1 b s1 |a1 f1 b s1 c {E1 M a2 F1 a2 F1 e2 } T1 /e1");
    // left before the loader was exhausted, and the address used again
    check("|M a1 f1 b s1 {E1 M a2 F1 a2 F1 } T1 |a1 f1 b s1 {E1 M a2 F1 } T1 |a1 f1 b s1 /e1");
}

TEST("steps: evaluation before any training is in no step")
{
    check("{E1 M a1 F1 a1 F1 e1 } T1 |M a1 f1 b s1 |a1 f1 b s1 /e1");
    check("{E1 M a1 F1 a1 F1 e1 } T1 |z1 f1 b s1 ^ f1 b s1]");
}

TEST("steps: train() may come with the batch, or never")
{
    check("|M a1 T1 f1 b s1 |a1 T1 f1 b s1 /e1 {E1 M a2 F1 e2 } |M a1 T1 f1 b s1 "
          "|a1 T1 f1 b s1 /e1");
    check("|M a1 f1 b s1 |a1 f1 b s1 /e1 {E1 M a2 F1 e2 } |M a1 F1 b s1 |a1 F1 b s1 /e1 "
          "{E1 M a2 F1 e2 } |M a1 F1 b s1 |a1 F1 b s1 /e1");
}

TEST("steps: evaluation that nobody announced")
{
    check("|M a1 f1 b s1 |a1 f1 b s1 /e1 M a2 {F1 a2 F1 e2 } |M a1 f1 b s1 |a1 f1 b s1 /e1");
}

TEST("steps: testing without eval() makes no steps")
{
    check("|M a1 f1 b s1 |a1 f1 b s1 /e1 M a2 f1 a2 f1 e2 |M a1 f1 b s1 |a1 f1 b s1 /e1 "
          "M a2 f1 e2");
    check("|M a1 f1 b s1 M a2 f1 a2 f1 e2 |a1 f1 b s1 |a1 f1 b s1 /e1");
}

TEST("steps: a teacher in eval mode is no evaluation")
{
    check("E2 |M a1 F2 f1 b s1 |a1 F2 f1 b s1 |a1 F2 f1 b s1 /e1 {E1 M a2 F1 e2 } T1 "
          "|M a1 F2 f1 b s1 /e1");
}

TEST("steps: frozen layers in eval mode are no evaluation")
{
    check("E5 |M a1 f1 b s1 |a1 f1 b s1 /e1");
    check("T1 E5 |M a1 f1 b s1 |a1 f1 b s1 /e1 {E1 M a2 F1 e2 } T1 E5 |M a1 f1 b s1 /e1");
}

TEST("steps: eval() of what contains the modules that run")
{
    check(
        "{E9 M a2 F1 e2 } T9 |M a1 f1 b s1 |a1 f1 b s1 /e1 {E9 M a2 F1 e2 } T9 |M a1 f1 b s1 /e1");
}

TEST("steps: averaged weights that are tested on other batches are evaluation")
{
    check("|M a1 f1 b s1 |a1 f1 b s1 /e1 M a2 {F2 a2 F2 e2 } |M a1 f1 b s1 /e1");
}

TEST("steps: gradients with respect to the input, in evaluation")
{
    check("|M a1 f1 b s1 |a1 f1 b s1 /e1 {E1 M a2 F1 b F1 a2 F1 b F1 e2 } T1 |M a1 f1 b s1 /e1");
}

TEST("steps: without an optimizer each batch that was learned from is one")
{
    check("|M a1 f1 b |a1 f1 b |a1 f1 b /e1");
    check("|M a1 f1 b |a1 f1 b /e1 {E1 M a2 F1 e2 } T1 |M a1 f1 b |a1 f1 b] p");
    check("");
}

TEST("steps: without an optimizer, a part whose features were counted in eval mode")
{
    check("E2 F2 T1 |M a1 f1 b |a1 f1 b /e1 {E1 M a2 F1 e2 } T1 |M a1 f1 b |a1 f1 b /e1 "
          "{E1 M a2 F1 e2 } T1");
    check("E2 |F2 f1 b |f1 b] {E1 F1 F1 } T1 |f1 b |f1 b]");
    check("E5 |M a1 f1 b |a1 f1 b /e1");
    // gradients of the input, while it evaluates
    check("|M a1 f1 b |a1 f1 b /e1 {E1 M a2 F1 b e2 } T1 |M a1 f1 b /e1");
}

TEST("steps: without optimizer and loader, from backward to backward")
{
    check("p |f1 b p |f1 b p |f1 b] p");
    check("|f1 b |f1 b] {E1 F1 F1 } T1 |f1 b |f1 b]");
    check("|b |b |b]");
}

TEST("steps: a program that learns nothing steps from forward to forward")
{
    check("|M a1 F1 |a1 F1 /e1");
    check("|M a1 f1 |a1 f1 /e1");
    check("E1 |F1 p |F1 p F2 |F1] p F2");
    check("f1 p F2"); // nothing comes again
}

TEST("steps: a loader that reads from a loader is asked once")
{
    check("|M a1( M a2 ) f1 b s1 |a1( a2 ) f1 b s1 /e1( e2 )");
}

TEST("steps: samples are those of the batches that were worked on")
{
    read_script("M a1 f1 b a1 f1 b s1 a1 f1 b a1 f1 b s1 a1 f1 b e1 M a1 f1 b s1 a1 p");
    if (is_u64(script.thread.steps.count, 3)) {
        is_u64(script.thread.steps.rows[0].samples, 8);
        is_u64(script.thread.steps.rows[1].samples, 12);
        is_u64(script.thread.steps.rows[2].samples, 4);
    }
    training_thread_finish(&script.thread);
    // asked for before a `break`, and evaluation follows
    read_script("M a1 f1 b s1 a1 f1 b s1 a1 E1 M a2 F1 a2 F1 e2 X");
    if (is_u64(script.thread.steps.count, 2)) {
        is_u64(script.thread.steps.rows[0].samples, 4);
        is_u64(script.thread.steps.rows[1].samples, 4);
    }
    training_thread_finish(&script.thread);
}
