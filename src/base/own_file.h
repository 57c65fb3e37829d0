// SPDX-License-Identifier: Apache-2.0
// Every file and folder that gait makes, replaces or removes. Others may write to the same
// folder and put a link where gait is about to write, so no name that gait chooses is followed,
// none of a draft can be guessed, and a link that somebody else made is never trusted.
#ifndef GAIT_BASE_OWN_FILE_H
#define GAIT_BASE_OWN_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <gait/error.h>

// --- names -----------------------------------------------------------------------

// Hexadecimal digits that nobody can guess, `count` bytes of them: two digits a byte.
GAIT_CHECK int own_file_digits(char *ret_digits, size_t count);

enum { OWN_FILE_SALT = 17 };
GAIT_CHECK int own_file_salt(char ret_salt[OWN_FILE_SALT]);

// Where a file that a user calls `path` is: what a link of the user's own leads to, a link
// that another user made itself. NULL and errno: it can only be opened, or not even that.
char *own_file_target(const char *path);

// --- files -----------------------------------------------------------------------

// A file that is written under another name beside its own and put in place when it is whole,
// so that nobody finds half of one, nor loses what was there.
struct own_file {
    int fd;
    const char *name;    // as the caller called it
    char *part, *target; // NULL: written where it is
    bool is_removable;   // written where it is, and no link or device
    bool is_borrowed;    // an open descriptor: what others wrote there stays
};

// A file that a user named. Pipes and devices, and files in folders where nothing can be made,
// are written where they are. `path` must outlive the file.
GAIT_CHECK int own_file_open(struct own_file *file, const char *path);

// A file that gait named: what is at `path` is replaced, a link as well.
GAIT_CHECK int own_file_begin(struct own_file *file, const char *path);

// Puts it in place.
GAIT_CHECK int own_file_keep(struct own_file *file);

// So, too, unless there is something by now: that stays.
GAIT_CHECK int own_file_keep_first(struct own_file *file);

// Removes what was written: it failed. A link that was written through stays, and leads to an
// empty file.
void own_file_drop(struct own_file *file);

typedef int own_file_printer(FILE *out, void *context);

// What `print` writes becomes the file at `path`, which own_file_open() or own_file_begin()
// opens. Where print() fails, or the disk is full, nothing is left.
GAIT_CHECK int own_file_print(const char *path, own_file_printer *print, void *context);
GAIT_CHECK int own_file_replace(const char *path, own_file_printer *print, void *context);

// An empty file of a name nobody has. 0 or an errno.
GAIT_CHECK int own_file_reserve(const char *path);

// A link at `path` goes, not what it leads to. 0 or an errno.
int own_file_remove(const char *path);

// Gives the finished file or folder `draft` its name. What came up there in the meantime is not
// replaced, and is by own_file_move(): of folders, only an empty one. 0 or an errno.
GAIT_CHECK int own_file_name(const char *draft, const char *path);
GAIT_CHECK int own_file_move(const char *draft, const char *path);

// --- folders ---------------------------------------------------------------------

bool own_folder_is_there(const char *path); // or a link to one

enum { OWN_FILE_PLANTED = -1 };

// 0, an errno, EEXIST among them, or OWN_FILE_PLANTED: `path` is a link that another user made.
GAIT_CHECK int own_folder_make(const char *path, unsigned mode);

// A new folder "NAME-??????" of this user's alone among temporary files. So many bytes are
// PATH_MAX, which musl tells only where it is asked for more than C.
enum { OWN_FOLDER_BYTES = 4096 };
GAIT_CHECK int own_folder_temporary(char ret_path[OWN_FOLDER_BYTES], const char *name);

// What such a number means, in words.
const char *own_file_why(int error);

bool own_folder_is_empty(const char *path);

// An empty folder goes. 0 or an errno.
int own_folder_drop(const char *path);

// Whether it is a folder of this user that not everybody may write to, and no link.
bool own_folder_is_private(const char *path);

// Removes the file or the folder at `path`, with all that a folder of this user's holds.
// Links go, what they lead to stays.
void own_folder_remove(const char *path);

#endif
