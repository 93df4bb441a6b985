/**
 * A program that a shell starts: files and input go through the pipe as an archive, and what it writes is the sandbox's own
 * output. A line with a random marker precedes the output, and another one follows it, with the exit code and the files.
 */
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { ProgramFile } from '../../core/base/program.ts';
import type { Sandbox } from '../../core/session/engine.ts';
import { KeptOutput } from './kept-output.ts';
import type { Language } from './languages-file.ts';
import { MAX_ARCHIVE_BYTES } from './limits.ts';
import type { ProgramEnd, RunnableProgram } from './program-run.ts';
import { readTar, writeTar } from './tar.ts';

/**
 * PID 1. It ends everything in the sandbox when the pipe from the host closes, and when the program has ended, so that nothing
 * writes into what follows. `$$` is not 1 only in tests, where these signals would reach the machine. The archive is not read
 * beyond its end, as GNU tar would. The shell itself has no stderr while it waits: it would report signals there. Images without tar have Python: those of sessions.
 */
const SCRIPT = `marker=$1 size=$2 wants=$3 variables=$4; shift 4
unpack() { if command -v tar >/dev/null 2>&1; then head -c "$size" | tar -xf - -C "\${BRIDGE_ROOT:-/}"; else python3 -c '
import io, sys, tarfile
source = io.BytesIO(sys.stdin.buffer.read(int(sys.argv[1])))
tarfile.open(fileobj=source).extractall(sys.argv[2])' "$size" "\${BRIDGE_ROOT:-/}" 2>/dev/null; fi; }
pack() { if command -v tar >/dev/null 2>&1; then tar -cf - -C "$PWD" . ; else python3 -c '
import sys, tarfile
tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.GNU_FORMAT).add(".")'; fi; }
workspace=\${BRIDGE_ROOT:-}/workspace; input=\${BRIDGE_ROOT:-}/tmp/.bridge-input
unpack || exit 121
cd "$workspace" || exit 121
exec 3<&0 4<"$input"; rm -f "$input"
{ cat <&3 >/dev/null; [ $$ = 1 ] && kill -9 -1; } 4<&- >/dev/null 2>&1 &
exec 3<&-
while [ "$variables" -gt 0 ]; do export "$1"; shift; variables=$((variables - 1)); done
unset BRIDGE_ROOT
printf '%s\\n' "$marker"; printf '%s\\n' "$marker" >&2
exec 5>&2 2>/dev/null
( exec "$@" <&4 4<&- 2>&5 5>&- )
code=$?
exec 4<&- 5>&-
[ $$ = 1 ] && kill -9 -1 2>/dev/null
printf '\\n%s %s\\n' "$marker" "$code"
if [ "$wants" = 1 ]; then cd "$workspace" && pack 2>/dev/null | head -c ${MAX_ARCHIVE_BYTES}; fi
exit 0
`;

export interface ShellJob {
  readonly language: Language;
  readonly command: readonly string[];
  readonly files: readonly ProgramFile[];
  readonly stdin: Uint8Array;
  readonly wantsFiles: boolean;
}

export function shellProgram({ language, command, files, stdin, wantsFiles }: ShellJob): RunnableProgram {
  const marker = `bridge-${randomBytes(16).toString('hex')}`;
  const archive = writeTar([
    ...files.map(({ name, content }) => ({ name: `workspace/${name}`, content })),
    { name: 'tmp/.bridge-input', content: stdin },
  ]);
  const variables = Object.entries(language.env).map(([name, value]) => `${name}=${value}`);
  const wants = wantsFiles ? '1' : '0';
  const given = [marker, archive.byteLength, wants, variables.length, ...variables, ...command].map(String);
  return {
    command: ['sh', '-c', SCRIPT, 'sh', ...given],
    run: (sandbox, onStarted) => runShell(sandbox, { archive, marker, files, wantsFiles, onStarted }),
  };
}

interface ShellRun {
  readonly archive: Uint8Array;
  readonly marker: string;
  readonly files: readonly ProgramFile[];
  readonly wantsFiles: boolean;
  readonly onStarted: () => void;
}

async function runShell(
  sandbox: Sandbox,
  { archive, marker, files, wantsFiles, onStarted }: ShellRun,
): Promise<ProgramEnd> {
  const stdout = new MarkedStream(sandbox.stdout, marker, onStarted);
  const stderr = new MarkedStream(sandbox.stderr, marker);
  // Not ended: the end of the pipe ends the sandbox.
  sandbox.stdin.write(archive);
  const exit = await sandbox.exited;
  const left = wantsFiles ? readTar(stdout.takeRest()) : undefined;
  const omittedFiles = [...(left?.omitted ?? []), ...(left?.isCut === true ? ['further files'] : [])];
  return {
    isStarted: stdout.hasBegun,
    exitCode: stdout.exitCode ?? exit.exitCode,
    exit,
    stdout: stdout.kept,
    stderr: stderr.kept,
    engineSaid: stdout.hasBegun ? stderr.kept.text().slice(-KEPT_CHARS) : stderr.before(),
    files: changedFiles(left?.files ?? [], files),
    omittedFiles,
  };
}

const KEPT_CHARS = 4_096;
const EXIT_CODE = /^\d{1,3}$/;
const MAX_CODE_CHARS = 3;

/** Files that were not there before, or have other content. */
export function changedFiles(found: readonly ProgramFile[], given: readonly ProgramFile[]): ProgramFile[] {
  const before = new Map(given.map(({ name, content }) => [name, content]));
  return found.filter(({ name, content }) => {
    const old = before.get(name);
    return old === undefined || Buffer.compare(old, content) !== 0;
  });
}

/** A stream with a line that begins it, and maybe one that ends it, after which something else follows. */
class MarkedStream {
  readonly kept = new KeptOutput();
  hasBegun = false;
  exitCode: number | undefined;
  readonly #onBegin: () => void;
  readonly #begin: Buffer;
  readonly #end: Buffer;
  readonly #rest: Buffer[] = [];
  #restBytes = 0;
  #unread: Buffer = Buffer.alloc(0);

  constructor(stream: Readable, marker: string, onBegin: () => void = () => undefined) {
    this.#onBegin = onBegin;
    this.#begin = Buffer.from(`${marker}\n`);
    this.#end = Buffer.from(`\n${marker} `);
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.once('close', () => this.#close());
    stream.once('end', () => this.#close());
  }

  /** What came before the beginning, which is what the engine said. */
  before(): string {
    return this.#unread.toString('utf8').slice(-KEPT_CHARS);
  }

  /** What follows the end. Can be taken once: it may be large. */
  takeRest(): Buffer {
    return Buffer.concat(this.#rest.splice(0));
  }

  #take(chunk: Buffer): void {
    if (this.exitCode !== undefined) {
      this.#takeRest(chunk);
      return;
    }
    this.#unread = Buffer.concat([this.#unread, chunk]);
    if (!this.hasBegun) {
      const start = this.#unread.indexOf(this.#begin);
      if (start === -1) {
        this.#unread = this.#unread.subarray(-2 * KEPT_CHARS);
        return;
      }
      this.hasBegun = true;
      this.#onBegin();
      this.#unread = this.#unread.subarray(start + this.#begin.byteLength);
    }
    this.#takeOutput();
  }

  #takeOutput(): void {
    for (;;) {
      const at = this.#unread.indexOf(this.#end);
      if (at === -1) {
        // The end may be cut in two.
        this.#pass(Math.max(0, this.#unread.byteLength - this.#end.byteLength));
        return;
      }
      const start = at + this.#end.byteLength;
      const lineEnd = this.#unread.indexOf('\n', start);
      if (lineEnd === -1 && this.#unread.byteLength - start <= MAX_CODE_CHARS) {
        this.#pass(at);
        return;
      }
      const code = lineEnd === -1 ? '' : this.#unread.toString('latin1', start, lineEnd);
      if (EXIT_CODE.test(code)) {
        this.#pass(at);
        this.exitCode = Number.parseInt(code, 10);
        this.#takeRest(this.#unread.subarray(lineEnd + 1 - at));
        this.#unread = Buffer.alloc(0);
        return;
      }
      // The program has found the marker and writes it itself. It must not make the bridge keep a line without an end.
      this.#pass(start);
    }
  }

  /** Takes the first bytes that are not read yet as output. */
  #pass(count: number): void {
    this.kept.take(this.#unread.subarray(0, count));
    this.#unread = this.#unread.subarray(count);
  }

  #takeRest(chunk: Buffer): void {
    this.#restBytes += chunk.byteLength;
    if (this.#restBytes <= MAX_ARCHIVE_BYTES) {
      this.#rest.push(chunk);
    }
  }

  /** The last bytes of a stream that was not ended by its line. */
  #close(): void {
    if (this.hasBegun && this.exitCode === undefined) {
      this.kept.take(this.#unread);
      this.#unread = Buffer.alloc(0);
    }
  }
}
