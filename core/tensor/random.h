/* SPDX-License-Identifier: MIT */
#ifndef SYMM_TENSOR_RANDOM_H
#define SYMM_TENSOR_RANDOM_H

#include <stdint.h>

/* One block of Philox4x32-10. */
void symm__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words_out[4]);

#endif
