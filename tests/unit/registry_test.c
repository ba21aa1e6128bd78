/* SPDX-License-Identifier: MIT
 *
 * The registry that groups, stores and allocators share.
 */
#include "base/registry.h"

#include "base/error.h"
#include "tests/support/check.h"

static int retained, dying;
static int one, two;

static int retain(void *object) {
    retained += object == &one;
    return !dying;
}

static struct symm__registry registry = SYMM__REGISTRY_INIT("thing", retain);

TEST(a_found_object_is_retained) {
    void *found = NULL;
    REQUIRE_OK(symm__registry_add(&registry, "one", &one));
    CHECK_INT(retained, 0);
    CHECK_OK(symm__registry_find(&registry, "one", &found));
    CHECK(found == &one);
    CHECK_INT(retained, 1);
    CHECK(symm__registry_remove(&registry, "one", &one));
}

TEST(an_object_that_goes_away_is_not_found) {
    void *found = &two;
    REQUIRE_OK(symm__registry_add(&registry, "one", &one));
    dying = 1;
    CHECK_FAILS(symm__registry_find(&registry, "one", &found), SYMM_EDESTROYED,
                "'one' was destroyed");
    CHECK(found == &two);
    dying = 0;
    CHECK_OK(symm__registry_find(&registry, "one", &found));
    CHECK(symm__registry_remove(&registry, "one", &one));
}

TEST(a_taken_name_and_an_empty_one_are_refused) {
    REQUIRE_OK(symm__registry_add(&registry, "one", &one));
    CHECK_FAILS(symm__registry_add(&registry, "one", &two), SYMM_EEXISTS,
                "a thing named 'one' exists already");
    CHECK_FAILS(symm__registry_add(&registry, "", &two), SYMM_EINVALID, "must not be empty");
    CHECK_FAILS(symm__registry_add(&registry, NULL, &two), SYMM_EINVALID, "must not be empty");
    CHECK(symm__registry_remove(&registry, "one", &one));
}

TEST(an_unknown_name_tells_the_known_ones) {
    void *found = &two;
    CHECK_FAILS(symm__registry_find(&registry, "x", &found), SYMM_ENOT_FOUND, "(known: none)");
    CHECK(found == &two);
    REQUIRE_OK(symm__registry_add(&registry, "b", &one));
    REQUIRE_OK(symm__registry_add(&registry, "a", &two));
    CHECK_FAILS(symm__registry_find(&registry, "x", &found), SYMM_ENOT_FOUND, "(known: a, b)");
    CHECK_FAILS(symm__registry_find(&registry, NULL, &found), SYMM_ENOT_FOUND, "named ''");
    CHECK(symm__registry_remove(&registry, "a", &two));
    CHECK(symm__registry_remove(&registry, "b", &one));
}

TEST(only_the_object_itself_is_removed) {
    REQUIRE_OK(symm__registry_add(&registry, "one", &one));
    CHECK_INT(symm__registry_remove(&registry, "one", &two), 0);
    CHECK_INT(symm__registry_remove(&registry, "two", &one), 0);
    CHECK_INT(symm__registry_remove(&registry, "one", &one), 1);
    CHECK_INT(symm__registry_remove(&registry, "one", &one), 0);
    CHECK_OK(symm__registry_add(&registry, "one", &two));
    CHECK_INT(symm__registry_remove(&registry, "one", &two), 1);
}

TEST(names_are_cut_to_fit) {
    char text[6];
    REQUIRE_OK(symm__registry_add(&registry, "abc", &one));
    REQUIRE_OK(symm__registry_add(&registry, "def", &two));
    symm__registry_names(&registry, text, sizeof text);
    CHECK_CONTAINS(text, "abc");
    CHECK(symm__registry_remove(&registry, "abc", &one));
    CHECK(symm__registry_remove(&registry, "def", &two));
}
