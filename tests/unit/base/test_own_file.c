// SPDX-License-Identifier: Apache-2.0
// Files and folders that gait writes, among links that somebody else put in their way.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/own_file.h"
#include "support/tap.h"

enum { NOBODY = 65534 };

static char folder[64], place[PATH_MAX], victim[PATH_MAX];

static const char *in_folder(const char *name, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s/%s", folder, name);
    return out;
}

static void put(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "we");
    ok(file && fputs(text, file) >= 0 && fclose(file) == 0 && chmod(path, mode) == 0);
}

static bool holds(const char *path, const char *text)
{
    char line[64] = "";
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const bool is_read = file >= 0 && read(file, line, sizeof line - 1) >= 0;
    if (file >= 0)
        close(file);
    return is_read && !strcmp(line, text);
}

static void begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/gait-test-XXXXXX");
    ok(mkdtemp(folder) != NULL);
    put(in_folder("victim", victim), "precious", 0640);
    in_folder("out", place);
}

static bool plant(const char *target, const char *path)
{
    return ok(symlink(target, path) == 0 && lchown(path, NOBODY, NOBODY) == 0);
}

static int print(FILE *out, void *context)
{
    fputs(*(const char **)context, out);
    return GAIT_OK;
}

static int print_half(FILE *out, void *context)
{
    fputs(*(const char **)context, out);
    return fail(GAIT_ERR_FORMAT, "no more");
}

static size_t count_files(void)
{
    char command[128], line[16] = "";
    snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
    FILE *out = popen(command, "re");
    ok(out && fgets(line, sizeof line, out) && pclose(out) == 0);
    return (size_t)strtoul(line, NULL, 10);
}

TEST("own file: a file is replaced when it is whole, with its mode, and not by half of one")
{
    struct stat about;
    begin();
    put(place, "before", 04640); // no right of the old file's user goes to the new text
    is_int(own_file_print(place, print_half, &(const char *){"half"}), GAIT_ERR_FORMAT);
    ok(holds(place, "before") && count_files() == 2);
    is_int(own_file_print(place, print, &(const char *){"after"}), 0);
    ok(holds(place, "after") && count_files() == 2);
    ok(stat(place, &about) == 0 && (about.st_mode & 07777) == 0640);
    own_folder_remove(folder);
}

TEST("own file: a user's link is followed, also to nowhere; for a name of gait's it is replaced")
{
    char beside[PATH_MAX];
    begin();
    ok(symlink(victim, place) == 0 && symlink("none", in_folder("link", beside)) == 0);
    is_int(own_file_print(place, print, &(const char *){"through"}), 0);
    ok(holds(victim, "through"));
    is_int(own_file_replace(place, print, &(const char *){"instead"}), 0);
    ok(holds(victim, "through") && holds(place, "instead"));
    is_int(own_file_print(beside, print_half, &(const char *){"half"}), GAIT_ERR_FORMAT);
    ok(holds(in_folder("none", beside), ""));
    is_int(own_file_print(in_folder("link", beside), print, &(const char *){"new"}), 0);
    ok(holds(in_folder("none", beside), "new"));
    own_folder_remove(folder);
}

TEST("own file: a link that another user made is replaced, whatever it leads to")
{
    if (geteuid() != 0) {
        skip("only root can make links of another user");
        return;
    }
    begin();
    const char *const targets[] = {victim, "nothing", "/dev/null"};
    for (size_t i = 0; i < 3; i++) {
        if (!plant(targets[i], place))
            return;
        is_int(own_file_print(place, print, &(const char *){"own"}), 0);
        ok(holds(place, "own") && holds(victim, "precious") && unlink(place) == 0);
    }
    plant("/tmp", place);
    is_int(own_folder_make(place, 0777), OWN_FILE_PLANTED);
    ok(lchown(folder, NOBODY, NOBODY) == 0); // whose folder it is may put links there
    is_int(own_folder_make(place, 0777), EEXIST);
    is_int(own_folder_make(victim, 0777), EEXIST);
    ok(lchown(folder, 0, 0) == 0);
    own_folder_remove(folder);
}

TEST("own file: in a closed folder the file that a user names is written in place, no other")
{
    struct own_file file;
    if (geteuid() != 0) {
        skip("only root is several users");
        return;
    }
    begin();
    put(place, "kept", 0666);
    ok(chmod(folder, 0755) == 0 && seteuid(NOBODY) == 0);
    is_int(own_file_begin(&file, place), GAIT_ERR_IO);
    ok(strstr(fail_text(), "cannot make the file that is to replace '") == fail_text());
    ok(holds(place, "kept"));
    is_int(own_file_print(place, print, &(const char *){"new"}), 0);
    ok(seteuid(0) == 0 && holds(place, "new") && count_files() == 2);
    own_folder_remove(folder);
}

TEST("own file: a device is written where it is, and a file in a folder that is not there nowhere")
{
    struct own_file file;
    begin();
    is_int(own_file_print("/dev/full", print, &(const char *){"text"}), GAIT_ERR_IO);
    is_str(fail_text(), "cannot write '/dev/full': No space left on device");
    ok(own_file_open(&file, in_folder("none/out", place)) == GAIT_ERR_IO && file.fd < 0);
    ok(own_file_open(&file, folder) == GAIT_ERR_IO && file.fd < 0);
    ok(strstr(fail_text(), "Is a directory") != NULL);
    own_folder_remove(folder);
}

TEST("own file: drafts have names that differ, and a finished one replaces nothing")
{
    char salts[2][OWN_FILE_SALT], draft[PATH_MAX];
    begin();
    ok(own_file_salt(salts[0]) == 0 && own_file_salt(salts[1]) == 0);
    ok(strlen(salts[0]) == OWN_FILE_SALT - 1 && strcmp(salts[0], salts[1]) != 0);
    is_int(own_file_reserve(in_folder("draft", draft)), 0);
    is_int(own_file_reserve(draft), EEXIST);
    is_int(own_file_name(draft, victim), EEXIST);
    is_int(own_file_name(draft, place), 0);
    ok(access(draft, F_OK) != 0);
    for (int i = 0; i < 2; i++) { // the first of two rivals wins
        struct own_file file;
        is_int(own_file_begin(&file, draft), 0);
        ok(dprintf(file.fd, "%d", i) == 1 && own_file_keep_first(&file) == 0);
    }
    ok(holds(draft, "0") && count_files() == 3);
    ok(holds(victim, "precious") && holds(place, ""));
    is_int(own_file_remove(place), 0);
    is_int(own_file_remove(place), ENOENT);
    own_folder_remove(folder);
}

TEST("own file: a folder goes with all that it holds, and nothing that its links lead to")
{
    char inner[PATH_MAX], path[PATH_MAX], other[PATH_MAX];
    begin();
    is_int(own_folder_make(place, 0777), 0);
    is_int(own_folder_make(in_folder("out/in", inner), 0777), 0);
    put(in_folder("out/in/file", path), "text", 0600);
    is_int(own_folder_make(in_folder("other", other), 0777), 0);
    put(in_folder("other/kept", path), "precious", 0600);
    ok(symlink(other, in_folder("out/in/link", path)) == 0);
    ok(symlink(victim, in_folder("out/file", path)) == 0);
    own_folder_remove(place);
    ok(access(place, F_OK) != 0 && holds(in_folder("other/kept", path), "precious"));
    ok(symlink(other, place) == 0);
    own_folder_remove(place);
    ok(access(place, F_OK) != 0 && holds(path, "precious") && holds(victim, "precious"));
    own_folder_remove(folder);
    ok(access(folder, F_OK) != 0);
}

TEST("own file: what another user's folder holds stays")
{
    char path[PATH_MAX];
    if (geteuid() != 0) {
        skip("only root can make folders of another user");
        return;
    }
    begin();
    ok(own_folder_make(place, 0755) == 0 && own_folder_is_private(place));
    put(in_folder("out/kept", path), "precious", 0600);
    ok(chown(place, NOBODY, NOBODY) == 0 && !own_folder_is_private(place));
    own_folder_remove(place);
    ok(holds(path, "precious"));
    ok(chown(place, 0, 0) == 0 && chmod(place, 0777) == 0 && !own_folder_is_private(place));
    own_folder_remove(folder);
}
