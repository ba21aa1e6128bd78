/* SPDX-License-Identifier: MIT
 *
 * DLPack: either side keeps the other's memory alive until its own last view is gone.
 */
#include <symm/dlpack.h>

#include <dlpack/dlpack.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"

/* kDLBool came after the header that is packaged. */
#define TYPE_BOOL 6

static const char *const to_op = "to_dlpack", *const from_op = "from_dlpack";

static DLDataType type_of(symm_dtype dtype) {
    DLDataType type = {.lanes = 1, .bits = (uint8_t)(8 * symm_dtype_size(dtype))};
    switch (symm_dtype_kind_of(dtype)) {
    case SYMM_KIND_FLOAT: type.code = dtype == SYMM_DTYPE_bfloat16 ? kDLBfloat : kDLFloat; break;
    case SYMM_KIND_INT: type.code = kDLInt; break;
    case SYMM_KIND_UINT: type.code = kDLUInt; break;
    case SYMM_KIND_BOOL: type.code = TYPE_BOOL; break;
    }
    return type;
}

static int dtype_of(DLDataType type, symm_dtype *out) {
    for (int i = 0; i < SYMM_DTYPE_COUNT; i++) {
        DLDataType known = type_of((symm_dtype)i);
        if (known.code == type.code && known.bits == type.bits && type.lanes == 1) {
            *out = (symm_dtype)i;
            return SYMM_OK;
        }
    }
    return symm__fail_at(SYMM__IN(from_op), SYMM_EUNSUPPORTED,
                         "elements of type code %d with %d bits and %d lanes are not supported",
                         (int)type.code, (int)type.bits, (int)type.lanes);
}

/* ---- out ---- */

struct export {
    DLManagedTensor managed;
    symm_tensor *tensor;
    int64_t shape[SYMM_MAX_DIMS]; /* of its own: a consumer may write there */
    int64_t stride[SYMM_MAX_DIMS];
};

static void delete_export(DLManagedTensor *managed) {
    struct export *export = managed->manager_ctx;
    symm_tensor_release(export->tensor);
    free(export);
}

int symm_tensor_to_dlpack(symm_tensor *tensor, struct DLManagedTensor **out) {
    if (strcmp(symm_tensor_device(tensor), "cpu") != 0) {
        return symm__fail_at(SYMM__IN(to_op), SYMM_EUNSUPPORTED, "tensors on %s are not supported",
                             symm_tensor_device(tensor));
    }
    struct export *export = calloc(1, sizeof *export);
    if (!export) return symm__fail_oom(sizeof *export);
    memcpy(export->shape, tensor->shape, sizeof export->shape);
    memcpy(export->stride, tensor->stride, sizeof export->stride);
    export->tensor = symm_tensor_retain(tensor);
    export->managed =
        (DLManagedTensor){.dl_tensor = {.data = symm_tensor_data(tensor),
                                        .device = {.device_type = kDLCPU, .device_id = 0},
                                        .ndim = tensor->ndim,
                                        .dtype = type_of(tensor->dtype),
                                        .shape = export->shape,
                                        .strides = export->stride,
                                        .byte_offset = 0},
                          .manager_ctx = export,
                          .deleter = delete_export};
    *out = &export->managed;
    return SYMM_OK;
}

/* ---- in ---- */

static void release_import(void *context) {
    DLManagedTensor *managed = context;
    if (managed->deleter) managed->deleter(managed);
}

/* Strides that are never used may be anything there. */
static void usable_strides(const DLTensor *from, int64_t *stride_out) {
    for (int i = 0; i < from->ndim; i++) {
        stride_out[i] = from->shape[i] > 1 ? from->strides[i] : 1;
    }
}

int symm_tensor_from_dlpack(struct DLManagedTensor *managed, symm_tensor **out) {
    const DLTensor *from = &managed->dl_tensor;
    int64_t stride[SYMM_MAX_DIMS], numel = 0;
    symm_dtype dtype = SYMM_DTYPE_float32;
    if (from->device.device_type != kDLCPU) {
        return symm__fail_at(SYMM__IN(from_op), SYMM_EUNSUPPORTED,
                             "memory of device type %d is not supported",
                             (int)from->device.device_type);
    }
    int rc = dtype_of(from->dtype, &dtype);
    if (rc < 0) return rc;
    if (from->ndim > SYMM_MAX_DIMS) {
        return symm__fail_at(SYMM__IN(from_op), SYMM_EUNSUPPORTED,
                             "%d dimensions are not supported; %d are", from->ndim, SYMM_MAX_DIMS);
    }
    rc = symm__shape_check(from_op, from->shape, from->ndim, dtype, &numel);
    if (rc < 0) return rc;
    if (from->strides) usable_strides(from, stride);
    char *data = from->data;
    if (data && numel > 0) data += from->byte_offset;
    return symm_tensor_from_memory(data, from->shape, from->strides ? stride : NULL, from->ndim,
                                   dtype, "cpu", release_import, managed, out);
}
