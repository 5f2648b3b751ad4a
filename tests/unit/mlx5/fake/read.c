// SPDX-License-Identifier: MIT
#include "model.h"

bool model_is_clean(const uint8_t *in, size_t len, const struct model_known *known)
{
	for (size_t at = 0; at < len; at += 4) {
		uint32_t bits = 0;

		for (const struct model_known *k = known; k->bits; k++) {
			if (k->at == at)
				bits |= k->bits;
		}
		if (get32(in, at) & ~bits) {
			model_complain("command 0x%x: word 0x%zx is 0x%08x, of which only 0x%08x has a meaning",
				       get32(in, 0) >> 16, at, get32(in, at), bits);
			return false;
		}
	}
	return true;
}
