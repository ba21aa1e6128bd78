/* SPDX-License-Identifier: MIT
 *
 * Tensors to and from other libraries without copying, by DLPack: https://dmlc.github.io/dlpack
 * The structs are those of <dlpack/dlpack.h>, which this header does not need; struct
 * DLManagedTensor is the unversioned one. Devices: the CPU. Elements: every dtype of symm/dtype.h,
 * bool as kDLBool (code 6, 8 bits). Anything else is SYMM_EUNSUPPORTED.
 */
#ifndef SYMM_DLPACK_H
#define SYMM_DLPACK_H

#include <symm/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensor;

/* Shares the tensor's memory, and keeps it until the consumer calls the deleter, once, on any
 * thread. byte_offset is 0: data is the address of the first element. */
int symm_tensor_to_dlpack(symm_tensor *tensor, struct DLManagedTensor **out);
/* Shares the memory of `managed`, whose deleter (which may be NULL) is called when the last view of
 * it is gone, on the thread that drops it. Takes ownership only on success. Strides NULL means
 * contiguous. SYMM_EINVALID for negative strides and for memory that is not aligned to an element.
 */
int symm_tensor_from_dlpack(struct DLManagedTensor *managed, symm_tensor **out);

#ifdef __cplusplus
}
#endif
#endif
