# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Files of this folder as parts of a module in the folder beside it, whose Kbuild file includes this. From NAME.c here comes
# common-NAME.o there: so the objects of two modules do not meet, and both may be built at a time.
ccflags-y += -I$(src)/../common

$(obj)/common-%.o: $(src)/../common/%.c FORCE
	$(call if_changed_rule,cc_o_c)
	$(call cmd,force_checksrc)
