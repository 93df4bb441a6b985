/** Bounds of the streams of bytes between programs in a sandbox and the host. */
const KIB = 1024;
const MIB = 1024 * KIB;

/** Streams of one sandbox at once, the connections of programs to its proxy. Chosen: HTTP libraries keep ten for each host. */
export const MAX_EGRESS_STREAMS = 64;
/** Bytes of a stream in one frame. Chosen: anything else of the sandbox waits no longer than it takes to write so many. */
export const MAX_EGRESS_PIECE_BYTES = 256 * KIB;
/** Bytes of one stream that are on their way in one direction: sent, and not passed on by the other side. Chosen. */
export const MAX_EGRESS_STREAM_BYTES = MIB;
/** The same for all streams of a sandbox together. Chosen. */
export const MAX_EGRESS_BYTES = 8 * MIB;
/** What each stream may have on its way even then, so that a stream that no one reads never stops another. Chosen. */
export const MIN_EGRESS_STREAM_BYTES = 64 * KIB;
