/* SPDX-License-Identifier: MIT
 *
 * DLPack in and out: the same memory, lifetimes both ways, and what is refused.
 */
#include <symm/dlpack.h>

#include <dlpack/dlpack.h>
#include <string.h>
#include <symm/error.h>

#include "device/device.h"
#include "tensor/tensor.h"
#include "tests/support/check.h"

TEST(a_tensor_goes_out_and_comes_back) {
    symm_tensor *t = NULL, *view = NULL, *back = NULL;
    DLManagedTensor *managed = NULL;
    for (int dtype = 0; dtype < SYMM_DTYPE_COUNT; dtype++) {
        CHECK_OK(symm_tensor_full((int64_t[]){4, 6}, 2, symm_scalar_int(1), (symm_dtype)dtype, NULL,
                                  &t));
        CHECK_OK(symm_tensor_slice(t, 1, 1, 6, 2, &view));
        REQUIRE_OK(symm_tensor_to_dlpack(view, &managed));
        CHECK(managed->dl_tensor.data == symm_tensor_data(view));
        CHECK_INT(managed->dl_tensor.ndim, 2);
        CHECK_INT(managed->dl_tensor.shape[1], 3);
        CHECK_INT(managed->dl_tensor.strides[0], 6);
        CHECK_INT(managed->dl_tensor.strides[1], 2);
        CHECK_INT(managed->dl_tensor.byte_offset, 0);
        CHECK_INT(managed->dl_tensor.device.device_type, kDLCPU);
        CHECK_INT(managed->dl_tensor.dtype.lanes, 1);
        symm_tensor_release(view);
        REQUIRE_OK(symm_tensor_from_dlpack(managed, &back));
        CHECK_INT(symm_tensor_dtype(back), dtype);
        CHECK(symm_tensor_data(back) ==
              (char *)symm_tensor_data(t) + symm_dtype_size((symm_dtype)dtype));
        CHECK_INT(t->storage->references, 2);
        symm_tensor_release(back);
        CHECK_INT(t->storage->references, 1);
        symm_tensor_release(t);
    }
}

TEST(types_as_dlpack_numbers_them) {
    const struct {
        symm_dtype dtype;
        int code, bits;
    } types[] = {{SYMM_DTYPE_float64, kDLFloat, 64},   {SYMM_DTYPE_float16, kDLFloat, 16},
                 {SYMM_DTYPE_bfloat16, kDLBfloat, 16}, {SYMM_DTYPE_int8, kDLInt, 8},
                 {SYMM_DTYPE_uint64, kDLUInt, 64},     {SYMM_DTYPE_bool, 6, 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        symm_tensor *t = NULL;
        DLManagedTensor *managed = NULL;
        CHECK_OK(symm_tensor_empty(NULL, 0, types[i].dtype, NULL, &t));
        REQUIRE_OK(symm_tensor_to_dlpack(t, &managed));
        CHECK_INT(managed->dl_tensor.dtype.code, types[i].code);
        CHECK_INT(managed->dl_tensor.dtype.bits, types[i].bits);
        symm_tensor_release(t);
        managed->deleter(managed); /* the memory lived until here */
    }
}

/* ---- tensors of another library ---- */

static int deleted;
static void count_deletion(DLManagedTensor *managed) {
    (void)managed;
    deleted++;
}

static _Alignas(64) float numbers[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static int64_t shape[2] = {2, 3}, strides[2] = {1, 2};

static DLManagedTensor foreign(void) {
    deleted = 0;
    shape[0] = 2;
    strides[0] = 1;
    return (DLManagedTensor){.dl_tensor = {.data = numbers,
                                           .device = {kDLCPU, 0},
                                           .ndim = 2,
                                           .dtype = {kDLFloat, 32, 1},
                                           .shape = shape},
                             .deleter = count_deletion};
}

static double at(const symm_tensor *t, int64_t i, int64_t j) {
    symm_scalar value = symm_scalar_float(-77);
    CHECK_OK(symm_tensor_get(t, (int64_t[]){i, j}, 2, &value));
    return value.value.f;
}

TEST(foreign_tensors_are_shared_and_given_back_once) {
    DLManagedTensor managed = foreign();
    symm_tensor *t = NULL, *row = NULL;
    REQUIRE_OK(symm_tensor_from_dlpack(&managed, &t));
    CHECK_DOUBLE(at(t, 1, 2), 5); /* no strides: contiguous */
    CHECK_OK(symm_tensor_select(t, 0, 1, &row));
    symm_tensor_release(t);
    CHECK_INT(deleted, 0);
    CHECK_OK(symm_tensor_fill(row, symm_scalar_int(5)));
    CHECK_DOUBLE((double)numbers[4], 5);
    symm_tensor_release(row);
    CHECK_INT(deleted, 1);
}

TEST(strides_and_byte_offsets) {
    DLManagedTensor managed = foreign();
    symm_tensor *t = NULL;
    managed.dl_tensor.strides = strides;
    managed.dl_tensor.byte_offset = 8;
    REQUIRE_OK(symm_tensor_from_dlpack(&managed, &t));
    CHECK_DOUBLE(at(t, 1, 2), 2 + 1 + 4);
    shape[0] = strides[0] = 0; /* theirs to change: we have our own */
    CHECK_INT(symm_tensor_shape(t)[0], 2);
    symm_tensor_release(t);
    CHECK_INT(deleted, 1);
    managed = foreign();
    managed.dl_tensor.strides = strides;
    shape[0] = 1;
    strides[0] = -5; /* never used */
    CHECK_OK(symm_tensor_from_dlpack(&managed, &t));
    symm_tensor_release(t);
}

TEST(a_foreign_tensor_may_have_no_elements_and_no_deleter) {
    DLManagedTensor managed = foreign();
    symm_tensor *t = NULL;
    managed.dl_tensor.data = NULL;
    managed.deleter = NULL;
    shape[0] = 0;
    REQUIRE_OK(symm_tensor_from_dlpack(&managed, &t));
    CHECK_INT(symm_tensor_numel(t), 0);
    symm_tensor_release(t);
}

TEST(what_is_not_supported_stays_with_its_owner) {
    symm_tensor *t = NULL;
    DLManagedTensor managed = foreign();
    managed.dl_tensor.device.device_type = kDLCUDA;
    CHECK_FAILS(symm_tensor_from_dlpack(&managed, &t), SYMM_EUNSUPPORTED, "device type 2");
    managed = foreign();
    managed.dl_tensor.dtype.lanes = 4;
    CHECK_FAILS(symm_tensor_from_dlpack(&managed, &t), SYMM_EUNSUPPORTED, "32 bits and 4 lanes");
    managed = foreign();
    managed.dl_tensor.dtype.bits = 8;
    CHECK_FAILS(symm_tensor_from_dlpack(&managed, &t), SYMM_EUNSUPPORTED, "code 2 with 8 bits");
    managed = foreign();
    managed.dl_tensor.ndim = 9;
    CHECK_FAILS(symm_tensor_from_dlpack(&managed, &t), SYMM_EUNSUPPORTED, "9 dimensions");
    managed = foreign();
    managed.dl_tensor.strides = strides;
    strides[0] = -1;
    CHECK_FAILS(symm_tensor_from_dlpack(&managed, &t), SYMM_EINVALID, "negative stride");
    managed = foreign();
    managed.dl_tensor.byte_offset = 2;
    CHECK_FAILS(symm_tensor_from_dlpack(&managed, &t), SYMM_EINVALID, "not aligned");
    managed = foreign();
    shape[0] = -2;
    CHECK_FAILS(symm_tensor_from_dlpack(&managed, &t), SYMM_EINVALID, "negative size");
    managed = foreign();
    managed.dl_tensor.data = NULL;
    CHECK_FAILS(symm_tensor_from_dlpack(&managed, &t), SYMM_EINVALID, "NULL");
    CHECK_INT(deleted, 0);
    CHECK_NULL(t);
}

static int no_copy(void *to, const void *from, int64_t nbytes) {
    memcpy(to, from, (size_t)nbytes);
    return SYMM_OK;
}

TEST(tensors_of_other_devices_do_not_go_out) {
    static struct symm__device attic;
    symm_tensor *t = NULL;
    DLManagedTensor *managed = NULL;
    attic = symm__device_cpu;
    attic.name = "attic";
    attic.copy = no_copy;
    CHECK_OK(symm__device_register(&attic));
    CHECK_OK(symm_tensor_empty(NULL, 0, SYMM_DTYPE_int8, "attic", &t));
    CHECK_FAILS(symm_tensor_to_dlpack(t, &managed), SYMM_EUNSUPPORTED, "tensors on attic");
    symm_tensor_release(t);
}
