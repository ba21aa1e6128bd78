/* SPDX-License-Identifier: MIT
 *
 * Making tensors, holding them against bounds, and their lifetime.
 */
#include <pthread.h>
#include <string.h>
#include <symm/error.h>
#include <symm/tensor.h>

#include "device/device.h"
#include "tensor/kernels.h"
#include "tests/support/check.h"

static symm_tensor *empty(int64_t a, int64_t b, symm_dtype dtype) {
    const int64_t shape[] = {a, b};
    symm_tensor *t = NULL;
    CHECK_OK(symm_tensor_empty(shape, 2, dtype, NULL, &t));
    return t;
}

TEST(dtypes_by_name) {
    symm_dtype dtype = SYMM_DTYPE_COUNT;
    CHECK_INT(SYMM_DTYPE_COUNT, 12);
    for (int i = 0; i < SYMM_DTYPE_COUNT; i++) {
        CHECK_OK(symm_dtype_parse(symm_dtype_name((symm_dtype)i), &dtype));
        CHECK_INT(dtype, i);
    }
    CHECK_INT(symm_dtype_size(SYMM_DTYPE_bfloat16), 2);
    CHECK_INT(symm_dtype_kind_of(SYMM_DTYPE_bool), SYMM_KIND_BOOL);
    CHECK_STR(symm_dtype_name(SYMM_DTYPE_uint64), "uint64");
}

TEST(dtypes_that_are_none) {
    symm_dtype dtype = SYMM_DTYPE_int8;
    CHECK_NULL(symm_dtype_name(SYMM_DTYPE_COUNT));
    CHECK_NULL(symm_dtype_name((symm_dtype)-1));
    CHECK_INT(symm_dtype_size(SYMM_DTYPE_COUNT), 0);
    CHECK_FAILS(symm_dtype_parse("float", &dtype), SYMM_EINVALID, "known: float64, float32");
    CHECK_FAILS(symm_dtype_parse("", &dtype), SYMM_EINVALID, "no dtype named ''");
    CHECK_FAILS(symm_dtype_parse(NULL, &dtype), SYMM_EINVALID, "no dtype");
    CHECK_INT(dtype, SYMM_DTYPE_int8); /* outputs are set only on success */
}

TEST(a_fresh_tensor_is_contiguous) {
    symm_tensor *t = empty(3, 4, SYMM_DTYPE_int16);
    CHECK_INT(symm_tensor_ndim(t), 2);
    CHECK_INT(symm_tensor_shape(t)[0], 3);
    CHECK_INT(symm_tensor_stride(t)[0], 4);
    CHECK_INT(symm_tensor_stride(t)[1], 1);
    CHECK_INT(symm_tensor_numel(t), 12);
    CHECK_INT(symm_tensor_nbytes(t), 24);
    CHECK_INT(symm_tensor_storage_offset(t), 0);
    CHECK_INT(symm_tensor_is_contiguous(t), 1);
    CHECK_STR(symm_tensor_device(t), "cpu");
    CHECK_INT(symm_tensor_dtype(t), SYMM_DTYPE_int16);
    CHECK_INT((uintptr_t)symm_tensor_data(t) % 64, 0);
    symm_tensor_release(t);
}

TEST(tensors_without_dimensions_and_without_elements) {
    symm_tensor *t = NULL;
    const int64_t shape[] = {2, 0, 3};
    CHECK_OK(symm_tensor_empty(NULL, 0, SYMM_DTYPE_float64, "cpu", &t));
    CHECK_INT(symm_tensor_numel(t), 1);
    CHECK_INT(symm_tensor_nbytes(t), 8);
    symm_tensor_release(t);
    CHECK_OK(symm_tensor_empty(shape, 3, SYMM_DTYPE_float64, "cpu", &t));
    CHECK_INT(symm_tensor_numel(t), 0);
    CHECK_INT(symm_tensor_stride(t)[0], 3);
    CHECK_INT(symm_tensor_is_contiguous(t), 1);
    CHECK_NOT_NULL(symm_tensor_data(t));
    symm_tensor_release(t);
}

TEST(shapes_that_cannot_be) {
    const int64_t many[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, negative[] = {2, -1};
    const int64_t eighths[] = {INT64_MAX / 8}, one_more[] = {INT64_MAX / 8 + 1};
    const int64_t product[] = {INT64_C(1) << 31, INT64_C(1) << 31, 2};
    const int64_t hidden[] = {0, INT64_C(1) << 32, INT64_C(1) << 32};
    symm_tensor *t = NULL;
    int64_t numel = 0;
    CHECK_FAILS(symm_tensor_empty(many, 9, SYMM_DTYPE_bool, NULL, &t), SYMM_EINVALID,
                "9 dimensions");
    CHECK_FAILS(symm_tensor_empty(many, -1, SYMM_DTYPE_bool, NULL, &t), SYMM_EINVALID,
                "-1 dimensions");
    CHECK_FAILS(symm_tensor_empty(NULL, 1, SYMM_DTYPE_bool, NULL, &t), SYMM_EINVALID, "no shape");
    CHECK_FAILS(symm_tensor_empty(negative, 2, SYMM_DTYPE_bool, NULL, &t), SYMM_EINVALID,
                "dimension 1 has the negative size -1");
    CHECK_OK(symm__shape_check("test", eighths, 1, SYMM_DTYPE_float64, &numel));
    CHECK_FAILS(symm__shape_check("test", one_more, 1, SYMM_DTYPE_float64, &numel), SYMM_EINVALID,
                "63 bits");
    CHECK_FAILS(symm_tensor_empty(product, 3, SYMM_DTYPE_int8, NULL, &t), SYMM_EINVALID, "63 bits");
    CHECK_FAILS(symm_tensor_empty(hidden, 3, SYMM_DTYPE_int8, NULL, &t), SYMM_EINVALID, "63 bits");
    CHECK_FAILS(symm_tensor_empty(many, 1, SYMM_DTYPE_COUNT, NULL, &t), SYMM_EINVALID, "dtype");
    CHECK_OK(symm_tensor_empty(many, 8, SYMM_DTYPE_bool, NULL, &t));
    symm_tensor_release(t);
}

/* The sanitizer's own allocator would end the process where malloc gives NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

TEST(memory_that_is_not_there) {
    const int64_t shape[] = {INT64_C(1) << 58};
    symm_tensor *t = NULL;
    CHECK_FAILS(symm_tensor_empty(shape, 1, SYMM_DTYPE_float64, NULL, &t), SYMM_EOOM,
                "out of memory");
    CHECK_NULL(t);
}

TEST(devices_that_are_not_there) {
    const int64_t shape[] = {1};
    symm_tensor *t = NULL;
    CHECK_FAILS(symm_tensor_empty(shape, 1, SYMM_DTYPE_bool, "toaster", &t), SYMM_EINVALID,
                "no device named 'toaster' (known: cpu");
}

TEST(strides_say_how_large_the_storage_is) {
    const int64_t shape[] = {2, 3}, stride[] = {10, 2}, negative[] = {-1, 1};
    const int64_t huge[] = {INT64_MAX, 1}, zero[] = {0, 0};
    symm_tensor *t = NULL;
    CHECK_OK(symm_tensor_empty_strided(shape, stride, 2, SYMM_DTYPE_int32, NULL, &t));
    CHECK_INT(t->storage->nbytes, (10 + 2 * 2 + 1) * 4);
    CHECK_INT(symm_tensor_is_contiguous(t), 0);
    symm_tensor_release(t);
    CHECK_OK(symm_tensor_empty_strided(shape, zero, 2, SYMM_DTYPE_int32, NULL, &t));
    CHECK_INT(t->storage->nbytes, 4);
    symm_tensor_release(t);
    CHECK_FAILS(symm_tensor_empty_strided(shape, negative, 2, SYMM_DTYPE_int8, NULL, &t),
                SYMM_EINVALID, "dimension 0 has the negative stride -1");
    CHECK_FAILS(symm_tensor_empty_strided(shape, huge, 2, SYMM_DTYPE_int8, NULL, &t), SYMM_EINVALID,
                "63 bits");
    CHECK_FAILS(symm_tensor_empty_strided(shape, NULL, 2, SYMM_DTYPE_int8, NULL, &t), SYMM_EINVALID,
                "no strides");
}

TEST(a_stride_of_a_dimension_of_size_one_is_never_used) {
    const int64_t shape[] = {1, 3, 0}, one[] = {1, 3}, stride[] = {INT64_MAX, 1, INT64_MAX};
    symm_tensor *t = NULL;
    CHECK_OK(symm_tensor_empty_strided(one, stride, 2, SYMM_DTYPE_float64, NULL, &t));
    CHECK_INT(t->storage->nbytes, 24);
    CHECK_INT(symm_tensor_is_contiguous(t), 1);
    CHECK_OK(symm_tensor_fill(t, symm_scalar_int(1)));
    symm_tensor_release(t);
    CHECK_OK(symm_tensor_empty_strided(shape, stride, 3, SYMM_DTYPE_float64, NULL, &t));
    CHECK_OK(symm_tensor_fill(t, symm_scalar_int(1)));
    symm_tensor_release(t);
}

/* ---- over a storage ---- */

TEST(a_tensor_stays_within_its_storage) {
    const int64_t shape[] = {4}, stride[] = {2}, none[] = {0};
    struct symm__storage *storage = NULL;
    symm_tensor *t = NULL;
    REQUIRE_OK(symm__storage_new(32, "cpu", &storage));
    CHECK_OK(symm__tensor_over(storage, shape, NULL, 1, SYMM_DTYPE_float32, 4, &t));
    CHECK(symm_tensor_data(t) == (char *)storage->data + 16);
    symm_tensor_release(t);
    CHECK_FAILS(symm__tensor_over(storage, shape, NULL, 1, SYMM_DTYPE_float32, 5, &t),
                SYMM_EINVALID, "end beyond the 32 bytes");
    CHECK_OK(symm__tensor_over(storage, shape, stride, 1, SYMM_DTYPE_float32, 1, &t));
    symm_tensor_release(t);
    CHECK_FAILS(symm__tensor_over(storage, shape, stride, 1, SYMM_DTYPE_float32, 2, &t),
                SYMM_EINVALID, "end beyond");
    CHECK_FAILS(symm__tensor_over(storage, shape, NULL, 1, SYMM_DTYPE_float32, -1, &t),
                SYMM_EINVALID, "storage_offset is negative");
    CHECK_FAILS(symm__tensor_over(storage, shape, NULL, 1, SYMM_DTYPE_float32, INT64_MAX, &t),
                SYMM_EINVALID, "end beyond");
    CHECK_OK(symm__tensor_over(storage, none, NULL, 1, SYMM_DTYPE_float32, 8, &t));
    symm_tensor_release(t);
    CHECK_FAILS(symm__tensor_over(storage, none, NULL, 1, SYMM_DTYPE_float32, 9, &t), SYMM_EINVALID,
                "end beyond");
    CHECK_INT(storage->references, 1);
    symm__storage_release(storage);
}

/* ---- memory of the caller ---- */

static void count(void *context) { ++*(int *)context; }

TEST(foreign_memory_is_released_once_with_its_last_view) {
    float data[6] = {0, 1, 2, 3, 4, 5};
    const int64_t shape[] = {2, 3};
    int released = 0;
    symm_tensor *t = NULL, *row = NULL, *element = NULL;
    REQUIRE_OK(symm_tensor_from_memory(data, shape, NULL, 2, SYMM_DTYPE_float32, "cpu", count,
                                       &released, &t));
    CHECK(symm_tensor_data(t) == data);
    CHECK_OK(symm_tensor_select(t, 0, 1, &row));
    CHECK(symm_tensor_retain(t) == t);
    symm_tensor_release(t);
    symm_tensor_release(t);
    CHECK_INT(released, 0);
    CHECK_OK(symm_tensor_select(row, 0, 2, &element));
    symm_tensor_release(row);
    CHECK_INT(released, 0);
    CHECK_DOUBLE((double)*(float *)symm_tensor_data(element), 5);
    symm_tensor_release(element);
    CHECK_INT(released, 1);
    symm_tensor_release(NULL);
}

TEST(foreign_memory_is_not_released_if_nothing_came_of_it) {
    _Alignas(8) char data[16] = {0};
    const int64_t shape[] = {2}, stride[] = {-1};
    int released = 0;
    symm_tensor *t = NULL;
    CHECK_FAILS(symm_tensor_from_memory(data + 1, shape, NULL, 1, SYMM_DTYPE_int16, NULL, count,
                                        &released, &t),
                SYMM_EINVALID, "not aligned to the 2 bytes of int16");
    CHECK_FAILS(symm_tensor_from_memory(data, shape, stride, 1, SYMM_DTYPE_int16, NULL, count,
                                        &released, &t),
                SYMM_EINVALID, "negative stride");
    CHECK_FAILS(
        symm_tensor_from_memory(NULL, shape, NULL, 1, SYMM_DTYPE_int16, NULL, count, &released, &t),
        SYMM_EINVALID, "data is NULL");
    CHECK_FAILS(symm_tensor_from_memory(data, shape, NULL, 1, SYMM_DTYPE_int16, "toaster", count,
                                        &released, &t),
                SYMM_EINVALID, "toaster");
    CHECK_INT(released, 0);
}

TEST(foreign_memory_may_be_nothing) {
    const int64_t shape[] = {0};
    symm_tensor *t = NULL;
    REQUIRE_OK(
        symm_tensor_from_memory(NULL, shape, NULL, 1, SYMM_DTYPE_int16, NULL, NULL, NULL, &t));
    CHECK_NULL(symm_tensor_data(t));
    CHECK_OK(symm_tensor_fill(t, symm_scalar_int(1)));
    symm_tensor_release(t);
}

static void *take_and_drop(void *tensor) {
    for (int i = 0; i < 10000; i++) {
        symm_tensor *view = NULL;
        if (symm_tensor_view(tensor, (const int64_t[]){6}, 1, &view) < 0) return tensor;
        symm_tensor_release(symm_tensor_retain(view));
        symm_tensor_release(view);
    }
    return NULL;
}

TEST(views_come_and_go_on_several_threads) {
    symm_tensor *t = empty(2, 3, SYMM_DTYPE_float32);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        CHECK_INT(pthread_create(&threads[i], NULL, take_and_drop, t), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        CHECK_NULL(failed);
    }
    CHECK_INT(t->storage->references, 1);
    CHECK_INT(t->references, 1);
    symm_tensor_release(t);
}

/* ---- another device ---- */

static int on_loan; /* allocations of the device below */

static int borrow(int64_t nbytes, void **data_out) {
    on_loan++;
    return symm__device_cpu.allocate(nbytes, data_out);
}

static void give_back(void *data, int64_t nbytes) {
    on_loan--;
    symm__device_cpu.deallocate(data, nbytes);
}

static int copy_bytes(void *to, const void *from, int64_t nbytes) {
    memcpy(to, from, (size_t)nbytes);
    return SYMM_OK;
}

static const struct symm__device attic = {sizeof attic, "attic", borrow, give_back, copy_bytes};

static int fills; /* calls of the kernel below */

static int fill_attic(const struct symm__loop *loop, symm_dtype dtype, const void *element) {
    fills++;
    return symm__kernels_cpu.fill(loop, dtype, element);
}

TEST(another_device_brings_memory_and_kernels) {
    const int64_t shape[] = {4};
    static struct symm__kernels kernels;
    symm_tensor *t = NULL, *on_cpu = NULL, *sum = NULL;
    symm_scalar value;
    CHECK_OK(symm__device_register(&attic));
    CHECK_FAILS(symm__device_register(&attic), SYMM_EEXISTS, "attic");
    CHECK_FAILS(symm__device_register(&symm__device_cpu), SYMM_EEXISTS, "cpu");
    REQUIRE_OK(symm_tensor_empty(shape, 1, SYMM_DTYPE_int32, "attic", &t));
    CHECK_INT(on_loan, 1);
    CHECK_STR(symm_tensor_device(t), "attic");
    CHECK_FAILS(symm_tensor_fill(t, symm_scalar_int(3)), SYMM_EUNSUPPORTED, "attic");
    kernels = symm__kernels_cpu;
    kernels.fill = fill_attic;
    CHECK_OK(symm__kernels_register("attic", &kernels));
    CHECK_FAILS(symm__kernels_register("cpu", &kernels), SYMM_EEXISTS, "cpu");
    CHECK_OK(symm_tensor_fill(t, symm_scalar_int(3)));
    CHECK_INT(fills, 1);
    CHECK_INT(*(int32_t *)symm_tensor_data(t), 3);
    CHECK_FAILS(symm_tensor_item(t, &value), SYMM_EINVALID, "4 elements");
    CHECK_FAILS(symm_tensor_get(t, shape, 1, &value), SYMM_EUNSUPPORTED,
                "must be on cpu, not on attic");
    REQUIRE_OK(symm_tensor_empty(shape, 1, SYMM_DTYPE_int32, "cpu", &on_cpu));
    CHECK_FAILS(symm_tensor_copy(t, on_cpu), SYMM_EINVALID,
                "one tensor is on attic, the other on cpu");
    CHECK_FAILS(symm_tensor_binary(SYMM_BINARY_add, t, on_cpu, &sum), SYMM_EINVALID, "on attic");
    symm_tensor_release(on_cpu);
    symm_tensor_release(t);
    CHECK_INT(on_loan, 0);
}
