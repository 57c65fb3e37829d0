// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/choice_input.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "answer/sheet.h"
#include "load/rank_choice.h"

// The words that say the same, for the man page, behind the one that the help shows.
#define WORD(of_, kind_, name_, value_, help_, is_other_, field)                                   \
    {                                                                                              \
        .of = (of_), .option = {                                                                   \
            OPTION_ROW(kind_, 0, name_, value_, offsetof(struct choice_texts, field), help_),      \
            .is_other = (is_other_)                                                                \
        }                                                                                          \
    }

const struct choice_option choice_options[CHOICE_OPTIONS] = {
    WORD(CHOICE_SHOW_STEPS, OPTION_MAYBE, "steps", NULL,
         "with each step, too; --steps=5..9: those alone", false, steps),
    WORD(CHOICE_STEPS, OPTION_TEXT, "steps", "A..B", "of these steps alone: 5, 5..9, 5.., ..9",
         false, steps),
    WORD(CHOICE_TIME, OPTION_TEXT, "from", "T", "of this time on: 12.5s after the start, 300ms",
         false, from),
    WORD(CHOICE_TIME, OPTION_TEXT, "to", "T", "of the time before T alone", false, to),
    WORD(CHOICE_RANKS, OPTION_TEXT, "ranks", "LIST", "of these ranks alone: 0,3,8..15", false,
         ranks),
    WORD(CHOICE_PHASE, OPTION_TEXT, "phase", "NAME", "of a phase or span of that name alone", false,
         phase),
    WORD(CHOICE_TIME, OPTION_TEXT, "since", "T", "as --from", true, from),
    WORD(CHOICE_TIME, OPTION_TEXT, "until", "T", "as --to", true, to),
    WORD(CHOICE_RANK, OPTION_TEXT, "rank", "LIST", "as --ranks", true, ranks),
};

int choice_input_read(struct choice_input *input, unsigned of, const struct operands *operands)
{
    struct choice *choice = &input->choice;
    *input = (struct choice_input){.of_ranks = NULL};
    const int status = choice_read(choice, &operands->choice);
    if (!status && of & CHOICE_WHOLE && choice_is_of_times(choice) && !choice->has_steps) {
        choice->has_steps = true;
        choice->steps = (struct choice_range){0, UINT64_MAX};
    }
    choice->is_whole = of & CHOICE_WHOLE;
    return status;
}

int choice_input_apply(struct choice_input *input, struct gait_trace **trace)
{
    int status = GAIT_OK;
    chosen_fix_times(&input->choice, *trace);
    if (input->choice.rank_count)
        status = rank_choice_open(*trace, &input->choice, &input->of_ranks);
    if (input->of_ranks)
        *trace = input->of_ranks;
    if (!status && choice_is_of_times(&input->choice))
        status = chosen_find(&input->chosen, *trace, &input->choice);
    return status;
}

void choice_input_finish(struct choice_input *input)
{
    chosen_finish(&input->chosen);
    gait_trace_close(input->of_ranks);
    input->of_ranks = NULL;
}

const struct chosen *choice_input_chosen(const struct choice_input *input)
{
    return input->chosen.times ? &input->chosen : NULL;
}

// --- in the answer ---------------------------------------------------------------------

static struct value text_of(const char *text)
{
    return text && *text ? value_text(text) : value_none();
}

void choice_input_put(const struct choice_input *input, struct sheet *sheet)
{
    const struct choice *choice = &input->choice;
    const struct choice_texts *texts = &choice->texts;
    const struct {
        const char *word, *text;
    } words[] = {{"steps ", texts->steps},
                 {"from ", texts->from},
                 {"to ", texts->to},
                 {"ranks ", texts->ranks},
                 {"phase ", texts->phase}};
    char said[400] = "";
    if (!choice_is_made(choice))
        return;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const size_t used = strlen(said);
        if (words[i].text && *words[i].text)
            snprintf(said + used, sizeof said - used, "%s%s%.60s", used ? ", " : "Of ",
                     words[i].word, words[i].text);
    }
    snprintf(said + strlen(said), sizeof said - strlen(said), " alone.");
    sheet_say(sheet, SAY_PARAGRAPH, said);
    sheet_object(sheet, "choice");
    sheet_put(sheet, "steps", text_of(texts->steps));
    sheet_put(sheet, "from_ns", value_if(choice->from.is_given, value_int(input->chosen.from_ns)));
    sheet_put(sheet, "to_ns", value_if(choice->to.is_given, value_int(input->chosen.to_ns)));
    sheet_put(sheet, "ranks", text_of(texts->ranks));
    sheet_put(sheet, "phase", text_of(texts->phase));
    sheet_end(sheet);
}
