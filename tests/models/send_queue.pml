/* SPDX-License-Identifier: MIT */
/*
 * send_queue.pml - threads post to a send queue that they share, and a NIC serves it
 *
 * Reserve slots, wait until they are free, fill them, mark them ready in order, submit. What is checked is in the
 * asserts; that nothing is lost and nobody waits for ever follows from the end states, since every wait is a guard.
 *
 * Memory: all words are sequentially consistent but for WQEs and the doorbell record. A store to one of those is
 * delayed, and becomes visible at any time later; a release fence makes all of the thread's visible first. docs/
 * verification.md says what is not modelled.
 *
 * Counts never wrap in the threads. The NIC knows their low 4 bits, where hardware has 16; START lets them wrap.
 *
 * Defines, from the command line (tests/models/run):
 *	THREADS, POSTS, RING	sizes; RING is 2 or 4
 *	COUNT			WQEs of one post, 1 unless told otherwise
 *	RESERVE_ADD		fetch-add first, then wait for the slot; else wait, then compare-and-swap
 *	READY_STORE		mark ready by load and store; else by compare-and-swap
 *	SUBMIT_DB, SUBMIT_NO_DBR, SUBMIT_PROXY, SUBMIT_RECORD
 *	POLLED			the doorbell is a word that the NIC polls, and keeps only what was stored last
 *	LOCKED			SUBMIT_NO_DBR rings with the lock held
 *	MUT_...			a step is missing or wrong: see where they stand
 */
#ifndef START
#define START 13
#endif
#ifndef COUNT
#define COUNT 1
#endif
#define TOTAL (THREADS * POSTS * COUNT)
#define BITS  15
#define NONE  255

byte rsvd = START, ready = START, pi = START;	/* the device object */
bit lock;
byte wqe[RING], wqe_tag[RING];			/* visible: index as the NIC sees it, and what it is about */
byte late[RING], late_tag[RING], late_own[RING];	/* stored, not yet visible */
byte record = START & BITS, late_record = NONE, late_record_own;
#ifdef SUBMIT_RECORD
byte late_show[THREADS];			/* of each thread: the record as it stored it, not yet visible */
#endif
byte word = START;				/* of the proxy */
byte db_word = START & BITS;			/* POLLED */
chan db = [2 * TOTAL + 1] of { byte };		/* each store to a register is an event */
byte nic_pi = START, nic_ci = START;		/* whole counts, for the asserts' sake */
byte done = START;				/* completions that were written */
byte seen[TOTAL];
byte nr_seen;

inline commit(slot)
{
	wqe[slot] = late[slot];
	wqe_tag[slot] = late_tag[slot];
	late[slot] = NONE
}

/* Release: the caller's stores before what it stores later. */
inline fence(me)
{
	d_step {
		i = 0;
		do
		:: i < RING ->
			if
			:: late[i] != NONE && late_own[i] == me -> commit(i)
			:: else
			fi;
			i++
		:: else -> break
		od;
		if
		:: late_record != NONE && late_record_own == me ->
			record = late_record;
			late_record = NONE
		:: else
		fi;
#ifdef SUBMIT_RECORD
		if
		:: late_show[me] != NONE -> record = late_show[me]; late_show[me] = NONE
		:: else
		fi;
#endif
		i = 0
	}
}

/* Stores become visible when they like. */
active proctype memory()
{
	byte slot;

end:
	do
	:: atomic { late[0] != NONE -> slot = 0; commit(slot) }
#if RING > 1
	:: atomic { late[1] != NONE -> slot = 1; commit(slot) }
#endif
#if RING > 2
	:: atomic { late[2] != NONE -> slot = 2; commit(slot) }
	:: atomic { late[3] != NONE -> slot = 3; commit(slot) }
#endif
	:: atomic { late_record != NONE -> record = late_record; late_record = NONE }
#ifdef SUBMIT_RECORD
	:: atomic { late_show[0] != NONE -> record = late_show[0]; late_show[0] = NONE }
#if THREADS > 1
	:: atomic { late_show[1] != NONE -> record = late_show[1]; late_show[1] = NONE }
#endif
#if THREADS > 2
	:: atomic { late_show[2] != NONE -> record = late_show[2]; late_show[2] = NONE }
#endif
#endif
	od
}

#ifdef POLLED
#define ring(value) db_word = (value) & BITS
#else
#define ring(value) db!((value) & BITS)
#endif

/* Whether the slot of a WQE is free: the one before it in that slot is done. */
#ifdef MUT_NO_SLOT_WAIT
#define slot_free(index) true
#elif defined(MUT_SLOT_OFF_BY_ONE)
#define slot_free(index) ((index) <= done + RING)
#else
#define slot_free(index) ((index) < done + RING)
#endif

inline reserve()
{
#ifdef MUT_PLAIN_ADD
	first = rsvd;
	rsvd = first + COUNT;
	slot_free(first + COUNT - 1)
#elif defined(RESERVE_ADD)
	atomic { first = rsvd; rsvd = rsvd + COUNT };
	slot_free(first + COUNT - 1)
#else
	first = rsvd;
	do
	:: slot_free(first + COUNT - 1) ->
		atomic {
			if
			:: rsvd == first -> rsvd = rsvd + COUNT; break
			:: else -> first = rsvd
			fi
		}
	od
#endif
}

inline fill()
{
	k = 0;
	do
	:: k < COUNT ->
		atomic {
			/* the WQE that was there is done */
			assert(first + k < done + RING && first + k < START + TOTAL);
			i = (first + k) % RING;
			if
			:: late[i] != NONE -> commit(i)	/* stores to one address keep their order */
			:: else
			fi;
			late[i] = (first + k) & BITS;
			late_tag[i] = (me * POSTS + nr) * COUNT + k;
			late_own[i] = me;
			i = 0;
			k++
		}
	:: else -> break
	od
}

inline mark_ready()
{
#ifdef MUT_NO_READY_WAIT
	fence(me);
	atomic { ready = (ready < first + COUNT -> first + COUNT : ready) }
#elif defined(READY_STORE)
	ready == first;
#ifndef MUT_NO_READY_FENCE
	fence(me);
#endif
	ready = first + COUNT
#else
#ifndef MUT_NO_READY_FENCE
	fence(me);
#endif
	atomic { ready == first -> ready = first + COUNT }
#endif
}

/* Or leave it to who has brought a higher index, who holds the lock, or held it, and rings. */
inline take_lock()
{
	if
#ifndef MUT_NO_LOCK
	:: atomic { lock == 0 -> lock = 1; left = false }
#else
	:: left = false
#endif
	:: pi >= first + COUNT -> left = true
#ifdef MUT_LEAVES_TO_THE_LOCK
	:: lock == 1 -> left = true
#endif
	fi
}

inline give_lock()
{
	lock = 0
}

/* Fetch-max; whether this thread brought the highest. */
inline advance()
{
	atomic {
		if
		:: pi < first + COUNT -> pi = first + COUNT; won = true
		:: else -> won = false
		fi
	}
}

inline submit()
{
#if defined(SUBMIT_DB)
	take_lock();
	if
	:: !left -> advance()
	:: else -> won = false
	fi;
	if
	:: won ->
		fence(me);
		ring(first + COUNT);
		/* two steps: another thread's store must not come between and be lost in the model */
		atomic { late_record == NONE -> late_record = (first + COUNT) & BITS; late_record_own = me };
#ifndef MUT_NO_SECOND_DB
#ifndef MUT_NO_RECORD_FENCE
		fence(me);
#endif
		ring(first + COUNT);
#endif
	:: else
	fi;
	if
	:: !left -> give_lock()
	:: else
	fi
#elif defined(SUBMIT_RECORD)
	advance();
	if
	:: won ->
		shown = first + COUNT;
		do
		:: true ->
			fence(me);
			late_show[me] = shown & BITS;
#ifndef MUT_NO_RECORD_FENCE
			fence(me);
#endif
			if
#ifndef MUT_NO_SECOND_LOOK
			:: pi != shown -> shown = pi
#endif
			:: else -> break
			fi
		od
	:: else
	fi
#elif defined(SUBMIT_NO_DBR)
	fence(me);
#ifdef LOCKED
	take_lock();
#else
	left = pi >= first + COUNT;
#endif
	if
	:: !left -> advance()
	:: else -> won = false
	fi;
	if
	:: won -> ring(first + COUNT)
	:: else
	fi;
#ifdef LOCKED
	if
	:: !left -> give_lock()
	:: else
	fi
#else
	skip
#endif
#else
	advance();
	if
	:: won ->
#ifndef MUT_NO_SUBMIT_FENCE
		fence(me);
#endif
#ifdef MUT_PROXY_STORE
		word = first + COUNT
#else
		atomic { word = (word < first + COUNT -> first + COUNT : word) }
#endif
	:: else
	fi
#endif
}

proctype poster(byte me)
{
	byte first, nr, i, k, shown;
	bool won, left;

	do
	:: nr < POSTS ->
		reserve();
		fill();
		mark_ready();
		submit();
		nr++
	:: else -> break
	od;
	/* the completion of the last one, and so of all */
	done > first + COUNT - 1
}

#ifdef SUBMIT_PROXY
/* The CPU that rings for the GPU. */
active proctype proxy()
{
	byte now, last = START;

end:
	do
	:: word != last ->
		now = word;
		ring(now);
		last = now
	od
}
#endif

/* A count of 4 bits against a whole one: what is not ahead by a ring at most is old. */
#ifdef MUT_NIC_TRUSTS
#define ahead(value) (((value) - nic_pi) & BITS)
#define is_news(value) (ahead(value) != 0)
#else
#define ahead(value) (((value) - nic_pi) & BITS)
#define is_news(value) (ahead(value) != 0 && ahead(value) <= RING)
#endif

inline learn(value)
{
	d_step {
		if
		:: is_news(value) -> nic_pi = nic_pi + ahead(value)
		:: else
		fi
	}
}

inline fetch()
{
	atomic {
		/* complete, and the one that is due */
		assert(wqe[nic_ci % RING] == (nic_ci & BITS));
		assert(seen[wqe_tag[nic_ci % RING]] == 0);
		seen[wqe_tag[nic_ci % RING]] = 1;
		nr_seen++;
		nic_ci++
	}
}

active proctype nic()
{
	byte value;

	do
#if defined(SUBMIT_RECORD)
	:: is_news(record) -> learn(record)
#elif defined(POLLED)
	:: is_news(db_word) -> learn(db_word)
#else
	:: db?value ->
#ifdef SUBMIT_DB
		/* a NIC that lost track reads the record */
		if
		:: true
		:: value = record
		fi;
#endif
		learn(value)
#endif
#ifdef MUT_CQE_FIRST
	:: nic_ci < nic_pi -> done++; fetch()
#else
	:: nic_ci < nic_pi -> fetch(); done++
#endif
	:: nr_seen == TOTAL && done == START + TOTAL -> break
	od;
	assert(rsvd == START + TOTAL && nic_pi == START + TOTAL && nic_ci == START + TOTAL);
#ifdef MUT_END
	assert(false)
#endif
}

init {
	byte i;

	atomic {
		do
		:: i < RING -> late[i] = NONE; wqe[i] = NONE; i++
		:: else -> break
		od;
		i = 0;
#ifdef SUBMIT_RECORD
		do
		:: i < THREADS -> late_show[i] = NONE; i++
		:: else -> break
		od;
		i = 0;
#endif
		do
		:: i < THREADS -> run poster(i); i++
		:: else -> break
		od
	}
}
