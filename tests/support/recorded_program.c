// SPDX-License-Identifier: Apache-2.0
// A program that uses gait as users do: ignoring what it returns. Whatever befalls
// the recorder, this ends with 0. tools/torture runs it.
#include <gait/record.h>

int main(void)
{
    uint32_t site;

    (void)gait_start(NULL);
    site = gait_site("test", "span");
    gait_step_begin(1);
    gait_begin(site);
    gait_arg_text(gait_key("key"), "text");
    gait_count(gait_site("test", "gauge"), 3);
    gait_end();
    gait_step_end();
    (void)gait_thread_name("main");
    (void)gait_metadata("who", "\"torture\"");
    (void)gait_flush();
    (void)gait_stop();
    return 0;
}
