# SPDX-License-Identifier: MIT
# From device_functions.txt to C++: the address of every function, by its whole type, with each value of its template
# parameters, or with the first of each where max_rounds is 1, and a comparison that what has defaults has those of the list.
function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }

BEGIN {
	FS = "|"
	p = "DOCA_GPUNETIO_VERBS_"
	values["RS"] = p "RESOURCE_SHARING_MODE_GPU " p "RESOURCE_SHARING_MODE_EXCLUSIVE " p "RESOURCE_SHARING_MODE_CTA"
	values["SS"] = p "SYNC_SCOPE_GPU " p "SYNC_SCOPE_SYS " p "SYNC_SCOPE_CTA " p "SYNC_SCOPE_THREAD"
	values["QT"] = p "QP_SQ " p "QP_RQ"
	values["NH"] = p "NIC_HANDLER_AUTO " p "NIC_HANDLER_CPU_PROXY " p "NIC_HANDLER_GPU_SM_DB " p "NIC_HANDLER_GPU_SM_BF " p "NIC_HANDLER_GPU_SM_NO_DBR"
	values["ES"] = p "EXEC_SCOPE_THREAD " p "EXEC_SCOPE_WARP"
	values["RM"] = p "READY_MODE_DEFAULT " p "READY_MODE_ATOMIC_CAS " p "READY_MODE_LD_ST"
	values["MC"] = p "MCST_DISABLED " p "MCST_ENABLED"
	values["BM"] = p "BLOCKING_MODE_DISABLED " p "BLOCKING_MODE_ENABLED"
	values["BYTES"] = p "ATOMIC_EXT_BYTES_4 " p "ATOMIC_EXT_BYTES_8"
	values["OP"] = p "SIGNAL_OP_ADD"
	values["T"] = "uint64_t uint32_t"
	types["Q"] = "struct doca_gpu_dev_verbs_qp *"
	types["Q[]"] = "struct doca_gpu_dev_verbs_qp **"
	types["C"] = "struct doca_gpu_dev_verbs_cq *"
	types["W"] = "struct doca_gpu_dev_verbs_wqe *"
	types["R"] = "struct doca_gpunetio_ib_mlx5_wqe_data_seg *"
	types["A"] = "struct doca_gpu_dev_verbs_addr"
	types["TK"] = "doca_gpu_dev_verbs_ticket_t"
	types["TK *"] = "doca_gpu_dev_verbs_ticket_t *"
	types["CF"] = "enum doca_gpu_dev_verbs_wqe_ctrl_flags"
	print "#include \"gpunetio/doca_gpunetio_device.h\""
	print "#ifdef __CUDACC__"
	print "#define SAME(a, b)"
	print "__global__ void all(void **out)\n#else"
	print "#define SAME(a, b) static_assert(a == b, \"another default\")"
	print "void all(void **out);\nvoid all(void **out)\n#endif\n{"
}

/^#/ || NF < 4 { next }

# A type of the list, where T is the type of this round.
function type(name, t) {
	sub(/^d:/, "", name)
	if (name in types)
		return types[name]
	if (name ~ /^T( |$)/)
		sub(/^T/, t, name)
	return name
}

# The function with template arguments, of one type.
function address(name, list, ret, arglist) {
	return "static_cast<" ret " (*)(" arglist ")>(&" name (templated ? "<" list ">" : "") ")"
}

{
	name = trim($1)
	nt = split(trim($2), tp, /, */)
	na = split(trim($3), args, /, */)
	templated = nt > 0
	rounds = 1
	for (i = 1; i <= nt; i++) {
		key = tp[i]; default_of[i] = ""; mandatory[i] = 1
		if (key ~ /^d:/) { fixed[i] = substr(key, 3); n[i] = 1; v[i, 1] = fixed[i]; mandatory[i] = 0; continue }
		if (key ~ /=/) { split(key, part, "="); key = part[1]; default_of[i] = part[2]; mandatory[i] = 0 }
		else if (key ~ /!$/) sub(/!$/, "", key)
		else if (key in values && key != "T" && key != "OP") mandatory[i] = 0
		if (key in values) {
			n[i] = split(values[key], list, " ")
			for (k = 1; k <= n[i]; k++) v[i, k] = list[k]
			if (!mandatory[i] && default_of[i] == "") default_of[i] = list[1]
		} else { n[i] = 1; v[i, 1] = key }
		if (n[i] > rounds) rounds = n[i]
	}
	if (max_rounds && rounds > max_rounds)
		rounds = max_rounds
	for (r = 1; r <= rounds; r++) {
		short = full = all_args = ""; t = "uint64_t"
		for (i = 1; i <= nt; i++) {
			value = v[i, (r - 1) % n[i] + 1]
			if (tp[i] == "T") t = value
			all_args = all_args (i > 1 ? ", " : "") value
			if (mandatory[i]) { short = short (short == "" ? "" : ", ") value; full = full (full == "" ? "" : ", ") value }
			else full = full (full == "" ? "" : ", ") (default_of[i] == "" ? value : default_of[i])
		}
		arglist = ""
		for (i = 1; i <= na; i++) arglist = arglist (i > 1 ? ", " : "") type(args[i], t)
		ret = type(trim($4), t)
		printf "\t*out++ = (void *)%s;\n", address(name, all_args, ret, arglist)
		if (templated)
			printf "\tSAME((%s), (%s));\n", address(name, short, ret, arglist), address(name, full, ret, arglist)
	}
}

END { print "}" }
