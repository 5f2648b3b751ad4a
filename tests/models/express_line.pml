/* SPDX-License-Identifier: MIT */
/*
 * express_line.pml - threads give a NIC that is a CPU their WQEs whole, in a line of words, ahead of the doorbell
 *
 * Each word has a part of a WQE and a tag, the low bits of its index plus one. Words become visible in any order, and
 * threads write over each other's; what the NIC does not find complete it takes from the ring, when the word that a
 * proxy would serve tells of it. Each WQE tells of a message in memory, which the NIC reads, unless the WQE in the line
 * has brought it along.
 *
 * Memory: as in send_queue.pml; stores to the line, the ring and messages are delayed. A release makes visible what the
 * thread has stored, and what it has seen ready of others.
 *
 * Defines, from the command line (tests/models/run):
 *	THREADS, POSTS, RING	sizes; RING is 2 or 4
 *	TAGS			a power of two: tags come round after so many WQEs
 *	BROUGHT			requests in the line bring their messages, and no release stands before the words
 *	MUT_...			a step is missing or wrong: see where they stand
 */
#define TOTAL (THREADS * POSTS)
#define WORDS 2
#define NONE  255

byte rsvd, ready, pi, word;
byte wqe[RING], late_wqe[RING];			/* index of the WQE in a slot */
bit message[TOTAL], late_message[TOTAL];	/* stored, and visible; stored, not yet visible */
byte nr_late;					/* of these */
byte tag[WORDS], part[WORDS];			/* the line */
byte late_tag[WORDS], late_part[WORDS], late_own[WORDS];
byte nic_pi, nic_taken, done;
byte seen = NONE;				/* tag of the first word when it was no news */

inline commit_word(w)
{
	tag[w] = late_tag[w];
	part[w] = late_part[w];
	late_own[w] = NONE
}

inline commit_wqe(slot)
{
	wqe[slot] = late_wqe[slot];
	late_wqe[slot] = NONE
}

inline commit_message(m)
{
	message[m] = 1;
	late_message[m] = 0;
	nr_late--
}

/* Release: the caller's stores, and those of WQEs up to its own, which it has seen ready. */
inline fence()
{
	d_step {
		i = 0;
		do
		:: i <= index ->
			if
			:: late_message[i] -> commit_message(i)
			:: else
			fi;
			if
			:: late_wqe[i % RING] == i -> commit_wqe(i % RING)
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < WORDS ->
			if
			:: late_own[i] == me -> commit_word(i)
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

/* Stores become visible when they like. */
active proctype memory()
{
	byte m;

end:
	do
	:: atomic { late_own[0] != NONE -> commit_word(0) }
	:: atomic { late_own[1] != NONE -> commit_word(1) }
	:: atomic { late_wqe[0] != NONE -> commit_wqe(0) }
	:: atomic { late_wqe[1] != NONE -> commit_wqe(1) }
#if RING > 2
	:: atomic { late_wqe[2] != NONE -> commit_wqe(2) }
	:: atomic { late_wqe[3] != NONE -> commit_wqe(3) }
#endif
	/* the oldest, or one after it */
	:: atomic {
		nr_late > 0 -> m = 0;
		do
		:: late_message[m] -> commit_message(m); break
		:: m + 1 < TOTAL -> m++
		:: m + 1 >= TOTAL && !late_message[m] -> break
		od;
		m = 0
	}
	od
}

inline store_word(w)
{
	atomic {
		if
		:: late_own[w] != NONE -> commit_word(w)	/* stores to one address keep their order */
		:: else
		fi;
		late_tag[w] = (index + 1) % TAGS;
		late_part[w] = index;
		late_own[w] = me
	}
}

inline give_whole()
{
#ifndef BROUGHT
#ifndef MUT_NO_RELEASE
	fence();
#endif
#endif
	store_word(0);
	store_word(1)
}

proctype poster(byte me)
{
	byte index, nr, i;

	do
	:: nr < POSTS ->
		atomic { rsvd < done + RING -> index = rsvd; rsvd++ };
		atomic { late_message[index] = 1; nr_late++ };
		atomic {
			if
			:: late_wqe[index % RING] != NONE -> commit_wqe(index % RING)
			:: else
			fi;
			late_wqe[index % RING] = index
		};
		atomic { ready == index -> ready = index + 1 };
		/* or not: others post without the line */
		if
		:: give_whole()
		:: true
		fi;
		/* as SUBMIT_PROXY of send_queue.pml */
		if
		:: atomic { pi < index + 1 -> pi = index + 1 };
			fence();
			atomic { word = (word < index + 1 -> index + 1 : word) }
		:: atomic { pi >= index + 1 -> skip }
		fi;
		nr++
	:: else -> break
	od;
	done > index
}

/* Carried out: in order, and from memory what was not brought. */
inline carry_out(brought)
{
	atomic {
		assert(brought || message[nic_taken]);
		nic_taken++;
		done++
	}
}

#define wanted (nic_pi + 1)

#ifdef MUT_FIRST_WORD_ONLY
#define is_wanted(w) true
#else
#define is_wanted(w) (tag[w] == first)
#endif

/* Of the first word; what is behind was there before, or is no longer wanted. */
inline look_at_line()
{
	first = tag[0];
	if
#ifdef MUT_NO_SEEN
	:: first == wanted % TAGS && nic_taken == nic_pi ->
#else
	:: first == wanted % TAGS && first != seen && nic_taken == nic_pi ->
#endif
		/* one after the other, each as a whole */
		whole = true;
		atomic { what = part[0]; whole = whole && is_wanted(0) };
		atomic { other = part[1]; whole = whole && is_wanted(1) };
		if
		:: whole ->
			seen = first;
			assert(what == nic_pi && other == nic_pi);
			nic_pi++;
#ifdef BROUGHT
			carry_out(true)
#else
			carry_out(false)
#endif
		:: else
		fi
	:: first != wanted % TAGS && (first + TAGS - wanted % TAGS) % TAGS >= TAGS / 2 -> seen = first
	:: else
	fi
}

active proctype nic()
{
	byte first, what, other;
	bool whole;

	do
	:: done == TOTAL -> break
	:: done < TOTAL ->
		look_at_line();
		if
		:: word > nic_pi -> nic_pi = word
		:: else
		fi;
		do
		:: nic_taken < nic_pi ->
			assert(wqe[nic_taken % RING] == nic_taken);
			carry_out(false)
		:: else -> break
		od
	od;
	assert(rsvd == TOTAL && nic_pi == TOTAL && nic_taken == TOTAL);
#ifdef MUT_END
	assert(false)
#endif
}

init {
	byte i;

	atomic {
		do
		:: i < RING -> late_wqe[i] = NONE; wqe[i] = NONE; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < WORDS -> late_own[i] = NONE; part[i] = NONE; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < THREADS -> run poster(i); i++
		:: else -> break
		od
	}
}
