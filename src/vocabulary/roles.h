// SPDX-License-Identifier: Apache-2.0
// Roles of events: what a site is, whoever wrote it. Analyses ask for roles, never
// for the words of a category (roles.def has them all).
#ifndef GAIT_VOCABULARY_ROLES_H
#define GAIT_VOCABULARY_ROLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum role {
#define ROLE(identifier, category, name, what) ROLE_##identifier,
#include "vocabulary/roles.def"
    ROLE_COUNT
};

// Sets of roles are 32 bits.
#define ROLE_BIT(role) (UINT32_C(1) << (role))
_Static_assert(ROLE_COUNT <= 32, "a set of roles has 32 bits");

struct role_words {
    const char *category;
    const char *name; // NULL: any
};

// The site by which gait writes events of that role.
static inline struct role_words role_words(enum role role)
{
    static const struct role_words words[] = {
#define ROLE(identifier, category, name, what) {category, name},
#include "vocabulary/roles.def"
    };
    return words[role];
}

// As two arguments, of gait_site() say.
#define ROLE_SITE(role) role_words(role).category, role_words(role).name

static inline const char *role_category(enum role role)
{
    return role_words(role).category;
}

static inline bool role_is_range(enum role role)
{
    return role == ROLE_ANNOTATION || role == ROLE_STEP;
}

// What a device does at a time; its bit in a state.
enum device_lane { LANE_COMPUTE, LANE_COMM, LANE_COPY, LANE_COUNT, LANE_NONE = LANE_COUNT };

static inline enum device_lane role_lane(enum role role)
{
    switch (role) {
    case ROLE_KERNEL:
        return LANE_COMPUTE;
    case ROLE_COLLECTIVE:
        return LANE_COMM;
    case ROLE_COPY:
    case ROLE_SET:
        return LANE_COPY;
    default:
        return LANE_NONE;
    }
}

#define ROLES_OF_KERNELS (ROLE_BIT(ROLE_KERNEL) | ROLE_BIT(ROLE_COLLECTIVE))
#define ROLES_OF_DEVICES (ROLES_OF_KERNELS | ROLE_BIT(ROLE_COPY) | ROLE_BIT(ROLE_SET))

static inline bool role_is_device_work(enum role role)
{
    return ROLES_OF_DEVICES & ROLE_BIT(role);
}

// The role of a site; a site without a category is ROLE_OTHER. Takes the categories of
// every generation of PyTorch's traces. It compares texts: ask once a site, not once an event.
enum role role_of(const char *category, const char *name);

#endif
