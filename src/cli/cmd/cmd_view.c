// SPDX-License-Identifier: Apache-2.0
// `gait view`: the answers to a run as pages in a browser, from a server on this machine.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fail.h"
#include "cli/frame/command.h"
#include "cli/io/newest_run.h"
#include "cli/view/view_page.h"
#include "cli/view/view_run.h"
#include "launch/say.h"

struct view_values {
    bool has_no_browser;
    int64_t port;
    const char *socket;
};

static volatile int is_over;

static void on_signal(int number)
{
    (void)number;
    is_over = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN); // the browser's starter
}

// Where there is a screen. What the starter says is not the reader's concern.
static void open_browser(char *url)
{
    posix_spawn_file_actions_t actions;
    char starter[] = "xdg-open";
    char *const words[] = {starter, url, NULL};
    pid_t pid;
    if ((!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) ||
        posix_spawn_file_actions_init(&actions))
        return;
    for (int descriptor = 0; descriptor < 3; descriptor++)
        posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0);
    if (posix_spawnp(&pid, words[0], &actions, NULL, words, environ))
        say("no browser could be started: open the address above");
    posix_spawn_file_actions_destroy(&actions);
}

static void tell_address(const struct http_server *server, bool has_no_browser)
{
    char url[128], host[256] = "HOST";
    if (server->socket_path) {
        printf("http://localhost/%s/ on '%s'\n", server->token, server->socket_path);
        fflush(stdout);
        say("from another machine: ssh -L 8000:%s %s, then http://localhost:8000/%s/",
            server->socket_path, gethostname(host, sizeof host - 1) ? "HOST" : host, server->token);
        return;
    }
    snprintf(url, sizeof url, "http://127.0.0.1:%u/%s/", server->port, server->token);
    printf("%s\n", url);
    fflush(stdout);
    if (getenv("SSH_CONNECTION"))
        say("on the machine with the browser, first: ssh -L %u:127.0.0.1:%u %s", server->port,
            server->port, gethostname(host, sizeof host - 1) ? "HOST" : host);
    else if (!has_no_browser)
        open_browser(url);
}

static int serve(const struct view_values *values, struct view_run *run)
{
    struct http_server server = {.listener = -1,
                                 .site = {.answer = view_page_answer, .context = run}};
    int status = http_server_open(&server, values->socket, (uint16_t)values->port);
    if (!status) {
        catch_signals();
        tell_address(&server, values->has_no_browser);
        say("Ctrl-C ends it");
        status = http_server_run(&server, &is_over);
    }
    http_server_close(&server);
    return status ? command_refuse(&cmd_view) : EXIT_OK;
}

static int run(const void *given, const struct operands *operands)
{
    const struct view_values *values = given;
    char newest[PATH_MAX];
    struct view_run shown;
    if (values->socket && values->port) {
        (void)fail(GAIT_ERR_ARGUMENT, "--socket excludes --port: leave one of them out");
        return command_refuse(&cmd_view);
    }
    const char *path = newest_run_or(operands, newest, sizeof newest);
    if (!path)
        return command_refuse(&cmd_view);
    const int code = view_run_open(&shown, path, operands->is_uncached)
                         ? command_refuse_trace(&cmd_view)
                         : serve(values, &shown);
    view_run_close(&shown);
    return code;
}

#define AT(field) offsetof(struct view_values, field)
static const struct option options[] = {
    {FLAG_ROW(0, "no-browser", AT(has_no_browser), "print the address, and start no browser")},
    {NUMBER_ROW(0, "port", "N", 1, 65535, AT(port),
                "listen on that port of 127.0.0.1 (default: any that is free)")},
    {TEXT_ROW(0, "socket", "FILE", AT(socket),
              "listen on a socket in the file system, which only this user can open")},
};

const struct command cmd_view = {
    .purpose = "show a run in the browser, also while it goes on",
    .summary = "Serves the answers to a run as pages on 127.0.0.1, until Ctrl-C.",
    .about = {"It prints one line, the address with a token that only this user knows, and serves "
              "until Ctrl-C. Each page is an answer of gait: the page ops is what gait ops says, "
              "ops?rows=20 is gait ops --rows 20, and ops.json, ops.csv, ops.md and ops.txt are "
              "its other formats. Tables can be sorted, filtered and copied.",
              "While a run goes on, pages are a second behind it.",
              "The server listens on this machine alone, reads only the run, opens no file that an "
              "address names, and refuses requests without the token or from pages of other "
              "hosts."},
    .examples = {{"gait view run1", "Look at a run in the browser."},
                 {"gait view --no-browser --port 8000 run1",
                  "Print the address, for a port that is forwarded."},
                 {"gait view trace.json.gz", "Look at another tool's trace."}},
    .exit_status = "0: ended by Ctrl-C. 2: wrong usage, unreadable input, or no port.",
    .line = {.command = "view",
             OPTIONS_ARE(options),
             .max_operands = 1,
             .operands = "[PATH]",
             .has_trace = true},
    .run = run,
};
