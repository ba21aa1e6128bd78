/* SPDX-License-Identifier: MIT
 *
 * Random numbers: Philox's published answers, the documented numbering, and what comes of it.
 */
#include "tensor/random.h"

#include <math.h>
#include <symm/error.h>
#include <symm/tensor.h>
#include <symm/wait.h>

#include "tests/support/check.h"

/* From the known answers that come with Random123. */
TEST(philox_gives_the_published_answers) {
    const struct {
        uint32_t counter[4], key[2], want[4];
    } known[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                 {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                  {0xffffffff, 0xffffffff},
                  {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                 {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                  {0xa4093822, 0x299f31d0},
                  {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    for (int i = 0; i < 3; i++) {
        uint32_t words[4];
        symm__philox(known[i].counter, known[i].key, words);
        for (int k = 0; k < 4; k++) CHECK_UINT(words[k], known[i].want[k]);
    }
}

static symm_tensor *make(symm_dtype dtype, int64_t count, uint64_t seed, int is_normal) {
    symm_generator generator = {.seed = seed, .block = 0};
    symm_tensor *t = NULL;
    CHECK_OK(symm_tensor_empty(&count, 1, dtype, NULL, &t));
    CHECK_OK(is_normal ? symm_tensor_randn(t, &generator) : symm_tensor_rand(t, &generator));
    CHECK_UINT(generator.block, (uint64_t)(count + 1) / 2);
    return t;
}

static double at(const symm_tensor *t, int64_t i) {
    symm_scalar value = symm_scalar_float(-77);
    CHECK_OK(symm_tensor_get(t, &i, 1, &value));
    return value.value.f;
}

static uint64_t drawn(uint64_t seed, uint64_t i) {
    const uint32_t counter[] = {(uint32_t)(i / 2), (uint32_t)(i / 2 >> 32), 0, 0};
    const uint32_t key[] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t words[4];
    symm__philox(counter, key, words);
    return words[i % 2 * 2] | (uint64_t)words[i % 2 * 2 + 1] << 32;
}

TEST(uniform_numbers_are_the_upper_bits) {
    const uint64_t seed = 0x123456789abcdef0;
    const struct {
        symm_dtype dtype;
        int bits;
    } kinds[] = {{SYMM_DTYPE_float64, 53},
                 {SYMM_DTYPE_float32, 24},
                 {SYMM_DTYPE_float16, 11},
                 {SYMM_DTYPE_bfloat16, 8}};
    for (int k = 0; k < 4; k++) {
        symm_tensor *t = make(kinds[k].dtype, 101, seed, 0);
        int wrong = 0;
        for (int64_t i = 0; i < 101; i++) {
            wrong += at(t, i) != ldexp((double)(drawn(seed, (uint64_t)i) >> (64 - kinds[k].bits)),
                                       -kinds[k].bits);
        }
        CHECK_INT(wrong, 0);
        symm_tensor_release(t);
    }
}

/* Written down once: the same bits on every machine, whatever its mathematical library. */
TEST(a_seed_gives_these_numbers_everywhere) {
    symm_tensor *uniform = make(SYMM_DTYPE_float64, 4, 42, 0),
                *normal = make(SYMM_DTYPE_float64, 4, 42, 1);
    const double want_uniform[] = {0x1.dfd524ee73abcp-2, 0x1.5d0acf5c4afd4p-2, 0x1.4ee9b3f7f36c8p-2,
                                   0x1.d1381bee0e3d6p-2};
    const double want_normal[] = {-0x1.54ac03c1a032ap-1, 0x1.0938db380d761p+0,
                                  -0x1.6f135c80fefcap+0, 0x1.b16fd5e6389c6p-2};
    for (int i = 0; i < 4; i++) {
        CHECK_DOUBLE(at(uniform, i), want_uniform[i]);
        CHECK_DOUBLE(at(normal, i), want_normal[i]);
    }
    symm_tensor_release(normal);
    symm_tensor_release(uniform);
}

TEST(normal_numbers_follow_box_and_muller) {
    uint64_t seed = (uint64_t)symm_now_ns();
    symm_tensor *t = make(SYMM_DTYPE_float64, 20000, seed, 1);
    int wrong = 0;
    for (int64_t i = 0; i < 20000; i += 2) {
        double radius = sqrt(-2 * log(((double)(drawn(seed, (uint64_t)i) >> 11) + 1) * 0x1p-53));
        double angle = 2 * acos(-1) * (double)(drawn(seed, (uint64_t)i + 1) >> 11) * 0x1p-53;
        wrong += fabs(at(t, i) - radius * cos(angle)) > 1e-13 * (1 + radius);
        wrong += fabs(at(t, i + 1) - radius * sin(angle)) > 1e-13 * (1 + radius);
    }
    CHECK_INT(wrong, 0);
    symm_tensor_release(t);
}

TEST(moments_of_a_fixed_seed) {
    symm_tensor *uniform = make(SYMM_DTYPE_float32, 100000, 7, 0),
                *normal = make(SYMM_DTYPE_float32, 100000, 7, 1);
    double low = 1, high = 0, sum = 0, sum_normal = 0, squares = 0;
    for (int64_t i = 0; i < 100000; i++) {
        double u = at(uniform, i), n = at(normal, i);
        low = u < low ? u : low;
        high = u > high ? u : high;
        sum += u;
        sum_normal += n;
        squares += n * n;
    }
    CHECK(low >= 0 && low < 0.001);
    CHECK(high < 1 && high > 0.999);
    CHECK(fabs(sum / 100000 - 0.5) < 0.005);
    CHECK(fabs(sum_normal / 100000) < 0.02);
    CHECK(fabs(squares / 100000 - 1) < 0.02);
    symm_tensor_release(normal);
    symm_tensor_release(uniform);
}

TEST(a_generator_goes_on_where_it_was) {
    symm_generator generator = {.seed = 3, .block = 0};
    symm_tensor *all = make(SYMM_DTYPE_float32, 10, 3, 0), *part = NULL;
    CHECK_OK(symm_tensor_empty((int64_t[]){4}, 1, SYMM_DTYPE_float32, NULL, &part));
    CHECK_OK(symm_tensor_rand(part, &generator));
    CHECK_OK(symm_tensor_rand(part, &generator));
    for (int i = 0; i < 4; i++) CHECK_DOUBLE(at(part, i), at(all, 4 + i));
    symm_tensor_release(part);
    symm_tensor_release(all);
}

TEST(strided_tensors_are_filled_in_row_major_order) {
    symm_generator generator = {.seed = 3, .block = 0};
    symm_tensor *all = make(SYMM_DTYPE_float32, 6, 3, 1), *t = NULL, *turned = NULL, *wide = NULL;
    symm_scalar value;
    CHECK_OK(symm_tensor_empty((int64_t[]){2, 3}, 2, SYMM_DTYPE_float32, NULL, &t));
    CHECK_OK(symm_tensor_transpose(t, 0, 1, &turned));
    CHECK_OK(symm_tensor_randn(turned, &generator));
    for (int64_t i = 0; i < 6; i++) {
        CHECK_OK(symm_tensor_get(turned, (int64_t[]){i / 2, i % 2}, 2, &value));
        CHECK_DOUBLE(value.value.f, at(all, i));
    }
    CHECK_OK(symm_tensor_expand(t, (int64_t[]){2, 2, 3}, 3, &wide));
    CHECK_FAILS(symm_tensor_rand(wide, &generator), SYMM_EINVALID, "share memory");
    symm_tensor *both[] = {wide, turned, t, all};
    for (int i = 0; i < 4; i++) symm_tensor_release(both[i]);
}

TEST(only_floats_are_random) {
    symm_generator generator = {.seed = 3, .block = 0};
    symm_tensor *t = NULL;
    CHECK_OK(symm_tensor_empty((int64_t[]){2}, 1, SYMM_DTYPE_int32, NULL, &t));
    CHECK_FAILS(symm_tensor_rand(t, &generator), SYMM_EUNSUPPORTED, "rand makes floats, not int32");
    CHECK_UINT(generator.block, 0);
    symm_tensor_release(t);
}
