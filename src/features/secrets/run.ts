/** Carries out `secrets …`. Values are read, but never printed. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { BridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { principalFolder } from '../../core/state/principals.ts';
import { type CommandContext, type CommandHost, carryOut, type LineFor } from '../../edges/terminal/command.ts';
import type { Terminal } from '../../edges/terminal/terminal-person.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { SecretsCommand } from './command.ts';
import { SecretFile } from './secret-file.ts';
import { MAX_SECRET_BYTES } from './secret-name.ts';

type Io = Pick<CommandHost, 'input' | 'terminal' | 'writeOut'> & Pick<CommandContext, 'settings'>;

interface Work extends Io {
  readonly file: SecretFile;
}

export async function manageSecrets(line: SecretsCommand, io: Io): Promise<number> {
  const { stateDir } = io.settings;
  const file = new SecretFile(line.principal === undefined ? stateDir : principalFolder(stateDir, line.principal));
  return carryOut({ set, list, remove }, line, { ...io, file });
}

async function set(
  { name, principal, isJson }: LineFor<SecretsCommand, 'set'>,
  { file, ...io }: Work,
): Promise<number> {
  await file.set(name, await readValue(name, io));
  const whose = principal === undefined ? '' : ` of ${principal}`;
  io.writeOut(isJson ? json({ name, ...ofPrincipal(principal) }) : `Stored the secret ${name}${whose}.\n`);
  return 0;
}

async function list({ principal, isJson }: LineFor<SecretsCommand, 'list'>, { file, ...io }: Work): Promise<number> {
  const secrets = await file.list();
  if (isJson) {
    io.writeOut(json({ secrets, ...ofPrincipal(principal) }));
    return 0;
  }
  const rows = secrets.map(({ name, set_at: setAt }) => [name, `set ${setAt.slice(0, 10)}`]);
  io.writeOut(renderTable(rows, 'There are no secrets. Store one with: secrets set NAME'));
  return 0;
}

async function remove(
  { names, principal, isJson }: LineFor<SecretsCommand, 'remove'>,
  { file, ...io }: Work,
): Promise<number> {
  const unknown = await file.remove(names);
  const removed = names.filter((name) => !unknown.includes(name));
  if (isJson) {
    io.writeOut(json({ removed, unknown, ...ofPrincipal(principal) }));
  } else if (removed.length > 0) {
    io.writeOut(`Removed: ${removed.join(', ')}\n`);
  }
  if (unknown.length > 0) {
    throw new BridgeError('USAGE_INVALID', `there is no secret '${unknown.join("', '")}'`, {
      hint: `To see all, run: ${COMMAND} secrets list; add --for NAME for those of a principal.`,
    });
  }
  return 0;
}

function ofPrincipal(principal: string | undefined): object {
  return principal === undefined ? {} : { principal };
}

function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** Without the line break at its end. Rejects with `USAGE_INVALID`. */
async function readValue(name: string, { input, terminal }: Io): Promise<string> {
  const text =
    terminal === undefined ? await readAll(input) : await askHidden(`Value of ${name} (not shown): `, terminal);
  const value = text.replace(/[\r\n]+$/, '');
  if (value === '' || value.includes('\0')) {
    throw new BridgeError(
      'USAGE_INVALID',
      `the value of ${name} ${value === '' ? 'is empty' : 'contains a NUL character'}`,
      {
        hint: `Pipe the value into the command: pass show github | … secrets set ${name}`,
      },
    );
  }
  return value;
}

async function readAll(input: NodeJS.ReadableStream): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of input) {
    const read = Buffer.from(piece);
    bytes += read.length;
    if (bytes > MAX_SECRET_BYTES) {
      const limit = MAX_SECRET_BYTES.toLocaleString('en-US');
      throw new BridgeError('USAGE_INVALID', `the value has more than ${limit} bytes, which is the limit`);
    }
    pieces.push(read);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** What is typed is not echoed. */
async function askHidden(prompt: string, { input, output }: Terminal): Promise<string> {
  const silent = new Writable({ write: (_piece, _encoding, done) => done() });
  const lines = createInterface({ input, output: silent, terminal: true });
  output.write(prompt);
  const closed = new AbortController();
  lines.once('SIGINT', () => closed.abort()).once('close', () => closed.abort());
  try {
    return await lines.question('', { signal: closed.signal });
  } catch (error) {
    throw closed.signal.aborted ? new BridgeError('USAGE_INVALID', 'no value was given; nothing was stored') : error;
  } finally {
    lines.close();
    output.write('\n');
  }
}
