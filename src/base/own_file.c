// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "base/own_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fail.h"

#define FLAGS (O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY)
#define KEEP_WHAT_IS_THERE 1u // RENAME_NOREPLACE; not every libc has a name for it, or a call
#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

enum { MOST_RANDOM = 32, DEEPEST = 16 };

// --- names ----------------------------------------------------------------------

int own_file_digits(char *ret_digits, size_t count)
{
    uint8_t bytes[MOST_RANDOM];
    if (count > sizeof bytes || getrandom(bytes, count, 0) != (ssize_t)count)
        return fail(GAIT_ERR_IO, "cannot get random numbers: %s", strerror(errno));
    for (size_t i = 0; i < count; i++)
        snprintf(ret_digits + 2 * i, 3, "%02x", bytes[i]);
    return GAIT_OK;
}

int own_file_salt(char ret_salt[OWN_FILE_SALT])
{
    return own_file_digits(ret_salt, OWN_FILE_SALT / 2);
}

// The rule of fs.protected_symlinks, in every folder and not only in sticky ones: a link is
// trusted if we made it, or whoever the folder belongs to.
static bool is_planted(const char *path)
{
    struct stat link, folder;
    char above[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (lstat(path, &link) || !S_ISLNK(link.st_mode) || link.st_uid == geteuid())
        return false;
    snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    return stat(above, &folder) || link.st_uid != folder.st_uid;
}

char *own_file_target(const char *path)
{
    struct stat about;
    if (lstat(path, &about) != 0)
        return errno == ENOENT ? strdup(path) : NULL;
    if (is_planted(path))
        return strdup(path);
    if (stat(path, &about) != 0 || access(path, W_OK) != 0)
        return NULL;
    if (S_ISREG(about.st_mode))
        return realpath(path, NULL);
    errno = S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
    return NULL;
}

const char *own_file_why(int error)
{
    return error == OWN_FILE_PLANTED ? "it is a link that another user made" : strerror(error);
}

// --- files ----------------------------------------------------------------------

static int cannot(const char *path)
{
    return fail(GAIT_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
}

// What a link of the user's own leads to is known by now: a link that comes up there since is not.
static int open_in_place(struct own_file *file)
{
    struct stat about;
    file->fd = file->target ? open(file->target, FLAGS | O_TRUNC | O_NOFOLLOW, 0666)
                            : open(file->name, FLAGS | O_TRUNC, 0666);
    if (file->fd < 0)
        return cannot(file->name);
    // a link stays where what it leads to could not be written
    file->is_removable = lstat(file->name, &about) == 0 && S_ISREG(about.st_mode);
    return GAIT_OK;
}

static void forget_part(struct own_file *file)
{
    free(file->part);
    free(file->target);
    file->part = file->target = NULL;
}

// Leaves fd at -1, and errno, where the file cannot be made.
static int make_part(struct own_file *file)
{
    char salt[OWN_FILE_SALT];
    struct stat about;
    const int status = own_file_salt(salt);
    if (status)
        return status;
    char *part = NULL;
    if (asprintf(&part, "%s.%s.part", file->target, salt) < 0)
        return fail(GAIT_ERR_MEMORY, "no memory for the name of '%s'", file->name);
    file->part = part;
    file->fd = open(file->part, FLAGS | O_EXCL | O_NOFOLLOW, 0666);
    // not of a file that somebody else put there: its mode may let everybody write
    if (file->fd >= 0 && lstat(file->target, &about) == 0 && S_ISREG(about.st_mode) &&
        about.st_uid == geteuid())
        (void)!fchmod(file->fd, about.st_mode & 0777);
    return GAIT_OK;
}

// That the file itself may be written to is of no use then.
static int cannot_begin(const char *path)
{
    const int error = errno;
    struct stat about;
    const bool is_there = lstat(path, &about) == 0;
    errno = error;
    return is_there ? fail(GAIT_ERR_IO, "cannot make the file that is to replace '%s': %s", path,
                           strerror(error))
                    : cannot(path);
}

static int open_part(struct own_file *file, bool is_named_by_user)
{
    int status = GAIT_OK;
    if (file->target)
        status = make_part(file);
    if (status || file->fd >= 0) {
        if (status)
            forget_part(file);
        return status;
    }
    const bool is_closed_folder =
        errno == EACCES || errno == EPERM || errno == EROFS || errno == ENAMETOOLONG;
    const bool is_in_place = is_named_by_user && (!file->target || is_closed_folder);
    status = is_in_place ? open_in_place(file) : cannot_begin(file->name);
    forget_part(file);
    return status;
}

// The number of an open descriptor that `path` stands for: what stands behind it is written
// where the descriptor is, `>>` and what others wrote before included. -1: it is a file.
static int descriptor_of(const char *path)
{
    static const char folder[] = "/dev/fd/";
    char *end;
    if (!strcmp(path, "/dev/stdout"))
        return STDOUT_FILENO;
    if (!strcmp(path, "/dev/stderr"))
        return STDERR_FILENO;
    if (strncmp(path, folder, sizeof folder - 1) != 0 || path[sizeof folder - 1] < '0' ||
        path[sizeof folder - 1] > '9')
        return -1;
    const long number = strtol(path + sizeof folder - 1, &end, 10);
    return *end || number > INT_MAX ? -1 : (int)number;
}

int own_file_open(struct own_file *file, const char *path)
{
    const int descriptor = descriptor_of(path);
    if (descriptor >= 0) {
        *file = (struct own_file){
            .fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0), .name = path, .is_borrowed = true};
        return file->fd < 0 ? cannot(path) : GAIT_OK;
    }
    *file = (struct own_file){.fd = -1, .name = path};
    file->target = own_file_target(path);
    return open_part(file, !is_planted(path));
}

int own_file_begin(struct own_file *file, const char *path)
{
    *file = (struct own_file){.fd = -1, .name = path, .target = strdup(path)};
    return open_part(file, false);
}

static int place(struct own_file *file, int (*name)(const char *draft, const char *path))
{
    // a network file system says here that there was no room
    int error = close(file->fd) != 0 && errno != EINTR ? errno : 0;
    file->fd = -1;
    if (!error && file->part)
        error = name(file->part, file->target);
    if (error)
        own_file_drop(file);
    forget_part(file);
    errno = error;
    return error;
}

int own_file_keep(struct own_file *file)
{
    return place(file, own_file_move) ? cannot(file->name) : GAIT_OK;
}

int own_file_keep_first(struct own_file *file)
{
    const int error = place(file, own_file_name);
    return error && error != EEXIST ? cannot(file->name) : GAIT_OK;
}

void own_file_drop(struct own_file *file)
{
    if (file->fd >= 0 && !file->part && !file->is_borrowed)
        (void)!ftruncate(file->fd, 0); // where it cannot be removed; a device has nothing
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    if (file->part)
        unlink(file->part);
    else if (file->is_removable)
        unlink(file->name);
    forget_part(file);
}

// The stream has a descriptor of its own, which it closes.
static int print_stream(const struct own_file *file, own_file_printer *print, void *context)
{
    const int copy = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
    FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (!out) {
        int status = cannot(file->name);
        if (copy >= 0)
            close(copy);
        return status;
    }
    int status = print(out, context);
    const bool is_bad = ferror(out) != 0;
    if ((fclose(out) != 0 || is_bad) && !status)
        status = cannot(file->name);
    return status;
}

static int finish_print(struct own_file *file, own_file_printer *print, void *context)
{
    const int status = print_stream(file, print, context);
    if (!status)
        return own_file_keep(file);
    own_file_drop(file);
    return status;
}

int own_file_print(const char *path, own_file_printer *print, void *context)
{
    struct own_file file;
    const int status = own_file_open(&file, path);
    return status ? status : finish_print(&file, print, context);
}

int own_file_replace(const char *path, own_file_printer *print, void *context)
{
    struct own_file file;
    const int status = own_file_begin(&file, path);
    return status ? status : finish_print(&file, print, context);
}

int own_file_reserve(const char *path)
{
    const int fd = open(path, FLAGS | O_EXCL | O_NOFOLLOW, 0666);
    return fd < 0 || close(fd) ? errno : 0;
}

int own_file_remove(const char *path)
{
    return unlink(path) ? errno : 0;
}

int own_file_move(const char *draft, const char *path)
{
    return rename(draft, path) ? errno : 0;
}

// The new name goes as well where the old one cannot: what failed has not half happened.
static int forget_draft(const char *draft, const char *path)
{
    const int error = unlink(draft) ? errno : 0;
    if (error)
        unlink(path);
    return error;
}

int own_file_name(const char *draft, const char *path)
{
    // of a file, and on network file systems, too, one of several rivals is the first
    if (!link(draft, path))
        return forget_draft(draft, path);
    if (errno != EEXIST &&
        syscall(SYS_renameat2, AT_FDCWD, draft, AT_FDCWD, path, KEEP_WHAT_IS_THERE) == 0)
        return 0;
    if (errno == EINVAL || errno == ENOSYS) // a file system that cannot promise that
        if (access(path, F_OK))
            return own_file_move(draft, path);
    return errno;
}

// --- folders --------------------------------------------------------------------

bool own_folder_is_there(const char *path)
{
    struct stat about;
    return !stat(path, &about) && S_ISDIR(about.st_mode);
}

int own_folder_make(const char *path, unsigned mode)
{
    if (!mkdir(path, mode))
        return 0;
    const int error = errno;
    return error == EEXIST && is_planted(path) ? OWN_FILE_PLANTED : error;
}

static bool is_own(int folder)
{
    struct stat about;
    return folder >= 0 && !fstat(folder, &about) && about.st_uid == geteuid();
}

int own_folder_temporary(char ret_path[OWN_FOLDER_BYTES], const char *name)
{
    const char *place = getenv("TMPDIR");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.3000s/%.200s-XXXXXX", place && *place ? place : "/tmp", name);
    if (!mkdtemp(path))
        return fail(GAIT_ERR_IO, "cannot make the folder '%s': %s", path, strerror(errno));
    memcpy(ret_path, path, sizeof path);
    return GAIT_OK;
}

bool own_folder_is_empty(const char *path)
{
    DIR *entries = opendir(path);
    const struct dirent *entry;
    bool is_empty = entries != NULL;
    while (is_empty && (entry = readdir(entries)))
        is_empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
    if (entries)
        closedir(entries);
    return is_empty;
}

int own_folder_drop(const char *path)
{
    return rmdir(path) ? errno : 0;
}

bool own_folder_is_private(const char *path)
{
    struct stat about;
    return !lstat(path, &about) && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
           !(about.st_mode & S_IWOTH);
}

// Closes `folder`. A folder that somebody else owns stays as it is.
static void empty(int folder, int depth) // NOLINT(misc-no-recursion): DEEPEST bounds it
{
    DIR *entries = is_own(folder) && depth ? fdopendir(folder) : NULL;
    const struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..") || !unlinkat(folder, name, 0))
            continue;
        empty(openat(folder, name, FOLDER), depth - 1);
        (void)unlinkat(folder, name, AT_REMOVEDIR);
    }
    if (entries)
        closedir(entries);
    else if (folder >= 0)
        close(folder);
}

void own_folder_remove(const char *path)
{
    empty(open(path, FOLDER), DEEPEST);
    if (rmdir(path))
        unlink(path);
}
