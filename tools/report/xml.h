/* SPDX-License-Identifier: MIT */
/* xml.h - text inside SVG and HTML */
#ifndef BL_REPORT_XML_H
#define BL_REPORT_XML_H

#include <stdio.h>

/* Write text so that it can stand in an element or in a quoted attribute. */
void report_xml_text(FILE *out, const char *text);

#endif
