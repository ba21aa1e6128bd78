/* SPDX-License-Identifier: MIT
 *
 * .npy files: those that NumPy wrote (tests/data/npy), our own, and broken ones.
 */
#include <symm/npy.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/error.h>
#include <symm/wait.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/npy_header.h"
#include "tests/support/check.h"

#define DATA "tests/data/npy/"

static double number(symm_scalar value) {
    switch (value.kind) {
    case SYMM_KIND_FLOAT: return value.value.f;
    case SYMM_KIND_INT: return (double)value.value.i;
    default: return (double)value.value.u;
    }
}

static double at(const symm_tensor *t, int64_t i, int64_t j) {
    symm_scalar value = symm_scalar_int(-77);
    CHECK_OK(symm_tensor_get(t, (int64_t[]){i, j}, symm_tensor_ndim(t), &value));
    return number(value);
}

/* ---- NumPy's files ---- */

static double counted(symm_dtype dtype, int64_t i) {
    switch (symm_dtype_kind_of(dtype)) {
    case SYMM_KIND_BOOL: return (double)(i % 2);
    case SYMM_KIND_UINT: return (double)i;
    default: return (double)(i - 3);
    }
}

static void check_counting(const char *order, symm_dtype dtype) {
    char path[128];
    symm_tensor *t = NULL, *rows = NULL;
    int wrong = 0;
    snprintf(path, sizeof path, DATA "%s_%s.npy", order, symm_dtype_name(dtype));
    if (!CHECK_OK(symm_npy_load(path, &t))) return;
    CHECK_INT(symm_tensor_dtype(t), dtype);
    CHECK_INT(symm_tensor_ndim(t), 2);
    CHECK_INT(symm_tensor_shape(t)[0], 3);
    CHECK_INT(symm_tensor_shape(t)[1], 5);
    CHECK_INT(symm_tensor_is_contiguous(t), order[0] == 'c');
    for (int64_t i = 0; i < 15; i++) wrong += at(t, i / 5, i % 5) != counted(dtype, i);
    CHECK_OK(symm_npy_load_rows(path, 1, 2, &rows));
    CHECK_INT(symm_tensor_shape(rows)[0], 2);
    for (int64_t i = 5; i < 15; i++) wrong += at(rows, i / 5 - 1, i % 5) != counted(dtype, i);
    if (!CHECK_INT(wrong, 0)) CHECK_STR(path, "");
    symm_tensor_release(rows);
    symm_tensor_release(t);
}

TEST(every_dtype_in_both_orders) {
    for (int dtype = 0; dtype < SYMM_DTYPE_COUNT; dtype++) {
        if (dtype == SYMM_DTYPE_bfloat16) continue;
        check_counting("c", (symm_dtype)dtype);
        check_counting("fortran", (symm_dtype)dtype);
    }
}

TEST(bfloat16_is_read_when_it_is_asked_for) {
    symm_tensor *t = NULL;
    CHECK_FAILS(symm_npy_load(DATA "bfloat16.npy", &t), SYMM_EUNSUPPORTED,
                "ask for dtype bfloat16");
    CHECK_FAILS(symm_npy_load_as(DATA "bfloat16.npy", 0, SYMM_NPY_ALL, SYMM_DTYPE_float16, &t),
                SYMM_EINVALID, "holds bfloat16, not float16");
    REQUIRE_OK(symm_npy_load_as(DATA "bfloat16.npy", 0, SYMM_NPY_ALL, SYMM_DTYPE_bfloat16, &t));
    CHECK_DOUBLE(at(t, 0, 0), 1);
    CHECK_DOUBLE(at(t, 1, 0), -2.5);
    symm_tensor_release(t);
}

TEST(the_asked_dtype_is_held_against_the_file) {
    symm_tensor *t = NULL;
    CHECK_FAILS(symm_npy_load_as(DATA "c_int8.npy", 0, SYMM_NPY_ALL, SYMM_DTYPE_uint8, &t),
                SYMM_EINVALID, "holds int8, not uint8");
    CHECK_OK(symm_npy_load_as(DATA "c_int8.npy", 0, SYMM_NPY_ALL, SYMM_DTYPE_int8, &t));
    symm_tensor_release(t);
}

TEST(shapes_from_none_to_eight_dimensions) {
    symm_tensor *t = NULL;
    struct symm_npy_info info;
    symm_scalar value;
    REQUIRE_OK(symm_npy_load(DATA "scalar.npy", &t));
    CHECK_INT(symm_tensor_ndim(t), 0);
    CHECK_OK(symm_tensor_item(t, &value));
    CHECK_DOUBLE(number(value), -7);
    symm_tensor_release(t);
    REQUIRE_OK(symm_npy_load(DATA "one_dimension.npy", &t));
    CHECK_DOUBLE(at(t, 3, 0), 0);
    symm_tensor_release(t);
    REQUIRE_OK(symm_npy_load(DATA "empty.npy", &t));
    CHECK_INT(symm_tensor_ndim(t), 3);
    CHECK_INT(symm_tensor_numel(t), 0);
    symm_tensor_release(t);
    REQUIRE_OK(symm_npy_load(DATA "eight_dimensions.npy", &t));
    CHECK_OK(symm_tensor_get(t, (int64_t[]){0, 1, 0, 2, 0, 1, 0, 1}, 8, &value));
    CHECK_DOUBLE(number(value), 23);
    symm_tensor_release(t);
    CHECK_FAILS(symm_npy_load(DATA "nine_dimensions.npy", &t), SYMM_EUNSUPPORTED,
                "more than 8 dimensions");
    CHECK_OK(symm_npy_read_info(DATA "fortran_3d.npy", &info));
    CHECK_INT(info.dtype, SYMM_DTYPE_int32);
    CHECK_INT(info.ndim, 3);
    CHECK_INT(info.shape[0], 4);
    CHECK_INT(info.fortran_order, 1);
}

TEST(later_versions_of_the_format) {
    symm_tensor *t = NULL;
    REQUIRE_OK(symm_npy_load(DATA "version_2.npy", &t));
    CHECK_DOUBLE(at(t, 1, 2), 2);
    symm_tensor_release(t);
    REQUIRE_OK(symm_npy_load(DATA "version_3.npy", &t));
    CHECK_DOUBLE(at(t, 1, 2), 2);
    symm_tensor_release(t);
}

TEST(elements_that_are_not_supported) {
    symm_tensor *t = NULL;
    CHECK_FAILS(symm_npy_load(DATA "big_endian.npy", &t), SYMM_EUNSUPPORTED, "big-endian");
    CHECK_FAILS(symm_npy_load(DATA "object.npy", &t), SYMM_EUNSUPPORTED, "pickled");
    CHECK_FAILS(symm_npy_load(DATA "structured.npy", &t), SYMM_EUNSUPPORTED, "structured");
    CHECK_FAILS(symm_npy_load(DATA "complex.npy", &t), SYMM_EUNSUPPORTED, "'<c16'");
    CHECK_FAILS(symm_npy_load(DATA "unicode.npy", &t), SYMM_EUNSUPPORTED, "'<U2'");
    CHECK_NULL(t);
}

/* ---- rows ---- */

TEST(rows_of_three_dimensions_in_fortran_order) {
    symm_tensor *t = NULL, *rows = NULL, *want = NULL;
    int equal = 0;
    REQUIRE_OK(symm_npy_load(DATA "fortran_3d.npy", &t));
    for (int64_t first = 0; first <= 4; first++) {
        for (int64_t count = 0; count <= 4 - first; count++) {
            REQUIRE_OK(symm_npy_load_rows(DATA "fortran_3d.npy", first, count, &rows));
            CHECK_OK(symm_tensor_narrow(t, 0, first, count, &want));
            CHECK_OK(symm_tensor_equal(rows, want, &equal));
            CHECK_INT(equal, 1);
            symm_tensor_release(want);
            symm_tensor_release(rows);
        }
    }
    symm_tensor_release(t);
}

TEST(rows_that_are_not_there) {
    symm_tensor *t = NULL;
    CHECK_FAILS(symm_npy_load_rows(DATA "c_int8.npy", 2, 2, &t), SYMM_EINVALID,
                "has 3 rows; 2 from row 2");
    CHECK_FAILS(symm_npy_load_rows(DATA "c_int8.npy", 4, 0, &t), SYMM_EINVALID, "0 from row 4");
    CHECK_FAILS(symm_npy_load_rows(DATA "c_int8.npy", -1, 1, &t), SYMM_EINVALID, "from row -1");
    CHECK_FAILS(symm_npy_load_rows(DATA "c_int8.npy", 0, -1, &t), SYMM_EINVALID,
                "count is negative");
    CHECK_FAILS(symm_npy_load_rows(DATA "c_int8.npy", 1, INT64_MAX, &t), SYMM_EINVALID,
                "from row 1");
    CHECK_FAILS(symm_npy_load_rows(DATA "scalar.npy", 0, 1, &t), SYMM_EINVALID, "has no rows");
    CHECK_FAILS(symm_npy_load_as(DATA "c_int8.npy", INT64_MAX, SYMM_NPY_ALL, SYMM_DTYPE_COUNT, &t),
                SYMM_EINVALID, "3 rows");
    CHECK_OK(symm_npy_load_rows(DATA "c_int8.npy", 3, 0, &t));
    CHECK_INT(symm_tensor_numel(t), 0);
    symm_tensor_release(t);
}

/* ---- headers ---- */

static int parse(const char *text, struct symm_npy_info *out) {
    return symm__npy_parse("header", text, strlen(text), out);
}

TEST(headers_in_other_words) {
    struct symm_npy_info info;
    CHECK_OK(parse("{'shape': (2, 3), 'fortran_order': True, 'descr': '<f4'}", &info));
    CHECK_INT(info.ndim, 2);
    CHECK_INT(info.shape[1], 3);
    CHECK_INT(info.fortran_order, 1);
    CHECK_INT(info.dtype, SYMM_DTYPE_float32);
    CHECK_OK(parse(" {\"descr\":\"|i1\",\"fortran_order\":False,\"shape\":(7L,),}\n", &info));
    CHECK_INT(info.shape[0], 7);
    CHECK_OK(parse("{'descr': '<i1', 'fortran_order': False, 'shape': (3, 4,)}", &info));
    CHECK_INT(info.dtype, SYMM_DTYPE_int8);
    CHECK_OK(parse("{'descr': '=u8', 'fortran_order': False, 'shape': ()}", &info));
    CHECK_INT(info.dtype, SYMM_DTYPE_uint64);
    CHECK_OK(parse("{'descr': '<V2', 'fortran_order': False, 'shape': ()}", &info));
    CHECK_INT(info.dtype, SYMM_DTYPE_bfloat16);
}

TEST(headers_that_are_malformed) {
    const char *const wrong[][2] = {
        {"", "a dict"},
        {"[]", "a dict"},
        {"{", "a quoted text"},
        {"{}", "without descr"},
        {"{'descr': '<f4', 'fortran_order': False}", "without descr"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", "a comma or the end"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "the end"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1)}", "a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [1]}", "in parentheses"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "a size"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", "a comma"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "a size"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", "63 bits"},
        {"{'descr': '<f4\n', 'fortran_order': False, 'shape': (1,)}", "closing quote"},
        {"{'descr' '<f4', 'fortran_order': False, 'shape': (1,)}", "a colon"},
        {"{'descr': 4, 'fortran_order': False, 'shape': (1,)}", "a quoted text"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
         "descr, fortran_order or shape"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}", "a comma"},
    };
    struct symm_npy_info info = {.ndim = 77};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_FAILS(parse(wrong[i][0], &info), SYMM_EINVALID, wrong[i][1]);
    }
    CHECK_FAILS(parse("{'descr': '', 'fortran_order': False, 'shape': (1,)}", &info),
                SYMM_EUNSUPPORTED, "''");
    CHECK_FAILS(
        parse("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", &info),
        SYMM_EINVALID, "63 bits");
    CHECK_FAILS(
        parse("{'descr': '<f4444444444444444444', 'fortran_order': False, 'shape': (1,)}", &info),
        SYMM_EUNSUPPORTED, "not supported");
    CHECK_INT(info.ndim, 77);
}

/* Whatever bytes change, the parser says yes or no. */
TEST(headers_with_random_damage) {
    const char good[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }       \n";
    const char letters[] = "'\"(){}[],: 0123456789LTrueFalse<>|=fiub\\\n\t\xff";
    int accepted = 0;
    srand((unsigned)symm_now_ns());
    for (int i = 0; i < 20000; i++) {
        char *text = strdup(good); /* of its exact size, for the address sanitizer */
        size_t size = sizeof good - 1;
        for (int k = rand() % 4; k >= 0; k--) {
            text[(size_t)rand() % size] = letters[(size_t)rand() % (sizeof letters - 1)];
        }
        struct symm_npy_info info;
        char *exact = malloc(size);
        size = (size_t)rand() % (size + 1);
        memcpy(exact, text, size);
        accepted += symm__npy_parse("header", exact, size, &info) == SYMM_OK;
        free(exact);
        free(text);
    }
    CHECK(accepted < 20000);
}

/* ---- broken files ---- */

static char path[64];

static const char *fresh_path(void) {
    snprintf(path, sizeof path, "/tmp/symm_npy_test_%d.npy", (int)getpid());
    return path;
}

static const char *write_file(const void *bytes, size_t size, off_t length) {
    FILE *file = fopen(fresh_path(), "wb");
    CHECK_NOT_NULL(file);
    if (file) {
        CHECK_UINT(fwrite(bytes, 1, size, file), size);
        CHECK_INT(fflush(file), 0);
        if (length >= 0) CHECK_INT(ftruncate(fileno(file), length), 0);
        fclose(file);
    }
    return path;
}

TEST(files_that_are_none) {
    symm_tensor *t = NULL;
    CHECK_FAILS(symm_npy_load("/nowhere/at/all.npy", &t), SYMM_ENOT_FOUND,
                "there is no file /nowhere/at/all.npy");
    CHECK_FAILS(symm_npy_load("/tmp", &t), SYMM_EINVALID, "not an ordinary file");
    CHECK_FAILS(symm_npy_load("/dev/zero", &t), SYMM_EINVALID, "not an ordinary file");
    CHECK_FAILS(symm_npy_load(write_file("PK\3\4 this is a zip file", 22, -1), &t), SYMM_EINVALID,
                "is not a .npy file");
    CHECK_FAILS(symm_npy_load(write_file("\x93NUM", 4, -1), &t), SYMM_EINVALID,
                "truncated in its header");
    CHECK_FAILS(symm_npy_load(write_file("", 0, -1), &t), SYMM_EINVALID, "truncated in its header");
    CHECK_FAILS(symm_npy_load(write_file("\x93NUMPY\4\0vvvvvvvv", 16, -1), &t), SYMM_EUNSUPPORTED,
                "version 4.0");
    CHECK_FAILS(symm_npy_load(write_file("\x93NUMPY\1\1vvvvvvvv", 16, -1), &t), SYMM_EUNSUPPORTED,
                "version 1.1");
    CHECK_FAILS(symm_npy_load(write_file("\x93NUMPY\0\0vvvvvvvv", 16, -1), &t), SYMM_EUNSUPPORTED,
                "version 0.0");
    unlink(path);
    CHECK_NULL(t);
}

TEST(every_way_to_cut_a_file_off) {
    symm_tensor *t = NULL;
    unsigned char bytes[188];
    FILE *file = fopen(DATA "c_float32.npy", "rb");
    REQUIRE(file);
    REQUIRE(fread(bytes, 1, sizeof bytes, file) == sizeof bytes);
    fclose(file);
    for (size_t size = 0; size < sizeof bytes; size++) {
        CHECK_FAILS(symm_npy_load(write_file(bytes, size, -1), &t), SYMM_EINVALID, "truncated");
    }
    CHECK_OK(symm_npy_load(write_file(bytes, sizeof bytes, -1), &t));
    symm_tensor_release(t);
    CHECK_OK(symm_npy_load(write_file(bytes, sizeof bytes, 500), &t)); /* more follows: ignored */
    CHECK_DOUBLE(at(t, 2, 4), 11);
    symm_tensor_release(t);
    unlink(path);
}

/* The file claims a petabyte; only the header is there. */
TEST(a_shape_is_held_against_the_size_before_memory_is_taken) {
    struct symm_npy_info info = {
        .dtype = SYMM_DTYPE_float64, .ndim = 2, .shape = {1 << 23, 1 << 24}};
    char text[SYMM__NPY_WRITE_MAX];
    symm_tensor *t = NULL;
    size_t size = symm__npy_format(&info, text);
    CHECK_FAILS(symm_npy_load(write_file(text, size, -1), &t), SYMM_EINVALID,
                "truncated in its data");
    CHECK_FAILS(symm_npy_load_rows(path, 0, 1, &t), SYMM_EINVALID, "truncated in its data");
    unlink(path);
}

TEST(a_giant_header_is_not_read) {
    const unsigned char prefix[] = {0x93, 'N', 'U', 'M', 'P',  'Y',
                                    2,    0,   0,   0,   0x10, 0x40}; /* 1 GiB */
    symm_tensor *t = NULL;
    CHECK_FAILS(symm_npy_load(write_file(prefix, sizeof prefix, 100), &t), SYMM_EINVALID,
                "truncated in its header");
    CHECK_FAILS(symm_npy_load(write_file(prefix, sizeof prefix, (off_t)2 << 30), &t), SYMM_ELIMIT,
                "has a header of 1074790400 bytes");
    unlink(path);
}

/* A sparse file as large as it says: rows are read without the rest. */
TEST(rows_of_a_file_that_no_memory_would_hold) {
    struct symm_npy_info info = {.dtype = SYMM_DTYPE_uint8, .ndim = 2, .shape = {1 << 20, 1 << 20}};
    char text[SYMM__NPY_WRITE_MAX];
    symm_tensor *t = NULL;
    size_t size = symm__npy_format(&info, text);
    write_file(text, size, (off_t)size + ((off_t)1 << 40));
    if (CHECK_OK(symm_npy_load_rows(path, (1 << 20) - 2, 2, &t))) {
        CHECK_INT(symm_tensor_nbytes(t), 2 << 20);
        CHECK_DOUBLE(at(t, 1, 5), 0);
        symm_tensor_release(t);
    }
    unlink(path);
}

/* ---- writing ---- */

static symm_tensor *saved_and_loaded(symm_tensor *t) {
    symm_tensor *back = NULL;
    CHECK_OK(symm_npy_save(fresh_path(), t));
    CHECK_OK(symm_npy_load_as(path, 0, SYMM_NPY_ALL, symm_tensor_dtype(t), &back));
    unlink(path);
    return back;
}

TEST(what_is_saved_is_loaded_again) {
    for (int dtype = 0; dtype < SYMM_DTYPE_COUNT; dtype++) {
        symm_tensor *range = NULL, *t = NULL, *views[6] = {NULL};
        CHECK_OK(symm_tensor_arange(symm_scalar_int(0), symm_scalar_int(60), symm_scalar_int(1),
                                    SYMM_DTYPE_int64, NULL, &range));
        CHECK_OK(symm_tensor_to(range, (symm_dtype)dtype, &t));
        CHECK_OK(symm_tensor_view(t, (int64_t[]){3, 4, 5}, 3, &views[0]));
        CHECK_OK(symm_tensor_permute(views[0], (int[]){2, 1, 0}, 3, &views[1])); /* Fortran order */
        CHECK_OK(symm_tensor_permute(views[0], (int[]){1, 2, 0}, 3, &views[2])); /* neither */
        CHECK_OK(symm_tensor_slice(t, 0, 1, 60, 3, &views[3]));
        CHECK_OK(symm_tensor_select(t, 0, 5, &views[4]));
        CHECK_OK(symm_tensor_narrow(views[0], 1, 2, 0, &views[5]));
        for (int i = 0; i < 6; i++) {
            int equal = 0;
            symm_tensor *back = saved_and_loaded(views[i]);
            CHECK_OK(symm_tensor_equal(back, views[i], &equal));
            CHECK_INT(equal, 1);
            CHECK_INT(symm_tensor_is_contiguous(back), i != 1);
            symm_tensor_release(back);
            symm_tensor_release(views[i]);
        }
        symm_tensor_release(t);
        symm_tensor_release(range);
    }
}

static void expect_directory(const char *directory, int count) {
    char command[128], text[16] = "";
    snprintf(command, sizeof command, "ls -A %s | wc -l", directory);
    FILE *pipe = popen(command, "r");
    CHECK_NOT_NULL(pipe);
    if (pipe && fgets(text, sizeof text, pipe)) CHECK_INT(atoi(text), count);
    if (pipe) pclose(pipe);
}

TEST(a_file_is_replaced_whole_or_not_at_all) {
    char directory[] = "/tmp/symm_npy_XXXXXX", target[64];
    symm_tensor *small = NULL, *large = NULL, *back = NULL;
    const struct rlimit tight = {4096, 4096};
    REQUIRE(mkdtemp(directory));
    snprintf(target, sizeof target, "%s/t.npy", directory);
    CHECK_OK(
        symm_tensor_full((int64_t[]){2}, 1, symm_scalar_int(1), SYMM_DTYPE_int8, NULL, &small));
    CHECK_OK(symm_tensor_full((int64_t[]){100000}, 1, symm_scalar_int(2), SYMM_DTYPE_int8, NULL,
                              &large));
    CHECK_OK(symm_npy_save(target, large));
    CHECK_OK(symm_npy_save(target, small));
    expect_directory(directory, 1);
    struct stat status;
    CHECK_INT(stat(target, &status), 0);
    CHECK_INT(status.st_size, 128 + 2);
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &tight),
              0); /* the large one does not fit the disk any more */
    CHECK_FAILS(symm_npy_save(target, large), SYMM_EIO, "writing");
    expect_directory(directory, 1);
    CHECK_OK(symm_npy_load(target, &back)); /* still the small one */
    CHECK_INT(symm_tensor_numel(back), 2);
    symm_tensor_release(back);
    unlink(target);
    CHECK_INT(rmdir(directory), 0);
    CHECK_FAILS(symm_npy_save(target, small), SYMM_EIO, "No such file or directory");
    CHECK_FAILS(symm_npy_save("/proc/none.npy", small), SYMM_EIO, "creating");
    symm_tensor_release(large);
    symm_tensor_release(small);
}

TEST(a_file_in_this_directory_needs_no_slash) {
    char directory[] = "/tmp/symm_npy_XXXXXX";
    symm_tensor *t = NULL, *back = NULL;
    REQUIRE(mkdtemp(directory));
    REQUIRE(chdir(directory) == 0);
    CHECK_OK(symm_tensor_full((int64_t[]){2}, 1, symm_scalar_int(1), SYMM_DTYPE_int8, NULL, &t));
    CHECK_OK(symm_npy_save("t.npy", t));
    CHECK_OK(symm_npy_load("t.npy", &back));
    expect_directory(".", 1);
    unlink("t.npy");
    CHECK_INT(rmdir(directory), 0);
    symm_tensor_release(back);
    symm_tensor_release(t);
}

/* ---- interruption ---- */

static int interrupt(void *context) {
    ++*(int *)context;
    return SYMM_EINTERRUPTED;
}

TEST(a_long_read_and_a_long_write_can_be_interrupted) {
    int calls = 0;
    symm_tensor *t = NULL, *back = NULL;
    CHECK_OK(
        symm_tensor_full((int64_t[]){40 << 20}, 1, symm_scalar_int(0), SYMM_DTYPE_int8, NULL, &t));
    CHECK_OK(symm_npy_save(fresh_path(), t));
    symm_set_wait_hook(interrupt, &calls, NULL, NULL);
    CHECK_FAILS(symm_npy_load(path, &back), SYMM_EINTERRUPTED, "interrupted");
    CHECK_INT(calls, 1);
    CHECK_FAILS(symm_npy_save("/tmp/symm_npy_never.npy", t), SYMM_EINTERRUPTED, "interrupted");
    CHECK_INT(access("/tmp/symm_npy_never.npy", F_OK), -1);
    symm_set_wait_hook(NULL, NULL, NULL, NULL);
    CHECK_NULL(back);
    symm_tensor_release(t);
    unlink(path);
}
