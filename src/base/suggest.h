// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the legal word nearest to a mistyped one.
#ifndef GAIT_BASE_SUGGEST_H
#define GAIT_BASE_SUGGEST_H

// The one of `names` (NULL-terminated) that was most likely meant, or NULL
// when none comes near. A word that begins a name means that name.
const char *suggest_nearest(const char *typed, const char *const *names);

#endif
