// SPDX-License-Identifier: MIT
#include "xml.h"

void report_xml_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			/* XML 1.0 has no way to write the other control characters */
			if ((unsigned char)*text >= ' ' || *text == '\t' || *text == '\n')
				fputc(*text, out);
		}
	}
}
