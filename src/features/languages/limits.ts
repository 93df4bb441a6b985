/** Limits of programs that no setting changes. */

const MIB = 1024 * 1024;

/** Of each stream. The same as for `runtime.sh`. */
export const MAX_KEPT_STREAM_BYTES = 32 * MIB;
/** All files that a program gets, its code and its input included. Chosen: all of it is held in memory. */
export const MAX_INPUT_BYTES = 64 * MIB;
/** All files that come back. Chosen: all of it is held in memory. */
export const MAX_OUTPUT_FILES_BYTES = 32 * MIB;
export const MAX_FILES = 1_000;
/** Arguments of a program. Chosen. */
export const MAX_ARGUMENTS = 1_000;
/** All arguments together: Linux passes at most 128 KiB in one. */
export const MAX_ARGUMENT_BYTES = 100_000;
/** A file name with its folders. Chosen: any archive holds it. */
export const MAX_NAME_BYTES = 240;
/** The same for a file that a program has left. Chosen: longer than any path that people make. */
export const MAX_RETURNED_NAME_BYTES = 1_000;
/** Programs of one principal that run at once, and half of those of all; others wait. Chosen: each may use the memory of a session. */
export const MAX_PROGRAMS_AT_ONCE = 4;
/** Of them, those of one session, and those of it that wait. Each holds what it was given in memory. Both chosen. */
export const MAX_PROGRAMS_OF_SESSION = 2;
export const MAX_PROGRAMS_WAITING = 16;
/**
 * Files of the programs of one principal that wait or run, unless there is one only. Each byte is there as text, in the message of the
 * client and as bytes. Chosen: 18 programs of 4 MB made the bridge grow by 400 MiB.
 */
export const MAX_WAITING_INPUT_BYTES = 32 * MIB;
/** Answers to calls that a runner has not read; beyond it, a call gets an error instead. Chosen: room for two of the largest. */
export const MAX_UNREAD_ANSWERS_BYTES = 128 * MIB;
/** Calls of one program, in all and at once. Chosen: a program runs once, and for minutes at most. */
export const MAX_CALLS_OF_PROGRAM = 10_000;
export const MAX_CALLS_OF_PROGRAM_AT_ONCE = 64;
/** The longest archive of files that comes back: the files, and the headers, paddings and long names of as many as may come. */
export const MAX_ARCHIVE_BYTES = MAX_OUTPUT_FILES_BYTES + 4 * MIB;
/** Lines from a runner. Chosen: a program that prints one character at a time stays below. */
export const MAX_RUNNER_LINES = 2_000_000;
